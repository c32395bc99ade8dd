"""raxl's own recipes: what they rest on, whose machine each is for, and the plan that it gives there."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import pytest

import captures
import kept
import recipe_machines
import recordings
from diagnosing import variant
from raxl.cli import diagnose, recipe_plan
from raxl.cli.source import Source
from raxl.cli.streams import Streams
from raxl.collect import assemble, facts, keeping
from raxl.errors import NotDecided, RecipeError
from raxl.host import allowed
from raxl.host.record import Recording
from raxl.model.plan import BLOCKED, INCOMPLETE, MET, NOTHING, READY, UNMET, Candidate, Plan
from raxl.model.recipe import OWN_BASELINE, Recipe, Shelved
from raxl.recipe import code, load, match, maturity, plan, shell_text
from raxl.recipe.generations import State
from raxl.recipe.node_facts import NodeFacts

TODAY = date(2026, 12, 1)
ROOT = Path("/srv/raxl")
NAMES = sorted(path.stem for path in load.SHIPPED.glob("*.yaml"))
LAYERS = sorted((load.SHIPPED / "layers").glob("*.yaml"))
FIGURES = ("size_bytes", "nodes", "ranks", "kind", "date", "source", "path", "metric")

FITTING = {
    "amd-mi300x-cpx": "amd-mi300x-roce",
    "amd-mi300x-sick": "amd-mi300x-roce",
    "amd-mi300x-spx": "amd-mi300x-roce",
    "amd-mi355x": "amd-mi355x-roce",
    "ascend-910b": "ascend-910b",
    "ascend-container": "ascend-910b",
    "gaudi-hls2": "gaudi-2",
    "gaudi-in-reset": "gaudi-2",
    "neuron-trn2-ultraserver": "aws-trn2",
    "none-cpu-server": "cpu-loopback",
    "nvidia-aws-p5en": "aws-p5-efa",
    "nvidia-driver-hangs": "nvidia-hgx-h100",
    "nvidia-gb200-tray": "nvidia-gb200-nvl72",
    "nvidia-hgx-b200": "nvidia-hgx-b200",
    "nvidia-hgx-h100": "nvidia-hgx-h100",
    "nvidia-hgx-h100-gpu-lost": "nvidia-hgx-h100",
    "nvidia-hgx-h100-gpu-missing": "nvidia-hgx-h100",
    "nvidia-hgx-h100-healthy": "nvidia-hgx-h100",
    "nvidia-hgx-h100-sick": "nvidia-hgx-h100",
    "nvidia-rtx-pro-6000-cx8": "nvidia-rtx-pro-6000",
    "tpu-v6e-8": "tpu-v6e",
    "tpu-v7x-chip-missing": "tpu-v7",
}
"""By recording, the recipe of raxl's that is for it; for all others there is none."""
BY_NAME = ("groq-3-lpx",)
"""Nothing is public by which a node could be recognised: whoever has one names the recipe."""


@cache
def shelf() -> Sequence[Shelved]:
    """All of them."""
    return load.shipped()


def of(name: str) -> Recipe:
    """The recipe of that name."""
    (found,) = [one.recipe for one in shelf() if one.recipe.name == name]
    return found


def read(recording: Recording) -> NodeFacts:
    """What is known of the machine."""
    (node,) = assemble.inventory([recording]).nodes
    return NodeFacts(node, facts.of(recording, node))


def fitting(recording: Recording) -> tuple[list[str], list[Candidate]]:
    """Those whose conditions are all met, and those of which that is not known."""
    found = match.candidates(shelf(), read(recording))
    return [one.recipe for one in found if one.status == MET], [one for one in found if one.status not in (MET, UNMET)]


def planned(recording: Recording, name: str) -> Plan:
    """What the recipe would do there."""
    told, state = read(recording), State(ROOT)
    shelved, candidates = match.chosen(shelf(), told, name)
    return plan.plan(shelved, candidates, told.node, told.case.facts, told, ROOT, state, False, False)


@pytest.mark.parametrize("name", NAMES)
def test_is_valid_and_of_our_time(name: str) -> None:
    """No fault, nothing claimed that is not earned, and no source that is old."""
    examined = load.examined(load.SHIPPED / f"{name}.yaml", TODAY)
    assert [*examined.faults, *examined.warnings] == []


@pytest.mark.parametrize("path", LAYERS, ids=lambda path: path.stem)
def test_layers_are_for_no_node(path: Path) -> None:
    """A layer is only there to be extended."""
    assert load.read(path).recipe.layer
    assert path.stem not in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_pod_on_the_hosts_network_finds_the_clusters_names(name: str) -> None:
    """KubeRay's workers look for the head's service: https://kubernetes.io/docs/concepts/services-networking"""
    pod = of(name).kuberay.patch.get("template", {}).get("spec", {})
    assert pod.get("hostNetwork") is not True or pod.get("dnsPolicy") == "ClusterFirstWithHostNet"


@pytest.mark.parametrize("name", NAMES)
def test_figures_say_all_that_makes_them_comparable(name: str) -> None:
    """A figure without its size, nodes, ranks, page and day was found to be useless: such has no value here."""
    for one in of(name).expect:
        if one.value is None:
            assert one.kind == OWN_BASELINE or one.unverified, one.id
            continue
        missing = [key for key in FIGURES if not getattr(one, key)]
        assert not missing, f"{one.id} lacks {missing}"
        assert one.software or one.unverified or one.kind == "illustrative", one.id


@pytest.mark.parametrize("name", NAMES)
def test_everything_rests_on_a_page_or_says_that_it_does_not(name: str) -> None:
    """Versions, variables and requirements."""
    recipe = of(name)
    known = {one.id for one in recipe.source}
    cited = [*recipe.requires, *recipe.versions, *recipe.env.set, *recipe.env.unset]
    assert [one for one in cited if one.source not in known and not one.unverified] == []
    assert [one.name for one in recipe.versions if one.value is None and not one.unverified] == []
    assert all(one.remedy for one in recipe.requires), "each requirement says what to do"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_it_loads_code(name: str) -> None:
    """What raxl ships is applied without --allow-code."""
    recipe = of(name)
    assert [one.name for one in recipe.env.set if code.loads_code_variable(one.name, one.value)] == []
    assert [flag for flag, value in recipe.ray.start.items() if code.loads_code_flag(flag, value)] == []
    assert code.in_patch(recipe.kuberay.patch) == []


@pytest.mark.parametrize("name", sorted(recipe_machines.MACHINES))
def test_is_for_its_machine_alone(name: str) -> None:
    """No other recipe fits it, and of none it is open whether it does."""
    found = recipe_machines.recording(name)
    assert found.nature == "synthetic"
    assert fitting(found) == ([name], [])


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same width and letters everywhere."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def plan_text(file: Path, content: bytes, name: str | None = None) -> str:
    """The plan for a recorded machine, as an operator reads it; nothing may stand in its way."""
    file.write_bytes(content)
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    source = Source((str(file),), None, None, 20.0, (), False, None, "checks")
    status = recipe_plan.run(recipe_plan.Options(source, name, root=ROOT), Streams(output, io.StringIO()))
    assert status == 0
    output.seek(0)
    return output.read()


@pytest.mark.parametrize("name", sorted(recipe_machines.MACHINES))
def test_plan(name: str, tmp_path: Path, page: None, accept: bool) -> None:
    text = plan_text(tmp_path / "machine.tar.gz", keeping.packed([recipe_machines.recording(name)]))
    kept.check("recipes", f"{name}.txt", text, accept)


@pytest.mark.parametrize("name", BY_NAME)
def test_plan_of_what_is_used_by_name_alone(name: str, tmp_path: Path, page: None, accept: bool) -> None:
    text = plan_text(tmp_path / "machine.tar.gz", recordings.snapshot("groq-card"), name)
    kept.check("recipes", f"{name}.txt", text, accept)


@pytest.mark.parametrize("name", sorted(recipe_machines.MACHINES))
def test_may_be_applied_on_its_machine(name: str) -> None:
    """Nothing stands in the way where all is as the platform has it."""
    assert planned(recipe_machines.recording(name), name).status == READY


def test_each_recipe_has_a_machine() -> None:
    """So that none is left out of the tests above."""
    assert set(recipe_machines.MACHINES) == set(NAMES) - set(BY_NAME)


@pytest.mark.parametrize("name", recordings.NAMES)
def test_at_most_one_is_for_a_recording(name: str) -> None:
    """None is for a machine that another is for too, nor for one of hardware without a recipe."""
    met, _ = fitting(recordings.recording(name))
    assert met == [FITTING[name] for _ in range(name in FITTING)]


@pytest.mark.parametrize(
    ("name", "recording"),
    [(name, one) for name, found in json.loads((load.SHIPPED / maturity.LEDGER).read_text()).items() for one in found],
    ids=lambda value: value if isinstance(value, str) else value["recording"],
)
def test_was_observed(name: str, recording: dict[str, str]) -> None:
    """The real captures of the ledger are the ones that were looked at, and the recipe fits them, and no other does."""
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    path = captures.CORPUS / recording["recording"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == recording["sha256"]
    inventory, own = recipe_plan.read(Source((path,), None, None, 20.0, (), False, None, "checks"))
    told = NodeFacts(inventory.nodes[0], own[0])
    assert match.chosen(shelf(), told)[0].recipe.name == name


def test_a_lost_gpu_blocks() -> None:
    """The recipe is for the machine still, and nothing may be written while a GPU is missing."""
    made = planned(recordings.recording("nvidia-hgx-h100-gpu-lost"), "nvidia-hgx-h100")
    (row,) = [one for one in made.preconditions if one.id == "gpus"]
    assert made.status == BLOCKED
    assert (row.held.found, row.held.status, row.level) == (7, UNMET, "block")


def test_a_cloud_is_known_by_its_firmware_alone() -> None:
    """The same devices with OCI's asset tag are OCI's; with a firmware that cannot be read nobody guesses."""
    tag = "/sys/class/dmi/id/chassis_asset_tag"
    own = recipe_machines.recording("nvidia-hgx-h200")
    assert fitting(own)[0] == ["nvidia-hgx-h200"]
    denied = variant("nvidia-hgx-h100", f"{tag} !denied")
    with pytest.raises(NotDecided, match="provider"):
        match.chosen(shelf(), read(denied))
    oci = variant("nvidia-hgx-h100", f"{tag}=OracleCloud.com")
    with pytest.raises(RecipeError, match="no recipe fits"):  # its adapters are InfiniBand's, and OCI has none
        match.chosen(shelf(), read(oci))


def test_an_adapter_beside_the_others_stays_out() -> None:
    """OCI's list is a reference: the machine's own numbers are written, and that they differ is said."""
    made = planned(recipe_machines.recording("oci-h100"), "oci-h100")
    (hca,) = [one for one in made.computed if one.name == "hca"]
    (variable,) = [one for one in made.settings if one.name == "NCCL_IB_HCA"]
    assert variable.value == hca.value == "=" + ",".join(f"mlx5_{n}" for n in (*range(8), *range(10, 18)))
    assert (hca.status, str(hca.reference).count("mlx5_")) == ("differs", 16)


def test_efa_devices_are_counted_by_type() -> None:
    """32 on p5, 16 on p5en: the reference is that of the instance type."""
    (found,) = planned(recipe_machines.recording("aws-p5-efa"), "aws-p5-efa").computed
    assert (found.name, found.value, found.reference, found.status) == ("efa_count", 16, 16, "same")


def test_debris_of_another_platform_is_taken_away() -> None:
    """NCCL_PROTO=simple is stale on AWS, and right on Google's TCPXO."""
    assert "NCCL_PROTO" in [one.name for one in of("aws-p5-efa").env.unset]
    assert "NCCL_PROTO" not in [one.name for one in of("gcp-a3-megagpu").env.unset]
    (proto,) = [one for one in of("gcp-a3-megagpu").requires if one.fact == "environment.NCCL_PROTO"]
    assert (proto.value, proto.level) == ("Simple", "warn")


def test_shared_memory_of_ranks_is_off_on_azures_racks_alone() -> None:
    """What is a leftover of debugging elsewhere belongs to Azure's set for GB200."""
    assert "NCCL_SHM_DISABLE" in [one.name for one in of("azure-nd-gb200-v6").env.set]
    assert "NCCL_SHM_DISABLE" not in [one.name for one in of("azure-nd-gb200-v6").env.unset]
    assert "NCCL_SHM_DISABLE" in [one.name for one in of("azure-nd-h100-v5").env.unset]


def test_mpis_choice_of_one_port_is_not_taken_over() -> None:
    """Azure's UCX_NET_DEVICES would cap NIXL at an eighth of the node, at a quarter of a tray."""
    for name in ("azure-nd-h100-v5", "azure-nd-gb300-v6"):
        recipe = of(name)
        assert not {"UCX_NET_DEVICES", "UCX_TLS"} & {one.name for one in recipe.env.set}
        (gone,) = [one for one in recipe.env.unset if one.name == "UCX_NET_DEVICES"]
        assert shell_text.is_stale(gone, "mlx5_ib0:1")
        assert shell_text.is_stale(gone, "mlx5_0:1")
        assert not shell_text.is_stale(gone, "mlx5_ib0:1,mlx5_ib1:1")


def test_nothing_that_is_right_somewhere_is_unset_there() -> None:
    """A kernel before 5.15 wants FI_EFA_FORK_SAFE, NIXL over EFA FI_EFA_ENABLE_SHM_TRANSFER=0, and two cards that hang
    in peer access NCCL_P2P_DISABLE."""
    aws = {one.name for one in of("aws-p5-efa").env.unset}
    assert not {"FI_EFA_FORK_SAFE", "FI_EFA_ENABLE_SHM_TRANSFER"} & aws
    assert "NCCL_P2P_DISABLE" in aws
    assert "NCCL_P2P_DISABLE" not in [one.name for one in of("nvidia-rtx-pro-6000").env.unset]


def test_missing_efa_devices_block() -> None:
    """An instance that was launched with half of its EFA interfaces is a p5en still, and nothing is written there."""
    half = recipe_machines.launched_with_half_its_efa()
    assert fitting(half)[0] == ["aws-p5-efa"]
    made = planned(half, "aws-p5-efa")
    (row,) = [one for one in made.preconditions if one.id == "efa-devices"]
    assert (row.held.found, row.held.status, row.level, made.status) == (8, UNMET, "block", BLOCKED)


@pytest.mark.parametrize("name", ["nvidia-hgx-b300", "aws-p6-b300", "oci-b300"])
def test_b300_asks_for_an_nccl_that_keeps_its_rate(name: str) -> None:
    """Before 2.30.3 NVLSTree fell to a quarter on four nodes."""
    (row,) = [one for one in of(name).requires if one.id == "nccl"]
    assert (row.fact, row.op, row.value) == ("software.libnccl", ">=", "2.30.3")


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_can_say_what_the_environment_has(name: str) -> None:
    """Every variable that is set here is kept in a recording, so that one has not to be told as not known."""
    assert [one.name for one in of(name).env.set if not re.fullmatch(allowed.KEPT_VARIABLES, one.name)] == []


@pytest.mark.parametrize("name", ["HCCL_COMM_ID", "HCCL_IF_IP", "NEURON_RT_ROOT_COMM_ID", "VBAR_CONTROL_SERVICE_URL"])
def test_addresses_of_others_are_not_kept(name: str) -> None:
    """They hold a host of the job's, by a name that redaction cannot know."""
    assert allowed.environment({name: "head-1:9100", "HCCL_BUFFSIZE": "256"}) == {"HCCL_BUFFSIZE": "256"}


def test_pollara_is_told_from_other_adapters() -> None:
    """The same GPUs with other adapters have another recipe, of one's own and on OCI."""
    for name, other in (("amd-mi355x-pollara", "amd-mi355x-roce"), ("oci-mi355x", "oci-mi355x-v1")):
        names = {one.name for one in of(name).env.set}
        assert "NCCL_NET_PLUGIN" in names
        assert "NCCL_NET_PLUGIN" not in {one.name for one in of(other).env.set}
        with pytest.raises(RecipeError, match="for other hardware"):
            planned(recipe_machines.recording(name), other)


def test_what_one_adapter_is_given_another_is_not() -> None:
    """OCI publishes the number of channels for ConnectX; the same recipe is for Broadcom's adapters too."""
    own = recipe_machines.MACHINES["amd-mi355x-pollara"]
    assert not isinstance(own, str)
    machines = {
        "mlx5": recipe_machines.recording("amd-mi355x-roce"),
        "bnxt": recipe_machines.made("bnxt", recipe_machines.Made(own.like, recipe_machines.AMD_GIDS, more=own.more)),
    }
    told = {name: planned(machine, "amd-mi355x-roce") for name, machine in machines.items()}
    assert {one.status for one in told.values()} == {READY}
    has = {name: any(one.name == "NCCL_MIN_NCHANNELS" for one in found.settings) for name, found in told.items()}
    assert has == {"mlx5": True, "bnxt": False}


def test_a_card_is_no_module_of_a_base_board() -> None:
    """HL-338 is Gaudi 3 on PCIe: its ports do not lead where those of the board's modules lead."""
    machine = recipe_machines.MACHINES["gaudi-3"]
    assert not isinstance(machine, str)
    for device, model, fit in (("0x1060", "HL-335", ["gaudi-3"]), ("0x1063", "HL-338", [])):
        swaps = {**machine.swaps, "0x1020": device, "HL-225": model}
        assert fitting(recipe_machines.made("gaudi", recipe_machines.Made(machine.like, swaps)))[0] == fit


@pytest.mark.parametrize(
    ("version", "status"), [("7.0.2", BLOCKED), ("7.1.1", READY), ("7.2.4", READY), (None, INCOMPLETE)]
)
def test_a_rccl_that_corrupts_data_blocks(version: str | None, status: str) -> None:
    """Before ROCm 7.1.1 all_reduce is wrong on MI355X; where nobody can tell, nothing is written."""
    machine = recipe_machines.MACHINES["amd-mi355x-roce"]
    assert isinstance(machine, recipe_machines.Made)
    line = "/opt/rocm/.info/version = 7.2.4\n"
    told = machine.more.replace(line, f"/opt/rocm/.info/version = {version}\n" if version else "")
    found = recipe_machines.made("amd-mi355x-roce", replace(machine, more=told))
    assert planned(found, "amd-mi355x-roce").status == status


@pytest.mark.parametrize(("name", "hosts"), [("kuberay-tpu-v5e", 4), ("kuberay-tpu-v6e", 4), ("kuberay-tpu-v7", 2)])
def test_a_slice_has_as_many_hosts_as_its_topology_takes(name: str, hosts: int) -> None:
    """4x4 is 16 chips, 2x2x2 is 8, and a host has 4: the group has to say numOfHosts."""
    made = planned(recipe_machines.recording(name), name)
    told = {one.name: one.value for one in made.computed}
    assert (told["chips"], told["hosts"]) == (4, hosts)
    (patch,) = [one.content for one in made.files if one.path == "kuberay-patch.yaml"]
    assert f"\nnumOfHosts: {hosts}\n" in str(patch)


def test_a_missing_chip_blocks() -> None:
    """Three chips of four: the slice is not whole."""
    made = planned(recordings.recording("tpu-v7x-chip-missing"), "tpu-v7")
    (row,) = [one for one in made.preconditions if one.id == "chips"]
    assert (made.status, row.held.found, row.held.status) == (BLOCKED, 3, UNMET)


def test_neuron_cores_follow_their_logical_size() -> None:
    """With one physical core a logical one, an instance has 128 of them, and Ray is told so."""
    machine = recipe_machines.MACHINES["aws-trn2"]
    assert isinstance(machine, recipe_machines.Made)
    one_each = {'"nc_count": 4, "logical_neuroncore_config": 2': '"nc_count": 8, "logical_neuroncore_config": 1'}
    made = planned(recipe_machines.made("aws-trn2", replace(machine, swaps=one_each)), "aws-trn2")
    (cores,) = [one for one in made.computed if one.name == "cores"]
    assert (cores.value, cores.reference, cores.status) == (128, 64, "differs")
    assert [one.value for one in made.settings if one.kind == "resource"] == ["128"]


def test_what_is_right_with_gaudi_is_wrong_with_nvidia() -> None:
    """RDMAV_FORK_SAFE over EFA."""
    (fork_safe,) = [one for one in of("gaudi-2").env.set if one.name == "RDMAV_FORK_SAFE"]
    assert fork_safe.when is not None
    assert fork_safe.when.fact == "nics[kind=efa].count"
    assert "RDMAV_FORK_SAFE" in [one.name for one in of("aws-p5-efa").env.unset]


def test_groq_3_is_used_by_name_alone() -> None:
    """No fact tells one: it fits no machine, not even another product's; every check is skipped, with the reason."""
    (recipe,) = BY_NAME
    own = recordings.recording("groq-card")
    assert fitting(own) == ([], [])
    with pytest.raises(RecipeError, match=r"no recipe fits this node; (?!groq)"):
        match.chosen(shelf(), read(own))
    made = planned(own, recipe)
    assert made.status in (READY, NOTHING)
    assert {one.kind for one in made.settings} <= {"label"}
    assert [one.check for one in of(recipe).diagnose.skip] == ["*"]
    assert all(one.value is None for one in of(recipe).versions)
    assert of(recipe).expect == ()


def test_groq_3_is_diagnosed_by_no_check(tmp_path: Path) -> None:
    """All are told as skipped, with the reason, and none is hidden."""
    file = tmp_path / "machine.tar.gz"
    file.write_bytes(recordings.snapshot("groq-card"))
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    options = diagnose.Options(Source((file,), None, None, 20.0, (), False, None, "checks"), recipe="groq-3-lpx")
    for form in (diagnose.Format.json, diagnose.Format.text):
        diagnose.run(options._replace(format=form), Streams(output, io.StringIO()))
    output.seek(0)
    document, size = json.JSONDecoder().raw_decode(text := output.read())
    told = document["findings"]
    assert "Nothing wrong" not in text[size:]
    assert "No check ran, by the recipe: PCI ids, driver" in text[size:]
    assert {one["status"] for one in told} == {"skip"}
    assert {one["message"] for one in told} == {of("groq-3-lpx").diagnose.skip[0].why}
    assert len(told) > 100
