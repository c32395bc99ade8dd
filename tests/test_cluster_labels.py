"""Labels that raxl prints, given to `ray start`, have real Ray place real placement groups where they say."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import namespaces
import recordings
from lab import Lab, Machine
from raxl.cli import labels as command
from raxl.cli.source import Source

HEAD, TRAY, OTHER = "none-cpu-server", "nvidia-gb200-tray", "nvidia-hgx-h100"
DOMAIN = "7e2c0000-0000-4000-8000-0000000000f1.3"
OWN_TYPE = {"ray.io/accelerator-type": "GB200"}
"""What Ray's own detection sets on such a node, where its GPUs are not made up."""
PLACES = """
import json, sys, ray
from ray.util.placement_group import placement_group, placement_group_table
ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
given = json.loads(sys.argv[1])
group = placement_group([{"GPU": 4}] * given["bundles"], topology_strategy=given["topology"],
                        bundle_label_selector=[given["selector"]] * given["bundles"])
placed = group.wait(timeout_seconds=given["seconds"])
names = {node["NodeID"]: node["NodeManagerHostname"] for node in ray.nodes()}
where = placement_group_table(group)["bundles_to_node_id"].values() if placed else ()
print(json.dumps(sorted(names[one] for one in where) if placed else "pending"))
"""


def printed(name: str, folder: Path) -> dict[str, str]:
    """What `raxl labels --format ray-args` prints of a recorded machine, as Ray reads it."""
    from ray._private.label_utils import parse_node_labels_string

    file = folder / f"{name}.tar.gz"
    file.write_bytes(recordings.snapshot(name))
    from raxl.cli.streams import Streams

    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert command.run(command.Options(Source((str(file),)), format=command.Format.ray_args), Streams()) == 0
    (flag,) = out.getvalue().split()
    return dict(parse_node_labels_string(flag.removeprefix("--labels=")))


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A head without GPUs of its own, two trays of one NVLink domain, and a node of another kind."""
    if (reason := namespaces.missing()) is not None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("labels")
    head, trays, other = printed(HEAD, folder), printed(TRAY, folder), printed(OTHER, folder)
    machines = [
        Machine(HEAD, labels=head),
        Machine(TRAY, 4, labels={**trays, **OWN_TYPE}, name="tray-04"),
        Machine(TRAY, 4, labels={**trays, **OWN_TYPE}, name="tray-05"),
        Machine(OTHER, 8, labels={**other, "ray.io/accelerator-type": "H100"}),
    ]
    with Lab(machines) as running:
        yield running


def placed(lab: Lab, selector: dict[str, str], bundles: int = 2, seconds: float = 30) -> object:
    """The hosts of the bundles of a placement group of that many trays, each on its own; `pending` where none."""
    topology = {"ray.io/gpu-domain": "STRICT_PACK", "ray.io/node-id": "STRICT_SPREAD"}
    given = {"bundles": bundles, "topology": topology, "selector": selector, "seconds": seconds}
    done = lab.head.run(["python", "-c", PLACES, json.dumps(given)], timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def raxl(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    return lab.head.run(["raxl", *arguments], timeout=120)


def test_the_labels_are_those_of_one_domain(labelled: Lab) -> None:
    own = {node["NodeManagerHostname"]: node["Labels"] for node in labelled.nodes()}
    assert [own[name].get("ray.io/gpu-domain") for name in ("tray-04", "tray-05", "gpu-07")] == [DOMAIN, DOMAIN, None]
    assert own["gpu-07"]["raxl/model"] == "H100-80GB-HBM3"


def test_a_group_lands_in_the_domain(labelled: Lab) -> None:
    assert placed(labelled, {"ray.io/gpu-domain": DOMAIN}) == ["tray-04", "tray-05"]
    assert placed(labelled, {"raxl/model": "GB200", "raxl/link-class": "NV18"}) == ["tray-04", "tray-05"]


@pytest.mark.parametrize("selector", [{"ray.io/gpu-domain": "another.1"}, {"raxl/rack": "r1"}], ids=str)
def test_a_group_that_asks_for_another_label_stays_pending(labelled: Lab, selector: dict[str, str]) -> None:
    assert placed(labelled, selector, seconds=4) == "pending"


def test_a_group_that_does_not_fit_into_the_domain_stays_pending(labelled: Lab) -> None:
    assert placed(labelled, {}, bundles=3, seconds=4) == "pending"


def test_the_program_that_raxl_place_prints_runs_in_the_domain(labelled: Lab) -> None:
    wanted = ("--cluster", "--accelerators", "8", "--type", "GB200", "--within", "fabric")
    program = raxl(labelled, "place", *wanted, "--format", "python")
    assert program.returncode == 0, program.stderr
    done = labelled.head.run(["python", "-c", program.stdout], timeout=120)
    assert done.returncode == 0, done.stderr
    own = {node["NodeID"]: node["NodeManagerHostname"] for node in labelled.nodes()}
    lines = done.stdout.splitlines()[-2:]
    assert sorted(own[line.split()[2].rstrip(",")] for line in lines) == ["tray-04", "tray-05"]


def test_what_does_not_fit_is_told(labelled: Lab) -> None:
    done = raxl(labelled, "place", "--cluster", "--accelerators", "12", "--type", "GB200", "--within", "fabric")
    assert done.returncode == 1
    assert "8 GB200" in done.stdout + done.stderr


def test_a_cluster_that_has_its_labels_passes_and_one_that_has_others_does_not(labelled: Lab) -> None:
    assert raxl(labelled, "labels", "--cluster", "--check").returncode == 0
    labelled.restart(2, labels={"ray.io/gpu-domain": "another.1", **OWN_TYPE})
    done = raxl(labelled, "labels", "--cluster", "--check")
    assert done.returncode == 1
    assert "tray-05" in done.stdout
    assert "another.1" in done.stdout
    assert placed(labelled, {"ray.io/gpu-domain": DOMAIN}, seconds=4) == "pending"


def test_what_changed_is_told_against_a_record(labelled: Lab) -> None:
    file = f"{namespaces.OWN}/tmp/before.tar.gz"
    assert raxl(labelled, "discover", "--cluster", "--record", file).returncode == 0
    same = raxl(labelled, "diff", file, "now", "--cluster")
    assert (same.returncode, same.stderr) == (0, ""), same.stdout
    labelled.restart(1, num_gpus=3)
    changed = raxl(labelled, "diff", file, "now", "--cluster")
    assert changed.returncode == 1
    assert "tray-04" in changed.stdout
    assert "GPU" in changed.stdout
