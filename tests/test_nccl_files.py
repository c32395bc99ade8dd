"""NCCL's own files of variables: what is kept of them, what counts, and what a plan and a report say of it."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path
from typing import Any

import pytest

import recordings
from diagnosing import told as findings_of
from diagnosing import variant
from planning import bare, planned, recipe, sets, setting, unsets
from raxl.checks import variables
from raxl.collect import keeping
from raxl.host import Answer, Question, allowed, nccl_files
from raxl.host.live import LiveHost
from raxl.host.record import Recording
from raxl.model import codec
from raxl.model.facts import Facts
from raxl.model.plan import KEPT, PLAN, READY, Plan, PlanDocument
from raxl.model.verification import DIFFERS, OVERRIDDEN, SAME, UNKNOWN
from raxl.recipe import places
from raxl.render import text_recipe_plan
from raxl.render.text import display_width, to_text
from raxl.sources import nccl_files as source
from recipe_facts import of_recording

SYSTEM, USER = "/etc/nccl.conf", "~/.nccl.conf"
SETS = recipe(
    env={"set": [sets("NCCL_SOCKET_IFNAME", "ens5")], "unset": [unsets("NCCL_PROTO", op="==", value="simple")]}
)


def users(text: str | None, path: str = USER) -> tuple[str, Any]:
    """The user's file, for `diagnosing.variant`."""
    there = {"path": path, "text": text} if text is not None else {"path": path, "reason": "not-present"}
    return "process nccl_user_files", {"nccl": there, "rccl": {"path": "~/.rccl.conf", "reason": "not-present"}}


def machine(system: str | None = None, user: str | None = None, environment: dict[str, str] | None = None) -> Recording:
    changes: list[Any] = [f"{SYSTEM}={system}"] if system is not None else []
    return bare(*changes, users(user), environment=environment)


def text(made: Plan, width: int = 100) -> str:
    return to_text(text_recipe_plan.plans(PlanDocument(PLAN, "1", "2026-12-01T00:00:00Z", (made,)), width))


def test_a_file_is_read_as_nccl_reads_it_and_holds_nothing_else() -> None:
    told = "# NCCL_ALGO=Tree\nNCCL_ALGO=Ring\nNCCL_ALGO=Tree\nexport NCCL_PROTO=LL\n NCCL_NET=IB\nTOKEN=hush\n"
    told += 'NCCL_SOCKET_IFNAME="^docker0"\nNCCL_AUTH_TOKEN=hush\nNCCL_DEBUG\nPATH=/x\n'
    assert allowed.nccl_file(told) == 'NCCL_ALGO=Ring\nNCCL_SOCKET_IFNAME="^docker0"\n'
    assert allowed.file_text(SYSTEM, told) == allowed.nccl_file(told)


def test_a_live_host_reads_the_home_of_the_password_database_and_not_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = pwd.getpwuid(os.getuid()).pw_dir
    own = tmp_path / home[1:] / ".nccl.conf"
    own.parent.mkdir(parents=True)
    own.write_text("NCCL_ALGO=Ring\nSECRET=hush\n")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nccl.conf").write_text("NCCL_SOCKET_IFNAME=^docker0,lo\nPASSWORD=hush\n")
    monkeypatch.setenv("HOME", "/nowhere")
    monkeypatch.delenv(nccl_files.NAMED, raising=False)
    user, system = source.readings(LiveHost(str(tmp_path)))["nccl"]
    assert (user.source, user.value) == (USER, {"NCCL_ALGO": "Ring"})
    assert (system.source, system.value) == (SYSTEM, {"NCCL_SOCKET_IFNAME": "^docker0,lo"})
    assert [one.reason for one in source.readings(LiveHost(str(tmp_path)))["rccl"]] == ["not-present"] * 2
    other = tmp_path / "other.conf"
    other.write_text("NCCL_ALGO=Tree\n")
    monkeypatch.setenv(nccl_files.NAMED, "/other.conf")
    assert source.readings(LiveHost(str(tmp_path)))["nccl"][0].value == {"NCCL_ALGO": "Tree"}


@pytest.mark.parametrize(
    ("named", "reason"),
    [("/etc", "not-applicable"), ("here.conf", "failed"), ("/pipe", "not-applicable"), ("/nowhere", "not-present")],
)
def test_what_is_no_file_is_not_waited_for(
    named: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etc").mkdir()
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv(nccl_files.NAMED, named)
    user, _ = source.readings(LiveHost(str(tmp_path)))["nccl"]
    assert (user.source, user.reason) == (named, reason)


def test_a_recording_that_another_hand_made_keeps_no_more(tmp_path: Path) -> None:
    edited = machine()
    edited.answers[Question("process", "nccl_user_files")] = Answer(
        {"nccl": {"path": USER, "text": "NCCL_ALGO=Ring\nTOKEN=hush\n"}, "rccl": {"path": 3}}
    )
    edited.answers[Question("text", SYSTEM)] = Answer("NCCL_PROTO=LL\nTOKEN=hush\n")
    path = tmp_path / "snapshot.tar.gz"
    path.write_bytes(keeping.packed([edited]))
    from raxl.collect import inputs

    (again,) = inputs.opened([str(path)], None)
    own = of_recording(again)
    assert [one.value for one in own.case.facts.library_files["nccl"]] == [{"NCCL_ALGO": "Ring"}, {"NCCL_PROTO": "LL"}]
    assert own.case.facts.library_files["rccl"][0].reason == "failed"


@pytest.mark.parametrize(
    ("environment", "user", "system", "right", "where"),
    [
        ({"NCCL_ALGO": "Ring"}, "NCCL_ALGO=Tree\n", "NCCL_ALGO=NVLS\n", "Ring", "environ(7)"),
        ({}, "NCCL_ALGO=Tree\n", "NCCL_ALGO=NVLS\n", "Tree", USER),
        ({}, None, "NCCL_ALGO=NVLS\n", "NVLS", SYSTEM),
        ({}, None, None, None, "environ(7)"),
    ],
)
def test_the_environment_wins_over_the_users_file_and_that_over_the_systems(
    environment: dict[str, str], user: str | None, system: str | None, right: str | None, where: str
) -> None:
    own = of_recording(machine(system, user, environment))
    told = variables.reading(own.case, "NCCL_ALGO")
    assert (told.value, told.source) == (right, where)
    assert own.read("environment.NCCL_ALGO").value == right


def test_such_a_file_sets_nothing_of_other_libraries() -> None:
    own = of_recording(machine("UCX_TLS=tcp\nNCCL_CONF_FILE=/x\n"))
    assert variables.value(own.case, "UCX_TLS") is None
    assert variables.value(own.case, "NCCL_CONF_FILE") is None


def test_a_file_that_cannot_be_read_leaves_unset_variables_unknown() -> None:
    own = of_recording(bare(f"{SYSTEM} !denied"))
    assert variables.reading(own.case, "NCCL_ALGO").reason == "not-permitted"
    assert own.read("environment.NCCL_ALGO").reason == "not-permitted"


def test_amds_accelerators_go_by_rccls_files() -> None:
    files = ("/etc/rccl.conf=NCCL_ALGO=Ring\n", f"{SYSTEM}=NCCL_ALGO=Tree\n")
    for name, right in (("amd-mi300x-spx", "Ring"), ("nvidia-hgx-h100-healthy", "Tree")):
        assert variables.value(of_recording(variant(name, *files)).case, "NCCL_ALGO") == right


def raylet(**more: Any) -> tuple[str, Any]:
    one = {"pid": 7, "started": 1, "limits": {}, "environment": {}, "arguments": {}, "plasma": None, "versions": None}
    table = {"processes": 1, "raylets": [{**one, **more}], "workers": [], "lock": None, "holders": [], "denied": 0}
    return "process processes", {**table, "late": 0, "stuck": [], "apart_seconds": 0.0}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([raylet(is_ours=False)], "Ray runs as another user"),
        ([raylet(environment={"NCCL_CONF_FILE": "/srv/n.conf"})], "names it for Ray, not for who asked"),
        ([raylet(), users("NCCL_ALGO=Ring\n", "/srv/n.conf")], "for who asked, not for Ray"),
    ],
)
def test_the_users_file_of_another_than_rays_is_not_taken_for_it(changes: list[Any], why: str) -> None:
    made = planned(bare(*changes), SETS)
    (user, _) = made.variable_files
    assert user.status == "unknown"
    assert why in user.message
    assert " ".join(f"is not known: {user.message}".split()) in " ".join(text(made).split())


def test_a_plan_says_what_wins_and_which_line_an_operator_has_to_remove() -> None:
    files = "NCCL_SOCKET_IFNAME=^docker0,lo\nNCCL_PROTO=simple\nNCCL_ALGO=Tree\n"
    made = planned(machine(files, "NCCL_ALGO=Ring\n", {"NCCL_PROTO": "simple"}), SETS)
    assert made.status == READY
    by_name = {one.name: one.set_in for one in made.settings if one.set_in}
    told = {name: [(one.where, one.value, one.wins, one.stays) for one in places_] for name, places_ in by_name.items()}
    assert told == {
        "NCCL_SOCKET_IFNAME": [(SYSTEM, "^docker0,lo", True, False)],
        "NCCL_PROTO": [("environ(7)", "simple", True, False), (SYSTEM, "simple", False, True)],
        "NCCL_ALGO": [(USER, "Ring", True, True), (SYSTEM, "Tree", False, False)],
    }
    shown = " ".join(text(made).split())
    assert "! NCCL_PROTO stays simple: the recipe takes it from the environment alone, and /etc/nccl.conf" in shown
    assert "remove its line NCCL_PROTO=simple" in shown
    assert "+ NCCL_SOCKET_IFNAME=ens5" in shown
    assert "wins over ^docker0,lo in /etc/nccl.conf" in shown
    assert "NCCL_ALGO=Ring set in ~/.nccl.conf, and stays; wins over Tree in /etc/nccl.conf" in shown
    assert "The environment counts first, then ~/.nccl.conf (1 variable), then /etc/nccl.conf (3 variables)" in shown


def test_a_value_that_the_recipe_does_not_mean_may_stay_in_a_file() -> None:
    made = planned(machine("NCCL_PROTO=LL128\n"), SETS)
    assert setting(made, "NCCL_PROTO").status == KEPT
    assert "NCCL_PROTO stays" not in text(made)
    assert planned(machine(), SETS).variable_files
    assert "counts first" not in text(planned(machine(), SETS))


def test_a_file_that_cannot_be_read_is_told_and_stops_nothing() -> None:
    made = planned(bare(f"{SYSTEM} !denied"), SETS)
    assert made.status == READY
    assert "? which variables /etc/nccl.conf sets is not known: Permission denied" in text(made)


def verified(made: Plan, facts: Facts, contents: dict[str, str] | None) -> dict[str, tuple[str, list[Any]]]:
    told = places.settings(made, places.Seen(contents, facts))
    return {one.name: (one.status, [(at.where, at.value, at.status) for at in one.places]) for one in told}


def test_a_report_holds_the_files_against_the_recipe() -> None:
    files = "NCCL_SOCKET_IFNAME=^docker0,lo\nNCCL_PROTO=simple\n"
    own = machine(files, None, {"NCCL_SOCKET_IFNAME": "ens5"})
    made, facts = planned(own, SETS), of_recording(own).case.facts
    told = verified(made, facts, None)
    assert told["NCCL_SOCKET_IFNAME"] == (
        SAME,
        [("environ(7)", "ens5", SAME), (SYSTEM, "^docker0,lo", OVERRIDDEN)],
    )
    assert told["NCCL_PROTO"] == (DIFFERS, [(SYSTEM, "simple", DIFFERS)])
    bare_ = machine(files)
    told = verified(planned(bare_, SETS), of_recording(bare_).case.facts, None)
    assert told["NCCL_SOCKET_IFNAME"] == (DIFFERS, [(SYSTEM, "^docker0,lo", DIFFERS)])
    hidden = bare(f"{SYSTEM} !denied")
    told = verified(planned(hidden, SETS), of_recording(hidden).case.facts, None)
    assert told["NCCL_PROTO"] == (UNKNOWN, [(SYSTEM, None, UNKNOWN)])


def test_checks_of_variables_see_the_files() -> None:
    (one,) = findings_of("lib.bad-env", variant("nvidia-hgx-h100-healthy", f"{SYSTEM}=NCCL_IB_DISABLE=1\n"))
    assert one.status == "warn"
    assert SYSTEM in json.dumps([piece.source for piece in one.evidence])


def test_a_machine_of_text_has_no_such_file() -> None:
    read = of_recording(recordings.recording("none-cpu-server")).case.facts.library_files["nccl"]
    assert [one.reason for one in read] == ["not-present", "not-present"]


@pytest.mark.parametrize("width", [80, 120, 200])
def test_what_such_a_file_holds_never_acts(width: int) -> None:
    files = "NCCL_ALGO=\x1b]0;x\x07[bold]\nNCCL_SOCKET_IFNAME=^do\u202ecker\x1b[31m\nNCCL_PROTO=simple\n"
    made = planned(machine(files), SETS)
    document = PlanDocument(PLAN, "1", "2026-12-01T00:00:00Z", (made,))
    for shown in (to_text(text_recipe_plan.plans(document, width, unicode=False)), codec.encode(document)):
        assert "[bold]" in shown
        assert not {"\x1b", "\x07", "\u202e"}.intersection(shown)
        assert "\\u001b" not in shown
    for line in to_text(text_recipe_plan.plans(document, width)).splitlines():
        assert display_width(line) <= width or line.startswith(("+", "    ", "then"))
