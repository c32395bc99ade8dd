"""What of a recipe can make a process load or run something."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from raxl.recipe import code

HARMLESS = {
    "NCCL_IB_HCA": "=mlx5_0,mlx5_3",
    "NCCL_SOCKET_IFNAME": "^docker,lo",
    "NCCL_NET": "AWS Libfabric",
    "NCCL_NET_PLUGIN": "none",
    "NCCL_TUNER_PLUGIN": "librccl-anp.so",
    "NCCL_TOPO_FILE": "/opt/microsoft/ndv5-topo.xml",
    "NCCL_TUNER_CONFIG_PATH": "/usr/local/tuner.textproto",
    "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY": "/dev/aperture_devices",
    "NCCL_BUFFSIZE": "8388608",
    "FI_PROVIDER": "efa",
    "FI_EFA_USE_HUGE_PAGE": "0",
    "UCX_TLS": "tcp,self",
    "HSA_NO_SCRATCH_RECLAIM": "1",
    "HCCL_COMM_ID": "10.0.0.1:9100",
    "HABANA_VISIBLE_MODULES": "0,1",
    "NEURON_RT_EXEC_TIMEOUT": "60",
    "LIBTPU_INIT_ARGS": "--xla_tpu_premapped_buffer_size=17179869184",
    "MALLOC_ARENA_MAX": "64",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "RAY_worker_register_timeout_seconds": "120",
    "RAY_rdt_fetch_fail_timeout_milliseconds": "60000",
    "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1",
    "RAY_NIXL_REMOTE_AGENT_CACHE_MAXSIZE": "1000",
    "RAY_OVERRIDE_RESOURCES": '{"GPU": 8}',
    "RAY_OVERRIDE_LABELS": '{"ray.io/gpu-domain": "a"}',
    "NCCL_GRAPH_FILE": "/opt/graph.xml",
    "NCCL_RAS_ADDR": "localhost:28028",
    "NEURON_RT_ROOT_COMM_ID": "10.0.0.1:46820",
    "XLA_FLAGS": "--xla_gpu_enable_latency_hiding_scheduler=true",
    "RAY_health_check_period_ms": "-1",
    "RAY_enable_worker_prestart": "true",
    "GLOO_SOCKET_IFNAME": "lo",
    "NCCL_ALGO": "$(reboot)",
}
LOADING = {
    "LD_PRELOAD": "/tmp/x.so",
    "LD_LIBRARY_PATH": "/tmp",
    "LD_AUDIT": "x.so",
    "PYTHONPATH": "/tmp",
    "PYTHONSTARTUP": "/tmp/x.py",
    "PATH": "/tmp",
    "BASH_ENV": "/tmp/x",
    "BASH_FUNC_ls%%": "() { reboot; }",
    "NCCL_NET_PLUGIN": "/tmp/libnccl-net.so",
    "NCCL_TUNER_PLUGIN": "../x.so",
    "NCCL_PROFILER_PLUGIN": "./x",
    "NCCL_CONF_FILE": "/tmp/nccl.conf",
    "NCCL_DEBUG_FILE": "/etc/cron.d/x",
    "NCCL_NET": "/tmp/x/libnccl-net.so.2",
    "FI_PROVIDER_PATH": "/tmp",
    "UCX_MODULE_DIR": "/tmp",
    "NIXL_PLUGIN_DIR": "/tmp",
    "CUDA_INJECTION64_PATH": "/tmp/x.so",
    "CUDA_CACHE_PATH": "/tmp",
    "HSA_TOOLS_LIB": "x.so",
    "OMP_TOOL_LIBRARIES": "x.so",
    "RDMAV_DRIVERS": "x",
    "TPU_LIBRARY_PATH": "/tmp/libtpu.so",
    "JAX_COMPILATION_CACHE_DIR": "/tmp",
    "NEURON_COMPILE_CACHE_URL": "s3://x",
    "RAY_RUNTIME_ENV_HOOK": "x.y",
    "RAY_preload_python_modules": "x",
    "RAY_ADDRESS": "ray://other:10001",
    "RAY_AUTH_MODE": "disabled",
    "RAY_TRACING_HOOK": "x:y",
    "RAY_SOMETHING_OF_TOMORROW": "1",
    "RAY_object_spilling_config": '{"type": "smart_open", "params": {"uri": "s3://x"}}',
    "RAY_testing_rpc_failure": "1",
    "NCCL_RAS_ADDR": "0.0.0.0:28028",
    "CUDA_HOME": "x",
    "CUDA_MPS_PIPE_DIRECTORY": "x",
    "CUDA_COREDUMP_FILE": "x",
    "ASCEND_TOOLKIT_HOME": "x",
    "TORCH_HOME": "x",
    "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "x",
    "UCC_CONFIG_FILE": "x",
    "UCX_MEMTRACK_DEST": "file:x",
    "XLA_FLAGS": "--xla_gpu_cuda_data_dir=x",
    "LIBTPU_INIT_ARGS": "--xla_dump_to=x",
    "NEURON_CC_FLAGS": "--cache_dir=s3://x",
    "PT_HPU_RECIPE_CACHE_CONFIG": "/tmp,false,1024",
    "MALLOC_CONF": "prof:true,prof_prefix:/etc/x",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_only_tunes_a_library_loads_nothing(name: str) -> None:
    assert code.is_known_variable(name)
    assert code.loads_code_variable(name, HARMLESS[name]) is None


@pytest.mark.parametrize("name", LOADING)
def test_what_names_something_to_load_is_told_with_its_reason(name: str) -> None:
    assert code.loads_code_variable(name, LOADING[name])


@pytest.mark.parametrize(
    "name",
    [
        "EDITOR",
        "HOME",
        "HTTP_PROXY",
        "SSH_AUTH_SOCK",
        "NCCL",
        "nccl_x",
        "NCCL_X Y",
        "NCCL_X=1",
        "NCCL_\n",
        "1",
        "",
        "NCCL_" + "X" * 130,
        "NCCL_É",
    ],
)
def test_a_variable_of_nobody_is_none_that_a_recipe_may_name(name: str) -> None:
    assert not code.is_known_variable(name)


def test_flags_of_ray_start_that_open_or_load_something_are_told() -> None:
    assert code.loads_code_flag("dashboard-host", "0.0.0.0")
    assert code.loads_code_flag("dashboard-host", "{nics.netdev}")
    assert code.loads_code_flag("dashboard-host", "127.0.0.1") is None
    for flag in ("ray-debugger-external", "tracing-startup-hook", "autoscaling-config", "system-config", "of-tomorrow"):
        assert code.loads_code_flag(flag, "x")
    for flag in ("num-gpus", "object-store-memory", "min-worker-port", "metrics-export-port"):
        assert code.loads_code_flag(flag, 8) is None


def test_the_flags_are_those_of_ray_start() -> None:
    told = "from ray.scripts.scripts import start\nfor p in start.params: print(p.opts[0], p.is_flag)"
    run = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    own = dict(line.removeprefix("--").split() for line in run.stdout.splitlines() if line.startswith("--"))
    assert set(code.FLAGS) - set(own) == set()
    switches = {flag for flag, is_flag in own.items() if is_flag == "True"}
    assert set(code.SWITCHES) == switches & set(code.FLAGS)


PATCH: dict[str, Any] = {
    "groupName": "a",
    "numOfHosts": 4,
    "labels": {"team": "a", "image": "b"},
    "rayStartParams": {"num-gpus": "8", "resources": '"{}"', "block": "true"},
    "template": {
        "metadata": {"labels": {"a": "b"}, "annotations": {"networking.gke.io/interfaces": "[]"}},
        "spec": {
            "hostNetwork": True,
            "nodeSelector": {"image": "x"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "resourceClaims": [{"name": "imex", "resourceClaimTemplateName": "x"}],
            "containers": [
                {
                    "name": "ray-worker",
                    "resources": {"limits": {"nvidia.com/gpu": "8"}, "claims": [{"name": "imex"}]},
                    "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
                    "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
                    "env": [
                        {"name": "NCCL_NET", "value": "gIB"},
                        {"name": "NODE_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}},
                        {"name": "VBAR_CONTROL_SERVICE_URL", "value": "$(NODE_IP):8353"},
                    ],
                }
            ],
            "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}}],
        },
    },
}
POD = "template.spec"
CONTAINER = f"{POD}.containers[0]"


def with_(path: str, value: Any) -> dict[str, Any]:
    """The patch with one thing more."""
    found: Any = value
    for step in reversed(re.findall(r"[^.\[\]]+", path)):
        found = [found] if step.isdigit() else {step: found}
    assert isinstance(found, dict)
    return found


def test_a_patch_that_chooses_nodes_and_counts_devices_loads_nothing() -> None:
    assert code.in_patch(PATCH) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{CONTAINER}.image", "evil:latest"),
        (f"{CONTAINER}.command", ["sh"]),
        (f"{CONTAINER}.args", ["-c"]),
        (f"{CONTAINER}.lifecycle.postStart.exec.command", ["sh"]),
        (f"{CONTAINER}.livenessProbe", {}),
        (f"{CONTAINER}.envFrom", []),
        (f"{CONTAINER}.securityContext.privileged", True),
        (f"{CONTAINER}.securityContext.runAsUser", 0),
        (f"{CONTAINER}.securityContext.capabilities.add", ["SYS_ADMIN"]),
        (f"{CONTAINER}.env", [{"name": "LD_PRELOAD", "value": "x"}]),
        (f"{CONTAINER}.env", [{"name": "NCCL_NET_PLUGIN", "value": "/tmp/x"}]),
        (f"{CONTAINER}.env", [{"name": "EDITOR", "value": "x"}]),
        (f"{CONTAINER}.env", [{"name": "NCCL_NET", "valueFrom": {"secretKeyRef": {"name": "x"}}}]),
        (f"{POD}.initContainers", [{"name": "x"}]),
        (f"{POD}.ephemeralContainers", []),
        (f"{POD}.serviceAccountName", "admin"),
        (f"{POD}.hostPID", True),
        (f"{POD}.securityContext.sysctls", []),
        (f"{POD}.volumes", [{"name": "x", "hostPath": {"path": "/"}}]),
        (f"{POD}.volumes", [{"name": "x", "configMap": {"name": "x"}}]),
        ("template.metadata.ownerReferences", []),
        ("template.kind", "Job"),
        ("scaleStrategy", {}),
        ("rayStartParams.dashboard-host", "0.0.0.0"),
        ("rayStartParams.ray-debugger-external", ""),
        ("rayStartParams.num-cpus", "1; reboot"),
        ("rayStartParams.node-name", "$(reboot)"),
        ("rayStartParams.node-name", "a b"),
        ("rayStartParams.block", "true & reboot"),
        ("rayStartParams.resources", "'{}'`reboot`"),
        ("rayStartParams.resources", '"{$(reboot)}"'),
        ("resources", {"a'; reboot; '": "1"}),
        ("resources", {"a": "1; reboot"}),
        ("labels", {"a": "$(reboot)"}),
        ("template", None),
        (f"{POD}.containers", None),
        (f"{CONTAINER}.securityContext", None),
        (f"{CONTAINER}.securityContext.capabilities", None),
        (f"{CONTAINER}.ports", [{"containerPort": 22, "hostPort": 22}]),
        ("template.metadata.labels", {"$patch": "replace"}),
        ("template.metadata.annotations", {"container.apparmor.security.beta.kubernetes.io/ray": "unconfined"}),
    ],
)
def test_what_a_patch_would_run_or_open_is_told_once(path: str, value: Any) -> None:
    found = code.in_patch(with_(path, value))
    assert len(found) == 1
    assert found[0][1]


@pytest.mark.parametrize("text", ["8", "'{\"a\": 1}'", '"{\\"a\\": 1}"', "true", "10.0.0.1", "{gpus}"])
def test_what_a_shell_takes_for_one_word_runs_nothing(text: str) -> None:
    assert code.in_patch({"rayStartParams": {"resources": text}}) == []


def test_a_file_that_is_only_read_may_stand_in_a_pod_too() -> None:
    env = [{"name": "NCCL_TOPO_FILE", "value": "/opt/microsoft/ndv5-topo.xml"}]
    assert code.in_patch(with_(f"{CONTAINER}.env", env)) == []


@pytest.mark.parametrize("name", ["RAY_AUTH_MODE", "RAY_USE_TLS", "RAY_auth_token", "TORCH_FORCE_WEIGHTS_ONLY_LOAD"])
def test_a_variable_that_guards_is_not_unset_unseen(name: str) -> None:
    assert code.unguards(name)


@pytest.mark.parametrize("name", ["NCCL_PROTO", "LD_PRELOAD", "RAY_DEDUP_LOGS", "RAY_worker_register_timeout_seconds"])
def test_a_variable_that_guards_nothing_may_be_unset(name: str) -> None:
    assert code.unguards(name) is None


def test_a_key_is_judged_by_its_spelling_too() -> None:
    assert code.loads_code_key("template.spec.containers[0].image", "x")
    assert code.loads_code_key("template.spec.containers[0].resources.limits['nvidia.com/gpu']", "8") is None
    assert code.loads_code_key("template.spec.containers[0].resources.limits.nvidia.com/gpu", "8") is None
    assert code.loads_code_key("template.spec.nodeSelector['cloud.google.com/gke-tpu-topology']", "4x4") is None
    assert code.loads_code_key("template.spec.containers[0].securityContext.capabilities.add[0]", "SYS_PTRACE")
    assert code.loads_code_key("template.spec.containers[0].securityContext.capabilities.add[0]", "IPC_LOCK") is None
    assert code.loads_code_key("template.spec.containers[0].env[1].name", "LD_PRELOAD")
    assert code.loads_code_key("template.spec.containers[0].env[1].value", "/tmp/x.so")
    assert code.loads_code_key("template.spec.containers[0].env[1].value", "eth0") is None
