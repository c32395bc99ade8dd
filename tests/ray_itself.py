"""Ray's own detection, run on a machine's files: in mount and network namespaces of its own, with stub libraries.

What Ray 2.60 finds in `/dev`, `/opt/aws` and `/sys/kernel/iommu_groups` is the machine's; its NVML and amdsmi are those
that the other tests build from C.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import recordings
import stubs

_ENTER = """
set -e
mkdir -p "$ROOT/dev" "$ROOT/own"
mount -t tmpfs none "$ROOT/own"
for name in null zero random urandom; do touch "$ROOT/own/$name"; mount --bind "/dev/$name" "$ROOT/own/$name"; done
mkdir "$ROOT/own/shm"
cp -a "$ROOT/dev/." "$ROOT/own/"
mount --rbind "$ROOT/own" /dev
if [ -d "$ROOT/opt/aws" ]; then
    mount -t tmpfs none /opt; mkdir /opt/aws; cp -a "$ROOT/opt/aws/." /opt/aws/
fi
mount -t tmpfs none /sys/kernel
mkdir /sys/kernel/iommu_groups
[ -d "$ROOT/sys/kernel/iommu_groups" ] && cp -a "$ROOT/sys/kernel/iommu_groups/." /sys/kernel/iommu_groups/
exec "$@"
"""
_ASK = """
import json, sys
given = json.loads(sys.argv[1])
try:
    from ray._private.resource_and_label_spec import ResourceAndLabelSpec
    spec = ResourceAndLabelSpec(num_cpus=1, memory=1e9, object_store_memory=1e8, **given)
    spec.resolve(is_head=False, node_ip_address="127.0.0.1")
    print(json.dumps(spec.to_resource_dict()))
except Exception as error:
    print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
"""
_OWN = ("CPU", "memory", "object_store_memory")
FAILS_TO_COUNT = -1
STARTS = 6
"""Ray's order of families follows Python's hashes of strings: among so many starts is each order of two."""


@cache
def can_run() -> bool:
    """Whether this machine lets a process have namespaces of its own, and Ray is installed."""
    probe = ["unshare", "-m", "-n", "mount", "-t", "tmpfs", "none", "/mnt"]
    allowed = shutil.which("unshare") and subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return bool(allowed) and not sys.base_prefix.startswith(("/opt", "/dev"))


class Ray:
    """Ray on one machine."""

    def __init__(self, machine: recordings.Machine, folder: Path, nvml: int | None, amdsmi: int | None) -> None:
        """`nvml`, `amdsmi`: how many devices each library lists, or `FAILS_TO_COUNT`; None: it does not start, or its
        package is missing."""
        if not can_run():
            pytest.skip("no namespaces of one's own here (unshare -m -n)")
        recordings.write(machine, folder / "root")
        for name, answer in machine.commands.items():
            if name.startswith("neuron-ls") and answer.known:
                _script(folder / "root/opt/aws/neuron/bin/neuron-ls", answer.value.stdout)
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "ROOT": str(folder / "root"),
            "LD_LIBRARY_PATH": str(_library(stubs.NVML, folder / "nvml", nvml)),
            **json.loads(machine.header.get("environment", "{}")),
        }
        if amdsmi is not None:
            _library(stubs.AMDSMI, folder / "rocm/lib", amdsmi)
            self._environment |= {"ROCM_PATH": str(folder / "rocm"), "PYTHONPATH": str(stubs.binding().parent)}

    def starts(
        self, count: int, environment: dict[str, str | None] | None = None, **given: Any
    ) -> list[dict[str, Any]]:
        """What it would register, start by start; `error` where it does not start."""
        return [self._start(str(seed), environment or {}, given) for seed in range(count)]

    def _start(self, seed: str, changes: dict[str, str | None], given: dict[str, Any]) -> dict[str, Any]:
        changed = {**self._environment, **changes, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            ["unshare", "-m", "-n", "sh", "-c", _ENTER, "sh", sys.executable, "-c", _ASK, json.dumps(given)],
            capture_output=True,
            text=True,
            timeout=60,
            env={name: value for name, value in changed.items() if value is not None},
            check=True,
        )
        told = json.loads(done.stdout.splitlines()[-1])
        return {name: n for name, n in told.items() if name not in _OWN and not name.startswith("node:")}


@cache
def _compiled(stub: stubs.Stub) -> Path:
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    stubs.compiled(stub, folder / Path(stub.library).name, ())
    return folder / Path(stub.library).name


def _library(stub: stubs.Stub, folder: Path, count: int | None) -> Path:
    folder.mkdir(parents=True)
    shutil.copy(_compiled(stub), folder)
    name = "NVIDIA L40S" if stub is stubs.NVML else "AMD Instinct MI210"
    devices = "".join(f"{place}.name = {name}\n" for place in range(count or 0))
    text = {None: "init = !18\n", FAILS_TO_COUNT: "count = !999\n"}.get(count, f"count = {count}\n{devices}")
    (folder / f"{stub.name}.txt").write_text(text)
    return folder


def _script(path: Path, output: str) -> None:
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}END\n")
    path.chmod(0o755)
