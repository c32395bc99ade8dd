"""What `xpu-smi` prints, in small texts of the project's own making."""

from __future__ import annotations

import json

DISCOVERY = json.dumps(
    {
        "device_list": [
            {
                "device_function_type": "physical",
                "device_id": number,
                "device_name": "Intel(R) Data Center GPU Max 1550",
                "device_state": state,
                "device_type": "GPU",
                "drm_device": f"/dev/dri/card{number + 1}",
                "pci_bdf_address": f"0000:{bus}:00.0",
                "pci_device_id": "0xbd5",
                "uuid": f"01000000-0000-0000-0000-0000005e00{number:02}",
                "vendor_name": "Intel(R) Corporation",
            }
            for number, bus, state in ((0, "3a", "Normal"), (1, "9a", "Wedged"))
        ]
    },
    indent=4,
)
ONE = json.dumps(
    {
        "device_id": 0,
        "device_name": "Intel(R) Data Center GPU Max 1550",
        "driver_version": "I915_25.2.8",
        "memory_physical_size_byte": "137438953472",
        "number_of_tiles": "2",
        "pci_bdf_address": "0000:3a:00.0",
        "pcie_generation": "5",
        "pcie_max_link_width": "16",
        "serial_number": "LQAC00000001",
        "uuid": "01000000-0000-0000-0000-0000005e0000",
    }
)
TABLE = """\
+-----------+--------------------------------------------------------------------------------------+
| Device ID | Device Information                                                                   |
+-----------+--------------------------------------------------------------------------------------+
| 0         | Device Name: Intel(R) Data Center GPU Flex 170                                       |
|           | Vendor Name: Intel(R) Corporation                                                    |
|           | UUID: 00000000-0000-004d-0000-000856c08086                                           |
|           | PCI BDF Address: 0000:4d:00.0                                                        |
|           | DRM Device: /dev/dri/card1                                                           |
|           | Memory Physical Size: 14248.00 MiB                                                   |
|           | Function Type: physical                                                              |
+-----------+--------------------------------------------------------------------------------------+
| 1         | Device Name: Intel(R) Data Center GPU Flex 170                                       |
|           | Vendor Name: Intel(R) Corporation                                                    |
|           | UUID: 00000000-0000-00b3-0000-000856c08086                                           |
|           | PCI BDF Address: 0000:b3:00.0                                                        |
|           | Function Type: physical                                                              |
+-----------+--------------------------------------------------------------------------------------+
"""
TILES = """\
         GPU 0/0|GPU 0/1|GPU 1/0|GPU 1/1|CPU Affinity
GPU 0/0 |S      |MDF    |XL*    |XL16   |0-23,48-71
GPU 0/1 |MDF    |S      |XL16   |XL*    |0-23,48-71
GPU 1/0 |XL*    |XL16   |S      |MDF    |24-47,72-95
GPU 1/1 |XL16   |XL*    |MDF    |S      |24-47,72-95
"""
WORDS = """\
         GPU 0/0  GPU 1/0  GPU 2/0  GPU 3/0  GPU 4/0  NIC0     CPU Affinity
GPU 0/0  S        PIX      PXB      PHB      SYS      PIX      0-31
GPU 1/0  PIX      S        NODE     SYS      SYS      NODE     0-31
GPU 2/0  PXB      NODE     S        SYS      SYS      NODE     0-31
GPU 3/0  PHB      SYS      SYS      S        SYS      NODE     0-31
GPU 4/0  SYS      SYS      SYS      SYS      S        SYS      32-63
NIC0     PIX      NODE     NODE     NODE     SYS      S        0-31
"""
TEXTS = {"xpu-smi -j": DISCOVERY, "xpu-smi discovery": TABLE, "xpu-smi topology": WORDS}
"""One text of each form."""
