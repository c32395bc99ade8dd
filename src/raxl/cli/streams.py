"""Where results go: standard output as it is, a file, or nowhere because nobody reads on."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from raxl.model.printable import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raxl.render.text import Line

WIDTH = 100
"""Columns where there is neither a terminal nor COLUMNS."""
SHOWN = "├└│─┴═×·–…→←↔’±µ▁▂▃▄▅▆▇█▏▎▍▌▋▊▉"
"""What an encoding has to know so that text may be more than ASCII."""
_ASCII_LOCALES = ("C", "POSIX")


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and int(text) else None


@dataclass(frozen=True)
class Streams:
    """The two streams of a command, and what text on standard output may look like."""

    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at standard output."""
        try:
            return self.stdout.isatty()
        except ValueError:  # closed
            return False

    @property
    def width(self) -> int:
        """The terminal's columns; elsewhere those of COLUMNS, else 100."""
        columns = 0
        if self.is_terminal:
            with contextlib.suppress(OSError, ValueError):
                columns = os.get_terminal_size(self.stdout.fileno()).columns
        return columns or _number(os.environ.get("COLUMNS")) or WIDTH

    @property
    def colour(self) -> bool:
        """Whether colours may be written: https://no-color.org"""
        return self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    @property
    def unicode(self) -> bool:
        """Whether box lines and the like can be shown; a locale that says C or POSIX cannot."""
        named = next((name for key in ("LC_ALL", "LC_CTYPE", "LANG") if (name := os.environ.get(key))), "")
        if named in _ASCII_LOCALES:
            return False
        try:
            SHOWN.encode(self.stdout.encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def print(self, lines: Sequence[Line], output: Path | None = None) -> None:
        """Writes rendered lines: in colour where a person looks, plain into a file."""
        from raxl.render.text import to_text

        self.write(to_text(lines, self.colour and output is None), output)

    def write_bytes(self, content: bytes) -> None:
        """Writes binary content to standard output."""
        with self._reader_may_leave():
            self.stdout.buffer.write(content)
            self.stdout.flush()

    def note(self, line: str) -> None:
        """Writes a line for a person to standard error."""
        self.stderr.write(clean(line) + "\n")

    @contextlib.contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Something to be told how many of how many are done: a bar on standard error where a person looks, which is
        gone at the end; nothing elsewhere."""
        if not self.stderr.isatty():
            yield lambda done, total: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=Console(file=self.stderr), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    def write(self, text: str, output: Path | None = None) -> None:
        """Writes a result to standard output, or to a file: all of it or nothing, mode 0600, through no symbolic link.

        A reader that has gone (`raxl topo | head`) is no error. Raises CannotStart where the file cannot be written.
        """
        if output is None:
            self._print(text)
        else:
            from raxl.collect import keeping

            keeping.save(text.encode("utf-8", "replace"), output)

    def _print(self, text: str) -> None:
        encoding = self.stdout.encoding or "utf-8"
        with self._reader_may_leave():
            self.stdout.write(text.encode(encoding, "replace").decode(encoding))
            self.stdout.flush()

    @contextlib.contextmanager
    def _reader_may_leave(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            # Else the interpreter flushes once more at exit, and complains.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.stdout.fileno())
