"""What of a recipe can make a process load or run something, or open it to others: such is applied with --allow-code
alone.

Names that are known to do no such thing are listed; whatever is not listed counts as what might.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Union

LONGEST_NAME = 128
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_PREFIXES = _words(
    "ANP_ ASCEND_ CUDA_ ENABLE_PJRT_ FI_ GDRCOPY_ GLOO_ GPU_ HABANA_ HCCL_ HIP_ HSA_ IONIC_ JAX_ LIBTPU_ MALLOC_ MC_ "
    "MLX5_ MORI_ NCCL_ NEURON_ NIXL_ NVSHMEM_ OFI_ OMP_ PJRT_ PT_HPU_ RAY_ RCCL_ RDMAV_ ROCR_ ROCSHMEM_ RSMI_ SHARP_ "
    "TORCH_ TPU_ TP_ UCC_ UCX_ VBAR_ XLA_"
)
"""Of variables that accelerators, their libraries and Ray read."""
_LOADERS = _words(
    "BASH_ENV CLASSPATH ENV GCONV_PATH GIT_SSH_COMMAND HOSTALIASES IFS JAVA_TOOL_OPTIONS LOCPATH NODE_OPTIONS PATH "
    "PERL5LIB PERL5OPT PROMPT_COMMAND PS4 RUBYOPT SHELLOPTS"
)
_LOADER_PREFIXES = ("LD_", "PYTHON", "GLIBC_TUNABLES", "BASH_FUNC_")
"""What the loader, a shell or an interpreter acts on in every process."""

_LIBRARY = re.compile(r"\.so(\.[0-9]+)*\b|\.(py|dll|dylib|sh)\b", re.ASCII | re.IGNORECASE)
_CODE_WORDS = _words(
    "AUDIT CALLBACK CMD COMMAND CONF DEST DIR DIRECTORY DRIVERS EXECUTABLE FILE FILES HOME HOOK HOOKS INJECTION "
    "INJECTION64 LIB LIBRARIES LIBRARY LIBS MODULE MODULES PATH PATHS PLUGIN PLUGINS PRELOAD ROOT SCRIPT SHELL TOOL "
    "TOOLS URI URL"
)
"""Words within a name that tell of something to load or to write, or of where it lies."""
_CODE_NAMES = ("MALLOC_TRACE", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "UCX_ERROR_MAIL_TO")
"""Names without such a word."""
_DATA = (
    "CUDA_MODULE_LOADING",
    "HABANA_VISIBLE_MODULES",
    "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY",
    "NCCL_GRAPH_FILE",
    "NCCL_TOPO_FILE",
    "NCCL_TUNER_CONFIG_PATH",
    "NEURON_RT_ROOT_COMM_ID",
    "VBAR_CONTROL_SERVICE_URL",
)
"""Names with such a word, or with a path for a value, by which nothing is loaded or written."""
_FLAGS = ("ARGS", "FLAGS", "OPTIONS")
"""Last words of names whose values are flags: those of a compiler say where its tools and its caches lie."""
_FLAG_WORDS = ("dump", "to", "from", *(word.lower() for word in _CODE_WORDS))
_LISTENING = ("NCCL_RAS_ADDR",)
"""They take the address on which a library answers."""
_LIBRARY_CHOICES = ("NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN", "RCCL_NET_PLUGIN")
"""They take the name of a library of the loader's own folders, or a path."""
_CHOICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", re.ASCII)
_WRITTEN = (
    "CUDA_COREDUMP_FILE",
    "CUDA_COREDUMP_PIPE",
    "MALLOC_TRACE",
    "NCCL_DEBUG_FILE",
    "NCCL_GRAPH_DUMP_FILE",
    "NCCL_TOPO_DUMP_FILE",
    "TORCH_NCCL_DEBUG_INFO_PIPE_FILE",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
    "UCX_LOG_FILE",
    "UCX_MEMTRACK_DEST",
    "UCX_PROFILE_FILE",
    "UCX_STATS_DEST",
)
_RAY_CONFIG = re.compile(r"RAY_[a-z][a-z0-9_]*", re.ASCII)
"""A setting of Ray's core: of most the value is a number or a switch, and of no other is it known what it does."""
_RAY_VALUE = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?|true|false", re.ASCII | re.IGNORECASE)
_RAY_WORDS = _words(
    "address auth command dir hook hooks module modules path plugin plugins preload python script testing tls token"
)
_RAY_KNOWN = (
    "RAY_BACKEND_LOG_LEVEL",
    "RAY_CGRAPH_",
    "RAY_DEDUP_LOGS",
    "RAY_EXPERIMENTAL_NOSET_",
    "RAY_NIXL_",
    "RAY_OVERRIDE_LABELS",
    "RAY_OVERRIDE_RESOURCES",
    "RAY_ROTATION_",
    "RAY_START_ULIMIT_OPEN_FILES",
    "RAY_USAGE_STATS_ENABLED",
)
"""Others of Ray that load nothing, and beginnings of such."""

_PLAIN_FLAGS = _words(
    "num-cpus num-gpus memory object-store-memory port node-manager-port object-manager-port min-worker-port "
    "max-worker-port worker-port-list ray-client-server-port dashboard-port dashboard-agent-listen-port "
    "dashboard-agent-grpc-port runtime-env-agent-port metrics-export-port node-ip-address node-name include-dashboard "
    "include-log-monitor disable-usage-stats no-redirect-output enable-object-reconstruction enable-resource-isolation "
    "system-reserved-cpu system-reserved-memory plasma-directory object-spilling-directory"
)
_CODE_FLAGS = {
    "ray-debugger-external": "its debugger answers anybody who reaches the node",
    "tracing-startup-hook": "it loads the function that is named",
    "autoscaling-config": "its file holds commands",
    "system-config": "it changes what Ray does in any way",
    "temp-dir": "Ray keeps its logs and sockets there",
    "cgroup-path": "it puts Ray's processes into another control group",
    "proxy-server-url": "what the dashboard shows goes through another server",
    "no-monitor": "nobody watches the cluster",
    "redis-username": "it is a credential",
    "redis-password": "it is a credential",
    "redis-shard-ports": "it opens ports",
}
OPERATORS_FLAGS = ("head", "block", "address", "labels", "labels-file", "resources")
"""Said on the command line, or made by raxl of what the recipe says elsewhere."""
SWITCHES = _words(
    "no-redirect-output enable-object-reconstruction no-monitor ray-debugger-external disable-usage-stats "
    "enable-resource-isolation"
)
"""Flags that take no value: it is the empty text."""
FLAGS = tuple(sorted({*_PLAIN_FLAGS, *_CODE_FLAGS, "dashboard-host"} - {*OPERATORS_FLAGS}))
"""Of `ray start`, without dashes: those that a recipe may name. https://docs.ray.io/en/latest/cluster/cli.html"""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def is_known_variable(name: str) -> bool:
    """Whether a recipe may name the variable: it is one of accelerators, their libraries or Ray, or one that loads
    code, of which --allow-code decides."""
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        return False
    return name.startswith((*_PREFIXES, *_LOADER_PREFIXES)) or name in _LOADERS


def loads_code_variable(name: str, value: str | None) -> str | None:
    """Why a process that has this variable could load or run what the recipe names; None where it could not."""
    if name in _LOADERS or name.startswith(_LOADER_PREFIXES):
        return "every process that has it loads or runs what it names"
    text = value or ""
    if name in _LIBRARY_CHOICES:
        return None if _CHOICE.fullmatch(text) or not text else "it loads the library at that path"
    if name in _WRITTEN:
        return "the library writes to the file that it names"
    if name.startswith("RAY_"):
        return _of_ray(name, value)
    if name in _LISTENING and text.rpartition(":")[0].strip("[]") not in ("", *_LOOPBACK):
        return "the library answers whoever reaches it there"
    if _is_library(text):
        return "it names a library by its path"
    words = name.upper().split("_")
    if name in _CODE_NAMES or (name not in _DATA and any(word in _CODE_WORDS for word in words)):
        return "it names something to load, or where that lies"
    if name not in _DATA and "/" in text:
        return "raxl does not know that nothing is loaded from the path that it names, or written there"
    if words[-1] in _FLAGS and any(word in _FLAG_WORDS for word in re.split(r"[^a-z0-9]+", text.lower())):
        return "one of its flags names something to load or to write"
    return None


def _is_library(text: str) -> bool:
    return "/" in text and _LIBRARY.search(text) is not None


def unguards(name: str) -> str | None:
    """Why a process without this variable could be open to others, or load what it would have refused; None where it
    could not."""
    if name == "TORCH_FORCE_WEIGHTS_ONLY_LOAD":
        return "without it files of weights may hold code"
    if name.startswith("RAY_") and _of_ray(name, None) is not None:
        return "raxl does not know that Ray is no more open to others without it"
    return None


def loads_code_flag(flag: str, value: str | int | None) -> str | None:
    """The same of a flag of `ray start`, without its dashes."""
    if flag == "dashboard-host":
        return None if str(value) in _LOOPBACK else "the dashboard takes jobs from whoever reaches it there"
    if flag in _CODE_FLAGS:
        return _CODE_FLAGS[flag]
    return None if flag in _PLAIN_FLAGS else "raxl does not know what it does"


def _of_ray(name: str, value: str | None) -> str | None:
    if name.startswith(_RAY_KNOWN):
        return None
    is_harmless = _RAY_CONFIG.fullmatch(name) and not any(word in _RAY_WORDS for word in name.lower().split("_"))
    if is_harmless and (value is None or _RAY_VALUE.fullmatch(value)):
        return None
    return "raxl does not know that this variable of Ray loads nothing"


Step = Union[str, int]
_STEP = re.compile(r"\[(?:([0-9]+)|'([^']*)')\]|\.?([^.\[]+)")
_GROUP_KEYS = _words(
    "groupName idleTimeoutSeconds labels maxReplicas minReplicas numOfHosts rayStartParams replicas resources suspend "
    "template"
)
_ANNOTATIONS = ("cluster-autoscaler.kubernetes.io/", "k8s.v1.cni.cncf.io/", "networking.gke.io/", "ray.io/")
"""Beginnings of annotations that choose networks and place pods. Others lift a pod's limits, or put code into it."""
_TAKEN_AWAY = ("capabilities", "containers", "metadata", "resources", "securityContext", "spec", "template")
"""Keys that may hold limits of what a pod does: null takes them away."""
_SHELL_WORD = re.compile(
    r"""([A-Za-z0-9@%+=:,./_{}\[\]-]|'[^']*'|"([^"\\$`!]|\\["\\])*")*""",
    re.ASCII,
)
"""What a shell takes for one word, and runs nothing of. KubeRay puts `rayStartParams` into a line of a shell."""
_RESOURCE = re.compile(r"[A-Za-z0-9_.:/-]+", re.ASCII)
_AMOUNT = re.compile(r"[A-Za-z0-9_.{}=\[\],-]*", re.ASCII)
_LABEL = re.compile(r"[A-Za-z0-9_./{}=\[\],-]*", re.ASCII)
_IN_SHELL = "KubeRay puts it into a line of a shell, where it would run something"
_POD_KEYS = _words(
    "affinity containers dnsPolicy hostNetwork nodeSelector priorityClassName resourceClaims restartPolicy "
    "schedulerName subdomain terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes"
)
_CONTAINER_KEYS = _words("env name ports resources securityContext volumeMounts")
_VOLUME_KEYS = _words("emptyDir name")
_CAPABILITIES = ("IPC_LOCK", "NET_ADMIN", "NET_BIND_SERVICE")
_ADDED = ["capabilities", "add"]
_OF_POD = ("NODE_IP", "NODE_NAME", "POD_IP", "POD_NAME")
_PARAMETERS = ("block", "resources")
"""Of `rayStartParams`, besides the flags that are harmless: KubeRay itself wants them there."""


def loads_code_key(path: str | Sequence[Step], value: object = None) -> str | None:
    """The same of what stands in the patch of a KubeRay worker group, by the keys that lead to it (as
    `template.spec.containers[0].image`, or one after another) and, of a scalar, what it is."""
    steps = _steps(path) if isinstance(path, str) else path
    keys = [key for key in steps if isinstance(key, str)]
    if not keys:
        return None
    if keys[0] not in _GROUP_KEYS:
        return f"{keys[0][:60]} is not among what a recipe may set of a group"
    if keys[-1].startswith("$"):
        return f"{keys[-1][:60]} takes away what it does not name"
    if keys[0] == "rayStartParams" and len(keys) > 1:
        return _of_parameter(keys[1], value)
    if keys[0] in ("labels", "resources") and len(keys) > 1:
        whole = (_LABEL, _LABEL) if keys[0] == "labels" else (_RESOURCE, _AMOUNT)
        told = (keys[1], "" if value is None else str(value))
        return None if all(one.fullmatch(text) for one, text in zip(whole, told)) else _IN_SHELL
    return _of_template(keys[1:], value) if keys[0] == "template" and len(keys) > 1 else None


def _of_parameter(flag: str, value: object) -> str | None:
    text = "" if value is None else str(value)
    if flag not in _PARAMETERS and (why := loads_code_flag(flag, text)) is not None:
        return why
    return None if _SHELL_WORD.fullmatch(text) else _IN_SHELL


def in_patch(value: object, path: tuple[Step, ...] = ()) -> list[tuple[tuple[Step, ...], str]]:
    """All of a patch for which --allow-code is needed: where it stands, and why."""
    if (why := loads_code_key(path, None if isinstance(value, (dict, list, tuple)) else value)) is not None:
        return [(path, why)]
    if value is None and path and path[-1] in _TAKEN_AWAY:
        return [(path, f"null takes away what {path[-1]} says there, limits too")]
    found: list[tuple[tuple[Step, ...], str]] = []
    if path[-2:-1] == ("env",) and (why := _of_entry(value)) is not None:
        found.append((path, why))
    if isinstance(value, dict):
        for key, below in value.items():
            found += in_patch(below, (*path, str(key)))
    elif isinstance(value, (list, tuple)):
        for place, below in enumerate(value):
            found += in_patch(below, (*path, place))
    return found


def _steps(path: str) -> list[Step]:
    return [int(found[1]) if found[1] else found[2] or found[3] for found in _STEP.finditer(path)]


def _of_template(keys: Sequence[str], value: object) -> str | None:
    first, *below = keys
    if first == "metadata":
        return _of_metadata(below)
    if first != "spec":
        return _unlisted(first, "a pod")
    if not below:
        return None
    if below[0] not in _POD_KEYS:
        return _unlisted(below[0], "a pod")
    if below[0] == "containers" and len(below) > 1:
        return _of_container(below[1:], value)
    if below[0] == "volumes" and len(below) > 1 and below[1] not in _VOLUME_KEYS:
        return f"a volume of kind {below[1]} reaches what lies outside of the pod"
    return None


def _of_metadata(keys: Sequence[str]) -> str | None:
    if keys and keys[0] not in ("annotations", "labels"):
        return _unlisted(keys[0], "a pod")
    if len(keys) > 1 and keys[0] == "annotations" and not keys[1].startswith(_ANNOTATIONS):
        return f"raxl does not know that the annotation {keys[1][:80]} gives the pod no rights"
    return None


def _of_container(keys: Sequence[str], value: object) -> str | None:
    first, *below = keys
    if first not in _CONTAINER_KEYS:
        return _unlisted(first, "a container")
    if first == "securityContext" and below:
        if below != _ADDED[: len(below)]:
            return f"{below[-1]} changes what the container may do"
        if value is not None and value not in _CAPABILITIES:
            return f"the capability {str(value)[:40]} lets the container do more than memory and networks need"
    if first == "ports" and below and below[0].startswith("host"):
        return f"{below[0]} opens a port of the machine itself"
    if first == "env" and below[:1] == ["name"] and value is not None:
        return _of_name(str(value))
    if first == "env" and below[:1] == ["value"] and value is not None:
        return "it names a library by its path" if _is_library(str(value)) else None
    if first == "env" and below and below[:2] != ["valueFrom"] and below[:2] != ["valueFrom", "fieldRef"]:
        return f"{below[-1]} takes the value from outside of the pod"
    return None


def _of_entry(entry: object) -> str | None:
    """Of an entry of a container's `env`, what its value adds to its name."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or entry.get("value") is None:
        return None
    name = str(entry["name"])
    return None if _of_name(name) else loads_code_variable(name, str(entry["value"]))


def _of_name(name: str) -> str | None:
    if name in _OF_POD:
        return None
    if not is_known_variable(name):
        return f"{name[:60]} is no variable of accelerators, their libraries or Ray"
    return loads_code_variable(name, None)


def _unlisted(key: str, of: str) -> str:
    return f"{key[:60]} is not among what a recipe may set of {of}"
