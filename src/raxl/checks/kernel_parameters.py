"""The kernel's command line."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P1, Case, Verdict, absent, check, evidence, ok, skip, unknown, unread, warn
from raxl.model.facts import NOT_READ
from raxl.model.finding import QUICK
from raxl.model.problem import FAILED

_PASSED = ("iommu=pt", "iommu.passthrough=1", "amd_iommu=off", "iommu=off")
_PASSED_TYPES = ("identity", "none")


@check(
    "kernel.cmdline",
    "The IOMMU lets AMD accelerators reach their peers",
    P1,
    QUICK,
    "reboot",
    reference="https://github.com/ROCm/rccl/issues/1026",
)
def cmdline(case: Case) -> Iterator[Verdict]:
    """Where the IOMMU translates for AMD GPUs, traffic between peers is slow or hangs; RCCL warns that iommu=pt is
    missing.

    Read: the kernel's command line, and the type of each GPU's IOMMU group. It warns on a machine with several AMD GPUs
    whose command line has neither iommu=pt nor switches the IOMMU off, unless the groups of all GPUs pass through even
    so (`identity`, the default of some kernels) or there is no IOMMU.

    Not to be confused: a virtual machine needs its IOMMU, and its command line says nothing of the host's.
    """
    inapplicable = absent(case, "amd")
    devices = [one for one in case.node.accelerators if one.vendor == "amd"]
    if inapplicable is not None:
        yield inapplicable
        return
    if len(devices) < 2:
        yield skip("node", "one AMD accelerator has no peers")
        return
    if case.node.os.virtualization not in (None, "none"):
        yield skip("node", f"a virtual machine ({case.node.os.virtualization})")
        return
    reading, types = case.facts.kernel_parameters, case.facts.host.get("iommu_types", NOT_READ)
    if not reading.known:
        yield unread("node", "the kernel's command line", reading)
        return
    words = str(reading.value or "").split()
    given = next((one for one in _PASSED if one in words), None)
    own = {one.pci.address: types.value.get(one.pci.address) for one in devices if one.pci} if types.known else {}
    told = evidence(reading, str(reading.value or "none of the parameters that raxl keeps"))
    if given:
        yield ok("node", f"the kernel was started with {given}", told)
    elif own and all(one in _PASSED_TYPES for one in own.values()):
        kinds = ", ".join(sorted({str(one) for one in own.values()}))
        yield ok("node", f"the IOMMU passes through for all AMD accelerators ({kinds})", evidence(types, kinds))
    elif None in own.values() or not own:
        why = types.message or "no group was listed"
        message = f"iommu=pt is not given, and whether the IOMMU translates for the accelerators was not read: {why}"
        yield unknown("node", types.reason or FAILED, message, told)
    else:
        yield warn(
            "node",
            f"iommu=pt is missing from the kernel's command line, with {len(devices)} AMD accelerators",
            told,
            remedy="add iommu=pt to the kernel's command line (GRUB_CMDLINE_LINUX), drain, reboot; cat /proc/cmdline",
            remedy_class="reboot",
        )
