"""The console script. A command about this machine begins to ask it before typer is loaded, which takes as long."""

from __future__ import annotations

import os
import sys
from typing import Sequence

LIVE = ("discover", "topo", "labels", "place", "diagnose")
"""Commands that read this machine unless `--from` names something else."""
_OTHERWISE = ("--from", "--plugins", "--cluster", "--list", "--explain")
"""Flags with which nothing is asked, or something else."""


def main() -> None:
    """Runs the command line and leaves with the contract's exit code."""
    import gc

    for name, descriptor in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:  # closed: what is opened next would take its place
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "w" if descriptor else "r"))
    gc.set_threshold(100_000)  # a command makes few cycles, and looking for them costs a tenth of its time

    try:
        if will_ask(sys.argv[1:]):
            from raxl.collect import live

            live.begin(questions(sys.argv[1:]))
        from raxl.cli import completions, outcome
        from raxl.cli.app import app

        if completions.VARIABLE in os.environ:
            from typer.completion import completion_init  # type: ignore[attr-defined]

            completion_init()
        code = outcome.run(app, sys.argv[1:])
    except KeyboardInterrupt:  # while modules are loaded
        code = 130
    finally:
        for name in ("raxl.collect.live", "raxl.collect.cluster"):
            if (loaded := sys.modules.get(name)) is not None:
                loaded.leave()
    if code == 130:
        _leave_interrupted()
    sys.exit(code)


def _leave_interrupted() -> None:
    """Leaves with 130. An interpreter that was interrupted within `exec` of a text, as of a dataclass or named tuple
    that is being made, would kill itself with SIGINT at its end, though the interrupt was caught
    (`run_eval_code_obj`, https://github.com/python/cpython/blob/3.11/Python/pythonrun.c)."""
    import contextlib

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(130)


def will_ask(arguments: Sequence[str]) -> bool:
    """Whether these arguments will surely have this machine asked: wrong ones may, and cost a child that is ended."""
    asks = bool(arguments) and arguments[0] in LIVE
    if os.environ.get("RAXL_PLUGINS"):  # which they are is told later
        return False
    return asks and not any(word.startswith(_OTHERWISE) or word in ("-h", "--help") for word in arguments)


def questions(arguments: Sequence[str]) -> str:
    """Which questions, in the words of `raxl.plugins.registry`; where it is mistaken, others are asked later."""
    if arguments[0] != "diagnose":
        return "common"
    return "quick" if "quick" in arguments or "--level=quick" in arguments else "checks"
