"""The cluster as Ray knows it: who is alive, and who runs which versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from raxl.checks import P0, Case, Fleet, Verdict, check, expected, fail, ok, skip, unknown, warn
from raxl.checks.raylets import environments, silence, versions
from raxl.checks.words import listed
from raxl.model.cluster import ALIVE, DEAD, DRAINING, Cluster, RayNode
from raxl.model.finding import STANDARD, Evidence
from raxl.model.problem import NOT_APPLICABLE, NOT_ASKED

_IGNORING = ("RAY_IGNORE_VERSION_MISMATCH", "RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL")
_MOST = 256


def only(fleet: Fleet) -> str | None:
    """The node that a check over all of them is about where there is one alone."""
    return fleet[0].node.name if len(fleet) == 1 else None


def not_asked(fleet: Fleet, why: str, reason: str = NOT_APPLICABLE) -> Verdict:
    """Why there is nothing to say of nodes together."""
    return replace(skip("node" if only(fleet) else "cluster", why, reason), node=only(fleet))


@check(
    "ray.node-dead",
    "Ray's nodes are alive",
    P0,
    STANDARD,
    "restart-service",
    reference="https://docs.ray.io/en/latest/ray-core/fault_tolerance/nodes.html",
    is_of_fleet=True,
)
def node_dead(fleet: Fleet) -> Iterator[Verdict]:
    """Ray takes a node for dead after five failed probes, 15 to 65 s after it fell silent.

    Read: the table of nodes with state, sort and reason of a death. It fails for each that died unexpectedly and has no
    successor at its address, and where fewer are alive than the policy expects (`nodes`). A death of which Ray gives no
    sort warns.

    Not to be confused: a node that was stopped, drained or scaled down has left. A raylet that was started again has a
    new id at the old address. A node may be marked dead by mistake while its machine or the network is overloaded.
    """
    cluster = next((case.cluster for case in fleet if case.cluster is not None), None)
    if cluster is None:
        yield _uncounted(fleet) or not_asked(fleet, "no Ray was asked", NOT_ASKED)
        return
    names = {case.node.ray_node_id: case.node.name for case in fleet}
    alive = [one for one in cluster.nodes if one.state != DEAD]
    dead = [one for one in cluster.nodes if one.state == DEAD and not _is_back(one, alive)]
    died = [one for one in dead if not one.has_left]
    for one in died[:_MOST]:
        yield _dead(one, names.get(one.node_id) or one.name or one.address or one.node_id)
    wanted = expected.count(fleet[0], "nodes")
    if wanted is not None and len(alive) < wanted:
        words = f"{len(alive)} nodes are alive, {wanted} are expected"
        step = "ray list nodes --detail names those that Ray knows; start the raylets that are missing"
        yield fail("cluster", words, remedy=step, remedy_class="restart-service", expected=f"{wanted} (policy)")
    elif not died:
        yield _alive(cluster, alive, [one for one in dead if one.has_left])


def _uncounted(fleet: Fleet) -> Verdict | None:
    """What was expected and cannot be held against anything."""
    if not fleet or (wanted := expected.count(fleet[0], "nodes")) is None:
        return None
    words = f"whether {wanted} nodes are alive as the policy expects: no Ray was asked"
    return unknown("node" if only(fleet) else "cluster", NOT_ASKED, words, node=only(fleet))


def _is_back(one: RayNode, alive: Sequence[RayNode]) -> bool:
    return one.address is not None and any(other.address == one.address for other in alive)


def _dead(one: RayNode, name: str) -> Verdict:
    reason = one.reason or "Ray does not say why"
    told = Evidence("ray.nodes()", f"{one.death or 'no sort of death'}: {reason}")
    step = (
        f"on {one.address or name}: tail raylet.out and raylet.err in /tmp/ray/session_latest/logs, dmesg for the OOM "
        "killer; nothing is left to drain; then ray start --address=HEAD:6379"
    )
    words = f"the node is dead: {reason}"
    made = warn if one.death in (None, "UNSPECIFIED") else fail
    return made("node", words, told, remedy=step, remedy_class="restart-service", node=name, root=one.death or "")


def _alive(cluster: Cluster, alive: Sequence[RayNode], left: Sequence[RayNode]) -> Verdict:
    draining = sorted(one.name or one.node_id for one in alive if one.state == DRAINING)
    words = f"{len(alive)} nodes are alive"
    words += f", {listed(draining)} being drained" if draining else ""
    words += f"; {len(left)} left as expected" if left else ""
    return ok("cluster", words, Evidence("ray.nodes()", f"{ALIVE}: {len(alive)}, {DEAD}: {cluster.nodes_dead or 0}"))


class _Runs(NamedTuple):
    """What a node runs."""

    node: str
    ray: str | None
    commit: str | None
    python: str | None
    source: str


@check(
    "ray.version-skew",
    "All nodes run one Ray and one Python",
    P0,
    STANDARD,
    "config",
    reference="https://github.com/ray-project/ray/issues/50511",
    is_of_fleet=True,
)
def version_skew(fleet: Fleet) -> Iterator[Verdict]:
    """Ray's processes talk pickles of their own version: what differs refuses to join, or fails later.

    Read: on each node the version and commit of the Ray there and its Python, and what the cluster says of itself; else
    what most nodes have. It fails where Ray or Python's major.minor differ, and warns where Python's patch level does
    (some versions of Ray refuse to join for it) and where a variable has Ray ignore a mismatch.

    Not to be confused: a job may bring packages of its own in its runtime environment, which is not seen.
    """
    cluster = next((case.cluster for case in fleet if case.cluster is not None), None)
    told = [_runs(case) for case in fleet if silence(case) is None and _is_alive(case)]
    known = [one for one in told if one.ray is not None]
    if not known:
        yield from _unread(fleet, cluster)
        return
    ray = (cluster.ray_version if cluster else None) or _most([one.ray for one in known])
    commit = _most([one.commit for one in known if one.ray == ray])
    python = (cluster.python_version if cluster else None) or _most([one.python for one in known])
    faults = [fault for one in known for fault in _skews(one, ray, commit, python, bool(cluster))]
    yield from faults
    yield from _ignoring(fleet)
    for one in told if cluster is not None else ():
        if one.ray is None:
            words = "which Ray runs here was not read: the versions beside its raylet cannot be seen"
            yield unknown("node", NOT_ASKED, words, node=one.node)
    if not faults:
        evidence = Evidence(known[0].source, f"Ray {ray} {(commit or '')[:10]}, Python {python}")
        words = f"Ray {ray} and Python {python} on {len(known)} of {len(told)} nodes that were read"
        yield ok("node" if only(fleet) else "cluster", words, evidence, node=only(fleet))


def _is_alive(case: Case) -> bool:
    return case.ray is None or case.ray.state != DEAD


def _runs(case: Case) -> _Runs:
    reading = versions(case)
    told = reading.value if reading.known else {"packages": {}, "python": None, "commit": None}
    ray = told["packages"].get("ray")
    return _Runs(case.node.name, ray, told["commit"], told["python"] if ray else None, reading.source)


def _unread(fleet: Fleet, cluster: Cluster | None) -> Iterator[Verdict]:
    if cluster is None:
        yield not_asked(fleet, "no Ray was asked, and none is known to be installed", NOT_ASKED)
    else:
        yield unknown("cluster", NOT_ASKED, "which Ray the nodes run was read on none of them")


def _most(values: Sequence[str | None]) -> str | None:
    """The commonest; of several equally common ones, the first by spelling, so that no order of nodes decides."""
    counts = Counter(value for value in values if value is not None)
    return min(counts, key=lambda value: (-counts[value], value)) if counts else None


def _skews(one: _Runs, ray: str | None, commit: str | None, python: str | None, is_told: bool) -> Iterator[Verdict]:
    whom = "the cluster" if is_told else "most nodes"
    told = Evidence(one.source, f"Ray {one.ray} {(one.commit or '')[:10]}, Python {one.python}")
    step = "drain the node, install the cluster's versions in the environment that starts its raylet, and restart it"
    if one.ray != ray:
        words = f"Ray {one.ray} is here, {whom} runs {ray}"
        yield fail("ray", words, told, remedy=step, remedy_class="config", node=one.node, expected=ray)
    elif one.commit and commit and one.commit != commit:
        words = f"Ray {one.ray} of commit {one.commit[:10]} is here, {whom} runs {commit[:10]}"
        yield fail("ray", words, told, remedy=step, remedy_class="config", node=one.node, expected=commit)
    if one.python is None or python is None or python.startswith(f"{one.python}.") or one.python == python:
        return
    words = f"Python {one.python} is here, {whom} runs {python}"
    is_minor = one.python.split(".")[:2] != python.split(".")[:2]
    made = fail if is_minor else warn
    yield made("python", words, told, remedy=step, remedy_class="config", node=one.node, expected=python)


def _ignoring(fleet: Fleet) -> Iterator[Verdict]:
    for case in fleet:
        for one in environments(case):
            for name in [name for name in _IGNORING if name in one.variables]:
                if name == _IGNORING[1] and one.variables[name] == "patch":
                    continue
                words = f"{name} is set: Ray joins what it would refuse"
                step = f"align the versions, then unset {name} where the raylet is started"
                yield warn(name, words, *one.evidence(name), remedy=step, remedy_class="config", node=case.node.name)
