"""Which values last, which come and go, and which name one device among many."""

from __future__ import annotations

import re

_VOLATILE = re.compile(
    r"bad|clocks?|(un)?correct(ed|able)|counter|deferred|energy|errors?|evicted|fan|free|load|pages|power|process(es)?|"
    r"replays?|retired|remapped|temp(erature)?|throttled?|unreservable|uptime|usage|used|utili[sz]ation|util|voltage|watts"
)
_SETTING = re.compile(r"mode|limit|cap|health")
"""With one of these a name is a setting's, not a counter's: `ecc_mode`, `power_limit`."""
_IDENTITY = re.compile(r"card|coordinates|functions|guid|ids?|minor|module|node|serial|sid|slot|tray|uuid")
_IDENTITIES = ("cpu_affinity", "device_name", "drm_device", "vendor_path", "visible_cores", "visible_name")
_STATE = re.compile(r"action|failure|health|pending|state|status")
_GOOD = ("ok", "healthy", "normal", "operational", "none", "good", "0", "false", "pass", "passed", "completed")
_PLACES = ("rack", "block", "slice", "worker_index", "fabric_domain")
_PLACE_LABELS = ("ray.io/gpu-domain", "raxl/rack", "raxl/block", "raxl/slice", "raxl/rail-group")
_START_LABELS = ("ray.io/node-id",)
_MEASURED = ("memory", "object_store_memory")
"""Resources that Ray takes from the memory that is free when a raylet starts."""


def _has(name: str, word: re.Pattern[str]) -> bool:
    """Whether one of the words of a name is of this sort."""
    return any(map(word.fullmatch, re.split(r"[^a-z0-9]+", name.lower())))


def is_volatile(attribute: str) -> bool:
    """Whether an attribute of this name is a counter, a clock, a temperature or the like."""
    return _has(attribute, _VOLATILE) and not _has(attribute, _SETTING)


def is_identity(attribute: str) -> bool:
    """Whether an attribute of this name tells one device from others of its model."""
    return attribute in _IDENTITIES or _has(attribute, _IDENTITY)


def is_state(attribute: str) -> bool:
    """Whether an attribute of this name says how the device does."""
    return _has(attribute, _STATE)


def is_good(value: object) -> bool:
    """Whether a state's value says that all is well."""
    return str(value).strip().lower() in _GOOD


def is_place(placement: str) -> bool:
    """Whether a field of the placement names where the node stands, not of what sort it is."""
    return placement in _PLACES


def is_place_label(label: str) -> bool:
    """Whether one of Ray's labels names where the node stands."""
    return label in _PLACE_LABELS


def is_label_of_start(label: str) -> bool:
    """Whether one of Ray's labels is new at every start of a raylet."""
    return label in _START_LABELS


def is_measured_resource(resource: str) -> bool:
    """Whether one of Ray's resources follows from free memory or names the node's address."""
    return resource in _MEASURED or resource.startswith("node:")
