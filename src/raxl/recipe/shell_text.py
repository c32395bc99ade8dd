"""Lines of an environment file that any POSIX shell reads: nothing that a recipe says acts in them."""

from __future__ import annotations

import fnmatch
import re
import shlex

from raxl.errors import RecipeError
from raxl.model.printable import clean
from raxl.model.recipe import UnsetVariable, Value

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_GLOB = re.compile(r"\*|\?|\[!?[\w.,:-]+\]", re.ASCII)
"""What of a glob stays outside the quotes."""


def comment(text: str) -> str:
    """A line that no shell reads, and YAML neither."""
    return f"# {clean(text)}"


def export(name: str, value: str) -> str:
    """`export NAME=value`, quoted. Raises RecipeError for a name or a value that no line can hold."""
    return f"export {checked_name(name)}={shlex.quote(checked(value, name))}"


def unset(one: UnsetVariable) -> str:
    """`unset NAME`; where its value decides, a line that looks at it when the file is read, not when it is written:
    the file stays the same whatever the environment of now holds."""
    name = checked_name(one.name)
    patterns = _patterns(one)
    if patterns is None:
        return f"unset {name}"
    given = f'case "${{{name}-}}" in'
    if one.op == "!=":
        return f"{given} ({patterns}) ;; (*) unset {name} ;; esac"
    return f"{given} ({patterns}) unset {name} ;; esac"


def is_stale(one: UnsetVariable, value: str) -> bool:
    """Whether that line unsets the variable where it has this value."""
    texts = _texts(one.value)
    if one.op == "matches":
        return any(fnmatch.fnmatchcase(value, text) for text in texts)
    return one.op == "present" or (value in texts) is (one.op != "!=")


def argument(text: str) -> str:
    """An argument as `xargs` reads it from a file: its quotes are the shell's."""
    return shlex.quote(checked(text, text.partition("=")[0]))


def checked(text: str, of: str) -> str:
    """The text. Raises RecipeError where it has characters that cannot be seen, or that end a line."""
    if clean(text) != text:
        raise RecipeError(f"the value of {clean(of)} cannot be written", "it holds characters that are not to be seen")
    return text


def checked_name(name: str) -> str:
    """The name of a variable. Raises RecipeError where it is none."""
    if not _NAME.fullmatch(name):
        raise RecipeError(f"{clean(name)!r} is no name of an environment variable")
    return name


def _patterns(one: UnsetVariable) -> str | None:
    """What stands in the parentheses of a `case`; None where any value will do."""
    if one.op == "present":
        return None
    if one.op in _WRITTEN:
        return "|".join(_WRITTEN[one.op](checked(text, one.name)) for text in _texts(one.value))
    raise RecipeError(
        f"env.unset of {one.name} cannot be written", f"{one.op} is no question that a shell asks", "Use == or matches"
    )


def _glob(text: str) -> str:
    parts, place = [], 0
    for found in _GLOB.finditer(text):
        parts += [_literal(text[place : found.start()]), found[0]]
        place = found.end()
    return "".join(part for part in [*parts, _literal(text[place:])] if part != "''") or "''"


def _literal(text: str) -> str:
    """In quotes whatever it is: `esac` is a word of the shell."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


_WRITTEN = {"==": _literal, "!=": _literal, "in": _literal, "matches": _glob}


def _texts(value: Value) -> list[str]:
    """A value, or each of several, as an environment holds it."""
    several = value if isinstance(value, tuple) else (value,)
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in several]
