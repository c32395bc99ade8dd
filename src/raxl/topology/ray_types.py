"""What an accelerator is called: its model in a label, and its type where Ray's own detection finds none out."""

from __future__ import annotations

import re

from raxl.model.accelerator import Accelerator
from raxl.model.identity import model_name

_DECORATION = re.compile(r"\((?:R|TM|C)\)", re.IGNORECASE)


def model(device: Accelerator) -> str | None:
    """Its model, without the vendor's name and its marks."""
    name = _whole(device)
    return model_name(device.vendor, _DECORATION.sub("", name)) if name else None


def spelling(device: Accelerator) -> str | None:
    """Ray's spelling of `ray.io/accelerator-type`, also where its own detection gives none; None: not known.

    Gaudi: `Intel-` and the name that Habana's runtime gives (`ray._private.accelerators.hpu`); MetaX: the management
    library's `MXC500` (`metax_gpu`), of which mx-smi prints `MetaX C500`. What Ray has no name for (AMD's device ids
    outside its table, Tenstorrent, families that it does not know) is called by its whole model.
    """
    if device.ray.type:
        return device.ray.type
    if device.vendor == "gaudi":
        return f"Intel-{device.architecture.upper()}" if device.architecture else None
    if device.vendor == "metax":
        found = re.fullmatch(r"(?:MetaX )?(?:MX)?(C[0-9]{3})", device.model or "")
        return f"MX{found[1]}" if found else None
    return _whole(device) if is_nameless(device) else None


def is_nameless(device: Accelerator) -> bool:
    """Whether Ray has no name for it, however its detection goes."""
    if device.vendor == "amd":
        return device.ray.type is None and device.pci is not None and device.pci.device_id is not None
    return device.vendor == "tenstorrent" or device.ray.resource is None


def _whole(device: Accelerator) -> str | None:
    """Tenstorrent's `n300 L` and `n300 R` are the two chips of one model."""
    if device.vendor != "tenstorrent" or device.model is None:
        return device.model
    return re.sub(" [LR]$", "", device.model)
