"""`raxl recipe fetch` and `index`: what a publisher serves, and how it can go wrong, over real HTTPS."""

from __future__ import annotations

import gzip
import hashlib
import json
import socket
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import pytest

from raxl.cli import outcome, recipe
from raxl.errors import RaxlError, RecipeError, UnreadableInput, UsageError
from raxl.model import codec
from raxl.recipe import fetch_addresses, fetching, index, load, shelf
from raxl.recipe.fetching import Outcome, Request
from recipe_publisher import HOST, Authority, Publisher, redirect, response, serving

RECIPE = b"""\
schema: raxl.recipe/v1
name: mine
title: A machine of ours
maturity: documented
extends: ours
source:
  - {id: page, url: "https://example.org/page", read: "2026-11-01", covers: [env]}
match:
  all:
    - {fact: accelerators.count, op: "==", value: 8}
env:
  set:
    - {name: NCCL_DEBUG, value: WARN, why: to see what goes wrong, source: page}
"""
LAYER = b"""\
schema: raxl.recipe/v1
name: ours
title: What all of ours share
layer: true
source:
  - {id: site, url: "https://example.org/site", read: "2026-11-01", covers: [env]}
env:
  set:
    - {name: NCCL_SOCKET_IFNAME, value: "^docker,lo", why: the others are the network, source: site}
"""
PLAIN = RECIPE.replace(b"extends: ours\n", b"")
NOW = datetime(2026, 11, 30, tzinfo=timezone.utc)


def sum_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def publisher(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    with serving(authority.certificate(HOST, "127.0.0.1")) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A publisher's recipes."""
    path = tmp_path / "published"
    (path / "layers").mkdir(parents=True)
    (path / "mine.yaml").write_bytes(RECIPE)
    (path / "layers" / "ours.yaml").write_bytes(LAYER)
    return path


def local(host: str, port: int) -> list[str]:
    """A name server that knows the publisher alone."""
    assert host in (HOST, "127.0.0.1"), host
    return ["127.0.0.1"]


def fetched(target: str, root: Path, listing: str | None = None, **others: object) -> Outcome:
    settings = {"allow_loopback": True, "resolver": local, **others}
    return fetching.fetched(Request(target, root, listing, **settings))  # type: ignore[arg-type]


def serve(publisher: Publisher, folder: Path, base: str | None = None) -> str:
    """Puts a folder with its index online; gives the pinned address of the index."""
    content = index.encoded(index.made(folder, base, NOW))
    publisher.pages["/r/index.json"] = content
    for path in folder.rglob("*.yaml"):
        publisher.pages[f"/r/{path.relative_to(folder)}"] = path.read_bytes()
    return f"{publisher.url('/r/index.json')}#sha256={sum_of(content)}"


def refused(target: str, root: Path, listing: str | None = None, **others: object) -> RaxlError:
    """Why it is refused: one line, and nothing is kept."""
    before = tree(root)
    with pytest.raises(RaxlError) as error:
        fetched(target, root, listing, **others)
    assert "\n" not in str(error.value)
    assert tree(root) == before
    return error.value


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_recipe_is_fetched_by_name_with_its_layer(publisher: Publisher, folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    found = fetched("mine", root, serve(publisher, folder))
    assert found.recipe.name == "mine"
    assert [one.name for one in found.recipe.env.set] == ["NCCL_SOCKET_IFNAME", "NCCL_DEBUG"]
    shelved = root / "recipes"
    assert (shelved / "mine.yaml").read_bytes() == RECIPE
    assert (shelved / "layers" / "ours.yaml").read_bytes() == LAYER
    assert (shelved / "mine.yaml.sha256").read_text() == f"{sum_of(RECIPE)}  mine.yaml\n"
    assert (shelved / "mine.yaml").stat().st_mode & 0o777 == 0o600
    assert [(one.path.name, one.status) for one in found.files] == [("mine.yaml", "new"), ("ours.yaml", "new")]
    assert load.named("mine", [shelved]).recipe == found.recipe
    assert publisher.hosts == [f"{HOST}:{publisher.port}"] * 3


def test_the_index_is_known_from_then_on(publisher: Publisher, folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    assert "no index was used here yet" in str(refused("mine", root))
    fetched("mine", root, serve(publisher, folder))
    again = fetched("mine", root)
    assert {one.status for one in again.files} == {"same"}
    (root / "recipes" / "index.json").write_text("{}")
    assert "was changed: expected" in str(refused("mine", root))


def test_a_changed_recipe_is_refused_with_both_sums(publisher: Publisher, folder: Path, tmp_path: Path) -> None:
    listing = serve(publisher, folder)
    changed = RECIPE.replace(b"WARN", b"INFO")
    publisher.pages["/r/mine.yaml"] = changed
    error = refused("mine", tmp_path / "root", listing)
    assert isinstance(error, RecipeError)
    assert f"expected {sum_of(RECIPE)}, got {sum_of(changed)}" in str(error)


def test_a_changed_layer_or_index_is_refused(publisher: Publisher, folder: Path, tmp_path: Path) -> None:
    listing = serve(publisher, folder)
    publisher.pages["/r/layers/ours.yaml"] = LAYER + b"\n"
    assert "another one: expected" in str(refused("mine", tmp_path / "root", listing))
    publisher.pages["/r/index.json"] = b"{}"
    assert f"got {sum_of(b'{}')}" in str(refused("mine", tmp_path / "root", listing))


def test_an_address_is_to_be_pinned(publisher: Publisher, tmp_path: Path) -> None:
    publisher.pages["/mine.yaml"] = PLAIN
    url, root = publisher.url("/mine.yaml"), tmp_path / "root"
    error = str(refused(url, root))
    assert f"expected no sum, got {sum_of(PLAIN)}" in error
    assert f"{url}#sha256={sum_of(PLAIN)}" in error
    assert sum_of(b"x") in str(refused(f"{url}#sha256={sum_of(b'x')}", root))
    assert fetched(f"{url}#sha256={sum_of(PLAIN).upper()}", root).files[0].status == "new"
    assert fetched(url, root, sha256=sum_of(PLAIN)).files[0].status == "same"


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("http://{host}/mine.yaml", "over HTTPS alone"),
        ("file:///etc/passwd", "over HTTPS alone"),
        ("ftp://{host}/mine.yaml", "over HTTPS alone"),
        ("https://me:secret@{host}/mine.yaml", "holds credentials"),
        ("https://{host}/mine.yaml#sha256=12", "is no SHA-256"),
        ("https://{host}/mine.yaml#part", "is no sum"),
        ("https:///mine.yaml", "is no address|names no host"),
        ("https://{host}:99999/mine.yaml", "is no address"),
        ("https://exa mple/x", "is no address"),
    ],
)
def test_addresses_that_are_not_fetched_from(target: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=why) as error:
        fetched(target.replace("{host}", HOST), tmp_path, resolver=lambda *_: pytest.fail("looked up"))
    assert "secret" not in str(error.value)


def test_what_is_too_large_is_not_read_to_its_end(publisher: Publisher, tmp_path: Path) -> None:
    sent = []

    def endless(send: object) -> None:
        send(b"HTTP/1.1 200 X\r\nConnection: close\r\n\r\n")  # type: ignore[operator]
        while not publisher.over.is_set():
            send(b"#" * 65536)  # type: ignore[operator]
            sent.append(65536)

    publisher.pages["/told"] = b"#" * ((1 << 20) + 1)
    publisher.pages["/endless"] = endless
    for path in ("/told", "/endless"):
        error = refused(publisher.url(path), tmp_path)
        assert "is too large (a recipe has at most 1 MiB)" in str(error)
    assert sum(sent) < 16 << 20


def test_a_lie_about_the_length_is_no_recipe(publisher: Publisher, tmp_path: Path) -> None:
    publisher.pages["/short"] = lambda send: send(response(b"x" * 10, headers={"Content-Length": "100"}, length=False))
    error = refused(publisher.url("/short"), tmp_path)
    assert isinstance(error, UnreadableInput)
    assert "broke off after" in str(error)


@pytest.mark.parametrize("where", ["header", "body"])
def test_a_slow_drip_ends(publisher: Publisher, tmp_path: Path, where: str) -> None:
    def drip(send: object) -> None:
        send(b"HTTP/1.1 200 X\r\n" if where == "header" else b"HTTP/1.1 200 X\r\nContent-Length: 9999\r\n\r\n")  # type: ignore[operator]
        while not publisher.over.wait(0.05):
            send(b"x")  # type: ignore[operator]

    publisher.pages["/slow"] = drip
    begun = time.monotonic()
    error = refused(publisher.url("/slow"), tmp_path, seconds=1.0)
    assert isinstance(error, UnreadableInput)
    assert 0.9 < time.monotonic() - begun < 5


def test_a_name_server_and_a_handshake_that_hang_end_too(authority: Authority, tmp_path: Path) -> None:
    def hanging(host: str, port: int) -> Sequence[str]:
        time.sleep(5)
        return ["127.0.0.1"]

    begun = time.monotonic()
    assert "takes longer than 0.5 s" in str(refused(f"https://{HOST}/x", tmp_path, seconds=0.5, resolver=hanging))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://{HOST}:{silent.getsockname()[1]}/x"
        assert isinstance(refused(url, tmp_path, seconds=0.5), UnreadableInput)
    assert time.monotonic() - begun < 4


def test_redirects_within_the_host_are_followed(publisher: Publisher, tmp_path: Path) -> None:
    publisher.pages["/mine.yaml"] = PLAIN
    publisher.pages["/a"] = redirect("/b", 301)
    publisher.pages["/b"] = redirect(publisher.url("/mine.yaml"), 307)
    fetched(f"{publisher.url('/a')}#sha256={sum_of(PLAIN)}", tmp_path)
    assert publisher.asked == ["/a", "/b", "/mine.yaml"]


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("https://elsewhere.example/mine.yaml", "redirects to another host"),
        ("https://169.254.169.254/latest/user-data", "redirects to another host"),
        ("//elsewhere.example/x", "redirects to another host"),
        (f"https://{HOST}/other-port", "redirects to another host"),
        (f"http://{HOST}/mine.yaml", "over HTTPS alone"),
        ("file:///etc/passwd", "over HTTPS alone"),
        (f"https://me:pw@{HOST}/x", "credentials"),
        ("https://[broken/", "redirects, and https://%5bbroken/ is no address"),
        ("/loop", "redirects more than 5 times"),
    ],
)
def test_redirects_that_lead_away_are_refused(publisher: Publisher, tmp_path: Path, to: str, why: str) -> None:
    publisher.pages["/loop"] = redirect(to)
    looked_up: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        looked_up.append(host)
        return ["127.0.0.1"]

    error = refused(f"{publisher.url('/loop')}#sha256={'0' * 64}", tmp_path, resolver=resolver)
    assert isinstance(error, RecipeError)
    assert why in str(error)
    assert set(looked_up) == {HOST}
    assert len(publisher.asked) <= 6


@pytest.mark.parametrize(
    ("names", "days", "own", "why"),
    [
        (("elsewhere.example",), 1, False, "ostname mismatch"),
        ((HOST,), -1, False, "expired"),
        ((HOST,), 1, True, "self-signed certificate"),
    ],
)
def test_a_certificate_that_proves_nothing(
    authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    names: tuple[str, ...],
    days: int,
    own: bool,
    why: str,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    with serving(authority.certificate(*names, days=days, own=own)) as found:
        found.pages["/mine.yaml"] = PLAIN
        error = refused(f"{found.url('/mine.yaml')}#sha256={sum_of(PLAIN)}", tmp_path)
        assert found.asked == []
    assert isinstance(error, UnreadableInput)
    assert f"{HOST} does not prove to be {HOST}" in str(error)
    assert why in str(error)


def test_an_authority_that_nobody_named_is_not_believed(authority: Authority, tmp_path: Path) -> None:
    with serving(authority.certificate(HOST)) as found:
        error = refused(found.url("/mine.yaml"), tmp_path)
        assert found.asked == []
    assert "certificate: " in str(error)


def test_a_server_of_plain_http_is_no_https(authority: Authority, tmp_path: Path) -> None:
    with serving(authority.certificate(HOST), tls=False) as found:
        error = refused(found.url("/mine.yaml"), tmp_path)
    assert isinstance(error, UnreadableInput)
    assert "cannot be fetched" in str(error)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("169.254.169.254", "questions about the machine itself"),
        ("169.254.1.1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("fd00:ec2::254", "questions about the machine itself"),
        ("168.63.129.16", "questions about the machine itself"),
        ("100.100.100.200", "questions about the machine itself"),
        ("::ffff:169.254.169.254", "questions about the machine itself"),
        ("64:ff9b::a9fe:a9fe", "questions about the machine itself"),
        ("2002:a9fe:a9fe::1", "questions about the machine itself"),
        ("::a9fe:101", "link-local"),
        ("0.0.0.0", "no host's"),
        ("0.1.2.3", "no host's"),
        ("::", "no host's"),
        ("224.0.0.1", "no single host's"),
        ("255.255.255.255", "no single host's"),
        ("ff02::1", "no single host's"),
        ("127.0.0.1", "this machine"),
        ("127.8.8.8", "this machine"),
        ("::1", "this machine"),
        ("::ffff:127.0.0.1", "this machine"),
        ("localhost", "no address"),
    ],
)
def test_a_name_that_leads_to_a_forbidden_address(address: str, why: str, tmp_path: Path) -> None:
    def resolver(host: str, port: int) -> list[str]:
        return ["93.184.216.34", address]

    error = refused(f"https://{HOST}/x#sha256={'0' * 64}", tmp_path, resolver=resolver, allow_loopback=False)
    assert isinstance(error, RecipeError)
    assert f"{HOST} has the address {address}" in str(error)
    assert why in str(error)


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "192.168.1.1", "172.16.0.1", "fd12::1", "100.64.0.1", "8.8.8.8", "2001:db8::1"]
)
def test_private_addresses_are_a_companys_own(address: str) -> None:
    assert fetch_addresses.refusal(address, False) is None


def test_the_loopback_is_for_who_asks_for_it(publisher: Publisher, tmp_path: Path) -> None:
    publisher.pages["/mine.yaml"] = PLAIN
    target = f"{publisher.url('/mine.yaml', '127.0.0.1')}#sha256={sum_of(PLAIN)}"
    assert "--allow-loopback" in str(refused(target, tmp_path, allow_loopback=False))
    assert publisher.asked == []
    fetched(target, tmp_path, allow_loopback=True, resolver=fetch_addresses.system)


def test_a_name_is_looked_up_once_a_hop(publisher: Publisher, tmp_path: Path) -> None:
    """What a name server says afterwards is not asked: it could be another address."""
    publisher.pages["/mine.yaml"] = PLAIN
    publisher.pages["/a"] = redirect("/mine.yaml")
    answers = [["127.0.0.1"], ["169.254.169.254"]]

    def rebinding(host: str, port: int) -> list[str]:
        return answers.pop(0)

    fetched(f"{publisher.url('/mine.yaml')}#sha256={sum_of(PLAIN)}", tmp_path / "one", resolver=rebinding)
    assert answers == [["169.254.169.254"]]
    answers.insert(0, ["127.0.0.1"])
    error = refused(f"{publisher.url('/a')}#sha256={sum_of(PLAIN)}", tmp_path / "two", resolver=rebinding)
    assert "169.254.169.254" in str(error)


def test_a_second_address_is_tried_where_the_first_does_not_answer(publisher: Publisher, tmp_path: Path) -> None:
    publisher.pages["/mine.yaml"] = PLAIN
    target = f"{publisher.url('/mine.yaml')}#sha256={sum_of(PLAIN)}"
    fetched(target, tmp_path, resolver=lambda *_: ["127.0.0.2", "127.0.0.1"])


def test_a_name_without_address_and_a_port_without_server(tmp_path: Path) -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    assert f"{HOST} has no address (Name or service not known)" in str(
        refused(f"https://{HOST}/x", tmp_path, resolver=unknown)
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        error = refused(f"https://{HOST}:{free.getsockname()[1]}/x", tmp_path)
    assert isinstance(error, UnreadableInput)
    assert "refused" in str(error)


def test_proxies_of_the_environment_are_not_asked(
    publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    publisher.pages["/mine.yaml"] = PLAIN
    assert fetched(f"{publisher.url('/mine.yaml')}#sha256={sum_of(PLAIN)}", tmp_path).recipe.name == "mine"


def test_what_comes_packed_is_refused(publisher: Publisher, tmp_path: Path) -> None:
    bomb = gzip.compress(b"#" * (64 << 20))
    publisher.pages["/bomb"] = lambda send: send(response(bomb, headers={"Content-Encoding": "gzip"}))
    assert "comes packed" in str(refused(f"{publisher.url('/bomb')}#sha256={sum_of(bomb)}", tmp_path))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"<!DOCTYPE html><html>sign in</html>", "is a web page, no recipe"),
        (b"\n <HTML>", "is a web page, no recipe"),
        (b"\x00\xff\x13garbage", "has no name of one"),
        (b"", "has no name of one"),
        (b"name: ../../evil\n", "has no name of one"),
        (b"name: mine\n", "schema"),
        (PLAIN.replace(b"NCCL_DEBUG", b"NCCL_DEBUG$(id)"), "NCCL_DEBUG"),
        (PLAIN + b"surprise: 1\n", "surprise"),
        (PLAIN.replace(b"name: mine", b"name: cpu-loopback", 1), "raxl has a recipe cpu-loopback of its own"),
        (LAYER, "is a layer"),
        (RECIPE, "ours"),
    ],
)
def test_what_is_no_valid_recipe_is_not_kept(publisher: Publisher, tmp_path: Path, content: bytes, why: str) -> None:
    publisher.pages["/x"] = content
    error = refused(f"{publisher.url('/x')}#sha256={sum_of(content)}", tmp_path)
    assert isinstance(error, RecipeError)
    assert why in str(error)


def test_a_page_that_is_not_there(publisher: Publisher, folder: Path, tmp_path: Path) -> None:
    error = refused(publisher.url("/nothing"), tmp_path)
    assert isinstance(error, UnreadableInput)
    assert "HTTP 404" in str(error)
    listing = serve(publisher, folder)
    del publisher.pages["/r/layers/ours.yaml"]
    assert "HTTP 404" in str(refused("mine", tmp_path / "root", listing))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"file": "../../../etc/passwd"}, "the file of mine is"),
        ({"file": "/etc/passwd"}, "the file of mine is"),
        ({"file": "https://elsewhere.example/mine.yaml"}, "the file of mine is"),
        ({"file": "layers/mine.yaml"}, "the file of mine is"),
        ({"name": "../x"}, "is no name of a recipe"),
        ({"sha256": "x"}, "has no SHA-256"),
        ({"size_bytes": 1 << 30}, "at most 1 MiB"),
        ({"maturity": "perfect"}, "maturity"),
        ({"extends": "../x"}, "extends"),
    ],
)
def test_an_entry_that_climbs_or_lies_is_refused(
    publisher: Publisher, folder: Path, tmp_path: Path, change: dict[str, object], why: str
) -> None:
    serve(publisher, folder)
    told = json.loads(publisher.pages["/r/index.json"])  # type: ignore[arg-type]
    told["recipes"][0].update(change)
    content = json.dumps(told).encode()
    publisher.pages["/r/index.json"] = content
    error = refused("mine", tmp_path / "root", f"{publisher.url('/r/index.json')}#sha256={sum_of(content)}")
    assert isinstance(error, RecipeError)
    assert why in str(error)
    assert publisher.asked == ["/r/index.json"]


def test_an_index_that_is_none(publisher: Publisher, folder: Path, tmp_path: Path) -> None:
    serve(publisher, folder)
    good = json.loads(publisher.pages["/r/index.json"])  # type: ignore[arg-type]
    twice = {**good, "recipes": [*good["recipes"], good["recipes"][0]]}
    newer = {**good, "schema": "raxl.recipe-index/v9"}
    for told, why in (
        (b"[]", "is no index"),
        (b"garbage", "is no index"),
        (json.dumps(twice).encode(), "mine is there twice"),
        (json.dumps(newer).encode(), "its schema is 'raxl.recipe-index/v9'"),
        (json.dumps({**good, "base": "http://x/"}).encode(), "its base is"),
        (b"<html>", "is a web page, no index"),
    ):
        publisher.pages["/i"] = told
        assert why in str(refused("mine", tmp_path / "root", f"{publisher.url('/i')}#sha256={sum_of(told)}"))
    assert "has no recipe ours (it has mine)" in str(refused("ours", tmp_path / "root", serve(publisher, folder)))


def test_a_local_index_needs_no_pin_and_its_files_lie_beside_it(folder: Path, tmp_path: Path) -> None:
    listing = folder / "index.json"
    listing.write_bytes(index.encoded(index.made(folder, None, NOW)))
    root = tmp_path / "root"
    assert fetched("mine", root, str(listing)).recipe.name == "mine"
    assert not (root / "recipes" / "index.json").exists()
    (folder / "mine.yaml").write_bytes(RECIPE + b"\n")
    assert "another one: expected" in str(refused("mine", root, str(listing)))
    assert "no such file" in str(refused("mine", root, str(tmp_path / "none.json")))


def test_a_local_index_may_say_who_serves_its_files(publisher: Publisher, folder: Path, tmp_path: Path) -> None:
    serve(publisher, folder)
    listing = tmp_path / "index.json"
    listing.write_bytes(index.encoded(index.made(folder, publisher.url("/r/"), NOW)))
    root = tmp_path / "root"
    fetched("mine", root, str(listing))
    assert publisher.asked == ["/r/mine.yaml", "/r/layers/ours.yaml"]
    listing.unlink()
    fetched("mine", root)


def test_a_newer_one_takes_the_place_of_the_older(publisher: Publisher, folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    fetched("mine", root, serve(publisher, folder))
    newer = RECIPE.replace(b"WARN", b"INFO")
    (folder / "mine.yaml").write_bytes(newer)
    found = fetched("mine", root, serve(publisher, folder))
    assert [one.status for one in found.files] == ["replaced", "same"]
    assert (root / "recipes" / "mine.yaml").read_bytes() == newer


def test_a_file_that_somebody_changed_stays(publisher: Publisher, folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    listing = serve(publisher, folder)
    fetched("mine", root, listing)
    kept = root / "recipes" / "mine.yaml"
    kept.write_bytes(RECIPE + b"# mine\n")
    error = refused("mine", root, listing)
    assert f"{kept} was changed: expected {sum_of(RECIPE)}, got {sum_of(RECIPE + b'# mine' + bytes([10]))}" in str(
        error
    )
    (root / "recipes" / "mine.yaml.sha256").unlink()
    assert "no sum lies beside it" in str(refused("mine", root, listing))


def test_a_kill_between_the_two_files_is_mended(publisher: Publisher, folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    fetched("mine", root, serve(publisher, folder))
    newer = RECIPE.replace(b"WARN", b"INFO")
    (folder / "mine.yaml").write_bytes(newer)
    (root / "recipes" / "mine.yaml").write_bytes(newer)
    assert fetched("mine", root, serve(publisher, folder)).files[0].status == "same"
    assert (root / "recipes" / "mine.yaml.sha256").read_text() == f"{sum_of(newer)}  mine.yaml\n"


def test_a_layer_that_another_recipe_extends_is_not_changed_beneath_it(
    publisher: Publisher, folder: Path, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    (folder / "yours.yaml").write_bytes(RECIPE.replace(b"name: mine", b"name: yours"))
    fetched("yours", root, serve(publisher, folder))
    (folder / "layers" / "ours.yaml").write_bytes(LAYER.replace(b"docker,lo", b"docker"))
    error = refused("mine", root, serve(publisher, folder))
    assert "yours.yaml extends another layer ours" in str(error)


def test_no_symbolic_link_is_followed(publisher: Publisher, folder: Path, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "recipes").symlink_to(outside)
    assert "is a symbolic link" in str(refused("mine", root, serve(publisher, folder)))
    assert list(outside.iterdir()) == []
    (root / "recipes").unlink()
    (root / "recipes").mkdir()
    (root / "recipes" / "mine.yaml").symlink_to(outside / "x")
    assert "is a symbolic link" in str(refused("mine", root, serve(publisher, folder)))
    assert list(outside.iterdir()) == []


def test_flags_that_do_not_go_together(tmp_path: Path) -> None:
    for target, listing, sum_ in (
        ("https://x.example/y", "index.json", None),
        ("mine", "index.json", "0" * 64),
        ("mine", None, "0" * 64),
        ("../mine", None, None),
        ("Mine", None, None),
    ):
        with pytest.raises(UsageError):
            fetched(target, tmp_path, listing, sha256=sum_)
    with pytest.raises(RecipeError, match="two sums are given, and they differ"):
        fetched(f"https://x.example/y#sha256={'0' * 64}", tmp_path, sha256="1" * 64)


def test_an_index_lists_recipes_and_layers_with_their_sums(folder: Path) -> None:
    made = index.made(folder, None, NOW)
    assert made.created == "2026-11-30T00:00:00Z"
    assert [(one.name, one.file, one.layer, one.extends) for one in made.recipes] == [
        ("mine", "mine.yaml", False, "ours"),
        ("ours", "layers/ours.yaml", True, None),
    ]
    assert [one.sha256 for one in made.recipes] == [sum_of(RECIPE), sum_of(LAYER)]
    assert index.decoded(index.encoded(made), "x") == made
    assert index.encoded(index.made(folder, None, NOW)) == index.encoded(made)
    json.loads(codec.schema("recipe-index"))


def test_an_index_is_made_of_valid_recipes_alone(folder: Path, tmp_path: Path) -> None:
    (folder / "wrong.yaml").write_bytes(PLAIN.replace(b"name: mine", b"name: wrong") + b"surprise: 1\n")
    with pytest.raises(RecipeError, match=r"wrong\.yaml:\d+ surprise"):
        index.made(folder)
    (folder / "wrong.yaml").write_bytes(
        PLAIN.replace(b"name: mine", b"name: wrong").replace(b"documented", b"validated")
    )
    with pytest.raises(RecipeError, match="is not earned"):
        index.made(folder)
    (folder / "wrong.yaml").unlink()
    (folder / "linked.yaml").symlink_to(folder / "mine.yaml")
    with pytest.raises(RecipeError, match="no regular file"):
        index.made(folder)
    with pytest.raises(RecipeError, match="holds no recipe"):
        index.made(tmp_path)
    with pytest.raises(UnreadableInput, match="no such folder"):
        index.made(tmp_path / "none")


def test_the_commands(
    publisher: Publisher,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From a folder to an index that is served, and to a recipe on another machine's shelf."""
    monkeypatch.setenv("COLUMNS", "100")
    assert outcome.run(recipe.app, ["index", str(folder)]) == 0
    made = (folder / "index.json").read_bytes()
    out = capsys.readouterr().out
    assert f"--sha256 {sum_of(made)}" in out
    assert "1 recipe and 1 layer, each valid" in out
    assert outcome.run(recipe.app, ["index", str(folder)]) == 0
    assert (folder / "index.json").read_bytes() == made, "the same recipes have the same index"
    capsys.readouterr()
    serve(publisher, folder)
    publisher.pages["/r/index.json"] = made
    listing = publisher.url("/r/index.json", "127.0.0.1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    flags = ["fetch", "mine", "--index", listing, "--sha256", sum_of(made)]
    assert outcome.run(recipe.app, flags) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "--allow-loopback" in captured.err
    assert not (tmp_path / "config").exists()
    assert outcome.run(recipe.app, [*flags, "--allow-loopback"]) == 0
    kept = tmp_path / "config" / "raxl" / "recipe" / "recipes" / "mine.yaml"
    assert kept.read_bytes() == RECIPE
    assert "raxl recipe plan mine" in " ".join(capsys.readouterr().out.split())
    assert shelf.kept_index(tmp_path / "config" / "raxl" / "recipe").content == made
