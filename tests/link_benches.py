"""`raxl bench-transport` on hosts that are joined by links of known rate, and what such a link carries."""

from __future__ import annotations

import json
from typing import Any

import links
from links import LinkedHost
from ray_hosts import RayCluster

SIZE = 32 << 20
"""Large enough that the start of a transfer does not count."""


def measured(
    on: RayCluster, *arguments: str, code: int = 0, environment: dict[str, str | None] | None = None
) -> dict[str, Any]:
    """The document of a run on the first host."""
    command = ["raxl", "bench-transport", "--cluster", "--format", "json", *arguments]
    done = on.run(command, environment, timeout=180)
    assert (done.returncode, done.stderr) == (code, ""), done.stdout[-2000:] + done.stderr
    return dict(json.loads(done.stdout))


def rows(document: dict[str, Any], transport: str) -> dict[int, dict[str, Any]]:
    """By size."""
    return {run["size_bytes"]: run for run in document["runs"] if run["transport"] == transport}


def way(on: RayCluster) -> links.LinkPath:
    source, target = on.hosts[:2]
    assert isinstance(source, LinkedHost)
    assert isinstance(target, LinkedHost)
    return source.to(target)
