"""How RoCE adapters keep from losing packets, as NVIDIA's own driver package shows it in sysfs.

`/sys/class/net/<device>/ecn/roce_{np,rp}/enable/<priority>` and `qos/trust`; the kernel's own driver has no such files.
https://docs.nvidia.com/networking/display/ofed/explicit+congestion+notification+(ecn)
"""

from __future__ import annotations

from typing import Dict, Mapping

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading
from raxl.model.problem import NOT_PRESENT, NOT_SUPPORTED
from raxl.sources.infiniband import FOLDER as RDMA
from raxl.sources.netdev import FOLDER
from raxl.sources.numbers import whole

_SIDES = ("roce_np", "roce_rp")
"""The side that notices congestion, and the side that reacts."""
_PRIORITIES = 8
_MOST = 256


def ask(host: Host) -> Mapping[str, Mapping[str, Answer]]:
    """By network device of an RDMA adapter, its settings by their name."""
    found = {}
    for device in (host.names(RDMA).value or ())[:_MOST]:
        for netdev in host.names(f"{RDMA}/{device}/device/net").value or ():
            found[netdev] = _ask(host, f"{FOLDER}/{netdev}")
    return found


def _ask(host: Host, folder: str) -> Dict[str, Answer]:
    listing = host.names(f"{folder}/ecn")
    told = {"ecn": listing}
    for side in _SIDES if listing.known else ():
        for priority in range(_PRIORITIES):
            told[f"{side} {priority}"] = host.text(f"{folder}/ecn/{side}/enable/{priority}")
    if listing.known:
        told["trust"] = host.text(f"{folder}/qos/trust")
    return told


def readings(host: Host) -> Mapping[str, Reading]:
    """By network device: the priorities on which each side is on (`roce_np`, `roce_rp`), and `trust`, as text."""
    return {netdev: _reading(netdev, answers) for netdev, answers in ask(host).items()}


def _reading(netdev: str, answers: Mapping[str, Answer]) -> Reading:
    source, listing = f"{FOLDER}/{netdev}/ecn", answers["ecn"]
    if not listing.known:
        reason = NOT_SUPPORTED if listing.reason == NOT_PRESENT else listing.reason
        return Reading(None, source, reason, listing.message or "the driver does not show its congestion control")
    unread = next((one for name, one in answers.items() if name != "trust" and not one.known), None)
    if unread is not None:
        return Reading(None, source, unread.reason, unread.message)
    told = {
        side: ",".join(
            str(priority) for priority in range(_PRIORITIES) if whole(stripped(answers[f"{side} {priority}"]), 1)
        )
        for side in _SIDES
    }
    return Reading({**told, "trust": stripped(answers["trust"]) or ""}, source)
