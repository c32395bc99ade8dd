"""Hosts on one machine: each in PID, network, mount, IPC and UTS namespaces of its own, joined by veth pairs, a bridge.

The bridge too lives in namespaces of its own, and the hosts' PID namespaces lie inside of its. So everything ends when
one process does: the bridge's first, which leaves when the pipe from the process that made it closes, however that
comes. With the last process go the interfaces and the file systems; nothing has to be swept up, and no name can be
taken already.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from processes import Started, members, name_of, send

NETWORK = "10.77.0"
"""The first three numbers of every address; the bridge itself has the last number `BRIDGE`."""
BRIDGE = 254
OWN = "/run"
"""A folder that each host has for itself, in memory: it lies on no disk and is gone with the host."""
ENTER = f"{OWN}/enter"
"""A program of each host: runs its arguments, or a shell, with the host's environment."""
NEEDED = ("unshare", "nsenter", "ip", "tc")

_SWITCH = f"""
set -e
ip link set lo up
ip link add bridge type bridge
ip address add {NETWORK}.{BRIDGE}/24 dev bridge
ip link set bridge up
echo ready
exec env --ignore-signal=CHLD cat
"""
_HOST = """
set -e
mount -t tmpfs -o mode=755 none /run
mount -t tmpfs -o mode=1777 none /dev/shm
mkdir -m 700 /run/home /run/tmp /run/cgroup
mount --rbind /sys/fs/cgroup /run/cgroup
mount -t sysfs none /sys
mount --rbind /run/cgroup /sys/fs/cgroup
umount -l /run/cgroup
rmdir /run/cgroup
hostname "$1"
ip link set lo up
echo ready
exec env --ignore-signal=CHLD sleep infinity
"""
"""A namespace's first process takes no notice of its children: the kernel then buries those that lost their parent. A
shell's `trap` cannot say so: dash takes that signal for itself."""


@cache
def missing() -> str | None:
    """Why no hosts can be made here; None where they can."""
    absent = [name for name in NEEDED if shutil.which(name) is None]
    if absent:
        return f"no {', '.join(absent)} here (util-linux, iproute2)"
    try:
        switch = Switch()
    except OSError as error:
        return f"no namespaces of one's own here (unshare -n -m -p: {error})"
    try:
        Host(switch, 1, "host", {})
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no hosts can be joined here (unshare -u -i, ip link: {getattr(error, 'stderr', error)})"
    finally:
        switch.close()
    return None


def environment() -> dict[str, str]:
    """The variables that what runs on a host needs for Python, and for folders of its own."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": f"{OWN}/home",
        "TMPDIR": f"{OWN}/tmp",
        "NO_PROXY": "*",
    }


def traces() -> dict[str, object]:
    """All outside of a host that hosts could leave something in."""
    return {
        "interfaces": sorted(os.listdir("/sys/class/net")),
        "namespaces": sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else [],
        "shared memory": sorted(os.listdir("/dev/shm")),
        "files": [path for path in ("/tmp/ray", "/run/ray", "/run/home", ENTER) if os.path.lexists(path)],
        "mounts": Path("/proc/self/mounts").read_text().splitlines(),
    }


class Switch:
    """The bridge that the hosts are plugged into, and the process that keeps them all alive."""

    def __init__(self) -> None:
        self._first = _First(["unshare", "-n", "-m", "-i", "-p", "-f", "--mount-proc", "sh", "-c", _SWITCH], depth=1)
        self._inside: list[_First] = []

    @property
    def pid(self) -> int:
        """The process whose end is the end of everything inside."""
        return self._first.pid

    def command(self, *arguments: str) -> str:
        """What a command prints beside the bridge, which is a machine of the network and no host of the cluster."""
        inside = ["nsenter", "-t", str(self.pid), "-n", *arguments]
        return subprocess.run(inside, capture_output=True, text=True, check=True, timeout=20).stdout

    def inside(self) -> list[str]:
        """The words that run a command there."""
        return ["nsenter", "-t", str(self.pid), "-n", "-m", "-i", "-p"]

    def close(self) -> None:
        """Ends every host and everything on it, and waits until all are gone."""
        for first in (self._first, *self._inside):
            first.close()

    def begin(self, arguments: Sequence[str], depth: int) -> _First:
        """A process in the bridge's PID namespace, `depth` forks below `arguments` (`unshare …`, whose `-f` is one); it
        ends with the bridge."""
        self._inside.append(_First([*self.inside(), *arguments], depth=1 + depth))
        return self._inside[-1]


class Host:
    """One host. Its processes see each other, their own network, `/run` and `/dev/shm`; all else is the machine's."""

    def __init__(
        self,
        switch: Switch,
        number: int,
        name: str,
        environment: Mapping[str, str],
        rate: str | None = None,
        *,
        cabled: bool = True,
        apart: bool = True,
    ) -> None:
        """`number` makes its address, `environment` is that of all that runs on it, and `rate` (`1gbit`) is that of its
        cable in either direction; None is as fast as the machine. Without `cabled` it has no interface yet. Not
        `apart`, it shares PIDs and IPC with others that are not: their processes can read each other's memory, past
        every cable, as those of containers do that share their machine's."""
        self.name = name
        self.address = f"{NETWORK}.{number}"
        self.port = f"host{number}"
        """The interface at the bridge, where its cable ends."""
        self._switch = switch
        own = ["-i", "-p", "-f", "--mount-proc"] if apart else []
        self._first = switch.begin(["unshare", "-n", "-m", "-u", *own, "sh", "-c", _HOST, "host", name], int(apart))
        if cabled:
            ends = (self.port, "type", "veth", "peer", "name", "eth0", "netns", str(self.pid))
            switch.command("ip", "link", "add", *ends)
            switch.command("ip", "link", "set", self.port, "master", "bridge", "up")
            self.bring_up()
        if rate is not None:
            shape = ("tc", "qdisc", "add", "dev", "{}", "root", "tbf", "rate", rate, "burst", "1mb", "latency", "50ms")
            switch.command(*(word.format(self.port) for word in shape))
            self.network(*(word.format("eth0") for word in shape))
        exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in environment.items())
        self.write(ENTER, f'#!/bin/sh\n{exports}[ $# != 0 ] || exec "${{SHELL:-sh}}"\nexec "$@"\n'.encode(), mode=0o700)

    @property
    def pid(self) -> int:
        """The host's first process."""
        return self._first.pid

    def write(self, path: str, content: bytes, mode: int = 0o600) -> None:
        """Writes a file below the host's own `/run`."""
        assert path.startswith(OWN + "/")
        file = Path(f"/proc/{self.pid}/root{path}")
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(mode)

    def read(self, path: str) -> bytes:
        """A file as the host sees it."""
        return Path(f"/proc/{self.pid}/root{path}").read_bytes()

    def inside(self) -> list[str]:
        """The words that run a command on this host, with its environment."""
        return ["nsenter", "-t", str(self.pid), "-n", "-m", "-u", "-i", "-p", ENTER]

    def start(self, arguments: Sequence[str], environment: Mapping[str, str | None] | None = None) -> Started:
        """Starts a command here, its outputs piped, as a process group of its own. `environment` adds to the host's;
        None takes a variable away."""
        changes = ["env"]
        for key, value in (environment or {}).items():
            changes += ["-u", key] if value is None else [f"{key}={value}"]
        changes = changes if len(changes) > 1 else []
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "TERM") if key in os.environ}
        return Started([*self.inside(), *changes, *arguments], env=kept)

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str | None] | None = None, timeout: float = 60.0
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command here to its end. When its time is over it is killed with all that it started in its group, and
        `subprocess.TimeoutExpired` is raised."""
        return self.start(arguments, environment).finished(timeout)

    def processes(self, name: str | None = None) -> list[int]:
        """The host's processes but its first, by the PIDs that they have outside; of this name (`raylet`) alone."""
        return [pid for pid in members(self.pid) if name is None or name_of(pid) == name]

    def signal(self, number: int) -> None:
        """Sends a signal to each of the host's processes but the first, those that appear meanwhile among them."""
        told: set[int] = set()
        while new := set(self.processes()) - told:
            for pid in new:
                send(pid, number)
            told |= new

    def clear(self, seconds: float = 20.0) -> None:
        """Kills all that runs here, and waits until it is gone."""
        until = time.monotonic() + seconds
        while self.processes():
            self.signal(signal.SIGKILL)
            if time.monotonic() > until:
                raise TimeoutError(f"{self.name} still runs {self.processes()}")
            time.sleep(0.02)

    def cut(self) -> None:
        """Pulls the cable, at the bridge."""
        self._switch.command("ip", "link", "set", self.port, "down")

    def mend(self) -> None:
        """Plugs it in again."""
        self._switch.command("ip", "link", "set", self.port, "up")

    def bring_up(self) -> None:
        """Gives `eth0` the host's address, and sets it up."""
        self.network("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.network("ip", "link", "set", "eth0", "up")

    def network(self, *arguments: str) -> str:
        """What a command of the machine prints that sees this host's interfaces."""
        inside = ["nsenter", "-t", str(self.pid), "-n", *arguments]
        return subprocess.run(inside, capture_output=True, text=True, check=True, timeout=20).stdout

    def listens(self, port: int) -> bool:
        """Whether something here takes TCP connections at a port."""
        lines = [line.split() for name in ("tcp", "tcp6") for line in self._sockets(name)]
        return any(state == "0A" and int(local.rpartition(":")[2], 16) == port for _, local, _, state, *_ in lines)

    def _sockets(self, name: str) -> list[str]:
        return Path(f"/proc/{self.pid}/net/{name}").read_text().splitlines()[1:]


class _First:
    """The first process of a PID namespace, `depth` forks below what was started, alive until `close`."""

    def __init__(self, arguments: Sequence[str], depth: int) -> None:
        pipe = subprocess.PIPE
        self._outer = subprocess.Popen(
            arguments, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
        assert self._outer.stdout is not None
        assert self._outer.stderr is not None
        if self._outer.stdout.readline() != "ready\n":
            why = self._outer.stderr.read().strip()
            self.close()
            raise OSError(why or "it did not start")
        self.pid = self._outer.pid
        for _ in range(depth):
            self.pid = int(Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text())

    def close(self) -> None:
        """Ends it. The kernel ends all others of the namespace, and those of the namespaces inside."""
        for stream in (self._outer.stdin, self._outer.stdout, self._outer.stderr):
            assert stream is not None
            stream.close()
        if hasattr(self, "pid") and self._outer.poll() is None:
            send(self.pid, signal.SIGKILL)
        self._outer.wait(timeout=20)
