"""A whole recipe as text, and what becomes of it when a part of it is something else."""

from __future__ import annotations

WHOLE = """\
schema: raxl.recipe/v1
name: trial
title: A trial
summary: >
  Of every part
  a little.
source:
  - {id: page, url: "https://example.org/page", read: 2026-07-13, covers: [env]}
  - {id: log, url: "https://example.org/log", read: 2026-02}
match:
  all:
    - {fact: accelerators.count, op: "==", value: 8}
    - {fact: placement.instance_type, op: matches, value: "p5*"}
hardware:
  accelerators: 8
  link: nvlink-4
  nics: 8
  nic_bits_per_second: 400e9
requires:
  - id: driver
    fact: software.nvidia-driver
    op: ">="
    value: "570"
    level: block
    remedy: install it
    source: page
versions:
  - {name: nccl, value: "2.29.3", source: page}
parameters:
  gpus: {fact: accelerators.count}
  half: {rule: fraction, options: {of: shm.size_bytes, share: 0.5}}
env:
  set:
    - {name: NCCL_IB_TC, value: "41", why: the class of the fabric, source: page}
    - {name: FI_PROVIDER, value: efa, why: the only one, unverified: nobody says so, scope: workers}
  unset:
    - {name: NCCL_PROTO, op: "==", value: simple, why: stale, source: page}
ray:
  start:
    num-gpus: "{gpus}"
    object-store-memory: "{half}"
  labels:
    raxl/scale-up: nvlink
  resources:
    slots: 4
kuberay:
  patch:
    labels: {team: a}
    template:
      spec:
        containers:
          - name: ray-worker
            resources: {limits: {nvidia.com/gpu: "{gpus}"}}
diagnose:
  only: ["host.*", "nvidia.*"]
  skip:
    - {check: "ib.*", why: there is no such fabric}
  expected: {accelerators: "{gpus}"}
expect:
  - id: two-nodes
    collective: all_reduce
    nodes: 2
    ranks: 16
    metric: bus_bandwidth_bytes_per_second
    kind: observed
    value: 437.8e9
    size_bytes: 2147483648
    path: [AWS Libfabric]
    software: {nccl: "2.29.3"}
    source: log
    date: 2026-02
notes:
  - A note.
"""
MARK = "  # here"
"""Behind the line that an error is to name."""


def changed(old: str, new: str) -> tuple[str, int]:
    """The recipe with one part replaced, without the mark, and the line that had it."""
    assert WHOLE.count(old) == 1, f"{old!r} is there {WHOLE.count(old)} times"
    text = WHOLE.replace(old, new)
    (line,) = (number for number, one in enumerate(text.splitlines(), 1) if one.endswith(MARK))
    return text.replace(MARK, ""), line
