"""Real captures of `nvidia-smi` and the checks of NVIDIA's GPUs: what they raise was judged by hand, and is all."""

from __future__ import annotations

from pathlib import Path

import pytest

import captures
from diagnosing import findings
from raxl.collect import inputs

SLOW_START = "persistence mode is off on a board for servers"
JUDGED = {
    "azhd-8xa100-q.txt": {"nvidia.persistence": SLOW_START},
    "azhd-8xv100-inforom-corrupt.txt": {
        "nvidia.inforom": "the tool warns of it beside its table",
        "nvidia.persistence": SLOW_START,
    },
    "cap-linux-l40s-595.80-q.txt": {"nvidia.persistence": SLOW_START},
    "cap-linux-l40s-595.80-query-gpu.csv": {"nvidia.persistence": SLOW_START},
    "gls-A100SXMx4-q.txt": {"nvidia.remap-pending": "`Pending : Yes` of the second GPU"},
    "lost-gpu-handle-nospace.txt": {"nvidia.lost": "no handle: Unknown Error"},
    "lost-gpu-handle.txt": {"nvidia.lost": "no handle: Unknown Error"},
    "vc-1xt4-query-na.csv": {"nvidia.ecc-uncorrected": "its publisher filled in 5 volatile errors"},
    "aicr-8xh100-sxm-v12.xml": {"nvidia.persistence": SLOW_START},
    "telegraf-a100-sxm4-v12.xml": {"nvidia.persistence": SLOW_START},
    "telegraf-a10g.xml": {"nvidia.persistence": SLOW_START},
    "telegraf-rtx-3090-v12.xml": {"nvidia.power": "limited to 200 of 350 W"},
    "telegraf-tesla-t4.xml": {"nvidia.persistence": SLOW_START},
}
"""By capture, the checks that warn or fail, and why that is right. Idle clocks, displays, consumer cards without ECC,
MIG and cards without a bridge raise nothing."""
OWN = ("nvidia.", "nvlink.", "fabric.", "node.intra-consistency")


@pytest.mark.parametrize("path", captures.parameters("nvidia-smi-text", "nvidia-smi-xml", "nvidia-smi-topo"))
def test_what_a_capture_raises_was_judged(path: Path) -> None:
    found = findings(inputs.opened([str(path)])).findings
    raised = {one.check for one in found if one.status in ("warn", "fail") and one.check.startswith(OWN)}
    assert raised == set(JUDGED.get(path.name, {}))
    assert not [one for one in found if "the check itself failed" in one.message]
