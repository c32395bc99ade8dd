"""Redaction: identities are gone from every byte, alike everywhere, and what raxl says of the machine stays."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import captures
import seeds
from raxl.cli.source import read_through
from raxl.collect import assemble, inputs, keeping, machines
from raxl.host import Answer, CommandOutput, Question
from raxl.host.record import Recording
from raxl.host.redact import Redactor
from raxl.intake.tree import ArchiveTree, TreeRecording
from raxl.model import codec

KEY = b"k" * 32
HOST, DOMAIN = "gpu-node-17", "gpu-node-17.example.org"
IDENTITIES = {
    "name",
    "source",
    "boot_id",
    "uuid",
    "serial",
    "domain",
    "smi_uuid",
    "board_id",
    "sid",
    "asic_id",
    "fabric_domain",
}
"""The fields of an inventory that may differ."""


def read(content: bytes | str, name: str = "given") -> list[Recording]:
    """A file's recordings, asked everything that a snapshot holds."""
    found = machines.together(inputs._from_bytes(content if isinstance(content, bytes) else content.encode(), name))
    for recording in found:
        read_through(recording)
    return found


def redacted(recordings: list[Recording], key: bytes | None = KEY) -> bytes:
    redactor = Redactor(key)
    return keeping.packed([redactor.recording(recording) for recording in recordings], True)


def text_of(snapshot: bytes) -> str:
    """Every name and every byte of a snapshot."""
    parts = []
    with tarfile.open(fileobj=io.BytesIO(snapshot)) as archive:
        for member in archive:
            file = archive.extractfile(member)
            parts += [member.name, file.read().decode(errors="replace") if file else ""]
    return "\n".join(parts)


def said(recordings: list[Recording]) -> object:
    """The inventory without its identities."""
    text = codec.encode(assemble.inventory(recordings))
    return _without(json.loads(_IN_NAMES.sub("", text)))


_IN_NAMES = re.compile("(?<=enx)[0-9a-f]{12}|(?<=MIG-)[0-9a-f-]{36}")
"""Identities that are a part of an id: a MAC address, a MIG device's UUID."""


def _without(value: object) -> object:
    if isinstance(value, dict):
        return {
            key: "an identity" if key in IDENTITIES and one is not None else _without(one) for key, one in value.items()
        }
    return [_without(one) for one in value] if isinstance(value, list) else value


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, f"{path}.{key}")
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from leaves(one, f"{path}[{place}]")
    else:
        yield path, value


def identities(recordings: list[Recording]) -> set[str]:
    """What the inventory says of who the machine and its devices are."""
    document = json.loads(codec.encode(assemble.inventory(recordings)))
    named = IDENTITIES - {"source", "name"}
    found = {str(v) for path, v in leaves(document) if path.rpartition(".")[2] in named and v}
    return {value for value in found if len(set(re.sub("[^0-9a-f]", "", value))) > 1}


HELD = {
    "host name": "gpu-node-17",
    "domain": "example.org",
    "serial": "1651323100000",
    "AMD serial": "692100000001",
    "UUID": "1b2c3d4e-5f60-4718-8293-a4b5c6d7e800",
    "boot id": "5e3c2b1a-9f8e-4d7c-8b6a-594837261504",
    "unique id in sysfs": f"{seeds.UNITS[1]:016x}",
    "unique id in KFD": str(seeds.UNITS[0]),
    "hive": "7205759403792793601",
    "GUID": "ec0d:9a03:007f:51a2",
    "GID": "fe80:0000:0000:0000:ec0d:9a03:007f:51a2",
    "MAC address": "b8:59:9f:03:00:07",
    "MAC address in a device's name": "b8599f030007",
    "IPoIB address": "00:00:00:86:fe:80:00:00:00:00:00:00:ec:0d:02:00:00:00:00:01",
    "IPv4 address": "10.31.4.17",
    "IPv6 address": "2001:db8:31:4:0:0:0:17",
    "short IPv6 address": "2001:db8:31::17",
    "IPv6 prefix": "2001:db8:31:4::",
    "user": "alice",
    "user on Windows": "bob.builder",
    "who built the kernel": "carol@workbench",
    "container id": "3f2a" * 16,
    "pod": "7c1e2f3a_4b5c_6d7e_8f90_a1b2c3d4e5f6",
}


def holding() -> Recording:
    """A machine with one of each, in files, links, names, outputs, refusals and notes."""
    recording = seeds.recording(DOMAIN)
    process = f"/home/{HELD['user']}/venv/bin/python3"
    log = seeds.log_xml(
        [seeds.gpu_xml(0, process_name=process), seeds.gpu_xml(1, process_name="C:\\Users\\bob.builder\\x")]
    )
    words = "\n".join(HELD[name] for name in HELD if "user" not in name and "IPv6" not in name and "built" not in name)
    answers = {
        Question("command", "nvidia-smi -q -x"): Answer(CommandOutput(0, log, f"{HOST}: from {HELD['IPv4 address']}")),
        Question("text", "/proc/version"): Answer(f"Linux version 6.8.0 ({HELD['who built the kernel']}) #1"),
        Question("text", "/proc/self/cgroup"): Answer(f"0::/kubepods/pod{HELD['pod']}/{HELD['container id']}\n"),
        Question("text", "/sys/class/dmi/id/notes"): Answer(f"{words}\n"),
        Question("text", "/sys/class/net/ib0/address"): Answer(HELD["IPoIB address"] + "\n"),
        Question("text", "/proc/net/fib"): Answer("".join(f"{HELD[n]}/64 dev\n" for n in HELD if "IPv6" in n)),
        Question("names", "/sys/class/net"): Answer([f"enx{HELD[MAC_IN_NAME]}", "ib0"]),
        Question("link", f"/sys/class/net/enx{HELD[MAC_IN_NAME]}"): Answer(
            f"/sys/devices/pci0000:40/0000:40:01.0/net/enx{HELD[MAC_IN_NAME]}"
        ),
        Question("text", f"/home/{HELD['user']}/x"): Answer(None, "not-permitted", f"{HELD['user']}: denied on {HOST}"),
    }
    recording.answers.update(answers)
    recording.notes = ((f"{HOST}:ask", "failed", f"{HELD['MAC address']} at {HELD['IPv4 address']}"),)
    recording.source = f"/home/{HELD['user']}/{HOST}.tar.gz"
    return recording


MAC_IN_NAME = "MAC address in a device's name"


@pytest.mark.parametrize("what", HELD)
def test_no_byte_of_a_redacted_snapshot_holds_an_identity(what: str) -> None:
    recording = holding()
    assert HELD[what].lower() in text_of(keeping.packed([recording])).lower()
    assert HELD[what].lower() not in text_of(redacted([recording])).lower()


def test_a_stand_in_is_as_long_and_looks_alike() -> None:
    before, after = holding(), Redactor(KEY).recording(holding())
    pairs = list(zip(before.answers.items(), after.answers.items(), strict=True))
    texts = [(a.value, b.value) for (_, a), (_, b) in pairs if isinstance(a.value, str)]
    texts += [(a.value.stdout, b.value.stdout) for (_, a), (_, b) in pairs if isinstance(a.value, CommandOutput)]
    assert len(texts) > 50
    for old, new in texts:
        assert len(old) == len(new)
        assert re.sub("[0-9A-Za-z]", "x", old) == re.sub("[0-9A-Za-z]", "x", new)


def test_one_identity_has_one_stand_in_however_it_is_written() -> None:
    guid = "ec0d9a03007f51a2"
    recording = Recording(
        {
            Question("text", "/proc/sys/kernel/hostname"): Answer("Node-A7.example.org\n"),
            Question("text", "/a"): Answer("ec0d:9a03:007f:51a2\nfe80:0000:0000:0000:ec0d:9a03:007f:51a2\n"),
            Question("document", "nccl-xml"): Answer(f'<net guid="0x{guid}"/>'),
            Question("text", "/b"): Answer(
                "Node-A7\nNODE-A7\nnode-a7.example.org\nb8:59:9f:03:00:07 B8-59-9F-03-00-07"
            ),
            Question("text", "/sys/x/unique_id"): Answer("0ba3a8e0c7ae1f05\n"),
            Question("text", "/kfd/properties"): Answer(f"unique_id {0x0BA3A8E0C7AE1F05}\n"),
        },
        name="node-a7",
    )
    done = Redactor(KEY).recording(recording)
    values = {question.subject: answer.value for question, answer in done.answers.items()}
    plain, gid = values["/a"].splitlines()
    assert gid == f"fe80:0000:0000:0000:{plain}"
    assert values["nccl-xml"] == f'<net guid="0x{plain.replace(":", "")}"/>'
    name, upper, domain, addresses = values["/b"].splitlines()
    assert name == values["/proc/sys/kernel/hostname"].split(".")[0] != "Node-A7"
    assert name.lower() == upper.lower() == done.name == domain.split(".")[0]
    colons, dashes = addresses.split()
    assert colons.upper() == dashes.replace("-", ":")
    assert int(values["/kfd/properties"].split()[1]) == int(values["/sys/x/unique_id"], 16) != 0x0BA3A8E0C7AE1F05


def test_under_one_key_two_recordings_compare_and_without_it_they_do_not() -> None:
    assert redacted([holding()]) == redacted([holding()])
    hwloc, log = read(seeds.HWLOC), read(seeds.log_xml([seeds.gpu_xml(0)]))
    stand_ins = [set(re.findall("GPU-[0-9a-f-]{36}", text_of(redacted(recordings)))) for recordings in (hwloc, log)]
    assert stand_ins[0] == stand_ins[1] != {"GPU-1b2c3d4e-5f60-4718-8293-a4b5c6d7e800"}
    first, second = (text_of(redacted([holding()], None)) for _ in range(2))
    assert first != second


KEPT = [
    *("0000:18:00.0", "00000000:18:00.0", "10000:01:00.0", "0000:[15-1f]", "pci0000:15/0000:15:01.0/0000:16:00.0"),
    *("00000000-0000-0000-0000-000000000000", "0x0000000000000000", "0000:0000:0000:0000", "00:00:00:00:00:00"),
    *("ff:ff:ff:ff:ff:ff", "0.0.0.0", "127.0.0.1", "::", 'guid="0x0"', "fe80:0000:0000:0000:0000:0000:0000:0000"),
    *("570.133.20", "96.00.74.00.01", "28.43.1014", "6.8.0-60-generic", "4.14.0-115.10.1.1chaos.ch6a.ppc64le"),
    *("4.18.0-240.22.1.1", "31.0.15.5186", "24.10-2.1.8.0", "1.2.3.4.5", "12:34:56", "2026-01-01T00:00:00Z"),
    *("0-31,64-95", "00000000,0000ffff", "0xffffffff,,0x0", "0x030200", "[10de:2330] [10de:16c1] a1", "63.015385"),
    *("32.0 GT/s PCIe", "81559 MiB", "NVIDIA H100 80GB HBM3", "mlx5_0", "enp24s0f0np0", "<serial>N/A</serial>"),
]


@pytest.mark.parametrize("text", KEPT)
def test_addresses_on_the_bus_versions_and_zeros_stay(text: str) -> None:
    recording = Recording({Question("text", "/sys/x"): Answer(text)}, name=HOST)
    (answer,) = Redactor(KEY).recording(recording).answers.values()
    assert answer.value == text


@pytest.mark.parametrize("form", seeds.TEXTS)
def test_the_inventory_of_a_redacted_document_differs_in_identities_alone(form: str) -> None:
    before = read(seeds.TEXTS[form], form)  # a file that is called like its form, its root or a device
    assert said(read(redacted(before))) == said(before)


@pytest.mark.parametrize("name", ["system.xml", "topology.xml", "nvidia-smi.txt", "GPU0", "H100.xml", "gpu"])
@pytest.mark.parametrize("form", seeds.TEXTS)
def test_a_file_s_name_is_no_identity_of_what_it_holds(form: str, name: str) -> None:
    before = read(seeds.TEXTS[form], name)
    assert said(read(redacted(before))) == said(before)


NAMES = [
    "cpu",
    "node0",
    "node1",
    "nvidia",
    "pci",
    "sys",
    "gpu",
    "ubuntu",
    "linux",
    "h100",
    "intel",
    "amd",
    "mlx5",
    "x86",
]


@pytest.mark.parametrize("host", NAMES)
def test_a_host_that_is_called_like_a_part_of_the_machine_damages_nothing(host: str) -> None:
    before = [seeds.recording(host)]
    after = read(redacted(before))
    assert said(after) == said(before)
    if host != "node0":  # no name of its own
        assert after[0].name != host
        assert after[0].answer(Question("text", "/proc/sys/kernel/hostname")).value.strip() == after[0].name


@pytest.mark.parametrize("host", NAMES)
def test_the_same_of_a_tree_that_was_never_a_snapshot(host: str) -> None:
    tree = TreeRecording(ArchiveTree(seeds.entries(host), ""), name="tree", source="tree.tar", created="")
    read_through(tree)
    before = machines.together([tree])
    assert said(read(redacted(before))) == said(before)


@pytest.mark.parametrize("host", ["machine", "topology", "core", "nvidia", "cpu"])
def test_the_same_of_a_document(host: str) -> None:
    before = read(seeds.HWLOC.replace(DOMAIN, host))
    after = read(redacted(before))
    assert said(after) == said(before)
    assert f'name="HostName" value="{host}"' not in text_of(redacted(before))


def test_a_user_s_name_is_no_word_of_the_distribution() -> None:
    recording = seeds.recording()
    log = seeds.log_xml([seeds.gpu_xml(0, process_name="/home/ubuntu/venv/bin/python3")])
    recording.answers[Question("command", "nvidia-smi -q -x")] = Answer(CommandOutput(0, log, ""))
    assert said(read(redacted([recording]))) == said([recording])
    assert "/home/ubuntu" not in text_of(redacted([recording]))


def test_what_was_redacted_can_be_redacted_again() -> None:
    whole = holding()
    whole.notes = ()  # they are words about identities
    once = read(redacted([whole]))
    twice = read(redacted(once, b"another key of some length"))
    assert said(twice) == said(once) == said([whole])


@pytest.mark.parametrize(
    "path", captures.parameters("nvidia-smi-xml", "hwloc-xml", "nccl-topo-xml", "nvidia-smi-topo", "kfd")
)
def test_a_capture_loses_its_identities_and_nothing_else(path: Path) -> None:
    before = machines.together(inputs.opened([str(path)]))
    for recording in before:
        read_through(recording)
    snapshot = redacted(before)
    assert said(read(snapshot)) == said(before)
    text = text_of(snapshot).lower()
    assert [identity for identity in identities(before) if identity.lower().removeprefix("gpu-") in text] == []


def snapshot(path: Path, *options: str) -> bytes:
    command = [sys.executable, "-m", "raxl", "snapshot", "--from", str(path), "--output", "-", *options]
    return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout


def test_the_command_redacts_under_a_key_that_is_given_or_thrown_away(tmp_path: Path) -> None:
    place = tmp_path / f"{HOST}.tar.gz"
    keeping.write([holding()], place)
    key = tmp_path / "key"
    key.write_bytes(KEY)
    kept = [snapshot(place, "--redact-key", str(key)) for _ in range(2)]
    assert gzip.decompress(kept[0]) == gzip.decompress(kept[1]) == gzip.decompress(redacted([holding()]))
    thrown = [snapshot(place, "--redact") for _ in range(2)]
    assert gzip.decompress(thrown[0]) != gzip.decompress(thrown[1])
    for one in (*kept, *thrown):
        assert json.loads(text_of(one).split("\n", 1)[1].split("\nraxl-snapshot/")[0])["redacted"] is True
        assert [name for name, held in HELD.items() if held.lower() in text_of(one).lower()] == []


def test_a_key_is_read_from_any_file_and_no_further_than_it_needs(tmp_path: Path) -> None:
    place = tmp_path / f"{HOST}.tar.gz"
    keeping.write([holding()], place)
    assert HELD["serial"] not in text_of(snapshot(place, "--redact-key", "/dev/zero"))


def test_a_key_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"x")
    for key, code in ((tmp_path / "short", 2), (tmp_path / "missing", 4)):
        command = [sys.executable, "-m", "raxl", "snapshot", "--redact-key", str(key), "--output", "-"]
        done = subprocess.run(command, capture_output=True, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (code, b"", 1)
