"""Azure: the instance metadata service."""

from __future__ import annotations

import json
from typing import Mapping, Optional

from raxl.host import Host
from raxl.host.allowed_metadata import AZURE_NEW, AZURE_OLD
from raxl.model.presence import Presence
from raxl.model.problem import NOT_SUPPORTED
from raxl.model.report import Placed
from raxl.sources import azure_instance, clouds

_TAG = "7783-7084-3265-9085-8269-3286-77"
"""The chassis' asset tag: the same maker's name stands in the firmware of every Hyper-V machine."""
CLOUD = clouds.Cloud(
    provider=azure_instance.PROVIDER,
    words="Azure",
    evidence=azure_instance.EVIDENCE,
    is_here=lambda firmware: firmware["chassis_asset_tag"] == _TAG,
    paths=(AZURE_NEW,),
)
_OLD = CLOUD._replace(paths=(AZURE_OLD,))


class Azure:
    """Azure's VMs."""

    platform = CLOUD.words

    def probe(self, host: Host) -> Presence:
        """Looks at the firmware."""
        return clouds.probe(CLOUD, host)

    def ask(self, host: Host) -> clouds.Answers:
        """Asks for the instance; where the newest version of the question is not known yet, for an older one's."""
        answers = clouds.ask(CLOUD, host)
        new = answers.metadata.get(AZURE_NEW)
        return clouds.ask(_OLD, host) if new is not None and new.reason == NOT_SUPPORTED else answers

    def parse(self, answers: clouds.Answers) -> Placed:
        """Size, place and fabric of the VM."""
        said = _object(answers.text(AZURE_NEW) or answers.text(AZURE_OLD))
        return clouds.placed(CLOUD, answers, [azure_instance.placement(said)] if said else [])


def _object(text: Optional[str]) -> Optional[Mapping[str, object]]:
    try:
        said = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None
