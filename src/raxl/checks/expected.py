"""What the `expected` of a policy file may say: each key, what it takes, what it means and which check holds it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from raxl.checks import Case
from raxl.checks.fleet_fields import kind_of
from raxl.errors import UnreadableInput, UsageError
from raxl.topology import expectation
from raxl.topology.expectation import Expectation

_MOST = 1_000_000


class Key(NamedTuple):
    """One thing that can be expected of each node."""

    check: str
    """The id of the check that compares it."""
    takes: str
    meaning: str
    holds: Callable[[object], bool]


def _is_count(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value in range(_MOST)


def _speed(value: object) -> float | None:
    """YAML takes `400e9` for a text, since it has no point and no sign."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?(e[0-9]{1,2})?", value, re.ASCII):
        value = float(value)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if math.isfinite(value) and value > 0 else None


def _is_speed(value: object) -> bool:
    return _speed(value) is not None


def _is_of_types(value: object) -> bool:
    try:
        return _is_count(value) or bool(_types(value))
    except UsageError:
        return False


def _types(value: object) -> Sequence[Expectation]:
    """`8xH100, 1xT4`, or a list of such. Raises UsageError for anything else."""
    told = value.split(",") if isinstance(value, str) else value
    if not isinstance(told, (list, tuple)) or not all(isinstance(one, str) for one in told):
        raise UsageError(f"{value!r} is not COUNTxTYPE")
    return [expectation.parse(one) for one in told]


def _like(pattern: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


_COUNT = "a whole number"
KEYS: Mapping[str, Key] = {
    "accelerators": Key(
        "accelerator.count",
        "8xH100, several with a comma or as a list, or a whole number",
        "exactly so many work, and no others",
        _is_of_types,
    ),
    "nics": Key("nic.count", _COUNT, "at least so many RDMA adapters are there; ib.port-state: are active", _is_count),
    "nic_speed_bits_per_second": Key(
        "ib.rate", "a number such as 400e9", "each active port but those for management is at least as fast", _is_speed
    ),
    "nodes": Key("ray.node-dead", _COUNT, "at least so many nodes are alive in Ray's cluster", _is_count),
    "neuron_devices": Key("neuron.count", _COUNT, "at least so many Neuron devices", _is_count),
    "tpu_chips": Key("tpu.present", _COUNT, "at least so many TPU chips", _is_count),
    "compute_partition": Key("amd.partition", "SPX, DPX, TPX, QPX or CPX", "of each AMD GPU", _like("[SDTQC]PX")),
    "memory_partition": Key("amd.partition", "NPS1, NPS2, NPS4 or NPS8", "of each AMD GPU", _like("NPS[1248]")),
}
_FIELDS = "what fleet.* compare (kernel, distribution, nvidia, a package, 'H100 vbios', 'limit memlock')"


def held(expected: Mapping[str, object]) -> None:
    """Raises UnreadableInput for a key that nothing compares, and for what a key does not take."""
    for name, value in expected.items():
        key = KEYS.get(name)
        if key is not None and not key.holds(value):
            raise UnreadableInput(f"the policy expects {name}: {_shown(value)}", f"{name} takes {key.takes}")
        if key is None and kind_of(name) is None:
            known = f"known are {', '.join(KEYS)}, and {_FIELDS}"
            raise UnreadableInput(f"the policy expects {_shown(name)}, which no check compares", known)
        if key is None and not _is_field(name, value):
            why = f"{_shown(name)} takes text: write it in quotes"
            raise UnreadableInput(f"the policy expects {_shown(name)}: {_shown(value)}", why)


def _is_field(name: str, value: object) -> bool:
    """YAML makes a number of 12.10, which is 12.1: a version is a text. Settings may be whole numbers."""
    is_whole = isinstance(value, (int, float)) and not isinstance(value, bool) and float(value).is_integer()
    return (isinstance(value, str) and value.strip() != "") or (is_whole and kind_of(name) == "setting")


def _shown(value: object) -> str:
    return (f"{value:g}" if isinstance(value, (int, float)) else str(value))[:60]


def accelerators(case: Case) -> int | Sequence[Expectation] | None:
    """How many, or how many of which."""
    told = case.policy.expected.get("accelerators")
    if told is None or isinstance(told, (int, float)):
        return None if told is None else int(told)
    return _types(told)


def count(case: Case, name: str) -> int | None:
    """The number that a key says."""
    told = case.policy.expected.get(name)
    return int(told) if isinstance(told, (int, float)) else None


def speed(case: Case) -> float | None:
    """The least rate of a port, in bits a second."""
    return _speed(case.policy.expected.get("nic_speed_bits_per_second"))


def field(case: Case, name: str) -> str | None:
    """What a field is to be, as text."""
    told = case.policy.expected.get(name)
    if told is None:
        return None
    return f"{told:.0f}" if isinstance(told, (int, float)) else str(told)


def golden(case: Case, name: str) -> str | None:
    """The same of a field by which nodes are compared, and which no other check holds."""
    return None if name in KEYS else field(case, name)


def fields(case: Case, kind: str) -> list[str]:
    """The names of those of one kind that the policy has."""
    return [name for name in case.policy.expected if name not in KEYS and kind_of(name) == kind]
