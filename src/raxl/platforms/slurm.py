"""Slurm: what a job step is told of its node, and the files that describe the network."""

from __future__ import annotations

from typing import NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.placement import Placement
from raxl.model.presence import ABSENT, PRESENT, Presence
from raxl.model.report import Placed
from raxl.sources import slurm_topology

_YAML, _CONF, _FETCHED = "/etc/slurm/topology.yaml", "/etc/slurm/topology.conf", "/run/slurm/conf/topology.conf"
"""Slurm ignores the second where there is the first. The third is what slurmctld hands out."""
_HOSTNAME = "/proc/sys/kernel/hostname"


class Answers(NamedTuple):
    """The environment, the files, and the node's own name."""

    environment: Answer
    yaml: Answer
    conf: Answer
    fetched: Answer
    hostname: Answer


class Slurm:
    """Nodes of a Slurm cluster."""

    platform = "Slurm"

    def probe(self, host: Host) -> Presence:
        """Looks for the environment of a job step and for the files."""
        answers = self.ask(host)
        found = [path for path, answer in zip((_YAML, _CONF, _FETCHED), answers[1:4]) if answer.known]
        variables = answers.environment.value if isinstance(answers.environment.value, dict) else {}
        if slurm_topology.ADDRESS in variables:
            found.insert(0, slurm_topology.ADDRESS)
        return Presence(PRESENT, None, found[0]) if found else Presence(ABSENT)

    def ask(self, host: Host) -> Answers:
        """Asks for the environment and three small files."""
        return Answers(
            host.process("environment"), host.text(_YAML), host.text(_CONF), host.text(_FETCHED), host.text(_HOSTNAME)
        )

    def parse(self, answers: Answers) -> Placed:
        """The leaf switch or block of this node, the job's own word first."""
        variables = answers.environment.value if isinstance(answers.environment.value, dict) else {}
        if answers.yaml.known:
            units = slurm_topology.units_of_yaml(answers.yaml.value)
        else:
            units = slurm_topology.units(stripped(answers.conf) or stripped(answers.fetched) or "")
        node = (stripped(answers.hostname) or "").split(".", 1)[0]
        told = (slurm_topology.of_environment(variables), slurm_topology.of_node(units, node))
        return Placed(tuple(one for one in told if one != Placement()))
