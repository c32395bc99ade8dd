"""AWS Neuron devices (Inferentia, Trainium): PCI, the driver's `/sys/class/neuron_device`, and `neuron-ls`.

The driver makes its devices without a PCI parent: which of its numbers is which PCI function, `neuron-ls` alone says.
The numbers do not follow the bus on Trainium2, so nothing is assumed where several devices are there.
https://github.com/aws-neuron/aws-neuron-driver; newer drivers place files deeper, so they are looked for by name.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from raxl.host import Answer, Host, stripped
from raxl.model.accelerator import Fabric
from raxl.model.component import PciFunction
from raxl.model.node import Software
from raxl.model.placement import Placement
from raxl.model.presence import Presence
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_APPLICABLE, NOT_ASKED, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import families, neuron_links, neuron_ls, neuron_names
from raxl.sources.neuron_names import FAMILY
from raxl.sources.numbers import MOST_PLACES, whole

CLASS = "/sys/class/neuron_device"
_FILES = ("serial_number", "device_name", "arch_type", "instance_type", "core_count", "connected_devices")
_OF_SERVER = ("node_id_2", "node_id_4", "server_id_2", "server_id_4", "ultraserver_mode")
_PASSED = re.compile(r"neuron_core[0-9]+|stats|power|subsystem|device|uevent|dev")
"""What lies in a device's folder and holds none of the files: counters by the hundred, and links that lead back."""
_DEEPEST = 3
_MOST_NAMES = 40


class Answers(NamedTuple):
    """The driver's devices with their files by name, the UltraServer's files, `neuron-ls`, and the module's version."""

    devices: Mapping[str, Mapping[str, Answer]]
    server: Mapping[str, Answer]
    tool: Answer
    version: Answer
    environment: Answer


class Neuron:
    """AWS Neuron devices."""

    vendor = FAMILY.vendor
    family = FAMILY.name

    def probe(self, host: Host) -> Presence:
        """Looks on the bus, and the place that its driver makes."""
        return families.probe(FAMILY, host, (CLASS,))

    def ask(self, host: Host) -> Answers:
        """Asks the driver's files; `neuron-ls` only where a device is on the bus or has a driver."""
        names = host.names(CLASS).value or ()
        devices = {name: _found(host, f"{CLASS}/{name}", 0) for name in names if re.fullmatch("neuron[0-9]{1,3}", name)}
        here = bool(devices) or families.is_on_bus(FAMILY, host) is True
        return Answers(
            devices=devices,
            server={name: host.text(f"{CLASS}/{name}") for name in _OF_SERVER if name in names},
            tool=_run(host) if here else Answer(None, NOT_ASKED, "no Neuron device is here"),
            version=host.text("/sys/module/neuron/version"),
            environment=host.process("environment"),
        )

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """One claim a device and source: the bus, the driver, the tool."""
        on_bus = families.on_bus(FAMILY, functions)
        output, refusal = _told(answers.tool)
        tool = neuron_ls.claims(output)
        places = {one.index: one.address for one in tool if one.index is not None and one.address}
        if len(on_bus) == len(answers.devices) == 1:
            places.setdefault(_number(next(iter(answers.devices))), on_bus[0].address)
        domain, unelected = _domain(answers.server)
        driver = [_by_driver(name, files, places) for name, files in answers.devices.items()]
        joined = [one for one in driver if one.address or not on_bus]
        driven = len(driver) == len([one for one in on_bus if one.driver == "neuron"])
        listed = {address for address in places.values() if address}
        bus = [_on_bus(one, refusal if one.address not in listed else None, driven and refusal) for one in on_bus]
        links, differences = neuron_ls.links(output)
        if not links:
            links, differences = neuron_links.links_of(_near(answers.devices, joined), CLASS)
        unsaid = _unsaid(bus, links, refusal)
        fabric = Fabric(domain=domain) if domain else None
        version = stripped(answers.version)
        visible = (answers.environment.value or {}).get(FAMILY.visible_env)
        claims = [
            _completed(one, fabric, bool(answers.server) and not unelected, visible) for one in (*bus, *joined, *tool)
        ]
        return Report(
            claims=tuple(claims),
            links=(*links, *unsaid),
            software=(Software("neuron", version, "/sys/module/neuron/version"),) if version else (),
            problems=(
                *output.problems,
                *differences,
                *unelected,
                *_missing(on_bus, driver, tool if answers.tool.known else None),
                *([Problem("links", refusal.reason, refusal.message, (neuron_ls.NAME,))] if unsaid and refusal else []),
            ),
            placement=_placement(output, answers.devices, domain),
        )


def _number(name: str) -> int:
    """3 of `neuron3`."""
    return int(name[len("neuron") :])


def _found(host: Host, folder: str, depth: int) -> Dict[str, Answer]:
    """The wanted files of a device's folder, by name, wherever in it they lie."""
    found: Dict[str, Answer] = {}
    for name in (host.names(folder).value or ())[:_MOST_NAMES]:
        if name in _FILES:
            found.setdefault(name, host.text(f"{folder}/{name}"))
        elif depth < _DEEPEST and not _PASSED.fullmatch(name) and name not in _OF_SERVER:
            for deeper, answer in _found(host, f"{folder}/{name}", depth + 1).items():
                found.setdefault(deeper, answer)
    return found


def _run(host: Host) -> Answer:
    """The first of the tool's two ways to give JSON that gives some."""
    first = answer = host.command(neuron_ls.COMMANDS[0])
    if answer.known and (answer.value.status or "neuron_device" not in answer.value.stdout):
        answer = host.command(neuron_ls.COMMANDS[1])
    return answer if answer.known and "neuron_device" in answer.value.stdout else first


def _told(answer: Answer) -> Tuple[neuron_ls.Output, Optional[Silence]]:
    """What the tool says, and why it says nothing."""
    if not answer.known:
        return neuron_ls.Output(), Silence(answer.reason or NOT_ASKED, answer.message, neuron_ls.NAME)
    try:
        output = neuron_ls.of_values([json.loads(answer.value.stdout)])
    except (ValueError, RecursionError):
        output = neuron_ls.Output()
    if output.devices:
        return output, None
    words = next((line for line in answer.value.stderr.splitlines() if line.strip()), "it printed no device")
    return output, Silence(FAILED, f"neuron-ls: {words.strip()}"[:300], neuron_ls.NAME)


def _on_bus(function: PciFunction, refusal: Optional[Silence], well: object) -> Claim:
    """`well`: whether the driver has as many devices as the bus, so that each of them is one of the driver's."""
    claim = families.claim(FAMILY, function, refusal)
    silent = dict(claim.silent)
    if refusal is not None:
        silent.update(dict.fromkeys(("index", "serial"), _unjoined(refusal)))
    if well and claim.state is None and function.driver == "neuron":
        claim = replace(claim, state="ok")
    return replace(claim, ray=neuron_names.RAY, silent=silent)


def _unjoined(refusal: Silence) -> Silence:
    words = f"which of the driver's devices it is, neuron-ls alone says ({refusal.message})"
    return Silence(refusal.reason, words, refusal.evidence)


def _by_driver(name: str, files: Mapping[str, Answer], places: Mapping[int, str]) -> Claim:
    index = _number(name)
    text = {file: stripped(answer) for file, answer in files.items()}
    cores = whole(text.get("core_count"), MOST_PLACES)
    return Claim(
        vendor=FAMILY.vendor,
        kind=FAMILY.kind,
        evidence=CLASS,
        address=places.get(index),
        index=index,
        serial=text.get("serial_number"),
        model=text.get("device_name"),
        architecture=text.get("arch_type"),
        state="ok",
        ray=neuron_names.RAY,
        visible_env=FAMILY.visible_env,
        attributes={"physical_neuron_cores": cores} if cores else {},
    )


def _completed(claim: Claim, fabric: Optional[Fabric], alone: bool, visible: Optional[str]) -> Claim:
    """The claim with what is so of the whole node. `alone`: the driver says that the node belongs to no UltraServer."""
    silent = dict(claim.silent)
    silent["uuid"] = Silence(NOT_SUPPORTED, "a Neuron device has a serial number alone")
    if alone and fabric is None:
        silent["fabric"] = Silence(NOT_APPLICABLE, "the node belongs to no UltraServer", CLASS)
    told = {**claim.attributes, **({"visible_cores": visible} if visible else {})}
    return replace(claim, fabric=fabric, silent=silent, attributes=told)


def _near(devices: Mapping[str, Mapping[str, Answer]], joined: Sequence[Claim]) -> Dict[int, Optional[List[int]]]:
    """The neighbours that the driver names (to root alone), of the devices that are known by number."""
    numbers = {one.index for one in joined}
    near: Dict[int, Optional[List[int]]] = {}
    for name, files in devices.items():
        index = _number(name)
        if index in numbers:
            near[index] = neuron_links.neighbours(stripped(files.get("connected_devices", Answer(None, NOT_ASKED))))
    return near


def _unsaid(bus: Sequence[Claim], links: Sequence[LinkClaim], refusal: Optional[Silence]) -> List[LinkClaim]:
    """The pairs of which nobody says whether NeuronLink joins them: their PCIe path would be a wrong answer."""
    if links or refusal is None:
        return []
    able = [one.address for one in bus if one.address]
    return [LinkClaim(a, b, None, None, evidence=bus[0].evidence) for a, b in families.pairs(able)]


def _missing(on_bus: Sequence[PciFunction], driver: Sequence[Claim], tool: Optional[Sequence[Claim]]) -> List[Problem]:
    """Devices of the bus that the driver or the tool does not list."""
    driven = [one for one in on_bus if one.driver == "neuron" and one.evidence == "sysfs"]
    problems = []
    for who, listed in ((CLASS, driver), (neuron_ls.NAME, tool)):
        if listed and len(listed) < len(driven):
            words = f"{len(driven)} Neuron devices are on the bus with their driver, {who} lists {len(listed)}"
            problems.append(Problem("accelerators", DISAGREEMENT, words, ("sysfs", who)))
    return problems


def _domain(server: Mapping[str, Answer]) -> Tuple[Optional[str], List[Problem]]:
    """The UltraServer's id: of four nodes, else of two; zeros are none, `busy` while its nodes elect."""
    words = [(name, stripped(server[name])) for name in ("server_id_4", "server_id_2") if name in server]
    domain = next((found for _, word in words if (found := neuron_names.ultraserver(word))), None)
    if domain is None and any(word == "busy" for _, word in words):
        message = "the nodes of the UltraServer are still electing (busy)"
        return None, [Problem("placement.fabric_domain", FAILED, message, (f"{CLASS}/{words[0][0]}",))]
    return domain, []


def _placement(
    output: neuron_ls.Output, devices: Mapping[str, Mapping[str, Answer]], domain: Optional[str]
) -> Placement:
    told = neuron_ls.placement(output)
    instances = [stripped(files["instance_type"]) for files in devices.values() if "instance_type" in files]
    own = neuron_names.placement(instances[0].lower() if instances and instances[0] else None, domain, CLASS)
    if own == Placement():
        return told
    return replace(
        own,
        provider=told.provider or own.provider,
        instance_type=told.instance_type or own.instance_type,
        evidence=tuple(dict.fromkeys((*told.evidence, *own.evidence))),
    )
