"""Labels of a Ray node that describe its hardware, and the root of `raxl.labels/v1`."""

from __future__ import annotations

from dataclasses import dataclass

from raxl.model.problem import UNREAD

GPU_DOMAIN, ACCELERATOR_TYPE = "ray.io/gpu-domain", "ray.io/accelerator-type"
"""Keys that Ray names: https://docs.ray.io/en/latest/ray-core/scheduling/labels.html"""
KEYS = (
    GPU_DOMAIN,
    ACCELERATOR_TYPE,
    "raxl/vendor",
    "raxl/model",
    "raxl/accelerators",
    "raxl/memory-gib",
    "raxl/scale-up",
    "raxl/link-class",
    "raxl/nic-class",
    "raxl/nic-gbps",
    "raxl/nics",
    "raxl/rack",
    "raxl/block",
    "raxl/slice",
    "raxl/rail-group",
    "raxl/driver",
    "raxl/shape",
)
"""Every key, in the order in which they are told. They are an interface, and are never renamed."""

SAME, DIFFERS, NO_ANSWER, NOT_IN_CLUSTER = "same", "differs", "no-answer", "not-in-cluster"
"""How a node fares when it is held against what its raylet was started with."""

FIXED = "A raylet keeps the labels it was started with: they change when it is stopped and started again."


@dataclass(frozen=True)
class Label:
    """One label that a node should carry."""

    key: str
    value: str
    """As Kubernetes and Ray take it: at most 63 of `[A-Za-z0-9._-]`, a letter or digit at both ends."""
    fact: str
    """What it says in its own words: `value` before it was made valid."""
    message: str
    """Where the fact comes from, and what follows from it, in a few words."""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unlabelled:
    """A key for which this node has no label, and why."""

    key: str
    reason: str
    """One of `raxl.model.problem.REASONS`."""
    message: str
    evidence: tuple[str, ...] = ()
    ray_gives: str | None = None
    """The value that Ray's own detection gives this key."""


@dataclass(frozen=True)
class Difference:
    """A key that the raylet carries otherwise than the hardware says."""

    key: str
    wanted: str | None
    """None: there should be no such label."""
    found: str | None
    """None: the raylet has no such label."""
    message: str


@dataclass(frozen=True)
class Check:
    """A node held against the labels of its raylet."""

    status: str
    """same | differs | no-answer | not-in-cluster"""
    differences: tuple[Difference, ...] = ()
    unchecked: tuple[str, ...] = ()
    """Keys that the raylet carries, and of which raxl does not know what they should be."""
    command: str | None = None
    """What is typed on the node so that its raylet carries the right labels; None where nothing differs."""


@dataclass(frozen=True)
class NodeLabels:
    """What one node should carry."""

    node: str
    source: str
    ray_node_id: str | None = None
    group: str | None = None
    """The group that KubeRay or Ray's autoscaler made it in (`ray.io/node-group`); None: Ray tells none."""
    is_head: bool | None = None
    """Whether Ray's head runs there; None: Ray was not asked."""
    labels: tuple[Label, ...] = ()
    unlabelled: tuple[Unlabelled, ...] = ()
    not_counted: tuple[str, ...] = ()
    """The accelerators that no label counts, each with why: `nvidia:6 is lost`."""
    check: Check | None = None
    """None where nobody asked for it."""

    @property
    def refusal(self) -> str | None:
        """Why nothing is known of the node as a whole: it did not answer; None where something is."""
        told = {(one.reason, one.message) for one in self.unlabelled}
        if self.labels or len(told) != 1 or len(self.unlabelled) != len(KEYS):
            return None
        ((reason, message),) = told
        return message if reason in UNREAD else None


@dataclass(frozen=True)
class LabelsDocument:
    """The root of `raxl.labels/v1`."""

    schema: str
    raxl_version: str
    created: str
    """UTC, ISO 8601; a replay keeps the recording's."""
    nodes: tuple[NodeLabels, ...] = ()
    restart: tuple[str, ...] = ()
    """With `--check`: the nodes, by name, whose raylets are to be started again, the head's last."""
    note: str = FIXED
