"""The checks of RDMA ports: states, rates, counters, addresses; and of what GPUDirect needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import captures
from diagnosing import findings, statuses, told, variant
from raxl.checks import Case, registry
from raxl.checks.diagnosis import EVERYTHING, Wanted
from raxl.collect import assemble, facts, inputs, machines
from raxl.host.record import Recording
from raxl.model.facts import KernelEvent, KernelLog, Reading
from raxl.model.finding import Finding
from raxl.model.policy import Policy

HGX = "nvidia-hgx-h100"
"""Eight InfiniBand adapters beside eight GPUs, and mlx5_8, an Ethernet one."""
PORT = "/sys/class/infiniband/mlx5_{}/ports/1/{}"
PAIN_12 = """\
Infiniband device 'mlx5_0' port 1 status:
\tbase lid:\t 0x12
\tsm lid:\t\t 0x1
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t 200 Gb/sec (4X HDR)
\tlink_layer:\t InfiniBand

Infiniband device 'mlx5_3' port 1 status:
\tbase lid:\t 0x0
\tsm lid:\t\t 0x0
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t 40 Gb/sec (4X QDR)
\tlink_layer:\t Ethernet

Infiniband device 'mlx5_1' port 1 status:
\tbase lid:\t 0x0
\tsm lid:\t\t 0x0
\tstate:\t\t 1: DOWN
\tphys state:\t 3: Disabled
\trate:\t\t 10 Gb/sec (4X)
\tlink_layer:\t Ethernet
"""


def given(*texts: str) -> Recording:
    """One machine by what tools print of it."""
    recordings = [
        one for number, text in enumerate(texts) for one in inputs._from_bytes(text.encode(), f"file{number}")
    ]
    (machine,) = machines.together(recordings, "node-a" if len(texts) > 1 else None)
    return machine


def file(adapter: int, name: str, value: str) -> str:
    return f"{PORT.format(adapter, name)}={value}"


def environment(**variables: str) -> tuple[str, Any]:
    return "process environment", variables


def expecting(**values: str | float) -> Wanted:
    return Wanted(policy=Policy(expected=values))


def by_subject(check: str, recording: Recording, wanted: Wanted = EVERYTHING) -> dict[str, Finding]:
    return {one.subject: one for one in told(check, recording, wanted)}


def test_active_ports_are_one_finding() -> None:
    (found,) = told("ib.port-state", variant(HGX))
    assert (found.status, found.subject) == ("ok", "node")
    assert found.message.startswith("9 RDMA ports are active")


@pytest.mark.parametrize("state", ["2: INIT", "3: ARMED"])
def test_a_port_without_a_subnet_manager_fails(state: str) -> None:
    found = by_subject("ib.port-state", variant(HGX, file(4, "state", state)))["mlx5_4/1"]
    assert (found.status, found.remedy_class) == ("fail", "config")
    assert "no subnet manager" in found.message


def test_a_link_that_recovers_from_errors_again_and_again_fails() -> None:
    found = by_subject("ib.port-state", variant(HGX, file(4, "phys_state", "6: LinkErrorRecovery")))
    assert found["mlx5_4/1"].status == "fail"


def test_a_port_that_is_down_is_judged_by_its_peers() -> None:
    down = variant(HGX, file(4, "state", "1: DOWN"), file(4, "phys_state", "2: Polling"))
    found = by_subject("ib.port-state", down)["mlx5_4/1"]
    assert (found.status, found.remedy_class) == ("warn", "vendor")
    assert "the other 7 ports of its model are active" in found.message
    two = variant(HGX, *[file(one, "state", "1: DOWN") for one in (4, 5)])
    assert {by_subject("ib.port-state", two)[one].status for one in ("mlx5_4/1", "mlx5_5/1")} == {"skip"}


def test_a_port_that_is_down_and_expected_fails() -> None:
    down = file(8, "state", "1: DOWN"), file(8, "phys_state", "3: Disabled")
    assert by_subject("ib.port-state", variant(HGX, *down))["mlx5_8/1"].status == "skip", "nothing wants it"
    wanted = variant(HGX, *down, environment(NCCL_IB_HCA="mlx5_8,mlx5_0"))
    found = by_subject("ib.port-state", wanted)["mlx5_8/1"]
    assert (found.status, found.remedy_class) == ("fail", "config")
    assert "NCCL_IB_HCA=mlx5_8,mlx5_0 names it" in found.message
    excluded = variant(HGX, *down, environment(NCCL_IB_HCA="^mlx5_8"))
    assert by_subject("ib.port-state", excluded)["mlx5_8/1"].status == "skip"
    assert by_subject("ib.port-state", variant(HGX, *down), expecting(nics=9))["mlx5_8/1"].status == "fail"
    assert by_subject("ib.port-state", variant(HGX, *down), expecting(nics=8))["mlx5_8/1"].status == "skip"


def test_what_was_not_read_makes_no_port_well() -> None:
    unread = variant(HGX, f"{PORT.format(4, 'phys_state')} !denied")
    assert by_subject("ib.port-state", unread)["mlx5_4/1"].status == "unknown"
    stateless = variant(HGX, f"{PORT.format(4, 'state')} !denied")
    assert by_subject("ib.rate", stateless)["mlx5_4/1"].status == "unknown"
    assert by_subject("gdr.affinity", stateless)["nvidia:4"].status == "unknown"
    blind = variant(HGX, *gids(*PAIN_13), "process environment !denied")
    assert statuses("roce.gid", blind) == {"node": "unknown"}
    slow = file(4, "rate", "200 Gb/sec (2X NDR)")
    boardless = variant(HGX, slow, "/sys/class/infiniband/mlx5_4/board_id !denied")
    assert by_subject("ib.rate", boardless)["mlx5_4/1"].status == "fail"


def test_states_that_cannot_be_read_and_machines_without_rdma() -> None:
    assert (
        by_subject("ib.port-state", variant(HGX, f"{PORT.format(4, 'state')} !denied"))["mlx5_4/1"].status == "unknown"
    )
    assert by_subject("ib.port-state", variant(HGX, file(4, "state", "9: NEW")))["mlx5_4/1"].status == "unknown"
    for check in ("ib.port-state", "ib.rate", "ib.flap", "ib.errors", "ib.counter-saturated", "roce.gid", "roce.mtu"):
        assert statuses(check, variant("none-cpu-server")) == {"node": "skip"}, check
        denied = variant("none-cpu-server", "names /sys/class/infiniband !denied")
        assert statuses(check, denied) == {"node": "unknown"}, check


def test_the_tools_of_infiniband_feed_the_checks() -> None:
    found = by_subject("ib.port-state", given(PAIN_12))
    assert found["mlx5_1/1"].status == "skip"
    assert "DOWN (Disabled)" in found["mlx5_1/1"].message
    with_list = given(PAIN_12, "NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_3\n")
    assert by_subject("ib.port-state", with_list)["mlx5_1/1"].status == "fail"


def test_a_device_that_its_tool_died_on_is_unknown() -> None:
    text = "ibpanic: [13] main: stat of IB device 'mlx5_8' failed: No such file or directory\n"
    found = by_subject("ib.port-state", given(text))
    assert {name: one.status for name, one in found.items()} == {"mlx5_8": "unknown"}


def test_a_port_below_its_like_fails() -> None:
    found = by_subject("ib.rate", variant(HGX, file(4, "rate", "200 Gb/sec (2X NDR)")))
    assert (found["mlx5_4/1"].status, found["mlx5_4/1"].remedy_class) == ("fail", "vendor")
    assert "200 Gb/s; 7 of 8 ports of its model at 400 Gb/s" in found["mlx5_4/1"].message
    assert set(found) == {"mlx5_4/1", "node"}, "the Ethernet adapter runs at a rate of its own"


def test_rates_that_are_no_fault() -> None:
    assert statuses("ib.rate", variant(HGX)) == {"node": "ok"}
    other_board = variant(
        HGX, file(4, "rate", "200 Gb/sec (4X HDR)"), "/sys/class/infiniband/mlx5_4/board_id=MT_0000000999"
    )
    assert statuses("ib.rate", other_board) == {"node": "ok"}, "a storage adapter is no peer"
    down = variant(HGX, file(4, "state", "1: DOWN"), file(4, "rate", "10 Gb/sec (4X SDR)"))
    assert statuses("ib.rate", down) == {"node": "ok"}, "a port that is down shows the lowest rate"
    assert by_subject("ib.rate", variant(HGX, f"{PORT.format(4, 'rate')} !denied"))["mlx5_4/1"].status == "unknown"


@pytest.mark.parametrize("check", ["roce.gid", "roce.mtu", "roce.flow-control"])
def test_a_port_of_unknown_link_layer_may_be_on_ethernet(check: str) -> None:
    lost = variant(HGX, f"{PORT.format(8, 'link_layer')} !absent")
    assert statuses(check, lost)["mlx5_8/1"] == "unknown"
    every = variant(HGX, *[f"{PORT.format(n, 'link_layer')} !absent" for n in range(9)])
    assert statuses(check, every) == {f"mlx5_{n}/1": "unknown" for n in range(9)}
    assert check != "roce.gid" or not findings(lost).coverage[0].complete


def test_the_policy_sets_a_rate() -> None:
    found = by_subject("ib.rate", variant(HGX), expecting(nic_speed_bits_per_second=800e9))
    assert {name for name, one in found.items() if one.status == "fail"} == {f"mlx5_{n}/1" for n in range(8)}


def test_one_slow_ethernet_port_among_those_that_nccl_is_given() -> None:
    assert statuses("ib.rate", given(PAIN_12)) == {"node": "ok"}, "an adapter for management is no fault"
    found = by_subject("ib.rate", given(PAIN_12, "NCCL_IB_HCA=mlx5\n"))["mlx5_3/1"]
    assert found.status == "warn"
    assert "40 Gb/s over Ethernet" in found.message
    assert "NCCL_IB_HCA=^mlx5_3" in str(found.remedy)


def counters(adapter: int, **values: int) -> list[Any]:
    folder = PORT.format(adapter, "counters")
    return [f"names {folder}={' '.join(values)}", *[f"{folder}/{name}={value}" for name, value in values.items()]]


def test_a_full_counter_warns_and_makes_the_others_unknown() -> None:
    full = variant(HGX, *counters(1, link_downed=255, symbol_error=3, excessive_buffer_overrun_errors=15))
    found = by_subject("ib.counter-saturated", full)["mlx5_1/1"]
    assert (found.status, found.remedy_class) == ("warn", "config")
    assert "(perfquery -R -C mlx5_1 -P 1, or reload" in (found.remedy or "")
    assert "link_downed = 255 and excessive_buffer_overrun_errors = 15" in found.message
    assert by_subject("ib.flap", full)["mlx5_1/1"].status == "unknown"
    assert by_subject("ib.errors", full)["mlx5_1/1"].status == "unknown"


@pytest.mark.parametrize("name", ["symbol_error", "port_rcv_errors", "port_xmit_discards"])
def test_the_width_of_a_counter_decides_when_it_is_full(name: str) -> None:
    assert by_subject("ib.counter-saturated", variant(HGX, *counters(1, **{name: 255})))["node"].status == "ok"
    assert by_subject("ib.counter-saturated", variant(HGX, *counters(1, **{name: 65535})))["mlx5_1/1"].status == "warn"


def test_one_reading_of_a_counter_gives_no_verdict() -> None:
    some = variant(HGX, *counters(1, link_downed=3, symbol_error=7))
    assert by_subject("ib.flap", some)["mlx5_1/1"].status == "ok"
    found = by_subject("ib.errors", some)["mlx5_1/1"]
    assert found.status == "ok"
    assert "symbol_error 7 and link_downed 3" in found.message
    none = variant(HGX, *counters(1, link_downed=0))
    assert by_subject("ib.errors", none)["node"].status != "warn"


def test_ports_that_have_no_counters_are_skipped_and_denied_ones_unknown() -> None:
    assert statuses("ib.errors", variant(HGX)) == {"node": "skip"}, "a virtual function has none"
    denied = variant(
        HGX, f"names {PORT.format(1, 'counters')} !denied", f"names {PORT.format(1, 'hw_counters')} !denied"
    )
    assert by_subject("ib.errors", denied)["mlx5_1/1"].status == "unknown"
    folder = PORT.format(1, "counters")
    text = variant(HGX, f"names {folder}=link_downed", f"{folder}/link_downed=N/A (no PMA)")
    assert by_subject("ib.errors", text)["mlx5_1/1"].status == "skip", "no performance agent is no zero"


def flaps(*events: KernelEvent, carrier_changes: int | None = None) -> dict[str, Finding]:
    recording = variant(HGX, *counters(1, link_downed=0))
    node = assemble.inventory([recording]).nodes[0]
    own = replace(facts.of(recording, node), kernel_log=KernelLog(Reading(9, "dmesg"), events))
    (check,) = [one for one in registry.checks() if one.id == "ib.flap"]
    return {one.subject: one for one in check.run(Case(node, own), **check.thresholds)}  # type: ignore[misc]


def down(count: int, netdev: str = "ibs1", **more: Any) -> KernelEvent:
    return KernelEvent("lost-carrier", f"mlx5_core 0000:3a:00.0 {netdev}: Link down", count=count, **more)


@pytest.mark.parametrize(("count", "status"), [(1, "warn"), (4, "warn"), (5, "fail")])
def test_links_that_flap_by_the_kernel_log(count: int, status: str) -> None:
    found = flaps(down(count, seconds=9000.0, first="[9000.0]", last="[9100.0]"))["mlx5_1/1"]
    assert (found.status, found.count) == (status, count)  # type: ignore[attr-defined]


def test_what_is_no_flap() -> None:
    assert "mlx5_1/1" not in flaps(down(9, seconds=30.0)), "the first ten minutes after the boot"
    assert "mlx5_1/1" not in flaps(down(9, seconds=9000.0, boot=1)), "another boot"
    assert "mlx5_1/1" not in flaps(down(9, "ens99", seconds=9000.0)), "no RDMA adapter's device"


LOCAL, ROUTED, EMPTY = (
    "fe80:0000:0000:0000:0000:00ff:fe00:0001",
    "0000:0000:0000:0000:0000:ffff:c000:0206",
    "fe80:0000:0000:0000:0000:0000:0000:0000",
)
V1, V2 = "IB/RoCE v1", "RoCE v2"
PAIN_13 = [(LOCAL, V1), (LOCAL, V2), (ROUTED, V1), (ROUTED, V2)]


def gids(*entries: tuple[str, str]) -> list[Any]:
    folder = PORT.format(8, "{}").format
    lines: list[Any] = [(f"names {folder('gids')}", [str(index) for index in range(len(entries))])]
    for index, (gid, kind) in enumerate(entries):
        lines += [f"{folder('gids')}/{index}={gid}", f"{folder('gid_attrs/types')}/{index}={kind}"]
    return lines


def gid_finding(entries: list[tuple[str, str]], **variables: str) -> Finding:
    (found,) = told("roce.gid", variant(HGX, *gids(*entries), environment(**variables)))
    return found


def test_an_index_that_is_link_local_fails_and_the_right_one_is_named() -> None:
    found = gid_finding(PAIN_13, NCCL_IB_GID_INDEX="1")
    assert (found.status, found.subject) == ("fail", "mlx5_8/1")
    assert "NCCL_IB_GID_INDEX=1 of mlx5_8/1 is fe80 (link-local, not routable)" in found.message
    assert "is 3 (192.0.2.6)" in found.message


@pytest.mark.parametrize(("index", "status"), [("3", "ok"), ("2", "fail"), ("0", "fail"), ("9", "fail")])
def test_other_indexes(index: str, status: str) -> None:
    assert gid_finding(PAIN_13, NCCL_IB_GID_INDEX=index).status == status


def test_an_index_counts_for_the_ports_that_nccl_uses() -> None:
    assert gid_finding(PAIN_13, NCCL_IB_GID_INDEX="1", NCCL_IB_HCA="mlx5_0").status == "ok"


def test_tables_of_addresses() -> None:
    assert gid_finding(PAIN_13).status == "ok", "unset: NCCL searches"
    container = [(EMPTY, ""), (EMPTY, ""), (EMPTY, ""), (EMPTY, ""), (ROUTED, V2)]
    assert gid_finding(container).status == "ok", "the table may begin at 4"
    assert gid_finding([(LOCAL, V1), (LOCAL, V2)]).status == "warn"
    assert gid_finding([(LOCAL, V1), (LOCAL, V2), (ROUTED, V1)]).status == "fail"
    assert gid_finding([("0000:0000:0000:0000:0000:ffff:a9fe:0206", V2)]).status == "warn", "169.254 is link-local"


def test_entries_whose_type_is_not_told_are_unknown() -> None:
    assert gid_finding([(LOCAL, V1), (ROUTED, "")]).status == "unknown"
    assert gid_finding([(ROUTED, V2), (ROUTED, "")], NCCL_IB_GID_INDEX="1").status == "unknown"


def test_tables_that_cannot_be_read_and_ports_without_ethernet() -> None:
    assert statuses("roce.gid", variant(HGX, f"names {PORT.format(8, 'gids')} !denied")) == {"mlx5_8/1": "unknown"}
    assert statuses("roce.gid", variant("nvidia-gh200")) == {"node": "skip"}


def mtus(*sizes: int) -> Recording:
    recording = variant("amd-mi300x-spx")
    ports = [nic for nic in assemble.inventory([recording]).nodes[0].nics if nic.kind == "roce"]
    lines = [f"/sys/class/net/{nic.netdev}/mtu={size}" for nic, size in zip(ports, sizes)]
    return variant("amd-mi300x-spx", *lines)


def test_packet_sizes() -> None:
    assert statuses("roce.mtu", mtus(*[9000] * 8)) == {"node": "ok"}
    odd = told("roce.mtu", mtus(1500, *[9000] * 7))
    assert [one.status for one in odd] == ["fail", "ok"]
    assert "1500, 7 of 8 ports of its model have 9000" in odd[0].message
    assert "fail" not in statuses("roce.mtu", mtus(*[1500] * 4, *[9000] * 4)).values(), "no majority"
    assert set(statuses("roce.mtu", mtus()).values()) == {"unknown"}
    assert statuses("roce.mtu", variant("nvidia-gh200")) == {"node": "skip"}


def congestion(*on: str) -> Recording:
    """RoCE adapters whose driver shows on which priority ECN is on."""
    recording = variant("amd-mi300x-spx")
    ports = [nic for nic in assemble.inventory([recording]).nodes[0].nics if nic.kind == "roce"]
    lines = []
    for nic, priority in zip(ports, on):
        folder = f"/sys/class/net/{nic.netdev}"
        lines += [f"names {folder}/ecn=roce_np roce_rp", f"{folder}/qos/trust=dscp"]
        for side in ("roce_np", "roce_rp"):
            lines += [f"{folder}/ecn/{side}/enable/{one}={int(str(one) == priority)}" for one in range(8)]
    return variant("amd-mi300x-spx", *lines)


def test_congestion_control() -> None:
    (found,) = told("roce.flow-control", congestion(*"33333333"))
    assert (found.status, "roce_np on 3, roce_rp on 3, trust dscp" in found.message) == ("ok", True)
    odd = told("roce.flow-control", congestion(*"-3333333"))
    assert [one.status for one in odd] == ["fail"]
    assert "roce_np on none" in odd[0].message
    assert "fail" not in statuses("roce.flow-control", congestion(*"---33333")).values(), "no majority of two thirds"
    assert statuses("roce.flow-control", congestion()) == {"node": "skip"}, "the kernel's own driver shows none"
    assert statuses("roce.flow-control", variant("none-cpu-server")) == {"node": "skip"}
    unread = [f"names /sys/class/net/{netdev}/ecn !denied" for netdev in ("ens8np0",)]
    assert statuses("roce.flow-control", variant(HGX, *unread)) == {"node": "unknown"}


def test_gpudirect_by_module_or_by_dma_buf() -> None:
    closed = "/proc/driver/nvidia/version=NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08\n"
    modules = "names /sys/module=nvidia mlx5_core"
    assert statuses("gdr.path", variant(HGX)) == {"node": "ok"}, "the open module"
    (found,) = told("gdr.path", variant(HGX, closed, modules))
    assert (found.status, found.remedy_class) == ("warn", "config")
    assert "modprobe nvidia_peermem" in str(found.remedy)
    assert statuses("gdr.path", variant(HGX, closed, f"{modules} nvidia_peermem")) == {"node": "ok"}
    unread = variant(HGX, "/proc/driver/nvidia/version !denied", modules)
    assert statuses("gdr.path", unread) == {"node": "unknown"}
    assert statuses("gdr.path", variant("none-cpu-server")) == {"node": "skip"}


def test_gpudirect_of_amd_by_the_kernels_configuration() -> None:
    name = "amd-mi300x-spx"
    release = assemble.inventory([variant(name)]).nodes[0].os.kernel
    assert statuses("gdr.path", variant(name, "names /sys/kernel/mm/memory_peers=amdkfd")) == {"node": "ok"}
    without = [f"names {place}/memory_peers !absent" for place in ("/sys/kernel/mm", "/sys/kernel", "/sys")]
    both = f"/boot/config-{release}=CONFIG_PCI_P2PDMA=y\nCONFIG_DMABUF_MOVE_NOTIFY=y\n"
    one = f"/boot/config-{release}=CONFIG_PCI_P2PDMA=y\n# CONFIG_DMABUF_MOVE_NOTIFY is not set\n"
    assert statuses("gdr.path", variant(name, *without, both)) == {"node": "ok"}
    (found,) = told("gdr.path", variant(name, *without, one))
    assert (found.status, "without DMABUF_MOVE_NOTIFY" in found.message) == ("warn", True)
    assert statuses("gdr.path", variant(name, *without)) == {"node": "unknown"}


def test_the_adapter_beside_an_accelerator_is_down() -> None:
    assert statuses("gdr.affinity", variant(HGX)) == {"node": "ok"}
    (found,) = told("gdr.affinity", variant(HGX, file(4, "state", "1: DOWN")))
    assert (found.status, found.subject) == ("warn", "nvidia:4")
    assert "mlx5_4 beside nvidia:4 is down" in found.message
    assert statuses("gdr.affinity", variant("nvidia-aws-p5en")) == {"node": "skip"}
    assert statuses("gdr.affinity", variant("none-cpu-server")) == {"node": "skip"}


OLD_LOG = """\
gpu-07:7:9 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'
NCCL version {}+cuda12.4
"""


def with_log(text: str, *changes: Any) -> Recording:
    recording = variant(HGX, *changes)
    (log,) = inputs._from_bytes(text.encode(), "nccl.log")
    (machine,) = machines.together([recording, log])
    return machine


def test_an_nccl_that_does_not_know_the_new_module() -> None:
    module = "names /sys/module=nvidia mlx5_core nvidia_peermem"
    (found,) = told("gdr.nccl", with_log(OLD_LOG.format("2.22.3"), module))
    assert found.status == "fail"
    assert "NCCL 2.22.3 does not recognise nvidia_peermem, 2.23.4 does" in found.message
    assert statuses("gdr.nccl", with_log(OLD_LOG.format("2.23.4"), module)) == {"node": "ok"}
    both = f"{module} nv_peer_mem"
    assert statuses("gdr.nccl", with_log(OLD_LOG.format("2.22.3"), both)) == {"node": "ok"}
    silent = OLD_LOG.format("2.22.3").replace("Disabled", "Enabled")
    assert statuses("gdr.nccl", with_log(silent, module)) == {"node": "ok"}, "the open module has DMA-BUF"
    closed = "/proc/driver/nvidia/version=NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08\n"
    assert statuses("gdr.nccl", with_log(silent, module, closed)) == {"node": "fail"}
    assert statuses("gdr.nccl", with_log(silent, "names /sys/module !denied")) == {"node": "unknown"}
    assert statuses("gdr.nccl", variant(HGX)) == {"node": "skip"}, "nothing tells the version"
    assert statuses("gdr.nccl", with_log("gpu-07:7:9 [0] NCCL INFO RCCL version 2.20.5\n", module)) == {"node": "skip"}
    assert statuses("gdr.path", with_log(OLD_LOG.format("2.22.3"), module)) == {"node": "ok"}


@pytest.mark.parametrize("path", captures.parameters("ib", "lspci", "hwloc-xml", "hwloc-sysfs", "kfd"))
def test_captures_break_no_check_and_healthy_ones_raise_nothing(path: Any) -> None:
    own = machines.together(inputs._open_file(str(path)))
    found = findings(own, Wanted("deep", only=["ib.*", "roce.*", "efa.*", "gdr.*", "host.*", "net.*"])).findings
    assert not [one for one in found if "the check itself" in one.message]
    assert {one.check for one in found if one.status in ("warn", "fail")} <= {"ib.counter-saturated"}


@pytest.mark.skipif(captures.CORPUS is None, reason="RAXL_CORPUS names no corpus")
@pytest.mark.parametrize(
    ("name", "wrong"), [("gcm-dgx-a100-8hca-good", set()), ("gcm-dgx-a100-2ports-init", {"mlx5_6/1", "mlx5_8/1"})]
)
def test_captured_ports_without_a_subnet_manager(name: str, wrong: set[str]) -> None:
    assert captures.CORPUS is not None
    (machine,) = machines.together(inputs._open_file(str(captures.CORPUS / "ib" / f"{name}.tar.gz")))
    found = by_subject("ib.port-state", machine)
    assert {subject for subject, one in found.items() if one.status == "fail"} == wrong
