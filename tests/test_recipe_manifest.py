"""KubeRay manifests: sums that keep pods pending, what the operator refuses or passes over, and the recipe's patch."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from raxl.errors import RecipeError, UnreadableInput
from raxl.model import codec
from raxl.model.manifest import FAIL, NOTE, WARN, ManifestFinding, ManifestResult
from raxl.model.plan import NEW, Setting
from raxl.model.recipe import Environment, Hardware, KubeRay, RayStart, Recipe, SetVariable, UnsetVariable
from raxl.recipe import kuberay_patch, kuberay_tree, manifest, manifest_yaml
from raxl.render import text_recipe_manifest
from raxl.render.text import to_text

TPU = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: trillium
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers:
          - name: head
            image: rayproject/ray:2.60.0
            resources: {limits: {cpu: "8", memory: 40Gi}}
  workerGroupSpecs:
    - groupName: slice
      replicas: 1
      minReplicas: 1
      maxReplicas: 2
      numOfHosts: 4
      rayStartParams: {}
      template:
        spec:
          nodeSelector:
            cloud.google.com/gke-tpu-accelerator: tpu-v6e-slice
            cloud.google.com/gke-tpu-topology: 4x4
          containers:
            - name: worker
              image: rayproject/ray:2.60.0
              env:
                - {name: JAX_PLATFORMS, value: "tpu,cpu"}
              resources:
                limits: {cpu: "24", memory: 200Gi, google.com/tpu: "4"}
                requests: {cpu: "24", memory: 200Gi, google.com/tpu: "4"}
"""
GPU = """\
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: train}
spec:
  entrypoint: python train.py
  rayClusterSpec:
    headGroupSpec:
      template: {spec: {containers: [{name: head, image: ray}]}}
    workerGroupSpecs:
      - groupName: h100
        replicas: 2
        rayStartParams: {}
        template:
          spec:
            containers:
              - name: worker
                image: ray
                securityContext: {capabilities: {add: [IPC_LOCK]}}
                resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32, memory: 1Ti}}
                volumeMounts: [{name: shm, mountPath: /dev/shm}]
            volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}]
"""


def check(text: str, *changes: tuple[str, str]) -> ManifestResult:
    """The manifest, each change made once."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return manifest.checked(text, "ray.yaml")


def line_of(text: str, words: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if words in line)


def only(result: ManifestResult, level: str = FAIL) -> ManifestFinding:
    """The one finding of this level."""
    found = [one for one in result.findings if one.level == level]
    assert len(found) == 1, result.findings
    return found[0]


def test_a_slice_whose_sums_agree_has_nothing_wrong() -> None:
    result = check(TPU)
    assert (result.status, result.findings) == ("ok", ())
    head, slice_ = result.groups
    assert (head.is_head, head.pods, head.limits, head.registered) == (True, 1, {}, {})
    assert (slice_.name, slice_.line, slice_.pods) == ("slice", line_of(TPU, "groupName"), 4)
    assert slice_.limits == {"google.com/tpu": 4}
    assert slice_.registered == {"TPU": 4.0}


def test_a_group_of_h100_in_a_job_has_nothing_wrong() -> None:
    result = check(GPU)
    assert (result.status, result.findings) == ("ok", ())
    assert result.groups[1].registered == {"GPU": 8.0}
    assert result.groups[1].object == "RayJob train"


@pytest.mark.parametrize(
    ("change", "message", "where"),
    [
        (("numOfHosts: 4", "numOfHosts: 3"), "16 chips, 4 a host: it takes 4 hosts, and numOfHosts is 3", "numOfHosts"),
        (("      numOfHosts: 4\n", ""), "it takes 4 hosts, and numOfHosts is 1", "groupName"),
        (("topology: 4x4", "topology: 2x4"), "8 chips, 4 a host: it takes 2 hosts, and numOfHosts is 4", "numOfHosts"),
        (("topology: 4x4", "topology: 4x4x4"), "has topologies of 2 sides, 4x4x4 has 3", "gke-tpu-topology"),
        (("topology: 4x4", "topology: four"), "is no product of sides", "gke-tpu-topology"),
        (("tpu-v6e-slice", "tpu7x"), "tpu7x has topologies of 3 sides, 4x4 has 2", "gke-tpu-topology"),
        (("numOfHosts: 4", 'numOfHosts: "4"'), "numOfHosts is '4', and has to be a whole number", "numOfHosts"),
        (("numOfHosts: 4", "numOfHosts: 0"), "has to be a whole number from 1 on", "numOfHosts"),
        (("minReplicas: 1", "minReplicas: 3"), "minReplicas 3 is above maxReplicas 2", "minReplicas"),
        (
            ("rayStartParams: {}\n      template", "rayStartParams: {num-cpus: 8}\n      template"),
            "without quotes",
            "rayStartParams: {num",
        ),
        (('value: "tpu,cpu"', "value: yes"), "JAX_PLATFORMS is true without quotes", "JAX_PLATFORMS"),
        (
            ("      rayStartParams: {}\n", '      rayStartParams: {labels: "a=b"}\n'),
            "refused by KubeRay from 1.5 on",
            "rayStartParams: {lab",
        ),
        (
            ("      rayStartParams: {}\n", '      labels: {raxl/rack: "r 12"}\n'),
            "value that Kubernetes does not take",
            "raxl/rack",
        ),
        (
            ("      rayStartParams: {}\n", '      resources: {TPU: "4"}\n      rayStartParams: {num-cpus: "24"}\n'),
            "rayStartParams.num-cpus are both set",
            "num-cpus",
        ),
        (
            ("      rayStartParams: {}\n", """      rayStartParams: {resources: '{"TPU": 8}'}\n"""),
            "Ray would count 8 TPU, and the pod has 4",
            "rayStartParams: {res",
        ),
    ],
)
def test_each_fault_of_a_slice_is_told_with_its_line(change: tuple[str, str], message: str, where: str) -> None:
    """A head group comes first in the manifest: a line that both have is the second one."""
    if change[0].startswith("      rayStartParams"):
        text = TPU.replace(f"      numOfHosts: 4\n{change[0]}", f"      numOfHosts: 4\n{change[1]}")
    else:
        text = TPU.replace(*change)
    assert text != TPU
    result = manifest.checked(text, "ray.yaml")
    found = only(result)
    assert message in found.message
    assert found.line == line_of(text, where)
    assert found.where == "workerGroupSpecs[0] 'slice'"
    assert found.remedy
    assert result.status == FAIL


def test_hosts_of_a_slice_of_several_have_four_chips_each() -> None:
    text = TPU.replace('google.com/tpu: "4"', 'google.com/tpu: "8"').replace("numOfHosts: 4", "numOfHosts: 2")
    found = [one for one in manifest.checked(text, "x").findings if one.level == FAIL]
    assert [one.check for one in found] == ["tpu", "hosts"]
    assert "they have 4 chips each: a pod asks for 8" in found[0].message
    single = text.replace("4x4", "2x4").replace("numOfHosts: 2", "numOfHosts: 1")
    assert manifest.checked(single, "x").findings == (), "one host of eight chips is a slice by itself"


def test_a_pod_on_tpu_nodes_that_asks_for_no_tpu_is_a_fault() -> None:
    text = TPU.replace(', google.com/tpu: "4"', "")
    found = only(manifest.checked(text, "x"))
    assert found.check == "tpu"
    assert found.line == line_of(TPU, "nodeSelector")


@pytest.mark.parametrize(
    ("limit", "registered"),
    [
        ("nvidia.com/gpu: 8", {"GPU": 8.0}),
        ("amd.com/gpu: 8", {"GPU": 8.0}),
        ("metax-tech.com/gpu: 8", {"GPU": 8.0}),
        ("nvidia.com/mig-1g.10gb: 7", {"GPU": 7.0}),
        ("aws.amazon.com/neuroncore: 32", {"neuron_cores": 32.0}),
        ("google.com/tpu: 4", {"TPU": 4.0}),
        ("nvidia.com/gpu.shared: 8", {}),
        ("nvidia.com/mig-1g.10gb.me: 7", {}),
        ("aws.amazon.com/neuron: 16", {}),
        ("habana.ai/gaudi: 8", {}),
        ("huawei.com/Ascend910: 8", {}),
    ],
)
def test_what_kuberay_maps_is_what_ray_would_count(limit: str, registered: dict[str, float]) -> None:
    result = check(GPU, ("nvidia.com/gpu: 8", limit))
    assert result.groups[1].registered == registered
    assert [one.check for one in result.findings if one.level == FAIL] == ([] if registered else ["resources"])


@pytest.mark.parametrize(
    ("limit", "remedy"),
    [
        ("nvidia.com/mig-1g.10gb.me: 7", 'rayStartParams: {num-gpus: "7"}'),
        ("habana.ai/gaudi: 8", """rayStartParams: {resources: '{"HPU": 8}'}"""),
        ("huawei.com/Ascend910: 8", """rayStartParams: {resources: '{"NPU": 8}'}"""),
    ],
)
def test_a_remedy_for_what_kuberay_does_not_map_mends_it(limit: str, remedy: str) -> None:
    result = check(GPU, ("nvidia.com/gpu: 8", limit))
    found = only(result)
    assert (found.remedy, found.line) == (remedy, line_of(GPU, "nvidia.com/gpu"))
    assert check(GPU, ("nvidia.com/gpu: 8", limit), ("        rayStartParams: {}", f"        {remedy}")).findings == ()


def test_devices_of_neuron_are_not_held_against_cores() -> None:
    started = ("rayStartParams: {}", """rayStartParams: {resources: '{"neuron_cores": 32}'}""")
    assert check(GPU, ("nvidia.com/gpu: 8", "aws.amazon.com/neuron: 16"), started).findings == ()
    cores = check(GPU, ("nvidia.com/gpu: 8", "aws.amazon.com/neuroncore: 16"), started)
    assert "Ray would count 32 neuron_cores, and the pod has 16" in only(cores).message


def test_resources_that_kuberay_cannot_read_cost_every_accelerator() -> None:
    escaped = """rayStartParams: {resources: '"{\\"mine\\": 1}"'}"""
    result = check(GPU, ("rayStartParams: {}", escaped))
    assert "cannot read rayStartParams.resources as JSON" in only(result).message
    assert result.groups[1].registered == {"mine": 1.0}
    quoted = """rayStartParams: {resources: "'{\\"mine\\": 1}'"}"""
    assert check(GPU, ("rayStartParams: {}", quoted)).groups[1].registered == {"mine": 1.0, "GPU": 8.0}


def test_a_count_beside_the_limit_has_to_agree() -> None:
    more = check(GPU, ("rayStartParams: {}", 'rayStartParams: {num-gpus: "16"}'))
    assert only(more).message == "Ray would count 16 GPU, and the pod has 8 × nvidia.com/gpu"
    fewer = check(GPU, ("rayStartParams: {}", 'rayStartParams: {num-gpus: "4"}'))
    assert only(fewer, WARN).line == line_of(GPU, "rayStartParams")
    none = check(GPU, ("nvidia.com/gpu: 8, ", ""), ("rayStartParams: {}", 'rayStartParams: {num-gpus: "8"}'))
    assert "the pod asks for none" in only(none).message
    claimed = ("            volumes:", "            resourceClaims: [{name: gpus}]\n            volumes:")
    assert (
        check(
            GPU, claimed, ("nvidia.com/gpu: 8, ", ""), ("rayStartParams: {}", 'rayStartParams: {num-gpus: "8"}')
        ).findings
        == ()
    )


def test_a_request_without_its_limit_is_refused() -> None:
    text = GPU.replace(
        "{limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32, memory: 1Ti}}", "{requests: {nvidia.com/gpu: 8}}"
    )
    assert "requested without a limit" in only(manifest.checked(text, "x")).message


@pytest.mark.parametrize(
    ("change", "level", "message"),
    [
        (("medium: Memory, ", ""), FAIL, "on disk: medium is not Memory"),
        (("sizeLimit: 64Gi", "sizeLimit: 512Mi"), FAIL, "512 MiB at /dev/shm for 8 accelerators"),
        (("sizeLimit: 64Gi", "sizeLimit: 2Ti"), WARN, "may grow to 2 TiB, and counts as the container's memory"),
        (("volumes: [{name: shm,", "volumes: [{name: other,"), FAIL, "is not among the pod's: 64 MiB are left"),
        (
            ("emptyDir: {medium: Memory, sizeLimit: 64Gi}", "persistentVolumeClaim: {claimName: x}"),
            FAIL,
            "is no memory",
        ),
        (("capabilities: {add: [IPC_LOCK]}", "capabilities: {}"), FAIL, "efa without the capability IPC_LOCK"),
        (("capabilities: {add: [IPC_LOCK]}", "privileged: true"), NOTE, "is privileged"),
        (
            ("rayStartParams: {}", 'rayStartParams: {object-store-memory: "100000000000"}'),
            WARN,
            "Ray would keep objects",
        ),
        (
            ("rayStartParams: {}", 'rayStartParams: {object-store-memory: "2000000000000"}'),
            FAIL,
            "Ray would keep objects",
        ),
        (
            (
                "            containers:\n              - name: worker",
                "            hostNetwork: true\n            containers:\n              - name: worker",
            ),
            WARN,
            "does not find the head's service",
        ),
    ],
)
def test_memory_and_rights_of_a_pod(change: tuple[str, str], level: str, message: str) -> None:
    assert message in only(check(GPU, change), level).message


def test_kuberay_mounts_shared_memory_by_itself() -> None:
    none = GPU.replace("                volumeMounts: [{name: shm, mountPath: /dev/shm}]\n", "")
    assert manifest.checked(none, "x").findings == ()
    plasma = none.replace("rayStartParams: {}", "rayStartParams: {plasma-directory: /data}")
    assert only(manifest.checked(plasma, "x"), WARN).check == "shm"


def test_labels_of_pods_are_not_labels_of_ray() -> None:
    result = check(
        TPU,
        (
            "      template:\n        spec:\n          nodeSelector",
            "      template:\n        metadata: {labels: {raxl/rack: r12, app: mine}}\n"
            "        spec:\n          nodeSelector",
        ),
    )
    found = only(result, WARN)
    assert found.message.startswith("raxl/rack on the pod template alone")
    assert found.line == line_of(TPU, "nodeSelector:") - 1


def test_devices_of_another_container_are_not_rays() -> None:
    sidecar = GPU.replace("                image: ray\n", "                image: ray\n", 1).replace(
        "              - name: worker\n", "              - {name: log, image: x}\n              - name: worker\n"
    )
    found = [one for one in manifest.checked(sidecar, "x").findings if one.level == FAIL]
    assert [one.message for one in found] == [
        "nvidia.com/gpu is asked for by container 1: KubeRay starts Ray in the first, by its limits"
    ]


def test_objects_of_a_file_are_told_apart_and_others_left_alone() -> None:
    text = f"---\n{TPU}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\n---\n{GPU}"
    result = manifest.checked(text, "x")
    assert list(dict.fromkeys(one.object for one in result.groups)) == ["RayCluster trillium", "RayJob train"]
    assert result.groups[3].line == len(TPU.splitlines()) + 6 + line_of(GPU, "groupName")
    listed = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": list(yaml.safe_load_all(text))[::2]})
    assert [one.object for one in manifest.checked(listed, "x").groups][::2] == ["RayCluster trillium", "RayJob train"]


def test_what_is_no_manifest_is_refused_in_a_line() -> None:
    with pytest.raises(UnreadableInput, match="no RayCluster, RayJob or RayService"):
        manifest.checked("kind: ConfigMap\napiVersion: v1\n", "x")
    with pytest.raises(UnreadableInput, match=r"x is a template .* helm template"):
        manifest.checked("kind: RayCluster\nspec:\n  {{- if .Values.head }}\n", "x")
    with pytest.raises(UnreadableInput, match="x:2 is no YAML"):
        manifest.checked("a: b\n\tc: d\n", "x")
    unknown = manifest.checked("apiVersion: ray.io/v1\nkind: RayThing\n", "x")
    assert (unknown.status, only(unknown, NOTE).line) == ("ok", 2)
    broken = manifest.checked("apiVersion: ray.io/v1\nkind: RayService\nspec: {}\n", "x")
    assert only(broken).message == "it has no spec.rayClusterConfig"


def test_a_key_that_stands_twice_is_a_fault_with_the_line_of_the_second() -> None:
    text = TPU.replace("numOfHosts: 4\n", "numOfHosts: 4\n      replicas: 2\n")
    found = only(manifest.checked(text, "x"))
    assert (found.check, found.line) == ("yaml", line_of(text, "replicas: 2"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: !!python/object/apply:os.system [echo]\n", "x:1 is no manifest .*none of plain YAML"),
        ("a: !mine b\n", "none of plain YAML"),
        ("a: !!binary aGk=\n", "none of plain YAML"),
        ("a: &a [*a]\n", "stands for nothing that is whole"),
        ("a: *b\n", "(stands for nothing|undefined alias)"),
        ("a: " + "[" * 100 + "]" * 100, "nested deeper"),
        ("a:\n" + "".join(f"{' ' * n}b:\n" for n in range(1, 200)), "nested deeper"),
        ("a: [" + "1," * 60_000 + "]", "more than 50000 values"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)),
            "unfold without end",
        ),
        ("x" * (1 << 20) + "y", "larger than 1 MiB"),
        ("? [a, b]\n: c\n", "no plain word"),
        ("a: \x00b", "no YAML"),
    ],
)
def test_hostile_yaml_is_refused(text: str, why: str) -> None:
    with pytest.raises(UnreadableInput, match=why):
        manifest_yaml.read(text, "x")


def test_anchors_and_merge_keys_keep_their_lines() -> None:
    text = "base: &base\n  a: 1\n  b: 2\nother:\n  <<: *base\n  b: 3\nlist: [*base]\n"
    tree = manifest_yaml.read(text, "x")[0]
    assert tree.value["other"] == {"b": 3, "a": 1}
    assert tree.value["list"] == [{"a": 1, "b": 2}]
    assert tree.line(("other", "b")) == 6
    assert tree.line(("other", "a")) == 2
    assert tree.line(("other", "nothing")) == 4


@pytest.mark.parametrize("text", [TPU, GPU])
def test_values_are_those_that_a_yaml_library_reads(text: str) -> None:
    assert manifest_yaml.read(text, "x")[0].value == yaml.safe_load(text)


RECIPE = Recipe(
    "raxl.recipe/v1",
    "p5",
    "Eight H100",
    hardware=Hardware(accelerators=8),
    env=Environment(
        (
            SetVariable("FI_PROVIDER", "efa", "the only one"),
            SetVariable("NCCL_IB_HCA", "{hcas}", "computed", scope="workers"),
            SetVariable("RAY_HEAD_ONLY", "1", "", scope="head"),
        ),
        (UnsetVariable("NCCL_PROTO", "stale"),),
    ),
    ray=RayStart(labels={"raxl/scale-up": "nvlink"}),
    kuberay=KubeRay(
        {
            "labels": {"raxl/nics": "{nics}"},
            "template": {
                "spec": {
                    "hostNetwork": True,
                    "dnsPolicy": "ClusterFirstWithHostNet",
                    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                    "containers": [
                        {
                            "name": "ray-worker",
                            "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
                            "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
                        }
                    ],
                    "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}}],
                }
            },
        },
        resource="nvidia.com/gpu",
    ),
)
VALUES = {"hcas": ("=mlx5_0", "mlx5_1"), "nics": 32}


def test_the_patch_goes_into_the_ray_container_whatever_its_name() -> None:
    text = GPU.replace("image: ray\n", "image: ray\n                env: [{name: NCCL_PROTO, value: simple}]\n")
    result = manifest.checked(text, "x", RECIPE, VALUES)
    head, workers = result.groups
    assert (head.is_for_recipe, head.diff) == (False, "")
    patched = yaml.safe_load(workers.patched)
    (container,) = patched["template"]["spec"]["containers"]
    assert container["name"] == "worker"
    assert container["image"] == "ray"
    assert container["env"] == [
        {"name": "FI_PROVIDER", "value": "efa"},
        {"name": "NCCL_IB_HCA", "value": "=mlx5_0,mlx5_1"},
    ]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 8
    assert container["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]
    assert patched["template"]["spec"]["volumes"][0]["emptyDir"] == {"medium": "Memory", "sizeLimit": "64Gi"}
    assert patched["labels"] == {"raxl/scale-up": "nvlink", "raxl/nics": "32"}
    assert result.status == WARN
    told = {one.message.split(", and")[0]: one.line for one in result.findings}
    assert told["p5 unsets NCCL_PROTO"] == line_of(text, "NCCL_PROTO")
    assert told["p5 sets FI_PROVIDER=efa"] == line_of(text, "NCCL_PROTO")
    assert "-" not in [line[:1] for line in workers.diff.splitlines() if "image" in line]


def test_a_patched_manifest_passes_its_own_check() -> None:
    text = GPU.replace("image: ray\n", "image: ray\n                env: [{name: NCCL_PROTO, value: simple}]\n")
    result = manifest.checked(text, "x", RECIPE, VALUES)
    whole = yaml.safe_load(text)
    whole["spec"]["rayClusterSpec"]["workerGroupSpecs"][0] = yaml.safe_load(result.groups[1].patched)
    again = manifest.checked(yaml.safe_dump(whole, sort_keys=False), "x", RECIPE, VALUES)
    assert again.findings == ()
    assert [one.diff for one in again.groups] == ["", ""]


def test_settings_of_a_plan_take_the_place_of_the_recipes_own() -> None:
    told = [
        Setting("env", "NCCL_DEBUG", "INFO", NEW, "recipe"),
        Setting("label", "raxl/rack", "r12", NEW, "labels"),
    ]
    result = manifest.checked(GPU, "x", RECIPE, VALUES, told)
    container = yaml.safe_load(result.groups[1].patched)["template"]["spec"]["containers"][0]
    assert container["env"] == [{"name": "NCCL_DEBUG", "value": "INFO"}]


def test_what_only_a_node_knows_is_left_out_of_the_patch_and_told() -> None:
    result = manifest.checked(GPU, "x", RECIPE, {"hcas": "mlx5_0"})
    assert result.patch["labels"] == {"raxl/scale-up": "nvlink"}
    told = [one for one in result.findings if one.check == "unknown"]
    assert [one.message for one in told] == [
        "p5 wants labels['raxl/nics'], and {nics} is known on a node alone: the patch leaves it out"
    ]
    spec = {"containers": [{"name": "w", "env": [{"name": "A", "value": "{x}"}, {"name": "B", "value": "{{y}}"}]}]}
    kuberay = KubeRay({"template": {"spec": spec}, "numOfHosts": "{x}"})
    patch = manifest.checked(GPU, "x", Recipe("raxl.recipe/v1", "r", "", kuberay=kuberay)).patch
    assert patch == {"template": {"spec": {"containers": [{"name": "w", "env": [{"name": "B", "value": "{y}"}]}]}}}


def test_a_variable_is_taken_away_where_its_value_is_the_stale_one() -> None:
    unset = Environment((), (UnsetVariable("NCCL_PROTO", "stale", "==", "simple"),))
    recipe = Recipe("raxl.recipe/v1", "r", "", env=unset)
    for value, is_stale in (("simple", True), ("LL128", False)):
        text = GPU.replace("image: ray\n", f"image: ray\n                env: [{{name: NCCL_PROTO, value: {value}}}]\n")
        result = manifest.checked(text, "x", recipe)
        assert bool(result.groups[1].diff) is is_stale
        assert [one.line for one in result.findings] == [line_of(text, "NCCL_PROTO")] * is_stale
    assert manifest.checked(GPU, "x", recipe).findings == ()


def test_a_group_that_asks_for_other_accelerators_is_none_of_the_recipes() -> None:
    result = manifest.checked(TPU, "x", RECIPE, VALUES)
    assert not any(one.is_for_recipe for one in result.groups)
    text = to_text(text_recipe_manifest.manifest(result, 100))
    assert text.splitlines()[-1] == "Nothing is wrong with it. No group of workers is one for p5."


def test_a_pod_that_asks_for_more_than_a_node_has_stays_pending() -> None:
    found = [
        one
        for one in manifest.checked(GPU.replace("gpu: 8", "gpu: 16"), "x", RECIPE, VALUES).findings
        if one.level == FAIL
    ]
    assert [one.message for one in found] == [
        "a pod asks for 16 × nvidia.com/gpu, a node of p5 has 8: it stays pending"
    ]


def test_what_a_patch_breaks_is_told_before_it_is_merged() -> None:
    kuberay = KubeRay({"numOfHosts": "{hosts}"}, chips_per_host=4, resource="google.com/tpu")
    recipe = Recipe("raxl.recipe/v1", "v6e", "", kuberay=kuberay)
    assert manifest.checked(TPU, "x", recipe, {"hosts": 4}).findings == ()
    found = only(manifest.checked(TPU, "x", recipe, {"hosts": 2}))
    assert found.line is None
    assert "numOfHosts is 2" in found.message


def test_what_makes_a_pod_run_something_else_is_named() -> None:
    patch = {"template": {"spec": {"hostPID": True, "containers": [{"image": "evil", "env": []}]}}}
    recipe = Recipe("raxl.recipe/v1", "x", "", kuberay=KubeRay(patch))
    result = manifest.checked(GPU, "x", recipe)
    assert list(result.loads_code) == ["template.spec.hostPID", "template.spec.containers[0].image"]
    assert "It is merged with --allow-code alone." in to_text(text_recipe_manifest.manifest(result, 120))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_text_fits_the_page_and_names_each_place(width: int) -> None:
    result = manifest.checked(TPU.replace("numOfHosts: 4", "numOfHosts: 3"), "ray.yaml", RECIPE, VALUES)
    lines = to_text(text_recipe_manifest.manifest(result, width)).splitlines()
    assert max(map(len, lines)) <= width
    assert any(line.startswith("FAIL  workerGroupSpecs[0] 'slice' line 19: topology 4x4") for line in lines)
    assert lines[-1].startswith("1 fault.")
    ascii_only = to_text(text_recipe_manifest.manifest(result, width, unicode=False))
    assert ascii_only.isascii()


def test_names_of_a_manifest_never_act() -> None:
    result = manifest.checked(TPU.replace("groupName: slice", 'groupName: "a\\e[31mb"'), "x", RECIPE, VALUES)
    assert result.groups[1].name == "ab"
    assert "\x1b" not in to_text(text_recipe_manifest.manifest(result, 100))


def test_quantities_and_volumes_of_the_manifest_stay_what_they_are() -> None:
    """A recipe cannot know how a manifest spells `8`, or calls its volumes."""
    spec = {
        "containers": [
            {
                "name": "ray-worker",
                "resources": {"limits": {"nvidia.com/gpu": "{accelerators.count}"}},
                "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
            }
        ],
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "65536Mi"}}],
    }
    kuberay = KubeRay({"template": {"spec": spec}}, resource="nvidia.com/gpu")
    recipe = Recipe("raxl.recipe/v1", "hgx", "", hardware=Hardware(accelerators=8), kuberay=kuberay)
    result = manifest.checked(GPU, "x", recipe)
    assert (result.findings, result.groups[1].diff) == ((), "")
    smaller = manifest.checked(GPU.replace("64Gi", "16Gi"), "x", recipe).groups[1].patched
    assert yaml.safe_load(smaller)["template"]["spec"]["volumes"] == [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "65536Mi"}}
    ]
    bare = GPU.replace("                volumeMounts: [{name: shm, mountPath: /dev/shm}]\n", "")
    patched = yaml.safe_load(manifest.checked(bare, "x", recipe).groups[1].patched)
    assert patched["template"]["spec"]["volumes"][1]["name"] == "dshm"


def test_a_value_that_only_a_node_knows_leaves_the_variable_out() -> None:
    recipe = Recipe("raxl.recipe/v1", "x", "", env=RECIPE.env)
    patch = manifest.checked(GPU, "x", recipe).patch
    names = [one["name"] for one in patch["template"]["spec"]["containers"][0]["env"]]
    assert names == ["FI_PROVIDER"]


def test_a_recipe_for_accelerators_leaves_groups_of_cpus_alone() -> None:
    other = """\
      - groupName: cpu
        template: {spec: {containers: [{name: worker, image: ray}]}}
"""
    result = manifest.checked(GPU + other, "x", RECIPE, VALUES)
    assert [one.is_for_recipe for one in result.groups] == [False, True, False]
    without = (GPU + other).replace("nvidia.com/gpu: 8, ", "")
    assert not any(one.is_for_recipe for one in manifest.checked(without, "x", RECIPE, VALUES).groups)
    alone = GPU.replace("nvidia.com/gpu: 8, ", "")
    result = manifest.checked(alone, "x", RECIPE, VALUES)
    assert "no container limit nvidia.com/gpu" in only(result).message


def test_an_entry_that_has_another_kind_of_value_is_replaced() -> None:
    other = GPU.replace("emptyDir: {medium: Memory, sizeLimit: 64Gi}", "hostPath: {path: /dev/shm}").replace(
        "image: ray\n",
        "image: ray\n                env: [{name: FI_PROVIDER, valueFrom: {fieldRef: {fieldPath: x}}}]\n",
    )
    patched = yaml.safe_load(manifest.checked(other, "x", RECIPE, VALUES).groups[1].patched)["template"]["spec"]
    assert patched["volumes"] == [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}}]
    assert patched["containers"][0]["env"][0] == {"name": "FI_PROVIDER", "value": "efa"}


_WORDS = st.sampled_from(["", "4", "4x4", "8Gi", "1e999", "a\x1b[31mb", "{}", "[", "🙂", "labels", "google.com/tpu"])
_LEAVES = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False) | _WORDS
_TREES = st.recursive(
    _LEAVES, lambda below: st.lists(below, max_size=3) | st.dictionaries(_WORDS, below, max_size=3), max_leaves=6
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([TPU, GPU]), st.lists(st.tuples(st.integers(0, 200), _TREES), min_size=1, max_size=3))
def test_a_manifest_of_any_shape_is_checked_and_told(text: str, changes: list[tuple[int, object]]) -> None:
    """Whatever stands where something else belongs: there is a result, it is JSON, and it can be shown."""
    tree = yaml.safe_load(text)
    for number, value in changes:
        paths = [path for path in _paths(tree) if path[:1] == ("spec",)]
        if not paths:
            break
        path = paths[number % len(paths)]
        around = kuberay_tree.at(tree, path[:-1])
        around[path[-1]] = value
    written = yaml.safe_dump(tree, allow_unicode=True)
    for recipe in (None, RECIPE):
        result = manifest.checked(written, "x", recipe, VALUES)
        codec.encode(result)
        assert "\x1b" not in to_text(text_recipe_manifest.manifest(result, 80))


def _paths(tree: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [one for key, below in pairs for one in [(*path, key), *_paths(below, (*path, key))]]


_KEYS = st.sampled_from(["labels", "env", "volumes", "volumeMounts", "add", "name", "value", "template", "spec", "x"])
_GROUPS = st.recursive(
    st.integers(0, 9) | _WORDS,
    lambda below: (
        st.dictionaries(_KEYS, below, max_size=4)
        | st.lists(
            st.dictionaries(st.sampled_from(["name", "value", "mountPath", "x"]), _WORDS, max_size=3), max_size=3
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(_KEYS, _GROUPS, max_size=4), st.dictionaries(_KEYS, _GROUPS, max_size=4))
def test_a_patch_that_is_merged_twice_changes_nothing_the_second_time(
    group: dict[str, Any], patch: dict[str, Any]
) -> None:
    once = kuberay_patch.merged(group, patch)
    assert kuberay_patch.merged(once, patch) == once


def test_a_patch_that_is_none_is_refused() -> None:
    for spec in ({"containers": ["x"]}, {"containers": [{"env": ["x"]}]}, {"volumes": ["x"]}):
        recipe = Recipe("raxl.recipe/v1", "r", "", kuberay=KubeRay({"template": {"spec": spec}}))
        with pytest.raises(RecipeError, match="is no mapping"):
            manifest.checked(GPU, "x", recipe)
