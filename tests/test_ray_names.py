"""What raxl says that Ray calls a device is what Ray's own code says."""

from __future__ import annotations

import pytest

from raxl.sources import amd_names, neuron_names, nvidia_names, tpu_slice

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


@pytest.mark.parametrize(
    "kind", ["v4-16", "v5litepod-8", "v5p-128", "v6e-1", "tpu7x-16", "ct6e-standard-4t", "tpu-v7x-16"]
)
def test_tpu_types(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ray._private.accelerators.tpu import TPUAcceleratorManager

    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", kind)
    assert tpu_slice.ray_type(kind) == TPUAcceleratorManager.get_current_node_accelerator_type()


@pytest.mark.parametrize("kind", ["v2-8", "v4-16", "v5litepod-8", "v5p-128", "v6e-1", "tpu7x-16"])
def test_tpu_chips(kind: str) -> None:
    from ray._private.accelerators import tpu

    own = tpu_slice.parse({"TPU_ACCELERATOR_TYPE": kind})
    assert own.chips == tpu.get_total_chips_from_accelerator_type(tpu.normalize_tpu_accelerator_type(kind))


def test_neuron_names() -> None:
    from ray._private.accelerators.neuron import NeuronAcceleratorManager as Manager

    view = neuron_names.RAY
    assert view.resource == Manager.get_resource_name() == neuron_names.FAMILY.resource
    assert view.type == Manager.get_current_node_accelerator_type()
    assert neuron_names.FAMILY.visible_env == Manager.get_visible_accelerator_ids_env_var()
