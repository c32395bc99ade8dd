"""`hl-smi -n link` and `hl-smi -n ports`: the RoCE ports of Gaudis, one device below the other."""

from __future__ import annotations

from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources import hl_smi_ports

FORM = hl_smi_ports.FORM


def recognises(text: str) -> bool:
    """Whether lines of ports stand in the text."""
    return hl_smi_ports.recognises(text)


def own(text: str) -> str:
    """The lines of ports, and the address above each device's."""
    return hl_smi_ports.own(text)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The devices with their ports, and that RoCE joins them; which generation they are nobody says here."""
    devices = hl_smi_ports.read(text)
    addresses = {ports.address: None for ports in devices if ports.address}
    links, problems = hl_smi_ports.links(devices, addresses, FORM)
    claims = tuple(hl_smi_ports.claims(devices, FORM))
    return Foreign(FORM, report=Report(claims=claims, links=tuple(links))), (
        *problems,
        *hl_smi_ports.damage(devices, FORM),
    )
