"""`neuron-ls`: Neuron devices by number, their PCI addresses, cores, memory and neighbours.

https://awsdocs-neuron.readthedocs-hosted.com: Neuron LS User Guide. `-j` printed a list of devices, `--output-format
json` since Neuron 2.34 an object with what is common at its top; both are walked for what looks like a device. The
table's columns differ by release, and are read by their titles. Memory is written as GB and means GiB.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from raxl.model.identity import pci_address
from raxl.model.placement import Placement
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, NOT_PRESENT, Problem
from raxl.model.report import Claim, LinkClaim, Silence
from raxl.sources import neuron_links, neuron_names, tool_box
from raxl.sources.neuron_links import MOST_DEVICES, number
from raxl.sources.neuron_names import FAMILY
from raxl.sources.numbers import MOST_BYTES, MOST_PLACES, whole

NAME = "neuron-ls"
COMMANDS = ((NAME, "--json-output"), (NAME, "--output-format", "json"))
"""The old way to ask for JSON, which Ray uses, and the one that replaced it in Neuron 2.34."""
COLUMNS = {
    "NEURON DEVICE": "neuron_device",
    "NEURON CORES": "nc_count",
    "LOGICAL NC": "logical_nc",
    "NEURON CORE IDS": "neuroncore_ids",
    "NEURON MEMORY": "memory_size",
    "CONNECTED DEVICES": "connected_to",
    "PCI BDF": "bdf",
    "CPU AFFINITY": "cpu_affinity",
    "NUMA NODE": "numa_node",
}
_HEAD = re.compile(r"[ \t]*(instance-type|logical-neuroncore-config)[ \t]*:[ \t]*(\S{1,60})[ \t]*")
_SIZE = re.compile(r"([0-9]{1,7})[ \t]*(GB|GiB|MB|MiB)", re.IGNORECASE)
_SERVER_KEY = re.compile("(ultra_?)?server_?id(_4)?")
_DEEPEST = 8
_MOST_CORES = 1024

Fields = Dict[str, Any]
"""A device's fields by the names of the first JSON form."""


class Output(NamedTuple):
    """What an output says: its devices, and what it says of the node."""

    devices: Tuple[Fields, ...] = ()
    common: Mapping[str, str] = {}
    """`instance_type`, `logical_neuroncore_config`, `domain`."""
    problems: Tuple[Problem, ...] = ()


def of_values(values: Sequence[Any]) -> Output:
    """Of parsed JSON documents of any of the tool's forms."""
    devices: List[Fields] = []
    common: Dict[str, str] = {}
    for value in values:
        for found in _objects(value, 0):
            if _is_device(found):
                devices.append(found)
            for key, said in found.items():
                if key == "instance_type" or (key == "logical_neuroncore_config" and not _is_device(found)):
                    common.setdefault(key, str(said))
                elif _SERVER_KEY.fullmatch(key) and neuron_names.ultraserver(str(said)):
                    common.setdefault("domain", str(neuron_names.ultraserver(str(said))))
    return _output(devices, common, [])


def of_lines(lines: Sequence[str]) -> Output:
    """Of the tables, plain, with processes or with the drawn topology."""
    devices: List[Fields] = []
    common: Dict[str, str] = {}
    titles: List[str] = []
    problems: List[Problem] = []
    for line in lines:
        head = _HEAD.fullmatch(line)
        if head:
            common.setdefault(head[1].replace("-", "_"), head[2])
        elif line.lstrip().startswith("|"):
            found = cells(line)
            if found[0] == "NEURON":
                titles = found
            elif found[0] == "DEVICE" and titles:
                titles = [" ".join(pair).strip() for pair in zip(titles, [*found, *[""] * len(titles)])]
            elif found[0].isdecimal():
                if not line.rstrip().endswith("|"):
                    found = found[:-1]
                    problems.append(Problem("accelerators", FAILED, "neuron-ls's table ends inside a row", (NAME,)))
                devices.append(_row(titles, found))
    if titles and not devices:
        problems.append(tool_box.empty(NAME, NAME, "device"))
    elif not problems:
        problems += tool_box.damage(NAME, NAME, lines, {line for line in lines if line.lstrip().startswith("|")})
    return _output(devices, common, problems)


def joined(one: Output, other: Output) -> Output:
    """Two outputs of one machine as one."""
    whole_of_it = _output([*one.devices, *other.devices], {**other.common, **one.common}, one.problems)
    return whole_of_it._replace(problems=tuple(dict.fromkeys((*whole_of_it.problems, *other.problems))))


def is_own(line: str) -> bool:
    """Whether a line is of the table or of what stands above it."""
    return line.lstrip().startswith("|") or _HEAD.fullmatch(line) is not None


def cells(line: str) -> List[str]:
    """The cells of a table's line."""
    inner = line.strip()[1:]
    return [cell.strip() for cell in (inner[:-1] if inner.endswith("|") else inner).split("|")]


def _row(titles: Sequence[str], found: Sequence[str]) -> Fields:
    """A table's row by the titles above it; without titles, by what its cells look like."""
    if titles:
        fields = {COLUMNS[title]: cell for title, cell in zip(titles, found) if title in COLUMNS}
        if "logical_nc" in fields:
            fields["nc_count"] = fields.pop("logical_nc")
        return fields
    fields = {"neuron_device": found[0], **({"nc_count": found[1]} if len(found) > 1 else {})}
    for cell in found[2:]:
        if pci_address(cell):
            fields.setdefault("bdf", cell)
        elif _SIZE.fullmatch(cell):
            fields.setdefault("memory_size", cell)
    return fields


def _objects(value: Any, depth: int) -> Iterator[Fields]:
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        named = {str(key).lower().replace("-", "_"): said for key, said in value.items()}
        yield named
        value = [said for key, said in named.items() if key != "neuron_processes"]
    if isinstance(value, list):
        for said in value:
            yield from _objects(said, depth + 1)


def _is_device(fields: Mapping[str, Any]) -> bool:
    return "neuron_device" in fields and ("nc_count" in fields or "bdf" in fields or "memory_size" in fields)


def _output(devices: Sequence[Fields], common: Mapping[str, str], problems: Sequence[Problem]) -> Output:
    """Rows of one number together: what the first lacks is taken from the others."""
    told: Dict[Any, Fields] = {}
    found = list(problems)
    for fields in devices[: 4 * MOST_DEVICES]:
        place = number(fields.get("neuron_device"), MOST_DEVICES)
        if place is None:
            continue
        known = told.setdefault(place, {})
        for name, said in fields.items():
            if known.get(name) in (None, "") or name not in known:
                known[name] = said
        places = [pci_address(str(one.get("bdf"))) for one in (known, fields)]
        if None not in places and places[0] != places[1]:
            words = f"{NAME} gives device {place} two addresses: {places[0]} and {places[1]}"
            found.append(Problem("accelerators", DISAGREEMENT, words, (NAME,)))
    return Output(tuple(told[place] for place in sorted(told)), common, tuple(found))


def claims(output: Output, evidence: str = NAME) -> List[Claim]:
    """One claim a device. Of its health the tool says nothing: that the driver knows it makes no device well."""
    instance = output.common.get("instance_type")
    model = neuron_names.model_of_instance(instance)
    words = "this output names no instance type, which tells the chip"
    if instance:
        words = f"which chip an instance of the type {str(instance)[:40]} has is not known to raxl"
    return [_claim(fields, output, model, Silence(NOT_ASKED, words, evidence), evidence) for fields in output.devices]


def _claim(fields: Fields, output: Output, model: Optional[str], modelless: Silence, evidence: str) -> Claim:
    numa = str(fields.get("numa_node", "")).strip()
    lnc = fields.get("logical_neuroncore_config", output.common.get("logical_neuroncore_config"))
    told = {
        "neuron_cores": number(fields.get("nc_count"), _MOST_CORES),
        "logical_neuroncore_config": number(lnc, 64),
        "neuron_core_ids": _core_ids(fields.get("neuroncore_ids")),
    }
    silent = {"numa_node": Silence(NOT_PRESENT, "the firmware names no NUMA node", evidence)} if numa == "-1" else {}
    if model is None:
        silent["model"] = modelless
    return Claim(
        vendor=FAMILY.vendor,
        kind=FAMILY.kind,
        evidence=evidence,
        address=pci_address(str(fields.get("bdf", ""))),
        index=number(fields.get("neuron_device"), MOST_DEVICES),
        model_by_id=model,
        numa_node=whole(numa, MOST_PLACES),
        memory_bytes=_bytes(fields.get("memory_size")),
        ray=neuron_names.RAY,
        visible_env=FAMILY.visible_env,
        attributes={name: value for name, value in told.items() if value is not None},
        silent=silent,
    )


def links(output: Output, evidence: str = NAME) -> Tuple[List[LinkClaim], List[Problem]]:
    """NeuronLink between neighbours. What leads to a device that is not listed, or back from one alone, is told."""
    told = {
        number(one.get("neuron_device"), MOST_DEVICES): neuron_links.neighbours(one.get("connected_to"))
        for one in output.devices
    }
    return neuron_links.links_of({place: near for place, near in told.items() if place is not None}, evidence)


def placement(output: Output, evidence: str = NAME) -> Placement:
    """The instance type and the UltraServer that the tool names."""
    return neuron_names.placement(output.common.get("instance_type"), output.common.get("domain"), evidence)


def _core_ids(said: Any) -> Optional[str]:
    """`0-3`, of such a word or of a list."""
    if isinstance(said, str):
        return said if re.fullmatch("[0-9]{1,4}(-[0-9]{1,4})?(, ?[0-9]{1,4}(-[0-9]{1,4})?){0,16}", said) else None
    if not isinstance(said, list):
        return None
    from raxl.sources import kernel_list

    numbers = {found for one in said[:_MOST_CORES] if (found := number(one, MOST_PLACES)) is not None}
    return kernel_list.write(numbers).replace(",", ", ") or None


def _bytes(said: Any) -> Optional[int]:
    """Bytes as JSON gives them, or `96 GB`."""
    found = _SIZE.fullmatch(str(said).strip())
    size = int(found[1]) << (30 if found[2][0] in "gG" else 20) if found else number(said, MOST_BYTES)
    return size if size and size <= MOST_BYTES else None
