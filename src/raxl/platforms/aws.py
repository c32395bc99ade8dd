"""AWS EC2: the instance metadata service, version 2.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-categories.html. It does not say where in the
network an instance stands; that is `DescribeInstanceTopology`, which needs a permission (`raxl.intake.aws_topology`).
"""

from __future__ import annotations

from raxl.host import Host
from raxl.model.placement import Placement
from raxl.model.presence import Presence
from raxl.model.report import Placed
from raxl.sources import clouds

_TYPE, _REGION, _ZONE = "instance-type", "placement/region", "placement/availability-zone"
_AMAZON = "Amazon EC2"
CLOUD = clouds.Cloud(
    provider="aws",
    words="AWS",
    evidence="aws-imds",
    is_here=lambda firmware: _AMAZON in (firmware["sys_vendor"], firmware["board_vendor"]),
    paths=(_TYPE, _REGION, _ZONE),
)


class Aws:
    """Instances of EC2."""

    platform = CLOUD.words

    def probe(self, host: Host) -> Presence:
        """Looks at the firmware."""
        return clouds.probe(CLOUD, host)

    def ask(self, host: Host) -> clouds.Answers:
        """Asks for type, region and zone."""
        return clouds.ask(CLOUD, host)

    def parse(self, answers: clouds.Answers) -> Placed:
        """The instance's type, region and zone."""
        place = Placement(
            provider=CLOUD.provider,
            instance_type=answers.text(_TYPE),
            region=answers.text(_REGION),
            zone=answers.text(_ZONE),
            evidence=(CLOUD.evidence,),
        )
        return clouds.placed(CLOUD, answers, [place])
