"""Loaded kernel modules: `/sys/module`, and the versions of those that matter."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.node import Software

FOLDER = "/sys/module"
_VERSIONED = ("mlx5_core", "ib_core", "efa", "nvidia_peermem", "gdrdrv", "bnxt_re", "irdma")


class Answers(NamedTuple):
    """The listing, and the versions that modules carry."""

    listing: Answer
    versions: Mapping[str, Answer]


def ask(host: Host) -> Answers:
    """Asks for the list, and for the version of the network modules in it."""
    listing = host.names(FOLDER)
    loaded = [name for name in _VERSIONED if name in (listing.value or ())]
    return Answers(listing, {name: host.text(f"{FOLDER}/{name}/version") for name in loaded})


def parse(answers: Answers) -> tuple[Software, ...]:
    """The modules that carry a version of their own; those of the kernel itself do not."""
    found = ((name, stripped(answer)) for name, answer in answers.versions.items())
    return tuple(Software(name, version, f"{FOLDER}/{name}/version") for name, version in found if version)


def loaded(answers: Answers) -> tuple[str, ...] | None:
    """The names of the modules that are loaded or built in with parameters; None when the list could not be read."""
    return tuple(answers.listing.value) if answers.listing.known else None
