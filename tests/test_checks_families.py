"""Checks of Gaudi, and of any other family: of what its own driver or tool says."""

from __future__ import annotations

import pytest

import captures
import recordings
from diagnosing import findings, statuses, told, variant
from raxl.checks import registry
from raxl.collect import assemble, inputs
from raxl.model.finding import LEVELS

TABLE = """\
+-----------------------------------------------------------------------------+
| HL-SMI Version:                              hl-{tool}-fw-59.2.1.0          |
| Driver Version:                                     {driver}-366eb9c          |
|-------------------------------+----------------------+----------------------+
| AIP  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncor-Events|
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | AIP-Util  Compute M. |
|===============================+======================+======================|
|   0  HL-325L             N/A  | 0000:e9:00.0     N/A |                   0  |
| N/A   36C   P0  228W /  900W  |   672MiB / 131072MiB |     0%            0% |
+-----------------------------------------------------------------------------+
"""


def test_the_releases_of_hl_smi_and_its_driver() -> None:
    skewed = inputs._from_bytes(TABLE.format(tool="1.21.0", driver="1.20.1").encode(), "given")
    (found,) = told("gaudi.version-skew", skewed)
    assert found.status == "ok"  # told, and no verdict: no public page says which pairs work
    assert "1.21.0" in found.message
    assert "1.20.1" in found.message
    same = inputs._from_bytes(TABLE.format(tool="1.21.0", driver="1.21.0").encode(), "given")
    assert "are of 1.21.0" in told("gaudi.version-skew", same)[0].message
    assert statuses("gaudi.version-skew", variant("nvidia-l40s")) == {"node": "skip"}
    # the csv, which raxl asks for, has no version of hl-smi
    assert statuses("gaudi.version-skew", variant("gaudi-hls2")) == {"node": "skip"}


def test_the_type_of_a_gaudi_server_can_be_read() -> None:
    """HabanaAI/hccl_demo 44: a tool that did not know the type of the server refused to run."""
    (node,) = assemble.inventory([variant("gaudi-hls2")]).nodes
    assert {device.attributes["device_type"] for device in node.accelerators} == {"GAUDI2"}
    assert {device.model for device in node.accelerators} == {"HL-225"}


def test_a_degraded_device_of_any_family_is_told() -> None:
    (found,) = [one for one in told("accelerator.state", variant("gaudi-in-reset")) if one.status == "warn"]
    assert "In reset" in found.message
    hung = statuses("accelerator.state", variant("rebellions-tool-hangs"))
    assert set(hung.values()) == {"unknown"}
    lost = inputs._from_bytes(
        b"23:00.0 Processing accelerators [1200]: Habana Labs Ltd. Device [1da3:1020] (rev ff) (prog-if ff)\n"
        b"\t!!! Unknown header type 7f\n",
        "given",
    )
    assert "fail" in statuses("accelerator.state", lost).values()


@pytest.mark.parametrize("name", recordings.NAMES)
def test_no_check_breaks(name: str) -> None:
    """Nor does one leave a fault without a remedy."""
    for one in findings(variant(name)).findings:
        assert not one.message.startswith("the check"), one
        assert (one.remedy is not None) == (one.status in ("warn", "fail")), one
        assert len(one.message) < 600, one


def test_every_check_says_how_it_decides() -> None:
    for one in registry.checks():
        assert 4 <= len(one.explanation.splitlines()) <= 16, one.id
        assert one.level in LEVELS, one.id


@pytest.mark.parametrize(
    "path",
    captures.parameters("lspci", "hwloc-sysfs", "kfd", "amd-smi-json", "amd-smi-text", "neuron", "tpu", "other-npu"),
)
def test_captures_raise_nothing(path: object) -> None:
    """None of them holds a fault of these checks."""
    if path is None:
        return
    (*recorded,) = inputs.opened([str(path)])
    raised = {one.check for one in findings(recorded).findings if one.status in ("warn", "fail")}
    own = ("pcie.", "amd.", "neuron.", "tpu.", "gaudi.", "accelerator.")
    assert not {one for one in raised if one.startswith(own)}
