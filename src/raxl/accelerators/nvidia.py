"""NVIDIA GPUs: PCI, `/proc/driver/nvidia`, NVML, and where that is not to be had what `nvidia-smi` says."""

from __future__ import annotations

import re
from itertools import combinations
from typing import AbstractSet as Set
from typing import Iterable, Mapping, NamedTuple, Sequence

from raxl.host import Answer, Host, stripped
from raxl.model import nominal
from raxl.model.accelerator import Partition, RayView
from raxl.model.component import PciFunction, PciLink, Switch
from raxl.model.identity import nvswitch_id, pci_address
from raxl.model.link import fabric_class
from raxl.model.nic import Nic
from raxl.model.node import Software
from raxl.model.problem import (
    DISAGREEMENT,
    FAILED,
    NOT_APPLICABLE,
    NOT_ASKED,
    NOT_INSTALLED,
    NOT_PRESENT,
    NOT_SUPPORTED,
    TIMED_OUT,
    Problem,
)
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import nvidia_names, nvidia_smi_topo, nvidia_smi_xml, nvml, nvml_links, pci
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

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """One claim a device and source; `raxl.collect` merges them."""
        on_bus = [function for function in functions if is_gpu(function)]
        own = sorted(function.address for function in on_bus if function.driver in _OWN_OR_NONE)
        library, tool = _by_library(answers.library, own), _by_tool(answers, own)
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


class _Said(NamedTuple):
    """What one of the two that know the driver, the library or the tool, says of its devices."""

    silence: Silence
    """Why it says nothing of a device that it does not list."""
    unseen: Silence
    """Why it does not say how a device is joined."""
    claims: tuple[Claim, ...] = ()
    links: tuple[LinkClaim, ...] = ()
    nics: tuple[Nic, ...] = ()
    problems: tuple[Problem, ...] = ()
    software: tuple[Software, ...] = ()
    listing: int | None = None
    """How many devices it lists."""
    listed: Set[str] = frozenset()
    """The addresses of the devices that it lists."""
    joined: Set[str] = frozenset()
    """The addresses of the devices whose links it tells."""


def _by_library(answers: nvml.Answers, own: Sequence[str]) -> _Said:
    if not answers.start.known:
        refusal = nvml.refusal(answers.start)
        return _Said(refusal, refusal)
    places = _placed(nvml.addresses(answers), own)
    links, contradictions = nvml_links.links(answers)
    told = nvml_links.told(answers)
    refused = [device["nvlinks"] for index, device in enumerate(answers.devices) if index not in told]
    return _Said(
        silence=Silence(FAILED, "NVML does not list this device", nvml.NAME),
        unseen=nvml.refusal(refused[0]) if refused else Silence(FAILED, "NVML does not list a device", nvml.NAME),
        claims=tuple(nvml.claims(answers, places)),
        links=tuple(links),
        problems=tuple(contradictions),
        software=tuple(nvml.software(answers)),
        listing=answers.start.value,
        listed={place for place in places if place},
        joined={place for index, place in enumerate(places) if place and index in told},
    )


def _placed(told: Sequence[str | None], own: Sequence[str]) -> list[str | None]:
    """Each index's address. A lost device has a number and tells no address: the driver numbers in the bus's order, so
    where as many addresses are left as devices without one, they are those."""
    left = [address for address in own if address not in told]
    spare = iter(left if len(left) == sum(1 for address in told if address is None) else [])
    return [address or next(spare, None) for address in told]


def _by_tool(answers: Answers, own: Sequence[str]) -> _Said:
    log = _log(answers.query)
    matrix, unseen = _matrix(answers.matrix, None if log is not None else own)
    listed = {gpu.address for gpu in log.gpus if gpu.address} if log is not None else set()
    claims = [_from_query(index, gpu) for index, gpu in enumerate(log.gpus)] if log is not None else []
    problems = _query_problems(log) if log is not None else []
    links, contradictions = _matrix_links(matrix) if matrix is not None else ([], [])
    if matrix is not None:
        claims += _from_matrix(matrix, own if log is None else [])
        listed.update(own if log is None else [])
    if matrix is not None and matrix.damage:
        problems.append(Problem("links", FAILED, f"the matrix is incomplete: {matrix.damage}", (MATRIX,)))
    return _Said(
        silence=_refusal(answers.query, QUERY) if log is None else _UNLISTED,
        unseen=unseen,
        claims=tuple(claims),
        links=tuple(links),
        nics=tuple(Nic(name, evidence=(MATRIX,)) for name in matrix.nics) if matrix is not None else (),
        problems=tuple(problems + contradictions),
        software=tuple(_stated(log)) if log is not None else (),
        listing=len(log.gpus) if log is not None else None,
        listed=listed,
        joined=listed if matrix is not None else set(),
    )


def _missing(on_bus: Sequence[PciFunction], said: _Said) -> list[Problem]:
    """The devices that are on the bus with NVIDIA's driver and that it does not list."""
    driven = [function for function in on_bus if function.driver == "nvidia" and function.evidence == "sysfs"]
    if said.listing is None or len(driven) <= said.listing:
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


def _log(query: Answer) -> nvidia_smi_xml.Log | None:
    """The document; None where the tool printed something else: it failed, and says so in words."""
    printed = query.value.stdout if query.known else ""
    return nvidia_smi_xml.parse(printed) if f"<{nvidia_smi_xml.ROOT}" in printed else None


def _matrix(answer: Answer, own: Sequence[str] | None) -> tuple[nvidia_smi_topo.Matrix | None, Silence]:
    """The matrix, and why it says nothing of a device.

    It has numbers and no addresses. `own` is given where these addresses alone must tell which device is which: the
    driver numbers in their order, so as many of both are the same ones.
    """
    printed = answer.value.stdout if answer.known else ""
    if not nvidia_smi_topo.recognises(printed):
        return None, _refusal(answer, MATRIX)
    matrix = nvidia_smi_topo.parse(printed)
    if own and len(own) != len(matrix.gpus):
        words = f"the matrix has {len(matrix.gpus)} GPUs and the bus {len(own)}: which is which is not told"
        return None, Silence(DISAGREEMENT, words, MATRIX)
    return matrix, _UNLISTED


def _refusal(answer: Answer, command: str) -> Silence:
    """Why a command told nothing: it could not be run, or in its own words."""
    if not answer.known:
        return Silence(answer.reason or FAILED, answer.message, command)
    words = (answer.value.stdout + answer.value.stderr).strip().splitlines()
    return Silence(FAILED, words[0][:200] if words else f"nvidia-smi ended with {answer.value.status}", command)


def _withheld(on_bus: Sequence[PciFunction], seen: Set[str | None]) -> list[LinkClaim]:
    """Pairs that NVLink may join, and of which nobody says whether it does: their PCIe path would be a wrong answer."""
    able = [
        one.address
        for one in on_bus
        if one.evidence in pci.BUS_ALONE and one.driver in _OWN_OR_NONE and nominal.may_have_nvlink(one.device_id)
    ]
    evidence = on_bus[0].evidence if on_bus else ""
    return [LinkClaim(a, b, None, None, evidence=evidence) for a, b in combinations(able, 2) if not {a, b} <= seen]


def _from_bus(function: PciFunction, silence: Silence | None) -> Claim:
    """`silence`: why the bus alone must do; None where `nvidia-smi` lists the device, and has its own reasons."""
    model = nvidia_names.MODELS.get(function.device_id or "") or function.name
    silent = dict.fromkeys((*_OF_DRIVER, *([] if model else ["model"])), silence) if silence else {}
    if function.driver not in _OWN_OR_NONE:
        bound = Silence(
            NOT_APPLICABLE, f"the device is bound to {function.driver}, not to NVIDIA's driver", function.evidence
        )
        silent = dict.fromkeys(silent, bound)
    if function.evidence == "sysfs" and function.numa_node is None:
        silent["numa_node"] = Silence(NOT_PRESENT, "the firmware names no NUMA node", "sysfs")
    return Claim(
        vendor="nvidia",
        kind="gpu",
        evidence=function.evidence,
        address=function.address,
        model_by_id=model,
        vendor_id=function.vendor_id,
        device_id=function.device_id,
        subsystem_id=function.subsystem_id,
        link=function.link,
        host_bridge=function.host_bridge,
        numa_node=function.numa_node,
        local_numa_nodes=function.local_numa_nodes,
        state="lost" if function.is_lost else None,
        ray=RayView(resource="GPU"),
        visible_env=nvidia_names.VISIBLE,
        attributes=function.beside,
        silent=silent,
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


def _from_query(index: int, gpu: nvidia_smi_xml.Gpu) -> Claim:
    failed = {field: Silence(FAILED, f"nvidia-smi says: {words}", QUERY) for field, words in gpu.failed}
    words = " ".join(text for _, text in gpu.failed)
    lost = "lost" in words or "fallen off" in words
    if failed:
        for field in ("state", "fabric", "ray.type"):
            failed.setdefault(field, next(iter(failed.values())))
    link = PciLink(gpu.speed_gts, gpu.width, gpu.max_speed_gts, gpu.max_width)
    return Claim(
        vendor="nvidia",
        kind="gpu",
        evidence=QUERY,
        address=gpu.address,
        uuid=gpu.uuid,
        index=index,
        model=gpu.product,
        architecture=gpu.architecture,
        serial=gpu.serial,
        vendor_id=gpu.vendor_id,
        device_id=gpu.device_id,
        subsystem_id=gpu.subsystem_id,
        link=link if link != PciLink() else None,
        memory_bytes=gpu.memory_bytes,
        memory_numa_node=gpu.memory_numa_node,
        state="lost" if lost else None if failed or "memory_bytes" in gpu.absent else "ok",
        partitions=tuple(_partition(place, mig) for place, mig in enumerate(gpu.mig_devices)),
        fabric=nvidia_names.fabric(gpu.fabric_state, gpu.fabric_cluster, gpu.fabric_clique),
        ray=RayView(resource="GPU", type=nvidia_names.ray_type(gpu.product)),
        visible_env=nvidia_names.VISIBLE,
        attributes={
            name: value
            for name, value in (
                ("minor", gpu.minor),
                ("mig_mode", gpu.mig_mode),
                ("virtualization_mode", gpu.virtualization),
                ("vbios", gpu.vbios),
            )
            if value is not None
        },
        silent={**_unsaid(gpu), **failed},
    )


def _unsaid(gpu: nvidia_smi_xml.Gpu) -> dict[str, Silence]:
    """Why a field has no value where no reading of it failed: the tool names none, or this output does not hold it."""
    silent = dict.fromkeys(
        ("serial", "memory_bytes", "architecture", "uuid", "model"),
        Silence(NOT_SUPPORTED, "nvidia-smi does not say", QUERY),
    )
    silent["fabric"] = Silence(NOT_APPLICABLE, "nvidia-smi names no fabric", QUERY)
    missing = Silence(NOT_ASKED, "this output of nvidia-smi does not hold it")
    if gpu.is_cut:
        missing = Silence(FAILED, "nvidia-smi's output ends inside this device", QUERY)
        silent["fabric"] = missing
    silent.update(dict.fromkeys(gpu.absent, missing))
    if "memory_bytes" in gpu.absent:
        silent["state"] = missing
    return silent


def _partition(place: int, mig: nvidia_smi_xml.MigDevice) -> Partition:
    return Partition(
        mig.uuid or f"mig:{mig.number if mig.number is not None else place}", mig.profile, mig.memory_bytes
    )


def _query_problems(log: nvidia_smi_xml.Log) -> list[Problem]:
    problems = []
    if log.damage:
        problems.append(Problem("accelerators", FAILED, f"nvidia-smi's output is incomplete: {log.damage}", (QUERY,)))
    if log.attached is not None and log.attached != len(log.gpus):
        message = f"nvidia-smi states {log.attached} attached GPUs and lists {len(log.gpus)}"
        problems.append(Problem("accelerators", DISAGREEMENT, message, (QUERY,)))
    return problems


def _from_matrix(matrix: nvidia_smi_topo.Matrix, places: Sequence[str]) -> list[Claim]:
    """`places`: the addresses in the matrix's order, where they are known."""
    claims = []
    for place, name in enumerate(matrix.gpus):
        row = matrix.rows.get(name)
        claims.append(
            Claim(
                vendor="nvidia",
                kind="gpu",
                evidence=MATRIX,
                address=places[place] if places else None,
                index=int(name[3:]),
                numa_node=row.numa_node if row else None,
                local_numa_nodes=row.local_numa_nodes if row else (),
                memory_numa_node=row.memory_numa_node if row else None,
                ray=RayView(resource="GPU"),
                visible_env=nvidia_names.VISIBLE,
            )
        )
    return claims


def _matrix_links(matrix: nvidia_smi_topo.Matrix) -> tuple[list[LinkClaim], list[Problem]]:
    links: dict[frozenset[str], LinkClaim] = {}
    problems = []
    for (a, b), value in matrix.cells.items():
        if a == b or value in ("X", "N/A") or not (a in matrix.gpus or b in matrix.gpus):
            continue
        nvlinks = int(value[2:]) if value.startswith("NV") else None
        claim = LinkClaim(
            a=_matrix_name(a, matrix),
            b=_matrix_name(b, matrix),
            link_class=value if nvlinks is None else fabric_class("nvlink", nvlinks),
            kind="pcie" if nvlinks is None else "nvlink",
            count=nvlinks,
            evidence=MATRIX,
        )
        known = links.setdefault(frozenset((a, b)), claim)
        if known.link_class != claim.link_class:
            message = f"the matrix calls {a}–{b} {known.link_class} in one row and {claim.link_class} in the other"
            problems.append(Problem("links", DISAGREEMENT, message, (MATRIX,)))
    return list(links.values()), problems


def _matrix_name(name: str, matrix: nvidia_smi_topo.Matrix) -> str:
    return f"nvidia#{int(name[3:])}" if name in matrix.gpus else name


def _switch(function: PciFunction) -> Switch:
    return Switch(
        id=nvswitch_id(function.address),
        kind="nvswitch",
        pci=function.identity,
        pcie_root=function.host_bridge,
        numa_node=function.numa_node,
    )


def _stated(log: nvidia_smi_xml.Log) -> Iterable[Software]:
    for name, version in (("nvidia", log.driver), ("cuda", log.cuda)):
        if version:
            yield Software(name, version, QUERY)


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
