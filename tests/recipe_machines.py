"""A machine for each of raxl's recipes: one of `tests/recordings`, or a copy of one with other devices and another
firmware. All are synthetic: written for raxl after the public facts that the recipes name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import recordings
from raxl.host import Answer, Question
from raxl.host.allowed_metadata import AZURE_NEW
from raxl.host.record import Recording

_AZURE_TAG = "7783-7084-3265-9085-8269-3286-77"
_IMEX = "/proc/devices = 508 nvidia-caps-imex-channels\n"
_ALIVE = """
/sys/module/ib_uverbs/initstate = live
? process filesystems =
    {"/dev/shm": {"mount": "/dev/shm", "kind": "tmpfs", "size_bytes": 549755813888, "available_bytes": 549755813888,
                  "inodes": 99999, "inodes_available": 99998, "is_read_only": false}}
? process device_nodes =
    {"/dev/nvidia0": [438, 0, 0, 195, 0, 1], "/dev/nvidiactl": [438, 0, 0, 195, 255, 1],
     "/dev/infiniband/uverbs0": [438, 0, 0, 231, 192, 1]}
"""
"""What every machine here has that a live one has: RDMA's device files, and room in /dev/shm."""


def _joined(gpus: int) -> str:
    """What `nvidia-smi topo -m` prints where it lists no adapters: NVLink between all GPUs."""
    names = [f"GPU{number}" for number in range(gpus)]
    head = "\t".join(["", *names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])
    rows = [
        "\t".join([one, *(" X " if one == other else "NV18" for other in names), "0-47", "0", "N/A"]) for one in names
    ]
    return "$ nvidia-smi topo -m\n    ␛[4m" + head + "␛[0m\n" + "".join(f"    {row}\n" for row in rows)


@dataclass(frozen=True)
class Made:
    """A machine like another one, but for these words of its text."""

    like: str
    swaps: Mapping[str, str] = field(default_factory=dict)
    """By the parent's words, what stands in their place; each stands there."""
    firmware: str | None = None
    """Maker and product."""
    asset_tag: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    """By service and path, what a cloud says."""
    interface: str = "eth0"
    """The network device of its default route; it is added where the parent has none of that name."""
    more: str = ""
    guest: bool = False
    """Whether a hypervisor runs it, where the parent says that none does."""


def recording(recipe: str) -> Recording:
    """The machine that this recipe is for, and no other."""
    machine = MACHINES[recipe]
    return recordings.recording(machine) if isinstance(machine, str) else made(recipe, machine)


def _text(made: Made) -> str:
    text = (recordings.FOLDER / made.like / "machine.txt").read_text()
    for old, new in made.swaps.items():
        assert old in text, f"{made.like} has no {old!r}"
        text = text.replace(old, new)
    head, _, body = text.partition("\n\n")
    firmware = [line for line in head.splitlines() if line.startswith("firmware: ")]
    head = head.replace(firmware[0], f"firmware: {made.firmware}") if made.firmware else head
    head += "\nguest: yes" * made.guest
    tag = f"/sys/class/dmi/id/chassis_asset_tag = {made.asset_tag}\n" if made.asset_tag else ""
    device = f"/sys/devices/virtual/net/lo/mtu = 65536\n{_interface(made.interface, body)}"
    route = {"addresses": [[made.interface, "198.51.100.7", 24, "global"]], "default": [made.interface]}
    return f"{head}\n\n{body}\n{tag}{device}{_ALIVE}? process addresses =\n    {json.dumps(route)}\n{made.more}"


def _interface(name: str, body: str) -> str:
    """A network device that the machine's text does not have."""
    if f"net/{name}\n" in body:
        return ""
    return f"""/sys/devices/pci0000:f0/0000:f0:01.0
    class = 0x020000  vendor = 0x8086  device = 0x1572  numa_node = 0
    driver -> /sys/bus/pci/drivers/i40e
    net/{name}
        speed = 10000  operstate = up  type = 1  dev_port = 0  dev_id = 0x0
"""


def made(recipe: str, machine: Made) -> Recording:
    """The machine as a recording that is called like the recipe."""
    found = recordings.of_text(_text(machine))
    found.name = recipe
    for path, said in machine.metadata.items():
        found.answers[Question("metadata", path)] = Answer(said)
    return found


_ROCE = {
    "class = 0x020700  vendor = 0x15b3": "class = 0x020000  vendor = 0x15b3",
    "type = 32  dev_port": "type = 1  dev_port",
}


def _gids(ndev: str, number: str) -> dict[str, str]:
    """InfiniBand ports made into RoCE ports, with an address at index 3."""
    link = f"link_layer = InfiniBand  gid_attrs/ndevs/0 = {ndev}"
    gid = f"gids/3 = 0000:0000:0000:0000:0000:ffff:c633:640{number}  gid_attrs/types/3 = RoCE v2"
    return {**_ROCE, link: f"link_layer = Ethernet  gid_attrs/ndevs/3 = {ndev}  {gid}"}


def _gpu(old: str, new: str, old_id: str, new_id: str) -> dict[str, str]:
    return {old: new, f"0x{old_id}": f"0x{new_id}", f"{old_id}10DE": f"{new_id.upper()}10DE"}


_H200 = _gpu("NVIDIA H100 80GB HBM3", "NVIDIA H200", "2330", "2335")
_B300 = _gpu("NVIDIA B200", "NVIDIA B300 SXM6 AC", "2901", "3182")
_GB300 = _gpu("NVIDIA GB200", "NVIDIA GB300", "2941", "31c2")
_EFA_B200 = _gpu("NVIDIA H200", "NVIDIA B200", "2335", "2901")
_EFA_B300 = _gpu("NVIDIA H200", "NVIDIA B300 SXM6 AC", "2335", "3182")
_400 = {"rate = 200 Gb/sec (4X HDR)": "rate = 400 Gb/sec (4X NDR)"}
_800 = {"rate = 400 Gb/sec (4X NDR)": "rate = 800 Gb/sec (4X XDR)", "speed = 400000": "speed = 800000"}
_ONE_EFA = {"                2    {b} {f}\n": ""}
_TRAY_EFA = {
    "class = 0x020700  vendor = 0x15b3  device = 0x1021": "class = 0x020000  vendor = 0x1d0f  device = 0xefa4",
    "link_layer = InfiniBand  gid_attrs/ndevs/0 = ibp{domain}": "link_layer = Unknown",
    "/sys/bus/pci/drivers/mlx5_core": "/sys/bus/pci/drivers/efa",
    "infiniband/mlx5_{n}": "infiniband/rdmap{n}s0",
    "net/ibp{domain}": "no_net/ibp{domain}",
}
_HGX_PORTS = """    15 16:00.0/0000:17:00.0/0000:18 0 0
    37 38:00.0/0000:39:00.0/0000:3a 1 0
    48 49:00.0/0000:4a:00.0/0000:4b 2 0
    59 5a:00.0/0000:5b:00.0/0000:5c 3 0
    97 98:00.0/0000:99:00.0/0000:9a 4 1
    a7 a8:00.0/0000:a9:00.0/0000:aa 5 1
    b7 b8:00.0/0000:b9:00.0/0000:ba 6 1
    c7 c8:00.0/0000:c9:00.0/0000:ca 7 1
"""
_B200_PORTS = """    15 16:00.0/0000:17:02.0/0000:1a 0 0
    15 16:00.0/0000:17:03.0/0000:1b 1 0
    48 49:00.0/0000:4a:02.0/0000:4d 2 0
    48 49:00.0/0000:4a:03.0/0000:4e 3 0
    97 98:00.0/0000:99:02.0/0000:9c 4 1
    97 98:00.0/0000:99:03.0/0000:9d 5 1
    b7 b8:00.0/0000:b9:02.0/0000:bc 6 1
    b7 b8:00.0/0000:b9:03.0/0000:bd 7 1
"""


def _second(ports: str, rate: str) -> str:
    """A second port of each adapter: a PCI function and an RDMA device of its own. `ports`: where each is."""
    return f"""for root place n numa
{ports}do
    /sys/devices/pci0000:{{root}}/0000:{{root}}:01.0/0000:{{place}}:00.1
        class = 0x020000  vendor = 0x15b3  device = 0x1021  numa_node = {{numa}}
        driver -> /sys/bus/pci/drivers/mlx5_core
        infiniband/mlx5_1{{n}}
            fw_ver = 28.43.2026  hca_type = MT4129
            ports/1
                state = 4: ACTIVE  phys_state = 5: LinkUp  rate = {rate}  link_layer = Ethernet
                gid_attrs/ndevs/3 = rdma1{{n}}  gid_attrs/types/3 = RoCE v2
                gids/3 = 0000:0000:0000:0000:0000:ffff:c633:641{{n}}
        net/rdma1{{n}}
            speed = 100  operstate = up  type = 1  dev_port = 0  dev_id = 0x0
"""


_200 = {"rate = 400 Gb/sec (4X NDR)": "rate = 200 Gb/sec (4X HDR)", "speed = 400000": "speed = 200000"}
_GVNIC = {
    "class = 0x020700  vendor = 0x15b3  device = 0x1021": "class = 0x020000  vendor = 0x1ae0  device = 0x0042",
    "/sys/bus/pci/drivers/mlx5_core  iommu": "/sys/bus/pci/drivers/gve  iommu",
    "infiniband/mlx5_{n}": "no_rdma/mlx5_{n}",
    "net/ibs{n}": "net/data{n}",
    "type = 32  dev_port": "type = 1  dev_port",
}


def _azure(size: str) -> dict[str, str]:
    return {f"azure {AZURE_NEW}": json.dumps({"compute": {"vmSize": size, "location": "eastus2", "zone": "3"}})}


def _gcp(kind: str) -> dict[str, str]:
    return {"gcp zone": "projects/1/zones/us-central1-a", "gcp machine-type": f"projects/1/machineTypes/{kind}"}


def _oci(shape: str) -> dict[str, str]:
    return {"oci instance/": json.dumps({"shape": shape, "canonicalRegionName": "us-ashburn-1"})}


_MICROSOFT, _GOOGLE, _ORACLE = "Microsoft Corporation, Virtual Machine", "Google, Google Compute Engine", "Oracle, X"
_OCI_TAG = "OracleCloud.com"
_HGX, _B200, _TRAY, _P5EN, _ND = (
    "nvidia-hgx-h100",
    "nvidia-hgx-b200",
    "nvidia-gb200-tray",
    "nvidia-aws-p5en",
    "nvidia-azure-nd-h100",
)
_AMD_ALIVE = """
/proc/sys/kernel/numa_balancing = 0
/proc/cmdline = iommu=pt
/opt/rocm/.info/version = 7.2.4
/sys/module/amdgpu/initstate = live
"""
_MI300, _MI355 = "amd-mi300x-spx", "amd-mi355x"
AMD_GIDS = {
    "gid_attrs/ndevs/0 = ens{n}f0np0": "gid_attrs/ndevs/3 = ens{n}f0np0  gid_attrs/types/3 = RoCE v2"
    "  gids/3 = 0000:0000:0000:0000:0000:ffff:c633:640{n}"
}
_CONNECTX = {
    **AMD_GIDS,
    "vendor = 0x14e4  device = 0x1760": "vendor = 0x15b3  device = 0x1021",
    "/sys/bus/pci/drivers/bnxt_en": "/sys/bus/pci/drivers/mlx5_core",
    "infiniband/bnxt_re{n}": "infiniband/mlx5_{n}",
    "fw_ver = 231.2.63.0  hca_type = BCM57608": "fw_ver = 28.43.2026  hca_type = MT4129",
}
_POLLARA = {
    **AMD_GIDS,
    "vendor = 0x14e4  device = 0x1760": "vendor = 0x1dd8  device = 0x1002",
    "/sys/bus/pci/drivers/bnxt_en": "/sys/bus/pci/drivers/ionic",
    "infiniband/bnxt_re{n}": "infiniband/ionic_{n}",
    "fw_ver = 231.2.63.0  hca_type = BCM57608": "fw_ver = 1.117.5-a-77  hca_type = Pollara",
}
_POLLARA_OCI = {old: new.replace("/3", "/1") for old, new in _POLLARA.items()}
_AZURE_PORTS = {
    **_CONNECTX,
    "class = 0x020000  vendor = 0x14e4  device = 0x1760": "class = 0x020700  vendor = 0x15b3  device = 0x1021",
    "infiniband/bnxt_re{n}": "infiniband/mlx5_ib{n}",
    "link_layer = Ethernet": "link_layer = InfiniBand",
    "operstate = up  type = 1  dev_port": "operstate = up  type = 32  dev_port",
}
del _AZURE_PORTS["vendor = 0x14e4  device = 0x1760"]
_V6E_16 = {
    '"v6e-8", "TPU_TOPOLOGY": "2x4", "TPU_CHIPS_PER_HOST_BOUNDS": "2,4,1"': (
        '"v6e-16", "TPU_TOPOLOGY": "4x4", "TPU_CHIPS_PER_HOST_BOUNDS": "2,2,1"'
    ),
    '"TPU_HOST_BOUNDS": "1,1,1"': '"TPU_HOST_BOUNDS": "2,2,1"',
    "    80 04 27 1 45-89,135-179\n": "",
    "    80 05 26 1 45-89,135-179\n": "",
    "    80 06 19 1 45-89,135-179\n": "",
    "    80 07 18 1 45-89,135-179\n": "",
}
_V5E = {"0x006f": "0x0063", '"v6e-': '"v5litepod-'}
_V5E_16 = {**{old: new.replace("v6e-16", "v5litepod-16") for old, new in _V6E_16.items()}, "0x006f": "0x0063"}
_WHOLE = {"    80 05 20 21 1 56-111,168-223\n": "    80 05 20 21 1 56-111,168-223\n    80 06 22 23 1 56-111,168-223\n"}
_POD = "/proc/self/cgroup = 0::/kubepods.slice/kubepods-pod5e3c2b1a.slice/cri-containerd-0123.scope\n"
_TRN = "neuron-trn2-ultraserver"


def _trn1() -> dict[str, str]:
    """Trainium chips have two cores, which are one logical core each."""
    ids = '"neuroncore_ids": '
    cores = {f"{ids}{list(range(4 * n, 4 * n + 4))}": f"{ids}{[2 * n, 2 * n + 1]}" for n in range(16)}
    server = "node_id_4 = 2  server_id_4 = 5b1f0a7739c2d4e8  server_id_2 = 0000000000000000  ultraserver_mode = 4,1"
    return {
        **cores,
        '"nc_count": 4, "logical_neuroncore_config": 2': '"nc_count": 2, "logical_neuroncore_config": 1',
        "0x7364": "0x7164",
        "arch_type = NCv3  device_name = Trainium2  instance_type = Trn2u": (
            "arch_type = NCv2  device_name = Trainium1  instance_type = Trn1"
        ),
        '"0-63"': '"0-31"',
        f"    {server}\n": "",
    }


def _efa(count: int, rate: str) -> str:
    """EFA devices, a function each of a PCI domain of their own."""
    rows = "\n".join(f"    {n:02x} {n // (count // 2)}" for n in range(count))
    return f"""/sys/module/efa/version = 3.3.1
for slot numa
{rows}
do
    /sys/devices/pci0001:00/0001:00:{{slot}}.0
        class = 0x020000  vendor = 0x1d0f  device = 0xefa2  numa_node = {{numa}}
        driver -> /sys/bus/pci/drivers/efa
        infiniband/rdmap{{slot}}s0
            fw_ver = 0.0.0.0
            ports/1
                state = 4: ACTIVE  phys_state = 5: LinkUp  rate = {rate}  link_layer = Unknown
"""


_GAUDI3 = {
    "0x1020": "0x1060",
    "device_type = GAUDI2": "device_type = GAUDI3",
    "HL-225": "HL-325L",
    "98304 MiB": "131072 MiB",
    "01P0-HL2080A0": "01P0-HL3090A0",
}
_OF_HGX, _OF_B200, _OF_TRAY = _gids("ibs{n}", "{n}"), _gids("ibp{nic}s0", "{k}"), _gids("ibp{domain}", "{n}")


def launched_with_half_its_efa() -> Recording:
    """A p5en whose launch template names one EFA interface for each GPU, where the shape has two."""
    text = (recordings.FOLDER / _P5EN / "machine.txt").read_text()
    for old, new in _ONE_EFA.items():
        assert old in text
        text = text.replace(old, new)
    return recordings.of_text(f"{text}\n{_joined(8)}")


MACHINES: Mapping[str, str | Made] = {
    "cpu-loopback": Made("none-cpu-server", interface="eno1np0", more="? process device_nodes = {}\n"),
    "nvidia-hgx-h100": "nvidia-hgx-h100-healthy",
    "nvidia-hgx-h200": Made(_HGX, _H200),
    "nvidia-hgx-b200": Made(_B200),
    "nvidia-hgx-b300": Made(_B200, {**_B300, **_800}),
    "nvidia-gb200-nvl72": Made(_TRAY, more=_IMEX),
    "nvidia-gb300-nvl72": Made(_TRAY, {**_GB300, **_800}, more=_IMEX),
    "nvidia-rtx-pro-6000": Made("nvidia-rtx-pro-6000-cx8"),
    "aws-p5-efa": Made(_P5EN, interface="ens5"),
    "aws-p6-b200": Made(
        _P5EN,
        {**_EFA_B200, **_400, **_ONE_EFA},
        firmware="Amazon EC2, p6-b200.48xlarge",
        interface="ens5",
        more=_joined(8),
    ),
    "aws-p6-b300": Made(_P5EN, {**_EFA_B300, **_400}, firmware="Amazon EC2, p6-b300.48xlarge", interface="ens5"),
    "aws-p6e-gb200": Made(
        _TRAY,
        _TRAY_EFA,
        firmware="Amazon EC2, p6e-gb200.36xlarge",
        interface="ens5",
        more="/sys/module/efa/version = 3.3.1\n" + _IMEX + _joined(4),
        guest=True,
    ),
    "gcp-a3-megagpu": Made(_HGX, _GVNIC, _GOOGLE, metadata=_gcp("a3-megagpu-8g"), more=_joined(8), guest=True),
    "gcp-a3-ultra": Made(_HGX, {**_H200, **_OF_HGX}, _GOOGLE, metadata=_gcp("a3-ultragpu-8g"), guest=True),
    "gcp-a4": Made(_B200, _OF_B200, _GOOGLE, metadata=_gcp("a4-highgpu-8g"), guest=True),
    "gcp-a4x": Made(_TRAY, _OF_TRAY, _GOOGLE, metadata=_gcp("a4x-highgpu-4g"), more=_IMEX, guest=True),
    "azure-nd-h100-v5": Made(_ND, {}, _MICROSOFT, _AZURE_TAG, _azure("Standard_ND96isr_H100_v5")),
    "azure-nd-h200-v5": Made(_ND, _H200, _MICROSOFT, _AZURE_TAG, _azure("Standard_ND96isr_H200_v5")),
    "azure-nd-gb200-v6": Made(
        _TRAY, {}, _MICROSOFT, _AZURE_TAG, _azure("Standard_ND128isr_NDR_GB200_v6"), more=_IMEX, guest=True
    ),
    "azure-nd-gb300-v6": Made(
        _TRAY, {**_GB300, **_800}, _MICROSOFT, _AZURE_TAG, _azure("Standard_ND128isr_GB300_v6"), more=_IMEX, guest=True
    ),
    "oci-h100": Made(
        _HGX,
        {**_OF_HGX, **_200},
        _ORACLE,
        _OCI_TAG,
        _oci("BM.GPU.H100.8"),
        more=_second(_HGX_PORTS, "200 Gb/sec (4X HDR)"),
    ),
    "oci-h200": Made(_HGX, {**_H200, **_OF_HGX}, _ORACLE, _OCI_TAG, _oci("BM.GPU.H200.8")),
    "oci-b200": Made(_B200, _OF_B200, _ORACLE, _OCI_TAG, _oci("BM.GPU.B200.8")),
    "oci-b300": Made(
        _B200,
        {**_B300, **_OF_B200},
        _ORACLE,
        _OCI_TAG,
        _oci("BM.GPU.B300.8"),
        more=_second(_B200_PORTS, "400 Gb/sec (4X NDR)"),
    ),
    "oci-gb200-nvl72": Made(_TRAY, _OF_TRAY, _ORACLE, _OCI_TAG, _oci("BM.GPU.GB200.4"), more=_IMEX),
    "amd-mi300x-roce": Made(_MI300, AMD_GIDS, more=_AMD_ALIVE),
    "amd-mi355x-roce": Made(_MI355, _CONNECTX, more=_AMD_ALIVE),
    "amd-mi355x-pollara": Made(_MI355, _POLLARA, more=_AMD_ALIVE),
    "oci-mi300x": Made(_MI300, _CONNECTX, _ORACLE, _OCI_TAG, _oci("BM.GPU.MI300X.8"), more=_AMD_ALIVE),
    "oci-mi355x": Made(
        _MI355, _POLLARA_OCI, _ORACLE, _OCI_TAG, _oci("BM.GPU.MI355X.8"), interface="ens9np0", more=_AMD_ALIVE
    ),
    "oci-mi355x-v1": Made(_MI355, _CONNECTX, _ORACLE, _OCI_TAG, _oci("BM.GPU.MI355X-v1.8"), more=_AMD_ALIVE),
    "azure-nd-mi300x-v5": Made(
        _MI300,
        _AZURE_PORTS,
        _MICROSOFT,
        _AZURE_TAG,
        _azure("Standard_ND96isr_MI300X_v5"),
        more=_AMD_ALIVE,
        guest=True,
    ),
    "tpu-v5e": Made("tpu-v6e-8", _V5E, interface="ens8"),
    "tpu-v6e": Made("tpu-v6e-8", interface="ens8"),
    "tpu-v7": Made("tpu-v7x-chip-missing", _WHOLE),
    "kuberay-tpu-v5e": Made("tpu-v6e-8", _V5E_16, more=_POD),
    "kuberay-tpu-v6e": Made("tpu-v6e-8", _V6E_16, interface="ens8", more=_POD),
    "kuberay-tpu-v7": Made("tpu-v7x-chip-missing", _WHOLE, more=_POD),
    "aws-trn1": Made(_TRN, _trn1(), "Amazon EC2, trn1.32xlarge", interface="ens5", more=_efa(8, "100 Gb/sec (4X EDR)")),
    "aws-trn2": Made(
        _TRN, firmware="Amazon EC2, trn2.48xlarge", interface="ens5", more=_efa(16, "200 Gb/sec (4X HDR)")
    ),
    "gaudi-2": Made("gaudi-hls2"),
    "gaudi-3": Made("gaudi-hls2", _GAUDI3),
    "ascend-910b": Made("ascend-910b", interface="enp34s0"),
    "oci-gb300-nvl72": Made(_TRAY, {**_GB300, **_OF_TRAY}, _ORACLE, _OCI_TAG, _oci("BM.GPU.GB300.4"), more=_IMEX),
}
"""By recipe."""
