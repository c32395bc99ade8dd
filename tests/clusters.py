"""A recorded Ray cluster, made of the project's own machines: what `raxl … --cluster --record` would have kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import recordings
from raxl import __version__
from raxl.collect import cluster, keeping
from raxl.host import Answer, Question
from raxl.host.record import Recording

HOSTNAME = Question("text", "/proc/sys/kernel/hostname")
WHOLE = {"ray_version": "2.60.0", "python_version": "3.11.7"}


@dataclass(frozen=True)
class Member:
    """A node, and what its raylet registered. `lost` is why it did not answer."""

    recording: str
    name: str
    resources: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    lost: tuple[str, str] | None = None
    state: str = "alive"


TRAY = {"GPU": 4.0, "CPU": 144.0}
H100 = {"GPU": 8.0, "CPU": 224.0}
DOMAIN = "7e2c0000-0000-4000-8000-0000000000f1.3"
OF_DOCUMENTATION = (
    Member("none-cpu-server", "head-1", {"CPU": 32.0}),
    Member("nvidia-hgx-h100-gpu-lost", "gpu-06", H100, {"ray.io/accelerator-type": "H100"}),
    Member("nvidia-hgx-h100", "gpu-07", H100, {"ray.io/accelerator-type": "H100"}),
    Member("nvidia-hgx-h100", "gpu-08", H100, {"ray.io/accelerator-type": "H100"}),
    Member("nvidia-gb200-tray", "tray-04", TRAY, {"ray.io/accelerator-type": "GB200"}),
    Member("nvidia-gb200-tray", "tray-05", TRAY, {"ray.io/accelerator-type": "GB200"}),
)
"""The cluster of `docs/clusters.md`."""


def recorded(members: Sequence[Member]) -> list[Recording]:
    """The recordings of its nodes, by name, the first one's node the head."""
    dead = sum(one.state == "dead" for one in members)
    whole = Answer({**WHOLE, "nodes_alive": len(members) - dead, "nodes_dead": dead})
    return sorted((_node(place, one, whole) for place, one in enumerate(members)), key=lambda recording: recording.name)


def packed(members: Sequence[Member]) -> bytes:
    """The same as a snapshot file."""
    return keeping.packed(recorded(members))


def _node(place: int, one: Member, whole: Answer) -> Recording:
    node_id = sha256(one.name.encode()).hexdigest()[:56]
    view = {
        "node_id": node_id,
        "state": one.state,
        "name": one.name,
        "address": f"10.0.0.{place + 1}",
        "is_head": place == 0,
        "reason": one.lost[1].removeprefix("dead: ") if one.lost and one.state == "dead" else None,
        "resources": dict(one.resources),
        "labels": dict(one.labels),
    }
    held = cluster.silent(*one.lost) if one.lost else recordings.recording(one.recording)
    own = {} if one.lost else {HOSTNAME: Answer(f"{one.name}\n")}
    return Recording(
        {**held.answers, **own, Question("ray", "node"): Answer(view), Question("ray", "cluster"): whole},
        name=one.name,
        source=f"ray:{node_id}",
        created=recordings.CREATED,
        recorded_by=__version__,
        nature="synthetic",
        unasked=held.unasked,
        notes=held.notes,
    )
