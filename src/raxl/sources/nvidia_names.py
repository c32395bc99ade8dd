"""What NVIDIA, its tools and Ray call NVIDIA's devices: names that every source of them shares."""

from __future__ import annotations

import re

from raxl.model.accelerator import Fabric

VENDOR_ID = "10de"
VISIBLE = "CUDA_VISIBLE_DEVICES"

NO_DOMAIN = "00000000-0000-0000-0000-000000000000"
"""What one HGX machine reports as its cluster UUID: it belongs to no multi-node NVLink domain."""

MODELS = {
    "1af1": "NVSwitch A100",
    "1ac2": "NVSwitch V100",
    "22a3": "NVSwitch H100",
    "1db1": "V100 SXM2 16GB",
    "1db5": "V100 SXM2 32GB",
    "1db8": "V100 SXM3 32GB",
    "1eb8": "T4",
    "20b0": "A100 SXM4 40GB",
    "20b2": "A100 SXM4 80GB",
    "20b5": "A100 PCIe 80GB",
    "20b7": "A30",
    "20f1": "A100 PCIe 40GB",
    "2236": "A10",
    "2237": "A10G",
    "26b1": "RTX 6000 Ada Generation",
    "26b5": "L40",
    "26b9": "L40S",
    "27b8": "L4",
    "2321": "H100 NVL 94GB",
    "2328": "H20B",
    "2329": "H20",
    "232c": "H20 HBM3e",
    "2330": "H100 SXM5 80GB",
    "2331": "H100 PCIe",
    "2335": "H200 SXM",
    "2338": "H100 96GB",
    "2339": "H100 SXM5 94GB",
    "233b": "H200 NVL",
    "233d": "H100 96GB",
    "2342": "GH200 120GB",
    "2348": "GH200 144GB",
    "2901": "B200",
    "2909": "B200 168GB",
    "2920": "B100",
    "29bc": "B100",
    "2941": "GB200",
    "2b00": "Jetson AGX Thor GPU",
    "2bb1": "RTX PRO 6000 Blackwell Workstation Edition",
    "2bb4": "RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    "2bb5": "RTX PRO 6000 Blackwell Server Edition",
    "2c3a": "RTX PRO 4500 Blackwell Server Edition",
    "2e12": "GB10",
    "3182": "B300 SXM6 AC",
    "31c2": "GB300",
    "31c3": "GB300",
}
"""By PCI device id, after https://pci-ids.ucw.cz (2026-08-22): the name where no driver has told one."""

_RAY_TYPE = re.compile(r"\w+\s+((?:[A-Z]+\s+)*[A-Z0-9]*\d[A-Z0-9]*)")
"""As Ray 2.60 cuts the model out of NVML's name (`NVIDIA_GPU_NAME_PATTERN`): tests hold it against Ray's own."""


def ray_type(product: str | None) -> str | None:
    """Ray's `ray.io/accelerator-type` for the name that NVML gives."""
    if not product:
        return None
    found = _RAY_TYPE.match(product)
    if found and len(found[1]) > 1:
        return found[1].replace(" ", "-")
    return re.sub(r"^NVIDIA\s+", "", product).strip().replace(" ", "-") or None


def fabric(state: str | None, cluster: str | None, clique: str | None) -> Fabric | None:
    """The NVLink fabric as the driver tells it; the zero UUID of a machine without multi-node NVLink is no domain."""
    if state is None:
        return None
    domain = cluster if cluster != NO_DOMAIN else None
    return Fabric(domain=domain, clique=clique if domain else None, state=state.lower())
