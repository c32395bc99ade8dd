"""`object-store`: `ray.put` at the source, `ray.get` in the target, which is all that is timed.

Within a node the target sees the source's bytes where the put has laid them: nothing moves. Between nodes the target's
raylet pulls a copy into its own store. A put goes into the store at any size; what Ray sends with its messages are
results and arguments below 100 KiB.
"""

from __future__ import annotations

import time
from typing import Any, Mapping

from raxl.model.measurement import FRESH, P2P, WEIGHT_SYNC
from raxl.transfer import End, EndFailed, Ends, Session, Taken, Transfer, amounts, payload
from raxl.transfer.statistics import median
from raxl.transfer.sync import SyncSession, dealt
from raxl.transfer.sync_objects import Objects
from raxl.transfer.timing import timed

INLINE_BYTES = 100 << 10
_IN_STORE = 3
"""So many objects lie in a store at once: the one that is read, and those that Ray has not taken away yet."""
_SLACK_SECONDS = 60.0


class ObjectStore:
    """Ray's shared memory, and what its raylets copy between them."""

    transport = "object-store"
    patterns = (P2P, WEIGHT_SYNC)
    devices = ("cpu",)
    needs_tensor_transport = False
    way = "memory"

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def open(self, ends: Ends) -> ObjectStoreSession:
        return ObjectStoreSession(ends)

    def open_sync(self, trainers: Ends, readers: Ends) -> Session:
        return SyncSession(trainers, readers, Stored())


class ObjectStoreSession:
    """Nothing is set up: the store is there."""

    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self._is_one_node = ends[0].node_id == ends[1].node_id

    def measure(self, transfer: Transfer) -> Taken:
        for end in self._ends:
            _room(end, transfer.size_bytes)
        source, target = self._ends
        seconds = 3 * (transfer.seconds + transfer.least_seconds) + _SLACK_SECONDS
        taken: Taken = target.call(drive, source.handle, transfer, self._is_one_node, seconds=seconds)
        return taken

    def close(self) -> None:
        """Nothing to give back: the objects go with the ends that made them."""


class Stored(Objects):
    """Weight-sync: a put a trainer, of all of its tensors, and a get a reader."""

    def __init__(self) -> None:
        super().__init__(put)

    def prepare(self, trainers: Ends, readers: Ends, transfer: Transfer, seconds: float) -> None:
        sizes = [sum(part.sizes) for part in dealt(transfer, len(trainers))]
        for trainer in trainers:
            _room(trainer, sum(size for end, size in zip(trainers, sizes) if end.node_id == trainer.node_id))
        for reader in readers:
            _room(reader, transfer.size_bytes)

    def finish(self, trainers: Ends, readers: Ends, taken: Taken) -> None:
        """A node pulls each object once, whoever reads it there; within a node nobody does."""
        taken.destination = FRESH
        taken.arrived = None
        taken.is_mapped = len({end.node_id for end in (*trainers, *readers)}) == 1
        if taken.is_mapped:
            taken.remark = "a put copies each tensor into the store once, which is in the time"


class Block:
    """Bytes that Ray writes into its store as they are, and gives as a view of it, as it does with arrays."""

    def __init__(self, buffer: bytearray) -> None:
        self._buffer = buffer

    def __reduce_ex__(self, protocol: Any) -> Any:
        import pickle

        return memoryview, (pickle.PickleBuffer(self._buffer),)


def drive(state: dict[str, Any], source: Any, transfer: Transfer, is_one_node: bool) -> Taken:
    """In the target: the whole loop."""
    import ray

    taken = Taken(destination=FRESH, is_mapped=is_one_node)
    publishing: list[float] = []
    last: list[Any] = [None]

    def step(iteration: int) -> float:
        last[0] = None
        begun = time.perf_counter()
        (ref,), published = ray.get(source.run.remote(publish, transfer, iteration))
        fetching = time.perf_counter()
        got = last[0] = ray.get(ref)
        ended = time.perf_counter()
        del ref
        publishing.append(published)
        taken.end_to_end.append(ended - begun)
        taken.wrong = taken.wrong or payload.stamps_differ(got, transfer.seed, iteration)
        return ended - fetching

    told = timed(step, transfer.most_samples, transfer.seconds, transfer.least_seconds)
    count = len(told.samples)
    taken.took(told).end_to_end = taken.end_to_end[-count:]
    taken.phases["publish"] = median(publishing[-count:])
    received = last[0]
    taken.remark = _remark(received, is_one_node)
    if transfer.is_damaged:
        received = bytearray(received)  # the store's own bytes are not to be written
    number = taken.transfers - 1
    wrong, taken.phases["verify"] = payload.verified(received, transfer.seed, number, transfer.is_damaged)
    taken.wrong = taken.wrong or wrong
    taken.verified = taken.wrong is None
    return taken


def publish(state: dict[str, Any], transfer: Transfer, iteration: int) -> tuple[list[Any], float]:
    """In the source: a reference to what lies in the store, and the seconds of the put."""
    import ray

    if iteration == 0:
        state["buffer"] = bytearray(transfer.size_bytes)
        payload.fill(state["buffer"], transfer.seed)
    buffer = state["buffer"]
    payload.stamp(buffer, transfer.seed, iteration)
    begun = time.perf_counter()
    ref = ray.put(Block(buffer))
    return [ref], time.perf_counter() - begun


def put(state: dict[str, Any]) -> list[Any]:
    """At a trainer: a reference to all of its tensors, which lie in the store."""
    import ray

    return [ray.put([Block(buffer) for buffer in state["buffers"]])]


def _remark(received: memoryview, is_one_node: bool) -> str | None:
    size = len(received)
    if size < INLINE_BYTES:
        return "put into the store by hand: below 100 KiB Ray sends results and arguments with its messages"
    if not is_one_node:
        return None
    own = bytearray(size)
    payload.poison(own)
    begun = time.perf_counter()
    memoryview(own)[:] = received
    rate = size / (time.perf_counter() - begun)
    return f"nothing moved; a consumer that reads all of it does so at {rate / 1e9:.2f} GB/s"


def _room(end: End, size: int) -> None:
    """Raises `EndFailed` where the store would spill to disk."""
    import ray

    nodes = [node for node in ray.nodes() if node["NodeID"] == end.node_id]  # type: ignore[no-untyped-call]
    room = nodes[0]["Resources"].get("object_store_memory") if nodes else None
    if room is None or room >= _IN_STORE * size:
        return
    step = f"ray start --object-store-memory={_IN_STORE * size}"
    if end.is_of_raxl:
        step = "a larger /dev/shm, of which raxl gives a Ray of its own 30 %, or smaller --sizes"
    needed = f"needs {amounts.told(_IN_STORE * size)}, and the object store of {end.node} holds {amounts.told(room)}"
    raise EndFailed(f"{needed}: {step}")
