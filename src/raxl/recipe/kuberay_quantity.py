"""Kubernetes' quantities: `4`, `"500m"`, `200Gi`, `1e3`."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

_QUANTITY = re.compile(
    r"([+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30}))([eE][+-]?\d{1,3}|[KMGTPE]i|[numkMGTPE]|)", re.ASCII
)
_BINARY = {unit: Decimal(1024) ** power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
"""https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/"""


MOST = 1 << 53


def read(value: Any) -> Decimal | None:
    """How much it is; None for what is no quantity."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    found = _QUANTITY.fullmatch(str(value).strip())
    if not found:
        return None
    number, unit = Decimal(found[1]), found[2]
    if unit in _BINARY:
        return number * _BINARY[unit]
    power = int(unit[1:]) if unit[:1] in ("e", "E") and len(unit) > 1 else _DECIMAL[unit]
    return number.scaleb(power)


def whole(value: Any) -> int | None:
    """How many it is; None for what is no whole number, or more than there are of anything."""
    amount = read(value)
    if amount is None or abs(amount) > MOST or amount != amount.to_integral_value():
        return None
    return int(amount)


def told(amount: Decimal | int) -> str:
    """`16 GiB`, `512 MiB`."""
    for unit, size in reversed(_BINARY.items()):
        if amount >= size:
            return f"{float(amount / size):.4g} {unit}B"
    return f"{float(amount):.4g} B"
