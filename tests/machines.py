"""Machines of the project's own making: small sysfs trees with neutral names.

Their nature is synthetic. Each is a recording as raxl makes one: a path that the machine lacks is `not-present`.
"""

from __future__ import annotations

from collections.abc import Callable
from xml.sax.saxutils import escape

from raxl import __version__
from raxl.host import Answer, CommandOutput, Question
from raxl.host.archive import Entry
from raxl.host.record import Recording
from raxl.intake.tree import ArchiveTree, TreeRecording

ABSENT = Answer(None, "not-present", "")
PCI = "/sys/bus/pci/devices"


class Machine:
    """A machine under construction."""

    def __init__(self, name: str, *, numa: int = 1, guest: bool = False) -> None:
        self.name = name
        self.files: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.answers: dict[Question, Answer] = {}
        self.file("/proc/sys/kernel/osrelease", "6.8.0-60-generic")
        self.file("/proc/sys/kernel/hostname", name)
        self.file("/proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000001")
        self.file("/etc/os-release", 'PRETTY_NAME="Ubuntu 24.04 LTS"')
        self.file("/proc/self/cgroup", "0::/user.slice")
        flags = "fpu lm hypervisor " if guest else "fpu lm "
        self.file(
            "/proc/cpuinfo", f"vendor_id : GenuineIntel\nmodel name : Intel(R) Xeon(R) Platinum 8480C\nflags : {flags}"
        )
        for node in range(numa):
            self.numa_node(node, cpus=f"{8 * node}-{8 * node + 7}", gibibytes=256, of=numa)
        for cpu in range(8 * numa):
            folder = f"/sys/devices/system/cpu/cpu{cpu}/topology"
            self.file(f"{folder}/physical_package_id", str(cpu // 8))
            self.file(f"{folder}/thread_siblings", f"{1 << (cpu - cpu % 2) | 1 << (cpu - cpu % 2 + 1):x}")
        self.file("/sys/devices/system/cpu/online", f"0-{8 * numa - 1}")
        self.answer("process", "uname", {"system": "Linux", "release": "6.8.0-60-generic", "machine": "x86_64"})
        self.answer("process", "environment", {})
        self.answer("process", "limits", {"memlock": [-1, -1], "nofile": [1024, 4096], "stack": [8388608, -1]})

    def file(self, path: str, text: str) -> None:
        self.files[path] = text + "\n"

    def answer(self, kind: str, subject: str, value: object) -> None:
        self.answers[Question(kind, subject)] = Answer(value)

    def refuse(self, kind: str, subject: str, reason: str, message: str = "") -> None:
        self.answers[Question(kind, subject)] = Answer(None, reason, message)

    def numa_node(self, node: int, *, cpus: str, gibibytes: int, of: int) -> None:
        folder = f"/sys/devices/system/node/node{node}"
        self.file(f"{folder}/cpulist", cpus)
        self.file(f"{folder}/meminfo", f"Node {node} MemTotal: {gibibytes << 20} kB")
        self.file(f"{folder}/distance", " ".join("10" if other == node else "21" for other in range(of)))

    def function(
        self,
        path: str,
        identity: str,
        class_id: str,
        *,
        numa: int = 0,
        gts: float = 32.0,
        lanes: int = 16,
        driver: str = "",
    ) -> str:
        """A PCI function at its sysfs path (`pci0000:16/0000:16:00.0/…`); returns its address."""
        address = path.rsplit("/", 1)[-1]
        folder = f"/sys/devices/{path}"
        vendor, device = identity.split(":")
        self.links[f"{PCI}/{address}"] = folder
        for name, text in {
            "class": f"0x{class_id}",
            "vendor": f"0x{vendor}",
            "device": f"0x{device}",
            "numa_node": str(numa),
            "local_cpulist": f"{8 * numa}-{8 * numa + 7}" if numa >= 0 else "",
            "current_link_speed": f"{gts} GT/s PCIe",
            "current_link_width": str(lanes),
            "max_link_speed": f"{gts} GT/s PCIe",
            "max_link_width": str(lanes),
        }.items():
            self.file(f"{folder}/{name}", text)
        if driver:
            self.file(f"/sys/bus/pci/drivers/{driver}/bind", "")
            self.links[f"{folder}/driver"] = f"/sys/bus/pci/drivers/{driver}"
        return address

    def bridges(self, root: str, *buses: str, numa: int = 0, identity: str = "1000:c030") -> str:
        """A way down: the host bridge's name and the bridges beneath it, root port first; returns the path."""
        path = f"pci0000:{root}"
        for bus in buses:
            path = f"{path}/0000:{bus}"
            self.function(path, identity, "060400", numa=numa)
        return path

    def rdma(
        self, function: str, name: str, *, gigabits: int = 400, layer: str = "InfiniBand", state: str = "4: ACTIVE"
    ) -> None:
        """An RDMA device with one port on a function (its sysfs path)."""
        folder = f"/sys/devices/{function}/infiniband/{name}"
        self.links[f"/sys/class/infiniband/{name}"] = folder
        self.links[f"{folder}/device"] = f"/sys/devices/{function}"
        self.file(f"{folder}/hca_type", "MT4129")
        for file, text in {
            "state": state,
            "phys_state": "5: LinkUp",
            "rate": f"{gigabits} Gb/sec (4X NDR)",
            "link_layer": layer,
        }.items():
            self.file(f"{folder}/ports/1/{file}", text)

    def netdev(self, function: str, name: str, *, megabits: int = 25000, state: str = "up") -> None:
        """A network device on a function (its sysfs path)."""
        folder = f"/sys/devices/{function}/net/{name}"
        self.links[f"/sys/class/net/{name}"] = folder
        self.links[f"{folder}/device"] = f"/sys/devices/{function}"
        for file, text in {
            "speed": str(megabits),
            "operstate": state,
            "type": "1",
            "dev_port": "0",
            "dev_id": "0x0",
        }.items():
            self.file(f"{folder}/{file}", text)

    def command(self, arguments: str, output: str) -> None:
        self.answer("command", arguments, CommandOutput(0, output, ""))

    def recording(self) -> Recording:
        entries = [Entry(path.strip("/"), "file", text.encode()) for path, text in self.files.items()]
        entries += [Entry(path.strip("/"), "link", target=target) for path, target in self.links.items()]
        whole = _Tree(ArchiveTree(entries, ""), name=self.name, source="local", created="2026-01-01T00:00:00Z")
        whole.answers.update(self.answers)
        whole.recorded_by, whole.nature, whole.unasked = __version__, "synthetic", ABSENT
        return whole


class _Tree(TreeRecording):
    """A tree that is the whole machine: what it lacks is absent."""

    def _look(self, question: Question) -> Answer | None:
        found = super()._look(question)
        return ABSENT if found is not None and found.reason == "not-asked" else found


def gpu_xml(address: str, number: int, product: str, mebibytes: int, **fields: str) -> str:
    """One `gpu` element as `nvidia-smi -q -x` prints it; `fields` replace an element's text."""
    text = {
        "product_name": product,
        "product_architecture": "Hopper",
        "uuid": f"GPU-00000000-0000-4000-8000-{number:012d}",
        "serial": f"16500000000{number:02d}",
        **fields,
    }
    inner = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in text.items())
    total = fields.get("total", f"{mebibytes} MiB")
    return f'<gpu id="0000{address.upper()}">{inner}<fb_memory_usage><total>{total}</total></fb_memory_usage></gpu>'


def with_fabric(gpu: str, cluster: str, clique: int) -> str:
    """A `gpu` element that belongs to an NVLink fabric; a cluster of zeros is what one HGX machine prints."""
    fabric = f"<state>Completed</state><cliqueId>{clique}</cliqueId><clusterUuid>{cluster}</clusterUuid>"
    return gpu.replace("</gpu>", f"<fabric>{fabric}</fabric></gpu>")


def log_xml(gpus: list[str], attached: int | None = None) -> str:
    count = len(gpus) if attached is None else attached
    versions = "<driver_version>570.133.20</driver_version><cuda_version>12.8</cuda_version>"
    head = f"{versions}<attached_gpus>{count}</attached_gpus>"
    return f'<?xml version="1.0" ?><nvidia_smi_log>{head}{"".join(gpus)}</nvidia_smi_log>'


def matrix(gpus: int, cell: Callable[[int, int], str], numa: Callable[[int], int]) -> str:
    """`nvidia-smi topo -m` of GPUs alone."""
    lines = ["\t".join(["", *(f"GPU{n}" for n in range(gpus)), "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for a in range(gpus):
        cells = [" X " if a == b else cell(a, b) for b in range(gpus)]
        lines.append("\t".join([f"GPU{a}", *cells, f"{8 * numa(a)}-{8 * numa(a) + 7}", str(numa(a)), "", "N/A"]))
    return "\n".join([*lines, ""])


def _hgx(name: str, lost: int | None = None) -> Machine:
    machine = Machine(name, numa=2)
    gpus = []
    for number in range(8):
        numa, bus = number // 4, 0x16 + 0x10 * number
        up = machine.bridges(f"{bus:02x}", f"{bus:02x}:01.0", f"{bus + 1:02x}:00.0", numa=numa)
        for port, kind in enumerate(("gpu", "nic")):
            down = f"{up}/0000:{bus + 2:02x}:{port:02x}.0"
            machine.function(down, "1000:c030", "060400", numa=numa)
            path = f"{down}/0000:{bus + 3 + port:02x}:00.0"
            if kind == "gpu":
                gpus.append(machine.function(path, "10de:2330", "030200", numa=numa, driver="nvidia"))
            else:
                machine.function(path, "15b3:1021", "020700", numa=numa, driver="mlx5_core")
                machine.rdma(path, f"mlx5_{number}")
    port = machine.bridges("0a", "0a:01.0", numa=0)
    machine.function(f"{port}/0000:0b:00.0", "15b3:101d", "020000", driver="mlx5_core", gts=16.0, lanes=8)
    machine.rdma(f"{port}/0000:0b:00.0", "mlx5_8", gigabits=100, layer="Ethernet")
    machine.netdev(f"{port}/0000:0b:00.0", "eno1", megabits=100000)
    up = machine.bridges("05", "05:01.0", "06:00.0")
    for number in range(4):
        down = f"{up}/0000:07:{number:02x}.0"
        machine.function(down, "1000:c030", "060400")
        machine.function(f"{down}/0000:{0xE0 + number:02x}:00.0", "10de:22a3", "068000", driver="nvidia-nvswitch")
    machine.file("/sys/module/nvidia/version", "570.133.20")
    answers = [
        with_fabric(gpu_xml(address, n, "NVIDIA H100 80GB HBM3", 81559), "00000000-0000-0000-0000-000000000000", 0)
        for n, address in enumerate(gpus)
        if n != lost
    ]
    machine.command("nvidia-smi -q -x", log_xml(answers))
    machine.command("nvidia-smi topo -m", matrix(len(answers), lambda a, b: "NV18", lambda n: n // 4))
    return machine


def hgx_h100() -> Machine:
    """Two sockets, a switch for each GPU with its own NIC, four NVSwitches."""
    return _hgx("hgx-h100")


def hgx_h100_lost() -> Machine:
    """The same with a GPU on the bus that nvidia-smi does not list."""
    return _hgx("hgx-h100-lost", lost=6)


def gb200() -> Machine:
    """A GB200 tray: a PCI domain for each root port, and each GPU's memory a NUMA node without CPUs."""
    machine = Machine("gb200", numa=2)
    answers = []
    for number in range(4):
        numa, domain = number // 2, 8 + number
        path = f"pci{domain:04x}:00/{domain:04x}:00:00.0/{domain:04x}:01:00.0"
        machine.function(path.rsplit("/", 1)[0], "10de:22b1", "060400", numa=numa)
        address = machine.function(path, "10de:2941", "030200", numa=numa, driver="nvidia")
        nic = f"pci{domain + 16:04x}:00/{domain + 16:04x}:00:00.0/{domain + 16:04x}:01:00.0"
        machine.function(nic.rsplit("/", 1)[0], "10de:22b1", "060400", numa=numa)
        machine.function(nic, "15b3:1021", "020700", numa=numa, driver="mlx5_core")
        machine.rdma(nic, f"mlx5_{number}")
        machine.numa_node(2 + 8 * number, cpus="", gibibytes=184, of=2)
        machine.file(
            f"/proc/driver/nvidia/gpus/{address}/information",
            f"Model: NVIDIA GB200\nGPU UUID: GPU-00000000-0000-4000-8000-{number:012d}",
        )
        machine.file(f"/proc/driver/nvidia/gpus/{address}/numa_status", f"Node: {2 + 8 * number}\nStatus: online")
        gpu = gpu_xml(address, number, "NVIDIA GB200", 189471)
        answers.append(with_fabric(gpu, "7e2c0000-0000-4000-8000-0000000000f1", 3))
    machine.command("nvidia-smi -q -x", log_xml(answers))
    machine.command("nvidia-smi topo -m", matrix(4, lambda a, b: "NV18", lambda n: n // 2))
    return machine


def rtx_pro_cx8() -> Machine:
    """RTX PRO 6000 behind the switch of a ConnectX-8, whose data-direct function is no second NIC; no driver."""
    machine = Machine("rtx-pro-cx8", numa=1)
    for number in range(2):
        bus = 0x20 + 0x20 * number
        up = machine.bridges(f"{bus:02x}", f"{bus:02x}:01.0", f"{bus + 1:02x}:00.0", identity="15b3:197d")
        for place, (identity, class_id) in enumerate(
            (("10de:2bb5", "030000"), ("15b3:1023", "020000"), ("15b3:2100", "020000"))
        ):
            down = f"{up}/0000:{bus + 2:02x}:{place:02x}.0"
            machine.function(down, "15b3:197d", "060400")
            path = f"{down}/0000:{bus + 3 + place:02x}:00.0"
            machine.function(path, identity, class_id)
            if identity == "15b3:1023":
                machine.rdma(path, f"mlx5_{number}", gigabits=800, layer="Ethernet")
        machine.function(f"{up}/0000:{bus + 2:02x}:00.0/0000:{bus + 3:02x}:00.1", "10de:22e8", "040300")
    machine.refuse("command", "nvidia-smi -q -x", "not-installed", "nvidia-smi is in none of the trusted folders")
    machine.refuse("command", "nvidia-smi topo -m", "not-installed", "nvidia-smi is in none of the trusted folders")
    return machine


def mi300x() -> Machine:
    """Eight MI300X: a root port and a NIC each, KFD's topology with a full mesh of XGMI."""
    machine = Machine("mi300x", numa=2)
    nodes = "/sys/class/kfd/kfd/topology/nodes"
    for node in range(2):
        machine.file(f"{nodes}/{node}/properties", "cpu_cores_count 8\nsimd_count 0")
    for number in range(8):
        numa, bus = number // 4, 0x10 + 0x18 * number
        path = machine.bridges(
            f"{bus:02x}",
            f"{bus:02x}:01.0",
            f"{bus + 1:02x}:00.0",
            f"{bus + 2:02x}:00.0",
            numa=numa,
            identity="1002:1500",
        )
        gpu = f"{path}/0000:{bus + 3:02x}:00.0"
        machine.function(gpu, "1002:74a1", "120000", numa=numa, driver="amdgpu")
        for file, text in {
            "product_name": "AMD Instinct MI300X OAM",
            "unique_id": f"{0xABC0 + number:016x}",
            "serial_number": f"69210000{number:04d}",
            "mem_info_vram_total": str(206141652992),
            "current_compute_partition": "SPX",
            "current_memory_partition": "NPS1",
        }.items():
            machine.file(f"/sys/devices/{gpu}/{file}", text)
        nic = f"{machine.bridges(f'{bus + 8:02x}', f'{bus + 8:02x}:01.0', numa=numa)}/0000:{bus + 9:02x}:00.0"
        machine.function(nic, "14e4:1760", "020000", numa=numa, driver="bnxt_en")
        machine.rdma(nic, f"bnxt_re{number}", layer="Ethernet")
        machine.netdev(nic, f"ens{number}f0", megabits=400000)
        folder = f"{nodes}/{number + 2}"
        machine.file(
            f"{folder}/properties",
            f"simd_count 1216\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\n"
            f"location_id {(bus + 3) << 8}\ndomain 0\n"
            f"hive_id 4660\nunique_id {0xABC0 + number}\nnum_xcc 8",
        )
        machine.file(f"{folder}/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 206141652992")
        for other in range(8):
            if other != number:
                ends = f"node_from {number + 2}\nnode_to {other + 2}"
                text = f"type 11\n{ends}\nweight 15\nmin_bandwidth 64000\nmax_bandwidth 64000"
                machine.file(f"{folder}/io_links/{other}/properties", text)
    machine.file("/sys/module/amdgpu/version", "6.12.12")
    return machine


def azure_vm() -> Machine:
    """A guest on Hyper-V: each device in a PCI domain of its own below the VMBus."""
    machine = Machine("azure-vm", numa=2, guest=True)
    machine.file("/sys/class/dmi/id/sys_vendor", "Microsoft Corporation")
    machine.file("/sys/class/dmi/id/product_name", "Virtual Machine")
    answers = []
    for number in range(4):
        domain = 0x0101 + number
        bus = f"LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/MSFT1000:00/{number:08x}-0000-4000-8000-000000000000"
        path = f"{bus}/pci{domain:04x}:00/{domain:04x}:00:00.0"
        address = machine.function(path, "10de:2330", "030200", numa=number // 2, driver="nvidia")
        answers.append(gpu_xml(address, number, "NVIDIA H100 80GB HBM3", 81559))
    machine.command("nvidia-smi -q -x", log_xml(answers))
    machine.command("nvidia-smi topo -m", matrix(4, lambda a, b: "NV18", lambda n: n // 2))
    return machine


def vfio() -> Machine:
    """Two GPUs given to a guest of this machine, on a board whose firmware names no NUMA node."""
    machine = Machine("vfio", numa=2)
    for number in range(2):
        port = machine.bridges(f"{0x40 + number:02x}", f"{0x40 + number:02x}:01.0", numa=-1)
        machine.function(f"{port}/0000:{0x50 + number:02x}:00.0", "10de:26b9", "030200", numa=-1, driver="vfio-pci")
    machine.refuse("command", "nvidia-smi -q -x", "not-installed", "nvidia-smi is in none of the trusted folders")
    machine.refuse("command", "nvidia-smi topo -m", "not-installed", "nvidia-smi is in none of the trusted folders")
    return machine


def bare() -> Machine:
    """No accelerator: a BMC's display, a NIC, and one whose network namespace is another."""
    machine = Machine("bare")
    port = machine.bridges("00", "00:1c.0")
    machine.function(f"{port}/0000:01:00.0", "1a03:2000", "030000")
    for number in range(2):
        nic = f"{machine.bridges('10', f'10:0{number + 1}.0')}/0000:1{number + 1}:00.0"
        machine.function(nic, "8086:1592", "020000", driver="ice")
        if not number:
            machine.netdev(nic, "eth0")
    return machine


def denied() -> Machine:
    """A sandbox that does not let the PCI tree be read."""
    machine = Machine("denied")
    machine.refuse("names", PCI, "not-permitted", "Permission denied")
    return machine


ALL: dict[str, Callable[[], Machine]] = {
    make.__name__.replace("_", "-"): make
    for make in (hgx_h100, hgx_h100_lost, gb200, rtx_pro_cx8, mi300x, azure_vm, vfio, bare, denied)
}
