"""What Ray looks at when it starts on a node, beside what the families themselves are asked.

`/dev/accel*`, `/dev/vfio`, `/dev/tenstorrent`, `/dev/dri`, `/opt/aws/neuron/bin`, the packages
beside Ray, the environment:
https://github.com/ray-project/ray/tree/ray-2.60.0/python/ray/_private/accelerators
"""

from __future__ import annotations

import json
import re
from typing import Any, Mapping, NamedTuple, Optional

from raxl.host import Answer, Host
from raxl.model.facts import Reading
from raxl.model.identity import last_pci_address, pci_address
from raxl.model.problem import FAILED, NOT_ASKED, NOT_INSTALLED, NOT_PRESENT, TIMED_OUT
from raxl.model.ray_readings import RayReadings
from raxl.sources import amdsmi, nvidia_smi_xml, nvml
from raxl.sources.numbers import MOST_PLACES, whole

DEVICES, VFIO, TENSTORRENT = "/dev", "/dev/vfio", "/dev/tenstorrent"
GROUPS = "/sys/kernel/iommu_groups"
ACCEL, DRM = "/sys/class/accel", "/sys/class/drm"
DRI = "/dev/dri"
NEURON_TOOLS = "/opt/aws/neuron/bin"
NEURON_LS = ("neuron-ls", "--json-output")
NO_FOLDER = Answer(None, NOT_PRESENT, "no such folder")
_MOST_FILES = 256
_BINDING = "pynvml:"
"""How the words begin with which raxl's own binding of NVML is missing; Ray carries one of its own."""


class Answers(NamedTuple):
    """The listings, what stands behind each `/dev/accel*`, each VFIO group's devices, and what the process knows."""

    devices: Answer
    accel: Mapping[str, Answer]
    owners: Mapping[str, Answer]
    accel_nodes: Mapping[str, Answer]
    dri: Answer
    render_nodes: Mapping[str, Answer]
    vfio: Answer
    groups: Mapping[str, Answer]
    tenstorrent: Answer
    neuron_tools: Answer
    neuron_ls: Answer
    packages: Answer
    environment: Answer


def ask(host: Host) -> Answers:
    """Asks for names and links alone; neuron-ls is run where it lies in the folder in which Ray looks."""
    devices, vfio, tools = host.names(DEVICES), host.names(VFIO), host.names(NEURON_TOOLS)
    accel = [name for name in _listed(devices) if name.startswith("accel")][:_MOST_FILES]
    groups = [name for name in _listed(vfio) if re.fullmatch("[0-9]{1,9}", name)][:_MOST_FILES]
    accel_folder = {name: host.names(f"{DEVICES}/{name}") for name in accel}
    within = [name for name in _listed(accel_folder.get("accel", NO_FOLDER)) if name.startswith("accel")]
    dri = host.names(DRI)
    rendering = [name for name in _listed(dri) if name.startswith("renderD")][:_MOST_FILES]
    unasked = Answer(None, NOT_ASKED, f"neuron-ls is not in {NEURON_TOOLS}")
    return Answers(
        devices=devices,
        accel=accel_folder,
        owners={name: host.link(f"{ACCEL}/{name}") for name in accel},
        accel_nodes={name: host.link(f"{ACCEL}/{name}/device") for name in within[:_MOST_FILES]},
        dri=dri,
        render_nodes={name: host.link(f"{DRM}/{name}/device") for name in rendering},
        vfio=vfio,
        groups={name: host.names(f"{GROUPS}/{name}/devices") for name in groups},
        tenstorrent=host.names(TENSTORRENT),
        neuron_tools=tools,
        neuron_ls=host.command(NEURON_LS) if NEURON_LS[0] in _listed(tools) else unasked,
        packages=host.process("packages"),
        environment=host.process("environment"),
    )


def readings(host: Host) -> RayReadings:
    """All that Ray's detection goes by: these answers, and those of the families' own libraries."""
    answers = ask(host)
    owners = {name: _address(answer) for name, answer in answers.owners.items()}
    return RayReadings(
        environment=_reading(answers.environment, "environ(7)"),
        packages=_packages(answers.packages),
        nvml=_nvml(host),
        amdsmi=_reading(host.library(amdsmi.NAME, "start"), amdsmi.NAME, int),
        neuron_tools=_names(answers.neuron_tools, NEURON_TOOLS),
        neuron_cores=_neuron_cores(answers.neuron_ls),
        device_files=_names(answers.devices, DEVICES),
        tenstorrent=_names(answers.tenstorrent, TENSTORRENT),
        vfio=_groups(answers),
        render_nodes=_owned(answers.dri, DRI, answers.render_nodes),
        accel_nodes=_owned(answers.devices, f"{DEVICES}/accel", answers.accel_nodes),
        accel_folders=frozenset(name for name, answer in answers.accel.items() if answer.known),
        accel_owners={name: address for name, address in owners.items() if address},
    )


def _reading(answer: Answer, source: str, kind: type = dict) -> Reading:
    fits = isinstance(answer.value, kind) and not isinstance(answer.value, bool)
    if answer.known and not fits:
        return Reading(None, source, FAILED, f"{source} gave {str(answer.value)[:40]!r}")
    return Reading(answer.value, source, answer.reason, answer.message)


def _names(answer: Answer, folder: str) -> Reading:
    """The names; none for a folder that is not there."""
    if answer.reason == NOT_PRESENT:
        return Reading((), folder)
    return Reading(tuple(_listed(answer)) if answer.known else None, folder, answer.reason, answer.message)


def _listed(answer: Answer) -> list[str]:
    """The names in a folder; a recording may have been edited."""
    return [name for name in answer.value if isinstance(name, str)] if isinstance(answer.value, list) else []


def _packages(answer: Answer) -> Reading:
    source = "packages"
    if not answer.known or not isinstance(answer.value, list):
        return Reading(None, source, answer.reason or FAILED, answer.message)
    found = frozenset(map(str, answer.value))
    if "ray" not in found:
        return Reading(None, source, NOT_ASKED, "no Ray is beside raxl, and what its Python holds was not asked")
    return Reading(found, source)


def _nvml(host: Host) -> Reading:
    """What the library says of its own count; where raxl cannot load it, what nvidia-smi lists, which asks the same."""
    start = host.library(nvml.NAME, "start")
    if start.known or start.reason not in (NOT_ASKED, NOT_INSTALLED):
        return _reading(start, nvml.NAME, int)
    source = " ".join(nvidia_smi_xml.COMMAND)
    query = host.command(nvidia_smi_xml.COMMAND)
    if query.known:
        log = nvidia_smi_xml.parse(query.value.stdout)
        if log.gpus and log.damage is None:
            return Reading(len(log.gpus), source)
        said = (query.value.stdout or query.value.stderr).strip().partition("\n")[0][:200]
        return Reading(None, source, FAILED, f"nvidia-smi says: {said}")
    if query.reason == TIMED_OUT or start.message.startswith(_BINDING) or start.reason == NOT_ASKED:
        return Reading(None, source, query.reason, query.message)
    return Reading(None, nvml.NAME, start.reason, start.message)


def _neuron_cores(answer: Answer) -> Reading:
    """Ray takes a list of devices and adds up what each has; another status than 0 or no output is 0 to it."""
    source = " ".join(NEURON_LS)
    if not answer.known:
        return Reading(None, source, answer.reason, answer.message)
    if answer.value.status or not answer.value.stdout.strip():
        return Reading(0, source)
    try:
        devices = json.loads(answer.value.stdout)
    except (ValueError, RecursionError):
        return Reading(None, source, FAILED, "neuron-ls prints no JSON")
    counts = [_cores(device) for device in devices] if isinstance(devices, list) else [None]
    if None in counts:
        return Reading(None, source, FAILED, "neuron-ls prints no list of devices")
    return Reading(sum(count for count in counts if count is not None), source)


def _cores(device: Any) -> Optional[int]:
    return whole(str(device.get("nc_count", 0)), MOST_PLACES) if isinstance(device, dict) else None


def _groups(answers: Answers) -> Reading:
    if not answers.vfio.known and answers.vfio.reason != NOT_PRESENT:
        return Reading(None, VFIO, answers.vfio.reason, answers.vfio.message)
    found = {
        group: tuple(address for name in _listed(answer) if (address := pci_address(name)))
        for group, answer in answers.groups.items()
    }
    return Reading(found, VFIO)


def _owned(listing: Answer, folder: str, nodes: Mapping[str, Answer]) -> Reading:
    """By node in the folder, the PCI address of its device; none of a folder that is not there."""
    if not listing.known and listing.reason != NOT_PRESENT:
        return Reading(None, folder, listing.reason, listing.message)
    owners = {name: _address(answer) for name, answer in nodes.items()}
    return Reading({name: address for name, address in owners.items() if address}, folder)


def _address(answer: Answer) -> Optional[str]:
    """The PCI function beneath which the kernel lists a device."""
    return last_pci_address(answer.value) if answer.known and isinstance(answer.value, str) else None
