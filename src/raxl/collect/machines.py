"""Which recordings describe one machine, and what each machine is called."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, NamedTuple, Sequence

from raxl.host import Answer, Question
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.intake import documents
from raxl.intake.tree import TreeRecording
from raxl.sources import system

if TYPE_CHECKING:
    from raxl.collect import contradictory

UNNAMED = "localhost"
_VIEW = Question("ray", "node")


class Key(NamedTuple):
    """A machine by its boot and its own name; None where a recording does not hold it."""

    boot: str | None
    host: str | None


class Group(NamedTuple):
    """Recordings of one machine, by their places, and what is known of it."""

    members: list[int]
    key: Key


def together(recordings: Sequence[Recording], as_node: str | None = None) -> list[Recording]:
    """One recording a machine: all of them where `as_node` names it, else those of one boot, else of one host name.

    Two boots of one name stay apart: they may be two machines.
    """
    if as_node is not None:
        own = _of_one(recordings, as_node)
        notes = _apart(own)[1]
        whole = _one(own)
        whole.name = as_node
        _note(whole, notes)
        return [whole]
    found = groups([key(recording) for recording in recordings])
    return renamed([one for group in found for one in joined([recordings[at] for at in group.members], group.key)])


def renamed(machines: list[Recording]) -> list[Recording]:
    """The same machines with names that tell them apart."""
    for machine, name in zip(machines, distinct([machine.name for machine in machines]), strict=True):
        machine.name = name
    return machines


def is_ray_node(recording: Recording) -> bool:
    """Whether it was recorded as a node of a Ray cluster."""
    return _VIEW in recording.answers


def key(recording: Recording) -> Key:
    """What tells that two recordings are of one machine. Of nodes of a Ray cluster only Ray's own id does: several may
    be pods of one machine, and of one boot."""
    if is_ray_node(recording):
        return Key(_raylet(recording), None)
    host = ReplayHost(recording)
    answers = system.ask(host)
    return Key(system.boot_id(answers), _hostname(host, answers) or None)


def _raylet(recording: Recording) -> str | None:
    """Ray's id of the node, as no boot is called. A recording may be edited."""
    view = recording.answers[_VIEW].value
    own = view.get("node_id") if isinstance(view, dict) else None
    return f"ray:{own}" if own and isinstance(own, str) else None


def called(machine: Recording, known: Key) -> str:
    """The name that raxl gave it where it recorded it, else its own."""
    given = machine.name if machine.recorded_by else None
    return given or known.host or machine.name or UNNAMED


def groups(keys: Sequence[Key]) -> list[Group]:
    """The places of those of one machine together: of one boot, else of one host name where a boot is not known.

    Of several machines that fit, it is the first.
    """
    found: list[Group] = []
    of_boot: dict[str, int] = {}
    of_host: dict[str, int] = {}
    bootless: dict[str, list[int]] = {}
    """By host name: the groups whose boot is not known yet."""
    for member, (boot, host) in enumerate(keys):
        if boot is None:
            fitting = [of_host[host]] if host in of_host else []
        else:
            fitting = [of_boot[boot]] if boot in of_boot else []
            fitting += bootless.get(host, [])[:1] if host is not None else []
        place = min(fitting, default=len(found))
        if place == len(found):
            found.append(Group([], Key(None, None)))
        members, known = found[place]
        members.append(member)
        now = Key(known.boot or boot, known.host or host)
        found[place] = Group(members, now)
        if now.boot is not None:
            of_boot[now.boot] = min(place, of_boot.get(now.boot, place))
            if known.boot is None and known.host is not None and place in bootless.get(known.host, ()):
                bootless[known.host].remove(place)
        elif now.host is not None and known.host is None:
            insort(bootless.setdefault(now.host, []), place)
        if now.host is not None:
            of_host[now.host] = min(place, of_host.get(now.host, place))
    return found


def joined(recordings: Sequence[Recording], known: Key) -> list[Recording]:
    """The recordings of one machine as one, called by its name; as several that say so, where they cannot all be of
    one."""
    parts, notes = _apart(_there(recordings) if len(recordings) > 1 else recordings)
    found = [_one(part) for part in parts]
    for machine in found:
        machine.name = called(machine, known)
        _note(machine, notes)
    return found


def _there(recordings: Sequence[Recording]) -> Sequence[Recording]:
    """Those of the times when the node was there: a recording may be of a time when it had left Ray."""
    from raxl.collect import ray_nodes

    left = [one for one in recordings if is_ray_node(one) and ray_nodes.seen(one).has_left]
    return [one for one in recordings if one not in left] or recordings[:1]


def _apart(recordings: Sequence[Recording]) -> tuple[list[list[Recording]], tuple[contradictory.Note, ...]]:
    if len(recordings) < 2:
        return [list(recordings)], ()
    from raxl.collect import contradictory

    return contradictory.apart(recordings)


def _note(machine: Recording, notes: Sequence[tuple[str, str, str]]) -> None:
    """Adds what it does not say yet: a replay does."""
    machine.notes = (*machine.notes, *(note for note in notes if note not in machine.notes))


def hostname(recording: Recording) -> str | None:
    """The machine's own name, where the recording holds it."""
    host = ReplayHost(recording)
    return _hostname(host, system.ask(host))


def _hostname(host: ReplayHost, answers: system.Answers) -> str | None:
    own = system.hostname(answers)
    return own or next((document.hostname for document in documents.read(host)[0] if document.hostname), None)


def _of_one(recordings: Sequence[Recording], name: str) -> Sequence[Recording]:
    """The recordings without those that one file holds of other hosts, where it holds one of this host too."""
    hosts = [(recording.source, hostname(recording)) for recording in recordings]
    own = {source for source, host in hosts if host == name}
    return [one for one, (source, host) in zip(recordings, hosts, strict=True) if source not in own or host == name]


def _one(group: Sequence[Recording]) -> Recording:
    """The recordings of one machine as one."""
    if len(group) < 2:
        return group[0]
    from raxl.collect import apart

    first, *others = apart.in_order(group)
    differing = apart.notes([first, *others])
    texts = _joined_texts([first, *others])
    _name_unread(group)
    for other in others:
        first.absorb(other)
    first.answers.update(texts)
    _note(first, differing)
    first.source = ", ".join(dict.fromkeys(recording.source for recording in group))
    return first


def _name_unread(group: Sequence[Recording]) -> None:
    """Has what could not be read said of that file: of the machine others were read."""
    unread = [one for one in group if not one.answers and not isinstance(one, TreeRecording)]
    if len(unread) < len(group):
        for one in unread:
            told = [("recording" if subject == "node" else subject, *rest) for subject, *rest in one.notes]
            one.notes = tuple((subject, reason, words) for subject, reason, words in told)


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


def distinct(names: Sequence[str]) -> list[str]:
    """The names, and for those that are taken others that tell the machines apart: `localhost-2`."""
    taken: dict[str, None] = {}
    places: dict[str, int] = {}
    for name in names:
        own, place = name, places.get(name, 1)
        while own in taken:
            place += 1
            own = f"{name}-{place}"
        places[name] = place
        taken[own] = None
    return list(taken)
