"""What holds of every recording, whatever the machine: the project's own, and the captures that RAXL_CORPUS names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import jsonschema
import pytest

import captures
import recordings
import samples
from raxl.collect import assemble, inputs, keeping, unknown
from raxl.host import Answer, Question, record
from raxl.host.record import Recording
from raxl.model import codec
from raxl.model.accelerator import Accelerator
from raxl.model.inventory import Inventory
from raxl.model.link import Link
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.model.problem import REASONS
from raxl.render import text_matrix, text_table, text_tree
from raxl.render.text import to_text
from raxl.sources import pci

SCHEMA = jsonschema.Draft202012Validator(json.loads(codec.schema("inventory")))
KEPT = ("answers", "name", "source", "created", "recorded_by", "nature", "unasked", "notes")
"""What a snapshot keeps of a recording."""
PCI_LISTING = Question("names", pci.FOLDER)
EXHAUSTED = ("amd-mi210", "nvidia-container")
"""Small recordings of which every single answer is removed."""
REMOVALS = 5_000
"""Of another one of N answers, about REMOVALS / N are."""


@pytest.fixture(scope="module", params=samples.ALL, ids=samples.name)
def read(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Recording], Inventory]:
    held = samples.opened(request.param, tmp_path_factory.mktemp("foreign"))
    return held, assemble.inventory(held)


@pytest.fixture
def held(read: tuple[list[Recording], Inventory]) -> list[Recording]:
    return read[0]


@pytest.fixture
def inventory(read: tuple[list[Recording], Inventory]) -> Inventory:
    return read[1]


def test_the_corpus_is_read_where_one_is_named() -> None:
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    assert len(captures.of(*captures.FORMS)) > 50


def device_ids(node: Node) -> list[str]:
    return [device.id for device in (*node.accelerators, *node.nics)]


def test_ids_are_unique(inventory: Inventory) -> None:
    names = [node.name for node in inventory.nodes]
    assert len(set(names)) == len(names)
    for node in inventory.nodes:
        ids = [*device_ids(node), *(switch.id for switch in node.switches)]
        assert len(set(ids)) == len(ids)
        numbers = [numa.id for numa in node.numa_nodes]
        assert len(set(numbers)) == len(numbers)


def test_every_pair_that_counts_has_exactly_one_link(inventory: Inventory) -> None:
    for node in inventory.nodes:
        accelerators = [accelerator.id for accelerator in node.accelerators]
        wanted = {frozenset(pair) for pair in combinations(accelerators, 2)}
        wanted |= {frozenset((id, nic.id)) for id in accelerators for nic in node.nics}
        found = [frozenset((link.a, link.b)) for link in node.links]
        assert len(found) == len(set(found))
        assert set(found) == wanted


def test_what_is_referred_to_exists(inventory: Inventory) -> None:
    for node in inventory.nodes:
        devices = set(device_ids(node))
        switches = {switch.id for switch in node.switches}
        for switch in node.switches:
            assert set(switch.members) <= devices
            assert switch.parent is None or switch.parent in switches - {switch.id}
        assert {numa.accelerator for numa in node.numa_nodes} <= {*devices, None}


def test_a_device_stands_below_one_switch_at_most(inventory: Inventory) -> None:
    for node in inventory.nodes:
        members = [member for switch in node.switches for member in switch.members]
        assert len(set(members)) == len(members)


def is_told(subject: str, told: set[str]) -> bool:
    """Whether a problem is about the subject, or about something that it stands beneath."""
    parts = subject.split(".")
    return any(".".join(parts[:length]) in told for length in range(1, len(parts) + 1))


def nulls(node: Node) -> Iterator[tuple[str, ...]]:
    """Each value that is not known, by the subjects that a problem about it may have."""
    fields = (field for field in unknown.NODE_FIELDS if unknown.value(node, field) is None)
    yield from ((field,) for field in fields)
    for family, devices, of_device in (
        ("accelerators", node.accelerators, unknown.ACCELERATOR_FIELDS),
        ("nics", node.nics, unknown.NIC_FIELDS),
    ):
        for device in devices:
            unknown_fields = (field for field in of_device if unknown.value(device, field) is None)
            yield from ((f"{device.id}.{field}", f"{family}.{field}") for field in unknown_fields)
    for numa in node.numa_nodes:
        lacking = (field for field in ("cpus", "memory_bytes") if getattr(numa, field) is None)
        yield from ((f"numa_nodes.{numa.id}.{field}",) for field in lacking)
    if any(link.link_class is None and link.kind is None for link in node.links):
        yield ("links",)
    if any(link.link_class is None and link.kind not in (None, "pcie") for link in node.links):
        yield ("links.count",)
    if any(link.link_class is None and link.kind == "pcie" for link in node.links):
        yield ("links.link_class",)


def test_every_null_has_its_reason(inventory: Inventory) -> None:
    for node in inventory.nodes:
        told = {problem.subject for problem in node.problems}
        # A device's address has dots of its own: its subjects are compared whole, or by the device alone.
        owners = {device for device in device_ids(node) if device in told}
        for subjects in nulls(node):
            whole = any(subject in told or is_told(subject, told - owners) for subject in subjects)
            assert whole or any(subjects[0].startswith(f"{owner}.") for owner in owners), subjects


def test_problems_speak_the_vocabulary_and_say_something(inventory: Inventory) -> None:
    for node in inventory.nodes:
        for problem in node.problems:
            assert problem.reason in REASONS
            assert problem.message.strip()
            assert problem.subject


def test_a_link_class_agrees_with_its_kind_and_count(inventory: Inventory) -> None:
    for node in inventory.nodes:
        for link in node.links:
            if link.count is not None:
                assert link.link_class is not None
                assert link.link_class.endswith(str(link.count))
            assert link.link_class is None or link.kind is not None
            assert (link.bandwidth_bytes_per_second is None) == (link.bandwidth_source is None)


def test_the_json_is_valid_and_decodes_to_itself(inventory: Inventory) -> None:
    text = codec.encode(inventory)
    SCHEMA.validate(json.loads(text))
    assert codec.decode(text, Inventory) == inventory


def strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from strings(entry)
    elif isinstance(value, str):
        yield value


def test_no_string_acts_on_a_terminal(inventory: Inventory) -> None:
    for text in strings(json.loads(codec.encode(inventory))):
        assert text.isprintable()
        assert clean(text) == text


def printed(inventory: Inventory) -> list[str]:
    """The text that discover and topo print of it."""
    return [to_text(view(inventory, 100)) for view in (text_tree.tree, text_matrix.matrix, text_table.discover)]


def test_recorded_and_replayed_it_is_the_same(held: list[Recording], inventory: Inventory, tmp_path: Path) -> None:
    kept = tmp_path / "kept.tar.gz"
    kept.write_bytes(keeping.packed(held))
    replayed = inputs.opened([str(kept)])
    for mine, other in zip(held, replayed, strict=True):
        assert {name: vars(other)[name] for name in KEPT} == {name: vars(mine)[name] for name in KEPT}
    again = assemble.inventory(replayed)
    assert again == inventory
    assert codec.encode(again) == codec.encode(inventory)
    assert keeping.packed(replayed) == kept.read_bytes()


@pytest.mark.parametrize("source", [*recordings.NAMES[::6], *samples.FOREIGN])  # equals print the same: some of all
def test_recorded_and_replayed_it_prints_the_same_text(source: str, tmp_path: Path) -> None:
    held = samples.opened(source, tmp_path)
    first = printed(assemble.inventory(held))
    kept = tmp_path / "kept.tar.gz"
    kept.write_bytes(keeping.packed(held))
    assert printed(assemble.inventory(inputs.opened([str(kept)]))) == first


def test_the_order_in_which_the_bus_is_listed_changes_nothing(held: list[Recording], inventory: Inventory) -> None:
    listing = held[0].answers.get(PCI_LISTING)
    if listing is None or not listing.known:
        return
    for order in (listing.value[::-1], sorted(listing.value, key=lambda name: name[::-1])):
        changed = lesser(held[0], {PCI_LISTING: listing._replace(value=order)})
        assert assemble.node(changed) == inventory.nodes[0]


def lesser(
    whole: Recording, change: dict[Question, object] | None = None, without: Question | None = None
) -> Recording:
    """The recording with some answers changed, or without one of them."""
    answers = {question: answer for question, answer in whole.answers.items() if question != without}
    return Recording(
        {**answers, **(change or {})},
        name=whole.name,
        source=whole.source,
        created=whole.created,
        recorded_by=whole.recorded_by,
        unasked=whole.unasked,
        notes=whole.notes,
    )


def sample(answers: Sequence[Question]) -> list[Question]:
    """Every command, and the first question of each shape (a path whose numbers are one), as time allows."""
    shapes: dict[str, Question] = {}
    for question in answers:
        shapes.setdefault(re.sub(r"[0-9a-f:.]*[0-9][0-9a-f:.]*", "#", question.subject), question)
    commands = [question for question in answers if question.kind == "command"]
    count = max(1, REMOVALS // max(1, len(answers)))
    return [*commands, *list(shapes.values())[:: -(-len(shapes) // count)]]


def test_a_missing_answer_makes_nothing_up(held: list[Recording], inventory: Inventory) -> None:
    if len(held) == 1:
        check_removals(held[0], inventory.nodes[0], sample(list(held[0].answers)))


@pytest.mark.parametrize("name", EXHAUSTED)
def test_no_single_answer_that_is_missing_makes_anything_up(name: str) -> None:
    whole = recordings.recording(name)
    check_removals(whole, assemble.node(whole), list(whole.answers))


def check_removals(whole: Recording, node: Node, questions: Sequence[Question]) -> None:
    for question in questions:
        rest = assemble.node(lesser(whole, without=question))
        found = list(made_up(node, rest))
        assert not found, (question, found)
        told = {problem.subject for problem in rest.problems}
        assert all(any(is_told(subject, told) for subject in subjects) for subjects in nulls(rest)), question


def nobody_joined(whole: Node, field: str) -> bool:
    """Whether nothing tells which of the driver's devices is which on the bus: without the bus, their numbers show."""
    return all(unknown.value(device, field) is None for device in whole.accelerators)


def made_up(whole: Node, rest: Node) -> Iterator[str]:
    """What the lesser node says and the whole one does not."""
    before = by_place(whole)
    if len(rest.accelerators) > len(whole.accelerators):
        yield "more accelerators"
    for device in rest.accelerators:
        alike = before.get(place(device)) or list(whole.accelerators)
        for field in ("uuid", "serial", "memory_bytes", "numa_node", "index", "pcie_root", "state", "pci.device_id"):
            value = unknown.value(device, field)
            if field in ("index", "serial") and place(device) not in before and nobody_joined(whole, field):
                continue
            if value is not None and value not in [unknown.value(one, field) for one in alike]:
                yield f"{device.id}.{field} is {value}"
    classes = {ends(whole, link): link.link_class for link in whole.links}
    for link in rest.links:
        if link.link_class is not None and classes.get(ends(rest, link)) not in (None, link.link_class):
            yield f"{link.a}–{link.b} is {link.link_class}, not {classes[ends(rest, link)]}"
    for numa in rest.numa_nodes:
        same = [one for one in whole.numa_nodes if one.id == numa.id]
        if not any(numa == replace(one, **{name: getattr(numa, name) for name in lost(numa)}) for one in same):
            yield f"NUMA node {numa.id}"


def lost(numa: object) -> list[str]:
    return [name for name, value in vars(numa).items() if value in (None, ())]


def place(device: Accelerator) -> str:
    return device.pci.address if device.pci else device.id


def by_place(node: Node) -> dict[str, list[Accelerator]]:
    """A device's id changes when its index is not known; its place does not, and may hold several."""
    places: dict[str, list[Accelerator]] = {}
    for device in node.accelerators:
        places.setdefault(place(device), []).append(device)
    return places


def ends(node: Node, link: Link) -> frozenset[str]:
    places = {device.id: place(device) for device in node.accelerators}
    return frozenset(places.get(id, id) for id in (link.a, link.b))


@pytest.mark.parametrize("name", record.OF_PROCESS)
@pytest.mark.parametrize("value", ["x", 7, None, [], {"system": 3}, True], ids=repr)
def test_what_the_process_was_told_may_have_been_edited(name: str, value: object) -> None:
    answers = recordings.recording("none-cpu-server").answers
    node = assemble.node(Recording({**answers, Question("process", name): Answer(value)}, recorded_by="0"))
    assert node.accelerators == ()
