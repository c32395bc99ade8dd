"""A real Ray cluster of hosts with real addresses, on one machine: `make lab`.

Each host has namespaces of its own (`namespaces`) and answers raxl from a recording of accelerators
(RAXL_HOST_RECORDING), so that a raxl that runs on it, or in a worker of its raylet, sees that hardware.

    python tests/lab.py                     starts it, says how to enter, and waits for Ctrl-C
    python tests/lab.py raxl discover       starts it, runs the command on the head, and ends
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import namespaces
import ray_hosts
from lab_machines import MACHINES, Machine, recorded
from processes import send
from ray_hosts import PORT

DASHBOARD_PORT = 8265
TOKEN = "lab-" + "0123456789abcdef" * 3
TOKEN_FILE = f"{namespaces.OWN}/home/.ray/auth_token"
RECORDING = f"{namespaces.OWN}/recording"
"""The folder where each host has its recording."""
__all__ = ["MACHINES", "PORT", "Lab", "Machine"]

_NODES = """
import json, ray
ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
print(json.dumps(ray.nodes()))
"""


class Lab:
    """A cluster that runs from `with` on, until its end."""

    def __init__(
        self,
        machines: Sequence[Machine] = MACHINES,
        *,
        token: bool = False,
        dashboard: bool = True,
        rate: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`token`: locked, each host has the token. `rate`: of every cable, `1gbit`. `environment`: of every host."""
        self._machines = list(machines)
        self._token = token
        self._with_dashboard = dashboard
        self._rate = rate
        self._environment = dict(environment or {})
        self.hosts: list[namespaces.Host] = []
        self.seconds_to_start = 0.0

    def __enter__(self) -> Lab:
        begun = time.monotonic()
        self._switch = namespaces.Switch()
        try:
            for number, machine in enumerate(self._machines, 1):
                self.hosts.append(self._host(number, machine))
            self._start_all()
        except BaseException:
            self.close()
            raise
        self.seconds_to_start = time.monotonic() - begun
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends everything."""
        self._switch.close()

    @property
    def head(self) -> namespaces.Host:
        """The host with the GCS and the dashboard."""
        return self.hosts[0]

    @property
    def address(self) -> str:
        """The cluster's, as a node of it takes it: `host:port`."""
        return f"{self.head.address}:{PORT}"

    @property
    def dashboard(self) -> str:
        """The dashboard's, with its scheme."""
        return f"http://{self.head.address}:{DASHBOARD_PORT}"

    @cached_property
    def outside(self) -> list[str]:
        """The words that run a command on the network and on none of the cluster's hosts."""
        return self._switch.inside()

    def kill_raylet(self, host: int) -> None:
        """Kills a host's raylet as a crash would; its workers end by themselves."""
        self._end_raylet(host, signal.SIGKILL)

    def end_raylet(self, host: int) -> None:
        """Ends a host's raylet as `ray stop` does: it takes its leave."""
        self._end_raylet(host, signal.SIGTERM)

    def stop(self, host: int) -> None:
        """Stops all of a host's processes, which answer no more while the kernel still takes connections for them."""
        self.hosts[host].signal(signal.SIGSTOP)

    def resume(self, host: int) -> None:
        """Lets them go on."""
        self.hosts[host].signal(signal.SIGCONT)

    def cut(self, host: int) -> None:
        """Pulls a host's cable."""
        self.hosts[host].cut()

    def mend(self, host: int) -> None:
        """Plugs it in again."""
        self.hosts[host].mend()

    def leave(self, host: int) -> None:
        """Has a host's node take its leave of the cluster; `restart` has it join again."""
        self._end_raylet(host, signal.SIGTERM)
        self.hosts[host].clear()

    def restart(self, host: int, **changed: object) -> None:
        """Starts a host's Ray anew, with what is changed of its `Machine` (`labels`, `resources`, `num_gpus`). The head
        cannot: the others would have lost their cluster."""
        assert host, "the head stays as it is"
        self.leave(host)
        self._machines[host] = replace(self._machines[host], **changed)  # type: ignore[arg-type]
        self._start_ray(host)

    def nodes(self) -> list[dict[str, Any]]:
        """`ray.nodes()`, asked by a driver on the head."""
        done = self.head.run([sys.executable, "-c", _NODES], timeout=60)
        if done.returncode:
            raise RuntimeError(done.stderr)
        # Ray prints there as well, of a node that died just now.
        told = next(line for line in reversed(done.stdout.splitlines()) if line.startswith('[{"'))
        return json.loads(told)  # type: ignore[no-any-return]

    def _end_raylet(self, host: int, number: int) -> None:
        """Sends the raylet a signal that ends it, and waits for that: SIGTERM lets it take its leave, which on busy
        cores takes many seconds; one that is killed before it has left is a dead node to Ray."""
        until = time.monotonic() + 40
        for pid in self.hosts[host].processes("raylet"):
            send(pid, number)
        while self.hosts[host].processes("raylet") and time.monotonic() < until:
            time.sleep(0.02)

    def _host(self, number: int, machine: Machine) -> namespaces.Host:
        name, file, content = recorded(machine.recording)
        environment = {
            **namespaces.environment(),
            **ray_hosts.environment(self._token),
            **({"RAXL_HOST_RECORDING": f"{RECORDING}/{file}"} if content else {}),
            **self._environment,
            **machine.environment,
        }
        host = namespaces.Host(self._switch, number, machine.name or name or f"host-{number}", environment, self._rate)
        if content:
            host.write(f"{RECORDING}/{file}", content)
        if self._token:
            host.write(TOKEN_FILE, TOKEN.encode())
        return host

    def _start_all(self) -> None:
        ray_hosts.at_once([partial(self._start_ray, place) for place in range(len(self.hosts))], self.close)

    def _start_ray(self, place: int) -> None:
        """Starts a host's raylet, and on the head what comes with it."""
        machine, host = self._machines[place], self.hosts[place]
        arguments = [
            *([] if place else self._dashboard_arguments()),
            *("--object-store-memory=100000000", f"--num-cpus={machine.num_cpus}"),
            f"--num-gpus={machine.num_gpus or 0}",
            f"--resources={json.dumps(dict(machine.resources))}",
            *([f"--labels={','.join(f'{k}={v}' for k, v in machine.labels.items())}"] if machine.labels else []),
        ]
        ray_hosts.start(host, self.head, arguments)

    def _dashboard_arguments(self) -> list[str]:
        if not self._with_dashboard:
            return ["--include-dashboard=false"]
        return ["--include-dashboard=true", "--dashboard-host=0.0.0.0", f"--dashboard-port={DASHBOARD_PORT}"]


def main(arguments: Sequence[str]) -> int:
    """Runs the lab until Ctrl-C, or for one command on the head, whose exit code it ends with."""
    parser = argparse.ArgumentParser(prog="lab", description="A real Ray cluster of hosts with recorded accelerators.")
    parser.add_argument("--token", action="store_true", help="a locked cluster (RAY_AUTH_MODE=token)")
    parser.add_argument("--no-dashboard", action="store_true", help="starts sooner")
    parser.add_argument("--rate", help="of every cable, in either direction: 1gbit")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="is run on the head instead of waiting for Ctrl-C")
    given = parser.parse_args(arguments)
    if (reason := namespaces.missing()) is not None:
        sys.exit(f"lab: {reason}")
    print("starting …", file=sys.stderr)
    with Lab(token=given.token, dashboard=not given.no_dashboard, rate=given.rate) as lab:
        if given.command:
            return subprocess.run([*lab.head.inside(), *given.command], check=False).returncode
        print(f"started in {lab.seconds_to_start:.0f} s; Ray at {lab.address}, dashboard at {lab.dashboard}")
        for host in lab.hosts:
            print(f"  {host.name:12} {host.address}  a shell there: {' '.join(host.inside())}")
        print(f"  {'beside it':12} {namespaces.NETWORK}.{namespaces.BRIDGE}  {' '.join(lab.outside)} sh")
        print("Ctrl-C ends it.", flush=True)
        signal.pause()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
