"""The words of vendors' tools for a value, for none and for a reading that failed, and the cells of their tables.

Standard library, Python 3.8: plug-ins read their tools' outputs on bare nodes.
"""

from __future__ import annotations

import re
from typing import List, Mapping, NamedTuple, Optional, Tuple

from raxl.host import Answer
from raxl.model.component import PciLink
from raxl.model.problem import FAILED, NOT_SUPPORTED
from raxl.model.report import Silence
from raxl.sources import pci, tool_silence
from raxl.sources.numbers import MOST_BYTES

LONGEST_LINE = 2000
"""Characters; of a longer line its beginning is read."""
LONGEST_WORD = 200
"""Characters of a value; none of these tools prints a longer one."""
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|\][^\x07\n]{0,200}\x07)")
_BORDERS = str.maketrans({"│": "|", "┃": "|", "║": "|"})
_SIZE = re.compile(r"([0-9]{1,16})(?:\.([0-9]{1,6}))? ?(?:([KMGT]i?)?B)?", re.IGNORECASE)
_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 1 << 10,
    "mi": 1 << 20,
    "gi": 1 << 30,
    "ti": 1 << 40,
}


class Words(NamedTuple):
    """What one tool says of one device: its words by their names."""

    tool: str
    """`rbln-smi`, for the sentences that say why a value is not known."""
    words: Mapping[str, object]
    is_cut: bool = False
    """Whether the output ends inside this device."""

    def raw(self, name: str) -> Optional[str]:
        """The word as it stands; None where this output has none of that name. JSON's null is `null`."""
        if name not in self.words:
            return None
        value = self.words[name]
        if value is None:
            return "null"
        return str(value).strip()[:LONGEST_WORD] if isinstance(value, (str, int, float)) else None

    def said(self, name: str) -> Optional[str]:
        """The word where it is a value."""
        return value_of(self.raw(name))

    def silence(self, name: str) -> Silence:
        """Why the word gives no value."""
        return tool_silence.silence(self.raw(name), self.tool, self.tool, self.is_cut, NOT_SUPPORTED)


def printed(answer: Answer) -> str:
    """What a command printed; nothing where it could not be run."""
    return str(answer.value.stdout) if answer.known else ""


def refusal(answer: Answer, command: str) -> Silence:
    """Why a command told nothing of a device: it could not be run, or in its own words."""
    if not answer.known:
        return Silence(answer.reason or FAILED, answer.message, command)
    words = (answer.value.stdout + answer.value.stderr).strip().splitlines()
    if answer.value.status == 0:
        return Silence(FAILED, f"{command} does not list this device", command)
    return Silence(FAILED, words[0][:200] if words else f"{command} ended with {answer.value.status}", command)


def value_of(word: Optional[str]) -> Optional[str]:
    """The word; None where it says that there is no value, or that reading it failed."""
    return tool_silence.says(word)


def size(word: Optional[str]) -> Optional[int]:
    """Bytes of `16877879296`, `15.7GiB`, `2.4 GB` (10⁹) or `0.0B`; None for what is no size, and for nothing at all."""
    found = _SIZE.fullmatch((word or "").strip())
    if not found:
        return None
    unit = _UNITS[(found[3] or "").lower()]
    fraction = found[2] or ""
    total = int(found[1]) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
    return total if 0 < total <= MOST_BYTES else None


def link(speed: Optional[str], width: Optional[str]) -> Optional[PciLink]:
    """The PCIe link of `32.0GT/s` or `32.0 GT/s PCIe`, and `x16` or `16`."""
    gts = pci.gts(re.sub(r" ?GT/s", " GT/s", speed or "", count=1))
    found = re.fullmatch(r"[x×]?([0-9]{1,2})x?", (width or "").strip())
    lanes = int(found[1]) or None if found else None
    return PciLink(speed_gts=gts, width=lanes) if gts or lanes else None


def lines(text: str) -> List[str]:
    """The lines of a text that a terminal may have coloured, without what stands at their ends; NULs end them."""
    return [line[:LONGEST_LINE].split("\0", 1)[0].rstrip() for line in plain(text).splitlines()]


def plain(text: str) -> str:
    """The text without a terminal's colours."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


def cells(line: str) -> Tuple[str, ...]:
    """The cells of a table's row `| a | b |`, whose last border may be missing; none for a line that is no row."""
    line = line.strip().translate(_BORDERS)
    if not line.startswith("|") or not line.strip("|+-= "):
        return ()
    inner = line[1:-1] if line.endswith("|") and len(line) > 1 else line[1:]
    return tuple(cell.strip() for cell in inner.split("|"))
