"""The checks of network devices: the ones that variables name, and the ones that libraries choose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnosing import statuses, told, variant
from raxl.checks import Case, registry
from raxl.checks.variables import nccl_list
from raxl.collect import assemble, facts
from raxl.host import Question
from raxl.host import addresses as kernel_addresses
from raxl.host.redact import Redactor
from raxl.model.cluster import RayNode

HGX = "nvidia-hgx-h100"
ENS6, ENP40 = ["192.0.2.21", 20, "global"], ["198.51.100.5", 20, "global"]
DOCKER, POD = ["172.17.0.1", 16, "global"], ["169.254.170.23", 32, "link"]


def here(**interfaces: list[Any]) -> list[Any]:
    """Network devices with an address each, up."""
    names = ["lo", *(name.replace("_", "-") for name in interfaces)]
    held = [[name.replace("_", "-"), *address] for name, address in interfaces.items()]
    told: list[Any] = [("names /sys/class/net", names)]
    told.append(("process addresses", {"addresses": [["lo", "127.0.0.1", 8, "host"], *held], "default": names[1:2]}))
    told += [f"/sys/class/net/{name}/operstate=up" for name in names]
    return told


def environment(**variables: str) -> tuple[str, Any]:
    return "process environment", variables


PAIN_8 = here(ens6=ENS6, enp40s0=ENP40, docker0=DOCKER)


def test_an_interface_that_was_baked_into_an_image() -> None:
    (found,) = told("net.iface", variant(HGX, *PAIN_8, environment(NCCL_SOCKET_IFNAME="eth0")))
    assert (found.status, found.subject) == ("fail", "NCCL_SOCKET_IFNAME")
    assert "ens6 (192.0.2.21) and enp40s0 (198.51.100.5)" in found.message
    assert "docker0" not in found.message
    assert "where the image or the job sets it" in str(found.remedy)


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("ens", "ok"),  # names are beginnings
        ("=ens", "fail"),  # or whole
        ("=ens6", "ok"),
        ("eth0,enp40s0", "ok"),  # one of a list is enough
        ("^docker,lo", "ok"),
        ("^ens,enp", "fail"),  # what is left is loopback and docker's
        ("^=ens", "ok"),
        ("eth", "fail"),
    ],
)
def test_how_nccl_reads_its_list(value: str, status: str) -> None:
    found = statuses("net.iface", variant(HGX, *PAIN_8, environment(NCCL_SOCKET_IFNAME=value)))
    assert found["NCCL_SOCKET_IFNAME"] == status


def test_the_list_of_nccl_by_itself() -> None:
    assert nccl_list("^=mlx5_1:1,mlx5_2") == (("mlx5_1", "mlx5_2"), True, True)
    assert nccl_list("mlx5_1").takes("mlx5_10")
    assert not nccl_list("=mlx5_1").takes("mlx5_10")


def test_gloo_takes_whole_names_and_ucx_takes_rdma_devices_too() -> None:
    found = statuses(
        "net.iface", variant(HGX, *PAIN_8, environment(GLOO_SOCKET_IFNAME="ens", UCX_NET_DEVICES="mlx5_0:1"))
    )
    assert (found["GLOO_SOCKET_IFNAME"], found["UCX_NET_DEVICES"]) == ("fail", "ok")
    assert (
        statuses("net.iface", variant(HGX, *PAIN_8, environment(UCX_NET_DEVICES="mlx5_77:1")))["UCX_NET_DEVICES"]
        == "fail"
    )
    assert statuses("net.iface", variant(HGX, *PAIN_8, environment(UCX_NET_DEVICES="all")))["UCX_NET_DEVICES"] == "ok"


def test_a_device_without_an_address_and_one_that_reaches_no_other_node() -> None:
    silent = here(ens6=ENS6, pod_id_link0=POD)
    silent[0] = ("names /sys/class/net", ["lo", "ens6", "ens7", "pod-id-link0"])
    (found,) = told("net.iface", variant(HGX, *silent, environment(NCCL_SOCKET_IFNAME="ens7")))
    assert (found.status, "without an address" in found.message) == ("fail", True)
    (local,) = told("net.iface", variant(HGX, *silent, environment(NCCL_SOCKET_IFNAME="pod")))
    assert local.status == "warn"


def test_candidates_that_are_link_local_or_lead_to_containers() -> None:
    (found,) = told("net.iface", variant(HGX, *here(enp73s0=ENS6, pod_id_link0=POD)))
    assert (found.status, found.subject) == ("warn", "node")
    assert "pod-id-link0 too, whose address is link-local" in found.message
    assert "NCCL_SOCKET_IFNAME=enp73s0" in str(found.remedy)
    bridge = [*here(ens6=ENS6, mynet=ENP40), "/sys/class/net/mynet/uevent=DEVTYPE=bridge"]
    assert statuses("net.iface", variant(HGX, *bridge)) == {"node": "warn"}
    assert statuses("net.iface", variant(HGX, *here(ens6=ENS6, docker0=DOCKER))) == {"node": "ok"}, "NCCL leaves it out"
    down = [*here(ens6=ENS6, cni0=ENP40), "/sys/class/net/cni0/operstate=down"]
    assert statuses("net.iface", variant(HGX, *down)) == {"node": "ok"}
    assert statuses("net.iface", variant(HGX, *here(eth0=ENS6))) == {"node": "ok"}, "a pod's only device"
    assert statuses("net.iface", variant("none-cpu-server", *here(eth0=ENS6, cni0=POD))) == {"node": "ok"}


def test_addresses_that_were_not_read() -> None:
    assert statuses("net.iface", variant(HGX)) == {"node": "unknown"}
    assert statuses("net.iface", variant(HGX, "process addresses !denied")) == {"node": "unknown"}


@pytest.mark.parametrize(("address", "status"), [("192.0.2.21", "ok"), ("192.0.2.99", "fail")])
def test_the_address_that_ray_knows_the_node_by(address: str, status: str) -> None:
    recording = variant(HGX, *PAIN_8)
    node = replace(assemble.inventory([recording]).nodes[0], source="ray:0abc")
    case = Case(node, facts.of(recording, node), ray=RayNode("0abc", "alive", address=address))
    (check,) = [one for one in registry.checks() if one.id == "net.iface"]
    assert (status == "fail") == any(one.status == "fail" for one in check.run(case))


def test_the_kernel_names_this_machines_addresses() -> None:
    told = kernel_addresses.addresses()
    assert ["lo", "127.0.0.1", 8, "host"] in told["addresses"]
    assert set(told["default"]) <= {name for name, *_ in told["addresses"]}


def test_the_addresses_of_devices_that_are_called_by_their_mac_are_redacted() -> None:
    recording = variant(HGX, *here(enx0200c0ffee01=ENS6))
    redacted = Redactor().recording(recording)
    text = str(redacted.answers[Question("process", "addresses")])
    assert "0200c0ffee01" not in text
    assert "192.0.2.21" not in text
    assert statuses("net.iface", redacted) == statuses("net.iface", recording)
