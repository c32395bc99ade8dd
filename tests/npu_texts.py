"""Small outputs of the tools of NPUs and other GPUs, synthetic, with neutral names, serials and addresses."""

from __future__ import annotations

import json

RBLN_JSON = json.dumps(
    {
        "KMD_version": "3.0.0",
        "devices": [
            {
                "npu": str(n) if n else n,
                "name": "RBLN-CA22",
                "sid": f"000000002250000{n}",
                "uuid": f"00000000-0000-4000-8000-00000009000{n}",
                "device": f"rbln{n}",
                "status": "normal",
                "fw_ver": "3.0.0",
                "pci": {
                    "bus_id": f"0000:{place}:00.0",
                    "numa_node": str(n),
                    "link_speed": "32.0GT/s",
                    "link_width": "x16",
                },
                "memory": {"used": "0", "total": "16877879296"},
            }
            for n, place in enumerate(("24", "a4"))
        ],
        "contexts": [{"ctx_id": "1", "npu": "0", "pid": "4711", "cmd": "python3 serve.py --token hunter2"}],
    },
    indent=1,
)
RBLN_TABLE = """\
+-------------------------------------------------------------------------------------------------+
|                                Device Information KMD ver: 3.2.2                                |
+-----+-----------+---------+---------------+------+---------+------+---------------------+-------+
| NPU |    Name   | Device  |   PCI BUS ID  | Temp |  Power  | Perf |  Memory(used/total) |  Util |
+=====+===========+=========+===============+======+=========+======+=====================+=======+
| 0   | RBLN-CA25 | rbln0   |  0000:05:00.0 |  38C |  25.2W  | P14  |    0.0B / 15.7GiB   |   0.0 |
| 1   |           | rbln1   |  0000:06:00.0 |  38C |  25.2W  | P14  |    2.4GB / 15.7GiB  |   0.0 |
+-----+-----------+---------+---------------+------+---------+------+---------------------+-------+
+-------------------------------------------------------------------------------------------------+
|                                       Context Information                                       |
+-----+---------------------+--------------+-----------+----------+------+---------------+--------+
| NPU | Process             |     PID      |    CTX    | Priority | PTID |      Memalloc | Status |
| 0   | serve --key hunter2 |     4711     |    1      | 0        | 1    |      0.0B     | idle   |
+-----+---------------------+--------------+-----------+----------+------+---------------+--------+
"""
FURIOSA_INFO = """\
[
  {"arch": "rngd", "dev_name": "npu0", "device_uuid": "00000000-0000-4000-8000-000000100000",
   "device_sn": "RNGX0000000000", "firmware": "2026.3.0, 0000000", "pci_bdf": "0000:23:00.0"},
  {"arch": "rngd", "dev_name": "npu3", "device_uuid": "00000000-0000-4000-8000-000000100003",
   "device_sn": "RNGX0000000003", "firmware": "2026.3.0, 0000000", "pci_bdf": "0000:a3:00.0"}
]
"""
FURIOSA_STATUS = """\
[{"arch": "rngd", "device": "npu0", "liveness": "alive",
  "memory": {"DRAM": {"used_size": 0, "total_size": 51002736640}}},
 {"arch": "rngd", "device": "npu3", "liveness": "dead",
  "memory": {"DRAM": {"used_size": 0, "total_size": 51002736640}}}]
"""
FURIOSA_TABLE = """\
+------+--------+---------------------+---------+-------+--------------+
| Arch | Device | Firmware            | Temp.   | Power | PCI-BDF      |
+------+--------+---------------------+---------+-------+--------------+
| RNGD | npu0   | 1.7.0, 000000000000 | 40.98°C |  38 W | 0000:03:00.0 |
+------+--------+---------------------+---------+-------+--------------+
| RNGD | npu1   | 1.7.0, 000000000000 | 41.34°C |  37 W | 0000:04:00.0 |
+------+--------+---------------------+---------+-------+--------------+
"""
FURIOSA_TOPO = """\
+--------+--------------+--------------+--------------+-----------+
| Device | npu0         | npu1         | npu2         | NUMA node |
+--------+--------------+--------------+--------------+-----------+
| npu0   | Noc          | Interconnect | Interconnect | 0         |
+--------+--------------+--------------+--------------+-----------+
| npu1   | Interconnect | Noc          | Bridge       | 1         |
+--------+--------------+--------------+--------------+-----------+
| npu2   | Interconnect | Bridge       | Noc          | 1         |
+--------+--------------+--------------+--------------+-----------+
"""
BOARDS = ("100010000000000", "100010000000001")
TT_SMI = json.dumps(
    {
        "time": "2026-01-01T00:00:00",
        "host_info": {
            "Distro": "Ubuntu 22.04.5 LTS",
            "Kernel": "5.15.0-141-generic",
            "Hostname": "tt-1",
            "Platform": "x86_64",
            "Driver": "TT-KMD 1.34",
        },
        "host_sw_vers": {"tt_smi": "3.0.20"},
        "device_info": [
            {
                "board_info": {
                    "bus_id": f"0000:{place}:00.0" if side == "L" else "N/A",
                    "board_type": f"n300 {side}",
                    "board_id": board,
                    "coords": "(0, 0, 0, 0)",
                    "dram_status": True,
                    "dram_speed": "12G",
                    "pcie_speed": 4 if side == "L" else "N/A",
                    "pcie_width": "16" if side == "L" else "N/A",
                },
                "firmwares": {"fw_bundle_version": "80.17.0.0"},
            }
            for side in "LR"
            for place, board in zip(("c1", "01"), BOARDS, strict=True)
        ],
    },
    indent=4,
)
TT_UMD = """\
arch:
  0: wormhole_b0
  1: wormhole_b0
chips:
  0: [0, 0, 0, 0]
  1: [0, 1, 0, 0]
chip_unique_ids:
  1: 14251245764
  0: 9956278468
ethernet_connections:
  -
    - chip: 0
      chan: 8
    - chip: 1
      chan: 0
  -
    - chip: 0
      chan: 9
    - chip: 1
      chan: 1
ethernet_connections_to_remote_devices:
  -
    - chip: 1
      chan: 6
    - remote_chip_id: 77
      chan: 6
chips_with_mmio:
  - 0: 3
io_device_type: PCIe
chip_to_bus_id:
  0: "0x0041"
boards:
  -
    - board_id: 72058693549555712
    - board_type: n300
    - chips:
        - 1
        - 0
asic_locations:
  0: 0
  1: 1
chip_pci_bdfs:
  0: 0000:41:00.0
"""
TT_UMD_OLD = """\
arch: {
   0: Wormhole,
   1: Wormhole,
}

chips: {
   0: [0,0,0,0],
   1: [1,0,0,0],
}

ethernet_connections: [
   [{chip: 0, chan: 8}, {chip: 1, chan: 0}],
   [{chip: 1, chan: 0}, {chip: 0, chan: 8}],
]

chips_with_mmio: [
   0: 0,
]

boardtype: {
   0: n300,
   1: n300,
}
"""
MX_TABLE = """\
mx-smi  version: 2.2.9

=================== MetaX System Management Interface Log ===================
Timestamp                                         : Wed Jan  1 00:00:00 2026

Attached GPUs                                     : 2
+---------------------------------------------------------------------------------+
| MX-SMI 2.2.9                       Kernel Mode Driver Version: 3.4.4            |
| MACA Version: 3.3.0.15             BIOS Version: 1.30.0.0                       |
|------------------+-----------------+---------------------+----------------------|
| Board       Name | GPU   Persist-M | Bus-id              | GPU-Util      sGPU-M |
| Pwr:Usage/Cap    | Temp       Perf | Memory-Usage        | GPU-State            |
|==================+=================+=====================+======================|
| 0     MetaX C500 | 0           Off | 0000:0e:00.0        | 0%          Disabled |
| 57W / 350W       | 35C          P0 | 826/65536 MiB       | Available            |
+------------------+-----------------+---------------------+----------------------+
| 0     MetaX C500 | 1           Off | 0000:0f:00.0        | 0%          Disabled |
| 58W / 350W       | 37C          P0 | 826/65536 MiB       | Available            |
+------------------+-----------------+---------------------+----------------------+

+---------------------------------------------------------------------------------+
| Process:                                                                        |
|  GPU                    PID         Process Name                 GPU Memory     |
|                                                                  Usage(MiB)     |
|=================================================================================|
|  0                      4711        serve --key hunter2          826            |
+---------------------------------------------------------------------------------+
"""
MX_TOPO = """\
=================== MetaX System Management Interface Log ===================
Attached GPUs                                     : 3
Device link type matrix
        GPU0    GPU1    GPU2    Node Affinity  CPU Affinity
GPU0    X       MX      NODE    0              0-31,64-95
GPU1    MX      X       SYS     0              0-31,64-95
GPU2    NODE    SYS     X       0,1            32-63,96-127

Legend:
  X    = Self
  MX   = Connection traversing MetaXLink
  NA   = Connection type is unknown
"""

TEXTS = {
    "rbln-smi": RBLN_JSON,
    "furiosa-smi": FURIOSA_INFO,
    "tt-smi": TT_SMI,
    "tt-umd": TT_UMD,
    "mx-smi": MX_TABLE,
}
"""One text of each form."""
MORE = {
    "rbln-smi table": RBLN_TABLE,
    "furiosa-smi table": FURIOSA_TABLE,
    "furiosa-smi topo": FURIOSA_TOPO,
    "tt-umd, older": TT_UMD_OLD,
    "mx-smi topo": MX_TOPO,
}
"""Another one of most."""
