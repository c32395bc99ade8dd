"""Google TPUs: whether the chips are here that the machine is said to have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from raxl.checks import P0, Case, Verdict, absent, check, expected, fail, ok, unread
from raxl.checks.variables import value
from raxl.checks.words import counted, listed
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import QUICK, Evidence
from raxl.model.problem import NOT_ASKED, NOT_PRESENT

_GOOGLE = "1ae0:"
_BOUNDS, _VISIBLE = "TPU_CHIPS_PER_HOST_BOUNDS", "TPU_VISIBLE_CHIPS"
_RESTART = (
    "lspci -d 1ae0: lists the chips on the bus; delete and create the TPU VM (a reboot keeps the host), or correct "
    "TPU_CHIPS_PER_HOST_BOUNDS where it was set by hand"
)


@check(
    "tpu.present",
    "Every TPU chip is here",
    P0,
    QUICK,
    "config",
    reference="https://github.com/ray-project/ray/issues/65034",
)
def present(case: Case) -> Iterator[Verdict]:
    """A TPU is what Google's PCI vendor id (1ae0) says is one.

    Read: the chips on the bus, the environment's `TPU_CHIPS_PER_HOST_BOUNDS`, and the policy's `tpu_chips`. It fails
    where fewer chips are here than these say.

    Not to be confused: `/dev/accel*` belongs to other vendors' drivers too, and a number in `/dev/vfio` is whatever was
    handed on, a network adapter for one: Ray counted both as TPUs (ray-project/ray 45302, 65034). The chips of TPU7x
    have two functions each.
    """
    others = _others(case)
    noted = f"; {listed(others, 2)}: no TPU" if others else ""
    wanted, source = _expected(case)
    chips = [one for one in case.node.accelerators if one.vendor == "tpu"]
    if not chips and not wanted:
        verdict = absent(case, "tpu")
        if verdict is not None:
            yield replace(verdict, message=verdict.message + noted)
        return
    refused = None if any(one.pci for one in chips) else _refused(case)
    if refused is not None:
        yield unread("node", f"whether the TPU chips are here that {source or 'the environment'} names", refused)
    elif wanted and len(chips) < wanted:
        words = f"{wanted} TPU chips by {source}, {len(chips) or 'none'} of them on the bus{noted}"
        shown, held = Evidence(source, str(wanted)), f"{wanted}: {source}"
        yield fail("node", words, shown, remedy=_RESTART, remedy_class="reboot", expected=held)
    elif wanted:
        yield ok("node", f"{counted(len(chips), 'TPU chip')}, as {source} says{noted}")
    else:
        yield ok("node", f"{counted(len(chips), 'TPU chip')}; nobody says how many there should be{noted}")


def _others(case: Case) -> list[str]:
    """Nodes that look like a TPU's, and whose they are."""
    nodes = case.facts.drivers.get("tpu_nodes", NOT_READ).value or {}
    return [
        f"{node} is of {listed(list(functions))}"
        for node, functions in nodes.items()
        if functions and not any(one.startswith(_GOOGLE) for one in functions)
    ]


def _expected(case: Case) -> tuple[int | None, str]:
    policy = expected.count(case, "tpu_chips")
    if policy is not None:
        return policy, "the policy"
    text = value(case, _BOUNDS) or "" if not value(case, _VISIBLE) else ""
    numbers = re.findall("[0-9]{1,3}", text) if re.fullmatch(r"[0-9]{1,3}(,[0-9]{1,3}){1,3}", text) else []
    return (prod(map(int, numbers)), _BOUNDS) if numbers else (None, "")


def _refused(case: Case) -> Reading | None:
    """Why the bus says nothing."""
    if case.node.looked_for.pci_functions is not None:
        return None
    told = next((one for one in case.node.problems if one.subject in ("node", "pci_tree")), None)
    if told is None:
        return Reading(None, "sysfs", NOT_ASKED, "the PCI tree is not in what was read")
    return Reading(None, listed(list(told.evidence)) or "sysfs", told.reason or NOT_PRESENT, told.message)
