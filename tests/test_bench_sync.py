"""`raxl bench-transport --pattern weight-sync`: a list of tensors from trainers to inference actors."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import process_ends
from local_bench import benches
from raxl.bench import casting, compare, models, tensor_list
from raxl.bench.request import Request
from raxl.bench.tensor_list import TensorList
from raxl.errors import UnreadableInput, UsageError
from raxl.model import measurement as m
from raxl.model.measurement import WEIGHT_SYNC, Bench, Endpoint, Run, Sync
from raxl.model.schemas import BENCH
from raxl.render.text_bench import bench as rendered
from raxl.transfer import EndFailed, EndLost, Transfer, sync, sync_sockets, tensor_bytes
from raxl.transfer.dealing import deal
from raxl.transfer.tensor_bytes import Part

needs_rdt = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("nixl") is None, reason="no torch or no nixl: pip install 'raxl[rdt,nixl]'"
)
SIZES = (700_000, 3, 8, 100_000, 23, 1 << 20, 24)
LIST = TensorList("few", SIZES)
NAMES = ["tcp", "object-store", *(pytest.param(name, marks=needs_rdt) for name in ("rdt-gloo", "rdt-nixl"))]


def request(*transports: str, actors: tuple[int, int] = (2, 2), **options: Any) -> Request:
    sizes = (sum(SIZES),)
    return Request(
        None, transports, pattern=WEIGHT_SYNC, tensors=LIST, actors=actors, sizes=sizes, budget_seconds=8, **options
    )


@pytest.fixture(scope="module")
def told() -> list[list[Run]]:
    """Two trainers and two readers; then one of each, at which a byte is turned."""
    rdt = ("rdt-gloo", "rdt-nixl") if find_spec("torch") and find_spec("nixl") else ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        return benches(
            request("tcp", "object-store", *rdt, "memcpy"),
            request("object-store", *rdt[:1], actors=(1, 1), is_damaged=True),
        )


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_comes_to_every_reader(told: list[list[Run]], name: str) -> None:
    run = next(run for run in told[0] if run.transport == name)
    assert run.verified, run.error
    assert run.status not in (m.CORRUPT, m.FAILED), run.error  # what others move over `lo` meanwhile may hide the path
    assert (run.pattern, run.size_bytes) == (WEIGHT_SYNC, sum(SIZES))
    assert run.sync is not None
    assert (run.sync.name, run.sync.tensors) == ("few", len(SIZES))
    assert (len(run.sync.trainers), len(run.sync.readers)) == (2, 2)
    assert run.sync.messages_seconds
    assert run.latency_seconds is not None
    assert run.samples >= 6
    assert run.iterations == 1 + run.warmup + run.samples
    assert (run.bandwidth_bytes_per_second is None) == (name == "object-store")
    assert (run.phases.publish is not None) == (name in ("object-store", "rdt-nixl"))
    assert run.destination == ("reused" if name in ("tcp", "rdt-nixl") else "fresh")


def test_others_move_no_lists(told: list[list[Run]]) -> None:
    run = next(run for run in told[0] if run.transport == "memcpy")
    assert (run.status, run.error) == ("unavailable", "it moves no lists of tensors")


def test_a_turned_byte_is_corrupt(told: list[list[Run]]) -> None:
    assert told[1]
    for run in told[1]:
        assert (run.status, run.verified, run.bandwidth_bytes_per_second) == ("corrupt", False, None)
        assert (run.error or "").startswith("of trainer 0, tensor 0: byte 350000 of 700000 is 0x")


def test_it_is_told_as_a_table(told: list[list[Run]]) -> None:
    document = Bench(BENCH, "0", "2026-01-01T00:00:00Z", {}, runs=told[0])
    text = "\n".join("".join(part for part, _ in line) for line in rendered(document, 120))
    assert text.startswith("few, within ")
    assert " to each of 2 readers, median of " in text
    line = next(line for line in text.splitlines() if line.startswith("tcp "))
    assert line.split()[1:3] == [str(len(SIZES)), "2x2"]
    assert "memcpy: it moves no lists of tensors" in text
    assert " the last byte of 1.85 MB at 2 readers after " in text


def transfer(**options: Any) -> Transfer:
    return Transfer(sum(SIZES), WEIGHT_SYNC, most_samples=6, seconds=0.2, sizes=SIZES, **options)


@pytest.mark.parametrize("destination", ["fresh", "reused"])
def test_sockets_without_ray(destination: str) -> None:
    with process_ends.ends("a", "b", "c", "c", "d") as ends:
        session = sync_sockets.opened(ends[:2], ends[2:])
        taken = session.measure(transfer(destination=destination))
        assert taken.verified, taken.wrong
        assert taken.arrived == 2 * sum(SIZES) * taken.transfers  # two readers are on the first one's node
        damaged = session.measure(transfer(is_damaged=True))
        assert (damaged.verified, (damaged.wrong or "")[:28]) == (False, "of trainer 0, tensor 0: byte")


def test_an_end_that_dies_is_told() -> None:
    with process_ends.ends("a", "b") as ends:
        session = sync_sockets.opened(ends[:1], ends[1:])
        ends[0].kill()
        with pytest.raises((EndLost, EndFailed, BrokenPipeError)):
            session.measure(transfer())


def test_tensors_are_dealt_out_by_bytes() -> None:
    assert deal([5, 1, 1, 1, 1, 1], 2) == [[0], [1, 2, 3, 4, 5]]
    assert deal([1, 2, 3], 1) == [[0, 1, 2]]
    assert deal([1], 2) == [[0], []]
    hands = deal(SIZES, 3)
    assert sorted(place for hand in hands for place in hand) == list(range(len(SIZES)))
    sums = [sum(SIZES[place] for place in hand) for hand in hands]
    assert max(sums) - min(sums) <= max(SIZES)
    with pytest.raises(EndFailed, match="7 tensors are too few for 8 trainers"):
        sync.dealt(transfer(), 8)


PART = Part(7, (1, 7, 8, 23, 24, 100, 100, 1048573 + 5))


def written(iterations: int) -> list[bytearray]:
    buffers = [bytearray(size) for size in PART.sizes]
    tensor_bytes.fill(buffers, PART)
    for iteration in range(iterations):
        tensor_bytes.stamp(buffers, PART, iteration)
    return buffers


def test_what_was_sent_is_right_and_of_its_transfer() -> None:
    for count in (1, 2, 5):
        assert tensor_bytes.differs(written(count), PART, count - 1, memoryview) is None
    words = [tensor_bytes.words(PART, index, 4) for index in range(len(PART.sizes))]
    assert tensor_bytes.words_differ(written(5), words, memoryview) is None
    assert "tensor 0 did not bring the word" in (tensor_bytes.words_differ(written(4), words, memoryview) or "")


@pytest.mark.parametrize("place", range(len(PART.sizes)))
def test_any_byte_is_seen(place: int) -> None:
    for byte in {0, PART.sizes[place] // 2, PART.sizes[place] - 1}:
        buffers = written(3)
        buffers[place][byte] ^= 1
        told = tensor_bytes.differs(buffers, PART, 2, memoryview)
        assert (told or "").startswith(f"tensor {place}: byte {byte} of {PART.sizes[place]} is ")


def test_tensors_that_changed_places_are_seen() -> None:
    buffers = written(1)
    buffers[5], buffers[6] = buffers[6], buffers[5]
    assert tensor_bytes.differs(buffers, PART, 0, memoryview) is not None
    assert tensor_bytes.words_differ(buffers, tensor_bytes.lasts(PART, 0), memoryview) is not None
    assert tensor_bytes.differs(written(1)[:-1], PART, 0, memoryview) == "7 tensors came, 8 were sent"


PARAMETERS = {
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-8b": 8_190_735_360,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "mistral-7b": 7_241_732_096,
}
"""As the models' pages at huggingface.co state them, from the headers of their files."""


@pytest.mark.parametrize("name", models.MODELS)
def test_a_model_has_the_parameters_that_its_page_states(name: str) -> None:
    assert tensor_list.tensors(name).size_bytes == 2 * PARAMETERS[name]


def test_a_checkpoint_has_so_many_tensors() -> None:
    assert len(tensor_list.tensors("Llama-3-8B").sizes) == 291
    assert len(tensor_list.tensors("qwen2.5-0.5b").sizes) == 290


HEADER = {
    "__metadata__": {"format": "pt"},
    "a": {"dtype": "BF16", "shape": [4, 8], "data_offsets": [0, 64]},
    "b": {"dtype": "F8_E4M3", "shape": [5], "data_offsets": [64, 69]},
    "scale": {"dtype": "F32", "shape": [], "data_offsets": [69, 73]},
}


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("# weights\nembed 4x8 bf16\n\n16x2 torch.float32  # a comment\nbias 7\n1KiB\n", (64, 128, 7, 1024)),
        ('["4x8 bf16", 100, {"shape": [3], "dtype": "int8"}]', (64, 100, 3)),
        ('{"a": 5, "b": "2MiB"}', (5, 2 << 20)),
        (json.dumps(HEADER), (64, 5, 4)),
    ],
)
def test_a_list_is_read(tmp_path: Path, text: str, sizes: tuple[int, ...]) -> None:
    path = tmp_path / "list"
    path.write_text(text)
    assert tensor_list.tensors(str(path)) == TensorList("list", sizes)


def test_the_headers_of_safetensors_are_read(tmp_path: Path) -> None:
    header = json.dumps(HEADER).encode()
    for name in ("1.safetensors", "2.safetensors"):
        (tmp_path / name).write_bytes(struct.pack("<Q", len(header)) + header + bytes(73))
    assert tensor_list.tensors(str(tmp_path / "1.safetensors")).sizes == (64, 5, 4)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors"}}))
    assert tensor_list.tensors(str(index)).sizes == (64, 5, 4) * 2
    index.write_text(json.dumps({"weight_map": {"a": "3.safetensors"}}))
    with pytest.raises(UnreadableInput, match="No such file"):
        tensor_list.tensors(str(index))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4x4",
        "4x4 f99",
        "a b c",
        "0x4 bf16",
        "[]",
        "[true]",
        "[-1]",
        '[{"shape": [1.5], "dtype": "f32"}]',
        "{",
        "[" * 9999,
        '{"a": {"shape": [99999999999, 99999999999], "dtype": "f32"}}',
        "\x00\xff",
        '{"weight_map": {"a": "list"}}',
    ],
)
def test_what_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "list"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(UnreadableInput, match="is no list of tensors"):
        tensor_list.tensors(str(path))


@pytest.mark.parametrize("text", ["0x1", "1x0", "2", "axb", "-1x1", "1x1x1", "9999x1", ""])
def test_actors_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--actors"):
        tensor_list.actors(text)
    assert tensor_list.actors("10x4") == (10, 4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--pattern", "weight-sync", "--tensors", "gpt-9"], "no such model or file (models: qwen2.5-0.5b, "),
        (["--tensors", "llama-3-8b"], "are of --pattern weight-sync"),
        (["--pattern", "weight-sync", "--sizes", "8"], "are not of --pattern weight-sync"),
        (["--pattern", "weight-sync", "--actors", "400x1"], "too few to deal out"),
    ],
)
def test_the_command_line_is_refused(arguments: list[str], words: str) -> None:
    command = [sys.executable, "-m", "raxl", "bench-transport", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def node(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"id-{number}", "name": f"n{number}", **more}


@pytest.mark.parametrize(
    ("count", "actors", "trainers", "readers"),
    [
        (1, (2, 3), "00", "000"),
        (2, (1, 1), "0", "1"),
        (2, (2, 3), "00", "111"),
        (4, (1, 1), "0", "3"),
        (4, (2, 2), "01", "23"),
        (4, (1, 8), "0", "12312312"),
        (4, (8, 1), "01201201", "3"),
        (3, (4, 4), "0101", "2222"),
        (5, (2, 2), "01", "34"),
    ],
)
def test_actors_are_spread_over_the_nodes(count: int, actors: tuple[int, int], trainers: str, readers: str) -> None:
    found = casting.cast([node(number) for number in range(count)], *actors)
    assert tuple("".join(one["name"][1:] for one in nodes) for nodes in found) == (trainers, readers)


def test_the_first_nodes_are_so_by_name() -> None:
    names = ["n10", "n2", "", "m3", "n2b"]
    assert [one["name"] for one in casting.ordered([{"name": name} for name in names])] == [
        "",
        "m3",
        "n2",
        "n2b",
        "n10",
    ]


def test_a_list_that_memory_cannot_hold_is_not_tried() -> None:
    found = casting.cast([node(0), node(1)], 1, 2)
    assert casting.lacking(found, transfer(), {}) is None
    looked = {"id-0": {"memory_available_bytes": 1e9}, "id-1": {"memory_available_bytes": 2e6}}
    told = casting.lacking(found, transfer(), looked)
    assert told == "needs 3.88 MiB of memory, and n1 has 1.91 MiB: fewer tensors or actors"


def test_other_actors_are_not_compared() -> None:
    ends = Endpoint("a", "cpu"), Endpoint("b", "cpu")
    run = Run("tcp", *ends, WEIGHT_SYNC, m.SINGLE, m.REUSED, 1 << 20, 9, 2, m.OK, sync=Sync("x", 3, ("a",), ("b",)))
    run = replace(run, latency_seconds=m.Latency(1.0, 1.0, None, 1.0, 1.0), verified=True)
    other = replace(run, sync=Sync("x", 3, ("a",), ("b", "b")))
    documents = [Bench(BENCH, "0", "", {}, runs=[one]) for one in (run, other)]
    assert [one.status for one in compare.regressions(documents[0], documents[0])] == [m.SAME]
    found = compare.regressions(documents[0], documents[1])
    assert [one.reason for one in found] == [compare.NOT_IN_BASELINE, compare.NOT_MEASURED]
