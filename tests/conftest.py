"""What all tests share: the flag that accepts new outputs, and the rule about what may be skipped."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import namespaces
from lab import Lab

settings.register_profile("default", deadline=None, max_examples=500)
settings.load_profile("default")

_skipped: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write the outputs of now as the expected ones")


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    """Whether the outputs of now are the expected ones."""
    return bool(request.config.getoption("--accept"))


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """The cluster that all tests of clusters share. What a test does to it, it mends, or is marked `wrecks`."""
    if (reason := namespaces.missing()) is not None:
        pytest.skip(reason)
    with Lab() as running:
        yield running
        alive = [pid for host in running.hosts for pid in host.processes()]
    assert not [pid for pid in alive if os.path.exists(f"/proc/{pid}")]


CLUSTERS = (
    "test_bench_links.py",
    "test_bench_nixl.py",
    "test_cluster.py",
    "test_cluster_diagnose.py",
    "test_cluster_faults.py",
    "test_cluster_labels.py",
    "test_lab.py",
    "test_links.py",
)
"""Tests that start Ray clusters, or measure what would be slower beside one that starts."""
LAST = ("test_bench_memory.py", "test_bench_ray.py", "test_bench_sync.py", "test_bench_torch.py")
"""Tests that start a Ray of their own and measure nothing that another process could disturb: by then the links are
measured."""


def of_clusters(item: pytest.Item) -> bool:
    return item.path.name in CLUSTERS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of clusters come first: they take longest. Those that wreck theirs come after the others of them, and
    those that end it last; of all others those with a Ray of their own."""
    marks = ("wrecks", "ends")
    items.sort(
        key=lambda item: (
            not of_clusters(item),
            item.path.name in LAST,
            *(item.get_closest_marker(mark) is not None for mark in reversed(marks)),
        )
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """File by file to whichever process is free (`-n 2`), and all that starts clusters to one: two at once are more
    than the machine has."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = Path(nodeid.split("::")[0]).name
            return "clusters" if file in CLUSTERS else file

    return ByFile(config, log)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and isinstance(report.longrepr, tuple):
        _skipped[report.longrepr[2]] += 1


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where everything is required (RAXL_REQUIRE_ALL=1), a skipped test is a failure."""
    if _skipped and os.environ.get("RAXL_REQUIRE_ALL") == "1" and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason, count in _skipped.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}")
