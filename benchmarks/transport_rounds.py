"""Rounds of raxl's transports against their peers, in a process that joins a Ray cluster or starts a Ray of its own.

`transports.py` runs it, on the machine and on a host of the lab. Its argument is a `Plan` as JSON; it prints a JSON
line a case: the median seconds of a transfer in each round, of raxl (`own`) and of the peer (`bare`), or `why` there
are none.
"""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import asdict, dataclass
from typing import Any

import transport_peers
from raxl.bench.conductor import Conductor
from raxl.collect import ray_cluster
from raxl.model.measurement import P2P
from raxl.plugins import registry
from raxl.transfer import Transfer
from raxl.transfer.statistics import median


@dataclass(frozen=True)
class Case:
    """One transport of raxl's against one peer."""

    transport: str
    peer: str
    pattern: str = P2P


@dataclass(frozen=True)
class Plan:
    """What is measured, and where."""

    address: str | None
    """The cluster's; None: a Ray of its own."""
    variables: dict[str, str]
    """Of each end."""
    library: str
    """The one that holds the C copies."""
    cases: list[Case]
    size: int
    seconds: float
    """Of a round's timed transfers, about."""
    rounds: int

    def text(self) -> str:
        """As the argument of this program."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Plan:
        told = json.loads(text)
        return cls(**{**told, "cases": [Case(**case) for case in told["cases"]]})


class Rounds(Conductor):
    """What drives raxl's own runs, with transports that stay open while their peers are measured in the same ends."""

    def compared(self, plan: Plan, case: Case) -> dict[str, list[float]]:
        """Median seconds of a transfer by round; the first round warms up and is not counted."""
        nodes = list(self._nodes)
        self.look(nodes)
        session, ends = self._opened(case.transport, [nodes[0], nodes[-1]])
        transfer = Transfer(plan.size, case.pattern, seconds=plan.seconds)
        own, bare = [], []
        try:
            taken = session.measure(transfer)
            given = plan.library if case.peer == "C memcpy" else case.pattern
            peer = transport_peers.PEERS[case.peer](ends, plan.size, given)
            try:
                for turn in range(plan.rounds + 1):
                    taken = session.measure(transfer)
                    if taken.wrong is not None:
                        raise RuntimeError(taken.wrong)
                    seconds = peer.measure(taken.warmup + 1, len(taken.samples))
                    if turn:
                        own.append(median(taken.samples))
                        bare.append(median(seconds))
            finally:
                peer.close()
            session.close()
        finally:
            self._end_ends()
        return {"own": own, "bare": bare}


def tell(word: str, **values: Any) -> None:
    """What a conductor tells of its own; here an error alone matters."""
    if word in ("error", "lost"):
        sys.stderr.write(f"{word}: {values}\n")


def main(plan: Plan) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    entries = {case.transport: registry.TRANSPORTS[case.transport] for case in plan.cases}
    rounds = Rounds(tell, entries, plan.variables)
    try:
        rounds.begin(plan.address, 16 * plan.size)
        transport_peers.by_value()
        for case in plan.cases:
            try:
                told: dict[str, Any] = rounds.compared(plan, case)
            except ray_cluster.Refused:
                raise
            except Exception as error:  # the other cases are measured all the same
                told = {"why": f"{type(error).__name__}: {error}"}
            sys.stdout.write(json.dumps({**asdict(case), **told}) + "\n")
            sys.stdout.flush()
    finally:
        rounds.end()


if __name__ == "__main__":
    main(Plan.of(sys.argv[1]))
