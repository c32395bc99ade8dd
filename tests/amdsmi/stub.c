/* A library that answers AMD SMI's calls from a text beside it, so that the real amdsmi makes its real calls.
 *
 * The text `amdsmi.txt` in the library's own folder is as `stub.h` says; `6.all = !12` answers every call that names
 * device 6. Structures as amdsmi_wrapper.py of amdsmi 7.0.2 lays them out. What the binding names besides, and nobody
 * calls, is generated at build time (tests/stubs.py), and not supported.
 */
enum { NOT_SUPPORTED = 2 };
#include "../stub.h"

typedef struct device { int index; } *handle;
typedef unsigned long long u64;
typedef unsigned short u16;

enum { INVALID = 1, NO_SIZE = 41, MOST = 256, NAME = 256, NONE = -1 };

static struct device devices[MOST];
static int socket;

static int told(handle device, const char *name, char *value)
{
    int code = answer(device->index, "all", value);
    return code == NOT_SUPPORTED ? answer(device->index, name, value) : code;
}

static int wide(handle device, const char *name, u64 *out)
{
    char value[LONGEST];
    int code = told(device, name, value);
    if (code == OK)
        *out = strtoull(value, NULL, 0);
    return code;
}

static int words(handle device, const char *name, char *out, unsigned size)
{
    char value[LONGEST];
    int code = told(device, name, value);
    if (code == OK)
        snprintf(out, size, "%s", value);
    return code;
}

/* A value that may be missing: its call does not fail for it. */
static u64 part(handle device, const char *name, u64 missing)
{
    u64 value = missing;
    return wide(device, name, &value) == OK ? value : missing;
}

int amdsmi_init(u64 flags)
{
    char value[LONGEST];
    int code;
    (void)flags;
    load("amdsmi.txt");
    code = answer(NONE, "init", value);
    return code == NOT_SUPPORTED ? OK : code;
}
int amdsmi_shut_down(void) { return OK; }

int amdsmi_get_socket_handles(unsigned *count, void **out)
{
    *count = 1;
    if (out)
        *out = &socket;
    return OK;
}
int amdsmi_get_processor_handles(void *where, unsigned *count, handle *out)
{
    u64 devices_told = 0;
    int index, code = number(NONE, "count", &devices_told);
    (void)where;
    *count = (unsigned)devices_told;
    for (index = 0; out && index < (int)devices_told && index < MOST; index++) {
        devices[index].index = index;
        out[index] = &devices[index];
    }
    return code;
}

struct bdf { u64 function : 3, device : 5, bus : 8, domain : 48; };
static int address(handle d, struct bdf *out)
{
    char value[LONGEST];
    unsigned domain = 0, bus = 0, device = 0, function = 0;
    int code = told(d, "address", value);
    if (code == OK && sscanf(value, "%x:%x:%x.%x", &domain, &bus, &device, &function) == 4)
        out->domain = domain, out->bus = bus, out->device = device, out->function = function;
    return code;
}
int amdsmi_get_gpu_device_bdf(handle d, struct bdf *out) { return address(d, out); }
int amdsmi_get_gpu_device_uuid(handle d, unsigned *size, char *out) { return words(d, "uuid", out, *size); }

struct enumeration { unsigned render, card, hsa, hip; char uuid[NAME]; };
int amdsmi_get_gpu_enumeration_info(handle d, struct enumeration *out)
{
    u64 hip = 0;
    int code = wide(d, "hip", &hip);
    out->hip = (unsigned)hip, out->render = 128 + (unsigned)d->index, out->card = (unsigned)d->index;
    return code;
}

struct asic {
    char name[NAME]; unsigned vendor; char vendor_name[NAME]; unsigned subvendor; u64 device; unsigned revision;
    char serial[NAME]; unsigned oam, units; u64 target; unsigned subsystem;
};
int amdsmi_get_gpu_asic_info(handle d, struct asic *out)
{
    int code = words(d, "name", out->name, NAME);
    if (code != OK)
        return code;
    words(d, "unique_id", out->serial, NAME);
    out->vendor = 0x1002, out->subvendor = 0x1002;
    out->device = part(d, "device", 0), out->subsystem = (unsigned)part(d, "subsystem", ~0u);
    out->oam = (unsigned)part(d, "oam", ~0u), out->units = (unsigned)part(d, "units", ~0u);
    out->target = part(d, "target", ~0ull);
    return OK;
}

struct kfd { u64 id; unsigned node, partition; };
int amdsmi_get_gpu_kfd_info(handle d, struct kfd *out)
{
    u64 node = 0;
    int code = wide(d, "node", &node);
    out->node = (unsigned)node, out->partition = (unsigned)part(d, "partition", 0);
    return code;
}

struct vram { unsigned type; char vendor[NAME]; u64 mib; unsigned bits; u64 bandwidth; };
int amdsmi_get_gpu_vram_info(handle d, struct vram *out) { return wide(d, "memory_mib", &out->mib); }

struct board { char model[NAME], serial[NAME], fru[NAME], product[NAME], maker[NAME]; };
int amdsmi_get_gpu_board_info(handle d, struct board *out)
{
    int code = words(d, "serial", out->serial, NAME);
    if (code != OK)
        return code;
    words(d, "board", out->model, NAME);
    words(d, "product", out->product, NAME);
    words(d, "maker", out->maker, NAME);
    return OK;
}

struct vbios { char name[NAME], date[NAME], part_number[NAME], version[NAME]; };
int amdsmi_get_gpu_vbios_info(handle d, struct vbios *out) { return words(d, "vbios", out->part_number, NAME); }

struct driver { char version[NAME], date[NAME], name[NAME]; };
int amdsmi_get_gpu_driver_info(handle d, struct driver *out) { return words(d, "driver", out->version, NAME); }

/* `pcie = SPEED WIDTH MAX-SPEED MAX-WIDTH SLOT` in MT/s. */
struct pcie {
    struct { u16 width; unsigned speed, generation, slot, max_generation; u64 reserved[9]; } most;
    struct { u16 width; unsigned speed, bandwidth; u64 replays, recoveries, rollovers, sent, received; unsigned other; } now;
};
int amdsmi_get_pcie_info(handle d, struct pcie *out)
{
    char value[LONGEST];
    unsigned speed = 0, width = 0, max_speed = 0, max_width = 0, slot = 3;
    int code = told(d, "pcie", value);
    if (code != OK)
        return code;
    sscanf(value, "%u %u %u %u %u", &speed, &width, &max_speed, &max_width, &slot);
    out->now.speed = speed, out->now.width = (u16)width, out->most.slot = slot;
    out->most.speed = max_speed, out->most.width = (u16)max_width;
    out->now.replays = part(d, "replays", ~0ull);
    return OK;
}

int amdsmi_topo_get_numa_node_number(handle d, unsigned *out)
{
    u64 node = 0;
    int code = wide(d, "numa_node", &node);
    *out = (unsigned)node;
    return code;
}
int amdsmi_get_gpu_topo_numa_affinity(handle d, int *out)
{
    u64 node = 0;
    int code = wide(d, "numa_node", &node);
    *out = (int)node;
    return code;
}
int amdsmi_get_gpu_compute_partition(handle d, char *out, unsigned size) { return words(d, "compute", out, size); }
int amdsmi_get_gpu_memory_partition(handle d, char *out, unsigned size) { return words(d, "memory", out, size); }

struct xgmi { unsigned char lanes; u64 hive, node; unsigned index; };
int amdsmi_get_xgmi_info(handle d, struct xgmi *out)
{
    int code = wide(d, "hive", &out->hive);
    out->node = part(d, "xgmi_node", 0), out->lanes = 16;
    return code;
}

/* `link_states = UUUDX`. */
struct states { unsigned count, state[8]; };
int amdsmi_get_gpu_xgmi_link_status(handle d, struct states *out)
{
    char value[LONGEST];
    int code = told(d, "link_states", value);
    for (out->count = 0; code == OK && out->count < 8 && value[out->count]; out->count++)
        out->state[out->count] = value[out->count] == 'U' ? 1 : value[out->count] == 'X' ? 2 : 0;
    return code;
}

/* `links = 1 1 3`: the device at the other end of each link; `others` is one to every other device. `xgmi` is the number
 * of that kind of link. */
struct metrics_of_link { struct bdf end; unsigned rate, bandwidth, type; u64 read, write, reserved[2]; };
struct links { unsigned count; struct metrics_of_link link[64]; };
int amdsmi_get_link_metrics(handle d, struct links *out)
{
    char value[LONGEST], *rest = value;
    u64 every = 0, xgmi = 2;
    int other, code = told(d, "links", value);
    out->count = 0;
    if (code != OK)
        return code;
    number(NONE, "count", &every);
    number(NONE, "xgmi", &xgmi);
    for (other = 0; !strcmp(value, "others") && other < (int)every; other++)
        if (other != d->index)
            address(&devices[other], &out->link[out->count].end), out->link[out->count++].type = (unsigned)xgmi;
    while (strcmp(value, "others") && *rest && out->count < 64) {
        char *after;
        other = (int)strtol(rest, &after, 10);
        if (after == rest)
            break;
        if (other >= 0 && other < MOST)
            address(&devices[other], &out->link[out->count].end);
        out->link[out->count++].type = (unsigned)xgmi;
        rest = after;
    }
    return OK;
}

/* `ecc = CORRECTABLE UNCORRECTABLE DEFERRED`. */
struct errors { u64 correctable, uncorrectable, deferred; };
int amdsmi_get_gpu_total_ecc_count(handle d, struct errors *out)
{
    char value[LONGEST];
    int code = told(d, "ecc", value);
    if (code == OK)
        sscanf(value, "%llu %llu %llu", &out->correctable, &out->uncorrectable, &out->deferred);
    return code;
}

/* `bad_pages = RPRU`: reserved, pending, unreservable. */
struct page { u64 address, size; unsigned status; };
int amdsmi_get_gpu_bad_page_info(handle d, unsigned *count, struct page *out)
{
    char value[LONGEST];
    unsigned place;
    int code = told(d, "bad_pages", value);
    if (code != OK)
        return code;
    *count = strcmp(value, "none") ? (unsigned)strlen(value) : 0;
    for (place = 0; out && place < *count; place++)
        out[place].status = value[place] == 'P' ? 1 : value[place] == 'U' ? 2 : 0, out[place].size = 4096;
    return OK;
}

int amdsmi_get_gpu_virtualization_mode(handle d, unsigned *out)
{
    u64 mode = 0;
    int code = wide(d, "virtualization", &mode);
    *out = (unsigned)mode;
    return code;
}

/* `throttled = SAMPLES PROCHOT POWER SOCKET REGULATOR MEMORY`: for how many samples. */
struct metrics {
    u16 size; unsigned char format, content; u16 temperatures[6], activities[3], power; u64 energy, clock; u16 clocks[14];
    unsigned throttle; u16 fan, pcie_width, pcie_speed; unsigned activity[2]; u16 hbm[4]; u64 firmware; u16 volts[3];
    u64 throttles; u16 socket_power, vcn[4]; unsigned lock; u16 xgmi[2]; u64 pcie[5], read[8], write[8];
    u16 current[20], jpeg[32]; unsigned naks[2]; u64 samples, residency[5];
};
int amdsmi_get_gpu_metrics_info(handle d, struct metrics *out)
{
    char value[LONGEST];
    u64 *r = out->residency;
    int code = told(d, "throttled", value);
    if (code != OK)
        return code;
    memset(out, 0xff, sizeof *out);
    sscanf(value, "%llu %llu %llu %llu %llu %llu", &out->samples, r, r + 1, r + 2, r + 3, r + 4);
    return OK;
}

struct process {
    char name[NAME]; unsigned pid; u64 memory; struct { u64 gfx, enc; unsigned reserved[12]; } engines;
    struct { u64 gtt, cpu, vram; unsigned reserved[10]; } memories; char container[NAME]; unsigned occupancy, reserved[11];
};
int amdsmi_get_gpu_process_list(handle d, unsigned *count, struct process *out)
{
    u64 pid = 0;
    int code = wide(d, "process", &pid);
    *count = code == OK && pid ? 1 : 0;
    if (*count)
        out[0].pid = (unsigned)pid;
    return code;
}

/* Pairs: `link.0.1 = HOPS TYPE`, else `link`; `bandwidth.0.1 = LEAST MOST`, else `bandwidth`. */
static int of_pair(const char *name, handle a, handle b, u64 *first, u64 *second)
{
    char key[64], value[LONGEST];
    int code;
    snprintf(key, sizeof key, "%s.%d.%d", name, a->index, b->index);
    code = answer(NONE, key, value);
    if (code == NOT_SUPPORTED)
        code = answer(NONE, name, value);
    if (code == OK)
        sscanf(value, "%llu %llu", first, second);
    return code;
}
int amdsmi_topo_get_link_type(handle a, handle b, u64 *hops, unsigned *type)
{
    u64 kind = 0;
    int code = of_pair("link", a, b, hops, &kind);
    *type = (unsigned)kind;
    return code;
}
int amdsmi_get_minmax_bandwidth_between_processors(handle a, handle b, u64 *least, u64 *most)
{
    return of_pair("bandwidth", a, b, least, most);
}
