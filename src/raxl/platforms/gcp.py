"""Google Cloud: GCE and GKE through the metadata server, TPU slices through its attribute `tpu-env`.

https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys
"""

from __future__ import annotations

from dataclasses import replace

from raxl.host import Host
from raxl.model.placement import Placement
from raxl.model.presence import Presence
from raxl.model.report import Placed
from raxl.sources import clouds, gcp_places, tpu_slice

_ZONE, _TYPE = "zone", "machine-type"
_TOPOLOGY, _HOST, _TPU = "attributes/physical_host_topology", "attributes/physical_host", "attributes/tpu-env"
CLOUD = clouds.Cloud(
    provider=gcp_places.PROVIDER,
    words="Google Cloud",
    evidence=gcp_places.EVIDENCE,
    is_here=lambda firmware: firmware["product_name"].startswith("Google Compute Engine"),
    paths=(_ZONE, _TYPE, _TOPOLOGY, _HOST, _TPU),
)


class Gcp:
    """VMs of Compute Engine, nodes of GKE and TPU VMs among them."""

    platform = CLOUD.words

    def probe(self, host: Host) -> Presence:
        """Looks at the firmware."""
        return clouds.probe(CLOUD, host)

    def ask(self, host: Host) -> clouds.Answers:
        """Asks for zone, machine type, place in the network, and the TPU slice."""
        return clouds.ask(CLOUD, host)

    def parse(self, answers: clouds.Answers) -> Placed:
        """The place by the JSON, else by the older text; and the slice that the TPU environment describes."""
        block, rack = gcp_places.of_topology(answers.text(_TOPOLOGY))
        if block is None and rack is None:
            block, rack = gcp_places.of_host(answers.text(_HOST))
        zone = gcp_places.last(answers.text(_ZONE))
        place = Placement(
            provider=CLOUD.provider,
            instance_type=gcp_places.last(answers.text(_TYPE)),
            region=gcp_places.region(zone),
            zone=zone,
            rack=rack,
            block=block,
            evidence=(CLOUD.evidence,),
        )
        slice_ = tpu_slice.parse(gcp_places.tpu_variables(answers.text(_TPU)))
        own = replace(tpu_slice.placement(slice_), evidence=(CLOUD.evidence,))
        problems = [replace(one, evidence=(CLOUD.evidence,)) for one in slice_.problems]
        return clouds.placed(CLOUD, answers, [place, own], problems)
