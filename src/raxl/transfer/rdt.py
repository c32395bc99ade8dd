"""Transfers by the tensor transports that are registered with Ray, its own and those of others: Ray Direct Transport.

Of a one-sided transport the loop runs inside the target, which asks the source for a reference and then fetches what
it stands for: only that is timed. Of a two-sided one Ray lets none but the caller order a transfer, so the loop runs
in the driver, and the target notes when it received.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from raxl.model.measurement import FRESH, REUSED
from raxl.transfer import Ends, Taken, Transfer, Unavailable, payload
from raxl.transfer.ray_ends import first_line, waited
from raxl.transfer.rdt_watch import Watch
from raxl.transfer.statistics import median
from raxl.transfer.timing import Timed, timed

TORCH = "pip install 'raxl[rdt]'"
_REGISTERED_SECONDS = 10.0
"""So long it may take until an actor knows a transport that was registered for it."""
_SETUP_SECONDS, _STEP_SECONDS = 60.0, 90.0
"""Importing torch and making an agent on a busy node; and Ray itself gives a transfer up after 60 s."""
_MEETING_SECONDS = 0.02
"""Beside less than this it is felt that Ray starts a sending task at the source when it starts the receiving one."""

Known = Callable[[dict[str, Any], Any, Watch], None]


class Memory(NamedTuple):
    """How memory is made known to a transport, and forgotten: functions of a tensor, run at the ends."""

    register: Callable[[Any], None]
    deregister: Callable[[Any], None]


def is_there() -> None:
    """Raises `Unavailable` where Ray is too old."""
    import ray

    try:
        import ray.experimental.rdt.util
    except ImportError:
        raise Unavailable(f"Ray {ray.__version__} has no tensor transports: Ray 2.60 has them") from None


def register(name: str, devices: Sequence[str], manager: type) -> None:
    """Registers a transport with Ray, unless it is: for `prepare` of a plug-in. `manager`, a
    `ray.experimental.TensorTransportManager`, is to be found by its name in a module beside the plug-in, which travels
    to the ends. Raises `Unavailable`."""
    is_there()
    try:
        import torch
    except ImportError:
        raise Unavailable(f"no torch beside raxl, which orders the transfers: {TORCH}") from None
    from ray.experimental import register_tensor_transport
    from ray.experimental.rdt.util import transport_manager_info

    if name.upper() not in transport_manager_info:
        register_tensor_transport(name, list(devices), manager, torch.Tensor)


def opened(
    ends: Ends, name: str, devices: Sequence[str], known: Known | None = None, install: str = TORCH
) -> tuple[str, float]:
    """Has each end make itself ready. The device whose memory is moved, `cuda` where both ends see one, and the seconds
    that it took. `known` is run at each end with the transport's manager. Raises `Unavailable`."""
    begun = time.monotonic()
    starting = [(end, end.start(make_ready, name, known)) for end in ends]
    told = [(end, *pending.result(_SETUP_SECONDS)) for end, pending in starting]
    for end, why, is_missing, _ in told:
        if why is not None:
            raise Unavailable(f"{why} on {end.node}{f': {install}' if is_missing else ''}")
    for end, _, _, has_cuda in told:
        if "cpu" not in devices and not has_cuda:
            raise Unavailable(f"torch sees no GPU on {end.node}: pip install a torch for its driver")
    device = "cuda" if "cuda" in devices and all(has_cuda for *_, has_cuda in told) else "cpu"
    for end in ends:
        end.call(use_device, device)
    return device, time.monotonic() - begun


class Pulled:
    """A one-sided transport between two ends."""

    def __init__(
        self,
        ends: Ends,
        name: str,
        setup_seconds: float,
        memory: Memory | None = None,
        *,
        takes_targets: bool = False,
        is_mapped: bool = False,
    ) -> None:
        """`takes_targets`: whether it can receive into memory that it is given. `is_mapped`: whether the target gets to
        see the source's own memory instead."""
        self._source, self._target = ends
        self._name, self._memory, self._takes_targets = name, memory, takes_targets
        self._setup_seconds, self._is_mapped = setup_seconds, is_mapped

    def measure(self, transfer: Transfer) -> Taken:
        seconds = 3 * (transfer.seconds + transfer.least_seconds) + _STEP_SECONDS
        is_reused = transfer.destination == REUSED and self._takes_targets
        arguments = (self._source.handle, self._name, transfer, self._memory if is_reused else None, is_reused)
        taken: Taken = self._target.call(pull, *arguments, self._is_mapped, seconds=seconds)
        taken.phases["setup"] = self._setup_seconds
        taken.devices = (self._source.call(device_name), self._target.call(device_name))
        return taken

    def close(self) -> None:
        """Nothing to give back: both ends are thrown away."""


class Sent:
    """A two-sided transport between two ends, one transfer at a time. What it receives into is always fresh."""

    def __init__(self, ends: Ends, name: str, setup_seconds: float, group: Any = None) -> None:
        self._source, self._target = ends
        self._name, self._group, self._setup_seconds = name, group, setup_seconds

    def measure(self, transfer: Transfer) -> Taken:
        import ray

        taken = Taken(destination=FRESH, phases={"setup": self._setup_seconds})
        source, target, sample = self._source.handle, self._target.handle, _Sample()
        publishing: list[float] = []

        def step(iteration: int) -> float:
            begun = time.perf_counter()
            ref = source.run.options(tensor_transport=self._name).remote(produce, transfer, iteration)
            ray.wait([ref], timeout=_STEP_SECONDS)
            publishing.append(time.perf_counter() - begun)
            received = waited(target.run.remote(consume, transfer, iteration, ref), self._target.node, _STEP_SECONDS)
            sample.add(time.perf_counter() - begun, received[0])
            taken.wrong = taken.wrong or received[1]
            return received[0] if received[0] is not None else sample.end_to_end[-1]

        told = timed(step, transfer.most_samples, transfer.seconds, transfer.least_seconds)
        sample.into(taken, told)
        if taken.remark is None and median(told.samples) < _MEETING_SECONDS:
            taken.remark = "two of Ray's tasks have to meet, and the target's wait for the source's is in the figure"
        taken.phases["publish"] = median(publishing[-len(told.samples) :])
        wrong, taken.phases["verify"] = self._target.call(verify, transfer, taken.transfers - 1)
        taken.wrong = taken.wrong or wrong
        taken.verified = taken.wrong is None
        taken.devices = (self._source.call(device_name), self._target.call(device_name))
        return taken

    def close(self) -> None:
        group, self._group = self._group, None
        leave(group)


class _Sample:
    """What was noted beside the samples."""

    def __init__(self) -> None:
        self.end_to_end: list[float] = []
        self._is_inside = True

    def add(self, end_to_end: float, inside: float | None) -> None:
        self.end_to_end.append(end_to_end)
        self._is_inside = self._is_inside and inside is not None

    def into(self, taken: Taken, told: Timed) -> None:
        """Puts what the loop gave into the row."""
        taken.took(told).end_to_end = self.end_to_end[-len(told.samples) :]
        if not self._is_inside:
            taken.remark = "this Ray's transport cannot be timed from inside: Ray's own calls are in the figures"


def session(ends: Ends, name: str, devices: Sequence[str] = ("cpu",), takes_targets: bool = False) -> Pulled | Sent:
    """A transport that a plug-in has registered with Ray by `ray.experimental.register_tensor_transport`, by the name
    that it gave there."""
    from ray.experimental.rdt.util import is_one_sided_transport

    _, seconds = opened(ends, name.upper(), devices)
    if is_one_sided_transport(name.upper()):
        return Pulled(ends, name.upper(), seconds, takes_targets=takes_targets)
    return Sent(ends, name.upper(), seconds)


def grouped(ends: Ends, name: str, devices: Sequence[str]) -> Sent:
    """A transport of Ray's collective groups, `GLOO` or `NCCL`, from the first end to the second."""
    group, seconds = group_of(ends, name, devices)
    return Sent(ends, name, seconds, group)


def group_of(ends: Ends, name: str, devices: Sequence[str]) -> tuple[Any, float]:
    """A collective group of all ends, and the seconds until it was there. Raises `Unavailable`."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise Unavailable(f"no torch beside raxl, which orders the transfers: {TORCH}") from None
    _, seconds = opened(ends, name, devices)
    try:
        from ray.experimental.collective import create_collective_group

        begun = time.monotonic()
        group = create_collective_group([end.handle for end in ends], backend=name.lower())
    except Exception as error:  # gloo, NCCL and Ray's own checks raise what they like
        raise Unavailable(f"no group of the ends: {first_line(error)}") from error
    return group, seconds + time.monotonic() - begun


def leave(group: Any) -> None:
    """Ends a group that `group_of` gave; None is none."""
    if group is not None:
        from ray.experimental.collective import destroy_collective_group

        destroy_collective_group(group)


def make_ready(state: dict[str, Any], name: str, known: Known | None) -> tuple[str | None, bool, bool]:
    """At an end: what is wrong, whether something is to be installed, and whether torch sees a GPU."""
    try:
        import torch
    except ImportError:
        return "no torch", True, False
    from ray.experimental.rdt.util import get_tensor_transport_manager

    until = time.monotonic() + _REGISTERED_SECONDS
    while True:
        try:
            manager = get_tensor_transport_manager(name)
            break
        except ValueError as error:  # Ray tells an actor of a transport in a task, which may not have run
            if time.monotonic() > until:
                return first_line(error), False, False
            time.sleep(0.02)
    watch = state["watch"] = Watch(manager)
    if known is not None:
        try:
            known(state, manager, watch)
        except ImportError as error:
            return f"no {(error.name or first_line(error)).partition('.')[0]}", True, False
        except Exception as error:  # a library's own kind
            return first_line(error), False, False
    return None, False, torch.cuda.is_available()


def use_device(state: dict[str, Any], device: str) -> None:
    """At an end: whose memory it moves."""
    state["device"] = device
    if device == "cuda":
        import torch

        state["watch"].settle = torch.cuda.synchronize


def device_name(state: dict[str, Any]) -> str:
    """At an end: the device by raxl's name, with the index that Ray gives it."""
    import torch

    import ray

    if state["device"] == "cpu":
        return "cpu"
    given = ray.get_gpu_ids()
    vendor = "amd" if torch.version.hip else "nvidia"
    return f"{vendor}:{given[0] if given else torch.cuda.current_device()}"


def pull(
    state: dict[str, Any],
    source: Any,
    name: str,
    transfer: Transfer,
    memory: Memory | None,
    is_reused: bool,
    is_mapped: bool,
) -> Taken:
    """In the target, of a one-sided transport: the whole loop."""
    from ray.experimental import set_target_for_ref

    import ray

    watch: Watch = state["watch"]
    taken = Taken(destination=None if is_reused else FRESH, is_mapped=is_mapped)
    buffer = _reused(state, transfer, memory) if is_reused else None
    sample, publishing, registering, polled = _Sample(), [0.0], [0.0], [False]
    last: list[Any] = [None]

    def step(iteration: int) -> float:
        last[0] = None
        begun = time.perf_counter()
        (ref,), published, registered = ray.get(source.run.remote(publish, name, transfer, iteration, memory))
        if buffer is not None:
            set_target_for_ref(ref, [buffer])
        watch.reset()
        fetching = time.perf_counter()
        got = ray.get(ref)
        ended = time.perf_counter()
        del ref
        inside = watch.seconds
        sample.add(ended - begun, inside)
        publishing.append(published)
        registering.append(registered + watch.spent.get("register", 0.0))
        polled.append(bool(watch.seen))
        if buffer is not None and got.data_ptr() != buffer.data_ptr():
            taken.destination = FRESH
        last[0] = got
        taken.wrong = taken.wrong or payload.stamps_differ(bytes_of(got), transfer.seed, iteration)
        return ended - fetching if inside is None else inside

    told = timed(step, transfer.most_samples, transfer.seconds, transfer.least_seconds)
    sample.into(taken, told)
    count = len(told.samples)
    taken.phases["publish"] = median(publishing[-count:])
    if any(registering):
        taken.phases["register"] = median(registering[-count:])
    if is_mapped:
        taken.remark = _read_through(last[0])
    if any(polled[-count:]):
        taken.quantum = state.get("quantum")
    wrong, taken.phases["verify"] = _verified(last[0], transfer, taken.transfers - 1)
    taken.wrong = taken.wrong or wrong
    taken.verified = taken.wrong is None
    return taken


def publish(
    state: dict[str, Any], name: str, transfer: Transfer, iteration: int, memory: Memory | None
) -> tuple[list[Any], float, float]:
    """In the source, of a one-sided transport: a reference, and the seconds to make it and to register for it."""
    import ray

    tensor = _sent(state, transfer, iteration, memory)
    watch: Watch = state["watch"]
    watch.reset()
    begun = time.perf_counter()
    ref = ray.put(tensor, _tensor_transport=name)
    gone, registered = time.perf_counter() - begun, watch.spent.get("register", 0.0)
    return [ref], gone - registered, registered


def produce(state: dict[str, Any], transfer: Transfer, iteration: int) -> Any:
    """In the source, of a two-sided transport: the tensor."""
    return _sent(state, transfer, iteration, None)


def consume(state: dict[str, Any], transfer: Transfer, iteration: int, tensor: Any) -> tuple[float | None, str | None]:
    """In the target, of a two-sided transport: the seconds in which it was received, and where it is wrong."""
    watch: Watch = state["watch"]
    seconds = watch.seconds
    watch.reset()
    state["last"] = tensor
    return seconds, payload.stamps_differ(bytes_of(tensor), transfer.seed, iteration)


def verify(state: dict[str, Any], transfer: Transfer, iteration: int) -> tuple[str | None, float]:
    """In the target: where any byte of the last tensor is wrong, and the seconds to compare all."""
    return _verified(state.pop("last"), transfer, iteration)


def _verified(tensor: Any, transfer: Transfer, iteration: int) -> tuple[str | None, float]:
    return payload.verified(bytes_of(tensor), transfer.seed, iteration, transfer.is_damaged)


def _sent(state: dict[str, Any], transfer: Transfer, iteration: int, memory: Memory | None) -> Any:
    """The tensor that is sent: its bytes are those of a buffer of the host, or a copy of them on the device."""
    import torch

    if iteration == 0:
        _forget(state, "sent")
        buffer = bytearray(transfer.size_bytes)
        payload.fill(buffer, transfer.seed)
        host = torch.frombuffer(buffer, dtype=torch.uint8)
        tensor = host if state["device"] == "cpu" else host.to(state["device"])
        _keep(state, "sent", tensor, memory)
        state["written"] = (buffer, host)
    buffer, host = state["written"]
    payload.stamp(buffer, transfer.seed, iteration)
    tensor = state["sent"][0]
    if tensor is not host:
        tensor.copy_(host)
        torch.cuda.synchronize()
    return tensor


def _reused(state: dict[str, Any], transfer: Transfer, memory: Memory | None) -> Any:
    """The tensor that is received into, full of what was never sent."""
    import torch

    _forget(state, "received")
    buffer = bytearray(transfer.size_bytes)
    payload.poison(buffer)
    host = torch.frombuffer(buffer, dtype=torch.uint8)
    tensor = host if state["device"] == "cpu" else host.to(state["device"])
    _keep(state, "received", tensor, memory)
    return tensor


def _keep(state: dict[str, Any], role: str, tensor: Any, memory: Memory | None) -> None:
    if memory is not None:
        memory.register(tensor)
    state[role] = (tensor, memory)


def _forget(state: dict[str, Any], role: str) -> None:
    """Of the row before: a transport knows memory by its address, where something else would lie then."""
    tensor, memory = state.pop(role, (None, None))
    if memory is not None:
        memory.deregister(tensor)


def _read_through(tensor: Any) -> str:
    """What a consumer takes that reads all of it."""
    import torch

    torch.cuda.synchronize()
    begun = time.perf_counter()
    tensor.clone()
    torch.cuda.synchronize()
    rate = tensor.nbytes / (time.perf_counter() - begun)
    return f"nothing moved; a consumer that reads all of it does so at {rate / 1e9:.2f} GB/s"


def bytes_of(tensor: Any) -> memoryview:
    """Its bytes; of a device's memory a copy."""
    return memoryview(tensor.detach().cpu().numpy()).cast("B")
