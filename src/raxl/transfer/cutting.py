"""Two nodes that no longer hear each other, for a few seconds: a route that swallows what is sent to the peer.

It needs CAP_NET_ADMIN. A process of its own takes the route away when the time is over, whatever becomes of raxl.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

_IP = ("/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip")
_MEND = 'sleep "$1"; "$2" route del blackhole "$3"'


def cut(state: dict[str, Any], peer: str, seconds: float) -> str | None:
    """Cuts this node off from `peer`, an IPv4 address, for so many seconds; why it cannot be done, else None."""
    tool = next((path for path in _IP if os.path.exists(path)), None)
    if tool is None:
        return "no ip (iproute2) on the node"
    done = subprocess.run([tool, "route", "add", "blackhole", peer], capture_output=True, text=True, timeout=5)  # noqa: S603
    if done.returncode != 0:
        return f"ip route add: {(done.stderr.strip().splitlines() or ['failed'])[0]}; it needs CAP_NET_ADMIN"
    subprocess.Popen(  # noqa: S603
        ["/bin/sh", "-c", _MEND, "mend", str(seconds), tool, peer],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return None
