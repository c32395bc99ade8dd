"""How a raylet was set up on its node: object store, ports, labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from raxl.checks import P0, P1, Case, Verdict, check, fail, ok, skip, unknown, unread, warn
from raxl.checks.raylets import environments, process, raylets, unasked, unheard
from raxl.checks.words import listed, size
from raxl.model.cluster import ALIVE, DEAD
from raxl.model.facts import NOT_READ
from raxl.model.finding import HOST, QUICK, ROOT, STANDARD, Evidence
from raxl.model.label import ACCELERATOR_TYPE
from raxl.model.machine import Filesystem
from raxl.model.problem import NOT_ASKED, NOT_PERMITTED
from raxl.topology import label_check, labels

_IN_MEMORY = ("tmpfs", "ramfs", "hugetlbfs", "devtmpfs")
_SLOW = "RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE"
_PORTS = ("node_manager_port", "object_manager_port")
_PINS = "--node-manager-port 6800 --object-manager-port 6801 --min-worker-port 10002 --max-worker-port 19999"


@check(
    "ray.object-store",
    "Ray's object store lies in memory and fits it",
    P0,
    QUICK,
    "config",
    vantage=ROOT,
    reference="https://docs.ray.io/en/latest/ray-core/configure.html",
)
def object_store(case: Case, fail_share: float = 0.95) -> Iterator[Verdict]:
    """Objects that do not lie in shared memory are read from a disk, a hundred times slower, and nothing says so.

    Read: the raylet's `--plasma_directory` and `--object_store_memory`, and the file system there as the raylet sees
    it. It fails where that is no memory (Ray falls back to /tmp where /dev/shm is too small), and where the capacity is
    more than `fail_share` of it (Ray itself takes 30 % of memory, at most 200 GB and 95 % of /dev/shm).

    Not to be confused: where RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE is set, slow storage is meant so, which warns. A
    container's memory limit counts what lies in /dev/shm too.
    """
    yield from _of_raylets(case, "where the object store lies", lambda one: _store(case, one, fail_share))


def _of_raylets(case: Case, what: str, judged: Any) -> Iterator[Verdict]:
    reading = process(case, "raylets")
    if case.ray is not None and case.ray.state == DEAD:
        yield skip("node", "Ray has the node as dead")
    elif (why := unheard(case)) is not None:
        yield why
    elif not reading.known:
        unlooked = reading.reason == NOT_ASKED and case.ray is None
        yield skip("node", "no raylet was looked for") if unlooked else unread("node", what, reading)
    elif not reading.value:
        if case.ray is None:
            yield skip("node", "no raylet runs here")
        else:
            yield unknown("node", NOT_PERMITTED, f"{what}: the raylet is not among the processes that are seen")
    else:
        for one in reading.value:
            yield judged(one)


def _store(case: Case, one: Mapping[str, Any], share: float) -> Verdict:
    directory, plasma = one["arguments"].get("plasma_directory"), one["plasma"]
    subject = f"raylet {one['pid']}"
    if not directory or not plasma or not plasma.get("kind"):
        return unknown(
            subject, NOT_PERMITTED, "where the object store lies: the raylet's arguments or mounts cannot be read"
        )
    capacity = _capacity(case, one)
    kind, total = str(plasma["kind"]), plasma.get("size_bytes")
    told = (
        Evidence(f"/proc/{one['pid']}/cmdline", f"--plasma_directory={directory} --object_store_memory={capacity}"),
        Evidence(f"/proc/{one['pid']}/mounts", f"{kind}, {size(total) if isinstance(total, int) else 'size not read'}"),
    )
    step = (
        "df -h /dev/shm shows it; give the container --shm-size or a memory-backed emptyDir at /dev/shm, drain the "
        "node and restart its raylet"
    )
    if kind not in _IN_MEMORY:
        words = f"the object store lies in {directory}, which is {kind}: objects are read from a disk{_because(case)}"
        slow = any(_SLOW in found.variables for found in environments(case))
        made = warn if slow else fail
        return made(
            subject, f"{words}{f' ({_SLOW} allows it)' if slow else ''}", *told, remedy=step, remedy_class="config"
        )
    if not isinstance(total, int) or capacity is None:
        return unknown(subject, NOT_PERMITTED, f"how much of {directory} the object store may take was not read", *told)
    words = f"the object store may take {size(capacity)} of the {size(total)} in {directory}"
    if capacity > share * total:
        return fail(subject, words, *told, remedy=step, remedy_class="config", expected=f"at most {share:.0%}")
    return ok(subject, words, *told)


def _because(case: Case) -> str:
    """How large /dev/shm is, where Ray leaves it for being small."""
    told = case.facts.host.get("filesystem /dev/shm", NOT_READ)
    return f" (/dev/shm has {size(told.value.size_bytes)})" if isinstance(told.value, Filesystem) else ""


def _capacity(case: Case, one: Mapping[str, Any]) -> int | None:
    given = one["arguments"].get("object_store_memory", "")
    if given.isdigit():
        return int(given)
    registered = case.ray.resources.get("object_store_memory") if case.ray else None
    return int(registered) if registered else None


@check(
    "ray.ports",
    "Ray's ports are pinned, so that a firewall can let them through",
    P1,
    QUICK,
    "config",
    vantage=HOST,
    reference="https://docs.ray.io/en/latest/ray-core/configure.html#ports-configurations",
)
def ports(case: Case) -> Iterator[Verdict]:
    """The head connects to each worker's node manager; on a random port behind a firewall the worker joins, and is
    marked dead after 15 to 30 s.

    Read: the raylet's `--node_manager_port` and `--object_manager_port`; 0 is random. It fails where Ray lost the node
    to failed health checks, and warns where one node is looked at and its port is random. In a cluster, a node that is
    alive has been reached on whatever port it has: ok.

    Not to be confused: a node that dies under load or by its own crash (ray #50419, #46548, #54365). Ports between
    workers are pinned by --min-worker-port and --max-worker-port.
    """
    if case.ray is not None and case.ray.state == DEAD:
        yield _lost(case.ray.reason or "", case.ray.address or "its address")
    elif case.ray is not None and case.ray.state == ALIVE and not raylets(case):
        yield ok("node", "the head reaches its node manager: Ray has the node as alive", Evidence("ray.nodes()", ALIVE))
    else:
        yield from _of_raylets(case, "which ports the raylet has", lambda one: _pinned(case, one))


def _lost(reason: str, address: str) -> Verdict:
    if "health check" not in reason.lower():
        return skip("node", "Ray has the node as dead, and not for its ports")
    words = f"the head's health checks did not reach {address}: its node manager's port may be closed"
    step = (
        f"on the head: nc -vz {address} PORT with the port that its raylet has; open it, or restart its raylet with "
        f"{_PINS}"
    )
    return fail("node", words, Evidence("ray.nodes()", reason), remedy=step, remedy_class="config")


def _pinned(case: Case, one: Mapping[str, Any]) -> Verdict:
    given = {name: one["arguments"].get(name) for name in _PORTS}
    subject = f"raylet {one['pid']}"
    if None in given.values():
        return unknown(subject, NOT_PERMITTED, "which ports the raylet has: its arguments cannot be read")
    told = Evidence(f"/proc/{one['pid']}/cmdline", " ".join(f"--{name}={port}" for name, port in given.items()))
    random = [name.replace("_", "-") for name, port in given.items() if port == "0"]
    if not random:
        return ok(subject, "node manager and object manager have ports of their own", told)
    words = f"{listed(random)} {'are' if len(random) > 1 else 'is'} random"
    if case.ray is not None:
        return ok(subject, f"{words}, and the head reaches the node", told)
    step = f"where a firewall stands between the nodes, drain the node and restart its raylet with {_PINS}"
    return warn(subject, f"{words}: a firewall cannot let it through", told, remedy=step, remedy_class="config")


@check(
    "ray.labels",
    "The node's labels in Ray are true",
    P1,
    STANDARD,
    "config",
    reference="https://docs.ray.io/en/latest/ray-core/scheduling/labels.html",
)
def node_labels(case: Case) -> Iterator[Verdict]:
    """A scheduler goes by labels; a raylet keeps those that it was started with, whatever becomes of the machine.

    Read: the node's labels in Ray, and those that `raxl labels` makes of its hardware. It warns where one that the node
    carries says something else.

    Not to be confused: a label that is not there is no fault, and one of which raxl does not know the truth is left
    alone. The type of the accelerators is `ray.accelerator-type`.
    """
    if (why := unasked(case)) is not None or case.ray is None or case.cluster is None:
        yield why or skip("node", "no Ray was asked", NOT_ASKED)
        return
    held = label_check.checked([labels.of_node(case.node, case.cluster)], case.cluster, ())[0].check
    differences = held.differences if held else ()
    false = [one for one in differences if one.found is not None and one.key != ACCELERATOR_TYPE]
    for one in false:
        words = f"{one.key}={one.found} in Ray, and the hardware says {one.wanted or 'no such label'}"
        told = (
            Evidence("ray.nodes()", f"{one.key}={one.found}"),
            Evidence("raxl labels", f"{one.wanted}: {one.message}"),
        )
        step = f"drain the node, then {held.command}" if held and held.command else "raxl labels --cluster --check"
        yield warn(one.key, words, *told, remedy=step, remedy_class="config")
    if not false:
        carried = sorted(name for name in case.ray.labels if not name.startswith("ray.io/node"))
        yield ok("node", f"no label contradicts the hardware ({len(carried)} are carried)")
