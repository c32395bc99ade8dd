"""raxl's own archive: what it holds, and how it is written and read.

raxl-snapshot/manifest.json     schema, names of the nodes
raxl-snapshot/nodes/NAME/       one folder a machine:
    manifest.json               source, time, nature, what went wrong while asking
    root/…                      files under their own path, as they are (a PCI configuration space is bytes)
    root.jsonl                  folders' names, links' targets, and files that could not be read
    commands/N.out, N.err       outputs, and index.jsonl with arguments and exit status
    libraries/NAME.jsonl        calls of a vendor's library; `os` is what the kernel told the asking process
    metadata/SERVICE.jsonl      what a cloud's metadata service answered, as far as the allow-list names it
    environment.json            the allowed part of its environment
    documents/FORM              a foreign document that describes the machine
    ray/node.json, cluster.json what Ray says of the node, and of the cluster that it is a node of
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Sequence

from raxl.errors import SchemaTooNew, UnreadableInput
from raxl.host import Answer, CommandOutput, Question, allowed, allowed_metadata
from raxl.host.known import Known
from raxl.host.live import DATA_LIMIT
from raxl.host.record import Recording

SCHEMA = "raxl.snapshot/v1"
FOLDER = "raxl-snapshot"
_OWN = "os"
"""The library that is no vendor's: what the kernel tells the asking process."""
_USER_FILES = Question("process", "nccl_user_files")
_KNOWN, _LISTINGS = Known(), Known(64, 1 << 20)


def members(recordings: Sequence[Recording], redacted: bool = False) -> Iterator[tuple[str, bytes]]:
    """Path and content of everything in a snapshot of these machines."""
    folders = _folders(recordings)
    manifest = {"schema": SCHEMA, "redacted": redacted, "nodes": list(folders)}
    yield f"{FOLDER}/manifest.json", _json(manifest)
    for folder, recording in folders.items():
        for path, content in _node(recording):
            yield f"{FOLDER}/{folder}/{path}", content


def extent(recording: Recording) -> tuple[int, int]:
    """How many entries of an archive a machine takes, and how many bytes of it."""
    sizes = [len(content) for _, content in _node(recording)]
    return len(sizes), sum(sizes)


def _folders(recordings: Sequence[Recording]) -> dict[str, Recording]:
    """A folder's name for each machine: its own, made safe and distinct."""
    folders: dict[str, Recording] = {}
    for recording in recordings:
        safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in recording.name)[:80].lstrip(".") or "node"
        name, place = safe, 1
        while f"nodes/{name}" in folders:
            place += 1
            name = f"{safe}-{place}"
        folders[f"nodes/{name}"] = recording
    return folders


def _node(recording: Recording) -> Iterator[tuple[str, bytes]]:
    yield (
        "manifest.json",
        _json(
            {
                "name": recording.name,
                "source": recording.source,
                "created": recording.created,
                "recorded_by": recording.recorded_by,
                "nature": recording.nature,
                "unasked": [recording.unasked.reason, recording.unasked.message],
                "notes": [list(note) for note in recording.notes],
            }
        ),
    )
    root: List[Dict[str, Any]] = []
    commands: List[Dict[str, Any]] = []
    libraries: Dict[str, List[Dict[str, Any]]] = {}
    clouds: Dict[str, List[Dict[str, Any]]] = {}
    for question, answer in sorted(recording.answers.items()):
        kind, subject = question
        if kind == "text" and answer.known:
            yield "root" + subject, _bytes(answer.value)
        elif kind == "data" and answer.known:
            yield "root" + subject, bytes.fromhex(answer.value)
        elif kind in ("text", "data", "names", "link"):
            root.append({"question": kind, "path": subject, **_told(answer)})
        elif kind == "command":
            if answer.known:
                yield f"commands/{len(commands)}.out", _bytes(answer.value.stdout)
                yield f"commands/{len(commands)}.err", _bytes(answer.value.stderr)
            status = answer.value.status if answer.known else None
            commands.append(
                {"arguments": subject, "status": status, "reason": answer.reason, "message": answer.message}
            )
        elif kind == "metadata":
            service, _, place = subject.partition(" ")
            clouds.setdefault(service, []).append({"path": place, **_told(answer)})
        elif kind == "document":
            if answer.known:
                yield f"documents/{subject}", _bytes(answer.value)
        elif kind == "ray":
            yield f"ray/{subject}.json", _json(_told(answer))
        elif subject == "environment":
            yield "environment.json", _json(_told(answer))
        else:
            name, _, call = subject.partition(" ") if kind == "library" else (_OWN, "", subject)
            libraries.setdefault(name, []).append({"method": call, **_told(answer)})
    calls = [(f"libraries/{name}.jsonl", lines) for name, lines in sorted(libraries.items())]
    told = [(f"metadata/{service}.jsonl", lines) for service, lines in sorted(clouds.items())]
    for path, lines in (("root.jsonl", root), ("commands/index.jsonl", commands), *calls, *told):
        if lines:
            yield path, b"".join(json.dumps(line).encode("ascii") + b"\n" for line in lines)


def _told(answer: Answer) -> dict[str, Any]:
    if answer.known:
        return {"value": answer.value}
    return {"reason": answer.reason, "message": answer.message}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode("ascii") + b"\n"


def is_snapshot(files: Mapping[str, bytes], top: str = "") -> bool:
    """Whether these files, by path below `top`, are a snapshot of raxl's."""
    return b"raxl.snapshot/" in files.get(f"{top}manifest.json", b"")


def read(files: Mapping[str, bytes], name: str, top: str = "") -> list[Recording]:
    """The recordings in a snapshot's files, by path below `top`.

    Raises `SchemaTooNew` for a layout of a later raxl, `UnreadableInput` where a part of it is damaged.
    """
    try:
        manifest = json.loads(files[f"{top}manifest.json"])
        if manifest["schema"] != SCHEMA:
            raise SchemaTooNew(
                f"{name} has the layout {str(manifest['schema'])[:40]}",
                f"this raxl reads {SCHEMA}",
                "install a newer raxl",
            )
        if len(manifest["nodes"]) == 1:
            return [_recording(files, f"{top}{folder}/") for folder in manifest["nodes"]]
        folders = _by_folder(files, top)
        return [_recording(*_one_of(files, top, folders, folder)) for folder in manifest["nodes"]]
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise UnreadableInput(f"{name} is a damaged snapshot", f"{type(error).__name__}: {error}"[:200]) from error


def _by_folder(files: Mapping[str, bytes], top: str) -> Dict[str, Dict[str, bytes]]:
    """The files below each `nodes/NAME`, found in one pass: an archive may hold many nodes."""
    folders: Dict[str, Dict[str, bytes]] = {}
    for path, content in files.items():
        nodes, _, rest = path[len(top) :].partition("/") if path.startswith(top) else ("", "", "")
        name, _, inner = rest.partition("/")
        if inner:
            folders.setdefault(f"{nodes}/{name}", {})[inner] = content
    return folders


def _one_of(
    files: Mapping[str, bytes], top: str, folders: Mapping[str, Dict[str, bytes]], folder: str
) -> tuple[Mapping[str, bytes], str]:
    """The files of one machine, and below what they lie."""
    if folder.count("/") == 1 and not folder.startswith("/"):
        return folders.get(folder, {}), ""
    return files, f"{top}{folder}/"


def _recording(files: Mapping[str, bytes], top: str) -> Recording:
    """The machine whose files lie below `top`."""
    answers: Dict[Question, Answer] = {}
    others: Dict[str, bytes] = {}
    root, start, known = f"{top}root/", len(top), _KNOWN.get
    for path, content in files.items():
        if path.startswith(root):
            question, answer = known(_of_file, path[start:], content)
            answers[question] = answer
        elif path.startswith(top):
            others[path[start:]] = content
    answers.update(_others(others))
    answers.update(_LISTINGS.get(_of_lines, "", others.get("root.jsonl", b"")))
    manifest = json.loads(others["manifest.json"])
    reason, message = manifest["unasked"]
    return Recording(
        answers,
        name=str(manifest["name"]),
        source=str(manifest["source"]),
        created=str(manifest["created"]),
        recorded_by=None if manifest["recorded_by"] is None else str(manifest["recorded_by"]),
        nature=str(manifest["nature"]),
        unasked=Answer(None, _reason(reason), str(message)),
        notes=[(str(subject), _reason(why), str(text)) for subject, why, text in manifest["notes"]],
    )


def _others(files: Mapping[str, bytes]) -> Iterable[tuple[Question, Answer]]:
    """What is no file of the machine's."""
    for path, content in files.items():
        if path.startswith("documents/"):
            yield Question("document", path[len("documents/") :]), Answer(allowed.command_output(_text(content)))
        elif path.startswith("ray/") and path.endswith(".json"):
            yield Question("ray", path[len("ray/") : -len(".json")]), _answer(json.loads(content), "ray")
        elif path.startswith("libraries/") and path.endswith(".jsonl"):
            library = path[len("libraries/") : -len(".jsonl")]
            yield from (_KNOWN.get(_of_call, library, line) for line in _lines(content))
        elif path.startswith("metadata/") and path.endswith(".jsonl"):
            yield from _metadata(path[len("metadata/") : -len(".jsonl")], content)
    if "environment.json" in files:
        yield Question("process", "environment"), _environment(json.loads(files["environment.json"]))
    for number, line in enumerate(_lines(files.get("commands/index.jsonl", b""))):
        told = json.loads(line)
        yield Question("command", str(told["arguments"])), _command(number, told, files)


def _of_file(path: str, content: bytes) -> tuple[Question, Answer]:
    subject = path[len("root") :]
    if allowed.is_data(subject):
        return Question("data", subject), Answer(content[:DATA_LIMIT].hex())
    return Question("text", subject), Answer(allowed.file_text(subject, _text(content)))


def _of_lines(_: str, content: bytes) -> Dict[Question, Answer]:
    """Folders, links and refusals: machines of one kind have all of them in common."""
    return dict(_KNOWN.get(_of_line, "", line) for line in _lines(content))


def _of_line(_: str, content: bytes) -> tuple[Question, Answer]:
    line = json.loads(content)
    return Question(str(line["question"]), str(line["path"])), _answer(line, str(line["question"]))


def _of_call(library: str, content: bytes) -> tuple[Question, Answer]:
    line = json.loads(content)
    call = str(line["method"])
    question = Question("process", call) if library == _OWN else Question("library", f"{library} {call}")
    answer = _answer(line, question.kind)
    if question == _USER_FILES and isinstance(answer.value, dict):
        answer = Answer(allowed.nccl_user_files(answer.value))  # what another hand put there passes the same door
    return question, answer


def _metadata(service: str, content: bytes) -> Iterable[tuple[Question, Answer]]:
    """What another hand put into an archive passes the same door."""
    for text in _lines(content):
        line = json.loads(text)
        place, answer = str(line["path"]), _answer(line, "metadata")
        if answer.known:
            kept = allowed_metadata.kept(service, place, answer.value)
            answer = Answer(kept) if kept is not None else Answer(None, "failed", "it is no answer of such a service")
        if place in allowed_metadata.paths(service):
            yield Question("metadata", f"{service} {place}"), answer


def _command(number: int, line: Mapping[str, Any], files: Mapping[str, bytes]) -> Answer:
    if line.get("reason") is not None:
        return Answer(None, _reason(line["reason"]), str(line.get("message", "")))
    output = (_text(files.get(f"commands/{number}.{end}", b"")) for end in ("out", "err"))
    return Answer(CommandOutput(int(line["status"]), *map(allowed.command_output, output)))


def _environment(line: Mapping[str, Any]) -> Answer:
    """What another hand put into an archive passes the same door."""
    answer = _answer(line, "process")
    if not answer.known:
        return answer
    return Answer(allowed.environment({str(name): str(value) for name, value in answer.value.items()}))


_TYPES = {"names": list, "link": str, "text": str, "metadata": str}


def _answer(line: Mapping[str, Any], kind: str) -> Answer:
    if line.get("reason") is not None:
        return Answer(None, _reason(line["reason"]), str(line.get("message", "")))
    value = line["value"]
    if kind == "data":
        raise ValueError("data stands in its own file")
    wanted = _TYPES.get(kind)
    if wanted is not None and not isinstance(value, wanted):
        raise ValueError(f"{kind} holds a {type(value).__name__}")
    if kind == "names":
        value = [str(name) for name in value]
    return Answer(value)


_REASONS = (
    "not-present",
    "not-supported",
    "not-applicable",
    "not-permitted",
    "not-installed",
    "timed-out",
    "failed",
    "not-asked",
    "disagreement",
)


def _reason(text: Any) -> str:
    """A reason of the vocabulary; anything else that an edited archive holds is `failed`."""
    return text if text in _REASONS else "failed"


def _lines(content: bytes) -> List[bytes]:
    return [line for line in content.splitlines() if line.strip()]


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
