"""What `npu-smi` prints and GPUStack keeps, in small texts of the project's own making."""

from __future__ import annotations

import json

LINE = "+---------------------------+---------------+----------------------------------------------------+\n"
A2 = f"""\
+------------------------------------------------------------------------------------------------+
| npu-smi 24.1.rc3                 Version: 24.1.rc3                                             |
{LINE}\
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 101.8       43                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3318/ 65536          |
+===========================+===============+====================================================+
| 1     910B3               | Alarm         | 92.0        39                0    / 0             |
| 0                         | 0000:01:00.0  | 0           0    / 0          3314 / 65536         |
+===========================+===============+====================================================+
{LINE}\
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 0       0                 | 4711          | python3.10 secret        | 30211                   |
+===========================+===============+====================================================+
"""
A3 = f"""\
{LINE}\
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 3     Ascend910           | OK            | 178.5       36                0    / 0             |
| 0     6                   | 0000:9D:00.0  | 0           0    / 0          3416 / 65536         |
+------------------------------------------------------------------------------------------------+
| 3     Ascend910           | OK            | -           36                0    / 0             |
| 1     7                   | 0000:9F:00.0  | 0           0    / 0          3195 / 65536         |
+===========================+===============+====================================================+
"""
DUO = f"""\
{LINE}\
| NPU     Name              | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device            | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===========================+=================+======================================================+
| 1       310P3             | OK              | NA           50                0     / 0             |
| 0       0                 | 0000:05:00.0    | 0            1699 / 44280                            |
+---------------------------+-----------------+------------------------------------------------------+
| 1       310P3             | OK              | NA           51                0     / 0             |
| 1       1                 | 0000:05:00.0    | 0            1600 / 43693                            |
+===========================+=================+======================================================+
"""
TOPO = """\
\t   NPU0       NPU1       NPU2       NPU3       CPU Affinity
NPU0       X          HCCS       SIO        PHB        0-23
NPU1       HCCS       X          HCCS_SW    SYS        24-47
NPU2       SIO        HCCS_SW    X          NA         0-23
NPU3       PHB        SYS        NA         X          24-47

Legend:

  X    = Self
  SYS  = Path traversing PCIe and NUMA nodes. Nodes are connected through SMP, such as QPI, UPI.
  PHB  = Path traversing PCIe and the PCIe host bridge of a CPU.
  HCCS = Connection traversing HCCS.
"""
WORKER = json.dumps(
    {
        "name": "npu-01",
        "hostname": "npu-01",
        "ip": "192.0.2.7",
        "labels": {"os": "linux", "arch": "arm64", "owner": "somebody"},
        "status": {
            "cpu": {"total": 192},
            "os": {"name": "Ubuntu", "version": "22.04.5 LTS"},
            "kernel": {"name": "Linux", "release": "5.15.0-1024-generic"},
            "gpu_devices": [
                {
                    "index": number,
                    "device_index": number,
                    "device_chip_index": 0,
                    "name": "910B4",
                    "uuid": f"6A87A664 0060AC47 2803F2B2 84528485 1043010{number}",
                    "vendor": "ascend",
                    "memory": {"total": 34359738368, "used": 1},
                    "network": {"inet": "192.0.2.8", "mac": "02:00:00:00:00:01"},
                }
                for number in range(2)
            ],
        },
    },
    indent=4,
)
TEXTS = {"npu-smi info": A2, "npu-smi info -t topo": TOPO, "gpustack worker": WORKER}
"""One text of each form."""
