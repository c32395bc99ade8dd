"""Oracle Cloud: the instance metadata service."""

from __future__ import annotations

import json

from raxl.host import Host
from raxl.model.presence import Presence
from raxl.model.report import Placed
from raxl.sources import clouds, oci_places

CLOUD = clouds.Cloud(
    provider=oci_places.PROVIDER,
    words="OCI",
    evidence=oci_places.EVIDENCE,
    is_here=lambda firmware: firmware["chassis_asset_tag"] == "OracleCloud.com",
    paths=("instance/", "host", "host/rdmaTopologyData"),
)


class Oci:
    """Oracle Cloud's instances, bare metal among them."""

    platform = CLOUD.words

    def probe(self, host: Host) -> Presence:
        """Looks at the firmware."""
        return clouds.probe(CLOUD, host)

    def ask(self, host: Host) -> clouds.Answers:
        """Asks for the instance, its host and its place in the cluster network."""
        return clouds.ask(CLOUD, host)

    def parse(self, answers: clouds.Answers) -> Placed:
        """Shape, region, and the tiers of the network; a tenancy without capacity topology is told none of them."""
        said: dict[str, object] = {}
        for path in CLOUD.paths:
            try:
                part = json.loads(answers.text(path) or "{}")
            except (ValueError, RecursionError):
                continue
            said.update(part if isinstance(part, dict) else {})
        return clouds.placed(CLOUD, answers, [oci_places.placement(said)])
