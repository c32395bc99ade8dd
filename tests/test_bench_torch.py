"""torch's groups: what each collective brings, what NCCL logs, and gloo on one Ray."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec

import pytest

from local_bench import GOOD, benches
from process_ends import ends
from raxl.bench.request import Request
from raxl.model.measurement import COLLECTIVES, CORRUPT, FRESH, P2P, REUSED, Run
from raxl.transfer import Transfer, Unavailable, nccl_log, torch_group
from raxl.transports.torch_gloo import TorchGloo
from raxl.transports.torch_nccl import TorchNccl

MIB = 1 << 20
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="no torch here (pip install torch==2.13.0)")

LINE = "gpu-07:71:90 [0] NCCL INFO "
NETWORK = """
NCCL version 2.27.5+cuda12.9
NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>
Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA
Channel 01/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA
Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/1(1)/GDRDMA
AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..1}
AllReduce: 67108864 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}
"""
NODE = """
NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)
Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read
Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM/read
Channel 00 : 1[1] -> 2[2] via SHM/direct/direct
Connected NVLS tree
"""


def log(text: str) -> str:
    """As NCCL writes it, each line with who says so."""
    return "".join(LINE + line + "\n" for line in text.strip().splitlines())


def test_the_channels_of_nccl_are_read_and_its_candidates_are_not() -> None:
    read = nccl_log.read(log(NETWORK))
    assert read.version == "2.27.5"
    assert read.ways == (("NET/IB/0/GDRDMA", 2), ("NET/IB/1/GDRDMA", 1))
    assert read.carriers == ("mlx5_0:1", "mlx5_1:1")
    assert not read.is_staged
    assert nccl_log.words(read) == "RING SIMPLE, 2 × NET/IB/0/GDRDMA, 1 × NET/IB/1/GDRDMA"


def test_channels_within_a_node_are_read() -> None:
    read = nccl_log.read(log(NODE))
    assert read.ways == (("P2P/CUMEM/read", 2), ("SHM/direct/direct", 1))
    assert (read.carriers, read.algorithm) == (("memory",), None)


def test_a_nic_that_takes_from_the_processor_s_memory_is_said() -> None:
    lines = "NET/Socket : Using [0]eth0:10.0.0.1<0>\nChannel 00/0 : 1[1] -> 0[0] [send] via NET/Socket/0"
    read = nccl_log.read(log(lines))
    assert read.is_staged
    assert read.carriers == ("eth0",)


def test_older_nccls_give_numbers() -> None:
    read = nccl_log.read(log("AllReduce: 1048576 Bytes -> Algo 1 proto 2 time 56.4"))
    assert read.algorithm == "RING SIMPLE"


def test_a_log_that_says_nothing_has_no_words() -> None:
    assert nccl_log.words(nccl_log.read("")) is None


@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize("pattern", COLLECTIVES)
def test_each_rank_gets_what_the_ranks_give(pattern: str, ranks: int) -> None:
    gives = [torch_group.given(pattern, rank, ranks) for rank in range(ranks)]
    for rank in range(ranks):
        if pattern == "all-reduce":
            expected = [sum(one[0] for one in gives)]
        elif pattern == "all-gather":
            expected = [one[0] for one in gives]
        elif pattern == "reduce-scatter":
            expected = [sum(one[rank] for one in gives)]
        elif pattern == "all-to-all":
            expected = [one[rank] for one in gives]
        else:
            expected = [gives[0][0]]
        assert list(torch_group.gotten(pattern, rank, ranks)) == expected


@pytest.mark.parametrize(
    ("pattern", "size", "piece", "moved"),
    [
        ("all-reduce", 10, 10, 10),
        ("broadcast", 10, 10, 10),
        ("all-gather", 10, 3, 9),
        ("reduce-scatter", 9, 3, 9),
        ("all-to-all", 2, 1, 3),
    ],
)
def test_sizes_are_counted_as_nccl_tests_does(pattern: str, size: int, piece: int, moved: int) -> None:
    assert torch_group.piece_bytes(pattern, size, 3) == piece
    assert torch_group.moved_bytes(pattern, size, 3) == moved


def test_gloo_is_told_the_interface_of_the_node_s_address() -> None:
    assert TorchGloo().environment({"address": "10.0.0.1", "interface": "eth1"}) == {"GLOO_SOCKET_IFNAME": "eth1"}
    assert TorchGloo().environment({"address": "10.0.0.1", "interface": ""}) == {}


def test_without_torch_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert torch_group.load({}, "gloo", "cpu", ()) == ("no torch here: pip install 'raxl[rdt]'", None)


@needs_torch
def test_three_ranks_verify_every_pattern_and_see_a_turned_byte() -> None:
    with ends("a", "b", "c") as three:
        session = TorchGloo().open(three)
        for pattern in COLLECTIVES:
            for size, is_damaged in ((10, False), (3 << 18, False), (3 << 18, True)):
                transfer = Transfer(size, pattern, FRESH if is_damaged else REUSED, most_samples=3, seconds=0.02)
                taken = session.measure(replace(transfer, is_damaged=is_damaged))
                assert taken.verified == (not is_damaged), (pattern, taken.wrong)
                assert taken.transfers == taken.warmup + 1 + len(taken.samples)
                if is_damaged:
                    assert taken.wrong is not None
                    assert taken.wrong.startswith("rank 2: element ")


@needs_torch
def test_nccl_is_unavailable_where_torch_has_none() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with ends("a") as one, pytest.raises(Unavailable, match=r"torch .* (\(on a\))"):
        TorchNccl().open(one)


@pytest.fixture(scope="module")
def measured() -> list[list[Run]]:
    pair = Request(transports=("torch-gloo",), sizes=(8, 4 * MIB), budget_seconds=2)
    collective = pair._replace(pattern="all-reduce", sizes=(MIB,))
    return benches(pair, collective, pair._replace(is_damaged=True, sizes=(MIB,)))


@needs_torch
def test_gloo_between_two_ends_is_proven_to_go_over_the_loopback(measured: list[list[Run]]) -> None:
    small, large = measured[0]
    for one in (small, large):
        assert one.status in GOOD, one
        assert one.verified
        assert one.pattern == P2P
        assert one.phases.setup is not None
    assert large.path is not None
    assert (large.path.claimed, large.path.verdict) == ("lo", "proven")


@needs_torch
def test_a_collective_on_one_node_has_two_ends(measured: list[list[Run]]) -> None:
    (one,) = measured[1]
    assert one.status in GOOD, one
    assert (one.pattern, one.size_bytes, one.verified) == ("all-reduce", MIB, True)
    assert one.source == one.target
    assert one.path is None


@needs_torch
def test_a_byte_that_was_turned_is_seen(measured: list[list[Run]]) -> None:
    assert [one.status for one in measured[2]] == [CORRUPT]
