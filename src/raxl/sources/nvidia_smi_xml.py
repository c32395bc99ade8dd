"""`nvidia-smi -q -x`: one element a GPU.

The document type is nvsmi_device_v*.dtd, which no public place serves; the names are those of drivers 390 to 610.
"""

from __future__ import annotations

from typing import NamedTuple
from xml.etree.ElementTree import Element

from raxl.model.identity import pci_address
from raxl.sources import nvidia_smi_values as values
from raxl.sources import xml_text
from raxl.sources.numbers import MOST_PLACES, whole

COMMAND = ("nvidia-smi", "-q", "-x")
ROOT = "nvidia_smi_log"


class MigDevice(NamedTuple):
    """One MIG device."""

    number: int | None
    uuid: str | None
    profile: str | None
    memory_bytes: int | None


class Gpu(NamedTuple):
    """One `gpu` element. `failed` holds the fields whose reading failed, with the tool's words."""

    address: str | None
    product: str | None
    architecture: str | None
    uuid: str | None
    serial: str | None
    minor: int | None
    memory_bytes: int | None
    memory_numa_node: int | None
    speed_gts: float | None
    width: int | None
    max_speed_gts: float | None
    max_width: int | None
    vendor_id: str | None
    device_id: str | None
    subsystem_id: str | None
    mig_mode: str | None
    mig_devices: tuple[MigDevice, ...]
    fabric_state: str | None
    fabric_cluster: str | None
    fabric_clique: str | None
    virtualization: str | None
    vbios: str | None
    failed: tuple[tuple[str, str], ...]
    absent: tuple[str, ...]
    """Fields whose element this output does not have; `N/A` in an element is another thing."""
    is_cut: bool
    """Whether the document ends inside this element."""


class Log(NamedTuple):
    """The whole document."""

    driver: str | None
    cuda: str | None
    attached: int | None
    """How many GPUs the header states."""
    gpus: tuple[Gpu, ...]
    damage: str | None
    """Why the document ends early or could not be read."""


def parse(text: str) -> Log:
    """The GPUs in the document's order, which is NVML's index order."""
    root, damage = xml_text.parse(text)
    if root is None or root.tag != ROOT:
        return Log(None, None, None, (), damage or "the root element is not nvidia_smi_log")
    attached = value(root, "attached_gpus")
    elements = root.findall("gpu")
    return Log(
        driver=value(root, "driver_version"),
        cuda=value(root, "cuda_version"),
        attached=whole(attached, MOST_PLACES),
        gpus=tuple(_gpu(element, damage is not None and element is elements[-1]) for element in elements),
        damage=damage,
    )


def value(element: Element, path: str) -> str | None:
    """The text at `path`; None where it is missing, says that there is none, or says that reading it failed."""
    return values.says(_raw(element, path))


def _raw(element: Element, path: str) -> str:
    return (element.findtext(path) or "").split("\0", 1)[0].strip()


_READ = {
    "model": "product_name",
    "architecture": "product_architecture",
    "uuid": "uuid",
    "serial": "serial",
    "memory_bytes": "fb_memory_usage/total",
    "link": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
}
"""The inventory's fields, and where this document says them."""


def _gpu(element: Element, is_cut: bool) -> Gpu:
    link = "pci/pci_gpu_link_info"
    own_id = value(element, "pci/pci_device_id") or ""
    system = value(element, "pci/pci_sub_system_id") or ""
    clique, cluster = value(element, "fabric/cliqueId"), value(element, "fabric/clusterUuid")
    return Gpu(
        address=pci_address(element.get("id")) or pci_address(value(element, "pci/pci_bus_id")),
        product=value(element, "product_name"),
        architecture=value(element, "product_architecture"),
        uuid=value(element, "uuid"),
        serial=value(element, "serial"),
        minor=_integer(value(element, "minor_number")),
        memory_bytes=values.mebibytes(value(element, "fb_memory_usage/total")),
        memory_numa_node=_integer(value(element, "gpu_numa_id") or value(element, "numa_id")),
        speed_gts=_generation(element, f"{link}/pcie_gen", "current_link_gen", "device_current_link_gen"),
        width=values.lanes(value(element, f"{link}/link_widths/current_link_width")),
        max_speed_gts=_generation(element, f"{link}/pcie_gen", "max_link_gen", "max_device_link_gen"),
        max_width=values.lanes(value(element, f"{link}/link_widths/max_link_width")),
        vendor_id=values.half(own_id, 4),
        device_id=values.half(own_id, 0),
        subsystem_id=f"{values.half(system, 4)}:{values.half(system, 0)}" if values.half(system, 0) else None,
        mig_mode=value(element, "mig_mode/current_mig"),
        mig_devices=tuple(_mig(mig) for mig in element.findall("mig_devices/mig_device")),
        fabric_state=value(element, "fabric/state"),
        fabric_cluster=cluster,
        fabric_clique=clique,
        virtualization=value(element, "gpu_virtualization_mode/virtualization_mode"),
        vbios=value(element, "vbios_version"),
        failed=tuple(
            (field, _raw(element, path)) for field, path in _READ.items() if values.is_failure(_raw(element, path))
        ),
        absent=tuple(field for field, path in _READ.items() if element.find(path) is None),
        is_cut=is_cut,
    )


def _mig(element: Element) -> MigDevice:
    return MigDevice(
        number=_integer(value(element, "index")),
        uuid=value(element, "uuid"),
        profile=value(element, "name") or value(element, "profile"),
        memory_bytes=values.mebibytes(value(element, "fb_memory_usage/total")),
    )


def _integer(text: str | None) -> int | None:
    return whole(text, MOST_PLACES)


def _generation(element: Element, folder: str, *names: str) -> float | None:
    for name in names:
        speed = values.transfers(value(element, f"{folder}/{name}"))
        if speed is not None:
            return speed
    return None
