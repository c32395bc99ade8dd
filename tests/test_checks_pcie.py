"""The checks of PCI Express: presence, links, errors, and what keeps peers from each other."""

from __future__ import annotations

import pytest

import recordings
from diagnosing import findings, statuses, told, variant
from raxl.collect import inputs, machines
from raxl.host.record import Recording

SYSFS = "/sys/bus/pci/devices"
GPU, DOWN, UP, ROOT = "0000:bb:00.0", "0000:b9:01.0", "0000:b8:00.0", "0000:b7:01.0"
"""nvidia:6 of the recording nvidia-hgx-h100, and the bridges above it."""
ALIVE = "de10302300000000" + "00" * 56
GPUS = tuple(f"0000:{bus}:00.0" for bus in ("19", "3b", "4c", "5d", "9b", "ab", "bb", "cb"))
BRIDGES = tuple(f"0000:{up}:00.0" for up in ("16", "38", "49", "5a", "98", "a8", "b8", "c8"))


def link(address: str, **files: object) -> tuple[str, ...]:
    """Changes of a function's link: `link(GPU, current_link_width=8)`."""
    return tuple(f"{SYSFS}/{address}/{name}={value}" for name, value in files.items())


def hgx(*changes: object) -> Recording:
    """Eight GPUs below switches whose uplinks say what they do, as a kernel's do."""
    uplinks = [one for up in BRIDGES for one in link(up, current_link_speed="32.0 GT/s PCIe", current_link_width=16)]
    return variant("nvidia-hgx-h100", *uplinks, *changes)  # type: ignore[arg-type]


def given(*texts: str) -> Recording:
    """One machine of pasted texts."""
    (one,) = machines.together(
        [recording for text in texts for recording in inputs._from_bytes(text.encode(), "x")], "x"
    )
    return one


def test_all_lanes() -> None:
    (found,) = told("pcie.link-width", hgx())
    assert (found.status, found.subject) == ("ok", "node")
    assert "25 PCIe links" in found.message  # 8 GPUs, 8 adapters, 8 uplinks, the adapter of the board


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (link(GPU, current_link_width=8), {"nvidia:6": "fail", "node": "ok"}),
        (link(UP, current_link_width=8), {UP: "fail", "node": "ok"}),
        # a narrower slot: the port above can have no more
        ((*link(GPU, current_link_width=8), *link(DOWN, max_link_width=8)), {"node": "ok"}),
        (link(GPU, current_link_width=63), {"nvidia:6": "unknown", "node": "ok"}),
        ((f"{SYSFS}/{GPU}/current_link_width !denied",), {"nvidia:6": "unknown", "node": "ok"}),
        ((f"{SYSFS}/{GPU}/current_link_width !absent",), {"nvidia:6": "unknown", "node": "ok"}),
    ],
)
def test_width(changes: tuple[str, ...], expected: dict[str, str]) -> None:
    assert statuses("pcie.link-width", hgx(*changes)) == expected


def test_a_narrow_uplink_names_the_devices_below_it() -> None:
    found = told("pcie.link-width", hgx(*link(UP, current_link_width=8)))[0]
    assert "nvidia:6" in found.message
    assert "mlx5_6" in found.message
    assert "x8 of x16" in found.message
    assert UP in (found.remedy or "")


def test_devices_that_are_all_alike_may_be_wired_so() -> None:
    """Two lanes of every GPU of a board: bifurcation, or the board."""
    changes = [one for address in GPUS for one in link(address, current_link_width=8)]
    found = statuses("pcie.link-width", hgx(*changes))
    assert {found[f"nvidia:{n}"] for n in range(8)} == {"warn"}


def test_the_true_link_of_an_amd_card_is_one_hop_further_up() -> None:
    upstream = "0000:20:02.0"
    uplinks = [one for bus in ("20", "40", "a0", "c0") for one in link(f"0000:{bus}:02.0", current_link_width=16)]
    assert statuses("pcie.link-width", variant("amd-mi210", *uplinks)) == {"node": "ok"}
    narrow = variant("amd-mi210", *uplinks, *link(upstream, current_link_width=4))
    found = told("pcie.link-width", narrow)
    assert [(one.subject, one.status) for one in found] == [("amd:0", "fail"), ("node", "ok")]
    assert upstream in found[0].message


def test_a_boards_own_ethernet_may_be_narrow() -> None:
    slot = "0000:c0:03.1"
    narrow = variant("nvidia-l40s", *link("0000:c2:00.0", current_link_width=4), *link(slot, max_link_width=8))
    found = told("pcie.link-width", narrow)
    assert {one.status for one in found} == {"ok"}
    assert "x4 of x8" in found[0].message


def test_links_of_a_virtual_machine() -> None:
    assert statuses("pcie.link-width", variant("nvidia-azure-nd-h100"))["node"] in ("ok", "skip")
    assert not {"warn", "fail", "unknown"} & set(
        statuses("pcie.link-width", variant("neuron-trn2-ultraserver")).values()
    )
    narrow = variant("neuron-trn2-ultraserver", *link("0000:51:00.0", current_link_width=4))
    assert statuses("pcie.link-width", narrow)["neuron:5"] == "warn"
    assert statuses("pcie.link-speed", narrow) == {"node": "skip"}


def test_nothing_to_check() -> None:
    nothing = given("00:00.0 Host bridge: Intel Corporation Device 09a2\n")
    for check in ("pcie.link-width", "pcie.link-speed", "pcie.config-dead", "pcie.aer", "pcie.present", "pcie.acs"):
        assert statuses(check, nothing) == {"node": "skip"}, check
    assert statuses("pcie.link-width", variant("none-pci-denied")) == {"node": "unknown"}


def test_an_idle_link_saves_power_and_a_busy_one_does_not() -> None:
    slow = ("amd-mi210", *link("0000:23:00.0", current_link_speed="2.5 GT/s PCIe"))
    uplinks = [
        one for bus in ("20", "40", "a0", "c0") for one in link(f"0000:{bus}:02.0", current_link_speed="16.0 GT/s")
    ]
    busy = f"{SYSFS}/0000:23:00.0/gpu_busy_percent="
    assert statuses("pcie.link-speed", variant(*slow, *uplinks, f"{busy}0")) == {"node": "ok"}
    found = told("pcie.link-speed", variant(*slow, *uplinks, f"{busy}97"))
    assert (found[0].subject, found[0].status) == ("amd:0", "fail")
    assert "2.5 of 16 GT/s while it is 97 % busy" in found[0].message
    # nobody tells the load: neither well nor a fault
    assert statuses("pcie.link-speed", variant(*slow, *uplinks)) == {"amd:0": "unknown", "node": "ok"}


def test_a_busy_gpu_whose_uplink_is_slow() -> None:
    uplinks = [
        one for bus in ("20", "40", "a0", "c0") for one in link(f"0000:{bus}:02.0", current_link_speed="16.0 GT/s")
    ]
    changes = (
        *uplinks,
        *link("0000:20:02.0", current_link_speed="2.5 GT/s"),
        f"{SYSFS}/0000:23:00.0/gpu_busy_percent=80",
    )
    assert statuses("pcie.link-speed", variant("amd-mi210", *changes))["amd:0"] == "fail"


def test_an_adapter_that_is_slower_than_its_peers() -> None:
    slow = hgx(*link("0000:18:00.0", current_link_speed="8.0 GT/s PCIe"))
    assert statuses("pcie.link-speed", slow)["mlx5_0"] == "warn"


def test_config_dead() -> None:
    config = f"data {SYSFS}/{GPU}/config"
    assert statuses("pcie.config-dead", hgx((config, ALIVE)))["node"] == "ok"
    found = told("pcie.config-dead", hgx((config, "ff" * 64)))[0]
    assert (found.subject, found.status, found.remedy_class) == ("nvidia:6", "fail", "reboot")
    assert GPU in found.message


def test_the_ids_of_a_virtual_function_read_ones() -> None:
    """So the specification of SR-IOV has it; the rest of its header does not."""
    virtual = "ffffffff" + "0001100000000002" + "00" * 52
    assert "fail" not in statuses("pcie.config-dead", hgx((f"data {SYSFS}/0000:18:00.0/config", virtual))).values()


def test_a_sleeping_device_is_not_read() -> None:
    """In D3cold it reads all ones, and is well."""
    asleep = hgx(f"{SYSFS}/{GPU}/power/runtime_status=suspended", (f"data {SYSFS}/{GPU}/config", "ff" * 64))
    found = statuses("pcie.config-dead", asleep)
    assert found["nvidia:6"] == "skip"
    assert "fail" not in found.values()


def test_a_dead_bridge_names_what_hangs_below() -> None:
    dead = [(f"data {SYSFS}/{address}/config", "ff" * 64) for address in (UP, DOWN, GPU)]
    (found,) = [one for one in told("pcie.config-dead", hgx(*dead)) if one.status == "fail"]
    assert found.subject == UP
    assert "nvidia:6" in found.message


def test_config_that_cannot_be_read() -> None:
    assert statuses("pcie.config-dead", hgx(f"data {SYSFS}/{GPU}/config !denied"))["nvidia:6"] == "unknown"


def test_lspci_shows_a_dead_device() -> None:
    text = (
        "b7:01.0 PCI bridge [0604]: Intel Corporation Device [8086:352a]\n"
        "\tBus: primary=b7, secondary=bb, subordinate=bb\n\n"
        "bb:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev ff) (prog-if ff)\n"
        "\t!!! Unknown header type 7f\n\n"
    )
    found = told("pcie.config-dead", given(text))[0]
    assert found.status == "fail"
    assert GPU in found.message


def test_present() -> None:
    (found,) = told("pcie.present", hgx())
    assert found.status == "ok"
    assert found.message.startswith("8 accelerators")
    missing = told("pcie.present", variant("nvidia-hgx-h100-gpu-missing"))
    assert [one.status for one in missing] == ["fail", "ok"]
    assert GPU in missing[0].message
    assert "nvidia-smi" in missing[0].message


def test_a_device_with_another_driver_or_none() -> None:
    assert sorted(statuses("pcie.present", variant("nvidia-vfio")).values()) == ["ok", "warn", "warn"]
    assert set(statuses("pcie.present", variant("amd-driverless")).values()) == {"warn"}
    # the own driver of a TPU
    assert statuses("pcie.present", variant("tpu-v6e-8")) == {"node": "ok"}
    assert statuses("pcie.present", hgx(f"link {SYSFS}/{GPU}/driver !denied"))["nvidia:6"] == "unknown"


def errors(address: str, fatal: int = 0, correctable: int = 0) -> tuple[str, ...]:
    return (
        f"{SYSFS}/{address}/aer_dev_fatal=Undefined 0\nDLP {fatal}\nTOTAL_ERR_FATAL {fatal}",
        f"{SYSFS}/{address}/aer_dev_nonfatal=Undefined 0\nTOTAL_ERR_NONFATAL 0",
        f"{SYSFS}/{address}/aer_dev_correctable=RxErr {correctable}\nTOTAL_ERR_COR {correctable}",
    )


def test_aer() -> None:
    assert statuses("pcie.aer", hgx()) == {"node": "skip"}  # firmware owns AER
    none = [one for address in GPUS for one in errors(address)]
    noted = told("pcie.aer", hgx(*none, *errors(GPU, correctable=40)))
    assert noted[0].status == "ok"
    assert "nvidia:6 40 correctable" in noted[0].message
    found = told("pcie.aer", hgx(*none, *errors(GPU, fatal=2)))[0]
    assert (found.subject, found.status) == ("nvidia:6", "fail")
    assert "2 DLP" in found.message


def test_aer_that_cannot_be_read() -> None:
    """Its peers have the counters, so that it has them too."""
    peer = errors("0000:19:00.0")
    assert statuses("pcie.aer", hgx(*peer, f"{SYSFS}/{GPU}/aer_dev_fatal !denied"))["nvidia:6"] == "unknown"
    assert statuses("pcie.aer", hgx(*peer, f"{SYSFS}/{GPU}/aer_dev_fatal=garbage"))["nvidia:6"] == "unknown"


def lspci_of(status: str) -> str:
    return (
        "bb:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1)\n"
        "\tCapabilities: [100 v2] Advanced Error Reporting\n"
        f"\t\tUESta:\t{status}\n\t\tUEMsk:\tDLP- TLP-\n\t\tUESvrt:\tDLP+ SDES+ TLP- FCP+ MalfTLP+ UnsupReq-\n"
        "\t\tCESta:\tRxErr+ BadTLP-\n\n"
    )


def test_errors_that_lspci_shows() -> None:
    assert statuses("pcie.aer", given(lspci_of("DLP- TLP- MalfTLP- UnsupReq+"))) == {"node": "ok"}
    found = told("pcie.aer", given(lspci_of("DLP- TLP- MalfTLP+ UnsupReq+")))[0]
    assert found.status == "warn"
    assert "MalfTLP" in found.message


def test_replay() -> None:
    replays = f"{SYSFS}/0000:23:00.0/pcie_replay_count="
    others = [f"{SYSFS}/0000:{bus}:00.0/pcie_replay_count=0" for bus in ("43", "a3", "c3")]
    assert "sent no packet again" in told("pcie.replay", variant("amd-mi210", f"{replays}0", *others))[0].message
    found = told("pcie.replay", variant("amd-mi210", f"{replays}912", *others))
    assert [one.status for one in found] == ["ok"]
    assert "amd:0 912" in found[0].message
    assert statuses("pcie.replay", variant("nvidia-driverless"))["node"] == "unknown"
    assert statuses("pcie.replay", variant("tenstorrent-n300")) == {"node": "skip"}
    assert statuses("pcie.replay", variant("none-cpu-server")) == {"node": "skip"}


PHB = """\
00:01.0 PCI bridge [0604]: Intel Corporation Device [8086:a70d] (rev 01) (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), IntMsgNum 0
\t\tLnkCap:\tPort #2, Speed 32GT/s, Width x8, ASPM L0s L1
\t\tLnkSta:\tSpeed 32GT/s, Width x8
\tCapabilities: [220 v1] Access Control Services
\t\tACSCtl:\t{acs}

00:06.0 PCI bridge [0604]: Intel Corporation Device [8086:a74d] (rev 01) (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=02, subordinate=02, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), IntMsgNum 0
\t\tLnkCap:\tPort #5, Speed 32GT/s, Width x8, ASPM L0s L1
\t\tLnkSta:\tSpeed 32GT/s, Width x8
\tCapabilities: [220 v1] Access Control Services
\t\tACSCtl:\t{acs}

01:00.0 VGA compatible controller [0300]: NVIDIA Corporation Device [10de:2bb1] (rev a1) (prog-if 00 [VGA controller])
\tCapabilities: [60] Express (v2) Legacy Endpoint, IntMsgNum 0
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)

02:00.0 VGA compatible controller [0300]: NVIDIA Corporation Device [10de:2bb1] (rev a1) (prog-if 00 [VGA controller])
\tCapabilities: [60] Express (v2) Legacy Endpoint, IntMsgNum 0
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)
"""
ON = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-"
OFF = ON.replace("+", "-")
TOPO = """\
\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tPHB\t0-13\t0\t\tN/A
GPU1\tPHB\t X \t0-13\t0\t\tN/A
"""


def test_two_cards_that_hang_in_the_first_all_reduce() -> None:
    """local-inference-lab/rtx6kpro 15: access control on the ports between two workstation cards."""
    hung = given(PHB.format(acs=ON), TOPO)
    (found,) = [one for one in told("pcie.acs", hung) if one.status == "warn"]
    assert "0000:00:01.0" in found.message
    assert "0000:00:06.0" in found.message
    assert "ReqRedir" in found.evidence[0].value
    assert found.remedy_class == "config"
    assert statuses("pcie.p2p", hung) == {"nvidia:0": "unknown"}
    assert statuses("pcie.acs", given(PHB.format(acs=OFF), TOPO)) == {"node": "ok"}
    # and nothing else is wrong with these cards: eight lanes are all that their slots have, and they idle
    raised = {one.check for one in findings(hung).findings if one.status in ("warn", "fail")}
    assert {one for one in raised if one.startswith("pcie.")} == {"pcie.acs"}


def test_what_the_driver_claims_of_peers() -> None:
    claims = ("library nvml start", 2)
    addresses = [(f"library nvml address {n}", f"00000000:0{n + 1}:00.0") for n in range(2)]
    peers = ("library nvml p2p 0 1", {"read": 0, "write": 0, "nvlink": 5, "atomics": 5, "pci": 0})
    held = variant("nvidia-l40s", claims, *addresses, peers)
    found = told("pcie.p2p", held)[0]
    assert (found.status, found.subject) == ("warn", "nvidia:0")
    assert "0000:00:01.1" in found.message
    denied = ("library nvml p2p 0 1", {"read": 4, "write": 4, "nvlink": 5, "atomics": 5, "pci": 0})
    assert statuses("pcie.p2p", variant("nvidia-l40s", claims, *addresses, denied)) == {"node": "ok"}


def test_access_control_that_is_needed_or_harmless() -> None:
    """A guest is given a device; the IOMMU lets traffic pass; NVLink joins the GPUs."""
    passes = [f"/sys/kernel/iommu_groups/{n}/type=identity" for n in range(4)]
    assert statuses("pcie.acs", variant("nvidia-l40s", *passes)) == {"node": "ok"}
    assert statuses("pcie.acs", variant("nvidia-l40s"))["node"] == "warn"
    handed = ("link /sys/bus/pci/devices/0000:81:00.0/driver", "/sys/bus/pci/drivers/vfio-pci")
    assert statuses("pcie.acs", variant("nvidia-l40s", handed))["node"] == "skip"
    assert statuses("pcie.acs", hgx()) == {"node": "ok"}
    assert statuses("pcie.acs", hgx(f"data {SYSFS}/{DOWN}/config !denied"))[DOWN] == "unknown"
    assert statuses("pcie.acs", variant("nvidia-azure-nd-h100")) == {"node": "skip"}


def test_bars() -> None:
    assert statuses("pcie.bar-size", variant("nvidia-l40s")) == {"node": "ok"}
    small = f"{SYSFS}/0000:02:00.0/resource=0x00000000f0000000 0x00000000ffffffff 0x000000000014220c"
    assert statuses("pcie.bar-size", variant("nvidia-l40s", small))["nvidia:1"] == "warn"


def test_state() -> None:
    assert statuses("accelerator.state", variant("gaudi-hls2")) == {"node": "ok"}
    resets = statuses("accelerator.state", variant("gaudi-in-reset"))
    assert "warn" in resets.values()
    assert "fail" not in resets.values()
    assert statuses("accelerator.state", variant("none-cpu-server")) == {"node": "skip"}
    nvidia = statuses("accelerator.state", variant("nvidia-hgx-h100-gpu-lost"))
    assert "fail" not in nvidia.values()  # nvidia.lost tells it


@pytest.mark.parametrize("name", recordings.NAMES)
def test_machines_that_are_well_raise_nothing(name: str) -> None:
    """But for those that were written for a fault."""
    raised = {one.check for one in findings(variant(name)).findings if one.status in ("warn", "fail")}
    assert raised & OWN <= FAULTS.get(name, set())


OWN = {
    "pcie.present",
    "pcie.config-dead",
    "accelerator.state",
    "pcie.link-width",
    "pcie.link-speed",
    "pcie.aer",
    "pcie.replay",
    "pcie.acs",
    "pcie.p2p",
    "pcie.bar-size",
}
FAULTS = {
    "amd-driverless": {"pcie.present"},
    "gaudi-in-reset": {"pcie.present", "accelerator.state"},
    "neuron-inf2-no-tool": {"pcie.present"},
    "nvidia-a100-pcie-bridged": {"pcie.link-width"},  # two switches, each with eight lanes of sixteen
    "nvidia-driver-mismatch": {"pcie.acs"},  # as nvidia-l40s
    "nvidia-driverless": {"pcie.present"},
    "nvidia-h100-mig": {"pcie.link-width"},  # eight lanes of sixteen
    "nvidia-hgx-h100-gpu-missing": {"pcie.present"},
    "nvidia-l40s": {"pcie.acs"},  # root ports that redirect, and an IOMMU that translates
    "nvidia-vfio": {"pcie.present"},
}
