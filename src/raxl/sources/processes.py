"""Processes that checks go by, and the versions in the Python that Ray runs in.

By name, `readings` gives:

    stuck      of each process in state D at both looks: `pid`, `comm`, `seconds` between them, `wchan`, `stack`
    raylets    of each raylet: `pid`; `started` (clock ticks after the boot); `limits`, by `memlock` and `nofile` (soft,
               hard), None within is unlimited; `environment` (the allowed part; None: not to be read); `arguments`
               (those of ports and object store); `plasma` (`kind` of file system, `size_bytes`) or None; `versions`
               like the reading of that name, or None; `is_ours`: whether who asked runs as the same user
    workers    of each process with a title of Ray's: `pid`, `parent`, `title`
    holders    of each process that has an accelerator's device file open: `pid`, `parent`, `comm`, `nodes`, `is_ours`,
               `is_rays` (whether it descends from a raylet)
    seen       `processes`; `denied` and `late`: into how many of them nobody could look for device files
    lock       libtpu's lock file: `path`, `is_ours`, `age_seconds`; its value is None where there is none
    versions   `python`, `commit` (Ray's) or None, `packages` and `libraries` by name; a library has several versions
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from raxl.host import Answer, Host
from raxl.model.facts import Reading
from raxl.model.problem import FAILED

_SOURCE, _VERSIONS = "/proc", "dist-info"
_UNLIMITED = -1


class Answers(NamedTuple):
    """The table of processes, and versions."""

    table: Answer
    versions: Answer


def ask(host: Host) -> Answers:
    """Asks for both."""
    return Answers(host.process("processes"), host.process("versions"))


def readings(host: Host) -> Dict[str, Reading]:
    """What was seen, by name."""
    answers = ask(host)
    parts: Dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "stuck": _stuck,
        "raylets": lambda table: tuple(map(_raylet, _records(table, "raylets"))),
        "workers": lambda table: tuple(_records(table, "workers")),
        "holders": lambda table: tuple(map(_holder, _records(table, "holders"))),
        "seen": lambda table: {name: _number(table.get(name)) or 0 for name in ("processes", "denied", "late")},
        "lock": lambda table: _mapping(table.get("lock")) or None,
    }
    found = {name: _reading(answers.table, _SOURCE, part) for name, part in parts.items()}
    return {**found, "versions": _reading(answers.versions, _VERSIONS, _versions)}


def _reading(answer: Answer, source: str, part: Callable[[Mapping[str, Any]], Any]) -> Reading:
    if not answer.known:
        return Reading(None, source, answer.reason, answer.message)
    try:
        return Reading(part(answer.value), source)
    except (
        TypeError,
        ValueError,
        KeyError,
        AttributeError,
        IndexError,
        OverflowError,
    ) as error:  # a recording may be edited
        return Reading(None, source, FAILED, f"the recording holds no such table: {type(error).__name__}")


def _stuck(table: Mapping[str, Any]) -> Any:
    seconds = float(table["apart_seconds"])
    return tuple(
        {
            "pid": one["pid"],
            "comm": str(one.get("comm", "")),
            "seconds": seconds,
            "wchan": str(one.get("wchan", "")),
            "stack": "\n".join(map(str, one.get("stack", ()))),
        }
        for one in _records(table, "stuck")
    )


def _raylet(one: Mapping[str, Any]) -> Dict[str, Any]:
    limits = {
        name: (_limit(pair[0]), _limit(pair[1]))
        for name, pair in _mapping(one.get("limits")).items()
        if isinstance(pair, list) and len(pair) == 2
    }
    environment = one.get("environment")
    versions = one.get("versions")
    return {
        "pid": one["pid"],
        "started": _number(one.get("started")),
        "limits": limits,
        "environment": _words(environment) if isinstance(environment, dict) else None,
        "arguments": _words(one.get("arguments")),
        "plasma": _mapping(one.get("plasma")) or None,
        "versions": _versions(versions) if isinstance(versions, dict) else None,
        "is_ours": one.get("is_ours") is not False,
    }


def _holder(one: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        "pid": one["pid"],
        "parent": _number(one.get("parent")),
        "comm": str(one.get("comm", "")),
        "nodes": tuple(map(str, one.get("nodes", ()))),
        "is_ours": one.get("is_ours") is True,
        "is_rays": one.get("is_rays") is True,
    }


def _versions(told: Mapping[str, Any]) -> Dict[str, Any]:
    python, commit = told.get("python"), told.get("commit")
    return {
        "python": python if isinstance(python, str) else None,
        "commit": commit if isinstance(commit, str) else None,
        "packages": _words(told.get("packages")),
        "libraries": {
            name: tuple(map(str, several))
            for name, several in _mapping(told.get("libraries")).items()
            if isinstance(several, list)
        },
    }


def _limit(value: Any) -> Optional[int]:
    return None if value == _UNLIMITED else int(value)


def _number(value: Any) -> Optional[int]:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _words(told: Any) -> Dict[str, str]:
    return {name: value for name, value in _mapping(told).items() if isinstance(value, str)}


def _mapping(told: Any) -> Dict[str, Any]:
    return {str(name): value for name, value in told.items()} if isinstance(told, dict) else {}


def _records(table: Mapping[str, Any], name: str) -> List[Dict[str, Any]]:
    return [_mapping(one) for one in table[name] if isinstance(one, dict)]
