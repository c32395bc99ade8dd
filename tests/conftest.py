"""What all tests share: the flag that accepts new outputs, and the rule about what may be skipped."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=500)
settings.load_profile("default")

_skipped: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write the outputs of now as the expected ones")


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    """Whether the outputs of now are the expected ones."""
    return bool(request.config.getoption("--accept"))


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
