"""The words of a difference: what each value is called, and how it is written."""

from __future__ import annotations

from raxl.model.difference import Value
from raxl.model.printable import clean
from raxl.render.quantity import binary_size, bit_rate, byte_rate, generation

_WORDS = {
    "accelerators": "whether it is there",
    "nics": "whether it is there",
    "nodes": "the node",
    "cluster": "Ray’s view",
    "cluster.ray_version": "Ray",
    "cluster.python_version": "Ray’s Python",
    "os.kernel": "Linux",
    "cpu.model": "processor",
    "cpu.packages": "processors",
    "cpu.cores": "CPU cores",
    "cpu.threads": "CPU threads",
    "numa_nodes": "NUMA nodes",
    "path_trust": "PCI tree",
    "boot_id": "boot",
    "recorded_by": "recorded by raxl",
    "memory_bytes": "memory",
    "uuid": "UUID",
    "serial": "serial number",
    "numa_node": "NUMA node",
    "local_numa_nodes": "nearest NUMA nodes",
    "pcie_root": "host bridge",
    "visible_env": "variable that hides it",
    "pci": "PCI address",
    "pci.vendor_id": "PCI vendor id",
    "pci.device_id": "PCI device id",
    "pci.subsystem_id": "PCI subsystem id",
    "pci.link": "PCIe link",
    "pci.link.width": "PCIe width",
    "pci.link.max_width": "PCIe width at most",
    "pci.link.speed_gts": "PCIe speed",
    "pci.link.max_speed_gts": "PCIe speed at most",
    "speed_bits_per_second": "speed",
    "bandwidth_bytes_per_second": "bandwidth",
    "netdev": "network device",
    "link_class": "link class",
    "kind": "kind",
    "partitions.id": "partition ids",
    "fabric.domain": "fabric domain",
    "fabric.clique": "fabric clique",
    "fabric.state": "fabric",
    "ray.resource": "Ray’s resource",
    "ray.type": "Ray’s type",
    "ray.would_register": "Ray would register it",
    "ray.address": "address in Ray",
    "ray.is_head": "Ray’s head",
    "ray.state": "Ray’s state",
    "ray_node_id": "Ray’s node id",
    "switches.pcie": "PCIe switches",
    "switches.nvswitch": "NVSwitches",
    "attributes.vbios": "VBIOS",
    "attributes.mig_mode": "MIG mode",
    "attributes.ecc_mode": "ECC mode",
    "attributes.nvlinks_up": "NVLinks that are up",
    "attributes.xgmi_links_up": "XGMI links that are up",
    "attributes.xgmi_links_down": "XGMI links that are down",
}
_ALONE = {
    "os.kernel": "kernel",
    "ray.would_register": "whether Ray would register it",
    "cluster.ray_version": "Ray’s version",
}
"""What values are called that stand without one."""
_PREFIXES = {
    "ray.resources.": "Ray’s {}",
    "ray.labels.": "Ray’s label {}",
    "software.": "{}",
}
"""Fields whose last part is a name of somebody else’s: it is told as it is."""
_LONGEST = 120


def field_word(field: str) -> str:
    """`PCIe width`, `NUMA node 1 memory`, `Ray’s label raxl/rack`."""
    if field in _WORDS:
        return _WORDS[field]
    for prefix, words in _PREFIXES.items():
        if field.startswith(prefix):
            return words.format(clean(field.removeprefix(prefix)))
    group, _, rest = field.partition(".")
    if group in ("numa_nodes", "ports"):
        number, _, name = rest.partition(".")
        word = "CPUs" if name == "cpus" else field_word(name)
        return f"{'NUMA node' if group == 'numa_nodes' else 'port'} {clean(number)} {word}"
    return clean(field.rpartition(".")[2]).replace("_", " ")


def unknown_word(field: str) -> str:
    """What a value is called that is not known: `whether Ray would register it`."""
    return _ALONE.get(field) or field_word(field)


def values(field: str, before: Value, after: Value) -> str:
    """`×16 → ×8`; exactly, where both would read the same."""
    told = [_value(field, value) for value in (before, after)]
    if told[0] == told[1]:
        told = [clean(str(value)) for value in (before, after)]
    return " → ".join(told)


def _value(field: str, value: Value) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        text = clean(value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    name = field.rpartition(".")[2]
    if name == "memory_bytes" and isinstance(value, int):
        return binary_size(value)
    if name == "speed_bits_per_second":
        return bit_rate(value)
    if name == "bandwidth_bytes_per_second":
        return byte_rate(value)
    if name.endswith("speed_gts"):
        return str(generation(value))
    if name.endswith("width"):
        return f"×{value:g}"
    return f"{value:g}" if isinstance(value, float) else str(value)
