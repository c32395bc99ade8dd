"""Slurm's `topology.conf` and `topology.yaml`, and `scontrol show topo`: the leaf switch or block of every node."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined, lines
from raxl.model.problem import DISAGREEMENT, FAILED, Problem
from raxl.sources import hostlist, slurm_topology
from raxl.sources.slurm_topology import Unit

FORM = slurm_topology.EVIDENCE
_MARK = re.compile(r"^[ \t]*(?:SwitchName|BlockName)=\S", re.MULTILINE | re.IGNORECASE)
_YAML = re.compile(r"^- topology:", re.MULTILINE)
_YAML_UNIT = re.compile(r"^[ \t]*- (?:switch|block):", re.MULTILINE)


def recognises(text: str) -> bool:
    """Whether a switch or block stands in it as Slurm writes one."""
    return _MARK.search(text) is not None or bool(_YAML.search(text) and _YAML_UNIT.search(text))


def own(text: str) -> str:
    """The leaf switches and blocks with their nodes."""
    return joined([f"SwitchName={unit.name} Nodes={unit.nodes}" for unit in _units(text)])


def machines(text: str) -> list[str]:
    """The text by node."""
    return [f"SwitchName={name} Nodes={node}\n" for node, name in _nodes(text)] or [text]


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """Where the first node stands."""
    units = _units(text)
    nodes = list(_nodes(text))
    if not nodes:
        return Foreign(FORM), (Problem("placement", FAILED, "no switch and no block lists nodes", (FORM,)),)
    problems = []
    if len(nodes) > 1:
        message = f"the text holds {len(nodes)} nodes, of which the first is read"
        problems.append(Problem("placement", DISAGREEMENT, message, (FORM,)))
    node = nodes[0][0]
    return Foreign(FORM, hostname=node, placements=(slurm_topology.of_node(units, node),)), tuple(problems)


def _units(text: str) -> tuple[Unit, ...]:
    plain = joined(lines(text))
    return slurm_topology.units(plain) if _MARK.search(plain) else slurm_topology.units_of_yaml(plain)


def _nodes(text: str) -> Iterator[tuple[str, str]]:
    """Each node once, with the first unit that lists it."""
    seen: set[str] = set()
    for unit in _units(text):
        for node in hostlist.names(unit.nodes):
            if node not in seen and len(seen) < hostlist.MOST_NAMES:
                seen.add(node)
                yield node, unit.name
