"""The libraries in the Python that Ray runs in, held against the driver and against the other nodes'."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from raxl.checks import P0, P1, Case, Fleet, Verdict, absent, check, fail, ok, skip, unknown, unread, warn
from raxl.checks.ray_cluster import not_asked, only
from raxl.checks.raylets import silence, unheard, versions
from raxl.checks.words import listed
from raxl.model.cluster import DEAD
from raxl.model.finding import ROOT, STANDARD, Evidence
from raxl.model.problem import NOT_ASKED

_RUNTIME = re.compile(r"nvidia-cuda-runtime(-cu\d+)?")
_NCCL = re.compile(r"nvidia-nccl(-cu\d+)?")
_BUILT = re.compile(r"\+cu(\d{2})(\d)$")
_COLLECTIVES = re.compile(
    r"nvidia-nccl(-cu\d+)?|nixl(-cu\d+)?|libucx-cu\d+|ucx-py-cu\d+|ucxx-cu\d+|libfabric|nvidia-nvshmem-cu\d+"
)
_SHARED = ("libnccl", "librccl", "libucp", "libfabric")
_COMPATIBLE = "cuda-compat"


@check(
    "lib.cuda-driver",
    "The driver is new enough for the CUDA in Ray's Python",
    P0,
    STANDARD,
    "config",
    vantage=ROOT,
    reference="https://docs.nvidia.com/deploy/cuda-compatibility/",
)
def cuda_driver(case: Case) -> Iterator[Verdict]:
    """A CUDA runtime of a later major version than its driver's does not start.

    Read: the driver's CUDA version (NVML), and the runtime in the Python that Ray runs in, by the names that its wheels
    leave (`nvidia-cuda-runtime-cu12`, `torch …+cu128`). It fails where the runtime's major version is the later one. A
    later minor version is well: CUDA's minor version compatibility, but for code that is compiled from PTX.

    Not to be confused: NVIDIA's forward compatibility package lifts that on data-centre GPUs. A runtime that a job
    brings in its own environment, or a system's, is not seen.
    """
    if (why := unheard(case) or absent(case, "nvidia")) is not None:
        yield why
        return
    driver = next((one for one in case.node.software if one.name == "cuda"), None)
    reading = versions(case)
    runtimes = _runtimes(reading.value["packages"]) if reading.known else {}
    if not reading.known:
        yield _unread(case, "which CUDA lies in Ray's Python")
    elif not runtimes:
        yield skip("node", "no CUDA lies in the Python that was looked at")
    elif driver is None:
        yield unknown("node", NOT_ASKED, "which CUDA the driver supports was not read")
    else:
        for name, version in runtimes.items():
            yield _held(
                name,
                version,
                driver.version,
                (Evidence(driver.evidence, f"CUDA {driver.version}"), Evidence(reading.source, f"{name} {version}")),
            )


def _runtimes(packages: Mapping[str, str]) -> dict[str, str]:
    """By package, its CUDA version: of the runtime's own wheel, else of what PyTorch was built with."""
    found = {name: version for name, version in packages.items() if _RUNTIME.fullmatch(name)}
    built = _BUILT.search(packages.get("torch", ""))
    return found or ({"torch": f"{built[1]}.{built[2]}"} if built else {})


def _held(name: str, version: str, driver: str, told: tuple[Evidence, ...]) -> Verdict:
    runtime, known = _numbers(version), _numbers(driver)
    if not runtime or not known:
        return unknown(name, NOT_ASKED, f"CUDA {version} and {driver} cannot be compared", *told)
    words = f"{name} is CUDA {version}, the driver's is {driver}"
    if runtime[0] > known[0]:
        step = (
            f"nvidia-smi shows the driver's; drain the node and install a driver for CUDA {runtime[0]}, or a build for "
            f"the driver's CUDA; on a data-centre GPU {_COMPATIBLE}-{runtime[0]}-* serves too"
        )
        return fail(name, words, *told, remedy=step, remedy_class="config")
    if runtime[:2] > known[:2]:
        return ok(name, f"{words}: well by minor version compatibility, but for PTX", *told)
    return ok(name, words, *told)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part[:9]) for part in re.findall(r"\d+", version)[:3])


def _unread(case: Case, what: str) -> Verdict:
    """Nobody looked where the machine gave a file of another tool's alone; then there is nothing to be missed."""
    reading = versions(case)
    if reading.reason == NOT_ASKED and case.ray is None:
        return skip("node", f"{what} was not asked", NOT_ASKED)
    return unread("node", what, reading)


@check(
    "lib.collectives",
    "All nodes have the same NCCL, UCX and NIXL",
    P0,
    STANDARD,
    "config",
    reference="https://github.com/ray-project/ray/issues/50511",
    is_of_fleet=True,
)
def collectives(fleet: Fleet) -> Iterator[Verdict]:
    """Mixed versions of NCCL do not talk to each other, and a fabric whose plug-in is missing falls back to TCP.

    Read: of each node the versions of NCCL, RCCL, NIXL, UCX and libfabric in the Python that Ray runs in and in the
    system's folders, the first that the loader would find; and whether NCCL's plug-in for EFA is installed. It fails
    where nodes with the same accelerators differ, and warns where an EFA node has no plug-in.

    Not to be confused: copies that are linked into another library, and what LD_LIBRARY_PATH or a job's own
    environment puts before these, are not seen.
    """
    faults = 0
    for case in fleet:
        if (fault := _without_plug_in(case)) is not None:
            faults += 1
            yield fault
    groups: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
    for case in fleet:
        reading = versions(case)
        if not reading.known or silence(case) is not None or (case.ray is not None and case.ray.state == DEAD):
            continue
        models = tuple(sorted({f"{device.vendor} {device.model}" for device in case.node.accelerators}))
        if models:
            groups.setdefault(models, {})[case.node.name] = collected(reading.value)
    for nodes in groups.values():
        for fault in _differences(nodes):
            faults += 1
            yield fault
    if not groups:
        yield _no_groups(fleet)
    elif not faults:
        yield _alike(fleet, groups)


def _no_groups(fleet: Fleet) -> Verdict:
    """Why nothing could be compared: nobody looked, or nobody has accelerators."""
    if fleet and all(case.node.has_none for case in fleet):
        return not_asked(fleet, "no node has accelerators")
    words = "which libraries lie in the nodes' Pythons was not asked"
    return (
        unknown("cluster", NOT_ASKED, words) if any(case.ray for case in fleet) else not_asked(fleet, words, NOT_ASKED)
    )


def collected(told: Mapping[str, Any]) -> dict[str, str]:
    """The versions of what collectives and transfers go through, by name."""
    found = {name: version for name, version in told["packages"].items() if _COLLECTIVES.fullmatch(name)}
    shared = {name: several[0] for name, several in told["libraries"].items() if name in _SHARED and several}
    return {**found, **shared}


def _differences(nodes: Mapping[str, Mapping[str, str]]) -> Iterator[Verdict]:
    for name in sorted({name for own in nodes.values() for name in own}):
        held: dict[str, list[str]] = {}
        for node, own in nodes.items():
            held.setdefault(own.get(name, "none"), []).append(node)
        versions = {version for version in held if version != "none"}
        if len(versions) > 1:
            words = ", ".join(f"{version} on {listed(sorted(held[version]), 4)}" for version in sorted(versions))
            step = f"drain the nodes of one side, install one {name} in their environments and restart their raylets"
            told = [
                Evidence("dist-info", f"{node}: {name} {own.get(name, 'none')}")
                for node, own in sorted(nodes.items())[:16]
            ]
            yield fail(
                name, f"{name} differs between nodes of one kind: {words}", *told, remedy=step, remedy_class="config"
            )


def _without_plug_in(case: Case) -> Verdict | None:
    reading = versions(case)
    if not reading.known or not any(nic.kind == "efa" for nic in case.node.nics) or not case.node.accelerators:
        return None
    if case.node.accelerators[0].vendor != "nvidia" or any("nccl-net" in name for name in reading.value["libraries"]):
        return None
    words = "the node has EFA and no NCCL plug-in for it in the usual folders: NCCL falls back to TCP"
    step = "ls /opt/amazon/ofi-nccl/lib*; install aws-ofi-nccl (the EFA installer does), in the container too; no drain"
    told = Evidence("/opt/amazon/ofi-nccl", "no libnccl-net*.so")
    return warn("node", words, told, remedy=step, remedy_class="config", node=case.node.name)


def _alike(fleet: Fleet, groups: Mapping[tuple[str, ...], Mapping[str, Mapping[str, str]]]) -> Verdict:
    own = {
        f"{name} {version}" for nodes in groups.values() for found in nodes.values() for name, version in found.items()
    }
    count = sum(map(len, groups.values()))
    what = listed(sorted(own)) if own else "no library of collectives"
    return ok("node" if only(fleet) else "cluster", f"{what} on {count} of {len(fleet)} nodes", node=only(fleet))


@check(
    "lib.known-bad",
    "No library here is known to fail on this hardware",
    P1,
    STANDARD,
    "config",
    vantage=ROOT,
    reference="https://github.com/NVIDIA/nccl/issues/2186",
)
def known_bad(case: Case) -> Iterator[Verdict]:
    """Versions that are known to crash on some hardware.

    Read: the version of NCCL in the Python that Ray runs in and in the system's folders, and the models of GPUs. It
    warns for NCCL 2.27.5 on GB200 and GB300: with 44 ranks and more it ends in a segmentation fault (nccl #2186).

    Not to be confused: the same version on other GPUs, and jobs of fewer ranks, are well.
    """
    if (why := unheard(case) or absent(case, "nvidia")) is not None:
        yield why
        return
    reading = versions(case)
    if not reading.known:
        yield _unread(case, "which NCCL lies in Ray's Python")
        return
    nccl = {name: version for name, version in reading.value["packages"].items() if _NCCL.fullmatch(name)}
    nccl.update({f"libnccl {version}": version for version in reading.value["libraries"].get("libnccl", ())})
    grace = [device.model for device in case.node.accelerators if device.model and re.search("GB[23]00", device.model)]
    bad = [name for name, version in nccl.items() if grace and version.startswith("2.27.5")]
    for name in bad:
        words = f"NCCL {nccl[name]} ends in a segmentation fault on {grace[0]} with 44 ranks and more"
        step = "pip list shows it; drain the node, install a later NCCL in Ray's environment, restart its raylet"
        yield warn(name, words, Evidence(reading.source, f"{name} {nccl[name]}"), remedy=step, remedy_class="config")
    if not nccl:
        yield skip("node", "no NCCL lies in the Python that was looked at")
    elif not bad:
        names = [name if version in name else f"{name} {version}" for name, version in nccl.items()]
        yield ok("node", f"nothing is known against {listed(names)}")
