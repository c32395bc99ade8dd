"""What lspci and the InfiniBand tools print of small machines of the project's own making; their names are neutral."""

from __future__ import annotations

SWITCHED = """\
00:00.0 Host bridge: Intel Corporation Device 09a2 (rev 20)
15:00.0 System peripheral: Intel Corporation Device 09a2 (rev 20)
\tNUMA node: 0
\tCapabilities: [40] Express (v2) Root Complex Integrated Endpoint, MSI 00

15:01.0 PCI bridge: Intel Corporation Device 352a (rev 04) (prog-if 00 [Normal decode])
\tNUMA node: 0
\tBus: primary=15, secondary=16, subordinate=1c, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)

16:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])
\tBus: primary=16, secondary=17, subordinate=1c, sec-latency=0

17:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])
\tBus: primary=17, secondary=18, subordinate=18, sec-latency=0
\t\tLnkCap:\tPort #1, Speed 16GT/s, Width x16, ASPM not supported

17:01.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])
\tBus: primary=17, secondary=19, subordinate=19, sec-latency=0

18:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)
\tSubsystem: NVIDIA Corporation Device 16c1
\tPhysical Slot: 4
\tNUMA node: 0
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <4us
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)
\tKernel driver in use: nvidia
\tKernel modules: nvidiafb, nouveau, nvidia

19:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
\tNUMA node: 0
\tKernel driver in use: mlx5_core
"""
DRAWN = r"""
-+-[0000:80]-+-00.0  Intel Corporation Device 09a2
 |           \-01.0-[81-85]----00.0-[82-85]--+-00.0-[83]----00.0  NVIDIA Corporation GH100 [H100 SXM5 80GB]
 |                                           +-01.0-[84]--+-00.0  Mellanox Technologies MT2910 Family [ConnectX-7]
 |                                           |            \-00.1  Mellanox Technologies MT2910 Family [ConnectX-7]
 |                                           \-02.0-[85]--
 \-[0000:00]-+-00.0  Intel Corporation Device 09a2
             +-01.0-[01]----00.0  NVIDIA Corporation Device 22a3
             +-02.0-[02]--+-00.0  NVIDIA Corporation GA100 [A100 SXM4 80GB]
             |            \-00.1  NVIDIA Corporation GA102 High Definition Audio Controller
             \-1f.6  Intel Corporation Ethernet Connection (2) I219-LM
"""
IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.39.1002
\tNode GUID: 0x0200000000000001
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 12
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4125
\tNumber of ports: 2
\tPort 1:
\t\tState: Initializing
\t\tPhysical state: LinkUp
\t\tRate: 100
\t\tLink layer: Ethernet
\tPort 2:
\t\tState: Down
\t\tPhysical state: Disabled
\t\tRate: 40
\t\tLink layer: Ethernet
"""
IBSTATUS = """\
Infiniband device 'mlx5_0' port 1 status:
        default gid:     fe80:0000:0000:0000:0200:00ff:fe00:0001
        base lid:        0xc
        sm lid:          0x1
        state:           4: ACTIVE
        phys state:      5: LinkUp
        rate:            400 Gb/sec (4X NDR)
        link_layer:      InfiniBand

Infiniband device 'mlx5_1' port 1 status:
        default gid:     unknown
        state:           2: INIT
        phys state:      5: LinkUp
        rate:            100 Gb/sec (4X EDR)
        link_layer:      Ethernet

Infiniband device 'mlx5_1' port 2 status:
        state:           1: DOWN
        phys state:      3: Disabled
        rate:            40 Gb/sec (4X QDR)
        link_layer:      Ethernet
"""
DEVINFO = """\
hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.39.1002
\tvendor_id:\t\t\t0x02c9
\tvendor_part_id:\t\t\t4129
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tactive_mtu:\t\t4096 (5)
\t\t\tlink_layer:\t\tInfiniBand
\t\t\tactive_width:\t\t4X (2)
\t\t\tactive_speed:\t\t100.0 Gbps (128)
\t\t\tphys_state:\t\tLINK_UP (5)
\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0200:00ff:fe00:0001

hca_id:\tefa_0
\ttransport:\t\t\tunspecified (4)
\tvendor_id:\t\t\t0x1d0f
\tvendor_part_id:\t\t\t61344
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tlink_layer:\t\tUnspecified
"""
NETDEV = """\
mlx5_0 port 1 ==> ib0 (Down)
mlx5_1 port 1 ==> ens1f0np0 (Up)
mlx5_2 port 1 ==> ens1f1np1 (Down)
"""
NETDEV_V = """\
0000:19:00.0 mlx5_0 (MT4129 - MCX750500B) ConnectX-7 adapter card, one port fw 28.39.1002 port 1 (ACTIVE) ==> ib0 (Down)
0000:3b:00.0 mlx5_1 (MT4125 - MCX623106A) ConnectX-6 Dx fw 22.38.1900 port 1 (DOWN  ) ==> ens1f0np0 (Down)
0000:3b:00.1 mlx5_2 (MT4125 - MCX623106A) ConnectX-6 Dx fw 22.38.1900 port 1 (INIT  ) ==> ens1f1np1 (Up)
"""
FABRIC_OF_ONE = """\
#
# Topology file: generated on Mon Jan  1 00:00:00 2024
#
vendid=0x2c9
devid=0xd2f2
switchguid=0x0200000000000100(200000000000100)
Switch\t65 "S-0200000000000100"\t\t# "MF0;leaf-1:MQM9701/U1" enhanced port 0 lid 73 lmc 0
[1]\t"H-0200000000000001"[1](200000000000001) \t\t# "node-a mlx5_0" lid 647 4xNDR
[2]\t"H-0200000000000002"[1](200000000000002) \t\t# "node-b HCA-10" lid 648 4xHDR
[65]\t"H-0200000000000108"[1](200000000000108) \t\t# "Mellanox Technologies Aggregation Node" lid 200 4xNDR

vendid=0x2c9
devid=0xcf09
caguid=0x0200000000000108
Ca\t1 "H-0200000000000108"\t\t# "Mellanox Technologies Aggregation Node"
[1](200000000000108) \t"S-0200000000000100"[65]\t\t# lid 193 lmc 0 "MF0;leaf-1:MQM9701/U1" lid 73 4xNDR

vendid=0x2c9
devid=0x1021
caguid=0x0200000000000001
Ca\t1 "H-0200000000000001"\t\t# "node-a mlx5_0"
[1](200000000000001) \t"S-0200000000000100"[1]\t\t# lid 647 lmc 0 "MF0;leaf-1:MQM9701/U1" lid 73 4xNDR
"""
FABRIC = (
    FABRIC_OF_ONE
    + """
vendid=0x2c9
devid=0x101b
caguid=0x0200000000000002
Ca\t2 "H-0200000000000002"\t\t# "node-b HCA-10"
[1](200000000000002) \t"S-0200000000000100"[2]\t\t# lid 648 lmc 0 "MF0;leaf-1:MQM9701/U1" lid 73 4xHDR

vendid=0x2c9
devid=0x101b
caguid=0x0200000000000003
Ca\t1 "H-0200000000000003"\t\t# "node-b HCA-9"

vendid=0x2c9
devid=0x1021
caguid=0x0200000000000004
Ca\t1 "H-0200000000000004"\t\t# "MT4129 ConnectX7 Mellanox Technologies"
"""
)
RDMA = """\
link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0
link mlx5_1/1 subnet_prefix fe80:0000:0000:0000 lid 12 sm_lid 1 lmc 0 state DOWN physical_state POLLING
1/1: rxe0/1: state ACTIVE physical_state LINK_ERROR_RECOVERY netdev eth0
"""
CARDS = """\
{
    "nic": [
        {"id": "a", "pcie_bdf": "0000:41:00.0", "eth_bdf": "0000:44:00.0", "product_name": "POLLARA 1x400G"},
        {"id": "b", "pcie_bdf": "0000:81:00.0", "eth_bdf": "0000:84:00.0", "product_name": ""}
    ]
}
"""
