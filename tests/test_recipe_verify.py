"""`raxl recipe verify` and `raxl diagnose --recipe`: by recordings, and for real on the loopback of this machine."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import recipe_machines
from planning import bare, planned, recipe, sets, shm, unsets
from raxl.bench import run as benches
from raxl.bench.request import Request
from raxl.checks.diagnosis import EVERYTHING, Wanted
from raxl.cli import diagnose, recipe_apply, recipe_verify
from raxl.cli.recipe_verify import Format, Options
from raxl.cli.source import Source
from raxl.cli.streams import Streams
from raxl.collect import assemble, facts, keeping
from raxl.errors import CannotStart, RecipeError, UnreadableInput, UsageError
from raxl.host.record import Recording
from raxl.model import codec
from raxl.model.cluster import RayNode
from raxl.model.facts import Facts, Reading
from raxl.model.policy import Policy
from raxl.model.verification import Report, VerifiedSetting
from raxl.recipe import diagnosing, generations, load, notes, places, rollback
from raxl.recipe.generations import BASELINE_FILE, REPORT_FILE
from raxl.recipe.places import Seen
from raxl.render import text_recipe_report
from raxl.render.text import display_width, to_text
from recipe_roots import listing

LOOPBACK = "cpu-loopback"


def streams() -> tuple[Streams, io.TextIOWrapper, io.StringIO]:
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    told = io.StringIO()
    return Streams(output, told), output, told


def verified(name: str | None = LOOPBACK, **options: Any) -> tuple[int, dict[str, Any]]:
    """The exit code, and the report."""
    options.setdefault("source", Source(questions="checks"))
    own, output, _ = streams()
    code = recipe_verify.run(Options(name=name, format=Format.json, **options), own)
    output.seek(0)
    return code, json.loads(output.read())


def written(folder: Path, recording: Recording) -> Source:
    path = folder / f"{recording.name}.tar.gz"
    path.write_bytes(keeping.packed([recording]))
    return Source((str(path),), questions="checks")


@pytest.fixture
def applied(tmp_path: Path) -> Path:
    """A root in which the loopback recipe is in force for this machine."""
    return apply(tmp_path / "root")


def apply(root: Path, name: str = LOOPBACK) -> Path:
    assert recipe_apply.run(recipe_apply.Options(name, root, yes=True), streams()[0]) == 0
    return root


def edited(root: Path, name: str, old: str, new: str) -> None:
    path = root / "current" / name
    path.write_text(path.read_text().replace(old, new))


# By recordings


def test_recorded_facts_are_checked_and_never_measured(tmp_path: Path) -> None:
    code, found = verified(source=written(tmp_path, bare()))
    assert (found["schema"], found["in_force"]) == ("raxl.report/v1", None)
    assert [one["name"] for one in found["nodes"]] == ["store-2"]
    figure = figure_of(found)
    assert (figure["status"], figure["measured"]) == ("skip", None)
    assert figure["message"] == "it was not measured: recorded facts run no benchmark"
    assert "whether the recipe's files are in force: a recording does not say" in found["not_verified"]
    assert (code, found["status"]) == ({"ok": 0, "incomplete": 3}[found["status"]], found["status"])


def test_what_the_recipe_leaves_out_is_listed_with_its_reason(tmp_path: Path) -> None:
    _, found = verified(source=written(tmp_path, bare()))
    (left_out,) = found["left_out"]
    assert left_out["why"] == "the recipe looks at host.*, ray.* and env.* alone"
    assert {"ib.rate", "nvidia.count"} <= set(left_out["checks"])
    assert not any(name.startswith(("host.", "ray.", "env.")) for name in left_out["checks"])
    told = [one for one in found["findings"] if one["status"] == "skip"]
    assert all(one["message"] for one in told)
    assert found["summary"]["skip"] == len(told) + len(left_out["checks"])


def test_a_requirement_that_blocks_and_is_not_met_fails(tmp_path: Path) -> None:
    code, found = verified(source=written(tmp_path, bare(shm(64 << 20))))
    assert (code, found["status"]) == (1, "failed")
    assert "shm is not met: shm.size_bytes >= 268435456, and it is 67108864" in found["wrong"]


def test_a_requirement_that_cannot_be_read_is_incomplete(tmp_path: Path) -> None:
    code, found = verified(source=written(tmp_path, bare("process filesystems !denied")))
    assert (code, found["status"], found["wrong"]) == (3, "incomplete", [])
    assert any(one.startswith("shm (shm.size_bytes >= 268435456) could not be read") for one in found["not_verified"])


OTHER = """\
schema: raxl.recipe/v1
name: other
title: Eight accelerators
source: [{id: page, url: "https://example.com/page", read: "2026-11-01"}]
match: {all: [{fact: accelerators.count, op: ">=", value: 8}]}
"""


def test_a_recipe_for_other_hardware_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(OTHER)
    with pytest.raises(RecipeError, match="other is for other hardware"):
        verified(str(path), source=written(tmp_path, bare()))


def test_without_a_name_the_recipe_that_fits_is_verified(tmp_path: Path) -> None:
    assert verified(None, source=written(tmp_path, bare()))[1]["recipe"]["name"] == LOOPBACK


@pytest.mark.parametrize("name", sorted(recipe_machines.MACHINES))
def test_every_recipe_s_machine_has_a_report_that_fits(name: str, tmp_path: Path) -> None:
    """Nothing is known to be wrong there; nothing is measured; what is told is told within the page."""
    code, found = verified(name, source=written(tmp_path, recipe_machines.recording(name)))
    assert (code, found["wrong"]) in ((0, []), (3, []))
    assert {one["status"] for one in found["figures"]} <= {"skip"}
    assert all(one["message"] for one in found["figures"])
    jsonschema.validate(found, json.loads(codec.schema("report")))
    document = codec.decode(json.dumps(found), Report)
    for width in (80, 120, 200):
        lines = to_text(text_recipe_report.report(document, width)).splitlines()
        assert max(map(display_width, lines)) <= width


# What is in force


def test_what_is_applied_is_told_with_each_setting_s_file(applied: Path) -> None:
    code, found = verified(None, root=applied, no_bench=True)
    assert found["in_force"]["recipe"] == LOOPBACK
    settings = {one["name"]: one for one in found["nodes"][0]["settings"]}
    gloo = settings["GLOO_SOCKET_IFNAME"]
    assert (gloo["value"], gloo["origin"]) == ("lo", "recipe")
    assert {"where": "cpu-loopback.env", "value": "lo", "status": "same", "is_applied": True} in gloo["places"]
    assert settings["num-gpus"]["places"][0]["where"] == "ray-start.args"
    assert settings["raxl/scale-up"]["places"][0] == {
        "where": "labels.yaml",
        "value": "none",
        "status": "same",
        "is_applied": True,
    }
    assert found["figures"][0]["message"] == "it was not measured: --no-bench"
    assert code in (0, 1, 3)  # the machine of the tests may have faults of its own
    assert json.loads((applied / "current" / REPORT_FILE).read_text()) == found
    assert not (applied / "current" / BASELINE_FILE).exists()


def test_without_an_applied_recipe_its_settings_are_not_verified(tmp_path: Path) -> None:
    code, found = verified(root=tmp_path / "none", no_bench=True)
    assert found["in_force"] is None
    assert found["not_verified"][0] == f"whether the recipe's settings hold: nothing is applied below {tmp_path}/none"
    assert found["next_steps"][0] == "raxl recipe apply cpu-loopback"
    assert code in (1, 3)


def test_a_file_that_was_edited_fails_and_the_way_back_is_told(applied: Path) -> None:
    edited(applied, "cpu-loopback.env", "GLOO_SOCKET_IFNAME=lo", "GLOO_SOCKET_IFNAME=eth7")
    code, found = verified(root=applied, no_bench=True)
    assert (code, found["status"]) == (1, "failed")
    assert "GLOO_SOCKET_IFNAME is to be lo, and cpu-loopback.env has eth7" in found["wrong"]
    assert "cpu-loopback.env was changed by hand since it was applied" in found["wrong"]
    assert f"raxl recipe rollback --root {applied}" in found["next_steps"]
    assert (applied / "current" / "cpu-loopback.env").read_text().count("eth7") == 1


def test_a_root_with_another_recipe_in_force_is_refused(applied: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OTHER.replace("other", "mine").replace("match: {", "match: {by_name: true, "))
    with pytest.raises(RecipeError, match="cpu-loopback in force"):
        verified(str(path), root=applied, no_bench=True)


def test_a_report_and_a_baseline_do_not_stand_in_the_way_and_go_with_the_rollback(tmp_path: Path) -> None:
    before = listing(tmp_path)
    root = apply(tmp_path / "root")
    verified(root=root, no_bench=True)
    state = generations.state(root)
    notes.keep(state, {BASELINE_FILE: "{}"})
    assert generations.state(root) == state
    assert state.edited == ()
    apply(root)
    assert {REPORT_FILE, BASELINE_FILE} <= {one.name for one in (root / "current").iterdir()}
    rollback.rolled_back(generations.state(root))
    assert listing(tmp_path) == before


def test_notes_of_what_is_no_longer_in_force_are_not_kept(applied: Path) -> None:
    state = generations.state(applied)
    rollback.rolled_back(state)
    with pytest.raises((RecipeError, CannotStart)):
        notes.keep(state, {REPORT_FILE: "{}"})
    assert not applied.exists()


def test_a_note_is_written_through_no_link(applied: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("mine")
    (applied / "current" / REPORT_FILE).symlink_to(target)
    notes.keep(generations.state(applied), {REPORT_FILE: "{}"})
    assert (target.read_text(), (applied / "current" / REPORT_FILE).is_symlink()) == ("mine", False)


def test_a_damaged_baseline_is_told_before_anything_is_measured(applied: Path) -> None:
    (applied / "current" / BASELINE_FILE).write_text('{"schema": "raxl.baseline/v9"}')
    with pytest.raises(UnreadableInput, match=r"baseline\.json"):
        verified(root=applied)


# Where settings are made


def seen(environment: Mapping[str, str] | None, raylet: Mapping[str, str] | None = None, **more: Any) -> Seen:
    """A node whose asking process, and whose raylet, have these variables."""
    own = facts.of(bare(), assemble.inventory([bare()]).nodes[0])
    told = Reading(environment, "environment") if environment is not None else own.environment
    raylets = () if raylet is None else ({"pid": 7, "environment": raylet},)
    kept: Facts = replace(own, environment=told, processes={"raylets": Reading(raylets, "/proc")})
    return Seen(more.pop("contents", None), kept, **more)


def setting(shelved: Any, name: str, given: Seen) -> VerifiedSetting:
    (found,) = [one for one in places.settings(planned(bare(), shelved), given) if one.name == name]
    return found


def status(shelved: Any, name: str, given: Seen) -> tuple[str, list[tuple[str, str | None, str]]]:
    found = setting(shelved, name, given)
    return found.status, [(one.where, one.value, one.status) for one in found.places]


def test_a_raylet_that_was_started_without_the_file_is_told() -> None:
    one = recipe(env={"set": [sets("NCCL_ALGO", "Ring")]})
    file = {"trial.env": "export NCCL_ALGO=Ring\n"}
    raylet = "/proc/7/environ (raylet)"
    assert status(one, "NCCL_ALGO", seen({}, {}, contents=file)) == (
        "missing",
        [("trial.env", "Ring", "same"), (raylet, None, "missing")],
    )
    assert status(one, "NCCL_ALGO", seen({}, {"NCCL_ALGO": "Tree"}, contents=file))[0] == "differs"
    assert status(one, "NCCL_ALGO", seen({}, {"NCCL_ALGO": "Ring"}, contents=file))[0] == "same"
    # The shell of `raxl recipe verify` need not have sourced it.
    assert status(one, "NCCL_ALGO", seen({}, contents=file)) == ("same", [("trial.env", "Ring", "same")])
    assert status(one, "NCCL_ALGO", seen({"NCCL_ALGO": "Tree"}))[0] == "differs"
    assert status(one, "NCCL_ALGO", seen({})) == ("unknown", [])


def test_of_several_raylets_a_cluster_s_is_the_one_whose_child_asked() -> None:
    one = recipe(env={"set": [sets("NCCL_ALGO", "Ring")]})
    given = seen({"NCCL_ALGO": "Ring"}, {}, ray=RayNode("1", "alive"))
    others = ({"pid": 7, "environment": {}}, {"pid": 8, "environment": {}})
    several = replace(given.facts, processes={"raylets": Reading(others, "/proc")})
    assert status(one, "NCCL_ALGO", given._replace(facts=several)) == (
        "same",
        [("environment (raylet)", "Ring", "same")],
    )
    lacking = replace(several, environment=Reading({}, "environment"))
    assert status(one, "NCCL_ALGO", given._replace(facts=lacking))[0] == "missing"


def test_a_stale_variable_is_told_where_it_is_still_set() -> None:
    one = recipe(env={"unset": [unsets("NCCL_PROTO", op="==", value="simple")]})
    file = {"trial.env": "case \"${NCCL_PROTO-}\" in ('simple') unset NCCL_PROTO ;; esac\n"}
    assert status(one, "NCCL_PROTO", seen({}, {"NCCL_PROTO": "simple"}, contents=file))[0] == "differs"
    assert status(one, "NCCL_PROTO", seen({}, {"NCCL_PROTO": "LL128"}, contents=file))[0] == "same"
    assert status(one, "NCCL_PROTO", seen({}, {}, contents=file))[0] == "same"
    assert status(one, "NCCL_PROTO", seen({}, contents={"trial.env": ""}))[0] == "missing"


def test_what_ray_registered_and_was_labelled_is_told() -> None:
    one = recipe(ray={"start": {"num-gpus": 0, "num-cpus": 8}, "labels": {"raxl/x": "a"}, "resources": {"LPU": 4}})
    node = RayNode("1", "alive", resources={"CPU": 4.0, "LPU": 4.0}, labels={"raxl/x": "b"})
    given = seen({}, ray=node)
    assert status(one, "num-gpus", given) == ("same", [("Ray's resources", "0", "same")])
    assert status(one, "num-cpus", given) == ("differs", [("Ray's resources", "4", "differs")])
    assert status(one, "LPU", given)[0] == "same"
    assert status(one, "raxl/x", given) == ("differs", [("Ray's labels", "b", "differs")])


def test_what_is_for_the_head_is_not_missed_on_workers() -> None:
    one = recipe(env={"set": [sets("NCCL_ALGO", "Ring", scope="head")]})
    for is_head, expected in ((True, "missing"), (False, "unknown")):
        assert status(one, "NCCL_ALGO", seen({}, {}, ray=RayNode("1", "alive", is_head=is_head)))[0] == expected


# By a recipe that is not applied


def by_recipe(path: str, name: str = LOOPBACK, **options: Any) -> tuple[int, str]:
    own, output, _ = streams()
    code = diagnose.run(diagnose.Options(Source((path,), questions="checks"), recipe=name, **options), own)
    output.seek(0)
    return code, output.read()


def test_diagnose_looks_as_the_recipe_does_and_says_so(tmp_path: Path) -> None:
    (path,) = written(tmp_path, bare()).paths
    _, text = by_recipe(path)
    assert text.startswith("store-2  by recipe cpu-loopback · standard · ")
    _, told = by_recipe(path, format=diagnose.Format.json)
    found = json.loads(told)
    assert found["recipe"] == LOOPBACK
    asked = {one["check"] for one in found["findings"] if one["message"] != LEFT_OUT}
    assert all(name.startswith(("host.", "ray.", "env.")) for name in asked)
    assert "ib.rate" in {one["check"] for one in found["findings"] if one["message"] == LEFT_OUT}


LEFT_OUT = "the recipe looks at host.*, ray.* and env.* alone"


def test_the_command_line_narrows_what_the_recipe_looks_at(tmp_path: Path) -> None:
    (path,) = written(tmp_path, bare()).paths
    _, told = by_recipe(path, only=("host.shm", "host.nofile"), skip=("host.nofile",), format=diagnose.Format.json)
    assert {one["check"] for one in json.loads(told)["findings"]} == {"host.shm"}
    with pytest.raises(RecipeError, match="leaves out every check"):
        by_recipe(path, only=("ib.*",))
    with pytest.raises(UsageError, match="matches no check"):
        by_recipe(path, only=("no.such",))


def test_expectations_and_thresholds_are_the_recipe_s_and_the_policy_s_word_comes_first() -> None:
    one = recipe(
        diagnose={
            "expected": {"accelerators": "8", "nics": "{accelerators.count}"},
            "thresholds": {"host.memlock": {"fail_bytes": 1.0, "warn_bytes": 2.0}},
            "skip": [{"check": "ib.*", "why": "no verbs"}],
        }
    )
    given = EVERYTHING._replace(policy=Policy({"host.memlock": {"fail_bytes": 9.0}}, {"accelerators": 4}))
    expected, unsaid = diagnosing.expected(one.recipe, {"a": lambda text: "0"})
    assert (expected, unsaid) == ({"accelerators": 8, "nics": 0}, {})
    wanted = diagnosing.wanted(one.recipe, given, expected)
    assert wanted.policy.expected == {"accelerators": 4, "nics": 0}
    assert wanted.policy.thresholds == {"host.memlock": {"fail_bytes": 9.0, "warn_bytes": 2.0}}
    assert wanted.left_out["ib.rate"] == "no verbs"
    assert "ib.rate" not in wanted.only
    assert "host.shm" in wanted.only


def test_what_nodes_say_differently_or_not_at_all_is_not_expected() -> None:
    one = recipe(diagnose={"expected": {"nics": "{n}"}})
    differing = diagnosing.expected(one.recipe, {"a": lambda text: "4", "b": lambda text: "8"})
    assert differing == ({}, {"nics": "the nodes give 4 and 8"})
    unknown = diagnosing.expected(one.recipe, {"a": lambda text: None})
    assert unknown == ({}, {"nics": "{n} is not known on a"})


def test_a_recipe_that_names_no_check_is_refused() -> None:
    one = recipe(diagnose={"only": ["no.such.*"]})
    with pytest.raises(RecipeError, match=r"diagnose\.only no\.such\.\* matches no check"):
        diagnosing.wanted(one.recipe, Wanted(), {})


def test_a_node_that_the_recipe_is_not_for_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(OTHER)
    (path,) = written(tmp_path, bare()).paths
    with pytest.raises(RecipeError, match="for other hardware"):
        by_recipe(path, str(tmp_path / "other.yaml"))


# For real: Ray, two of its processes, and the loopback


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return apply(tmp_path_factory.mktemp("recipe") / "root")


@pytest.fixture(scope="module")
def first(root: Path) -> dict[str, Any]:
    return verified(root=root, budget=8.0)[1]


def figure_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """That of sockets; NIXL's is there where it is installed."""
    return dict(next(one for one in found["figures"] if one["id"] == "tcp-lo"))


def test_the_first_verification_measures_the_baseline(root: Path, first: dict[str, Any]) -> None:
    figure = figure_of(first)
    assert (figure["status"], figure["expected"]) == ("baseline", None)
    assert figure["measured"] > 1e6
    assert figure["ci95_low"] <= figure["measured"] <= figure["ci95_high"]
    assert figure["path"] == "lo"
    assert figure["verified_bytes"] is True
    kept = json.loads((root / "current" / BASELINE_FILE).read_text())
    assert figure_of(kept)["value"] == figure["measured"]


def test_later_ones_are_held_against_it_and_fail_far_below(root: Path, first: dict[str, Any]) -> None:
    path = root / "current" / BASELINE_FILE
    before = path.read_text()
    kept = json.loads(before)
    place = [one["id"] for one in kept["figures"]].index("tcp-lo")
    kept["figures"][place]["value"] *= 1000
    path.write_text(json.dumps(kept))
    code, found = verified(root=root, budget=8.0)
    figure = figure_of(found)
    assert (code, found["status"], figure["status"]) == (1, "failed", "fail")
    assert figure["expected"] == kept["figures"][place]["value"]
    assert figure["ratio"] < 0.01
    assert f"raxl recipe rollback --root {root}" in found["next_steps"]
    assert (root / "current" / "cpu-loopback.env").exists()
    # A slow figure is no new baseline.
    assert json.loads(path.read_text()) == kept
    kept["figures"][place]["value"] = figure_of(first)["measured"] / 1000
    path.write_text(json.dumps(kept))
    figure = figure_of(verified(root=root, budget=8.0)[1])
    assert figure["status"] in ("ok", "warn")  # the machine of the tests may be busy
    assert figure["ratio"] > 1


def test_a_good_number_by_another_way_fails_and_is_no_baseline(tmp_path: Path) -> None:
    text = (load.SHIPPED / "cpu-loopback.yaml").read_text().replace("path: [lo]", "path: [eth7]")
    path = tmp_path / "elsewhere.yaml"
    path.write_text(text.replace("name: cpu-loopback", "name: elsewhere"))
    root = apply(tmp_path / "root", str(path))
    code, found = verified(str(path), root=root, budget=8.0)
    figure = figure_of(found)
    assert (code, figure["status"]) == (1, "fail")
    assert figure["message"] == "it went by lo, and the figure is one of eth7: the number says nothing"
    assert not (root / "current" / BASELINE_FILE).exists()
    with pytest.raises(RecipeError, match="elsewhere is in force, and no recipe of raxl's is called so"):
        verified(None, root=root, no_bench=True)


def test_the_ends_run_with_the_variables_that_are_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_PROTO", "simple")
    monkeypatch.setenv("UCX_TLS", "tcp")
    request = Request(
        transports=("tcp",), sizes=(8,), budget_seconds=1.0, variables={"UCX_TLS": "sm,self"}, unset=("NCCL_PROTO",)
    )
    (node,) = benches.bench(request).environment["nodes"].values()
    assert node["variables"]["UCX_TLS"] == "sm,self"
    assert "NCCL_PROTO" not in node["variables"]
