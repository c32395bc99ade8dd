"""A cloud's metadata service, asked from the node alone: link-local HTTP, no proxies, names or redirects.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html ·
https://cloud.google.com/compute/docs/metadata/querying-metadata ·
https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service ·
https://docs.oracle.com/iaas/Content/Compute/Tasks/gettingmetadata.htm

All questions together have one second. http.client rather than urllib: it knows no proxy and follows nothing.
"""

from __future__ import annotations

import io
import re
import socket
import time
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from raxl.host import Answer, allowed_metadata, stand_in

ADDRESS, PORT = "169.254.169.254", 80
SECONDS = 1.0
LARGEST = 64 << 10
_TOKEN = re.compile(r"[A-Za-z0-9+/=_-]{1,1024}")
_REFUSED = (401, 403)


class Service(NamedTuple):
    """How one cloud's service wants to be asked."""

    words: str
    root: str
    headers: Mapping[str, str]
    flavour: Optional[Tuple[str, str]] = None
    """A header that its own answers carry: what lacks it comes from somebody else."""


SERVICES = {
    "aws": Service("AWS", "/latest/meta-data/", {}),
    "gcp": Service(
        "Google Cloud",
        "/computeMetadata/v1/instance/",
        {"Metadata-Flavor": "Google"},
        ("Metadata-Flavor", "Google"),
    ),
    "azure": Service("Azure", "/metadata/", {"Metadata": "true"}),
    "oci": Service("OCI", "/opc/v2/", {"Authorization": "Bearer Oracle"}),
}


class Metadata:
    """The services, as long as their second lasts. One that did not answer is asked no more."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._deadline: Optional[float] = None
        self._silent: Dict[str, Answer] = {}
        self._token = ""

    def ask(self, service: str, path: str) -> Answer:
        """The allowed part of what the service holds at a path; a str."""
        if path not in allowed_metadata.paths(service):
            return Answer(None, "not-permitted", "raxl's list of what may be asked of a cloud does not name it")
        if service in self._silent:
            return self._silent[service]
        if self._deadline is None:
            self._deadline = time.monotonic() + self._seconds
        try:
            return self._asked(SERVICES[service], service, path)
        except socket.timeout:
            words = f"{SERVICES[service].words}'s metadata service did not answer within {self._seconds:g} s"
            self._silent[service] = Answer(None, "timed-out", words)
        except (OSError, ValueError) as error:
            words = getattr(error, "strerror", None) or str(error)
            message = f"{SERVICES[service].words}'s metadata service cannot be asked: {words}"
            self._silent[service] = Answer(None, "failed", message[:200])
        return self._silent[service]

    def _asked(self, service: Service, name: str, path: str) -> Answer:
        headers = dict(service.headers)
        if name == "aws":
            if not self._token:
                refused = self._open_session(service)
                if refused is not None:
                    self._silent[name] = refused
                    return refused
            headers["X-aws-ec2-metadata-token"] = self._token
        status, told, body = self._request("GET", service.root + path, headers)
        if status != 200:
            return _refusal(service, status)
        if service.flavour and told.get(service.flavour[0]) != service.flavour[1]:
            return Answer(None, "failed", f"who answered does not say that it is {service.words}'s metadata service")
        if len(body) > LARGEST:
            return Answer(None, "failed", f"the answer is larger than {LARGEST >> 10} KiB")
        kept = allowed_metadata.kept(name, path, body.decode("utf-8", "replace"))
        return Answer(kept) if kept is not None else NO_SUCH_ANSWER

    def _open_session(self, service: Service) -> Optional[Answer]:
        """IMDSv2's hand-shake. The token stays in this object: it is in no answer."""
        status, _, body = self._request(
            "PUT", "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60", "Content-Length": "0"}
        )
        if status != 200:
            return _refusal(service, status)
        token = body.decode("ascii", "replace").strip()
        if not _TOKEN.fullmatch(token):
            return Answer(None, "failed", "the metadata service gave no token")
        self._token = token
        return None

    def _request(self, method: str, path: str, headers: Mapping[str, str]) -> Tuple[int, Any, bytes]:
        """Status, headers, and at most one byte more of the body than is believed."""
        from http.client import HTTPConnection, HTTPException, HTTPResponse

        host, port = _place()
        connection = HTTPConnection(host, port, timeout=self._left())
        try:
            connection.request(method, path, headers={**headers, "Connection": "close"})
            response = HTTPResponse(_Timed(connection.sock, self), method=method)  # type: ignore[arg-type]
            response.begin()
            return response.status, response.headers, response.read(LARGEST + 1)
        except HTTPException as error:
            raise ValueError(f"it does not speak HTTP ({type(error).__name__})") from error
        finally:
            connection.close()

    def _left(self) -> float:
        """Seconds until the end; raises `socket.timeout` when there are none."""
        left = (self._deadline or 0.0) - time.monotonic()
        if left <= 0:
            raise socket.timeout
        return left


class _Timed(io.RawIOBase):
    """A socket that is read until the deadline: each byte by itself could keep a plain time-out from ever coming."""

    def __init__(self, connection: socket.socket, clock: Metadata) -> None:
        self._connection = connection
        self._clock = clock

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        """What `http.client` reads from."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(self._clock._left())
        return self._connection.recv_into(buffer)


NO_SUCH_ANSWER = Answer(None, "failed", "the answer is not what the metadata service holds there")


def _place() -> Tuple[str, int]:
    if not stand_in.server():
        return ADDRESS, PORT
    place = stand_in.place()
    if place is None:
        raise ValueError(f"{stand_in.VARIABLE} is no server on this machine's loopback address")
    return place


def _refusal(service: Service, status: int) -> Answer:
    if status == 404:
        return Answer(None, "not-present", "")
    whose = f"{service.words}'s metadata service"
    if 300 <= status < 400:
        return Answer(None, "failed", f"{whose} redirects, and raxl does not follow")
    if status == 400:
        return Answer(None, "not-supported", f"{whose} does not know the question (HTTP 400)")
    return Answer(None, "not-permitted" if status in _REFUSED else "failed", f"{whose} answered HTTP {status}")
