"""A device that is given to a virtual machine has no state here, whatever a tool or a driver's leftover file says."""

from __future__ import annotations

import pytest

import recordings
from raxl.collect import assemble
from raxl.host import Answer
from raxl.host.record import Recording
from raxl.model.node import Node

TOLD = (
    "amd-mi300x-spx",
    "ascend-910b",
    "furiosa-rngd",
    "gaudi-hls2",
    "intel-b60",
    "metax-c500",
    "neuron-trn2-ultraserver",
    "nvidia-hgx-h100",
    "rebellions-ca22",
    "tenstorrent-n300",
)
"""A machine of each family of which more than the bus tells."""


def read(recording: Recording) -> Node:
    (node,) = assemble.inventory([recording]).nodes
    return node


def given_away(name: str, address: str) -> Node:
    """The machine, with the device at that address bound to vfio-pci and all else as it was."""
    known = recordings.recording(name)
    answers = {
        question: Answer("/sys/bus/pci/drivers/vfio-pci") if question.subject.endswith(f"{address}/driver") else answer
        for question, answer in known.answers.items()
    }
    return read(Recording(answers, name=known.name, created=known.created, recorded_by=known.recorded_by))


@pytest.mark.parametrize("name", TOLD)
def test_a_device_bound_to_vfio_has_no_state(name: str) -> None:
    first = read(recordings.recording(name)).accelerators[0]
    assert (first.state, first.pci is not None) == ("ok", True)
    assert first.pci is not None
    node = given_away(name, first.pci.address)
    (device,) = [one for one in node.accelerators if one.pci and one.pci.address == first.pci.address]
    assert (device.state, device.attributes["driver"]) == ("unknown", "vfio-pci")
    (problem,) = [one for one in node.problems if one.subject == f"{device.id}.state"]
    assert problem.reason == "not-applicable"
    assert problem.message.startswith("the device is bound to vfio-pci, not to ")
    others = [one.state for one in node.accelerators if one.id != device.id]
    assert set(others) <= {"ok"}


def test_a_tpus_own_driver_is_vfio() -> None:
    assert {one.state for one in read(recordings.recording("tpu-v6e-8")).accelerators} == {"ok"}
