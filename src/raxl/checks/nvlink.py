"""NVLinks of NVIDIA's GPUs: are those up that the board has, do they count errors, may the GPUs reach each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from raxl.checks import P0, P1, Case, Verdict, absent, check, evidence, fail, ok, skip, unknown, warn
from raxl.checks.devices import Seen, by_model, concluded, counted, name, seen
from raxl.checks.nvidia import NVML, VENDOR
from raxl.checks.words import listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import Reading
from raxl.model.finding import STANDARD, UNKNOWN
from raxl.model.problem import FAILED, NOT_ASKED

_UP = ("up", "sleeping")
_RESET = (
    "read `nvidia-smi nvlink -s` and `dmesg | grep -e Xid -e SXid`; drain the node, restart nvidia-fabricmanager where "
    "the node has NVSwitches, reset all GPUs, else reboot; the same link again: have the GPU or its bridge replaced"
)


@check(
    "nvlink.down",
    "The NVLinks that the board has are up",
    P0,
    STANDARD,
    "reset",
    reference="https://github.com/NVIDIA/NVSentinel/pull/1481",
)
def down(case: Case) -> Iterator[Verdict]:
    """Whether each GPU has as many NVLinks up as the board joins.

    Read: the state of each link, and what is at its other end. It fails where a GPU has fewer links up than the node's
    others of its model, and where a link is down of a GPU whose links lead to NVSwitches, which join all of them. It
    warns where a GPU has no link up and others of its model are joined by bridges.

    Not to be confused: PCIe cards without a bridge tell all their links as down (skip), and so do cards without NVLink.
    Links that are down on all GPUs of a model alike are not wired on that board. A sleeping link is up. MIG mode hides
    the links (skip).
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found = seen(case, VENDOR, "nvlinks", "the state of the NVLinks")
    with_links = found.where(lambda _, own: bool(own.value))
    open_ = found.where(lambda _, own: any(link["state"] is None for link in own.value))
    missing = [*found.missing, *(_unread(device, own) for device, own in open_)]
    if found.known and not with_links:
        yield skip("node", f"{counted([device for device, _ in found.known])}: no NVLinks")
        yield from found.missing
        return
    readable = {device.id: (device, own) for device, own in with_links if (device, own) not in open_}
    joined = [device for device, own in readable.values() if _ups(own)]
    if readable and not joined and not _has_switch(case, readable):
        yield skip("node", f"{counted([d for d, _ in readable.values()])}: all NVLinks are down, no bridge is fitted")
        yield from missing
        return
    is_blind = any(one.status == UNKNOWN for one in missing)
    faults = list(_faults(case, readable, is_blind))
    words = _described([own for _, own in readable.values()])
    yield from concluded(Seen(list(readable.values()), missing), faults, words, _shown)


def _unread(device: Accelerator, own: Reading) -> Verdict:
    links = [str(number) for number, link in enumerate(own.value) if link["state"] is None]
    return unknown(device.id, FAILED, f"the state of NVLinks {', '.join(links)} of {name(device)} could not be read")


def _ups(own: Reading) -> int:
    return sum(link["state"] in _UP for link in own.value)


def _has_switch(case: Case, readable: Mapping[str, tuple[Accelerator, Reading]]) -> bool:
    """Whether the GPUs are joined by NVSwitches, which leave no link unused."""
    if any(one.kind == "nvswitch" for one in case.node.switches):
        return True
    return any(link["remote"] == "switch" for _, own in readable.values() for link in own.value)


def _faults(case: Case, readable: Mapping[str, tuple[Accelerator, Reading]], is_blind: bool) -> Iterator[Verdict]:
    """`is_blind`: whether a peer's links could not be read, so that nothing tells which links the board joins."""
    is_switched = _has_switch(case, readable)
    for group in _groups([device for device, _ in readable.values()]):
        most = max(_ups(readable[one.id][1]) for one in group)
        for device in group:
            own = readable[device.id][1]
            up, dark = _ups(own), [n for n, link in enumerate(own.value) if link["state"] not in _UP]
            expected = len(own.value) if is_switched else most
            if up >= expected and not (dark and is_blind):
                continue
            numbers = listed([str(number) for number in dark], 18)
            told = evidence(own, f"{up} of {len(own.value)} up, down: {numbers}")
            if up >= expected:
                words = f"{numbers} of {name(device)} are down, and those of its peers could not all be read"
                yield unknown(device.id, FAILED, f"whether NVLinks are wired on this board: {words}", told)
            elif not up and not is_switched:
                message = f"{name(device)} has no NVLink up, others of its model have {most}: no bridge?"
                remedy = "look whether a bridge is fitted and sits; suppress this where it is meant so"
                yield warn(device.id, message, told, remedy=remedy, remedy_class="vendor", root="bridge")
            else:
                message = f"{name(device)} has {up} of {expected} NVLinks up: link {numbers} is down"
                yield fail(device.id, message, told, remedy=_RESET, remedy_class="reset", root=numbers)


def _groups(devices: Sequence[Accelerator]) -> list[list[Accelerator]]:
    """Those of one model; those of none by themselves."""
    grouped = list(by_model(devices).values())
    return [*grouped, *([one] for one in devices if not one.model)]


def _described(links: Sequence[Reading]) -> str:
    counts = Counter(_ups(own) for own in links)
    up = " or ".join(str(count) for count in sorted(counts, reverse=True))
    unwired = any(len(own.value) > _ups(own) for own in links)
    return f"{up} NVLinks up" + (", the others are not wired on this board" if unwired else "")


def _shown(own: Reading) -> str:
    return f"{_ups(own)} of {len(own.value)} up"


@check("nvlink.errors", "NVLinks count no errors that never occur", P1, STANDARD, "reset", reference=NVML)
def errors(case: Case) -> Iterator[Verdict]:
    """Whether NVLinks lose what they carry.

    Read: the error counters of each link. It fails for counts above 0 of what a sound link never has: malformed
    packets, overrun buffers, recoveries that failed (NVLink 5; DCGM). Replays, recoveries and checksum errors are told
    without a verdict: they count since the driver was loaded, and a rate takes two readings under load.

    Not to be confused: newer parts do not tell the old counters. A link that carried nothing counts nothing.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found, faults = seen(case, VENDOR, "nvlink_errors", "the error counters of the NVLinks"), []
    with_counters = found.where(lambda _, own: any(own.value))
    if found.known and not with_counters:
        yield skip("node", f"{counted([device for device, _ in found.known])}: no NVLink counters")
        yield from found.missing
        return
    for device, own in with_counters:
        bad = [
            f"link {number}: {counts[what]} {words}"
            for number, counts in enumerate(own.value)
            for what, words in _NEVER.items()
            if counts.get(what)
        ]
        if bad:
            message = f"{name(device)}: {listed(bad, 4)}"
            told = evidence(own, "; ".join(bad[:18]))
            faults.append(fail(device.id, message, told, remedy=_RESET, remedy_class="reset"))
    others = Counter[str]()
    for _, own in with_counters:
        for counts in own.value:
            others.update({what: count for what, count in counts.items() if what not in _NEVER and count})
    told_ = listed([f"{count} {what}" for what, count in others.items()])
    words = f"since the driver was loaded: {told_}" if told_ else "no errors since the driver was loaded"
    yield from concluded(found._replace(known=with_counters), faults, words, lambda own: f"{len(own.value)} links")


_NEVER = {"malformed": "malformed packets", "overrun": "buffer overruns", "recovery_failed": "failed recoveries"}


@check("nvidia.p2p", "GPUs that can reach each other may", P1, STANDARD, "config", reference=NVML)
def peers(case: Case) -> Iterator[Verdict]:
    """Whether the driver lets GPUs read and write each other's memory.

    Read: the driver's peer status of each pair. It warns for a pair that may not, where other pairs that are joined in
    the same way may, and names what forbids it.

    Not to be confused: consumer cards, virtual machines and MIG mode forbid it for all pairs, which is told and is no
    fault; so do two sockets between cards that are joined by PCIe.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found = seen(case, VENDOR, "peers", "whether GPUs may reach each other")
    indexes = {device.index: device for device, _ in found.known}
    classes = {frozenset((link.a, link.b)): link.link_class for link in case.node.links}
    groups: dict[str | None, dict[tuple[str, str], tuple[Reading, str]]] = {}
    for device, own in found.known:
        for other, word in own.value.items():
            if other in indexes and device.id < indexes[other].id:
                pair = (device.id, indexes[other].id)
                groups.setdefault(classes.get(frozenset(pair)), {})[pair] = (own, word)
    if found.known and not groups:
        yield skip("node", f"{counted([device for device, _ in found.known])}: no pair")
        yield from found.missing
        return
    faults = [told for pairs in groups.values() for told in _forbidden(pairs)]
    yield from faults
    count, asked = len(found.known) * (len(found.known) - 1) // 2, sum(map(len, groups.values()))
    if asked < count:
        yield unknown("node", NOT_ASKED, f"{count - asked} of {count} pairs: the driver was not asked, or did not say")
    yield from found.missing
    if groups and not faults:
        words = Counter(word for pairs in groups.values() for _, word in pairs.values())
        own = next(own for pairs in groups.values() for own, _ in pairs.values())
        said = listed([f"{count} pairs: {word}" for word, count in words.items()])
        yield ok("node", f"peer access alike among pairs that are joined alike ({said})", evidence(own, said))


def _forbidden(pairs: Mapping[tuple[str, str], tuple[Reading, str]]) -> Iterator[Verdict]:
    """The pairs that may not where others of their sort may."""
    if not any(word == "ok" for _, word in pairs.values()):
        return
    for (a, b), (own, word) in pairs.items():
        if word != "ok":
            message = f"{a} and {b} may not reach each other: {word}; other pairs of that link class may"
            remedy = (
                "`nvidia-smi topo -p2p r` and `-p2p w`; look for `NVreg_RegistryDwords` and ACS on the bridges between"
            )
            yield warn(f"{a}-{b}", message, evidence(own, word), remedy=remedy, remedy_class="config", root=word)
