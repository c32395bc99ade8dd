"""The plug-in says of its recording what is written there, and reaches its tier: run it where it is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RECORDINGS = Path(__file__).parents[1] / "raxl_example" / "recordings"


def raxl(*arguments: str) -> dict:
    command = [sys.executable, "-m", "raxl", *arguments, "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def test_two_cards() -> None:
    from raxl.collect import assemble, plugin_recordings
    from raxl.plugins import discovery
    from raxl.plugins.guest import Guest

    guests = tuple(map(Guest, discovery.chosen(["example"], ())))
    (two_cards,) = (one for one in plugin_recordings.read(RECORDINGS, guests) if one.name == "two-cards")
    node = assemble.node(two_cards.recording, guests)
    assert [device.id for device in node.accelerators] == ["example@0000:17:00.0", "example@0000:ca:00.0"]
    assert {device.model for device in node.accelerators} == {"Example One"}
    assert {device.memory_bytes for device in node.accelerators} == {32 << 30}
    assert [device.numa_node for device in node.accelerators] == [0, 1]
    assert [link.link_class for link in node.links] == ["SYS"]


def test_it_is_found_and_reaches_its_tier() -> None:
    (plugin,) = raxl("plugins", "check", "example")["plugins"]
    assert plugin["tier"] == "experimental", plugin["criteria"]
