"""Seconds that raxl's task takes on each node of the Ray cluster that this process joins, as a JSON list.

One node at a time, so that what they share (here: two cores for all hosts) is taken by no other; each time in a worker
that has to be started, as on a node that runs nothing. `cluster_scale.py` runs it in the lab.
"""

from __future__ import annotations

import json
import sys
import time
import zlib

from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import ray
from raxl import __version__
from raxl.collect import ray_cluster
from raxl.host import pack
from raxl.plugins import registry

BUDGET_SECONDS = 17.0


def main(rounds: int) -> None:
    ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
    collector = pack.collector(__version__, registry.ask_tasks(), registry.LIBRARIES)
    packed = ray.put(zlib.compress(collector.encode()))
    # A worker ends after one call; Ray keeps idle ones that it started ahead, which the first round uses up.
    probe = ray.remote(num_cpus=0, max_retries=0, max_calls=1)(ray_cluster.asking())
    nodes = [node["NodeID"] for node in ray.nodes()]
    times = []
    for _ in range(rounds + 1):
        for node_id in nodes:
            begun = time.monotonic()
            strategy = NodeAffinitySchedulingStrategy(node_id, soft=False)
            answer = ray.get(probe.options(scheduling_strategy=strategy).remote(packed, BUDGET_SECONDS))
            times.append(time.monotonic() - begun)
            if not isinstance(answer, bytes):
                raise SystemExit(f"a node gave no snapshot: {answer}")
    sys.stdout.write(json.dumps(times[len(nodes) :]) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
