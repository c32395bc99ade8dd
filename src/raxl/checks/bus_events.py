"""What the kernel's log tells of PCI Express, of RDMA devices, of Neuron devices and of libraries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raxl.checks import P0, P1, P2, Case, Verdict, absent, check
from raxl.checks.log_events import (
    FAIL,
    INFO,
    WARN,
    Weight,
    by_device,
    current,
    cut,
    none_told,
    times,
    unreadable,
    verdict,
    weighed,
)
from raxl.model.facts import KernelEvent
from raxl.model.finding import QUICK, ROOT

_PORT = {
    "aer-fatal": Weight(FAIL, "reboot_node", "fatal PCIe error"),
    "dpc": Weight(FAIL, "reboot_node", "the port was shut off after an error, or its link is down"),
    "aer-recovery-failed": Weight(FAIL, "reboot_node", "recovery after a PCIe error failed"),
    "aer-nonfatal": Weight(WARN, "watch", "uncorrected PCIe error that was not fatal"),
    "aer-firmware-uncorrected": Weight(WARN, "watch", "uncorrected PCIe error, told by the firmware"),
    "aer-received-fatal": Weight(FAIL, "reboot_node", "fatal PCIe error, of which a root port tells"),
    "aer-received-nonfatal": Weight(WARN, "watch", "uncorrected PCIe error that was not fatal, told by a root port"),
    "aer-corrected": Weight(INFO, "watch", "corrected PCIe errors"),
    "aer-received-corrected": Weight(INFO, "watch", "corrected PCIe errors, of which a root port tells"),
    "aer-firmware-first": Weight(INFO, "watch", "corrected PCIe errors, told by the firmware"),
}
_FULLER = {
    "aer-firmware-first": "aer-firmware-uncorrected",
    "aer-received-fatal": "aer-fatal",
    "aer-received-nonfatal": "aer-nonfatal",
    "aer-received-corrected": "aer-corrected",
}
"""Lines to which another one of the same device says more of the same error."""
_APEI = {"fatal": FAIL, "recoverable": WARN}
_RECOVERED = {
    "aer-fatal": "aer-recovered",
    "aer-received-fatal": "aer-recovered",
    "aer-recovery-failed": "aer-recovered",
    "dpc": "dpc-recovered",
}
_AER = "https://docs.kernel.org/PCI/pcieaer-howto.html"


@check("pcie.events", "The kernel's log tells of no PCIe error", P1, QUICK, "reboot", vantage=ROOT, reference=_AER)
def pcie(case: Case) -> Iterator[Verdict]:
    """PCIe errors as the kernel's log tells them (AER), and ports that were shut off (DPC), by the port that saw them.

    Fatal ones, a failed recovery and a port that stays shut off fail; once the port recovered they warn, for the job on
    the device behind it may be gone. Uncorrected errors that were not fatal warn. Corrected ones are information: their
    rate counts, which pcie.aer's counters tell.

    Not to be confused: where firmware owns AER the lines have no word for the severity (`aer_status: 0x…`); a line with
    `aer_uncor_severity` after it means an uncorrected one.
    """
    events = current(case, *_PORT, "aer-apei")
    missing = unreadable(case, "PCIe errors")
    if missing or not events:
        yield missing or none_told(case, "PCIe error")
        return
    yield from cut(case, "PCIe errors", *_PORT, "aer-apei")
    over = current(case, *_RECOVERED.values())
    for address, own in by_device(events):
        for kind in dict.fromkeys(event.kind for event in own):
            alike = [event for event in own if event.kind == kind]
            if _FULLER.get(kind) in {event.kind for event in own}:
                continue
            weight = _port(kind, alike, [event for event in over if event.device == address])
            types = " and ".join(sorted({event.code for event in alike if event.code and kind == "aer-corrected"}))
            words = f"{address or 'a port'}: {weight.meaning}{f' ({types})' if types else ''}{times(alike)}"
            yield verdict(case, alike, weight, words, root=kind)


def _port(kind: str, events: Sequence[KernelEvent], over: Sequence[KernelEvent]) -> Weight:
    if kind == "aer-apei":
        code = next((sort for sort in ("fatal", "recoverable") if any(e.code == sort for e in events)), "corrected")
        actions = {FAIL: "reboot_node", WARN: "watch", INFO: "watch"}
        found = _APEI.get(code, INFO)
        return Weight(found, actions[found], f"{code} PCIe error, told by the firmware")
    weight = _PORT[kind]
    last = max(event.ends for event in events)
    if any(event.kind == _RECOVERED.get(kind) and event.ends > last for event in over):
        return Weight(WARN, "restart_app", f"{weight.meaning}; it recovered, and the job behind it may be gone")
    return weight


_RDMA = {
    "driver-probe-failed": Weight(FAIL, "support", "its driver refused it: firmware and driver do not fit"),
    "mlx5-command-timeout": Weight(FAIL, "reboot_node", "its firmware does not answer commands any more"),
    "mlx5-health-bad": Weight(FAIL, "reboot_node", "its driver found it in bad health"),
    "mlx5-health-issue": Weight(WARN, "watch", "its driver watches a health issue"),
    "mlx5-slot-power": Weight(WARN, "check_power", "the slot gives it too little power"),
}


@check("ib.driver", "The driver of every RDMA device works", P0, QUICK, "reboot", vantage=ROOT)
def rdma_driver(case: Case) -> Iterator[Verdict]:
    """RDMA devices whose driver refused them, or whose firmware stopped answering, by the kernel's log.

    It fails where the probe failed (`mlx5_load_one failed`), where commands of the firmware are never completed, and
    where the health of a device is compromised; after `health recovery succeeded` that is a warning. It warns of health
    issues of a lesser severity and of a slot that gives too little power.

    Not to be confused: one failed probe is told in two lines, a firmware that hangs in hundreds; each is one finding.
    """
    events = current(case, *_RDMA)
    missing = unreadable(case, "RDMA devices")
    if missing or not events:
        yield missing or none_told(case, "failed probe, dead command or bad health of an RDMA device")
        return
    yield from cut(case, "RDMA devices", *_RDMA)
    recovered = {event.device: event.ends for event in current(case, "mlx5-recovered")}
    for address, own in by_device(events):
        table = dict(_RDMA)
        last = max((event.ends for event in own if event.kind == "mlx5-health-bad"), default=0)
        if recovered.get(address, 0) > last > 0:
            table["mlx5-health-bad"] = Weight(WARN, "watch", "it was in bad health and recovered")
        yield from weighed(case, table, own, "RDMA device")


_MODULE = {
    "mlx5-module-hot": Weight(WARN, "support", "the module in its port is too hot: look after airflow and module")
}


@check("ib.module", "No module of an RDMA port is too hot", P2, QUICK, "vendor", vantage=ROOT)
def rdma_module(case: Case) -> Iterator[Verdict]:
    """A cable's or transceiver's module that the driver calls too hot: `Port module event … High Temperature`.

    It warns for each device that said so since the boot.

    Not to be confused: the kernel's log alone is read; temperatures and power of modules need the vendor's tool.
    """
    events = current(case, *_MODULE)
    yield from cut(case, "modules", *_MODULE)
    yield from weighed(case, _MODULE, events, "RDMA device")
    if not events:
        yield unreadable(case, "modules") or none_told(case, "report of mlx5 of a module that is too hot")


_NEURON = {
    "SRAM_UNCORRECTABLE_ERROR": Weight(FAIL, "rma", "its on-chip memory had an error: replace the instance"),
    "HBM_UNCORRECTABLE_ERROR": Weight(FAIL, "rma", "its memory had an error: replace the instance"),
    "NC_UNCORRECTABLE_ERROR": Weight(FAIL, "rma", "a core had an error: replace the instance"),
    "DMA_ERROR": Weight(FAIL, "rma", "a DMA engine gave up: replace the instance"),
    "HANG_ON_COLLECTIVES": Weight(WARN, "restart_app", "a collective stalled: look for the node that failed first"),
}
_NEURON_PAGE = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/neuron-runtime/nrt-troubleshoot.html"


@check(
    "neuron.hw-error", "No Neuron device had a hardware error", P0, QUICK, "rma", vantage=ROOT, reference=_NEURON_PAGE
)
def neuron(case: Case) -> Iterator[Verdict]:
    """Hardware errors that AWS's Neuron driver tells: `NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR … nd-id=3 …`.

    Uncorrectable errors and a DMA abort fail: the instance is to be replaced. HANG_ON_COLLECTIVES warns. What the line
    itself says under `action=` is told with it. A kind that raxl does not know warns.

    Not to be confused: a hang blames the node that waits; the cause is the node that failed first.
    """
    events = current(case, "neuron-hw-error")
    if not events:
        yield absent(case, "neuron") or unreadable(case, "Neuron devices") or none_told(case, "NEURON_HW_ERR")
        return
    yield from cut(case, "Neuron devices", "neuron-hw-error")
    for unit, code in dict.fromkeys((event.detail.get("unit"), event.code or "") for event in events):
        own = [event for event in events if (event.detail.get("unit"), event.code or "") == (unit, code)]
        weight = _NEURON.get(code, Weight(WARN, "support", "a kind of error that no catalogue holds"))
        asked = next((event.detail["action"] for event in own if "action" in event.detail), None)
        name = f"Neuron device {unit}" if unit else "a Neuron device"
        words = f"{name}: {code}{times(own)}: {weight.meaning}{f'; the driver asks for {asked}' if asked else ''}"
        yield verdict(case, own, weight, words, about=f"neuron:{unit}" if unit else "node", root=code)


_CRASH = {"nccl-segv": Weight(WARN, "check_app", "a process crashed within NCCL (segfault in libnccl)")}


@check("lib.nccl-crash", "No process crashed within NCCL", P1, QUICK, "app", vantage=ROOT)
def nccl_crash(case: Case) -> Iterator[Verdict]:
    """A crash inside NCCL that the kernel logged: `python3[77]: segfault at … in libnccl.so.2`.

    It warns for each such line since the boot: the job died, the node is well.

    Not to be confused: versions of NCCL that are known to crash are told by lib.known-bad, whether they did or not.
    """
    events = current(case, *_CRASH)
    yield from cut(case, "crashes in NCCL", *_CRASH)
    yield from weighed(case, _CRASH, events)
    if not events:
        yield unreadable(case, "crashes in NCCL") or none_told(case, "crash in NCCL")


_PEERMEM = {
    "peermem-ctx": Weight(
        INFO, "watch", "nvidia-peermem met an invalid context: a process ended while its memory was registered"
    )
}


@check("gdr.peermem", "nvidia-peermem tells of no invalid context", P1, QUICK, "none", vantage=ROOT)
def peermem(case: Case) -> Iterator[Verdict]:
    """What nvidia-peermem, through which RDMA reaches a GPU's memory, writes to the kernel's log.

    It never warns: `detected invalid context` is information.

    Not to be confused: a process that ended, or crashed, while its memory was still registered, is no fault of the
    module.
    """
    events = current(case, *_PEERMEM)
    yield from cut(case, "nvidia-peermem", *_PEERMEM)
    yield from weighed(case, _PEERMEM, events)
    if not events:
        yield unreadable(case, "nvidia-peermem") or none_told(case, "invalid context of nvidia-peermem")
