"""Example accelerators: PCI, and the driver's files beside the PCI device.

Name here the public description of each file that is read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, NamedTuple, Sequence

from raxl.host import Answer, Host, stripped
from raxl.model.component import PciFunction
from raxl.model.presence import Presence
from raxl.model.problem import NOT_ASKED, NOT_SUPPORTED
from raxl.model.report import Claim, Report, Silence
from raxl.sources import families, pci, presence
from raxl.sources.numbers import MOST_BYTES, whole

FAMILY = families.Family(
    vendor="example",
    name="Example",
    kind="npu",
    vendor_id="1b36",
    models={"0f01": "Example One"},
    resource=None,  # Ray's, where it knows the family
    visible_env=None,  # the variable that hides devices from a process
    drivers=("example",),
)
_FILES = ("memory_bytes", "serial_number", "state")


class Answers(NamedTuple):
    """The driver's files by PCI address."""

    devices: Mapping[str, Mapping[str, Answer]]


class Example:
    """Example accelerators."""

    vendor = FAMILY.vendor
    family = FAMILY.name

    def probe(self, host: Host) -> Presence:
        """Functions of the vendor with a known device id."""
        return presence.look(host, FAMILY.vendor_id, lambda device, _: device in FAMILY.models)

    def ask(self, host: Host) -> Answers:
        """Asks the driver's files of each function of the vendor. Runs on bare nodes: standard library, Python 3.8."""
        devices = {}
        for name in host.names(pci.FOLDER).value or ():
            folder = f"{pci.FOLDER}/{name}"
            if stripped(host.text(f"{folder}/vendor")) == "0x" + FAMILY.vendor_id:
                devices[name] = {file: host.text(f"{folder}/{file}") for file in _FILES}
        return Answers(devices)

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """One claim a device and source. Pure."""
        on_bus = [one for one in families.on_bus(FAMILY, functions) if one.device_id in FAMILY.models]
        return Report(claims=tuple(_claim(one, answers.devices.get(one.address, {})) for one in on_bus))


def _claim(function: PciFunction, files: Mapping[str, Answer]) -> Claim:
    """What bus and driver say of one device; what they do not say has its reason."""
    refused = next((answer for answer in files.values() if not answer.known), None)
    reason = (refused.reason or NOT_SUPPORTED) if refused else (NOT_SUPPORTED if files else NOT_ASKED)
    message = (refused and refused.message) or "the driver's files do not say"
    claim = families.claim(FAMILY, function, Silence(reason, message, "sysfs"))
    text = {name: stripped(answer) for name, answer in files.items()}
    return replace(
        claim,
        memory_bytes=whole(text.get("memory_bytes"), MOST_BYTES) or None,
        serial=text.get("serial_number"),
        state=claim.state or {"ready": "ok", "failed": "degraded"}.get(text.get("state") or ""),
    )
