"""The peers of `transports.py`: the same calls without raxl, in loops that do nothing else.

Each runs in the very processes in which raxl's transport runs, with memory, connections and groups of its own. The
classes live in the driver; the functions beside them run at the ends, which are sent their text. A round repeats as
often as raxl just did, and gives the seconds of each transfer.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

_ACK = 8
_PATIENCE = 60.0


class Peer(Protocol):
    """One peer between two ends."""

    def measure(self, warm: int, count: int) -> list[float]:
        """The seconds of `count` transfers, after `warm` that are not counted."""

    def close(self) -> None:
        """Ends what it started."""


def _filled(size: int) -> bytearray:
    """Memory of which every page was written: one that is not reads from the same page of zeros."""
    return bytearray(os.urandom(1 << 20) * (size >> 20))


class Iperf:
    """`iperf3` with one stream and the congestion control of raxl's own connection."""

    def __init__(self, ends: Sequence[Any], size: int, given: str) -> None:
        self._source, self._target = ends
        self._size = size
        self._control = self._source.call(congestion)
        self._port = self._target.call(iperf_serve, self._target.address)

    def measure(self, warm: int, count: int) -> list[float]:
        # What was sent to warm up is a part of its figure, which it gives for the whole.
        sent = (warm + count) * self._size
        rate = self._source.call(iperf_send, self._target.address, self._port, self._control, sent)
        return [self._size / rate] * count

    def close(self) -> None:
        self._target.call(iperf_end)


def congestion(state: dict[str, Any]) -> str:
    """What raxl's connection does about congestion."""
    told: bytes = state["connections"][0].getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return told.rstrip(b"\0").decode()


def iperf_serve(state: dict[str, Any], address: str) -> int:
    with socket.create_server((address, 0)) as free:
        port = int(free.getsockname()[1])
    command = ["iperf3", "--server", "--bind", address, "--port", str(port), "--forceflush"]
    # It ends with the process that started it, however that ends.
    library = ctypes.CDLL(None)
    state["iperf3"] = serving = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: library.prctl(1, 9)
    )
    assert serving.stdout is not None
    while line := serving.stdout.readline():
        if "listening" in line:
            return port
    raise RuntimeError("iperf3 does not listen")


def iperf_send(state: dict[str, Any], address: str, port: int, control: str, sent: int) -> float:
    """Bytes per second, as the receiver counts them."""
    command = ["iperf3", "--client", address, "--port", str(port), "--congestion", control]
    done = subprocess.run(
        [*command, "--bytes", str(sent), "--json"], capture_output=True, text=True, timeout=60, check=False
    )
    told = json.loads(done.stdout)
    if "error" in told:
        raise RuntimeError(told["error"])
    return float(told["end"]["sum_received"]["bits_per_second"]) / 8


def iperf_end(state: dict[str, Any]) -> None:
    state["iperf3"].kill()
    state["iperf3"].wait()


class Sockets:
    """A loop of `sendall` and `recv_into`, and an acknowledgement of eight bytes."""

    def __init__(self, ends: Sequence[Any], size: int, given: str) -> None:
        self._source, self._target = ends
        self._size = size
        port = self._target.call(socket_listen, self._target.address)
        accepting = self._target.start(socket_accept)
        self._source.call(socket_connect, self._target.address, port)
        accepting.result(_PATIENCE)

    def measure(self, warm: int, count: int) -> list[float]:
        receiving = self._target.start(socket_receive, self._size, warm + count)
        seconds: list[float] = self._source.call(socket_send, self._size, warm + count)
        receiving.result(_PATIENCE)
        return seconds[warm:]

    def close(self) -> None:
        for end in (self._source, self._target):
            end.call(socket_close)


def socket_listen(state: dict[str, Any], address: str) -> int:
    state["server"] = socket.create_server((address, 0))
    return int(state["server"].getsockname()[1])


def socket_accept(state: dict[str, Any]) -> None:
    state["bare"] = state["server"].accept()[0]
    state.pop("server").close()


def socket_connect(state: dict[str, Any], address: str, port: int) -> None:
    state["bare"] = socket.create_connection((address, port))
    state["bare"].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def socket_send(state: dict[str, Any], size: int, count: int) -> list[float]:
    connection, buffer, seconds = state["bare"], _filled(size), []
    for _ in range(count):
        connection.recv(_ACK, socket.MSG_WAITALL)
        begun = time.perf_counter()
        connection.sendall(buffer)
        connection.recv(_ACK, socket.MSG_WAITALL)
        seconds.append(time.perf_counter() - begun)
    return seconds


def socket_receive(state: dict[str, Any], size: int, count: int) -> None:
    connection, view = state["bare"], memoryview(_filled(size))
    for _ in range(count):
        connection.sendall(b"ready...")
        place = 0
        while place < size:
            place += connection.recv_into(view[place : place + (4 << 20)])
        connection.sendall(b"received")


def socket_close(state: dict[str, Any]) -> None:
    state.pop("bare").close()


class Copies:
    """`memcpy` in C, compiled by `cc`; `given` is the library that holds it."""

    def __init__(self, ends: Sequence[Any], size: int, given: str) -> None:
        self._target, self._size, self._library = ends[1], size, given

    def measure(self, warm: int, count: int) -> list[float]:
        seconds: list[float] = self._target.call(copies, self._library, self._size, warm + count)
        return seconds[warm:]

    def close(self) -> None:
        """Nothing to end."""


def copies(state: dict[str, Any], library: str, size: int, count: int) -> list[float]:
    seconds = (ctypes.c_double * count)()
    if ctypes.CDLL(library).copies(ctypes.c_size_t(size), count, seconds) != 0:
        raise MemoryError(f"no room for two buffers of {size} bytes")
    return list(seconds)


class Gloo:
    """`torch.distributed` over gloo: `send` and `recv` with an acknowledgement, or `all_reduce`."""

    def __init__(self, ends: Sequence[Any], size: int, given: str) -> None:
        self._ends, self._size, self._pattern = ends, size, given
        for one in [end.start(gloo_group) for end in ends]:
            one.result(_PATIENCE)

    def measure(self, warm: int, count: int) -> list[float]:
        loop = gloo_reduce if self._pattern == "all-reduce" else gloo_send
        running = [end.start(loop, rank, self._size, warm + count) for rank, end in enumerate(self._ends)]
        told = [one.result(_PATIENCE) for one in running]
        return [max(both) for both in zip(*told, strict=True)][warm:]

    def close(self) -> None:
        """The group goes with raxl's."""


def gloo_group(state: dict[str, Any]) -> None:
    import torch.distributed as distributed

    state["bare"] = distributed.new_group(backend="gloo")


def gloo_send(state: dict[str, Any], rank: int, size: int, count: int) -> list[float]:
    import torch
    import torch.distributed as distributed

    group, seconds = state["bare"], []
    tensor, acknowledged = torch.frombuffer(_filled(size), dtype=torch.int32), torch.zeros(1, dtype=torch.int64)
    for _ in range(count):
        distributed.barrier(group)
        begun = time.perf_counter()
        if rank == 0:
            distributed.send(tensor, 1, group)
            distributed.recv(acknowledged, 1, group)
            seconds.append(time.perf_counter() - begun)
        else:
            distributed.recv(tensor, 0, group)
            distributed.send(acknowledged, 0, group)
            seconds.append(0.0)
    return seconds


def gloo_reduce(state: dict[str, Any], rank: int, size: int, count: int) -> list[float]:
    import torch
    import torch.distributed as distributed

    group, seconds = state["bare"], []
    tensor = torch.frombuffer(_filled(size), dtype=torch.int32)
    for _ in range(count):
        distributed.barrier(group)
        begun = time.perf_counter()
        distributed.all_reduce(tensor, group=group)
        seconds.append(time.perf_counter() - begun)
    return seconds


class NixlReads:
    """NIXL's `READ` over UCX, and the question whether it is done."""

    def __init__(self, ends: Sequence[Any], size: int, given: str) -> None:
        self._source, self._target = ends
        self._size = size
        for one in [end.start(nixl_begin, f"bare-{place}") for place, end in enumerate(ends)]:
            one.result(_PATIENCE)

    def measure(self, warm: int, count: int) -> list[float]:
        metadata, descriptors = self._source.call(nixl_publish, self._size)
        seconds: list[float] = self._target.call(nixl_read, metadata, descriptors, self._size, warm + count)
        self._source.call(nixl_withdraw)
        return seconds[warm:]

    def close(self) -> None:
        """The agents go with their processes."""


def nixl_begin(state: dict[str, Any], name: str) -> None:
    from nixl._api import nixl_agent, nixl_agent_config

    state["bare"] = nixl_agent(name, nixl_agent_config(backends=["UCX"]))


def nixl_publish(state: dict[str, Any], size: int) -> tuple[bytes, bytes]:
    agent, buffer = state["bare"], _filled(size)
    place = (ctypes.addressof(ctypes.c_char.from_buffer(buffer)), size, 0)
    state["kept"] = buffer, agent.register_memory([(*place, "")], "DRAM")
    return agent.get_agent_metadata(), agent.get_serialized_descs(agent.get_xfer_descs([place], "DRAM"))


def nixl_withdraw(state: dict[str, Any]) -> None:
    state["bare"].deregister_memory(state.pop("kept")[1])


def nixl_read(state: dict[str, Any], metadata: bytes, descriptors: bytes, size: int, count: int) -> list[float]:
    agent, buffer, seconds = state["bare"], _filled(size), []
    place = (ctypes.addressof(ctypes.c_char.from_buffer(buffer)), size, 0)
    registered = agent.register_memory([(*place, "")], "DRAM")
    peer = agent.add_remote_agent(metadata)
    remote = agent.deserialize_descs(descriptors)
    request = agent.initialize_xfer("READ", agent.get_xfer_descs([place], "DRAM"), remote, peer)
    for _ in range(count):
        begun = time.perf_counter()
        status = agent.transfer(request)
        while status == "PROC":
            status = agent.check_xfer_state(request)
        seconds.append(time.perf_counter() - begun)
        if status != "DONE":
            raise RuntimeError(f"NIXL ended a transfer with {status}")
    agent.release_xfer_handle(request)
    agent.deregister_memory(registered)
    agent.remove_remote_agent(peer)
    return seconds


class Objects:
    """`ray.put` of an array at the source, `ray.get` in the target."""

    def __init__(self, ends: Sequence[Any], size: int, given: str) -> None:
        self._source, self._target = ends
        self._size = size

    def measure(self, warm: int, count: int) -> list[float]:
        seconds: list[float] = self._target.call(object_get, self._source.handle, object_put, self._size, warm + count)
        return seconds[warm:]

    def close(self) -> None:
        self._source.call(object_drop)


def object_get(state: dict[str, Any], source: Any, put: Any, size: int, count: int) -> list[float]:
    import ray

    seconds = []
    for _ in range(count):
        (reference,) = ray.get(source.run.remote(put, size))
        begun = time.perf_counter()
        got = ray.get(reference)
        seconds.append(time.perf_counter() - begun)
        if got.nbytes != size:
            raise RuntimeError(f"{got.nbytes} bytes came")
        del got, reference
    return seconds


def object_put(state: dict[str, Any], size: int) -> list[Any]:
    import numpy

    import ray

    if "bare" not in state:
        state["bare"] = numpy.frombuffer(_filled(size), dtype=numpy.uint8)
    return [ray.put(state["bare"])]


def object_drop(state: dict[str, Any]) -> None:
    state.pop("bare", None)


PEERS: dict[str, Callable[[Sequence[Any], int, str], Peer]] = {
    "iperf3": Iperf,
    "sockets": Sockets,
    "C memcpy": Copies,
    "gloo": Gloo,
    "NIXL": NixlReads,
    "ray.get": Objects,
}
"""By the name that is printed; made with the ends, the size, and a pattern or the library of `memcpy`."""


def by_value() -> None:
    """Has Ray send the text of what is here: no end can import it."""
    import ray.cloudpickle

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
