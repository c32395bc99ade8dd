"""The operating system: kernel, distribution, names, hypervisor, container.

Files: `/proc/sys/kernel/*`, `/etc/os-release`, `/sys/class/dmi/id`, `/sys/hypervisor/type`, `/run/systemd/container`.
The names of hypervisors and containers are those of systemd-detect-virt(1).
"""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.node import OperatingSystem
from raxl.sources import cpu

_FILES = {
    "kernel": "/proc/sys/kernel/osrelease",
    "hostname": "/proc/sys/kernel/hostname",
    "boot_id": "/proc/sys/kernel/random/boot_id",
    "release": "/etc/os-release",
    "version": "/proc/version",
    "cpuinfo": "/proc/cpuinfo",
    "command_line": "/proc/cmdline",
    "hypervisor": "/sys/hypervisor/type",
    "vendor": "/sys/class/dmi/id/sys_vendor",
    "product": "/sys/class/dmi/id/product_name",
    "container": "/run/systemd/container",
    "cgroup": "/proc/self/cgroup",
}
_MARKS = {"docker": "/.dockerenv", "podman": "/run/.containerenv"}
_DMI = (
    (re.compile(r"Amazon EC2"), "amazon"),
    (re.compile(r"Google"), "google"),
    (re.compile(r"Microsoft Corporation"), "microsoft"),
    (re.compile(r"VMware"), "vmware"),
    (re.compile(r"QEMU"), "qemu"),
    (re.compile(r"KVM|OpenStack|RHEV|Bochs|DigitalOcean|Alibaba|Tencent|OracleCloud", re.IGNORECASE), "kvm"),
    (re.compile(r"Xen", re.IGNORECASE), "xen"),
    (re.compile(r"innotek|VirtualBox"), "oracle"),
)
_CGROUPS = (
    (re.compile(r"kubepods|/kubelet"), "kubernetes"),
    (re.compile(r"/docker[-/]"), "docker"),
    (re.compile(r"/libpod|/machine\.slice/libpod"), "podman"),
    (re.compile(r"/lxc"), "lxc"),
)
_BARE_METAL = re.compile(r"\.metal(-\d+xl)?$")


class Answers(NamedTuple):
    """The files by name, what the process was told, and the marks of containers."""

    files: Mapping[str, Answer]
    uname: Answer
    environment: Answer
    marks: Mapping[str, Answer]


def ask(host: Host) -> Answers:
    """Asks for a dozen small files."""
    files = {name: host.text(path) for name, path in _FILES.items()}
    marks = {name: host.link(path) for name, path in _MARKS.items()}
    return Answers(files, host.process("uname"), host.process("environment"), marks)


def parse(answers: Answers) -> OperatingSystem:
    """What runs here."""
    kernel = stripped(answers.files["kernel"])
    if kernel is None and (found := re.match(r"Linux version (\S+)", stripped(answers.files["version"]) or "")):
        kernel = found[1]
    uname = answers.uname.value if isinstance(answers.uname.value, dict) else {}
    return OperatingSystem(
        kernel=kernel,
        distribution=_distribution(answers.files["release"]),
        architecture=uname.get("machine") or _architecture(answers.files["cpuinfo"]),
        virtualization=_virtualization(answers),
        container=_container(answers),
    )


def hostname(answers: Answers) -> str | None:
    """The machine's own name, without its domain's."""
    name = stripped(answers.files["hostname"])
    return name.split(".", 1)[0] if name and name not in ("(none)", "localhost") else None


def boot_id(answers: Answers) -> str | None:
    """The kernel's id of this boot: equal in all recordings of one machine until it restarts."""
    return stripped(answers.files["boot_id"])


def kernel_parameters(answers: Answers) -> str | None:
    """The parameters of the kernel's command line that the allow-list keeps."""
    return stripped(answers.files["command_line"])


def _distribution(release: Answer) -> str | None:
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', stripped(release) or "", re.MULTILINE)
    return found[1].strip() if found else None


def _architecture(info: Answer) -> str | None:
    """The architecture by what only its `/proc/cpuinfo` prints, for trees without uname."""
    fields = cpu.info_fields(info)
    if "vendor_id" in fields and "flags" in fields:
        return "x86_64" if " lm " in f" {fields['flags']} " else "i686"
    if "CPU implementer" in fields:
        return "aarch64"
    return None


def _virtualization(answers: Answers) -> str | None:
    flags = cpu.info_fields(answers.files["cpuinfo"]).get("flags")
    product = stripped(answers.files["product"]) or ""
    guest = " hypervisor " in f" {flags} " if flags is not None else None
    named = hypervisor(stripped(answers.files["vendor"]) or "", product)
    if named is not None and guest is not False:
        return named
    if kind := stripped(answers.files["hypervisor"]):
        return kind
    if guest:
        return "vm-other"
    arm = "CPU implementer" in cpu.info_fields(answers.files["cpuinfo"])
    bare = guest is False or _BARE_METAL.search(product) or (arm and stripped(answers.files["vendor"]))
    return "none" if bare else None


def hypervisor(vendor: str, product: str) -> str | None:
    """The hypervisor by the maker and model that the firmware states (DMI); None for those of real machines.

    A cloud's bare-metal machines carry the cloud's name too; their model says metal.
    """
    if _BARE_METAL.search(product):
        return None
    return next((name for pattern, name in _DMI if pattern.search(vendor) or pattern.search(product)), None)


def _container(answers: Answers) -> str | None:
    manager = stripped(answers.files["container"])
    cgroup = stripped(answers.files["cgroup"]) or ""
    environment = answers.environment.value if isinstance(answers.environment.value, dict) else {}
    if "KUBERNETES_SERVICE_PORT" in environment:
        return "kubernetes"
    for pattern, name in _CGROUPS:
        if pattern.search(cgroup):
            return name
    for name, mark in answers.marks.items():
        if mark.known:
            return name
    if manager or environment.get("container"):
        return manager or str(environment["container"])
    looked = all(mark.reason == "not-present" for mark in answers.marks.values())
    return "none" if looked and answers.files["cgroup"].known else None
