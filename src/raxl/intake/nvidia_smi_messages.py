"""What `nvidia-smi` says in place of its output or beside it: that it failed, that a GPU does not answer, a warning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from raxl.intake.foreign import Foreign
from raxl.model.identity import pci_address
from raxl.model.problem import FAILED, NOT_INSTALLED, NOT_PERMITTED, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, Report, Silence
from raxl.sources import nvidia_smi_values as values
from raxl.sources.numbers import MOST_PLACES, whole
from raxl.sources.nvidia_smi_device import READINGS, seen
from raxl.sources.nvidia_smi_readings import Told

FORM = "nvidia-smi message"
_TELLTALE = re.compile(
    r"nvidia-smi|NVIDIA-SMI|NVML|device handle|nfo ?ROM|[Nn]o devices|to query|is not a valid|ERROR: Option"
)
_ADDRESS = r"(?P<address>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])"
_HANDLE = re.compile(
    r".*?(?P<words>Unable to determine the device handle for GPU\s*"
    rf"(?:(?P<number>[0-9]{{1,5}})(?::(?=\s)|$)\s*)?(?:{_ADDRESS}\s*:?)?(?P<why>.*))",
    re.IGNORECASE,
)
"""Drivers write `GPU 0000:0B:00.0: …`, `GPU0000:07:00.0: …`, `GPU3: 0000:5F:00.0: …` and `GPU2: …`."""
_LOST = re.compile(r".*\b(lost|unknown error|fallen off)\b.*", re.IGNORECASE)
_INFOROM = re.compile(rf".*?(?P<words>(?:WARNING:\s*)?info ?ROM is corrupted at gpu\s*{_ADDRESS}.*)", re.IGNORECASE)
_REFUSALS = (
    (re.compile(r"NVIDIA-SMI has failed because .*", re.IGNORECASE), FAILED),
    (re.compile(r"Failed to initialize NVML: Insufficient Permissions.*", re.IGNORECASE), NOT_PERMITTED),
    (re.compile(r"Failed to initialize NVML: .*", re.IGNORECASE), FAILED),
    (re.compile(r"No devices were found.*", re.IGNORECASE), FAILED),
    (re.compile(r"NVIDIA-SMI couldn't find libnvidia-ml.*", re.IGNORECASE), NOT_INSTALLED),
    (re.compile(r"(?:\S+: )?(?:line [0-9]+: )?nvidia-smi: (?:command )?not found.*", re.IGNORECASE), NOT_INSTALLED),
    (re.compile(r"command not found: nvidia-smi.*", re.IGNORECASE), NOT_INSTALLED),
    (re.compile(r"Unable to query (?:the )?GPU.*|Error: .*nvidia-smi.*", re.IGNORECASE), FAILED),
    (re.compile(r"ERROR: Option \S+ .*|ERROR: .*nvidia-smi -h.*", re.IGNORECASE), FAILED),
    (re.compile(r'Field ".{1,80}" is not a valid field to query.*', re.IGNORECASE), NOT_SUPPORTED),
)
"""Lines that stand in the place of an output, and why there is none."""
_NO_HANDLE = ("model", "uuid", "serial", "memory_bytes", "architecture", "fabric", "ray.type", "state")
_BEFORE = re.compile(
    r"\A.{0,60}?(?=NVIDIA-SMI has failed|Failed to initialize NVML|No devices were found|NVIDIA-SMI couldn't)"
)


class _Message(NamedTuple):
    words: str
    reason: str
    number: int | None = None
    address: str | None = None
    state: str | None = None
    """Of the GPU that it names: `lost` where it gives no handle, `degraded` with a corrupt infoROM."""

    @property
    def is_of_gpu(self) -> bool:
        """Whether it says which GPU it is about."""
        return self.number is not None or self.address is not None


def recognises(text: str) -> bool:
    """Whether such a line stands in the text."""
    return bool(_TELLTALE.search(values.plain(text))) and any(True for _ in _messages(text))


def own(text: str) -> str:
    """Those lines."""
    return "".join(f"{message.words}\n" for message in _messages(text))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """A problem for a whole output that is missing; a claim for each GPU that a message names."""
    told = list(dict.fromkeys(_messages(text)))
    claims = tuple(_claim(message) for message in told if message.is_of_gpu)
    problems = tuple(
        Problem("accelerators", message.reason, f"nvidia-smi says: {message.words[:200]}", (FORM,))
        for message in told
        if not message.is_of_gpu
    )
    return Foreign(FORM, report=Report(claims=claims)), problems


def told(text: str) -> list[Told]:
    """The GPUs of which the lines say that their infoROM is corrupt."""
    return [
        Told(FORM, {"inforom": "corrupted"}, pci_address(message.address))
        for message in _messages(text)
        if message.state == "degraded"
    ]


class Warned(NamedTuple):
    """The GPU of which a warning stands beside an output, and its words."""

    address: str | None
    words: str


def warning(line: str) -> Warned | None:
    """What a line warns of: a corrupt infoROM. None for any other line."""
    found = _INFOROM.fullmatch(line)
    return Warned(pci_address(found["address"]), found["words"].strip()) if found else None


def degraded(claim: Claim, words: str) -> Claim:
    """The claim about a GPU of which a warning says that its infoROM is corrupt."""
    silence = Silence(FAILED, f"nvidia-smi says: {words[:200]}", claim.evidence)
    state = claim.state if claim.state == "lost" else "degraded"
    return replace(claim, state=state, silent={**claim.silent, f"{READINGS}inforom": silence})


def _messages(text: str) -> Iterator[_Message]:
    for line in values.lines(text):
        message = _of_gpu(line) or _refusal(line)
        if message is not None:
            yield message


def _of_gpu(line: str) -> _Message | None:
    handle = _HANDLE.fullmatch(line)
    if handle:
        number, why = whole(handle["number"], MOST_PLACES), handle["why"]
        reason = NOT_PERMITTED if "insufficient permissions" in why.lower() else FAILED
        state = "lost" if _LOST.fullmatch(why) else None
        return _Message(handle["words"].strip(), reason, number, handle["address"], state)
    warned = warning(line)
    return _Message(warned.words, FAILED, None, warned.address, "degraded") if warned else None


def _refusal(line: str) -> _Message | None:
    line = _BEFORE.sub("", line, count=1).strip()
    reason = next((reason for pattern, reason in _REFUSALS if pattern.fullmatch(line)), None)
    return None if reason is None else _Message(line, reason)


def _claim(message: _Message) -> Claim:
    """The GPU that a message names: of one without a handle nothing can be read."""
    words = {"address": message.address} if message.address else {}
    if message.state == "degraded":
        return degraded(seen(FORM, words, None, {}, {}), message.words)
    silence = Silence(message.reason, f"nvidia-smi says: {message.words[:200]}", FORM)
    return replace(seen(FORM, words, message.number, {}, dict.fromkeys(_NO_HANDLE, silence)), state=message.state)
