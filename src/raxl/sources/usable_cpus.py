"""How many CPUs a process that raxl starts may use: its affinity, and the quotas of its control groups.

sched_getaffinity(2); https://docs.kernel.org/admin-guide/cgroup-v2.html (cpu.max), and of version 1
https://docs.kernel.org/scheduler/sched-bwc.html. Inside a container the group is mounted as the root of the tree.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Optional

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading
from raxl.model.problem import FAILED, NOT_PRESENT
from raxl.sources.numbers import MOST_COUNT, MOST_PLACES, whole

FOLDER, GROUPS, AFFINITY = "/sys/fs/cgroup", "/proc/self/cgroup", "sched_getaffinity(2)"
_QUOTA, _PERIOD, _MOST_DEEP = "cpu.cfs_quota_us", "cpu.cfs_period_us", 16


class Answers(NamedTuple):
    """The affinity, and by file the quotas of every group that the process is in, the outermost first."""

    affinity: Answer
    files: Mapping[str, Answer]


def ask(host: Host) -> Answers:
    """Asks for the affinity, and for the quota of each group from the root of the tree down."""
    files: Dict[str, Answer] = {}
    for line in (stripped(host.text(GROUPS)) or "").splitlines()[:64]:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            files.update((name, host.text(name)) for name in _below(FOLDER, path, "cpu.max"))
        elif "cpu" in controllers.split(","):
            for name in (*_below(f"{FOLDER}/{controllers}", path, _QUOTA), *_below(f"{FOLDER}/cpu", path, _QUOTA)):
                period = f"{name[: -len(_QUOTA)]}{_PERIOD}"
                files.update({name: host.text(name), period: host.text(period)})
    return Answers(host.process("affinity"), files)


def _below(folder: str, path: str, name: str) -> List[str]:
    """The file in the folder, and in each folder on the way to the group. A way that leads out of the tree is none."""
    parts = [part for part in path.split("/") if part][:_MOST_DEEP]
    if ".." in parts:
        parts = []
    return ["/".join([folder, *parts[:depth], name]) for depth in range(len(parts) + 1)]


def reading(host: Host) -> Reading:
    """How many, at least one: a share of a CPU that is left over counts for none, as in Ray."""
    answers = ask(host)
    affinity, files = answers.affinity, answers.files
    allowed = affinity.value if isinstance(affinity.value, int) and 0 < affinity.value <= MOST_PLACES else None
    told = {AFFINITY: float(allowed)} if allowed is not None else {}
    for name, answer in files.items():
        if name.endswith(_PERIOD):
            continue
        period = files.get(f"{name[: -len(_QUOTA)]}{_PERIOD}") if name.endswith(_QUOTA) else None
        share = _share(stripped(answer), stripped(period) if period is not None else None)
        if share is not None:
            told[name] = share
    if not told:
        reason = affinity.reason or FAILED
        return Reading(None, AFFINITY, reason if reason != NOT_PRESENT else FAILED, affinity.message)
    source = min(told, key=lambda name: told[name])
    return Reading(max(1, int(told[source])), source)


def _share(quota: Optional[str], period: Optional[str]) -> Optional[float]:
    """How many CPUs a quota is: `200000 100000` is 2; None where it is no bound."""
    words = (quota or "").split()
    if period is not None:
        words = [*words[:1], period]
    numbers = [whole(word, MOST_COUNT) for word in words]
    if len(numbers) != 2 or not numbers[0] or not numbers[1]:
        return None
    return numbers[0] / numbers[1]
