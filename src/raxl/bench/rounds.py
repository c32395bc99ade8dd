"""Rounds of disjoint pairs, which the ends run by themselves (`raxl.transfer.meeting`)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from raxl.collect.ray_cluster import Tell
from raxl.transfer import FAILURES, counters, meeting, ray_ends
from raxl.transfer.ray_ends import RayEnd

Rounds = Sequence[Sequence[Sequence[str]]]
"""Of each round its pairs of node ids; the first of a pair sends first."""


def run(ends: Mapping[str, RayEnd], rounds: Rounds, part_bytes: int, seconds: float, limit: float, tell: Tell) -> None:
    """Tells what each end sent in each round (`sent`), what the devices of its node carried in all (`carried`), and
    who took no part or did not come to its end (`lost`). `seconds` is a direction's; `limit` that of all rounds."""

    def lost(node: str, why: str) -> None:
        tell("lost", id=node, why=why)

    listening = {node: end.start(meeting.listen, end.address) for node, end in ends.items()}
    ports = ray_ends.answers(listening, ray_ends.START_SECONDS, lost)
    there = {node: ends[node] for node in ports}
    mine: dict[str, list[meeting.Meeting]] = {node: [] for node in there}
    for number, pairs in enumerate(rounds):
        for first, second in pairs:
            if first in there and second in there:
                mine[first].append(meeting.Meeting(number, second, ends[second].address, ports[second], True))
                mine[second].append(meeting.Meeting(number, first, ends[first].address, ports[first], False))
    counted = {node: end.start(counters.read) for node, end in there.items()}
    before = ray_ends.answers(counted, ray_ends.START_SECONDS, lost)
    begun = time.monotonic()
    meets = {node: there[node].start(meeting.meet, mine[node], part_bytes, seconds) for node in before}
    for node, one in meets.items():
        try:
            for sent in one.result(max(1.0, begun + limit - time.monotonic())):
                tell("sent", source=node, **sent._asdict())
        except FAILURES as error:
            tell("lost", id=node, why=str(error))
    for node, first in before.items():
        with suppress(*FAILURES):
            tell("carried", id=node, moved=counters.moved(first, there[node].call(counters.read)))
            there[node].call(meeting.leave)
