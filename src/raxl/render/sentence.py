"""The last line: a sentence that could be read out on a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from raxl.model.accelerator import Accelerator
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.model.problem import DISAGREEMENT, NOT_ASKED, UNREAD, Problem
from raxl.render.naming import counted, kind_name, model_name
from raxl.render.quantity import listed
from raxl.render.unknown import ACCELERATORS, Gap, ray_advice

_MOST_TYPES = 5
_WORST_FIRST = ("lost", "degraded", "down", "unknown")


def none_found(nodes: Sequence[Node], of: int = 1) -> str:
    """The sentence where there is no accelerator, with what was searched; `of` so many nodes where some were not read.

    Of a node that did not answer it says why, and where nobody looked that nobody did.
    """
    if len(nodes) == 1 and (refused := unread(nodes[0])):
        return f"Not read: {clean(refused.message).rstrip('.')}."
    looked = [node for node in nodes if _is_searched(node)]
    unasked = len(nodes) - len(looked)
    if unasked and not looked:
        return "Not asked: nothing that was read tells whether there are accelerators."
    where = "this node" if len(nodes) == of == 1 else counted(len(looked), "node")
    read = all(node.looked_for.pci_functions is not None and _refused(node) is None for node in looked)
    found = "No accelerators on" if read else "No accelerators found on"
    rest = [f"{counted(unasked, 'node')}: not asked."] if unasked else []
    return " ".join([f"{found} {where}.", *dict.fromkeys(_searched(node) for node in looked), *rest]).rstrip()


def unread(node: Node) -> Problem | None:
    """Why a node did not answer at all; None for one that did, or of which another source tells."""
    if node.accelerators:
        return None
    return next((one for one in node.problems if one.subject == "node" and one.reason in UNREAD), None)


def of_all(nodes: Sequence[Node]) -> str:
    """The sentence of several nodes, or of one: what those that answered hold, and how many did not."""
    read = [node for node in nodes if unread(node) is None]
    found = [accelerator for node in read for accelerator in node.accelerators]
    if len(nodes) > 1 and not read:
        return "No node could be read."
    told = models_counted(found, len(read)) if found else none_found(read or nodes, len(nodes))
    silent = len(nodes) - len(read)
    return told + (f" {silent} of {len(nodes)} nodes could not be read." if silent and len(nodes) > 1 else "")


def _is_searched(node: Node) -> bool:
    """Whether anybody looked for accelerators there, or was refused."""
    said = any(one.subject in ("node", "pci_tree", ACCELERATORS) for one in node.problems)
    return said or bool(node.looked_for.places) or node.looked_for.pci_functions is not None


def _searched(node: Node) -> str:
    """`Looked for NVIDIA and AMD on 14 PCI devices and in /sys/class/kfd; all of it could be read.`"""
    families = listed([clean(family) for family in node.looked_for.families])
    if not families:
        return ""
    places = [f"in {clean(place)}" for place in node.looked_for.places]
    refused = _refused(node)
    if node.looked_for.pci_functions is not None and refused is None:
        where = listed([f"on {counted(node.looked_for.pci_functions, 'PCI device')}", *places])
        return f"Looked for {families} {where}; all of it could be read."
    unread = refused is not None and refused.reason in UNREAD
    why = f"could not be read ({clean(refused.message)})" if refused and unread else "is not in what was read"
    if refused is not None and not unread:
        why = f"does not tell ({clean(refused.message)})"
    return f"Looked for {families}{' ' + listed(places) if places else ''}; the PCI tree {why}."


def _refused(node: Node) -> Problem | None:
    """Why the PCI tree, or a part of it, could not be read or does not say what it holds."""
    reasons = (*UNREAD, NOT_ASKED)
    return next((one for one in node.problems if one.subject in ("node", "pci_tree") and one.reason in reasons), None)


def devices_known(node: Node, gaps: Sequence[Gap], unasked: Gap | None) -> str:
    """`8 GPUs ok, 9 NICs, nothing unknown.`, or what is not so.

    A single gap is told here with its cause; of several, the fields.
    """
    kinds: dict[str, list[str]] = {}
    for accelerator in node.accelerators:
        kinds.setdefault(kind_name(accelerator), []).append(accelerator.state)
    counts = [_kind_counted(kind, states) for kind, states in kinds.items()]
    nics = Counter(nic.state for nic in node.nics)
    if nics:
        ill = [f"{nics[state]} {state}" for state in _WORST_FIRST if nics[state] and state != "unknown"]
        counts.append(counted(sum(nics.values()), "NIC") + (f" ({', '.join(ill)})" if ill else ""))
    return f"{', '.join(counts)}{_known(gaps, unasked)}"


def models_counted(accelerators: Sequence[Accelerator], nodes: int = 1) -> str:
    """`8 × H100, 7 ok, 1 lost.`"""
    types = Counter(type_name(accelerator) for accelerator in accelerators)
    states = Counter(accelerator.state for accelerator in accelerators)
    words = [f"{count} × {type}" for type, count in types.items()]
    if nodes > 1:
        words.insert(0, counted(nodes, "node"))
    if len(states) == 1:
        state = next(iter(states))
        words.append("state unknown" if state == "unknown" else f"all {state}" if len(accelerators) > 1 else state)
    else:
        words += [f"{states[state]} {state}" for state in ("ok", *_WORST_FIRST) if states[state]]
    return f"{', '.join(words)}."


def fleet_counted(accelerators: Sequence[Accelerator], nodes: int) -> str:
    """`26 nodes, 72 × GB200, 127 × H100, 198 ok, 1 lost.`: the types by their number, of many the first ones."""
    types = Counter(map(type_name, accelerators)).most_common()
    words = [counted(nodes, "node"), *(f"{count} × {type}" for type, count in types[:_MOST_TYPES])]
    if len(types) > _MOST_TYPES:
        words.append(f"{sum(count for _, count in types[_MOST_TYPES:])} of {len(types) - _MOST_TYPES} other types")
    states = Counter(accelerator.state for accelerator in accelerators)
    if len(states) == 1:
        only = next(iter(states))
        return f"{', '.join([*words, 'state unknown' if only == 'unknown' else f'all {only}'])}."
    words += [f"{states[state]} {state}" for state in ("ok", *_WORST_FIRST) if states[state] and state != "unknown"]
    unknown = [f"{states['unknown']} of unknown state"] if states["unknown"] else []
    return f"{', '.join([*words, *unknown])}."


def advised(sentence: str, nodes: Sequence[Node]) -> list[str]:
    """The sentence, and what Ray would make of it: `Ray would register 8 GPU (…): start it with --num-gpus 7.`

    A single advice follows in the same paragraph; of several, each is a paragraph.
    """
    advice = [f"{words}." for words in ray_advice(nodes[0])] if len(nodes) == 1 else []
    return [" ".join([sentence, *advice])] if len(advice) < 2 else [sentence, *advice]


def _kind_counted(kind: str, states: list[str]) -> str:
    found = Counter(states)
    all_of_them = counted(len(states), kind)
    if len(found) == 1:
        state = next(iter(found))
        return f"{all_of_them}, state unknown" if state == "unknown" else f"{all_of_them} {state}"
    ill = [f"{found[state]} {state}" for state in _WORST_FIRST if found[state]]
    return ", ".join([f"{found['ok']} of {all_of_them} ok", *ill])


def _known(gaps: Sequence[Gap], unasked: Gap | None) -> str:
    cause = f" ({gaps[0].message})" if len(gaps) == 1 else ""
    conflicts = list(dict.fromkeys(gap.what for gap in gaps if gap.reason == DISAGREEMENT))
    holes = [gap for gap in gaps if gap.reason != DISAGREEMENT]
    tail = ""
    if len(holes) == 1:
        tail = f". Unknown: {holes[0].what}{cause}"
    elif holes:
        fields = list(dict.fromkeys(field for gap in holes for field in gap.fields or (gap.what,)))
        more = [f"{len(fields) - 3} more"] if len(fields) > 4 else []
        tail = f". Unknown: {listed(fields[: 3 if more else 4] + more)}"
    elif unasked:
        tail = ", all that was asked is known"
    elif not conflicts:
        tail = ", nothing unknown"
    if conflicts:
        tail += f". Readings disagree on {listed(conflicts)}{cause}"
    return f"{tail}."


def type_name(accelerator: Accelerator) -> str:
    """Ray's type, else the model: `H100`."""
    known = clean(accelerator.ray.type or "") or model_name(accelerator)
    return known or f"{kind_name(accelerator)} of unknown model"
