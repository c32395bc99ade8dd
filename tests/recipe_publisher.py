"""A publisher of recipes: an HTTPS server on the loopback address with its own authority, well or badly behaved."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "recipes.example"
Send = Callable[[bytes], None]
Page = Callable[[Send], None]


class Authority:
    """Signs certificates. Its own is in a file that SSL_CERT_FILE can name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of a test")])
        own = self._builder(self.name, self.key).add_extension(x509.BasicConstraints(True, 0), True)
        own = own.add_extension(
            x509.KeyUsage(False, False, False, False, False, True, True, False, False), True
        ).add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), False)
        self.path = folder / "authority.pem"
        self.path.write_bytes(_pem(own.sign(self.key, hashes.SHA256())))

    def certificate(self, *names: str, days: int = 1, own: bool = False) -> Path:
        """A file with a key and its certificate for these names; `days` back for one that has expired, `own` for one
        that nobody else signed."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        builder = self._builder(subject, key, days, subject if own else self.name)
        alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
        builder = builder.add_extension(alternatives, False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key((key if own else self.key).public_key()), False
        )
        path = self.folder / f"{names[0]}-{days}-{own}.pem"
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path.write_bytes(secret + _pem(builder.sign(key if own else self.key, hashes.SHA256())))
        return path

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, days: int = 1, issuer: x509.Name | None = None
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.timezone.utc)
        until = now + datetime.timedelta(days=days)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer or self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(now, until) - datetime.timedelta(days=2))
            .not_valid_after(until)
        )


def _alternative(name: str) -> x509.GeneralName:
    with suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(name))
    return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


class Publisher:
    """Serves its pages by path; what it was asked is in `asked`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.pages: dict[str, bytes | Page] = {}
        self.asked: list[str] = []
        self.hosts: list[str] = []
        self.over = threading.Event()

    def url(self, path: str, host: str = HOST) -> str:
        """The address of a page."""
        return f"https://{host}:{self.port}{path}"

    def answer(self, request: str, send: Send) -> None:
        """What a request is answered."""
        first, *headers = request.split("\r\n")
        path = first.split(" ")[1]
        self.asked.append(path)
        self.hosts += [line.partition(": ")[2] for line in headers if line.lower().startswith("host:")]
        page = self.pages.get(path)
        if callable(page):
            page(send)
        else:
            send(response(page if page is not None else b"not here", 200 if page is not None else 404))


def response(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None, length: bool = True) -> bytes:
    """A whole answer."""
    lines = [
        f"HTTP/1.1 {status} X",
        "Connection: close",
        *(f"{key}: {value}" for key, value in (headers or {}).items()),
    ]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def redirect(to: str, status: int = 302) -> Page:
    """A page that sends elsewhere."""
    return lambda send: send(response(b"", status, {"Location": to}))


@contextmanager
def serving(certificate: Path, tls: bool = True) -> Iterator[Publisher]:
    """A publisher that answers until the end of the block; without `tls` it speaks plain HTTP."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        publisher = Publisher(listening.getsockname()[1])

        def talk(plain: socket.socket) -> None:
            with suppress(OSError):
                plain.settimeout(30)
                if not tls:
                    plain.sendall(response(b"plain", 400))
                with context.wrap_socket(plain, server_side=True) if tls else plain as connection:
                    request = b""
                    while b"\r\n\r\n" not in request and (part := connection.recv(65536)):
                        request += part
                    publisher.answer(request.decode("latin-1"), connection.sendall)
                    if tls:
                        connection.unwrap()

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=talk, args=(listening.accept()[0],), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield publisher
        finally:
            publisher.over.set()
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)
