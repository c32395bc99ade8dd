"""What `nvidia-smi` says of the devices: its XML, and its matrix of link classes."""

from __future__ import annotations

from functools import lru_cache
from typing import Sequence

from raxl.host import Answer
from raxl.model.accelerator import RayView
from raxl.model.link import fabric_class
from raxl.model.nic import Nic
from raxl.model.problem import DISAGREEMENT, FAILED, Problem
from raxl.model.report import Claim, LinkClaim, Silence, Witness
from raxl.sources import nvidia_names, nvidia_smi_topo, nvidia_smi_xml
from raxl.sources.nvidia_smi_device import claim, software

QUERY, MATRIX = " ".join(nvidia_smi_xml.COMMAND), " ".join(nvidia_smi_topo.COMMAND)
_MOST_TOLD = 8
"""How many contradictions of one kind are told by themselves."""
_UNLISTED = Silence(FAILED, "nvidia-smi does not list this device", QUERY)


def witness(query: Answer, printed: Answer, own: Sequence[str]) -> Witness:
    """What both outputs say; `own` are the addresses on the bus that NVIDIA's driver holds, in order."""
    log = _log(query)
    matrix, unseen = _matrix(printed, None if log is not None else own)
    listed = {gpu.address for gpu in log.gpus if gpu.address} if log is not None else set()
    claims = [_device(index, gpu) for index, gpu in enumerate(log.gpus)] if log is not None else []
    problems = _query_problems(log) if log is not None else []
    links, contradictions = _matrix_links(printed.value.stdout) if matrix is not None else ((), ())
    if matrix is not None:
        claims += _from_matrix(matrix, own if log is None else [])
        listed.update(own if log is None else [])
    if matrix is not None and matrix.damage:
        problems.append(Problem("links", FAILED, f"the matrix is incomplete: {matrix.damage}", (MATRIX,)))
    return Witness(
        silence=_refusal(query, QUERY) if log is None else _UNLISTED,
        unseen=unseen,
        claims=tuple(claims),
        links=links,
        nics=tuple(Nic(name, evidence=(MATRIX,)) for name in matrix.nics) if matrix is not None else (),
        problems=(*problems, *contradictions),
        software=software(QUERY, log.driver, log.cuda) if log is not None else (),
        listing=len(log.gpus) if log is not None else None,
        listed=frozenset(listed),
        joined=frozenset(listed) if matrix is not None else frozenset(),
    )


def _log(query: Answer) -> nvidia_smi_xml.Log | None:
    """The document; None where the tool printed something else: it failed, and says so in words."""
    printed = query.value.stdout if query.known else ""
    return nvidia_smi_xml.parse(printed) if f"<{nvidia_smi_xml.ROOT}" in printed else None


def _matrix(answer: Answer, own: Sequence[str] | None) -> tuple[nvidia_smi_topo.Matrix | None, Silence]:
    """The matrix, and why it says nothing of a device.

    It has numbers and no addresses. `own` is given where these addresses alone must tell which device is which: the
    driver numbers in their order, so as many of both are the same ones.
    """
    printed = answer.value.stdout if answer.known else ""
    if not nvidia_smi_topo.recognises(printed):
        return None, _refusal(answer, MATRIX)
    matrix = nvidia_smi_topo.parse(printed)
    if own and len(own) != len(matrix.gpus):
        words = f"the matrix has {len(matrix.gpus)} GPUs and the bus {len(own)}: which is which is not told"
        return None, Silence(DISAGREEMENT, words, MATRIX)
    return matrix, _UNLISTED


def _refusal(answer: Answer, command: str) -> Silence:
    """Why a command told nothing: it could not be run, or in its own words."""
    if not answer.known:
        return Silence(answer.reason or FAILED, answer.message, command)
    words = (answer.value.stdout + answer.value.stderr).strip().splitlines()
    return Silence(FAILED, words[0][:200] if words else f"nvidia-smi ended with {answer.value.status}", command)


def _device(index: int, gpu: nvidia_smi_xml.Gpu) -> Claim:
    return claim(QUERY, gpu.words, index=index, partitions=gpu.partitions, is_cut=gpu.is_cut)


def _query_problems(log: nvidia_smi_xml.Log) -> list[Problem]:
    problems = []
    if log.damage:
        problems.append(Problem("accelerators", FAILED, f"nvidia-smi's output is incomplete: {log.damage}", (QUERY,)))
    if log.attached is not None and log.attached != len(log.gpus):
        message = f"nvidia-smi states {log.attached} attached GPUs and lists {len(log.gpus)}"
        problems.append(Problem("accelerators", DISAGREEMENT, message, (QUERY,)))
    return problems


def _from_matrix(matrix: nvidia_smi_topo.Matrix, places: Sequence[str]) -> list[Claim]:
    """`places`: the addresses in the matrix's order, where they are known."""
    claims = []
    for place, name in enumerate(matrix.gpus):
        row = matrix.rows.get(name)
        claims.append(
            Claim(
                vendor="nvidia",
                kind="gpu",
                evidence=MATRIX,
                address=places[place] if places else None,
                index=int(name[3:]),
                numa_node=row.numa_node if row else None,
                local_numa_nodes=row.local_numa_nodes if row else (),
                memory_numa_node=row.memory_numa_node if row else None,
                ray=RayView(resource="GPU"),
                visible_env=nvidia_names.VISIBLE,
            )
        )
    return claims


@lru_cache(32)
def _matrix_links(printed: str) -> tuple[tuple[LinkClaim, ...], tuple[Problem, ...]]:
    """Nothing in it is a machine's own: those of one kind print the same."""
    matrix = nvidia_smi_topo.parse(printed)
    links: dict[frozenset[str], LinkClaim] = {}
    problems = [Problem("links", DISAGREEMENT, words, (MATRIX,)) for words in _few(matrix.differences)]
    for (a, b), value in matrix.cells.items():
        if a == b or value in ("X", "N/A") or not (a in matrix.gpus or b in matrix.gpus):
            continue
        nvlinks = int(value[2:]) if value.startswith("NV") else None
        claim = LinkClaim(
            a=_matrix_name(a, matrix),
            b=_matrix_name(b, matrix),
            link_class=value if nvlinks is None else fabric_class("nvlink", nvlinks),
            kind="pcie" if nvlinks is None else "nvlink",
            count=nvlinks,
            evidence=MATRIX,
        )
        known = links.setdefault(frozenset((a, b)), claim)
        if known.link_class != claim.link_class:
            message = f"the matrix calls {a}–{b} {known.link_class} in one row and {claim.link_class} in the other"
            problems.append(Problem("links", DISAGREEMENT, message, (MATRIX,)))
    return tuple(links.values()), tuple(problems)


def _few(messages: Sequence[str]) -> Sequence[str]:
    more = len(messages) - _MOST_TOLD
    return (*messages[:_MOST_TOLD], f"and {more} pairs more have two classes") if more > 0 else messages


def _matrix_name(name: str, matrix: nvidia_smi_topo.Matrix) -> str:
    return f"nvidia#{int(name[3:])}" if name in matrix.gpus else name
