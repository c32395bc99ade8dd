"""Accelerators of any vendor, by what their own driver or tool says of them."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P0, Case, Verdict, check, fail, ok, skip, warn
from raxl.checks.pcie_hops import no_accelerator, unread_together
from raxl.checks.words import counted, listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import Reading
from raxl.model.finding import QUICK, Evidence
from raxl.model.problem import FAILED, UNREAD

_REBOOT = (
    "look for the device in dmesg; drain the node and reboot it; if that does not bring it back power-cycle it cold "
    "(30 s off); the second time have it replaced"
)


@check("accelerator.state", "Every accelerator works, by what its own driver or tool says", P0, QUICK, "reboot")
def state(case: Case) -> Iterator[Verdict]:
    """What drivers, libraries and tools say of a device's health, in the inventory's words.

    Read: the state that `raxl discover` shows. It fails where a device is lost, and warns where it is degraded: where
    its driver calls it sick, or it resets. NVIDIA's lost devices are told by nvidia.lost. Where amd.lost or
    nvidia.recovery-action tells the same of a device, this is skipped.

    Not to be confused: a state that nobody tells is unknown, and not well; a device that is handed on to a virtual
    machine has none here. A topology document names devices and says nothing of their state.
    """
    if not case.node.accelerators:
        yield from (one for one in [no_accelerator(case)] if one is not None)
        return
    well, told, silent = 0, 0, {}
    for device in case.node.accelerators:
        if device.state == "ok":
            well += 1
        elif device.state in ("lost", "degraded"):
            told += 1
            if device.state == "degraded" or device.vendor != "nvidia":
                yield _ill(case, device)
        else:
            silent[device.id] = _why(case, device)
    if well:
        yield ok("node", f"{counted(well, 'other accelerator' if told or silent else 'accelerator')} in good state")
    elif told and not silent and all(one.vendor == "nvidia" for one in case.node.accelerators):
        yield skip("node", "nvidia.lost tells it")
    yield from unread_together(case, silent, "the state")


def _ill(case: Case, device: Accelerator) -> Verdict:
    why = next((one.message for one in case.node.problems if one.subject in (device.id, f"{device.id}.state")), "")
    said = device.attributes.get("status") or device.attributes.get("health")
    words = f"{device.id} is {device.state}" + (f": {said}" if said else f": {why}" if why else "")
    shown = Evidence(listed(list(device.evidence)) or "inventory", str(said or device.state))
    if device.state == "lost":
        remedy = _REBOOT
        return fail(
            device.id, words, shown, remedy=remedy, remedy_class="reboot", under=(f"{device.vendor}.lost", device.id)
        )
    under = (f"{device.vendor}.recovery-action", device.id)
    return warn(device.id, words, shown, remedy=_RESET, remedy_class="reset", under=under)


_RESET = (
    "ask the vendor's own tool what it complains of; drain the device, reset it or reload its driver, and take it out "
    "of service where the complaint comes back"
)


def _why(case: Case, device: Accelerator) -> Reading:
    subjects = (f"{device.id}.state", device.id, "accelerators.state", "accelerators")
    told = [one for subject in subjects for one in case.node.problems if one.subject == subject]
    first = next((one for one in told if one.reason in UNREAD), told[0] if told else None)
    if first is None:
        return Reading(None, listed(list(device.evidence)) or "nothing", FAILED, "nobody says it")
    return Reading(None, listed(list(first.evidence)) or "inventory", first.reason, first.message)
