"""What a recipe may say: each rule of its content with the line and the key at which it is broken, and what passes."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raxl.errors import RecipeError
from raxl.model.recipe import Recipe, Source
from raxl.recipe import load, rules
from raxl.recipe.rule import first_day
from recipe_texts import MARK, WHOLE, changed

SET = "    - {name: NCCL_IB_TC, "
GAP = "    date: 2026-02\n"

BROKEN = [
    # itself
    ("name: trial", f"name: ../trial{MARK}", "name", "is to be of a-z, 0-9 and -"),
    ("name: trial", f"name: Trial{MARK}", "name", "is to be of a-z, 0-9 and -"),
    (
        "title: A trial\n",
        f"title: A trial\nmaturity: proven{MARK}\n",
        "maturity",
        "is to be one of documented, observed, val",
    ),
    ("title: A trial", f'title: ""{MARK}', "title", "says nothing"),
    # sources and what cites them
    ("read: 2026-02}", f"read: 2026-02-30}}{MARK}", "source[1].read", "is to be a day like 2026-07-13"),
    (
        'url: "https://example.org/log", read: 2026-02}',
        f'url: "http://example.org/log", read: 2026-02}}{MARK}',
        "source[1].url",
        "https://",
    ),
    (
        "- {id: log,",
        f'- {{id: page, url: "https://example.org/", read: 2026-02}}{MARK}\n  - {{id: log,',
        "source[1].id",
        "page is there twice",
    ),
    (
        "    remedy: install it\n    source: page\n",
        f"    source: pag{MARK}\n",
        "requires[0].source",
        "there is no source 'pag'; did you mean page?",
    ),
    (
        "why: stale, source: page}",
        f"why: stale}}{MARK}",
        "env.unset[0]",
        "cites no source, and does not say in unverified why",
    ),
    (
        'value: "2.29.3", source: page}',
        f"value: null, source: page}}{MARK}",
        "versions[0]",
        "has no value, and does not say in unverified why",
    ),
    (
        "  gpus: {fact: accelerators.count}",
        f"  gpus: {{fact: accelerators.count, expect: 8}}{MARK}",
        "parameters.gpus",
        "cites no source",
    ),
    # conditions
    (
        "op: matches",
        f"op: like, value: a}}{MARK}\n    - {{fact: os.kernel, op: ==",
        "match.all[1].op",
        "is to be one of == != >=",
    ),
    (
        '{fact: placement.instance_type, op: matches, value: "p5*"}',
        f"{{fact: placement.instance, op: present}}{MARK}",
        "match.all[1].fact",
        "'placement.instance' is no fact",
    ),
    (
        'op: matches, value: "p5*"}',
        f'op: matches, value: "{"*a" * 17}"}}{MARK}',
        "match.all[1].value",
        "a glob of at most 200 characters and 16 stars",
    ),
    (
        'op: matches, value: "p5*"}',
        f"op: matches, value: {'a' * 201}}}{MARK}",
        "match.all[1].value",
        "a glob of at most 200",
    ),
    (
        'op: matches, value: "p5*"}\n',
        f"op: ==, value: p5}}\n    - {{fact: placement.instance_type, op: ==, value: p5}}{MARK}\n",
        "match.all[2]",
        "asks placement.instance_type == once more",
    ),
    ('op: matches, value: "p5*"}', f"op: in, value: p5}}{MARK}", "match.all[1].value", "in takes a list"),
    ('op: matches, value: "p5*"}', f"op: present, value: p5}}{MARK}", "match.all[1].value", "present takes none"),
    ('op: matches, value: "p5*"}', f'op: "=="}}{MARK}', "match.all[1].value", "== takes one value"),
    (
        'op: matches, value: "p5*"}',
        f'op: ">=", value: true}}{MARK}',
        "match.all[1].value",
        "takes a number or a version",
    ),
    ("    level: block", f"    level: stop{MARK}", "requires[0].level", "is to be one of block, warn, note"),
    # parameters
    (
        "  gpus: {fact",
        f"  Gpus: {{fact: accelerators.count}}{MARK}\n  gpus: {{fact",
        "parameters.Gpus",
        "is to be called by a-z",
    ),
    (
        "{fact: accelerators.count}\n  half",
        f"{{fact: accelerators.total}}{MARK}\n  half",
        "parameters.gpus.fact",
        "is no fact",
    ),
    (
        "{fact: accelerators.count}\n  half",
        f"{{why: nothing}}{MARK}\n  half",
        "parameters.gpus",
        "is to have a fact or a rule",
    ),
    (
        "rule: fraction",
        f"rule: fractions, options: {{}}}}{MARK}\n  third: {{rule: fraction",
        "parameters.half.rule",
        "did you mean fraction?",
    ),
    (
        "share: 0.5}}",
        f"shares: 0.5, share: 0.5}}}}{MARK}",
        "parameters.half.options.shares",
        "is no option of it; did you mean share?",
    ),
    (
        "options: {of: shm.size_bytes, share",
        f"options: {{share: 0.5}}}}{MARK}\n  third: {{rule: fraction, options: {{of: shm.size_bytes, share",
        "parameters.half.options.of",
        "is missing",
    ),
    (
        "of: shm.size_bytes, share: 0.5}}",
        f"of: shm.size, share: 0.5}}}}{MARK}",
        "parameters.half.options.of",
        "is no fact",
    ),
    # variables
    (
        SET,
        f"    - {{name: EDITOR, value: x, why: z, source: page}}{MARK}\n{SET}",
        "env.set[0].name",
        "'EDITOR' is no variable of accelerators",
    ),
    (
        SET,
        f'    - {{name: "NCCL_X; reboot", value: x, why: z, source: page}}{MARK}\n{SET}',
        "env.set[0].name",
        "is no variable",
    ),
    (
        SET,
        f'    - {{name: "NCCL_X=1 Y", value: x, why: z, source: page}}{MARK}\n{SET}',
        "env.set[0].name",
        "is no variable",
    ),
    (
        "    - {name: FI_PROVIDER",
        f"    - {{name: NCCL_IB_TC, value: x, why: z, source: page}}{MARK}\n    - {{name: FI_PROVIDER",
        "env.set[1].name",
        "NCCL_IB_TC is there twice",
    ),
    ("scope: workers}", f"scope: worker}}{MARK}", "env.set[1].scope", "is to be one of all, head, workers"),
    (
        "value: efa, why: the only one, unverified: nobody says so",
        f"value: null, why: only one, source: page}}{MARK}\n    - {{name: NCCL_ALGO, value: a, why: x, source: page",
        "env.set[1].value",
        "is null, and unverified does not say why",
    ),
    (
        'op: "==", value: simple',
        f'op: absent, why: x, source: page}}{MARK}\n    - {{name: NCCL_ALGO, op: "==", value: simple',
        "env.unset[0].op",
        "is to be one of present == != in matches",
    ),
    # ray start
    (
        '    num-gpus: "{gpus}"',
        f"    num-gpu: 8{MARK}",
        "ray.start.num-gpu",
        "is no flag of ray start; did you mean num-gpus?",
    ),
    ('    num-gpus: "{gpus}"', f'    head: ""{MARK}', "ray.start.head", "is said by who starts Ray"),
    (
        '    num-gpus: "{gpus}"',
        f"    resources: '{{{{}}}}'{MARK}",
        "ray.start.resources",
        "is said of ray.labels and ray.resources",
    ),
    ('    num-gpus: "{gpus}"', f"    num-gpus: eight{MARK}", "ray.start.num-gpus", "is to be a number from 0 on"),
    ('    num-gpus: "{gpus}"', f"    num-gpus: -1{MARK}", "ray.start.num-gpus", "is to be a number from 0 on"),
    (
        '    num-gpus: "{gpus}"',
        f'    disable-usage-stats: "true"{MARK}',
        "ray.start.disable-usage-stats",
        "takes no value",
    ),
    ('    num-gpus: "{gpus}"', f'    node-name: ""{MARK}', "ray.start.node-name", "takes a value"),
    (
        "    raxl/scale-up: nvlink",
        f"    raxl/scale up: nvlink{MARK}",
        "ray.labels['raxl/scale up']",
        "is no name of a label",
    ),
    (
        "    raxl/scale-up: nvlink",
        f"    raxl/scale-up: -nvlink{MARK}",
        "ray.labels['raxl/scale-up']",
        "is no value of a label",
    ),
    (
        "    raxl/scale-up: nvlink",
        f"    raxl/scale-up: {'n' * 64}{MARK}",
        "ray.labels['raxl/scale-up']",
        "is no value of a label",
    ),
    (
        "    raxl/scale-up: nvlink",
        f"    RAXL/scale-up: nvlink{MARK}",
        "ray.labels['RAXL/scale-up']",
        "is no name of a label",
    ),
    ("    slots: 4", f"    GPU: 4{MARK}", "ray.resources.GPU", "has a flag of its own: ray.start.num-gpus"),
    ("    slots: 4", f"    slots: -4{MARK}", "ray.resources.slots", "is to be a number from 0 on"),
    ("    slots: 4", f'    "a b": 4{MARK}', "ray.resources['a b']", "is no name of a resource"),
    # KubeRay
    (
        "    labels: {team: a}",
        f'    labels: {{team: "a b"}}{MARK}',
        "kuberay.patch.labels.team",
        "is no value of a label",
    ),
    (
        "    labels: {team: a}",
        f"    rayStartParams: {{labels: a=b}}{MARK}",
        "kuberay.patch.rayStartParams.labels",
        "refused by the operator from 1.5.0 on",
    ),
    (
        '{nvidia.com/gpu: "{gpus}"}',
        f'{{nvidia.com/gpu: "{{gpu}}"}}}}{MARK}\n          - {{name: other, resources: {{limits: {{a: "1"}}}}',
        "kuberay.patch.template.spec.containers[0].resources.limits['nvidia.com/gpu']",
        "{gpu} is neither",
    ),
    # diagnosis
    (
        'only: ["host.*", "nvidia.*"]',
        f'only: ["host.*", "nvdia.*"]{MARK}',
        "diagnose.only[1]",
        "nvdia.* matches no check",
    ),
    (
        'check: "ib.*"',
        f'check: "ibb.*", why: x}}{MARK}\n    - {{check: "ib.*"',
        "diagnose.skip[0].check",
        "ibb.* matches no check",
    ),
    (
        'expected: {accelerators: "{gpus}"}',
        f"expected: {{accelerator: 8}}{MARK}",
        "diagnose.expected.accelerator",
        "did you mean accelerators?",
    ),
    (
        'expected: {accelerators: "{gpus}"}',
        f"expected: {{accelerators: many}}{MARK}",
        "diagnose.expected.accelerators",
        "is to be 8xH100",
    ),
    (
        'expected: {accelerators: "{gpus}"}',
        f"thresholds: {{ib.symbol-errors: {{most: 1}}}}{MARK}",
        "diagnose.thresholds['ib.symbol-errors']",
        "is no check",
    ),
    # figures
    (
        "collective: all_reduce",
        f"collective: allreduce{MARK}",
        "expect[0].collective",
        "is to be one of p2p, all_reduce",
    ),
    (
        "metric: bus_bandwidth_bytes_per_second",
        f"metric: busbw{MARK}",
        "expect[0].metric",
        "is to be one of bus_bandwidth",
    ),
    ("kind: observed", f"kind: guessed{MARK}", "expect[0].kind", "is to be one of observed, vendor-floor"),
    ("    nodes: 2", f"    nodes: 0{MARK}", "expect[0].nodes", "is to be 1 at least"),
    ("    ranks: 16", f"    ranks: 15{MARK}", "expect[0].ranks", "is to be as many on each of 2 nodes, not 15"),
    ("    value: 437.8e9", f"    value: 0{MARK}", "expect[0].value", "is to be a number above 0"),
    ("    date: 2026-02\n", f"    date: 2026-13{MARK}\n", "expect[0].date", "is to be a month like 2026-07"),
    (GAP, f"{GAP}    fail_below: 0.95{MARK}\n", "expect[0].fail_below", "is above warn_below, 0.9"),
    (GAP, f"{GAP}    warn_below: 1.2{MARK}\n", "expect[0].warn_below", "is to be a share"),
    (
        "    value: 437.8e9",
        f"    value: 751e9{MARK}",
        "expect[0].value",
        "751 GB/s is above what is possible, 495 GB/s",
    ),
    (
        "  link: nvlink-4",
        f"  link: nvlink4{MARK}",
        "hardware.link",
        "is no link that raxl knows; did you mean nvlink-4?",
    ),
    ("  accelerators: 8\n", f"  accelerators: -8{MARK}\n", "hardware.accelerators", "is to be a number from 0 on"),
]
"""What is replaced, by what, the key, and some of the words."""


@pytest.mark.parametrize(("old", "new", "key", "words"), BROKEN)
def test_each_rule_is_told_at_its_line_and_its_key(old: str, new: str, key: str, words: str) -> None:
    text, line = changed(old, new)
    told = [str(one) for one in load.faults(text, "trial.yaml")]
    found = [one for one in told if one.startswith(f"trial.yaml:{line} {key}: ")]
    assert len(found) == 1, told
    assert words in found[0]
    assert not [one for one in told if not one.startswith(f"trial.yaml:{line} ")], "and nothing else is wrong"


def test_a_variable_that_is_set_and_unset_is_refused() -> None:
    text = WHOLE.replace("name: NCCL_PROTO", "name: FI_PROVIDER")
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "value: efa" in one)
    assert [str(one) for one in load.faults(text, "a")] == [f"a:{line} env.set[1].name: FI_PROVIDER is unset too"]


def test_two_requirements_of_one_id_are_refused() -> None:
    text = WHOLE.replace("requires:\n", "requires:\n  - {id: driver, fact: os.kernel, op: present, source: page}\n")
    assert [one.what for one in load.faults(text, "a")] == ["driver is there twice"]


def test_an_own_baseline_has_no_value_and_needs_no_source() -> None:
    text = WHOLE.replace("kind: observed", "kind: own-baseline")
    assert [one.what for one in load.faults(text, "a")] == ["own-baseline has none: the first verify measures it"]
    text = text.replace("    value: 437.8e9\n", "").replace("    source: log\n    date: 2026-02\n", "")
    assert load.faults(text, "a") == []


def test_a_figure_that_is_held_tells_all_without_which_it_compares_with_nothing() -> None:
    text = WHOLE.replace("    size_bytes: 2147483648\n    path: [AWS Libfabric]\n", "")
    (fault,) = load.faults(text, "a")
    assert fault.what == "does not tell size_bytes, path: say in unverified why it compares all the same"
    assert load.faults(text.replace("    source: log\n", "    source: log\n    unverified: a table\n"), "a") == []
    assert load.faults(text.replace("kind: observed", "kind: illustrative"), "a") == []


def test_a_recipe_that_rests_on_nothing_is_refused_unless_it_is_for_any_machine() -> None:
    told = WHOLE
    for cited in ("source: page", "source: log"):
        told = told.replace(cited, "unverified: nobody says so")
    begin, end = told.index("source:\n"), told.index("match:\n")
    told = told[:begin] + told[end:]
    assert [str(one) for one in load.faults(told, "a")] == [
        "a:1 source: is missing: it rests on nothing that anybody could read"
    ]
    assert load.faults(told.replace("match:\n", "match:\n  by_name: true\n"), "a") == []
    assert load.faults(told.replace("title:", "layer: true\ntitle:"), "a") == []


def test_a_recipe_that_is_for_no_node_is_refused() -> None:
    begin, end = WHOLE.index("match:\n"), WHOLE.index("hardware:\n")
    (fault,) = load.faults(WHOLE[:begin] + WHOLE[end:], "a")
    assert fault.what == "is for no node: it has neither all nor by_name"


@pytest.mark.parametrize("value", ["$(reboot)", "`reboot`", "a; reboot", "a && b | c > /etc/passwd", "'\"", "%n$PATH"])
def test_what_a_shell_would_act_on_is_a_value_like_any_other(value: str) -> None:
    recipe = load.read_text(WHOLE.replace('"41"', f"{value!r}" if "'" not in value else '"\'\\""'), "a").recipe
    assert recipe.env.set[0].value == value


def test_a_day_is_as_precise_as_its_page() -> None:
    assert first_day("2026-07-13") == date(2026, 7, 13)
    assert first_day("2026-07") == date(2026, 7, 1)
    assert first_day("2026") == date(2026, 1, 1)
    for text in ("2026-7-1", "2026-02-30", "2026-13", "26", "", "2026-07-13T00:00", "２０２６"):
        assert first_day(text) is None


def aged(*read: str, today: date = date(2026, 11, 30)) -> list[str]:
    recipe = Recipe("raxl.recipe/v1", "a", "A", source=tuple(Source(str(n), "", day) for n, day in enumerate(read)))
    return [f"{one.keys} {one.what}" for one in rules.aged(recipe, today)]


def test_a_recipe_whose_newest_source_is_old_is_to_be_looked_at() -> None:
    assert aged("2026-06-03") == []  # 180 days
    assert aged("2025-01", "2026-06-02", "2024") == [
        "('source', 1, 'read') is the newest source, and was read 181 days ago: look whether it still holds"
    ]
    assert aged("2024-01-01", "2026-11") == []
    assert aged() == []


def test_a_recipe_of_a_saved_plan_is_held_against_the_same_rules() -> None:
    recipe = load.read_text(WHOLE, "trial.yaml").recipe
    assert load.checked(recipe, "plan.json").recipe == recipe
    worse = replace(recipe, env=replace(recipe.env, set=(replace(recipe.env.set[0], value="a\nreboot"),)))
    with pytest.raises(RecipeError, match=r"^plan\.json env\.set\[0\]\.value: has a line break: it is to be one line$"):
        load.checked(worse, "plan.json")


@given(st.text(max_size=30))
def test_no_text_with_a_line_break_or_anything_unseen_passes(text: str) -> None:
    recipe = load.read_text(WHOLE, "trial.yaml").recipe
    worse = replace(recipe, env=replace(recipe.env, set=(replace(recipe.env.set[0], why=text),)))
    wrong = [one for one in rules.wrong(worse) if one.keys == ("env", "set", 0, "why")]
    assert bool(wrong) == (not text or not text.isprintable())
