"""The user's own file of variables of NCCL, and of RCCL, as those libraries look for it.

The library takes the file that NCCL_CONF_FILE names; without it `.nccl.conf` (`.rccl.conf`) in the folder that the
user's entry in the password database names, whatever HOME says. Here the user is the one who asks.
"""

from __future__ import annotations

import os
import pwd
import stat
from typing import Dict

from raxl.host import allowed

NAMED = "NCCL_CONF_FILE"
LIBRARIES = ("nccl", "rccl")
_LIMIT = 1 << 20
_KEPT_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
"""A pipe in its place is not waited for."""


def user_files(root: str = "") -> Dict[str, Dict[str, str]]:
    """By library, `path` (the home as `~`), and `text`, of which the allow-list names every line; or why there is
    none: `reason` and `message`."""
    named = os.environ.get(NAMED)
    try:
        home = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        home = ""
    found = {}
    for name in LIBRARIES:
        shown = named or f"~/.{name}.conf"
        if not named and not home:
            found[name] = {"path": shown, "reason": "not-present", "message": "the user has no home"}
        else:
            found[name] = {"path": shown, **_told(root, named or f"{home}/.{name}.conf")}
    return found


def _told(root: str, path: str) -> Dict[str, str]:
    if not path.startswith("/"):
        return {"reason": "failed", "message": "its path is relative, and each process has its own folder"}
    try:
        descriptor = os.open(root + path, _KEPT_OPEN)
    except (FileNotFoundError, NotADirectoryError):
        return {"reason": "not-present", "message": ""}
    except PermissionError as error:
        return {"reason": "not-permitted", "message": error.strerror or ""}
    except (OSError, ValueError) as error:
        return {"reason": "failed", "message": f"{type(error).__name__}"}
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return {"reason": "not-applicable", "message": "it is no file"}
        text = os.read(descriptor, _LIMIT).decode("utf-8", "surrogateescape")
    except OSError as error:
        return {"reason": "failed", "message": error.strerror or ""}
    finally:
        os.close(descriptor)
    return {"text": allowed.nccl_file(text)}
