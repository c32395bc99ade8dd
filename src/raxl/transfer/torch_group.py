"""A process group of torch's over the ends, and what is measured in it: `torch-gloo`, `torch-nccl`.

Rank 0 keeps the clock. Between two ends it sends and waits for an acknowledgement of eight bytes; of small sizes the
target sends as much back, and half of the round trip is taken. Of a collective each rank measures from a barrier on,
and the longest of them counts. Before each transfer, outside of the clock, rank 0 tells the others its number, or that
it was the last one.

Sizes are counted as nccl-tests does: of all-gather what each rank has afterwards, of reduce-scatter what it gives, of
all-to-all what it gives and has afterwards. The elements are integers of four bytes where the size can be divided so,
of one byte else: their sums are exact, and wrap around.
"""

from __future__ import annotations

import os
import re
import socket
import time
from datetime import timedelta
from typing import Any, Callable, Sequence

from raxl.model.measurement import FRESH, P2P
from raxl.transfer import EndFailed, Ends, Taken, Transfer, Unavailable, channel, memory, payload
from raxl.transfer.timing import timed

_PING_BYTES = 64 << 10
_IMPORT_SECONDS, _JOIN_SECONDS = 90.0, 30.0
_END = -1
_POISON = 0xA5
MISSING = "no torch here: pip install 'raxl[rdt]'"
ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "broadcast",
)
_WORD = 1 << 32
_REFUSED = re.compile(r"(does|do) not support|not supported|no support", re.IGNORECASE)
"""gloo had no reduce-scatter in older torch."""


class Session:
    """A group over all ends, in their order."""

    def __init__(self, ends: Ends, backend: str, device: str, log: Sequence[str] = ()) -> None:
        """`device`: `cpu` or `cuda`. `log`: variables that make the library log to the file that the last of them
        names; what a user has set stays."""
        self._ends = ends
        begun = time.monotonic()
        starting = [end.start(load, backend, device, log) for end in ends]
        loaded = [one.result(_IMPORT_SECONDS) for one in starting]
        for end, (why, _) in zip(ends, loaded):
            if why is not None:
                raise Unavailable(f"{why} (on {end.node})")
        self._devices = tuple(str(name) for _, name in loaded)
        address = ends[0].address
        port = ends[0].call(listen, address)
        joining = [end.start(join, backend, address, port, rank, len(ends)) for rank, end in enumerate(ends)]
        for one in joining:
            one.result(_JOIN_SECONDS + 10)
        self._setup_seconds = time.monotonic() - begun

    def measure(self, transfer: Transfer) -> tuple[Taken, str]:
        """A row, and what the library has logged at rank 0 so far."""
        seconds = 3 * (transfer.seconds + transfer.least_seconds) + 60.0
        others = [end.start(follow, transfer) for end in self._ends[1:]]
        taken: Taken
        try:
            taken, log = self._ends[0].call(lead, transfer, seconds=seconds)
        except EndFailed as error:
            if _REFUSED.search(str(error)):
                raise Unavailable(f"this torch cannot do it: {error}") from error
            raise
        told = [(0, (taken.wrong, taken.phases["verify"]))]
        told += [(rank, one.result(seconds)) for rank, one in enumerate(others, 1)]
        wrong = [f"rank {rank}: {words}" for rank, (words, _) in told if words is not None]
        taken.wrong, taken.verified = wrong[0] if wrong else None, not wrong
        taken.phases.update(setup=self._setup_seconds, verify=max(took for _, (_, took) in told))
        moved = moved_bytes(transfer.pattern, transfer.size_bytes, len(self._ends))
        words = [f"{moved} bytes: {len(self._ends)} ranks have equal parts" if moved != transfer.size_bytes else ""]
        if transfer.destination == FRESH and transfer.pattern in (ALL_REDUCE, BROADCAST):
            words.append("in place: into the same memory each time")
        taken.remark = "; ".join(filter(None, words)) or None
        taken.devices = (self._devices[0], self._devices[-1])
        return taken, log

    def close(self) -> None:
        for end in self._ends:
            end.start(leave)


def given(pattern: str, rank: int, ranks: int) -> tuple[int, ...]:
    """By which factors of the base pattern a rank fills the pieces that it gives: odd ones, so that each bit counts; 0
    where it gives nothing."""
    if pattern == REDUCE_SCATTER:
        return tuple((2 * rank + 1) * (2 * piece + 1) for piece in range(ranks))
    if pattern == ALL_TO_ALL:
        return tuple(2 * (rank * ranks + piece) + 1 for piece in range(ranks))
    if pattern in (P2P, BROADCAST):
        return (1,) if rank == 0 else (0,)
    return (2 * rank + 1,)


def gotten(pattern: str, rank: int, ranks: int) -> tuple[int, ...]:
    """By which factors the pieces have to be there afterwards: the first n odd numbers add up to n squared."""
    if pattern == ALL_REDUCE:
        return (ranks**2,)
    if pattern == ALL_GATHER:
        return tuple(2 * other + 1 for other in range(ranks))
    if pattern == REDUCE_SCATTER:
        return (ranks**2 * (2 * rank + 1),)
    if pattern == ALL_TO_ALL:
        return tuple(2 * (other * ranks + rank) + 1 for other in range(ranks))
    return (1,)


def piece_bytes(pattern: str, size: int, ranks: int) -> int:
    """Of one piece, at least a byte."""
    return max(1, size // ranks) if pattern in (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL) else size


def moved_bytes(pattern: str, size: int, ranks: int) -> int:
    """The size that is really measured, where it cannot be parted evenly."""
    piece = piece_bytes(pattern, size, ranks)
    return piece * ranks if pattern in (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL) else piece


def load(state: dict[str, Any], backend: str, device: str, log: Sequence[str]) -> tuple[str, None] | tuple[None, str]:
    """Imports torch. Why the backend cannot be used, or the device whose memory is used: `cpu`, `nvidia:0`."""
    if log:
        state["log"] = f"/proc/self/fd/{os.memfd_create('raxl-log')}"
        for word in log:
            key, _, value = word.partition("=")
            os.environ.setdefault(key, value or state["log"])
    try:
        import torch
        import torch.distributed as distributed
    except ImportError as error:
        return MISSING if error.name == "torch" else f"torch cannot be imported: {error}", None
    if not distributed.is_available() or not getattr(distributed, f"is_{backend}_available", lambda: True)():
        return f"torch {torch.__version__} was built without {backend}", None
    state["device"] = torch.device(device)
    if device == "cpu":
        return None, device
    if not torch.cuda.is_available():
        return f"torch {torch.__version__} finds no GPU", None
    # Ray shows an end its own GPU alone, by the number that it has on the node.
    visible = (os.environ.get("CUDA_VISIBLE_DEVICES") or "").split(",")[0]
    return None, f"{'amd' if torch.version.hip else 'nvidia'}:{visible or torch.cuda.current_device()}"


def listen(state: dict[str, Any], address: str) -> int:
    """A port for the store where the ranks meet, on the address that the peers use and on no other."""
    server: socket.socket = channel.listening(address)
    server.settimeout(None)
    state["server"] = server
    return int(server.getsockname()[1])


def join(state: dict[str, Any], backend: str, address: str, port: int, rank: int, ranks: int) -> None:
    """Meets the others."""
    import torch.distributed as distributed

    patience = timedelta(seconds=_JOIN_SECONDS)
    options: dict[str, Any] = {"master_listen_fd": state.pop("server").detach()} if rank == 0 else {}
    store = distributed.TCPStore(address, port, ranks, rank == 0, patience, **options)
    distributed.init_process_group(backend, store=store, rank=rank, world_size=ranks, timeout=timedelta(minutes=5))
    state["rank"], state["ranks"], state["store"] = rank, ranks, store


def leave(state: dict[str, Any]) -> None:
    """Ends the group."""
    import torch.distributed as distributed

    distributed.destroy_process_group()


def lead(state: dict[str, Any], transfer: Transfer) -> tuple[Taken, str]:
    """Rank 0's part of a row."""
    part = _Work(state, transfer)
    told = timed(part.round, transfer.most_samples, transfer.seconds, transfer.least_seconds)
    part.tell(_END)
    wrong, seconds = part.verify()
    return Taken(phases={"verify": seconds}, wrong=wrong).took(told), _log(state)


def follow(state: dict[str, Any], transfer: Transfer) -> tuple[str | None, float]:
    """The others' part: where something was wrong, and how long it took to compare."""
    part = _Work(state, transfer)
    while (iteration := part.told()) != _END:
        part.round(iteration)
    return part.verify()


def _log(state: dict[str, Any]) -> str:
    if "log" not in state:
        return ""
    try:
        with open(state["log"], encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class _Work:
    """The tensors of a rank, and one transfer of them."""

    def __init__(self, state: dict[str, Any], transfer: Transfer) -> None:
        import torch
        import torch.distributed as distributed

        self._torch, self._distributed = torch, distributed
        self._rank, self._ranks, self._device = state["rank"], state["ranks"], state["device"]
        self._transfer = transfer
        pattern, piece = transfer.pattern, piece_bytes(transfer.pattern, transfer.size_bytes, self._ranks)
        raw = bytearray(piece)
        payload.fill(raw, transfer.seed)
        kind = torch.int32 if piece % 4 == 0 else torch.uint8
        self._modulus = _WORD if piece % 4 == 0 else 256
        self._base = torch.frombuffer(raw, dtype=kind).to(self._device)
        self._count = len(self._base)
        self._given = given(pattern, self._rank, self._ranks)
        self._gotten = gotten(pattern, self._rank, self._ranks)
        self._number = torch.zeros(1, dtype=torch.int64, device=self._device)
        self._ack = torch.zeros(1, dtype=torch.int64, device=self._device)
        self._source = self._new(len(self._given))
        self._is_in_place = pattern in (P2P, ALL_REDUCE, BROADCAST)
        self._target = self._source if self._is_in_place else self._new(len(self._gotten))
        self._is_ping = transfer.size_bytes <= _PING_BYTES
        self._is_receiver = pattern == P2P and self._rank == 1
        if pattern == P2P and self._rank == 0:
            self._back = self._new(1)
        self._fill()
        self._wrong: str | None = None
        self._last = 0

    def tell(self, number: int) -> None:
        """To all others: which transfer comes."""
        self._number.fill_(number)
        self._distributed.broadcast(self._number, 0)

    def told(self) -> int:
        """What rank 0 tells."""
        self._distributed.broadcast(self._number, 0)
        return int(self._number.item())

    def round(self, iteration: int) -> float:
        """One transfer, in seconds: at rank 0 as it counts."""
        if self._rank == 0:
            self.tell(iteration)
        self._prepare(iteration)
        receive = self._receiving() if self._transfer.pattern == P2P else None
        self._distributed.barrier()
        seconds = self._sent(receive) if receive is not None else self._together()
        self._wrong = self._wrong or self._stamps_differ(iteration)
        self._last = iteration
        return seconds

    def verify(self) -> tuple[str | None, float]:
        """Where any element is wrong, and how long it took to compare them; the last rank's may be damaged first."""
        if self._transfer.is_damaged and self._rank == self._ranks - 1:
            self._target[len(self._target) // 2] ^= 16
        begun = time.perf_counter()
        wrong = self._wrong or self._differs()
        return wrong, time.perf_counter() - begun

    def _new(self, pieces: int) -> Any:
        made = self._torch.empty(pieces * self._count, dtype=self._base.dtype, device=self._device)
        made.view(self._torch.uint8).fill_(_POISON)
        return made

    def _fresh(self) -> Any:
        if self._device.type != "cpu":
            return self._torch.empty_like(self._target)
        size = self._target.numel() * self._target.element_size()
        return self._torch.frombuffer(memory.fresh(size), dtype=self._base.dtype)

    def _fill(self) -> None:
        for place, factor in enumerate(self._given):
            if factor:
                piece = self._piece(self._source, place)
                self._torch.mul(self._base, self._signed(factor), out=piece)

    def _piece(self, tensor: Any, place: int) -> Any:
        return tensor[place * self._count : (place + 1) * self._count]

    def _prepare(self, iteration: int) -> None:
        """The number of the transfer into the first and the last element, and one in between; a sum of an earlier
        transfer is replaced."""
        if self._transfer.destination == FRESH and (not self._is_in_place or self._is_receiver):
            self._target = self._fresh()
        if self._transfer.pattern == ALL_REDUCE:
            self._fill()
        for place, factor in enumerate(self._given):
            piece = self._piece(self._source, place)
            if not factor:
                continue
            before = self._places(self._last)[-1]
            piece[before] = self._signed(int(self._base[before].item()) * factor)
            for index in self._places(iteration):
                piece[index] = self._signed(self._value(iteration) * factor)
        self._wait()

    def _receiving(self) -> Callable[[], Any]:
        """What waits for the other rank's bytes. gloo sends what its receiver has asked for, so that is asked before
        the clock runs; NCCL does what a rank asks in that order, so it would wait for ever."""
        into, other = (self._answer() if self._rank == 0 else self._target), 1 - self._rank
        if self._device.type != "cpu":
            return lambda: self._distributed.recv(into, other)
        wait: Callable[[], Any] = self._distributed.irecv(into, other).wait
        return wait

    def _answer(self) -> Any:
        """What comes back: of small sizes as much."""
        return self._back if self._is_ping else self._ack

    def _sent(self, receive: Callable[[], Any]) -> float:
        """Rank 0 to rank 1."""
        begun = time.perf_counter()
        if self._rank == 0:
            self._distributed.send(self._source, 1)
            receive()
        else:
            receive()
            self._wait()
            self._distributed.send(self._target if self._is_ping else self._ack, 0)
        self._wait()
        return (time.perf_counter() - begun) / (2 if self._is_ping else 1)

    def _together(self) -> float:
        """All ranks; the longest."""
        operation = self._operation()
        begun = time.perf_counter()
        operation()
        self._wait()
        took = self._torch.tensor([time.perf_counter() - begun], dtype=self._torch.float64, device=self._device)
        self._distributed.all_reduce(took, op=self._distributed.ReduceOp.MAX)
        return float(took.item())

    def _operation(self) -> Callable[[], Any]:
        d, source, target = self._distributed, self._source, self._target
        pattern = self._transfer.pattern
        if pattern == ALL_REDUCE:
            return lambda: d.all_reduce(source)
        if pattern == BROADCAST:
            return lambda: d.broadcast(source, 0)
        if pattern == ALL_TO_ALL:
            return lambda: d.all_to_all_single(target, source)
        if pattern == ALL_GATHER:
            gather = getattr(d, "all_gather_single", None) or d.all_gather_into_tensor
            return lambda: gather(target, source)
        scatter = getattr(d, "reduce_scatter_single", None) or d.reduce_scatter_tensor
        return lambda: scatter(target, source)

    def _wait(self) -> None:
        if self._device.type == "cuda":
            self._torch.cuda.synchronize()

    def _value(self, iteration: int) -> int:
        return (self._transfer.seed * 0x9E3779B1 + iteration * 0x85EBCA6B + 1) % _WORD

    def _places(self, iteration: int) -> tuple[int, ...]:
        """The first, the last, and one that moves."""
        count = self._count
        return (0, count - 1, 1 + self._value(iteration) // 7 % (count - 2)) if count > 2 else (0, count - 1)

    def _signed(self, value: int) -> int:
        value %= self._modulus
        return value - _WORD if self._modulus == _WORD and value >= _WORD // 2 else value

    def _stamps_differ(self, iteration: int) -> str | None:
        if self._transfer.pattern == P2P and self._rank == 0:
            return None
        for place, factor in enumerate(self._gotten):
            piece, wanted = self._piece(self._target, place), self._signed(self._value(iteration) * factor)
            for index in self._places(iteration):
                if int(piece[index].item()) != wanted:
                    return f"transfer {iteration} did not bring element {index} of piece {place}"
        return None

    def _differs(self) -> str | None:
        if self._transfer.pattern == P2P and self._rank == 0:
            return None
        stamped = self._base.clone()
        for index in self._places(self._last):
            stamped[index] = self._signed(self._value(self._last))
        for place, factor in enumerate(self._gotten):
            piece, wanted = self._piece(self._target, place), stamped * self._signed(factor)
            if not self._torch.equal(piece, wanted):
                index = int((piece != wanted).nonzero()[0].item())
                return f"element {index} of piece {place} is {int(piece[index])}, {int(wanted[index])} had to come"
        return None
