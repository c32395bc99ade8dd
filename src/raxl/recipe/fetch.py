"""Files of recipes over HTTPS: within limits, from the host that was named, and known by their hash.

No proxy is asked: it would look names up by itself, and raxl could not tell where it connects to.
"""

from __future__ import annotations

import hashlib
import queue
import re
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from raxl.errors import RaxlError, RecipeError, UnreadableInput
from raxl.recipe import fetch_addresses
from raxl.recipe.fetch_addresses import Resolver

if TYPE_CHECKING:
    import httpx

LARGEST_RECIPE, LARGEST_INDEX = 1 << 20, 4 << 20
SECONDS = 20.0
"""For all of a fetch: names, handshakes, redirects and files."""
_MOST_REDIRECTS = 5
_SUM = re.compile(r"[0-9a-f]{64}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9a-fA-F:.]+", re.ASCII)
_PAGE = re.compile(rb"\s*<(!doctype|html|\?xml)", re.IGNORECASE)
_Result = TypeVar("_Result")


class Pinned(NamedTuple):
    """An address, and the SHA-256 that its content is to have; None where nobody said."""

    url: str
    sha256: str | None


class Way(NamedTuple):
    """How a fetch goes about it."""

    deadline: float
    """By the monotonic clock."""
    resolver: Resolver = fetch_addresses.system
    allow_loopback: bool = False


def is_url(text: str) -> bool:
    """Whether it is meant as an address, not as a name or a file."""
    return "://" in text


def pinned(text: str, sha256: str | None = None) -> Pinned:
    """An address with its sum: `URL#sha256=SUM`, or one that was given beside it. Raises RecipeError for an address
    that is not fetched from, and for sums that are none or differ."""
    url, _, fragment = text.partition("#")
    told = fragment[len("sha256=") :] if fragment.startswith("sha256=") else None
    if fragment and told is None:
        raise RecipeError(f"{url}: what follows # is no sum", "", "Write it as URL#sha256=SUM")
    sums = {one.lower() for one in (told, sha256) if one is not None}
    for one in sums:
        if not _SUM.fullmatch(one):
            raise RecipeError(f"{one[:80]!r} is no SHA-256", "it has 64 hexadecimal digits")
    if len(sums) == 2:
        raise RecipeError(f"{url}: two sums are given, and they differ")
    _parted(url)
    return Pinned(url, sums.pop() if sums else None)


def _parted(url: str) -> tuple[str, int]:
    """Host and port. Raises RecipeError for what raxl does not fetch from."""
    import httpx

    try:
        parts = httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise RecipeError(f"{url} is no address", str(error)) from error
    if parts.scheme != "https":
        raise RecipeError(f"{url} is not fetched", "over HTTPS alone")
    if parts.userinfo:
        raise RecipeError(f"an address of {parts.host} holds credentials", "they would stay in histories and logs")
    host, port = parts.raw_host.decode("ascii"), 443 if parts.port is None else parts.port
    if not _HOST.fullmatch(host) or not 0 < port < 1 << 16:
        raise RecipeError(f"{url} is no address", "it names no host" if not host else f"{host}:{port} is no host")
    return host, port


def within(
    seconds: float, what: str, work: Callable[[Way], _Result], resolver: Resolver, allow_loopback: bool
) -> _Result:
    """What `work` gives, or raises; UnreadableInput where it takes longer.

    It runs beside: a name server, a handshake or a header that comes byte by byte has no end of its own.
    """
    told: queue.SimpleQueue[tuple[_Result | None, BaseException | None]] = queue.SimpleQueue()
    way = Way(time.monotonic() + seconds, resolver, allow_loopback)

    def run() -> None:
        try:
            told.put((work(way), None))
        except BaseException as error:  # it is raised where somebody waits for it
            told.put((None, error))

    threading.Thread(target=run, daemon=True, name="raxl-fetch").start()
    try:
        result, error = told.get(timeout=seconds)
    except queue.Empty:
        raise UnreadableInput(f"{what} is not fetched", f"it takes longer than {seconds:g} s") from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]


def content(wanted: Pinned, largest: int, what: str, way: Way) -> bytes:
    """The bytes that an address serves, which are those that the sum says.

    Raises RecipeError for what is refused, UnreadableInput for what cannot be reached.
    """
    data = _followed(wanted.url, largest, what, way)
    if _PAGE.match(data):
        raise RecipeError(f"{wanted.url} is a web page, no {what}", "", "Take the address of the file itself")
    hold(data, wanted.sha256, wanted.url, what)
    return data


def hold(data: bytes, sha256: str | None, origin: str, what: str) -> None:
    """Raises RecipeError where the bytes are not those of the sum, or there is none."""
    found = hashlib.sha256(data).hexdigest()
    if sha256 is None:
        raise RecipeError(
            f"{origin} is not pinned: expected no sum, got {found}",
            "whoever serves it could change it",
            f"Compare it with the publisher's, then: {origin}#sha256={found}",
        )
    if found != sha256:
        raise RecipeError(
            f"the {what} at {origin} is another one: expected {sha256}, got {found}",
            "it was changed, or the sum is of another version",
            "Ask the publisher",
        )


def _followed(url: str, largest: int, what: str, way: Way) -> bytes:
    """The content, after redirects within the same host."""
    import httpx

    origin = _parted(url)
    context = ssl.create_default_context()
    here = url
    for _ in range(_MOST_REDIRECTS + 1):
        with (
            # It goes nowhere by itself: no proxy, no redirect, nothing kept between two requests.
            httpx.Client(verify=context, trust_env=False, follow_redirects=False) as client,
            closing(_answer(client, here, way)) as response,
        ):
            if not response.has_redirect_location:
                return _read(response, here, largest, what, way)
            told = response.headers["location"]
        try:
            there = str(httpx.URL(here).join(told))
        except (httpx.InvalidURL, ValueError, UnicodeError) as error:
            raise RecipeError(f"{here} redirects to what is no address", told[:100]) from error
        if _parted_redirect(here, there) != origin:
            raise RecipeError(f"{here} redirects to another host", there, "If that is right, fetch from there")
        here = there
    raise RecipeError(f"{url} redirects more than {_MOST_REDIRECTS} times")


def _parted_redirect(here: str, there: str) -> tuple[str, int]:
    try:
        return _parted(there)
    except RecipeError as error:
        raise RecipeError(f"{here} redirects, and {error.what}", error.why) from error


def _answer(client: httpx.Client, url: str, way: Way) -> httpx.Response:
    """The response of the host, asked at an address that was looked at: its name is not looked up again."""
    import httpx

    parts = httpx.URL(url)
    host, port = _parted(url)
    addresses = fetch_addresses.checked(host, port, way.resolver, way.allow_loopback)
    last: RaxlError | None = None
    for address in addresses:
        request = client.build_request(
            "GET",
            parts.copy_with(host=address),
            headers={
                "Host": parts.netloc.decode("ascii"),
                "Accept-Encoding": "identity",
                "Accept": "application/yaml, application/json, text/plain, */*;q=0.1",
                "User-Agent": "raxl",
            },
            extensions={"sni_hostname": host, "timeout": _timeouts(way)},
        )
        try:
            return client.send(request, stream=True)
        except httpx.HTTPError as error:
            last = _unreachable(error, host, url)
            if not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
                raise last from error
    assert last is not None
    raise last


def _timeouts(way: Way) -> dict[str, float]:
    left = max(way.deadline - time.monotonic(), 0.01)
    return {"connect": left, "read": left, "write": left, "pool": left}


def _unreachable(error: Exception, host: str, url: str) -> RaxlError:
    import httpx

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            step = "A company's own authority: SSL_CERT_FILE=ITS.pem"
            return UnreadableInput(f"{host} does not prove to be {host}", f"certificate: {cause.verify_message}", step)
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx.TimeoutException):
        return UnreadableInput(f"{url} does not answer in time")
    return UnreadableInput(f"{url} cannot be fetched", str(error) or type(error).__name__)


def _read(response: httpx.Response, url: str, largest: int, what: str, way: Way) -> bytes:
    import httpx

    if response.status_code != 200:
        step = "Is it the address of the file itself?" if response.status_code in (401, 403, 404) else ""
        raise UnreadableInput(f"{url} is not served", f"HTTP {response.status_code}", step)
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise RecipeError(f"{url} comes packed", "raxl asks for it as it is: what it unpacks to has no limit")
    limit = f"a {what} has at most {largest >> 20} MiB"
    told = response.headers.get("content-length", "")
    if told.isascii() and told.isdigit() and int(told[:20]) > largest:
        raise RecipeError(f"{url} is too large", limit)
    data = bytearray()
    try:
        for part in response.iter_raw():
            data += part
            if len(data) > largest:
                raise RecipeError(f"{url} is too large", limit)
            if time.monotonic() > way.deadline:
                raise UnreadableInput(f"{url} comes too slowly", f"{len(data)} bytes so far")
    except httpx.HTTPError as error:
        raise UnreadableInput(f"{url} broke off after {len(data)} bytes", str(error) or type(error).__name__) from error
    return bytes(data)
