"""Labels that say how a node's accelerators are joined, and how far its compute NICs are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raxl.model.label import Unlabelled
from raxl.model.link import FABRIC_NAMES, PCIE_CLASSES, Link
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.problem import NOT_APPLICABLE, NOT_ASKED, NOT_PRESENT, NOT_SUPPORTED
from raxl.topology.label_devices import Told, label
from raxl.topology.reasons import UNASKED_FABRIC, Why, unread, why
from raxl.topology.working import Fleet, absent

SCALE_UP, LINK_CLASS, NIC_CLASS = "raxl/scale-up", "raxl/link-class", "raxl/nic-class"
_NAMES = {"neuron": "neuronlink"}
_FARTHEST = PCIE_CLASSES[-1]
_UNKNOWN_PAIR = "how its accelerators are joined is not known"


def between(node: Node, fleet: Fleet) -> Iterator[Told]:
    """The scale-up fabric, and the narrowest class between two accelerators."""
    ids = {device.id for device in fleet.present}
    pairs = [link for link in node.links if link.a in ids and link.b in ids]
    evidence = tuple(dict.fromkeys(source for link in pairs for source in link.evidence))
    yield _scale_up(node, fleet, pairs, evidence)
    if len(ids) < 2 and fleet.why_open is not None:
        yield fleet.why_open.unlabelled(LINK_CLASS)
        return
    if len(ids) < 2:
        alone = Why(NOT_APPLICABLE, "a single accelerator works here")
        yield (alone if ids else absent(node, fleet)).unlabelled(LINK_CLASS)
        return
    yield _link_class(node, pairs, evidence)


def _scale_up(node: Node, fleet: Fleet, pairs: Sequence[Link], evidence: Sequence[str]) -> Told:
    kinds = {link.kind for link in pairs}
    fabrics = sorted(kind for kind in kinds if kind not in (None, "pcie"))
    if fabrics == ["hccs", "sio"]:
        fabrics = ["hccs"]  # SIO joins the two halves of one package
    if len(fabrics) > 1:
        names = ", ".join(FABRIC_NAMES.get(kind or "", str(kind)) for kind in fabrics)
        return Unlabelled(SCALE_UP, NOT_APPLICABLE, f"several fabrics: {names}")
    if fabrics:
        joined = sum(link.kind not in (None, "pcie") for link in pairs)
        return label(
            SCALE_UP, _NAMES.get(str(fabrics[0]), str(fabrics[0])), f"{joined} of {len(pairs)} pairs", evidence
        )
    if None in kinds or any(problem.subject == UNASKED_FABRIC for problem in node.problems):
        return why(node, UNASKED_FABRIC, "links", otherwise=_UNKNOWN_PAIR).unlabelled(SCALE_UP)
    beyond = any(device.fabric and device.fabric.domain for device in fleet.present)
    if not pairs and beyond:
        words = "its fabric reaches beyond the node, and no pair here tells which it is"
        return Unlabelled(SCALE_UP, NOT_ASKED, words)
    if not pairs and fleet.why_open is not None:
        return fleet.why_open.unlabelled(SCALE_UP)
    missing = absent(node, fleet)
    if not fleet.present and (fleet.out or missing.reason != NOT_PRESENT):
        return missing.unlabelled(SCALE_UP)
    few = "a single accelerator" if fleet.present else missing.message
    return label(SCALE_UP, "none", "PCIe alone joins them" if pairs else few, evidence)


def _link_class(node: Node, pairs: Sequence[Link], evidence: Sequence[str]) -> Told:
    if any(problem.subject == UNASKED_FABRIC for problem in node.problems):
        return why(node, UNASKED_FABRIC, otherwise=_UNKNOWN_PAIR).unlabelled(LINK_CLASS)
    known = [link for link in pairs if link.link_class is not None]
    farthest = max(known, key=_narrowness, default=None)
    if farthest is None or (len(known) < len(pairs) and farthest.link_class != _FARTHEST):
        return why(node, "links", "links.count", "links.link_class", otherwise=_UNKNOWN_PAIR).unlabelled(LINK_CLASS)
    if farthest.kind == "pcie" and node.path_trust == "virtual":
        return _untrusted(farthest).unlabelled(LINK_CLASS)
    alike = sum(link.link_class == farthest.link_class for link in pairs)
    words = "every pair" if alike == len(pairs) else f"the narrowest, {alike} of {len(pairs)} pairs"
    return label(LINK_CLASS, farthest.link_class or "", words, evidence)


def _narrowness(link: Link) -> tuple[int, float, int, str]:
    """PCIe is narrower than a fabric, a farther class than a nearer one, fewer bytes or links than more."""
    if link.link_class in PCIE_CLASSES:
        return PCIE_CLASSES.index(link.link_class) + 1, 0.0, 0, link.link_class
    return 0, -(link.bandwidth_bytes_per_second or 0), -(link.count or 0), link.link_class or ""


def _untrusted(link: Link) -> Why:
    words = f"a hypervisor made the PCI tree up: {link.link_class} is its, not the machine's"
    return Why(NOT_SUPPORTED, words, link.evidence)


def to_nics(node: Node, fleet: Fleet) -> Iterator[Told]:
    """How far the compute NICs are, how fast and how many; none of it where no NIC is known to be one."""
    compute = [nic for nic in node.nics if nic.role == "compute"]
    if not compute:
        cause = _no_compute(node)
        yield from (cause.unlabelled(key) for key in (NIC_CLASS, "raxl/nic-gbps", "raxl/nics"))
        return
    evidence = tuple(dict.fromkeys(source for nic in compute for source in nic.evidence))
    yield _nic_class(node, fleet, compute)
    yield _speed(node, compute, evidence)
    yield label("raxl/nics", str(len(compute)), "compute NICs whose link is up", evidence)


def _no_compute(node: Node) -> Why:
    if not node.nics:
        refused = unread(node, "node", "nics", "pci_tree")
        looked = node.looked_for.pci_functions is not None
        return refused or (
            Why(NOT_PRESENT, "the node has no NIC") if looked else Why(NOT_ASKED, "nobody looked for NICs")
        )
    subjects = ("nics.role", *(f"{nic.id}.role" for nic in node.nics))
    told = why(node, *subjects, otherwise="nobody says what they are for")
    return Why(told.reason, f"no NIC is known to be for computing: {told.message}", told.evidence)


def _nic_class(node: Node, fleet: Fleet, compute: Sequence[Nic]) -> Told:
    """Of each accelerator the nearest compute NIC's class; of these, the farthest."""
    if not fleet.present:
        return absent(node, fleet).unlabelled(NIC_CLASS)
    ids = {nic.id for nic in compute}
    nearest: list[Link] = []
    for device in fleet.present:
        ways = [link for link in node.links if link.a == device.id and link.b in ids]
        known = [link for link in ways if link.link_class in PCIE_CLASSES]
        best = min(known, key=_narrowness, default=None)
        if best is None or (len(known) < len(ways) and best.link_class != PCIE_CLASSES[0]):
            words = f"how far the NICs are from {device.id} is not known"
            return why(node, "links", "links.link_class", otherwise=words).unlabelled(NIC_CLASS)
        nearest.append(best)
    farthest = max(nearest, key=_narrowness)
    if node.path_trust == "virtual":
        return _untrusted(farthest).unlabelled(NIC_CLASS)
    evidence = tuple(dict.fromkeys(source for link in nearest for source in link.evidence))
    alike = sum(link.link_class == farthest.link_class for link in nearest)
    words = f"the nearest to each, the farthest of them for {alike} of {len(nearest)}"
    return label(
        NIC_CLASS, farthest.link_class or "", words if alike < len(nearest) else "the nearest to each", evidence
    )


def _speed(node: Node, compute: Sequence[Nic], evidence: Sequence[str]) -> Told:
    key = "raxl/nic-gbps"
    unknown = next((nic for nic in compute if not nic.speed_bits_per_second), None)
    if unknown is not None:
        subjects = (f"{unknown.id}.speed_bits_per_second", "nics.speed_bits_per_second")
        return why(node, *subjects, otherwise="nobody says how fast it is").unlabelled(key)
    speeds = sorted({nic.speed_bits_per_second or 0 for nic in compute})
    words = "of each" if len(speeds) == 1 else f"the slowest; the fastest has {speeds[-1] / 1e9:g}"
    return label(key, f"{speeds[0] / 1e9:g}", words, evidence)
