"""What all tests share: the flag that accepts new outputs, and the rule about what may be skipped."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the lab come last, so that it runs beside no other; those that wreck it are the very last."""
    items.sort(key=lambda item: ("lab" in getattr(item, "fixturenames", ())) + bool(item.get_closest_marker("wrecks")))


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
