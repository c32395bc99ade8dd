"""What raxl says that Ray calls a device is what Ray's own code says."""

from __future__ import annotations

import pytest

from raxl.sources import amd_names, nvidia_names

NAMES = [
    "NVIDIA H100 80GB HBM3",
    "NVIDIA H200 NVL",
    "NVIDIA B300 SXM6 AC",
    "NVIDIA GB200",
    "NVIDIA GB10",
    "NVIDIA A100-SXM4-80GB",
    "NVIDIA A10G",
    "NVIDIA L40S",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "NVIDIA GeForce RTX 5090",
    "Tesla V100-SXM2-16GB",
    "Quadro P2000",
    "Tesla T4",
    "Orin (nvgpu)",
    "GRID A100D-40C",
    "Graphics Device",
]


@pytest.mark.parametrize("name", NAMES)
def test_nvidia_types(name: str) -> None:
    from ray._private.accelerators.nvidia_gpu import NvidiaGPUAcceleratorManager

    assert nvidia_names.ray_type(name) == NvidiaGPUAcceleratorManager._gpu_name_to_accelerator_type(name)


def test_amd_types() -> None:
    from ray._private.accelerators import amd_gpu

    theirs = {key.lower().removeprefix("0x"): name for key, name in amd_gpu.amd_product_dict.items()}
    assert theirs == amd_names.RAY_TYPES
