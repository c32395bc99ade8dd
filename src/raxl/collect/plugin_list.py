"""`raxl.plugins/v1`: the plug-ins that are installed, what they find here, and how mature they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, Sequence

from raxl import __version__
from raxl.collect import clock, conformance, live, plugin_recordings, trial
from raxl.collect.plugin_recordings import CAPTURE, Named
from raxl.errors import PluginError
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.model.plugin import Criterion, Found, Plugin, PluginsDocument, tier
from raxl.model.presence import Presence
from raxl.model.schemas import PLUGINS
from raxl.plugins import discovery, documentation, ledger, registry
from raxl.plugins.discovery import Installed
from raxl.plugins.guest import Guest

OWN = "raxl"
UNWANTED = Found("unknown", "not-asked", "it is loaded only where --plugins names it")


def document(plugins: Sequence[Plugin]) -> PluginsDocument:
    """The plug-ins as `raxl plugins` prints them."""
    return PluginsDocument(PLUGINS, __version__, clock.now(), tuple(plugins))


def listed(guests: Sequence[Guest], budget_seconds: float) -> list[Plugin]:
    """Every plug-in that is installed; raxl's own and the `guests` are probed on this machine."""
    entries = [*registry.BUILT_IN.values(), *registry.PLATFORMS.values(), *(guest.installed.entry for guest in guests)]
    with live.prober(entries, budget_seconds, [guest.installed for guest in guests]) as prober:
        others = discovery.foreign()
        recording = live.recorded(prober)
    own = [
        replace(_own(name), found=_found(recording, entry, registry.built_in(name), OWN))
        for name, entry in registry.BUILT_IN.items()
    ]
    own += [
        Plugin(discovery.PLATFORMS, name, OWN, __version__, found=_found(recording, entry, plugin, OWN))
        for (name, entry), plugin in zip(registry.PLATFORMS.items(), registry.platforms(), strict=True)
    ]
    # A transport is tried between two ends, which `raxl bench-transport` starts: here it is not probed.
    own += [Plugin(discovery.TRANSPORTS, name, OWN, __version__) for name in registry.TRANSPORTS]
    wanted = {guest.installed: guest for guest in guests}
    told = [*own, *(_other(one, wanted.get(one), recording) for one in others)]
    return sorted(told, key=lambda one: discovery.GROUPS.index(one.group))


def _own(name: str) -> Plugin:
    reached, criteria = ledger.tier(name)
    captures = ledger.of(registry.built_in(name).vendor).count
    return Plugin(discovery.ACCELERATORS, name, OWN, __version__, reached, None, captures, criteria)


def _other(one: Installed, guest: Guest | None, recording: Recording) -> Plugin:
    found = UNWANTED
    if guest is not None:
        found = _found(recording, one.entry, guest, one.package)
    return Plugin(one.group, one.name, one.package, one.version, found=found)


def _found(recording: Recording, entry: str, plugin: object, package: str) -> Found:
    """What the probe says of what was read; a failure names the package."""
    task = f"{entry}.probe"
    for subject, reason, message in recording.notes:
        if subject == task:
            return Found("unknown", reason, f"the plug-in of the package {package} failed: {message}")
    probe: Callable[[ReplayHost], Presence] | None = getattr(plugin, "probe", None)
    if probe is None:
        return Found("unknown", "not-supported", "it has no probe")
    try:
        found = Found(*probe(ReplayHost(recording)))
    except PluginError as error:
        return Found("unknown", error.reason, f"{error.what} failed: {error.why}")
    if isinstance(plugin, Guest) and plugin.manners:
        words = f"the plug-in of the package {package} {'; it '.join(plugin.manners)}"
        return replace(found, message=f"{found.message}; {words}" if found.message else words)
    return found


def checked_own(name: str, recordings: Sequence[Named], here: Recording | None = None) -> Plugin:
    """One of raxl's own plug-ins, tried on these recordings and on this machine's."""
    installed = Installed(discovery.ACCELERATORS, name, OWN, __version__, registry.BUILT_IN[name])
    plugin = registry.built_in(name)
    criteria = _criteria(trial.Tried(plugin), installed, recordings, ledger.of(plugin.vendor), here)
    return replace(_own(name), tier=tier(criteria), criteria=criteria)


def checked(guests: Sequence[Guest], here: Recording | None = None) -> list[Plugin]:
    """Plug-ins of others, each tried on the recordings of its package and on this machine's."""
    return [_checked(guest, here) for guest in guests]


def _checked(guest: Guest, here: Recording | None) -> Plugin:
    one = guest.installed
    folder = plugin_recordings.folder_of(one)
    recordings = plugin_recordings.read(folder, (guest,)) if folder else []
    criteria = _criteria(trial.Tried(guest, (guest,)), one, recordings, ledger.Ledger(), here)
    captures = sum(named.recording.nature == CAPTURE for named in recordings)
    return Plugin(one.group, one.name, one.package, one.version, tier(criteria), None, captures, criteria)


def _criteria(
    tried: trial.Tried,
    installed: Installed,
    recordings: Sequence[Named],
    entry: ledger.Ledger,
    here: Recording | None,
) -> tuple[Criterion, ...]:
    every = [*recordings, *([Named("this machine", here)] if here else [])]
    return conformance.criteria(tried, every, entry, documentation.missing(installed))
