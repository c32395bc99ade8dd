"""Slurm's picture of the network: `topology.conf`, `topology.yaml`, `scontrol show topo`, and a job's environment.

https://slurm.schedmd.com/topology.conf.html · https://slurm.schedmd.com/topology.yaml.html. A leaf switch and a block
are both the tier that is next to a node.
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from raxl.model.placement import Placement
from raxl.sources import hostlist
from raxl.sources.numbers import MOST_PLACES, whole

EVIDENCE = "slurm"
ADDRESS, PATTERN = "SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN"
_PAIR = re.compile(r"([A-Za-z]{1,40})=(\S*)")
_KEY = re.compile(r"([ \t]*)(- )?[ \t]*([a-z_]{1,40})[ \t]*:[ \t]*(.*?)[ \t]*")


class Unit(NamedTuple):
    """A leaf switch or a block."""

    name: str
    nodes: str
    """As Slurm lists them."""


def units(text: str) -> Tuple[Unit, ...]:
    """The leaf switches and blocks of `topology.conf` or of what `scontrol show topo` prints, in their order."""
    found: List[Tuple[int, Unit]] = []
    for said in _pairs(text):
        name = said.get("switchname") or said.get("blockname")
        if name and said.get("nodes") and not said.get("switches"):
            found.append((whole(said.get("level"), MOST_PLACES) or 0, Unit(name, said["nodes"])))
    lowest = min((level for level, _ in found), default=0)
    return tuple(unit for level, unit in found if level == lowest)


def _pairs(text: str) -> Iterator[Mapping[str, str]]:
    """The `Name=value` pairs of each line, names in lower case; a backslash at its end joins a line to the next one."""
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        yield {name.lower(): value for name, value in _PAIR.findall(line.split("#", 1)[0])}


def units_of_yaml(text: str) -> Tuple[Unit, ...]:
    """The leaf switches and blocks of `topology.yaml`: of the topology that is the cluster's default, else the first.

    Read line by line, as Slurm's own files are written: nodes have no YAML library.
    """
    topologies: List[Tuple[bool, Dict[str, str]]] = []
    name: Optional[str] = None
    for line in text.splitlines():
        match = _KEY.fullmatch(line.split(" #", 1)[0])
        if match is None:
            continue
        key, value = match[3], match[4].strip("\"'")
        if key == "topology" or not topologies:
            topologies.append((False, {}))
        if key == "cluster_default":
            topologies[-1] = (value.lower() == "true", topologies[-1][1])
        elif key in ("switch", "block"):
            name = value
        elif key == "nodes" and name:
            topologies[-1][1][name] = value
    chosen = [units for is_default, units in topologies if is_default] or [units for _, units in topologies]
    return tuple(Unit(name, nodes) for name, nodes in chosen[0].items()) if chosen else ()


def of_node(every: Sequence[Unit], node: Optional[str]) -> Placement:
    """Where a node stands: the first unit that lists it."""
    found = next((one.name for one in every if node and node in hostlist.names(one.nodes)), None)
    return Placement(block=found, evidence=(EVIDENCE,)) if found else Placement()


def of_environment(variables: Mapping[str, str]) -> Placement:
    """Where the job's own node stands: `core.s1.n3` for `switch.switch.node`, from the top switch down to the node."""
    names, kinds = variables.get(ADDRESS, "").split("."), variables.get(PATTERN, "").split(".")
    if len(names) < 2 or len(names) != len(kinds) or kinds[-1] != "node" or kinds[-2] not in ("switch", "block"):
        return Placement()
    return Placement(block=names[-2] or None, evidence=(EVIDENCE,)) if names[-2] else Placement()
