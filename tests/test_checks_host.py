"""The checks of the machine itself."""

from __future__ import annotations

import pytest

from diagnosing import statuses, told, variant

MEMLOCK = "process limits"


@pytest.mark.parametrize(
    ("limits", "status"),
    [([-1, -1], "ok"), ([65536, 65536], "fail"), ([8 << 20, 8 << 20], "fail"), ([1 << 34, -1], "warn")],
)
def test_memlock(limits: list[int], status: str) -> None:
    recording = variant("nvidia-hgx-h100", (MEMLOCK, {"memlock": limits, "nofile": [65536, 65536]}))
    (found,) = told("host.memlock", recording)
    assert found.status == status
    assert (found.remedy_class == "config") == (status in ("fail", "warn"))


def test_memlock_without_rdma_and_unread() -> None:
    limited = (MEMLOCK, {"memlock": [65536, 65536], "nofile": [65536, 65536]})
    assert statuses("host.memlock", variant("none-cpu-server", limited)) == {"node": "skip"}
    assert statuses("host.memlock", variant("nvidia-hgx-h100", f"{MEMLOCK} !denied")) == {"node": "unknown"}
