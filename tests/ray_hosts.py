"""A real Ray cluster on hosts that exist already, such as those of `links`."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import namespaces
from processes import Started, memory

PORT = 6379
FOLDER = f"{namespaces.OWN}/ray"
"""Where Ray writes, in the host's own memory."""


def environment(token: bool = False) -> dict[str, str]:
    """The variables that a host needs beside its own for Ray to look at nothing of the machine's."""
    return {
        "RAY_TMPDIR": FOLDER,
        "RAY_AUTH_MODE": "token" if token else "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
    }


def start(
    host: namespaces.Host,
    head: namespaces.Host,
    arguments: Sequence[str],
    environment: Mapping[str, str | None] | None = None,
) -> None:
    """Starts a host's Ray, by `ray start` with `arguments`. All but the head wait until its GCS listens: Ray would wait
    too, but in steps of seconds. On a machine that is so busy that it gives up, it is started once more."""
    own = ["--head", f"--port={PORT}"] if host is head else [f"--address={head.address}:{PORT}"]
    own += [f"--node-ip-address={host.address}", f"--temp-dir={FOLDER}", "--disable-usage-stats"]
    for _ in range(2):
        until = time.monotonic() + 60
        while host is not head and not head.listens(PORT) and time.monotonic() < until:
            time.sleep(0.02)
        done = host.run(["ray", "start", *own, *arguments], environment, timeout=120)
        if not done.returncode:
            return
        host.clear()
    raise RuntimeError(f"ray did not start on {host.name}:\n{done.stdout}{done.stderr}")


def at_once(starts: Sequence[Callable[[], None]], give_up: Callable[[], None]) -> None:
    """Does all at the same time; `give_up` ends the others when one fails, which would be waited for else."""
    with ThreadPoolExecutor(len(starts)) as starting:
        try:
            for one in [starting.submit(start) for start in starts]:
                one.result()
        except BaseException:
            give_up()
            raise


class RayCluster:
    """Ray on each host, the first one's the head; it has a resource of the host's name, of which there is 1."""

    def __init__(self, hosts: Sequence[namespaces.Host], num_cpus: int, object_store: int) -> None:
        begun = time.monotonic()
        self.hosts = hosts
        common = [f"--num-cpus={num_cpus}", "--num-gpus=0", f"--object-store-memory={object_store}"]
        common += ["--include-log-monitor=false"]
        head = ["--include-dashboard=false", "--no-monitor"]

        def starting(host: namespaces.Host) -> Callable[[], None]:
            own = [*common, *(head if host is hosts[0] else []), f"--resources={json.dumps({host.name: 1})}"]
            return lambda: start(host, hosts[0], own, environment())

        at_once([starting(host) for host in hosts], self.close)
        self.seconds_to_start = time.monotonic() - begun

    @property
    def address(self) -> str:
        """The cluster's, as a driver takes it."""
        return f"{self.hosts[0].address}:{PORT}"

    def run(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str | None] | None = None,
        timeout: float = 60.0,
        on: int = 0,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end, on the head or the host of that place, where Ray's address is known."""
        return self.start(arguments, environment, on).finished(timeout)

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str | None] | None = None, on: int = 0
    ) -> Started:
        """The same, without waiting for its end."""
        return self.hosts[on].start(arguments, {**_driver(self.address), **(environment or {})})

    def memory(self) -> int:
        """Bytes of memory of all that runs on the hosts, each shared page once."""
        return sum(memory(pid) for host in self.hosts for pid in host.processes())

    def close(self) -> None:
        """Ends all that runs on the hosts."""
        for host in reversed(self.hosts):
            host.clear()


def _driver(address: str) -> dict[str, str | None]:
    return {**environment(), "RAY_ADDRESS": address}


@contextmanager
def cluster(
    hosts: Sequence[namespaces.Host], *, num_cpus: int = 1, object_store: int = 100_000_000
) -> Iterator[RayCluster]:
    """Ray on these hosts until the end of `with`: `num_cpus` each, and so many bytes of object store."""
    running = RayCluster(hosts, num_cpus, object_store)
    try:
        yield running
    finally:
        running.close()
