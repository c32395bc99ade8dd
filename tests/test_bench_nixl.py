"""NIXL's reads: what UCX logs of its choice, and what they are on one node and between two."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from math import inf
from pathlib import Path

import pytest

import links
import ray_hosts
from local_bench import GOOD, benches
from process_ends import ends
from raxl.bench.request import Request
from raxl.model.measurement import CORRUPT, FRESH, MISMATCH, Run
from raxl.transfer import Taken, Transfer, Unavailable, ucx_log
from raxl.transports.nixl import Nixl, NixlLibfabric, begin

MIB = 1 << 20
SHORT = Transfer(size_bytes=MIB, most_samples=6, seconds=0.2)
needs_nixl = pytest.mark.skipif(find_spec("nixl") is None, reason="no nixl here (pip install nixl==1.5.1)")

LINE = "[1796052697.698392] [vm:17393:0]   "
LOG = """
    ucp_context.c:2753 UCX  INFO  Version 1.23.0 (loaded from /lib/libucp-b39b3ed9.so.0.0.0, git branch <unknown>)
   ucp_worker.c:1997 UCX  INFO  dst intra-node cfg#1 rma_am(tcp/lo)  amo_am(tcp/lo)  am(tcp/lo cma/memory)  ka(tcp/lo)
+--------+-------------+-------------------------------------------+
| dst intra-node cfg#1                                             |
| remote memory read by ucp_get*(multi) into host memory from host |
+--------+-------------+-------------------------------------------+
| Range  | Description |                  Config                   |
+--------+-------------+-------------------------------------------+
| 0..inf | zero-copy   | cma/memory                                |
+--------+-------------+-------------------------------------------+
+-----------+--------------------+---------------------------------+
| dst intra-node cfg#1                                             |
| active message by ucp_am_send*(fast-completion) from host memory |
+-----------+--------------------+---------------------------------+
|   Range   |    Description     |             Config              |
+-----------+--------------------+---------------------------------+
|         0 | short              | tcp/lo                          |
|   1..8184 | short              | tcp/lo                          |
| 8185..64K | multi-frag copy-in | tcp/lo                          |
| 65537..inf | zero-copy         | 52% on tcp/lo and 48% on tcp/eth0 |
+-----------+--------------------+---------------------------------+
+--------+--------------------+------------------------------------+
| dst self cfg#0                                                   |
| remote memory read by ucp_get*(multi) into host memory from host |
+--------+--------------------+------------------------------------+
| 0..inf | software emulation | tcp/lo                             |
+--------+--------------------+------------------------------------+
"""


def log(text: str = LOG) -> str:
    """As UCX writes it, each line with a time before it."""
    return "".join(LINE + line + "\n" for line in text.strip().splitlines())


def test_the_tables_of_ucx_are_read() -> None:
    found = ucx_log.choices(log())
    assert [one.peer for one in found] == ["intra-node"] * 5 + ["self"]
    assert found[0].operation == "remote memory read by ucp_get*(multi) into host memory from host"
    assert [(one.low, one.high) for one in found[1:5]] == [(0, 0), (1, 8184), (8185, 65536), (65537, inf)]
    assert ucx_log.chosen(log(), "ucp_am_send", MIB) == "zero-copy 52% on tcp/lo and 48% on tcp/eth0"
    assert ucx_log.carriers("zero-copy 52% on tcp/lo and 48% on tcp/eth0") == ("lo", "eth0")


def test_the_endpoint_to_oneself_is_not_the_way() -> None:
    assert ucx_log.chosen(log(), "ucp_get", MIB) == "zero-copy cma/memory"


def test_the_last_endpoint_that_was_made_counts() -> None:
    later = LOG.replace("cfg#1", "cfg#2").replace("zero-copy   | cma/memory  ", "software emulation | tcp/eth0")
    assert ucx_log.chosen(log(LOG + later), "ucp_get", MIB) == "software emulation tcp/eth0"


@pytest.mark.parametrize("length", range(0, len(log()), 97))
def test_a_log_that_is_cut_off_is_read_as_far_as_it_goes(length: int) -> None:
    assert len(ucx_log.choices(log()[:length])) <= 6


def test_the_errors_of_ucx_are_read_without_time_and_place() -> None:
    line = "ucp_context.c:1770 UCX  ERROR no usable transports/devices (asked ib on network:)"
    assert ucx_log.complaint(log(line)) == "no usable transports/devices (asked ib on network:)"
    assert ucx_log.complaint(log()) is None


def test_what_is_emulated_is_said() -> None:
    taken = Taken(remark="UCX 1.23.0")
    emulated = log(LOG.replace("zero-copy   | cma/memory  ", "software emulation | tcp/eth0"))
    ucx_log.tell(taken, emulated, "ucp_get", MIB)
    assert taken.protocol == "software emulation tcp/eth0"
    assert taken.carriers == ("eth0",)
    assert taken.remark == "UCX 1.23.0; no one-sided read by eth0: the source's processor sends"


def test_without_nixl_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nixl", None)
    for name in ("UCX_LOG_LEVEL", "UCX_PROTO_INFO", "UCX_LOG_FILE"):
        monkeypatch.setenv(name, "")
    assert begin({}, "UCX", "raxl-1") == "no nixl here: pip install 'raxl[nixl]'"


@pytest.fixture(scope="module")
def measured() -> list[list[Run]]:
    request = Request(transports=("nixl",), sizes=(8, 4 * MIB), budget_seconds=2)
    return benches(request, request._replace(is_damaged=True, destination=FRESH, sizes=(MIB,)))


@needs_nixl
def test_reads_are_measured_with_their_phases_and_the_choice_of_ucx(measured: list[list[Run]]) -> None:
    small, large = measured[0]
    for one in (small, large):
        assert one.status in GOOD, one
        assert one.verified
        phases = one.phases
        assert None not in (phases.setup, phases.register, phases.publish, phases.fetch, phases.verify)
        assert one.cold_seconds is not None
        assert one.error is not None
        assert "UCX 1." in one.error
    assert large.path is not None
    assert large.path.protocol is not None


@needs_nixl
def test_libfabric_is_unavailable_where_its_library_is_missing() -> None:
    with ends("a") as one:
        why = one[0].call(begin, "LIBFABRIC", "raxl-1")
    assert why is None or why.startswith("LIBFABRIC has no backend here: ")


@needs_nixl
def test_a_byte_that_was_turned_is_seen(measured: list[list[Run]]) -> None:
    assert [one.status for one in measured[1]] == [CORRUPT]


@needs_nixl
def test_transports_that_cannot_be_used_are_told_in_ucx_s_own_words() -> None:
    with ends("a", "b", UCX_TLS="ib") as pair, pytest.raises(Unavailable) as raised:
        Nixl().open(pair)
    assert "UCX has no backend here: UCX says no usable transports/devices" in str(raised.value)
    assert "(on a)" in str(raised.value)
    with ends("a", UCX_TLS="posix,cma,self") as one:
        assert "UCX says no active messages transport" in one[0].call(begin, "UCX", "raxl-1")


@needs_nixl
def test_variables_that_a_user_has_set_stay() -> None:
    with ends("a", "a", UCX_PROTO_INFO="n") as pair:
        taken = Nixl().open(pair).measure(SHORT)
    assert taken.verified
    assert taken.protocol is None


def test_nothing_but_the_backend_differs_for_libfabric() -> None:
    assert NixlLibfabric.backend == "LIBFABRIC"
    assert NixlLibfabric().environment({}) == {}


_BENCH = """
import json, sys
sys.path.insert(0, sys.argv[1])
from dataclasses import asdict
from local_bench import benches
from raxl.bench.request import Request
asked = Request(pairs="host-1:host-2", transports=("nixl",), sizes=(4 << 20,), budget_seconds=2)
for variables in ({}, {"UCX_TLS": "tcp,self"}):
    (row,), = benches(asked, address=sys.argv[2], variables=variables)
    print(json.dumps(asdict(row)))
"""


@needs_nixl
@pytest.mark.skipif(links.missing() is not None, reason=f"{links.missing()}")
def test_reads_that_bypass_the_link_are_a_mismatch_and_those_over_it_are_proven(tmp_path: Path) -> None:
    """Two hosts of one kernel that see each other's processes: UCX takes them for one machine, and reads the other's
    memory. Told to use TCP, it uses the link."""
    script = tmp_path / "bench.py"
    script.write_text(_BENCH)
    with links.shaped([links.GIGABIT] * 2, apart=False) as hosts, ray_hosts.cluster(hosts) as cluster:
        done = cluster.run([sys.executable, str(script), str(Path(__file__).parent), cluster.address], timeout=120)
    assert done.returncode == 0, done.stderr
    bypassed, crossed = map(json.loads, done.stdout.splitlines())
    assert bypassed["status"] == MISMATCH, bypassed
    assert bypassed["path"]["protocol"] == "zero-copy cma/memory"
    assert "it went by zero-copy cma/memory" in bypassed["error"]
    assert crossed["status"] in GOOD, crossed
    assert crossed["path"]["verdict"] == "proven"
    assert crossed["path"]["protocol"] == "software emulation tcp/eth0"
