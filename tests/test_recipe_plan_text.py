"""`raxl recipe plan` as an operator reads it, and as a program does."""

from __future__ import annotations

import io
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kept
import recordings
from diagnosing import variant
from planning import BY, ROOT, bare, planned, recipe, sets, shm, unsets
from raxl.cli import outcome, recipe_plan
from raxl.cli.app import app
from raxl.cli.recipe_plan import Format, Options
from raxl.cli.source import Source
from raxl.cli.streams import Streams
from raxl.collect import keeping
from raxl.errors import RecipeError
from raxl.host.record import Recording
from raxl.model.codec import decode, encode
from raxl.model.plan import MET, PLAN, UNMET, Candidate, Plan, PlanDocument, Refusal
from raxl.recipe import apply, generations, load, plan, saved
from raxl.render import text_recipe_plan
from raxl.render.text import Line, display_width, to_text

HEALTHY = "nvidia-hgx-h100-healthy"
ROOM = {"id": "shm", "fact": "shm.size_bytes", "op": ">=", "value": 1 << 41, "remedy": "give it 2 TiB", **BY}
EVERYTHING: dict[str, Any] = {
    "match": {"all": [{"fact": "accelerators.ray.type", "op": "in", "value": ["H100", "H200"]}]},
    "requires": [
        {"id": "driver", "fact": "software.nvidia", "op": ">=", "value": "570", **BY},
        ROOM,
        {"id": "peermem", "fact": "modules.nvidia_peermem", "op": "==", "value": True, "level": "warn", **BY},
        {"id": "secret", "fact": "environment.RAY_AUTH_TOKEN", "op": "absent", "level": "note", **BY},
    ],
    "versions": [
        {"name": "nvidia", "value": "570.133.20", **BY},
        {"name": "cuda", "value": "13.2", **BY},
        {"name": "efa-installer", "value": "1.47.0", **BY},
    ],
    "parameters": {"gpus": {"fact": "accelerators.count", "expect": 8, "why": "GPUs that work", **BY}},
    "env": {
        "set": [
            {"name": "NCCL_SOCKET_IFNAME", "value": "eth0", "why": "the node's Ray address", "source": "page"},
            sets("NCCL_NET_PLUGIN", "/opt/x/libnccl-net.so"),
            sets("NCCL_NTHREADS", "{gpus}"),
        ],
        "unset": [unsets("NCCL_PROTO", op="==", value="simple"), unsets("NCCL_IB_DISABLE")],
    },
    "ray": {"start": {"num-gpus": "{gpus}"}, "resources": {"slots": 2}},
    "kuberay": {"patch": {"numOfHosts": "{gpus}", "template": {"spec": {"hostNetwork": True}}}},
}
"""A recipe with something of all that a plan tells."""


def trial() -> Plan:
    machine = variant(HEALTHY, ("process environment", {"NCCL_PROTO": "simple", "NCCL_DEBUG": "INFO"}))
    for question in [one for one in machine.answers if one.subject == "processes"]:
        del machine.answers[question]
    return planned(machine, recipe(**EVERYTHING))


def document(*plans: Plan, refused: tuple[Refusal, ...] = ()) -> PlanDocument:
    return PlanDocument(PLAN, "1", "2026-12-01T00:00:00Z", plans, refused)


def lines(*plans: Plan, width: int = 100, **more: Any) -> list[Line]:
    return text_recipe_plan.plans(document(*plans), width, **more)


def text(*plans: Plan, width: int = 100, **more: Any) -> str:
    return to_text(lines(*plans, width=width, **more))


def ran(options: Options) -> tuple[int, str]:
    """The exit code of `raxl recipe plan`, and what it prints."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    code = recipe_plan.run(options, Streams(out, io.StringIO()))
    out.seek(0)
    return code, out.read()


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def file(folder: Path, *machines: Recording) -> str:
    path = folder / "snapshot.tar.gz"
    path.write_bytes(keeping.packed(machines))
    return str(path)


def written(folder: Path, **parts: Any) -> str:
    """A recipe's file."""
    path = folder / "trial.yaml"
    path.write_text(json.dumps({"schema": "raxl.recipe/v1", "name": "trial", "title": "A trial", **parts}))
    return str(path)


PAGE = {"id": "page", "url": "https://example.com/nccl", "read": "2026-11-01"}


def test_the_loopback_plan_is_what_is_kept(accept: bool, tmp_path: Path) -> None:
    source = Source((file(tmp_path, bare(environment={"NCCL_DEBUG": "INFO"})),))
    for form, view in ((Format.text, "recipe-plan.txt"), (Format.json, "recipe-plan.json")):
        code, printed = ran(Options(source, "cpu-loopback", ROOT, format=form))
        assert code == outcome.OK
        kept.check("none-cpu-server", view, printed, accept)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_plan_with_something_of_everything_is_what_is_kept(width: int, accept: bool) -> None:
    kept.check(HEALTHY, f"recipe-plan-trial-{width}.txt", text(trial(), width=width), accept)


def test_the_same_in_ascii_and_with_all_of_it(accept: bool) -> None:
    plain = text(trial(), width=100, unicode=False, verbose=True)
    assert plain.isascii()
    assert "  . NCCL_DEBUG=INFO " in plain  # what stays does not look like what goes
    kept.check(HEALTHY, "recipe-plan-trial-ascii.txt", plain, accept)


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider_than_the_page_but_what_is_typed_or_written(width: int, verbose: bool) -> None:
    made = trial()
    verbatim = {line for one in made.files for line in one.diff.splitlines()}
    for line in lines(made, width=width, verbose=verbose):
        shown = "".join(part for part, _ in line)
        if shown not in verbatim and shown[:13].strip() != "then" and "/opt/x" not in shown:
            assert display_width(shown) <= width, shown


def test_what_may_load_code_is_red_and_first() -> None:
    told = lines(trial())
    place = next(number for number, line in enumerate(told) if any("NCCL_NET_PLUGIN=" in part for part, _ in line))
    assert all(style == "fail" for part, style in told[place] if part.strip())
    assert place < next(at for at, line in enumerate(told) if any("NCCL_SOCKET_IFNAME=" in part for part, _ in line))
    assert "\x1b[31m" in to_text(told, colour=True)


def test_every_byte_that_would_be_written_is_in_the_text_and_in_ascii_too() -> None:
    made = planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", "Größe · → " + "x" * 150)]}))
    for unicode in (True, False):
        shown = text(made, width=80, unicode=unicode)
        added = [line[1:] for line in shown.splitlines() if line.startswith("+") and not line.startswith("+++")]
        content = "".join(one.content for one in made.files)
        assert "".join(f"{line}\n" for line in added) == (
            content if unicode else content.encode("ascii", "backslashreplace").decode()
        )


def test_every_figure_of_the_text_is_in_the_json() -> None:
    made = trial()
    told = encode(document(made))
    for number in re.findall(r"(?<![\w.])\d{2,}(?:\.\d+)*(?![\w.])", text(made, width=200)):
        # Sizes are told in GiB; a diff counts its lines.
        assert number in told or number in ("2048.0", "1007.8") or f"+1,{number} " in text(made, width=200), number


def test_the_sentence_says_what_stands_in_the_way(tmp_path: Path) -> None:
    simple = {"env": {"set": [sets("NCCL_ALGO", "Ring")]}}
    loads = {"env": {"set": [sets("LD_PRELOAD", "/opt/x.so")]}}
    small = {"requires": [{**ROOM, "value": 1 << 40}]}
    memlock = {"id": "memlock", "fact": "limits.memlock_bytes", "op": ">=", "value": 1, **BY}
    blind = bare("process limits !denied")
    ends = {
        "Writes 3 files below the root and changes nothing else. Nothing stands in the way: ": planned(
            bare(), recipe(**simple)
        ),
        "Changes nothing else. 1 precondition blocks: nothing can be applied yet.": planned(
            bare(), recipe(**simple, **small)
        ),
        "Changes nothing else. Whether memlock holds could not be read: nothing can be applied yet.": planned(
            blind, recipe(**simple, requires=[memlock])
        ),
        "No file can be told. The value of NCCL_ALGO is not known: nothing can be applied yet.": planned(
            blind, recipe(env={"set": [sets("NCCL_ALGO", "{limits.nofile}")]})
        ),
        "Changes nothing else. LD_PRELOAD lets code in: nothing is applied without --allow-code.": planned(
            bare(), recipe(**loads)
        ),
    }
    for words, made in ends.items():
        last = text(made, width=200).splitlines()[-1]
        assert last.startswith(words), last
    root = tmp_path / "root"
    apply.applied(planned(bare(), recipe(**simple), generations.state(root)), generations.state(root), "now")
    again = planned(bare(), recipe(**simple), generations.state(root))
    assert text(again).splitlines()[-1] == "Nothing to change: what is in force is what trial says."
    (root / "current" / "trial.env").write_text("mine\n")
    edited = text(planned(bare(), recipe(**simple), generations.state(root)), width=200)
    assert edited.splitlines()[-1] == (
        "Changes nothing else. trial.env was changed by hand since it was applied: nothing is applied without --force."
    )
    assert "trial.env was changed since it was applied:\n--- trial.env\n+++ trial.env\n" in edited


def test_nodes_with_the_same_plan_are_told_once() -> None:
    made = planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", "Ring")]}))
    alike = [replace(made, node=f"gpu-{number}") for number in (1, 2)]
    other = replace(planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", "Tree")]})), node="gpu-3")
    nones = tuple(Refusal(name, "no recipe fits this node") for name in ("cpu-1", "cpu-2"))
    whole = document(*alike, other, refused=nones)
    shown = to_text(text_recipe_plan.plans(whole, 100))
    assert shown.count("export NCCL_ALGO=Ring") == 1
    assert shown.startswith("2 nodes (cpu-1,2)  no recipe fits this node\n\n2 nodes (gpu-1,2)  trial")
    assert shown.splitlines()[-1] == "5 nodes: 3 ready; 2 without a recipe. Nothing was changed."


def test_of_nodes_alike_what_was_measured_on_each_keeps_none_apart() -> None:
    """A raylet's process, and a value that suffices: neither makes another plan. What stands in the way comes first."""
    enough = recipe(requires=[{"id": "room", "fact": "shm.size_bytes", "op": ">=", "value": 1 << 30, **BY}])
    found = []
    for number, size in enumerate((8 << 30, 9 << 30, 1 << 20)):
        one = {"started": 1, "limits": {}, "environment": {"NCCL_ALGO": "Ring"}, "arguments": {}, "plasma": None}
        table = {"processes": 1, "raylets": [{**one, "pid": 40 + number, "versions": None}], "workers": []}
        seen = {**table, "lock": None, "holders": [], "denied": 0, "late": 0, "stuck": [], "apart_seconds": 0.0}
        made = planned(bare(shm(size), ("process processes", seen)), enough)
        found.append(replace(made, node=f"gpu-{number}"))
    shown = to_text(text_recipe_plan.plans(document(*found), 100))
    assert shown.startswith("gpu-2  trial")
    assert "2 nodes (gpu-0,1)  trial" in shown
    assert "room ≥ 1.0 GiB" in shown
    assert "8.0 GiB" not in shown
    assert "NCCL_ALGO=Ring  set in the raylet's environment, and stays" in shown
    apart = to_text(text_recipe_plan.plans(document(*found), 100, verbose=True))
    assert "gpu-0  trial" in apart
    assert "8.0 GiB" in apart


def test_names_from_recipes_never_act() -> None:
    shelved = recipe(title="\x1b[31mred\x1b[0m", env={"set": [sets("NCCL_ALGO", "Ring", why="\x1b]0;title\x07why")]})
    assert "\x1b" not in text(planned(bare(), shelved), verbose=True)
    assert "\x1b" not in encode(document(planned(bare(), shelved)))


@pytest.mark.parametrize(
    ("changes", "code"),
    [((), 0), ((shm(64 << 20),), 1), (("process filesystems !denied",), 3)],
)
def test_exit_codes(changes: tuple[Any, ...], code: int, tmp_path: Path) -> None:
    options = Options(Source((file(tmp_path, bare(*changes)),)), "cpu-loopback", tmp_path / "root", format=Format.json)
    found, printed = ran(options)
    assert found == code
    assert decode(printed, PlanDocument).plans[0].recipe.name == "cpu-loopback"
    assert not (tmp_path / "root").exists()


def test_code_that_is_not_allowed_is_exit_1(tmp_path: Path) -> None:
    path = written(tmp_path, source=[PAGE], match={"by_name": True}, env={"set": [sets("LD_PRELOAD", "/opt/x.so")]})
    options = Options(Source((file(tmp_path, bare()),)), path, tmp_path / "root")
    assert ran(options)[0] == outcome.WRONG
    assert ran(options._replace(allow_code=True))[0] == outcome.OK


def test_without_a_name_the_recipe_that_is_for_the_node_is_taken(tmp_path: Path) -> None:
    code, printed = ran(Options(Source((file(tmp_path, bare()),)), None, ROOT))
    assert code == outcome.OK
    assert printed.startswith("store-2  cpu-loopback · ")


def test_a_recipe_for_other_hardware_is_refused_and_the_json_says_so(tmp_path: Path) -> None:
    elsewhere = {"all": [{"fact": "accelerators.count", "op": "==", "value": 8}]}
    path = written(tmp_path, source=[PAGE], match=elsewhere, env={"set": [sets("NCCL_ALGO", "Ring")]})
    out = io.StringIO()
    with pytest.raises(RecipeError, match="is for other hardware"):
        recipe_plan.run(
            Options(Source((file(tmp_path, bare()),)), path, ROOT, format=Format.json), Streams(out, io.StringIO())
        )
    (refused,) = decode(out.getvalue(), PlanDocument).refused
    assert (refused.node, "accelerators.count" in refused.message) == ("store-2", True)


def test_one_node_without_a_recipe_does_not_hide_the_others(tmp_path: Path) -> None:
    path = written(tmp_path, source=[PAGE], match=EVERYTHING["match"], env={"set": [sets("NCCL_ALGO", "Ring")]})
    machines = file(tmp_path, bare(), variant(HEALTHY))
    code, printed = ran(Options(Source((machines,)), path, ROOT))
    assert code == outcome.WRONG
    assert "gpu-09  trial" in printed
    assert printed.splitlines()[-1] == "2 nodes: 1 ready; 1 without a recipe. Nothing was changed."


def test_the_same_command_twice_prints_the_same_bytes(tmp_path: Path) -> None:
    options = Options(Source((file(tmp_path, bare()),)), "cpu-loopback", ROOT, format=Format.json)
    assert ran(options) == ran(options)


def test_a_plan_is_saved_and_held_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, root = tmp_path / "plan.json", tmp_path / "root"
    command = ["recipe", "plan", "cpu-loopback", "--from", file(tmp_path, bare()), "--root", str(root)]
    assert outcome.run(app, [*command, "--format", "json", "--output", str(path)]) == outcome.OK
    assert capsys.readouterr().out == ""
    there = saved.of_node(saved.read(path), "store-2")
    saved.compare(there, planned(bare(), saved.recipe_of(there), generations.state(root)))


def test_a_file_of_recorded_facts_says_nothing_of_what_is_in_force_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --root the default one is this machine's: another machine's plan is not held against it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    root = tmp_path / "raxl" / "recipe"
    apply.applied(
        planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", "Ring")]}), generations.state(root)),
        generations.state(root),
        "now",
    )
    options = Options(Source((file(tmp_path, bare()),)), "cpu-loopback", format=Format.json)
    (made,) = decode(ran(options)[1], PlanDocument).plans
    assert (made.root, made.in_force, {one.status for one in made.files}) == (str(root), None, {"new"})
    with pytest.raises(RecipeError, match="has the recipe trial in force"):
        ran(options._replace(root=root))


def test_a_wrong_name_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["recipe", "plan", "cpu-lopback", "--from", file(tmp_path, bare())]
    assert outcome.run(app, command) == outcome.WRONG
    told = capsys.readouterr().err
    assert (
        told == "raxl: error: no recipe is called cpu-lopback. Did you mean cpu-loopback? raxl recipe list names all\n"
    )


def test_a_diff_is_what_patch_takes(tmp_path: Path) -> None:
    root = tmp_path / "root"
    first, second = (recipe(env={"set": [sets("NCCL_ALGO", value), sets("NCCL_X", "1")]}) for value in ("Ring", "Tree"))
    apply.applied(planned(bare(), first, generations.state(root)), generations.state(root), "now")
    made = planned(bare(), second, generations.state(root))
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in (root / "current").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    diffs = "".join(one.diff for one in made.files)
    subprocess.run(["patch", "-s", "-p0"], input=diffs, text=True, cwd=folder, check=True)
    assert {one.path: one.content for one in made.files} == {
        one.path: (folder / one.path).read_text() for one in made.files
    }


MANIFEST = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: trial}
spec:
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: ray-head, image: rayproject/ray:2.60.0}]}}
  workerGroupSpecs:
  - groupName: gpu
    replicas: 1
    minReplicas: 1
    maxReplicas: 1
    rayStartParams: {}
    template:
      spec:
        containers:
        - {name: ray-worker, image: "rayproject/ray:2.60.0", resources: {limits: {nvidia.com/gpu: "8"}}}
"""


def test_a_manifest_is_held_against_the_recipe_of_a_node_or_by_name(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(MANIFEST)
    parts = {**EVERYTHING, "source": [PAGE], "env": {"set": [sets("NCCL_NTHREADS", "{gpus}")]}, "requires": []}
    parts["kuberay"] = {"resource": "nvidia.com/gpu", "patch": {"rayStartParams": {"num-gpus": "{gpus}"}}}
    path = written(tmp_path, **parts)
    for paths in ((file(tmp_path, variant(HEALTHY)),), ()):
        options = Options(Source(paths), path, ROOT, manifest=tmp_path / "cluster.yaml", format=Format.json)
        told = json.loads(ran(options)[1])
        assert told["schema"] == "raxl.manifest/v1"
        assert told["patch"]["rayStartParams"] == {"num-gpus": "8"}
        assert {"name": "NCCL_NTHREADS", "value": "8"} in told["patch"]["template"]["spec"]["containers"][0]["env"]
    code, printed = ran(Options(Source(), path, ROOT, manifest=tmp_path / "cluster.yaml"))
    assert (code, "NCCL_NTHREADS" in printed) == (outcome.OK, True)


def test_a_manifest_is_checked_without_a_recipe(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(MANIFEST)
    code, printed = ran(Options(Source(), None, ROOT, manifest=tmp_path / "cluster.yaml"))
    assert (code, "RayCluster trial" in printed) == (outcome.OK, True)


def test_a_patch_that_loads_code_is_exit_1_without_leave(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(MANIFEST)
    patch = {"template": {"spec": {"containers": [{"name": "ray-worker", "image": "other"}]}}}
    path = written(tmp_path, source=[PAGE], match=EVERYTHING["match"], kuberay={"patch": patch})
    options = Options(Source(), path, ROOT, manifest=tmp_path / "cluster.yaml")
    assert ran(options)[0] == outcome.WRONG
    assert ran(options._replace(allow_code=True))[0] == outcome.OK


@pytest.mark.parametrize("name", recordings.NAMES)
def test_every_machine_has_a_plan_that_is_whole_in_json_and_in_text(name: str) -> None:
    """A recipe that is for any machine that asks for it by name."""
    for shelved in (load.named("cpu-loopback"), recipe(**{**EVERYTHING, "match": {"by_name": True}})):
        made = planned(recordings.recording(name), shelved)
        assert decode(encode(document(made)), PlanDocument).plans == (made,)
        assert made.facts_sha256 == plan.facts_hash(made.facts, made.facts_unread)
        for width in (80, 200):
            assert made.recipe.name in text(made, width=width, unicode=width == 80)
        for one in made.files:
            assert all(line.isprintable() for line in one.content.split("\n"))


def test_what_nobody_knows_and_nothing_takes_is_not_told() -> None:
    told = recipe(
        versions=[{"name": "nccl", "value": None, **BY}],
        parameters={"gid": {"rule": "gid-index", "why": "the entry of RoCE v2", **BY}},
    )
    made = planned(bare(), told)
    shown = text(made)
    assert "nccl" not in shown
    assert "versions" not in shown
    assert "gid" not in shown
    assert "gid is not known" in text(made, verbose=True)
    assert [(one.name, one.found) for one in made.versions] == [("nccl", None)]


def test_a_recipe_without_conditions_is_used_by_name_alone() -> None:
    made = trial()
    beside = replace(made, candidates=(made.candidates[0], Candidate("other", UNMET, 0)))
    assert "other: it is used by name alone" in text(beside, verbose=True)
    asked = replace(made, candidates=(Candidate("trial", MET, 0),))
    assert "asked for by name\n" in text(asked)
    assert "no other recipe does" not in text(asked)
