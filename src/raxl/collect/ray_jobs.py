"""A cluster through its dashboard (`http://host:8265`): what a port-forward gives. A job on the head asks all nodes.

https://docs.ray.io/en/latest/cluster/running-applications/job-submission/rest.html
"""

from __future__ import annotations

import base64
import json
import secrets
import shlex
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from raxl.collect import ray_cluster
from raxl.collect.ray_cluster import CONNECT_SECONDS, Refused, Tell

if TYPE_CHECKING:
    import httpx

_MARK = "raxl:"
_ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
_POLL_SECONDS = 0.15
_LOG_SECONDS, _LOG_PAUSES = 0.5, 4
"""Between two readings of a job's log, and how many times as long as the last one took: each gives all of it anew."""
_START_SECONDS, _STOP_SECONDS = 30.0, 2.5
_GONE_SECONDS = 0.5
_STARTED_BY = "raxl"
_LARGEST_LOG = 1 << 30
_JOB = """
import base64, json, sys, zlib
import ray
from ray.experimental.internal_kv import _internal_kv_del, _internal_kv_get
ray.init(log_to_driver=False, configure_logging=False, logging_level="ERROR")
packed = _internal_kv_get({key!r}.encode())
_internal_kv_del({key!r}.encode())
given = json.loads(zlib.decompress(packed))
program = {{"__name__": "raxl_in_a_job"}}
exec(compile(given["program"], "raxl", "exec"), program)
def tell(word, **values):
    sys.stdout.write({mark!r} + json.dumps([word, values]) + "\\n")
    sys.stdout.flush()
program["ask_all"](base64.b64decode(given["collector"]), {timeout}, tell)
tell("end")
"""


_ENTRY = r"""
parent=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$PPID/status 2>/dev/null)
own=$(tr '\0' '\n' < /proc/$parent/cmdline 2>/dev/null | sed -n 's/^--python_worker_command=\([^ ]*\) .*/\1/p')
for p in $own python python3; do "$p" -c 'import ray' 2>/dev/null && exec "$p" -c {code}; done
echo 'no Python with Ray is in the PATH of its jobs'
exit 1
"""
"""Finds the Python that runs Ray's own workers: the shell's parent is one, and the raylet above it names it."""


def main(settings: Mapping[str, Any], collector: Callable[[], bytes], tell: Tell) -> None:
    """Asks all nodes through a job; tells `end` or `error`, like `ray_cluster.main`, and takes earlier jobs away."""
    try:
        _ask(settings, collector, tell)
    except Refused as refusal:
        tell("error", **_told(refusal))


def _told(refusal: Refused) -> dict[str, str]:
    return dict(zip(("kind", "what", "why", "try"), refusal.args))


def _ask(settings: Mapping[str, Any], collector: Callable[[], bytes], tell: Tell) -> None:
    import httpx

    address, timeout = str(settings["address"]).rstrip("/"), float(settings["timeout"])
    if not urlsplit(address).hostname:
        raise Refused("usage", f"no address: {address}", "http://host:8265", "")
    tell("found", address=address)
    # No proxy of the environment: the address is told by who asks, and leads to the cluster itself.
    with httpx.Client(base_url=address, timeout=CONNECT_SECONDS, trust_env=False, follow_redirects=False) as client:
        client.headers.update(_header(client, address))
        _checked(client, address)
        tell("alive")
        name = f"raxl-{secrets.token_hex(8)}"
        until = float(settings["begun"]) + timeout
        job = _submitted(client, address, name, collector(), timeout, until)
        try:
            _follow(client, job, timeout, until, tell)
        except Refused as refusal:  # told before the job is taken back, which a cluster that died may never answer
            tell("error", **_told(refusal))
            if refusal.args[0] == "unreachable":
                client.timeout = httpx.Timeout(_GONE_SECONDS)
        finally:
            _leave(client, job)


def _header(client: httpx.Client, address: str) -> dict[str, str]:
    """The header for the cluster's token, from Ray's own code, where the cluster wants one."""
    mode = _json(_got(client, "GET", "/api/authentication_mode", address), address)
    if mode.get("authentication_mode") in (None, "disabled"):
        return {}
    ray_cluster.imported()  # Ray's own code gives the token
    header = ray_cluster.authorization()
    if not header:
        raise ray_cluster.locked("it wants a token")
    return header


def _checked(client: httpx.Client, address: str) -> None:
    answer = _got(client, "GET", "/api/version", address)
    if answer.status_code in (401, 403):
        raise ray_cluster.locked("its token is another")
    if "ray_version" not in _json(answer, address):
        raise _no_dashboard(address)
    health = _got(client, "GET", "/api/gcs_healthz", address)
    if health.status_code != 200:
        why = f"its dashboard answers, its GCS does not: {health.text[:200]}"
        raise Refused("unreachable", f"no Ray cluster at {address}", why, "")


def _got(client: httpx.Client, method: str, path: str, address: str, **more: Any) -> httpx.Response:
    import httpx

    try:
        return client.request(method, path, **more)
    except httpx.TimeoutException as error:
        why = f"no answer within {max(1.0, more.get('timeout', CONNECT_SECONDS)):.0f} s"
        raise Refused("unreachable", f"no Ray cluster at {address}", why, "") from error
    except httpx.HTTPError as error:
        raise Refused("unreachable", f"no Ray cluster at {address}", str(error) or type(error).__name__, "") from error


def _json(answer: httpx.Response, address: str) -> dict[str, Any]:
    try:
        value = answer.json()
    except (ValueError, RecursionError) as error:
        raise _no_dashboard(address) from error
    if not isinstance(value, dict):
        raise _no_dashboard(address)
    return value


def _no_dashboard(address: str) -> Refused:
    return Refused("unreachable", f"no Ray cluster at {address}", "what listens there is no dashboard of Ray's", "")


def _submitted(client: httpx.Client, address: str, name: str, collector: bytes, timeout: float, until: float) -> str:
    """The id of the job that asks all nodes; its program lies in the cluster's store until it has read it."""
    program = Path(ray_cluster.__file__).read_text(encoding="utf-8")
    given = {"program": program, "collector": base64.b64encode(collector).decode("ascii")}
    package = zlib.compress(json.dumps(given).encode("ascii"))
    patience = max(CONNECT_SECONDS, until - time.monotonic())
    stored = _got(client, "PUT", f"/api/packages/gcs/{name}.zip", address, content=package, timeout=patience)
    if stored.status_code != 200:
        raise Refused("failed", "the dashboard takes no package", f"HTTP {stored.status_code}: {stored.text[:200]}", "")
    code = shlex.quote(_JOB.format(key=f"gcs://{name}.zip", mark=_MARK, timeout=timeout))
    wanted = {"entrypoint": _ENTRY.format(code=code), "submission_id": name, "metadata": {"started_by": _STARTED_BY}}
    patience = max(CONNECT_SECONDS, until - time.monotonic())
    answer = _got(client, "POST", "/api/jobs/", address, json=wanted, timeout=patience)
    if answer.status_code != 200:
        raise Refused("failed", "the dashboard takes no job", f"HTTP {answer.status_code}: {answer.text[:200]}", "")
    return name


def _follow(client: httpx.Client, job: str, timeout: float, until: float, tell: Tell) -> None:
    """Tells what the job tells, as it comes, until it has ended or no node has time left. `until`
    (`time.monotonic`) a dashboard that stops to answer is waited for: it may be busy."""
    address, last = str(client.base_url), time.monotonic() + timeout + _START_SECONDS
    heard, log_is_due = time.monotonic(), 0.0
    status: dict[str, Any] = {}
    log = _Log(tell)
    while not log.has_ended and status.get("status") not in _ENDED and time.monotonic() < last:
        time.sleep(_POLL_SECONDS)
        begun = time.monotonic()
        left = max(heard + CONNECT_SECONDS, until) - begun
        try:
            status = _json(_got(client, "GET", f"/api/jobs/{job}", address, timeout=max(0.1, left)), address)
            if begun >= log_is_due or status.get("status") in _ENDED:
                log.read(_logged(client, job, max(0.1, left)))
                log_is_due = time.monotonic() + max(_LOG_SECONDS, _LOG_PAUSES * (time.monotonic() - begun))
            heard = time.monotonic()
        except Refused as error:
            if time.monotonic() > max(heard + CONNECT_SECONDS, until):
                what = f"the cluster at {address} went away"
                raise Refused("unreachable", what, error.args[2], ray_cluster.WITHOUT_RAY) from error
    if not log.has_ended:
        words = log.last or str(status.get("message") or status.get("status"))
        raise Refused("failed", "the job that asks the nodes did not end well", words[:300], "")


def _logged(client: httpx.Client, job: str, seconds: float) -> str:
    address = str(client.base_url)
    return str(_json(_got(client, "GET", f"/api/jobs/{job}/logs", address, timeout=seconds), address).get("logs") or "")


class _Log:
    """What a job has printed, which is read as a whole each time, and told by the line."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._size = 0
        self.has_ended = False
        self.last = ""
        """The last line that is not raxl's: what went wrong, where it ended too soon."""

    def read(self, log: str) -> None:
        """Tells the whole lines that are new."""
        whole = log.rfind("\n", self._size, _LARGEST_LOG) + 1
        for line in log[self._size : whole].splitlines():
            if line.startswith(_MARK):
                word, values = json.loads(line[len(_MARK) :])
                self.has_ended = word == "end"
                self._tell(word, **values)
            else:
                self.last = line.strip() or self.last
        self._size = max(self._size, whole)


def _leave(client: httpx.Client, job: str) -> None:
    """Stops the job where it still runs, and has Ray forget raxl's earlier ones.

    Not this one: a job that is forgotten within the seconds until Ray has looked after its end is written down anew, as
    failed.
    """
    import httpx

    try:
        jobs = client.get("/api/jobs/").json()
        for one in jobs:
            name, status = one.get("submission_id"), one.get("status")
            if name == job and status not in _ENDED:
                _stop(client, job)
            elif name != job and status in _ENDED and (one.get("metadata") or {}).get("started_by") == _STARTED_BY:
                client.delete(f"/api/jobs/{name}")
    except (httpx.HTTPError, ValueError):
        return


def _stop(client: httpx.Client, job: str) -> None:
    """Has Ray end the job, and waits a little for it."""
    client.post(f"/api/jobs/{job}/stop")
    until = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < until and client.get(f"/api/jobs/{job}").json().get("status") not in _ENDED:
        time.sleep(_POLL_SECONDS)
