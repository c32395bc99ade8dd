"""Debug logs of NCCL, RCCL and UCX: what is read of them, and what is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import captures
from diagnosing import statuses, told, variant
from raxl.collect import assemble, inputs, machines
from raxl.host.record import Recording
from raxl.host.redact import Redactor
from raxl.intake import forms, nccl_log, ucx_log
from raxl.model.finding import Finding

HGX = "nvidia-hgx-h100"


def of(*texts: str) -> Recording:
    recordings = [
        one for number, text in enumerate(texts) for one in inputs._from_bytes(text.encode(), f"file{number}")
    ]
    (machine,) = machines.together(recordings, "node-a" if len(texts) > 1 else None)
    return machine


def joined(name: str, text: str) -> Recording:
    recording = variant(name)
    (machine,) = machines.together([recording, *inputs._from_bytes(text.encode(), "log")], recording.name)
    return machine


def nccl(recording: Recording) -> list[Finding]:
    return told("lib.nccl-log", recording)


WELL = """\
[rank0]: training starts with secret-word
node-a:71:90 [0] NCCL INFO Bootstrap: Using eth0:192.0.2.1<0>
node-a:71:90 [0] NCCL INFO NCCL version 2.27.5+cuda12.9
node-a:71:90 [0] NCCL INFO NCCL_IB_HCA set to mlx5_0,mlx5_1
node-a:71:90 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:192.0.2.1<0>
node-a:71:90 [0] NCCL INFO Using network IB
node-a:71:90 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'
node-a:71:91 [0] NCCL INFO Channel 00/0 : 8[0] -> 7[7] [send] via NET/IB/0/GDRDMA
node-a:71:91 [0] NCCL INFO Channel 00/0 : 8[0] -> 9[1] via P2P/IPC
"""


def test_what_is_read_of_a_log() -> None:
    log = nccl_log.said(WELL)
    assert (log.library, log.version, log.network, log.hosts) == ("NCCL", "2.27.5", "IB", ("node-a",))
    assert log.interfaces == {"eth0": "192.0.2.1"}
    assert log.devices == ("mlx5_0:1/IB", "mlx5_1:1/RoCE")
    assert log.direct == {"mlx5_0": True}
    assert log.ways == {"NET/IB/0/GDRDMA": 1, "P2P/IPC": 1}
    assert log.variables == {"NCCL_IB_HCA": "mlx5_0,mlx5_1"}
    assert not log.warnings
    assert "secret-word" not in nccl_log.own(WELL)


def test_a_log_is_of_the_machine_that_it_names() -> None:
    text = WELL.replace("node-a", "gpu-07")
    recording = variant(HGX)
    assert len(machines.together([recording, *inputs._from_bytes(text.encode(), "log")])) == 1
    node = assemble.inventory([of(WELL)]).nodes[0]
    assert (node.name, [(one.name, one.version) for one in node.software]) == ("node-a", [("nccl", "2.27.5")])
    both = WELL + WELL.replace("node-a", "node-b")
    assert assemble.inventory([of(both)]).nodes[0].name not in ("node-a", "node-b")


def test_a_redacted_log_names_no_host_and_tells_the_same() -> None:
    recording = of(WELL.replace("node-a", "trainer-x17"))
    redacted = Redactor().recording(recording)
    text = " ".join(str(one.value) for one in redacted.answers.values())
    assert "trainer-x17" not in text
    assert "192.0.2.1" not in text
    assert [one.status for one in nccl(redacted)] == ["ok"]


def test_a_log_in_which_all_is_well() -> None:
    (found,) = nccl(joined(HGX, WELL))
    assert found.status == "ok"
    assert "network IB" in found.message
    assert statuses("lib.nccl-log", variant(HGX)) == {"nccl": "skip"}
    assert [one.status for one in nccl(of("node-a:1:2 [0] NCCL INFO cudaDriverVersion 12040\n"))] == ["unknown"]


def test_sockets_where_a_plug_in_found_no_provider() -> None:
    text = (
        "NET/OFI No eligible providers were found\nInitialized NET plugin Socket\n"
        "NET/Socket : Using [0]enp73s0:192.0.2.156<0> [1]pod-id-link0:169.254.170.23<0>\n"
    )
    (found,) = nccl(of(text))
    assert (found.status, found.remedy_class) == ("warn", "config")
    assert "No eligible providers" in found.message
    assert "pod-id-link0 is link-local" in found.message


def test_sockets_where_there_are_rdma_adapters_and_where_there_are_none() -> None:
    text = "node-a:1:2 [0] NCCL INFO NET/IB : No device found.\nnode-a:1:2 [0] NCCL INFO Using network Socket\n"
    (found,) = nccl(joined(HGX, text))
    assert (found.status, "the node has mlx5_0" in found.message) == ("warn", True)
    assert [one.status for one in nccl(joined("none-cpu-server", text))] == ["ok"]


def test_gpu_direct_that_is_disabled() -> None:
    (found,) = nccl(joined(HGX, WELL.replace("RDMA Enabled", "RDMA Disabled")))
    assert (found.status, "disabled for mlx5_0" in found.message) == ("warn", True)


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("NCCL WARN Bootstrap: no socket interface found", "fail", "NCCL_SOCKET_IFNAME"),
        (
            "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-Xy12 (size 9637888), error: No space",
            "fail",
            "--shm-size",
        ),
        ("NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out", "fail", "NCCL_IB_GID_INDEX"),
        ("ibv_reg_mr_iova2 failed with error Cannot allocate memory", "fail", "LimitMEMLOCK"),
        ('NCCL WARN Missing "iommu=pt" from kernel command line', "warn", "iommu=pt"),
        ("NCCL WARN socketProgress: Connection closed by remote peer node-b<53735>", "warn", "another"),
        ("NCCL WARN something that nobody has seen", "warn", "rank"),
    ],
)
def test_warnings(line: str, status: str, words: str) -> None:
    (found,) = nccl(of(f"{WELL}node-a:7:9 [1] misc/socket.cc:49 {line}\n" * 3 if "WARN" in line else f"{WELL}{line}\n"))
    assert found.status == status
    assert words in f"{found.message} {found.remedy}"
    assert found.count == (3 if "WARN" in line else 1)


UCX = """\
[1750940538.409941] [node-a:81:0]  ucp_context.c:2119 UCX  INFO  Version 1.15.0 (loaded from /opt/ucx/libucp.so.0)
[1750940543.886091] [node-a:81:a]  ucp_worker.c:1855 UCX  INFO    0x30 intra-node cfg#5 tag(sysv/memory cuda_ipc/cuda)
[1750940544.312285] [node-a:81:0]  ucp_worker.c:1855 UCX  INFO    0x30 inter-node cfg#6 tag(rc_mlx5/mlx5_0:1)
"""
_LIMIT = (
    "RDMA transports are disabled because max locked memory limit (64 kbytes) is too low. Please set max locked memory"
)


def test_what_is_read_of_ucx() -> None:
    log = ucx_log.said(UCX)
    assert (log.version, log.hosts) == ("1.15.0", ("node-a",))
    assert log.intra == ("sysv/memory", "cuda_ipc/cuda")
    assert log.inter == ("rc_mlx5/mlx5_0:1",)
    (found,) = told("lib.ucx-log", of(UCX))
    assert (found.status, "UCX 1.15.0" in found.message) == ("ok", True)
    assert statuses("lib.ucx-log", variant(HGX)) == {"ucx": "skip"}


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (f"UCX  WARN  {_LIMIT}", "fail"),
        ("UCX  WARN  network device 'mlx5_9:1' is not available, please use one or more of: 'eth0'(tcp)", "warn"),
        ("UCX  ERROR no usable transports/devices (asked ib on network:all)", "fail"),
        ("UCX  ERROR Connection reset by remote peer", "warn"),
    ],
)
def test_complaints_of_ucx(line: str, status: str) -> None:
    (found,) = told("lib.ucx-log", of(f"{UCX}{line}\n"))
    assert found.status == status
    assert found.remedy


def test_ucx_that_goes_by_tcp_past_its_adapters() -> None:
    tcp = UCX.replace("rc_mlx5/mlx5_0:1", "tcp/eth0")
    assert statuses("lib.ucx-log", joined(HGX, tcp)) == {"ucx": "warn"}
    assert statuses("lib.ucx-log", joined("none-cpu-server", tcp)) == {"ucx": "ok"}


@pytest.mark.parametrize("text", ["NCCL is a library\n", "UCX is another\n", "NET/working is fun\n", "Channel 4\n"])
def test_prose_is_no_log(text: str) -> None:
    assert not forms.recognise(text)


@given(st.text(max_size=300))
def test_no_text_breaks_the_readers(text: str) -> None:
    for module in (nccl_log, ucx_log):
        for whole in (text, f"{WELL}{text}", f"{UCX}{text}"):
            module.recognises(whole)
            module.own(whole)
            module.said(whole)


_NETWORKS = {
    "4v100-ib-no-gdr-nccl247-trunc.log": ("IB", "2.4.7"),
    "gke-a4-gib-cited.log": ("gIB", None),
    "h100-2node-roce-ofi-refused-trunc.log": ("IB", "2.27.5"),
    "k8s-4nodes-1gpu-socket-trunc.log": ("Socket", None),
    "nvls-sharp-no-prefix-trunc.log": ("IBext_v8", "2.24.3"),
    "plugin-glibc-mismatch-socket.log": ("Socket", None),
    "socket-8hosts-nccl247-trunc.log": ("Socket", "2.4.7"),
    "socket-no-ib-device-failing-trunc.log": ("Socket", None),
}
"""By capture, the network and the version that its manifest states."""


@pytest.mark.skipif(captures.CORPUS is None, reason="RAXL_CORPUS names no corpus")
@pytest.mark.parametrize("name", _NETWORKS)
def test_captured_logs(name: str) -> None:
    assert captures.CORPUS is not None
    text = (captures.CORPUS / "nccl-log" / name).read_text()
    log = nccl_log.said(text)
    assert (log.network, log.version) == _NETWORKS[name]
    assert nccl_log.said(nccl_log.own(text)) == log, "nothing that counts is left out"
