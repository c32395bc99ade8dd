"""What the kernel and the adapters counted at an end: which way bytes really went.

Network devices by `/sys/class/net/NAME/statistics/{rx,tx}_bytes` of the process's own network namespace, RDMA ports by
`/sys/class/infiniband/NAME/ports/N/counters/port_{rcv,xmit}_data`, in words of four bytes; those bypass the network
devices' counters. EFA ports count in `hw_counters` instead.
"""

from __future__ import annotations

import os
from typing import Any, Mapping

_NET, _RDMA = "/sys/class/net", "/sys/class/infiniband"
_EFA_RECEIVED = ("recv_bytes", "rdma_read_bytes", "rdma_write_recv_bytes")
_EFA_SENT = ("send_bytes", "rdma_read_resp_bytes", "rdma_write_bytes")
_WORD_BYTES = 4


def read(state: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Bytes received and sent since the device came up, by device; an RDMA port is `mlx5_0:1`."""
    found = {}
    for name in _names(_NET):
        folder = f"{_NET}/{name}/statistics"
        received, sent = _number(f"{folder}/rx_bytes"), _number(f"{folder}/tx_bytes")
        if received is not None and sent is not None:
            found[name] = (received, sent)
    for name in _names(_RDMA):
        for port in _names(f"{_RDMA}/{name}/ports"):
            told = _port(f"{_RDMA}/{name}/ports/{port}")
            if told is not None:
                found[f"{name}:{port}"] = told
    return found


def moved(before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Bytes that came in and went out between two readings, by device."""
    return {
        name: (after[name][0] - received, after[name][1] - sent)
        for name, (received, sent) in before.items()
        if name in after
    }


def _port(folder: str) -> tuple[int, int] | None:
    received = _number(f"{folder}/counters/port_rcv_data")
    sent = _number(f"{folder}/counters/port_xmit_data")
    if received is not None and sent is not None:
        return received * _WORD_BYTES, sent * _WORD_BYTES
    counted = [[_number(f"{folder}/hw_counters/{name}") for name in names] for names in (_EFA_RECEIVED, _EFA_SENT)]
    if all(value is None for values in counted for value in values):
        return None
    return sum(value or 0 for value in counted[0]), sum(value or 0 for value in counted[1])


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
