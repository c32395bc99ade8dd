"""Where each output of `nvidia-smi` says what checks go by: the XML's path, the title and name of `-q`, the csv's
field.

Drivers 390 to 610; of several places the first one that an output has counts.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Tuple


class Places(NamedTuple):
    """The places of one word."""

    xml: Tuple[str, ...]
    query: Tuple[str, ...] = ()
    """`title/name`; the GPU's own have an empty title."""
    csv: Tuple[str, ...] = ()


def _ecc(memory: str, kind: str, counter: str) -> Places:
    """Errors of one memory: newer drivers split SRAM's uncorrected ones in two words."""
    correctable = "correctable" if kind == "corrected" else "uncorrectable"
    path = f"ecc_errors/{counter}/{memory}_{correctable}"
    title = f"{counter.capitalize()}/{memory.upper()} {correctable.capitalize()}"
    return Places((path,), (title,), (f"ecc.errors.{kind}.{counter}.{memory}",))


def _ecc_half(counter: str, half: str) -> Places:
    name = {"parity": "Parity", "secded": "SEC-DED"}[half]
    return Places(
        (f"ecc_errors/{counter}/sram_uncorrectable_{half}",), (f"{counter.capitalize()}/SRAM Uncorrectable {name}",)
    )


def _ecc_total(kind: str, counter: str) -> Places:
    """The sum, which the texts of drivers before Turing and every csv have."""
    bits = "double_bit" if kind == "uncorrected" else "single_bit"
    name = bits.replace("_", " ").title()
    path = f"ecc_errors/{counter}/{bits}/total"
    return Places((path,), (f"{counter.capitalize()} {name}/Total",), (f"ecc.errors.{kind}.{counter}.total",))


def _event(xml: str, name: str, csv: str) -> Places:
    return Places(
        (f"clocks_event_reasons/clocks_event_reason_{xml}", f"clocks_throttle_reasons/clocks_throttle_reason_{xml}"),
        (f"Clocks Event Reasons/{name}", f"Clocks Throttle Reasons/{name}"),
        (f"clocks_event_reasons.{csv}", f"clocks_throttle_reasons.{csv}"),
    )


def _bank(name: str) -> Places:
    return Places(
        (f"remapped_rows/row_remapper_histogram/row_remapper_histogram_{name}",),
        (f"Bank Remap Availability Histogram/{name.capitalize()}",),
        (f"remapped_rows.histogram.{name}",),
    )


def _temperature(xml: Tuple[str, ...], names: Tuple[str, ...], csv: Tuple[str, ...] = ()) -> Places:
    return Places(tuple(f"temperature/{one}" for one in xml), tuple(f"Temperature/{one}" for one in names), csv)


EVENTS: Dict[str, Places] = {
    "idle": _event("gpu_idle", "Idle", "gpu_idle"),
    "application clocks": _event(
        "applications_clocks_setting", "Applications Clocks Setting", "applications_clocks_setting"
    ),
    "software power cap": _event("sw_power_cap", "SW Power Cap", "sw_power_cap"),
    "hardware slowdown": _event("hw_slowdown", "HW Slowdown", "hw_slowdown"),
    "sync boost": _event("sync_boost", "Sync Boost", "sync_boost"),
    "software thermal": _event("sw_thermal_slowdown", "SW Thermal Slowdown", "sw_thermal_slowdown"),
    "hardware thermal": _event("hw_thermal_slowdown", "HW Thermal Slowdown", "hw_thermal_slowdown"),
    "hardware power brake": _event("hw_power_brake_slowdown", "HW Power Brake Slowdown", "hw_power_brake_slowdown"),
    "display clocks": _event("display_clocks_setting", "Display Clock Setting", "display_clock_setting"),
}
"""By the words of `raxl.sources.nvidia_words.EVENTS`."""
ECC: Dict[str, Places] = {
    **{
        f"{kind}_{counter}_{memory}": _ecc(memory, kind, counter)
        for kind in ("uncorrected", "corrected")
        for counter in ("volatile", "aggregate")
        for memory in ("sram", "dram")
    },
    **{
        f"uncorrected_{counter}_sram_{half}": _ecc_half(counter, half)
        for counter in ("volatile", "aggregate")
        for half in ("parity", "secded")
    },
    **{
        f"{kind}_{counter}": _ecc_total(kind, counter)
        for kind in ("uncorrected", "corrected")
        for counter in ("volatile", "aggregate")
    },
}
BANKS: Dict[str, Places] = {name: _bank(name) for name in ("max", "high", "partial", "low", "none")}
FABRIC_HEALTH: Dict[str, Places] = {
    "bandwidth degraded": Places(("fabric/health/bandwidth",), ("Health/Bandwidth",), ("fabric.health.bandwidth",)),
    "route recovery in progress": Places(
        ("fabric/health/route_recovery_in_progress",),
        ("Health/Route Recovery in progress",),
        ("fabric.health.route_recovery_in_progress",),
    ),
    "route unhealthy": Places(
        ("fabric/health/route_unhealthy",), ("Health/Route Unhealthy",), ("fabric.health.route_unhealthy",)
    ),
    "access timeout recovery": Places(
        ("fabric/health/access_timeout_recovery",),
        ("Health/Access Timeout Recovery",),
        ("fabric.health.access_timeout_recovery",),
    ),
    "incorrect configuration": Places(
        ("fabric/health/incorrect_configuration",),
        ("Health/Incorrect Configuration",),
        ("fabric.health.incorrect_configuration",),
    ),
}
OTHERS: Dict[str, Places] = {
    "ecc_mode": Places(("ecc_mode/current_ecc",), ("ECC Mode/Current", "Ecc Mode/Current"), ("ecc.mode.current",)),
    "ecc_mode_pending": Places(
        ("ecc_mode/pending_ecc",), ("ECC Mode/Pending", "Ecc Mode/Pending"), ("ecc.mode.pending",)
    ),
    "mig_mode": Places(("mig_mode/current_mig",), ("MIG Mode/Current",), ("mig.mode.current",)),
    "mig_mode_pending": Places(("mig_mode/pending_mig",), ("MIG Mode/Pending",), ("mig.mode.pending",)),
    "sram_threshold": Places(
        ("ecc_errors/aggregate/sram_threshold_exceeded",),
        ("Aggregate/SRAM Threshold Exceeded",),
        ("ecc.errors.uncorrected.aggregate.sram.thresholdexceeded",),
    ),
    "remapped_corrected": Places(
        ("remapped_rows/remapped_row_corr",), ("Remapped Rows/Correctable Error",), ("remapped_rows.correctable",)
    ),
    "remapped_uncorrected": Places(
        ("remapped_rows/remapped_row_unc",), ("Remapped Rows/Uncorrectable Error",), ("remapped_rows.uncorrectable",)
    ),
    "remap_pending": Places(
        ("remapped_rows/remapped_row_pending",), ("Remapped Rows/Pending",), ("remapped_rows.pending",)
    ),
    "remap_failure": Places(
        ("remapped_rows/remapped_row_failure",),
        ("Remapped Rows/Remapping Failure Occurred",),
        ("remapped_rows.failure",),
    ),
    "remapped_rows": Places(("remapped_rows",), ("/Remapped Rows",)),
    "recovery_action": Places(("gpu_recovery_action",), ("/GPU Recovery Action",), ("gpu_recovery_action",)),
    "temperature": _temperature(("gpu_temp",), ("GPU Current Temp",), ("temperature.gpu",)),
    "memory_temperature": _temperature(("memory_temp",), ("Memory Current Temp",), ("temperature.memory",)),
    "temperature_limit": _temperature(("gpu_temp_tlimit",), ("GPU T.Limit Temp",), ("temperature.gpu.tlimit",)),
    "slowdown_limit": _temperature(("gpu_temp_slow_tlimit_threshold",), ("GPU Slowdown T.Limit Temp",)),
    "slowdown": _temperature(("gpu_temp_slow_threshold",), ("GPU Slowdown Temp",)),
    "power_draw": Places(
        (
            "gpu_power_readings/power_draw",
            "gpu_power_readings/average_power_draw",
            "gpu_power_readings/instant_power_draw",
            "power_readings/power_draw",
        ),
        (
            "GPU Power Readings/Power Draw",
            "GPU Power Readings/Average Power Draw",
            "GPU Power Readings/Instantaneous Power Draw",
            "Power Readings/Power Draw",
        ),
        ("power.draw", "power.draw.average", "power.draw.instant"),
    ),
    "power_limit": Places(
        (
            "gpu_power_readings/current_power_limit",
            "power_readings/enforced_power_limit",
            "power_readings/power_limit",
        ),
        (
            "GPU Power Readings/Current Power Limit",
            "Power Readings/Enforced Power Limit",
            "Power Readings/Power Limit",
        ),
        ("enforced.power.limit", "power.limit"),
    ),
    "power_default": Places(
        ("gpu_power_readings/default_power_limit", "power_readings/default_power_limit"),
        ("GPU Power Readings/Default Power Limit", "Power Readings/Default Power Limit"),
        ("power.default_limit",),
    ),
    "persistence_mode": Places(("persistence_mode",), ("/Persistence Mode",), ("persistence_mode",)),
    "compute_mode": Places(("compute_mode",), ("/Compute Mode",), ("compute_mode",)),
    "display_active": Places(("display_active",), ("/Display Active",), ("display_active",)),
    "performance_state": Places(("performance_state",), ("/Performance State",), ("pstate",)),
    "utilization": Places(("utilization/gpu_util",), ("Utilization/GPU", "Utilization/Gpu"), ("utilization.gpu",)),
    "memory_total": Places(("fb_memory_usage/total",), ("FB Memory Usage/Total",), ("memory.total",)),
    "memory_used": Places(("fb_memory_usage/used",), ("FB Memory Usage/Used",), ("memory.used",)),
    "memory_reserved": Places(("fb_memory_usage/reserved",), ("FB Memory Usage/Reserved",), ("memory.reserved",)),
    "clock_now": Places(("clocks/graphics_clock",), ("Clocks/Graphics",), ("clocks.current.graphics",)),
    "clock_most": Places(("max_clocks/graphics_clock",), ("Max Clocks/Graphics",), ("clocks.max.graphics",)),
    "clock_applications": Places(
        ("applications_clocks/graphics_clock",),
        ("Applications Clocks/Graphics",),
        ("clocks.applications.graphics",),
    ),
    "clock_applications_default": Places(
        ("default_applications_clocks/graphics_clock",),
        ("Default Applications Clocks/Graphics",),
        ("clocks.default_applications.graphics",),
    ),
    "inforom": Places((), (), ("inforom.checksum_validation",)),
    "vbios": Places(("vbios_version",), ("/VBIOS Version",), ("vbios_version",)),
    "virtualization": Places(
        ("gpu_virtualization_mode/virtualization_mode",), ("GPU Virtualization Mode/Virtualization Mode",)
    ),
    "fabric_state": Places(("fabric/state",), ("Fabric/State",), ("fabric.state",)),
    "fabric_status": Places(("fabric/status",), ("Fabric/Status",), ("fabric.status",)),
    "fabric_summary": Places(("fabric/health/summary",), ("Health/Summary",), ("fabric.health.summary",)),
    "fabric_cluster": Places(("fabric/clusterUuid",), ("Fabric/ClusterUUID",), ("fabric.clusteruuid",)),
    "fabric_clique": Places(("fabric/cliqueId",), ("Fabric/CliqueId",), ("fabric.cliqueid",)),
}
ALL: Dict[str, Places] = {
    **OTHERS,
    **{f"event {name}": one for name, one in EVENTS.items()},
    **{f"ecc {name}": one for name, one in ECC.items()},
    **{f"bank {name}": one for name, one in BANKS.items()},
    **{f"fabric {name}": one for name, one in FABRIC_HEALTH.items()},
}
"""Every word by its name, those of a group with the group's name before it."""
