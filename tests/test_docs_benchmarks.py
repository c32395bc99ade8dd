"""`docs/benchmarks.md` and the README show what the code prints of real runs, which `tests/data/bench-docs` keeps as
`--format json` wrote them: within a machine of two cores, and over links of `tests/links.py`."""

from __future__ import annotations

import gzip
import re
from importlib import import_module
from pathlib import Path

import pytest

from raxl.bench import faults as bench_faults
from raxl.cli import bench_flags
from raxl.model import codec
from raxl.model import measurement as m
from raxl.model.measurement import Bench
from raxl.plugins import registry
from raxl.render.bench_faults import table
from raxl.render.text import to_text
from raxl.render.text_bench import bench

ROOT = Path(__file__).parents[1]
DOCUMENTS = (ROOT / "docs/benchmarks.md", ROOT / "README.md")
KEPT = Path(__file__).parent / "data/bench-docs"
BLOCK = re.compile(r"(?<=^```console\n\$ )(raxl bench-transport[^\n]*)\n(.*?)(?=^```)", re.MULTILINE | re.DOTALL)
RUNS = {
    "raxl bench-transport": "local",
    "raxl bench-transport --cluster": "slow",
    "raxl bench-transport --cluster --pairs host-1:host-2 --budget 60s --recommend": "pair",
    "raxl bench-transport --cluster --pairs host-1:host-2 --transport tcp,object-store --sizes 8,1MiB,16MiB,64MiB "
    "--budget 15s --baseline monday.json": "today",
}
"""By command, the run that is shown of it."""
KINDS = [one.value for one in bench_flags.Fault]
WIDTH = 100
NIXL, RDT = "`pip install 'raxl[nixl]'`", "`pip install 'raxl[rdt]'`"


def kept(name: str) -> Bench:
    return codec.decode(gzip.decompress((KEPT / f"{name}.json.gz").read_bytes()).decode(), Bench)


def printed(command: str) -> str:
    return to_text(bench(kept(RUNS[command]), WIDTH))


def faults() -> str:
    """The fault table: a row for each fault of each transport that was hurt in the kept runs `fault-….json.gz`."""
    found = [one for name in hurt() for one in kept(name).faults]
    return table(sorted(found, key=lambda one: (list(registry.TRANSPORTS).index(one.transport), KINDS.index(one.kind))))


def hurt() -> list[str]:
    return sorted(path.name.partition(".")[0] for path in KEPT.glob("fault-*.json.gz"))


def transports() -> str:
    """A row for each transport that raxl has: what it is, by its own module, and what it needs."""
    rows = ["| transport | what it is | patterns | memory of | needs |", "|---|---|---|---|---|"]
    for name, entry in registry.TRANSPORTS.items():
        plugin = registry.transport(entry)
        words = (import_module(entry.partition(":")[0]).__doc__ or "").split("\n\n")[0].split(". ")[0]
        what = " ".join(words.partition(": ")[2].split()).rstrip(".")
        patterns = "p2p, collectives" if set(m.COLLECTIVES) <= set(plugin.patterns) else ", ".join(plugin.patterns)
        memory = " or ".join({"cuda": "GPUs", "cpu": "the host"}[one] for one in plugin.devices)
        rows.append(f"| `{name}` | {what} | {patterns} | {memory} | {needs(name, plugin.devices)} |")
    return "\n".join(rows) + "\n"


def needs(name: str, devices: tuple[str, ...]) -> str:
    told = [RDT] if name.startswith(("rdt-", "torch-")) else []
    told += [NIXL] if "nixl" in name else []
    told += ["libfabric"] if "libfabric" in name else []
    told += [] if "cpu" in devices else ["one GPU for both ends" if "ipc" in name else "a GPU for each end"]
    told += ["cupy"] if name == "rdt-nccl" else []  # Ray calls NCCL through it
    return ", ".join(told) or "nothing"


def written(text: str) -> str:
    """The document with all that is made placed in it."""
    now = BLOCK.sub(lambda block: f"{block[1]}\n{printed(block[1])}", text)
    for mark, made in (("transports", transports()), ("faults", faults())):
        between = re.compile(rf"(?<=<!-- {mark} -->\n).*?(?=<!-- end of the {mark} -->)", re.DOTALL)
        now = between.sub(lambda _, made=made: made, now)  # type: ignore[misc]
    return now


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_document_shows_what_is_printed(document: Path, accept: bool) -> None:
    text = document.read_text()
    assert BLOCK.search(text)
    now = written(text)
    if accept:
        document.write_text(now)
    assert now == text or accept


def test_every_kept_run_is_shown_and_every_status_and_phase_is_explained() -> None:
    text = DOCUMENTS[0].read_text()
    shown = {RUNS[command] for command, _ in BLOCK.findall(text)} | set(hurt())
    assert {path.name.partition(".")[0] for path in KEPT.iterdir()} == shown
    assert not [status for status in m.STATUSES if f"| `{status}` |" not in text]
    for mark in ("transports", "faults"):
        assert f"<!-- {mark} -->\n" in text


def test_every_flag_that_is_named_is_one() -> None:
    source = (ROOT / "src/raxl/cli/bench_flags.py").read_text() + (ROOT / "src/raxl/cli/source.py").read_text()
    named = set(re.findall(r"`(--[a-z-]+)", DOCUMENTS[0].read_text()))
    assert named
    assert not [flag for flag in named if f'"{flag}"' not in source]


def test_how_long_is_cut_and_waited_is_as_it_is_done() -> None:
    text, cut = DOCUMENTS[0].read_text(), f"{bench_faults.PATIENCE_SECONDS / 2:g} s (as root)"
    assert f"off from each other for {cut}" in text
    assert cut in (ROOT / "src/raxl/cli/bench_flags.py").read_text()
    assert f"none came within {bench_faults.PATIENCE_SECONDS:g} s" in text
