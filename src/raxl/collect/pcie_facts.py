"""What checks of PCI Express go by: of accelerators, network adapters and the bridges above them, whoever told it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raxl.collect import acs
from raxl.collect.bus import bus_of
from raxl.host.replay import ReplayHost
from raxl.intake import documents
from raxl.intake.foreign import Foreign
from raxl.model.accelerator import Accelerator
from raxl.model.component import PciFunction
from raxl.model.facts import Reading
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.peering import Peering
from raxl.model.problem import NOT_APPLICABLE, NOT_ASKED, NOT_SUPPORTED
from raxl.sources import pcie_health
from raxl.sources.pci import BUS_ALONE

_LINK = {"speed": "speed_gts", "width": "width", "max_speed": "max_speed_gts", "max_width": "max_width"}
_DEAD, _READ = "ff" * 64, "read by lspci"


def of(host: ReplayHost, node: Node, peering: Peering) -> dict[str, dict[str, Reading]]:
    """By address: what `pcie_health.readings` names, and `root` (the host bridge), `chain` (the bridges above), `ids`
    (`vvvv:dddd`), `physical_function` (None where it is none's), `acs`, `iommu` and `bar` as `Peering` has them, and
    from lspci `latched` (errors in its status registers). Where lspci read a header, it stands for its bytes."""
    foreign = documents.read(host)[0]
    functions = bus_of(host, foreign).functions
    kernel = pcie_health.readings(pcie_health.ask(host))
    ports = acs.ports(peering.ports, foreign)
    errors = _errors(foreign)
    found = {}
    for address in _wanted(node, functions):
        function = functions[address]
        own = errors.get(address, {})
        told = {**_told(function, own), **own}
        for name, reading in kernel.get(address, {}).items():
            if reading.known or name not in told or not told[name].known:
                told[name] = reading
        beside = {"acs": ports, "iommu": peering.iommu_types, "bar": peering.bars}
        told.update((name, readings[address]) for name, readings in beside.items() if address in readings)
        found[address] = told
    return found


def _wanted(node: Node, functions: Mapping[str, PciFunction]) -> list[str]:
    """The functions of accelerators and adapters on a bus that was read, and the bridges above them."""
    every: list[Accelerator | Nic] = [*node.accelerators, *node.nics]
    own = [device.pci.address for device in every if device.pci]
    known = [address for address in own if address in functions and functions[address].evidence in BUS_ALONE]
    above = [port for address in known for port in functions[address].chain if port in functions]
    return list(dict.fromkeys((*known, *above)))


def _told(function: PciFunction, errors: Mapping[str, Reading]) -> dict[str, Reading]:
    """What the tree itself says, whichever source it is from."""
    source = function.evidence
    ids = f"{function.vendor_id}:{function.device_id}" if function.vendor_id and function.device_id else None
    told = {
        "root": Reading(function.host_bridge, source),
        "chain": Reading(function.chain, source),
        "ids": Reading(ids, source, *(() if ids else (NOT_ASKED, "its ids are not told"))),
        "physical_function": Reading(function.physical_function, source),
        "header": _header(function),
    }
    if function.driver is not None:
        told["driver"] = Reading(function.driver, source)
    for name, field in _LINK.items():
        value = getattr(function.link, field) if function.link is not None else None
        told[name] = (
            Reading(value, source) if value is not None else Reading(None, source, *_unlinked(function, errors))
        )
    return told


def _header(function: PciFunction) -> Reading:
    """lspci shows the link of a function that answers, and says of one that does not that it reads all ones."""
    if function.is_lost:
        return Reading(_DEAD, function.evidence)
    if function.link is not None and function.evidence == "lspci":
        return Reading(_READ, function.evidence)
    return Reading(None, function.evidence, NOT_ASKED, "the configuration space was not read")


def _unlinked(function: PciFunction, errors: Mapping[str, Reading]) -> tuple[str, str]:
    """Why a link is not told; lspci that showed a function's capabilities would have shown its link."""
    if function.link is not None:
        return NOT_SUPPORTED, f"{function.evidence} shows it as unknown"
    latched = errors.get("latched")
    if latched is not None and latched.reason in (None, NOT_SUPPORTED):
        return NOT_APPLICABLE, "it has no link: part of the processor, or on conventional PCI"
    return NOT_ASKED, "lspci -vv, run as root, tells it" if function.evidence == "lspci" else "nobody told it"


def _errors(foreign: Sequence[Foreign]) -> dict[str, Mapping[str, Reading]]:
    return {address: told for document in foreign for address, told in document.errors.items()}
