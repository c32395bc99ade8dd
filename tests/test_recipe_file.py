"""Recipe files: what is read, and that each broken or hostile one is refused with its line and its key."""

from __future__ import annotations

import json
import os
import random
import string
import time
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from raxl.errors import RaxlError, RecipeError, UnreadableInput
from raxl.model import codec
from raxl.model.recipe import Expectation, Recipe
from raxl.recipe import document, load, shape
from raxl.recipe.document import DEEPEST, LARGEST, Fault
from recipe_texts import MARK, WHOLE, changed

TODAY = date(2026, 11, 30)
SHIPPED = sorted([*load.SHIPPED.glob("*.yaml"), *load.SHIPPED.glob("layers/*.yaml")])


def faults(text: str) -> list[str]:
    """All that is wrong with the recipe, a line each."""
    folder = Path("trial.yaml")
    found: list[Fault] = list(load.faults(text, str(folder)))
    return [str(one) for one in found]


def test_a_whole_recipe_is_read_with_every_part_of_it() -> None:
    recipe = load.read_text(WHOLE, "trial.yaml").recipe
    assert recipe.summary == "Of every part a little."
    assert (recipe.source[0].read, recipe.source[1].read) == ("2026-07-13", "2026-02")
    assert recipe.match.all[1].value == "p5*"
    assert recipe.requires[0].value == "570"
    assert recipe.parameters["half"].options == {"of": "shm.size_bytes", "share": 0.5}
    assert recipe.env.set[1].scope == "workers"
    assert recipe.ray.resources == {"slots": 4}
    assert recipe.kuberay.patch["template"]["spec"]["containers"][0]["name"] == "ray-worker"
    expected = Expectation(
        "two-nodes",
        "all_reduce",
        2,
        16,
        "bus_bandwidth_bytes_per_second",
        "observed",
        437.8e9,
        2147483648,
        path=("AWS Libfabric",),
        software={"nccl": "2.29.3"},
        source="log",
        date="2026-02",
    )
    assert recipe.expect == (expected,)
    assert isinstance(recipe.hardware.nic_bits_per_second, float)


# What YAML makes of words


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("437.8e9", 437.8e9),
        ("1e3", 1000.0),
        ("-0.5", -0.5),
        ("0x1F", 31),
        ("2026-07-13", "2026-07-13"),
        ("2026-07", "2026-07"),
        ("2.29.3", "2.29.3"),
        ("true", True),
        ("True", True),
        ("~", None),
        ("", None),
        ("tRue", "tRue"),
        ("'on'", "on"),
        ('"1:20"', "1:20"),
        ('"010"', "010"),
        ("onwards", "onwards"),
        ("$(reboot)", "$(reboot)"),
        ("a `reboot`; reboot", "a `reboot`; reboot"),
    ],
)
def test_a_scalar_is_what_json_would_call_it_and_all_else_is_text(told: str, value: Any) -> None:
    read = document.of_text(f"key: {told}\n", "a.yaml")
    assert read.faults == []
    assert read.tree is not None
    found = read.tree.plain()["key"]
    assert (found, type(found)) == (value, type(value))


DOUBTFUL = "y N yes No ON off 1:20 1:20:30.5 010 08 0o17 0b11 1_000 .inf -.INF .nan ="


@pytest.mark.parametrize("word", DOUBTFUL.split())
def test_a_word_that_two_versions_of_yaml_read_differently_is_refused(word: str) -> None:
    read = document.of_text(f"a: 1\nkey: {word}\n", "a.yaml")
    assert [str(one) for one in read.faults] == [
        f"a.yaml:2 key: {word} is read differently by YAML 1.1 and 1.2: quote it"
    ]


# Broken and hostile files

HOSTILE = [
    # keys
    ("title: A trial", f"titel: A trial{MARK}", "titel", "is no key here; did you mean title?"),
    ("level: block", f"levle: block{MARK}", "requires[0].levle", "did you mean level?"),
    ("  set:\n", f"  sets:{MARK}\n", "env.sets", "did you mean set?"),
    (
        "summary: >\n  Of every part\n  a little.\n",
        f"colour: blue{MARK}\n",
        "colour",
        "is no key here; known: schema, ",
    ),
    ("title: A trial\n", f"title: A trial\ntitle: Another{MARK}\n", "title", "is there twice"),
    ("    level: block\n", f"    level: block\n    level: warn{MARK}\n", "requires[0].level", "is there twice"),
    # types
    ("title: A trial", f"title: 8{MARK}", "title", "is to be text, not 8: quote it"),
    ("title: A trial", f"title:{MARK}", "title", "is empty: it is to be text"),
    ('    value: "570"', f"    value: {{a: 1}}{MARK}", "requires[0].value", "not a mapping"),
    ("    nodes: 2", f"    nodes: two{MARK}", "expect[0].nodes", "is to be a whole number, not 'two'"),
    ("    nodes: 2", f"    nodes: 2.0{MARK}", "expect[0].nodes", "is to be a whole number, not 2.0"),
    (
        'value: "41"',
        f'value: 41, why: x, source: page}}{MARK}\n    - {{name: NCCL_IB_SL, value: "1"',
        "env.set[0].value",
        "quote it",
    ),
    ("    value: 437.8e9", f"    value: fast{MARK}", "expect[0].value", "is to be a number, not 'fast'"),
    (
        "  accelerators: 8\n",
        f"  accelerators: true{MARK}\n",
        "hardware.accelerators",
        "is to be a whole number, not true",
    ),
    ("notes:\n  - A note.", f"notes: A note.{MARK}", "notes", "is to be a list, not 'A note.'"),
    ("  unset:\n    - {name", f"  unset:{MARK}\n    a: {{name", "env.unset", "is to be a list, not a mapping"),
    # the schema
    ("schema: raxl.recipe/v1", f"schema: raxl.recipe/v2{MARK}", "schema", "a newer raxl may read it"),
    ("schema: raxl.recipe/v1", f"schema: raxl.plan/v1{MARK}", "schema", "is to be raxl.recipe/v1, not 'raxl.plan/v1'"),
    ("schema: raxl.recipe/v1\n", f"kind: recipe{MARK}\n", "schema", "is missing"),
    # YAML that is more than data
    ("title: A trial", f"title: !!python/object/apply:os.system [reboot]{MARK}", "title", "tags are not taken"),
    ("title: A trial", f"title: !include /etc/passwd{MARK}", "title", "tags are not taken: !include"),
    (
        'value: "41"',
        f'value: !!str 41, why: x, source: page}}{MARK}\n    - {{name: NCCL_IB_SL, value: "1"',
        "env.set[0].value",
        "tags",
    ),
    ("title: A trial", f"title: &a A trial{MARK}", "title", "anchors and aliases are not taken"),
    ("title: A trial", f"<<: {{title: A trial}}{MARK}", "", "merge keys are not taken"),
    ("title: A trial", f"? [title]{MARK}\n: A trial", "", "a key is to be a word"),
    ("title: A trial", f"on: A trial{MARK}", "", "the key on is no text to every reader of YAML"),
    ("title: A trial", f"title: A trial: another{MARK}", "", "is no YAML"),
    ("  - A note.", f'  - "A note.{MARK}', "", "is no YAML"),
    ("  - A note.", f"  - [A note.]]{MARK}", "", "is no YAML"),
    ("notes:\n  - A note.", f"notes:\n  - A note.\n---{MARK}\nschema: raxl.recipe/v1", "", "is a second document"),
    ("title: A trial", f"title: A\0trial{MARK}", "", "is no YAML (it holds the character U+0000)"),
    ("ranks: 16", f"ranks: 99999999999999999999{MARK}", "expect[0].ranks", "is too large a number"),
    ("437.8e9", f"1e999{MARK}", "expect[0].value", "is too large a number"),
    # texts
    ("title: A trial", f'title: "A \\u202etrial"{MARK}', "title", "cannot be seen, U+202E"),
    (
        'value: "41"',
        f'value: "4\\n1", why: x, source: page}}{MARK}\n    - {{name: NCCL_IB_SL, value: "1"',
        "env.set[0].value",
        "has a line break",
    ),
    (
        'value: "41"',
        f'value: "4\\0", why: x, source: page}}{MARK}\n    - {{name: NCCL_IB_SL, value: "1"',
        "env.set[0].value",
        "U+0000",
    ),
    ("    raxl/scale-up: nvlink", f'    raxl/scale-up: "a\\tb"{MARK}', "ray.labels['raxl/scale-up']", "U+0009"),
    (
        '    num-gpus: "{gpus}"',
        f'    num-gpus: "{{gpu}}"{MARK}',
        "ray.start.num-gpus",
        "{gpu} is neither a parameter nor a fact; did you mean gpus?",
    ),
    ('    num-gpus: "{gpus}"', f'    num-gpus: "{{gpus"{MARK}', "ray.start.num-gpus", "a brace that stands alone"),
]
"""What is replaced, by what, the key, and some of the words."""


@pytest.mark.parametrize(("old", "new", "key", "words"), HOSTILE)
def test_a_broken_or_hostile_file_is_refused_with_its_line_and_its_key(
    old: str, new: str, key: str, words: str
) -> None:
    text, line = changed(old, new)
    with pytest.raises(RecipeError) as refused:
        load.read_text(text, "trial.yaml")
    where = f"trial.yaml:{line} {key}: " if key else f"trial.yaml:{line}: "
    assert refused.value.what.startswith(where)
    assert words in refused.value.what
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 1


def test_what_is_missing_is_told_where_its_entry_begins() -> None:
    text = WHOLE.replace("    fact: software.nvidia-driver\n", "")
    line = text.splitlines().index("  - id: driver") + 1
    assert faults(text) == [f"trial.yaml:{line} requires[0].fact: is missing"]


def test_an_alias_without_its_anchor_is_refused_like_one_that_has_it() -> None:
    assert faults("schema: raxl.recipe/v1\ntitle: *a\n")[0].startswith("trial.yaml:2 title: anchors and aliases")


def test_all_that_is_wrong_is_told_and_the_first_is_raised() -> None:
    text = WHOLE
    for old, new in (
        ("title: A trial", "titel: A trial"),
        ("op: matches", "op: like"),
        ("link: nvlink-4", "link: nvlink-9"),
        ("level: block", "level: stop"),
        ('{name: nccl, value: "2.29.3", source', "{name: nccl, value: 2.29, source"),
        ("rule: fraction", "rule: halve"),
        ("name: FI_PROVIDER", "name: EDITOR"),
        ("num-gpus:", "num-gpu:"),
        ('"nvidia.*"]', '"nvdia.*"]'),
        ("    date: 2026-02\n", "    date: yesterday\n"),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    told = faults(text)
    assert [one.split(": ")[0].split(" ")[1] for one in told] == [
        "titel",
        "match.all[1].op",
        "hardware.link",
        "requires[0].level",
        "versions[0].value",
        "parameters.half.rule",
        "env.set[1].name",
        "ray.start.num-gpu",
        "diagnose.only[1]",
        "expect[0].date",
    ]
    with pytest.raises(RecipeError, match=r"trial\.yaml:3 titel: .* \(and 9 more\)"):
        load.read_text(text, "trial.yaml")


# Files


def test_a_file_that_cannot_be_read_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"none\.yaml: no such file"):
        load.read(tmp_path / "none.yaml")
    with pytest.raises(UnreadableInput, match="cannot be read"):
        load.read(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    begun = time.monotonic()
    with pytest.raises(UnreadableInput, match="it is no regular file"):
        load.read(tmp_path / "pipe.yaml")
    with pytest.raises(UnreadableInput, match="it is no regular file"):
        load.read(Path("/dev/zero"))
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"schema: raxl.recipe/v1\nname: \xff\n", ":2: is no UTF-8 text"),
        (b"#" * (LARGEST + 1), ": is larger than 256 KiB"),
        (b"", ":1: is no recipe: it is to begin with schema: raxl.recipe/v1"),
        (b"- a\n", ":1: is no recipe"),
        (b"text\n", ":1: is no recipe"),
        ("schema: raxl.recipe/v1\n".encode("utf-16"), ":1: is no UTF-8 text"),
    ],
)
def test_a_file_that_is_no_recipe_at_all_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "a.yaml").write_bytes(content)
    with pytest.raises(RecipeError) as refused:
        load.read(tmp_path / "a.yaml")
    assert refused.value.what.startswith(f"{tmp_path}/a.yaml{told}")


def test_a_recipe_is_called_like_its_file(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(WHOLE)
    with pytest.raises(RecipeError, match=r"other\.yaml:2 name: is to be other, as the file is called, not 'trial'"):
        load.read(tmp_path / "other.yaml")
    (tmp_path / "trial.yaml").write_text(WHOLE)
    assert load.read(tmp_path / "trial.yaml").origin == str(tmp_path / "trial.yaml")


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "trial.yaml").write_text(WHOLE, "utf-8-sig")
    assert load.read(tmp_path / "trial.yaml").recipe.name == "trial"


@pytest.mark.parametrize("name", ["../trial", "/etc/passwd", "trial.yaml/../../x", "no-such-recipe", "", "a" * 400])
def test_a_name_that_is_none_is_refused_and_no_path_is_made_of_it(name: str) -> None:
    with pytest.raises(RaxlError) as refused:
        load.named(name)
    assert len(str(refused.value)) < 600


def test_a_misspelt_name_is_told_the_nearest() -> None:
    with pytest.raises(RecipeError, match=r"no recipe is called cpu-lopback\. Did you mean cpu-loopback\?"):
        load.named("cpu-lopback")


# What takes long

BOMBS = {
    "aliases": "a: &a [x, x]\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(24)),
    "brackets": "a: " + "[" * (LARGEST - 10),
    "braces": "a: " + "{" * (LARGEST - 10),
    "dashes": "- " * (LARGEST // 2 - 10),
    "questions": "? " * (LARGEST // 2 - 10),
    "keys": "".join(f"k{n}: 1\n" for n in range(20_000)),
    "one key": "a: 1\n" * 40_000,
    "digits": "a: " + "9" * 200_000,
    "quotes": 'a: "' + "\\n" * 100_000,
    "comments": "#\n" * 100_000,
    "anchors": "a: &" + "a" * 200_000 + " 1",
    "tags": "a: !" + "a" * 200_000 + " 1",
}


@pytest.mark.parametrize("name", BOMBS)
def test_no_file_takes_long(name: str) -> None:
    begun = time.monotonic()
    found = faults(BOMBS[name])
    assert time.monotonic() - begun < 10
    assert found
    assert all(len(one) < 600 for one in found[:100])


def test_what_is_too_deep_is_refused_where_it_gets_too_deep() -> None:
    deep = "".join(f"{'  ' * level}k:\n" for level in range(DEEPEST + 1))
    assert faults(deep)[0].startswith(f"trial.yaml:{DEEPEST + 1} ")
    assert f"is nested deeper than {DEEPEST}" in faults(deep)[0]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(SHIPPED), st.randoms(use_true_random=False))
@example(SHIPPED[0], random.Random(0))
def test_a_mutated_recipe_is_a_recipe_or_is_refused(path: Path, chance: random.Random) -> None:
    text = path.read_text()
    for _ in range(chance.randint(1, 6)):
        place, length = chance.randrange(len(text) + 1), chance.choice([0, 1, 1, 2, 8, 40, 400])
        pieces = [":", "- ", "{", "}", "[", "]", '"', "'", "&a ", "*a", "!!x ", "|\n", "\n", "  ", "#", "\0", "é", "{{"]
        pieces += ["on", "1:20", "1e9", "~", "null", chance.choice(string.printable), text[place : place + 60]]
        text = text[:place] + chance.choice(pieces) + text[place + length :]
    try:
        shelved = load.read_text(text, "a.yaml", path.parent)
    except RecipeError as error:
        assert error.what.startswith(("a.yaml", str(load.SHIPPED)))
        assert "\n" not in str(error)
    else:
        assert codec.decode(codec.encode(shelved.recipe), Recipe) == shelved.recipe


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["name", "value", "id", "set", "all", "x"]), inner, max_size=4)
        ),
        max_leaves=20,
    ),
    st.sampled_from(sorted(name for name in vars(Recipe("", "", "")))),
)
def test_whatever_stands_at_a_key_it_is_taken_or_refused(value: Any, key: str) -> None:
    told = {**json.loads(codec.encode(load.read_text(WHOLE, "trial.yaml").recipe)), key: value}
    try:
        load.read_text(json.dumps(told, ensure_ascii=True), "trial.yaml")
    except RecipeError as error:
        assert error.what.startswith("trial.yaml:1")


# Written again


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_recipe_written_as_one_file_is_the_same(path: Path) -> None:
    shelved = load.read(path)
    text = document.written(shape.said(shelved.recipe))
    again = load.read_text(text, str(path), path.parent)
    assert (again.recipe, again.sha256) == (shelved.recipe, shelved.sha256)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co")), max_size=12)
    | st.sampled_from(
        ["on", "No", "1:20", "010", "2026-07-13", "1e9", "true", "~", "", "a: b", "- a", "#", "{x}", " a "]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abny-_. :0", max_size=4), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1))
def test_what_is_written_reads_back_as_the_same(value: dict[str, Any]) -> None:
    read = document.of_text(document.written(value), "a.yaml")
    assert read.faults == []
    assert read.tree is not None
    assert read.tree.plain() == value


# The JSON Schema


def test_the_schema_takes_the_shipped_recipes_and_no_key_that_is_not_there() -> None:
    described = jsonschema.Draft202012Validator(json.loads(codec.schema("recipe")))
    for path in SHIPPED:
        described.validate(json.loads(codec.encode(load.read(path).recipe)))
    told = json.loads(codec.encode(load.read_text(WHOLE, "trial.yaml").recipe))
    for broken in ({**told, "titel": "x"}, {**told, "env": {"sets": []}}):
        with pytest.raises(jsonschema.ValidationError, match="Additional properties"):
            described.validate(broken)
