"""What each port of an RDMA device says: state, rate, addresses, error counters.

https://docs.kernel.org/admin-guide/abi-stable.html (`/sys/class/infiniband`). Ports of one device stand in one reading
each, so that what a virtual function or a container does not show is told apart from what is zero.
"""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Optional

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading
from raxl.model.machine import Gid
from raxl.model.problem import FAILED, NOT_PRESENT, NOT_SUPPORTED
from raxl.sources.infiniband import FOLDER, speed_of_rate
from raxl.sources.numbers import MOST_COUNT, MOST_PLACES, whole

COUNTERS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_xmit_discards",
    "port_xmit_constraint_errors",
    "port_rcv_constraint_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "VL15_dropped",
)
"""Of `counters/`, those that mean trouble."""
HARDWARE_COUNTERS = (
    "out_of_sequence",
    "packet_seq_err",
    "local_ack_timeout_err",
    "implied_nak_seq_err",
    "rnr_nak_retry_err",
    "out_of_buffer",
    "req_transport_retries_exceeded",
    "req_rnr_retries_exceeded",
    "roce_adp_retrans_to",
    "rx_icrc_encapsulated",
    "rx_drops",
    "retrans_timeout_events",
    "unresponsive_remote_events",
    "impaired_remote_conn_events",
)
"""Of `hw_counters/`, by the names of mlx5 and EFA."""
_FILES = ("state", "phys_state", "rate", "link_layer", "lid", "sm_lid")
_MOST_DEVICES, _MOST_GIDS, _MOST_EMPTY = 256, 64, 8
"""A table has 256 entries, and those in use stand at its beginning."""
_ETHERNET = "Ethernet"


class Answers(NamedTuple):
    """By port (`mlx5_0/1`): its files, its counters, its addresses by index; and each device's board by name."""

    listing: Answer
    boards: Mapping[str, Answer]
    files: Mapping[str, Mapping[str, Answer]]
    counters: Mapping[str, Mapping[str, Answer]]
    gids: Mapping[str, Mapping[int, Mapping[str, Answer]]]


def ask(host: Host) -> Answers:
    """Asks every port. Addresses are asked for on Ethernet alone: there a job has to choose one."""
    listing = host.names(FOLDER)
    boards, files, counters, gids = {}, {}, {}, {}
    for device in (listing.value or ())[:_MOST_DEVICES]:
        boards[device] = host.text(f"{FOLDER}/{device}/board_id")
        for number in host.names(f"{FOLDER}/{device}/ports").value or ():
            if whole(number, MOST_PLACES) is None:
                continue
            port, folder = f"{device}/{number}", f"{FOLDER}/{device}/ports/{number}"
            files[port] = {file: host.text(f"{folder}/{file}") for file in _FILES}
            counters[port] = _ask_counters(host, folder)
            if stripped(files[port]["link_layer"]) == _ETHERNET:
                gids[port] = _ask_gids(host, folder)
    return Answers(listing, boards, files, counters, gids)


def _ask_counters(host: Host, folder: str) -> Dict[str, Answer]:
    found = {}
    for place, names in (("counters", COUNTERS), ("hw_counters", HARDWARE_COUNTERS)):
        listing = host.names(f"{folder}/{place}")
        found[place] = listing
        here = listing.value or ()
        found.update({name: host.text(f"{folder}/{place}/{name}") for name in names if name in here})
    return found


def _ask_gids(host: Host, folder: str) -> Dict[int, Dict[str, Answer]]:
    """The entries in use, from the first on; the answer of the folder stands at -1."""
    listing = host.names(f"{folder}/gids")
    found: Dict[int, Dict[str, Answer]] = {-1: {"gid": listing}}
    empty = 0
    here = [index for name in listing.value or () if (index := whole(name, MOST_PLACES)) is not None]
    for index in sorted(here)[:_MOST_GIDS]:
        gid = host.text(f"{folder}/gids/{index}")
        if not gid.known or not _is_used(stripped(gid)):
            empty += 1
            if empty >= _MOST_EMPTY:
                break
            continue
        empty = 0
        kind, netdev = (host.text(f"{folder}/gid_attrs/{file}/{index}") for file in ("types", "ndevs"))
        found[index] = {"gid": gid, "type": kind, "netdev": netdev}
    return found


def _is_used(gid: Optional[str]) -> bool:
    """An empty entry is all zeros, or a prefix without an interface."""
    return gid is not None and gid.count(":") == 7 and bool(set(gid[19:]) - {"0", ":"})


def readings(host: Host) -> Dict[str, Dict[str, Reading]]:
    """By port: `state` (`ACTIVE`), `physical_state` (`LinkUp`), `rate` as the kernel writes it, `speed` in bits per
    second, `link_layer`, `lid`, `sm_lid`, `board`, `counters` and `hw_counters` by name; on Ethernet `gids` by
    index."""
    answers = ask(host)
    found = {}
    for port, files in answers.files.items():
        device, _, number = port.partition("/")
        folder = f"{FOLDER}/{device}/ports/{number}"
        own = {
            "state": _word(files["state"], f"{folder}/state"),
            "physical_state": _word(files["phys_state"], f"{folder}/phys_state"),
            "rate": _text(files["rate"], f"{folder}/rate"),
            "speed": _speed(files["rate"], f"{folder}/rate"),
            "link_layer": _text(files["link_layer"], f"{folder}/link_layer"),
            "lid": _text(files["lid"], f"{folder}/lid"),
            "sm_lid": _text(files["sm_lid"], f"{folder}/sm_lid"),
            "board": _text(answers.boards[device], f"{FOLDER}/{device}/board_id"),
            "counters": _counters(answers.counters[port], "counters", COUNTERS, folder),
            "hw_counters": _counters(answers.counters[port], "hw_counters", HARDWARE_COUNTERS, folder),
        }
        if port in answers.gids:
            own["gids"] = _gids(answers.gids[port], f"{folder}/gids")
        found[port] = own
    return found


def _text(answer: Answer, source: str) -> Reading:
    value = stripped(answer)
    if value is None:
        return Reading(None, source, answer.reason or FAILED, answer.message or "it is empty")
    return Reading(value, source)


def _word(answer: Answer, source: str) -> Reading:
    """`ACTIVE` of `4: ACTIVE`."""
    told = _text(answer, source)
    return Reading(told.value.partition(":")[2].strip() or told.value, source) if told.known else told


def _speed(answer: Answer, source: str) -> Reading:
    speed = speed_of_rate(stripped(answer))
    if speed is None:
        return Reading(None, source, answer.reason or FAILED, answer.message or "it tells no rate")
    return Reading(speed, source)


def _counters(answers: Mapping[str, Answer], place: str, names: tuple[str, ...], folder: str) -> Reading:
    """The counters of a folder that are numbers: a port without a performance agent answers `N/A (no PMA)`."""
    listing, source = answers[place], f"{folder}/{place}"
    if not listing.known:
        reason = NOT_SUPPORTED if listing.reason == NOT_PRESENT else listing.reason
        return Reading(None, source, reason, listing.message or "the port has no such counters")
    told = {name: whole(stripped(answers[name]), MOST_COUNT) for name in names if name in answers}
    values = {name: value for name, value in told.items() if value is not None}
    if told and not values:
        first = answers[next(iter(told))]
        return Reading(None, source, first.reason or NOT_SUPPORTED, first.message or "they hold no numbers")
    return Reading(values, source)


def _gids(answers: Mapping[int, Mapping[str, Answer]], source: str) -> Reading:
    listing = answers[-1]["gid"]
    if not listing.known:
        return Reading(None, source, listing.reason, listing.message)
    return Reading(
        {
            index: Gid(stripped(one["gid"]) or "", stripped(one["type"]), stripped(one["netdev"]))
            for index, one in answers.items()
            if index >= 0
        },
        source,
    )
