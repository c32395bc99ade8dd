"""Facts made into label values: what Kubernetes and Ray take. A value follows from its fact alone.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
"""

from __future__ import annotations

import hashlib
import re

LONGEST = 63
_FOREIGN = re.compile(r"[^A-Za-z0-9._-]+")
_HASH = 8


def made_valid(fact: str) -> str:
    """`fact` as a label value: `H100 80GB HBM3` is `H100-80GB-HBM3`.

    Whatever is not allowed becomes `-`, and none of `-_.` stays at an end. A value that is too long is cut and ends in
    a hash of the whole; where no letter or digit is left, the hash stands alone.
    """
    value = _FOREIGN.sub("-", fact).strip("-_.")
    if not value:
        return f"x{_hash(fact)}"
    return value if len(value) <= LONGEST else _hashed(value, fact)


def name(fact: str) -> str:
    """The name of a rack, block, slice or domain: `leaf@1` is `leaf-1-a71eb563`, `leaf-1` stays.

    A name that had to be changed ends in its hash, so that two names never become one place, and one name is the same
    label on whatever nodes it is read with.
    """
    value = made_valid(fact)
    return value if value == fact or value.endswith(_hash(fact)) else _hashed(value, fact)


def _hashed(value: str, fact: str) -> str:
    return f"{value[: LONGEST - _HASH - 1].rstrip('-_.')}-{_hash(fact)}"


def _hash(fact: str) -> str:
    return hashlib.sha256(fact.encode("utf-8", "replace")).hexdigest()[:_HASH]
