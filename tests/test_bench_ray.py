"""The transports that are Ray's own, on a real Ray of this machine: one for all tests of this file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

import guests
from raxl.bench import run
from raxl.bench.request import Request
from raxl.errors import UsageError
from raxl.model.measurement import Run
from raxl.plugins import discovery, registry
from raxl.transfer import EndFailed, Transfer, rdt_watch, ucx_log
from raxl.transports import object_store

needs_rdt = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("nixl") is None, reason="no torch or no nixl: pip install 'raxl[rdt,nixl]'"
)
RDT = [pytest.param(name, marks=needs_rdt) for name in ("rdt-gloo", "rdt-nixl", "example-tcp")]
EXAMPLE = Path(__file__).parents[1] / "examples/raxl-example-transport"
SMALL, LARGE = 1 << 10, 1 << 20
STORE = 100 << 20
_RAY = """
import sys, ray
ray.init(address="local", include_dashboard=False, num_cpus=1, object_store_memory=int(sys.argv[1]),
         _temp_dir=sys.argv[2], log_to_driver=False, logging_level="ERROR")
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module", autouse=True)
def of_others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The example package is installed for raxl; Ray's workers know nothing of it, so that its code has to travel."""
    folder = tmp_path_factory.mktemp("plugins")
    entry = "raxl_example_transport.plugin:ExampleTcp"
    guests.example(folder, EXAMPLE, discovery.TRANSPORTS, "example-tcp", entry)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", str(folder))
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        discovery.look.cache_clear()
        yield
    discovery.look.cache_clear()


@pytest.fixture(scope="module")
def address(of_others: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a Ray whose workers have UCX over TCP, so that NIXL has to wait for what it asked for."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ray = subprocess.Popen(
        [sys.executable, "-c", _RAY, str(STORE), str(tmp_path_factory.mktemp("ray"))],
        env={**environment, "UCX_TLS": "tcp"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert ray.stdin is not None
    assert ray.stdout is not None
    yield ray.stdout.readline().strip()
    ray.stdin.close()
    ray.wait(30)
    ray.stdout.close()


@pytest.fixture(scope="module")
def rows(address: str) -> dict[tuple[str, int], Run]:
    names = ("object-store", "rdt-gloo", "rdt-nixl", "rdt-nccl", "rdt-cuda-ipc", "example-tcp")
    wanted = Request(address, names, ("example-tcp",), sizes=(SMALL, LARGE), budget_seconds=8)
    return {(row.transport, row.size_bytes): row for row in run.bench(wanted).runs}


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("name", ["object-store", *RDT])
def test_every_byte_is_compared(rows: dict[tuple[str, int], Run], name: str, size: int) -> None:
    row = rows[name, size]
    assert row.verified, row.error
    assert row.samples >= 6
    assert row.iterations == 1 + row.warmup + row.samples
    assert row.source.device == row.target.device == "cpu"


@pytest.mark.parametrize("name", RDT)
def test_phases_are_apart_and_the_first_transfer_is_kept(rows: dict[tuple[str, int], Run], name: str) -> None:
    row = rows[name, LARGE]
    assert row.phases.setup
    assert row.phases.publish
    assert row.phases.verify
    assert row.cold_seconds
    assert row.end_to_end_seconds
    assert row.phases.fetch
    assert row.phases.fetch < row.end_to_end_seconds
    assert (row.phases.register is not None) == (name == "rdt-nixl")


def test_the_object_store_maps_within_a_node(rows: dict[tuple[str, int], Run]) -> None:
    row = rows["object-store", LARGE]
    assert (row.status, row.bandwidth_bytes_per_second, row.path) == ("mapped", None, None)
    assert row.destination == "fresh"
    assert row.error is not None
    assert row.error.startswith("nothing moved; a consumer that reads all of it does so at ")
    assert "below 100 KiB" in (rows["object-store", SMALL].error or "")


@needs_rdt
def test_which_memory_was_received_into(rows: dict[tuple[str, int], Run]) -> None:
    told = {name: rows[name, LARGE].destination for name in ("rdt-gloo", "rdt-nixl", "example-tcp")}
    assert told == {"rdt-gloo": "fresh", "rdt-nixl": "reused", "example-tcp": "reused"}


@needs_rdt
def test_the_way_is_what_ucx_says_and_the_counters_agree(rows: dict[tuple[str, int], Run]) -> None:
    path = rows["rdt-nixl", LARGE].path
    assert path is not None
    assert path.protocol is not None
    assert path.protocol.startswith("software emulation ")
    assert path.claimed == "lo"
    assert path.verdict in ("proven", "unverified")  # others on this machine may talk over it as well
    assert not list(Path("/tmp").glob("raxl-ucx-*"))


def test_what_needs_a_gpu_says_so(rows: dict[tuple[str, int], Run]) -> None:
    words = {name: rows[name, SMALL].error for name in ("rdt-nccl", "rdt-cuda-ipc")}
    assert {rows[name, SMALL].status for name in words} == {"unavailable"}
    assert (words["rdt-nccl"] or "").startswith("it needs 2 GPUs and Ray has 0 on ")
    assert (words["rdt-cuda-ipc"] or "").startswith("it needs 1 GPU and Ray has 0 on ")


@needs_rdt
def test_a_byte_that_is_turned_is_seen(address: str) -> None:
    names = ("object-store", "example-tcp")
    wanted = Request(address, names, ("example-tcp",), sizes=(SMALL,), budget_seconds=1, is_damaged=True)
    told = run.bench(wanted).runs
    assert [row.transport for row in told] == list(names)
    for row in told:
        assert (row.status, row.verified, row.bandwidth_bytes_per_second) == ("corrupt", False, None)
        assert row.error is not None
        assert row.error.startswith(f"byte {SMALL // 2} of {SMALL} is 0x")


def test_an_object_that_would_spill_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    nodes = [{"NodeID": "1", "Resources": {"object_store_memory": 100.0}}]
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    needed = "needs 150 B, and the object store of here holds 100 B"
    for is_of_raxl, step in (
        (False, "ray start --object-store-memory=150"),
        (True, "a larger /dev/shm, of which raxl gives a Ray of its own 30 %, or smaller --sizes"),
    ):
        end = SimpleNamespace(node="here", node_id="1", is_of_raxl=is_of_raxl)
        session = object_store.ObjectStoreSession((end, end))  # type: ignore[arg-type]
        with pytest.raises(EndFailed) as raised:
            session.measure(Transfer(50))
        assert str(raised.value) == f"{needed}: {step}"


@needs_rdt
def test_unavailable_without_the_packages() -> None:
    program = """
        import json, sys
        from raxl.plugins import registry
        from raxl.transfer import Unavailable

        class Here:
            node, handle = "here", None
            def __init__(self, node_id):
                self.node_id, self.state = node_id, {}
            def call(self, function, *arguments, seconds=0):
                return function(self.state, *arguments)
            def start(self, function, *arguments):
                self.answer = function(self.state, *arguments)
                return self
            def result(self, seconds):
                return self.answer

        def why(name, *nodes):
            try:
                registry.transport(registry.TRANSPORTS[name]).open([Here(node) for node in nodes or "aa"])
            except Unavailable as error:
                return str(error)

        hidden = dict.fromkeys(["torch", "nixl"])
        sys.modules.update(hidden)
        told = {name: why(name) for name in registry.TRANSPORTS if name.startswith("rdt-")}
        told["elsewhere"] = why("rdt-cuda-ipc", "a", "b")
        del sys.modules["torch"]
        told["rdt-nixl with torch"] = why("rdt-nixl")
        told["rdt-cuda-ipc with torch"] = why("rdt-cuda-ipc")
        print(json.dumps(told))
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    ordering = "no torch beside raxl, which orders the transfers: pip install 'raxl[rdt]'"
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "rdt-gloo": ordering,
        "rdt-nccl": ordering,
        "rdt-nixl": "no torch on here: pip install 'raxl[rdt,nixl]'",
        "rdt-cuda-ipc": "no torch on here: pip install 'raxl[rdt]'",
        "elsewhere": "CUDA IPC reaches no other node: rdt-nixl and rdt-nccl do",
        "rdt-nixl with torch": "no nixl on here: pip install 'raxl[rdt,nixl]'",
        "rdt-cuda-ipc with torch": "torch sees no GPU on here: pip install a torch for its driver",
    }


def test_transports_of_others_by_name() -> None:
    entry = "raxl_example_transport.plugin:ExampleTcp"
    assert discovery.transports([]) == registry.TRANSPORTS
    for name in ("example-tcp", "raxl-example-transport"):
        assert discovery.transports([name]) == {**registry.TRANSPORTS, "example-tcp": entry}
    with pytest.raises(UsageError, match="no plug-in is called other"):
        discovery.transports(["other"])


def test_the_table_of_transports_is_that_of_the_entry_points() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["raxl.transports"] == registry.TRANSPORTS


LOG = """\
[1796053795.905] [vm:6303 :0]   | 1c4614ffb334279a2ce444660100000 self cfg#0                       |
[1796053795.905] [vm:6303 :0]   | remote memory read by ucp_get*(multi) into host memory from host |
[1796053795.905] [vm:6303 :0]   | 0..inf | zero-copy   | cma/memory                                |
[1796053795.914] [vm:6303 :0]   +--------+-------------+-------------------------------------------+
[1796053795.914] [vm:6303 :0]   | 1c4614ffb334279a2ce444660100000 inter-node cfg#1                 |
[1796053795.914] [vm:6303 :0]   | remote memory read by ucp_get*(multi) into host memory from host |
[1796053795.914] [vm:6303 :0]   +--------+-------------+-------------------------------------------+
[1796053795.914] [vm:6303 :0]   | Range  | Description |                  Config                   |
[1796053795.914] [vm:6303 :0]   +--------+-------------+-------------------------------------------+
[1796053795.914] [vm:6303 :0]   | 0..16K | zero-copy   | rc_mlx5/mlx5_0:1                          |
[1796053795.914] [vm:6303 :0]   | 16385..inf | zero-copy | 52% on rc_mlx5/mlx5_0:1 and 48% on rc_mlx5/mlx5_1:1 |
[1796053795.925] [vm:6303 :0]   | 1c4614ffb334279a2ce444660100000 intra-node cfg#2     |
[1796053795.925] [vm:6303 :0]   | active message by ucp_am_send*(egr) from host memory |
[1796053795.925] [vm:6303 :0]   |     0 | short                | tcp/lo               |
"""


def test_what_ucx_chose() -> None:
    small, large = (ucx_log.chosen(LOG, "ucp_get", size) for size in (8, 1 << 20))
    assert small == "zero-copy rc_mlx5/mlx5_0:1"
    assert ucx_log.carriers(small) == ("mlx5_0:1",)
    assert large is not None
    assert ucx_log.carriers(large) == ("mlx5_0:1", "mlx5_1:1")
    assert ucx_log.chosen(LOG, "ucp_am_send", 0) == "short tcp/lo"
    assert ucx_log.chosen(LOG, "ucp_am_send", 1) is None
    assert ucx_log.carriers("zero-copy cma/memory") == ("memory",)
    assert ucx_log.carriers("software emulation tcp/eth0") == ("eth0",)
    complaint = "[1.2] [vm:1:0]  ucp_context.c:1 UCX  ERROR no usable transports/devices"
    assert ucx_log.complaint(complaint + "\n") == "no usable transports/devices"
    assert ucx_log.complaint(LOG) is None


def test_a_watch_takes_apart_what_happens_inside() -> None:
    class Manager:
        def recv_multiple_tensors(self) -> str:
            return self.register()

        def register(self) -> str:
            return "PROC"

    manager = Manager()
    watch = rdt_watch.Watch(manager)
    watch.apart(manager, "register", "register")
    watch.count(manager, "register", "PROC")
    watch.apart(manager, "of another version", "gone")
    assert watch.seconds is None
    assert manager.recv_multiple_tensors() == "PROC"
    assert watch.seconds is not None
    assert watch.seconds >= 0
    assert set(watch.spent) == {"register"}
    assert watch.seen == {"register": 1}
    watch.reset()
    assert watch.seconds is None
