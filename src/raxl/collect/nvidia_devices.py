"""What NVIDIA's devices say of themselves, each question by the first source that answers it.

The names of the questions (`Facts.devices`), and what their readings hold:

    ecc_mode, mig_mode              (now, after the next reset), each a bool
    ecc_errors                      counts by `raxl.sources.nvidia_words.ECC_ERRORS`
    sram_threshold_exceeded, remap_pending, remap_failure, persistence_mode, display_active     bool
    remapped_rows                   (for corrected, for uncorrected errors)
    remap_histogram                 banks with all, many, some, few and no spare rows
    recovery_action                 `none`, `reset gpu` … in lower case
    events                          why the clocks are lower than they could be: `nvidia_words.EVENTS`
    event_samples                   `times`: the same, five times in a second; `shares`: of that second, by word
    violations_seconds              how long clocks were held down since the driver was loaded, by what did it
    temperature_celsius, memory_temperature_celsius, temperature_margin_celsius (to the slowdown)
    power_draw_watts, power_limit_watts (enforced), power_default_watts
    compute_mode                    `default`, `exclusive process`, `exclusive thread`, `prohibited`
    performance_state, utilization_percent, mig_instances
    clocks_mhz                      `now`, `most`, `applications`, `applications_default`
    memory_bytes                    `total`, `used`, `reserved`
    holders                         processes with a context on it; their number counts, ids are NVML's alone
    inforom                         `valid`, `corrupted`
    vbios, virtualization
    nvlinks                         a list: `state` (`up`, `down`, `sleeping`), `remote` (`gpu`, `switch`, `npu`, None)
    nvlink_errors                   a list of counts by name
    fabric                          `state`, `status`, `summary`, `faults`, `cluster`, `clique`
    peers                           by index of the other device: `ok`, or what forbids peer access
    unanswered, refused             calls that did not come back, and the words of those that failed
    contradictions                  what lasts and two sources tell differently: the question, and both as words
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from raxl.host import Host
from raxl.intake import (
    nvidia_smi_csv,
    nvidia_smi_messages,
    nvidia_smi_nvlink,
    nvidia_smi_p2p,
    nvidia_smi_query,
    nvidia_smi_table,
)
from raxl.model.accelerator import Accelerator
from raxl.model.facts import Reading
from raxl.model.node import Node
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED, most_telling
from raxl.sources import nvidia_smi_readings, nvidia_smi_xml, nvml, nvml_health

VENDOR = "nvidia"
QUESTIONS = (*nvidia_smi_readings.QUESTIONS, "event_samples", "nvlinks", "nvlink_errors", "peers")
"""What has a reading of every device, if only a reason."""
_TEXTS = {
    "nvidia-smi message": nvidia_smi_messages.told,
    "nvidia-smi -q": nvidia_smi_query.told,
    "nvidia-smi --query-gpu": nvidia_smi_csv.told,
    "nvidia-smi": nvidia_smi_table.told,
}
"""By form, who reads it; in the order in which they are believed."""
_LASTING = (
    "ecc_mode",
    "mig_mode",
    "ecc_errors",
    "sram_threshold_exceeded",
    "remap_pending",
    "remap_failure",
    "remapped_rows",
    "recovery_action",
    "persistence_mode",
    "compute_mode",
    "inforom",
    "fabric",
)
"""Questions whose answers do not change from one moment to the next."""
_OWN_OR_NONE = (None, "nvidia")
_Readings = Mapping[str, Reading]


class Told(NamedTuple):
    """What is said of each device, and of the driver as a whole."""

    devices: Mapping[str, _Readings]
    """By accelerator's id, its readings by the name of the question."""
    driver: Mapping[str, Reading]
    """`nvidia.start`: how many devices NVML counts, or why it does not begin; `nvidia.start_seconds`: how long it took;
    `nvidia.tool`: how many `nvidia-smi` lists; `nvidia.driver` and `nvidia.cuda` versions."""


def read(host: Host, node: Node) -> Told:
    """All of it, of one recording."""
    library = nvml.ask(host)
    health = nvml_health.ask(host, library)
    return Told(_devices(host, node, library, health), _driver(host, library, health))


def _devices(host: Host, node: Node, library: nvml.Answers, health: nvml_health.Answers) -> dict[str, _Readings]:
    devices = [one for one in node.accelerators if one.vendor == VENDOR]
    if not devices:
        return {}
    texts, links, peers = list(_texts(host)), _links(host), _peers(host)
    found: dict[str, _Readings] = {}
    for device in devices:
        index = device.index
        told: list[_Readings] = []
        if index is not None and index < len(library.devices):
            own = nvml_health.readings(library, health, index)
            told.append({**own, "peers": nvml_health.peers(library, index)})
        told += [nvidia_smi_readings.readings(one) for one in texts if _is_of(one, device, len(devices))]
        told += [{"nvlinks": one.reading} for one in links if one.names in _own_names(device, len(devices))]
        told += [{"peers": peers[index]}] if index is not None and index in peers else []
        found[device.id] = _joined(told, _otherwise(device, library))
    return found


def _driver(host: Host, library: nvml.Answers, health: nvml_health.Answers) -> dict[str, Reading]:
    answers = {
        "nvidia.start": library.start,
        "nvidia.start_seconds": health.start_seconds,
        "nvidia.driver": library.driver,
        "nvidia.cuda": library.cuda,
    }
    found = {name: Reading(one.value, nvml.NAME, one.reason, one.message) for name, one in answers.items()}
    return {**found, "nvidia.tool": _tool(host)}


def _tool(host: Host) -> Reading:
    """How many GPUs `nvidia-smi` lists; where it printed something else, its words."""
    answer, form = host.command(nvidia_smi_xml.COMMAND), " ".join(nvidia_smi_xml.COMMAND)
    if not answer.known:
        return Reading(None, form, answer.reason, answer.message)
    printed = f"{answer.value.stdout}{answer.value.stderr}".strip()
    if f"<{nvidia_smi_xml.ROOT}" in printed:
        return Reading(len(nvidia_smi_xml.told(answer.value.stdout)), form)
    words = printed.splitlines()[0][:200] if printed else f"it ended with {answer.value.status}"
    return Reading(None, form, FAILED, f"nvidia-smi says: {words}")


def _texts(host: Host) -> Iterator[nvidia_smi_readings.Told]:
    """What every output of `nvidia-smi` says, that of the command and those that were given."""
    answer = host.command(nvidia_smi_xml.COMMAND)
    if answer.known:
        yield from nvidia_smi_xml.told(answer.value.stdout)
    for form, read in _TEXTS.items():
        document = host.document(form)
        if document.known:
            yield from read(document.value)


def _links(host: Host) -> Sequence[nvidia_smi_nvlink.Told]:
    document = host.document(nvidia_smi_nvlink.FORM)
    return nvidia_smi_nvlink.told(document.value) if document.known else ()


def _peers(host: Host) -> Mapping[int, Reading]:
    document = host.document(nvidia_smi_p2p.FORM)
    return nvidia_smi_p2p.peers(document.value) if document.known else {}


def _is_of(told: nvidia_smi_readings.Told, device: Accelerator, count: int) -> bool:
    """Whether an output's words are of this device: by address, else UUID, else number; a single one needs no name."""
    pairs = (
        (told.address, device.pci.address if device.pci else None),
        (told.uuid, device.uuid),
        (told.number, device.index),
    )
    both = next(((mine, own) for mine, own in pairs if mine is not None and own is not None), None)
    return count == 1 if both is None else both[0] == both[1]


def _own_names(device: Accelerator, count: int) -> Sequence[tuple[int | None, str | None]]:
    """How `nvlink -s` may call the device; links beneath no GPU's line are the only one's."""
    return ((device.index, device.uuid), (device.index, None), *([(None, None)] if count == 1 else []))


def _joined(told: Sequence[_Readings], otherwise: Reading) -> _Readings:
    """Each question with the first answer to it; with the most telling reason where none answers."""
    found = {}
    for name in dict.fromkeys((*QUESTIONS, *(name for one in told for name in one))):
        held = [one[name] for one in told if name in one]
        reasons = [one.reason for one in held if one.reason is not None and one.reason != NOT_ASKED]
        reason = most_telling(reasons) if reasons else None
        unread = next((one for one in held if one.reason == reason), held[0] if held else otherwise)
        found[name] = next((one for one in held if one.known), unread)
    told_twice = [(name, words) for name in _LASTING if (words := _contradiction([one.get(name) for one in told]))]
    found["contradictions"] = Reading(told_twice, "the sources of each")
    return found


def _contradiction(held: Sequence[Reading | None]) -> str | None:
    """The first two answers that cannot both be right, with their sources; None where all agree."""
    known = [one for one in held if one is not None and one.known]
    for other in known[1:]:
        mine, theirs = _both_told(known[0].value, other.value)
        if mine != theirs:
            return f"{known[0].source} says {mine}, {other.source} says {theirs}"[:300]
    return None


def _both_told(mine: object, theirs: object) -> tuple[object, object]:
    """Of two mappings what both of them tell differently."""
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        both = [key for key in mine if mine[key] is not None and theirs.get(key) is not None]
        differing = [key for key in both if mine[key] != theirs[key]]
        return {key: mine[key] for key in differing}, {key: theirs[key] for key in differing}
    return mine, theirs


def _otherwise(device: Accelerator, library: nvml.Answers) -> Reading:
    """Why nobody says a thing of the device."""
    driver = device.attributes.get("driver")
    if driver not in _OWN_OR_NONE:
        return Reading(None, "sysfs", NOT_APPLICABLE, f"the device is bound to {driver}, not to NVIDIA's driver")
    start = library.start
    if start.known:
        return Reading(None, nvml.NAME, FAILED, "NVML does not list this device")
    return Reading(None, nvml.NAME, start.reason, start.message)
