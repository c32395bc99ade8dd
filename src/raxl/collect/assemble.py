"""From one machine's recording to a node: parse, merge, link, and say what is not known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Mapping, Sequence, TypeVar

from raxl import __version__
from raxl.collect import (
    adapters,
    catalog_files,
    harmless,
    joining,
    merge,
    merge_nics,
    nic_contradictions,
    placement,
    plugged,
    ray_nodes,
    ray_view,
    refusals,
    unknown,
)
from raxl.collect.alike import Alike, Itself, Plainly, Steps
from raxl.collect.bus import Bus, bus_of
from raxl.collect.catalog_files import Overlay
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.intake import documents
from raxl.intake.foreign import Foreign
from raxl.model import printable
from raxl.model.accelerator import Accelerator
from raxl.model.inventory import Inventory
from raxl.model.nic import Nic
from raxl.model.node import Cpu, LookedFor, Node, OperatingSystem, Software
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, NOT_PRESENT, NOT_SUPPORTED, Problem
from raxl.model.report import Report, Silence
from raxl.model.schemas import INVENTORY
from raxl.sources import cpu, infiniband, kfd, modules, netdev, system
from raxl.topology import trust

if TYPE_CHECKING:
    from raxl.plugins.guest import Guest

_PLACES = {"/sys/class/kfd": kfd.FOLDER}
"""Where else accelerators show, and the folder that was listed there."""
NOBODY = "nothing that raxl read says it"
"""Why a value is not known of which no source says anything."""
_MOST_ACCELERATORS, _MOST_NICS = 256, 1024
_DRIVERS = ("nvidia", "cuda")
_Device = TypeVar("_Device")
_Record = TypeVar("_Record", Cpu, OperatingSystem)


def node(
    recording: Recording, plugins: Sequence[Guest] = (), steps: Steps | None = None, overlay: Overlay | None = None
) -> Node:
    """What the recording says of its machine, whole.

    `plugins`: those that raxl does not ship. `steps`: how the steps are taken, where many machines are alike; `overlay`
    what `catalog_files.overlay` gave.
    """
    host = ReplayHost(recording)
    steps = steps or Plainly(recording)
    overlay = overlay or catalog_files.overlay()
    foreign, problems = steps.ask("documents", documents.read)
    bus = steps.ask("bus", bus_of, foreign, overlay.catalog)
    on_host = steps.ask("nics", _nics, bus)
    beside = tuple(nic for document in foreign for nic in document.nics)
    told = plugged.told(steps, recording, bus.functions, plugins, _others(on_host, beside, bus, foreign))
    report = _together([*told.reports, *(document.report for document in foreign)])
    devices, more = _bounded(merge.merge(report.claims), _MOST_ACCELERATORS, "accelerators")
    beside = (*beside, *report.nics)
    nics, nic_problems = steps.same(
        "adapters", (Itself(on_host), Itself(bus), beside), partial(_adapters, on_host, beside, bus)
    )
    result = _system(host, steps, recording, foreign, bus)
    result = replace(result, looked_for=_looked_for(host, bus, told.families))
    result = _with_devices(result, devices, nics, report, bus, steps)
    stated = [*(one.placement for one in told.reports), *(one.report.placement for one in foreign)]
    stated += [place for one in foreign for place in one.placements]
    place = placement.of_node(steps, result.accelerators, stated)
    registered = ray_nodes.view(recording)
    accelerators, silences, disagreements = ray_view.seen(steps, bus, result.accelerators, registered)
    result = replace(
        result,
        ray_node_id=registered.node_id if registered else None,
        placement=place.placements[0],
        accelerators=accelerators,
        problems=(
            *problems,
            *told.problems,
            *overlay.problems,
            *_notes(recording, plugins),
            *ray_nodes.missed(recording, registered),
            *steps.ask("refusals", refusals.problems, bus.answers),
            *report.problems,
            *place.problems,
            *more,
            *nic_problems[0],
            *_versions(report.software),
            *nic_problems[1],
            *result.problems,
            *disagreements,
        ),
    )
    return harmless.node(_explained(result, devices, silences, recording, host, place.silence), steps)


def inventory(recordings: Sequence[Recording], plugins: Sequence[Guest] = ()) -> Inventory:
    """All machines, in the order given, but for nodes that have left their cluster; made when the last of them was
    recorded."""
    created = printable.clean(max((recording.created for recording in recordings), default=""))
    alike = Alike() if len(recordings) > 1 else None
    nodes = tuple(node(one, plugins, alike.steps(one) if alike else None) for one in ray_nodes.present(recordings))
    whole = ray_nodes.cluster([ray_nodes.seen(recording) for recording in recordings])
    return Inventory(INVENTORY, __version__, created, nodes, printable.record(whole) if whole else None)


def _nics(host: ReplayHost, bus: Bus) -> tuple[Nic, ...]:
    net, rdma = netdev.ask(host), infiniband.ask(host)
    kernel = {address: function for address, function in bus.functions.items() if function.evidence == "sysfs"}
    listed = net.listing.known and rdma.listing.reason in (None, NOT_PRESENT)
    return adapters.join(netdev.parse(net), infiniband.parse(rdma), kernel, listed)


def _others(on_host: Sequence[Nic], beside: Sequence[Nic], bus: Bus, foreign: Sequence[Foreign]) -> set[str]:
    """Names of NICs, and of devices that documents tell of."""
    named = {nic.id for nic in (*on_host, *beside, *adapters.on_bus(bus.functions))}
    return named | {name for document in foreign for claim in document.report.claims for name in claim.names}


def _adapters(
    on_host: Sequence[Nic], beside: Sequence[Nic], bus: Bus
) -> tuple[Sequence[Nic], tuple[Sequence[Problem], Sequence[Problem]]]:
    """The adapters that kernel, documents and plug-ins name, those of one device together; whether they are too many,
    and what is told of one differently."""
    named = [*on_host, *beside, *adapters.on_bus(bus.functions)]
    first, more = _bounded(merge_nics.merged(named), _MOST_NICS, "nics")
    contradictions = tuple(nic_contradictions.problems(merge_nics.groups(named)))
    return adapters.placed(first, bus.functions), (more, contradictions)


def _together(reports: Sequence[Report]) -> Report:
    return Report(
        claims=tuple(claim for report in reports for claim in report.claims),
        links=tuple(link for report in reports for link in report.links),
        switches=tuple({switch.id: switch for report in reports for switch in report.switches}.values()),
        nics=tuple(nic for report in reports for nic in report.nics),
        software=tuple({(one.name, one.version): one for report in reports for one in report.software}.values()),
        problems=tuple(problem for report in reports for problem in report.problems),
    )


def _software(host: ReplayHost) -> tuple[Software, ...]:
    return modules.parse(modules.ask(host))


def _processors(host: ReplayHost) -> Cpu:
    return cpu.parse(cpu.ask(host))


def _system(host: ReplayHost, steps: Steps, recording: Recording, foreign: Sequence[Foreign], bus: Bus) -> Node:
    answers = system.ask(host)
    own, processors = system.parse(answers), steps.ask("processors", _processors)
    for document in foreign:
        own = _filled(own, document.os)
        processors = _filled(processors, document.cpu)
    return Node(
        name=recording.name,
        source=recording.source,
        boot_id=system.boot_id(answers),
        recorded_by=recording.recorded_by,
        path_trust=steps.same(
            "trust",
            (own.virtualization, Itself(bus)),
            lambda: trust.path_trust(own.virtualization, tuple(bus.functions.values())),
        ),
        os=own,
        cpu=processors,
        numa_nodes=bus.numa_nodes,
        software=steps.ask("software", _software),
    )


def _looked_for(host: ReplayHost, bus: Bus, families: tuple[str, ...]) -> LookedFor:
    read = bus.answers.listing.known or bool(bus.functions)
    return LookedFor(
        families=families,
        pci_functions=len(bus.functions) if read else None,
        places=tuple(place for place, folder in _PLACES.items() if host.names(folder).reason in (None, NOT_PRESENT)),
    )


def _filled(known: _Record, other: _Record) -> _Record:
    """The record with what it lacks taken from another of its type."""
    missing = {field: getattr(other, field) for field, value in vars(known).items() if value is None}
    return replace(known, **missing)


def _with_devices(
    result: Node, devices: Sequence[merge.Merged], nics: Sequence[Nic], report: Report, bus: Bus, steps: Steps
) -> Node:
    """The node with its devices, switches and links."""
    accelerators = tuple(_seated(device, bus) for device in devices)
    stated = joining.stated(report.links, devices, {nic.id for nic in nics})
    found, contradictions, with_roles, pcie_switches = joining.joined(accelerators, nics, stated, bus, steps)
    memory = {
        device.memory_numa_node: device.accelerator.id for device in devices if device.memory_numa_node is not None
    }
    return replace(
        result,
        numa_nodes=tuple(replace(one, accelerator=memory.get(one.id)) for one in result.numa_nodes)
        if memory
        else result.numa_nodes,
        accelerators=accelerators,
        nics=with_roles,
        switches=(*pcie_switches, *report.switches) if report.switches else pcie_switches,
        links=found,
        software=(*report.software, *result.software),
        problems=(*contradictions, *(problem for device in devices for problem in device.problems)),
    )


def _seated(device: merge.Merged, bus: Bus) -> Accelerator:
    """The accelerator with the place that its PCI function has in the tree."""
    accelerator = device.accelerator
    function = bus.functions.get(accelerator.pci.address) if accelerator.pci else None
    if function is None:
        single = len(bus.numa_nodes) == 1 and accelerator.numa_node is None
        if single:
            return replace(accelerator, numa_node=bus.numa_nodes[0].id, local_numa_nodes=(bus.numa_nodes[0].id,))
        return accelerator
    numa_node = accelerator.numa_node if accelerator.numa_node is not None else function.numa_node
    return replace(
        accelerator,
        numa_node=numa_node,
        local_numa_nodes=accelerator.local_numa_nodes or function.local_numa_nodes,
        pcie_root=function.host_bridge if function.evidence != "nccl-xml" else None,  # NCCL names no host bridge
    )


def _bounded(devices: Sequence[_Device], most: int, subject: str) -> tuple[Sequence[_Device], list[Problem]]:
    """The first of them, where they are more than any machine has: every pair of them would be a link."""
    if len(devices) <= most:
        return devices, []
    message = f"{len(devices)} are named, more than a machine has: the first {most} are told"
    return devices[:most], [Problem(subject, FAILED, message)]


def _versions(software: Sequence[Software]) -> list[Problem]:
    """A driver of which two sources name two versions: texts of two times, or of two machines."""
    problems = []
    for driver in _DRIVERS:
        told = {one.version: one.evidence for one in software if one.name == driver}
        if len(told) > 1:
            words = ", ".join(f"{evidence} says {version}" for version, evidence in told.items())
            problems.append(Problem(f"software.{driver}", DISAGREEMENT, words, tuple(dict.fromkeys(told.values()))))
    return problems


def _notes(recording: Recording, plugins: Sequence[Guest]) -> list[Problem]:
    """What went wrong while asking; of a plug-in of others it is told by the name of its package."""
    told = {plugin.installed.entry for plugin in plugins}
    return [
        Problem(_task(subject), reason, message) for subject, reason, message in recording.notes if subject not in told
    ]


def _task(subject: str) -> str:
    """raxl's own asking halves by what they ask: `raxl.sources.numa:ask` is `numa`."""
    module, _, attribute = subject.partition(":")
    return module.rpartition(".")[2] if attribute and module.startswith("raxl.") else subject


def _explained(
    result: Node,
    devices: Sequence[merge.Merged],
    ray: Mapping[str, Silence],
    recording: Recording,
    host: ReplayHost,
    place: Silence | None,
) -> Node:
    own = {**refusals.of_node(host), **({"placement": place} if place else {})}
    silences: dict[str, Mapping[str, Silence]] = {"": own, **unknown.of_adapters(result.nics)}
    for one in devices:
        device = one.accelerator.id
        silences[device] = {**one.silent, **({ray_view.FIELD: ray[device]} if device in ray else {})}
    told = recording.unasked.reason or NOT_ASKED
    nobody = Silence(NOT_SUPPORTED, NOBODY)
    default = nobody if recording.recorded_by else Silence(told, "what was given does not say it")
    return replace(result, problems=(*result.problems, *unknown.problems(result, silences, default)))
