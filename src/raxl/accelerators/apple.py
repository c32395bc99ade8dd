"""Apple GPUs: what macOS says of them; on other systems nothing is asked.

`system_profiler SPDisplaysDataType -json` (`sppci_model`, `sppci_cores`) and sysctl's `machdep.cpu.brand_string` and
`hw.memsize`: unverified on a machine, the same commands that Ray asks. There is one GPU, with no PCI function and no
link; its memory is the machine's. No variable hides it. Ray counts it on arm64 where the profiler's answer names
Metal.
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from raxl.host import Answer, Host
from raxl.model.accelerator import RayView
from raxl.model.component import PciFunction
from raxl.model.presence import Presence
from raxl.model.problem import FAILED, NOT_APPLICABLE, Problem
from raxl.model.report import Claim, Report, Silence
from raxl.sources import presence, tool_words
from raxl.sources.numbers import MOST_BYTES, MOST_PLACES, whole
from raxl.sources.plain_family import NOT_SOUGHT

PROFILER = ("system_profiler", "SPDisplaysDataType", "-json")
BRAND, MEMORY = ("sysctl", "-n", "machdep.cpu.brand_string"), ("sysctl", "-n", "hw.memsize")
_SYSTEM = "Darwin"
_CHIP = re.compile(r"Apple (M\S{1,20})(?: (Pro|Max|Ultra))?")
_UNIFIED = Silence(NOT_APPLICABLE, "the GPU has no memory of its own: it shares the machine's")
_NO_PCI = Silence(NOT_APPLICABLE, "the GPU is a part of the chip, and no PCI function")


class Answers(NamedTuple):
    """What the profiler says of displays, the chip's name, and the machine's memory."""

    profile: Answer
    brand: Answer
    memory: Answer


class Apple:
    """The GPU of an Apple chip."""

    vendor = "apple"
    family = "Apple"

    def probe(self, host: Host) -> Presence:
        """Looks for macOS: there is no such device on another system."""
        return presence.look(host, "106b", lambda *_: False, ("/System/Library/CoreServices/SystemVersion.plist",))

    def ask(self, host: Host) -> Answers:
        """Asks macOS."""
        system = host.process("uname")
        if not system.known or system.value.get("system") != _SYSTEM:
            return Answers(NOT_SOUGHT, NOT_SOUGHT, NOT_SOUGHT)
        return Answers(host.command(PROFILER), host.command(BRAND), host.command(MEMORY))

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """The one GPU, by its chip's name."""
        if NOT_SOUGHT in answers:
            return Report()
        printed = tool_words.printed(answers.profile)
        brand = tool_words.printed(answers.brand).strip()
        displays = [one for one in _displays(printed) if str(one.get("sppci_model", "")).startswith("Apple")]
        if not displays and not brand.startswith("Apple"):
            refusal = tool_words.refusal(answers.profile, " ".join(PROFILER))
            is_told = answers.profile.known and answers.profile.value.status == 0
            return Report(problems=() if is_told else (Problem("accelerators", refusal.reason, refusal.message),))
        words = tool_words.Words(" ".join(PROFILER), displays[0] if displays else {})
        return Report(claims=(_claim(words, brand, whole(tool_words.printed(answers.memory), MOST_BYTES), printed),))


def chip(text: str) -> Optional[str]:
    """Ray's `ray.io/accelerator-type`: `M2-Max` of `Apple M2 Max`."""
    found = _CHIP.search(text)
    return "-".join(part for part in found.groups() if part) if found else None


def _displays(text: str) -> Iterator[Mapping[str, Any]]:
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return
    listed = held.get("SPDisplaysDataType") if isinstance(held, dict) else None
    yield from (one for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()


def _claim(words: tool_words.Words, brand: str, memory: Optional[int], printed: str) -> Claim:
    model = words.said("sppci_model") or tool_words.value_of(brand[:100])
    has_metal = "metal" in printed.lower()
    attributes = {"unified_memory_bytes": memory, "gpu_cores": whole(words.said("sppci_cores"), MOST_PLACES)}
    silent = dict.fromkeys(("pci", "pcie_root", "numa_node"), _NO_PCI)
    silent["memory_bytes"] = _UNIFIED
    silent["visible_env"] = Silence(NOT_APPLICABLE, "no variable hides the one GPU of the chip")
    if not has_metal:
        silent["state"] = Silence(FAILED, "the profiler names no Metal", words.tool)
    return Claim(
        vendor="apple",
        kind="gpu",
        evidence=words.tool,
        index=0,
        model=model,
        state="ok" if has_metal else None,
        ray=RayView(resource="GPU", type=chip(brand) or chip(model or "")),
        attributes={name: value for name, value in attributes.items() if value is not None},
        silent=silent,
    )
