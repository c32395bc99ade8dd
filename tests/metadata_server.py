"""A server on the loopback address that answers as a cloud's metadata service does, well or badly."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CANARY = "canary-2b8e61f4"
TOKEN = "AQAEAFbVlWcXtoken-9d3f=="
Page = tuple[int, Mapping[str, str], bytes]
Respond = Callable[[str, str, Mapping[str, str]], Page]
"""From method, path and headers to status, headers and body."""

FIRMWARE = {
    "aws": {"sys_vendor": "Amazon EC2", "product_name": "p5en.48xlarge"},
    "gcp": {"sys_vendor": "Google", "product_name": "Google Compute Engine"},
    "azure": {"sys_vendor": "Microsoft Corporation", "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77"},
    "oci": {"sys_vendor": "Oracle Corporation", "chassis_asset_tag": "OracleCloud.com"},
}
_AWS = {
    "instance-type": "p5en.48xlarge",
    "placement/region": "us-west-2",
    "placement/availability-zone": "us-west-2a",
    "user-data": CANARY,
    "iam/security-credentials/role": CANARY,
}
_GCP = {
    "zone": "projects/1234/zones/us-central1-a",
    "machine-type": "projects/1234/machineTypes/a3-megagpu-8g",
    "attributes/physical_host_topology": json.dumps(
        {"cluster": "c-1", "block": "b-1", "subBlock": "s-1", "host": CANARY, "note": CANARY}
    ),
    "attributes/physical_host": "/b-9/s-9/h-9",
    "attributes/kube-env": CANARY,
    "attributes/ssh-keys": CANARY,
}
_AZURE = {
    "compute": {
        "vmSize": "Standard_ND128isr_NDR_GB200_v6",
        "location": "eastus2",
        "zone": "3",
        "placementGroupId": "",
        "platformFaultDomain": "1",
        "interconnectGroupId": "6a1f0000-0000-4000-8000-000000000001",
        "interconnectSubgroupId": "6a1f0000-0000-4000-8000-000000000002",
        "customData": CANARY,
        "userData": CANARY,
        "osProfile": {"adminUsername": CANARY},
        "publicKeys": [{"keyData": CANARY}],
        "tagsList": [{"name": "secret", "value": CANARY}],
    },
    "network": {"interface": [CANARY]},
}
_OCI = {
    "instance/": {
        "shape": "BM.GPU.GB200-v3.4",
        "region": "phx",
        "canonicalRegionName": "us-phoenix-1",
        "availabilityDomain": "Uocm:PHX-AD-1",
        "metadata": {"ssh_authorized_keys": CANARY, "user_data": CANARY},
    },
    "host": {"id": CANARY, "networkBlockId": "nb-1", "rackId": "rack-7"},
    "host/rdmaTopologyData": {
        "customerHPCIslandId": "island-1",
        "customerNetworkBlock": "net-1",
        "customerLocalBlock": "local-1",
        "customerHostId": CANARY,
        "customerGpuMemoryFabric": "fabric-1",
    },
}


def text(body: str, status: int = 200, **headers: str) -> Page:
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, body.encode()


def aws(method: str, path: str, headers: Mapping[str, str]) -> Page:
    """IMDSv2: a token by PUT, and nothing without it."""
    if path == "/latest/api/token":
        asked = method == "PUT" and headers.get("x-aws-ec2-metadata-token-ttl-seconds")
        return text(TOKEN) if asked else text("", 405)
    if headers.get("x-aws-ec2-metadata-token") != TOKEN:
        return text("", 401)
    value = _AWS.get(path.removeprefix("/latest/meta-data/"))
    return text(value) if value else text("", 404)


def gcp(method: str, path: str, headers: Mapping[str, str]) -> Page:
    if headers.get("metadata-flavor") != "Google":
        return text("", 403)
    value = _GCP.get(path.removeprefix("/computeMetadata/v1/instance/"))
    return text(value or "", 200 if value else 404, Metadata_Flavor="Google")


def azure(method: str, path: str, headers: Mapping[str, str]) -> Page:
    if headers.get("metadata") != "true" or "x-forwarded-for" in headers:
        return text("", 400)
    if path != "/metadata/instance?api-version=2025-11-11&format=json":
        return text('{"error": "Bad request"}', 400)
    return text(json.dumps(_AZURE))


def azure_of_old(method: str, path: str, headers: Mapping[str, str]) -> Page:
    """A region that does not know the newest version of the question."""
    if "api-version=2021-02-01" not in path:
        return text('{"error": "Bad request. api-version is invalid"}', 400)
    return text(json.dumps({"compute": {"vmSize": "Standard_ND96isr_H100_v5", "location": "eastus", "zone": ""}}))


def oci(method: str, path: str, headers: Mapping[str, str]) -> Page:
    if headers.get("authorization") != "Bearer Oracle":
        return text("", 401)
    value = _OCI.get(path.removeprefix("/opc/v2/"))
    return text(json.dumps(value)) if value else text("", 404)


@contextmanager
def serving(respond: Respond) -> Iterator[tuple[str, list[str]]]:
    """The server's address, and the requests that it has got, as `GET /path`."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            status, headers, body = respond(
                self.command, self.path, {name.lower(): value for name, value in self.headers.items()}
            )
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with _running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield address, asked


@contextmanager
def speaking(lines: Callable[[], Iterator[bytes]]) -> Iterator[str]:
    """The address of a server that says these bytes, whatever it is asked."""

    class Handler(BaseHTTPRequestHandler):
        def handle(self) -> None:
            try:
                for part in lines():
                    self.wfile.write(part)
            except OSError:  # who asked has gone
                pass

    with _running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield address


@contextmanager
def _running(server: ThreadingHTTPServer) -> Iterator[str]:
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def silence() -> Iterator[bytes]:
    time.sleep(3)
    yield b""


def trickle() -> Iterator[bytes]:
    """A byte now and then: no single wait is long."""
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    for _ in range(40):
        time.sleep(0.1)
        yield b"x"
