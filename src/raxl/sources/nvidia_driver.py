"""NVIDIA's driver as the kernel and the file system show it, without a call of it: versions, services, IMEX channels.

The process of a running systemd service has a folder of its own below `system.slice`.
"""

from __future__ import annotations

import re
from typing import Dict, Mapping, NamedTuple, Optional

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading
from raxl.model.problem import FAILED, NOT_ASKED, NOT_PRESENT
from raxl.sources import nvidia_names, pci

MODULE, VERSION, GPUS = "/sys/module/nvidia/version", "/proc/driver/nvidia/version", "/proc/driver/nvidia/gpus"
LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64")
SERVICES = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
"""Of cgroups 2 and 1."""
BUILT = "/var/lib/dkms/nvidia"
CHANNELS = "/dev/nvidia-caps-imex-channels"
CHARACTER_DEVICES = "/proc/devices"
MANAGER_COMMAND = ("nv-fabricmanager", "--version")
_SONAME = "libnvidia-ml.so.1"
_NUMBER = re.compile(r"[0-9]{3,4}(?:\.[0-9]{1,4}){1,3}")
_MAJOR = "nvidia-caps-imex-channels"


class Answers(NamedTuple):
    """What was asked, by its path."""

    files: Mapping[str, Answer]
    libraries: Mapping[str, Answer]
    """By folder, where the library's name there leads."""


_NOBODY = Answer(None, NOT_ASKED, "no NVIDIA device is here")


def ask(host: Host) -> Answers:
    """Asks for the driver's files where a device of NVIDIA's is on the bus, or its driver has a folder."""
    if not _is_here(host):
        return Answers({}, {})
    files = {path: host.text(path) for path in (MODULE, VERSION, CHARACTER_DEVICES)}
    files.update((path, host.names(path)) for path in (*SERVICES, BUILT, CHANNELS))
    return Answers(files, {folder: host.link(f"{folder}/{_SONAME}") for folder in LIBRARY_FOLDERS})


def ask_manager(host: Host) -> Answer:
    """The fabric manager's words about its version, where the node has an NVSwitch; it talks to no device."""
    if not any(_of_vendor(host, name, "0x0680") for name in host.names(pci.FOLDER).value or ()):
        return Answer(None, NOT_ASKED, "no NVSwitch is here")
    return host.command(MANAGER_COMMAND)


def readings(host: Host) -> Dict[str, Reading]:
    """By name: `nvidia.module` and `nvidia.library` versions, `nvidia.kernel_file` what `/proc` says, `nvidia.built`
    versions that are built for this kernel or another, `nvidia.services` those that run, `nvidia.imex_channels`
    numbers, `nvidia.imex_major` whether the driver knows such channels, `nvidia.fabric_manager` its version."""
    answers = ask(host)
    channels = _names(answers, CHANNELS, CHANNELS)
    return {
        "nvidia.module": _version(answers.files.get(MODULE, _NOBODY), MODULE),
        "nvidia.kernel_file": _version(answers.files.get(VERSION, _NOBODY), VERSION),
        "nvidia.library": _library(answers),
        "nvidia.built": _built(answers),
        "nvidia.services": _services(answers),
        "nvidia.imex_channels": channels,
        "nvidia.imex_major": _major(answers.files.get(CHARACTER_DEVICES, _NOBODY)),
        "nvidia.fabric_manager": _manager(ask_manager(host)),
    }


def _is_here(host: Host) -> bool:
    if host.names(GPUS).known:
        return True
    return any(_of_vendor(host, name, "0x03") for name in host.names(pci.FOLDER).value or ())


def _of_vendor(host: Host, function: str, of_class: str) -> bool:
    """Whether a PCI function is NVIDIA's, and of a class that begins so."""
    folder = f"{pci.FOLDER}/{function}"
    is_own = stripped(host.text(f"{folder}/vendor")) == f"0x{nvidia_names.VENDOR_ID}"
    return is_own and (stripped(host.text(f"{folder}/class")) or "").startswith(of_class)


def _version(answer: Answer, source: str) -> Reading:
    if not answer.known:
        return Reading(None, source, answer.reason, answer.message)
    found = _NUMBER.search(stripped(answer) or "")
    if found is None:
        return Reading(None, source, FAILED, "it names no version")
    return Reading(found[0], source)


def _library(answers: Answers) -> Reading:
    """The version in the name of the file to which the library's name leads."""
    for folder, answer in answers.libraries.items():
        found = re.search(r"\.so\.(\d.*)$", answer.value) if isinstance(answer.value, str) else None
        if found and _NUMBER.fullmatch(found[1]):
            return Reading(found[1], f"{folder}/{_SONAME}")
    refused = next((one for one in answers.libraries.values() if one.reason not in (None, NOT_PRESENT)), None)
    answer = refused or Answer(None, NOT_PRESENT if answers.libraries else NOT_ASKED, "no folder has the library")
    return Reading(None, _SONAME, answer.reason, answer.message)


def _names(answers: Answers, path: str, source: str) -> Reading:
    answer = answers.files.get(path, _NOBODY)
    return Reading(tuple(answer.value) if answer.known else None, source, answer.reason, answer.message)


def _built(answers: Answers) -> Reading:
    """The versions that DKMS has the sources of; `kernel-…` beside them are links to what it built."""
    names = _names(answers, BUILT, BUILT)
    if not names.known:
        return names
    return Reading(tuple(name for name in names.value if _NUMBER.fullmatch(name)), BUILT)


def _services(answers: Answers) -> Reading:
    """The NVIDIA services that have processes."""
    for path in SERVICES:
        names = _names(answers, path, path)
        if names.known:
            return Reading(tuple(name for name in names.value if name.startswith("nvidia-")), path)
    return _names(answers, SERVICES[0], SERVICES[0])


def _major(answer: Answer) -> Reading:
    if not answer.known:
        return Reading(None, CHARACTER_DEVICES, answer.reason, answer.message)
    return Reading(_MAJOR in str(answer.value).split(), CHARACTER_DEVICES)


def _manager(answer: Answer) -> Reading:
    source = " ".join(MANAGER_COMMAND)
    if not answer.known:
        return Reading(None, source, answer.reason, answer.message)
    found: Optional[re.Match[str]] = _NUMBER.search(str(answer.value.stdout))
    return Reading(found[0], source) if found else Reading(None, source, FAILED, "it names no version")
