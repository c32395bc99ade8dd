"""Weight-sync by Ray Direct Transport: a trainer's tensors are one object, as a list, which is how Ray moves them.

Of a one-sided transport the trainer puts the list and the readers get it; of a two-sided one the list is what a task
of the trainer gives, and the argument of a task of each reader.
"""

from __future__ import annotations

from typing import Any

from raxl.model.measurement import FRESH, REUSED
from raxl.transfer import Ends, Taken, Transfer, payload, rdt, sync
from raxl.transfer.ray_ends import waited
from raxl.transfer.rdt import Memory
from raxl.transfer.sync import Carrier, Moved, SyncSession
from raxl.transfer.sync_objects import Objects


class Pulled(Objects):
    """A one-sided transport, which may read into memory that the readers keep."""

    def __init__(self, name: str, memory: Memory | None = None) -> None:
        """`memory`: how memory is made known to it, once; without it there are no targets."""
        super().__init__(offer, take)
        self.write = write
        self._name, self._memory = name, memory
        self.largest = 0
        """Bytes of the largest tensor."""

    def prepare(self, trainers: Ends, readers: Ends, transfer: Transfer, seconds: float) -> None:
        self.largest = max(transfer.sizes)
        memory = self._memory if transfer.destination == REUSED else None
        offering = [end.start(make, self._name, memory) for end in trainers]
        for one in (*offering, *(end.start(make_targets, memory) for end in readers)):
            one.result(seconds)

    def finish(self, trainers: Ends, readers: Ends, taken: Taken) -> None:
        _devices(trainers, readers, taken)
        told = [end.call(waits) for end in readers]
        taken.quantum = max((quantum for quantum, _ in told if quantum), default=None)
        if not all(is_in_place for _, is_in_place in told):
            taken.destination = FRESH


class Sent(Carrier):
    """A two-sided transport: none but the caller can order it, and all tasks are begun at once."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.write = write
        self._name = name

    def prepare(self, trainers: Ends, readers: Ends, transfer: Transfer, seconds: float) -> None:
        offering = [end.start(make, self._name, None) for end in trainers]
        for one in (*offering, *(end.start(make_targets, None) for end in readers)):
            one.result(seconds)

    def move(self, trainers: Ends, readers: Ends, iteration: int, seconds: float) -> Moved:
        references = [end.handle.run.options(tensor_transport=self._name).remote(give) for end in trainers]
        receiving = [(end, end.handle.run.remote(receive, *references)) for end in readers]
        return Moved([waited(one, end.node, seconds) for end, one in receiving])

    def finish(self, trainers: Ends, readers: Ends, taken: Taken) -> None:
        _devices(trainers, readers, taken)
        taken.destination = FRESH


class Grouped(SyncSession):
    """A two-sided transport in a collective group, which it ends."""

    def __init__(self, trainers: Ends, readers: Ends, name: str, group: Any, setup_seconds: float) -> None:
        super().__init__(trainers, readers, Sent(name), setup_seconds)
        self._group = group

    def close(self) -> None:
        group, self._group = self._group, None
        rdt.leave(group)


def make(state: dict[str, Any], name: str, memory: Memory | None) -> None:
    """At a trainer: tensors of its buffers, or copies of them on the device."""
    import torch

    hosts = [torch.frombuffer(buffer, dtype=torch.uint8) for buffer in state["buffers"]]
    state["name"], state["hosts"] = name, hosts
    state["tensors"] = hosts if state["device"] == "cpu" else [host.to(state["device"]) for host in hosts]
    if memory is not None:
        for tensor in state["tensors"]:
            memory.register(tensor)


def write(state: dict[str, Any], iteration: int) -> None:
    """At a trainer: the weights of the next transfer."""
    import torch

    sync.write(state, iteration)
    if state["device"] != "cpu":
        for tensor, host in zip(state["tensors"], state["hosts"]):
            tensor.copy_(host)
        torch.cuda.synchronize()


def make_targets(state: dict[str, Any], memory: Memory | None) -> None:
    """At a reader: memory that is received into, full of what was never sent, where it is to be reused."""
    import torch

    state["read"], state["targets"], state["in_place"] = rdt.bytes_of, None, True
    if memory is None:
        return
    state["targets"] = []
    for part in state["parts"]:
        targets = []
        for size in part.sizes:
            buffer = bytearray(size)
            payload.poison(buffer)
            host = torch.frombuffer(buffer, dtype=torch.uint8)
            targets.append(host if state["device"] == "cpu" else host.to(state["device"]))
            memory.register(targets[-1])
        state["targets"].append(targets)


def offer(state: dict[str, Any]) -> list[Any]:
    """At a trainer, of a one-sided transport: a reference to all of its tensors."""
    import ray

    return [ray.put(state["tensors"], _tensor_transport=state["name"])]


def take(state: dict[str, Any], references: list[Any]) -> str | None:
    """At a reader, of a one-sided transport."""
    from ray.experimental import set_target_for_ref

    import ray

    targets = state["targets"]
    if targets is not None:
        for reference, of_part in zip(references, targets):
            set_target_for_ref(reference, of_part)
    state["got"] = ray.get(references)
    _settle(state)
    if targets is not None:
        state["in_place"] = state["in_place"] and all(
            tensor.data_ptr() == target.data_ptr()
            for tensors, of_part in zip(state["got"], targets)
            for tensor, target in zip(tensors, of_part)
        )
    return sync.holds(state)


def give(state: dict[str, Any]) -> Any:
    """At a trainer, of a two-sided transport: all of its tensors."""
    return state["tensors"]


def receive(state: dict[str, Any], *parts: Any) -> str | None:
    """At a reader, of a two-sided transport: they are there when the task begins."""
    state["got"] = list(parts)
    _settle(state)
    return sync.holds(state)


def waits(state: dict[str, Any]) -> tuple[float | None, bool]:
    """At a reader: the step in which the transport itself waited, if it did; whether all came where it was to."""
    return (state.get("quantum") if state["watch"].seen else None), state["in_place"]


def _settle(state: dict[str, Any]) -> None:
    if state["device"] != "cpu":
        import torch

        torch.cuda.synchronize()


def _devices(trainers: Ends, readers: Ends, taken: Taken) -> None:
    taken.devices = (trainers[0].call(rdt.device_name), readers[0].call(rdt.device_name))
