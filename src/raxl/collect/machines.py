"""Which recordings describe one machine, and what each machine is called."""

from __future__ import annotations

from typing import Sequence

from raxl.host import Answer, Question
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.intake import documents
from raxl.intake.tree import TreeRecording
from raxl.sources import system

UNNAMED = "localhost"


def together(recordings: Sequence[Recording], as_node: str | None = None) -> list[Recording]:
    """One recording a machine: all of them where `as_node` names it, else those of one boot, else of one host name.

    Two boots of one name stay apart: they may be two machines.
    """
    if as_node is not None:
        whole = _one(_of_one(recordings, as_node))
        whole.name = as_node
        return [whole]
    groups: list[list[Recording]] = [[one] for one in recordings if is_ray_node(one)]
    keys: list[tuple[str | None, str | None]] = [(None, None) for _ in groups]
    for recording in (one for one in recordings if not is_ray_node(one)):
        boot, host = boot_id(recording), hostname(recording)
        for place, (known_boot, known_host) in enumerate(keys):
            if _same(boot, host, known_boot, known_host):
                groups[place].append(recording)
                keys[place] = (known_boot or boot, known_host or host)
                break
        else:
            groups.append([recording])
            keys.append((boot, host))
    machines = [_one(group) for group in groups]
    for machine, (_, host) in zip(machines, keys, strict=True):
        given = machine.name if machine.recorded_by else None
        machine.name = given or host or machine.name or UNNAMED
    return distinct(machines)


def is_ray_node(recording: Recording) -> bool:
    """Whether it was recorded as a node of a Ray cluster: several may be pods of one machine, and of one boot."""
    return Question("ray", "node") in recording.answers


def hostname(recording: Recording) -> str | None:
    """The machine's own name, where the recording holds it."""
    host = ReplayHost(recording)
    own = system.hostname(system.ask(host))
    return own or next((document.hostname for document in documents.read(host)[0] if document.hostname), None)


def boot_id(recording: Recording) -> str | None:
    """The id of the boot that was recorded."""
    return system.boot_id(system.ask(ReplayHost(recording)))


def _same(boot: str | None, host: str | None, known_boot: str | None, known_host: str | None) -> bool:
    if boot is not None and known_boot is not None:
        return boot == known_boot
    return host is not None and host == known_host


def _of_one(recordings: Sequence[Recording], name: str) -> Sequence[Recording]:
    """The recordings without those that one file holds of other hosts, where it holds one of this host too."""
    hosts = [(recording.source, hostname(recording)) for recording in recordings]
    own = {source for source, host in hosts if host == name}
    return [one for one, (source, host) in zip(recordings, hosts, strict=True) if source not in own or host == name]


def _one(group: Sequence[Recording]) -> Recording:
    """The recordings of one machine as one. A tree comes first: it reads what it is asked only then."""
    first, *others = sorted(group, key=lambda recording: not isinstance(recording, TreeRecording))
    texts = _joined_texts([first, *others])
    for other in others:
        first.absorb(other)
    first.answers.update(texts)
    if others:
        first.source = ", ".join(dict.fromkeys(recording.source for recording in group))
    return first


def _joined_texts(recordings: Sequence[Recording]) -> dict[Question, Answer]:
    """Outputs of one tool that several files hold, as one text: `amd-smi static` and `amd-smi topology` say different
    things."""
    joined = {}
    for question in (Question("document", form) for form in documents.TEXTS):
        answers = [recording.answers[question] for recording in recordings if question in recording.answers]
        texts = list(dict.fromkeys(answer.value for answer in answers if answer.known))
        if len(texts) > 1:
            joined[question] = Answer("\n".join(texts))
    return joined


def distinct(machines: list[Recording]) -> list[Recording]:
    """The same machines with names that tell them apart."""
    taken: set[str] = set()
    for machine in machines:
        name, place = machine.name, 1
        while machine.name in taken:
            place += 1
            machine.name = f"{name}-{place}"
        taken.add(machine.name)
    return machines
