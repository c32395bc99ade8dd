"""A set of nodes as a short Python program that asks Ray for it and runs a task on each of its nodes."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from raxl.model.place import Candidate, RayRequest, Unread, not_read
from raxl.model.printable import clean
from raxl.render.place_missing import missing
from raxl.render.text_place import BUSY, title

_TASK_QUANTITIES = {"TPU": (8, 4, 2, 1)}
"""How many of a resource a task may ask for, where Ray does not take any number."""
_NEAR = "# By accelerator, the CPUs nearest to it."
_NOT_NEAR = "# Which CPUs are near an accelerator is not known, or differs by node: raxl place --format json tells."
_PROGRAM = '''\
{heading}

import os

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

BUNDLES = {bundles}
LABELS = {labels}
TOPOLOGY = {topology}
CPUS = {cpus}
{cpus_note}


def cpus(text):
    """The numbers of a kernel list: 0-55,112-167."""
    runs = (run.split("-") for run in text.split(",") if run)
    return {{number for run in runs for number in range(int(run[0]), int(run[-1]) + 1)}}


@ray.remote(num_cpus=0)
def work(rank):
    """Runs on the node of bundle `rank`, near its accelerators: the job goes here."""
    context = ray.get_runtime_context()
    mine = context.get_accelerator_ids().get({resource}, [])
    near = set().union(*(cpus(CPUS.get(one, "")) for one in mine)) & os.sched_getaffinity(0)
    if near:
        os.sched_setaffinity(0, near)
    return f"{{rank}}: node {{context.get_node_id()}}, {{', '.join(mine)}}, {{len(os.sched_getaffinity(0))}} CPUs"


def main():
    ray.init(address="auto")
    group = placement_group(BUNDLES, bundle_label_selector=LABELS, topology_strategy=TOPOLOGY)
    if not group.wait(timeout_seconds=60):
        raise SystemExit("Ray has no such place free: ray list placement-groups --detail")
    tasks = [
        work.options(
            {quantity},
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=rank),
        ).remote(rank)
        for rank, bundle in enumerate(BUNDLES)
    ]
    print(*ray.get(tasks), sep="\\n")


if __name__ == "__main__":
    main()
'''


def program(found: Candidate, request: RayRequest, unread: Sequence[Unread] = ()) -> str:
    """The program, which says first which nodes were not read.

    It runs as it stands where Ray's address is known (`RAY_ADDRESS`, or a node of the cluster).
    """
    cpus = _cpus(found, request)
    return _PROGRAM.format(
        heading=_heading(found, request, unread),
        bundles=_repeated(request.bundles),
        labels=_repeated(request.bundle_label_selector),
        topology=_literal(request.topology_strategy),
        cpus=_literal(cpus or {}),
        cpus_note=_NEAR if cpus else _NOT_NEAR,
        resource=_literal(request.resource),
        quantity=_quantity(request),
    )


def _heading(found: Candidate, request: RayRequest, unread: Sequence[Unread]) -> str:
    told = [
        f"{title(found)}: {found.reason}.",
        f"{BUSY} The labels are those that raxl labels prints; a raylet has them from its start on. Ray 2.60 or newer.",
        *found.caveats,
        *missing(request),
        *not_read(unread),
    ]
    lines = [line for text in told for line in textwrap.wrap(clean(text), 110, break_long_words=False)]
    return "\n".join(f"# {line}" for line in lines)


def _cpus(found: Candidate, request: RayRequest) -> Mapping[str, str] | None:
    """By the number that Ray calls an accelerator by; None where that is not the device's, or nodes differ."""
    maps = [
        {str(device.index): device.cpus for device in seat.devices if device.index is not None and device.cpus}
        for seat in found.seats
    ]
    same = all(one == maps[0] for one in maps)
    return maps[0] if same and maps[0] and request.each == 1 else None


def _quantity(request: RayRequest) -> str:
    allowed = _TASK_QUANTITIES.get(request.resource)
    asked = f"bundle[{_literal(request.resource)}]"
    if allowed and any(bundle[request.resource] not in allowed for bundle in request.bundles):
        asked = f"max(one for one in {allowed} if one <= {asked})"
    return f"num_gpus={asked}" if request.resource == "GPU" else f"resources={{{_literal(request.resource)}: {asked}}}"


def _repeated(entries: Sequence[Mapping[str, Any]]) -> str:
    """`[{"GPU": 4}] * 2 + [{"GPU": 2}]`."""
    runs: list[tuple[str, int]] = []
    for entry in map(_literal, entries):
        if runs and runs[-1][0] == entry:
            runs[-1] = (entry, runs[-1][1] + 1)
        else:
            runs.append((entry, 1))
    return " + ".join(f"[{entry}]" + (f" * {times}" if times > 1 else "") for entry, times in runs)


def _literal(value: Any) -> str:
    """As JSON, which for text and numbers is Python."""
    return json.dumps(dict(value) if isinstance(value, Mapping) else value)
