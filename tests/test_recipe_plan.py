"""What a plan says of a node, byte for byte, and what stands in its way."""

from __future__ import annotations

import shutil
import string
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import recordings
from diagnosing import variant
from planning import BARE, BY, ROOT, SHM, bare, content, planned, recipe, sets, setting, shm, unsets
from raxl.errors import RecipeError
from raxl.model import codec
from raxl.model.plan import BLOCKED, EDITED, INCOMPLETE, KEPT, NEEDS_CODE, NOTHING, READY, Plan
from raxl.model.recipe import UnsetVariable
from raxl.recipe import apply, files, generations, load, shell_text

LOOPBACK = "cpu-loopback"
SHELLS = [shell for shell in ("dash", "bash", "sh") if shutil.which(shell)]
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp")), max_size=40)
NAMES = st.from_regex(r"NCCL_[A-Z][A-Z0-9_]{0,20}", fullmatch=True)


def variables(shell: str, file: str, given: dict[str, str]) -> dict[str, str]:
    """The environment of a process that a shell starts after it sourced the file."""
    whole = subprocess.run(
        [shell, "-euc", '. "$1"; exec env -0', shell, file],
        env={"PATH": "/usr/bin:/bin", **given},
        capture_output=True,
        check=True,
    ).stdout.decode()
    told = dict(line.split("=", 1) for line in whole.split("\0") if line)
    return {name: value for name, value in told.items() if name not in ("PATH", "PWD", "OLDPWD", "SHLVL", "_")}


def in_force(tmp_path: Path, made: Plan) -> generations.State:
    """What is in force once the plan is applied below a folder."""
    apply.applied(made, generations.state(tmp_path), "2026-12-01T00:00:00Z")
    return generations.state(tmp_path)


def test_the_loopback_recipe_says_every_byte_for_a_machine_without_accelerators() -> None:
    made = planned(bare(), load.named(LOOPBACK))
    assert made.status == READY
    assert {one.path: one.content for one in made.files} == {
        "cpu-loopback.env": """\
# Written by raxl recipe apply cpu-loopback: not to be edited here.
# Sourced before ray start, by any POSIX shell.

# Gloo finds no other host here
export GLOO_SOCKET_IFNAME=lo

# NIXL moves over the loopback
export UCX_TLS=tcp,self

# UCX leaves the machine's network alone
export UCX_NET_DEVICES=lo
""",
        "ray-start.args": """\
--num-cpus=32
--num-gpus=0
--object-store-memory=2147483648
--labels-file=/srv/raxl/current/labels.yaml
""",
        "labels.yaml": content(made, "labels.yaml"),
    }
    assert 'raxl/scale-up: "none"\n' in content(made, "labels.yaml")
    assert made.next_steps == (
        ". /srv/raxl/current/cpu-loopback.env",
        "xargs -a /srv/raxl/current/ray-start.args ray start --head",
        "xargs -a /srv/raxl/current/ray-start.args ray start --address=HEAD:6379   # on every other node",
        "raxl recipe verify cpu-loopback --root /srv/raxl",
    )


def test_the_same_facts_give_the_same_plan() -> None:
    first, second = (planned(bare(), load.named(LOOPBACK)) for _ in range(2))
    assert codec.encode(first) == codec.encode(second)


def test_diffs_make_the_files() -> None:
    made = planned(bare(), load.named(LOOPBACK))
    for one in made.files:
        head, lines = one.diff.split("\n")[:3], one.diff.split("\n")[3:]
        assert head[:2] == ["--- /dev/null", f"+++ {one.path}"]
        assert "".join(f"{line[1:]}\n" for line in lines if line.startswith("+")) == one.content


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=60)
@given(values=st.dictionaries(NAMES, TEXT, min_size=1, max_size=5))
def test_a_shell_gives_exactly_the_variables(
    shell: str, values: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    told = [sets(name, value.replace("{", "{{").replace("}", "}}")) for name, value in values.items()]
    made = planned(bare(), recipe(env={"set": told}))
    path = tmp_path_factory.mktemp("env") / "trial.env"
    path.write_text(content(made, "trial.env"))
    assert variables(shell, str(path), {}) == values


HOSTILE = [
    "$(touch /tmp/raxl-was-here)",
    "`touch /tmp/raxl-was-here`",
    "'; touch /tmp/raxl-was-here; '",
    '"; touch /tmp/raxl-was-here; "',
    "a\\",
    "!!",
    "~",
    "*",
    "${HOME}",
    "|| touch /tmp/raxl-was-here",
    "#",
    " ",
    "-n",
]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_never_acts_in_a_shell(shell: str, value: str, tmp_path: Path) -> None:
    written = value.replace("{", "{{").replace("}", "}}")
    stale = unsets("NCCL_PROTO", op="==", value=value)
    made = planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", written)], "unset": [stale]}))
    path = tmp_path / "trial.env"
    path.write_text(content(made, "trial.env"))
    assert variables(shell, str(path), {"NCCL_PROTO": value, "HOME": "/nowhere"}) == {
        "NCCL_ALGO": value,
        "HOME": "/nowhere",
    }
    assert variables(shell, str(path), {"NCCL_PROTO": "other"}) == {"NCCL_ALGO": value, "NCCL_PROTO": "other"}
    assert not Path("/tmp/raxl-was-here").exists()


@pytest.mark.parametrize("value", ["a\nb", "a\0b", "a\x1b[31mb", "a\u202eb", "a\u2028b", "a\rb"])
def test_a_value_that_cannot_be_seen_is_written_nowhere(value: str) -> None:
    for parts in (
        {"env": {"set": [sets("NCCL_ALGO", value)]}},
        {"ray": {"start": {"node-name": value}}},
        {"env": {"unset": [unsets("NCCL_ALGO", op="==", value=value)]}},
    ):
        with pytest.raises(RecipeError, match="cannot be written"):
            planned(bare(), recipe(**parts))


@pytest.mark.parametrize("name", ["NCCL ALGO", "NCCL-ALGO", "1X", "X=Y", "X;touch x", ""])
def test_what_is_no_name_of_a_variable_is_refused(name: str) -> None:
    with pytest.raises(RecipeError, match="is no name of an environment variable"):
        planned(bare(), recipe(env={"set": [sets(name, "x")]}))
    with pytest.raises(RecipeError, match="is no name of an environment variable"):
        planned(bare(), recipe(env={"unset": [unsets(name)]}))


CONDITIONS: list[tuple[dict[str, Any], str, bool]] = [
    ({}, "anything", True),
    ({}, "", True),
    ({"op": "==", "value": "simple"}, "simple", True),
    ({"op": "==", "value": "simple"}, "Simple", False),
    ({"op": "==", "value": "simple"}, "LL128", False),
    ({"op": "==", "value": 1}, "1", True),
    ({"op": "!=", "value": "1"}, "0", True),
    ({"op": "!=", "value": "1"}, "1", False),
    ({"op": "in", "value": ["a", "esac"]}, "esac", True),
    ({"op": "in", "value": ["a", "esac"]}, "b", False),
    ({"op": "matches", "value": "eth*"}, "eth0", True),
    ({"op": "matches", "value": "eth*"}, "ens1", False),
    ({"op": "matches", "value": "[sS]imple"}, "Simple", True),
    ({"op": "matches", "value": "[!s]imple"}, "simple", False),
    ({"op": "matches", "value": "a b*'c"}, "a bcd'c", True),
    ({"op": "matches", "value": "?"}, "ab", False),
    ({"op": "matches", "value": "$HOME"}, "$HOME", True),
]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("condition", "value", "goes"), CONDITIONS)
def test_a_variable_is_unset_where_its_value_says_so(
    shell: str, condition: dict[str, Any], value: str, goes: bool, tmp_path: Path
) -> None:
    made = planned(bare(), recipe(env={"unset": [unsets("NCCL_PROTO", **condition)]}))
    path = tmp_path / "trial.env"
    path.write_text(content(made, "trial.env"))
    given_ = {"NCCL_PROTO": value, "NCCL_OTHER": value}
    left = variables(shell, str(path), given_)
    assert left == ({"NCCL_OTHER": value} if goes else given_)
    assert variables(shell, str(path), {}) == {}
    told = {**condition, "value": tuple(condition["value"])} if isinstance(condition.get("value"), list) else condition
    assert shell_text.is_stale(UnsetVariable("NCCL_PROTO", "", **told), value) == goes


def test_a_comparison_that_no_shell_makes_is_refused() -> None:
    with pytest.raises(RecipeError, match=">= is no question that a shell asks"):
        planned(bare(), recipe(env={"unset": [unsets("NCCL_BUFFSIZE", op=">=", value=1)]}))


def test_a_stale_variable_is_told_and_no_byte_hangs_on_it(tmp_path: Path) -> None:
    shelved = recipe(env={"unset": [unsets("NCCL_PROTO", op="==", value="simple")], "set": [sets("NCCL_ALGO", "Ring")]})
    stale = planned(bare(environment={"NCCL_PROTO": "simple", "NCCL_ALGO": "Tree"}), shelved)
    calm = planned(bare(), shelved)
    other = planned(bare(environment={"NCCL_PROTO": "LL128", "NCCL_ALGO": "Ring"}), shelved)
    assert [(one.status, one.was) for one in stale.settings[:2]] == [("removed", "simple"), ("changed", "Tree")]
    assert [(one.status, one.was) for one in calm.settings[:2]] == [("same", None), ("new", None)]
    assert [(one.status, one.was) for one in other.settings[:2]] == [("kept", "LL128"), ("same", "Ring")]
    assert stale.files == calm.files == other.files
    assert stale.facts_sha256 == calm.facts_sha256


def test_what_an_environment_does_not_tell_is_not_taken_for_unset() -> None:
    shelved = recipe(env={"unset": [unsets("NCCL_PROTO")], "set": [sets("NCCL_ALGO", "Ring"), sets("HSA_X", "1")]})
    silent = planned(variant(BARE, "process environment !denied"), shelved)
    assert [(one.status, one.was) for one in silent.settings if one.kind != "label"] == [("unknown", None)] * 3
    assert "Permission denied" in setting(silent, "NCCL_ALGO").message
    # A recording holds no HSA_ variables: that it lacks one says nothing.
    assert setting(planned(bare(), shelved), "HSA_X").status == "unknown"
    assert silent.status == READY


def test_variables_that_stay_are_told() -> None:
    made = planned(bare(environment={"NCCL_DEBUG": "INFO", "SLURM_NODEID": "3"}), load.named(LOOPBACK))
    kept = setting(made, "NCCL_DEBUG")
    assert (kept.status, kept.origin, kept.value) == (KEPT, "environment", "INFO")
    assert "SLURM_NODEID" not in {one.name for one in made.settings}


def test_arguments_are_what_xargs_hands_on(tmp_path: Path) -> None:
    start = {"node-name": 'it\'s "one" \\ node', "num-gpus": 0, "disable-usage-stats": ""}
    made = planned(bare(), recipe(ray={"start": start, "resources": {"slots": "{cpu.threads}", "half": 0.5}}))
    path = tmp_path / files.ARGUMENTS
    path.write_text(content(made, files.ARGUMENTS))
    given_ = subprocess.run(
        ["xargs", "-a", str(path), "printf", "%s\\0", "ray", "start", "--head"], capture_output=True, check=True
    )
    assert given_.stdout.decode().split("\0")[:-1] == [
        "ray",
        "start",
        "--head",
        '--node-name=it\'s "one" \\ node',
        "--num-gpus=0",
        "--disable-usage-stats",
        "--labels-file=/srv/raxl/current/labels.yaml",
        '--resources={"half": 0.5, "slots": 32}',
    ]


@settings(max_examples=60)
@given(text=TEXT.filter(bool))
def test_xargs_hands_on_whatever_text(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("args") / "args"
    path.write_text(f"{shell_text.argument(f'--node-name={text}')}\n")
    done = subprocess.run(["xargs", "-a", str(path), "printf", "%s\\0"], capture_output=True, check=True)
    assert done.stdout.decode() == f"--node-name={text}\0"


def test_a_resource_that_is_no_number_and_a_label_that_ray_refuses_are_refused() -> None:
    with pytest.raises(RecipeError, match="the resource slots is to be a number, not 'many'"):
        planned(bare(), recipe(ray={"resources": {"slots": "many"}}))
    with pytest.raises(RecipeError, match="the label raxl/x cannot be 'a b'"):
        planned(bare(), recipe(ray={"labels": {"raxl/x": "a b"}}))


def test_the_recipes_labels_win_over_the_hardwares() -> None:
    made = planned(recordings.recording("nvidia-hgx-h100-healthy"), recipe(ray={"labels": {"raxl/model": "mine"}}))
    labels = files.labels_in(content(made, files.LABELS))
    assert (labels["raxl/model"], labels["raxl/accelerators"]) == ("mine", "8")
    assert (setting(made, "raxl/model").origin, setting(made, "raxl/vendor").origin) == ("recipe", "labels")


def test_a_variable_for_the_head_alone_has_a_file_of_its_own() -> None:
    told = [
        sets("NCCL_ALGO", "Ring"),
        sets("RAY_DEDUP_LOGS", "1", scope="head"),
        sets("FI_PROVIDER", "efa", scope="workers"),
    ]
    made = planned(bare(), recipe(env={"set": told}))
    own = {
        path: files.variables_in(content(made, path)) for path in ("trial.env", "trial.head.env", "trial.workers.env")
    }
    assert list(own.values()) == [{"NCCL_ALGO": "Ring"}, {"RAY_DEDUP_LOGS": "1"}, {"FI_PROVIDER": "efa"}]
    assert made.next_steps[1] == ". /srv/raxl/current/trial.head.env   # on the head"


def test_where_each_value_comes_from() -> None:
    told = [
        {"name": "NCCL_ALGO", "value": "Ring", "why": "it is", "source": "page"},
        sets("OMP_NUM_THREADS", "{cpu.threads}"),
    ]
    made = planned(bare(), recipe(env={"set": told}))
    algo, threads = setting(made, "NCCL_ALGO"), setting(made, "OMP_NUM_THREADS")
    assert (algo.origin, algo.source) == ("recipe", "https://example.com/nccl")
    assert (threads.origin, threads.value, threads.source) == ("computed", "32", None)


def test_a_value_that_nobody_published_is_left_alone() -> None:
    made = planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", None), sets("NCCL_PROTO", "LL")]}))
    assert (setting(made, "NCCL_ALGO").status, setting(made, "NCCL_ALGO").message) == (KEPT, BY["unverified"])
    assert files.variables_in(content(made, "trial.env")) == {"NCCL_PROTO": "LL"}


def test_a_setting_that_a_condition_rules_out_is_no_setting() -> None:
    few = {"fact": "cpu.threads", "op": "<", "value": 8}
    made = planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", "Ring", when=few), sets("NCCL_PROTO", "LL")]}))
    assert "NCCL_ALGO" not in {one.name for one in made.settings}
    assert files.variables_in(content(made, "trial.env")) == {"NCCL_PROTO": "LL"}


ROOM = {"id": "room", "fact": "shm.size_bytes", "op": ">=", "value": 1 << 30, "remedy": "--shm-size=1g", **BY}


@pytest.mark.parametrize(
    ("answer", "level", "status"),
    [
        (shm(2 << 30), "block", READY),
        (shm(64 << 20), "block", BLOCKED),
        (shm(64 << 20), "warn", READY),
        (shm(64 << 20), "note", READY),
        (f"{SHM} !denied", "block", INCOMPLETE),
        (f"{SHM} !timeout", "block", INCOMPLETE),
        (f"{SHM} !denied", "warn", READY),
    ],
)
def test_a_requirement_blocks_where_it_is_to(answer: Any, level: str, status: str) -> None:
    made = planned(bare(answer), recipe(requires=[{**ROOM, "level": level}], env={"set": [sets("NCCL_ALGO", "Ring")]}))
    assert made.status == status
    assert (made.preconditions[0].remedy, made.preconditions[0].level) == ("--shm-size=1g", level)
    assert made.files  # what would be written is told all the same


def test_a_requirement_that_is_not_asked_for_here_is_none() -> None:
    many = {"fact": "accelerators.count", "op": ">", "value": 1}
    made = planned(bare(shm(1 << 20)), recipe(requires=[{**ROOM, "when": many}]))
    assert (made.preconditions, made.status) == ((), READY)


def test_a_requirement_of_which_it_is_not_known_whether_it_is_asked_for_is_met_or_not_known() -> None:
    hidden = {"fact": "limits.nofile", "op": ">", "value": 1}
    for size, status in ((1 << 20, INCOMPLETE), (2 << 30, READY)):
        machine = bare(shm(size), "process limits !denied")
        assert planned(machine, recipe(requires=[{**ROOM, "when": hidden}])).status == status


def test_a_denied_limit_makes_the_plan_incomplete_and_says_which_fact() -> None:
    memlock = {"id": "memlock", "fact": "limits.memlock_bytes", "op": ">=", "value": 1 << 34, **BY}
    made = planned(bare("process limits !denied"), recipe(requires=[memlock], env={"set": [sets("NCCL_ALGO", "Ring")]}))
    assert made.status == INCOMPLETE
    assert made.facts["limits.memlock_bytes"] is None
    assert made.facts_unread["limits.memlock_bytes"] == "not-permitted: Permission denied"


def test_a_value_that_is_not_known_leaves_no_file_half_told() -> None:
    told = [sets("NCCL_ALGO", "Ring"), sets("NCCL_NCHANNELS", "{limits.nofile}")]
    made = planned(bare("process limits !denied"), recipe(env={"set": told}))
    assert (made.status, made.files) == (INCOMPLETE, ())
    assert setting(made, "NCCL_NCHANNELS").value is None
    assert "Permission denied" in setting(made, "NCCL_NCHANNELS").message


@pytest.mark.parametrize(
    "parts",
    [
        {"env": {"set": [sets("LD_PRELOAD", "/tmp/x.so")]}},
        {"env": {"set": [sets("NCCL_NET_PLUGIN", "/opt/x/libnccl-net.so")]}},
        {"ray": {"start": {"dashboard-host": "0.0.0.0"}}},
        {"kuberay": {"patch": {"template": {"spec": {"containers": [{"image": "evil"}]}}}}},
    ],
)
def test_what_loads_code_needs_to_be_allowed(parts: dict[str, Any]) -> None:
    made = planned(bare(), recipe(**parts))
    assert made.status == NEEDS_CODE
    assert len([one for one in made.settings if one.loads_code]) == 1
    assert planned(bare(), recipe(**parts), allow_code=True).status == READY


def test_what_stands_in_the_way_is_told_the_weightiest_first(tmp_path: Path) -> None:
    loads = {"env": {"set": [sets("LD_PRELOAD", "/tmp/x.so")]}}
    limit = {"id": "memlock", "fact": "limits.memlock_bytes", "op": ">=", "value": 1 << 60, **BY}
    blind = bare(shm(64 << 20), "process limits !denied")
    assert planned(blind, recipe(requires=[limit, ROOM], **loads)).status == BLOCKED
    assert planned(blind, recipe(requires=[limit], **loads)).status == INCOMPLETE
    assert planned(blind, recipe(**loads)).status == NEEDS_CODE
    state = in_force(
        tmp_path, planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", "Ring")]}), generations.state(tmp_path))
    )
    (tmp_path / "current" / "trial.env").write_text("mine\n")
    state = generations.state(tmp_path)
    assert planned(blind, recipe(requires=[limit, ROOM], **loads), state).status == EDITED
    assert planned(blind, recipe(requires=[limit, ROOM], **loads), state, force=True).status == BLOCKED


def test_versions_are_compared_and_never_installed() -> None:
    versions = [
        {"name": "nvidia-driver", "value": "570.133.20", **BY},
        {"name": "nvidia", "value": "1.0", **BY},
        {"name": "efa-installer", "value": "1.47.0", **BY},
        {"name": "kernel", "value": None, "fact": "os.kernel", **BY},
    ]
    made = planned(recordings.recording("nvidia-hgx-h100-healthy"), recipe(versions=versions))
    assert [one.status for one in made.versions] == ["same", "differs", "unknown", "unknown"]
    assert made.versions[3].found == "6.8.0-60-generic"


@pytest.mark.parametrize(("published", "status"), [("570", "same"), ("570.133", "same"), ("57", "differs")])
def test_a_version_may_be_published_less_precisely_than_a_node_says_it(published: str, status: str) -> None:
    versions = [{"name": "nvidia-driver", "value": published, **BY}]
    made = planned(recordings.recording("nvidia-hgx-h100-healthy"), recipe(versions=versions))
    assert [(one.found, one.status) for one in made.versions] == [("570.133.20", status)]


def test_other_recipes_facts_are_none_of_a_plans() -> None:
    made = planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", "Ring")]}))
    assert {path for path in made.facts if not path.startswith("label ")} == {"accelerators.count"}


def test_applied_once_there_is_nothing_to_change(tmp_path: Path) -> None:
    shelved = load.named(LOOPBACK)
    state = in_force(tmp_path, planned(bare(), shelved, generations.state(tmp_path)))
    again = planned(bare(environment={"GLOO_SOCKET_IFNAME": "lo"}), shelved, state)
    assert again.status == NOTHING
    assert {one.status for one in again.files} == {"same"}
    assert {one.status for one in again.settings} == {"same"}
    assert again.in_force == state.generation


def test_what_changes_is_held_against_what_is_in_force(tmp_path: Path) -> None:
    first = recipe(
        env={"set": [sets("NCCL_ALGO", "Ring")], "unset": [unsets("NCCL_X")]},
        ray={"start": {"num-gpus": 0}, "resources": {"slots": 1}, "labels": {"a/b": "c"}},
    )
    second = recipe(env={"set": [sets("NCCL_ALGO", "Tree")]}, ray={"labels": {"a/b": "d"}, "resources": {"slots": 1}})
    state = in_force(tmp_path, planned(bare(), first, generations.state(tmp_path)))
    made = planned(bare(), second, state)
    assert made.status == READY
    assert (setting(made, "NCCL_ALGO").status, setting(made, "NCCL_ALGO").was) == ("changed", None)
    assert (setting(made, "a/b").status, setting(made, "a/b").was) == ("changed", "c")
    assert setting(made, "slots").status == "same"
    assert "-export NCCL_ALGO=Ring\n+export NCCL_ALGO=Tree\n" in made.files[0].diff
    assert "-unset NCCL_X\n" in made.files[0].diff


def test_a_file_that_is_no_longer_wanted_goes(tmp_path: Path) -> None:
    first = recipe(env={"set": [sets("NCCL_ALGO", "Ring"), sets("RAY_DEDUP_LOGS", "1", scope="head")]})
    state = in_force(tmp_path, planned(bare(), first, generations.state(tmp_path)))
    made = planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", "Ring")]}), state)
    assert {one.path: one.status for one in made.files if one.status != "same"} == {"trial.head.env": "removed"}
    assert made.status == READY


def test_a_file_that_somebody_changed_is_shown_three_ways(tmp_path: Path) -> None:
    first, second = (recipe(env={"set": [sets("NCCL_ALGO", value)]}) for value in ("Ring", "Tree"))
    in_force(tmp_path, planned(bare(), first, generations.state(tmp_path)))
    path = tmp_path / "current" / "trial.env"
    path.write_text(path.read_text().replace("Ring", "Mine\x1b[31m"))
    made = planned(bare(), second, generations.state(tmp_path))
    assert made.status == EDITED
    (edited,) = [one for one in made.files if one.edited_diff]
    assert "-export NCCL_ALGO=Ring\n+export NCCL_ALGO=Mine\n" in edited.edited_diff
    assert "-export NCCL_ALGO=Mine\n+export NCCL_ALGO=Tree\n" in edited.diff


def test_a_root_holds_one_recipe(tmp_path: Path) -> None:
    state = in_force(tmp_path, planned(bare(), load.named(LOOPBACK), generations.state(tmp_path)))
    with pytest.raises(RecipeError, match="has the recipe cpu-loopback in force"):
        planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", "Ring")]}), state)


def test_a_root_with_odd_characters_is_quoted(tmp_path: Path) -> None:
    state = replace(generations.State(ROOT), root=Path("/srv/my raxl's"))
    made = planned(bare(), load.named(LOOPBACK), state)
    assert made.next_steps[0] == """. '/srv/my raxl'"'"'s/current/cpu-loopback.env'"""
    path = tmp_path / "args"
    path.write_text(content(made, files.ARGUMENTS))
    done = subprocess.run(["xargs", "-a", str(path), "printf", "%s\\n"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "--labels-file=/srv/my raxl's/current/labels.yaml"


@given(st.text(string.printable, max_size=30))
@settings(max_examples=200)
def test_reading_back_what_was_written_gives_it(value: str) -> None:
    if any(not character.isprintable() for character in value):
        return
    assert files.variables_in(f"{shell_text.export('NCCL_X', value)}\n") == {"NCCL_X": value}


def test_a_patch_can_be_merged_by_others_too() -> None:
    """Where the recipe names no container, its environment goes into the first one, called as in KubeRay's samples."""
    made = planned(bare(), recipe(env={"set": [sets("NCCL_ALGO", "Ring")]}, kuberay={"patch": {"numOfHosts": 2}}))
    told = yaml.safe_load(content(made, "kuberay-patch.yaml"))
    (container,) = told["template"]["spec"]["containers"]
    assert container == {"name": "ray-worker", "env": [{"name": "NCCL_ALGO", "value": "Ring"}]}
    assert "raxl recipe plan --manifest FILE" in content(made, "kuberay-patch.yaml")
    own = {"template": {"spec": {"containers": [{"name": "mine", "resources": {"limits": {"cpu": "1"}}}]}}}
    told = yaml.safe_load(content(planned(bare(), recipe(kuberay={"patch": own})), "kuberay-patch.yaml"))
    assert told["template"]["spec"]["containers"][0]["name"] == "mine"
    plain = yaml.safe_load(content(planned(bare(), recipe(kuberay={"patch": {"numOfHosts": 2}})), "kuberay-patch.yaml"))
    assert plain == {"numOfHosts": 2}


def test_a_parameter_that_nothing_takes_here_stops_nothing() -> None:
    """The GID index of a machine without RoCE, which a setting takes where there is RoCE alone."""
    gid = {"rule": "gid-index", "why": "the entry of RoCE v2", **BY}
    when = {"fact": "nics[kind=roce].count", "op": ">", "value": 0}
    on_roce = recipe(parameters={"gid": gid}, env={"set": [sets("NCCL_IB_GID_INDEX", "{gid}", when=when)]})
    made = planned(bare(), on_roce)
    assert (made.status, [(one.value, one.is_used) for one in made.computed]) == (READY, [(None, False)])
    always = recipe(parameters={"gid": gid}, env={"set": [sets("NCCL_IB_GID_INDEX", "{gid}")]})
    made = planned(bare(), always)
    assert (made.status, [(one.value, one.is_used) for one in made.computed]) == (INCOMPLETE, [(None, True)])


def test_a_value_that_is_a_fact_says_so() -> None:
    flags = {"num-gpus": "{accelerators.count}", "num-cpus": "{cpu.threads}"}
    made = planned(bare(), recipe(ray={"start": flags}))
    assert setting(made, "num-gpus").why == "0 accelerators"
    assert setting(made, "num-cpus").why == f"cpu.threads is {setting(made, 'num-cpus').value}"


def test_unsetting_what_guards_ray_has_to_be_allowed() -> None:
    made = planned(bare(), recipe(env={"unset": [unsets("RAY_AUTH_MODE")]}))
    assert made.status == NEEDS_CODE
    assert setting(made, "RAY_AUTH_MODE").loads_code


def test_a_patch_is_judged_by_what_it_is_filled_with() -> None:
    """A fact of the node may be anything: here a name that a shell would act on."""
    one = recipe(kuberay={"patch": {"rayStartParams": {"node-name": "{environment.NCCL_IB_HCA}"}}})
    calm, wild = (planned(bare(environment={"NCCL_IB_HCA": name}), one) for name in ("mlx5_0", "x; reboot"))
    assert calm.status == READY
    assert wild.status == NEEDS_CODE
