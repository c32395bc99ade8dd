"""What `raxl diagnose` writes: text at several widths, JUnit, Prometheus, Markdown."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from prometheus_client.parser import text_string_to_metric_families

from raxl.model import codec
from raxl.model.finding import (
    FAIL,
    FINDINGS,
    OK,
    SKIP,
    UNKNOWN,
    WARN,
    Coverage,
    Evidence,
    Finding,
    Findings,
    Summary,
    Suppressed,
)
from raxl.render import findings_files
from raxl.render.text import display_width, to_text
from raxl.render.text_findings import findings

LOST = Finding(
    "nvidia.lost",
    "nvidia:6",
    "gpu-05",
    FAIL,
    "GPU 6 0000:cb:00.0 fell off the bus at 03:12:44 (Xid 79; with it Xid 154)",
    (Evidence("/dev/kmsg", "NVRM: Xid (PCI:0000:cb:00): 79, GPU has fallen off the bus."),),
    "drain the node, then power-cycle it; a second time within 30 days: replace the board",
    "power-cycle",
    "https://docs.nvidia.com/deploy/xid-errors/",
    fingerprint="a1b2",
)
RATE = Finding(
    "ib.rate",
    "mlx5_4/1",
    "gpu-05",
    WARN,
    "mlx5_4 runs at 200 Gb/s, its 7 peers at 400",
    remedy="reseat or replace the cable, then raxl diagnose --only 'ib.*'",
    remedy_class="vendor",
)


def of(*told: Finding, complete: bool = True, ruled: tuple[str, ...] = (), nodes: tuple[str, ...] = ()) -> Findings:
    counts = dict.fromkeys((OK, WARN, FAIL, UNKNOWN, SKIP), 0)
    for one in told:
        counts[one.status] += one.suppressed is None
    names = nodes or tuple(dict.fromkeys(one.node for one in told))
    reasons = {"failed": counts[UNKNOWN]} if counts[UNKNOWN] else {}
    seen = [Coverage(one, "as root on the host", ("quick", "standard"), complete, ruled, reasons) for one in names]
    summary = Summary(**counts)
    return Findings(FINDINGS, "0.1.0", "2026-11-30T03:14:00Z", told, summary, tuple(seen))


def well(check: str, node: str = "gpu-05", status: str = OK, **more: str) -> Finding:
    return Finding(check, "node", node, status, "all is well", **more)  # type: ignore[arg-type]


def text(found: Findings, width: int = 100, **flags: bool) -> str:
    return to_text(findings(found, width, **flags))


def test_the_worst_comes_first_with_what_to_do_and_the_sum_last() -> None:
    lines = text(of(LOST, RATE, well("host.shm"))).splitlines()
    assert lines[0] == "gpu-05  standard · as root on the host · 1 ok, 1 warn, 1 fail, 0 unknown, 0 skipped"
    assert lines[2].startswith("FAIL  nvidia.lost  GPU 6 0000:cb:00.0 fell off the bus")
    assert any(line.lstrip().startswith("→ drain the node") for line in lines)
    assert any(line.endswith("  power-cycle") for line in lines)
    assert lines.index(next(line for line in lines if line.startswith("WARN"))) > 2
    assert lines[-1] == "1 fault, 1 warning. Everything that matters here was read."


def test_green_needs_that_everything_was_read() -> None:
    assert text(of(well("host.shm"))).splitlines()[-1] == "Nothing wrong. Everything that matters here was read."
    ruled = text(of(well("host.shm"), complete=False, ruled=("host.dstate", "host.kernel-log"))).splitlines()
    last = " ".join(ruled[2:])
    assert last.startswith("No fault seen, not the whole picture: 2 checks are not possible as root on the host")
    assert "--require p0" in last
    assert "Nothing wrong" not in text(of(well("a.b", status=UNKNOWN, reason="failed"), complete=False))
    assert text(of()).strip() == "No check ran: nothing is known."


def test_what_was_not_asked_is_one_line() -> None:
    many = [well(f"area.check-{n}", status=UNKNOWN, reason="not-asked") for n in range(40)]
    lines = [line for line in text(of(*many, complete=False)).splitlines() if line.startswith("?")]
    assert lines == ["?     40 checks not answered, what was given does not say it"]


def test_many_alike_are_counted_and_shown_on_demand() -> None:
    alike = [Finding("nvidia.persistence", f"nvidia:{n}", "a", WARN, f"GPU {n}: off", remedy="on") for n in range(64)]
    told = text(of(*alike))
    assert told.count("WARN") == 3
    assert "and 61 more: nvidia:3, nvidia:4, nvidia:5, nvidia:6, nvidia:7, nvidia:8, nvidia:9, nvidia:10 …" in told
    assert text(of(*alike), verbose=True).count("WARN") == 64


def xids(status: str, *numbers: int, code: int = 48) -> list[Finding]:
    words = (f"GPU 0000:{number}:00: Xid {code}" for number in numbers)
    return [
        Finding("nvidia.xid", f"0000:{number}:00", "a", status, told, remedy=f"reset {number}")  # type: ignore[arg-type]
        for number, told in zip(numbers, words, strict=True)
    ]


def test_of_those_that_are_not_shown_the_names_are() -> None:
    told = text(of(*xids(FAIL, 61, 62, 63, 64, 65, 66)))
    assert "and 3 more: 0000:64:00, 0000:65:00, 0000:66:00 (-v shows all)" in told
    programs = [Finding("host.hung-task", "node", "a", WARN, f"p{n} hangs", remedy="wait") for n in range(6)]
    assert "and 3 more like it (-v shows all)" in text(of(*programs))


def test_each_device_s_worst_finding_comes_before_a_second_one() -> None:
    told = text(of(*xids(FAIL, 61, code=48), *xids(FAIL, 61, code=95), *xids(FAIL, 61, code=64), *xids(FAIL, 62, 63)))
    assert [line.split("GPU ")[1] for line in told.splitlines() if line.startswith("FAIL")] == [
        f"0000:{number}:00: Xid 48" for number in (61, 62, 63)
    ]


def test_a_fault_is_not_shown_as_the_warning_that_its_device_has_too() -> None:
    told = text(of(*xids(FAIL, 61, 62, 63, 64, 65, 66), *xids(WARN, 61, 65, 66, code=63)))
    assert [line.split("GPU ")[1] for line in told.splitlines() if line.startswith("WARN")] == ["0000:61:00: Xid 63"]
    assert "and 2 more: 0000:65:00, 0000:66:00" in told
    hidden = text(of(*xids(FAIL, 61, 62, 63, 64, 65, 66), *xids(WARN, 65, 66, code=63)))
    assert "WARN" not in hidden
    assert "nvidia.xid  and 2 more: 0000:65:00, 0000:66:00 (-v shows all), beside the faults of the same" in hidden


def test_what_is_said_of_several_is_said_once() -> None:
    same = [Finding("host.nofile", f"raylet {n}", "a", WARN, "only 1024 files", remedy="more") for n in range(6)]
    told = text(of(*same))
    assert told.count("WARN") == 1
    assert "only 1024 files; so of 6: raylet 0, raylet 1, raylet 2, raylet 3 …" in told


def test_nodes_without_fault_share_a_line() -> None:
    calm = [well("host.shm", f"gpu-{n:02}") for n in range(6, 9)]
    told = text(of(LOST, *calm))
    assert "3 nodes (gpu-06–08): nothing wrong, and all that matters was read" in told
    together = text(of(LOST, *calm, well("fleet.coverage", ""), nodes=("gpu-05", "gpu-06", "gpu-07", "gpu-08")))
    assert together == told, "what is well of all nodes together needs no block"
    assert told.startswith("gpu-05  ")


def test_nodes_with_the_same_fault_are_told_together() -> None:
    told = text(of(*(Finding("host.shm", "/dev/shm", f"gpu-{n:02}", FAIL, "64 MiB", remedy="more") for n in range(64))))
    assert told.count("FAIL") == 1
    assert told.startswith("64 nodes (gpu-00–63)  standard · as root on the host · 0 ok, 0 warn, 1 fail")
    assert told.endswith("64 faults. Everything that matters here was read.\n")


def test_what_is_suppressed_is_told_and_not_counted() -> None:
    known = Finding("host.shm", "/dev/shm", "a", FAIL, "64 MiB", suppressed=Suppressed("ticket 7", "2026-12-31"))
    told = text(of(known))
    assert "host.shm /dev/shm is known until 2026-12-31: ticket 7" in told
    assert "FAIL" not in told
    assert "0 fail" in told


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_page(width: int, unicode: bool) -> None:
    gone = well("x.y", status=UNKNOWN, reason="timed-out")
    for line in text(of(LOST, RATE, gone, complete=False), width, unicode=unicode, verbose=True).splitlines():
        assert display_width(line) <= width
        assert unicode or line.isascii()


def test_verbose_shows_what_a_finding_goes_by() -> None:
    assert "/dev/kmsg: NVRM: Xid (PCI:0000:cb:00): 79" in text(of(LOST), verbose=True)


def test_junit_has_a_suite_a_node_and_a_case_a_finding() -> None:
    gone, none = well("x.y", status=UNKNOWN, reason="failed"), well("z.z", status=SKIP)
    root = ElementTree.fromstring(findings_files.junit(of(LOST, RATE, gone, none, well("host.shm")), FAIL).encode())
    (suite,) = root
    assert {name: suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "gpu-05", "tests": "5", "failures": "1", "errors": "1", "skipped": "1",
    }  # fmt: skip
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases["nvidia.lost[nvidia:6]"] == ["failure"]
    assert cases["ib.rate[mlx5_4/1]"] == ["system-out"]
    assert cases["x.y[node]"] == ["error"]
    strict = ElementTree.fromstring(findings_files.junit(of(LOST, RATE), WARN).encode())
    assert strict[0].get("failures") == "2"


def test_prometheus_has_a_series_for_all_that_applies() -> None:
    shown = findings_files.prometheus(of(LOST, RATE, well("z.z", status=SKIP), well("x.y", status=UNKNOWN)))
    families = {one.name: one.samples for one in text_string_to_metric_families(shown)}
    told = {(one.labels["check"], one.labels["subject"]): one.value for one in families["raxl_check_status"]}
    assert told == {("nvidia.lost", "nvidia:6"): 2, ("ib.rate", "mlx5_4/1"): 1, ("x.y", "node"): 3}
    assert families["raxl_diagnose_last_run_timestamp_seconds"][0].value == 1796008440


def test_markdown_is_a_ticket() -> None:
    page = findings_files.markdown(of(LOST, RATE, well("x.y", status=UNKNOWN, reason="failed")))
    assert "### FAIL `nvidia.lost` nvidia:6" in page
    assert "| /dev/kmsg | NVRM: Xid (PCI:0000:cb:00): 79" in page
    assert "**Remedy** (power-cycle): drain the node" in page
    assert "Not answered: `x.y`" in page


def test_names_from_files_do_not_act() -> None:
    evil = Finding("a.b", "x|<b>", "n`m", FAIL, "[link](http://x) <script>", remedy="r", remedy_class="app")
    page = findings_files.markdown(of(evil))
    assert "<script>" not in page
    assert "[link](" not in page
    assert ElementTree.fromstring(findings_files.junit(of(evil), FAIL).encode()) is not None


def test_json_is_what_was_found() -> None:
    found = of(LOST, RATE)
    assert codec.decode(findings_files.written(found, "json", FAIL), Findings) == found
