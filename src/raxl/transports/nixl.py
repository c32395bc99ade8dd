"""`nixl`: NIXL's one-sided READ, from memory to memory, as Ray Direct Transport uses it but without Ray.

The source registers memory and tells where it is; the target reads it, without the source taking part where the
hardware can do that. The target's clock runs from the post until the library says that it is done. Before each transfer
the two agree by a socket which one it is. `nixl` is over UCX, `nixl-libfabric` over libfabric.

What UCX chooses is in its log, which goes into a file without a name, so that it ends with the process. A process that
made a UCX backend crashes when it leaves by itself (1.4.1, 1.5.1): the end is killed.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from typing import Any, Mapping, NamedTuple

from raxl.model.measurement import FRESH, P2P
from raxl.transfer import LOOPBACK, MEMORY, Ends, Taken, Transfer, Unavailable, channel, memory, payload, ucx_log
from raxl.transfer.channel import CONNECT_SECONDS, END
from raxl.transfer.statistics import median
from raxl.transfer.timing import timed

_BEGIN_SECONDS = 60.0
"""Of the import, and of looking for devices."""
_SPIN_SECONDS = 200e-6
"""So long the state is asked for without a pause; then others may have the core between two questions."""
_MISSING = "no nixl here: pip install 'raxl[nixl]'"


class Nixl:
    """Agents at both ends, with one backend."""

    transport = "nixl"
    patterns = (P2P,)
    devices = ("cpu",)
    needs_tensor_transport = False
    way = MEMORY
    backend = "UCX"

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def open(self, ends: Ends) -> NixlSession:
        return NixlSession(ends, self.backend)


class NixlLibfabric(Nixl):
    """For EFA and other fabrics of libfabric's."""

    transport = "nixl-libfabric"
    way = LOOPBACK
    backend = "LIBFABRIC"


class NixlSession:
    """Two agents, and a socket between them."""

    def __init__(self, ends: Ends, backend: str) -> None:
        self._source, self._target = ends
        self._backend = backend
        begun = time.monotonic()
        starting = [end.start(begin, backend, f"raxl-{end.pid}-{place}") for place, end in enumerate(ends)]
        for end, why in zip(ends, [one.result(_BEGIN_SECONDS) for one in starting]):
            if why is not None:
                raise Unavailable(why if why == _MISSING else f"{why} (on {end.node})")
        self._version: str | None = self._target.call(version)
        port = self._source.call(listen, self._source.address)
        accepting = self._source.start(accept)
        self._target.call(connect, self._source.address, port, seconds=CONNECT_SECONDS + 5)
        accepting.result(CONNECT_SECONDS + 5)
        self._setup_seconds = time.monotonic() - begun

    def measure(self, transfer: Transfer) -> Taken:
        seconds = 3 * (transfer.seconds + transfer.least_seconds) + 60.0
        published: Published = self._source.call(publish, transfer)
        serving = self._source.start(serve, transfer)
        taken: Taken
        taken, log = self._target.call(read, transfer, published, seconds=seconds)
        serving.result(CONNECT_SECONDS + seconds)
        taken.phases["setup"] = self._setup_seconds
        taken.phases["register"] += published.register_seconds
        taken.phases["publish"] += published.seconds
        taken.remark = self._version
        ucx_log.tell(taken, log, "ucp_get", transfer.size_bytes)
        return taken

    def close(self) -> None:
        for end in (self._source, self._target):
            end.call(hang_up)


class Published(NamedTuple):
    """What the target needs to read: the agent's own description, and where the bytes are."""

    metadata: bytes
    descriptors: bytes
    register_seconds: float
    seconds: float


def begin(state: dict[str, Any], backend: str, name: str) -> str | None:
    """Makes the agent; why not, where it cannot be made."""
    errors = os.memfd_create("raxl-nixl")
    ucx_log.begin(state)
    standard = os.dup(2)
    sys.stderr.flush()
    os.dup2(errors, 2)
    try:
        from nixl._api import nixl_agent, nixl_agent_config

        state["agent"] = nixl_agent(name, nixl_agent_config(backends=[backend]))
    except ImportError as error:
        return _MISSING if (error.name or "").startswith("nixl") else f"nixl cannot be imported: {error}"
    except Exception as error:  # the binding has errors of its own, which are no OSError nor RuntimeError
        return f"{backend} has no backend here: {_why(state, errors, backend, error)}"
    finally:
        sys.stderr.flush()
        os.dup2(standard, 2)
        os.close(standard)
        os.close(errors)
    if backend not in state["agent"].backends:
        return f"nixl has no plug-in {backend} here"
    state["backend"] = backend
    return None


def _why(state: dict[str, Any], errors: int, backend: str, error: Exception) -> str:
    """UCX's own line; else what the plug-in lacks; else what NIXL says."""
    told = ucx_log.complaint(ucx_log.read(state))
    if told is not None:
        return f"UCX says {told}"
    path = _plugin_path(backend)
    if path is not None:
        try:
            ctypes.CDLL(path)
        except OSError as missing:
            return str(missing)
    lines = [line for line in _text(f"/proc/self/fd/{errors}").splitlines() if line.startswith("E")]
    return lines[0].partition("] ")[2] if lines else f"{type(error).__name__}: {error}"


def version(state: dict[str, Any]) -> str | None:
    """Of the UCX that is loaded, whatever others are installed."""
    path = _loaded("libucp")
    if path is None:
        return None
    tell = ctypes.CDLL(path).ucp_get_version_string
    tell.restype = ctypes.c_char_p
    return f"UCX {tell().decode()}"


def _plugin_path(backend: str) -> str | None:
    """Of NIXL's plug-in, beside its library."""
    library = _loaded("libnixl.so")
    found = os.path.join(os.path.dirname(library), "plugins", f"libplugin_{backend}.so") if library else ""
    return found if os.path.exists(found) else None


def _loaded(name: str) -> str | None:
    """The file of a library of this process."""
    paths = (line.split()[-1] for line in _text("/proc/self/maps").splitlines())
    return next((path for path in paths if os.path.basename(path).startswith(name)), None)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def listen(state: dict[str, Any], address: str) -> int:
    """Opens a port for the target."""
    server = state["server"] = channel.listening(address)
    return int(server.getsockname()[1])


def accept(state: dict[str, Any]) -> None:
    """Takes its connection."""
    state["connection"] = channel.accepted(state["server"])
    state.pop("server").close()


def connect(state: dict[str, Any], address: str, port: int) -> None:
    """Connects to the source."""
    state["connection"] = channel.connected(address, port)


def hang_up(state: dict[str, Any]) -> None:
    """Closes what is open; the agent goes with the process."""
    if "connection" in state:
        state.pop("connection").close()


def publish(state: dict[str, Any], transfer: Transfer) -> Published:
    """Registers the source's memory and says where it is."""
    agent = state["agent"]
    buffer = memoryview(bytearray(transfer.size_bytes))
    payload.fill(buffer, transfer.seed)
    begun = time.perf_counter()
    state["source"] = buffer, agent.register_memory([(*_place(buffer), "")], "DRAM", [state["backend"]])
    registered = time.perf_counter()
    descriptors = agent.get_serialized_descs(agent.get_xfer_descs([_place(buffer)], "DRAM"))
    metadata = agent.get_agent_metadata()
    return Published(metadata, descriptors, registered - begun, time.perf_counter() - registered)


def serve(state: dict[str, Any], transfer: Transfer) -> None:
    """The source's part of a row: the number of the next transfer goes into the bytes before the target reads them."""
    connection = state["connection"]
    buffer, registered = state.pop("source")
    while (iteration := channel.told(connection)) != END:
        payload.stamp(buffer, transfer.seed, iteration)
        channel.tell(connection, iteration)
    state["agent"].deregister_memory(registered, [state["backend"]])


def read(state: dict[str, Any], transfer: Transfer, published: Published) -> tuple[Taken, str]:
    """The target's part, and UCX's log so far."""
    agent, connection = state["agent"], state["connection"]
    begun = time.perf_counter()
    peer = agent.add_remote_agent(published.metadata)
    added_seconds = time.perf_counter() - begun
    reading = _Reading(agent, state["backend"], peer, agent.deserialize_descs(published.descriptors), transfer)
    told = timed(reading.step(connection), transfer.most_samples, transfer.seconds, transfer.least_seconds)
    channel.tell(connection, END)
    wrong, verify_seconds = payload.verified(reading.buffer, transfer.seed, reading.last, transfer.is_damaged)
    wrong = reading.wrong or wrong
    reading.release()
    agent.remove_remote_agent(peer)
    phases = {"register": median(reading.prepared), "publish": added_seconds, "verify": verify_seconds}
    return Taken(phases=phases, wrong=wrong, verified=wrong is None).took(told), ucx_log.read(state)


class _Reading:
    """The target's memory, and a request that reads into it; both new for each transfer where it should be fresh."""

    def __init__(self, agent: Any, backend: str, peer: str, remote: Any, transfer: Transfer) -> None:
        self._agent, self._backends, self._peer, self._remote = agent, [backend], peer, remote
        self._transfer = transfer
        self.buffer = memoryview(bytearray(transfer.size_bytes))
        payload.poison(self.buffer)
        self._registered: Any = None
        self._request: Any = None
        self.prepared: list[float] = []
        self.wrong: str | None = None
        self.last = 0

    def step(self, connection: Any) -> Any:
        """One transfer, in seconds."""

        def one(iteration: int) -> float:
            if self._request is None or self._transfer.destination == FRESH:
                self._prepare()
            channel.tell(connection, iteration)
            channel.told(connection)
            begun = time.perf_counter()
            status = self._agent.transfer(self._request)
            patient = begun + _SPIN_SECONDS
            while status == "PROC":
                status = self._agent.check_xfer_state(self._request)
                if status == "PROC" and time.perf_counter() > patient:
                    os.sched_yield()
            seconds = time.perf_counter() - begun
            if status != "DONE":
                raise RuntimeError(f"NIXL ended transfer {iteration} with {status}")
            self.wrong = self.wrong or payload.stamps_differ(self.buffer, self._transfer.seed, iteration)
            self.last = iteration
            return seconds

        return one

    def _prepare(self) -> None:
        self.release()
        if self._transfer.destination == FRESH:
            self.buffer = memory.fresh(self._transfer.size_bytes)
        begun = time.perf_counter()
        place = _place(self.buffer)
        self._registered = self._agent.register_memory([(*place, "")], "DRAM", self._backends)
        local = self._agent.get_xfer_descs([place], "DRAM")
        self._request = self._agent.initialize_xfer("READ", local, self._remote, self._peer, b"", self._backends)
        self.prepared.append(time.perf_counter() - begun)

    def release(self) -> None:
        if self._request is not None:
            self._agent.release_xfer_handle(self._request)
            self._agent.deregister_memory(self._registered, self._backends)
            self._request = None


def _place(buffer: memoryview) -> tuple[int, int, int]:
    return memory.address(buffer), len(buffer), 0
