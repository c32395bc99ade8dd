"""Intel Gaudi: PCI, the habanalabs driver's files, and what `hl-smi` says of memory, names and RoCE ports.

https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-driver-habanalabs). An `accel` device of another driver is
no Gaudi: its PCI function is another vendor's.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from typing import Iterable, Mapping, NamedTuple, Sequence

from raxl.host import Answer, Host, stripped
from raxl.model.accelerator import RayView
from raxl.model.component import PciFunction
from raxl.model.identity import last_pci_address, pci_address
from raxl.model.node import Software
from raxl.model.presence import Presence
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, NOT_PRESENT, TIMED_OUT, Problem
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import families, gaudi, hl_smi, hl_smi_csv, hl_smi_ports, pci
from raxl.sources.gaudi import GAUDI, NOMINAL_MEMORY_GB, RAY_TYPE
from raxl.sources.numbers import MOST_PLACES, whole

PLACES = (("/sys/class/accel", "accel", "/device"), ("/sys/class/habanalabs", "hl", ""))
"""Where the driver lists devices, how it calls them, and where their files stand: since Linux 6.4, and before."""
_FILES = ("device_type", "module_id", "pci_addr", "status", "cpucp_ver", "uboot_ver", "fw_os_ver")
_OAM = ("1000", "1020", "1060")
"""Modules for a base board, whose RoCE ports join them; a PCIe card may be joined by a bridge or not at all."""
_STATES = {"operational": "ok"}


class Answers(NamedTuple):
    """What was asked: the driver's files by folder, the tool, and its ports by address."""

    devices: Mapping[str, Mapping[str, Answer]]
    version: Answer
    query: Answer
    ports: Mapping[str, tuple[Answer, Answer]]


class Gaudi:
    """Intel Gaudi processors."""

    vendor = GAUDI.vendor
    family = GAUDI.name

    def probe(self, host: Host) -> Presence:
        """Looks on the bus."""
        return families.probe(GAUDI, host)

    def ask(self, host: Host) -> Answers:
        """Asks the driver's files, and where a Gaudi is on the bus `hl-smi`."""
        devices = {}
        for folder, name, below in PLACES:
            for entry in host.names(folder).value or ():
                if re.fullmatch(rf"{name}[0-9]{{1,5}}", entry):
                    path = f"{folder}/{entry}{below}"
                    files = {file: host.text(f"{path}/{file}") for file in _FILES}
                    devices[f"{folder}/{entry}"] = {"place": host.link(path), **files}
        unasked = Answer(None, NOT_ASKED, "no Gaudi is on the bus")
        query = host.command(hl_smi_csv.COMMAND) if families.is_on_bus(GAUDI, host) else unasked
        ports: dict[str, tuple[Answer, Answer]] = {}
        for address in _listed(host) if query.known else ():
            if any(answer.reason == TIMED_OUT for both in ports.values() for answer in both):
                break  # the others would cost as much
            link = host.command((*hl_smi_ports.LINK, address))
            ports[address] = (link, host.command((*hl_smi_ports.PORTS, address)) if link.known else link)
        return Answers(devices, host.text("/sys/module/habanalabs/version"), query, ports)

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """One claim a device and source; RoCE between the devices as far as the ports tell it."""
        on_bus = families.on_bus(GAUDI, functions)
        log, silence = _log(answers.query)
        told = [gaudi.claim(hl_smi_csv.FORM, device.words, device.is_cut) for device in log.devices] if log else []
        listed = {claim.address for claim in told}
        claims = [_from_bus(function, None if function.address in listed else silence) for function in on_bus]
        claims += _from_driver(answers.devices, {function.address for function in on_bus})
        links, problems = _links(answers.ports, on_bus, silence)
        if log is not None and on_bus and len(told) != len(on_bus):
            message = f"{len(on_bus)} Gaudi are on the bus, hl-smi lists {len(told)}"
            problems.append(Problem("accelerators", DISAGREEMENT, message, ("sysfs", hl_smi_csv.FORM)))
        ports = hl_smi_ports.claims(_ports(answers.ports).values(), hl_smi_ports.FORM)
        return Report(
            claims=(*claims, *told, *ports),
            links=tuple(links),
            software=hl_smi.software(log) if log and log.versions else _kernel(answers.version),
            problems=tuple(problems),
        )


def _kernel(version: Answer) -> tuple[Software, ...]:
    said = stripped(version)
    return (Software("habanalabs", said, "/sys/module/habanalabs/version"),) if said else ()


def _listed(host: Host) -> Iterable[str]:
    """The addresses of the family's functions, as the kernel lists them."""
    for name in host.names(pci.FOLDER).value or ():
        device = (stripped(host.text(f"{pci.FOLDER}/{name}/device")) or "")[2:]
        if stripped(host.text(f"{pci.FOLDER}/{name}/vendor")) == "0x" + GAUDI.vendor_id and device in GAUDI.models:
            yield name


def _log(query: Answer) -> tuple[hl_smi.Log | None, Silence]:
    """What `hl-smi` printed, and why it says nothing of a device that it does not list."""
    if not query.known:
        return None, Silence(query.reason or FAILED, query.message, hl_smi_csv.FORM)
    printed = query.value.stdout
    if not hl_smi_csv.recognises(printed):
        words = (printed + query.value.stderr).strip().splitlines()
        return None, Silence(
            FAILED, words[0][:200] if words else f"hl-smi ended with {query.value.status}", hl_smi_csv.FORM
        )
    return hl_smi_csv.read(printed), Silence(FAILED, "hl-smi does not list this device", hl_smi_csv.FORM)


def _from_bus(function: PciFunction, silence: Silence | None) -> Claim:
    """`silence`: why the tool says nothing of the device; None where it lists it."""
    claim = families.claim(GAUDI, function, silence)
    nominal = NOMINAL_MEMORY_GB.get(function.device_id or "")
    attributes = {**claim.attributes, **({"nominal_memory_gb": nominal} if nominal else {})}
    return replace(claim, attributes=attributes, silent={**claim.silent, "ray.type": RAY_TYPE})


def _from_driver(devices: Mapping[str, Mapping[str, Answer]], known: set[str]) -> list[Claim]:
    """A claim for each device of the driver's: those whose function is a Gaudi's, or unknown and told as one."""
    claims = []
    for path, files in devices.items():
        text = {name: stripped(answer) for name, answer in files.items()}
        address = last_pci_address(text.get("place") or "") or pci_address(text.get("pci_addr"))
        kind = text.get("device_type") or ""
        if address not in known and not kind.upper().startswith("GAUDI"):
            continue
        claims.append(_device(path, address, text, files))
    return claims


def _device(path: str, address: str | None, text: Mapping[str, str | None], files: Mapping[str, Answer]) -> Claim:
    evidence = path.rsplit("/", 1)[0]
    status = text.get("status")
    unread = files["status"]
    why = Silence(unread.reason or NOT_PRESENT, unread.message or "no status is readable while it resets", evidence)
    number = re.sub("^[a-z]+", "", path.rsplit("/", 1)[1])
    named = {
        "module_id": whole(text.get("module_id"), MOST_PLACES),
        "status": status,
        "device_type": text.get("device_type"),
        "firmware": text.get("fw_os_ver") or text.get("cpucp_ver"),
        "preboot": text.get("uboot_ver"),
    }
    return Claim(
        vendor=GAUDI.vendor,
        kind=GAUDI.kind,
        evidence=evidence,
        address=address,
        index=whole(number, MOST_PLACES),
        state=_STATES.get(status.lower(), "degraded") if status else None,
        ray=RayView(resource=GAUDI.resource),
        visible_env=GAUDI.visible_env,
        attributes={name: value for name, value in named.items() if value is not None},
        silent={} if status else {"state": why},
    )


def _ports(answers: Mapping[str, tuple[Answer, Answer]]) -> dict[str, hl_smi_ports.Ports]:
    """The ports of each device whose `hl-smi -n` told any."""
    found = {}
    for address, both in answers.items():
        printed = "".join(answer.value.stdout for answer in both if answer.known)
        for ports in hl_smi_ports.read(f"{address}\n{printed}"):
            found[address] = ports._replace(address=pci_address(address))
    return found


def _links(
    answers: Mapping[str, tuple[Answer, Answer]], on_bus: Sequence[PciFunction], silence: Silence
) -> tuple[list[LinkClaim], list[Problem]]:
    """RoCE between modules of a base board; where no port was told, that it may join them."""
    modules = {
        one.address: GAUDI.models.get(one.device_id or "")
        for one in on_bus
        if one.device_id in _OAM and one.evidence in pci.BUS_ALONE and one.driver in (None, *GAUDI.drivers)
    }
    told = list(_ports(answers).values())
    links, problems = hl_smi_ports.links(told, modules, hl_smi_ports.FORM)
    problems += hl_smi_ports.damage(told, hl_smi_ports.FORM)
    linked = {frozenset((link.a, link.b)) for link in links}
    open_pairs = [pair for pair in combinations(sorted(modules), 2) if frozenset(pair) not in linked]
    if open_pairs:
        refused = next((one for both in answers.values() for one in both if not one.known), None)
        reason, words = (refused.reason or FAILED, refused.message) if refused else (silence.reason, silence.message)
        if refused is None and answers:
            reason, words = FAILED, "hl-smi printed no port of some devices"
        problems.append(Problem("links", reason, words, (hl_smi_ports.FORM,)))
    return [*links, *(LinkClaim(a, b, None, None, evidence="sysfs") for a, b in open_pairs)], problems
