"""`nvidia-smi -q -x`: one element a GPU.

The document type is nvsmi_device_v*.dtd, which no public place serves; the names are those of drivers 390 to 610.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Mapping, NamedTuple, Sequence, Tuple
from xml.etree.ElementTree import Element

from raxl.model.accelerator import Partition
from raxl.model.identity import pci_address
from raxl.sources import nvidia_smi_counters, nvidia_smi_places, xml_text
from raxl.sources import nvidia_smi_values as values
from raxl.sources.numbers import MOST_PLACES, whole
from raxl.sources.nvidia_smi_readings import Told

COMMAND = ("nvidia-smi", "-q", "-x")
ROOT = "nvidia_smi_log"


class Gpu(NamedTuple):
    """One `gpu` element."""

    words: Mapping[str, str]
    """What stands in it, by the names of `raxl.sources.nvidia_smi_device`; what it does not have is left out."""
    partitions: Tuple[Partition, ...]
    is_cut: bool
    """Whether the document ends inside this element."""

    @property
    def address(self) -> str | None:
        """Its PCI address."""
        return pci_address(self.words.get("address"))


class Log(NamedTuple):
    """The whole document."""

    driver: str | None
    cuda: str | None
    attached: int | None
    """How many GPUs the header states."""
    gpus: tuple[Gpu, ...]
    damage: str | None
    """Why the document ends early or could not be read."""


@lru_cache(maxsize=2)
def parse(text: str) -> Log:
    """The GPUs in the document's order, which is NVML's index order; one document is asked about twice."""
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


def told(text: str) -> list[Told]:
    """What the document says of each GPU that checks go by."""
    root, _ = xml_text.parse(text)
    if root is None or root.tag != ROOT:
        return []
    return [_told(index, element) for index, element in enumerate(root.findall("gpu"))]


def _told(index: int, element: Element) -> Told:
    words = {}
    for name, places in nvidia_smi_places.ALL.items():
        found = [one for path in places.xml if (one := _at(element, path)) is not None and not len(one)]
        held = [_text(one) for one in found]
        if held:
            words[name] = next((word for word in held if values.says(word) is not None), held[0])
    processes = element.find("processes")
    return Told(
        form=" ".join(COMMAND),
        words=words,
        address=pci_address(element.get("id")),
        uuid=value(element, "uuid"),
        number=index,
        processes=None if processes is None else len(processes.findall("process_info")),
        partitions=len(element.findall("mig_devices/mig_device")),
    )


def value(element: Element, path: str) -> str | None:
    """The text at `path`; None where it is missing, says that there is none, or says that reading it failed."""
    return values.says(_raw(element, path))


def _raw(element: Element, path: str) -> str:
    found = _at(element, path)
    return "" if found is None else _text(found)


def _at(element: Element, path: str) -> Element | None:
    """The first element at a path: `find` is written in C for a single name, and in Python for more."""
    found: Element | None = element
    for name in path.split("/"):
        found = None if found is None else found.find(name)
    return found


def _text(element: Element) -> str:
    return (element.text or "").split("\0", 1)[0].strip()


_LINK = "pci/pci_gpu_link_info"
_WORDS = {
    "address": ("pci/pci_bus_id",),
    "model": ("product_name",),
    "architecture": ("product_architecture",),
    "uuid": ("uuid",),
    "serial": ("serial",),
    "minor": ("minor_number",),
    "vbios": ("vbios_version",),
    "memory": ("fb_memory_usage/total",),
    "numa_node": ("gpu_numa_id", "numa_id"),
    "mig_mode": ("mig_mode/current_mig",),
    "virtualization_mode": ("gpu_virtualization_mode/virtualization_mode",),
    "addressing_mode": ("addressing_mode",),
    "recovery_action": ("gpu_recovery_action",),
    "device_id": ("pci/pci_device_id",),
    "subsystem_id": ("pci/pci_sub_system_id",),
    "link_generation": (f"{_LINK}/pcie_gen/current_link_gen", f"{_LINK}/pcie_gen/device_current_link_gen"),
    "link_most_generation": (f"{_LINK}/pcie_gen/max_link_gen", f"{_LINK}/pcie_gen/max_device_link_gen"),
    "link_width": (f"{_LINK}/link_widths/current_link_width",),
    "link_most_width": (f"{_LINK}/link_widths/max_link_width",),
    "fabric_state": ("fabric/state",),
    "fabric_cluster": ("fabric/clusterUuid",),
    "fabric_clique": ("fabric/cliqueId",),
    "remapped_rows_correctable": ("remapped_rows/remapped_row_corr",),
    "remapped_rows_uncorrectable": ("remapped_rows/remapped_row_unc",),
    "remap_pending": ("remapped_rows/remapped_row_pending",),
    "remap_failure": ("remapped_rows/remapped_row_failure",),
    "retired_pages_single_bit": ("retired_pages/multiple_single_bit_retirement/retired_count",),
    "retired_pages_double_bit": ("retired_pages/double_bit_retirement/retired_count",),
    "retirement_pending": ("retired_pages/pending_blacklist", "retired_pages/pending_retirement"),
    "pcie_replays": ("pci/replay_counter",),
}
"""Where the document says each word: the first of the places that says a value, else the first that it has."""
_UNCORRECTED = ("sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_uncorrectable")
"""Uncorrected errors since the driver was loaded; before Turing, `double_bit/total`."""


def _gpu(element: Element, is_cut: bool) -> Gpu:
    words = {name: word for name, paths in _WORDS.items() if (word := _word(element, paths)) is not None}
    errors = _at(element, "ecc_errors/volatile")
    if errors is not None:
        told = [_raw(errors, path) for path in (*_UNCORRECTED, "double_bit/total") if _at(errors, path) is not None]
        uncorrected = nvidia_smi_counters.total(told)
        words = words if uncorrected is None else {**words, "ecc_uncorrected": uncorrected}
    if pci_address(element.get("id")):
        words["address"] = str(element.get("id"))
    migs = enumerate(element.findall("mig_devices/mig_device"))
    return Gpu(words, tuple(_partition(place, mig) for place, mig in migs), is_cut)


def _word(element: Element, paths: Sequence[str]) -> str | None:
    held = [_text(found) for path in paths if (found := _at(element, path)) is not None]
    return next((word for word in held if values.says(word) is not None), held[0] if held else None)


def _partition(place: int, element: Element) -> Partition:
    number = whole(value(element, "index"), MOST_PLACES)
    return Partition(
        id=value(element, "uuid") or f"mig:{place if number is None else number}",
        profile=value(element, "name") or value(element, "profile"),
        memory_bytes=values.mebibytes(value(element, "fb_memory_usage/total")),
    )
