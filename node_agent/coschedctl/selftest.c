/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl selftest: the report of one run on real hardware. */

#include "config.h"

#include <gnu/libc-version.h>
#include <hwloc.h>
#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/progress.h"
#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/node.h"
#include "node_agent/recording/journal_machine.h"

#define REPORT_VERSION 1
#define LOAD_MS 500

/* What the last load did: probes run one after the other. */
static struct {
    size_t threads;
    double lines;
} last_load;

static void load(const struct counters_setup *setup)
{
    probe_load(setup, LOAD_MS, &last_load.threads, &last_load.lines);
}

/* First line of FILE that starts with PREFIX, what follows its SEPARATOR, without
 * quotes. */
static json_t *line_of(const char *file, const char *prefix, char separator)
{
    char line[1024];
    json_t *value = NULL;
    FILE *in = fopen(file, "re");

    while (in && !value && fgets(line, sizeof(line), in)) {
        const char *from = *prefix ? strchr(line, separator) : line;
        if (strncmp(line, prefix, strlen(prefix)) || !from)
            continue;
        from += *prefix ? 1 : 0;
        from += strspn(from, " \t\"");
        line[strcspn(line, "\n")] = '\0';
        value = json_stringn(from, strcspn(from, "\""));
    }
    if (in)
        fclose(in);
    return value ? value : json_null();
}

static bool has_word(const json_t *text, const char *word)
{
    return json_is_string(text) && strstr(json_string_value(text), word);
}

/* Of what the numbers may depend on; LIKWID tells none. */
static json_t *versions_json(void)
{
    char hwloc[16];
    unsigned version = hwloc_get_api_version();

    snprintf(hwloc, sizeof(hwloc), "%u.%u.%u", version >> 16,
             version >> 8 & 0xff, version & 0xff);
    return json_pack("{s:o, s:s, s:s, s:s}", "system",
                     line_of("/etc/os-release", "PRETTY_NAME", '='), "libc",
                     gnu_get_libc_version(), "hwloc", hwloc, "jansson",
                     JANSSON_VERSION);
}

static json_t *system_json(const struct ctl_node *node)
{
    struct utsname kernel = {.release = ""};
    json_t *flags = line_of("/proc/cpuinfo", "flags", ':');
    json_t *machine = journal_machine_write(node->setup.machine);

    uname(&kernel);
    json_object_set_new(machine, "packages",
                        json_integer((json_int_t)node->setup.packages));
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:o, s:b, s:o, s:o, s:b, s:b, s:o}", "kernel",
        kernel.release, "architecture", kernel.machine, "cpu_model",
        node->setup.cpu_model ? node->setup.cpu_model : "", "cpu_name",
        line_of("/proc/cpuinfo", "model name", ':'), "virtual",
        has_word(flags, " hypervisor"), "perf_event_paranoid",
        line_of("/proc/sys/kernel/perf_event_paranoid", "", 0), "nmi_watchdog",
        line_of("/proc/sys/kernel/nmi_watchdog", "", 0), "msr",
        access("/dev/cpu/0/msr", R_OK | W_OK) == 0, "root", geteuid() == 0,
        "machine", machine);
    json_decref(flags);
    json_object_set_new(object, "versions", versions_json());
    json_object_set_new(object, "microcode",
                        line_of("/proc/cpuinfo", "microcode", ':'));
    json_object_set_new(object, "smt",
                        line_of("/sys/devices/system/cpu/smt/active", "", 0));
    json_object_set_new(object, "cpus_online",
                        line_of("/sys/devices/system/cpu/online", "", 0));
    json_object_set_new(object, "resctrl",
                        json_boolean(access("/sys/fs/resctrl/info", F_OK) ==
                                     0));
    return object;
}

/* ---- judging ------------------------------------------------------------ */

/* Sum of element INDEX of all rows in VALUE, an array or object of arrays. */
static double sum_of(json_t *rows, size_t index)
{
    const char *key;
    json_t *row;
    size_t i;
    double sum = NAN;

    json_object_foreach(rows, key, row)
        if (json_is_number(json_array_get(row, index)))
            sum = sample_add(sum,
                             json_number_value(json_array_get(row, index)));
    json_array_foreach(rows, i, row)
        if (json_is_number(json_array_get(row, index)))
            sum = sample_add(sum,
                             json_number_value(json_array_get(row, index)));
    return sum;
}

static void note_ratio(json_t *checks, const char *what, double counted,
                       double expected)
{
    if (!isnan(counted) && expected > 0)
        json_object_set_new(checks, what, json_real(counted / expected));
}

/* Hold what BACKEND counted to what the load did: cycles by the time of its
 * threads, lines by what they read. */
static json_t *judge(const json_t *backend)
{
    json_t *sample = json_object_get(backend, "sample");
    json_t *checks = json_object();
    json_t *cpus = json_object_get(sample, "cpu");
    double seconds =
        (double)json_integer_value(json_object_get(sample, "ns")) * 1e-9;

    if (!json_is_object(sample))
        return checks;
    json_object_set_new(checks, "threads",
                        json_integer((json_int_t)last_load.threads));
    json_object_set_new(checks, "lines_read", json_real(last_load.lines));
    note_ratio(checks, "gigahertz", sum_of(cpus, 0),
               seconds * 1e9 * (double)last_load.threads);
    note_ratio(checks, "instructions_per_cycle", sum_of(cpus, 2),
               sum_of(cpus, 0));
    note_ratio(checks, "stalled_share", sum_of(cpus, 1), sum_of(cpus, 0));
    note_ratio(checks, "misses_per_line", sum_of(cpus, 4), last_load.lines);
    note_ratio(checks, "controller_reads_per_line",
               sum_of(json_object_get(sample, "memory"), 0), last_load.lines);
    return checks;
}

static json_t *backends_json(struct ctl_node *node)
{
    json_t *array = json_array();
    size_t all = 0;

    node->setup.load = load;
    while (counters_backends[all])
        all++;
    for (size_t i = 0; i < all; i++) {
        progress(counters_backends[i]->name, i, all);
        json_t *one = ctl_node_probe(node, counters_backends[i]);
        json_object_set_new(one, "checks", judge(one));
        json_array_append_new(array, one);
    }
    progress("", all, all);
    return array;
}

/* ---- the command -------------------------------------------------------- */

static void print_summary(const json_t *report)
{
    json_t *one, *value;
    const char *key;
    size_t i;

    json_array_foreach(json_object_get(report, "backends"), i, one) {
        const char *error = ctl_probe_error(one);
        bool opens = json_is_true(json_object_get(one, "opens"));
        fprintf(stderr, "%s: %s%s%s\n",
                json_string_value(json_object_get(one, "name")),
                !opens ? "does not open"
                : json_is_false(json_object_get(one, "moves"))
                    ? "opens, but nothing moves"
                    : "works",
                *error ? ": " : "", error);
        json_object_foreach(json_object_get(one, "checks"), key, value)
            fprintf(stderr, "  %-26s %.4g\n", key, json_number_value(value));
    }
}

int ctl_selftest(const struct arguments *a)
{
    struct ctl_node node;
    int rc = ctl_node_open(&node, a);

    if (rc)
        return rc;
    json_t *report = json_pack(
        "{s:i, s:s, s:I, s:o, s:O?, s:o}", "version", REPORT_VERSION, "program",
        "coschedctl " PACKAGE_VERSION, "time", (json_int_t)time(NULL), "system",
        system_json(&node), "agent", node.agent, "backends",
        backends_json(&node));
    rc = ctl_write_json(json_incref(report), a->output, 15);
    if (rc == CTL_OK)
        print_summary(report);
    json_decref(report);
    ctl_node_close(&node);
    return rc;
}
