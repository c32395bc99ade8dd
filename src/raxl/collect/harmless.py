"""Nodes whose texts no terminal acts on; what machines of one kind have in common is looked through once."""

from __future__ import annotations

from dataclasses import fields
from functools import partial

from raxl.collect.alike import Itself, Steps
from raxl.model import printable
from raxl.model.node import Node

_SHARED = ("numa_nodes", "nics", "switches", "links", "cpu")
"""Parts of a node that steps give, hence one object for machines of one kind."""
_EQUAL = ("os", "looked_for", "software", "placement")
"""Small parts that are made for each node, and equal for many."""


def node(result: Node, steps: Steps) -> Node:
    """The node with every text in it made harmless; what many nodes share, once."""
    held = {one.name: getattr(result, one.name) for one in fields(Node)}
    return Node(
        **{
            name: steps.same(f"harmless {name}", Itself(value), partial(printable.record, value))
            if name in _SHARED
            else steps.same(f"harmless {name}", value, partial(printable.record, value))
            if name in _EQUAL
            else printable.record(value)
            for name, value in held.items()
        }
    )
