"""What a KubeRay manifest says, held against arithmetic and a recipe: `raxl.manifest/v1`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

MANIFEST = "raxl.manifest/v1"
FAIL, WARN, NOTE = "fail", "warn", "note"
LEVELS = (FAIL, WARN, NOTE)
"""It is refused, its pods stay pending or Ray counts wrongly · it runs worse than it could · good to know."""


@dataclass(frozen=True)
class ManifestFinding:
    """One thing about a manifest."""

    level: str
    """One of `LEVELS`."""
    check: str
    """`hosts`, `labels`, `shm` …"""
    object: str
    """`RayCluster tpu`"""
    where: str
    """`workerGroupSpecs[0] 'gpu-workers'`; empty for the object as a whole."""
    line: Optional[int]
    """Of the file, from 1 on; None where a patch put it there."""
    message: str
    remedy: str = ""


@dataclass(frozen=True)
class ManifestGroup:
    """A group of a cluster: the pods that it makes, and what the recipe would change of it."""

    object: str
    where: str
    name: str
    line: int
    is_head: bool
    pods: Optional[int]
    """Its replicas by the hosts of each; None where the manifest does not say a number."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Accelerators that a pod's Ray container asks for, by their key."""
    registered: Mapping[str, float] = field(default_factory=dict)
    """Accelerators that Ray would register in a pod, as KubeRay starts it."""
    is_for_recipe: bool = False
    """Whether the recipe's patch goes into it."""
    diff: str = ""
    """A unified diff of the group as YAML; empty where the patch changes nothing."""
    patched: str = ""
    """The whole group as YAML with the patch merged in; empty where nothing changes."""


@dataclass(frozen=True)
class ManifestResult:
    """The root of `raxl.manifest/v1`."""

    schema: str
    raxl_version: str
    origin: str
    """The file."""
    status: str
    """fail | warn | ok: its worst finding; what is only noted is ok."""
    recipe: Optional[str] = None
    groups: Tuple[ManifestGroup, ...] = ()
    findings: Tuple[ManifestFinding, ...] = ()
    """The worst first."""
    patch: Mapping[str, Any] = field(default_factory=dict)
    """What the recipe wants of each of its groups, filled: a strategic merge."""
    patch_text: str = ""
    """The same as YAML."""
    loads_code: Mapping[str, str] = field(default_factory=dict)
    """By place of the patch, or name of a variable, why it makes a pod run something else or gives it rights: such
    needs --allow-code."""
