"""The checks of NVLinks, and the reports in which nothing was wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnosing import statuses, told, variant
from nvml_answers import DEVICE, L40S, SWITCHED, healthy, of
from raxl.collect import inputs
from raxl.host.record import Recording

NO_TOOL = ("command nvidia-smi -q -x !unasked", "command nvidia-smi topo -m !unasked")
DOWN = {"state": 0, "remote": None, "remote_type": None, "version": None}
BRIDGED = {"state": 1, "remote": "00000000:00:00.0", "remote_type": 0, "version": 5}


def machine(*changes: Any, **other: Any) -> Recording:
    return variant("nvidia-hgx-h100", *NO_TOOL, *healthy(**other), *changes)


def cards(*links: list[dict[str, Any]], name: str = "NVIDIA A100 80GB PCIe") -> Recording:
    """Four cards of that name, with these links; those of the last for the rest."""
    own = [of(index, "nvlinks", links[min(index, len(links) - 1)]) for index in range(4)]
    return variant("nvidia-l40s", *NO_TOOL, *healthy(L40S, name=name, nvlink_errors=[]), *own)


def given(tmp_path: Path, text: str) -> Recording:
    path = tmp_path / "given.txt"
    path.write_text(text)
    (recording,) = inputs.opened([str(path)])
    return recording


def test_one_link_down_before_a_switch() -> None:
    links = [*[SWITCHED] * 7, DOWN, *[SWITCHED] * 10]
    (found,) = [one for one in told("nvlink.down", machine(of(3, "nvlinks", links))) if one.status != "ok"]
    assert (found.status, found.subject, found.remedy_class) == ("fail", "nvidia:3", "reset")
    assert "17 of 18" in found.message
    assert "link 7" in found.message
    asleep = [{**SWITCHED, "state": 2}, *[SWITCHED] * 17]
    assert statuses("nvlink.down", machine(of(3, "nvlinks", asleep))) == {"node": "ok"}


def test_all_links_down_before_a_switch() -> None:
    """A diagnostic suite passed with every link down: https://github.com/NVIDIA/DCGM/issues/198"""
    found = statuses("nvlink.down", machine(nvlinks=[DOWN] * 18))
    assert found == {f"nvidia:{index}": "fail" for index in range(8)}


def test_pcie_cards_without_a_bridge() -> None:
    """All 12 links of each A100 PCIe are down, and nothing is wrong: NVSentinel #1481."""
    assert statuses("nvlink.down", cards([DOWN] * 12, [DOWN] * 12)) == {"node": "skip"}
    assert statuses("nvlink.down", cards([], [])) == {"node": "skip"}


def test_cards_of_which_one_pair_alone_has_a_bridge() -> None:
    pairs = cards([BRIDGED] * 12, [BRIDGED] * 12, [DOWN] * 12, [DOWN] * 12)
    assert statuses("nvlink.down", pairs) == {"nvidia:2": "warn", "nvidia:3": "warn", "node": "ok"}


def test_links_that_are_not_wired_on_a_board() -> None:
    """Links 3 and 5 of every GPU are inactive: azhpc-diagnostics #73. One GPU that has fewer up is another thing."""
    wired = [DOWN if link in (3, 5) else BRIDGED for link in range(6)]
    (found,) = told("nvlink.down", cards(wired, wired, wired, name="Tesla V100-SXM2-32GB"))
    assert (found.status, "not wired" in found.message) == ("ok", True)
    short = [DOWN, *wired[1:]]
    fewer = statuses("nvlink.down", cards(wired, short, wired, name="Tesla V100-SXM2-32GB"))
    assert fewer == {"nvidia:1": "fail", "node": "ok"}


def status_text(*words: list[str]) -> str:
    lines = []
    for index, links in enumerate(words):
        lines.append(f"GPU {index}: Tesla V100-SXM2-32GB (UUID: GPU-00000000-0000-0000-0000-00000000000{index})")
        lines += [f"         Link {number}: {word}" for number, word in enumerate(links)]
    return "\n".join(lines) + "\n"


def test_the_same_in_the_words_of_the_tool(tmp_path: Path) -> None:
    wired = ["25.781 GB/s"] * 3 + ["<inactive>", "25.781 GB/s", "<inactive>"]
    assert statuses("nvlink.down", given(tmp_path, status_text(wired, wired, wired))) == {"node": "ok"}
    short = ["<inactive>", *wired[1:]]
    assert statuses("nvlink.down", given(tmp_path, status_text(wired, short, wired)))["nvidia:1"] == "fail"
    broken = ["ERR!", *wired[1:]]
    assert statuses("nvlink.down", given(tmp_path, status_text(wired, broken, wired)))["nvidia:1"] == "unknown"


def test_links_of_a_gpu_in_mig_mode(tmp_path: Path) -> None:
    text = (
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n"
        "Nvlink queries are not supported for Devices in MIG mode\n"
    )
    assert set(statuses("nvlink.down", given(tmp_path, text)).values()) == {"skip"}


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        ({"replay": 40, "recovery": 2, "crc": 9}, "ok"),
        ({"malformed": 1}, "fail"),
        ({"overrun": 3}, "fail"),
        ({"recovery_failed": 1}, "fail"),
        ({"recovery": 7, "effective_errors": 5}, "ok"),
    ],
)
def test_errors(counts: dict[str, int], status: str) -> None:
    """One reading of what counts up gives no verdict, but of what never occurs."""
    errors = [counts, *DEVICE["nvlink_errors"][1:]]
    found = told("nvlink.errors", machine(of(3, "nvlink_errors", errors)))
    assert found[0].status == status
    assert found[0].subject == ("nvidia:3" if status == "fail" else "node")
    assert status == "fail" or str(counts.get("replay", counts.get("recovery"))) in found[0].message


def test_errors_of_links_without_counters() -> None:
    assert statuses("nvlink.errors", machine(nvlink_errors=[])) == {"node": "skip"}
