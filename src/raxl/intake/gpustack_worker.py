"""A worker's record of GPUStack, JSON: the machine's system and its devices. Ascend NPUs are read.

https://github.com/gpustack/gpustack (`gpustack/schemas/workers.py`)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from raxl.intake.foreign import Foreign
from raxl.model.accelerator import RayView
from raxl.model.node import Cpu, OperatingSystem
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, Report, Silence
from raxl.sources import json_text
from raxl.sources.ascend import ASCEND, RAY_TYPE, VISIBLE_IDS, ray_type
from raxl.sources.numbers import MOST_BYTES, MOST_PLACES, whole

FORM = "gpustack worker"
_SYSTEM = ("cpu", "os", "kernel")
_KEPT = ("index", "device_index", "device_chip_index", "name", "uuid", "vendor")
_MOST = 512


def recognises(text: str) -> bool:
    """Whether a document with a list `gpu_devices` is in it."""
    return '"gpu_devices"' in text and any(True for _ in _workers(text))


def own(text: str) -> str:
    """What is read of the records: neither addresses, nor file systems, nor labels. A damaged one stays open."""
    held = [(json.dumps(_kept(worker), ensure_ascii=False), damage) for worker, damage in _workers(text)]
    return "\n".join(kept if damage is None else kept[:-1] for kept, damage in held)


def _workers(text: str) -> Iterator[tuple[Mapping[str, Any], str | None]]:
    """Each record in the text, and why it ends early."""
    for document in json_text.documents(text):
        for one in document.value if isinstance(document.value, list) else [document.value]:
            if isinstance(one, dict) and isinstance(_section(one).get("gpu_devices"), list):
                yield one, document.damage


def _section(worker: Mapping[str, Any]) -> Mapping[str, Any]:
    status = worker.get("status")
    return status if isinstance(status, dict) else worker


def _kept(worker: Mapping[str, Any]) -> dict[str, Any]:
    status = _section(worker)
    devices = [
        {**{key: one[key] for key in _KEPT if key in one}, "memory": {"total": _inner(one, "memory", "total")}}
        for one in status["gpu_devices"][:_MOST]
        if isinstance(one, dict)
    ]
    labels = {"arch": _inner(worker, "labels", "arch")}
    kept = {key: status[key] for key in _SYSTEM if key in status}
    return {"hostname": worker.get("hostname"), "labels": labels, "status": {**kept, "gpu_devices": devices}}


def _inner(record: Mapping[str, Any], *names: str) -> Any:
    value: Any = record
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _text(record: Mapping[str, Any], *names: str) -> str | None:
    value = _inner(record, *names)
    return value.strip() or None if isinstance(value, str) else None


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The first record's machine and its Ascend NPUs, by the record's own numbers."""
    workers = list(_workers(text))
    if not workers:
        return Foreign(FORM), (Problem("accelerators", FAILED, "no worker's record is whole", (FORM,)),)
    worker, damage = workers[0]
    status = _section(worker)
    devices = [one for one in status["gpu_devices"][:_MOST] if isinstance(one, dict)]
    own_devices = [one for one in devices if _vendor(one) == ASCEND.vendor]
    problems = []
    if damage:
        problems.append(Problem("accelerators", FAILED, f"the worker's record is damaged: {damage}", (FORM,)))
    if len(workers) > 1:
        message = f"the text holds {len(workers)} workers, of which the first is read"
        problems.append(Problem("accelerators", DISAGREEMENT, message, (FORM,)))
    others = len(devices) - len(own_devices)
    if others:
        message = f"{others} devices of other vendors are in the record, and are not read from it"
        problems.append(Problem("accelerators", NOT_SUPPORTED, message, (FORM,)))
    threads = whole(_text(status, "cpu", "total"), MOST_PLACES)
    names = [_text(status, "os", "name"), _text(status, "os", "version")]
    system = OperatingSystem(
        kernel=_text(status, "kernel", "release"),
        distribution=" ".join(filter(None, names)) or None,
        architecture={"arm64": "aarch64", "amd64": "x86_64"}.get(_text(worker, "labels", "arch") or ""),
    )
    report = Report(claims=tuple(map(_claim, own_devices)))
    hostname = _text(worker, "hostname")
    return Foreign(FORM, os=system, cpu=Cpu(threads=threads or None), hostname=hostname, report=report), tuple(problems)


def _vendor(device: Mapping[str, Any]) -> str:
    return (_text(device, "vendor") or "").lower()


def _claim(device: Mapping[str, Any]) -> Claim:
    model, memory = _text(device, "name"), whole(_text(device, "memory", "total"), MOST_BYTES) or None
    kind = ray_type(model)
    numbers = {"card": device.get("device_index"), "chip": device.get("device_chip_index")}
    counted = {name: whole(value, MOST_PLACES) for name, value in numbers.items() if isinstance(value, str)}
    return Claim(
        vendor=ASCEND.vendor,
        kind=ASCEND.kind,
        evidence=FORM,
        index=whole(_text(device, "index"), MOST_PLACES),
        uuid=_text(device, "uuid"),
        model=model,
        memory_bytes=memory,
        ray=RayView(resource=ASCEND.resource, type=kind),
        visible_env=ASCEND.visible_env,
        attributes={
            "visible_env_ids": VISIBLE_IDS,
            **{name: value for name, value in counted.items() if value is not None},
        },
        silent={
            "state": Silence(NOT_ASKED, "a worker's record does not hold it"),
            **({} if kind else {"ray.type": RAY_TYPE}),
        },
    )
