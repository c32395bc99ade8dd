"""Huawei Ascend NPUs: PCI, `/dev/davinci<n>`, and what `npu-smi` says of names, memory and HCCS."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Callable, NamedTuple, Sequence

from raxl.host import Answer, Host
from raxl.model.accelerator import RayView
from raxl.model.component import PciFunction
from raxl.model.node import Software
from raxl.model.presence import Presence
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import families, npu_smi, npu_smi_topo, pci
from raxl.sources.ascend import ASCEND, VISIBLE_IDS

DEVICES = "/dev"
_DEVICE = re.compile(r"davinci([0-9]{1,4})")
_NO_TYPE = Silence(NOT_ASKED, "Ray names the type by acl.get_soc_name, and nobody told the chip's name")
_FABRIC = ("d801", "d802", "d803")
"""NPUs that HCCS may join."""


class Answers(NamedTuple):
    """What was asked: the names in `/dev`, and the tool's table and matrix."""

    devices: Answer
    table: Answer
    matrix: Answer


class Ascend:
    """Huawei Ascend NPUs."""

    vendor = ASCEND.vendor
    family = ASCEND.name

    def probe(self, host: Host) -> Presence:
        """Looks on the bus, and the place that its driver makes."""
        return families.probe(ASCEND, host, ("/dev/davinci_manager",))

    def ask(self, host: Host) -> Answers:
        """Asks for the device files, and `npu-smi` where an NPU is on the bus or a device file is here."""
        devices = host.names(DEVICES)
        here = families.is_on_bus(ASCEND, host) or any(_DEVICE.fullmatch(name) for name in devices.value or ())
        unasked = Answer(None, NOT_ASKED, "no Ascend NPU is here")
        table = host.command(npu_smi.COMMAND) if here else unasked
        return Answers(devices, table, host.command(npu_smi_topo.COMMAND) if table.known else table)

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """One claim a device and source; HCCS and PCIe paths from the tool's matrix."""
        on_bus = families.on_bus(ASCEND, functions)
        numbers = sorted(int(found[1]) for name in answers.devices.value or () if (found := _DEVICE.fullmatch(name)))
        text, silence = _printed(answers.table, npu_smi.recognises, npu_smi.FORM)
        log = npu_smi.read(text) if text is not None else None
        told = npu_smi.claims(log) if log else []
        listed = {claim.address for claim in told}
        claims = [_from_bus(function, None if function.address in listed else silence) for function in on_bus]
        if not on_bus and not told:
            claims += [_from_file(number, silence) for number in numbers]
        links, problems, seen = _links(answers.matrix, on_bus)
        problems += [*npu_smi.problems(log)] if log else []
        problems += _counted(len(on_bus), len(numbers), len(told) if log else None)
        return Report(
            claims=(*claims, *told, *(claim for claim in seen if claim.index in {one.index for one in told})),
            links=tuple(links),
            software=_software(log),
            problems=tuple(problems),
        )


def _printed(answer: Answer, is_it: Callable[[str], bool], command: str) -> tuple[str | None, Silence]:
    """What the tool printed, and why it says nothing of a device: it was not run, or in its own words."""
    if not answer.known:
        return None, Silence(answer.reason or FAILED, answer.message, command)
    if is_it(answer.value.stdout):
        return answer.value.stdout, Silence(FAILED, "npu-smi does not list this device", command)
    words = (answer.value.stdout + answer.value.stderr).strip().splitlines()
    said = words[0][:200] if words else f"npu-smi ended with {answer.value.status}"
    refused = NOT_SUPPORTED if "not support" in said.lower() else FAILED
    return None, Silence(refused, said, command)


def _software(log: npu_smi.Log | None) -> tuple[Software, ...]:
    return npu_smi.software(log) if log else ()


def _from_bus(function: PciFunction, silence: Silence | None) -> Claim:
    """`silence`: why the tool says nothing of the device; None where it lists it."""
    claim = families.claim(ASCEND, function, silence)
    silent = {**claim.silent, **({"ray.type": _NO_TYPE} if silence else {})}
    return replace(claim, attributes={**claim.attributes, "visible_env_ids": VISIBLE_IDS}, silent=silent)


def _from_file(number: int, silence: Silence) -> Claim:
    """A device file without a PCI function that could be read: there is an NPU, and its physical id alone is known."""
    return Claim(
        vendor=ASCEND.vendor,
        kind=ASCEND.kind,
        evidence=DEVICES,
        ray=RayView(resource=ASCEND.resource),
        visible_env=ASCEND.visible_env,
        attributes={"visible_env_ids": VISIBLE_IDS, "physical_id": number},
        silent={
            **dict.fromkeys(("model", "memory_bytes", "uuid", "serial", "index", "state"), silence),
            "ray.type": _NO_TYPE,
        },
    )


def _counted(on_bus: int, files: int, listed: int | None) -> list[Problem]:
    """What does not add up: a container sees every function on the bus, and has the device files it was given."""
    problems = []
    if on_bus and files and files != on_bus:
        message = (
            f"{on_bus} NPUs are on the bus, /dev holds {files}: this process was given those alone, and Ray counts them"
        )
        problems.append(Problem("accelerators", DISAGREEMENT, message, ("sysfs", DEVICES)))
    if on_bus and listed is not None and listed not in (on_bus, files):
        message = f"{on_bus} NPUs are on the bus, npu-smi lists {listed}"
        problems.append(Problem("accelerators", DISAGREEMENT, message, ("sysfs", npu_smi.FORM)))
    return problems


def _links(answer: Answer, on_bus: Sequence[PciFunction]) -> tuple[list[LinkClaim], list[Problem], list[Claim]]:
    """The matrix's links; without one, that HCCS may join packages on the bus, and why nobody says so."""
    text, silence = _printed(answer, npu_smi_topo.recognises, npu_smi_topo.FORM)
    if text is not None:
        matrix = npu_smi_topo.read(text)
        links, problems = npu_smi_topo.links(matrix)
        return links, problems, npu_smi_topo.claims(matrix)
    able = [one.address for one in on_bus if one.device_id in _FABRIC and one.evidence in pci.BUS_ALONE]
    pairs = [LinkClaim(a, b, None, None, evidence="sysfs") for a, b in families.pairs(able)]
    why = [Problem("links", silence.reason, silence.message, (npu_smi_topo.FORM,))] if pairs else []
    return pairs, why, []
