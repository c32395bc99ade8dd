"""The catalog: its figures, what of them may be used, and the user's own folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recordings
from raxl.cli import generated
from raxl.collect import catalog_files
from raxl.model import catalog, nominal
from raxl.sources import amd_names, nvidia_names

ROW = {"name": "Example One", "device_ids": ["0f01"], "verified": "source", "source": "https://example.org"}


def test_the_compiled_file_is_what_the_yaml_says() -> None:
    assert catalog.compiled() == catalog_files.COMPILED
    assert generated.as_json(catalog_files.compiled()) == catalog_files.COMPILED.read_text()


@pytest.mark.parametrize(
    ("vendor", "device", "name", "memory", "bandwidth", "bf16"),
    [
        ("10de", "2330", "H100 SXM5 80GB", 80, 3.35e12, 989e12),
        ("10de", "2901", "B200", 180, 8e12, 2250e12),
        ("10de", "20b2", "A100 SXM4 80GB", 80, 2.039e12, 312e12),
        ("1002", "74a1", "Instinct MI300X", 192, 5.3e12, 1300e12),
        ("1ae0", "006f", "TPU v6e", 32, 1.638e12, 918e12),
        ("1d0f", "7364", "Trainium2", 96, 2.9e12, 667e12),
        ("1da3", "1060", "Gaudi3", 128, 3.7e12, 1677e12),
        ("1ed2", "0001", "RNGD", None, 1.5e12, 256e12),
    ],
)
def test_verified_figures(
    vendor: str, device: str, name: str, memory: float | None, bandwidth: float, bf16: float
) -> None:
    row = catalog.shipped().device(vendor, device)
    assert row is not None
    assert row.name == name
    assert (row.peak("memory_gb"), row.peak("memory_bytes_per_second"), row.peak("bf16")) == (memory, bandwidth, bf16)


@pytest.mark.parametrize(("vendor", "device"), [("10de", "233b"), ("1002", "740f"), ("1de0", "0000")])
def test_what_nobody_confirmed_is_no_peak(vendor: str, device: str) -> None:
    row = catalog.shipped().device(vendor, device)
    assert row is not None
    assert row.figures["memory_bytes_per_second"] > 0
    assert [row.peak(figure) for figure in row.figures] == [None] * len(row.figures)


def test_a_row_may_be_confirmed_in_part() -> None:
    row = catalog.shipped().device("1002", "75a0")
    assert row is not None
    assert row.peak("memory_bytes_per_second") == 8e12
    assert row.figures["bf16"] == 2300e12
    assert row.peak("bf16") is None


def test_an_id_of_several_models_names_none_without_its_product() -> None:
    assert catalog.shipped().device("1e52", "401e") is None
    row = catalog.shipped().device("1e52", "401e", "n300 L")
    assert row is not None
    assert row.name == "Wormhole n300"


def test_no_id_is_two_models_unless_it_is_said() -> None:
    seen: dict[tuple[str, str], str] = {}
    for row in catalog.shipped().devices:
        for device in () if row.is_id_shared else row.device_ids:
            assert (row.vendor_id, device) not in seen
            seen[row.vendor_id, device] = row.name
    named = {row.scale_up for row in catalog.shipped().devices if row.scale_up}
    assert named <= {one.name for one in catalog.shipped().scale_ups}


def test_names_by_id_agree_with_those_of_the_plug_ins() -> None:
    for vendor, models in ((nvidia_names.VENDOR_ID, nvidia_names.MODELS), (amd_names.VENDOR_ID, amd_names.MODELS)):
        for row in catalog.shipped().devices:
            if row.vendor_id == vendor and not row.is_id_shared and row.device_ids:
                word = re.findall(r"[A-Z]*\d+\w*", models[row.device_ids[0]])[0]
                assert word in row.name


@pytest.mark.parametrize(
    ("device", "rate", "generation", "most"),
    [
        ("15f9", 20e9, 1, 4),
        ("1db1", 25e9, 2, 6),
        ("20b2", 25e9, 3, 12),
        ("20f1", 25e9, 3, 12),
        ("2330", 25e9, 4, 18),
        ("2339", 25e9, 4, 18),
        ("2941", 50e9, 5, 18),
        ("31c2", 50e9, 5, 18),
        ("2331", None, 4, 18),
        ("233b", None, 4, 18),
        ("26b9", None, None, None),
        (None, None, None, None),
    ],
)
def test_nvlink(device: str | None, rate: float | None, generation: int | None, most: int | None) -> None:
    assert nominal.nvlink_bytes_per_second(device) == rate
    assert nominal.nvlink_generation(device) == generation
    assert nominal.nvlinks(device) == most
    assert nominal.may_have_nvlink(device) == (generation is not None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verified": "yes"}, "devices[0].verified is none of"),
        ({"source": ""}, "devices[0] has no source"),
        ({"name": None}, "devices[0] has no name"),
        ({"device_ids": [123]}, "is no list of texts"),
        ({"device_ids": ["xyz1"]}, "four hex digits"),
        ({"memory_gb": "80"}, "devices[0].memory_gb is no number"),
        ({"memory_gb": -1}, "is no number"),
        ({"product": "("}, "no regular expression"),
        ({"operations_per_second": [1]}, "is no mapping"),
    ],
)
def test_a_row_that_is_none_is_refused_by_name(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        catalog.parse({"vendor_id": "1b36", "devices": [{**ROW, **change}]})


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["vendor_id", "devices", "scale_up", "name", "device_ids", "verified", "source"]),
            inner,
            max_size=7,
        )
    ),
    max_leaves=12,
)


def test_a_key_that_nothing_reads_is_told_by_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"name": "Example GPU", "device_ids": ["3fff"], "verified": "unverified", "source": "x", "memory": 80}
    link = {"verified": "unverified", "source": "x", "lanes": 18}
    document = {"vendor_id": "10de", "note": "x", "devices": [row], "scale_up": {"nvlink9": link}}
    keys = "note, devices[0].memory, scale_up.nvlink9.lanes"
    folder = tmp_path / "raxl/catalog.d"
    folder.mkdir(parents=True)
    (folder / "new.yaml").write_text(json.dumps(document))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    found = catalog_files.overlay()
    assert [device.name for device in found.catalog.devices] == ["Example GPU"]
    assert [one.message for one in found.problems] == [f"{folder / 'new.yaml'}: nothing reads {keys}"]
    monkeypatch.setattr(catalog_files, "FOLDER", folder)
    with pytest.raises(ValueError, match=re.escape(f"new.yaml: nothing reads {keys}")):
        catalog_files.compiled()


@given(_ANYTHING)
def test_any_document_is_a_catalog_or_refused(document: Any) -> None:
    try:
        catalog.parse(document)
    except ValueError as error:
        assert str(error)
    else:
        assert isinstance(catalog.unread_keys(document), list)


def topo(home: Path, root: Path) -> dict[str, Any]:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(home), "RAXL_HOST_ROOT": str(root)}
    command = [sys.executable, "-m", "raxl", "topo", "--format", "json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr  # no driver is there
    return json.loads(done.stdout)["nodes"][0]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def new_gpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A machine with a GPU of an id that nobody knows."""
    root = tmp_path_factory.mktemp("machine")
    recordings.materialise("nvidia-driverless", root)
    for device in root.glob("sys/devices/pci*/**/device"):
        if device.is_file() and (device.parent / "vendor").read_text().strip() == "0x10de":
            device.write_text("0x3fff\n")
    return root


YAML = """vendor_id: "10de"
devices:
  - {name: Example GPU, device_ids: ["3fff"], verified: unverified, source: the card's label}
"""


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_day_zero_device_gets_its_name_from_a_file_of_the_user(form: str, new_gpu: Path, tmp_path: Path) -> None:
    assert {device["model"] for device in topo(tmp_path, new_gpu)["accelerators"]} == {None}
    folder = tmp_path / "raxl/catalog.d"
    folder.mkdir(parents=True)
    row = {"name": "Example GPU", "device_ids": ["3fff"], "verified": "unverified", "source": "the card's label"}
    text = YAML if form == "yaml" else json.dumps({"vendor_id": "10de", "devices": [row]})
    (folder / f"new.{form}").write_text(text)
    (folder / "notes.txt").write_text("no catalog")
    found = topo(tmp_path, new_gpu)
    assert {device["model"] for device in found["accelerators"]} == {"Example GPU"}
    assert not any(problem["subject"] == "catalog" for problem in found["problems"])


@pytest.mark.parametrize(
    "text", ["{", "vendor_id: [", "a: &a [*a]", "- 1", 'vendor_id: "10de"\ndevices: [{name: x}]', "\x00"]
)
def test_a_damaged_file_is_one_problem_and_the_others_count(text: str, new_gpu: Path, tmp_path: Path) -> None:
    folder = tmp_path / "raxl/catalog.d"
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text(text)
    (folder / "b.yaml").write_text(YAML)
    found = topo(tmp_path, new_gpu)
    assert {device["model"] for device in found["accelerators"]} == {"Example GPU"}
    (told,) = (problem for problem in found["problems"] if problem["subject"] == "catalog")
    assert told["reason"] == "failed"
    assert f"{folder}/a.yaml is left out" in told["message"]


OTHER = YAML.replace("Example GPU", "Another GPU")


def told(folder: Path, *, system: str = "", **files: str) -> list[str]:
    """What is wrong with these files in the user's folder, and in the machine's."""
    (folder / "raxl/catalog.d").mkdir(parents=True)
    for name, text in files.items():
        (folder / f"raxl/catalog.d/{name}.yaml").write_text(text)
    program = (
        "import sys; from pathlib import Path; from raxl.collect import catalog_files as c;"
        "c._SYSTEM = Path(sys.argv[1]); o = c.overlay();"
        "row = o.catalog.over(c.catalog.shipped()).device('10de', '3fff');"
        "print(row and row.name); print(*(p.reason + ' ' + p.message for p in o.problems), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, system],
        env={**os.environ, "XDG_CONFIG_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split("\n")[:-1]


def test_two_rows_of_one_id_in_one_folder_are_a_problem_that_names_both_files(tmp_path: Path) -> None:
    folder = tmp_path / "raxl/catalog.d"
    assert told(tmp_path, a=YAML, b=OTHER) == [
        "Example GPU",
        f"disagreement the device 10de:3fff is Example GPU in {folder}/a.yaml and Another GPU in {folder}/b.yaml: "
        "the first one is believed",
    ]


def test_two_rows_of_one_id_in_one_file_too(tmp_path: Path) -> None:
    path = tmp_path / "raxl/catalog.d/a.yaml"
    assert told(tmp_path, a=YAML + OTHER.splitlines()[-1] + "\n")[1] == (
        f"disagreement the device 10de:3fff is Example GPU in {path} and Another GPU in {path}: "
        "the first one is believed"
    )


def test_a_fabric_that_is_told_twice(tmp_path: Path) -> None:
    link = 'vendor_id: "10de"\nscale_up: {ex1: {verified: unverified, source: a label, links: 4}}\n'
    folder = tmp_path / "raxl/catalog.d"
    assert told(tmp_path, a=link, b=link.replace("4", "8"))[1] == (
        f"disagreement the scale-up link ex1 is ex1 in {folder}/a.yaml and ex1 in {folder}/b.yaml: "
        "the first one is believed"
    )


def test_a_folder_wins_over_the_next_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "system").mkdir()
    (tmp_path / "system/z.yaml").write_text(OTHER)
    assert told(tmp_path / "user", system=str(tmp_path / "system"), a=YAML) == ["Example GPU", ""]
    assert told(tmp_path / "other", system=str(tmp_path / "system")) == ["Another GPU", ""]
    shipped = YAML.replace("3fff", "2330")
    assert told(tmp_path / "shipped", a=shipped)[1:] == [""]


def test_ids_that_models_share_are_no_contradiction(tmp_path: Path) -> None:
    shared = YAML.replace("unverified,", 'unverified, is_id_shared: true, product: "One",')
    assert told(tmp_path, a=shared, b=shared.replace("One", "Two"))[1:] == [""]


def test_a_tag_that_would_run_code_is_no_yaml(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("!!python/object/apply:os.system ['true']")
    with pytest.raises(ValueError, match="no YAML"):
        catalog_files.read_yaml(path)


@pytest.mark.parametrize("text", ['a: !!bool "zz"', 'a: !!timestamp "x"', "a: [1", "? {a: b} : c"])
def test_what_is_no_yaml_is_one_refusal(text: str, tmp_path: Path) -> None:
    """PyYAML's constructors raise KeyError and AttributeError for some of it."""
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match="no YAML"):
        catalog_files.read_yaml(path)
