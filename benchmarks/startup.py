"""What raxl costs before and beside its work: medians of interleaved runs, each against a peer in the same run.

    python benchmarks/startup.py [--runs N] [--trees DIR]

`--trees` names a folder with hwloc's gathered trees (`*.tar.bz2`); without it RAXL_CORPUS/hwloc-sysfs. Prints a line
for each measure with its bound, and exits 1 when one is exceeded.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import bytecode

RAXL = str(Path(sys.executable).parent / "raxl")
TREES = ("32em64t-2n8c+dax+nvme+mic+dimms", "40intel64-2g2n4c+pcilocality")
READ_TAR = """
import sys, tarfile
with tarfile.open(sys.argv[1]) as archive:
    for member in archive:
        if member.isreg():
            archive.extractfile(member).read()
"""


def seconds(command: Sequence[str], environment: dict[str, str]) -> float:
    """The wall time of a whole process."""
    begun = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def medians(runs: int, *commands: tuple[Sequence[str], dict[str, str]]) -> list[float]:
    """The median of each command; they take turns, so that a machine that slows down slows them all. The first round
    warms up and is not counted."""
    times: list[list[float]] = [[] for _ in commands]
    for turn in range(runs + 1):
        for place, (command, environment) in enumerate(commands):
            taken = seconds(command, environment)
            if turn:
                times[place].append(taken)
    return [statistics.median(taken) for taken in times]


def told(name: str, taken: float, bound: float, against: str) -> bool:
    """Prints one measure; whether it is within its bound."""
    within = taken <= bound
    verdict = "ok" if within else "EXCEEDED"
    sys.stdout.write(f"{name:52} {taken * 1e3:7.0f} ms   bound {bound * 1e3:6.0f} ms ({against})   {verdict}\n")
    return within


def startup(runs: int) -> list[bool]:
    """`--version`, `--help` and the list of recipes against the import of typer, and a live `topo`."""
    here = dict(os.environ)
    peer, version, help_, live, recipes = medians(
        runs,
        ([sys.executable, "-c", "import typer"], here),
        ([RAXL, "--version"], here),
        ([RAXL, "--help"], here),
        ([RAXL, "topo"], here),
        ([RAXL, "recipe", "list"], here),
    )
    peer_told = f"× import typer, {peer * 1e3:.0f} ms"
    return [
        told("raxl --version", version, 1.5 * peer, f"1.5 {peer_told}"),
        told("raxl --help", help_, 2.7 * peer, f"2.7 {peer_told}"),
        told("raxl topo, live", live, 0.4, "fixed"),
        told("raxl recipe list", recipes, 4.5 * peer, f"4.5 {peer_told}"),
    ]


def tree(archive: Path, runs: int) -> list[bool]:
    """`topo` of an unpacked tree against lstopo on it, and of the tar against Python's own reading of it."""
    here = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="tar")
        root = min((path.parent for path in Path(folder).glob("**/sys") if path.is_dir()), key=lambda p: len(p.parts))
        hwloc = {**here, "HWLOC_FSROOT": str(root), "HWLOC_THISSYSTEM": "0", "HWLOC_COMPONENTS": "linux,stop"}
        lstopo, unpacked, python, packed_ = medians(
            runs,
            (["lstopo-no-graphics", "--of", "xml", "--whole-io"], hwloc),
            ([RAXL, "topo", "--from", str(root)], here),
            ([sys.executable, "-c", READ_TAR, str(archive)], here),
            ([RAXL, "topo", "--from", str(archive)], here),
        )
    name = archive.name.removesuffix(".tar.bz2")
    return [
        told(f"{name}, tree", unpacked, 12 * lstopo + 0.15, f"12 × lstopo, {lstopo * 1e3:.0f} ms, + 150 ms"),
        told(f"{name}, tar", packed_, 2 * python + 0.15, f"2 × Python's reading, {python * 1e3:.0f} ms, + 150 ms"),
    ]


def main() -> int:
    bytecode.compiled()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpus = os.environ.get("RAXL_CORPUS")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--trees", type=Path, default=Path(corpus) / "hwloc-sysfs" if corpus else None)
    options = parser.parse_args()
    within = startup(options.runs)
    if options.trees is None:
        sys.stdout.write("no trees: name a folder with --trees\n")
    else:
        for name in TREES:
            within += tree(options.trees / f"{name}.tar.bz2", options.runs)
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
