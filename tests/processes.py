"""Commands that a test starts and ends, and the processes of a host."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path


class Started(subprocess.Popen[str]):
    """A command that runs, in a process group of its own."""

    def __init__(self, arguments: Sequence[str], env: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        super().__init__(
            arguments, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=env, start_new_session=True
        )

    def finished(self, timeout: float) -> subprocess.CompletedProcess[str]:
        """Waits for its end; kills its group when that takes longer."""
        try:
            stdout, stderr = self.communicate(timeout=timeout)
        except BaseException:
            self.end()
            raise
        return subprocess.CompletedProcess(self.args, self.returncode, stdout, stderr)

    def end(self) -> None:
        """Kills its group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()


def members(first: int) -> Iterator[int]:
    """The other processes of a host, which share its first one's PID and network namespace, by the PIDs that they have
    here."""
    own = _namespaces(str(first))
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != first:
            try:
                if _namespaces(name) == own and not _is_gone(int(name)):
                    yield int(name)
            except OSError:
                continue


def _namespaces(pid: str) -> list[str]:
    return [os.readlink(f"/proc/{pid}/ns/{kind}") for kind in ("pid", "net")]


def name_of(pid: int) -> str:
    """Its program's name (`/proc/PID/comm`); empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def memory(pid: int) -> int:
    """Bytes of its memory, of a page that others share its part; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _is_gone(pid: int) -> bool:
    """Whether it has ended, buried or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def send(pid: int, number: int) -> None:
    """Sends it a signal, unless it is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
