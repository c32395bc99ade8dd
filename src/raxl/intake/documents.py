"""The foreign documents of a recording that are already a model."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from raxl.host import Host
from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem

TEXTS: dict[str, str] = {
    "amd-smi --json": "raxl.intake.amd_smi_json",
    "rocm-smi --json": "raxl.intake.rocm_smi_json",
    "amd-smi": "raxl.intake.amd_smi_text",
    "rocm-smi": "raxl.intake.rocm_smi_text",
    "amd-smi --csv": "raxl.intake.amd_smi_csv",
    "rocm-smi --csv": "raxl.intake.rocm_smi_csv",
    "nvidia-smi -q": "raxl.intake.nvidia_smi_query",
    "nvidia-smi --query-gpu": "raxl.intake.nvidia_smi_csv",
    "nvidia-smi -L": "raxl.intake.nvidia_smi_list",
    "nvidia-smi": "raxl.intake.nvidia_smi_table",
    "nvidia-smi nvlink -s": "raxl.intake.nvidia_smi_nvlink",
    "nvidia-smi c2c -s": "raxl.intake.nvidia_smi_c2c",
    "nvidia-smi topo -p2p": "raxl.intake.nvidia_smi_p2p",
    "nvidia-smi message": "raxl.intake.nvidia_smi_messages",
    "lspci": "raxl.intake.lspci_list",
    "lspci-tree": "raxl.intake.lspci_tree",
    "ibstat": "raxl.intake.ibstat",
    "ibstatus": "raxl.intake.ibstatus",
    "ibv_devinfo": "raxl.intake.ibv_devinfo",
    "ibdev2netdev": "raxl.intake.ibdev2netdev",
    "rdma-link": "raxl.intake.rdma_link",
    "nicctl": "raxl.intake.nicctl",
    "ibnetdiscover": "raxl.intake.ibnetdiscover",
    "nccl-log": "raxl.intake.nccl_log",
    "ucx-log": "raxl.intake.ucx_log",
    "environment": "raxl.intake.environment",
    "neuron-ls": "raxl.intake.neuron_ls",
    "neuron-monitor": "raxl.intake.neuron_monitor",
    "rbln-smi": "raxl.intake.rbln_smi",
    "furiosa-smi": "raxl.intake.furiosa_smi",
    "tt-smi": "raxl.intake.tt_smi",
    "tt-umd": "raxl.intake.tt_umd",
    "mx-smi": "raxl.intake.mx_smi",
    "hl-smi": "raxl.intake.hl_smi_table",
    "hl-smi -Q": "raxl.intake.hl_smi_csv",
    "hl-smi -n": "raxl.intake.hl_smi_ports",
    "npu-smi info": "raxl.intake.npu_smi_table",
    "npu-smi info -t topo": "raxl.intake.npu_smi_topo",
    "cloud metadata": "raxl.intake.cloud_documents",
    "gcp physical_host": "raxl.intake.gcp_hosts",
    "kubectl get nodes": "raxl.intake.kubernetes_nodes",
    "slurm topology": "raxl.intake.slurm_network",
    "topograph model": "raxl.intake.topograph_model",
    "gpustack worker": "raxl.intake.gpustack_worker",
    "xpu-smi -j": "raxl.intake.xpu_smi_json",
    "xpu-smi discovery": "raxl.intake.xpu_smi_table",
    "xpu-smi topology": "raxl.intake.xpu_smi_topo",
    "ray nodes": "raxl.intake.ray_dump",
    "kernel-log": "raxl.intake.kernel_log",
    "fabric manager log": "raxl.intake.fabric_manager_log",
}
"""By form, the module that reads it: `recognises(text)` whether such an output is in it, `own(text)` that output alone,
`parse(text)` what it says. Imported when there is a text to recognise or such a document to read."""
_PARSERS = {"hwloc-xml": "raxl.intake.hwloc_xml", "nccl-xml": "raxl.intake.nccl_xml", **TEXTS}


def machines(form: str, text: str) -> list[str]:
    """The text by machine: a tool that shows a whole fabric tells of many."""
    apart = getattr(import_module(TEXTS[form]), "machines", None) if form in TEXTS else None
    return apart(text) if apart is not None else [text]


def read(host: Host) -> tuple[list[Foreign], list[Problem]]:
    """What each document says, and what was wrong with it."""
    documents: list[Foreign] = []
    problems: list[Problem] = []
    for form, module in _PARSERS.items():
        answer = host.document(form)
        if answer.known:
            document, damage = _parsed(module, answer.value)
            documents.append(document)
            problems.extend(damage)
    return documents, problems


@lru_cache(maxsize=32)
def _parsed(module: str, text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """A document is asked for its host's name first and for all else later: it is parsed once."""
    return import_module(module).parse(text)  # type: ignore[no-any-return]
