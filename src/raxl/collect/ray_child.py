"""The process that joins a cluster for raxl: Ray may hang, crash, print or leave without taking raxl with it."""

from __future__ import annotations

import base64
import json
import signal
import sys
from typing import Any

from raxl.collect import ray_cluster


def main() -> None:
    """Reads its settings from standard input and tells what it learns to the descriptor that they name.

    Terminated, it takes back what it has started on the cluster.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    settings: dict[str, Any] = json.load(sys.stdin)
    settings["collector"] = base64.b64decode(settings["collector"])
    tell = ray_cluster.lines_to(int(settings["descriptor"]))
    if str(settings["address"]).startswith(("http://", "https://")):
        from raxl.collect import ray_jobs

        ray_jobs.main(settings, tell)
    else:
        ray_cluster.main(settings, tell)
