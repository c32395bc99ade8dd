/* The calls by which checks go. What no line answers is not supported, as in the rest of the stub. */

/* `ecc.KIND.COUNTER` and `ecc.KIND.COUNTER.MEMORY`, in NVML's numbers; uncorrected since the driver's load: `ecc_errors`. */
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, unsigned type, unsigned counter, unsigned long long *out)
{
    char key[64];
    snprintf(key, sizeof key, "ecc.%u.%u", type, counter);
    return number(d->index, type == 1 && counter == 0 ? "ecc_errors" : key, out);
}
nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t d, unsigned type, unsigned counter, unsigned memory,
                                             unsigned long long *out)
{
    char key[64];
    snprintf(key, sizeof key, "ecc.%u.%u.%u", type, counter, memory);
    return number(d->index, key, out);
}
struct sram { unsigned version; unsigned long long counts[11]; unsigned exceeded; };
nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t d, struct sram *out)
{
    return small(d, "sram_exceeded", &out->exceeded);
}
nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t d, unsigned *out)
{
    char value[LONGEST];
    nvmlReturn_t code = answer(d->index, "banks", value);
    if (code == OK)
        sscanf(value, "%u %u %u %u %u", out, out + 1, out + 2, out + 3, out + 4);
    return code;
}
struct violation { unsigned long long reference, nanoseconds; };
nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t d, unsigned policy, struct violation *out)
{
    char key[64];
    snprintf(key, sizeof key, "violation.%u", policy);
    return number(d->index, key, &out->nanoseconds);
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, unsigned sensor, unsigned *out)
{
    (void)sensor;
    return small(d, "temperature", out);
}
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t d, unsigned threshold, unsigned *out)
{
    return threshold == 1 ? small(d, "slowdown", out) : NOT_SUPPORTED;
}
struct margin { unsigned version; int degrees; };
nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t d, struct margin *out)
{
    return small(d, "margin", (unsigned *)&out->degrees);
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *out) { return small(d, "power", out); }
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *out) { return small(d, "power_limit", out); }
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t d, unsigned *out)
{
    return small(d, "power_default", out);
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t d, unsigned *out) { return small(d, "persistence", out); }
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t d, unsigned *out) { return small(d, "compute_mode", out); }
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t d, unsigned *out) { return small(d, "display", out); }
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t d, unsigned *out) { return small(d, "pstate", out); }
struct utilization { unsigned gpu, memory; };
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, struct utilization *out)
{
    return small(d, "utilization", &out->gpu);
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, unsigned type, unsigned *out)
{
    (void)type;
    return small(d, "clock", out);
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, unsigned type, unsigned *out)
{
    (void)type;
    return small(d, "clock_most", out);
}
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t d, unsigned type, unsigned *out)
{
    (void)type;
    return small(d, "clock_asked", out);
}
nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t d, unsigned type, unsigned *out)
{
    (void)type;
    return small(d, "clock_default", out);
}
struct memory_v2 { unsigned version; unsigned long long total, reserved, free, used; };
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, struct memory_v2 *out)
{
    char value[LONGEST];
    unsigned long long mib = 0, used = 0, reserved = 0;
    nvmlReturn_t code = number(d->index, "memory_mib", &mib);
    if (code == OK && answer(d->index, "memory_used", value) == OK)
        sscanf(value, "%llu %llu", &used, &reserved);
    out->total = mib << 20, out->used = used << 20, out->reserved = reserved << 20;
    out->free = out->total - out->used - out->reserved;
    return code;
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t d, unsigned *count, struct process *out)
{
    return listed(d, "drawing", count, out);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *count, struct process *out)
{
    return listed(d, "sharing", count, out);
}
nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t d)
{
    unsigned sound = 0;
    return small(d, "inforom", &sound);
}
/* `nvlink_errors = REPLAY RECOVERY CRC` of all links, `link_field.N` of one of NVLink 5's counters. */
nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t d, unsigned link, unsigned counter, unsigned long long *out)
{
    char value[LONGEST];
    unsigned long long counts[3] = {0, 0, 0};
    nvmlReturn_t code = answer(d->index, "nvlink_errors", value);
    (void)link;
    if (code == OK)
        sscanf(value, "%llu %llu %llu", counts, counts + 1, counts + 2);
    *out = counter < 3 ? counts[counter] : 0;
    return code;
}
static nvmlReturn_t health_field(nvmlDevice_t d, unsigned field, unsigned long long *out)
{
    char key[64];
    snprintf(key, sizeof key, "field.%u", field);
    return number(d->index, field == 82 ? "memory_temperature" : key, out);
}
