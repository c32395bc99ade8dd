"""What Ray would register, held against Ray's own code; and each disagreement with the hardware, with its correction.

`tests/ray/NAME.txt` are machines in the form of `tests/recordings/README.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import recordings
from raxl.collect import assemble
from raxl.collect.bus import bus_of
from raxl.host import Answer
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.intake import documents
from raxl.model.accelerator import Accelerator, Partition, RayView
from raxl.model.facts import Reading
from raxl.model.node import Node
from raxl.model.ray_readings import RayReadings
from raxl.sources import ray_view
from raxl.topology import ray_advice, ray_detection, ray_visible
from raxl.topology.ray_counts import NVML_COUNTING, Here
from raxl.topology.ray_detection import Detection
from ray_itself import FAILS_TO_COUNT, STARTS, Ray

FOLDER = Path(__file__).parent / "ray"


class Expected(NamedTuple):
    """Whether Ray would register each accelerator (`y`, `n`, `?` for not known), and the one thing that is told."""

    registered: str
    subject: str = ""
    message: str = ""
    type: str = ""
    """What is told of the accelerator type beside."""


NO_TYPE = (
    "Ray would give no accelerator type (its detection never gives one here): start it with "
    "--labels=ray.io/accelerator-type=Blackhole"
)
MACHINES = {
    "accel-folder": Expected("yyyy"),
    "amd-id-outside-the-table": Expected(
        "y",
        "ray.GPU.type",
        "Ray would give no accelerator type (it has none for this PCI id): start it with "
        "--labels=ray.io/accelerator-type=AMD-Radeon-AI-PRO-R9700",
    ),
    "amd-mi308x": Expected(
        "y",
        "ray.GPU.type",
        "Ray would call it AMD-Instinct-MI308X-OAM, and its own constant says AMD-Instinct-MI308X: ask for "
        "AMD-Instinct-MI308X-OAM",
    ),
    "amd-rocr-and-hip": Expected(
        "yynn",
        "ray.GPU.visible",
        "HIP_VISIBLE_DEVICES counts among those that ROCR_VISIBLE_DEVICES leaves, and Ray counts by the former alone: "
        "unset ROCR_VISIBLE_DEVICES",
    ),
    "amd-none-given": Expected(
        "n",
        "ray.GPU",
        "Ray would register no GPU (no file of these devices is in /dev): give the container /dev/kfd and "
        "/dev/dri/renderD*",
    ),
    "amd-of-four-two-given": Expected(
        "nnnn",
        "ray.GPU",
        "Ray would register no GPU (Ray counts AMD devices by the Python package amdsmi, which is not "
        "beside it): install amdsmi beside Ray, or start it with --num-gpus 2",
    ),
    "amd-sound": Expected("yyyy"),
    "amd-without-amdsmi": Expected(
        "nnnn",
        "ray.GPU",
        "Ray would register no GPU (Ray counts AMD devices by the Python package amdsmi, which is not "
        "beside it): install amdsmi beside Ray, or start it with --num-gpus 4",
    ),
    "amd-without-ray": Expected("????"),
    "ascend-by-files": Expected("yy"),
    "ascend-visible-twice": Expected(
        "??",
        "ray.NPU",
        "Ray would register 2 NPU (ASCEND_RT_VISIBLE_DEVICES=1,1 names 1 twice): set ASCEND_RT_VISIBLE_DEVICES=1",
    ),
    "furiosa-without-package": Expected(
        "n",
        "ray.FURIOSA",
        "Ray would register no FURIOSA (Ray counts FuriosaAI devices by the Python package furiosa_smi_py, "
        "which is not beside it): install furiosa_smi_py beside Ray, or start it with "
        "--resources='{\"FURIOSA\": 1}'",
    ),
    "gaudi-of-two-one-given": Expected(
        "nn",
        "ray.HPU",
        "Ray would register no HPU (Ray counts Intel Gaudi devices by the Python package "
        "habana_frameworks, which is not beside it): install habana_frameworks beside Ray, or start it "
        "with --resources='{\"HPU\": 1}'",
    ),
    "gaudi-without-package": Expected(
        "nn",
        "ray.HPU",
        "Ray would register no HPU (Ray counts Intel Gaudi devices by the Python package "
        "habana_frameworks, which is not beside it): install habana_frameworks beside Ray, or start it "
        "with --resources='{\"HPU\": 2}'",
    ),
    "igpu-of-amd": Expected(
        "nnnn",
        "ray.GPU",
        "Ray would register 1 GPU (it takes the node for one of AMD's: amdsmi lists what amdgpu drives: "
        "0000:c8:00.0): uninstall the Python package amdsmi beside Ray",
    ),
    "library-missing": Expected(
        "nnnn",
        "ray.GPU",
        "Ray would register no GPU (Ray takes an NVML that does not start for no GPU: NVML error 12: NVML "
        "Shared Library Not Found): give the container NVIDIA_DRIVER_CAPABILITIES=compute,utility, or "
        "start it with --num-gpus 4",
    ),
    "metax-without-package": Expected(
        "n",
        "ray.GPU",
        "Ray would register no GPU (Ray counts MetaX devices by the Python package pymxsml, which is not "
        "beside it): install pymxsml beside Ray, or start it with --num-gpus 1",
    ),
    "mig-boards": Expected(
        "y",
        "ray.GPU",
        "Ray would register 1 GPU (it counts boards, not the 3 MIG devices on them): set "
        "CUDA_VISIBLE_DEVICES to the UUIDs of MIG devices that nvidia-smi -L lists and start it with "
        "--num-gpus 3",
    ),
    "mig-listed": Expected(
        "y",
        "ray.GPU",
        "Ray would register 1 GPU (it counts boards, and CUDA_VISIBLE_DEVICES names 3 MIG devices): start it"
        " with --num-gpus 3",
    ),
    "mobilint-by-files": Expected("y"),
    "neuron-folder-without-ls": Expected(
        "n",
        "ray",
        "Ray would not start (/opt/aws/neuron/bin is here without neuron-ls, and Ray does not catch "
        "that): install aws-neuronx-tools, or start it with --resources='{\"neuron_cores\": 2}'",
    ),
    "neuron-ls-missing": Expected(
        "n",
        "ray.neuron_cores",
        "Ray would register no neuron_cores (Ray runs /opt/aws/neuron/bin/neuron-ls, which is not here): install "
        "aws-neuronx-tools, or start it with --resources='{\"neuron_cores\": 2}'",
    ),
    "neuron-range": Expected(
        "y",
        "ray.neuron_cores",
        "Ray would register 1 neuron_cores (NEURON_RT_VISIBLE_CORES=0-1 names 0-1, which Ray takes for one): unset "
        "NEURON_RT_VISIBLE_CORES",
    ),
    "neuron-without-driver": Expected(
        "n",
        "ray.neuron_cores",
        "Ray would register no neuron_cores (no driver is bound to what is on the bus): load the driver",
    ),
    "neuron-range-without-tool": Expected(
        "n",
        "ray.neuron_cores",
        "Ray would register no neuron_cores (Ray runs /opt/aws/neuron/bin/neuron-ls, which is not here, and "
        "NEURON_RT_VISIBLE_CORES=0-1 names 0-1, which Ray takes for one): install aws-neuronx-tools, and unset "
        "NEURON_RT_VISIBLE_CORES",
    ),
    "neuron-sound": Expected("y"),
    "nvidia-driverless": Expected(
        "nnnn",
        "ray.GPU",
        "Ray would register no GPU (no driver is bound to what is on the bus): load the driver",
    ),
    "nvidia-lost": Expected(
        "yyyyyyyy",
        "ray.GPU",
        "Ray would register 8 GPU (NVML lists 8, GPU 6 lost): set CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,7 and start it "
        "with --num-gpus 7",
    ),
    "nvidia-lost-among-listed": Expected(
        "nnnnnyyy",
        "ray.GPU",
        "Ray would register 3 GPU (NVML lists 8, GPU 6 lost): set CUDA_VISIBLE_DEVICES=5,7 and start it with "
        "--num-gpus 2",
    ),
    "nvml-does-not-count": Expected(
        "nnnn",
        "ray",
        "Ray would not start (Ray does not catch an NVML that does not count: NVML error 999: Unknown Error (it "
        "starts, and does not count its devices)): repair the driver first",
    ),
    "override-beside-counted": Expected(
        "????",
        "ray",
        "Ray would register 4 TPU (RAY_OVERRIDE_RESOURCES says so), and at random 4 GPU or none: set "
        "RAY_OVERRIDE_RESOURCES='{\"GPU\": 4}'",
    ),
    "override-differs": Expected(
        "yyyy",
        "ray.GPU",
        "Ray would register 6 GPU (RAY_OVERRIDE_RESOURCES says so): set RAY_OVERRIDE_RESOURCES='{\"GPU\": 4}'",
    ),
    "override-no-json": Expected(
        "nnnn",
        "ray",
        "Ray would not start (RAY_OVERRIDE_RESOURCES is no JSON object of whole numbers): correct "
        "RAY_OVERRIDE_RESOURCES or unset it",
    ),
    "override-of-two": Expected("yyyyy", type=NO_TYPE),
    "rebellions-without-package": Expected(
        "n",
        "ray.RBLN",
        "Ray would register no RBLN (Ray counts Rebellions devices by the Python package rebel, which is "
        "not beside it): install rebel beside Ray, or start it with --resources='{\"RBLN\": 1}'",
    ),
    "rocr-without-hip": Expected(
        "nnnn",
        "ray",
        "Ray would not start (Ray refuses ROCR_VISIBLE_DEVICES without HIP_VISIBLE_DEVICES where it "
        "counts AMD GPUs): unset ROCR_VISIBLE_DEVICES and set HIP_VISIBLE_DEVICES=0,1",
    ),
    "tenstorrent-by-id": Expected(
        "y",
        "ray.TTNPU",
        "Ray would register 2 TTNPU (Ray counts all that is in /dev/tenstorrent, by-id too): start it "
        "with --resources='{\"TTNPU\": 1}'",
        NO_TYPE,
    ),
    "tenstorrent-visible-absent": Expected(
        "???",
        "ray.TTNPU",
        "Ray would register 2 TTNPU (TT_VISIBLE_DEVICES=0,4 names 4, which is not here): set TT_VISIBLE_DEVICES=0",
        NO_TYPE,
    ),
    "tpu-type-differs": Expected(
        "yyyyyyyy",
        "ray.TPU.type",
        "Ray would call the chips TPU-V5LITEPOD, after TPU_ACCELERATOR_TYPE=v5litepod-8, and by their PCI ids they "
        "are TPU v6e: correct TPU_ACCELERATOR_TYPE",
    ),
    "tpu-visible-absent": Expected(
        "ynnnnnnn",
        "ray.TPU",
        "Ray would register 3 TPU (TPU_VISIBLE_CHIPS=0,0,9 names 0 twice and names 9, which is not here): set "
        "TPU_VISIBLE_CHIPS=0",
    ),
    "tpu-without-name": Expected(
        "yyyyyyyy",
        "ray.TPU.head",
        "Ray would give no TPU-v6e-8-head and no slice labels unless Google's metadata server answers (no TPU_NAME and "
        "TPU_WORKER_ID in the environment): set TPU_NAME and TPU_WORKER_ID",
    ),
    "tpu-two-functions-a-chip": Expected(
        "yyy",
        "ray.TPU",
        "Ray would register 6 TPU (6 VFIO groups hold a device of Google's): start it with --resources='{\"TPU\": 3}'",
    ),
    "tpu-phantom-beside-gpus": Expected(
        "????",
        "ray",
        "Ray would register one family a start, at random: 4 GPU or 1 TPU (/dev/accel0 is 0000:c8:00.1 "
        "of vendor 1022): start it with --num-gpus 4 --resources='{\"TPU\": 0}'",
    ),
    "tpu-phantom": Expected(
        "",
        "ray.TPU",
        "Ray would register 1 TPU (/dev/accel0 is 0000:c8:00.1 of vendor 1022): start it with "
        "--resources='{\"TPU\": 0}'",
    ),
    "two-families-by-id": Expected(
        "?????",
        "ray",
        "Ray would register one family a start, at random: 4 GPU or 2 TTNPU (/dev/tenstorrent/by-id is "
        "no device): start it with --num-gpus 4 --resources='{\"TTNPU\": 1}'",
    ),
    "two-families": Expected(
        "?????",
        "ray",
        "Ray would register one family a start, at random: 4 GPU or 1 TTNPU: start it with --num-gpus 4 "
        "--resources='{\"TTNPU\": 1}'",
    ),
    "vfio-of-google": Expected("y"),
    "vfio-of-nvidia": Expected("yynn"),
    "visible-absent": Expected(
        "nyyn",
        "ray.GPU",
        "Ray would register 3 GPU (CUDA_VISIBLE_DEVICES=1,9,2 names 9, which is not here): set "
        "CUDA_VISIBLE_DEVICES=1,2",
    ),
    "visible-minus-one": Expected(
        "nnnn",
        "ray.GPU",
        "Ray would register 1 GPU (CUDA_VISIBLE_DEVICES=-1 names -1, which is not here): unset CUDA_VISIBLE_DEVICES",
    ),
    "visible-none": Expected("nnnn"),
    "visible-some": Expected("ynyn"),
    "visible-twice-and-absent": Expected(
        "ynnn",
        "ray.GPU",
        "Ray would register 3 GPU (CUDA_VISIBLE_DEVICES=0,0,9 names 0 twice and names 9, which is not here):"
        " set CUDA_VISIBLE_DEVICES=0",
    ),
}


def machine(name: str) -> recordings.Machine:
    return recordings.parse((FOLDER / f"{name}.txt").read_text())


def recorded(name: str) -> Recording:
    return recordings.of_text((FOLDER / f"{name}.txt").read_text())


def detected(recording: Recording) -> Detection:
    host = ReplayHost(recording)
    functions = bus_of(host, documents.read(host)[0]).functions
    return ray_detection.detection(Here(ray_view.readings(host), functions, True))


def advice(node: Node) -> list[tuple[str, str]]:
    return [(one.subject, one.message) for one in node.problems if one.subject.partition(".")[0] == "ray"]


def views(node: Node) -> str:
    return "".join({True: "y", False: "n", None: "?"}[device.ray.would_register] for device in node.accelerators)


def test_each_machine_is_expected_something() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(MACHINES)


@pytest.mark.parametrize("name", MACHINES)
def test_a_disagreement_is_named_with_its_correction(name: str) -> None:
    node, expected = assemble.node(recorded(name)), MACHINES[name]
    assert views(node) == expected.registered
    told = [(expected.subject, expected.message)] if expected.subject else []
    assert advice(node) == told + ([("ray.TTNPU.type", expected.type)] if expected.type else [])


def starts_of(name: str) -> int:
    """One start tells all where nothing is at random."""
    return STARTS if "at random" in MACHINES[name].message else 1


@pytest.fixture
def ray(name: str, tmp_path: Path) -> Ray:
    readings = ray_view.readings(ReplayHost(recorded(name)))
    amdsmi = None
    if "amdsmi" in (readings.packages.value or ()):
        amdsmi = 1 if readings.amdsmi.value is None else readings.amdsmi.value
    nvml = readings.nvml.value if readings.nvml.reason is None else None
    if readings.nvml.message.endswith(NVML_COUNTING):
        nvml = FAILS_TO_COUNT
    return Ray(machine(name), tmp_path, nvml, amdsmi)


@pytest.mark.parametrize("name", [name for name in MACHINES if name != "amd-without-ray"])
def test_ray_itself_registers_the_same(name: str, ray: Ray) -> None:
    known, starts = detected(recorded(name)), ray.starts(starts_of(name))
    numbers = [{one: n for one, n in start.items() if one in known.found or one == "error"} for start in starts]
    if known.refusal:
        assert all("error" in start for start in starts), starts
    elif known.random:
        wanted = [{**known.registers, one: known.found[one].number} for one in known.random]
        assert all(start in wanted for start in numbers), starts
        assert all(start in numbers for start in wanted), starts
    else:
        assert known.unknown is None
        assert all(start == {one: n for one, n in known.registers.items() if n} for start in numbers), starts


@pytest.mark.parametrize("name", [name for name, told in MACHINES.items() if told.message])
def test_ray_itself_registers_what_the_correction_says(name: str, ray: Ray) -> None:
    message = MACHINES[name].message
    given, environment = flags(message), changes(message)
    if not given and not environment:
        assert any(
            word in message
            for word in (
                "uninstall",
                "--labels",
                "correct ",
                "give the container",
                "load the",
                "repair",
                "ask for",
                "set TPU",
            )
        )
        return
    wanted = {"GPU": given.get("num_gpus"), **given.get("resources", {})}
    for start in ray.starts(starts_of(name), environment, **given):
        assert "error" not in start
        assert all(start.get(one, 0) == number for one, number in wanted.items() if number is not None), start


def flags(message: str) -> dict[str, object]:
    """What the correction gives to `ray start`, as Ray's code takes it."""
    gpus, others = re.search(r"--num-gpus (\d+)", message), re.search(r"--resources='(\{.*?\})'", message)
    given: dict[str, object] = {"num_gpus": int(gpus[1])} if gpus else {}
    return given | ({"resources": json.loads(others[1])} if others else {})


def changes(message: str) -> dict[str, str | None]:
    """The variables that the correction unsets or sets."""
    words = message.rpartition("): ")[2]
    unset = dict.fromkeys(re.findall(r"\bunset ([A-Z_]+)", words))
    given = re.findall(r"\bset ([A-Z_]+)=(?:'([^']*)'|(\S+))", words)
    return unset | {name: quoted or bare for name, quoted, bare in given}


def device(index: int, resource: str = "GPU", kind: str | None = "L40S", **more: Any) -> Accelerator:
    vendor = str(more.pop("vendor", "nvidia"))
    view = RayView(resource, kind)
    return Accelerator(f"{vendor}:{index}", vendor, "gpu", index=index, ray=view, **{"state": "ok", **more})


KFD = Reading(("kfd",), "/dev")


def here(**told: Reading) -> Here:
    """A node of which all could be read and that has nothing, but for what is given."""
    nothing = {
        "environment": Reading({}, "environ(7)"),
        "packages": Reading(frozenset({"ray"}), "packages"),
        "nvml": Reading(None, "nvml", "not-asked", "no NVIDIA device is here"),
        "amdsmi": Reading(None, "amdsmi", "not-asked", "no AMD GPU is here"),
        "neuron_tools": Reading((), ray_view.NEURON_TOOLS),
        "neuron_cores": Reading(None, "neuron-ls", "not-asked", ""),
        "device_files": Reading((), "/dev"),
        "tenstorrent": Reading((), "/dev/tenstorrent"),
        "vfio": Reading({}, "/dev/vfio"),
    }
    return Here(RayReadings(**{**nothing, **told}), {}, True)


def told(node: Here, devices: Sequence[Accelerator]) -> list[tuple[str, str]]:
    found = ray_advice.problems(ray_detection.detection(node), devices, node)
    return [(one.subject, one.message) for one in found]


def test_devices_of_two_types_are_all_called_after_the_first() -> None:
    devices = [device(0), device(1), device(2, kind="H100"), device(3, kind="H100")]
    message = "Ray would call all of them L40S, after the first (2 H100 among them): start it with"
    step = """--resources='{"H100": 2}' and ask for those"""
    assert told(here(nvml=Reading(4, "nvml")), devices) == [("ray.GPU.type", f"{message} {step}")]


def test_models_that_ray_calls_the_same_are_told_apart() -> None:
    models = ["NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"]
    devices = [device(index, kind="A100", model=model) for index, model in enumerate(models)]
    message = "Ray would call them A100 alike (2 A100-SXM4-40GB and 1 A100-SXM4-80GB): start it with"
    step = """--resources='{"A100-SXM4-40GB": 2, "A100-SXM4-80GB": 1}' and ask for those"""
    assert told(here(nvml=Reading(3, "nvml")), devices) == [("ray.GPU.type", f"{message} {step}")]


def test_partitions_of_an_amd_gpu_are_counted_one_by_one_as_its_runtime_shows_them() -> None:
    node = here(
        packages=Reading(frozenset({"ray", "amdsmi"}), "packages"), amdsmi=Reading(16, "amdsmi"), device_files=KFD
    )
    parts = tuple(Partition(f"kfd:{number}") for number in range(8))
    devices = [device(index, kind="X", vendor="amd", partitions=parts) for index in range(2)]
    assert told(node, devices) == []
    assert ray_detection.detection(node).registers == {"GPU": 16}


def test_a_family_without_a_type_is_given_one_by_a_label() -> None:
    node = here(tenstorrent=Reading(("0",), "/dev/tenstorrent"))
    devices = [device(0, "TTNPU", None, vendor="tenstorrent", model="Blackhole p150a")]
    why = "Ray would give no accelerator type (its detection never gives one here)"
    label = "start it with --labels=ray.io/accelerator-type=Blackhole-p150a"
    assert told(node, devices) == [("ray.TTNPU.type", f"{why}: {label}")]


def test_a_board_in_mig_mode_without_mig_devices_is_of_no_use() -> None:
    devices = [device(0, attributes={"mig_mode": "Enabled"}), device(1)]
    ((subject, message),) = told(here(nvml=Reading(2, "nvml")), devices)
    assert subject == "ray.GPU"
    assert message.endswith("create MIG devices, or start it with --num-gpus 1")


@pytest.mark.parametrize("name", ["nvml", "device_files", "tenstorrent", "vfio", "neuron_tools"])
def test_what_was_not_asked_leaves_it_unknown(name: str) -> None:
    reading = Reading(None, name, "timed-out", "no answer within 10 s")
    known = ray_detection.detection(here(**{"nvml": Reading(4, "nvml"), name: reading}))
    assert known.unknown is not None
    assert known.unknown.reason == "timed-out"
    assert known.registers == {}
    registered = ray_detection.registered(known, [device(0)])
    assert registered == {"nvidia:0": known.unknown}


def test_without_the_environment_nothing_is_said() -> None:
    node = here(nvml=Reading(4, "nvml"), environment=Reading(None, "environ(7)", "not-asked", ""))
    known = ray_detection.detection(node)
    assert known.unknown is not None
    assert known.unknown.reason == "not-asked"
    assert told(node, [device(0)]) == []


@pytest.mark.parametrize(
    ("entries", "seen"),
    [
        ("0,1", [0, 1]),
        ("1,0", [1, 0]),
        ("0,0,1", []),
        ("0,7,1", [0]),
        ("-1", []),
        ("GPU-11", [1]),
        ("MIG-x,1", []),
        ("0,,1", [0]),
        ("٣", []),
        ("0," * 100_000, []),
    ],
)
def test_a_runtime_shows_what_a_list_names(entries: str, seen: list[int]) -> None:
    devices = [device(0, uuid="GPU-00aa"), device(1, uuid="GPU-11bb")]
    assert [one.index for one in ray_visible.seen("CUDA_VISIBLE_DEVICES", entries.split(","), devices)] == seen


@pytest.mark.parametrize("override", ["[]", "{", "Infinity", '{"GPU": NaN}', '{"GPU": -1}', '{"GPU": 1.5}', "[" * 9999])
def test_an_override_that_ray_does_not_take_ends_its_start(override: str) -> None:
    environment = Reading({"RAY_OVERRIDE_RESOURCES": override}, "environ(7)")
    known = ray_detection.detection(here(environment=environment, nvml=Reading(4, "nvml")))
    assert "RAY_OVERRIDE_RESOURCES" in known.refusal
    assert ray_detection.registered(known, [device(0)]) == {"nvidia:0": False}


@pytest.mark.parametrize("value", [None, 7, "x", [None, 3], {"a": 1}, True, [], ["accel0", "\x1b[31m"]], ids=repr)
def test_an_edited_recording_is_read_as_far_as_it_makes_sense(value: object) -> None:
    whole = recorded("tpu-phantom-beside-gpus")
    asked = [one for one in whole.answers if one.subject.startswith(("/dev", "/sys/kernel/iommu", "/opt/aws", "pack"))]
    for question in asked:
        changed = Recording({**whole.answers, question: Answer(value)}, recorded_by="0")
        assert len(assemble.node(changed).accelerators) == 4


def test_a_network_adapter_of_google_s_in_a_vfio_group_is_no_tpu() -> None:
    """Ray counts any of Google's that VFIO holds; the GPUs of the node are then not registered."""
    text = (FOLDER.parent / "recordings/nvidia-hgx-h100/machine.txt").read_text()
    group = "/sys/kernel/iommu_groups/7/devices"
    adapter = "/sys/devices/pci0000:f0/0000:f0:03.0"
    more = (
        f"\n{adapter}\n    class = 0x020000  vendor = 0x1ae0  device = 0x0042  numa_node = 0\n"
        f"    driver -> /sys/bus/pci/drivers/vfio-pci\n{group}/0000:f0:03.0 -> {adapter}\n/dev/vfio/7 = \n"
    )
    told = [message for _, message in advice(assemble.node(recordings.of_text(text + more)))]
    assert [message for message in told if "--resources='{\"TPU\": 0}'" in message], told
