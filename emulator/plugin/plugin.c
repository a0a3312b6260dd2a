/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The machine: what each block and each access to memory costs. */

/* Concept
 *
 * Loaded into QEMU twice: by LD_PRELOAD, so that its functions come before the library's, and by
 * -plugin, so that it sees the guest's code.  QEMU's threads run it; see turns.h.
 *
 * A block of N instructions adds N to its CPU's counter, inline, after having been stopped if the
 * budget is used up.  An access to memory calls us: if the private cache does not have it, it may
 * cost an access to the LLC, a miss the latency of its NUMA node and route and the waiting there
 * (stations.h), all added to the counter.
 *
 * Between two quanta the waits are found anew and the page of counters is written.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/plugin/cache.h"
#include "emulator/plugin/clock.h"
#include "emulator/plugin/page.h"
#include "emulator/plugin/qemu.h"
#include "emulator/plugin/stations.h"
#include "emulator/plugin/turns.h"

#define STOPPED                                                                                    \
    (UINT64_C(1) << 62) /* a counter below is not negative: generated code is unsigned */
#define FRACTION 256    /* stalls are kept in so many parts of a cycle */
#define FORGET_NS                                                                                  \
    UINT64_C(1000000) /* of private caches: the kernel's shortest time slice                       \
                       */

EXPORT int qemu_plugin_version; /* as this QEMU wants it */

struct score { /* of a CPU, in QEMU's scoreboard: what generated code adds to */
    int64_t counter;
    uint64_t pauses; /* cycles of PAUSE beyond its one as an instruction */
    uint64_t line[6];
};

struct cpu {
    struct score *score;
    struct private_cache private;
    uint64_t random;
    uint64_t fraction; /* of a cycle, not charged yet */
    unsigned domain;
    struct emulated_cpu count; /* its cycles, instructions and idle_ns only in the page */
    struct emulated_cpu before; /* the quantum */
} __attribute__((aligned(64)));

static struct settings settings;
static struct stations stations;
static struct llc llc;
static struct cpu cpus[EMULATED_CPUS];
static struct emulated_counters *page;
static struct qemu_plugin_scoreboard *scores;
static uint64_t miss_cost[EMULATED_CPUS][EMULATED_NODES]; /* [domain][node], cycles * FRACTION */
static uint64_t power_on_ns, forgotten, published_ns, quanta;
static const char *unusable; /* why, in a sentence */

static uint64_t charge(struct cpu *c, uint64_t cost)
{
    c->fraction += cost * settings.sample;
    uint64_t cycles = c->fraction / FRACTION;
    c->fraction %= FRACTION;
    c->score->counter += (int64_t)cycles;
    return cycles;
}

static void count_access(struct cpu *c, uint64_t physical, bool write)
{
    struct llc_result r = llc_access(&llc, c->domain, physical >> CACHE_LINE_BITS, write,
                                     &c->random);

    c->count.llc_accesses += settings.sample;
    if (r.miss) {
        unsigned node = settings_node_of(&settings, physical);
        c->count.reads[node] += settings.sample;
        c->count.stalled += charge(c, miss_cost[c->domain][node]);
    }
    if (r.write_back)
        c->count.writes[settings_node_of(&settings, r.victim << CACHE_LINE_BITS)] +=
            settings.sample;
}

/* DATA: not NULL for a store. */
static void on_access(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    struct cpu *c = &cpus[cpu];
    uint64_t line = address >> CACHE_LINE_BITS;
    bool write = data != NULL;

    if (!private_misses(&c->private, line, write) ||
        !cache_follows(line, (unsigned)settings.sample))
        return;
    struct qemu_plugin_hwaddr *at = qemu_plugin_get_hwaddr(info, address);
    if (at && !qemu_plugin_hwaddr_is_io(at))
        count_access(c, qemu_plugin_hwaddr_phys_addr(at), write);
}

static void on_block(unsigned cpu, void *data)
{
    (void)data;
    turns_block(cpu);
}

/* PAUSE is F3 90. */
static bool is_pause(const struct qemu_plugin_insn *insn)
{
    unsigned char code[2];

    return qemu_plugin_insn_data(insn, code, sizeof(code)) == 2 && code[0] == 0xf3 &&
           code[1] == 0x90;
}

static void on_translation(struct qemu_plugin_tb *tb, void *data)
{
    const qemu_plugin_u64 counter = {scores, offsetof(struct score, counter)};
    const qemu_plugin_u64 pauses = {scores, offsetof(struct score, pauses)};
    size_t count = qemu_plugin_tb_n_insns(tb);

    (void)data;
    qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_block, QEMU_NO_REGISTERS, QEMU_COND_LT,
                                              counter, STOPPED, NULL);
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_ADD_U64, counter, count);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_NO_REGISTERS, QEMU_MEM_R, NULL);
        qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_NO_REGISTERS, QEMU_MEM_W,
                                         &settings);
        if (!is_pause(insn))
            continue;
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_INLINE_ADD_U64, counter,
                                                            settings.pause_cycles - 1);
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_INLINE_ADD_U64, pauses,
                                                            settings.pause_cycles - 1);
    }
}

/* ---- between two quanta ---- */

static void set_costs(void)
{
    for (unsigned d = 0; d < settings.domains; d++)
        for (unsigned n = 0; n < settings.nodes; n++) {
            double ns = settings.node[n].latency_ns + stations.wait_ns[d][n];
            for (unsigned i = 0; i < settings.domain[d].route_length[n]; i++)
                ns += settings.link[settings.domain[d].route[n][i]].latency_ns;
            miss_cost[d][n] = (uint64_t)(ns * (double)settings.mhz / 1e3 * FRACTION + 0.5);
        }
}

/* What CPU did in the quantum that ended. */
static void take_use(unsigned cpu, struct station_use *use)
{
    struct cpu *c = &cpus[cpu];
    uint64_t cycles = turns_cycles(cpu);

    use->active_ns = (double)(cycles - c->before.cycles) * 1e3 / (double)settings.mhz;
    for (unsigned n = 0; n < settings.nodes; n++) {
        use->reads[n] = (double)(c->count.reads[n] - c->before.reads[n]);
        use->writes[n] = (double)(c->count.writes[n] - c->before.writes[n]);
    }
    c->before = c->count;
    c->before.cycles = cycles;
}

static void publish(uint64_t virtual_ns)
{
    page_begin(page, virtual_ns, clock_host_ns() - power_on_ns, quanta, &stations);
    for (unsigned i = 0; i < settings.cpus; i++) {
        const struct cpu *c = &cpus[i];
        struct emulated_cpu now = c->count;
        now.cycles = turns_cycles(i);
        now.instructions = now.cycles - now.stalled - c->score->pauses;
        now.idle_ns = clock_ns(turns_idle_cycles(i));
        page->cpu[i] = now;
    }
    page_end(page);
}

static void between(uint64_t cycles)
{
    static struct station_use use[EMULATED_CPUS];

    for (unsigned i = 0; i < settings.cpus; i++)
        take_use(i, &use[i]);
    stations_solve(&stations, use);
    set_costs();
    uint64_t now_ns = clock_ns(cycles), period = now_ns / FORGET_NS;
    for (unsigned i = 0; i < settings.cpus && period != forgotten; i++)
        cache_forget(&cpus[i].private);
    forgotten = period;
    quanta++;
    if (now_ns - published_ns >= EMULATED_PERIOD_NS) {
        publish(now_ns);
        published_ns = now_ns;
    }
}

/* ---- start ---- */

/* The scoreboard moves while CPUs are added, so nobody looks into it before all are there. */
static void on_cpu(unsigned cpu, void *data)
{
    (void)data;
    if (!turns_add(cpu))
        return;
    for (unsigned i = 0; i < settings.cpus; i++) {
        cpus[i].score = qemu_plugin_scoreboard_find(scores, i);
        turns_bind(i, &cpus[i].score->counter);
    }
}

static void on_idle(unsigned cpu, void *data)
{
    (void)cpu;
    (void)data;
    turns_halts();
}

/* The same for version 4. */
static void on_translation_4(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    on_translation(tb, NULL);
}

static void on_cpu_4(qemu_plugin_id_t id, unsigned cpu)
{
    (void)id;
    on_cpu(cpu, NULL);
}

static void on_idle_4(qemu_plugin_id_t id, unsigned cpu)
{
    (void)id;
    on_idle(cpu, NULL);
}

static void register_callbacks(qemu_plugin_id_t id)
{
    bool old = qemu_plugin_version == 4;

    qemu_plugin_register_vcpu_tb_trans_cb(
        id, old ? (qemu_any_f *)on_translation_4 : (qemu_any_f *)on_translation, NULL);
    qemu_plugin_register_vcpu_init_cb(id, old ? (qemu_any_f *)on_cpu_4 : (qemu_any_f *)on_cpu,
                                      NULL);
    qemu_plugin_register_vcpu_idle_cb(id, old ? (qemu_any_f *)on_idle_4 : (qemu_any_f *)on_idle,
                                      NULL);
}

static int make_machine(char *error, size_t size)
{
    uint64_t lines = settings.llc_kib * 1024 >> CACHE_LINE_BITS;
    uint64_t private_lines = settings.private_kib * 1024 >> CACHE_LINE_BITS;
    int made = llc_init(&llc, settings.domains, lines, (unsigned)settings.sample);

    stations_init(&stations, &settings);
    set_costs();
    for (unsigned i = 0; i < settings.cpus && made == 0; i++) {
        cpus[i].domain = settings.cpu_domain[i];
        cpus[i].random = (settings.seed * EMULATED_CPUS + i + 1) * UINT64_C(0x9E3779B97F4A7C15) | 1;
        made = private_init(&cpus[i].private, private_lines);
    }
    if (made < 0) {
        snprintf(error, size, "no memory for caches");
        return -1;
    }
    page = page_open(&settings, error, size);
    return page ? 0 : -1;
}

static int start(const struct qemu_info *info, int argc, char **argv, char *error, size_t size)
{
    const char name[] = "settings=";

    if (unusable) {
        snprintf(error, size, "%s", unusable);
        return -1;
    }
    if (argc != 1 || strncmp(argv[0], name, strlen(name)) != 0) {
        snprintf(error, size, "takes one option: settings=FILE");
        return -1;
    }
    if (settings_read(&settings, argv[0] + strlen(name), error, size) < 0)
        return -1;
    if (!info->system_emulation || info->system.smp_vcpus != (int)settings.cpus ||
        info->system.max_vcpus != (int)settings.cpus) {
        snprintf(error, size, "the settings have %u CPUs, QEMU %d", settings.cpus,
                 info->system_emulation ? info->system.max_vcpus : 0);
        return -1;
    }
    return make_machine(error, size);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
                               char **argv)
{
    char error[512];
    uint64_t parallel;

    if (start(info, argc, argv, error, sizeof(error)) < 0) {
        fprintf(stderr, "emulator: %s\n", error);
        return -1;
    }
    parallel = settings.parallel ? settings.parallel : (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    scores = qemu_plugin_scoreboard_new(sizeof(struct score));
    power_on_ns = clock_host_ns();
    register_callbacks(id);
    clock_start(settings.mhz);
    turns_start(settings.cpus, (unsigned)parallel, settings.quantum_ns * settings.mhz / 1000,
                between);
    return 0;
}

/* Before QEMU's main(), so that no function has been called yet that is replaced. */
__attribute__((constructor)) static void preload(void)
{
    qemu_plugin_version = qemu_interface();
    unusable = turns_find();
    if (!unusable)
        unusable = clock_find();
}
