"""Processors: `/sys/devices/system/cpu` and `/proc/cpuinfo`.

https://docs.kernel.org/admin-guide/cputopology.html
"""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.node import Cpu
from raxl.sources import kernel_list

FOLDER = "/sys/devices/system/cpu"


class Answers(NamedTuple):
    """What `/proc/cpuinfo` says, which CPUs are online, and the topology files of each CPU."""

    info: Answer
    online: Answer
    topology: Mapping[int, tuple[Answer, Answer]]
    """By CPU: its package, and the mask of threads that share its core."""


def ask(host: Host) -> Answers:
    """Asks for two files of every CPU."""
    topology = {}
    for name in host.names(FOLDER).value or ():
        if re.fullmatch("cpu[0-9]{1,5}", name):
            folder = f"{FOLDER}/{name}/topology"
            topology[int(name[3:])] = (
                host.text(f"{folder}/physical_package_id"),
                host.text(f"{folder}/thread_siblings"),
            )
    return Answers(host.text("/proc/cpuinfo"), host.text(f"{FOLDER}/online"), topology)


def parse(answers: Answers) -> Cpu:
    """Model, packages, cores and threads; a count that no file gives is None."""
    online = kernel_list.parse(stripped(answers.online))
    known = {cpu: files for cpu, files in answers.topology.items() if files[0].known or files[1].known}
    if online is not None:
        known = {cpu: files for cpu, files in known.items() if cpu in online}
    packages = {stripped(package) for package, _ in known.values()} - {None, "-1"}
    cores = {stripped(siblings) for _, siblings in known.values()} - {None}
    threads = len(online) if online else len(known)
    return Cpu(model_name(answers.info), len(packages) or None, len(cores) or None, threads or None)


def packages(answers: Answers) -> Mapping[int, int]:
    """The package (the processor) of each CPU, where its file gives one."""
    texts = {cpu: stripped(package) or "" for cpu, (package, _) in answers.topology.items()}
    return {cpu: int(text) for cpu, text in texts.items() if re.fullmatch("[0-9]{1,5}", text)}


def model_name(info: Answer) -> str | None:
    """The processor's name in `/proc/cpuinfo`: x86 says `model name`, POWER `cpu`, some Arm systems `Model`."""
    fields = info_fields(info)
    name = fields.get("model name") or fields.get("cpu") or fields.get("Model") or fields.get("Processor")
    return re.sub(r"\s+", " ", name) if name else None


def info_fields(info: Answer) -> dict[str, str]:
    """The `key : value` lines of the first processor of `/proc/cpuinfo`."""
    fields: dict[str, str] = {}
    for line in (stripped(info) or "").splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.strip())
    return fields
