"""What `raxl diff` costs a node: two readings of 100, 1,000 and 10,000 nodes, of which one in ten differs.

    python benchmarks/diff_scale.py

Each size is measured in turns with the encoding of one of the two inventories as JSON, the peer: both are linear in
what the nodes hold. Prints a line a size.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import recordings
from raxl.collect import assemble, differences
from raxl.model import codec
from raxl.model.inventory import Inventory
from raxl.render import text_diff

SIZES = (100, 1_000, 10_000)
ROUNDS = 3


def cluster(size: int, changed: bool) -> Inventory:
    """So many nodes of 8 GPUs and 9 NICs, each with identities and links of its own."""
    inventory = assemble.inventory([recordings.recording("nvidia-hgx-h100")])
    (model,) = inventory.nodes
    nodes = []
    for number in range(size):
        devices = []
        for device in model.accelerators:
            state = "lost" if changed and number % 10 == 0 and device.index == number // 10 % 8 else device.state
            devices.append(replace(device, uuid=f"GPU-{number}-{device.index}", serial=f"{number}", state=state))
        links = tuple(map(replace, model.links))
        nodes.append(
            replace(model, name=f"gpu-{number}", boot_id=f"{number}", accelerators=tuple(devices), links=links)
        )
    return replace(inventory, nodes=tuple(nodes))


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main() -> None:
    for size in SIZES:
        before, after = cluster(size, False), cluster(size, True)

        def compare(before: Inventory = before, after: Inventory = after) -> None:
            document = differences.document(("a", "b"), before, after, by_shape=False, everything=False)
            text_diff.diff(document, before, after, 100)

        rounds = [(seconds(compare), seconds(lambda before=before: codec.encode(before))) for _ in range(ROUNDS)]
        mine, peer = (min(column) for column in zip(*rounds, strict=True))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        sys.stdout.write(
            f"{size:6} nodes   diff {mine * 1e3 / size:6.3f} ms a node   {mine / peer:5.2f} × encoding one as JSON   "
            f"{memory} MiB at most, both inventories included\n"
        )


if __name__ == "__main__":
    main()
