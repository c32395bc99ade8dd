"""The plug-ins that answer: raxl's own, from their static tables."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raxl.accelerators import AcceleratorPlugin
    from raxl.platforms import PlatformPlugin
    from raxl.transports import TransportPlugin

BUILT_IN = {
    "nvidia": "raxl.accelerators.nvidia:Nvidia",
    "amd": "raxl.accelerators.amd:Amd",
    "tpu": "raxl.accelerators.tpu:Tpu",
    "neuron": "raxl.accelerators.neuron:Neuron",
    "rebellions": "raxl.accelerators.rebellions:Rebellions",
    "furiosa": "raxl.accelerators.furiosa:Furiosa",
    "mobilint": "raxl.accelerators.mobilint:Mobilint",
    "tenstorrent": "raxl.accelerators.tenstorrent:Tenstorrent",
    "metax": "raxl.accelerators.metax:MetaX",
    "apple": "raxl.accelerators.apple:Apple",
    "groq": "raxl.accelerators.groq:Groq",
    "qualcomm": "raxl.accelerators.qualcomm:Qualcomm",
    "mthreads": "raxl.accelerators.mthreads:MooreThreads",
    "cambricon": "raxl.accelerators.cambricon:Cambricon",
    "hygon": "raxl.accelerators.hygon:Hygon",
    "iluvatar": "raxl.accelerators.iluvatar:Iluvatar",
    "enflame": "raxl.accelerators.enflame:Enflame",
    "biren": "raxl.accelerators.biren:Biren",
    "graphcore": "raxl.accelerators.graphcore:Graphcore",
    "gaudi": "raxl.accelerators.gaudi:Gaudi",
    "ascend": "raxl.accelerators.ascend:Ascend",
    "intel": "raxl.accelerators.intel:Intel",
}
"""raxl's own accelerator plug-ins, so that no entry point needs to be read to use them. A test holds the table against
`pyproject.toml`."""

PLATFORMS = {
    "aws": "raxl.platforms.aws:Aws",
    "gcp": "raxl.platforms.gcp:Gcp",
    "azure": "raxl.platforms.azure:Azure",
    "oci": "raxl.platforms.oci:Oci",
    "slurm": "raxl.platforms.slurm:Slurm",
}
"""raxl's own platform plug-ins, in the same way."""

TRANSPORTS = {
    "memcpy": "raxl.transports.memcpy:Memcpy",
    "shared-memory": "raxl.transports.shared_memory:SharedMemory",
    "tcp": "raxl.transports.tcp:Tcp",
    "nixl": "raxl.transports.nixl:Nixl",
    "nixl-libfabric": "raxl.transports.nixl:NixlLibfabric",
    "torch-gloo": "raxl.transports.torch_gloo:TorchGloo",
    "torch-nccl": "raxl.transports.torch_nccl:TorchNccl",
    "object-store": "raxl.transports.object_store:ObjectStore",
    "rdt-gloo": "raxl.transports.rdt_gloo:RdtGloo",
    "rdt-nccl": "raxl.transports.rdt_nccl:RdtNccl",
    "rdt-nixl": "raxl.transports.rdt_nixl:RdtNixl",
    "rdt-cuda-ipc": "raxl.transports.rdt_cuda_ipc:RdtCudaIpc",
}
"""raxl's own transports, in the same way; in the order in which they are measured."""

LIBRARIES = {"nvml": "raxl.sources.nvml_library:Nvml", "amdsmi": "raxl.sources.amdsmi_library:AmdSmi"}
"""Vendor libraries that a plug-in may ask, each by the class that calls it inside the asking process."""

BINDINGS = ("pynvml", "amdsmi", "ray")
"""The packages through which those classes call, and Ray, beside which the packages are that it calls."""

SOURCES = ("pci", "numa", "cpu", "system", "netdev", "infiniband", "modules", "limits", "peers", "ray_view")
"""Vendor-neutral sources, each a module of `raxl.sources` with an `ask`."""

CHECKED = (
    "vantage",
    "kernel_log",
    "edac",
    "nvidia_driver",
    "pcie_health",
    "amd_health",
    "neuron_health",
    "tpu_nodes",
    "kernel_settings",
    "device_nodes",
    "rdma_ports",
    "interfaces",
    "flow_control",
    "filesystems",
    "usable_cpus",
    "nccl_files",
    "nvidia_control",
    "processes",
)
"""Sources in the same way that checks alone go by; but for `_DRIVEN` they ask no driver."""

EXAMINED = ("raxl.accelerators.nvidia:Nvidia.examine",)
"""Questions to drivers and vendors' tools that checks alone want. They are asked last: a device that hangs there has
been told before."""

COMMON, CHECKS, QUICK = "common", "checks", "quick"
"""What is asked: what all commands go by; all that a snapshot holds; no driver, no vendor's command, no metadata."""
_DRIVEN = ("ray_view", "nvidia_control")
"""Sources that run a vendor's command, or open a device."""


@cache
def accelerators() -> tuple[AcceleratorPlugin, ...]:
    """Every accelerator plug-in, in the table's order."""
    return tuple(built_in(name) for name in BUILT_IN)


def _load(entry: str) -> Any:
    module, _, name = entry.partition(":")
    return getattr(import_module(module), name)()


@cache
def built_in(name: str) -> AcceleratorPlugin:
    """One of raxl's own plug-ins."""
    return _load(BUILT_IN[name])  # type: ignore[no-any-return]


@cache
def platforms() -> tuple[PlatformPlugin, ...]:
    """Every platform plug-in, in the table's order."""
    return tuple(map(platform, PLATFORMS))


def transport(entry: str) -> TransportPlugin:
    """A transport by its entry point, `module:Class`."""
    return _load(entry)  # type: ignore[no-any-return]


@cache
def platform(name: str) -> PlatformPlugin:
    """One of raxl's own platform plug-ins."""
    return _load(PLATFORMS[name])  # type: ignore[no-any-return]


def ask_tasks(questions: str = COMMON) -> list[str]:
    """What the asker runs, the kernel's files first: `module:function` of sources, `module:Class` of plug-ins."""
    if questions == QUICK:
        sources = [name for name in (*SOURCES, *CHECKED) if name not in _DRIVEN]
        return [*(f"raxl.sources.{name}:ask" for name in sources), *(f"{entry}.probe" for entry in BUILT_IN.values())]
    sources = [*SOURCES, *(CHECKED if questions == CHECKS else ())]
    tasks = [*(f"raxl.sources.{name}:ask" for name in sources), *BUILT_IN.values(), *PLATFORMS.values()]
    return [*tasks, *(EXAMINED if questions == CHECKS else ())]
