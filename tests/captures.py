"""Real captures of other tools, where RAXL_CORPUS names a folder of them. They are read in place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CORPUS = Path(os.environ["RAXL_CORPUS"]) if os.environ.get("RAXL_CORPUS") else None
FORMS = {
    "nvidia-smi-topo": "*.txt",
    "nvidia-smi-text": "*.*",
    "nvidia-smi-xml": "*.xml",
    "nccl-topo-xml": "*.xml",
    "hwloc-xml": "*.xml",
    "hwloc-sysfs": "*.tar.*",
    "kfd": "*.tar.gz",
    "amd-smi-json": "*.json",
    "amd-smi-text": "*.txt",
    "lspci": "*.txt",
    "ib": "*.[ot][ux]t",
    "tpu": "*.yaml",
    "neuron": "*.*",
    "gaudi": "*.txt",
    "ascend": "*.*",
    "other-npu": "*.*",
    "cloud-metadata": "*.*",
}
NONE = pytest.param(None, marks=pytest.mark.skip(reason="RAXL_CORPUS names no corpus"), id="no corpus")


def of(*kinds: str) -> list[Path]:
    """The captures of these kinds; none without a corpus."""
    if CORPUS is None:
        return []
    found = [path for kind in kinds for path in sorted((CORPUS / kind).glob(FORMS[kind]))]
    return [path for path in found if path.parent.name != "nvidia-smi-topo" or _is_matrix(path)]


def _is_matrix(path: Path) -> bool:
    """`topo -p2p` prints another table, and some platforms only an error."""
    return "CPU Affinity" in path.read_text(errors="replace")


def parameters(*kinds: str) -> list[object]:
    """For `pytest.mark.parametrize`: the captures, or one test that is visibly skipped."""
    return [pytest.param(path, id=f"{path.parent.name}/{path.name}") for path in of(*kinds)] or [NONE]
