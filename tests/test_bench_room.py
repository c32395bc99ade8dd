"""Transfers that memory cannot hold, and how much of it there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from raxl.bench import plugged, room, run
from raxl.bench.ending import ending
from raxl.bench.request import Request
from raxl.model.measurement import Bench
from raxl.render import text_bench
from raxl.render.text import to_text
from raxl.transfer import Transfer, amounts, memory_left

GIB = 1 << 30
BOTH = "needs 4.4 GiB of memory, and vm has 4 GiB"
NODES = ({"id": "1", "name": "vm"}, {"id": "2", "name": "other"})


def looked(*free: int) -> dict[str, Any]:
    return {str(number): {"memory_available_bytes": size} for number, size in enumerate(free, 1)}


@pytest.mark.parametrize(
    ("transfer", "nodes", "way", "free", "said"),
    [
        (Transfer(20 * GIB), (0, 0), "loopback", (22 * GIB,), "needs 44 GiB of memory, and vm has 22 GiB"),
        (Transfer(20 * GIB), (0, 1), "loopback", (23 * GIB, 23 * GIB), None),
        (Transfer(20 * GIB), (0, 1), "loopback", (23 * GIB, 8 * GIB), "needs 22 GiB of memory, and other has 8 GiB"),
        (Transfer(20 * GIB), (0, 1), "target", (GIB, 23 * GIB), "needs 44 GiB of memory, and other has 23 GiB"),
        (Transfer(GIB, is_bidirectional=True), (0, 0), "loopback", (4 * GIB,), BOTH),
        (Transfer(GIB, "all-reduce"), (0, 0), "loopback", (4 * GIB,), BOTH),
        (Transfer(GIB), (0, 0), "loopback", (), None),
    ],
)  # fmt: skip
def test_the_ends_on_a_node_share_its_memory(
    transfer: Transfer, nodes: tuple[int, ...], way: str, free: tuple[int, ...], said: str | None
) -> None:
    found = room.lacking(transfer, [NODES[place] for place in nodes], way, looked(*free))
    assert found == (None if said is None else f"{said}: smaller --sizes, or a node with more memory")


def test_what_memory_cannot_hold_is_told_and_the_rest_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def measured(conducting: Any, bare: Any, pair: Any, transfers: Any) -> Any:
        asked.extend(one.size_bytes for one in transfers)
        return iter(())

    monkeypatch.setattr(run, "_measured", measured)
    request = Request(transports=("tcp",), sizes=(8, GIB))
    pairs, own = [run.Pair(NODES[0], NODES[0])], looked(GIB)
    plugins = plugged.loaded(plugged.entries(request))
    rows = list(run._rows(None, request, plugins, pairs, lambda *_: None, own))  # type: ignore[arg-type]
    assert asked == [8]
    (told,) = run._judged(iter(rows), own)
    words = "needs 2.2 GiB of memory, and vm has 1 GiB: smaller --sizes, or a node with more memory"
    assert (told.size_bytes, told.status, told.error) == (GIB, "failed", words)
    document = Bench("raxl.bench/v1", "0", "2026-01-01T00:00:00Z", {}, [told])
    assert ending(document, ["tcp"]).code == 3
    assert f"Next: {words}." in " ".join(to_text(text_bench.bench(document, 100)).split())


@pytest.mark.parametrize(
    ("groups", "files", "free"),
    [
        ("0::/\n", {}, 1000 * 1024),
        ("0::/a/b\n", {"v2/a/memory.max": "500000", "v2/a/memory.current": "400000"}, 100_000),
        (
            "0::/a/b\n",
            {
                "v2/a/memory.max": "500000",
                "v2/a/memory.current": "400000",
                "v2/a/memory.stat": "inactive_anon 7\ninactive_file 50000\n",
            },
            150_000,
        ),
        ("0::/a\n", {"v2/a/memory.max": "max", "v2/a/memory.current": "4"}, 1000 * 1024),
        (
            "5:cpu,memory:/x\n0::/\n",
            {"v1/x/memory.limit_in_bytes": "9000", "v1/x/memory.usage_in_bytes": "10000"},
            0,
        ),
        (
            "4:memory:/gone\n",  # within a container its own group is the mount itself
            {"v1/memory.limit_in_bytes": "9000", "v1/memory.usage_in_bytes": "1000"},
            8000,
        ),
        (
            "4:memory:/\n",
            {"v1/memory.limit_in_bytes": "9223372036854771712", "v1/memory.usage_in_bytes": "1"},
            1000 * 1024,
        ),
    ],
)
def test_memory_is_what_the_kernel_has_within_the_limits_of_the_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, files: dict[str, str], free: int
) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    1000 kB\n")
    (tmp_path / "cgroup").write_text(groups)
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(memory_left, "_MEMINFO", str(tmp_path / "meminfo"))
    monkeypatch.setattr(memory_left, "_OWN_GROUPS", str(tmp_path / "cgroup"))
    versions = {
        name: version._replace(mount=str(tmp_path / place))
        for (name, version), place in zip(memory_left._VERSIONS.items(), ("v1", "v2"), strict=True)
    }
    monkeypatch.setattr(memory_left, "_VERSIONS", versions)
    assert memory_left.available() == free


def test_a_kernel_that_says_nothing_gives_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_left, "_MEMINFO", str(tmp_path / "none"))
    monkeypatch.setattr(memory_left, "_OWN_GROUPS", str(tmp_path / "none"))
    assert memory_left.available() is None


def test_amounts_are_told_in_the_largest_unit() -> None:
    assert [amounts.told(size) for size in (0, 999, 1000, 22 * GIB, 2000 * GIB)] == [
        "0 B",
        "999 B",
        "0.977 KiB",
        "22 GiB",
        "1.95 TiB",
    ]
