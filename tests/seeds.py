"""Small recordings of the project's own making, one of each form: what the tests of bad input begin with.

Their nature is synthetic; names, serials and addresses are neutral.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import bus_texts
import cloud_texts
import hl_smi_texts
import kernel_texts
import npu_smi_texts
import npu_texts
import nvidia_smi_texts
import xpu_smi_texts
from raxl.host import Answer, CommandOutput, Question
from raxl.host.archive import Entry
from raxl.host.record import Recording
from raxl.intake.tree import ArchiveTree, TreeRecording

SWITCHED = ("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0", "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0")


def gpu_xml(number: int, **fields: str) -> str:
    """One `gpu` element of `nvidia-smi -q -x`; `fields` replace an element's text."""
    said = {
        "product_name": "NVIDIA H100 80GB HBM3",
        "product_architecture": "Hopper",
        "uuid": f"GPU-1b2c3d4e-5f60-4718-8293-a4b5c6d7e8{number:02x}",
        "serial": f"16513231{number:05d}",
        "total": "81559 MiB",
        "current_link_gen": "5",
        "state": "Completed",
        "process_name": "/usr/bin/python3",
        **fields,
    }
    return f"""<gpu id="00000000:{0x18 + number:02X}:00.0">
    <product_name>{said["product_name"]}</product_name>
    <product_architecture>{said["product_architecture"]}</product_architecture>
    <serial>{said["serial"]}</serial>
    <uuid>{said["uuid"]}</uuid>
    <minor_number>{number}</minor_number>
    <vbios_version>96.00.74.00.01</vbios_version>
    <mig_mode><current_mig>Disabled</current_mig></mig_mode>
    <pci>
        <pci_device_id>233010DE</pci_device_id>
        <pci_sub_system_id>16C110DE</pci_sub_system_id>
        <pci_gpu_link_info>
            <pcie_gen>
                <max_link_gen>5</max_link_gen>
                <current_link_gen>{said["current_link_gen"]}</current_link_gen>
            </pcie_gen>
            <link_widths><max_link_width>16x</max_link_width><current_link_width>16x</current_link_width></link_widths>
        </pci_gpu_link_info>
    </pci>
    <fabric>
        <state>{said["state"]}</state>
        <cliqueId>0</cliqueId>
        <clusterUuid>00000000-0000-0000-0000-000000000000</clusterUuid>
    </fabric>
    <fb_memory_usage><total>{said["total"]}</total></fb_memory_usage>
    <processes><process_info>
        <pid>4711</pid><process_name>{said["process_name"]}</process_name>
    </process_info></processes>
</gpu>
"""


def log_xml(gpus: list[str], attached: object = None) -> str:
    """`nvidia-smi -q -x` with these `gpu` elements."""
    return f"""<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
<driver_version>570.133.20</driver_version>
<cuda_version>12.8</cuda_version>
<attached_gpus>{len(gpus) if attached is None else attached}</attached_gpus>
{"".join(gpus)}</nvidia_smi_log>
"""


def matrix(gpus: int) -> str:
    """`nvidia-smi topo -m` of GPUs joined by NVLink, and a NIC."""
    lines = ["\t".join(["", *(f"GPU{n}" for n in range(gpus)), "NIC0", "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for a in range(gpus):
        cells = [" X " if a == b else "NV18" for b in range(gpus)]
        lines.append("\t".join([f"GPU{a}", *cells, "PXB", "0-31", "0", "", "N/A"]))
    lines.append("\t".join(["NIC0", *["PXB"] * gpus, " X "]))
    return "\n".join([*lines, "", "Legend:", "", "  X    = Self", "", "NIC Legend:", "", "  NIC0: mlx5_0", ""])


HWLOC = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" nodeset="0x00000001" gp_index="1">
    <info name="OSName" value="Linux"/>
    <info name="OSRelease" value="6.8.0-60-generic"/>
    <info name="HostName" value="gpu-node-17.example.org"/>
    <info name="Architecture" value="x86_64"/>
    <object type="Package" os_index="0" cpuset="0x0000000f" gp_index="2">
      <info name="CPUModel" value="Intel(R) Xeon(R) Platinum 8480C"/>
      <object type="NUMANode" os_index="0" cpuset="0x0000000f" nodeset="0x00000001" gp_index="3"
        local_memory="274877906944"/>
      <object type="Core" os_index="0" gp_index="4"><object type="PU" os_index="0" gp_index="5"/></object>
      <object type="Core" os_index="1" gp_index="6"><object type="PU" os_index="1" gp_index="7"/></object>
      <object type="Bridge" gp_index="8" bridge_type="0-1" depth="0" bridge_pci="0000:[15-1f]">
        <object type="PCIDev" gp_index="9" pci_busid="0000:18:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1"
          pci_link_speed="63.015385">
          <object type="OSDev" gp_index="10" name="nvml0" osdev_type="1">
            <info name="GPUVendor" value="NVIDIA Corporation"/>
            <info name="GPUModel" value="NVIDIA H100 80GB HBM3"/>
            <info name="NVIDIASerial" value="1651323100001"/>
            <info name="NVIDIAUUID" value="GPU-1b2c3d4e-5f60-4718-8293-a4b5c6d7e800"/>
          </object>
        </object>
        <object type="PCIDev" gp_index="11" pci_busid="0000:19:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1">
          <object type="OSDev" gp_index="12" name="nvml1" osdev_type="1"/>
        </object>
        <object type="PCIDev" gp_index="13" pci_busid="0000:1a:00.0" pci_type="0207 [15b3:1021] [15b3:0041] 00">
          <object type="OSDev" gp_index="14" name="ib0" osdev_type="2">
            <info name="Address" value="00:00:00:86:fe:80:00:00:00:00:00:00:ec:0d:02:00:00:00:00:01"/>
          </object>
          <object type="OSDev" gp_index="15" name="mlx5_0" osdev_type="3">
            <info name="NodeGUID" value="ec0d:9a03:007f:51a2"/>
            <info name="SysImageGUID" value="ec0d:9a03:007f:51a2"/>
            <info name="Port1State" value="4"/>
            <info name="Port1GID0" value="fe80:0000:0000:0000:ec0d:9a03:007f:51a2"/>
          </object>
        </object>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="1" kind="5" name="NUMALatency" indexing="os">
    <indexes length="2">0 </indexes><u64values length="3">10 </u64values>
  </distances2>
  <distances2hetero nbobjs="2" kind="18" name="NVLinkBandwidth">
    <indexes length="12">OSDev:10 OSDev:12 </indexes>
    <u64values length="28">1000000 450000 450000 1000000 </u64values>
  </distances2hetero>
</topology>
"""

NCCL = """<system version="1">
  <cpu host_hash="0x9a3f0c5517d2be41" numaid="0" affinity="00000000,0000ffff" arch="x86_64" vendor="GenuineIntel">
    <pci busid="0000:16:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="32.0 GT/s PCIe"
      link_width="16">
      <pci busid="0000:18:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe"
        link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:e0:00.0" count="18" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:1a:00.0" class="0x020700" vendor="0x15b3" device="0x1021">
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0xa251f7030d9a0dec" maxconn="131072"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu host_hash="0x9a3f0c5517d2be41" numaid="1" affinity="00000000,ffff0000" arch="x86_64" vendor="GenuineIntel">
    <pci busid="0000:98:00.0" class="0x030200" vendor="0x10de" device="0x2330">
      <gpu dev="1" sm="90" rank="1" gdr="1"><nvlink target="0000:e0:00.0" count="18" tclass="0x068000"/></gpu>
    </pci>
  </cpu>
</system>
"""

AMD_SMI_JSON = """WARNING: AMD GPU device(s) is/are in a low-power state.
{"gpu_data": [
 {"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X", "vendor_id": "0x1002", "subvendor_id": "0x1002",
  "device_id": "0x74a1", "subsystem_id": "0x74a1", "asic_serial": "0xABD13C23A9580558", "oam_id": 2,
  "target_graphics_version": "gfx942"},
  "bus": {"bdf": "0000:05:00.0", "max_pcie_width": 16, "max_pcie_speed": {"value": 32, "unit": "GT/s"}},
  "board": {"product_serial": "692251001124"}, "driver": {"name": "amdgpu", "version": "6.12.12"},
  "vram": {"type": "HBM", "size": {"value": 196592, "unit": "MB"}},
  "partition": {"accelerator_partition": "SPX", "memory_partition": "NPS1", "partition_id": 0},
  "numa": {"node": 0, "affinity": 0}},
 {"gpu": 1, "asic": {"market_name": "AMD Instinct MI300X", "vendor_id": "0x1002", "subvendor_id": "0x1002",
  "device_id": "0x74a1", "subsystem_id": "0x74a1", "asic_serial": "0x77091C467DA33120", "oam_id": 1,
  "target_graphics_version": "gfx942"},
  "bus": {"bdf": "0000:26:00.0", "max_pcie_width": 16, "max_pcie_speed": {"value": 32, "unit": "GT/s"}},
  "board": {"product_serial": "692251001125"}, "driver": {"name": "amdgpu", "version": "6.12.12"},
  "vram": {"type": "HBM", "size": {"value": 196592, "unit": "MB"}},
  "partition": {"accelerator_partition": "SPX", "memory_partition": "NPS1", "partition_id": 0},
  "numa": {"node": 1, "affinity": 1}}]}
[{"gpu": 0, "bdf": "0000:05:00.0", "links": [
  {"gpu": 0, "bdf": "0000:05:00.0", "weight": 0, "link_type": "SELF", "num_hops": 0, "bandwidth": "N/A"},
  {"gpu": 1, "bdf": "0000:26:00.0", "weight": 15, "link_type": "XGMI", "num_hops": 1, "bandwidth": "50000-100000"}]},
 {"gpu": 1, "bdf": "0000:26:00.0", "links": [
  {"gpu": 0, "bdf": "0000:05:00.0", "weight": 15, "link_type": "XGMI", "num_hops": 1, "bandwidth": "50000-100000"},
  {"gpu": 1, "bdf": "0000:26:00.0", "weight": 0, "link_type": "SELF", "num_hops": 0, "bandwidth": "N/A"}]}]
"""
"""`amd-smi static --json` of ROCm 7 and `amd-smi topology --json`: MI300X, two XGMI links."""

AMD_SMI_TEXT = """GPU: 0
    BDF: 0000:05:00.0
    UUID: abff74a1-0000-1000-80d1-3c23a9580558
    PARTITION_ID: 0
    HIP_ID: 0
    HIP_UUID: GPU-abd13c23a9580558

GPU: 1
    BDF: 0000:26:00.0
    UUID: 77ff74a1-0000-1000-8009-1c467da33120
    PARTITION_ID: 0
    HIP_ID: 1
    HIP_UUID: GPU-77091c467da33120

GPU: 0
    ASIC:
        MARKET_NAME: AMD Instinct MI300X
        DEVICE_ID: 0x74a1
        ASIC_SERIAL: 0xABD13C23A9580558
        TARGET_GRAPHICS_VERSION: gfx942
    DRIVER:
        NAME: amdgpu
        VERSION: 6.12.12
    VRAM:
        TYPE: HBM
        SIZE: 196592 MB
    NUMA:
        NODE: 0
        AFFINITY: 0

GPU: 1
    ASIC:
        MARKET_NAME: AMD Instinct MI300X
        DEVICE_ID: 0x74a1
        ASIC_SERIAL: 0x77091C467DA33120
        TARGET_GRAPHICS_VERSION: gfx942
    DRIVER:
        NAME: amdgpu
        VERSION: 6.12.12
    VRAM:
        TYPE: HBM
        SIZE: 196592 MB
    NUMA:
        NODE: 1
        AFFINITY: 1

CURRENT_PARTITION:
GPU_ID  MEMORY  ACCELERATOR_TYPE  ACCELERATOR_PROFILE_INDEX  PARTITION_ID
0       NPS1    SPX               0                          0
1       NPS1    SPX               0                          0

LINK TYPE TABLE:
             0000:05:00.0 0000:26:00.0
0000:05:00.0 SELF         XGMI
0000:26:00.0 XGMI         SELF

NUMA BW TABLE:
             0000:05:00.0 0000:26:00.0
0000:05:00.0 N/A          50000-100000
0000:26:00.0 50000-100000 N/A
"""

ROCM_SMI_JSON = """{
 "card0": {"Device Name": "AMD Instinct MI300X", "Device ID": "0x74a1", "Unique ID": "0xabd13c23a9580558",
  "VBIOS version": "113-M3000100-102", "Serial Number": "692251001124", "PCI Bus": "0000:05:00.0",
  "VRAM Total Memory (B)": "206141652992", "Card Series": "AMD Instinct MI300X", "GFX Version": "gfx942",
  "Compute Partition": "SPX", "Memory Partition": "NPS1", "(Topology) Numa Node": "0", "(Topology) Numa Affinity": "0"},
 "card1": {"Device Name": "AMD Instinct MI300X", "Device ID": "0x74a1", "Unique ID": "0x77091c467da33120",
  "VBIOS version": "113-M3000100-102", "Serial Number": "692251001125", "PCI Bus": "0000:26:00.0",
  "VRAM Total Memory (B)": "206141652992", "Card Series": "AMD Instinct MI300X", "GFX Version": "gfx942",
  "Compute Partition": "SPX", "Memory Partition": "NPS1", "(Topology) Numa Node": "1", "(Topology) Numa Affinity": "1"},
 "system": {"Driver version": "6.12.12", "PID104225": "trainer, 1, 0, 0, 0",
  "(Topology) Weight between DRM devices 0 and 1": "15", "(Topology) Hops between DRM devices 0 and 1": "1",
  "(Topology) Link type between DRM devices 0 and 1": "XGMI"}}
"""

ROCM_SMI_TEXT = """
============================ ROCm System Management Interface ============================
============================== Version of System Component ===============================
Driver version: 6.12.12
==========================================================================================
=========================================== ID ===========================================
GPU[0]\t\t: Device ID: 0x74a1
GPU[1]\t\t: Device ID: 0x74a1
==========================================================================================
======================================= Unique ID ========================================
GPU[0]\t\t: Unique ID: 0xabd13c23a9580558
GPU[1]\t\t: Unique ID: 0x77091c467da33120
==========================================================================================
======================================= PCI Bus ID =======================================
GPU[0]\t\t: PCI Bus: 0000:05:00.0
GPU[1]\t\t: PCI Bus: 0000:26:00.0
==========================================================================================
====================================== Product Info ======================================
GPU[0]\t\t: Card series: \t\tAMD Instinct MI300X OAM
GPU[1]\t\t: Card series: \t\tAMD Instinct MI300X OAM
==========================================================================================
================================== Memory Usage (Bytes) ==================================
GPU[0]\t\t: VRAM Total Memory (B): 206141652992
GPU[1]\t\t: VRAM Total Memory (B): 206141652992
==========================================================================================
=============================== Link Type between two GPUs ===============================
       GPU0         GPU1
GPU0   0            XGMI
GPU1   XGMI         0
======================================= Numa Nodes =======================================
GPU[0]\t\t: (Topology) Numa Node: 0
GPU[0]\t\t: (Topology) Numa Affinity: 0
GPU[1]\t\t: (Topology) Numa Node: 1
GPU[1]\t\t: (Topology) Numa Affinity: 1
================================== End of ROCm SMI Log ===================================
"""

TPU_ENVIRONMENT = """ACCELERATOR_TYPE: 'v5p-16'
CHIPS_PER_HOST_BOUNDS: '2,2,1'
HOST_BOUNDS: '1,1,2'
TOPOLOGY: '2x2x2'
WRAP: 'false,false,false'
NODE_ID: 'slice-c'
WORKER_ID: '1'
ZONE: 'us-east5-a'
"""
"""The metadata attribute `tpu-env` of the second host of a v5p slice."""

NEURON_LS = """instance-type: trn1.32xlarge
instance-id: i-00112233445566778
+--------+--------+--------+-----------+--------------+-------+----------------------+---------+
| NEURON | NEURON | NEURON | CONNECTED |     PCI      |  PID  |       COMMAND        | RUNTIME |
| DEVICE | CORES  | MEMORY |  DEVICES  |     BDF      |       |                      | VERSION |
+--------+--------+--------+-----------+--------------+-------+----------------------+---------+
| 0      | 2      | 32 GB  | 1, 2      | 0000:10:1c.0 | 23518 | app --token=x serve  | 2.0.0   |
|        |        |        |           |              | 23531 | neuron-ls            | NA      |
+--------+--------+--------+-----------+--------------+-------+----------------------+---------+
| 1      | 2      | 32 GB  | 0         | 0000:10:1d.0 | NA    | NA                   | NA      |
| 2      | 2      | 32 GB  | 0         | 0000:a0:1c.0 | NA    | NA                   | NA      |
+--------+--------+--------+-----------+--------------+-------+----------------------+---------+
"""
"""`neuron-ls` with processes: a ring of three would have one link more."""

NEURON_LS_JSON = """[{"neuron_device": 0, "bdf": "00:1e.0", "cpu_affinity": "0-11", "numa_node": "-1",
 "connected_to": [1], "nc_count": 2, "memory_size": 34359738368, "neuroncore_ids": [0, 1],
 "neuron_processes": [{"pid": 4711, "command": "python3 serve.py --token=x", "neuron_runtime_version": "2.0.0"}]},
 {"neuron_device": 1, "bdf": "00:1f.0", "cpu_affinity": "0-11", "numa_node": "-1", "connected_to": [0],
 "nc_count": 2, "memory_size": 34359738368, "neuroncore_ids": [2, 3], "neuron_processes": []}]
"""

NEURON_MONITOR = """{"instance_info": {"instance_name": "", "instance_type": "inf2.24xlarge",
 "instance_availability_zone": "us-east-1d", "instance_region": "us-east-1", "error": ""},
 "neuron_hardware_info": {"neuron_device_type": "inferentia2", "neuroncore_version": "v2", "neuron_device_count": 2,
 "neuron_device_memory_size": 34359738368, "neuroncore_per_device_count": 2, "error": ""},
 "system_data": {"neuron_hw_counters": {"period": 1.03, "neuron_devices": [
  {"neuron_device_index": 0, "mem_ecc_corrected": 4, "mem_ecc_uncorrected": 0, "sram_ecc_uncorrected": 0},
  {"neuron_device_index": 1, "mem_ecc_corrected": 0, "mem_ecc_uncorrected": 2, "sram_ecc_uncorrected": 0}],
 "error": ""}}}
"""

TEXTS = {
    "nvidia-smi-xml": log_xml([gpu_xml(0), gpu_xml(1)]),
    "nvidia-smi-topo": matrix(4),
    "hwloc-xml": HWLOC,
    "nccl-xml": NCCL,
    "amd-smi-json": AMD_SMI_JSON,
    "amd-smi-text": AMD_SMI_TEXT,
    "rocm-smi-json": ROCM_SMI_JSON,
    "rocm-smi-text": ROCM_SMI_TEXT,
    **nvidia_smi_texts.TEXTS,
    "lspci": bus_texts.SWITCHED,
    "lspci-tree": bus_texts.DRAWN,
    "ibstat": bus_texts.IBSTAT,
    "ibstatus": bus_texts.IBSTATUS,
    "ibv_devinfo": bus_texts.DEVINFO,
    "ibdev2netdev": bus_texts.NETDEV_V,
    "rdma-link": bus_texts.RDMA,
    "nicctl": bus_texts.CARDS,
    "ibnetdiscover": bus_texts.FABRIC_OF_ONE,
    "environment": TPU_ENVIRONMENT,
    "neuron-ls": NEURON_LS,
    "neuron-ls-json": NEURON_LS_JSON,
    "neuron-monitor": NEURON_MONITOR,
    **npu_texts.TEXTS,
    **hl_smi_texts.TEXTS,
    **npu_smi_texts.TEXTS,
    **xpu_smi_texts.TEXTS,
    **cloud_texts.TEXTS,
    **kernel_texts.TEXTS,
}
"""One document of each textual form."""


def write(folder: Path, files: Mapping[str, str], links: Mapping[str, str]) -> None:
    """Writes a machine's files and links below a folder."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    for path, target in links.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).symlink_to(target)


def machine(hostname: str = "gpu-node-17.example.org") -> tuple[dict[str, str], dict[str, str]]:
    """The files and links of a machine with an NVIDIA GPU and its NIC behind one switch, and two AMD GPUs."""
    files = {
        "proc/sys/kernel/hostname": hostname,
        "proc/sys/kernel/osrelease": "6.8.0-60-generic",
        "proc/sys/kernel/random/boot_id": "5e3c2b1a-9f8e-4d7c-8b6a-594837261504",
        "proc/version": "Linux version 6.8.0-60-generic (buildd@lcy02-amd64-116) (gcc 13.3.0) #63-Ubuntu SMP",
        "proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\nmodel name : Intel(R) Xeon(R)\nflags : fpu lm",
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz-6.8.0 root=/dev/sda1 iommu=pt pci=realloc",
        "proc/self/cgroup": "0::/user.slice",
        "proc/modules": "nvidia 1 0 - Live 0x0\namdgpu 1 0 - Live 0x0",
        "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.2 LTS"',
        "sys/class/dmi/id/sys_vendor": "Supermicro",
        "sys/class/dmi/id/product_name": "SYS-821GE-TNHR",
        "sys/devices/system/cpu/online": "0-3",
        "sys/devices/system/node/node0/cpulist": "0-3",
        "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal: 268435456 kB",
        "sys/devices/system/node/node0/distance": "10",
        "sys/module/nvidia/version": "570.133.20",
        "sys/module/amdgpu/version": "6.12.12",
    }
    for cpu in range(4):
        folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
        files[f"{folder}/physical_package_id"] = "0"
        files[f"{folder}/thread_siblings"] = f"{3 << cpu // 2 * 2:x}"
    links: dict[str, str] = {}
    port, up = "pci0000:15/0000:15:01.0", SWITCHED[0].rpartition("/")[0]
    functions = [(port, "0x060400", "0x8086", "0x352a"), (up, "0x060400", "0x1000", "0xc030")]
    functions += [(path, "0x060400", "0x1000", "0xc030") for path in SWITCHED]
    functions += [
        (f"{SWITCHED[0]}/0000:18:00.0", "0x030200", "0x10de", "0x2330"),
        (f"{SWITCHED[1]}/0000:1a:00.0", "0x020700", "0x15b3", "0x1021"),
        ("pci0000:40/0000:40:01.0/0000:41:00.0", "0x120000", "0x1002", "0x74a1"),
        ("pci0000:40/0000:40:02.0/0000:42:00.0", "0x120000", "0x1002", "0x74a1"),
    ]
    for path, class_id, vendor, device in functions:
        folder = f"sys/devices/{path}"
        links[f"sys/bus/pci/devices/{path.rpartition('/')[2]}"] = f"../../../devices/{path}"
        files |= {f"{folder}/class": class_id, f"{folder}/vendor": vendor, f"{folder}/device": device}
        files |= {f"{folder}/numa_node": "0", f"{folder}/local_cpulist": "0-3"}
        files |= {f"{folder}/{which}_link_speed": "32.0 GT/s PCIe" for which in ("current", "max")}
        files |= {f"{folder}/{which}_link_width": "16" for which in ("current", "max")}
    nic = f"sys/devices/{SWITCHED[1]}/0000:1a:00.0"
    links["sys/class/infiniband/mlx5_0"] = f"../../devices/{SWITCHED[1]}/0000:1a:00.0/infiniband/mlx5_0"
    links[f"{nic}/infiniband/mlx5_0/device"] = "../.."
    files |= {f"{nic}/infiniband/mlx5_0/{name}": text for name, text in _PORT.items()}
    links["sys/class/net/ib0"] = f"../../devices/{SWITCHED[1]}/0000:1a:00.0/net/ib0"
    links[f"{nic}/net/ib0/device"] = "../.."
    files |= {f"{nic}/net/ib0/operstate": "up", f"{nic}/net/ib0/type": "32", f"{nic}/net/ib0/speed": "400000"}
    files["sys/class/kfd/kfd/topology/nodes/0/properties"] = "cpu_cores_count 4\nsimd_count 0"
    for number in range(2):
        _amd(files, number)
    return {path: text + "\n" for path, text in files.items()}, links


_PORT = {
    "hca_type": "MT4129",
    "fw_ver": "28.43.1014",
    "node_guid": "ec0d:9a03:007f:51a2",
    "ports/1/state": "4: ACTIVE",
    "ports/1/phys_state": "5: LinkUp",
    "ports/1/rate": "400 Gb/sec (4X NDR)",
    "ports/1/link_layer": "InfiniBand",
}
UNITS = (0xE5BA3A8E0C7AE1F0, 0x0BA3A8E0C7AE1F05)
"""Unique ids of the AMD GPUs: sysfs writes them in hex, KFD in decimal."""


def _amd(files: dict[str, str], number: int) -> None:
    gpu = f"sys/devices/pci0000:40/0000:40:0{number + 1}.0/0000:4{number + 1}:00.0"
    files |= {
        f"{gpu}/unique_id": f"{UNITS[number]:016x}",
        f"{gpu}/serial_number": f"69210000{number:04d}",
        f"{gpu}/product_name": "AMD Instinct MI300X OAM",
        f"{gpu}/mem_info_vram_total": "206141652992",
    }
    folder = f"sys/class/kfd/kfd/topology/nodes/{number + 1}"
    files |= {
        f"{folder}/gpu_id": "4711",
        f"{folder}/properties": "simd_count 1216\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\n"
        f"location_id {(0x41 + number) << 8}\ndomain 0\nhive_id 7205759403792793601\n"
        f"unique_id {UNITS[number]}\nnum_xcc 8",
        f"{folder}/mem_banks/0/properties": "heap_type 1\nsize_in_bytes 206141652992",
        f"{folder}/io_links/0/properties": f"type 11\nnode_from {number + 1}\nnode_to {2 - number}\nweight 15\n"
        "min_bandwidth 64000\nmax_bandwidth 64000",
    }


def entries(hostname: str = "gpu-node-17.example.org") -> list[Entry]:
    """The machine as the entries of an archive."""
    files, links = machine(hostname)
    found = [Entry(path, "file", text.encode()) for path, text in files.items()]
    return found + [Entry(path, "link", target=target) for path, target in links.items()]


def tar(held: list[Entry]) -> bytes:
    """Entries as a tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for entry in held:
            member = tarfile.TarInfo(entry.path)
            member.size = len(entry.content)
            if entry.kind == "link":
                member.type, member.linkname = tarfile.SYMTYPE, entry.target
            archive.addfile(member, io.BytesIO(entry.content))
    return buffer.getvalue()


def recording(hostname: str = "gpu-node-17.example.org") -> Recording:
    """The machine as raxl records it: tree, the outputs of nvidia-smi, a refusal, an environment."""
    from raxl import __version__
    from raxl.cli.source import read_through

    tree = TreeRecording(
        ArchiveTree(entries(hostname), ""),
        name=hostname.split(".", 1)[0],
        source="local",
        created="2026-01-01T00:00:00Z",
    )
    read_through(tree)
    answers = dict(tree.answers)
    answers[Question("command", "nvidia-smi -q -x")] = Answer(CommandOutput(0, log_xml([gpu_xml(0)]), ""))
    answers[Question("command", "nvidia-smi topo -m")] = Answer(CommandOutput(0, matrix(1), ""))
    answers[Question("process", "uname")] = Answer({"system": "Linux", "release": "6.8.0", "machine": "x86_64"})
    answers[Question("process", "environment")] = Answer({"CUDA_VISIBLE_DEVICES": "0", "NCCL_SOCKET_IFNAME": "ib0"})
    answers[Question("process", "limits")] = Answer({"memlock": [-1, -1], "nofile": [1024, 4096]})
    answers[Question("text", "/sys/hypervisor/type")] = Answer(None, "not-permitted", "Permission denied")
    return Recording(
        answers,
        name=tree.name,
        created=tree.created,
        recorded_by=__version__,
        nature="synthetic",
        unasked=Answer(None, "not-present", ""),
        notes=[("raxl.sources.limits:ask", "timed-out", "it did not go on within 2 s")],
    )


def snapshot(hostname: str = "gpu-node-17.example.org") -> list[Entry]:
    """The recording as the entries of a snapshot."""
    from raxl.host import snapshot as layout

    return [Entry(path, "file", content) for path, content in layout.members([recording(hostname)])]
