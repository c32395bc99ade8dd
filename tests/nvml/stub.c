/* A library that answers NVML's calls from a text beside it, so that the real pynvml makes its real calls.
 *
 * The text `nvml.txt` in the library's own folder is as `stub.h` says: `3.nvlink.0 = 1 switch 00000000:05:00.0`.
 * Signatures after nvml.h of CUDA 12.8 and 13.
 */
enum { NOT_SUPPORTED = 3 };
#include "../stub.h"

typedef int nvmlReturn_t;
typedef struct device { int index; int mig; } *nvmlDevice_t;

enum { INVALID = 2, NOT_FOUND = 6, TOO_SMALL = 7, VERSION = 25, MOST = 256 };

static struct device devices[MOST];
static struct device migs[MOST];

static nvmlReturn_t small(nvmlDevice_t device, const char *name, unsigned *out)
{
    unsigned long long wide = 0;
    nvmlReturn_t code = number(device->index, name, &wide);
    if (code == OK)
        *out = (unsigned)wide;
    return code;
}

static nvmlReturn_t words(nvmlDevice_t device, const char *name, char *out, unsigned size)
{
    char value[LONGEST], key[64];
    nvmlReturn_t code;
    if (device && device->mig) {
        snprintf(key, sizeof key, "mig.%d.%s", device->mig - 1, name);
        name = key;
    }
    code = answer(device ? device->index : -1, name, value);
    if (code == OK)
        snprintf(out, size, "%s", value);
    return code;
}

static nvmlReturn_t two(nvmlDevice_t device, const char *name, unsigned *first, unsigned *second)
{
    char value[LONGEST];
    nvmlReturn_t code = answer(device->index, name, value);
    if (code == OK && sscanf(value, "%u %u", first, second) < 2)
        *second = *first;
    return code;
}

nvmlReturn_t nvmlInit_v2(void)
{
    char value[LONGEST];
    nvmlReturn_t code;
    load("nvml.txt");
    code = answer(-1, "init", value);
    return code == NOT_SUPPORTED ? OK : code;
}
nvmlReturn_t nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
nvmlReturn_t nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(nvmlReturn_t code)
{
    return code == 18 ? "Driver/library version mismatch" : "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned size) { return words(NULL, "driver", out, size); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    unsigned long long wide = 0;
    nvmlReturn_t code = number(-1, "cuda", &wide);
    *out = (int)wide;
    return code;
}
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *out)
{
    unsigned long long wide = 0;
    nvmlReturn_t code = number(-1, "count", &wide);
    *out = (unsigned)wide;
    return code;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out)
{
    char value[LONGEST];
    nvmlReturn_t code;
    if (index >= MOST)
        return INVALID;
    code = answer((int)index, "handle", value);
    if (code != OK && code != NOT_SUPPORTED)
        return code;
    devices[index].index = (int)index;
    *out = &devices[index];
    return OK;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *out, unsigned size) { return words(d, "name", out, size); }
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *out, unsigned size) { return words(d, "uuid", out, size); }
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t d, char *out, unsigned size) { return words(d, "serial", out, size); }
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t d, char *out, unsigned size) { return words(d, "vbios", out, size); }
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t d, unsigned *out) { return small(d, "minor", out); }
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t d, unsigned *out) { return small(d, "architecture", out); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned *out) { return small(d, "pcie.gen", out); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t d, unsigned *out) { return small(d, "pcie.width", out); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned *out) { return small(d, "pcie.maxgen", out); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t d, unsigned *out) { return small(d, "pcie.maxwidth", out); }
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t d, unsigned *out) { return small(d, "pcie.replays", out); }
nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t d, unsigned *out) { return small(d, "memory_numa_node", out); }
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t d, unsigned *a, unsigned *b) { return two(d, "ecc", a, b); }
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *a, unsigned *b) { return two(d, "mig", a, b); }
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t d, unsigned *out) { return small(d, "virtualization", out); }

struct memory { unsigned long long total, free, used; };
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, struct memory *out)
{
    unsigned long long mib = 0;
    nvmlReturn_t code = number(d->index, "memory_mib", &mib);
    out->total = mib << 20;
    out->free = out->total;
    out->used = 0;
    return code;
}

struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, struct pci *out)
{
    unsigned long long wide = 0;
    nvmlReturn_t code = words(d, "address", out->bus_id, sizeof out->bus_id);
    if (code != OK)
        return code;
    sscanf(out->bus_id, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    if (number(d->index, "pci_id", &wide) == OK)
        out->id = (unsigned)wide;
    if (number(d->index, "subsystem", &wide) == OK)
        out->subsystem = (unsigned)wide;
    return OK;
}

nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t d, unsigned size, unsigned long *out, unsigned scope)
{
    unsigned long long node = 0;
    nvmlReturn_t code = number(d->index, "numa_node", &node);
    (void)scope;
    if (code == OK && node / 64 < size)
        out[node / 64] = 1ul << node % 64;
    return code;
}

struct addressing { unsigned version, value; };
nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t d, struct addressing *out)
{
    return small(d, "addressing", &out->value);
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned *a, unsigned *b, unsigned *pending, unsigned *failure)
{
    char value[LONGEST];
    nvmlReturn_t code = answer(d->index, "remapped", value);
    if (code == OK)
        sscanf(value, "%u %u %u %u", a, b, pending, failure);
    return code;
}
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *out)
{
    return number(d->index, "events", out);
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *out)
{
    return number(d->index, "events", out);
}

struct process { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; };
static nvmlReturn_t listed(nvmlDevice_t d, const char *key, unsigned *count, struct process *out)
{
    unsigned long long pid = 0;
    nvmlReturn_t code = number(d->index, key, &pid);
    if (code != OK) {
        *count = 0;
        return code == NOT_SUPPORTED ? OK : code;
    }
    if (!out || !*count) {
        *count = 1;
        return TOO_SMALL;
    }
    memset(out, 0, sizeof *out);
    out->pid = (unsigned)pid;
    *count = 1;
    return OK;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *count, struct process *out)
{
    return listed(d, "process", count, out);
}
#include "health.h"

/* MIG: `0.mig.2.name`, `0.mig.2.uuid`, `0.mig.2.slices = GPU COMPUTE MIB`; numbers may have gaps. */
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned *out) { (void)d; *out = 7; return OK; }
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned place, nvmlDevice_t *out)
{
    char key[64], value[LONGEST];
    snprintf(key, sizeof key, "mig.%u.uuid", place);
    if (answer(d->index, key, value) != OK)
        return NOT_FOUND;
    migs[place].index = d->index;
    migs[place].mig = (int)place + 1;
    *out = &migs[place];
    return OK;
}
struct attributes { unsigned multiprocessors, others[5], gpu_slices, compute_slices; unsigned long long memory_mib; };
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t d, struct attributes *out)
{
    char key[64], value[LONGEST];
    nvmlReturn_t code;
    snprintf(key, sizeof key, "mig.%d.slices", d->mig - 1);
    code = answer(d->index, key, value);
    if (code == OK)
        sscanf(value, "%u %u %llu", &out->gpu_slices, &out->compute_slices, &out->memory_mib);
    return code;
}

/* The fabric: `fabric = STATE STATUS CLIQUE HEALTH CLUSTER-AS-32-HEX-DIGITS`. */
struct fabric { unsigned version; unsigned char cluster[16]; unsigned status, clique, state, mask; unsigned char health; };
static nvmlReturn_t fabric(nvmlDevice_t d, unsigned char *cluster, unsigned *status, unsigned *clique, unsigned *state,
                           unsigned char *health)
{
    char value[LONGEST], digits[64] = "";
    unsigned sound = 0;
    int place;
    nvmlReturn_t code = answer(d->index, "fabric", value);
    if (code != OK)
        return code;
    sscanf(value, "%u %u %u %u %63s", state, status, clique, &sound, digits);
    if (health)
        *health = (unsigned char)sound;
    for (place = 0; place < 16 && digits[2 * place]; place++) {
        unsigned byte = 0;
        sscanf(digits + 2 * place, "%2x", &byte);
        cluster[place] = (unsigned char)byte;
    }
    return OK;
}
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t d, struct fabric *out)
{
    unsigned long long newest = 3;
    number(-1, "fabric_version", &newest);
    if (out->version >> 24 > newest)
        return VERSION;
    return fabric(d, out->cluster, &out->status, &out->clique, &out->state, out->version >> 24 >= 3 ? &out->health : NULL);
}
struct fabric_v1 { unsigned char cluster[16]; unsigned status, clique, state; };
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t d, struct fabric_v1 *out)
{
    return fabric(d, out->cluster, &out->status, &out->clique, &out->state, NULL);
}

struct platform { unsigned version; char guid[16], chassis[16]; unsigned char slot, tray, host, peer, module; };
nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t d, struct platform *out)
{
    char value[LONGEST], chassis[64] = "";
    unsigned slot = 0, tray = 0, host = 0, module = 0;
    nvmlReturn_t code = answer(d->index, "platform", value);
    if (code != OK)
        return code;
    sscanf(value, "%63s %u %u %u %u", chassis, &slot, &tray, &host, &module);
    memcpy(out->chassis, chassis, strnlen(chassis, 16));
    out->slot = slot, out->tray = tray, out->host = host, out->module = module, out->peer = 1;
    return OK;
}

/* NVLinks: `nvlinks = COUNT`, and `nvlink.* = STATE TYPE REMOTE VERSION` or one line a link. */
static nvmlReturn_t link_of(nvmlDevice_t d, unsigned link, unsigned *state, unsigned *type, char *remote, unsigned *version)
{
    char key[64], value[LONGEST], where[64] = "";
    unsigned long long count = 0;
    nvmlReturn_t code = number(d->index, "nvlinks", &count);
    if (code != OK)
        return code;
    if (link >= count)
        return INVALID;
    snprintf(key, sizeof key, "nvlink.%u", link);
    code = answer(d->index, key, value);
    if (code == NOT_SUPPORTED)
        code = answer(d->index, "nvlink.*", value);
    if (code != OK)
        return code;
    *state = 0, *type = 255, *version = 0;
    sscanf(value, "%u %u %31s %u", state, type, where, version);
    snprintf(remote, 32, "%s", where);
    return OK;
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned link, unsigned *out)
{
    unsigned type, version;
    char remote[32];
    return link_of(d, link, out, &type, remote, &version);
}
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t d, unsigned link, unsigned *out)
{
    unsigned state, type;
    char remote[32];
    return link_of(d, link, &state, &type, remote, out);
}
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t d, unsigned link, unsigned *out)
{
    unsigned state, version;
    char remote[32];
    return link_of(d, link, &state, out, remote, &version);
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t d, unsigned link, struct pci *out)
{
    unsigned state, type, version;
    return link_of(d, link, &state, &type, out->bus_id, &version);
}

struct field { unsigned id, scope; long long timestamp, latency; unsigned type; nvmlReturn_t code; unsigned long long value; };
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int count, struct field *fields)
{
    int place;
    for (place = 0; place < count; place++) {
        struct field *field = fields + place;
        unsigned state = 0, type, version;
        char remote[32];
        field->type = 3;
        switch (field->id) {
        case 91:
            field->code = number(d->index, "nvlinks", &field->value);
            break;
        case 165:
            field->code = link_of(d, field->scope, &state, &type, remote, &version);
            field->value = state;
            break;
        case 170:
            field->code = number(d->index, "c2c_links", &field->value);
            break;
        case 230:
            field->code = number(d->index, "recovery_action", &field->value);
            break;
        default:
            field->code = health_field(d, field->id, &field->value);
        }
    }
    return OK;
}

/* Pairs: `ancestor.0.1`, else `ancestor`; `p2p`. */
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, unsigned *out)
{
    char key[64];
    unsigned long long level = 0;
    nvmlReturn_t code;
    snprintf(key, sizeof key, "ancestor.%d.%d", a->index, b->index);
    code = number(-1, key, &level);
    if (code == NOT_SUPPORTED)
        code = number(-1, "ancestor", &level);
    *out = (unsigned)level;
    return code;
}
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, unsigned what, unsigned *out)
{
    unsigned long long status = 0;
    nvmlReturn_t code = number(-1, "p2p", &status);
    (void)a, (void)b, (void)what;
    *out = (unsigned)status;
    return code;
}
