"""How AMD GPUs are joined and divided: XGMI and partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import mode

from raxl.checks import P1, Case, Verdict, absent, check, expected, fail, ok, skip, unknown, warn
from raxl.checks.amd_gpus import driven, own, read_of
from raxl.checks.pcie_hops import unread_together
from raxl.checks.words import counted, listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import Reading
from raxl.model.finding import QUICK, STANDARD, Evidence
from raxl.model.problem import UNREAD

_XGMI = (
    "amd-smi xgmi -l shows each link; drain the node, power-cycle it cold (30 s off), and have the module reseated or "
    "replaced where the link stays down"
)
_PARTITION = (
    "amd-smi set -g all --compute-partition MODE (and --memory-partition) while nothing runs: the driver restarts"
)


@check("amd.xgmi", "Every AMD GPU of a hive has all its XGMI links", P1, STANDARD, "vendor")
def xgmi(case: Case) -> Iterator[Verdict]:
    """XGMI joins the GPUs of a hive; one link less makes collectives take a detour, or fail.

    Read: KFD's links and hives, and AMD SMI's state of each link. It fails where a GPU of a hive has fewer neighbours
    than the others of it, or a link that is down while those of others are up. `xgmi_error` is not read: reading
    clears it.

    Not to be confused: bridges between PCIe cards are optional, so that a card without any is well; links that are
    switched off, or down on all GPUs alike, are not wired.
    """
    if (verdict := absent(case, "amd")) is not None:
        yield verdict
        return
    neighbours = Counter(id for link in case.node.links if link.kind == "xgmi" for id in (link.a, link.b))
    hives = _hives(case)
    if not hives and not neighbours:
        told = next((one for one in case.node.problems if one.subject == "links" and one.reason in UNREAD), None)
        if told is not None:
            yield unknown("node", told.reason, f"which GPUs XGMI joins: {told.message}")
        else:
            yield skip("node", "no two GPUs here are joined by XGMI")
        return
    faults = [*_fewer(hives, neighbours), *_down(own(case)), *_outside(own(case), hives)]
    yield from faults
    if not faults:
        sizes = listed([counted(len(members), "GPU") for members in hives.values()])
        yield ok("node", f"XGMI joins {sizes}, each of them with as many as the others")


def _hives(case: Case) -> dict[str, list[Accelerator]]:
    """The GPUs of each hive; where no hive is named, those that links join, however far."""
    hives: dict[str, list[Accelerator]] = {}
    for device in own(case):
        if device.fabric and device.fabric.domain:
            hives.setdefault(device.fabric.domain, []).append(device)
    if hives:
        return hives
    group = {device.id: device.id for device in own(case)}
    for link in case.node.links:
        if link.kind == "xgmi" and link.a in group and link.b in group:
            kept, gone = group[link.a], group[link.b]
            group = {id: kept if name == gone else name for id, name in group.items()}
    for device in own(case):
        hives.setdefault(group[device.id], []).append(device)
    return {name: members for name, members in hives.items() if len(members) > 1}


def _fewer(hives: dict[str, list[Accelerator]], neighbours: Counter[str]) -> Iterator[Verdict]:
    for members in hives.values():
        counts = [neighbours[one.id] for one in members]
        usual = mode(counts)
        # A lost link takes a neighbour from both of its ends.
        for device, count in zip(members, counts, strict=True):
            if count < usual:
                words = f"{device.id} has {count} XGMI neighbours, the other GPUs of its hive {usual}"
                shown = Evidence("kfd", f"{count} of {usual}")
                yield fail(device.id, words, shown, remedy=_XGMI, remedy_class="vendor", expected=f"{usual}: its hive")


def _down(devices: Sequence[Accelerator]) -> Iterator[Verdict]:
    down = {one.id: one.attributes.get("xgmi_links_down") for one in devices}
    counts = [count for count in down.values() if isinstance(count, int)]
    least = min(counts, default=0)
    for id, count in down.items():
        if isinstance(count, int) and count > least:
            words = f"{id} has {count} XGMI links down, other GPUs here {least}"
            yield fail(id, words, Evidence("amdsmi", str(count)), remedy=_XGMI, remedy_class="vendor")


def _outside(devices: Sequence[Accelerator], hives: dict[str, list[Accelerator]]) -> Iterator[Verdict]:
    """More than four are joined by a base board, which leaves none out: bridges join four cards at most."""
    largest = max(hives.values(), key=len, default=[])
    models = {one.model for one in largest}
    for device in devices:
        if len(largest) > 4 and device not in largest and device.model in models:
            words = f"{device.id} is not in the hive of the other {len(largest)} GPUs of its model"
            yield fail(device.id, words, Evidence("kfd", "no hive"), remedy=_XGMI, remedy_class="vendor")


@check("amd.partition", "All AMD GPUs of a node are partitioned alike", P1, QUICK, "config")
def partition(case: Case) -> Iterator[Verdict]:
    """Compute and memory partitions make several GPUs of one: ROCm and Ray then count each part.

    Read: `current_compute_partition`, `current_memory_partition`. It fails where GPUs of one node differ, and warns
    where they differ from what the policy expects (`compute_partition`, `memory_partition`).

    Not to be confused: cards without partitions have no such files.
    """
    if (verdict := absent(case, "amd")) is not None:
        yield verdict
        return
    modes: dict[str, str] = {}
    silent: dict[str, Reading] = {}
    for device in driven(case):
        compute, memory = (_mode(case, device, name) for name in ("compute_partition", "memory_partition"))
        if compute.known:
            modes[device.id] = f"{compute.value}/{memory.value}" if memory.known else str(compute.value)
        else:
            silent[device.id] = compute
    usual = mode(modes.values()) if modes else None
    odd = [f"{id} is {one}" for id, one in modes.items() if one != usual]
    told_by = (expected.field(case, name) for name in ("compute_partition", "memory_partition"))
    wanted = [one for one in told_by if one is not None]
    told = [Evidence("current_compute_partition", f"{id}: {one}") for id, one in list(modes.items())[:16]]
    if odd:
        words = f"GPUs are partitioned differently: {listed(odd)}, the others {usual}"
        yield fail("node", words, *told, remedy=_PARTITION, remedy_class="config")
    elif usual is not None and not set(wanted) <= set(usual.split("/")):
        words = f"{len(modes)} GPUs are partitioned {usual}, the policy expects {'/'.join(wanted)}"
        yield warn("node", words, *told, remedy=_PARTITION, remedy_class="config", expected="the policy")
    elif usual is not None:
        yield ok("node", f"{counted(len(modes), 'GPU')} partitioned {usual}")
    yield from unread_together(case, silent, "the partition")
    if not modes and not silent:
        yield skip("node", "no GPU here is driven by amdgpu")


def _mode(case: Case, device: Accelerator, name: str) -> Reading:
    own_reading = read_of(case, device, name)
    told = device.attributes.get(name)
    return own_reading if own_reading.known or told is None else Reading(told, listed(list(device.evidence)))
