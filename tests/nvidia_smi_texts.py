"""What `nvidia-smi` prints of one machine of two GPUs, by hand: names and numbers of no real machine."""

from __future__ import annotations

UUIDS = tuple(f"GPU-{n}a9c1f3e-52d7-4b60-8e14-0c7b5d2f9a6{n}" for n in range(2))
MIG_UUIDS = tuple(f"MIG-{n}b8d2e4f-63c8-5a71-9f25-1d8c6e3a0b7{n}" for n in range(2))
ADDRESSES = ("00000000:18:00.0", "00000000:2A:00.0")
NAME = "NVIDIA H100 80GB HBM3"

HEAD = """
==============NVSMI LOG==============

Timestamp                                 : Mon Mar  3 10:00:00 2025
Driver Version                            : 570.133.20
CUDA Version                              : 12.8

Attached GPUs                             : {attached}
"""


def query_block(place: int, memory: str = "81559 MiB", power: str = "71.27 W", mig: str = "") -> str:
    """One GPU of `nvidia-smi -q`."""
    mode = "Enabled" if mig else "Disabled"
    return f"""GPU {ADDRESSES[place]}
    Product Name                          : {NAME}
    Product Brand                         : NVIDIA
    Product Architecture                  : Hopper
    Addressing Mode                       : HMM
    MIG Mode
        Current                           : {mode}
        Pending                           : {mode}
{mig}    Serial Number                         : 165312300000{place}
    GPU UUID                              : {UUIDS[place]}
    Minor Number                          : {1 - place}
    VBIOS Version                         : 96.00.74.00.01
    GPU Virtualization Mode
        Virtualization Mode               : Pass-Through
    GPU Recovery Action                   : None
    PCI
        Bus                               : 0x18
        Device Id                         : 0x233010DE
        Bus Id                            : {ADDRESSES[place]}
        Sub System Id                     : 0x16C110DE
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
            Link Width
                Max                       : 16x
                Current                   : 8x
    FB Memory Usage
        Total                             : {memory}
        Used                              : 1 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
    GPU Power Readings
        Power Draw                        : {power}
    Fabric
        State                             : Completed
        CliqueId                          : 3
        ClusterUUID                       : 5d3c9a10-7f21-4c55-9e0b-66a1f2d4c8e7
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 4711
            Type                          : C
            Name                          : python train.py --token hunter2
            Used GPU Memory               : 5 MiB
    Capabilities
        EGM                               : disabled
"""


MIG = """    MIG Device
        Index                             : 0
        GPU Instance ID                   : 2
        Shared FB Memory Usage
            Total                         : 40448 MiB
    MIG Device
        Index                             : 1
        GPU Instance ID                   : 3
        Shared FB Memory Usage
            Total                         : 20096 MiB
"""
QUERY = HEAD.format(attached=2) + query_block(0) + "\n" + query_block(1)
LIST = "".join(f"GPU {n}: {NAME} (UUID: {UUIDS[n]})\n" for n in range(2))
MIG_LIST = (
    f"GPU 0: {NAME} (UUID: {UUIDS[0]})\n"
    f"  MIG 3g.40gb     Device  0: (UUID: {MIG_UUIDS[0]})\n"
    f"  MIG 2g.20gb     Device  1: (UUID: {MIG_UUIDS[1]})\n"
)
NVLINK = "".join(
    f"GPU {n}: {NAME} (UUID: {UUIDS[n]})\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n\t Link 2: <inactive>\n"
    for n in range(2)
)
C2C = f"GPU 0: NVIDIA GH200 480GB (UUID: {UUIDS[0]})\n\t C2C Link 0: 44.712 GB/s\n\t C2C Link 1: 44.712 GB/s\n"
P2P = " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tCNS\tX\t\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"
CSV = (
    "index, name, uuid, pci.bus_id, serial, driver_version, memory.total [MiB], power.draw [W]\n"
    f"0, {NAME}, {UUIDS[0]}, {ADDRESSES[0]}, 1653123000000, 570.133.20, 81559 MiB, 71.27 W\n"
    f"1, {NAME}, {UUIDS[1]}, {ADDRESSES[1]}, 1653123000001, 570.133.20, 81559 MiB, 70.01 W\n"
)
TABLE = """Mon Mar  3 10:00:00 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.133.20             Driver Version: 570.133.20     CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |                    0 |
| N/A   30C    P0            100W /  700W |       1MiB /  81559MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:2A:00.0 Off |                   On |
| N/A   30C    P0             82W /  700W |       1MiB /  81559MiB |      0%      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|                  |                                  |        ECC|                       |
|==================+==================================+===========+=======================|
|  1    2   0   0  |              26MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
|                  |               0MiB / 24739MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  1    3   0   1  |              17MiB / 20096MiB    | 32      0 |  2   0    2    0    2 |
|                  |               0MiB / 12369MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    1    2    0             4711      C   python train.py --token hunter2          26MiB |
+-----------------------------------------------------------------------------------------+
"""
TEXTS = {
    "nvidia-smi-query": QUERY,
    "nvidia-smi-list": MIG_LIST,
    "nvidia-smi-nvlink": NVLINK,
    "nvidia-smi-c2c": C2C,
    "nvidia-smi-p2p": P2P,
    "nvidia-smi-csv": CSV,
    "nvidia-smi-table": TABLE,
}
"""One text of each form."""
