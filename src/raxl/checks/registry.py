"""All checks, in the order in which they are told."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from raxl.checks import Check

MODULES = (
    "host",
    "what_was_read",
    "pcie_devices",
    "counts",
    "accelerator_state",
    "pcie_link",
    "pcie_errors",
    "pcie_peers",
    "amd",
    "amd_fabric",
    "amd_memory",
    "neuron",
    "tpu",
    "gaudi",
    "nvidia_driver",
    "nvidia_memory",
    "nvidia_state",
    "nvidia_load",
    "nvlink",
    "fabric",
    "consistency",
    "filesystems",
    "device_nodes",
    "numa",
    "stuck",
    "kernel_parameters",
    "rdma_state",
    "rdma_counters",
    "roce",
    "roce_flow",
    "gpudirect",
    "interfaces",
    "library_settings",
    "library_logs",
    "ray_resources",
    "ray_environment",
    "ray_node",
    "ray_cluster",
    "ray_processes",
    "libraries",
    "fleet",
    "kernel_events",
    "nvidia_xid",
    "nvswitch_log",
    "amd_events",
    "bus_events",
)
"""The files of this folder that hold checks."""


@cache
def checks() -> tuple[Check, ...]:
    """Every check, each id once."""
    found = [
        value
        for name in MODULES
        for value in vars(import_module(f"raxl.checks.{name}")).values()
        if isinstance(value, Check)
    ]
    return tuple({one.id: one for one in found}.values())
