"""Variables of NCCL, RCCL, UCX and libfabric that make jobs slow, or let them go on with something slower."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raxl.checks import P1, Case, Verdict, check, evidence, fail, ok, skip, unread, warn
from raxl.checks.ports import is_rdma, ports
from raxl.checks.variables import reading, value
from raxl.checks.words import listed
from raxl.model.facts import NOT_READ
from raxl.model.finding import QUICK
from raxl.model.machine import NcclLog

_NCCL_ENV = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
_WHERE = "look where it is set: the image's ENV, the service of the raylet, /etc/nccl.conf, ~/.nccl.conf"
_SWITCHES = {
    "NCCL_P2P_DISABLE": "accelerators of a node reach each other through the host's memory",
    "NCCL_SHM_DISABLE": "processes of a node talk over the network",
    "NCCL_IB_DISABLE": "nodes talk over TCP sockets",
    "CUDA_LAUNCH_BLOCKING": "every kernel launch waits for its end",
    "HIP_LAUNCH_BLOCKING": "every kernel launch waits for its end",
}
"""What is switched off by each, where it is 1."""
_MODIFY_QP = re.compile(r"ibv_modify_qp.* failed with (?:error )?.*(?:110|timed out)", re.IGNORECASE)


def _is_on(text: str | None) -> bool:
    return (text or "").strip().lower() in ("1", "y", "yes", "true")


@check(
    "lib.bad-env",
    "No variable for debugging is set for all jobs",
    P1,
    QUICK,
    "config",
    reference=_NCCL_ENV,
)
def bad_env(case: Case) -> Iterator[Verdict]:
    """A switch that helped to find a fault once, and that stays in an image, takes most of the speed from every job.

    Read: the environment of the process that asks (under Ray that of the raylet), or a file of variables, or what the
    log of NCCL had set. It warns for NCCL_P2P_DISABLE, NCCL_SHM_DISABLE, NCCL_IB_DISABLE, CUDA_LAUNCH_BLOCKING and
    HIP_LAUNCH_BLOCKING, where they are 1 and the node has what they switch off.

    Not to be confused: it may be set on purpose, as NCCL_P2P_DISABLE on boards without peer access. Suppress it in the
    policy file then, with the reason.
    """
    told = {name: reading(case, name) for name in _SWITCHES}
    first = next(iter(told.values()))
    if not first.known:
        yield unread("node", "the environment", first)
        return
    set_ = [name for name, one in told.items() if _is_on(one.value) and _has(case, name)]
    for name in set_:
        yield warn(
            name,
            f"{name}={told[name].value}: {_SWITCHES[name]}",
            evidence(told[name], f"{name}={told[name].value}"),
            remedy=f"unset {name}; {_WHERE}",
            remedy_class="config",
        )
    if not set_:
        yield ok("node", f"none of {listed(list(_SWITCHES))} is set", evidence(first, "unset"))


def _has(case: Case, name: str) -> bool:
    """Whether the node has what the variable switches off; whoever gave variables alone is told too."""
    nothing_known = not case.node.accelerators and not case.node.nics and case.node.looked_for.pci_functions is None
    if name == "NCCL_IB_DISABLE":
        return nothing_known or any(is_rdma(nic) for nic in case.node.nics)
    if name in ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"):
        return nothing_known or len(case.node.accelerators) > 1
    return True


@check("env.cross-nic", "NCCL keeps to its rail where rails are apart", P1, QUICK, "config", reference=_NCCL_ENV)
def cross_nic(case: Case) -> Iterator[Verdict]:
    """On a rail-only fabric an adapter reaches those of its own number alone, and a queue pair to another times out.

    Read: NCCL_CROSS_NIC, and the log of NCCL. It warns where the log has ibv_modify_qp end with error 110 and
    NCCL_CROSS_NIC is not 0. Without such a line it says the value: that rails are apart is not to be seen from a node.
    See NVIDIA/nccl #2013. A wrong entry of the GID table gives the same error: see roce.gid first.
    """
    told = reading(case, "NCCL_CROSS_NIC")
    log = case.facts.logs.get("nccl", NOT_READ)
    said: NcclLog | None = log.value if log.known else None
    line = next((text for text in (said.warnings if said else ()) if _MODIFY_QP.search(text)), None)
    if line is not None and (told.value or "").strip() != "0":
        yield warn(
            "NCCL_CROSS_NIC",
            f"queue pairs time out (error 110) and NCCL_CROSS_NIC is {told.value or 'unset'}: are the rails apart?",
            evidence(log, line),
            remedy="set NCCL_CROSS_NIC=0 on a rail-only fabric; else see roce.gid",
            remedy_class="config",
        )
    elif told.value is not None:
        yield ok("NCCL_CROSS_NIC", f"NCCL_CROSS_NIC={told.value}", evidence(told))
    elif not told.known:
        yield unread("NCCL_CROSS_NIC", "the environment", told)
    else:
        yield skip("NCCL_CROSS_NIC", "NCCL_CROSS_NIC is unset, and no log has a queue pair time out")


@check(
    "env.ucx",
    "UCX may use what joins the GPUs",
    P1,
    QUICK,
    "config",
    reference="https://github.com/ai-dynamo/nixl/issues/1110",
)
def ucx(case: Case) -> Iterator[Verdict]:
    """A list of transports that leaves out cuda_ipc sends what goes between the GPUs of a node through the host.

    Read: UCX_TLS. It fails where it excludes cuda_ipc (`^cuda_ipc`) on a node with several NVIDIA GPUs, and warns where
    it lists transports and neither cuda_ipc nor cuda nor all is among them. See ai-dynamo/nixl #1110.

    Not to be confused: for a job within one GPU, or between nodes alone, the list may be meant so.
    """
    told = reading(case, "UCX_TLS")
    if not told.known:
        yield unread("UCX_TLS", "the environment", told)
        return
    text = (told.value or "").strip()
    names = [name.strip() for name in text.removeprefix("^").split(",")]
    gpus = [one for one in case.node.accelerators if one.vendor == "nvidia"]
    shown = evidence(told, f"UCX_TLS={text}")
    if not text:
        yield skip("UCX_TLS", "UCX_TLS is unset: UCX chooses")
    elif len(gpus) < 2 and case.node.looked_for.pci_functions is not None:
        yield skip("UCX_TLS", f"UCX_TLS={text}, and the node has fewer than two NVIDIA GPUs")
    elif text.startswith("^") and {"cuda_ipc", "cuda"}.intersection(names):
        words = f"UCX_TLS={text} keeps UCX from the links between GPUs: data goes through the host"
        yield fail("UCX_TLS", words, shown, remedy=f"unset UCX_TLS; {_WHERE}", remedy_class="config")
    elif not text.startswith("^") and not {"cuda_ipc", "cuda", "all"}.intersection(names):
        words = f"UCX_TLS={text} has no cuda_ipc: data between the GPUs of this node goes through the host"
        yield warn(
            "UCX_TLS", words, shown, remedy="add cuda_ipc and cuda_copy to UCX_TLS, or unset it", remedy_class="config"
        )
    else:
        yield ok("UCX_TLS", f"UCX_TLS={text}", shown)


@check("env.nccl-net", "NCCL is told which network it has to use", P1, QUICK, "config", reference=_NCCL_ENV)
def nccl_net(case: Case) -> Iterator[Verdict]:
    """Where a plug-in does not load and NCCL_NET is unset, NCCL goes on over sockets and says so in its log alone.

    Read: NCCL_NET and NCCL_NET_PLUGIN, the RDMA adapters, and the log of NCCL. It warns where NCCL_NET is Socket on a
    node with RDMA adapters, where NCCL_NET_PLUGIN is none on a node with EFA, and where it is unset and the log shows
    sockets in use though a plug-in was tried. Unset without such a log is the usual case, and named.
    """
    told = reading(case, "NCCL_NET")
    if not told.known:
        yield unread("NCCL_NET", "the environment", told)
        return
    text, plugin = (told.value or "").strip(), (value(case, "NCCL_NET_PLUGIN") or "").strip()
    rdma = listed([port.nic.id for port in ports(case)], 4)
    log = case.facts.logs.get("nccl", NOT_READ)
    said: NcclLog | None = log.value if log.known else None
    fell_back = (
        said is not None and said.network == "Socket" and [one for one in said.refusals if "No device" not in one]
    )
    shown = evidence(told, f"NCCL_NET={text}" if text else "unset")
    has_efa = any(nic.kind == "efa" for nic in case.node.nics)
    name = "'AWS Libfabric'" if has_efa else "the plug-in's name"
    if text.lower() == "socket" and rdma:
        words = f"NCCL_NET=Socket keeps NCCL from {rdma}"
        yield warn("NCCL_NET", words, shown, remedy=f"unset NCCL_NET; {_WHERE}", remedy_class="config")
    elif has_efa and plugin.lower() == "none":
        words = f"NCCL_NET_PLUGIN=none keeps NCCL from EFA ({rdma})"
        yield warn("NCCL_NET", words, shown, remedy=f"unset NCCL_NET_PLUGIN; {_WHERE}", remedy_class="config")
    elif fell_back and not text:
        words = f"NCCL_NET is unset, and NCCL went on over sockets in silence: {listed(list(fell_back), 2)}"
        remedy = f"set NCCL_NET={name}, so that NCCL ends where it does not load"
        yield warn("NCCL_NET", words, evidence(log, listed(list(fell_back), 2)), remedy=remedy, remedy_class="config")
    elif text:
        yield ok("NCCL_NET", f"NCCL_NET={text}", shown)
    elif rdma:
        words = f"NCCL_NET is unset: should {rdma} not serve, NCCL goes on over sockets without an error"
        yield ok("NCCL_NET", words, shown)
    else:
        yield skip("NCCL_NET", "NCCL_NET is unset, and no RDMA adapter is known here")
