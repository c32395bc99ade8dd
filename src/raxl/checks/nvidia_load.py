"""How NVIDIA's GPUs bear their load: why clocks are held down, temperatures, power, clocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from raxl.checks import P0, P1, Case, Verdict, absent, check, evidence, fail, skip, warn
from raxl.checks.devices import Seen, concluded, counted, name, reading, seen
from raxl.checks.nvidia import NVML, VENDOR, is_guest
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import STANDARD
from raxl.model.problem import NOT_APPLICABLE, NOT_SUPPORTED

_HARDWARE = ("hardware thermal", "hardware power brake", "hardware slowdown")
_SOFTWARE = "software thermal"
_CAUSES = {
    "hardware thermal": "it is too hot",
    "hardware power brake": "the power supply or the rack's limit holds it down",
    "hardware slowdown": "heat or power, which the driver does not tell apart",
    _SOFTWARE: "the driver keeps it cool",
}
_COOL = (
    "check fans, airflow, inlet temperature and dust; for a power brake the power supplies and the rack's power limit"
)


@check(
    "nvidia.throttle",
    "No GPU is held down by heat or power",
    P0,
    STANDARD,
    "vendor",
    reference="https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
)
def throttle(case: Case, least_times: float = 3, most_share: float = 0.1) -> Iterator[Verdict]:
    """Whether hardware slows a GPU down.

    Read: the reasons for lower clocks, five times in a second, and by how much the driver's clocks of them went on. It
    fails where heat (0x40), a power brake (0x80) or both untold (0x8) hold the GPU down in `least_times` of the five,
    or for more than `most_share` of the time; it warns where the driver itself keeps it cool (0x20) as often, and where
    there is one reading alone that tells any of these.

    Not to be confused: idle (0x1), application clocks (0x2), sync boost (0x10) and the software's power cap (0x4),
    which is normal at full load, are no faults. An idle GPU is seldom hot: ask under load.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    samples = seen(case, VENDOR, "event_samples", "why clocks are held down")
    single = seen(case, VENDOR, "events", "why clocks are held down")
    sampled = {device.id for device, _ in samples.known}
    faults = [told for device, own in samples.known if (told := _often(device, own, least_times, most_share))]
    faults += [told for device, own in single.known if device.id not in sampled and (told := _once(device, own))]
    could_sample = case.facts.drivers.get("nvidia.start", NOT_READ).known
    found, subjects = samples if could_sample else single, {one.subject for one in faults}
    missing = [one for one in found.missing if one.subject not in subjects]
    yield from concluded(Seen(found.known, missing), faults, "neither heat nor power holds clocks down", _shown)


def _shown(own: Reading) -> str:
    times = own.value["times"] if isinstance(own.value, dict) else (own.value,)
    words = sorted({word for one in times for word in one})
    return ", ".join(words) or "none"


def _often(device: Accelerator, own: Reading, least_times: float, most_share: float) -> Verdict | None:
    times = Counter(word for one in own.value["times"] for word in one)
    shares = own.value["shares"]
    for word in (*_HARDWARE, _SOFTWARE):
        count, share = times[word], shares.get(word, 0.0)
        if count >= least_times or share > most_share:
            is_hard = word in _HARDWARE
            message = f"{name(device)} is slowed down: {word} ({_CAUSES[word]}), in {count} of "
            message += f"{len(own.value['times'])} readings within a second"
            told, made = evidence(own, f"{word}: {count} times, {share:.0%} of the time"), fail if is_hard else warn
            return made(device.id, message, told, remedy=_COOL, remedy_class="vendor", root=word)
    return None


def _once(device: Accelerator, own: Reading) -> Verdict | None:
    word = next((one for one in (*_HARDWARE, _SOFTWARE) if one in own.value), None)
    if word is None:
        return None
    message = f"{name(device)} was slowed down when it was read: {word} ({_CAUSES[word]})"
    told = evidence(own, ", ".join(own.value))
    return warn(device.id, message, told, remedy=f"read it again; {_COOL}", remedy_class="vendor", root=word)


@check("nvidia.temperature", "GPUs are cool enough", P1, STANDARD, "vendor", reference=NVML)
def temperature(case: Case, warn_celsius: float = 5, fail_celsius: float = 0) -> Iterator[Verdict]:
    """How many degrees are left until a GPU slows itself down.

    Read: the margin that the driver tells, or the temperature and the one at which the slowdown comes. It warns at
    `warn_celsius` degrees or fewer and fails at `fail_celsius` (raxl's figures: fixed 85 or 95 °C, as others take, are
    wrong for one part or the other).

    Not to be confused: a low margin under full load of an air-cooled part may be how it was built: compare with its
    peers.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found, faults = seen(case, VENDOR, "temperature_margin_celsius", "the margin to the slowdown"), []
    for device, own in found.known:
        now = reading(case, device, "temperature_celsius")
        at = f" at {now.value} °C" if now.known else ""
        told = evidence(own, f"{own.value} °C to the slowdown{at}")
        if own.value <= fail_celsius:
            message = f"{name(device)} has reached the temperature of its slowdown{at}"
            faults.append(fail(device.id, message, told, remedy=_COOL, remedy_class="vendor"))
        elif own.value <= warn_celsius:
            message = f"{name(device)} is {own.value} °C from its slowdown{at}"
            faults.append(warn(device.id, message, told, remedy=_COOL, remedy_class="vendor"))
    least = min((own.value for _, own in found.known), default=0)
    yield from concluded(found, faults, f"at least {least} °C to the slowdown")


@check("nvidia.power", "Power limits are the default, and power can be read", P1, STANDARD, "config", reference=NVML)
def power(case: Case, most_watts_below: float = 1.0) -> Iterator[Verdict]:
    """Whether somebody has limited the power of a GPU, and whether its sensor works.

    Read: the enforced and the default limit, and the power that is drawn. It warns where the limit is more than
    `most_watts_below` below the default: perhaps on purpose, then suppress it. It warns where a sensor fails while
    those of the node's others work; where none can be read it is unknown.

    Not to be confused: MIG devices and vGPUs have no limits of their own; on superchips the module's limit counts.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    limits, draws = (
        seen(case, VENDOR, "power_limit_watts", "the power limit"),
        seen(case, VENDOR, "power_draw_watts", "the power draw"),
    )
    faults = list(_limited(case, limits, most_watts_below))
    broken = [one for one in draws.missing if one.status == "unknown" and draws.known and one.reason == "failed"]
    for one in broken:
        remedy = "read it again (`nvidia-smi -q -d POWER`); if it stays so, drain the node and reset the GPU"
        faults.append(warn(one.subject, one.message, remedy=remedy, remedy_class="vendor", root="draw"))
    defaults = seen(case, VENDOR, "power_default_watts", "the default power limit")
    missing = [one for one in draws.missing if one not in broken]
    missing += [one for one in (*limits.missing, *defaults.missing) if one.message not in {m.message for m in missing}]
    both = [(device, own) for device, own in limits.known if reading(case, device, "power_default_watts").known]
    words = "the power limit is the default"
    yield from concluded(Seen(both, _once_each(missing)), faults, words, lambda own: f"{own.value:g} W")


def _once_each(verdicts: list[Verdict]) -> list[Verdict]:
    """One verdict a subject and reason: three words of one sensor are one gap."""
    return list({(one.subject, one.status, one.reason): one for one in reversed(verdicts)}.values())


def _limited(case: Case, limits: Seen, most_watts_below: float) -> Iterator[Verdict]:
    for device, own in limits.known:
        default = reading(case, device, "power_default_watts")
        if default.known and own.value < default.value - most_watts_below:
            message = f"{name(device)} may draw {own.value:g} W, by default it is {default.value:g} W"
            remedy = (
                f"`nvidia-smi -i {device.index} -pl {default.value:g}`, unless the limit is meant: then suppress this"
            )
            told = (evidence(own, f"{own.value:g} W"), evidence(default, f"{default.value:g} W"))
            yield warn(device.id, message, *told, remedy=remedy, remedy_class="config", root="limit")


@check("nvidia.clocks", "Nobody has set lower clocks", P1, STANDARD, "config", reference=NVML)
def clocks(case: Case) -> Iterator[Verdict]:
    """Whether somebody holds the clocks of a GPU below what it does by itself.

    Read: the graphics clock that applications asked for and its default. It warns where the first is lower. Drivers
    from 580 on have no such setting any more (skip).

    Not to be confused: a low clock of an idle GPU is how it saves power, and gives no verdict; whether a busy one is
    slower than its peers is told by nvidia.throttle and by a comparison of nodes.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found, faults, well = seen(case, VENDOR, "clocks_mhz", "the clocks"), [], []
    for device, own in found.known:
        asked, default = own.value.get("applications"), own.value.get("applications_default")
        if asked is not None and default is not None:
            well.append((device, own))
            if asked < default:
                message = f"{name(device)}: applications set its clock to {asked} MHz, by default it is {default} MHz"
                remedy = f"`nvidia-smi -i {device.index} -rac`, unless it is meant: then suppress this"
                told = evidence(own, f"{asked} of {default} MHz")
                faults.append(warn(device.id, message, told, remedy=remedy, remedy_class="config"))
    if found.known and not well and not any(is_guest(reading(case, d, "virtualization").value) for d, _ in found.known):
        who = counted([device for device, _ in found.known])
        yield skip("node", f"application clocks of {who}: the driver has no such setting", NOT_SUPPORTED)
        yield from found.missing
        return
    if found.known and not well:
        yield skip("node", "the host of a vGPU sets its clocks", NOT_APPLICABLE)
        return
    yield from concluded(found._replace(known=well), faults, "application clocks are the default", _clock)


def _clock(own: Reading) -> str:
    return f"{own.value['applications']} MHz"
