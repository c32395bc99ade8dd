"""Compares an inventory with what `nvidia-smi` printed on the same machine, field by field, without raxl's own parsers.

    python tests/gpu/compare.py INVENTORY.json QUERY.xml MATRIX.txt [--results RESULTS.json]

Prints one line a field that differs and how many agree; exits 1 when one differs. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any, Iterator, NamedTuple
from xml.etree import ElementTree

_SPEEDS = {"1": 2.5, "2": 5.0, "3": 8.0, "4": 16.0, "5": 32.0, "6": 64.0}
_NO_VALUE = ("N/A", "[N/A]", "", None)


class Field(NamedTuple):
    """One fact: whose, which, and what both say of it."""

    subject: str
    name: str
    tool: Any
    raxl: Any


def of_query(node: dict[str, Any], query: ElementTree.Element) -> Iterator[Field]:
    """The fields of `nvidia-smi -q -x`; what the tool calls N/A is None here."""
    software = {one["name"]: one["version"] for one in node["software"]}
    yield Field("node", "driver", query.findtext("driver_version"), software.get("nvidia"))
    yield Field("node", "cuda", query.findtext("cuda_version"), software.get("cuda"))
    yield Field("node", "count", int(query.findtext("attached_gpus") or -1), len(nvidia(node)))
    at = {device["pci"]["address"]: device for device in nvidia(node)}
    for index, gpu in enumerate(query.findall("gpu")):
        address = short(gpu.get("id") or "")
        yield from of_gpu(f"GPU {index}", index, gpu, at.get(address, {}))


def of_gpu(subject: str, index: int, gpu: ElementTree.Element, device: dict[str, Any]) -> Iterator[Field]:
    attributes, link = device.get("attributes", {}), (device.get("pci") or {}).get("link") or {}
    yield Field(subject, "index", index, device.get("index"))
    for name, path in (("model", "product_name"), ("uuid", "uuid"), ("serial", "serial")):
        yield Field(subject, name, said(gpu, path), device.get(name))
    yield Field(subject, "memory_bytes", mib(said(gpu, "fb_memory_usage/total")), device.get("memory_bytes"))
    yield Field(subject, "vbios", said(gpu, "vbios_version"), attributes.get("vbios"))
    minor = said(gpu, "minor_number")
    yield Field(subject, "minor", int(minor) if minor else None, attributes.get("minor"))
    yield Field(subject, "mig_mode", said(gpu, "mig_mode/current_mig"), attributes.get("mig_mode"))
    width = said(gpu, "pci/pci_gpu_link_info/link_widths/max_link_width")
    yield Field(subject, "max_width", int(width[:-1]) if width else None, link.get("max_width"))
    speed = said(gpu, "pci/pci_gpu_link_info/pcie_gen/max_link_gen")
    yield Field(subject, "max_speed_gts", _SPEEDS.get(speed or ""), link.get("max_speed_gts"))
    state = said(gpu, "fabric/state")
    yield Field(subject, "fabric.state", state.lower() if state else None, (device.get("fabric") or {}).get("state"))
    parts = [one.findtext("uuid") for one in gpu.findall("mig_devices/mig_device") if one.findtext("uuid")]
    if parts:
        yield Field(subject, "partitions", sorted(filter(None, parts)), sorted(p["id"] for p in device["partitions"]))


def of_matrix(node: dict[str, Any], text: str) -> Iterator[Field]:
    """The link class of every pair that the matrix has, NUMA affinities and the GPUs' own NUMA nodes."""
    lines = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines() if "\t" in line]
    header = [cell.strip() for cell in lines[0].split("\t")]
    nics = dict(re.findall(r"^\s*(NIC\d+):\s*(\S+)", text, re.MULTILINE))
    ids = {f"GPU{device['index']}": device["id"] for device in nvidia(node)} | nics
    classes = {frozenset((link["a"], link["b"])): link["link_class"] for link in node["links"]}
    for line in lines[1:]:
        cells = [cell.strip() for cell in line.split("\t")]
        name = cells[0]
        for other, cell in zip(header[1:], cells[1:]):
            pair = frozenset((ids.get(name, name), ids.get(other, other)))
            if pair in classes and cell != "X" and name < other:
                yield Field(f"{name}–{other}", "link_class", cell, classes[pair])
        if name in ids and name.startswith("GPU") and "NUMA Affinity" in header:
            place = header.index("NUMA Affinity")
            affinity = cells[place] if len(cells) > place else ""
            (device,) = (one for one in nvidia(node) if one["id"] == ids[name])
            yield Field(name, "numa_node", int(affinity) if affinity.isdecimal() else None, device["numa_node"])


def nvidia(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [device for device in node["accelerators"] if device["vendor"] == "nvidia"]


def said(element: ElementTree.Element, path: str) -> str | None:
    text = element.findtext(path)
    return None if text in _NO_VALUE else text


def mib(text: str | None) -> int | None:
    found = re.fullmatch(r"(\d+) MiB", text or "")
    return int(found[1]) << 20 if found else None


def short(address: str) -> str:
    domain, _, rest = address.lower().partition(":")
    return f"{int(domain or '0', 16):04x}:{rest}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inventory", type=Path)
    parser.add_argument("query", type=Path)
    parser.add_argument("matrix", type=Path)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    (node,) = json.loads(options.inventory.read_text())["nodes"]
    query = ElementTree.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", options.query.read_text()))
    fields = [*of_query(node, query), *of_matrix(node, options.matrix.read_text())]
    different = [field for field in fields if field.tool != field.raxl]
    for field in different:
        sys.stdout.write(f"{field.subject} {field.name}: nvidia-smi {field.tool!r}, raxl {field.raxl!r}\n")
    sys.stdout.write(f"{len(fields) - len(different)} of {len(fields)} fields agree\n")
    if options.results:
        result = {"fields": len(fields), "different": [field._asdict() for field in different]}
        options.results.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
