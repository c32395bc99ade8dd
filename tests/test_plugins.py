"""Plug-ins of others: what one that misbehaves costs, how it is found, and how mature it is said to be."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import guests
import recordings
from raxl.cli import generated
from raxl.collect import plugin_recordings
from raxl.errors import CannotStart, UsageError
from raxl.model import codec
from raxl.plugins import entry_points, ledger, registry, scaffold

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/raxl-example-accelerator"
MACHINE = "amd-mi210"
PORT = "0000:20:02.0"
"""On its bus, and no accelerator."""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("machine")
    recordings.materialise(MACHINE, root)
    return root


def run(
    *arguments: str, path: Path | None = None, root: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({"RAXL_HOST_ROOT": str(root)} if root else {}), **variables}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    command = [sys.executable, "-m", "raxl", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def node(*arguments: str, **where: Any) -> dict[str, Any]:
    done = run("topo", "--format", "json", *arguments, **where)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["nodes"]
    return found


@pytest.fixture(scope="module")
def without(machine: Path) -> dict[str, Any]:
    return node(root=machine)


BAD = {
    "raises when imported": ({"top": "raise OSError('libguest.so')"}, "failed", "OSError: libguest.so"),
    "needs a missing library": ({"top": "import guest_driver"}, "not-installed", "No module named 'guest_driver'"),
    "raises in probe": ({"probe": "raise KeyError('x')"}, "failed", "KeyError: 'x'"),
    "raises in ask": ({"ask": "raise KeyError('libguest.so')"}, "failed", "KeyError: 'libguest.so'"),
    "leaves in ask": ({"ask": "os._exit(0)"}, "failed", "it ended the asking process"),
    "leaves when imported": ({"top": "os._exit(1)"}, "failed", "it ended the asking process"),
    "exits in ask": ({"ask": "sys.exit(3)"}, "failed", "it ended the asking process"),
    "hangs in ask": ({"ask": "time.sleep(600)"}, "timed-out", "it did not go on within 2 s"),
    "raises in parse": ({"parse": "1 / 0"}, "failed", "ZeroDivisionError: division by zero"),
    "exits in parse": ({"parse": "sys.exit(3)"}, "failed", "SystemExit: 3"),
    "leaves in parse": ({"parse": "os._exit(0)"}, "failed", "it ended its process"),
    "hangs in parse": ({"parse": "time.sleep(600)"}, "timed-out", "it did not answer within 4 s"),
    "gives no report": ({"parse": "return 7"}, "failed", "parse gives no Report"),
    "writes into every pipe": (
        {
            "top": "import contextlib",
            "parse": "for n in range(3, 30):\n            with contextlib.suppress(OSError):\n"
            '                os.write(n, b\'["ask", "nothing", "x"]\\n\')',
        },
        "failed",
        "it broke off: AttributeError",
    ),
    "calls itself nvidia": (
        {"vendor": "nvidia"},
        "failed",
        "raxl has a plug-in for nvidia",
    ),
    "has no vendor": ({"vendor": ""}, "failed", "its vendor is '': ids cannot begin so"),
    "has an odd vendor": ({"vendor": "Guest Inc. 0000:"}, "failed", "its vendor is 'Guest Inc. 0000:'"),
    "has a vendor without end": ({"vendor": "v" * 100000}, "failed", "its vendor is 'vvv"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_plug_in_costs_one_problem_that_names_its_package(
    what: str, machine: Path, without: dict[str, Any], tmp_path: Path
) -> None:
    parts, reason, message = BAD[what]
    path = guests.install(tmp_path, guests.plugin(**parts))  # type: ignore[arg-type]
    begun = time.monotonic()
    found = node("--plugins", "guest", path=path, root=machine)
    assert time.monotonic() - begun < 10
    (cost,) = (problem for problem in found["problems"] if problem not in without["problems"])
    assert cost["subject"] == "plugins.guest"
    assert cost["reason"] == reason
    assert "guest of guest-package failed" in cost["message"]
    assert message in cost["message"]
    for field in set(without) - {"problems"}:
        assert found[field] == without[field], field


CLAIM = """
from raxl.model.accelerator import Fabric, Partition, RayView
from raxl.model.component import PciLink, Switch
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.model.problem import Problem
from raxl.model.nic import Nic
class Odd: pass
def of(vendor="guest", kind="npu", **more):
    return Report(claims=(Claim(vendor, kind, "guest", **{"address": "0000:20:02.0", **more}),))
def joined(*links):
    return Report(claims=of().claims, links=links)
"""
GONE = "no device"
WRONG: dict[str, tuple[str, dict[str, Any] | str, str]] = {
    "a device of another vendor": ("of(vendor='nvidia')", GONE, "a device of nvidia: it is for guest"),
    "no vendor": ("of(vendor='')", GONE, "claims[0].vendor is ''"),
    "no kind of the list": ("of(kind='toaster')", GONE, "claims[0].kind is 'toaster'"),
    "no address": ("of(address='slot 3')", GONE, "claims[0].address is 'slot 3'; a device without address"),
    "an address as tools spell it": ("of(address='00000000:20:02.0')", GONE, "address is '00000000:20:02.0'"),
    "an address that is not on the bus": ("of(address='0000:99:00.0')", GONE, "0000:99:00.0 is not on the bus"),
    "nothing that tells it from others": ("of(address=None)", GONE, "a device without address, UUID and index"),
    "such an address beside an index": (
        "of(address='0000:99:00.0', index=3)",
        {"id": "guest:3", "pci": None},
        "0000:99:00.0 is not on the bus",
    ),
    "a negative NUMA node": ("of(numa_node=-7)", {"numa_node": 0}, "claims[0].numa_node is -7"),
    "negative memory": ("of(memory_bytes=-1)", {"memory_bytes": None}, "claims[0].memory_bytes is -1"),
    "no memory": ("of(memory_bytes=0)", {"memory_bytes": None}, "claims[0].memory_bytes is 0"),
    "memory without end": ("of(memory_bytes=10**30)", {"memory_bytes": None}, "claims[0].memory_bytes is 1000"),
    "memory in words": ("of(memory_bytes='16 GiB')", {"memory_bytes": None}, "claims[0].memory_bytes is '16 GiB'"),
    "a yes for a number": ("of(index=True)", {"index": None}, "claims[0].index is True"),
    "a negative index": ("of(index=-1)", {"index": None, "id": "guest@0000:20:02.0"}, "claims[0].index is -1"),
    "an empty serial": ("of(serial='')", {"serial": None}, "claims[0].serial is ''"),
    "a serial that no terminal shows": ("of(serial='\\x1b[0m ')", {"serial": None}, "claims[0].serial is "),
    "a model without end": ("of(model='x' * (1 << 20))", {"model": None}, "claims[0].model is 'xxx"),
    "no state": ("of(state='fine')", {"state": "unknown"}, "claims[0].state is 'fine'"),
    "another id than the bus": ("of(device_id='beef')", {}, "0000:20:02.0 has the id beef: the bus says 14a0"),
    "attributes of odd types": (
        "of(attributes={'a': [1], 'b': Odd(), 'c': {}, 'd': 1.5, 'e': '', 'f': 2**80, '': 1})",
        {"attributes": {"d": 1.5}},
        "claims[0].attributes.a is [1]; claims[0].attributes.b is {'type': 'Odd'}",
    ),
    "a link as wide as none": (
        "of(link=PciLink(width=-4, speed_gts=1e9, max_width=16))",
        {},
        "claims[0].link.speed_gts is 1000000000.0; claims[0].link.width is -4",
    ),
    "partitions": (
        "of(partitions=(Partition('a', memory_bytes=-1), Partition('')))",
        {"partitions": [{"id": "a", "profile": None, "memory_bytes": None}]},
        "claims[0].partitions[0].memory_bytes is -1; claims[0].partitions[1].id is ''",
    ),
    "a reason of its own": (
        "of(silent={'serial': Silence('because', 'x')})",
        {"serial": None},
        "claims[0].silent.serial.reason is 'because'",
    ),
    "a problem of its own": (
        "Report(problems=(Problem('a', 'because', ''),))",
        GONE,
        "problems[0].reason is 'because'",
    ),
    "a record of another kind": ("Report(claims=('x', Partition('a')))", GONE, "claims[0] is 'x'; claims[1].vendor is"),
    "a PCIe switch of its own": (
        "Report(claims=of().claims, switches=(Switch('0000:20:02.0', 'pcie'), Switch('x', 'crossbar')))",
        {},
        "switches[1].kind is 'crossbar'; a PCIe switch 0000:20:02.0: raxl reads those from the bus",
    ),
    "a link to nowhere": (
        "joined(LinkClaim('0000:20:02.0', 'guest#9', 'EX1', 'ex', 1))",
        {},
        "a link of 0000:20:02.0 and guest#9: nothing is called guest#9",
    ),
    "a link of others": (
        "joined(LinkClaim('0000:23:00.0', '0000:43:00.0', 'EX1', 'ex', 1))",
        {},
        "a link of 0000:23:00.0 and 0000:43:00.0: neither is its own",
    ),
    "a link with itself": (
        "joined(LinkClaim('0000:20:02.0', '0000:20:02.0', 'EX1', 'ex', 1))",
        {},
        "a link of 0000:20:02.0 with itself",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_is_left_out_with_one_problem(
    what: str, machine: Path, without: dict[str, Any], tmp_path: Path
) -> None:
    said, believed, words = WRONG[what]
    path = guests.install(tmp_path, guests.plugin(top=CLAIM, parse=f"return {said}"))
    found = node("--plugins", "guest", path=path, root=machine)
    (cost,) = (problem for problem in found["problems"] if "guest-package" in problem["message"])
    assert (cost["subject"], cost["reason"]) == ("plugins.guest", "failed")
    assert cost["message"].startswith("the plug-in guest of guest-package says what cannot be: ")
    assert words in cost["message"]
    assert len(cost["message"]) < 1000
    devices = [device for device in found["accelerators"] if device["vendor"] == "guest"]
    if believed == GONE:
        assert devices == []
        assert found["accelerators"] == without["accelerators"]
    else:
        (device,) = devices
        assert {field: device[field] for field in believed} == believed
    assert "ex" not in {link["kind"] for link in found["links"]}


def test_of_a_link_what_can_be_is_kept(machine: Path, tmp_path: Path) -> None:
    link = "LinkClaim('0000:20:02.0', '0000:23:00.0', 'X', 'ex', -4, -1, 'guessed', 'fine')"
    path = guests.install(tmp_path, guests.plugin(top=CLAIM, parse=f"return joined({link})"))
    found = node("--plugins", "guest", path=path, root=machine)
    (told,) = (one for one in found["links"] if one["kind"] == "ex")
    assert {told[field] for field in ("link_class", "count", "bandwidth_bytes_per_second", "state")} == {None}
    assert told["bandwidth_source"] is None
    (cost,) = (problem["message"] for problem in found["problems"] if "guest-package" in problem["message"])
    for words in ("link_class is 'X'", "count is -4", "bandwidth_source is 'guessed'", "state is 'fine'"):
        assert f"links[0].{words}" in cost


def test_a_device_that_fell_off_the_bus_keeps_its_address(machine: Path, tmp_path: Path) -> None:
    said = "of(address='0000:99:00.0', state='lost')"
    path = guests.install(tmp_path, guests.plugin(top=CLAIM, parse=f"return {said}"))
    found = node("--plugins", "guest", path=path, root=machine)
    assert [one["state"] for one in found["accelerators"] if one["id"] == "guest@0000:99:00.0"] == ["lost"]
    assert not any("guest-package" in problem["message"] for problem in found["problems"])


def test_two_of_one_vendor_do_not_share_an_id(machine: Path, tmp_path: Path) -> None:
    both = ("first", 0, ("0000:20:02.0", "0000:a0:02.0")), ("second", 1, ("0000:40:02.0", "0000:c0:02.0"))
    for package, first, addresses in both:
        claims = ", ".join(f"*of(address={one!r}, index={n}).claims" for n, one in enumerate(addresses, first))
        parse = f"return Report(claims=({claims}))"
        guests.install(tmp_path, guests.plugin(top=CLAIM, parse=parse), name=package, package=f"{package}-package")
    found = node("--plugins", "first", "--plugins", "second", path=tmp_path, root=machine)
    told = {device["id"]: device["pci"]["address"] for device in found["accelerators"] if device["vendor"] == "guest"}
    assert told == {"guest:0": "0000:20:02.0", "guest:1": "0000:a0:02.0", "guest:2": "0000:c0:02.0"}
    assert [one["message"] for one in found["problems"] if one["subject"].startswith("plugins.")] == [
        "0000:40:02.0: claimed by the plug-ins first of first-package and second of second-package; "
        "the first one is believed"
    ]


PRINTS = "the plug-in guest of guest-package prints to standard output, which is thrown away"
PRINTING = {
    "a line while asking": {"ask": "print('a banner')"},
    "a line while parsing": {"parse": "print('a banner')"},
    "past Python": {"parse": "os.write(1, b'forged')"},
    "when it is imported": {"top": "print('a banner')"},
    "more than a pipe holds": {"ask": "print('x' * (1 << 20))"},
    "through a child": {"parse": "os.system('echo forged')"},
    "and closes its output": {"parse": "print('x'); sys.stdout.close(); os.close(1)"},
}


@pytest.mark.parametrize("how", PRINTING)
def test_printing_costs_one_warning_and_no_device(
    how: str, machine: Path, without: dict[str, Any], tmp_path: Path
) -> None:
    path = guests.install(tmp_path, guests.plugin(**PRINTING[how], claimed=(PORT,)))
    found = node("--plugins", "guest", path=path, root=machine)
    (cost,) = (one for one in found["problems"] if one["subject"] == "plugins.guest")
    assert (cost["reason"], cost["message"]) == ("failed", PRINTS)
    assert "guest@0000:20:02.0" in [device["id"] for device in found["accelerators"]]


@pytest.mark.parametrize("half", ["top", "ask", "parse"])
def test_editing_the_environment_costs_one_warning_and_changes_nothing(
    half: str, machine: Path, without: dict[str, Any], tmp_path: Path
) -> None:
    parts = {half: "os.environ.clear(); os.write(2, b'forged')"}
    path = guests.install(tmp_path, guests.plugin(**parts))
    guests.install(tmp_path, guests.plugin(ask="assert os.environ['HOME']"), name="next", package="next-package")
    found = node("--plugins", "guest", "--plugins", "next", path=path, root=machine)
    assert found.pop("looked_for")["families"] == [*without["looked_for"]["families"], "Guest", "Guest"]
    (cost,) = (problem for problem in found["problems"] if problem not in without["problems"])
    assert (cost["subject"], cost["reason"]) == ("plugins.guest", "failed")
    assert cost["message"] == "the plug-in guest of guest-package edits the environment, which nobody else sees"
    found["problems"].remove(cost)
    assert found == {field: value for field, value in without.items() if field != "looked_for"}


def test_several_faults_of_one_plug_in_are_one_problem(machine: Path, tmp_path: Path) -> None:
    does = "print('x'); os.environ['X'] = 'y'; return of(numa_node=-7)"
    path = guests.install(tmp_path, guests.plugin(top=CLAIM, parse=does))
    found = node("--plugins", "guest", path=path, root=machine)
    (cost,) = (problem for problem in found["problems"] if "guest-package" in problem["message"])
    assert cost["message"] == (
        f"{PRINTS}; it edits the environment, which nobody else sees; it says what cannot be: claims[0].numa_node is -7"
    )
    listed = run("plugins", "list", "--plugins", "guest", path=path, root=machine).stdout
    assert "which nobody else sees" not in listed, "its probe does none of it"


def test_two_that_claim_one_device_are_both_named_and_raxl_s_own_is_believed(
    machine: Path, without: dict[str, Any], tmp_path: Path
) -> None:
    path = guests.install(tmp_path, guests.plugin(claimed=("0000:23:00.0", PORT)))
    found = node("--plugins", "guest", path=path, root=machine)
    contested = [problem for problem in found["problems"] if problem["subject"].startswith("plugins.")]
    assert [problem["message"] for problem in contested] == [
        "0000:23:00.0: claimed by the plug-ins amd of raxl and guest of guest-package; the first one is believed"
    ]
    addresses = [device["pci"]["address"] for device in found["accelerators"]]
    assert addresses.count("0000:23:00.0") == 1
    assert [device["id"] for device in found["accelerators"] if device["vendor"] == "guest"] == ["guest@0000:20:02.0"]


def test_a_recording_replays_with_the_plug_in(machine: Path, tmp_path: Path) -> None:
    path = guests.install(tmp_path / "path", guests.plugin(ask="host.text('/etc/guest')", claimed=(PORT,)))
    (machine / "etc/guest").write_text("here\n")
    kept = tmp_path / "kept.tar.gz"
    arguments = ("topo", "--plugins", "guest", "--format", "json")
    live = run(*arguments, "--record", str(kept), path=path, root=machine)
    assert live.returncode == 0, live.stderr
    assert run(*arguments, "--from", str(kept), path=path).stdout == live.stdout
    (machine / "etc/guest").unlink()


def test_a_name_that_is_none_and_one_that_is_two(tmp_path: Path) -> None:
    path = guests.install(tmp_path, guests.plugin())
    none = run("topo", "--plugins", "gust", path=path)
    assert (none.returncode, none.stdout) == (2, "")
    assert none.stderr == "raxl: error: no plug-in is called gust (installed: guest). see raxl plugins list\n"
    guests.install(tmp_path, guests.plugin(), package="other-package")
    two = run("topo", "--plugins", "guest", path=path)
    assert two.returncode == 2
    assert "guest-package and other-package" in two.stderr
    assert run("topo", "--plugins", "other-package", path=path).returncode == 0
    assert run("topo", "--plugins", "nvidia").returncode == 0


def gone(process: str) -> bool:
    """Whether a process ends within five seconds; one that nobody has waited for yet (a zombie) has ended."""
    assert process.isdigit(), f"no process was started: {process!r}"
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        if "State:\tZ" in status:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("half", ["ask", "parse"])
def test_no_thread_and_no_child_of_a_plug_in_outlives_raxl(half: str, machine: Path, tmp_path: Path) -> None:
    mark = tmp_path / "its-processes"
    does = (
        "import subprocess, threading\n"
        "        threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "        started = subprocess.Popen(['sleep', '600'])\n"
        f"        open({str(mark)!r}, 'a').write(f'{{os.getpid()}} {{started.pid}} ')"
    )
    parts = {half: does}
    path = guests.install(tmp_path / "path", guests.plugin(claimed=(PORT,), **parts))
    found = node("--plugins", "guest", path=path, root=machine)
    assert "guest@0000:20:02.0" in [device["id"] for device in found["accelerators"]]
    assert mark.read_text()
    for process in mark.read_text().split():
        assert gone(process)


@pytest.mark.parametrize(("sent", "exit_code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_no_process_of_a_plug_in_outlives_a_raxl_that_is_ended(
    sent: signal.Signals, exit_code: int, machine: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "its-process"
    spin = f"open({str(mark)!r}, 'w').write(str(os.getpid()))\n        while True: pass"
    path = guests.install(tmp_path / "path", guests.plugin(parse=spin))
    environment = {**os.environ, "PYTHONPATH": str(path), "RAXL_HOST_ROOT": str(machine)}
    command = [sys.executable, "-m", "raxl", "topo", "--plugins", "guest"]
    raxl = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while not (mark.exists() and mark.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    raxl.send_signal(sent)
    assert raxl.wait(timeout=10) == exit_code
    assert gone(mark.read_text())


DAMAGE = {
    "no UTF-8": (b"[raxl.accelerators]\nlost = a:B\n\xff\xfe", "it is no UTF-8"),
    "a line that is none": (b"[console_scripts]\nsomething\n", "line 2 is no entry point: 'something'"),
    "no section": (b"lost = a:B\n", "line 1 is no entry point: 'lost = a:B'"),
    "no class": (b"[raxl.accelerators]\nlost = a-b\nx = :\n", "line 2 is no entry point: 'lost = a-b' and 1 more"),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_list_of_another_package_is_told_and_the_others_load(how: str, machine: Path, tmp_path: Path) -> None:
    content, words = DAMAGE[how]
    path = guests.install(tmp_path, guests.plugin(claimed=(PORT,)))
    guests.install(tmp_path, guests.plugin(), name="lost", package="a-damaged-one")
    (path / "a_damaged_one-1.2.dist-info/entry_points.txt").write_bytes(content)
    for arguments in (["topo", "--plugins", "guest"], ["plugins", "list", "--plugins", "guest"], ["plugins", "list"]):
        done = run(*arguments, "--format", "json", path=path, root=machine)
        assert done.returncode == 0
        told = "entry_points.txt of the package a-damaged-one is damaged, plug-ins may be missing"
        assert done.stderr == f"{told}: {words}\n"
        assert ("guest@0000:20:02.0" if arguments[0] == "topo" else '"guest-package"') in done.stdout
    assert run("topo", path=path, root=machine).stderr == "", "it is looked for where plug-ins are wanted"


def test_metadata_that_nobody_can_read_are_no_name(machine: Path, tmp_path: Path) -> None:
    path = guests.install(tmp_path, guests.plugin())
    (path / "guest_package-1.2.dist-info/METADATA").write_bytes(b"Name: \xff\xfe")
    done = run("plugins", "list", "--format", "json", path=path, root=machine)
    (found,) = (one for one in json.loads(done.stdout)["plugins"] if one["name"] == "guest")
    assert (found["package"], found["version"]) == ("guest_package-1.2", "?")


def test_what_stands_in_a_list_of_entry_points() -> None:
    text = "# x\n[ raxl.accelerators ]\n a = b.c : D [extra]\n\n[other]\nx = anything goes\n"
    assert entry_points.read(text, ("raxl.accelerators",)) == ((("raxl.accelerators", "a", "b.c:D"),), "")


def test_live_tries_it_on_this_machine_too(installed: Path, tmp_path: Path) -> None:
    text = (EXAMPLE / "raxl_example/recordings/two-cards/machine.txt").read_text()
    written = recordings.parse(text)
    recordings.write(written, tmp_path)
    done = run("plugins", "check", "example", "--live", "--format", "json", path=installed, root=tmp_path)
    (found,) = json.loads(done.stdout)["plugins"]
    assert found["tier"] == "beta", done.stdout
    done = run("plugins", "list", "--plugins", "example", "--format", "json", path=installed, root=tmp_path)
    by_name = {one["name"]: one for one in json.loads(done.stdout)["plugins"]}
    assert by_name["example"]["found"] == {"state": "present", "reason": None, "message": "0000:17:00.0"}


def test_it_is_loaded_only_where_it_is_named(machine: Path, tmp_path: Path) -> None:
    path = guests.install(tmp_path, guests.plugin(top="open(os.environ.get('MARK', '/dev/null'), 'w').close()"))
    mark = tmp_path / "loaded"
    variables = {"MARK": str(mark)}
    for arguments in (
        ["topo"],
        ["plugins", "list"],
        ["discover", "--from", str(recordings.FOLDER.parent / "data/matrix.txt")],
    ):
        assert run(*arguments, path=path, root=machine, **variables).returncode == 0
        assert not mark.exists(), arguments
    told = run("topo", path=path, root=machine, RAXL_PLUGINS="guest", **variables).stderr
    assert ("RAXL_PLUGINS is not followed for root" in told) == (os.geteuid() == 0)
    assert mark.exists() == (os.geteuid() != 0), "RAXL_PLUGINS counts, but not for root"
    run("topo", "--plugins", "guest", path=path, root=machine, **variables)
    assert mark.exists()


def test_list_tells_package_tier_and_what_is_here(machine: Path, tmp_path: Path) -> None:
    path = guests.install(tmp_path, guests.plugin(probe="raise OSError('libguest.so')"))
    listed = run("plugins", "list", "--plugins", "guest", "--format", "json", path=path, root=machine)
    document = json.loads(listed.stdout)
    jsonschema.validate(document, json.loads(codec.schema("plugins")))
    assert document["schema"] == "raxl.plugins/v1"
    by_name = {one["name"]: one for one in document["plugins"]}
    assert by_name["amd"]["found"]["state"] == "present"
    assert by_name["nvidia"]["found"] == {"state": "absent", "reason": None, "message": ""}
    assert by_name["amd"]["tier"] == ledger.tier("amd")[0]
    guest = by_name["guest"]
    assert (guest["package"], guest["version"], guest["tier"]) == ("guest-package", "1.2", None)
    assert guest["found"]["state"] == "unknown"
    assert "guest-package failed: OSError: libguest.so" in guest["found"]["message"]
    text = run("plugins", "list", path=path, root=machine).stdout
    assert re.search("^guest +guest-package 1.2", text, re.MULTILINE)
    assert "loaded only where --plugins names it" in text


def test_the_example_is_what_new_writes(tmp_path: Path) -> None:
    written = scaffold.write("example", tmp_path)
    made = {path.relative_to(tmp_path / EXAMPLE.name): path.read_text() for path in written}
    kept = {
        path.relative_to(EXAMPLE): path.read_text()
        for path in EXAMPLE.rglob("*")
        if path.is_file() and not {"__pycache__", ".pytest_cache"} & set(path.parts)
    }
    assert made == kept
    assert len(made[Path("raxl_example/plugin.py")].splitlines()) < 100


NO_NAMES = {
    "raxl has a plug-in of its own that is called so": ("nvidia", "tpu", "ascend"),
    "it is no such word": ("Example", "a-b", "../x", "", "1x", "x" * 41, "a__b", "_a", "a_", "ä", "a.b", "a\nb", "a b"),
    "the word means something else to Python, YAML or raxl": (
        *("none", "true", "false", "null", "yes", "class", "import", "match", "print", "exception"),
        *(
            "report",
            "claim",
            "silence",
            "host",
            "named_tuple",
            "pci_function",
            "answers",
            "raxl",
            "plugins",
            "families",
        ),
    ),
}


@pytest.mark.parametrize(("why", "name"), [(why, name) for why, names in NO_NAMES.items() for name in names])
def test_a_name_that_is_none_makes_nothing(why: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        scaffold.write(name, tmp_path)
    assert caught.value.why == why
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_none_is_one_line_that_says_what_is_allowed(tmp_path: Path) -> None:
    done = run("plugins", "new", "--folder", str(tmp_path), "--", "none")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("raxl: error: 'none' is no name for a plug-in (the word means something else to Python")
    assert "Allowed: lower case letters, digits and single underscores" in line
    assert list(tmp_path.iterdir()) == []


def test_new_writes_nothing_over(tmp_path: Path) -> None:
    assert run("plugins", "new", "two_words", "--folder", str(tmp_path)).returncode == 0
    again = run("plugins", "new", "two_words", "--folder", str(tmp_path))
    assert again.returncode == 4
    assert "cannot be made (File exists)" in again.stderr
    plugin = (tmp_path / "raxl-two_words-accelerator/raxl_two_words/plugin.py").read_text()
    assert "class TwoWords:" in plugin
    assert "$" not in plugin


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, installed by pip."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--no-index", "--target", str(target), str(EXAMPLE)], check=True)
    return target


def test_the_example_passes_its_own_tests(installed: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests")]
    done = subprocess.run(command, env=environment, cwd=EXAMPLE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_example_is_experimental_and_says_what_beta_asks_for(installed: Path) -> None:
    done = run("plugins", "check", "example", path=installed)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("example of raxl-example-accelerator 0.1.0: experimental\n")
    assert "a recording of a real machine" in done.stdout


def test_an_example_that_leaves_costs_one_warning(installed: Path, machine: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-r", f"{installed}/.", str(tmp_path)], check=True)
    module = tmp_path / "raxl_example/plugin.py"
    text = module.read_text()
    assert "        devices = {}\n" in text
    module.write_text(text.replace("        devices = {}\n", "        import os; os._exit(0)\n", 1))
    done = run("discover", "--plugins", "example", path=tmp_path, root=machine)
    assert done.returncode == 0, done.stderr
    assert "the plug-in example of raxl-example-accelerator failed: it ended the asking process" in " ".join(
        done.stdout.split()
    )
    assert "4 × MI210" in done.stdout or "MI210" in done.stdout


def criteria(text: str, tmp_path: Path) -> dict[str, tuple[bool, str]]:
    """What the suite says of a changed example: by criterion, is it met, and its evidence."""
    scaffold.write("example", tmp_path)
    package = tmp_path / "raxl-example-accelerator"
    (package / "raxl_example/plugin.py").write_text(text)
    info = package / "raxl_example_accelerator-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: raxl-example-accelerator\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[raxl.accelerators]\nexample = raxl_example.plugin:Example\n")
    done = run("plugins", "check", "example", "--format", "json", path=package)
    assert done.returncode == 1, done.stdout
    (found,) = json.loads(done.stdout)["plugins"]
    assert found["tier"] is None
    return {one["name"]: (one["is_met"], one["evidence"]) for one in found["criteria"]}


PLUGIN = (EXAMPLE / "raxl_example/plugin.py").read_text()
FAULTS = {
    "recognises its devices": ("if one.device_id in FAMILY.models]", "if False]"),
    "probe sees what is there": ("lambda device, _: device in FAMILY.models", "lambda device, _: False"),
    "probe is cheap": (
        "        return presence.look(",
        '        host.command(["true"])\n        return presence.look(',
    ),
    "silent when absent": (
        "        return Report(claims",
        "        if not on_bus:\n            from raxl.model.problem import Problem\n\n"
        '            return Report(problems=(Problem("accelerators", "failed", "none"),))\n'
        "        return Report(claims",
    ),
    "absent is not unseen": (
        "        return presence.look(",
        "        if not host.names(pci.FOLDER).known:\n"
        '            return Presence("absent")\n'
        "        return presence.look(",
    ),
    "ids do not follow the order of the bus": (
        "tuple(_claim(one, answers.devices.get(one.address, {})) for one in on_bus)",
        "tuple(replace(_claim(one, {}), index=list(answers.devices).index(one.address)) for one in on_bus)",
    ),
    "every null has its reason": (
        'families.claim(FAMILY, function, Silence(reason, message, "sysfs"))',
        "families.claim(FAMILY, function, None)",
    ),
    "damage is survived": ('whole(text.get("memory_bytes"), MOST_BYTES) or None', 'int(text["memory_bytes"])'),
    "Ray's names": ("resource=None,", 'resource="NPU",'),
    "documentation": ('    """Example accelerators."""\n\n    vendor', "    vendor"),
    "links are symmetric": (
        "for one in on_bus))",
        "for one in on_bus), links=_links(on_bus))",
    ),
}
LINKS = """

def _links(on_bus):
    from raxl.model.report import LinkClaim

    ends = [(a.address, b.address) for a in on_bus for b in on_bus if a is not b]
    return tuple(LinkClaim(a, b, f"EX{n}", "ex", n) for n, (a, b) in enumerate(ends, 1))
"""


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_seen_by_its_criterion(name: str, tmp_path: Path) -> None:
    before, after = FAULTS[name]
    assert before in PLUGIN
    text = PLUGIN.replace(before, after, 1) + (LINKS if name == "links are symmetric" else "")
    if name == "every null has its reason":
        text = text.replace('_FILES = ("memory_bytes",', '_FILES = ("memory_byte",')
    found = criteria(text, tmp_path)
    assert not found[name][0], found


def test_the_first_failure_is_told_and_no_case_is_no_success(tmp_path: Path) -> None:
    text = PLUGIN.replace(
        "        return presence.look(", "        raise OSError('the first')\n        return presence.look("
    )
    found = criteria(
        text.replace("        on_bus = [", "        raise OSError('the second')\n        on_bus = ["), tmp_path
    )
    is_met, evidence = found["recognises its devices"]
    assert not is_met
    assert evidence == "two-cards: OSError: the first; no recording shows one"
    of_each = (
        "probe sees what is there",
        "ids do not follow the order of the bus",
        "every null has its reason",
        "damage is survived",
        "links are symmetric",
        "Ray's names",
    )
    for name in of_each:
        assert found[name] == (False, "no case"), name


def test_what_cannot_be_is_told_by_the_suite(tmp_path: Path) -> None:
    found = criteria(PLUGIN.replace('kind="npu"', 'kind="toaster"'), tmp_path)
    is_met, evidence = found["recognises its devices"]
    assert not is_met
    assert evidence.startswith("two-cards: it says what cannot be: claims[0].kind is 'toaster'; claims[1].kind is")


def test_a_package_without_recordings_has_no_case(tmp_path: Path) -> None:
    path = guests.install(tmp_path, guests.plugin(parse="print('a banner')"))
    done = run("plugins", "check", "guest", path=path)
    assert done.returncode == 1
    assert done.stdout.startswith("guest of guest-package 1.2: no tier\n")
    assert re.search("not +experimental +probe is cheap +no case", done.stdout)
    assert re.search("not +experimental +damage is survived +no case", done.stdout)
    assert done.stderr == PRINTS + "\n"


def test_every_plug_in_of_a_package_is_checked_and_told(installed: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-r", f"{installed}/.", str(tmp_path)], check=True)
    (points,) = tmp_path.glob("*.dist-info/entry_points.txt")
    points.write_text(points.read_text().rstrip() + "\nother = raxl_example.plugin:Missing\n")
    done = run("plugins", "check", "raxl-example-accelerator", "--format", "json", path=tmp_path)
    assert done.returncode == 1
    assert [(one["name"], one["tier"]) for one in json.loads(done.stdout)["plugins"]] == [
        ("example", "experimental"),
        ("other", None),
    ]
    done = run("plugins", "check", "raxl-example-accelerator", path=tmp_path)
    assert done.returncode == 1
    assert "example of raxl-example-accelerator 0.1.0: experimental\n" in done.stdout
    assert "other of raxl-example-accelerator 0.1.0: no tier\n" in done.stdout
    assert "module 'raxl_example.plugin' has no attribute 'Missing'" in done.stdout
    assert run("plugins", "check", "example", path=tmp_path).returncode == 0


def test_a_plug_in_that_hangs_is_given_up_by_the_suite(tmp_path: Path) -> None:
    text = PLUGIN.replace("        on_bus = [", "        while functions:\n            pass\n        on_bus = [", 1)
    begun = time.monotonic()
    found = criteria(text, tmp_path)
    assert not found["recognises its devices"][0]
    assert time.monotonic() - begun < 60


def test_a_text_that_calls_itself_a_capture_is_refused(tmp_path: Path) -> None:
    text = (EXAMPLE / "raxl_example/recordings/two-cards/machine.txt").read_text()
    (tmp_path / "liar").mkdir()
    (tmp_path / "liar/machine.txt").write_text(text.replace("nature: synthetic", "nature: capture"))
    with pytest.raises(CannotStart, match="calls itself a capture"):
        plugin_recordings.read(tmp_path)


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_a_tier_is_reproduced_by_check(name: str) -> None:
    done = run("plugins", "check", name, "--format", "json")
    (found,) = json.loads(done.stdout)["plugins"]
    tier, kept = ledger.tier(name)
    assert found["tier"] == tier
    assert [one["name"] for one in found["criteria"] if one["is_met"]] == [one.name for one in kept if one.is_met]


def test_a_family_with_a_real_capture_is_at_least_beta() -> None:
    for name in registry.BUILT_IN:
        if ledger.of(registry.built_in(name).vendor).count:
            assert ledger.tier(name)[0] in ("beta", "stable"), name


def test_what_is_generated_is_up_to_date(tmp_path: Path) -> None:
    plugins = generated.checked(ROOT)
    assert generated.as_json(generated.tiers(plugins)) == ledger.TIERS.read_text()
    assert generated.as_json(generated.captures(ROOT, None)) == ledger.CAPTURES.read_text()
    for name, table in (
        ("README.md", generated.support_matrix.short),
        ("docs/vendors.md", generated.support_matrix.long),
    ):
        document = (ROOT / name).read_text()
        assert generated.support_matrix.placed(document, table(generated.families(plugins))) == document
    assert generated.text_checks.page(generated.diagnosis.described()) == (ROOT / "docs/checks.md").read_text()


def test_the_ledger_is_what_the_corpus_gives() -> None:
    import captures

    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    assert generated.as_json(generated.captures(ROOT, captures.CORPUS)) == ledger.CAPTURES.read_text()
