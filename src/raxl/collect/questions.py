"""Everything that raxl asks of a machine, put to a recording that reads only what it is asked."""

from __future__ import annotations

from typing import Sequence

from raxl.errors import PluginError
from raxl.host.child import asking_half
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.plugins import registry
from raxl.plugins.guest import Guest


def read_through(recording: Recording, foreign: Sequence[Guest] = ()) -> None:
    """Has the recording asked everything that a snapshot holds. A plug-in of others that fails asks no more."""
    host = ReplayHost(recording)
    for task in registry.ask_tasks(registry.CHECKS):
        asking_half(task)(host)
    for plugin in foreign:
        try:
            plugin.probe(host)
            plugin.parse(plugin.ask(host), ())
        except PluginError:  # told where the recording is parsed
            pass
