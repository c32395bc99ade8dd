"""Findings as files for other programs and people: JSON, JUnit, Prometheus, Markdown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from raxl.model import codec
from raxl.model.finding import FAIL, OK, SKIP, UNKNOWN, WARN, Finding, Findings
from raxl.render.findings_words import closing, counted, rest
from raxl.render.prometheus_text import Families

_NUMBERS = {OK: 0, WARN: 1, FAIL: 2, UNKNOWN: 3}
_HELPS = {
    "raxl_check_status": "What a check found: 0 ok, 1 warn, 2 fail, 3 unknown; none where it does not apply.",
    "raxl_diagnose_last_run_timestamp_seconds": "When the newest of the readings was made.",
}


def written(found: Findings, format: str, fail_on: str) -> str:
    """The document in one of these formats; `fail_on` says what JUnit calls a failure."""
    writers: dict[str, Callable[[], str]] = {
        "json": lambda: codec.encode(found),
        "junit": lambda: junit(found, fail_on),
        "prometheus": lambda: prometheus(found),
        "markdown": lambda: markdown(found),
    }
    return writers[format]()


def junit(found: Findings, fail_on: str) -> str:
    """A suite a node, a case a finding; what is suppressed is skipped.

    https://github.com/testmoapp/junitxml
    """
    from xml.etree import ElementTree

    suites = ElementTree.Element("testsuites", name="raxl diagnose")
    for node in dict.fromkeys(one.node for one in found.findings):
        own = [one for one in found.findings if one.node == node]
        suite = ElementTree.SubElement(suites, "testsuite", name=node or "all nodes", timestamp=found.created)
        counts = dict.fromkeys(("failure", "error", "skipped"), 0)
        for one in own:
            case = ElementTree.SubElement(
                suite, "testcase", classname=node or "all nodes", name=f"{one.check}[{one.subject}]"
            )
            outcome = _outcome(one, fail_on)
            if outcome:
                counts[outcome] += 1
                ElementTree.SubElement(case, outcome, message=one.message).text = _detail(one)
            elif one.status == WARN:
                ElementTree.SubElement(case, "system-out").text = _detail(one)
        suite.attrib.update(
            tests=str(len(own)),
            failures=str(counts["failure"]),
            errors=str(counts["error"]),
            skipped=str(counts["skipped"]),
        )
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _outcome(one: Finding, fail_on: str) -> str | None:
    if one.suppressed is not None or one.status == SKIP:
        return "skipped"
    if one.status == FAIL or (one.status == WARN and fail_on == WARN):
        return "failure"
    return "error" if one.status == UNKNOWN else None


def _detail(one: Finding) -> str:
    lines = [f"{one.message}{rest(one)}"]
    lines += [f"{told.source}: {told.value}" for told in one.evidence]
    lines += [f"remedy ({one.remedy_class}): {one.remedy}"] if one.remedy else []
    lines += [f"suppressed until {one.suppressed.until}: {one.suppressed.reason}"] if one.suppressed else []
    return "\n".join(lines)


def prometheus(found: Findings) -> str:
    """A series a finding that is neither skipped nor suppressed: nothing in a label changes from run to run."""
    families = Families(_HELPS)
    for one in reversed(found.findings):  # of two about one subject, the worse is kept
        if one.status in _NUMBERS and one.suppressed is None:
            labels = {"check": one.check, "node": one.node, "subject": one.subject}
            families.add("raxl_check_status", labels, _NUMBERS[one.status])
    families.add("raxl_diagnose_last_run_timestamp_seconds", {}, _seconds(found.created))
    return families.text()


def _seconds(created: str) -> float | None:
    try:
        return datetime.fromisoformat(created.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def markdown(found: Findings) -> str:
    """What a ticket needs: the sum, each fault with evidence and remedy, and what could not be read."""
    by = f" by recipe {_plain(found.recipe)}" if found.recipe else ""
    lines = [f"# raxl diagnose{by}", "", closing(found), ""]
    lines += [f"raxl {found.raxl_version}, readings of {found.created}", ""]
    for coverage in found.coverage:
        own = [one for one in found.findings if one.node == coverage.node]
        lines += [f"## {_plain(coverage.node)}", "", f"{coverage.levels[-1]}, {coverage.vantage}: {counted(own)}", ""]
        for one in own:
            if one.status in (FAIL, WARN) and one.suppressed is None:
                lines += _entry(one)
        missing = [one for one in own if one.status == UNKNOWN]
        if missing:
            lines += [f"Not answered: {', '.join(dict.fromkeys(f'`{one.check}`' for one in missing))}", ""]
    others = [one for one in found.findings if one.node not in {c.node for c in found.coverage}]
    for one in others:
        if one.status in (FAIL, WARN):
            lines += _entry(one)
    return "\n".join(lines).rstrip() + "\n"


def _entry(one: Finding) -> list[str]:
    lines = [
        f"### {one.status.upper()} `{one.check}` {_plain(one.subject)}",
        "",
        f"{_plain(one.message)}{rest(one)}",
        "",
    ]
    if one.evidence:
        lines += ["| read | value |", "| --- | --- |"]
        lines += [f"| {_cell(told.source)} | {_cell(told.value)} |" for told in one.evidence]
        lines.append("")
    if one.remedy:
        lines += [f"**Remedy** ({one.remedy_class}): {_plain(one.remedy)}", ""]
    if one.reference:
        lines += [f"<{one.reference}>", ""]
    lines += [f"`{one.fingerprint}`", ""]
    return lines


def _plain(text: str) -> str:
    """Text that Markdown takes as it stands."""
    return "".join(f"\\{c}" if c in "\\`*_<>[]#|" else c for c in text)


def _cell(text: str) -> str:
    return _plain(" ".join(text.split()))
