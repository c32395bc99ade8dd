"""What an accelerator is called: its model in a label, and its type where Ray's own detection finds none out."""

from __future__ import annotations

import re

from raxl.model.accelerator import Accelerator
from raxl.model.identity import model_name


def model(device: Accelerator) -> str | None:
    """Its model, without the vendor's name."""
    return model_name(device.vendor, _whole(device))


def spelling(device: Accelerator) -> str | None:
    """Ray's spelling of `ray.io/accelerator-type`; where Ray has none for the device, the model with its vendor's name.

    Gaudi: `Intel-` and the name that Habana's runtime gives (`ray._private.accelerators.hpu`); MetaX: the management
    library's `MXC500` (`metax_gpu`), of which mx-smi prints `MetaX C500`. None: the model is not known.
    """
    if device.ray.type:
        return device.ray.type
    if device.vendor == "gaudi":
        return f"Intel-{device.architecture.upper()}" if device.architecture else None
    found = re.fullmatch(r"(?:MetaX )?(?:MX)?(C[0-9]{3})", device.model or "") if device.vendor == "metax" else None
    return f"MX{found[1]}" if found else _whole(device)


def _whole(device: Accelerator) -> str | None:
    """Tenstorrent's `n300 L` and `n300 R` are the two chips of one model."""
    if device.vendor != "tenstorrent" or device.model is None:
        return device.model
    return re.sub(" [LR]$", "", device.model)
