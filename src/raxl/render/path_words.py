"""A path in words: its components, its hops, and what its class means."""

from __future__ import annotations

import re
from collections.abc import Callable

from raxl.model.link import FABRIC_NAMES
from raxl.model.path import NETWORK, Component, Hop, Path
from raxl.model.printable import clean
from raxl.render.naming import Names
from raxl.render.quantity import byte_rate, generation, pci_link
from raxl.render.text import UNBREAKABLE
from raxl.render.unknown import UNKNOWN

_CLASSES = {
    "PIX": "through at most one PCIe switch, not through the CPU",
    "PXB": "through several PCIe switches, not through the CPU",
    "PHB": "through a PCIe host bridge of the CPU",
    "NODE": "through the CPU, from one of its host bridges to another",
    "SYS": "from one NUMA node to another",
}
_CROSSINGS = {
    "cpu-internal": " inside one CPU",
    "cpu-interconnect": " over the link between CPUs",
}
_UNNAMED = {
    "pcie": "PCIe",
    "card": "inside the card",
    "cpu-internal": "inside the CPU",
    "cpu-interconnect": "CPU interconnect",
    NETWORK: "port",
}


def class_words(path: Path) -> str | None:
    """What the path's class means, for who does not know the legend; None for a class that is not known."""
    if path.link_class in _CLASSES:
        crossing = next((_CROSSINGS[hop.kind] for hop in path.hops if hop.kind in _CROSSINGS), "")
        return _CLASSES[path.link_class] + (crossing if path.link_class == "SYS" else "")
    if path.kind == NETWORK:
        return "from node to node, out by the NIC nearest to the one and in by the NIC nearest to the other"
    if path.kind in (None, "pcie"):
        return None
    name = FABRIC_NAMES.get(str(path.kind), clean(str(path.kind)))
    count = path.hops[0].count if path.hops else None
    through = " through the NVSwitches" if any(one.kind == "nvswitch" for one in path.components) else ""
    if count is None:
        return f"{name}{through}; how many links is not known"
    return f"{count} {name} link{'' if count == 1 else 's'} from each to the other{through}"


def component(found: Component, names: Names) -> str:
    """`GPU 0`, `switch 0000:16:00.0`, `CPU 0 (NUMA 0)`."""
    id = clean(found.id)
    if found.kind == "cpu":
        if found.numa_node is None:
            return f"host bridge {id}"
        cpu = "CPU" if found.package is None else f"CPU {found.package}"
        return f"{cpu} (NUMA {found.numa_node})"
    words = {"pcie-switch": "switch", "pcie-bridge": "bridge", "root-port": "root port"}
    if found.kind in words:
        return f"{words[found.kind]} {id}"
    return "NVSwitch" if found.kind == "nvswitch" else names.of(found.id)


def hop(found: Hop) -> str:
    """`gen5 ×16, 63 GB/s, now gen1`, `18 × NVLink 4`, `UPI, ?`."""
    rate = UNKNOWN if found.bandwidth_bytes_per_second is None else byte_rate(found.bandwidth_bytes_per_second)
    if is_fabric(found):
        return f"{UNKNOWN if found.count is None else found.count} × {clean(found.name or found.kind)}"
    name = clean(found.name) if found.name else pci_link(found.link) or _UNNAMED.get(found.kind, "")
    words = [word for word in (name, rate) if word]
    link = found.link
    if link is not None and link.speed_gts and link.max_speed_gts and link.speed_gts < link.max_speed_gts:
        words.append(f"now {generation(link.speed_gts)}")
    return ", ".join(words)


def is_fabric(found: Hop) -> bool:
    """Whether a hop is a scale-up link."""
    return found.kind not in ("pcie", "card", "unknown", NETWORK) and not found.kind.startswith("cpu-")


def chain(path: Path, names: Names) -> str:
    """Every component and hop in a row, to be folded before a hop or a component."""
    parts = [component(path.components[0], names)] if path.components else []
    for segment, upper in zip(path.hops, path.components[1:], strict=True):
        line = "═" if is_fabric(segment) else "─"
        parts += [f"{line} {hop(segment)}", f"{line} {component(upper, names)}"]
    return " ".join(part.replace(" ", UNBREAKABLE) for part in parts)


def called(names: Names) -> Callable[[str], str]:
    """Puts the names of devices where a message has their ids."""
    ids = {id: names.of(id) for id in names.told}
    if not ids:
        return clean
    pattern = re.compile(
        "|".join(rf"(?<![\w:.@-]){re.escape(id)}(?![\w@-])" for id in sorted(ids, key=len, reverse=True))
    )
    return lambda text: clean(pattern.sub(lambda found: ids[found[0]], text))
