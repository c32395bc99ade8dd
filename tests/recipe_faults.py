"""Applies and takes back recipes in children that are killed, or whose system calls fail, at the n-th of them.

`python recipe_faults.py` reads a JSON document from standard input and writes one to standard output:

    {"do": "apply" | "rollback", "files": {…}, "force": false, "fault": "kill" | "once" | "on", "cases": [[ROOT, N], …]}

Each case is a child of its own; Python tells an audit hook of every call that opens, makes, renames, links or removes
something, before it is made. `kill` is SIGKILL at the n-th; `once` has that one fail as on a full disk, `on` all from
it on. 0 lets everything be. The answer has for each case what the child said and the calls that it saw; with `list`
also what lies below the root then. `uid` is whose process it is. With `"do": "race"` every case is a child that plans,
waits for the others, and applies files of its own: the N-th `racing(N)`; with `"do": "toggle"` the files are applied
and taken back N times.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import recipe_roots

EVENTS = (
    "open",
    "os.mkdir",
    "os.rename",
    "os.symlink",
    "os.remove",
    "os.rmdir",
    "os.listdir",
    "fcntl.flock",
    "raxl.fsync",
)
_fsync = os.fsync


class Faults:
    """Counts the calls, and makes one of them end otherwise."""

    def __init__(self, fault: str, place: int) -> None:
        self.fault, self.place = fault, place
        self.calls: list[str] = []

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in EVENTS:
            return
        self.calls.append(" ".join([event, *(str(one) for one in arguments if isinstance(one, (str, int)))]))
        count = len(self.calls)
        if self.place and self.fault == "kill" and count == self.place:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.place and (count == self.place or (self.fault == "on" and count > self.place)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def audited_fsync(descriptor: int) -> None:
    """`os.fsync`, which Python tells no hook of."""
    sys.audit("raxl.fsync", os.readlink(f"/proc/self/fd/{descriptor}"))
    _fsync(descriptor)


def act(order: dict[str, Any], root: Path) -> str:
    """Does it; says what came of it."""
    from raxl.errors import RaxlError

    try:
        if order["do"] == "apply":
            recipe_roots.applied(root, order["files"], order.get("force", False))
        else:
            recipe_roots.rolled_back(root, order.get("force", False))
    except RaxlError as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def one(order: dict[str, Any], root: Path, place: int) -> dict[str, Any]:
    """A child's end."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        faults = Faults(order["fault"], place)
        os.fsync = audited_fsync
        sys.addaudithook(faults.hook)
        try:
            told = act(order, root)
        except BaseException as error:
            told = f"raised {type(error).__name__}: {error}"
        faults.place = 0
        with os.fdopen(writing, "w") as pipe:
            json.dump({"said": told, "calls": faults.calls}, pipe)
            pipe.flush()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(text) if text else {"said": f"killed {-status}", "calls": []}


def racing(number: int) -> dict[str, str]:
    """What a child of a race applies."""
    return {"a.env": f"export A={number}\n", f"only-{number}.yaml": "x" * 4096}


def race(cases: list[tuple[str, int]]) -> list[dict[str, Any]]:
    """What each of them said, in their order."""
    from raxl.errors import RaxlError
    from raxl.recipe import apply, generations

    start, go = os.pipe()
    pipes = []
    for root, number in cases:
        reading, writing = os.pipe()
        pipes.append(reading)
        if os.fork():
            os.close(writing)
            continue
        os.close(go)
        state = generations.state(Path(root))
        os.write(writing, b"ready ")
        os.read(start, 1)
        try:
            apply.applied(recipe_roots.plan(state, racing(number)), state, recipe_roots.CREATED)
            told = "done"
        except RaxlError as error:
            told = f"{type(error).__name__}: {error}"
        except BaseException as error:
            told = f"raised {type(error).__name__}: {error}"
        os.write(writing, told.encode())
        os._exit(0)
    assert [os.read(pipe, 6) for pipe in pipes] == [b"ready "] * len(pipes)
    os.close(go)
    found = []
    for pipe in pipes:
        with os.fdopen(pipe) as told:
            found.append({"said": told.read()})
        os.wait()
    return found


def main() -> None:
    order = json.load(sys.stdin)
    # Once in the parent: what is imported on the way is not counted in every child.
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        recipe_roots.applied(Path(folder), recipe_roots.FIRST)
        recipe_roots.rolled_back(Path(folder))
    if "uid" in order:
        os.setgroups([])
        os.setgid(order["uid"])
        os.setuid(order["uid"])
    if order["do"] == "toggle":
        for root, times in order["cases"]:
            for _ in range(times):
                recipe_roots.applied(Path(root), order["files"])
                recipe_roots.rolled_back(Path(root))
        return
    if order["do"] == "race":
        json.dump(race(order["cases"]), sys.stdout)
        return
    found = [one(order, Path(root), place) for root, place in order["cases"]]
    for answer, (root, _) in zip(found, order["cases"]):
        if order.get("list"):
            answer["listing"] = recipe_roots.listing(Path(root))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
