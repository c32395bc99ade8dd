"""`rdt-nixl`: tensors through Ray, by NIXL: the target reads the source's memory. One-sided.

Ray asks NIXL every millisecond whether it is done (`time.sleep(0.001)` in `wait_fetch_complete`, 2.60), so that what
takes a few of these is known to a step only. `reused` is memory that both ends have registered once and that the target
names with `set_target_for_ref`; `fresh` is what Ray does without being told.
"""

from __future__ import annotations

from typing import Any, Mapping

from raxl.model.measurement import P2P, WEIGHT_SYNC
from raxl.transfer import Ends, Session, Taken, Transfer, rdt, sync_rdt, ucx_log
from raxl.transfer.rdt_watch import Watch
from raxl.transfer.sync import SyncSession

_NAME = "NIXL"
_STEP_SECONDS = 0.001
_INSTALL = "pip install 'raxl[rdt,nixl]'"


class RdtNixl:
    """Ray's transport over NIXL, which over most devices is UCX."""

    transport = "rdt-nixl"
    patterns = (P2P, WEIGHT_SYNC)
    devices = ("cuda", "cpu")
    gpus = 1.0
    needs_tensor_transport = True
    way = "memory"

    def prepare(self) -> None:
        rdt.is_there()

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def open(self, ends: Ends) -> RdtNixlSession:
        _, seconds = rdt.opened(ends, _NAME, self.devices, known, _INSTALL)
        return RdtNixlSession(ends, seconds)

    def open_sync(self, trainers: Ends, readers: Ends) -> Session:
        _, seconds = rdt.opened([*trainers, *readers], _NAME, self.devices, known, _INSTALL)
        return SyncSession(trainers, readers, Synced(_NAME, rdt.Memory(register, deregister)), seconds)


class RdtNixlSession:
    """Agents at both ends."""

    def __init__(self, ends: Ends, setup_seconds: float) -> None:
        self._ends = ends
        memory = rdt.Memory(register, deregister)
        self._session = rdt.Pulled(ends, _NAME, setup_seconds, memory, takes_targets=True)

    def measure(self, transfer: Transfer) -> Taken:
        taken = self._session.measure(transfer)
        ucx_log.tell(taken, self._ends[1].call(ucx_log.read), "ucp_get", transfer.size_bytes)
        return taken

    def close(self) -> None:
        self._session.close()


class Synced(sync_rdt.Pulled):
    """A list of tensors, each reader reading from every trainer."""

    def finish(self, trainers: Ends, readers: Ends, taken: Taken) -> None:
        super().finish(trainers, readers, taken)
        ucx_log.tell(taken, readers[0].call(ucx_log.read), "ucp_get", self.largest)


def known(state: dict[str, Any], manager: Any, watch: Watch) -> None:
    """At an end: makes the agent, and has noted what Ray does inside of a fetch."""
    ucx_log.begin(state)
    try:
        agent = manager.get_nixl_agent()
    except ImportError:
        raise
    except Exception as error:
        words = ucx_log.complaint(ucx_log.read(state))
        raise RuntimeError(f"{error}{f': {words}' if words else ''}".strip()) from error
    watch.apart(manager, "_add_tensor_descs", "register")
    watch.count(agent, "check_xfer_state", "PROC")
    state["quantum"] = _STEP_SECONDS


def register(tensor: Any) -> None:
    from ray.experimental import register_nixl_memory

    register_nixl_memory(tensor)


def deregister(tensor: Any) -> None:
    from ray.experimental import deregister_nixl_memory

    deregister_nixl_memory(tensor)
