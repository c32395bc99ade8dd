"""A recipe and what it extends: joined exactly, from where it says, and never without end."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from raxl.errors import RecipeError
from raxl.model import codec
from raxl.model.recipe import Recipe, Shelved
from raxl.recipe import load
from raxl.recipe.layers import DEEPEST

HEAD = {"schema": "raxl.recipe/v1", "title": "A title"}
BY = {"unverified": "a trial"}
PAGE = {"id": "page", "url": "https://example.org/page", "read": "2026-07-13"}
LOG = {"id": "log", "url": "https://example.org/log", "read": "2026-02-01"}


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    (tmp_path / "layers").mkdir()
    return tmp_path


def write(shelf: Path, name: str, /, **parts: Any) -> Path:
    """A recipe, or a layer where its name says so; JSON is YAML."""
    path = shelf / f"{name}.yaml"
    layer = {"layer": True} if "/" in name else {}
    path.write_text(json.dumps({**HEAD, "name": path.stem, **layer, **parts}, indent=1))
    return path


def extended(shelf: Path, parent: dict[str, Any], **child: Any) -> Shelved:
    """The recipe that extends a layer."""
    write(shelf, "layers/base", **parent)
    child.setdefault("match", {"by_name": True})
    return load.read(write(shelf, "child", extends="base", **child))


def variable(name: str, value: str = "1", **more: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "why": "a trial", **BY, **more}


def test_lists_are_appended_the_parents_first_and_what_both_say_is_said_once(shelf: Path) -> None:
    condition = {"fact": "os.architecture", "op": "==", "value": "aarch64"}
    count = {"fact": "accelerators.count", "op": "==", "value": 4}
    parent = {
        "source": [PAGE],
        "match": {"all": [condition]},
        "notes": ["first", "both"],
        "diagnose": {"only": ["host.*"], "skip": [{"check": "ib.*", "why": "no"}]},
    }
    recipe = extended(
        shelf,
        parent,
        source=[LOG, PAGE],
        match={"all": [count]},
        notes=["both", "last"],
        diagnose={"only": ["nvidia.*"], "skip": [{"check": "roce.*", "why": "no"}]},
    ).recipe
    assert [one.id for one in recipe.source] == ["page", "log"]
    assert [one.fact for one in recipe.match.all] == ["os.architecture", "accelerators.count"]
    assert recipe.notes == ("first", "both", "last")
    assert recipe.diagnose.only == ("host.*", "nvidia.*")
    assert [one.check for one in recipe.diagnose.skip] == ["ib.*", "roce.*"]
    assert recipe.match.by_name is False


def test_an_entry_of_the_child_takes_the_place_of_the_parents_of_that_name(shelf: Path) -> None:
    def required(name: str, value: int) -> dict[str, Any]:
        return {"id": name, "fact": "accelerators.count", "op": ">=", "value": value, **BY}

    def expected(name: str, nodes: int) -> dict[str, Any]:
        return {
            "id": name,
            "collective": "p2p",
            "nodes": nodes,
            "ranks": 2,
            "metric": "latency_seconds",
            "kind": "own-baseline",
        }

    parent = {
        "requires": [required("a", 1), required("b", 1), required("c", 1)],
        "versions": [{"name": "nccl", "value": "1", **BY}, {"name": "cuda", "value": "1", **BY}],
        "env": {"set": [variable("NCCL_ALGO", "Ring", scope="head"), variable("NCCL_PROTO")]},
        "parameters": {"one": {"fact": "numa.count", "why": "old"}, "two": {"fact": "numa.count"}},
        "expect": [expected("x", 1), expected("y", 1)],
    }
    recipe = extended(
        shelf,
        parent,
        requires=[required("d", 2), required("b", 2)],
        versions=[{"name": "nccl", "value": "2", **BY}],
        env={"set": [variable("NCCL_IB_TC"), variable("NCCL_ALGO", "Tree")]},
        parameters={"one": {"fact": "cpu.cores"}},
        expect=[expected("y", 2)],
    ).recipe
    assert [(one.id, one.value) for one in recipe.requires] == [("a", 1), ("b", 2), ("c", 1), ("d", 2)]
    assert [(one.name, one.value) for one in recipe.versions] == [("nccl", "2"), ("cuda", "1")]
    set_ = [(one.name, one.value, one.scope) for one in recipe.env.set]
    assert set_ == [("NCCL_ALGO", "Tree", "all"), ("NCCL_PROTO", "1", "all"), ("NCCL_IB_TC", "1", "all")]
    assert {name: (one.fact, one.why) for name, one in recipe.parameters.items()} == {
        "one": ("cpu.cores", ""),
        "two": ("numa.count", ""),
    }
    assert [(one.id, one.nodes) for one in recipe.expect] == [("x", 1), ("y", 2)]


def test_what_the_child_unsets_is_not_set_and_the_other_way_round(shelf: Path) -> None:
    gone = {"name": "NCCL_PROTO", "why": "stale", **BY}
    parent = {"env": {"set": [variable("NCCL_ALGO"), variable("NCCL_IB_TC")], "unset": [gone]}}
    child = {"set": [variable("NCCL_PROTO", "Simple")], "unset": [{**gone, "name": "NCCL_ALGO"}]}
    env = extended(shelf, parent, env=child).recipe.env
    assert [one.name for one in env.set] == ["NCCL_IB_TC", "NCCL_PROTO"]
    assert [one.name for one in env.unset] == ["NCCL_ALGO"]


def test_mappings_are_joined_by_key_and_scalars_are_the_childs_where_it_says_one(shelf: Path) -> None:
    parent = {
        "summary": "of the parent",
        "maturity": "validated",
        "hardware": {"accelerators": 8, "link": "nvlink-4", "nics": 8},
        "ray": {"start": {"num-gpus": 8, "port": 6379}, "labels": {"a": "1", "b": "1"}, "resources": {"x": 1}},
        "diagnose": {"expected": {"nics": 8, "accelerators": 8}},
        "kuberay": {"resource": "nvidia.com/gpu", "chips_per_host": 4},
    }
    recipe = extended(
        shelf,
        parent,
        hardware={"link": "nvlink-5"},
        ray={"start": {"num-gpus": 4}, "labels": {"b": "2"}, "resources": {"y": 2}},
        diagnose={"expected": {"accelerators": 4}},
        kuberay={"chips_per_host": 8},
    ).recipe
    assert (recipe.summary, recipe.maturity, recipe.title, recipe.layer) == (
        "of the parent",
        "documented",
        "A title",
        False,
    )
    assert (recipe.hardware.accelerators, recipe.hardware.link, recipe.hardware.nics) == (8, "nvlink-5", 8)
    assert recipe.ray.start == {"num-gpus": 4, "port": 6379}
    assert recipe.ray.labels == {"a": "1", "b": "2"}
    assert recipe.ray.resources == {"x": 1, "y": 2}
    assert recipe.diagnose.expected == {"nics": 8, "accelerators": 4}
    assert (recipe.kuberay.resource, recipe.kuberay.chips_per_host) == ("nvidia.com/gpu", 8)


def test_a_patch_is_joined_deeply_and_containers_by_their_names(shelf: Path) -> None:
    def patch(containers: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        return {"patch": {"template": {"spec": {"containers": containers, **more}}}}

    parent = patch(
        [{"name": "ray-worker", "resources": {"limits": {"a": "1", "b": "1"}}}, {"name": "other"}],
        tolerations=[{"key": "x"}],
        nodeSelector={"a": "1"},
    )
    child = patch(
        [{"name": "ray-worker", "resources": {"limits": {"b": "2"}}}, {"name": "new"}],
        tolerations=[{"key": "y"}],
        nodeSelector={"b": "1"},
    )
    spec = extended(shelf, {"kuberay": parent}, kuberay=child).recipe.kuberay.patch["template"]["spec"]
    assert spec == {
        "containers": [
            {"name": "ray-worker", "resources": {"limits": {"a": "1", "b": "2"}}},
            {"name": "other"},
            {"name": "new"},
        ],
        "tolerations": [{"key": "y"}],
        "nodeSelector": {"a": "1", "b": "1"},
    }


def test_a_joined_recipe_extends_nothing_and_stays_the_same(shelf: Path) -> None:
    joined = extended(shelf, {"notes": ["a"], "env": {"set": [variable("NCCL_ALGO")]}}, notes=["b"])
    assert joined.recipe.extends is None
    again = codec.decode(codec.encode(joined.recipe), Recipe)
    assert load.checked(again, "plan.json").sha256 == joined.sha256


def test_the_hash_is_of_all_but_maturity_and_reports(shelf: Path) -> None:
    plain = extended(shelf, {"notes": ["a"]})
    report = {"file": "a.json", "sha256": "0" * 64, "device": "x", "date": "2026-07-13"}
    assert extended(shelf, {"notes": ["a"]}, maturity="observed", reports=[report]).sha256 == plain.sha256
    assert extended(shelf, {"notes": ["a", "b"]}).sha256 != plain.sha256
    assert extended(shelf, {}, notes=["a"]).sha256 == plain.sha256, "however it is layered"


def test_a_fault_in_a_layer_is_told_at_the_layers_own_line(shelf: Path) -> None:
    with pytest.raises(RecipeError) as refused:
        extended(shelf, {"env": {"set": [variable("EDITOR")]}})
    layer = shelf / "layers" / "base.yaml"
    line = next(n for n, one in enumerate(layer.read_text().splitlines(), 1) if "EDITOR" in one)
    assert refused.value.what.startswith(f"{layer}:{line} env.set[0].name: 'EDITOR' is no variable")


def test_a_source_that_two_layers_tell_differently_is_refused(shelf: Path) -> None:
    with pytest.raises(RecipeError, match=r"source\[1\]\.id: page is there twice"):
        extended(shelf, {"source": [PAGE]}, source=[{**PAGE, "read": "2026-01-01"}])


def test_layers_are_looked_for_beside_the_recipe_then_among_raxls_own(shelf: Path) -> None:
    write(shelf, "base", notes=["the recipe beside"], match={"by_name": True})
    assert load.read(write(shelf, "child", extends="base", match={"by_name": True})).recipe.notes == (
        "the recipe beside",
    )
    write(shelf, "layers/base", notes=["the layer"])
    assert load.read(shelf / "child.yaml").recipe.notes == ("the layer",)
    path = write(shelf, "own", extends="cpu-loopback")
    assert load.read(path).recipe.env == load.named("cpu-loopback").recipe.env
    text = path.read_text()
    assert load.read_text(text, "fetched").recipe == load.read(path).recipe


def test_a_layer_extends_what_lies_beside_it(shelf: Path) -> None:
    write(shelf, "layers/one", notes=["one"])
    write(shelf, "layers/two", notes=["two"], extends="one")
    assert load.read(write(shelf, "child", extends="two", match={"by_name": True}, notes=["child"])).recipe.notes == (
        "one",
        "two",
        "child",
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", "no recipe or layer is called missing beside it or among raxl's own"),
        ("../../etc/passwd", "is to be the name of a recipe or layer, not '../../etc/passwd'"),
        ("/etc/passwd", "is to be the name"),
        ("a.yaml", "is to be the name"),
        ("", "is to be the name"),
        ("child", "child extends itself"),
    ],
)
def test_what_cannot_be_extended_is_refused_at_its_line(shelf: Path, name: str, words: str) -> None:
    path = write(shelf, "child", extends=name, match={"by_name": True})
    with pytest.raises(RecipeError) as refused:
        load.read(path)
    assert refused.value.what.startswith(f"{path}:5 extends: ")
    assert words in refused.value.what


def test_no_circle_is_followed(shelf: Path) -> None:
    write(shelf, "layers/one", extends="two")
    write(shelf, "layers/two", extends="one")
    with pytest.raises(RecipeError, match="extends: one extends itself"):
        load.read(write(shelf, "child", extends="one", match={"by_name": True}))


def test_a_chain_has_an_end(shelf: Path) -> None:
    for level in range(DEEPEST + 1):
        write(shelf, f"layers/l{level}", **({"extends": f"l{level + 1}"} if level < DEEPEST else {}))
    with pytest.raises(RecipeError, match=f"extends: is the end of a chain of more than {DEEPEST}"):
        load.read(write(shelf, "child", extends="l0", match={"by_name": True}))
    assert load.read(write(shelf, "child", extends="l2", match={"by_name": True}))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"layer": False}, "layer: is to be true: it lies in layers"),
        ({"name": "other"}, "name: is to be base"),
        ({"schema": "raxl.recipe/v2"}, "schema: is to be raxl.recipe/v1"),
    ],
)
def test_a_layer_that_is_none_is_refused_in_its_own_file(shelf: Path, parts: dict[str, Any], words: str) -> None:
    with pytest.raises(RecipeError) as refused:
        extended(shelf, parts)
    assert refused.value.what.startswith(f"{shelf / 'layers' / 'base.yaml'}:")
    assert words in refused.value.what


def test_a_layer_that_is_no_yaml_is_told_by_its_own_name(shelf: Path) -> None:
    (shelf / "layers" / "base.yaml").write_text("a: [\n")
    with pytest.raises(RecipeError, match=r"layers/base\.yaml:2: is no YAML"):
        load.read(write(shelf, "child", extends="base", match={"by_name": True}))


@pytest.mark.parametrize("changed", ["child", "layers/base"])
def test_a_file_that_is_not_that_of_the_sum_beside_it_is_refused_with_both(shelf: Path, changed: str) -> None:
    extended(shelf, {"env": {"set": [variable("NCCL_DEBUG", "INFO")]}})
    path = shelf / f"{changed}.yaml"
    was = hashlib.sha256(path.read_bytes()).hexdigest()
    (path.parent / f"{path.name}.sha256").write_text(f"{was}  {path.name}\n")
    load.read(shelf / "child.yaml")
    path.write_bytes(path.read_bytes() + b" ")
    now = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(RecipeError, match=f"{path.name} ?: was changed: expected {was}, got {now}"):
        load.read(shelf / "child.yaml")
