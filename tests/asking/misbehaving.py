"""Asking halves that do what vendor libraries have been seen to do. The asker loads them by name."""

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
