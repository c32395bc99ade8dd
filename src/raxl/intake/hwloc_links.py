"""Scale-up links between accelerators in hwloc XML: the matrices `NVLinkBandwidth` and `XGMIBandwidth`.

hwloc's documentation, "Distances": megabytes per second in one direction, all links of a pair together; 0 where no link
joins the two, and a large made-up value for a device and itself.
"""

from __future__ import annotations

from itertools import combinations

from raxl.intake.hwloc_gpus import accelerator_vendor, runtime_index, vendor_of
from raxl.intake.hwloc_matrix import Matrix
from raxl.intake.hwloc_objects import HwlocObject
from raxl.intake.hwloc_pci import FORM, PciTree
from raxl.model import nominal
from raxl.model.link import fabric_class
from raxl.model.problem import DISAGREEMENT, Problem
from raxl.model.report import LinkClaim

_KINDS = {"NVLinkBandwidth": "nvlink", "XGMIBandwidth": "xgmi"}
_MEGA = 10**6
_LARGEST = 10**8
"""Megabytes per second that no pair reaches."""


def links(
    matrices: tuple[Matrix, ...], tree: PciTree, switches: frozenset[str]
) -> tuple[tuple[LinkClaim, ...], tuple[Problem, ...]]:
    """The links of all matrices, each pair once."""
    found: dict[frozenset[str], LinkClaim] = {}
    problems: list[Problem] = []
    for matrix in matrices:
        kind = _KINDS.get(matrix.name)
        if kind is None:
            continue
        names = [_name(thing, tree) for thing in matrix.objects]
        gpus = [(place, name) for place, name in enumerate(names) if name is not None]
        ports = [place for place, thing in enumerate(matrix.objects) if thing is not None and thing.address in switches]
        for (here, a), (there, b) in combinations(gpus, 2):
            forth, back = matrix.values[here][there], matrix.values[there][here]
            if not forth and not back and ports:
                forth = back = _through_switches(matrix, ports, here, there)
            if a == b or not (forth or back) or frozenset((a, b)) in found:
                continue
            found[frozenset((a, b))] = _claim(a, b, kind, forth if forth == back else None, tree)
            if forth != back:
                message = f"{matrix.name} is {forth} MB/s from {a} to {b} and {back} MB/s back"
                problems.append(Problem("links", DISAGREEMENT, message, (FORM,)))
    return tuple(found.values()), tuple(problems)


def _name(thing: HwlocObject | None, tree: PciTree) -> str | None:
    """The name by which a claim knows an accelerator; None for a switch, a processor, what is not in the document."""
    if thing is None or thing.type not in ("OSDev", "PCIDev"):
        return None
    function = tree.above(thing)
    if function is not None:
        return function.address if accelerator_vendor(function) else None
    vendor, index = vendor_of(thing, tree), runtime_index(thing)
    return f"{vendor}#{index}" if vendor and index is not None else None


def _through_switches(matrix: Matrix, ports: list[int], here: int, there: int) -> int:
    """The smaller of two devices' totals to all NVSwitches.

    A board's GPUs may see other switch chips than the next board's, and the matrix does not show the links between
    chips. hwloc says to take them for one (`HWLOC_DISTANCES_TRANSFORM_MERGE_SWITCH_PORTS`).
    """
    return min(sum(matrix.values[place][port] for port in ports) for place in (here, there))


def _claim(a: str, b: str, kind: str, rate: int | None, tree: PciTree) -> LinkClaim:
    known = rate if rate is not None and rate < _LARGEST else None
    count = _count(known, a, b, tree) if kind == "nvlink" else None
    return LinkClaim(
        a=a,
        b=b,
        link_class=fabric_class(kind, count),
        kind=kind,
        count=count,
        bandwidth_bytes_per_second=known * _MEGA if known is not None else None,
        bandwidth_source="reported" if known is not None else None,
        evidence=FORM,
    )


def _count(rate: int | None, a: str, b: str, tree: PciTree) -> int | None:
    """The number of NVLinks in a bandwidth; None where the generation's rate is not known or does not divide it.

    hwloc counts links and multiplies by a constant of the generation (`topology-nvml.c`: 20000 for NVLink 1, 25000 for
    2 to 4), so for those the division undoes it. For XGMI it states one constant for any pair, or what the driver
    reports (`topology-rsmi.c`), and nothing tells the count.
    """
    ends = [tree.functions[name].device_id for name in (a, b) if name in tree.functions]
    rates = {nominal.nvlink_bytes_per_second(end) for end in ends}
    one = rates.pop() if len(rates) == 1 and len(ends) == 2 else None
    if one is None or rate is None or rate * _MEGA % one:
        return None
    return rate * _MEGA // one
