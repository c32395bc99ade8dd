"""NVIDIA GPUs: PCI, `/proc/driver/nvidia`, NVML, and where that is not to be had what `nvidia-smi` says."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import AbstractSet as Set
from typing import Mapping, NamedTuple, Sequence

from raxl.host import Answer, Host, stripped
from raxl.model import nominal
from raxl.model.accelerator import Partition, RayView
from raxl.model.component import PciFunction, Switch
from raxl.model.identity import nvswitch_id, pci_address
from raxl.model.node import Software
from raxl.model.presence import Presence
from raxl.model.problem import (
    DISAGREEMENT,
    FAILED,
    NOT_APPLICABLE,
    NOT_ASKED,
    NOT_INSTALLED,
    TIMED_OUT,
    Problem,
)
from raxl.model.report import Claim, LinkClaim, Report, Silence, Witness
from raxl.sources import (
    families,
    nvidia_driver,
    nvidia_names,
    nvidia_smi,
    nvidia_smi_topo,
    nvidia_smi_xml,
    nvml,
    nvml_health,
    nvml_links,
    pci,
    presence,
)
from raxl.sources.numbers import MOST_PLACES, whole

GPUS = "/proc/driver/nvidia/gpus"
CAPABILITIES = "/proc/driver/nvidia/capabilities"
QUERY, MATRIX = " ".join(nvidia_smi_xml.COMMAND), " ".join(nvidia_smi_topo.COMMAND)
_OF_DRIVER = ("uuid", "serial", "memory_bytes", "index", "architecture", "ray.type", "state", "fabric")
_OWN_OR_NONE = (None, "nvidia")
_NO_LIBRARY = (NOT_ASKED, NOT_INSTALLED)
"""Why the library is no witness at all: the tool may be one."""
_UNLISTED = Silence(FAILED, "nvidia-smi does not list this device", QUERY)


class Answers(NamedTuple):
    """What was asked, by device where it is a device's."""

    gpus: Answer
    information: Mapping[str, Answer]
    numa_status: Mapping[str, Answer]
    mig: Mapping[str, Answer]
    module: Answer
    version: Answer
    library: nvml.Answers
    query: Answer
    matrix: Answer


class Nvidia:
    """NVIDIA GPUs and NVSwitches."""

    vendor = "nvidia"
    family = "NVIDIA"

    def probe(self, host: Host) -> Presence:
        """Display functions of the vendor, the driver's folder, and `/dev/dxg` where Windows holds the GPU."""
        return presence.look(
            host, nvidia_names.VENDOR_ID, lambda _, of_class: of_class.startswith("03"), (GPUS, "/dev/dxg")
        )

    def ask(self, host: Host) -> Answers:
        """Asks the driver's files and, where there is something to ask about, NVML.

        `nvidia-smi` asks the same library: it is run where this process cannot load it, or it would not begin.
        """
        gpus = host.names(GPUS)
        names = gpus.value or ()
        information = {name: host.text(f"{GPUS}/{name}/information") for name in names}
        minors = {name: _field(answer, "Device Minor") for name, answer in information.items()}
        skipped = Answer(None, "not-asked", "no NVIDIA device is here")
        here = bool(names) or _on_bus(host) or host.link("/dev/dxg").known
        library = nvml.ask(host) if here else nvml.Answers(skipped, skipped, skipped, (), {})
        told = here and (library.start.known or library.start.reason == TIMED_OUT)
        if told:
            skipped = Answer(None, "not-asked", "the library that it asks was asked itself")
        return Answers(
            gpus=gpus,
            information=information,
            numa_status={name: host.text(f"{GPUS}/{name}/numa_status") for name in names},
            mig={name: host.names(f"{CAPABILITIES}/gpu{minor}/mig") for name, minor in minors.items() if minor},
            module=host.text("/sys/module/nvidia/version"),
            version=host.text("/proc/driver/nvidia/version") if here else skipped,
            library=library,
            query=host.command(nvidia_smi_xml.COMMAND) if here and not told else skipped,
            matrix=host.command(nvidia_smi_topo.COMMAND) if here and not told else skipped,
        )

    def examine(self, host: Host) -> None:
        """Asks NVML what checks alone go by, and the fabric manager for its version where there is an NVSwitch."""
        if bool(host.names(GPUS).value) or _on_bus(host):
            nvml_health.ask(host)
            nvidia_driver.ask_manager(host)

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """One claim a device and source; `raxl.collect` merges them."""
        on_bus = [function for function in functions if is_gpu(function)]
        by_driver = [address for name in answers.information if (address := pci_address(name))]
        own = sorted(one.address for one in on_bus if one.driver in _OWN_OR_NONE) if functions else sorted(by_driver)
        library, tool = _by_library(answers.library, own), nvidia_smi.witness(answers.query, answers.matrix, own)
        first, second = (library, tool) if answers.library.start.reason not in _NO_LIBRARY else (tool, library)
        listed = library.listed | tool.listed
        claims = [_from_bus(function, None if function.address in listed else first.silence) for function in on_bus]
        claims += [_from_driver(name, answers) for name in answers.information if pci_address(name)]
        links = [*library.links, *tool.links]
        problems = [*library.problems, *tool.problems, *_missing(on_bus, first)]
        if not on_bus and library.listing is None and library.silence.reason not in _NO_LIBRARY:
            problems.append(Problem("accelerators", library.silence.reason, library.silence.message, (nvml.NAME,)))
        withheld = _withheld(on_bus, library.joined | tool.joined)
        if withheld:
            links += withheld
            problems.append(Problem("links", first.unseen.reason, first.unseen.message, (first.unseen.evidence,)))
        switches = [_switch(function) for function in functions if is_nvswitch(function)]
        return Report(
            claims=(*claims, *library.claims, *tool.claims),
            links=tuple(links),
            switches=tuple({one.id: one for one in (*nvml_links.switches(answers.library), *switches)}.values()),
            nics=tool.nics,
            software=tuple(_software(answers, second.software if not first.software else first.software)),
            problems=tuple(problems),
        )


def _by_library(answers: nvml.Answers, own: Sequence[str]) -> Witness:
    if not answers.start.known:
        refusal = nvml.refusal(answers.start)
        return Witness(refusal, refusal)
    places = _placed(nvml.addresses(answers), own)
    links, contradictions = nvml_links.links(answers)
    told = nvml_links.told(answers)
    refused = [device["nvlinks"] for index, device in enumerate(answers.devices) if index not in told]
    return Witness(
        silence=Silence(FAILED, "NVML does not list this device", nvml.NAME),
        unseen=nvml.refusal(refused[0]) if refused else Silence(FAILED, "NVML does not list a device", nvml.NAME),
        claims=tuple(nvml.claims(answers, places)),
        links=tuple(links),
        problems=(*contradictions, *nvml.unasked(answers)),
        software=tuple(nvml.software(answers)),
        listing=answers.start.value,
        listed=frozenset(place for place in places if place),
        joined=frozenset(place for index, place in enumerate(places) if place and index in told),
    )


def _placed(told: Sequence[str | None], own: Sequence[str]) -> list[str | None]:
    """Each index's address. A lost device has a number and tells no address: where the others are numbered in the bus's
    order, and as many addresses are left as devices without one, they are those."""
    left = [address for address in own if address not in told]
    known = [address for address in told if address is not None]
    fits = len(left) == len(told) - len(known) and (len(left) == 1 or known == sorted(known))
    spare = iter(left if fits else [])
    return [address or next(spare, None) for address in told]


def _missing(on_bus: Sequence[PciFunction], said: Witness) -> list[Problem]:
    """Whether the bus has as many devices with NVIDIA's driver as it lists."""
    driven = [function for function in on_bus if function.driver == "nvidia" and function.evidence == "sysfs"]
    if said.listing is None or not driven or len(driven) == said.listing:
        return []
    who = "NVML" if said.silence.evidence == nvml.NAME else "nvidia-smi"
    message = f"{len(driven)} GPUs are on the bus with NVIDIA's driver, {who} lists {said.listing}"
    return [Problem("accelerators", DISAGREEMENT, message, ("sysfs", said.silence.evidence))]


def is_gpu(function: PciFunction) -> bool:
    """Whether a PCI function is an NVIDIA GPU: display class; its audio function and NVSwitches are not."""
    return function.vendor_id == nvidia_names.VENDOR_ID and (function.class_id or "").startswith("03")


def is_nvswitch(function: PciFunction) -> bool:
    """Whether a PCI function is an NVSwitch: class 0680, other bridge."""
    return function.vendor_id == nvidia_names.VENDOR_ID and (function.class_id or "").startswith("0680")


def _on_bus(host: Host) -> bool:
    """Whether a display function of the vendor is on the bus, or the bus could not be read."""
    listing = host.names(pci.FOLDER)
    if not listing.known:
        return True
    return any(
        stripped(host.text(f"{pci.FOLDER}/{name}/vendor")) == "0x" + nvidia_names.VENDOR_ID
        and (stripped(host.text(f"{pci.FOLDER}/{name}/class")) or "").startswith("0x03")
        for name in listing.value
    )


def _withheld(on_bus: Sequence[PciFunction], seen: Set[str | None]) -> list[LinkClaim]:
    """Pairs that NVLink may join, and of which nobody says whether it does: their PCIe path would be a wrong answer."""
    able = [
        one.address
        for one in on_bus
        if one.evidence in pci.BUS_ALONE and one.driver in _OWN_OR_NONE and nominal.may_have_nvlink(one.device_id)
    ]
    evidence = on_bus[0].evidence if on_bus else ""
    return [LinkClaim(a, b, None, None, evidence=evidence) for a, b in families.pairs(able) if not {a, b} <= seen]


def _from_bus(function: PciFunction, silence: Silence | None) -> Claim:
    """`silence`: why the bus alone must do; None where `nvidia-smi` lists the device, and has its own reasons."""
    model = nvidia_names.MODELS.get(function.device_id or "") or function.name
    silent = dict.fromkeys((*_OF_DRIVER, *([] if model else ["model"])), silence) if silence else {}
    if function.driver not in _OWN_OR_NONE:
        bound = Silence(
            NOT_APPLICABLE, f"the device is bound to {function.driver}, not to NVIDIA's driver", function.evidence
        )
        silent = dict.fromkeys(silent or _OF_DRIVER, bound)
    place = families.placed("nvidia", "gpu", function)
    return replace(
        place,
        model_by_id=model,
        ray=RayView(resource="GPU"),
        visible_env=nvidia_names.VISIBLE,
        silent={**silent, **place.silent},
    )


def _from_driver(name: str, answers: Answers) -> Claim:
    """`/proc/driver/nvidia/gpus/<address>`: a `?` in the UUID means that the device was never initialised."""
    information = answers.information[name]
    uuid, model = _field(information, "GPU UUID"), _field(information, "Model")
    node = _field(answers.numa_status[name], "Node")
    instances = answers.mig.get(name, Answer(None)).value or ()
    known = uuid is not None and "?" not in uuid
    return Claim(
        vendor="nvidia",
        kind="gpu",
        evidence=GPUS,
        address=pci_address(name),
        model=model if model and model != "Unknown" else None,
        uuid=uuid if known else None,
        memory_numa_node=whole(node, MOST_PLACES),
        partitions=tuple(Partition(instance) for instance in instances if re.fullmatch(r"gi\d+", instance)),
        ray=RayView(resource="GPU", type=nvidia_names.ray_type(model) if model and model != "Unknown" else None),
        visible_env=nvidia_names.VISIBLE,
        silent={} if known or uuid is None else {"uuid": Silence(FAILED, "the driver never initialised it", GPUS)},
    )


def _switch(function: PciFunction) -> Switch:
    return Switch(
        id=nvswitch_id(function.address),
        kind="nvswitch",
        pci=function.identity,
        pcie_root=function.host_bridge,
        numa_node=function.numa_node,
    )


def _software(answers: Answers, stated: Sequence[Software]) -> list[Software]:
    """The kernel module's version is its own; the rest as library or tool state it."""
    module = stripped(answers.module)
    if module is None:
        return list(stated)
    return [
        Software("nvidia", module, "/sys/module/nvidia/version"),
        *(one for one in stated if one.name != "nvidia"),
    ]


def _field(answer: Answer, key: str) -> str | None:
    """The value of `key: value` in one of the driver's files."""
    found = re.search(rf"^{re.escape(key)}:[ \t]*(.*\S)[ \t]*$", stripped(answer) or "", re.MULTILINE)
    return found[1] if found else None
