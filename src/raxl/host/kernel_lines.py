"""The lines of a kernel's log that tell of a fault: which they are, and which of them are copies of one another.

Nothing else of a log is ever kept: it holds other people's words. Facts: the drivers' own message strings (NVIDIA's Xid
catalogue, amdgpu, mlx5 core, pci/pcie/aer.c and dpc.c, x86 mce, EDAC, firmware/efi/cper.c, rcu, the block layer, ext4,
XFS, the OOM killer). Standard library, Python 3.8.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Pattern, Tuple

LONGEST = 400
"""Characters of a line that are kept: registers and addresses that follow tell nothing more."""
_BDF = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
_ANY_BDF = r"[0-9A-Fa-f:.]{5,16}"
_XID_DIGITS, _SXID_DIGITS = 3, 5
_MOST_DIGITS = 6
"""Digits of a code that are kept: a longer one is none."""
_OF_JOBS = frozenset(("8", "11", "13", "25", "31", "32", "43", "45", "69", "80", "141"))
"""Xids for which the job, not the node, is at fault."""
_NOTES = frozenset(
    (
        "peermem-ctx",
        "nccl-segv",
        "oom",
        "oom-killed",
        "oom-killed-in-container",
        "amd-page-fault",
        "amd-ring-timeout",
        "amd-soft-recovered",
        "amd-ras-ce",
        "aer-corrected",
        "aer-firmware-first",
        "aer-received-corrected",
        "lost-carrier",
    )
)
_UNCORRECTED = r"0?x?(?:[2367abefABEF][0-9a-fA-F]|[0-9a-fA-F][2367abefABEF])"
"""How the status of a machine check begins that is uncorrected (UC, bit 61) or corrupted the processor's state (PCC,
bit 57); it has all of its 16 digits, for its highest bit says that it is valid."""
_DISK = r"(?!(?:fd|sr|loop)\d)[\w.-]{1,40}"
"""Any but drives without a medium, of which reading fails on a sound machine, and files that stand for disks."""
_RDMA = r"(?:mlx[45]_core|bnxt_en|bnxt_re|ice|irdma|efa|hfi1|ionic)"


class Line(NamedTuple):
    """A line of the catalogue."""

    kind: str
    groups: Dict[str, str]
    """What it says, by name; `device` is its PCI address as it is spelt there."""
    text: str
    """The line as far as it is kept."""

    @property
    def key(self) -> Tuple[str, ...]:
        """Lines with the same key are copies of one another."""
        return (self.kind, *(f"{name}={self.groups[name]}" for name in sorted(self.groups)))

    @property
    def family(self) -> Tuple[str, ...]:
        """The same without what may differ without end: processes and links. Of a task that hangs its name tells what
        hangs."""
        without = ("pid",) if self.kind == "hung-task" else ("pid", "process", "link")
        told = sorted(name for name in self.groups if name not in without)
        return (self.kind, *(f"{name}={self.groups[name]}" for name in told))

    @property
    def share(self) -> Tuple[bool, str]:
        """What it shares the room with, where there are more different ones than are kept; first, whether it is light:
        a job's own fault, or a note."""
        code = self.groups.get("code", "")
        if self.kind == "xid":
            return xid_share(code)
        if self.kind == "sxid":
            return False, f"sxid {code[:2] if len(code) <= _SXID_DIGITS else 'other'}"
        return self.kind in _NOTES, self.kind


class _Entry(NamedTuple):
    kind: str
    stems: Tuple[str, ...]
    """One of these stands in every such line."""
    pattern: Pattern[str]
    kept: Optional[str] = None
    """What is kept of the line, where it holds more than it tells of the fault."""


def _entry(kind: str, stems: str, pattern: str, kept: Optional[str] = None) -> _Entry:
    return _Entry(kind, tuple(stems.split("|")), re.compile(pattern), kept)


def _received(severity: str) -> str:
    """A root port's line of a message that came in; the device that sent it is named behind."""
    sender = rf"(?:(?P<device>{_BDF})|id=[0-9a-f]{{4}})"
    return rf"AER: (?:Multiple )?{severity} error (?:message )?received(?: from|:) ?{sender}"


_CATALOGUE = (
    _entry(
        "xid",
        "NVRM: Xid (",
        rf"NVRM: Xid \((?:PCI:)?(?P<device>{_ANY_BDF})(?: GPU-I:(?P<instance>\d{{1,4}}))?\): (?P<code>\d{{1,40}}…?)",
    ),
    _entry(
        "fallen-off-bus",
        "fallen off the bus",
        rf"NVRM: (?:The NVIDIA GPU|GPU(?: at)?) (?:PCI:)?(?P<device>{_ANY_BDF}(?<!:))[:\s]"
        r".{0,200}?fallen off the bus",
    ),
    _entry(
        "rm-init-failed",
        "RmInitAdapter failed",
        rf"NVRM: (?:GPU (?P<device>{_ANY_BDF}): )?RmInitAdapter failed!?(?: \((?P<code>0x[0-9a-fA-Fx:]{{1,40}})\))?",
    ),
    _entry("nv-reset-required", "NV_ERR_RESET_REQUIRED", r"NV_ERR_RESET_REQUIRED"),
    _entry(
        "sxid",
        "SXid (",
        rf"SXid \((?:PCI:)?(?P<device>{_ANY_BDF})\): (?P<code>\d{{1,40}}), (?!Data|Severity)"
        r"(?:(?P<severity>Fatal|Non-fatal),? ?)?(?:.{0,80}?Link (?P<link>\d{1,4})\b)?",
    ),
    _entry("peermem-ctx", "nvidia-peermem", r"nvidia-peermem .{0,80}detected invalid context"),
    _entry(
        "amd-ras-ue",
        "uncorrectable hardware errors",
        r"(?P<errors>\d{1,9}) (?:new )?uncorrectable hardware errors detected in (?:total in )?"
        r"(?P<code>\w{1,20}) block",
    ),
    _entry(
        "amd-ras-de",
        "deferred hardware errors|Poison is created",
        r"(?P<errors>\d{1,9}) (?:new )?deferred hardware errors detected in (?:total in )?(?P<code>\w{1,20}) block"
        r"|Poison is created",
    ),
    _entry(
        "amd-ras-ce",
        " correctable hardware errors",
        r"(?P<errors>\d{1,9}) (?:new )?correctable hardware errors detected in (?:total in )?(?P<code>\w{1,20}) block",
    ),
    _entry(
        "amd-ras-errevent",
        "uncorrectable hardware error(",
        r"uncorrectable hardware error\((?P<code>\w{1,40})\) detected",
    ),
    _entry("amd-aca", "Accelerator Check Architecture", r"Accelerator Check Architecture events logged"),
    _entry(
        "amd-aca-status",
        "].STATUS=0x",
        r"(?:ACA\[[\d/]{1,9}\]|aca entry\[\d{1,4}\])\.STATUS=(?P<code>0x[0-9a-fA-F]{1,16})",
    ),
    _entry("amd-bad-page-near", "RAS records:", r"RAS records:\d+ exceeds 90% of threshold"),
    _entry(
        "amd-bad-page-over",
        "RAS records:|GPU will not be initialized|Saved bad pages",
        r"RAS records:\d+ exceed threshold:\d+|GPU will not be initialized|Saved bad pages \d+ reaches threshold",
    ),
    _entry(
        "amd-poison-consumed",
        "RAS poison consumption|poison is consumed",
        r"RAS poison consumption, fall ?back to gpu reset|RAS poison consumption is issued"
        r"|poison is consumed by client \d+, kick off gpu reset",
    ),
    _entry("amd-poison-queue", "RAS poison consumption", r"RAS poison consumption(?:, unmap queue|.{0,80} handling)"),
    _entry("amd-reset-begin", "GPU reset begin", r"GPU reset begin"),
    _entry("amd-reset-ok", "GPU reset", r"GPU reset(?:\(\d+\))? succeeded"),
    _entry(
        "amd-reset-failed",
        "GPU reset|GPU Recovery Failed",
        r"GPU reset(?:\(\d+\))? failed|GPU reset end with ret = -|GPU Recovery Failed",
    ),
    _entry("amd-soft-recovered", "soft recovered", r"ring (?P<code>\S{1,40}) timeout, but soft recovered"),
    _entry("amd-ring-timeout", " timeout, signaled", r"ring (?P<code>\S{1,40}) timeout"),
    _entry("amd-page-fault", "hub", r"\[(?P<code>gfxhub|mmhub)\S{0,20}\] (?:(?:no-)?retry )?page fault"),
    _entry("amd-init-fatal", "Fatal error during GPU init", r"Fatal error during GPU init"),
    _entry(
        "amd-smu-dead",
        "response:0xFFFFFFFF|Failed to send message",
        r"response:0xFFFFFFFF|Failed to send message 0x[0-9a-f]+, response 0x0\b",
    ),
    _entry(
        "amd-kfd-wedged",
        "unrecoverable state",
        r"[Tt]he cp might be in an unrecoverable state|MES might be in (?:an )?unrecoverable state",
    ),
    _entry(
        "neuron-hw-error",
        "NEURON_HW_ERR=",
        r"NEURON_HW_ERR=(?P<code>[A-Z_]{1,60})\b(?:.{0,200}?nd-id=(?P<unit>\d{1,4}))?"
        r"(?:.{0,200}?nc-id=(?P<core>\d{1,4}))?(?:.{0,200}?action=(?P<action>[\w-]{1,40}))?",
    ),
    _entry("neuron-ecc-unread", "sysfs failed to read ECC", r"sysfs failed to read ECC"),
    _entry(
        "driver-probe-failed",
        "mlx5_load_one failed|failed with error -",
        rf"mlx5_core (?P<device>{_BDF}): mlx5_load_one failed"
        rf"|(?:{_RDMA}: probe of (?P<device2>{_BDF})|(?P<device3>{_BDF}): probe with driver {_RDMA})"
        r" failed with error -\d+",
    ),
    _entry(
        "mlx5-command-timeout",
        "No done completion|Will cause a leak of a command",
        rf"mlx5_core (?P<device>{_BDF}): .{{0,120}}?(?P<code>[A-Z0-9_]{{3,40}})\(0x[0-9a-f]{{1,6}}\)"
        r".{0,60}(?:No done completion|timeout\. Will cause a leak of a command resource)",
    ),
    _entry("mlx5-slot-power", "insufficient power", r"Detected insufficient power on the PCIe slot"),
    _entry("mlx5-module-hot", "High Temperature", r"Port module event.{0,80}High Temperature"),
    _entry(
        "mlx5-health-bad",
        "mlx5_core",
        r"mlx5_core .{0,160}(?:device's health compromised|Fatal error \d+ detected"
        r"|Health issue observed, .{0,160}\) (?:EMERGENCY|ALERT|CRITICAL|ERROR)"
        r"|health recovery (?:failed|flow aborted)|PCI slot is unavailable)",
    ),
    _entry(
        "mlx5-health-issue",
        "Health issue observed",
        r"mlx5_core .{0,160}Health issue observed, .{0,160}\) (?:WARNING|NOTICE|INFO|DEBUG)",
    ),
    _entry("mlx5-recovered", "health recovery succeeded", r"mlx5_core .{0,160}health recovery succeeded"),
    _entry(
        "lost-carrier",
        "ink down|ink is Down",
        rf"{_RDMA} (?P<device>{_BDF}) (?P<code>[\w.-]{{1,15}}): (?:NIC )?Link (?:is )?[Dd]own",
    ),
    _entry("aer-fatal", "PCIe Bus Error", r"PCIe Bus Error: severity=Uncorrect(?:ed|able) \(Fatal"),
    _entry("aer-nonfatal", "PCIe Bus Error", r"PCIe Bus Error: severity=Uncorrect(?:ed|able) \(Non-Fatal"),
    _entry(
        "aer-corrected",
        "PCIe Bus Error",
        r"PCIe Bus Error: severity=Correct(?:ed|able)(?:, type=(?P<code>[A-Za-z ]{1,30}))?",
    ),
    _entry("aer-received-fatal", "rror received:|rror message received", _received(r"Uncorrect(?:ed|able) \(Fatal\)")),
    _entry(
        "aer-received-nonfatal",
        "rror received:|rror message received",
        _received(r"Uncorrect(?:ed|able) \(Non-Fatal\)"),
    ),
    _entry("aer-received-corrected", "rror received:|rror message received", _received("Correct(?:ed|able)")),
    _entry("aer-firmware-first", "aer_status: 0x", r"aer_status: (?P<code>0x[0-9a-f]{1,8}), aer_mask: 0x[0-9a-f]+"),
    _entry("aer-firmware-uncorrected", "aer_uncor_severity", r"aer_uncor_severity: 0x[0-9a-f]+"),
    _entry(
        "aer-apei",
        "PCIe error of",
        rf"\[Hardware Error\]: (?P<code>fatal|recoverable|corrected|info) PCIe error of (?P<device>{_BDF})",
    ),
    _entry("aer-recovery-failed", "evice recovery failed", r"[Dd]evice recovery failed"),
    _entry("aer-recovered", "evice recovery successful", r"[Dd]evice recovery successful"),
    _entry(
        "dpc",
        "DPC: containment event|Slot(",
        r"DPC: containment event|Slot\([^)]{0,20}\): (?:Link Down(?!/Up)|Card not present)",
    ),
    _entry("dpc-recovered", "Link Down/Up ignored", r"Slot\([^)]{0,20}\): Link Down/Up ignored"),
    _entry(
        "hung-task",
        "blocked for more than|blocked in I/O wait",
        r"task (?P<process>.{1,40}?):(?P<pid>\d{1,10}) blocked(?: in I/O wait)? for more than (?P<seconds>\d{1,6}) "
        r"seconds",
    ),
    _entry("soft-lockup", "soft lockup", r"soft lockup - CPU#(?P<code>\d{1,5}) stuck"),
    _entry("hard-lockup", "hard LOCKUP", r"hard LOCKUP on cpu (?P<code>\d{1,5})"),
    _entry(
        "rcu-stall",
        "self-detected stall on CPU|stalls on CPUs/tasks",
        r"INFO: (?P<code>rcu\w{0,20}) (?:self-detected stall on CPU|detected (?:expedited )?stalls on CPUs/tasks)",
    ),
    _entry(
        "kernel-oops",
        "Oops: |kernel BUG at|BUG: unable to handle",
        r"Oops: |kernel BUG at |BUG: unable to handle (?:kernel|page)",
    ),
    _entry(
        "oom",
        "oom-kill:constraint=",
        r"oom-kill:constraint=(?P<code>[A-Z_]{1,40})(?:.{0,400}?,task=(?P<process>[^,]{1,40}),pid=(?P<pid>\d{1,10}))?",
        "oom-kill:constraint={code},task={process},pid={pid}",
    ),
    _entry(
        "oom-killed",
        "Out of memory",
        r"Out of memory(?: \([a-z_]{1,40}\))?: Kill(?:ed)? process (?P<pid>\d{1,10}) \((?P<process>[^)]{1,40})\)",
        "Out of memory: Killed process {pid} ({process})",
    ),
    _entry(
        "oom-killed-in-container",
        "Memory cgroup out of memory",
        r"Memory cgroup out of memory: Kill(?:ed)? process (?P<pid>\d{1,10}) \((?P<process>[^)]{1,40})\)",
        "Memory cgroup out of memory: Killed process {pid} ({process})",
    ),
    _entry(
        "mce-ue",
        "Machine Check|Uncorrected, software|System Fatal error|Uncorrected hardware|_STATUS[|context corrupt",
        r"\[Hardware Error\]: (?:CPU (?P<code>\d{1,5}): Machine Check Exception(?!: [0-9a-fx]{1,18} Bank)"
        r"|Uncorrected, software|System Fatal error|Machine check: Processor context corrupt)"
        rf"|\bCPU (?P<code2>\d{{1,5}}): Machine Check(?: Exception| Event)?: [0-9a-fx]{{1,18}} Bank \d{{1,3}}: "
        rf"{_UNCORRECTED}"
        r"|\bCPU:(?P<code3>\d{1,5}) \(.{1,20}?\) MC\d{1,3}_STATUS\[(?:[^|\]]{0,8}\|UE\||(?:[^|\]]{0,8}\|){4}PCC\b)"
        r"|Uncorrected hardware memory error",
    ),
    _entry("memory-ue", "EDAC ", r"EDAC (?:\w{1,20} )?(?P<code>(?:MC|DEVICE)\d{1,4}): (?:\d{1,9} )?UE\b"),
    _entry(
        "memory-failure",
        "Memory failure: 0x",
        r"Memory failure: 0x[0-9a-f]{1,16}: (?:recovery action for|Sending SIGBUS|Killing)",
    ),
    _entry(
        "apei-section",
        "firmware's record of",
        r"\[Hardware Error\]: firmware's record of a (?P<code>fatal|recoverable) error: (?P<part>[\w /-]{1,40})",
    ),
    _entry(
        "apei-record",
        "event severity: ",
        r"\}\[Hardware Error\]: event severity: (?P<code>fatal|recoverable)",
    ),
    _entry(
        "ro-fs", "emounting filesystem read-only|forced readonly", r"emounting filesystem read-only|forced readonly"
    ),
    _entry(
        "fs-down",
        "XFS (|Aborting journal",
        r"XFS \((?P<code>[\w.-]{1,40})\): .{0,200}?(?:Filesystem has been shut down|Shutting down (?:the )?filesystem)"
        r"|Aborting journal on device (?P<code2>[\w.-]{1,40}?)\.?(?:\s|$)",
    ),
    _entry(
        "fs-error",
        "EXT4-fs error|EXT4-fs (|XFS (|BTRFS",
        r"EXT4-fs error \(device (?P<code>[\w.-]{1,40})\)|EXT4-fs \((?P<code2>[\w.-]{1,40})\): I/O error"
        r"|XFS \((?P<code3>[\w.-]{1,40})\): (?:[Mm]etadata I/O [Ee]rror|[Mm]etadata (?:CRC error|corruption) detected"
        r"|Corruption |Internal error|[Ll]og I/O [Ee]rror)"
        r"|BTRFS(?: critical|: error| error) \(device (?P<code4>[\w.-]{1,40})",
    ),
    _entry(
        "disk-error",
        "rror, dev |I/O error on dev|blk_update_request: I/O error",
        r"(?:I/O|critical medium|critical target|timeout|protection|recoverable transport|critical nexus) error, dev "
        rf"(?P<code>{_DISK})|\bI/O error on dev(?:ice)? (?P<code2>{_DISK})"
        "|blk_update_request: I/O error(?!, dev)",
    ),
    _entry(
        "nvme-dead",
        "nvme",
        r"(?P<code>nvme\d{1,4})\b.{0,60}(?:Disabling device after reset failure|I/O .{0,60}timeout, reset controller"
        r"|controller is down; will reset|Removing after probe failure)",
    ),
    _entry("kernel-panic", "Kernel panic", r"Kernel panic - not syncing"),
    _entry(
        "nccl-segv",
        "in libnccl",
        r"(?P<process>[^\s\[]{1,40})\[(?P<pid>\d{1,10})\]: segfault at .{1,160} in libnccl\.so",
    ),
)
_STEMS = sorted({stem for entry in _CATALOGUE for stem in entry.stems})
_BY_STEM: Dict[str, List[_Entry]] = {stem: [e for e in _CATALOGUE if stem in e.stems] for stem in _STEMS}
MARKS = (
    "NVRM: ",
    "SXid (",
    "nvidia-peermem",
    "amdgpu",
    "NEURON_HW_ERR=",
    "failed to read ECC",
    "mlx",
    "failed with error -",
    "ink down",
    "ink is Down",
    "Link Down",
    "PCIe Bus Error",
    "aer_",
    "[Hardware Error]",
    "evice recovery",
    "DPC: ",
    "Card not present",
    "insufficient power",
    "High Temperature",
    "blocked for more than",
    "blocked in I/O wait",
    "rror received:",
    "rror message received",
    "soft lockup",
    "hard LOCKUP",
    "stall on CPU",
    "stalls on CPUs",
    "Oops: ",
    "kernel BUG at",
    "unable to handle",
    "oom-kill:",
    "ut of memory",
    "Machine Check",
    "Uncorrected hardware",
    "EDAC ",
    "Memory failure: ",
    "emounting filesystem",
    "forced readonly",
    "XFS (",
    "EXT4-fs ",
    "BTRFS",
    "Aborting journal",
    "rror, dev ",
    "I/O error on dev",
    "blk_update_request: ",
    "nvme",
    "Kernel panic",
    "in libnccl",
)
"""One of these stands in every line of the catalogue: few, for a long log is searched for each of them."""
_NONE_OF = re.compile(r"\bno (?:un)?correctable hardware errors")
_BEFORE = re.compile(rf"(?:\S{{1,40}} )?(?P<device>{_BDF})[: ]")
_OF_XID = re.compile(
    r"NVRM: Xid \([^)]*\): \d+(?:, pid=(?P<pid>'?<unknown>'?|\d{1,10}))?"
    r"(?:, name=(?P<process>.{0,80}?)(?=, (?:Ch [0-9a-fA-F]{2,8}\b|[A-Z])|$))?(?:,\s*(?P<rest>.*))?"
)
_NVLINK5 = re.compile(
    r"(?P<unit>[A-Z0-9_/]{2,40})\s+(?P<severity>Nonfatal|Fatal)\s+(?P<context>XC[01])\s+i\d+\s+Link\s+(?P<link>-?\d{1,4})\s+"
    r"\((?P<words>[0-9a-fx ]{3,120})\)"
)
_OPEN = re.compile(r"(NVRM: Xid \([^)]{1,40}\): \d{1,40})\r?$")
_ACTION = re.compile(
    r"ecovery action changed from \S+ \([^)]*\) to (?P<value>0x[0-9a-fA-F]{1,4}) \((?P<action>[^)]{1,40})\)"
)
_LINK = re.compile(r"\b[Ll]ink\s+(?P<link>-?\d{1,4})\b")


XID_HEAD = re.compile(r"NVRM: Xid \([^)]{1,40}\): (\d{1,40}…?)")


def xid_share(code: str) -> Tuple[bool, str]:
    """What an Xid shares the room with: others of its code, or of codes that are none."""
    return code in _OF_JOBS, f"xid {code if len(code) <= _XID_DIGITS else 'other'}"


def open_ended(text: str) -> str:
    """A line with which its file ends, and which has no end: of a number there nobody knows whether it goes on."""
    return _OPEN.sub(r"\1…", text)


def telling(text: str) -> Optional[Line]:
    """The line of the catalogue that this text, without its stamp, is; None for any other."""
    if not any(mark in text for mark in MARKS) or _NONE_OF.search(text):
        return None
    for stem, entries in _BY_STEM.items():
        if stem in text:
            for entry in entries:
                found = entry.pattern.search(text)
                if found:
                    return _line(entry, found, text)
    return None


def _line(entry: _Entry, found: "re.Match[str]", text: str) -> Optional[Line]:
    groups = {name.rstrip("234"): value for name, value in found.groupdict().items() if value is not None}
    if groups.pop("errors", "1").strip("0") == "":
        return None  # a total of none
    groups.pop("seconds", None)
    code = groups.get("code", "")
    if entry.kind in ("xid", "sxid") and len(code.rstrip("…")) > _MOST_DIGITS:
        groups["code"] = f"{code[:_MOST_DIGITS]}…"
    before = _BEFORE.match(text)
    if "device" not in groups and before:
        groups["device"] = before["device"]
    if entry.kind == "xid":
        groups.update(_of_xid(text))
    kept = text[:LONGEST] if entry.kept is None else _template(entry.kept, groups)
    return Line(entry.kind, groups, kept)


def _of_xid(text: str) -> Dict[str, str]:
    """What an Xid says beside its code: of a process, of an NVLink, of a recovery action."""
    found = _OF_XID.search(text)
    if not found:
        return {}
    told = {name: value for name, value in found.groupdict().items() if value and name != "rest"}
    if "unknown" in told.get("pid", ""):
        del told["pid"]
    rest = found["rest"] or ""
    for pattern in (_NVLINK5, _ACTION, _LINK):
        more = pattern.search(rest)
        if more:
            told.update(more.groupdict())
            break
    if "words" in told:
        told["status"] = _status(told.pop("words"))
    if "link" in told:
        told["link"] = str(int(told["link"]))
    return told


def _status(words: str) -> str:
    """The status word of an NVLink 5 event: the second one."""
    parts = words.split()
    return f"0x{int(parts[1], 16):x}" if len(parts) > 1 and re.fullmatch("0x[0-9a-f]{1,16}", parts[1]) else ""


def _template(kept: str, groups: Dict[str, str]) -> str:
    """The template's parts of which the line says something."""
    return ",".join(part.format(**groups) for part in kept.split(",") if re.findall(r"{(\w+)}", part)[0] in groups)
