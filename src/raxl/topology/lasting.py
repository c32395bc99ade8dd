"""Which values last, which come and go, and which name one device among many."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^a-z0-9]+")
_VOLATILE = frozenset(
    [
        "bad",
        "clock",
        "clocks",
        "corrected",
        "correctable",
        "counter",
        "deferred",
        "energy",
        "error",
        "errors",
        "evicted",
        "fan",
        "free",
        "load",
        "pages",
        "power",
        "processes",
        "process",
        "replay",
        "replays",
        "retired",
        "remapped",
        "temp",
        "temperature",
        "throttle",
        "throttled",
        "uncorrectable",
        "uncorrected",
        "unreservable",
        "uptime",
        "usage",
        "used",
        "util",
        "utilisation",
        "utilization",
        "voltage",
        "watts",
    ]
)
_SETTINGS = frozenset(["mode", "limit", "cap", "health"])
"""With one of these a name is a setting's, not a counter's: `ecc_mode`, `power_limit`."""
_IDENTITIES = frozenset(
    [
        "card",
        "coordinates",
        "cpu_affinity",
        "device_name",
        "drm_device",
        "functions",
        "guid",
        "id",
        "ids",
        "minor",
        "module",
        "node",
        "serial",
        "sid",
        "slot",
        "tray",
        "uuid",
        "vendor_path",
        "visible_cores",
        "visible_name",
    ]
)
_GOOD = frozenset(
    ["ok", "healthy", "normal", "operational", "none", "good", "0", "false", "pass", "passed", "completed"]
)
_STATES = frozenset(["action", "failure", "health", "pending", "state", "status"])
_PLACES = frozenset(["rack", "block", "slice", "worker_index", "fabric_domain"])
_PLACE_LABELS = ("ray.io/gpu-domain", "raxl/rack", "raxl/block", "raxl/slice", "raxl/rail-group")
_START_LABELS = ("ray.io/node-id",)
_MEASURED = ("memory", "object_store_memory")
"""Resources that Ray takes from the memory that is free when a raylet starts."""


def _is_one(name: str, words: frozenset[str]) -> bool:
    return name in words or bool(words & set(_WORD.split(name.replace("_", " ").lower())))


def is_volatile(attribute: str) -> bool:
    """Whether an attribute of this name is a counter, a clock, a temperature or the like."""
    return _is_one(attribute, _VOLATILE) and not _is_one(attribute, _SETTINGS)


def is_identity(attribute: str) -> bool:
    """Whether an attribute of this name tells one device from others of its model."""
    return _is_one(attribute, _IDENTITIES)


def is_state(attribute: str) -> bool:
    """Whether an attribute of this name says how the device does."""
    return _is_one(attribute, _STATES)


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
