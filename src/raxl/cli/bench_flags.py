"""The flags of `raxl bench-transport`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer


class Format(str, Enum):
    """How it is written."""

    text = "text"
    json = "json"
    csv = "csv"
    prometheus = "prometheus"


class Pattern(str, Enum):
    """What is moved between whom."""

    p2p = "p2p"
    all_reduce = "all-reduce"
    all_gather = "all-gather"
    reduce_scatter = "reduce-scatter"
    all_to_all = "all-to-all"
    broadcast = "broadcast"


class Destination(str, Enum):
    """Which memory the bytes arrive in."""

    fresh = "fresh"
    reused = "reused"


class Fault(str, Enum):
    """What is done to an end in the middle of a transfer."""

    kill_source = "kill-source"
    kill_target = "kill-target"
    pause = "pause"
    cut = "partition"


Transports = Annotated[str, typer.Option("--transport", metavar="NAME,…", help="Which: all, or their names.")]
Pairs = Annotated[
    Optional[str],
    typer.Option(
        "--pairs",
        metavar="A:B,…",
        help="all, pairs of nodes by name, or screen: a few rounds of disjoint pairs that find slow nodes and "
        "links [default: screen with --cluster, else all].",
    ),
]
Sizes = Annotated[
    Optional[str],
    typer.Option(
        "--sizes",
        metavar="A:B",
        help="1KiB:256MiB in steps of four, or 8,64KiB,1GiB [default: 8 B to 64 MiB].",
    ),
]
Patterns = Annotated[Pattern, typer.Option("--pattern", help="Between two ends, or among all nodes.")]
Destinations = Annotated[
    Destination,
    typer.Option("--destination", help="Reused memory, or fresh pages, which on hosts cost more than the wire."),
]
Streams = Annotated[int, typer.Option("--streams", min=1, max=64, help="Connections, of tcp.")]
Bidirectional = Annotated[bool, typer.Option("--bidirectional", help="Both directions at once, of tcp.")]
LeastTime = Annotated[
    str, typer.Option("--min-time", metavar="TIME", help="Measure each row for so long at least: 500ms, 10s.")
]
Budget = Annotated[str, typer.Option("--budget", metavar="TIME", help="For all rows together, more or less: 30s, 5m.")]
Baseline = Annotated[
    Optional[Path],
    typer.Option("--baseline", metavar="FILE", help="Compare with an earlier --format json; exit 1 when slower."),
]
Tolerance = Annotated[str, typer.Option("--tolerance", metavar="SHARE", help="How much slower is no regression.")]
Faults = Annotated[
    Optional[Fault],
    typer.Option(
        "--fault",
        help="Instead: kill or pause an end, or cut the nodes off from each other for 5 s (as root), in the "
        "middle of a transfer, and tell what comes of it.",
    ),
]
Recommend = Annotated[bool, typer.Option("--recommend", help="Name the fastest verified transport by pair and size.")]
Expand = Annotated[bool, typer.Option("--expand", help="Show each pair, also where many are alike.")]
Formats = Annotated[Format, typer.Option("--format", help="How the result is written.")]
