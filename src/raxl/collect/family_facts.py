"""What the drivers of AMD, Neuron and Gaudi devices say of them and of themselves, by which checks go."""

from __future__ import annotations

from raxl.host import stripped
from raxl.host.replay import ReplayHost
from raxl.model.facts import Reading
from raxl.model.node import Node
from raxl.model.problem import FAILED, NOT_PRESENT
from raxl.sources import amd_health, neuron_health, nvml, tpu_nodes

_HABANALABS = "/sys/module/habanalabs/version"


def devices(host: ReplayHost, node: Node) -> dict[str, dict[str, Reading]]:
    """By accelerator id, of AMD's what `amd_health.readings` names, of Neuron's what `neuron_health.readings` does."""
    ids = {device.pci.address: device.id for device in node.accelerators if device.pci}
    amd = amd_health.readings(amd_health.ask(host))
    return {
        **{ids[address]: told for address, told in amd.items() if address in ids},
        **neuron_health.readings(neuron_health.ask(host)),
    }


def drivers(host: ReplayHost, node: Node) -> dict[str, Reading]:
    """`amdgpu`, `rocm`, `neuron`, `habanalabs`, `hl-smi`: versions; `kfd`: the addresses that KFD lists;
    `neuron_devices`, `neuron_nodes`: counts; `tpu_nodes`: whose the nodes are that may be a TPU's; `p2p`: by pair of
    addresses, what NVIDIA's driver says of reads and writes between the two."""
    told = {
        **amd_health.drivers(amd_health.ask(host)),
        **neuron_health.drivers(neuron_health.ask(host)),
        **tpu_nodes.drivers(tpu_nodes.ask(host)),
    }
    answer = host.text(_HABANALABS)
    if answer.reason != NOT_PRESENT:
        version = stripped(answer)
        told["habanalabs"] = (
            Reading(version, _HABANALABS)
            if version
            else Reading(None, _HABANALABS, answer.reason or FAILED, answer.message or "it says nothing")
        )
    for one in node.software:
        if one.name in ("amdgpu", "neuron", "habanalabs", "hl-smi") and not _is_known(told, one.name):
            told[one.name] = Reading(one.version, one.evidence)
    claims = nvml.p2p(nvml.ask(host))
    if claims:
        told["p2p"] = Reading(claims, nvml.NAME)
    return told


def _is_known(told: dict[str, Reading], name: str) -> bool:
    return name in told and told[name].known
