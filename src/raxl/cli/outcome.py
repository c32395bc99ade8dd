"""How a command ends: the exit code, and the one line that tells an error."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Sequence

import typer

from raxl.errors import RaxlError

if TYPE_CHECKING:
    from raxl.model.finding import Findings
    from raxl.model.inventory import Inventory

OK, WRONG, USAGE, INCOMPLETE, NOT_STARTED, INTERRUPTED = 0, 1, 2, 3, 4, 130
_COMMAND_LINE_ERROR: Any = typer.BadParameter.__mro__[2]
"""What typer raises for a wrong command line. It carries click inside, and publishes only this class's children."""
_VITAL = ("model", "memory_bytes", "state")
"""Of a device that is present, what makes an answer incomplete when it could not be read."""
_OTHERS = ("nics", "numa_nodes", "cpu", "plugins")
"""Subjects with such fields that are no accelerators."""
_WHOLE = ("node", "recording", "pci_tree", "links", "accelerators")
"""Subjects that concern a node as a whole."""


def run(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Runs the command line; returns its exit code. An error is one line on standard error."""
    command = typer.main.get_command(app)
    try:
        code = command.main(args=list(arguments), prog_name="raxl", standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except _COMMAND_LINE_ERROR as error:
        where = getattr(getattr(error, "ctx", None), "command_path", "raxl")
        return _told(f"{_one_line(error.format_message())} Try {where} --help", USAGE)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _leave_standard_output()
        return OK
    except OSError as error:
        _leave_standard_output()
        if "--debug" in arguments:
            raise
        return _told(
            _one_line(f"{error.filename or 'standard output'} failed ({error.strerror or error})"), NOT_STARTED
        )
    except RaxlError as error:
        if "--debug" in arguments:
            raise
        return _told(_one_line(str(error)), error.exit_code)
    return code if isinstance(code, int) else OK


def _leave_standard_output() -> None:
    """Points it to nowhere: else the interpreter flushes once more at exit, and complains."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _told(line: str, code: int) -> int:
    sys.stderr.write(f"raxl: error: {line}\n")
    return code


def _one_line(text: str) -> str:
    from raxl.model.printable import clean

    return " ".join(clean(text).split())


def of_inventory(inventory: Inventory) -> int:
    """INCOMPLETE when something that is present could not be read, and that matters; else OK.

    A node, its PCI tree, or a present device's model, memory, state or link classes matter; a source that cannot say
    (`not-asked`, `not-supported`) or a value that does not apply does not.
    """
    from raxl.model.problem import UNREAD

    for node in inventory.nodes:
        for problem in node.problems:
            name, _, field = problem.subject.rpartition(".")
            vital = problem.subject in _WHOLE or (field in _VITAL and not name.startswith(_OTHERS))
            if problem.reason in UNREAD and vital and not _is_nic(name, node.nics):
                return INCOMPLETE
    return OK


def _is_nic(name: str, nics: Sequence[object]) -> bool:
    return any(getattr(nic, "id", None) == name for nic in nics)


def of_findings(found: Findings, fail_on: str) -> int:
    """WRONG where one counts as `fail_on` says, INCOMPLETE where one that applies could not be answered, else OK."""
    from raxl.model.finding import FAIL, UNKNOWN, WARN

    counted = {one.status for one in found.findings if one.suppressed is None}
    if FAIL in counted or (fail_on == WARN and WARN in counted):
        return WRONG
    return INCOMPLETE if UNKNOWN in counted else OK
