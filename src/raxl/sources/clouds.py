"""Which cloud's machine this is, as its firmware says, and that cloud's metadata service.

Only the service of the cloud that the firmware names is asked: elsewhere nobody would answer, and the wait is in vain.
Firmware: `/sys/class/dmi/id`, as cloud-init's `ds-identify` reads it.
"""

from __future__ import annotations

import re
from typing import Callable, Mapping, NamedTuple, Optional, Sequence, Tuple

from raxl.host import Answer, Host, stripped
from raxl.model.placement import Placement
from raxl.model.presence import ABSENT, PRESENT, UNKNOWN, Presence
from raxl.model.problem import NOT_ASKED, NOT_PRESENT, Problem, most_telling
from raxl.model.report import Placed, Silence

FOLDER = "/sys/class/dmi/id"
FIRMWARE = "dmi"
_FILES = ("sys_vendor", "product_name", "board_vendor", "chassis_asset_tag")
_TYPE = re.compile(r"[a-z][a-z0-9-]{0,30}\.[a-z0-9-]{1,30}")
"""`p5en.48xlarge`, as AWS writes it into the firmware."""


class Cloud(NamedTuple):
    """A cloud, how its firmware is known, and what is asked of its metadata service."""

    provider: str
    """`aws`: its name in a placement, and that of its service."""
    words: str
    evidence: str
    is_here: Callable[[Mapping[str, str]], bool]
    """Whether these texts of the firmware, by file, are of this cloud."""
    paths: Tuple[str, ...]


class Answers(NamedTuple):
    """The firmware's files, and the metadata by path: none where the firmware names another cloud, or none."""

    firmware: Mapping[str, Answer]
    metadata: Mapping[str, Answer]

    def text(self, path: str) -> Optional[str]:
        """What the service says at a path; None where it does not."""
        return stripped(self.metadata.get(path, Answer(None, NOT_ASKED)))


def probe(cloud: Cloud, host: Host) -> Presence:
    """Looks at the firmware alone."""
    firmware = _firmware(host)
    if cloud.is_here(_texts(firmware)):
        return Presence(PRESENT, None, f"the firmware ({FOLDER}) names {cloud.words}")
    unread = [answer for answer in firmware.values() if answer.reason not in (None, NOT_PRESENT)]
    return Presence(UNKNOWN, unread[0].reason, unread[0].message) if len(unread) == len(firmware) else Presence(ABSENT)


def ask(cloud: Cloud, host: Host) -> Answers:
    """The firmware, and the metadata service where it is this cloud's."""
    firmware = _firmware(host)
    here = cloud.is_here(_texts(firmware))
    return Answers(firmware, {path: host.metadata(cloud.provider, path) for path in cloud.paths} if here else {})


def placed(cloud: Cloud, answers: Answers, told: Sequence[Placement], problems: Sequence[Problem] = ()) -> Placed:
    """What the service says, then what the firmware says by itself; nothing where it names another cloud, or none."""
    if not answers.metadata:
        return Placed()
    product = _texts(answers.firmware)["product_name"]
    firmware = Placement(
        provider=cloud.provider,
        instance_type=product if cloud.provider == "aws" and _TYPE.fullmatch(product) else None,
        evidence=(FIRMWARE,),
    )
    said = [one for one in told if any(value is not None for name, value in vars(one).items() if name in _SAID)]
    return Placed((*said, firmware), _silence(cloud, answers), tuple(problems))


_SAID = ("instance_type", "region", "zone", "rack", "block", "slice", "fabric_domain")


def _silence(cloud: Cloud, answers: Answers) -> Optional[Silence]:
    refused = [one for one in answers.metadata.values() if one.reason not in (None, NOT_PRESENT, NOT_ASKED)]
    if refused:
        reason = most_telling([str(one.reason) for one in refused])
        message = next(one.message for one in refused if one.reason == reason)
        return Silence(reason, message, cloud.evidence)
    if all(one.reason == NOT_ASKED for one in answers.metadata.values()):
        return None
    if not any(one.known for one in answers.metadata.values()):
        return Silence(NOT_PRESENT, f"{cloud.words}'s metadata service holds nothing of it", cloud.evidence)
    return Silence(NOT_ASKED, f"nobody but {cloud.words}'s metadata service was asked")


def _firmware(host: Host) -> Mapping[str, Answer]:
    return {name: host.text(f"{FOLDER}/{name}") for name in _FILES}


def _texts(firmware: Mapping[str, Answer]) -> Mapping[str, str]:
    return {name: stripped(answer) or "" for name, answer in firmware.items()}
