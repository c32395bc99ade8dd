"""Machines written down as text, `machine.txt`: what a recording for a test is made from.

`tests/recordings/README.md` tells how. What the text does not give, its machine does not have: raxl asked for it, and
it is `not-present`.
"""

from __future__ import annotations

import json
import re
import uuid
from typing import Callable, Iterator, NamedTuple

from raxl.host import Answer, CommandOutput, Question, kernel_condense, nccl_files
from raxl.host.archive import Entry
from raxl.intake.tree import NOT_CAPTURED, ArchiveTree, TreeRecording

CREATED = "2026-01-15T08:00:00Z"

_ABSENT = Answer(None, "not-present", "")
_UNTOLD = Answer(None, "not-asked", "the text does not say it")
_NO_LIBRARY = {
    "nvml": "NVML error 12: NVML Shared Library Not Found",
    "amdsmi": "amdsmi: libamd_smi.so is not to be found",
}
"""What each library's class says where there is none."""
_PIECES = re.compile(r" {2,}(?=\S+ (?:=|->|!)(?: |$))")
_PIECE = re.compile(r"(\S+)(?: (=|->|!)(?: (.*))?)?")
_COMMAND = re.compile(r"\$ (.+?)(?: \(exit (\d+)\))?(?: ! (\S+): (.*))?")
_OTHER = re.compile(r"\? (library|process) (.+?)(?: =(?: (.+))?| ! (\S+): (.*))")
_RING = "/dev/kmsg"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_CLASSES = ("infiniband", "net")


class Machine(NamedTuple):
    """What a text says of a machine."""

    header: dict[str, str]
    files: dict[str, str]
    links: dict[str, str]
    folders: set[str]
    refused: dict[str, Answer]
    """By path: that and all beneath it cannot be read."""
    commands: dict[str, Answer]
    others: dict[Question, Answer]
    """What libraries and the kernel's own calls answer."""


class MachineRecording(TreeRecording):
    """A recording that answers every question, as a live machine does."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(_tree(machine), name=machine.header["name"], source="local", created=CREATED)
        self.nature = machine.header["nature"]
        self._machine = machine

    def _look(self, question: Question) -> Answer:
        kind, subject = question
        if question in self._machine.others:
            return self._machine.others[question]
        if kind == "command":
            missing = f"{subject.split()[0]} is in none of the trusted folders"
            return self._machine.commands.get(subject) or Answer(None, "not-installed", missing)
        if kind == "library":
            name, method, *_ = subject.split(" ")
            return _library(name, method, self._machine.header)
        if kind == "process":
            known = _process(self._machine)
            return Answer(known[subject]) if subject in known else _UNTOLD
        if kind == "document":
            return Answer(None, "not-asked", f"a machine has no {subject}")
        if kind == "metadata":
            return Answer(None, "not-asked", "the text holds no cloud's metadata")
        refused = [why for path, why in self._machine.refused.items() if f"{subject}/".startswith(f"{path}/")]
        answer = refused[0] if refused else self._ask(question)
        return _ABSENT if answer is NOT_CAPTURED else answer


def parse(text: str, other: Callable[[str], str]) -> Machine:
    """The machine that a text describes; with `like`, another one, whose text `other` gives by name, and what differs.

    It is written by whoever tests, and an error in it is raised: ValueError, KeyError, AssertionError.
    """
    header, bodies = _layers(text, other)
    machine = Machine(header, _common(header), {}, set(), {}, {}, {})
    for body in bodies:
        _read(expanded(body.splitlines()), machine)
    _kernels_own_links(machine)
    return machine


def _layers(text: str, other: Callable[[str], str]) -> tuple[dict[str, str], list[str]]:
    """The whole header, and the bodies, that of the machine which the others are like first."""
    head, _, body = text.partition("\n\n")
    own = dict(line.split(": ", 1) for line in re.sub(r"\n +", " ", head).splitlines())
    header, bodies = _layers(other(own["like"]), other) if "like" in own else ({}, [])
    return {**header, **own}, [*bodies, body]


def expanded(lines: list[str]) -> list[str]:
    """The lines with every `for` written out: the block below `do` once for each row of values."""
    out: list[str] = []
    while lines:
        line, *lines = lines
        loop = re.fullmatch(r"( *)for ([a-z_ ]+)", line)
        if not loop:
            out.append(line)
            continue
        indent, names = len(loop[1]), loop[2].split()
        start = lines.index(f"{loop[1]}do")
        rows, lines = lines[:start], lines[start + 1 :]
        size = next((i for i, text in enumerate(lines) if text and _indent(text) <= indent), len(lines))
        block, lines = [text.removeprefix("    ") for text in lines[:size]], lines[size:]
        for row in filter(str.strip, rows):
            values = dict(zip(names, row.split(None, len(names) - 1), strict=True))
            out += expanded([_filled(text, values) for text in block])
    return out


def _filled(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), text)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _read(lines: list[str], machine: Machine) -> None:
    folders: list[tuple[int, str]] = []
    while lines:
        line, *lines = lines
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        indent = _indent(line)
        while folders and folders[-1][0] >= indent:
            folders.pop()
        above = folders[-1][1] if folders else ""
        size = next((i for i, text in enumerate(lines) if text.strip() and _indent(text) <= indent), len(lines))
        if line.startswith("? "):
            question, answer = _other(line, _content(lines[:size]))
            machine.others[question] = answer
            lines = lines[size:]
            continue
        if line.startswith("$ "):
            _command(line, _content(lines[:size]), machine)
            lines = lines[size:]
            continue
        for piece in _PIECES.split(line.strip()):
            found = _PIECE.fullmatch(piece)
            assert found, f"not understood: {line}"
            name, sign, value = found.groups()
            path = name if name.startswith("/") else f"{above}/{name}"
            if sign is None:
                folders.append((indent, path))
                machine.folders.add(path)
            elif sign == "->":
                machine.links[path] = value
            elif sign == "!":
                reason, _, message = value.partition(": ")
                machine.refused[path] = Answer(None, reason, message)
            elif value is None:
                machine.files[path] = _content(lines[:size])
                lines = lines[size:]
            else:
                machine.files[path] = value + "\n"


def _content(block: list[str]) -> str:
    """Indented lines as a file's text. `␛` stands for the escape character."""
    cut = min((_indent(text) for text in block if text.strip()), default=0)
    text = "\n".join(text[cut:] for text in block).rstrip()
    return text.replace("␛", "\x1b") + "\n" if text else ""


def _command(line: str, output: str, machine: Machine) -> None:
    found = _COMMAND.fullmatch(line)
    assert found, f"not understood: {line}"
    arguments, status, reason, message = found.groups()
    answer = Answer(None, reason, message) if reason else Answer(CommandOutput(int(status or 0), output, ""))
    machine.commands[arguments] = answer


def _other(line: str, block: str) -> tuple[Question, Answer]:
    """`? library nvml ecc_mode 0 = [1, 1]`, `? process kernel_log ! not-permitted: Operation not permitted`; where
    nothing stands behind the sign, the block below is the JSON."""
    found = _OTHER.fullmatch(line)
    assert found, f"not understood: {line}"
    kind, subject, value, reason, message = found.groups()
    return Question(kind, subject), Answer(None, reason, message) if reason else Answer(json.loads(value or block))


def _kernels_own_links(machine: Machine) -> None:
    """The links by which the kernel lists a device beside its place: by bus, by class, and back to the hardware."""
    for path in sorted(machine.folders):
        parent, name = path.rsplit("/", 1)
        kind = parent.rsplit("/", 1)[1] if "/" in parent else ""
        if path.startswith("/sys/devices/") and _ADDRESS.fullmatch(name):
            machine.links[f"/sys/bus/pci/devices/{name}"] = path
        elif path.startswith("/sys/devices/") and kind in _CLASSES:
            machine.links[f"/sys/class/{kind}/{name}"] = path
            if not path.startswith("/sys/devices/virtual/"):
                machine.links[f"{path}/device"] = parent.rsplit("/", 1)[0]


def _tree(machine: Machine) -> ArchiveTree:
    """Files, links and folders in memory. Where a link leads there is something, if only an empty folder."""
    given = {*machine.files, *machine.links, *machine.folders}
    targets = {target for target in machine.links.values() if target not in given}
    entries = [Entry(path.strip("/"), "folder") for path in sorted(machine.folders | targets)]
    entries += [Entry(path.strip("/"), "link", b"", target) for path, target in machine.links.items()]
    entries += [Entry(path.strip("/"), "file", file_bytes(text)) for path, text in machine.files.items()]
    return ArchiveTree(entries, "")


def file_bytes(text: str) -> bytes:
    """A file's content. `hex: 272 100:0d0001`: so many bytes, zeros but for those that are given from a place on."""
    if not text.startswith("hex: "):
        return text.encode()
    _, size, *parts = text.split()
    content = bytearray(int(size))
    for part in parts:
        place, digits = part.split(":")
        given = bytes.fromhex(digits)
        content[int(place, 16) : int(place, 16) + len(given)] = given
    assert len(content) == int(size), f"past the end: {text}"
    return bytes(content)


def _library(name: str, method: str, header: dict[str, str]) -> Answer:
    """There is none; but one may be said to list so many devices, and to tell nothing of them, or to fail in words."""
    if name not in header:
        return Answer(None, "not-installed", _NO_LIBRARY.get(name, f"{name} is not installed"))
    if not header[name].isdigit():
        return Answer(None, "failed", header[name])
    return Answer(int(header[name])) if method == "start" else Answer(None, "not-supported", "not supported")


def _process(given: Machine) -> dict[str, object]:
    """What the kernel tells the asking process."""
    header, ring = given.header, given.files.get(_RING)
    _, release, machine = header["system"].split(", ")
    return {
        **({"kernel_log": kernel_condense.condensed(ring.splitlines())} if ring is not None else {}),
        "uname": {"system": "Linux", "release": release, "machine": machine},
        "environment": dict(sorted(json.loads(header.get("environment", "{}")).items())),
        "packages": header.get("packages", "ray").split(),
        "root": header.get("root", "yes") == "yes",
        "nccl_user_files": {
            name: {"path": f"~/.{name}.conf", "reason": "not-present", "message": ""} for name in nccl_files.LIBRARIES
        },
        "limits": {"memlock": [-1, -1], "nofile": [1048576, 1048576], "stack": [8388608, -1]},
    }


def _common(header: dict[str, str]) -> dict[str, str]:
    """The files of every machine, from its header."""
    distribution, release, machine = header["system"].split(", ")
    maker, product = header["firmware"].split(", ", 1)
    return {
        "/proc/sys/kernel/osrelease": f"{release}\n",
        "/proc/sys/kernel/hostname": f"{header['name']}\n",
        "/proc/sys/kernel/random/boot_id": f"{uuid.uuid5(uuid.NAMESPACE_DNS, header['name'])}\n",
        "/etc/os-release": f'PRETTY_NAME="{distribution}"\n',
        "/proc/self/cgroup": "0::/user.slice/user-0.slice/session-1.scope\n",
        "/sys/class/dmi/id/sys_vendor": f"{maker}\n",
        "/sys/class/dmi/id/product_name": f"{product}\n",
        **dict(_processors(header, machine)),
    }


def _processors(header: dict[str, str], machine: str) -> Iterator[tuple[str, str]]:
    """`2 × 56 × 2, Intel(R) Xeon(R) Platinum 8480C`: packages, cores of each, threads of each core, and the name.

    Linux numbers the first threads of all cores before the second ones.
    """
    counts, name = header["processors"].split(", ", 1)
    packages, cores, threads = map(int, counts.split(" × "))
    for package in range(packages):
        for core in range(package * cores, (package + 1) * cores):
            siblings = [core + packages * cores * thread for thread in range(threads)]
            mask = f"{sum(1 << cpu for cpu in siblings):0{packages * cores * threads // 4}x}"
            for cpu in siblings:
                folder = f"/sys/devices/system/cpu/cpu{cpu}/topology"
                yield f"{folder}/physical_package_id", f"{package}\n"
                yield f"{folder}/thread_siblings", f"{mask}\n"
    yield "/sys/devices/system/cpu/online", f"0-{packages * cores * threads - 1}\n"
    if machine == "aarch64":
        yield "/proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"
    else:
        vendor = "AuthenticAMD" if "AMD" in name else "GenuineIntel"
        flags = "fpu vme lm hypervisor" if header.get("guest") == "yes" else "fpu vme lm"
        yield "/proc/cpuinfo", f"processor\t: 0\nvendor_id\t: {vendor}\nmodel name\t: {name}\nflags\t\t: {flags}\n"
