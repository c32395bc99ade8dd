"""The checks of what NVIDIA's drivers tell in the kernel's log."""

from __future__ import annotations

import pytest

from diagnosing import statuses, told, variant
from kernel_texts import BOOT, XID, found, one, recordings, stamped
from raxl.checks import Case
from raxl.checks.nvidia_xid import lost_by_log
from raxl.checks.remedies import ACTIONS
from raxl.checks.xid_codes import ROOTS, UNUSED, XIDS
from raxl.checks.xid_notes import CONFLICT, ESCALATE, VENDOR
from raxl.collect import assemble, facts
from raxl.host.kernel_condense import condensed

LOG = "process kernel_log"


def xid(code: int, rest: str = "", device: str = "0000:61:00") -> str:
    return f"NVRM: Xid (PCI:{device}): {code}, {rest or 'x'}"


def told_by(*texts: str, step: float = 60.0) -> list[tuple[str, str, str]]:
    """What nvidia.xid says of a log: subject, status, class of the remedy."""
    return [(one_.subject, one_.status, one_.remedy_class) for one_ in found("nvidia.xid", stamped(*texts, step=step))]


@pytest.mark.parametrize(
    ("code", "status", "remedy"),
    [
        (13, "ok", "none"),
        (31, "ok", "none"),
        (43, "ok", "none"),
        (45, "ok", "none"),
        (37, "ok", "none"),
        (48, "fail", "reset"),
        (54, "fail", "power-cycle"),
        (63, "warn", "reset"),
        (64, "fail", "rma"),
        (74, "fail", "reset"),
        (78, "fail", "config"),
        (92, "warn", "none"),
        (94, "warn", "app"),
        (95, "fail", "reset"),
        (119, "fail", "reset"),
        (125, "warn", "vendor"),
        (140, "fail", "reset"),
        (151, "fail", "reset"),
        (167, "fail", "reboot"),
        (14, "warn", "vendor"),
        (999, "warn", "vendor"),
    ],
)
def test_one_code(code: int, status: str, remedy: str) -> None:
    finding = one("nvidia.xid", stamped(xid(code)))
    assert (finding.status, finding.remedy_class) == (status, remedy)
    assert finding.subject == "0000:61:00"
    assert f"GPU 0000:61:00: Xid {code}" in finding.message


def test_the_tables_go_together() -> None:
    words = {"decode", "follow_field", *ACTIONS}
    assert {code.action for code in XIDS.values()} <= words
    assert {code.verdict for code in XIDS.values()} <= {"info", "warn", "fail", "follow_field"}
    assert {*ROOTS, *CONFLICT, *ESCALATE, *VENDOR} <= set(XIDS)
    assert not UNUSED & set(XIDS)
    assert len(XIDS) == 116


def test_the_subject_is_the_accelerator_where_it_is_known() -> None:
    recording = variant("nvidia-hgx-h100", (LOG, condensed([f"[  900.000000] {xid(48, device='0000:19:00')}"])))
    assert statuses("nvidia.xid", recording) == {"nvidia:0": "fail"}


def test_a_log_without_xids_and_one_that_is_not_read() -> None:
    quiet = (LOG, condensed([f"[    0.000000] {BOOT}"]))
    assert statuses("nvidia.xid", variant("nvidia-hgx-h100", quiet)) == {"node": "ok"}
    assert statuses("nvidia.xid", variant("amd-mi300x-spx", quiet)) == {"node": "skip"}
    assert statuses("nvidia.xid", variant("nvidia-hgx-h100", f"{LOG} !unasked")) == {"node": "unknown"}
    empty = (LOG, condensed([]))
    assert statuses("nvidia.xid", variant("nvidia-hgx-h100", empty)) == {"node": "unknown"}


def test_without_rights_it_is_ruled_out() -> None:
    changes = (f"{LOG} !denied", ("process root", False))
    (finding,) = told("nvidia.xid", variant("nvidia-hgx-h100", *changes))
    assert (finding.status, finding.is_ruled_out) == ("skip", True)


def test_a_cause_is_told_with_its_companions() -> None:
    lines = (xid(45, "pid=7, name=p, Ch 1"), xid(94, "pid=7, name=p, Contained"), xid(48, "DBE"), xid(63, "Row"))
    finding = one("nvidia.xid", stamped(*lines, step=1.0))
    assert (finding.status, finding.count) == ("fail", 4)
    assert "Xid 48" in finding.message
    assert all(f"Xid {code}" in finding.message for code in (94, 45, 63))
    assert told_by(*lines[:3], step=60.0) == [
        ("0000:61:00", "fail", "reset"),
        ("0000:61:00", "warn", "app"),
        ("0000:61:00", "ok", "none"),
    ]


def test_a_companion_that_weighs_more_counts() -> None:
    (finding,) = found("nvidia.xid", stamped(xid(154, "x"), xid(31, "pid=7, name=p, Ch 1"), xid(109, "x"), step=1.0))
    assert (finding.status, finding.remedy_class) == ("warn", "reset")


def test_the_drivers_own_advice_counts_for_more() -> None:
    def advice(before: str, after: str) -> str:
        return xid(154, f"GPU recovery action changed from {before} to {after}")

    asked = advice("0x0 (None)", "0x2 (Node Reboot Required)")
    assert told_by(xid(94), asked, step=1.0) == [("0000:61:00", "fail", "reboot")]
    assert told_by(asked) == [("0000:61:00", "fail", "reboot")]
    assert told_by(advice("0x0 (None)", "0x3 (Drain P2P)")) == [("0000:61:00", "warn", "drain")]
    assert told_by(advice("0x0 (None)", "0x19 (Something New)")) == [("0000:61:00", "fail", "vendor")]
    over = advice("0x2 (Node Reboot Required)", "0x0 (None)")
    assert {status for _, status, _ in told_by(xid(48), asked, over)} == {"ok"}
    assert ("0000:61:00", "fail", "reboot") in told_by(xid(48), asked, over, asked)
    assert ("0000:61:00", "fail", "reset") in told_by(asked, over, xid(48))


def test_breadth_accuses_the_gpu() -> None:
    def met(code: int, *pids: int) -> list[tuple[str, str, str]]:
        return told_by(*[xid(code, f"pid={pid}, name=p, Ch 1") for pid in pids])

    assert met(31, 1, 2) == [("0000:61:00", "ok", "none")]
    assert met(31, 1, 2, 3) == [("0000:61:00", "warn", "drain")]
    assert met(13, 1, 2, 3) == [("0000:61:00", "warn", "drain")]
    assert met(45, *range(1, 20)) == [("0000:61:00", "ok", "none")]
    assert met(43, 1, 2, 3, 4) == [("0000:61:00", "ok", "none")]


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ("149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000)", "fail"),
        ("149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 01 (0x00082226 0x00000001)", "ok"),
        ("145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008)", "warn"),
        ("145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000010)", "fail"),
        ("144, SAW_MVB Nonfatal XC0 i0 Link -1 (0x1 0x2)", "fail"),
        ("150, MSE_WATCHDOG Nonfatal XC0 i0 Link -1 (0x1 0x99)", "fail"),
        ("145, RLW_SRC_TR", "warn"),
    ],
)
def test_events_of_nvlink_5_go_by_their_severity(event: str, status: str) -> None:
    assert one("nvidia.xid", stamped(f"NVRM: Xid (PCI:0008:01:00): {event}")).status == status


def test_links_are_named() -> None:
    lines = [xid(149, f"NETIR_LINK_EVT Fatal XC0 i0 Link {link:02} (0x1 0x0)") for link in (14, 1, 8)]
    assert "on links 1, 8 and 14" in one("nvidia.xid", stamped(*lines)).message


def test_a_disputed_code_shows_who_says_otherwise() -> None:
    finding = one("nvidia.xid", stamped(xid(63)))
    assert any(shown.source == "contradicted" and "gpud" in shown.value for shown in finding.evidence)


def test_a_lost_gpu_is_left_to_its_own_check() -> None:
    text = stamped(xid(79, "GPU has fallen off the bus"), xid(45, "pid=7, name=p, Ch 1"), step=1.0)
    finding = one("nvidia.xid", text)
    assert finding.status == "skip"
    assert "Xid 79" in finding.message
    assert "nvidia.lost" in finding.message


def test_a_gpu_is_lost_once_by_xid_and_line() -> None:
    text = stamped("NVRM: GPU 0000:61:00.0: GPU has fallen off the bus.", xid(79), xid(79, device="0000:62:00"))
    (recording,) = recordings(text)
    (node,) = assemble.inventory([recording]).nodes
    assert list(lost_by_log(Case(node, facts.of(recording, node)))) == ["0000:61:00.0", "0000:62:00"]


def test_an_adapter_that_does_not_start() -> None:
    line = "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:894)"
    finding = one("nvidia.rm-init", stamped(line, line))
    assert (finding.subject, finding.status, finding.remedy_class, finding.count) == (
        "0000:01:00.0",
        "fail",
        "drain",
        2,
    )


def test_a_demand_for_a_reset_without_an_address() -> None:
    line = "NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x62) returned"
    finding = one("nvidia.reset-required", stamped(line))
    assert (finding.subject, finding.status, finding.remedy_class) == ("node", "fail", "reset")


@pytest.mark.parametrize(
    ("line", "status", "remedy"),
    [
        ("20034, Fatal, Link 30 LTSSM Fault Up", "fail", "reset"),
        ("12028, Non-fatal, Link 32 egress non-posted PRIV error (First)", "warn", "none"),
        ("20034, Non-fatal, Link 30 LTSSM Fault Up", "warn", "none"),
        ("12021, Non-fatal, Link 3 single bit", "ok", "none"),
        ("23001, Fatal, Link 3 x", "fail", "reboot"),
        ("10003, Host_unhandled_interrupt", "fail", "reset"),
        ("77777, x", "warn", "vendor"),
    ],
)
def test_an_sxid(line: str, status: str, remedy: str) -> None:
    finding = one("nvswitch.sxid", stamped(f"nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): {line}"))
    assert (finding.subject, finding.status, finding.remedy_class) == ("0000:a9:00.0", status, remedy)


def test_a_reset_is_told_with_the_address() -> None:
    assert "nvidia-smi --gpu-reset -i 0000:61:00.0 " in (one("nvidia.xid", stamped(xid(48))).remedy or "")
    line = "NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x62) returned"
    assert "all GPUs" in (one("nvidia.reset-required", stamped(line)).remedy or "")


def test_for_a_switch_all_gpus_of_its_board_are_reset() -> None:
    line = "nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
    assert "for all GPUs of the NVSwitch board" in (one("nvswitch.sxid", stamped(line)).remedy or "")
    recording = variant("nvidia-hgx-h100", (LOG, condensed([f"[  900.000000] {line}"])))
    (finding,) = told("nvswitch.sxid", recording)
    assert "nvidia-smi --gpu-reset -i 0000:19:00.0," in (finding.remedy or "")
    assert "(all 8 GPUs of the NVSwitch board together)" in (finding.remedy or "")


def test_a_hot_switch_that_cooled_down() -> None:
    hot, cool = (f"nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): {code}, Non-fatal, x" for code in (10004, 10005))
    assert found("nvswitch.sxid", stamped(hot))[0].status == "warn"
    assert next(one_ for one_ in found("nvswitch.sxid", stamped(hot, cool)) if "10004" in one_.message).status == "ok"


FABRIC = (
    "[Feb 27 2025 15:10:02] [ERROR] [tid 9] detected NVSwitch {} error {} on fid 0 on NVSwitch pci bus id "
    "00000000:86:00.0 physical id 3 port 61\n"
)


def test_a_fabric_manager_s_log() -> None:
    finding = one("nvswitch.log", FABRIC.format("non-fatal", 12028) * 3)
    assert (finding.subject, finding.status, finding.count) == ("0000:86:00.0", "warn", 3)
    assert "SXid 12028" in finding.message
    assert (finding.first_seen, finding.evidence[0].source) == ("2025-02-27T15:10:02", "fabric manager log")
    assert one("nvswitch.log", FABRIC.format("fatal", 20034)).status == "fail"
    other = "[Feb 27 2025 15:10:02] [ERROR] [tid 9] request to query NVSwitch failed, nothing to do\n"
    assert one("nvswitch.log", other).status == "ok"
    assert one("nvswitch.log", other.replace("ERROR", "INFO")).status == "ok"
    assert one("nvswitch.log", stamped(XID)).status == "skip"
