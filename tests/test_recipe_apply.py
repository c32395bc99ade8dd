"""`raxl recipe apply` and `rollback`: what they leave, to the byte, and what they refuse."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from raxl.errors import CannotStart, NotDecided, RaxlError, RecipeError
from raxl.model import codec
from raxl.model.plan import BLOCKED, EDITED, INCOMPLETE, NEEDS_CODE, NEW, PlannedFile, Setting
from raxl.model.receipt import Receipt
from raxl.recipe import apply, files, generations, rollback
from recipe_roots import CREATED, FIRST, SECOND, applied, in_force, listing, plan, rolled_back


def line_of(error: RaxlError) -> str:
    assert "\n" not in str(error)
    return str(error)


# What is there after each step


@pytest.mark.parametrize("start", ["no root", "empty", "foreign", "earlier", "three earlier"])
def test_apply_then_again_then_back_leaves_the_tree_as_it_was(tmp_path: Path, start: str) -> None:
    root = tmp_path / "above" / "more" / "root"
    if start != "no root":
        root.mkdir(parents=True)
        root.parent.chmod(0o755)
    if start == "foreign":
        (root / "notes").mkdir()
        (root / "notes" / "a.txt").write_text("mine")
        (root / "to-notes").symlink_to("notes")
    for turn in range({"earlier": 1, "three earlier": 3}.get(start, 0)):
        applied(root, {**FIRST, "turn.yaml": f"turn: {turn}\n"})
    before = listing(tmp_path)

    receipt = applied(root, SECOND)
    assert in_force(root) == SECOND
    after = listing(tmp_path)
    assert before.items() <= {**after, "above/more/root/current": before.get("above/more/root/current")}.items()
    for path, content in SECOND.items():
        assert (root / "current" / path).read_bytes() == content.encode()

    times = {path: os.lstat(tmp_path / path).st_mtime_ns for path in after}
    assert applied(root, SECOND) == receipt
    assert listing(tmp_path) == after
    assert {path: os.lstat(tmp_path / path).st_mtime_ns for path in after} == times

    assert rolled_back(root) == receipt
    assert listing(tmp_path) == before


def test_the_receipt_lists_what_was_written_with_what_was_there_before(tmp_path: Path) -> None:
    applied(tmp_path, FIRST)
    first = generations.state(tmp_path)
    receipt = applied(tmp_path, SECOND)
    assert receipt is not None
    assert receipt == codec.decode((tmp_path / "current" / "receipt.json").read_text(), Receipt)
    assert (receipt.schema, receipt.recipe, receipt.node) == ("raxl.receipt/v1", "r", "node")
    assert (receipt.applied, receipt.root, receipt.previous) == (CREATED, str(tmp_path), first.generation)
    assert receipt.made_folders == ()
    told = {one.path: (one.before_sha256, one.after_sha256, one.content) for one in receipt.files}
    a, args, labels = (generations.sha256(text.encode()) for text in (*FIRST.values(), SECOND["labels.yaml"]))
    assert told == {
        "a.env": (a, generations.sha256(SECOND["a.env"].encode()), SECOND["a.env"]),
        "labels.yaml": (None, labels, SECOND["labels.yaml"]),
        "ray-start.args": (args, None, None),
    }
    assert {(one.mode, one.owner, one.group) for one in receipt.files} == {(0o600, os.geteuid(), os.getegid())}


def test_files_are_their_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        applied(tmp_path / "above" / "root", FIRST)
    finally:
        os.umask(before)
    modes = {entry.mode for entry in listing(tmp_path / "above").values() if entry.kind == "file"}
    assert modes == {0o600}
    assert {entry.mode for entry in listing(tmp_path / "above").values() if entry.kind == "folder"} == {0o700}


def test_current_is_a_relative_link_so_a_root_can_be_moved(tmp_path: Path) -> None:
    applied(tmp_path / "old", FIRST)
    applied(tmp_path / "old", SECOND)
    (tmp_path / "old").rename(tmp_path / "new")
    assert in_force(tmp_path / "new") == SECOND
    rolled_back(tmp_path / "new")
    assert in_force(tmp_path / "new") == FIRST


def test_a_root_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    applied(tmp_path / "link" / "root", FIRST)
    assert in_force(tmp_path / "real" / "root") == FIRST
    rolled_back(tmp_path / "link" / "root")
    assert list((tmp_path / "real").iterdir()) == []


def test_rollback_goes_as_far_back_as_there_were_applies(tmp_path: Path) -> None:
    root = tmp_path / "root"
    listings = [listing(tmp_path)]
    for turn in range(5):
        applied(root, {"a.env": f"export A={turn}\n"})
        listings.append(listing(tmp_path))
    for before in reversed(listings[:-1]):
        rolled_back(root)
        assert listing(tmp_path) == before
    assert rolled_back(root) is None


def test_an_earlier_generation_that_is_gone_or_changed_is_not_gone_back_to(tmp_path: Path) -> None:
    applied(tmp_path, FIRST)
    first = generations.state(tmp_path).generation
    applied(tmp_path, SECOND)
    file = tmp_path / "generations" / str(first) / "a.env"
    file.write_text("later\n")
    before = listing(tmp_path)
    with pytest.raises(RecipeError, match="is not as it was left"):
        rolled_back(tmp_path)
    assert listing(tmp_path) == before
    shutil.rmtree(file.parent)
    before = listing(tmp_path)
    for force in (False, True):
        with pytest.raises(RecipeError, match="is not whole"):
            rolled_back(tmp_path, force)
    assert {**listing(tmp_path)} == before


def test_nothing_is_swept_where_the_way_back_is_broken(tmp_path: Path) -> None:
    for content in ("1", "2", "3"):
        applied(tmp_path, {"a.env": content})
    middle = generations.state(tmp_path).receipt.previous  # type: ignore[union-attr]
    shutil.rmtree(tmp_path / "generations" / str(middle))
    before = listing(tmp_path)
    applied(tmp_path, {"a.env": "4"})
    assert before.items() - {("current", before["current"])} <= listing(tmp_path).items()


def test_a_plan_that_sets_nothing_leaves_nothing(tmp_path: Path) -> None:
    state = generations.state(tmp_path)
    assert apply.applied(plan(state, {}, status="nothing-to-change"), state, CREATED) is None
    assert list(tmp_path.iterdir()) == []


# Edited by hand


def hand(root: Path, how: str) -> None:
    file = root / "current" / "a.env"
    if how == "changed":
        file.write_text("export A=by-hand\n")
    elif how == "removed":
        file.unlink()
    elif how == "no text":
        file.write_bytes(b"\xff\xfe\x00")
    elif how == "as planned":
        file.write_text(SECOND["a.env"])
    else:
        (root / "current" / "more.env").write_text("export B=1\n")


@pytest.mark.parametrize("how", ["changed", "removed", "added", "no text", "as planned"])
def test_what_was_edited_stops_apply_and_rollback_until_force(tmp_path: Path, how: str) -> None:
    applied(tmp_path, FIRST)
    hand(tmp_path, how)
    name = "more.env" if how == "added" else "a.env"
    assert generations.state(tmp_path).edited == (name,)
    before = listing(tmp_path)
    for act in (lambda: applied(tmp_path, SECOND), lambda: rolled_back(tmp_path)):
        with pytest.raises(RecipeError, match="--force") as raised:
            act()
        assert line_of(raised.value).startswith(f"{name} was changed by hand")
        assert listing(tmp_path) == before

    applied(tmp_path, SECOND, force=True)
    assert in_force(tmp_path) == SECOND
    assert generations.state(tmp_path).edited == ()
    rolled_back(tmp_path)  # by hand as it was
    assert listing(tmp_path) == before
    rolled_back(tmp_path, force=True)
    left = {"generations", *(path for path in before if path.endswith("more.env") or path.count("/") == 1)}
    assert set(listing(tmp_path)) - {"."} == (left - {p for p in left if "/receipt" in p} if how == "added" else set())


def test_an_edit_that_came_after_the_plan_stops_it(tmp_path: Path) -> None:
    applied(tmp_path, FIRST)
    state = generations.state(tmp_path)
    made = plan(state, SECOND)
    hand(tmp_path, "changed")
    before = listing(tmp_path)
    with pytest.raises(RecipeError, match="has changed since the plan was made"):
        apply.applied(made, state, CREATED)
    with pytest.raises(RecipeError, match="something else was in force"):
        apply.applied(made, generations.state(tmp_path), CREATED, force=True)
    with pytest.raises(RecipeError, match="has changed meanwhile"):
        rollback.rolled_back(state)
    assert listing(tmp_path) == before


def test_what_somebody_edited_is_not_swept_where_current_was_removed(tmp_path: Path) -> None:
    applied(tmp_path, FIRST)
    name = generations.state(tmp_path).generation
    hand(tmp_path, "changed")
    (tmp_path / "current").unlink()
    assert generations.state(tmp_path).foreign == (f"generations/{name}",)
    applied(tmp_path, SECOND)
    assert rolled_back(tmp_path) is not None
    assert rolled_back(tmp_path) is None
    assert (tmp_path / "generations" / str(name) / "a.env").read_text() == "export A=by-hand\n"


# What a plan says of itself


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [(BLOCKED, RecipeError, 1), (INCOMPLETE, NotDecided, 3), (EDITED, RecipeError, 1), (NEEDS_CODE, RecipeError, 1)],
)
def test_a_plan_that_may_not_be_applied_is_not(tmp_path: Path, status: str, kind: type[RecipeError], code: int) -> None:
    root = tmp_path / "root"
    state = generations.state(root)
    with pytest.raises(kind) as raised:
        apply.applied(plan(state, FIRST, status=status), state, CREATED)
    assert raised.value.exit_code == code
    line_of(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_what_loads_code_is_applied_only_where_that_is_allowed(tmp_path: Path) -> None:
    state = generations.state(tmp_path)
    made = plan(state, FIRST)
    made = replace(made, settings=(Setting("env", "LD_PRELOAD", "x.so", NEW, "recipe", loads_code=True),))
    with pytest.raises(RecipeError, match=r"LD_PRELOAD can load code.*--allow-code"):
        apply.applied(made, state, CREATED)
    assert list(tmp_path.iterdir()) == []
    apply.applied(made, state, CREATED, allow_code=True)
    assert in_force(tmp_path) == FIRST


def test_another_recipe_in_force_is_not_replaced(tmp_path: Path) -> None:
    applied(tmp_path, FIRST)
    before = listing(tmp_path)
    state = generations.state(tmp_path)
    with pytest.raises(RecipeError, match=f"r is in force below .*rollback --root {tmp_path}"):
        apply.applied(plan(state, SECOND, recipe="other"), state, CREATED)
    assert listing(tmp_path) == before


def test_a_plan_for_another_root_is_not_applied_here(tmp_path: Path) -> None:
    state = generations.state(tmp_path / "a")
    with pytest.raises(RecipeError, match="something else was in force"):
        apply.applied(plan(generations.state(tmp_path / "b"), FIRST), state, CREATED)
    assert list(tmp_path.iterdir()) == []


# What lies where raxl has its own


def put_link(path: Path, kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    path.rename(kept)
    path.symlink_to(kept)


def put_pipe(path: Path, kept: Path) -> None:
    path.rename(kept)
    os.mkfifo(path)


def put_folder(path: Path, kept: Path) -> None:
    path.rename(kept)
    path.mkdir()


def put_file(path: Path, kept: Path) -> None:
    path.rename(kept)
    path.write_text("mine")


def put_socket(path: Path, kept: Path) -> None:
    path.rename(kept)
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


PUT = {"link": put_link, "pipe": put_pipe, "folder": put_folder, "file": put_file, "socket": put_socket}


@pytest.mark.parametrize(
    "where", ["generations", "generations/ID", "generations/ID/a.env", "generations/ID/receipt.json"]
)
@pytest.mark.parametrize("what", PUT)
def test_something_else_at_any_level_is_refused_and_left(tmp_path: Path, where: str, what: str) -> None:
    root = tmp_path / "root"
    applied(root, FIRST)
    path = root / where.replace("ID", str(generations.state(root).generation))
    kind = "folder" if path.is_dir() else "file"
    PUT[what](path, tmp_path / "kept")
    if what == kind:
        return  # as raxl has it: other content is an edit
    before = listing(tmp_path)
    for act in (applied, lambda root, _, force: rolled_back(root, force)):
        for force in (False, True):
            with pytest.raises(RaxlError) as raised:
                act(root, SECOND, force)
            assert line_of(raised.value).startswith(f"{path} is a")
            assert listing(tmp_path) == before


@pytest.mark.parametrize(
    "target",
    [
        "/etc",
        "../outside",
        "generations",
        "generations/../../outside",
        "generations/0123456789abcdef/",
        "generations/0123456789ABCDEF",
        "./generations/0123456789abcdef",
        "generations/0123456789abcdef\n",
        "",
    ],
)
def test_a_current_that_leads_elsewhere_is_refused_and_left(tmp_path: Path, target: str) -> None:
    root = tmp_path / "root"
    applied(root, FIRST)
    (root / "current").unlink()
    if target:
        (root / "current").symlink_to(target)
    else:
        (root / "current").mkdir()
    before = listing(tmp_path)
    for act in (applied, lambda root, _, force: rolled_back(root, force)):
        with pytest.raises(RecipeError) as raised:
            act(root, SECOND, True)
        assert line_of(raised.value).startswith(f"{root / 'current'} is ")
        assert listing(tmp_path) == before


def test_a_current_whose_generation_is_gone_is_refused(tmp_path: Path) -> None:
    applied(tmp_path, FIRST)
    shutil.rmtree(tmp_path / "generations")
    before = listing(tmp_path)
    with pytest.raises(RecipeError, match="is not whole"):
        applied(tmp_path, SECOND, force=True)
    assert listing(tmp_path) == before


@pytest.mark.parametrize("edit", [str.upper, lambda text: text.replace("export A=1", "export A=2"), lambda text: ""])
def test_a_receipt_that_was_edited_is_refused(tmp_path: Path, edit: Callable[[str], str]) -> None:
    applied(tmp_path, FIRST)
    file = tmp_path / "current" / "receipt.json"
    file.write_text(edit(file.read_text()))
    before = listing(tmp_path)
    for act in (applied, lambda root, _, force: rolled_back(root, force)):
        for force in (False, True):
            with pytest.raises(RecipeError, match=r"receipt\.json was edited"):
                act(tmp_path, SECOND, force)
            assert listing(tmp_path) == before


def forged(root: Path, text: str) -> None:
    """A generation whose receipt, whatever it says, fits its folder."""
    name = generations.identity(text.encode())
    folder = root / "generations" / name
    folder.mkdir(parents=True)
    (folder / "receipt.json").write_text(text)
    (root / "current").symlink_to(f"generations/{name}")


@pytest.mark.parametrize("path", ["../../../outside", "/etc/passwd", "..", ".", "", "a/b", "receipt.json", "a\0b"])
def test_a_receipt_that_lists_what_lies_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    (tmp_path / "outside").write_text("mine")
    receipt = applied(root, FIRST)
    assert receipt is not None
    rolled_back(root)
    forged(root, codec.encode(replace(receipt, files=(replace(receipt.files[0], path=path),))))
    before = listing(tmp_path)
    for act in (applied, lambda root, _, force: rolled_back(root, force)):
        with pytest.raises(RecipeError, match="is no receipt"):
            act(root, SECOND, True)
        assert listing(tmp_path) == before


def test_a_receipt_that_claims_folders_has_none_removed_but_those_above_its_root(tmp_path: Path) -> None:
    root = tmp_path / "above" / "root"
    (tmp_path / "empty").mkdir()
    receipt = applied(root, FIRST)
    assert receipt is not None
    rolled_back(root)
    claimed = (str(tmp_path / "empty"), "../../empty", "/", str(tmp_path))
    forged(root, codec.encode(replace(receipt, made_folders=claimed, files=())))
    rolled_back(root)
    assert (tmp_path / "empty").is_dir()
    assert (tmp_path / "above" / "root").is_dir()


@pytest.mark.parametrize("lock", ["content", "link", "pipe", "folder"])
def test_a_lock_that_is_not_raxls_is_left(tmp_path: Path, lock: str) -> None:
    root = tmp_path / "root"
    applied(root, FIRST)
    (tmp_path / "target").write_text("mine")
    path = root / ".lock"
    {
        "content": lambda: path.write_text("mine"),
        "link": lambda: path.symlink_to(tmp_path / "target"),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
    }[lock]()
    before = listing(tmp_path)
    for act in (lambda: applied(root, SECOND), lambda: rolled_back(root)):
        with pytest.raises((RecipeError, CannotStart)) as raised:
            act()
        assert ".lock" in line_of(raised.value)
        assert listing(tmp_path) == before


def test_what_is_not_raxls_stays_and_is_told_by_name(tmp_path: Path) -> None:
    root = tmp_path / "root"
    applied(root, FIRST)
    for path in ("notes.txt", "generations/notes.txt", ".staged-notes"):
        (root / path).write_text("mine")
    (root / "generations" / "fedcba9876543210").mkdir()
    (root / "generations" / "fedcba9876543210" / "notes.txt").write_text("mine")
    foreign = ("generations/fedcba9876543210", "generations/notes.txt", "notes.txt", ".staged-notes")
    assert set(generations.state(root).foreign) == set(foreign)
    assert generations.state(root).leftovers == ()
    applied(root, SECOND)
    rolled_back(root)
    rolled_back(root)
    assert in_force(root) == {}
    assert {path for path, entry in listing(root).items() if entry.kind == "file"} == {
        "notes.txt",
        ".staged-notes",
        "generations/notes.txt",
        "generations/fedcba9876543210/notes.txt",
    }


@pytest.mark.parametrize("name", ["a", "a/b/c"])
def test_a_file_in_the_way_of_the_root_is_said_in_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").write_text("mine")
    before = listing(tmp_path)
    with pytest.raises(RaxlError, match="Not a directory") as raised:
        applied(tmp_path / name, FIRST)
    assert raised.value.exit_code == 4
    line_of(raised.value)
    assert listing(tmp_path) == before


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "\udcff", "/".join(["y" * 200] * 30)])
def test_a_root_that_no_folder_can_be_is_said_in_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(RaxlError) as raised:
        applied(tmp_path / name, FIRST)
    line_of(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_grew_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    applied(tmp_path, FIRST)
    os.truncate(tmp_path / "current" / "a.env", 1 << 40)
    with pytest.raises(RecipeError, match="is larger than"):
        generations.state(tmp_path)


# Whatever a plan holds


NAMES = st.one_of(
    st.text(max_size=20),
    st.text(st.sampled_from("./\\\0~ab-_ \n"), max_size=12),
    st.sampled_from(["..", ".", "", "../x", "/etc/x", "a/../../x", "receipt.json", ".lock", "a" * 300, "é", "x\0"]),
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
)


@settings(max_examples=150)
@given(name=NAMES, content=st.text(max_size=40))
@example(name="a.env", content="\udcff")
@example(name="a.env", content="\r\n\x00\u2028")
def test_no_path_and_no_content_reaches_anything_outside(
    tmp_path_factory: pytest.TempPathFactory, name: str, content: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "x").write_text("mine")
    root = outside / "deep" / "root"
    before = listing(outside)
    state = generations.state(root)
    own = PlannedFile(name, NEW, content)
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", name, re.ASCII) and name != "receipt.json"
    made = replace(plan(state, FIRST), files=(own,))
    if plain and content.isascii() | (content.encode("utf-8", "ignore").decode() == content):
        apply.applied(made, state, CREATED)
        assert (root / "current" / name).read_bytes() == content.encode()
        assert generations.state(root).edited == ()
        rolled_back(root)
    else:
        with pytest.raises(RecipeError) as raised:
            apply.applied(made, state, CREATED)
        assert "Nothing was changed" in str(raised.value)
    assert listing(outside) == before


@settings(max_examples=60)
@given(
    steps=st.lists(
        st.one_of(
            st.dictionaries(st.sampled_from(["a.env", "b.yaml", "c.args"]), st.text(max_size=5), min_size=1),
            st.just(None),
        ),
        max_size=12,
    )
)
def test_any_walk_through_applies_and_rollbacks_ends_where_it_says(
    tmp_path_factory: pytest.TempPathFactory, steps: list[dict[str, str] | None]
) -> None:
    outside = tmp_path_factory.mktemp("walk")
    root = outside / "root"
    stack = [({}, listing(outside))]
    for step in steps:
        if step is None:
            if len(stack) > 1:
                stack.pop()
            rolled_back(root)
        elif step != stack[-1][0]:
            applied(root, step)
            stack.append((step, listing(outside)))
        else:
            applied(root, step)
        assert in_force(root) == stack[-1][0]
        assert listing(outside) == stack[-1][1]


# Nothing of it is executed


VALUES = st.text(
    st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co"]), max_size=40
) | st.sampled_from(
    [
        "$(touch X)",
        "`touch X`",
        "'; touch X; '",
        '"$HOME"',
        "a b",
        "\\",
        "!x",
        "~",
        "* ?",
        "#",
        "",
        "-n",
        "${IFS}",
        "%s",
    ]
)


@pytest.mark.parametrize("shell", ["bash", "dash"])
@settings(max_examples=40)
@given(values=st.lists(VALUES, min_size=1, max_size=8))
def test_a_shell_that_sources_the_file_has_the_values_and_does_nothing(
    tmp_path_factory: pytest.TempPathFactory, shell: str, values: list[str]
) -> None:
    program = shutil.which(shell)
    assert program is not None
    folder = tmp_path_factory.mktemp("sourced")
    root, here = folder / "root", folder / "here"
    here.mkdir()
    wanted = {f"NCCL_X{number}": value for number, value in enumerate(values) if value.isprintable()}
    told = [Setting("env", name, value, NEW, "recipe", why=f"why {value}") for name, value in wanted.items()]
    applied(root, files.texts("r", str(root), told, (), "") or {"r.env": ""})
    done = subprocess.run(
        [program, "-c", '. "$0" && env -0', str(root / "current" / "r.env")],
        cwd=here,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=True,
    )
    found = dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if "=" in entry)
    assert {name: value for name, value in found.items() if name.startswith("NCCL_X")} == wanted
    assert done.stderr == b""
    assert list(here.iterdir()) == []


def test_a_root_that_another_node_applied_to_is_not_taken_over_unasked(tmp_path: Path) -> None:
    """As where two nodes share a home."""
    applied(tmp_path, FIRST)
    state = generations.state(tmp_path)
    other = replace(plan(state, SECOND), node="gpu-08")
    with pytest.raises(RecipeError, match="and this is gpu-08"):
        apply.applied(other, state, "2026-12-01T00:00:00Z")
    assert generations.state(tmp_path) == state
    same = replace(plan(state, FIRST), node="gpu-08")
    assert apply.applied(same, state, "2026-12-01T00:00:00Z") == state.receipt
    assert apply.applied(other, state, "2026-12-01T00:00:00Z", force=True)
