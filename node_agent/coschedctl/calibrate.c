/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl calibrate: measure this node's service times, and what it draws. */

#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "node_agent/calibrate/calibrate.h"
#include "node_agent/calibrate/power.h"
#include "common/progress.h"
#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"

#define BUSY_CPUS 0.3 /* more of the node than this is somebody's work */
#define BUSY_LOOK_US 500000
#define MIB (UINT64_C(1) << 20)
#define POWER_S 1.0 /* for which each load is looked at */
#define POWER_QUICK_S 0.2

struct plan {
    const struct arguments *a;
    const char *counters;
    size_t mib; /* of each array */
    struct counters_setup setup;
    char model[32];
};

/* ---- is the node free? --------------------------------------------------- */

static void look_again(void *arg)
{
    (void)arg;
    usleep(BUSY_LOOK_US);
}

/* CTL_OK, or the reason why not is printed. */
static int check_jobs(const struct plan *plan)
{
    struct message_request request = {.op = MESSAGE_STATUS};
    json_t *reply = NULL;
    int rc = CTL_OK;

    /* No agent: no jobs of its. */
    if (ctl_call(plan->a->socket, NULL, CTL_TIMEOUT_MS, &request, &reply, NULL,
                 NULL) != 0)
        return CTL_OK;
    size_t jobs = json_array_size(json_object_get(reply, "jobs"));
    if (jobs)
        rc = fail(CTL_FAILED, "calibrate: %zu co-scheduled job%s on this node; "
                  "--force measures all the same", jobs, jobs == 1 ? "" : "s");
    json_decref(reply);
    return rc;
}

static int check_idle(const struct plan *plan)
{
    if (plan->a->force)
        return CTL_OK;
    int rc = check_jobs(plan);
    if (rc)
        return rc;
    double busy = calibrate_busy("/proc", look_again, NULL);
    if (busy < 0)
        return fail(CTL_FAILED, "calibrate: /proc/stat does not tell "
                    "whether the node is idle; --force measures all the "
                    "same");
    if (busy > BUSY_CPUS)
        return fail(CTL_FAILED, "calibrate: %.1f CPUs of this node are "
                    "busy; --force measures all the same", busy);
    return CTL_OK;
}

/* ---- progress ------------------------------------------------------------ */

static void show_progress(void *arg, size_t done, size_t total, const char *what)
{
    (void)arg;
    progress(what, done, total);
}

/* ---- the result ---------------------------------------------------------- */

/* Runs of all cores have none. */
static json_t *domain_json(const struct calibration *c, size_t domain)
{
    return domain < c->llc_domains ? json_integer((json_int_t)domain) : NULL;
}

/* [us, requests] of each, or NULL. */
static json_t *looks_json(const struct calibrate_run *r)
{
    json_t *looks = r->looks ? json_array() : NULL;

    for (size_t i = 0; i < r->looks; i++)
        json_array_append_new(looks, json_pack("[f, f]", r->look[i].us, r->look[i].requests));
    return looks;
}

static json_t *runs_json(const struct calibration *c)
{
    json_t *runs = json_array();

    for (size_t i = 0; i <= c->llc_domains; i++)
        for (size_t j = 0; j < c->numa_nodes; j++)
            for (enum kernel k = 0; k < KERNELS; k++)
                for (size_t s = 0; s < CALIBRATE_STRIDES; s++) {
                    const struct calibrate_run *r =
                        calibration_run(c, i, j, k, s);
                    if (!(r->us > 0))
                        continue;
                    json_array_append_new(
                        runs,
                        json_pack("{s:o*, s:I, s:s, s:I, s:f, s:f, s:f, s:f, s:o*}",
                                  "llc_domain", domain_json(c, i), "memory",
                                  (json_int_t)j, "kernel", kernel_names[k],
                                  "stride", (json_int_t)calibrate_strides[s],
                                  "us", r->us, "reads", r->reads, "writes",
                                  r->writes, "prefetches", r->prefetches,
                                  "looks", looks_json(r)));
                }
    return runs;
}

static json_t *calibration_json(const struct calibration *c,
                                const struct plan *plan, const char *notes)
{
    struct utsname name = {.release = ""};
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    json_t *peak = json_array();

    uname(&name);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    for (size_t j = 0; j < c->numa_nodes; j++)
        json_array_append_new(peak, json_real(calibration_peak_gb_s(c, j)));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:I, s:s*, s:o, s:o}",
                     "date", date, "host", name.nodename, "kernel",
                     name.release, "counters", plan->counters, "version",
                     PACKAGE_VERSION, "quick", (int)plan->a->quick, "forced",
                     (int)plan->a->force, "array_mib", (json_int_t)plan->mib,
                     "notes", *notes ? notes : NULL, "peak_gb_per_s", peak,
                     "runs", runs_json(c));
}

static const char *source_text(const struct calibration *c)
{
    return c->run[0].counted
               ? "coschedctl calibrate: times and counted requests"
               : "coschedctl calibrate: times alone, without counters; requests "
                 "are those that the kernels make, prefetches count as reads";
}

/* What the node draws into POWER, or a line more in NOTES, of SIZE bytes. */
static void measure_power(const struct plan *plan, struct machine_power *power, char *notes,
                          size_t size)
{
    struct power_cores cores = {&plan->setup, plan->mib * MIB,
                                plan->a->quick ? POWER_QUICK_S : POWER_S};
    const struct power_rig rig = {power_cores_run, &cores};
    struct errtext err = {""};
    size_t used = strlen(notes);

    if (calibrate_power(&plan->setup, &rig, power, &err) < 0)
        snprintf(notes + used, size - used, "no power: %s\n", err.text);
    else
        fprintf(stderr, "packages and memory draw %.1f W idle, %.1f W more for each LLC domain, "
                "%.1f W for each core at work (%.1f W stalled), %.1f nJ for each request\n",
                power->idle_w, power->domain_w, power->core_w, power->stalled_w,
                power->request_nj);
}

static int store(const struct topology *t, const struct calibration *c,
                 const struct plan *plan)
{
    struct machine_description *d = topology_description(t);
    struct errtext err = {""};
    char notes[8192] = "";
    int rc = CTL_FAILED;

    if (!d)
        return fail(CTL_FAILED, "out of memory");
    free(d->source);
    d->source = strdup(source_text(c));
    if (calibration_fit(c, d, notes, sizeof(notes), &err) < 0) {
        fail(CTL_FAILED, "%s", err.text);
    } else {
        measure_power(plan, &d->machine->power, notes, sizeof(notes));
        d->calibration = calibration_json(c, plan, notes);
        rc = ctl_write_json(machine_json_write(d), plan->a->output, 6);
        fprintf(stderr, "%s\n%s", d->source ? d->source : "", notes);
        for (size_t j = 0; j < c->numa_nodes; j++)
            fprintf(stderr, "NUMA node %zu: %.2f ns per read, %.1f GB/s read "
                            "by all cores\n", j,
                    d->machine->controller_service_us[j] * 1e3,
                    calibration_peak_gb_s(c, j));
    }
    machine_description_free(d);
    return rc;
}

/* ---- measuring ----------------------------------------------------------- */

/* Counters that tell memory requests, or NULL. */
static struct counters *open_counters(struct plan *plan, struct errtext *err)
{
    struct counters_ability ability[COUNTERS_METRICS];
    struct counters *c = counters_open(plan->counters, &plan->setup, NULL, 0, err);

    if (!c)
        return NULL;
    counters_describe(c, ability);
    if (ability[COUNTERS_TRAFFIC].can ||
        (ability[COUNTERS_MEMORY_READS].can &&
         ability[COUNTERS_MEMORY_WRITES].can)) {
        plan->counters = counters_name(c);
        return c;
    }
    counters_close(c);
    errtext_set(err, 0, "no backend counts memory requests");
    return NULL;
}

static void init_setup(const struct topology *t, struct plan *plan)
{
    struct counters_setup *setup = &plan->setup;

    counters_setup_init(setup, topology_machine(t), topology_cpus(t));
    setup->llc_domain = topology_llc_domains(t);
    setup->package = topology_packages(t, &setup->packages);
    setup->cpu_model = counters_cpu_model(setup->procfs, plan->model, sizeof(plan->model));
}

static size_t default_mib(bool quick)
{
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    size_t mib = cache > 0 ? (size_t)cache / MIB : 0;

    /* So large that what caches keep does not matter. */
    mib *= quick ? 2 : 4;
    if (mib < (quick ? 32 : 64))
        return quick ? 32 : 64;
    return mib < 1024 ? mib : 1024;
}

static int measure(struct plan *plan)
{
    struct errtext err = {""};
    struct topology *t = topology_new(NULL, &err);
    struct counters *counters = NULL;

    if (!t)
        return fail(CTL_FAILED, "%s", err.text);
    init_setup(t, plan);
    if (strcmp(plan->counters, "none") != 0) {
        bool asked = strcmp(plan->counters, "auto") != 0;
        counters = open_counters(plan, &err);
        if (!counters && asked) {
            topology_free(t);
            return fail(CTL_FAILED, "calibrate: --counters %s: %s",
                        plan->counters, err.text);
        }
    }
    if (!counters)
        plan->counters = "none";
    struct calibrate_options options = {
        .array_bytes = plan->mib * MIB,
        .repetitions = plan->a->quick ? 1 : 3,
        .passes = plan->a->quick ? 1 : 4,
        .counters = counters,
        .progress = show_progress,
    };
    struct calibration *c = calibrate(t, &options, &err);
    int rc = c ? store(t, c, plan) : fail(CTL_FAILED, "%s", err.text);
    calibration_free(c);
    counters_close(counters);
    topology_free(t);
    return rc;
}

int ctl_calibrate(const struct arguments *a)
{
    struct plan plan = {.a = a, .counters = a->counters,
                        .mib = a->mib ? a->mib : default_mib(a->quick)};
    int rc = check_idle(&plan);

    return rc ? rc : measure(&plan);
}
