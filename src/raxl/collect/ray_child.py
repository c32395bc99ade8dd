"""The process that joins a cluster for raxl: Ray may hang, crash, print or leave without taking raxl with it."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from raxl.collect import ray_cluster


def main() -> None:
    """Takes its settings from its argument and the packed asker from standard input, and tells what it learns to the
    descriptor that the settings name. Terminated, it takes back what it has started on the cluster.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    settings: dict[str, Any] = json.loads(sys.argv[1])
    tell = ray_cluster.lines_to(int(settings["descriptor"]))
    if str(settings["address"]).startswith(("http://", "https://")):
        from raxl.collect import ray_jobs

        ray_jobs.main(settings, sys.stdin.buffer.read, tell)
    else:
        ray_cluster.main(settings, sys.stdin.buffer.read, tell)
        if str(settings["address"]).startswith("ray://"):
            ray_cluster.leave()  # else the server that Ray Client started for it waits for half a minute
        os._exit(0)  # a driver that leaves ends its tasks; Ray's own farewell takes a second
