"""A recipe's report as text and as Markdown: what stands first, what is never hidden, and that it fits."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from raxl.cli import recipe_verify
from raxl.cli.recipe_verify import Format
from raxl.cli.streams import Streams
from raxl.errors import RecipeError, UnreadableInput
from raxl.model import codec
from raxl.model.finding import Coverage, Finding, Summary
from raxl.model.plan import ComparedVersion, HeldCondition, Precondition
from raxl.model.verification import (
    Figure,
    InForce,
    Place,
    Report,
    ReportedRecipe,
    SkippedChecks,
    VerifiedNode,
    VerifiedSetting,
)
from raxl.render import recipe_report_markdown, text_recipe_report
from raxl.render.text import display_width, to_text

GB = 1e9
WIDTHS = (80, 120, 200)
LOG = "https://example.org/log"


def figure(**changes: Any) -> Figure:
    """Two nodes, half of what somebody published."""
    one = Figure(
        id="allreduce-2n",
        collective="all_reduce",
        nodes=2,
        ranks=16,
        size_bytes=2 << 30,
        algorithm=None,
        transport="torch-nccl",
        metric="bus_bandwidth_bytes_per_second",
        kind="observed",
        expected=437.8 * GB,
        warn_below=0.9,
        fail_below=0.75,
        expected_path=("AWS Libfabric",),
        status="fail",
        message="50% of the published figure, below 75%",
        source=LOG,
        source_read="2026-02-21",
        date="2026-02",
        software={"nccl": "2.29.3"},
        between="gpu-07 → gpu-08",
        measured=218.9 * GB,
        ci95_low=217 * GB,
        ci95_high=220 * GB,
        ratio=0.5,
        path="AWS Libfabric",
        path_verdict="proven",
        row_status="ok",
        verified_bytes=True,
    )
    return replace(one, **changes)


SKIPPED = figure(
    id="allreduce-8n",
    status="skip",
    message="it needs 8 nodes, and the cluster has 2",
    measured=None,
    ci95_low=None,
    ci95_high=None,
    ratio=None,
    path=None,
    path_verdict=None,
    between=None,
    unverified="one run alone",
)


def report(**changes: Any) -> Report:
    """A report of two nodes with something of everything."""
    driver = HeldCondition("software.nvidia", ">=", "570", "560.28", "unmet", "nvml")
    memlock = HeldCondition("limits.memlock_bytes", ">=", 1 << 34, "unlimited", "met", "/proc/1/limits")
    settings = (
        VerifiedSetting(
            "env",
            "FI_PROVIDER",
            "efa",
            "missing",
            "recipe",
            "all",
            "the only provider here",
            LOG,
            (Place("p5.env", "efa", "same", True), Place("/proc/7/environ (raylet)", None, "missing")),
        ),
        VerifiedSetting(
            "label", "raxl/scale-up", "nvlink", "same", "labels", places=(Place("labels.yaml", "nvlink", "same", True),)
        ),
        VerifiedSetting("unset", "NCCL_PROTO", None, "unknown", "recipe"),
    )
    node = VerifiedNode(
        "gpu-07",
        "local",
        "8 × H100 80GB HBM3, aws p5.48xlarge",
        {"nvidia": "560.28"},
        (Precondition("driver", "block", driver, "install 570"), Precondition("memlock", "block", memlock)),
        (ComparedVersion("nccl", "2.29.3", "2.30.4", "differs"), ComparedVersion("libfabric", "2.4", None, "unknown")),
        settings,
    )
    lost = Finding("nvidia.lost", "nvidia:6", "gpu-07", "fail", "GPU 6 fell off the bus", remedy="drain, power-cycle")
    unread = Finding("ib.rate", "mlx5_0/1", "gpu-07", "unknown", "the rate was not read", reason="not-permitted")
    idle = Finding("tpu.present", "node", "gpu-07", "skip", "no TPU among 31 PCI functions", reason="not-applicable")
    one = Report(
        schema="raxl.report/v1",
        raxl_version="0.1.0",
        created="2026-11-30T12:00:00Z",
        status="failed",
        recipe=ReportedRecipe("aws-p5-efa", "AWS p5, EFA", "documented", "ab" * 32, "raxl"),
        in_force=InForce("/root/.config/raxl/recipe", "cd" * 8, "2026-11-30T11:00:00Z", "aws-p5-efa", "ab" * 32),
        nodes=(node, replace(node, name="gpu-08", settings=(), requirements=(), versions=())),
        summary=Summary(61, 1, 1, 1, 9),
        findings=(lost, unread, idle),
        coverage=(Coverage("gpu-07", "as root on the host", ("quick", "standard"), False),),
        left_out=(SkippedChecks(("roce.gid", "roce.mtu"), "EFA is no verbs fabric"),),
        figures=(figure(), SKIPPED),
        wrong=("gpu-07: driver is not met: software.nvidia >= 570, and it is 560.28",),
        not_verified=(
            "gpu-07: ib.rate: the rate was not read",
            "allreduce-8n: it needs 8 nodes, and the cluster has 2",
        ),
        next_steps=("raxl recipe rollback --root /root/.config/raxl/recipe",),
    )
    return replace(one, **changes)


def text(document: Report, width: int = 120, *, unicode: bool = True, colour: bool = False) -> str:
    return to_text(text_recipe_report.report(document, width, unicode=unicode), colour)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_page(width: int) -> None:
    for line in text(report()).splitlines():
        assert display_width(line) <= 120
    assert all(display_width(line) <= width for line in text(report(), width).splitlines())


def test_the_worst_comes_first_and_the_last_line_is_a_sentence() -> None:
    lines = text(report()).splitlines()
    words = [line.split()[0] for line in lines if line.startswith(("FAIL", "WARN"))]
    assert words == sorted(words)
    assert words.count("FAIL") == 3  # the driver, the figure, the GPU
    assert lines.index(next(line for line in lines if line.startswith("FAIL"))) < lines.index(
        next(line for line in lines if line.startswith("FIGURE"))
    )
    assert lines[-1] == ("aws-p5-efa does not hold on 2 nodes: 1 thing is wrong; 2 things are not verified.")


def test_each_thing_is_told_with_what_to_do() -> None:
    told = text(report(), 200)
    for words in (
        "FAIL  driver",
        "gpu-07: software.nvidia is 560.28, and is to be >= 570",
        "→ install 570",
        "FAIL  allreduce-2n",
        "50% of the published figure, below 75%",
        "gpu-07: GPU 6 fell off the bus",
        "→ drain, power-cycle",
        "WARN  FI_PROVIDER",
        "gpu-07: is to be efa, and /proc/7/environ (raylet) does not have it",
        "all_reduce 2 GiB, 2 × 8, torch-nccl",
        "218.9 GB/s",
        "437.8 GB/s observed",
        "50 %",
        "AWS Libfabric, proven",
        "nccl 2.30.4, the recipe 2.29.3; libfabric ?, the recipe 2.4",
        "61 ok, 1 warn, 1 fail, 1 unknown, 9 skipped",
        "? allreduce-8n: it needs 8 nodes, and the cluster has 2",
        "next    raxl recipe rollback --root /root/.config/raxl/recipe",
    ):
        assert words in told


def test_many_things_that_one_place_lacks_are_told_together() -> None:
    labels = tuple(
        VerifiedSetting(
            "label", f"raxl/{name}", "x", "missing", "labels", places=(Place("Ray's labels", None, "missing"),)
        )
        for name in ("vendor", "model", "nics")
    )
    here = replace(report().nodes[0], settings=labels)
    lines = text(report(nodes=(here,), figures=(), findings=())).splitlines()
    assert [line.split()[1:3] for line in lines if line.startswith("WARN")] == [["3", "labels"]]
    assert "not in Ray's labels: raxl/vendor, raxl/model and raxl/nics" in " ".join(lines)
    few = replace(here, settings=labels[:2])
    told = text(report(nodes=(few,), figures=(), findings=()))
    assert told.count("does not have it") == 2


def test_a_version_that_nobody_knows_and_nobody_published_is_not_told() -> None:
    here = replace(report().nodes[0], versions=(ComparedVersion("nccl", None, None, "unknown"),))
    assert "nccl" not in text(report(nodes=(here,), figures=(), findings=()))


def test_at_80_columns_the_number_and_its_share_stay() -> None:
    (row,) = [line for line in text(report(), 80).splitlines() if line.startswith("allreduce-2n ")]
    assert "218.9 GB/s" in row
    assert "50 %" in row
    assert row.endswith("FAIL")


def test_red_is_what_fails_and_nothing_where_nobody_looks() -> None:
    assert "\x1b[31mFAIL  driver" in text(report(), colour=True)
    assert "\x1b" not in text(report())


def test_without_unicode_it_is_ascii() -> None:
    assert text(report(), unicode=False).isascii()


@pytest.mark.parametrize(
    ("changes", "closing"),
    [
        (
            {
                "status": "ok",
                "wrong": (),
                "not_verified": (),
                "figures": (figure(status="ok"), figure(status="baseline")),
            },
            "aws-p5-efa holds on 2 nodes: 61 checks, 1 figure and 1 figure kept as the first.",
        ),
        (
            {"status": "incomplete", "wrong": ()},
            "aws-p5-efa is not wrong on 2 nodes as far as could be seen, which is not all; 2 things are not verified.",
        ),
    ],
)
def test_the_sentence_says_no_more_than_is_known(changes: dict[str, Any], closing: str) -> None:
    assert text_recipe_report.closing(report(**changes)) == closing


def test_markdown_says_first_what_was_not_verified_and_hides_no_skipped_check() -> None:
    page = recipe_report_markdown.markdown(report())
    titles = [line for line in page.splitlines() if line.startswith("## ")]
    assert titles == ["## Not verified", "## Wrong", "## Figures", "## gpu-07", "## gpu-08", "## Checks"]
    for words in (
        "# AWS p5, EFA",
        "| its SHA-256 | " + "ab" * 32,
        "437.8 GB/s observed",
        f"<{LOG}>, 2026-02, read 2026-02-21, nccl 2.29.3",
        "217 GB/s to 220 GB/s",
        "unverified: one run alone",
        "p5.env: efa; /proc/7/environ (raylet): not set",
        "| nccl | 2.29.3 | 2.30.4 | differs |",
        "| tpu.present | gpu-07 | no TPU among 31 PCI functions |",
        "| roce.gid, roce.mtu |  | EFA is no verbs fabric |",
        "- `allreduce-8n`: it needs 8 nodes, and the cluster has 2",
    ):
        assert words in page, words


def test_names_never_act_in_markdown() -> None:
    evil = replace(report().nodes[0], name="<img src=x>|`", hardware="[a](javascript:b)")
    page = recipe_report_markdown.markdown(report(nodes=(evil,)))
    assert "<img" not in page.replace("\\<img", "")
    assert "\n## \\<img src=x\\>\\|\\`\n" in page
    assert "[a](" not in page.replace("\\[a\\](", "")


def shown(file: Path | None, **options: Any) -> tuple[int, str]:
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    streams = Streams(output, io.StringIO())
    code = recipe_verify.shown(file, options.pop("root", None), options.pop("format_", Format.text), None, streams)
    output.seek(0)
    return code, output.read()


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("failed", 1), ("incomplete", 3)])
def test_a_saved_report_is_shown_and_ends_as_its_verification_did(tmp_path: Path, status: str, code: int) -> None:
    path = tmp_path / "report.json"
    path.write_text(codec.encode(report(status=status)))
    assert shown(path)[0] == code
    found, told = shown(path, format_=Format.json)
    assert (found, json.loads(told)["status"]) == (code, status)
    assert shown(path, format_=Format.markdown)[1].startswith("# AWS p5, EFA\n")


def test_escapes_in_a_saved_report_never_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(codec.encode(report(not_verified=("\x1b]0;owned\x07red \x1b[31m",))))
    for format_ in Format:
        told = shown(path, format_=format_)[1]
        assert "\x1b" not in told
        assert "\\u001b" not in told


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '{"schema": "raxl.bench/v1"}', "\xff", codec.encode(report())[:500]]
)
def test_what_is_no_report_is_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(content)
    with pytest.raises(UnreadableInput, match=r"report\.json is no raxl\.report/v1"):
        shown(path)


def test_a_report_of_another_schema_and_a_missing_one_are_told(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(codec.encode(report(schema="raxl.report/v2")))
    with pytest.raises(UnreadableInput, match=r"has the schema raxl\.report/v2"):
        shown(path)
    with pytest.raises(UnreadableInput, match="cannot be read"):
        shown(tmp_path / "none.json")
    with pytest.raises(UnreadableInput, match="no regular file"):
        shown(Path("/dev/zero"))
    with pytest.raises(RecipeError, match="nothing was verified below"):
        shown(None, root=tmp_path / "root")


def test_what_is_written_fits_its_schema() -> None:
    jsonschema.validate(json.loads(codec.encode(report())), json.loads(codec.schema("report")))
