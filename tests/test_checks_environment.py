"""The checks of variables for NCCL, UCX and libfabric, from the environment, a file of them, or a log."""

from __future__ import annotations

from typing import Any

import pytest

from diagnosing import statuses, told, variant
from raxl.collect import inputs, machines
from raxl.host import allowed
from raxl.host.record import Recording

HGX, AWS = "nvidia-hgx-h100", "nvidia-aws-p5en"


def environment(**variables: str) -> tuple[str, Any]:
    return "process environment", variables


def given(*texts: str) -> Recording:
    recordings = [
        one for number, text in enumerate(texts) for one in inputs._from_bytes(text.encode(), f"file{number}")
    ]
    (machine,) = machines.together(recordings, "node-a")
    return machine


def with_log(name: str, text: str, *changes: Any) -> Recording:
    recording = variant(name, *changes)
    (machine,) = machines.together([recording, *inputs._from_bytes(text.encode(), "nccl.log")], recording.name)
    return machine


@pytest.mark.parametrize("name", ["NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "CUDA_LAUNCH_BLOCKING"])
def test_switches_that_stayed_in_an_image(name: str) -> None:
    (found,) = told("lib.bad-env", variant(HGX, environment(**{name: "1"})))
    assert (found.status, found.subject, found.remedy_class) == ("warn", name, "config")
    assert statuses("lib.bad-env", variant(HGX, environment(**{name: "0"}))) == {"node": "ok"}


def test_a_switch_for_what_the_node_has_not_is_no_fault() -> None:
    assert statuses("lib.bad-env", variant("none-cpu-server", environment(NCCL_IB_DISABLE="1"))) == {"node": "ok"}
    assert statuses("lib.bad-env", variant("nvidia-gh200", environment(NCCL_P2P_DISABLE="1"))) == {"node": "ok"}
    assert statuses("lib.bad-env", variant(HGX, "process environment !denied")) == {"node": "unknown"}


def test_a_file_of_variables_with_export_and_with_docker_arguments() -> None:
    for text in (
        "export NCCL_P2P_DISABLE=1\n",
        "-e NCCL_P2P_DISABLE=1\n-e NCCL_DEBUG=WARN\n",
        "NCCL_P2P_DISABLE='1'\n",
    ):
        assert statuses("lib.bad-env", given(text)) == {"NCCL_P2P_DISABLE": "warn"}
    assert "CUDA_LAUNCH_BLOCKING" in allowed.environment({"CUDA_LAUNCH_BLOCKING": "1"})


ERROR_110 = (
    "gpu-07:1:2 [0] transport/net_ib.cc:900 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out\n"
)


def test_queue_pairs_that_time_out_on_rails_that_are_apart() -> None:
    (found,) = told("env.cross-nic", with_log(HGX, ERROR_110))
    assert (found.status, found.subject) == ("warn", "NCCL_CROSS_NIC")
    assert "NCCL_CROSS_NIC=0" in str(found.remedy)
    assert statuses("env.cross-nic", with_log(HGX, ERROR_110, environment(NCCL_CROSS_NIC="0"))) == {
        "NCCL_CROSS_NIC": "ok"
    }
    assert statuses("env.cross-nic", variant(HGX, environment(NCCL_CROSS_NIC="1"))) == {"NCCL_CROSS_NIC": "ok"}
    assert statuses("env.cross-nic", variant(HGX)) == {"NCCL_CROSS_NIC": "skip"}
    assert statuses("env.cross-nic", variant(HGX, "process environment !denied")) == {"NCCL_CROSS_NIC": "unknown"}


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("^cuda_ipc", "fail"),
        ("^tcp", "ok"),
        ("tcp,cuda_copy", "warn"),
        ("rc,sm,cuda_ipc,cuda_copy", "ok"),
        ("all", "ok"),
    ],
)
def test_transports_of_ucx(value: str, status: str) -> None:
    assert statuses("env.ucx", variant(HGX, environment(UCX_TLS=value))) == {"UCX_TLS": status}


def test_transports_of_ucx_where_they_do_not_matter() -> None:
    assert statuses("env.ucx", variant(HGX)) == {"UCX_TLS": "skip"}
    assert statuses("env.ucx", variant("none-cpu-server", environment(UCX_TLS="^cuda_ipc"))) == {"UCX_TLS": "skip"}
    assert statuses("env.ucx", variant(HGX, "process environment !denied")) == {"UCX_TLS": "unknown"}
    log = "[1.5] [node-a:1:0] parser.c:2045 UCX  INFO  UCX_* env variables: UCX_TLS=^cuda_ipc UCX_LOG_LEVEL=info\n"
    assert statuses("env.ucx", given(log)) == {"UCX_TLS": "fail"}, "the log says what was set"


FELL_BACK = """\
node-a:1:2 [0] NCCL INFO NET/OFI No eligible providers were found
node-a:1:2 [0] NCCL INFO Initialized NET plugin Socket
node-a:1:2 [0] NCCL INFO NET/Socket : Using [0]enp73s0:192.0.2.156<0> [1]pod-id-link0:169.254.170.23<0>
"""


def test_a_silent_fall_back_to_sockets() -> None:
    (found,) = told("env.nccl-net", with_log(AWS, FELL_BACK))
    assert found.status == "warn"
    assert "in silence" in found.message
    assert "AWS Libfabric" in str(found.remedy)
    asked = environment(NCCL_NET="AWS Libfabric")
    assert statuses("env.nccl-net", with_log(AWS, FELL_BACK, asked)) == {"NCCL_NET": "ok"}


def test_the_network_that_nccl_is_told_to_use() -> None:
    (found,) = told("env.nccl-net", variant(AWS))
    assert found.status == "ok", "unset is the usual case, and what may come of it is said"
    assert "without an error" in found.message
    assert statuses("env.nccl-net", variant(AWS, environment(NCCL_NET="Socket"))) == {"NCCL_NET": "warn"}
    assert statuses("env.nccl-net", variant(AWS, environment(NCCL_NET_PLUGIN="none"))) == {"NCCL_NET": "warn"}
    assert statuses("env.nccl-net", variant("none-cpu-server")) == {"NCCL_NET": "skip"}
    assert statuses("env.nccl-net", variant(AWS, "process environment !denied")) == {"NCCL_NET": "unknown"}
