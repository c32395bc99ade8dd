"""What Ray registered on a node, held against the accelerators that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raxl.checks import P0, P1, Case, Verdict, check, fail, ok, skip, unknown, warn
from raxl.checks.raylets import environments, raylets, unasked, unheard, unregistered
from raxl.checks.words import listed
from raxl.model.accelerator import Accelerator
from raxl.model.cluster import DEAD, RayNode
from raxl.model.finding import STANDARD, Evidence
from raxl.model.problem import DISAGREEMENT, NOT_ASKED, Problem
from raxl.topology import ray_registered, ray_usable, ray_visible
from raxl.topology.label_values import made_valid
from raxl.topology.ray_differs import RESOURCES
from raxl.topology.ray_registered import Pair, Registered

_TYPE = "ray.io/accelerator-type"
_NOTE = "; ray.get_gpu_ids() in a driver script is empty by design, tasks that ask for GPUs get theirs"
_AMBIGUOUS = ("RTX", "G", "GTX", "GEFORCE", "QUADRO", "TITAN", "TESLA", "GRAPHICS", "NVIDIA")
"""What Ray's pattern leaves of names of several products: https://github.com/ray-project/ray/pull/64428"""


@check(
    "ray.resource-vs-hardware",
    "Ray registered as many accelerators as are there",
    P0,
    STANDARD,
    "config",
    reference="https://github.com/ray-project/ray/issues/59265",
)
def resource_vs_hardware(case: Case) -> Iterator[Verdict]:
    """Ray counts accelerators once, when its raylet starts, and takes a library that fails for none at all.

    Read: the node's resources in Ray (`GPU`, `TPU`, `neuron_cores`, `HPU`, `NPU` …), and the accelerators that the bus
    and the drivers show. It fails where Ray registered none or more than can be used, and warns where fewer. A head
    that registered none warns: it may be meant so. Where a raylet runs and its view was not asked, what Ray's detection
    would make of the node (that of Ray 2.60) is held against the hardware instead, and only warns.

    Not to be confused: a list of visible devices that the raylet was started with hides the others on purpose. MIG
    is `ray.partitions`. `ray.get_gpu_ids()` is always empty in a driver script (ray #53919, #45674).
    """
    problems = {one.subject.removeprefix("ray."): one for one in case.node.problems if _is_of_counts(one)}
    if case.ray is None:
        yield from _expected(case, problems)
        return
    if (why := unregistered(case)) is not None:
        yield why
        return
    counts = ray_registered.registered(Pair(case.node, case.ray))
    for one in counts:
        yield _held(case, case.ray, one, problems.get(one.resource))
    if not counts:
        yield _none(case)


def _is_of_counts(one: Problem) -> bool:
    return one.reason == DISAGREEMENT and one.subject in ("ray", *(f"ray.{name}" for name in RESOURCES))


def _expected(case: Case, problems: dict[str, Problem]) -> Iterator[Verdict]:
    """What Ray would make of the node."""
    cut = any(map(ray_usable.is_cut, case.node.accelerators))
    told = [one for name, one in problems.items() if not (cut and name == "GPU")]
    if not told:
        yield unheard(case) or skip("node", "no Ray was asked", NOT_ASKED)
    for one in told:
        words, _, step = one.message.rpartition("): ")
        if not raylets(case):
            yield skip("node", f"no Ray was asked; if it were started here: {one.message}")
            continue
        yield warn(
            "node",
            f"{words})" if words else one.message,
            *(Evidence("Ray's detection", text) for text in one.evidence),
            remedy=f"ray status shows what it registered; drain the node, then {step}",
            remedy_class="config",
            root=one.subject,
        )


def _held(case: Case, ray: RayNode, one: Registered, problem: Problem | None) -> Verdict:
    own = ray_usable.of_resource(one.resource, case.node.accelerators)
    name, number, here = one.resource, one.registered, one.working + one.unknown
    told = (Evidence("ray.nodes()", f"{name}: {number:g}"), Evidence("inventory", f"{here} devices of it work"))
    if name == "GPU" and any(map(ray_usable.is_cut, own)):
        return skip(f"ray.{name}", "GPUs are in MIG mode: ray.partitions counts them")
    if not own and one.unknown:
        words = f"whether there is what Ray registered as {number:g} {name}: the PCI tree was not read"
        return unknown(f"ray.{name}", NOT_ASKED, words, *told)
    if problem is None and number < here and one.is_right and one.is_by_device and not _is_hidden(case, own):
        words = f"Ray registered {number:g} {name}; whether more of the {here} that are here work was not read"
        return unknown(f"ray.{name}", NOT_ASKED, words, *told)
    if problem is None and (one.is_right or _is_hidden(case, own)):
        few = f", as the raylet's {_variable(own)} shows them" if not one.is_right else ", as many as are there"
        count = f"{number:g} {name}" if one.is_by_device else f"{number:g} {name} on {here} devices"
        return ok(f"ray.{name}", f"Ray registered {count}{few}{_NOTE if name == 'GPU' else ''}", *told)
    counted = f"Ray registered {f'{number:g}' if number else 'no'} {name}, and {_units(own) or 'none'} can be used"
    words, _, step = problem.message.partition(": ") if problem else (counted, "", "")
    step = f"raxl discover shows both; drain the node, then {step or 'restart its raylet with the right number'}"
    if number and number < _units(own):
        return warn(f"ray.{name}", words, *told, remedy=step, remedy_class="config")
    if not number and ray.is_head:
        words += " (it is the head, which may be meant to run nothing)"
        return warn(f"ray.{name}", words, *told, remedy=step, remedy_class="config")
    return fail(f"ray.{name}", words, *told, remedy=step, remedy_class="config")


def _none(case: Case) -> Verdict:
    if case.node.has_none:
        return ok("node", "Ray registered no accelerator, and the node has none")
    return unknown("node", NOT_ASKED, "Ray registered no accelerator; whether there is one was not read")


def _units(devices: list[Accelerator]) -> int:
    alive = [device for device in devices if device.state != "lost"]
    if alive and alive[0].ray.resource == "neuron_cores":
        return sum(ray_visible.cores(device) or 1 for device in alive)
    return sum(map(ray_usable.units, alive))


def _is_hidden(case: Case, devices: list[Accelerator]) -> bool:
    """Whether a variable of the raylet's shows but some."""
    variable = _variable(devices)
    return any(variable in one.variables for one in environments(case)) and not all(
        device.ray.would_register for device in devices
    )


def _variable(devices: list[Accelerator]) -> str:
    return next((device.visible_env for device in devices if device.visible_env), "visible devices")


@check(
    "ray.phantom-accelerator",
    "Every accelerator that Ray advertises is on the bus",
    P0,
    STANDARD,
    "config",
    reference="https://github.com/ray-project/ray/issues/65034",
)
def phantom_accelerator(case: Case) -> Iterator[Verdict]:
    """Ray counts `/dev/accel*` and VFIO groups as TPUs, whosever they are: another driver's file makes a phantom.

    Read: the accelerator resources of the node in Ray, and the vendors on the PCI tree. It fails where Ray advertises
    one of which there is no device. Ray registers one family a node, so a phantom hides the true accelerators.

    Not to be confused: a resource of which there are fewer devices than registered is `ray.resource-vs-hardware`. A
    tree that was not read says nothing: unknown (ray #45302, #63322).
    """
    if (why := unregistered(case)) is not None or case.ray is None:
        yield why or skip("node", "no Ray was asked", NOT_ASKED)
        return
    registered = {name: case.ray.resources[name] for name in RESOURCES if case.ray.resources.get(name)}
    bus = case.node.looked_for.pci_functions
    absent = [name for name in registered if not ray_usable.of_resource(name, case.node.accelerators)]
    for name in absent:
        told = Evidence("ray.nodes()", f"{name}: {registered[name]:g}")
        if bus is None:
            yield unknown(f"ray.{name}", NOT_ASKED, f"whether there is a {name} here: the PCI tree was not read", told)
            continue
        true = sorted({device.model or device.vendor for device in case.node.accelerators})
        hides = f" and hides {listed(true)}" if true else ""
        words = f"Ray advertises {registered[name]:g} {name}, and no such device is among {bus} PCI functions{hides}"
        step = (
            "ls -l /dev/accel* /dev/vfio shows whose file it took; upgrade Ray, or restart the drained node's raylet "
            f"with RAY_OVERRIDE_RESOURCES='{{\"{name}\": 0}}'"
        )
        yield fail(f"ray.{name}", words, told, remedy=step, remedy_class="config")
    if not absent and registered:
        yield ok("node", f"what Ray advertises is there: {listed(list(registered))}")
    elif not registered:
        yield skip("node", "Ray advertises no accelerator")


@check(
    "ray.partitions",
    "Ray offers every slice that GPUs are cut into",
    P0,
    STANDARD,
    "config",
    reference="https://github.com/ray-project/ray/issues/12413",
)
def partitions(case: Case) -> Iterator[Verdict]:
    """Ray counts boards: of a GPU in MIG mode it offers one, however many slices it has.

    Read: the GPUs in MIG mode and their slices, and the `GPU` that Ray registered, or would register where no Ray was
    asked. It warns where there are more slices than Ray offers; the others are never used.

    Not to be confused: a raylet that was told `CUDA_VISIBLE_DEVICES=MIG-…` and `--num-gpus` offers them all. Partitions
    of AMD GPUs (CPX) are counted by amdsmi as devices. Peer-to-peer between slices does not exist (nccl #1716).
    """
    own = ray_usable.of_resource("GPU", case.node.accelerators)
    cut = [device for device in own if ray_usable.is_cut(device) and device.state != "lost"]
    slices = sum(len(device.partitions) for device in cut)
    total = sum(ray_usable.units(device) for device in own if device.state != "lost")
    if not slices:
        yield unheard(case) or skip("node", "no GPU is cut into slices")
        return
    if case.ray is not None and case.ray.state != DEAD and (why := unregistered(case)) is not None:
        yield why
        return
    offered = _offered(case, own)
    if offered is None:
        yield skip("node", f"{slices} slices; no Ray was asked, which would count boards: {len(own)}")
        return
    registered = case.ray is not None and case.ray.state != DEAD
    told = Evidence("ray.nodes()" if registered else "Ray's detection", f"GPU: {offered:g}")
    if offered >= total:
        yield ok("node", f"{slices} slices, and Ray offers {offered:g} GPU", told)
        return
    words = f"{slices} slices, Ray {'offers' if registered else 'will offer'} {offered:g}"
    names = "the UUIDs that nvidia-smi -L lists"
    step = f"drain the node, set CUDA_VISIBLE_DEVICES to {names}, restart its raylet with --num-gpus {total}"
    yield warn("node", words, told, remedy=step, remedy_class="config")


def _offered(case: Case, own: list[Accelerator]) -> float | None:
    """What Ray registered; else what it would: it counts boards, and no more than the variable lists. None: neither is
    known."""
    if case.ray is not None and case.ray.state != DEAD:
        return case.ray.resources.get("GPU", 0.0)
    found = environments(case)
    given = [ray_visible.ids(one.variables, "CUDA_VISIBLE_DEVICES") for one in found]
    return min([len(own), *(len(entries) for entries in given if entries is not None)]) if found else None


@check(
    "ray.accelerator-type",
    "Ray calls the node's accelerators by their type",
    P1,
    STANDARD,
    "config",
    reference="https://github.com/ray-project/ray/pull/64428",
)
def accelerator_type(case: Case) -> Iterator[Verdict]:
    """Ray takes the type of a whole node from its first device, by a pattern over the product's name.

    Read: the label `ray.io/accelerator-type`, the resource `accelerator_type:*` and the names of all devices. It fails
    where the label names none of the devices there, warns where models are mixed (only the first is told) and where
    the type is a word of many products (`RTX`, as before Ray 2.60).

    Not to be confused: a part that is newer than Ray has no type, which is no fault; a label that was given by hand
    counts where it names a model that is there.
    """
    if (why := unasked(case)) is not None or case.ray is None:
        yield why or skip("node", "no Ray was asked", NOT_ASKED)
        return
    given = [case.ray.labels[_TYPE]] if _TYPE in case.ray.labels else []
    given += [name.partition(":")[2] for name in case.ray.resources if name.startswith("accelerator_type:")]
    devices = [device for device in case.node.accelerators if device.ray.type and device.state != "lost"]
    if not given:
        yield skip("node", "Ray was given no accelerator type")
    elif not devices:
        yield skip("node", f"Ray calls it {listed(sorted(set(given)))}; what it should is not known")
    else:
        yield _type(sorted(set(given)), devices)


def _type(given: list[str], devices: list[Accelerator]) -> Verdict:
    types = sorted({str(device.ray.type) for device in devices})
    words_of = {word.upper() for device in devices for word in re.split("[^A-Za-z0-9]+", device.model or "")}
    told = (Evidence("ray.nodes()", ", ".join(given)), Evidence("inventory", ", ".join(types)))
    right = {one.upper() for kind in types for one in (kind, made_valid(kind))} | words_of
    step = "raxl labels --check prints the label and the command; drain the node before its raylet is restarted"
    if not any(one.upper() in right for one in given):
        words = f"Ray calls the accelerators {listed(given)}, and they are {listed(types)}"
        return fail("node", words, *told, remedy=step, remedy_class="config")
    if len(types) > 1:
        words = f"{listed(types)} are on one node, and Ray calls all of them {listed(given)}"
        step = "give each model a resource of its own: ray start --resources; ask for that instead of the type"
        return warn("node", words, *told, remedy=step, remedy_class="config")
    if all(one.upper() in _AMBIGUOUS for one in given):
        words = f"Ray calls the accelerators {listed(given)}, as it does other products: they are {types[0]}"
        return warn("node", words, *told, remedy=step, remedy_class="config")
    return ok("node", f"Ray calls the accelerators {listed(given)}", *told)
