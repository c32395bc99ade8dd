"""The machine that this process runs on. Used inside the asker, where a question may hang without harm."""

from __future__ import annotations

import errno
import importlib
import os
import stat
import time
from typing import Any, Callable, Dict, Mapping, Sequence

from raxl.host import Answer, CommandOutput, allowed, stand_in

TEXT_LIMIT = 1 << 20
DATA_LIMIT = 4096
FIRMWARE = "/sys/class/dmi/id/product_name"
NO_DATA = Answer(None, "not-supported", "no file but a PCI configuration space is given as bytes")
OUTPUT_LIMIT = 64 << 20
COMMAND_SECONDS = 10.0
TRUSTED_FOLDERS = (
    "/usr/bin",
    "/usr/sbin",
    "/bin",
    "/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/bin",
    "/opt/rocm/bin",
    "/opt/aws/neuron/bin",
    "/opt/mxdriver/bin",
    "/opt/maca/bin",
)
BESIDE_RAY = (
    "ray",
    "amdsmi",
    "dpctl",
    "pymxsml",
    "habana_frameworks",
    "acl",
    "rebel",
    "furiosa_smi_py",
    "qbruntime",
)
"""Ray, and the packages through which it counts accelerators."""
_REASONS = {
    errno.ENOENT: "not-present",
    errno.ENOTDIR: "not-present",
    errno.ENODEV: "not-present",
    errno.ENXIO: "not-present",
    errno.EACCES: "not-permitted",
    errno.EPERM: "not-permitted",
    errno.EOPNOTSUPP: "not-supported",
    errno.ENOSYS: "not-supported",
    errno.ETIMEDOUT: "timed-out",
}


def refusal(error: OSError) -> Answer:
    """The answer for a question that the kernel refused."""
    reason = _REASONS.get(error.errno or 0, "failed")
    return Answer(None, reason, (error.strerror or str(error)) if reason != "not-present" else "")


class LiveHost:
    """Answers from the running system below `root` (`/`, or where a host's file system is mounted)."""

    def __init__(
        self, root: str = "/", command_seconds: float = COMMAND_SECONDS, libraries: Mapping[str, str] | None = None
    ) -> None:
        """`libraries` names the class of each vendor library, `module:Class`: made with the root, its methods take and
        give plain data, and its `refusal(error)` is the answer for what they raise."""
        self._root = os.path.realpath(root).rstrip("/")
        self._command_seconds = command_seconds
        self._classes = dict(libraries or {})
        self._libraries: Dict[str, Any] = {}
        self._metadata: Any = None

    def _inside(self, path: str) -> str:
        return self._root + path

    def text(self, path: str) -> Answer:
        try:
            content = self._content(path, TEXT_LIMIT)
        except OSError as error:
            return refusal(error)
        return Answer(allowed.file_text(path, content.decode("utf-8", "surrogateescape")))

    def data(self, path: str) -> Answer:
        if not allowed.is_data(path):
            return NO_DATA
        try:
            return Answer(self._content(path, DATA_LIMIT).hex())
        except OSError as error:
            return refusal(error)

    def _content(self, path: str, limit: int) -> bytes:
        descriptor = os.open(self._inside(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            return read(descriptor, limit)
        finally:
            os.close(descriptor)

    def names(self, path: str) -> Answer:
        try:
            return Answer(sorted(os.listdir(self._inside(path))))
        except OSError as error:
            return refusal(error)

    def link(self, path: str) -> Answer:
        try:
            os.lstat(self._inside(path))
            target = os.path.realpath(self._inside(path))
        except OSError as error:
            return refusal(error)
        if target != self._root and not target.startswith(self._root + "/"):
            return Answer(None, "not-permitted", "the link leaves the host's root")
        return Answer(target[len(self._root) :] or "/")

    def command(self, arguments: Sequence[str]) -> Answer:
        import subprocess

        program = _trusted(arguments[0])
        if program is None:
            return Answer(None, "not-installed", f"{arguments[0]} is in none of the trusted folders")
        try:
            child = subprocess.Popen(
                [program, *arguments[1:]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={"LC_ALL": "C", "PATH": ":".join(TRUSTED_FOLDERS)},
                cwd="/",
            )
        except OSError as error:
            return refusal(error)
        return _collect(child, arguments[0], self._command_seconds)

    def library(self, name: str, method: str, *arguments: object) -> Answer:
        if name not in self._classes:
            return Answer(None, "not-asked", f"raxl has no library called {name}")
        try:
            if name not in self._libraries:
                module, _, attribute = self._classes[name].partition(":")
                self._libraries[name] = getattr(importlib.import_module(module), attribute)(self._root)
            library = self._libraries[name]
        except Exception as error:  # a broken class costs its own answers
            return Answer(None, "failed", f"{type(error).__name__}: {error}"[:500])
        try:
            return Answer(getattr(library, method)(*arguments))
        except Exception as error:  # bindings raise what they like, KeyError and ctypes' own errors among it
            return library.refusal(error)  # type: ignore[no-any-return]

    def process(self, name: str) -> Answer:
        try:
            if name in _BELOW_ROOT:
                return Answer(_BELOW_ROOT[name](self._root))
            return Answer(_PROCESS_QUESTIONS[name]())
        except OSError as error:
            return refusal(error)
        except (KeyError, ValueError, AttributeError) as error:
            return Answer(None, "failed", f"{type(error).__name__}: {error}")

    def metadata(self, service: str, path: str) -> Answer:
        from raxl.host.metadata import Metadata  # only a cloud's machine pays for it

        if not stand_in.server() and self.text(FIRMWARE) != LiveHost().text(FIRMWARE):
            return Answer(None, "not-asked", "the files are those of another machine than this")
        self._metadata = self._metadata or Metadata()
        return self._metadata.ask(service, path)  # type: ignore[no-any-return]

    def document(self, form: str) -> Answer:
        return Answer(None, "not-asked", f"a machine has no {form}")


def read(descriptor: int, limit: int) -> bytes:
    """Up to `limit` bytes. A kernel file gives one page a read, so one read is not enough."""
    parts, size = [], 0
    while size < limit:
        part = os.read(descriptor, min(limit - size, 1 << 16))
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _trusted(program: str) -> str | None:
    for folder in TRUSTED_FOLDERS:
        path = f"{folder}/{program}"
        try:
            status = os.stat(path)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_mode & 0o111 and not status.st_mode & stat.S_IWOTH:
            return path
    return None


def _collect(child: Any, program: str, seconds: float) -> Answer:
    """Both outputs of a running command; it is killed, and not waited for, when its time is over."""
    import selectors

    deadline = time.monotonic() + seconds
    outputs: dict[int, list[bytes]] = {child.stdout.fileno(): [], child.stderr.fileno(): []}
    size = 0
    with selectors.DefaultSelector() as selector:
        for descriptor in outputs:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or size > OUTPUT_LIMIT:
                child.kill()
                return Answer(None, "timed-out", f"{program} did not end within {seconds:g} s")
            for key, _ in selector.select(left):
                part = os.read(key.fd, 1 << 16)
                if part:
                    outputs[key.fd].append(part)
                    size += len(part)
                else:
                    selector.unregister(key.fd)
    while child.poll() is None:
        if time.monotonic() > deadline:
            child.kill()
            return Answer(None, "timed-out", f"{program} did not end within {seconds:g} s")
        time.sleep(0.005)
    stdout, stderr = (b"".join(parts).decode("utf-8", "surrogateescape") for parts in outputs.values())
    return Answer(CommandOutput(child.returncode, allowed.output_of(program, stdout), stderr))


def _uname() -> dict[str, str]:
    system = os.uname()
    return {"system": system.sysname, "release": system.release, "machine": system.machine}


def _limits() -> dict[str, list[int]]:
    """Soft and hard limits of this process; -1 is unlimited (getrlimit(2))."""
    import resource

    names = {"memlock": resource.RLIMIT_MEMLOCK, "nofile": resource.RLIMIT_NOFILE, "stack": resource.RLIMIT_STACK}
    return {name: list(resource.getrlimit(number)) for name, number in names.items()}


def _affinity() -> int:
    """On how many CPUs this process may run."""
    return len(os.sched_getaffinity(0))


def _packages() -> list[str]:
    """Which packages of `BESIDE_RAY` can be imported here, Ray among them; none of them is."""
    from importlib.util import find_spec

    return [name for name in BESIDE_RAY if find_spec(name) is not None]


def _filesystems() -> dict[str, Any]:
    from raxl.host.filesystems import filesystems  # checks alone ask for it

    return filesystems()


def _device_nodes() -> dict[str, Any]:
    from raxl.host.device_nodes import device_nodes  # checks alone ask for it

    return device_nodes()


def _nvidia_control() -> dict[str, Any]:
    from raxl.host.device_nodes import control  # checks alone ask for it

    return control()


def _addresses() -> dict[str, Any]:
    from raxl.host.addresses import addresses  # checks alone ask for it

    return addresses()


def _kernel_log() -> dict[str, Any]:
    from raxl.host import kernel_ring  # only who checks pays for it

    return kernel_ring.read()


_PROCESS_QUESTIONS: Dict[str, Callable[[], Any]] = {
    "uname": _uname,
    "hostname": lambda: os.uname().nodename,
    "limits": _limits,
    "affinity": _affinity,
    "environment": lambda: allowed.environment(os.environ),
    "root": lambda: os.geteuid() == 0,
    "packages": _packages,
    "filesystems": _filesystems,
    "device_nodes": _device_nodes,
    "nvidia_control": _nvidia_control,
    "addresses": _addresses,
    "kernel_log": _kernel_log,
}


def _processes(root: str) -> dict[str, Any]:
    from raxl.host import process_table  # only checks pay for it

    return process_table.table(root)


def _versions(root: str) -> dict[str, Any]:
    from raxl.host import package_versions

    return package_versions.versions(root)


def _nccl_user_files(root: str) -> dict[str, Any]:
    from raxl.host import nccl_files

    return nccl_files.user_files(root)


_BELOW_ROOT: Dict[str, Callable[[str], Any]] = {
    "processes": _processes,
    "versions": _versions,
    "nccl_user_files": _nccl_user_files,
}
"""Questions of which the answer is another where the host's file system is mounted."""
