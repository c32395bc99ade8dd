"""NVIDIA's Xids: what each means, what a single one makes of a GPU, and what to do. Data.

Facts: NVIDIA's Xid catalogue (https://docs.nvidia.com/deploy/xid-errors) and its guide on GPU memory errors.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """One Xid."""

    verdict: str
    """`info`, `warn`, `fail`; what an action that is no remedy says counts for more."""
    action: str
    """What to do first: a word of `remedies.ACTIONS`, `decode` (an event of NVLink 5) or `follow_field` (154)."""
    meaning: str


_TABLE = """
8 | warn | restart_app | a channel sat idle past its limit; the GPU dropped the work
11 25 32 | warn | check_app | the command stream handed to the GPU was malformed or damaged
13 | info | check_app | a compute/graphics engine raised an exception; usually an out-of-bounds or illegal
    instruction in user code
31 | info | check_app | a GPU virtual address had no valid mapping (illegal memory access by the job)
37 | info | watch | front-end firmware got a request it does not implement
38 | warn | watch | front-end scheduler firmware watchdog fired
39-41 70-72 75-77 85 126-135 | warn | restart_app | copy (DMA) engine fault; only the owning job is lost
43 | info | check_app | the GPU stopped work on one channel after the job faulted; the device stays usable
44 | warn | watch | engine fault while switching contexts
45 | info | follow_root | channels torn down as clean-up after another fault or a killed job
46 | fail | reset_gpu | the GPU did not answer within the driver time limit
48 | fail | reset_gpu | uncorrectable ECC error; companions (63/64, 94/95, 171/172) tell how far it spread
54 | fail | check_power | an auxiliary power lead of the board is missing or loose
60 | warn | restart_app | security/video microprocessor exception
61 | fail | reset_gpu | power-management microcontroller stopped at a breakpoint (older drivers)
62 | fail | reset_gpu | power-management microcontroller halted
63 | warn | reset_when_idle | a bad row/page was recorded for remapping or retirement; takes effect at the next reset
64 | fail | rma | recording a row/page replacement failed (no spare left, or table write failed)
65 | warn | watch | video encoder engine fault
66 | info | watch | the driver touched a register the firmware guards
67 | info | watch | the driver touched a register the firmware guards
68 | warn | restart_app | video decoder exception
69 | warn | check_app | engine class or method misuse
74 | fail | reset_gpu | NVLink error on a pre-Blackwell GPU; the hex words name the link and sub-unit
78 | fail | update_sw | vGPU guest could not start: host/guest driver or licence mismatch
79 | fail | reboot_node | the GPU no longer answers on PCIe
80 | warn | check_app | checksum of data fetched by the GPU did not match
82 99-105 | warn | restart_app | JPEG engine fault
83-84 88-89 96-98 | warn | restart_app | video decoder engine fault
86 139 | warn | restart_app | optical-flow engine fault
92 | warn | watch | single-bit ECC errors arrive faster than expected
93 | info | watch | InfoROM write-wear budget exceeded (not fatal)
94 | warn | restart_app | an uncorrectable error hit one application and was contained to it
95 | fail | reset_gpu | an uncorrectable error could not be contained; every client of the GPU is suspect
106-107 | info | ignore | management-bus test message
108 | info | watch | remote NVLink address translation failed
109 | warn | reset_gpu | context switch timed out
110 | fail | reset_gpu | security fault inside the GPU
119 | fail | reset_gpu | GPU system processor (GSP) did not answer a driver call in time
120 | fail | reset_gpu | GPU system processor (GSP) error or halt
121 | info | watch | corrected error on the chip-to-chip (CPU-GPU) link
122-124 | warn | support | board flash access by the power controller failed
125 | warn | support | InfoROM file-system error
136 | fail | reset_gpu | NVLink training did not complete
137 | info | check_app | access to a peer over NVLink had no permission or mapping (usually a peer job died or an
    illegal access)
140 | fail | reset_gpu | uncorrectable ECC error outside the normal recovery path
141 | info | watch | CUDA fast-path channel error
142 | warn | support | video encoder engine fault
143 | fail | reset_gpu | GPU initialisation failed
144-150 | warn | decode | an event of the NVLink 5 unit; the line says how severe it is
151 | fail | restart_vm | confidential-computing key rotation failed
152-153 | info | watch | deep-learning-accelerator block fault (integrated parts)
154 | follow_field | follow_field | the driver changed its recommended recovery action for the GPU; the text names it
155 | fail | reset_gpu | software-declared NVLink fault (often an operator or manager took the link down)
156 | warn | reset_when_idle | a GPU resource was marked for retirement; applied at reset
157 | fail | support | retiring a GPU resource failed
158 | fail | reset_gpu | fatal time-out inside the GPU
159 | warn | follow_root | coherent-fabric (CHI) non-data error, normally a companion of another fault
160 | info | watch | a channel was retired
161 | info | watch | a channel could not be retired
162 | info | ignore | power-smoothing hardware engaged again
163 | warn | watch | power-smoothing hardware disengaged
164 | warn | watch | power-smoothing hardware is near its service life
165 | warn | support | power-smoothing hardware reached its service life
166 | warn | reset_gpu | NVLink traffic seen before encryption was set up (confidential computing)
167 | fail | reboot_node | fatal PCIe time-out
168 | warn | watch | usable GPU memory was reduced because of errors in a protected region
169 | fail | reset_gpu | security microcontroller halted
170 | warn | watch | unexpected NVLink interrupt in confidential mode
171 | info | follow_root | detail for 48: the uncorrectable error was in DRAM
172 | fail | reset_gpu | detail for 48: the uncorrectable error was in SRAM
"""
"""Codes | verdict | action | meaning. An indented line goes on with the one before."""


def told(table: str) -> dict[str, list[str]]:
    """By code, the other columns of a table whose first column names codes: `39-41 70 | …`."""
    rows: dict[str, list[str]] = {}
    for line in table.replace("\n    ", " ").strip().splitlines():
        codes, *columns = line.split(" | ")
        for part in codes.split():
            first, _, last = part.partition("-")
            rows.update((str(code), columns) for code in range(int(first), int(last or first) + 1))
    return rows


XIDS = {code: Code(*columns) for code, columns in told(_TABLE).items()}
APPLICATION = frozenset(("8", "11", "13", "25", "31", "32", "43", "45", "69", "80", "141"))
"""Codes for which the job, not the node, is at fault."""
BREADTH = frozenset(("13", "31"))
"""Those of them that accuse the GPU all the same once several jobs meet them."""
UNUSED = frozenset(told("1-7 9-10 12 14-24 26-30 33-36 42 47 49-53 55-59 73 81 87 90-91 111-118 138"))
"""Codes that Ampere and newer do not raise."""
LEGACY = {
    "16": "display",
    "18": "bus-master time-out",
    "19": "display",
    "26": "framebuffer state time-out",
    "42": "video",
    "47": "video encoder",
    "56": "display",
    "57": "memory link training",
    "58": "memory error",
    "59": "power controller",
    "73": "video encoder",
    "81": "VGA subsystem",
    "87": "telemetry",
    "90": "cache",
}
"""What some of them meant on Volta and older."""
_ORDER = "79 167 158 119 120 143 64 48 172 140 95 94 171 74 144 145 146 147 148 149 150 155"
_ORDER += " 136 62 169 110 46 109 31 13 69 32 68 43 45 154"
ROOTS = tuple(_ORDER.split())
"""Of several codes of one GPU within seconds the leftmost is the cause, the others its companions."""
RESET_STATUS = {
    "SAW_MVB": ("0x2", "0x10"),
    "RLW_REMAP": ("0x40", "0x80"),
    "RLW_RSPCOL": ("0x2",),
    "RLW_SRC_TRACK": ("0x1", "0x10", "0x20"),
    "RLW_TAGSTATE": ("0x2", "0x20000", "0x100000"),
    "TLW_CTRL": ("0x4",),
    "TLW_RX_PIPE0": ("0x4",),
    "TLW_RX_PIPE1": ("0x4",),
    "TLW_TX_PIPE0": ("0x4",),
    "TLW_TX_PIPE1": ("0x4",),
    "NETIR_INT": ("any",),
    "NETIR_MFDE_EVENT": ("0x1", "0x4", "0x5", "0x7"),
    "MSE_WATCHDOG": ("any",),
}
"""By unit of NVLink 5, the status words of events that are called nonfatal and ask for a reset all the same."""
EVAL_STATUS = {
    "RLW_REMAP": ("0x1", "0x2", "0x4", "0x8", "0x10", "0x20"),
    "RLW_SRC_TRACK": ("0x4", "0x8"),
    "NETIR_LINK_DOWN": ("any",),
}
"""The same for events of which only the recovery action (Xid 154) says whether they do."""
RECOVERY = {
    "0x0": ("ok", "ignore"),
    "0x1": ("fail", "reset_gpu"),
    "0x2": ("fail", "reboot_node"),
    "0x3": ("warn", "drain"),
    "0x4": ("fail", "drain_reset"),
    "0x5": ("fail", "support"),
    "0x6": ("fail", "reset_gpu"),
    "0x7": ("fail", "reboot_node"),
}
"""By the value of the driver's recovery action (Xid 154, drivers from 570 on), status and action."""
