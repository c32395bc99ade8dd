"""NVSwitch's SXids: the sets that tell how bad one is where its line has no word for it. Data.

Facts: NVIDIA's white paper on Xids and SXids. NVSwitches of NVLink 5 raise Xids 144 to 150 in place of them.
"""

from __future__ import annotations

from typing import NamedTuple


class Set(NamedTuple):
    """SXids of one kind."""

    verdict: str
    action: str
    meaning: str
    codes: frozenset[int]


SETS = (
    Set(
        "info",
        "watch",
        "a corrected single-bit ECC error in the switch",
        frozenset(
            {
                11012,
                11021,
                11022,
                11023,
                12021,
                12023,
                15008,
                15011,
                19049,
                19055,
                19057,
                19059,
                19062,
                19065,
                19068,
                19071,
                24001,
                24002,
                24003,
            }
        ),
    ),
    Set(
        "fail",
        "reset_gpu",
        "a fatal error of one port (routing, credits, double-bit or control): jobs that use it fail",
        frozenset(
            {
                11001,
                11009,
                11013,
                11018,
                11019,
                11020,
                12001,
                12002,
                12022,
                12024,
                12025,
                12026,
                12027,
                12030,
                12031,
                12032,
                14017,
                15001,
                15006,
                15009,
                15010,
                15012,
                15013,
                19047,
                19048,
                19054,
                19056,
                19058,
                19060,
                19061,
                19063,
                19064,
                19066,
                19067,
                19069,
                19070,
                20034,
                24004,
                24005,
                24006,
                24007,
            }
        ),
    ),
    Set(
        "fail",
        "reboot_node",
        "a fatal error of the switch: every port is suspect",
        frozenset(
            {
                12020,
                22003,
                22011,
                23001,
                23002,
                23003,
                23004,
                23005,
                23006,
                23007,
                23008,
                23009,
                23010,
                23011,
                23012,
                23013,
                23014,
                23015,
                23016,
                23017,
            }
        ),
    ),
    Set(
        "warn",
        "watch",
        "a replay, training, heartbeat or access-list event; 11004, 12028 and 19084 abort the job that hit them",
        frozenset({11004, 12028, 19084, 20001, 20009, 20012, 22013}),
    ),
    Set(
        "warn",
        "watch",
        "an event of the switch's host interface, or of its temperature",
        frozenset({10001, 10002, 10003, 10004, 10005}),
    ),
)
