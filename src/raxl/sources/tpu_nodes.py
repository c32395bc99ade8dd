"""Device nodes that may be a TPU's, and whose they are: `/dev/accel*` and the groups of `/dev/vfio`.

Other drivers make such nodes too, and a group of VFIO holds whatever was handed on: the PCI vendor alone tells (Google
is 1ae0).
"""

from __future__ import annotations

import re
from typing import Dict, Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading
from raxl.model.identity import last_pci_address, pci_address
from raxl.model.problem import NOT_ASKED, NOT_PRESENT
from raxl.sources import pci

_PLACES = ("/dev", "/dev/accel")
_CLASS, _VFIO, _GROUPS = "/sys/class/accel", "/dev/vfio", "/sys/kernel/iommu_groups"
_MOST = 64


class Answers(NamedTuple):
    """By node: whose it is, as far as that was told; the listings that were refused, by folder."""

    functions: Mapping[str, Answer]
    ids: Mapping[str, Mapping[str, Answer]]
    listings: Mapping[str, Answer]


def ask(host: Host) -> Answers:
    """Asks for the nodes, and of each for its PCI function's ids."""
    listings = {folder: host.names(folder) for folder in (*_PLACES, _VFIO)}
    functions: Dict[str, Answer] = {}
    for folder in _PLACES:
        for name in listings[folder].value or ():
            if re.fullmatch("accel[0-9]{1,4}", name):
                functions[f"{folder}/{name}"] = host.link(f"{_CLASS}/{name}/device")
    for name in listings[_VFIO].value or ():
        if re.fullmatch("[0-9]{1,5}", name):
            functions[f"{_VFIO}/{name}"] = host.names(f"{_GROUPS}/{name}/devices")
    kept = dict(list(functions.items())[:_MOST])
    addresses = dict.fromkeys(address for answer in kept.values() for address in _addresses(answer))
    ids = {
        address: {file: host.text(f"{pci.FOLDER}/{address}/{file}") for file in ("vendor", "device")}
        for address in addresses
    }
    return Answers(kept, ids, listings)


def _addresses(answer: Answer) -> "list[str]":
    if isinstance(answer.value, list):
        return [address for name in answer.value[:_MOST] if (address := pci_address(name))]
    address = last_pci_address(stripped(answer) or "")
    return [address] if address else []


def drivers(answers: Answers) -> Dict[str, Reading]:
    """`tpu_nodes`: by node, `vvvv:dddd at ADDRESS` of each function behind it, empty where that is not to be seen."""
    refused = next(
        ((folder, one) for folder, one in answers.listings.items() if one.reason not in (None, NOT_PRESENT, NOT_ASKED)),
        None,
    )
    if refused is not None:
        return {"tpu_nodes": Reading(None, refused[0], refused[1].reason, refused[1].message)}
    if not answers.functions:
        return {}
    told = {
        node: tuple(f"{_id(answers, address)} at {address}" for address in _addresses(answer))
        for node, answer in answers.functions.items()
    }
    return {"tpu_nodes": Reading(told, "/dev")}


def _id(answers: Answers, address: str) -> str:
    halves = [(stripped(answers.ids[address][file]) or "?")[2:] or "?" for file in ("vendor", "device")]
    return ":".join(halves)
