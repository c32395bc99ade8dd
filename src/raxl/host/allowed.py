"""What may be kept of texts that can hold secrets. Applied at the door: nothing else ever enters a recording."""

from __future__ import annotations

import re
from typing import Any, Mapping

KERNEL_PARAMETERS = frozenset(
    {
        "amd_iommu",
        "default_hugepagesz",
        "hugepages",
        "hugepagesz",
        "intel_iommu",
        "iommu",
        "iommu.passthrough",
        "iommu.strict",
        "isolcpus",
        "mitigations",
        "nohz_full",
        "nosmt",
        "numa",
        "numa_balancing",
        "nvme_core.multipath",
        "pci",
        "pcie_acs_override",
        "pcie_aspm",
        "pcie_port_pm",
        "processor.max_cstate",
        "intel_idle.max_cstate",
        "rcu_nocbs",
        "transparent_hugepage",
        "tsc",
        "clocksource",
        "nopti",
        "nokaslr",
        "amdgpu.noretry",
        "amdgpu.vm_fragment_size",
        "amdgpu.gpu_recovery",
        "amdgpu.reset_method",
        "modprobe.blacklist",
        "module_blacklist",
        "rd.driver.blacklist",
        "nouveau.modeset",
        "init_on_alloc",
        "cgroup_no_v1",
        "systemd.unified_cgroup_hierarchy",
    }
)
"""Kernel command line parameters that describe the machine and cannot hold a secret."""

_ENVIRONMENT = re.compile(
    r"(CUDA|NVIDIA)_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|(HIP|ROCR)_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL|ZE_AFFINITY_MASK"
    r"|ZE_FLAT_DEVICE_HIERARCHY|ONEAPI_DEVICE_SELECTOR|TPU_(?!WORKER_HOSTNAMES)[A-Z0-9_]+"
    r"|NEURON_RT_(VISIBLE_CORES|NUM_CORES|EXEC_TIMEOUT|ONE_THREAD_PER_CORE|RANKS_PER_NETWORK_PROXY|LOG_LEVEL)"
    r"|NEURON_LOGICAL_NC_CONFIG|HABANA_VISIBLE_(MODULES|DEVICES)"
    r"|ASCEND_(RT_)?VISIBLE_DEVICES|ASCEND_(HOME_PATH|TOOLKIT_HOME|LAUNCH_BLOCKING|GLOBAL_LOG_LEVEL)|RBLN_DEVICES|FURIOSA_DEVICES|TT_VISIBLE_DEVICES|QBRUNTIME_VISIBLE_DEVICES"
    r"|(QAIC|MUSA|MLU|TOPS|ENFLAME|BIREN)_VISIBLE_DEVICES"
    r"|RAY_OVERRIDE_RESOURCES|RAY_TPU_RESOURCE_PER_CHIP|RAY_EXPERIMENTAL_NOSET_[A-Z_]+"
    r"|RAY_IGNORE_VERSION_MISMATCH|RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL|RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE"
    r"|RAY_worker_register_timeout_seconds|RAY_DEDUP_LOGS"
    r"|NCCL_[A-Z0-9_]+|RCCL_[A-Z0-9_]+|UCX_[A-Z0-9_]+|FI_[A-Z0-9_]+|GLOO_[A-Z0-9_]+"
    # HCCL_COMM_ID, HCCL_IF_IP and NEURON_RT_ROOT_COMM_ID name another machine: they are left out.
    r"|HCCL_(SOCKET_IFNAME|CONNECT_TIMEOUT|EXEC_TIMEOUT|BUFFSIZE|IF_BASE_PORT|OVER_OFI)|TP_SOCKET_IFNAME"
    r"|HSA_(NO_SCRATCH_RECLAIM|FORCE_FINE_GRAIN_PCIE)|RDMAV_FORK_SAFE|LIBTPU_INIT_ARGS|JAX_PLATFORMS|ENABLE_PJRT_COMPATIBILITY|MALLOC_ARENA_MAX"
    r"|(CUDA|HIP)_LAUNCH_BLOCKING|OMP_NUM_THREADS|KUBERNETES_SERVICE_PORT|container|SLURM_(JOB_NUM_NODES|NODEID|TOPOLOGY_ADDR(_PATTERN)?)"
)
_SECRET = re.compile("TOKEN|SECRET|PASS|PWD|CREDENTIAL|(?<![PRM])KEY|AUTH|PRIVATE|COOKIE|BEARER", re.IGNORECASE)
"""A partition key (`NCCL_IB_PKEY`) and a memory key are no secrets."""
KEPT_VARIABLES = f"(?!.*(?i:{_SECRET.pattern}))(?:{_ENVIRONMENT.pattern})"
"""The same as one pattern, of the names that are kept: of any other one it is not known that it is unset."""
_PARAMETER = re.compile(r'(?:[^\s"]|"[^"]*(?:"|$))+')
_PROCESS_NAME = re.compile(
    r"(<process_name\b[^>/]*>)(.*?)(</process_name\s*>|</process_info\s*>|</gpu\s*>|\Z)", re.DOTALL
)
_NAME_LINE = re.compile(r"^([ \t]+Name[ \t]*:[ \t]*\S*)[^\r\n]*", re.MULTILINE)
_TABLE_LINE = re.compile(r"^(\|[ \t]+\d+[ \t][^|\n]*?\d+[ \t]+(?:C|G|C\+G|M|M\+C)[ \t]+\S+)[^|\n]*", re.MULTILINE)
_DATA = re.compile(r"/sys/bus/pci/devices/[0-9a-fA-F:.]{1,20}/config")
_CONFIGURED = re.compile("(?:# )?CONFIG_(?:PCI_P2PDMA|DMABUF_MOVE_NOTIFY|HSA_AMD_P2P)[= ]")
"""What of a kernel's configuration, some ten thousand lines, anybody asks for."""
_NCCL_FILES = ("/etc/nccl.conf", "/etc/rccl.conf")
_OF_PROCESS = re.compile("^/proc/[^/]+/(task/[^/]+/)?(cmdline|environ)$")
_COMMAND = re.compile(r'("command"[ \t]*:[ \t]*")((?:[^"\\\n]|\\.)*)')
_BLANK = re.compile(r"(?:\s|&#(?:0*(?:9|10|13|32)|[xX]0*(?:9|[aAdD]|20));)+")


def kernel_command_line(text: str) -> str:
    """The parameters of a kernel command line that the allow-list names, in their order."""
    words = _PARAMETER.findall(text.split(" -- ", 1)[0])  # what follows `--` is for init
    return " ".join(word for word in words if word.split("=", 1)[0] in KERNEL_PARAMETERS) + "\n"


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that the allow-list names. A name that smells of a secret is left out even so."""
    return {
        name: value
        for name, value in sorted(variables.items())
        if _ENVIRONMENT.fullmatch(name) and not _SECRET.search(name)
    }


def nccl_file(text: str) -> str:
    """The lines of NCCL's or RCCL's configuration file that set a variable which the allow-list names. As the library
    takes them: the whole line up to its first `=` is the name, and the first line of a name counts."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#"):
            found.setdefault(name, value)
    return "".join(f"{name}={value}\n" for name, value in environment(found).items())


def nccl_user_files(told: Mapping[str, Any]) -> dict[str, Any]:
    """What was told of the users' files (`raxl.host.nccl_files`), with those lines alone."""
    return {
        name: {**one, "text": nccl_file(one["text"])}
        if isinstance(one, dict) and isinstance(one.get("text"), str)
        else one
        for name, one in told.items()
    }


def file_text(path: str, text: str) -> str:
    """The text of a file as it may be recorded."""
    if path == "/proc/cpuinfo":  # the first processor tells; a thousand alike would fill every recording
        return text.split("\n\n", 1)[0]
    if path == "/proc/cmdline":
        return kernel_command_line(text)
    if path in _NCCL_FILES:
        return nccl_file(text)
    if path.startswith("/boot/config-"):
        return "".join(f"{line}\n" for line in text.splitlines() if _CONFIGURED.match(line))
    if _OF_PROCESS.search(path):
        return ""
    return text


def is_data(path: str) -> bool:
    """Whether a file is given as bytes, and never as text: the configuration space of a PCI function."""
    return _DATA.fullmatch(path) is not None


def output_of(program: str, text: str) -> str:
    """What a program printed as it may be recorded; of a kernel's log, the lines of the catalogue."""
    if program != "journalctl":
        return command_output(text)
    import json

    from raxl.host.kernel_condense import condensed

    return json.dumps(condensed(text.split("\n"))) + "\n"


def command_output(text: str) -> str:
    """A command's output without the arguments of the processes that it lists: a process keeps its program's name.

    Processes stand in the XML, text and table of nvidia-smi and in the JSON of neuron-ls, whose ends may be cut off.
    """
    text = _PROCESS_NAME.sub(lambda found: found[1] + _program(found[2]) + found[3], text)
    text = _COMMAND.sub(lambda found: found[1] + _program(found[2]), text)
    return _TABLE_LINE.sub(r"\1 ", _NAME_LINE.sub(r"\1", text))


def _program(words: str) -> str:
    first = _BLANK.split(words.strip(), maxsplit=1)[0]
    return "" if "<" in first else first
