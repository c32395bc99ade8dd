"""Asking halves that do what vendor libraries have been seen to do. The asker loads them by name."""

import contextlib
import os
import signal
import sys
import time

from raxl.host import Host


def good(host: Host) -> None:
    host.text("/first")


def reads_a_pipe(host: Host) -> None:
    host.text("/pipe")
    host.text("/after")


def asks_a_library(host: Host) -> None:
    """A library that nobody can load, one that is slow at first, and one that hangs at one of two devices."""
    host.library("unknown", "start")
    host.library("broken", "start")
    for call in ("start", "name 0", "name 1", "serial 0", "serial 1"):
        host.library("slow", *call.split(" "))
    host.text("/after")


class Broken:
    """What an import has been seen to raise."""

    def __init__(self, root: str) -> None:
        sys.stdout.write("Unable to find the library\n")
        raise KeyError("libsomething.so")


class Slow:
    def __init__(self, root: str) -> None:
        time.sleep(3.3)

    def start(self) -> int:
        return 2

    def name(self, index: str) -> str:
        if index == "1":
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            time.sleep(600)
        return f"device {index}"

    serial = name


def writes_everywhere(host: Host) -> None:
    host.text("/first")
    for descriptor in range(1, 20):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"library: something went wrong\n")
    host.text("/after")


def forges_lines(host: Host) -> None:
    """Lines of the protocol that are none of the child's."""
    host.text("/first")
    lines = (
        b'["ask", "command", "true"]\n["answer", 5, null, ""]\n',
        b'["ask", [], {}]\n',
        b'["task", 7]\n[[], 1]\n',
        b'["task", "another"]\n',
    )
    for line in lines:
        for descriptor in range(3, 20):
            with contextlib.suppress(OSError):
                os.write(descriptor, line)
    host.text("/after")
    time.sleep(0.2)
    os._exit(0)


def forks_and_dies(host: Host) -> None:
    """What it leaves behind holds the stream open."""
    if os.fork() == 0:
        os.setsid()
        time.sleep(20)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


def hangs_without_a_question(host: Host) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)


def leaves(host: Host) -> None:
    os._exit(0)


def raises(host: Host) -> None:
    raise KeyError("libsomething.so")


def prints_and_edits(host: Host) -> None:
    sys.stdout.write("a banner on descriptor 1\n")
    sys.stdout.flush()
    os.write(1, b'["answer", "forged", null, ""]\n')
    os.environ.clear()
    host.text("/second")


def last(host: Host) -> None:
    host.text("/last")
