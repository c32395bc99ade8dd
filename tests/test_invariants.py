"""What holds of every recording, whatever the machine."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import jsonschema
import pytest

import captures
import machines
from raxl.collect import assemble, inputs, keeping, unknown
from raxl.host.record import Recording
from raxl.model import codec
from raxl.model.accelerator import Accelerator
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.model.problem import REASONS
from raxl.render import text_matrix, text_table, text_tree
from raxl.render.text import to_text

SCHEMA = json.loads(codec.schema("inventory"))
SOURCES = [*machines.ALL, *captures.of(*captures.FORMS)]


def recordings(source: str | Path) -> list[Recording]:
    if isinstance(source, Path):
        return inputs.opened([str(source)])
    return [machines.ALL[source]().recording()]


@pytest.fixture(scope="module", params=SOURCES, ids=str)
def read(request: pytest.FixtureRequest) -> tuple[list[Recording], Inventory]:
    held = recordings(request.param)
    return held, assemble.inventory(held)


@pytest.fixture
def inventory(read: tuple[list[Recording], Inventory]) -> Inventory:
    return read[1]


def test_a_corpus_is_named() -> None:
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    assert len(captures.of(*captures.FORMS)) > 50


def devices(node: Node) -> list[str]:
    return [device.id for device in (*node.accelerators, *node.nics)]


def test_ids_are_unique_and_every_pair_has_one_link(inventory: Inventory) -> None:
    for node in inventory.nodes:
        assert len(set(devices(node))) == len(devices(node))
        accelerators = [device.id for device in node.accelerators]
        wanted = {frozenset(pair) for pair in combinations(accelerators, 2)}
        wanted |= {frozenset((a, nic.id)) for a in accelerators for nic in node.nics}
        found = [frozenset((link.a, link.b)) for link in node.links]
        assert len(found) == len(set(found))
        assert set(found) == wanted


def test_what_is_named_exists(inventory: Inventory) -> None:
    for node in inventory.nodes:
        known = {*devices(node), *(switch.id for switch in node.switches)}
        for switch in node.switches:
            assert set(switch.members) <= known
            assert switch.parent is None or switch.parent in known
        holders = {numa.accelerator for numa in node.numa_nodes} - {None}
        assert holders <= known


def covered(subject: str, told: set[str]) -> bool:
    """Whether a problem tells of the subject or of something that it stands beneath."""
    parts = subject.split(".")
    return any(".".join(parts[:length]) in told for length in range(1, len(parts) + 1))


def test_every_null_has_its_reason(inventory: Inventory) -> None:
    for node in inventory.nodes:
        told = {problem.subject for problem in node.problems}
        for field in unknown.NODE_FIELDS:
            if unknown.value(node, field) is None:
                assert covered(field, told), field
        for group, members, fields in (
            ("accelerators", node.accelerators, unknown.ACCELERATOR_FIELDS),
            ("nics", node.nics, unknown.NIC_FIELDS),
        ):
            for device in members:
                for field in fields:
                    if unknown.value(device, field) is None:
                        assert f"{device.id}.{field}" in told or f"{group}.{field}" in told, (device.id, field)
        if any(link.link_class is None for link in node.links):
            assert told & {"links", "links.count"}


def test_reasons_are_of_the_vocabulary_and_messages_are_said(inventory: Inventory) -> None:
    for node in inventory.nodes:
        for problem in node.problems:
            assert problem.reason in REASONS
            assert problem.message, problem


def test_the_document_is_valid_and_decodes_to_itself(inventory: Inventory) -> None:
    text = codec.encode(inventory)
    jsonschema.validate(json.loads(text), SCHEMA)
    assert codec.decode(text, Inventory) == inventory


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for key, entry in value.items() for text in (key, *strings(entry))]
    if isinstance(value, list):
        return [text for entry in value for text in strings(entry)]
    return [value] if isinstance(value, str) else []


def test_no_string_acts_on_a_terminal(inventory: Inventory) -> None:
    for text in strings(json.loads(codec.encode(inventory))):
        assert clean(text) == text
        assert text.isprintable()


def test_recorded_and_replayed_it_prints_the_same_bytes(
    read: tuple[list[Recording], Inventory], tmp_path: Path
) -> None:
    held, first = read
    keeping.write(held, tmp_path / "kept.tar.gz")
    again = assemble.inventory(inputs.opened([str(tmp_path / "kept.tar.gz")]))
    assert codec.encode(again) == codec.encode(first)
    for render in (text_tree.tree, text_matrix.matrix, text_table.discover):
        assert to_text(render(again, 100)) == to_text(render(first, 100))


def test_a_missing_answer_makes_nothing_up(read: tuple[list[Recording], Inventory]) -> None:
    """Without one of its answers a device's identity is what it was, or null."""
    held, first = read
    if len(held) != 1 or len(held[0].answers) > 1500:
        return
    whole = held[0]
    known: dict[str, list[Accelerator]] = {}
    for device in first.nodes[0].accelerators:
        known.setdefault(device.pci.address if device.pci else device.id, []).append(device)
    for question in list(whole.answers)[:: max(1, len(whole.answers) // 12)]:
        rest = {asked: answer for asked, answer in whole.answers.items() if asked != question}
        lesser = Recording(rest, name=whole.name, source=whole.source, created=whole.created)
        for device in assemble.inventory([lesser]).nodes[0].accelerators:
            before = known.get(device.pci.address if device.pci else device.id, [])
            for field in ("uuid", "serial", "memory_bytes", "numa_node") if before else ():
                assert getattr(device, field) in (None, *(getattr(one, field) for one in before)), (question, field)
