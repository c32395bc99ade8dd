"""The transport itself: one-sided, the receiver asks a port of the source for an object and reads it.

Ray calls it by `ray.experimental.TensorTransportManager`.
"""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass
from typing import Any

from ray.experimental import CommunicatorMetadata, TensorTransportManager, TensorTransportMetadata

import ray

_NAME_BYTES = 128
_CHUNK = 4 << 20


@dataclass
class ExampleMetadata(TensorTransportMetadata):
    """What the receiver needs: where the source is met."""

    host: str = ""
    port: int = 0


class ExampleManager(TensorTransportManager):
    """One a process; a source has a thread that serves what it has published."""

    def __init__(self) -> None:
        self._served: dict[str, list[Any]] = {}
        self._server: socket.socket | None = None
        self._lock = threading.Lock()
        self._aborted: set[str] = set()

    def tensor_transport_backend(self) -> str:
        return "EXAMPLE_TCP"

    @staticmethod
    def is_one_sided() -> bool:
        return True

    @staticmethod
    def can_abort_transport() -> bool:
        return True

    def actor_has_tensor_transport(self, actor: Any) -> bool:
        return True

    def extract_tensor_transport_metadata(self, obj_id: str, rdt_object: list[Any]) -> ExampleMetadata:
        """At the source. Ray keeps the tensors until nobody refers to them."""
        with self._lock:
            if self._server is None:
                self._server = socket.create_server((ray.util.get_node_ip_address(), 0))
                threading.Thread(target=self._serve, args=(self._server,), daemon=True).start()
        self._served[obj_id] = rdt_object
        host, port = self._server.getsockname()[:2]
        return ExampleMetadata([(one.shape, one.dtype) for one in rdt_object], "cpu", host, port)

    def get_communicator_metadata(self, src_actor: Any, dst_actor: Any, backend: Any = None) -> CommunicatorMetadata:
        return CommunicatorMetadata()

    def send_multiple_tensors(self, tensors: Any, metadata: Any, communicator: Any) -> None:
        raise NotImplementedError("the receiver reads")

    def recv_multiple_tensors(
        self, obj_id: str, metadata: Any, communicator: Any, target_buffers: list[Any] | None = None
    ) -> list[Any]:
        """At the receiver."""
        import torch

        tensors = target_buffers or [torch.empty(shape, dtype=dtype) for shape, dtype in metadata.tensor_meta]
        with socket.create_connection((metadata.host, metadata.port)) as connection:
            connection.sendall(obj_id.encode().ljust(_NAME_BYTES))
            for tensor in tensors:
                view = memoryview(tensor.numpy()).cast("B")
                place = 0
                while place < len(view):
                    if obj_id in self._aborted:
                        raise ConnectionAbortedError(f"{obj_id} was given up")
                    count = connection.recv_into(view[place : place + _CHUNK])
                    if not count:
                        raise ConnectionResetError("the source closed the connection")
                    place += count
        return list(tensors)

    def garbage_collect(self, obj_id: str, metadata: Any, tensors: Any) -> None:
        """At the source, when nobody refers to them any more."""
        self._served.pop(obj_id, None)

    def abort_transport(self, obj_id: str, communicator: Any) -> None:
        self._aborted.add(obj_id)

    def _serve(self, server: socket.socket) -> None:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            name = connection.recv(_NAME_BYTES, socket.MSG_WAITALL).decode().strip()
            for tensor in self._served.get(name, []):
                connection.sendall(memoryview(tensor.numpy()).cast("B"))
