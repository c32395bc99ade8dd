"""The only door to a machine: questions, and answers that are plain data.

A host is asked for a path's text or bytes, a folder's names, a link's target, a command's output, the environment,
what the kernel tells this process. Every answer is a value or a reason; nothing here raises or interprets.
Standard library only, Python 3.8: this package also runs on nodes that have nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Sequence


class Question(NamedTuple):
    """One thing that a host can be asked: its kind, the name of one of `Host`'s methods, and of what."""

    kind: str
    subject: str


class Answer(NamedTuple):
    """What came back: a value, or a reason (in the words of `raxl.model.problem`) with a message, never both."""

    value: Any
    reason: str | None = None
    message: str = ""

    @property
    def known(self) -> bool:
        """Whether the question was answered."""
        return self.reason is None


class CommandOutput(NamedTuple):
    """What a command printed, and how it ended."""

    status: int
    stdout: str
    stderr: str


class Host(Protocol):
    """A machine, live or recorded."""

    def text(self, path: str) -> Answer:
        """The text of a file (undecodable bytes as surrogate escapes), at most 1 MiB; a str."""

    def data(self, path: str) -> Answer:
        """The first 4096 bytes of a PCI function's configuration space, as hex; a str. Nothing else is given so."""

    def names(self, path: str) -> Answer:
        """The sorted names in a folder; a list of str."""

    def link(self, path: str) -> Answer:
        """The absolute path, inside the host's root, that `path` leads to when all links are followed; a str."""

    def command(self, arguments: Sequence[str]) -> Answer:
        """A command of a trusted folder, run with a clean environment; a `CommandOutput`."""

    def library(self, name: str, method: str, *arguments: object) -> Answer:
        """A call of a vendor's library: plain data, as the library class of that name gives it. `start` comes first."""

    def process(self, name: str) -> Answer:
        """What the kernel tells this process: `uname`, `hostname`, `limits`, `environment`, of others `processes`; and
        `packages`, those of Ray's that can be imported here, and `versions` of more. A dict, str or list of str."""

    def metadata(self, service: str, path: str) -> Answer:
        """What a cloud's metadata service (`aws`, `gcp`, `azure`, `oci`) holds at a path of the allow-list; a str."""

    def document(self, form: str) -> Answer:
        """A foreign document that describes the machine (`hwloc-xml`, `nccl-xml`); its text. A live one has none."""


def stripped(answer: Answer) -> str | None:
    """The answer's text without surrounding blanks and what follows a NUL; None when unknown or empty."""
    if not answer.known or not isinstance(answer.value, str):
        return None
    return answer.value.split("\0", 1)[0].strip() or None
