"""What the debug logs of NCCL, RCCL and UCX say was really used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from raxl.checks import P1, Case, Verdict, check, evidence, fail, ok, skip, unknown, warn
from raxl.checks.ports import ports
from raxl.checks.words import listed
from raxl.model.facts import Reading
from raxl.model.finding import FAIL, QUICK, WARN
from raxl.model.machine import NcclLog, UcxLog
from raxl.model.problem import NOT_ASKED


class _Known(NamedTuple):
    """A warning whose cause is known."""

    name: str
    pattern: re.Pattern[str]
    status: str
    meaning: str
    remedy: str
    remedy_class: str


_SHM = "docker: --shm-size=16g (or --ipc=host); Kubernetes and KubeRay: an emptyDir with medium Memory at /dev/shm"
_MEMLOCK = "set LimitMEMLOCK=infinity for the service that starts the raylet, or --ulimit memlock=-1 for its container"
_KNOWN = (
    _Known(
        "shm",
        re.compile(r"Error while creating shared memory segment"),
        FAIL,
        "shared memory is full or too small",
        f"df -h /dev/shm; {_SHM}",
        "config",
    ),
    _Known(
        "no-interface",
        re.compile(r"[Nn]o socket interface found"),
        FAIL,
        "no network device fits NCCL_SOCKET_IFNAME",
        "ip -br addr; set NCCL_SOCKET_IFNAME to a device that is there, or unset it (see net.iface)",
        "config",
    ),
    _Known(
        "unreachable",
        re.compile(r"ibv_modify_qp.* failed with (?:error )?.*(?:110|timed out)", re.IGNORECASE),
        FAIL,
        "the other side's RDMA address was not reached",
        "see roce.gid for NCCL_IB_GID_INDEX; on a rail-only fabric set NCCL_CROSS_NIC=0; try ib_write_bw",
        "config",
    ),
    _Known(
        "memlock",
        re.compile(r"ibv_reg_mr\w* failed with (?:error )?.*(?:Cannot allocate memory|12\b)"),
        FAIL,
        "memory could not be locked for RDMA",
        f"cat /proc/PID/limits of the raylet; {_MEMLOCK}",
        "config",
    ),
    _Known(
        "iommu",
        re.compile(r"iommu=pt", re.IGNORECASE),
        WARN,
        "the kernel was started without iommu=pt, and peer traffic may go through the host",
        "add iommu=pt to the kernel's command line and reboot after a drain (see kernel.cmdline)",
        "reboot",
    ),
    _Known(
        "peer-closed",
        re.compile(r"Connection closed by remote peer|Connection refused|connection reset", re.IGNORECASE),
        WARN,
        "another rank went away first: its log has the cause",
        "look at the log of the rank that it names, and for its process's end (kernel log, Ray's dashboard)",
        "app",
    ),
)
_ANY = _Known("", re.compile(""), WARN, "NCCL warns", "read the lines before it in the log of the same rank", "app")


def _judged(reading: Reading, text: str, count: int) -> Verdict:
    known = next((one for one in _KNOWN if one.pattern.search(text)), _ANY)
    times = f" ({count} times)" if count > 1 else ""
    made = fail if known.status == FAIL else warn
    return made(
        "nccl",
        f"{known.meaning}{times}: {text[:160]}",
        evidence(reading, text),
        remedy=known.remedy,
        remedy_class=known.remedy_class,
        count=count,
        root=known.name or text[:80],
    )


@check(
    "lib.nccl-log",
    "NCCL used the network that the node has",
    P1,
    QUICK,
    "config",
    reference="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
)
def nccl_log(case: Case) -> Iterator[Verdict]:
    """NCCL falls back to TCP sockets without an error, and a job then runs at a tenth of its speed.

    Read: a debug log of NCCL or RCCL (`--from LOG`, written with NCCL_DEBUG=INFO): the network plug-in that was really
    used, libfabric's provider, the network devices, GPU Direct RDMA by adapter, and its warnings. It warns where
    sockets were used though the node has RDMA adapters or a plug-in refused its service, and where GPU Direct RDMA is
    disabled. It fails for warnings that end jobs: no network device, shared memory, locked memory, unreachable
    addresses.

    Not to be confused: a line `Using [0]…` lists candidates; which of them carried data the channels say.
    """
    reading = case.facts.logs.get("nccl")
    if reading is None or not reading.known:
        yield skip("nccl", "no debug log of NCCL was given")
        return
    log: NcclLog = reading.value
    fallback = _fallen_back(case, log, reading)
    disabled = [name for name, enabled in log.direct.items() if not enabled]
    if fallback is not None:
        yield fallback
    if disabled:
        words = f"GPU Direct RDMA is disabled for {listed(disabled)}: the host copies what goes between nodes"
        remedy = "see gdr.path and gdr.nccl for what is missing; NCCL_NET_GDR_LEVEL may forbid it"
        yield warn("nccl", words, evidence(reading, words), remedy=remedy, remedy_class="config", root="gdr")
    for text, count in log.warnings.items():
        yield _judged(reading, text, count)
    if fallback is None and not disabled and not log.warnings:
        if log.network or log.ways:
            yield ok("nccl", _used(log), evidence(reading, _used(log)))
        else:
            yield unknown("nccl", NOT_ASKED, "the log does not say which network NCCL used: the lines are not in it")


def _used(log: NcclLog) -> str:
    """What was used, in one sentence."""
    told = [f"{log.library} {log.version}"] if log.version else [log.library]
    if log.network:
        told.append(f"network {log.network}{f' (provider {log.provider})' if log.provider else ''}")
    if log.interfaces:
        told.append("sockets by " + listed([f"{name} ({address})" for name, address in log.interfaces.items()], 4))
    if log.direct:
        told.append(f"GPU Direct RDMA for {listed(list(log.direct), 4)}")
    ways = listed([f"{count} × {way}" for way, count in log.ways.items()], 4)
    return ", ".join([*told, *([f"channels {ways}"] if ways else [])])


def _fallen_back(case: Case, log: NcclLog, reading: Reading) -> Verdict | None:
    """Sockets where there is something better, or where something better did not load."""
    if log.network != "Socket" and not any(way.startswith("NET/Socket") for way in log.ways):
        return None
    refusals = [one for one in log.refusals if "No device found" not in one]
    rdma = [port.nic.id for port in ports(case)]
    disabled = log.variables.get("NCCL_IB_DISABLE") == "1"
    local = [name for name, address in log.interfaces.items() if address.startswith("169.254.")]
    if not refusals and not rdma and not local:
        return None
    why = listed(refusals, 2) if refusals else f"the node has {listed(rdma, 4)}" if rdma else ""
    also = f"; {listed(local)} is link-local and reaches no other node" if local else ""
    words = f"NCCL used TCP sockets: {why or 'it chose them'}{' and NCCL_IB_DISABLE=1' if disabled else ''}{also}"
    remedy = (
        "unset NCCL_IB_DISABLE; look into the container for /dev/infiniband and the plug-in (ldd libnccl-net.so); set "
        "NCCL_NET to the plug-in's name, so that NCCL ends instead of going on without it"
    )
    if local and not refusals and not rdma:
        remedy = f"set NCCL_SOCKET_IFNAME=^lo,docker,{','.join(local)}"
    return warn("nccl", words, evidence(reading, words), remedy=remedy, remedy_class="config", root="socket")


@check(
    "lib.ucx-log",
    "UCX used the transports that the node has",
    P1,
    QUICK,
    "config",
    reference="https://openucx.readthedocs.io/en/master/faq.html",
)
def ucx_log(case: Case) -> Iterator[Verdict]:
    """UCX leaves out a transport that it cannot use, and goes on with a slower one.

    Read: a log of UCX (UCX_LOG_LEVEL=info) or the output of `ucx_info -e`: what carries data within the node and
    between nodes, and its warnings. It fails where RDMA is switched off because too little memory may be locked, and
    where no transport can be used; it warns for other warnings and errors, and where only TCP goes between nodes though
    the node has RDMA adapters.
    """
    reading = case.facts.logs.get("ucx")
    if reading is None or not reading.known:
        yield skip("ucx", "no log of UCX was given")
        return
    log: UcxLog = reading.value
    for text, count in log.warnings.items():
        yield _complaint(reading, text, count)
    only_tcp = bool(log.inter) and all(one.startswith("tcp/") for one in log.inter)
    if only_tcp and ports(case):
        devices = listed([one.nic.id for one in ports(case)], 4)
        words = f"UCX uses {listed(list(log.inter))} between nodes, and the node has {devices}"
        remedy = "ucx_info -d lists what it can use; look at UCX_TLS, UCX_NET_DEVICES and /dev/infiniband"
        yield warn("ucx", words, evidence(reading, words), remedy=remedy, remedy_class="config", root="tcp")
    elif not log.warnings:
        told = [f"UCX {log.version}"] if log.version else ["UCX"]
        told += [f"within the node {listed(list(log.intra), 6)}"] if log.intra else []
        told += [f"between nodes {listed(list(log.inter), 6)}"] if log.inter else []
        if len(told) > 1:
            yield ok("ucx", ", ".join(told), evidence(reading, ", ".join(told)))
        else:
            yield unknown("ucx", NOT_ASKED, f"the log of {told[0]} does not say which transports it used")


def _complaint(reading: Reading, text: str, count: int) -> Verdict:
    times = f" ({count} times)" if count > 1 else ""
    if "max locked memory" in text:
        words = f"UCX has switched RDMA off, because too little memory may be locked{times}: {text[:160]}"
        return fail(
            "ucx", words, evidence(reading, text), remedy=_MEMLOCK, remedy_class="config", count=count, root="memlock"
        )
    rest = text.partition(" ")[2]
    is_without = re.search(r"not available|no usable|not supported|unused (?:env|environment)", rest)
    meaning = "a transport or device that was asked for is not there" if is_without else "UCX warns"
    made = fail if "no usable" in rest else warn
    return made(
        "ucx",
        f"{meaning}{times}: {rest[:160]}",
        evidence(reading, text),
        remedy="ucx_info -d lists transports and devices; correct UCX_TLS and UCX_NET_DEVICES",
        remedy_class="config" if is_without else "app",
        count=count,
        root=rest[:80],
    )
