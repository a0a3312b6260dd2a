/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: the agent as its libraries see it: its reply to an attach, and
 * an allotment page that changes while it is read.
 *
 * The input is how many descriptors come with the reply and of what kind, the
 * length of the reply and the reply, then a list of changes of the page: how
 * many steps of the reader come before it, where, and what. */

#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "coop.h"

static struct fuzz_bytes changes;
static unsigned until_next;
static unsigned char *agents; /* as the agent has it mapped */

/* The agent's turn, between two steps of the reader. */
static void agent_turn(void)
{
    uint8_t how[2];
    uint16_t place;
    uint32_t value;

    while (changes.size && !until_next) {
        fuzz_take(&changes, how, sizeof(how));
        fuzz_take(&changes, &place, sizeof(place));
        fuzz_take(&changes, &value, sizeof(value));
        until_next = how[0];
        size_t range = how[1] % 4 ? 384 : sizeof(struct cosched_allotment);
        memcpy(agents + (place % range & ~(size_t)3), &value, sizeof(value));
    }
    until_next -= until_next > 0;
}

static void *copy_in_steps(void *to, const void *from, size_t size)
{
    for (size_t at = 0; at < size; at += 64) {
        agent_turn();
        memcpy((char *)to + at, (const char *)from + at,
               size - at < 64 ? size - at : 64);
    }
    return to;
}

#undef coop_load
#undef coop_peek
#define coop_load(p) (agent_turn(), __atomic_load_n(p, __ATOMIC_ACQUIRE))
#define coop_peek(p) (agent_turn(), __atomic_load_n(p, __ATOMIC_RELAXED))
#define memcpy       copy_in_steps
#include "libgomp-coop/config/coop/allot.c"
#undef memcpy
#undef coop_load
#undef coop_peek
#define coop_load(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define coop_peek(p) __atomic_load_n(p, __ATOMIC_RELAXED)

#include "libgomp-coop/config/coop/attach.c"
#include "libgomp-coop/config/coop/base.c"
#include "libgomp-coop/config/coop/hint.c"
#include "libgomp-coop/config/coop/region.c"
#include "libgomp-coop/config/coop/threadstat.c"

static struct coop_ult task[3];

void coop_stray_note(void)
{
}

void coop_stack_lock(void)
{
}

void coop_stack_unlock(void)
{
}

void coop_stack_visit(void (*look)(struct coop_ult *u, void *arg), void *arg)
{
    for (size_t i = 0; i < sizeof(task) / sizeof(*task); i++) {
        task[i].stack_top = (char *)(uintptr_t)((i + 1) << 30);
        task[i].stack_size = (size_t)1 << 28;
        look(&task[i], arg);
    }
}

struct gomp_task_icv gomp_global_icv = {4};
struct coop_settings coop_settings = {.socket = "socket", .job = 7};
unsigned long coop_preempted;
enum cosched_mode coop_mode = COSCHED_MODE_ULT;

bool coop_near_is_possible(void)
{
    return false;
}

struct gomp_thread *gomp_thread(void)
{
    static struct gomp_thread thread = {{1}};

    return &thread;
}

const char *coop_settings_why(void)
{
    return "";
}

unsigned coop_worker_running(void)
{
    return 1;
}

/* A file for the reply: an allotment page, a report page, or what is neither;
 * each made once. */
static int make_file(unsigned kind)
{
    static int made[8];

    if (made[kind & 7])
        return made[kind & 7];
    size_t size = kind & 4   ? 100
                  : kind & 1 ? sizeof(struct cosched_report)
                             : sizeof(struct cosched_allotment);
    int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    if (!(kind & 2))
        REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    return made[kind & 7] = fd;
}

/* A page that is good so far. */
static void fill(unsigned char *at)
{
    struct cosched_allotment a = {.magic = COSCHED_ALLOTMENT_MAGIC,
                                  .version = COSCHED_LAYOUT_VERSION,
                                  .size = sizeof(a),
                                  .heartbeat_ns = 1000000000,
                                  .lease_ns = 1000000000,
                                  .llc_domains = 2,
                                  .cpus = {{3}},
                                  .granted = {{15}}};

    memcpy(at, &a, sizeof(a));
}

/* Send the reply; what the library sent before is lost on nobody. */
static void reply_with(int fd, struct fuzz_bytes *in, const int fds[3],
                       unsigned count)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * 3)];
        struct cmsghdr align;
    } control = {.bytes = ""};
    size_t length = (size_t)fuzz_take_byte(in) * 4;
    length = length < in->size ? length : in->size;
    struct iovec part = {(void *)in->data, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (count) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
    }
    REQUIRE(sendmsg(fd, &message, MSG_NOSIGNAL) >= 0);
    in->data += length;
    in->size -= length;
}

/* What may be believed of the page. */
static void check(const struct cosched_allotment *a)
{
    REQUIRE(a->generation % 2 == 0 && a->lease_ns > 0);
    REQUIRE(a->llc_domains > 0 && a->llc_domains <= COSCHED_MAX_CPUS);
    REQUIRE(cpuset_first(&a->granted) >= 0);
    for (int cpu = 0; cpu < COSCHED_MAX_CPUS; cpu++) {
        REQUIRE(!cpuset_has(&a->cpus, cpu) || cpuset_has(&a->granted, cpu));
        REQUIRE(!cpuset_has(&a->granted, cpu) ||
                a->llc_domain[cpu] < a->llc_domains);
    }
}

/* Homes that are made of what is in the page. */
static void take_homes(const struct cosched_allotment *a)
{
    static struct cosched_homes homes;
    struct coop_ult *const waiting[] = {&task[0], NULL, &task[1], &task[2]};

    homes.magic = COSCHED_HOMES_MAGIC;
    homes.version = COSCHED_LAYOUT_VERSION;
    homes.size = sizeof(homes);
    homes.count = a->llc_domain[0];
    memcpy(homes.home, &a->llc_domain[1], sizeof(a->llc_domain) - sizeof(a->llc_domain[0]));
    coop_hint_take(&homes, &a->generation, a->generation);
    for (unsigned region = 0; region < 2 * COSCHED_MAX_REGIONS; region++) {
        coop_hint_region(region);
        coop_hint_apply(waiting, 4);
    }
    for (size_t i = 0; i < sizeof(task) / sizeof(*task); i++)
        REQUIRE(task[i].node < COSCHED_MAX_CPUS);
}

static void obey(const struct cosched_allotment *map)
{
    static struct cosched_allotment seen;
    uint64_t now = 1100000000;

    for (int i = 0; i < 8 && (i == 0 || changes.size); i++, now += 100000000)
        if (coop_allot_read(map, &seen, now) == COOP_ALLOT_OK) {
            check(&seen);
            take_homes(&seen);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};
    unsigned kinds = fuzz_take_byte(&in), count = fuzz_take_byte(&in) % 4;
    const struct cosched_allotment *map = NULL;
    char reply[REPLY_MAX], text[160] = "";
    int pair[2], fds[3], got[DESCRIPTORS] = {-1, -1};

    if (!coop_report)
        coop_region_start();
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    for (unsigned i = 0; i < 3; i++)
        fds[i] = make_file((kinds >> 3 * (i % 2)) ^ (i == 1));
    agents = mmap(NULL, sizeof(struct cosched_allotment),
                  PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    REQUIRE(agents != MAP_FAILED);
    memset(agents, 0, sizeof(struct cosched_allotment));
    if (!(kinds & 4))
        fill(agents);
    reply_with(pair[1], &in, fds, count);
    int n = receive_reply(pair[0], reply, sizeof(reply), got);
    enum coop_attach_result result = COOP_ATTACH_ABSENT;
    if (n >= 0)
        result = take_reply(pair[0], reply, got, n, &map, text, sizeof(text));
    else
        close(pair[0]);
    REQUIRE(strlen(text) < sizeof(text) &&
            (result == COOP_ATTACH_OK) == (map != NULL));
    changes = in;
    until_next = 0;
    if (map) {
        obey(map);
        coop_allot_unmap(map);
        coop_attach_close();
    }
    munmap(agents, sizeof(struct cosched_allotment));
    close(pair[1]);
    return 0;
}
