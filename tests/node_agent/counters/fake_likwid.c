/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What coschedd-likwid uses of liblikwid, told by files below $FAKE_LIKWID; the
 * test puts it in the place of the real one.
 *
 *   cpu      FAMILY MODEL INTEL ARCH BRAND...
 *   cpus     number of CPUs online, 4 without it
 *   values   lines of EVENT COUNTER CPU V0 V1 ...: increments of each read, the
 *            last for ever; CPU "*" for all; 0 for what is not there
 *   missing  counters that cannot be had
 *   FUNCTION what that function does instead of its work: a word of act()
 *   calls    written: each call, and its argument
 *
 * The files are read at each call, so that a test can change them.
 */

#include <likwid.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_GROUPS 16
#define MAX_EVENTS 256
#define MAX_CPUS 1024

struct group {
    int events;
    char event[MAX_EVENTS][64];
    char counter[MAX_EVENTS][24];
    char full[MAX_EVENTS][80]; /* counter with options */
    int reads;
};

static CpuInfo info;
static CpuTopology topology;
static HWThread threads[MAX_CPUS];
static int cpu_of[MAX_CPUS];
static int groups, active = -1;
static struct group group[MAX_GROUPS];

static FILE *file(const char *name, const char *mode)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", getenv("FAKE_LIKWID"), name);
    return fopen(path, mode);
}

static void note(const char *call, const char *argument)
{
    FILE *out = file("calls", "a");

    if (!out)
        return;
    fprintf(out, "%s %s\n", call, argument);
    fclose(out);
}

static void flood(void)
{
    for (int i = 0; i < 20000; i++)
        printf("\x1b[31m garbage \xff\xfe line %d of the library\n", i);
    fflush(stdout);
    fprintf(stderr, "WARN: something of no consequence\n");
}

/* As liblikwid's probe of rdpmc: a child that runs our exit handlers. */
static void fork_and_exit(void)
{
    pid_t pid = fork();

    if (pid == 0)
        exit(1);
    waitpid(pid, NULL, 0);
}

/* What FUNCTION is told to do; true with its return value in *RC when that is
 * not its work. */
static bool act(const char *function, const char *argument, int *rc)
{
    char word[64] = "";
    FILE *in = file(function, "r");

    note(function, argument);
    if (!in)
        return false;
    int got = fscanf(in, "%63s", word);
    fclose(in);
    if (got != 1)
        return false;
    if (!strcmp(word, "exit"))
        exit(1);
    if (!strcmp(word, "die"))
        kill(getpid(), SIGKILL);
    if (!strcmp(word, "hang"))
        for (;;)
            pause();
    if (!strcmp(word, "flood"))
        flood();
    if (!strcmp(word, "fork"))
        fork_and_exit();
    if (!strcmp(word, "close"))
        for (int fd = 0; fd < 3; fd++)
            close(fd);
    if (!strcmp(word, "in-use"))
        fprintf(stderr, "ERROR: The selected register PMC0 is in use.\n"
                        "Please run likwid with force option\n");
    *rc = atoi(word);
    return *rc != 0;
}

int topology_init(void)
{
    static char brand[128], arch[32];
    int cpus = 4, rc = 0;
    FILE *in;

    if (act("topology_init", "", &rc))
        return rc;
    if ((in = file("cpu", "r"))) {
        if (fscanf(in, "%u %u %d %31s %127[^\n]", &info.family, &info.model,
                   &info.isIntel, arch, brand) < 4)
            abort();
        fclose(in);
    }
    if ((in = file("cpus", "r"))) {
        if (fscanf(in, "%d", &cpus) != 1)
            abort();
        fclose(in);
    }
    info.short_name = arch;
    info.osname = brand;
    for (int i = 0; i < cpus; i++)
        threads[i] = (HWThread){.apicId = (uint32_t)i, .inCpuSet = 1};
    topology.numHWThreads = (uint32_t)cpus;
    topology.threadPool = threads;
    return 0;
}

CpuInfo_t get_cpuInfo(void)
{
    return &info;
}

CpuTopology_t get_cpuTopology(void)
{
    return &topology;
}

void HPMmode(int mode)
{
    note("HPMmode", mode == ACCESSMODE_DIRECT ? "direct" : "daemon");
}

int perfmon_init(int count, const int *cpus)
{
    const char *force = getenv("LIKWID_FORCE");
    int rc = 0;

    if (act("perfmon_init", force ? force : "", &rc))
        return rc;
    memcpy(cpu_of, cpus, (size_t)count * sizeof(*cpus));
    return 0;
}

int perfmon_addEventSet(const char *string)
{
    struct group *g = &group[groups];
    char *copy = strdup(string), *save = NULL, *save2;
    int rc = 0;

    if (!copy || act("perfmon_addEventSet", string, &rc)) {
        free(copy);
        return rc;
    }
    /* As LIKWID does with fixed counters that were not asked for; not at the
     * end, so that nobody takes the numbers for ours. */
    if (strstr(string, ":FIXC")) {
        strcpy(g->event[0], "CPU_CLK_UNHALTED_REF");
        strcpy(g->counter[0], "FIXC2");
        strcpy(g->full[0], "FIXC2");
        g->events++;
    }
    for (char *s = strtok_r(copy, ",", &save); s;
         s = strtok_r(NULL, ",", &save)) {
        snprintf(g->event[g->events], sizeof(g->event[0]), "%s",
                 strtok_r(s, ":", &save2));
        snprintf(g->full[g->events], sizeof(g->full[0]), "%s", save2);
        snprintf(g->counter[g->events], sizeof(g->counter[0]), "%s",
                 strtok_r(NULL, ":", &save2));
        g->events++;
    }
    free(copy);
    return groups++;
}

int perfmon_getNumberOfEvents(int id)
{
    return group[id].events;
}

char *perfmon_getCounterName(int id, int event)
{
    return group[id].full[event];
}

int perfmon_setupCounters(int id)
{
    int rc = 0;

    if (act("perfmon_setupCounters", "", &rc))
        return rc;
    active = id;
    return 0;
}

int perfmon_startCounters(void)
{
    int rc = 0;

    act("perfmon_startCounters", "", &rc);
    return rc;
}

int perfmon_readCounters(void)
{
    int rc = 0;

    if (act("perfmon_readCounters", "", &rc))
        return rc;
    group[active].reads++;
    return 0;
}

int perfmon_switchActiveGroup(int id)
{
    int rc = 0;

    if (act("perfmon_switchActiveGroup", "", &rc))
        return rc;
    group[active].reads++;
    active = id;
    return 0;
}

static bool is_missing(const char *counter)
{
    FILE *in = file("missing", "r");
    char word[64];
    bool found = false;

    while (in && !found && fscanf(in, "%63s", word) == 1)
        found = !strcmp(word, counter);
    if (in)
        fclose(in);
    return found;
}

/* The READth value of the rest of a line, or its last. */
static double nth(const char *rest, int read)
{
    double value = 0;
    char *end;

    for (int i = 0; i < read; i++) {
        double v = strtod(rest, &end);
        if (end == rest)
            break;
        value = v;
        rest = end;
    }
    return value;
}

double perfmon_getLastResult(int id, int event, int thread)
{
    struct group *g = &group[id];
    char line[4096], name[64], counter[24], cpu[16];
    double value = 0;
    FILE *in;
    int at;

    if (is_missing(g->counter[event]) || !(in = file("values", "r")))
        return 0;
    while (fgets(line, sizeof(line), in))
        if (sscanf(line, "%63s %23s %15s%n", name, counter, cpu, &at) == 3 &&
            !strcmp(name, g->event[event]) &&
            !strcmp(counter, g->counter[event]) &&
            (!strcmp(cpu, "*") || atoi(cpu) == cpu_of[thread]))
            value = nth(line + at, g->reads);
    fclose(in);
    return value;
}

double perfmon_getResult(int id, int event, int thread)
{
    (void)thread;
    return is_missing(group[id].counter[event]) ? NAN : 0;
}

void perfmon_finalize(void)
{
    int rc = 0;

    act("perfmon_finalize", "", &rc);
}
