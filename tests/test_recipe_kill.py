"""`raxl recipe apply` and `rollback` ended at any moment: killed, on a full disk, not permitted, two at once. What is
in force then is what was or what is new, never something between; nothing else is touched; and the next one tidies
up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import recipe_faults
from raxl.recipe import generations, writing
from recipe_roots import FIRST, SECOND, Entry, applied, in_force, listing, rolled_back

TESTS = Path(__file__).parent
THIRD = {"a.env": "export A=3\n", "labels.yaml": "raxl/scale-up: none\n", "kuberay-patch.yaml": "{}\n"}
Place = Callable[[Path], None]


def nothing(root: Path) -> None:
    """No root, and no folder above it."""


def empty(root: Path) -> None:
    root.mkdir(parents=True)


def foreign(root: Path) -> None:
    (root / "notes" / "deep").mkdir(parents=True, mode=0o750)
    (root / "notes" / "plan.txt").write_text("mine\n")
    (root / "link").symlink_to("notes/plan.txt")
    (root / "a.env").write_text("not in force\n")


def earlier(root: Path) -> None:
    foreign(root)
    applied(root, FIRST)


def two_earlier(root: Path) -> None:
    applied(root, FIRST)
    applied(root, SECOND)


def edited(root: Path) -> None:
    two_earlier(root)
    (root / "current" / "a.env").write_text("by hand\n")


PLACES = {place.__name__: place for place in (nothing, empty, foreign, earlier, two_earlier)}
APPLIED = {name: place for name, place in PLACES.items() if name in ("earlier", "two_earlier")}


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory: nothing that is tested here depends on the disk, and thousands of them are written."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


CHILDREN = (sys.executable, str(TESTS / "recipe_faults.py"))


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])}


def asked(order: Mapping[str, Any], *before: str) -> list[dict[str, Any]]:
    """What the children of `recipe_faults` said."""
    told = json.dumps(order)
    done = subprocess.run(
        [*before, *CHILDREN], input=told, capture_output=True, text=True, env=environment(), timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def every_moment(folder: Path, place: Place, order: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Entry], str]]:
    """Each root in which something happened at one call or another, what lay there before, and what was said; from the
    first call to the last, and at last one in which nothing happened."""
    whole = folder / "whole" / "above" / "root"
    own(whole).mkdir()
    place(whole)
    (done,) = asked({**order, "cases": [[str(whole), 0]]})
    assert done["said"] == "done"
    roots, before = [], []
    for number in range(1, len(done["calls"]) + 2):
        root = folder / str(number) / "above" / "root"
        own(root).mkdir()
        place(root)
        roots.append(root)
        before.append(listing(folder / str(number)))
    answers = asked({**order, "cases": [[str(root), number] for number, root in enumerate(roots, 1)]})
    assert answers[-1]["said"] == "done"
    assert [one["said"] for one in answers[:-1]].count("done") < len(answers) // 2
    for root, was, answer in zip(roots, before, answers):
        assert not answer["said"].startswith("raised"), answer["said"]
        yield root, was, answer["said"]


def without(entries: Mapping[str, Entry], *names: str) -> dict[str, Entry]:
    return {path: entry for path, entry in entries.items() if not path.endswith(names)}


def own(root: Path) -> Path:
    """The folder of one case."""
    return root.parent.parent


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_an_apply_that_is_killed_leaves_the_old_or_the_new_in_force(folder: Path, place: Place) -> None:
    new = []
    for root, before, _ in every_moment(folder, place, {"do": "apply", "files": THIRD, "fault": "kill"}):
        found = generations.state(root)
        assert not found.edited
        old = dict(FIRST if place is earlier else SECOND if place is two_earlier else {})
        assert found.contents in (old, THIRD)
        new.append(found.contents == THIRD)

        applied(root, THIRD)
        assert in_force(root) == THIRD
        assert generations.state(root).leftovers == ()
        rolled_back(root)
        assert in_force(root) == old
        after = listing(own(root))
        if place is nothing:  # folders that the killed one made are nobody's, and empty
            assert set(after) - set(before) <= {"above", "above/root"}
        else:
            assert after == before
    assert new == sorted(new)
    assert not new[0]
    assert new[-1]


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("force", [False, True], ids=["", "edited"])
def test_a_rollback_that_is_killed_leaves_the_new_or_the_old_in_force(folder: Path, place: Place, force: bool) -> None:
    was: dict[Path, dict[str, Entry]] = {}

    def prepared(root: Path) -> None:
        place(root)
        was[root] = listing(own(root))
        applied(root, THIRD)
        if force:
            (root / "current" / "a.env").write_text("by hand\n")

    old = dict(FIRST if place is earlier else SECOND if place is two_earlier else {})
    new = {**THIRD, "a.env": "by hand\n"} if force else THIRD
    taken = []
    for root, _, _ in every_moment(folder, prepared, {"do": "rollback", "force": force, "fault": "kill"}):
        found = in_force(root)
        assert found in (old, new)
        taken.append(found == old)
        if found == new:
            rolled_back(root, force)
        elif old:
            applied(root, old)  # nothing to change; and it tidies up
        else:
            rolled_back(root)
        state = generations.state(root)
        assert state.contents == old
        assert state.leftovers == ()
        after = listing(own(root))
        for path in state.foreign:  # killed before it removed what was edited: without --force nobody does
            if path.startswith("generations/"):
                assert force
                kept = [name for name in after if path in name or name == "above/root/generations"]
                assert f"above/root/{path}/a.env" in kept
                after = {name: entry for name, entry in after.items() if name not in kept or name in was[root]}
        if place is nothing:  # the receipt is gone, and with it the knowledge whose the empty folders are
            assert set(after) - set(was[root]) <= {"above", "above/root"}
        else:
            assert after == was[root]
    assert taken == sorted(taken)
    assert not taken[0]
    assert taken[-1]


@pytest.mark.parametrize("fault", ["once", "on"])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_an_apply_in_which_a_call_fails_says_so_in_one_line_and_changes_nothing(
    folder: Path, place: Place, fault: str
) -> None:
    old = dict(FIRST if place is earlier else SECOND if place is two_earlier else {})
    for root, before, said in every_moment(folder, place, {"do": "apply", "files": THIRD, "fault": fault}):
        assert "\n" not in said
        found = in_force(root)
        if said == "done" or "the disk does not confirm it" in said:
            assert found == THIRD
        else:
            assert found == old
            assert "No space left on device" in said
            after = without(listing(own(root)), "/.lock")
            if fault == "once" and place is not nothing:
                assert tidied(after) == tidied(before)
        applied(root, THIRD)
        rolled_back(root)
        after = listing(own(root))
        assert after == before or (place is nothing and set(after) - set(before) <= {"above", "above/root"})


def tidied(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Without what the next one sweeps."""
    return {path: entry for path, entry in entries.items() if ".staged-" not in path}


@pytest.mark.parametrize("fault", ["once", "on"])
@pytest.mark.parametrize("place", [earlier, two_earlier], ids=["earlier", "two_earlier"])
def test_a_rollback_in_which_a_call_fails_is_done_or_not(folder: Path, place: Place, fault: str) -> None:
    was: dict[Path, dict[str, Entry]] = {}

    def prepared(root: Path) -> None:
        place(root)
        was[root] = listing(own(root))
        applied(root, THIRD)

    old = dict(FIRST if place is earlier else SECOND)
    for root, before, said in every_moment(folder, prepared, {"do": "rollback", "fault": fault}):
        found = in_force(root)
        assert found in (old, THIRD)
        if found == THIRD:
            assert "No space left on device" in said
            assert tidied(without(listing(own(root)), "/.lock")) == before
            rolled_back(root)
        else:
            assert said == "done" or "the disk does not confirm it" in said
            applied(root, old)
        assert in_force(root) == old
        assert listing(own(root)) == was[root]


def test_everything_is_on_the_disk_before_it_is_in_force(folder: Path) -> None:
    root = folder / "above" / "root"
    (answer,) = asked({"do": "apply", "files": FIRST, "fault": "kill", "cases": [[str(root), 0]]})
    calls = [call.split() for call in answer["calls"]]
    synced = [call[1].removeprefix(f"{folder}/") for call in calls if call[0] == "raxl.fsync"]
    at = [place for place, call in enumerate(calls) if call[0] == "os.rename"]
    made, switched = at
    assert calls[made][1].startswith(".staged-")
    assert calls[switched][2] == "current"
    staged, name = calls[made][1], calls[made][2]
    whole = [f"above/root/generations/{staged}{path}" for path in ("/a.env", "/ray-start.args", "/receipt.json", "")]
    order = [*whole, "above/root/generations", "above/root", "above/root"]
    assert [one for one in synced if one.startswith("above/root")] == order
    before = [call[1] for call in calls[:made] if call[0] == "raxl.fsync"]
    assert [str(folder / path) for path in whole] == before[-4:]
    between = [call[1] for call in calls[made:switched] if call[0] == "raxl.fsync"]
    assert between == [str(root / "generations"), str(root)]
    assert [call[1] for call in calls[switched:] if call[0] == "raxl.fsync"] == [str(root)]
    # The folders that were made for it are known to the ones above them.
    assert synced[:2] == [str(folder), "above"]
    assert name == generations.state(root).generation


@pytest.mark.parametrize("children", [2, 8])
@pytest.mark.parametrize("place", [nothing, empty, two_earlier], ids=["nothing", "empty", "two_earlier"])
def test_of_applies_at_the_same_time_one_wins_and_the_others_say_so(folder: Path, place: Place, children: int) -> None:
    won = []
    for turn in range(12):
        root = folder / str(turn) / "above" / "root"
        own(root).mkdir()
        place(root)
        before = listing(own(root))
        answers = asked({"do": "race", "cases": [[str(root), number] for number in range(children)]})
        said = [answer["said"] for answer in answers]
        assert said.count("done") == 1, said
        winner = said.index("done")
        won.append(winner)
        assert in_force(root) == recipe_faults.racing(winner)
        for other in {*said} - {"done"}:
            assert other.startswith("RecipeError: ")
            assert "another raxl recipe writes" in other or "has changed since the plan" in other
        assert generations.state(root).leftovers == ()
        rolled_back(root)
        after = listing(own(root))
        assert after == before or (place is nothing and set(after) - set(before) <= {"above", "above/root"})


LATE = """
import sys
from pathlib import Path

from raxl.errors import RaxlError
from raxl.recipe import writing

paused = []


def hook(event, arguments):
    if event == "fcntl.flock" and not paused:
        paused.append(event)
        print("opened", flush=True)
        sys.stdin.readline()


sys.addaudithook(hook)
try:
    with writing.locked(Path(sys.argv[1])):
        print("holds it")
except RaxlError as error:
    print(error)
"""


def test_who_opened_a_lock_that_was_let_go_since_holds_nothing(folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LATE, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as late:
        assert late.stdin is not None
        assert late.stdout is not None
        assert late.stdout.readline() == "opened\n"
        # Its file becomes another's, who removes it; then somebody else makes a new one.
        with writing.locked(folder):
            pass
        with writing.locked(folder):
            late.stdin.write("\n")
            late.stdin.close()
            assert late.stdout.read().startswith("another raxl recipe writes")
    assert list(folder.iterdir()) == []


def test_who_reads_while_others_write_sees_one_state_or_another(folder: Path) -> None:
    root = folder / "root"
    applied(root, FIRST)
    order = {"do": "toggle", "files": SECOND, "cases": [[str(root), 300]]}
    seen = set()
    with subprocess.Popen(CHILDREN, stdin=subprocess.PIPE, text=True, env=environment()) as writer:
        assert writer.stdin is not None
        json.dump(order, writer.stdin)
        writer.stdin.close()
        while writer.poll() is None:
            state = generations.state(root)
            assert state.contents in (FIRST, SECOND)
            assert not state.edited
            seen.add(state.generation)
    assert writer.returncode == 0
    assert len(seen) == 2
    assert in_force(root) == FIRST


NAMESPACE = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--mount", "--map-root-user")


def mounted(script: str) -> tuple[str, ...]:
    """A shell that mounts something in a namespace of its own, and then is the program that comes after."""
    return (*NAMESPACE, "sh", "-ec", f'{script}\nexec "$@"', "sh")


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return not subprocess.run(
        [*mounted("mount -t tmpfs none /mnt"), "true"], capture_output=True, check=False
    ).returncode


needs_mounts = pytest.mark.skipif(not can_mount(), reason="no file systems can be mounted here (unshare --mount)")


@needs_mounts
@pytest.mark.parametrize("limit", ["nr_inodes", "size"])
@pytest.mark.parametrize("place", ["nothing", "earlier"])
def test_on_a_disk_that_is_full_nothing_is_changed(folder: Path, place: str, limit: str) -> None:
    """A file system for each number of files, or of pages, that may be left: from none to more than are needed."""
    sizes = [f"{number}" for number in range(2, 16)] if limit == "nr_inodes" else [f"{4 * n}k" for n in range(1, 24)]
    files = {f"{name}.yaml": name * 9000 for name in "abc"}
    roots = [str(folder / size / "root") for size in sizes]
    for root in roots:
        Path(root).parent.mkdir()
        if place == "earlier":
            applied(Path(root), FIRST)
    script = "".join(
        f"cp -a {folder}/{size} {folder}/kept-{size}; mount -t tmpfs -o {limit}={size} none {folder}/{size}\n"
        f"cp -a {folder}/kept-{size}/. {folder}/{size}/ 2>/dev/null || touch {folder}/kept-{size}/failed\n"
        for size in sizes
    )
    order = {"do": "apply", "files": files, "fault": "kill", "list": True, "cases": [[root, 0] for root in roots]}
    answers = asked(order, *mounted(script))
    told = []
    for root, size, answer in zip(roots, sizes, answers):
        if (folder / f"kept-{size}" / "failed").exists():
            continue  # not even what was there before has room
        told.append(answer["said"])
        found = {path: entry[:4] for path, entry in answer["listing"].items()}
        before = {path: list(entry[:4]) for path, entry in listing(Path(root)).items()}
        if answer["said"] == "done":
            assert "current" in found
            assert found.get("current") != before.get("current")
        else:
            assert answer["said"].startswith("CannotStart: "), answer["said"]
            assert "No space left on device" in answer["said"]
            assert "Nothing was changed" in answer["said"]
            assert found == before
    assert told[-1] == "done"
    assert len(told) - told.count("done") > 3
    assert told == sorted(told, key=lambda one: one == "done")


@needs_mounts
@pytest.mark.parametrize("do", ["apply", "rollback"])
def test_a_root_that_cannot_be_written_is_said_in_one_line(folder: Path, do: str) -> None:
    root = folder / "mount" / "root"
    applied(root, FIRST)
    script = f"mount --bind {root.parent} {root.parent}; mount -o remount,bind,ro {root.parent}"
    before = listing(folder)
    order = {"do": do, "files": SECOND, "fault": "kill", "cases": [[str(root), 0], [str(root.parent / "new"), 0]]}
    here, new = asked(order, *mounted(script))
    wanted = f"CannotStart: {root} cannot be written (.lock: Read-only file system). Nothing was changed"
    assert here["said"] == wanted
    if do == "apply":
        wanted = (
            f"CannotStart: {root.parent / 'new'} cannot be written (new: Read-only file system). Nothing was changed"
        )
        assert new["said"] == wanted
    assert listing(folder) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("do", ["apply", "rollback"])
def test_who_may_not_write_or_read_is_told_so_in_one_line(folder: Path, do: str) -> None:
    folder.chmod(0o755)
    private, open_ = folder / "private", folder / "open"
    applied(private, FIRST)
    applied(open_, FIRST)
    for path in (open_, *open_.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    before = listing(folder)
    cases = [[str(one), 0] for one in (private, open_, folder / "new")]
    order = {"do": do, "files": SECOND, "fault": "kill", "uid": 65534, "cases": cases}
    answers = [one["said"] for one in asked(order)]
    assert answers[0] == f"UnreadableInput: {private} cannot be read (.: Permission denied)"
    assert answers[1] == f"CannotStart: {open_} cannot be written (.lock: Permission denied). Nothing was changed"
    if do == "apply":
        new = folder / "new"
        assert answers[2] == f"CannotStart: {new} cannot be written (new: Permission denied). Nothing was changed"
    assert listing(folder) == before
