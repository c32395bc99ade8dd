"""Many recordings at once give what each by itself gives, byte for byte."""

from __future__ import annotations

import gzip
import io
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clusters
import recordings
from clusters import Member
from raxl.collect import assemble, catalog_files, inputs, keeping, machines, many
from raxl.collect.alike import Alike
from raxl.errors import CannotStart, UnknownForm
from raxl.host import Answer, Question, archive, plain_archive
from raxl.host.record import Recording
from raxl.model import codec
from raxl.model.node import Node

VIEW = Question("ray", "node")
KEYS = st.builds(machines.Key, st.sampled_from([None, "a", "b", "c"]), st.sampled_from([None, "x", "y", "z"]))


def changed(known: Recording, seed: int, share: float) -> Recording:
    """The recording with some of its answers gone, refused, or of other digits."""
    chance = random.Random(seed)
    answers = dict(known.answers)
    for question in [one for one in answers if chance.random() < share]:
        answer, way = answers[question], chance.randrange(3)
        if way == 0:
            del answers[question]
        elif way == 1:
            answers[question] = Answer(None, "failed", "it did not answer")
        elif isinstance(answer.value, str):
            answers[question] = Answer(answer.value.translate(str.maketrans("123456789", "234567891")))
    return Recording(answers, name=f"{known.name}-{seed}", created=known.created, recorded_by=known.recorded_by)


@pytest.mark.parametrize("name", recordings.NAMES)
def test_what_alike_machines_share_is_what_each_has(name: str) -> None:
    alike, overlay = Alike(), catalog_files.overlay()
    known = recordings.recording(name)
    for seed, share in enumerate((0, 0.002, 0.01, 0.1, 0.002)):
        one = changed(known, seed, share)
        plain = assemble.node(one)
        shared = assemble.node(one, (), alike.steps(one), overlay)
        assert shared == plain
        assert codec.encode(shared) == codec.encode(plain)


def test_alike_machines_share_their_parts() -> None:
    alike, overlay = Alike(), catalog_files.overlay()
    known = recordings.recording("nvidia-hgx-h100")
    first, second = (assemble.node(one, (), alike.steps(one), overlay) for one in (known, changed(known, 1, 0)))
    assert first.links is second.links
    assert first.nics is second.nics


def test_a_folder_of_many_is_read_as_one_after_another(tmp_path: Path) -> None:
    for place, name in enumerate(recordings.NAMES):
        one = changed(recordings.recording(name), place, 0.01)
        (tmp_path / f"{place:02}-{name}.tar.gz").write_bytes(keeping.packed([one]))
    (tmp_path / "07-again.tar.gz").write_bytes(recordings.snapshot("nvidia-hgx-h100"))
    (tmp_path / "08-cut.tar.gz").write_bytes(recordings.snapshot("nvidia-l40s")[:3000])
    (tmp_path / "09-notes").write_text("nothing of raxl's\n")
    (tmp_path / "10-tool.txt").write_text("GPU 0: NVIDIA L4 (UUID: GPU-00000000-0000-0000-0000-000000000001)\n")
    at_once, plainly = many.inventory([str(tmp_path)]), assemble.inventory(inputs.opened([str(tmp_path)]))
    assert [node.name for node in at_once.nodes] == [node.name for node in plainly.nodes]
    assert len({node.name for node in at_once.nodes}) == len(at_once.nodes)
    for one, other in zip(at_once.nodes, plainly.nodes, strict=True):
        assert codec.encode(one) == codec.encode(other)


def test_two_hosts_of_one_name_stay_apart(tmp_path: Path) -> None:
    known = recordings.recording("nvidia-hgx-h100")
    for number in range(3):
        answers = {
            question: Answer(f"0000000{number}-0000-4000-8000-000000000000\n") if "boot_id" in question.subject else one
            for question, one in known.answers.items()
        }
        one = Recording(answers, name="gpu-07", created=known.created, recorded_by=known.recorded_by)
        (tmp_path / f"{number}.tar.gz").write_bytes(keeping.packed([one]))
    assert [node.name for node in many.inventory([str(tmp_path)]).nodes] == ["gpu-07", "gpu-07-2", "gpu-07-3"]


def test_a_path_that_is_given_twice_is_one_machine(tmp_path: Path) -> None:
    path = tmp_path / "gpu-07.tar.gz"
    path.write_bytes(recordings.snapshot("nvidia-hgx-h100"))
    once = codec.encode(many.inventory([str(path)]))
    assert codec.encode(many.inventory([str(path), str(path)])) == once
    assert codec.encode(many.inventory([str(tmp_path), str(path)])) == once


def test_standard_input_beside_a_file_of_the_same_machine_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = recordings.snapshot("nvidia-hgx-h100")
    path = tmp_path / "gpu-07.tar.gz"
    path.write_bytes(packed)
    for paths in (["-", str(path)], [str(path), "-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
        assert codec.encode(many.inventory(paths)) == codec.encode(many.inventory([str(path)]))


def test_the_nodes_of_a_cluster_that_was_recorded_twice_are_counted_once(tmp_path: Path) -> None:
    for name in ("monday", "tuesday"):
        (tmp_path / f"{name}.tar.gz").write_bytes(clusters.packed(clusters.OF_DOCUMENTATION))
    once = codec.encode(many.inventory([str(tmp_path / "monday.tar.gz")]))
    assert codec.encode(many.inventory([str(tmp_path)])) == once
    assert codec.encode(assemble.inventory(inputs.opened([str(tmp_path)]))) == once


@pytest.mark.parametrize("state", ["alive", "dead"])
def test_a_node_that_was_lost_in_both_recordings_of_its_cluster_says_so_once(tmp_path: Path, state: str) -> None:
    lost = Member("", "gpu-08", clusters.H100, lost=("failed", "dead: health check failed"), state=state)
    for name in ("monday", "tuesday"):
        (tmp_path / f"{name}.tar.gz").write_bytes(clusters.packed([*clusters.OF_DOCUMENTATION[:3], lost]))
    once = many.inventory([str(tmp_path / "monday.tar.gz")])
    for twice in (many.inventory([str(tmp_path)]), assemble.inventory(inputs.opened([str(tmp_path)]))):
        assert (twice.nodes, twice.cluster) == (once.nodes, once.cluster)


def test_a_node_that_has_left_since_stands_as_it_was(tmp_path: Path) -> None:
    whole, without = tmp_path / "a.tar.gz", tmp_path / "b.tar.gz"
    read = clusters.recorded(clusters.OF_DOCUMENTATION)
    whole.write_bytes(keeping.packed(read))
    views = [dict(one.answers[VIEW].value) for one in read]
    gone = next(place for place, view in enumerate(views) if view["name"] == "tray-05")
    view = {**views[gone], "state": "dead", "death": "EXPECTED_TERMINATION", "reason": "ray stop"}
    left = Recording({VIEW: Answer(view)}, name="tray-05", created=read[0].created, recorded_by=read[0].recorded_by)
    without.write_bytes(keeping.packed([*read[:gone], left, *read[gone + 1 :]]))
    assert len(many.inventory([str(without)]).nodes) == 5
    assert len(many.inventory([str(without), str(without)]).nodes) == 5
    for paths in ([str(whole), str(without)], [str(without), str(whole)]):
        at_once, plainly = many.inventory(paths), assemble.inventory(inputs.opened(paths))
        assert codec.encode(at_once) == codec.encode(plainly)
        assert at_once.nodes == many.inventory([str(whole)]).nodes


def test_a_folder_in_which_nothing_is_known_is_refused(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}").write_text("nothing of raxl's\n")
    with pytest.raises(UnknownForm):
        many.inventory([str(tmp_path)])


@given(st.lists(KEYS, max_size=9))
def test_recordings_of_one_machine_are_found_in_one_pass(keys: list[machines.Key]) -> None:
    found: list[tuple[list[int], machines.Key]] = []
    for place, (boot, host) in enumerate(keys):
        for number, (members, known) in enumerate(found):
            both = boot is not None and known.boot is not None
            if boot == known.boot if both else host is not None and host == known.host:
                members.append(place)
                found[number] = (members, machines.Key(known.boot or boot, known.host or host))
                break
        else:
            found.append(([place], machines.Key(boot, host)))
    assert [tuple(group) for group in machines.groups(keys)] == found


def test_a_plain_archive_is_read_as_any_other() -> None:
    for name in recordings.NAMES:
        packed = recordings.snapshot(name)
        quick = plain_archive.files(packed)
        assert quick is not None
        assert list(quick.items()) == list(_carefully(packed).items())


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_archive_is_read_as_carefully(data: st.DataObject) -> None:
    raw = bytearray(gzip.decompress(recordings.snapshot("none-cpu-server")))
    for _ in range(data.draw(st.integers(1, 3))):
        header = data.draw(st.integers(0, len(raw) // 512 - 1)) * 512
        raw[min(header + data.draw(st.integers(0, 300)), len(raw) - 1)] = data.draw(st.integers(0, 255))
    packed = gzip.compress(bytes(raw[: data.draw(st.sampled_from([len(raw), len(raw) - 512, len(raw) // 2]))]), 1)
    quick = plain_archive.files(packed)
    if quick is not None:
        assert quick == _carefully(packed)


def _carefully(packed: bytes) -> dict[str, bytes]:
    try:
        return {one.path: one.content for one in archive.entries(io.BytesIO(packed), "it") if one.kind == "file"}
    except CannotStart:
        return {}


def of_one_boot(tmp_path: Path, *names: str) -> list[str]:
    """Recordings of several machines that go by one boot and name."""
    own = [Question("text", f"/proc/sys/kernel/{name}") for name in ("random/boot_id", "hostname")]
    first = recordings.recording(names[0])
    paths = []
    for place, name in enumerate(names):
        known = recordings.recording(name)
        answers = {**known.answers, **{question: first.answers[question] for question in own}}
        one = Recording(answers, name="gpu-07", created=known.created, recorded_by=known.recorded_by)
        paths.append(str(tmp_path / f"{place}.tar.gz"))
        Path(paths[-1]).write_bytes(keeping.packed([one]))
    return paths


def contradictions(nodes: Sequence[Node]) -> list[list[str]]:
    return [[one.message for one in node.problems if one.reason == "disagreement"] for node in nodes]


def test_two_recordings_of_one_boot_that_tell_of_other_hardware_are_both_shown(tmp_path: Path) -> None:
    paths = of_one_boot(tmp_path, "nvidia-hgx-h100", "nvidia-gb200-tray")
    read = inputs.opened(paths)
    plainly = assemble.inventory(read)
    assert [(node.name, len(node.accelerators)) for node in plainly.nodes] == [("gpu-07", 8), ("gpu-07-2", 4)]
    words = "an accelerator at 0000:19:00.0, and none"
    told = [f"two recordings of one machine, by its name and boot, tell of other hardware: {words}"]
    assert contradictions(plainly.nodes) == [told, told]
    assert many.inventory(paths).nodes == plainly.nodes
    (tmp_path / "kept").write_bytes(keeping.packed(read))
    assert codec.encode(many.inventory([str(tmp_path / "kept")])) == codec.encode(plainly)


def test_another_board_in_the_same_place_is_other_hardware(tmp_path: Path) -> None:
    paths = of_one_boot(tmp_path, "nvidia-hgx-h100", "nvidia-hgx-h100")
    assert contradictions(many.inventory(paths).nodes) == [[]]
    other = (recordings.FOLDER / "nvidia-hgx-h100" / "machine.txt").read_text().replace("GPU-00000000", "GPU-0000000f")
    Path(paths[1]).write_bytes(keeping.packed([recordings.of_text(other)]))
    nodes = many.inventory(paths).nodes
    uuids = [f"GPU-0000000{end}-0000-4000-8000-000000000000" for end in "0f"]
    assert [node.accelerators[0].uuid for node in nodes] == uuids
    assert all(told[0].endswith(f"at 0000:19:00.0 UUID {uuids[0]}, and {uuids[1]}") for told in contradictions(nodes))


def test_where_all_are_said_to_be_one_machine_the_contradiction_is_told(tmp_path: Path) -> None:
    paths = of_one_boot(tmp_path, "nvidia-hgx-h100", "nvidia-gb200-tray")
    (node,) = assemble.inventory(inputs.opened(paths, "gpu-07")).nodes
    assert any("tell of other hardware" in words for words in contradictions([node])[0])
