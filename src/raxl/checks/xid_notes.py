"""What is said of NVIDIA's Xids elsewhere: the vendor's bucket, where public tools contradict it, when one weighs more.

Facts: NVIDIA's Xid catalogue as of 2025-10; leptonai/gpud, NVIDIA/DCGM and NVIDIA/k8s-device-plugin.
"""

from __future__ import annotations

from raxl.checks.xid_codes import told

_VENDOR = """
8 | RESTART_APP/CONTACT_SUPPORT
11 25 32 | RESTART_APP/CHECK_APP/CUDA
13 | RESTART_APP/WORKFLOW_XID_13
31 | RESTART_APP/WORKFLOW_XID_31
37 | IGNORE/CHECK_APP/CUDA
38 | IGNORE/CONTACT_SUPPORT
39-41 70-72 75-77 85 126-135 | RESTART_APP/CONTACT_SUPPORT
43 | IGNORE/CONTACT_SUPPORT
44 | IGNORE/CONTACT_SUPPORT
45 | WORKFLOW_XID_45/Solo: RESTART_FM else IGNORE
46 | RESET_GPU/CONTACT_SUPPORT
48 | WORKFLOW_XID_48
54 | CHECK_MECHANICALS/CONTACT_SUPPORT
60 | RESTART_APP/INVESTIGATE_SW
61 | CONTACT_SUPPORT
62 | RESET_GPU/CONTACT_SUPPORT
63 | IGNORE
64 | RESET_GPU/CONTACT_SUPPORT
65 | CONTACT_SUPPORT
66 | IGNORE/INVESTIGATE_SW
67 | IGNORE/CONTACT_SUPPORT
68 | RESTART_APP/CONTACT_SUPPORT
69 | RESTART_APP/CHECK_APP/CUDA
74 | WORKFLOW_NVLINK_ERR/CONTACT_SUPPORT
78 | UPDATE_SWFW
79 | RESTART_BM/CONTACT_SUPPORT
80 | RESTART_APP/CHECK_APP/CUDA
82 99-105 | RESTART_APP/CONTACT_SUPPORT
83-84 88-89 96-98 | RESTART_APP/CONTACT_SUPPORT
86 139 | RESTART_APP/CONTACT_SUPPORT
92 | IGNORE/CONTACT_SUPPORT
93 | IGNORE/CONTACT_SUPPORT
94 | RESTART_APP/IGNORE (sympathetic)
95 | RESET_GPU/IGNORE (sympathetic)
106-107 | IGNORE
108 | IGNORE/XID_137_FLOW
109 | RESET_GPU/CONTACT_SUPPORT
110 | RESET_GPU/INVESTIGATE_SW
119 | RESET_GPU/INVESTIGATE_SW
120 | RESET_GPU/INVESTIGATE_SW
121 | IGNORE/CONTACT_SUPPORT
122-124 | CONTACT_SUPPORT
125 | CONTACT_SUPPORT
136 | RESET_GPU/INVESTIGATE_LINK_SI
137 | IGNORE/XID_137_FLOW
140 | RESET_GPU/CONTACT_SUPPORT
141 | IGNORE/CONTACT_SUPPORT
142 | CONTACT_SUPPORT
143 | RESET_GPU/CONTACT_SUPPORT
144-150 | WORKFLOW_NVLINK5_ERR
151 | RESTART_VM/CONTACT_SUPPORT
152-153 | IGNORE/CONTACT_SUPPORT
154 | XID_154/none
155 | RESET_GPU/INVESTIGATE_SW_USER
156 | RESET_GPU/IGNORE
157 | IGNORE/CONTACT_SUPPORT
158 | RESET_GPU/CONTACT_SUPPORT
159 | CHECK_UVM/SYMPATHETIC_REPORT_SOLO
160 | IGNORE/INVESTIGATE_SW
161 | IGNORE/INVESTIGATE_SW
"""
_CONFLICT = """
38 | gpud: fatal+reboot; DCGM labels it a PCIe error; the vendor catalogue says no immediate action
43 | never a node fault alone; some monitors mark the device unhealthy
44 | gpud: fatal+reboot; catalogue: no immediate action, support if it repeats
54 | DCGM files it as a power-state change
60 | gpud: fatal+reboot
63 | catalogue: ignore; gpud: fatal+reboot; some scripts fail the node. Decide from the remap-pending flag instead
65 | unused in the current catalogue; gpud: fatal+reboot
68 | k8s device plugin ignores it; gpud: fatal+reboot
69 | gpud: fatal+reboot; catalogue: restart the app
94 | catalogue: restart the app; gpud: fatal+reboot; k8s device plugin takes the GPU out until restarted
109 | catalogue: reset; k8s device plugin treats as application error
121 | gpud: fatal+reboot; catalogue: ignore
"""
_ESCALATE = """
11 25 32 | other Xids on the GPU, or several unrelated jobs: suspect bus or host memory
13 | same GPU across at least 3 distinct pids/jobs, or always the same GPC/TPC/SM in the message: warn, run an
    active memory/compute test
31 | same GPU across at least 3 distinct jobs that pass elsewhere: warn, run active test
39-41 70-72 75-77 85 126-135 | recurs on the same GPU across jobs: drain, support
45 | alone AND many processes die on an NVSwitch node: look at the fabric manager; if management calls then hang:
    nvidia.hang
79 | again after reboot: cold power cycle, reseat, then rma; config space reads all ones
92 | rising with remapped rows: drain, field diagnostic
94 | remap pending: reset when idle
119 | recurs: drain, update driver/firmware; often precedes hung management calls
120 | as 119
136 | same link again: signal-integrity inspection
143 | again after reboot: rma
"""
VENDOR = {code: columns[0] for code, columns in told(_VENDOR).items()}
"""The catalogue's immediate and investigatory action."""
CONFLICT = {code: columns[0] for code, columns in told(_CONFLICT).items()}
"""Who judges it in another way."""
ESCALATE = {code: columns[0] for code, columns in told(_ESCALATE).items()}
"""What makes more of it."""
