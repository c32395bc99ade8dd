"""What is believed of a report that a plug-in of others sends: whatever it holds, what comes out can be."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from raxl.model import codec
from raxl.model.accelerator import KINDS, STATES, Partition
from raxl.model.component import PciFunction, PciLink
from raxl.model.problem import REASONS, Problem
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.plugins.admission import admitted

BUS = (PciFunction("0000:17:00.0", "120000", "pci0000:16"), PciFunction("0000:ca:00.0", "120000", "pci0000:c9"))
CLAIM = Claim(
    "guest",
    "npu",
    "sysfs",
    address="0000:17:00.0",
    uuid="GUEST-1",
    index=0,
    numa_node=0,
    local_numa_nodes=(0, 1),
    memory_bytes=1 << 35,
    state="ok",
    link=PciLink(16.0, 16, 16.0, 16),
    partitions=(Partition("part:0", "half", 1 << 34),),
    attributes={"driver": "guest", "cores": 8, "is_new": True, "ratio": -0.5, "nothing": None},
    silent={"serial": Silence("not-supported", "the driver does not say")},
)
WHOLE = Report(
    claims=(CLAIM, Claim("guest", "npu", "sysfs", address="0000:ca:00.0", index=1)),
    links=(LinkClaim("guest#0", "GUEST-1", "EX4", "ex", 4), LinkClaim("guest#0", "guest#1", "EX4", "ex", 4)),
    problems=(Problem("guest:0.serial", "not-supported", "the driver does not say"),),
)


def test_what_can_be_is_believed_whole() -> None:
    assert admitted(codec.encode(WHOLE), "guest", BUS, ()) == (WHOLE, "")


def test_a_link_may_lead_to_what_others_name() -> None:
    report = Report(claims=(CLAIM,), links=(LinkClaim("guest#0", "mlx5_0", "PIX", "pcie"),))
    assert admitted(codec.encode(report), "guest", BUS, {"mlx5_0"}) == (report, "")
    assert admitted(codec.encode(report), "guest", BUS, None) == (report, "")
    assert admitted(codec.encode(report), "guest", BUS, {"mlx5_1"}) == (
        Report(claims=(CLAIM,)),
        "a link of guest#0 and mlx5_0: nothing is called mlx5_0",
    )


def test_of_many_wrongs_the_first_are_told_and_counted() -> None:
    claims = tuple(Claim("guest", "npu", "x", index=n, memory_bytes=-n) for n in range(1, 31))
    report, wrong = admitted(codec.encode(Report(claims=claims)), "guest", BUS)
    assert [claim.memory_bytes for claim in report.claims] == [None] * 30
    assert wrong.startswith("claims[0].memory_bytes is -1; claims[1].memory_bytes is -2; ")
    assert wrong.endswith("; and 20 more")


def test_numbers_that_no_machine_has_are_left_out() -> None:
    raw = json.loads(codec.encode(Report(claims=(CLAIM,))))
    raw["claims"][0]["attributes"] = {"a": 10**400, "b": -(10**400), "c": float("inf"), "d": 1e300, "e": -2.5}
    raw["claims"][0]["link"] = {"speed_gts": 10**400, "width": float("inf"), "max_width": 16}
    report, wrong = admitted(json.dumps(raw), "guest", BUS)
    (claim,) = report.claims
    assert claim.attributes == {"e": -2.5}
    assert claim.link == PciLink(max_width=16)
    assert wrong.count("claims[0].attributes.") == 4
    assert wrong.count("claims[0].link.") == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, one in inner for place in places(one, (*at, key)))]


RAW = json.loads(codec.encode(WHOLE))


@given(st.lists(st.tuples(st.sampled_from(places(RAW)[1:]), JSON), min_size=1, max_size=4))
def test_whatever_stands_in_a_report_what_comes_out_can_be(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    raw = json.loads(json.dumps(RAW))
    for (*way, last), value in changes:
        inner = raw
        try:
            for key in way:
                inner = inner[key]
            inner[last] = value
        except (TypeError, LookupError):
            continue
    report, _ = admitted(json.dumps(raw), "guest", BUS, ())
    assert len(report.claims) <= 2
    for claim in report.claims:
        assert claim.vendor == "guest"
        assert claim.kind in KINDS
        assert claim.state in (None, *STATES)
        assert claim.address is not None or claim.uuid or claim.index is not None
        assert all(number is None or number >= 0 for number in (claim.index, claim.numa_node))
        assert claim.memory_bytes is None or claim.memory_bytes > 0
        assert all(isinstance(one, (str, int, float, type(None))) for one in claim.attributes.values())
        assert {one.reason for one in claim.silent.values()} <= set(REASONS)
    own = {name for claim in report.claims for name in claim.names}
    assert all({link.a, link.b} <= own and (link.count or 1) > 0 for link in report.links)
