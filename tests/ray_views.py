"""Recordings with what Ray says of them, and with processes: one line each."""

from __future__ import annotations

from typing import Any

from diagnosing import variant
from raxl.host.record import Recording

WHOLE = {"ray_version": "2.60.0", "python_version": "3.11.7", "nodes_alive": 1, "nodes_dead": 0}
VIEW = {"node_id": f"{7:056x}", "state": "alive", "name": "node-a", "address": "192.0.2.10", "is_head": False}
VERSIONS = {"python": "3.11.7", "commit": "b7f4" * 10, "packages": {"ray": "2.60.0"}, "libraries": {}}
TABLE = {"processes": 300, "raylets": [], "workers": [], "lock": None, "holders": [], "denied": 0, "late": 0}
RAYLET = {
    "pid": 41,
    "started": 9000,
    "limits": {"memlock": [-1, -1], "nofile": [65536, 65536]},
    "environment": {},
    "arguments": {
        "plasma_directory": "/dev/shm",
        "object_store_memory": str(30 << 30),
        "node_manager_port": "0",
        "object_manager_port": "0",
    },
    "plasma": {"kind": "tmpfs", "size_bytes": 100 << 30},
    "versions": None,
}


def view(**changed: Any) -> tuple[str, dict[str, Any]]:
    """What Ray says of the node."""
    return "ray node", {**VIEW, "resources": {}, "labels": {}, **changed}


def on_ray(name: str, *changes: str | tuple[str, Any], **resources: float) -> Recording:
    """The recording as a node of a cluster, in which its raylet registered these."""
    return variant(name, view(resources={"memory": 1e12, **resources}), ("ray cluster", WHOLE), *changes)


def versions(**packages: str) -> tuple[str, dict[str, Any]]:
    """The versions in the node's Python; `python` and `commit` are its own; `_` in a name stands for `-`."""
    own = {name: packages.pop(name) for name in ("python", "commit") if name in packages}
    named = {name.replace("_", "-"): version for name, version in packages.items()}
    return "process versions", {**VERSIONS, **own, "packages": {"ray": "2.60.0", **named}}


def table(**changed: Any) -> tuple[str, dict[str, Any]]:
    """The node's processes."""
    return "process processes", {**TABLE, "stuck": [], "apart_seconds": 0.4, **changed}


def raylet(**changed: Any) -> dict[str, Any]:
    """A raylet; `arguments` and `environment` are added to."""
    merged = {**RAYLET["arguments"], **changed.pop("arguments", {})}  # type: ignore[dict-item]
    return {**RAYLET, "arguments": merged, **changed}


def holder(pid: int, *nodes: str, **changed: Any) -> dict[str, Any]:
    """A process that has these device files open."""
    told = {"pid": pid, "parent": 1, "comm": "python", "nodes": list(nodes), "is_ours": True, "is_rays": False}
    return {**told, **changed}
