/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many memory requests regions made in each interval of a recording. */

#include "node_agent/recording/request_counts.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "node_agent/recording/recording.h"
#include "node_agent/counters/sample_json.h"
#include "protocol/cpulist.h"

#define MOST_REGIONS 10000
#define MOST_NODES 4096 /* CPUs, too */
#define NAME_ROOM 1024

const char *const request_metric_names[REQUEST_METRICS] = {
    [REQUEST_MEMORY] = "memory",
    [REQUEST_JOB_TRAFFIC] = "job-traffic",
    [REQUEST_READ_MISSES] = "read-misses",
    [REQUEST_NUMBERS] = "numbers",
    [REQUEST_SERVED] = "served",
};

void request_counts_free(struct request_counts *c)
{
    if (!c)
        return;
    for (size_t s = 0; s < c->regions; s++) {
        free(c->region[s].name);
        free(c->region[s].ns);
        free(c->region[s].count);
    }
    free(c->region);
    free(c);
}

/* ---- collecting ---------------------------------------------------------- */

static struct request_region *find(struct request_counts *c,
                                    enum request_metric metric,
                                    const char *name, size_t nodes)
{
    for (size_t s = 0; s < c->regions; s++)
        if (c->region[s].metric == metric &&
            strcmp(c->region[s].name, name) == 0)
            return &c->region[s];
    if (c->regions == MOST_REGIONS)
        return NULL;
    /* The room doubles at powers of two. */
    if ((c->regions & (c->regions - 1)) == 0) {
        size_t room = c->regions ? 2 * c->regions : 1;
        void *more = realloc(c->region, room * sizeof(*c->region));
        if (!more)
            return NULL;
        c->region = more;
    }
    struct request_region *s = &c->region[c->regions];
    *s = (struct request_region){.metric = metric,
                                  .name = strdup(name),
                                  .nodes = nodes,
                                  .coverage = 1};
    c->regions += s->name != NULL;
    return s->name ? s : NULL;
}

/* Add an interval with COUNT [NODES]; nothing where one is not measured. */
static int add(struct request_counts *c, enum request_metric metric,
               const char *name, const double *count, size_t nodes,
               uint64_t ns, double coverage)
{
    for (size_t n = 0; n < nodes; n++)
        if (!isfinite(count[n]))
            return 0;
    struct request_region *s = find(c, metric, name, nodes);
    if (!s)
        return -1;
    if ((s->samples & (s->samples - 1)) == 0) {
        size_t room = s->samples ? 2 * s->samples : 1;
        void *more = realloc(s->ns, room * sizeof(*s->ns));
        if (!more)
            return -1;
        s->ns = more;
        if (!(more = realloc(s->count, room * nodes * sizeof(*s->count))))
            return -1;
        s->count = more;
    }
    s->ns[s->samples] = ns;
    memcpy(s->count + s->samples * nodes, count, nodes * sizeof(*count));
    s->coverage = fmin(s->coverage, coverage);
    s->samples++;
    return 0;
}

/* ---- intervals ----------------------------------------------------------- */

struct reader {
    struct recording *recording;
    struct sample *sample;
    struct request_counts *counts;
    double *node; /* [numa_nodes] */
};

/* "job 7 region 1f+20 on 4 cores" of ENTRY into NAME, or false: it was not in
 * one region all the time. */
static bool name_of(const json_t *entry, char *name, size_t size)
{
    const char *region = json_string_value(json_object_get(entry, "region"));
    json_int_t job = json_integer_value(json_object_get(entry, "job"));
    json_int_t cores = json_integer_value(json_object_get(entry, "cores"));

    if (!region)
        return false;
    snprintf(name, size, "job %lld region %.40s on %lld core%s",
             (long long)job, region, (long long)cores, cores == 1 ? "" : "s");
    return true;
}

/* Read misses of the CPUs in LIST; NAN when one of them is not measured. */
static double misses(const struct sample *s, const char *list)
{
    struct cosched_cpuset cpus;
    double sum = 0;

    if (!list || cpulist_parse(list, &cpus, NULL) < 0)
        return NAN;
    for (size_t c = 0; c < COSCHED_MAX_CPUS; c++)
        if (cpuset_has(&cpus, (int)c))
            sum += c < s->cpus ? s->cpu[c].read_misses : NAN;
    return sum;
}

static double job_traffic(const struct sample *s, json_int_t job)
{
    double sum = 0;

    for (size_t g = 0; g < s->groups; g++)
        if ((json_int_t)s->group_job[g] == job) {
            for (size_t n = 0; n < s->llc_domains; n++)
                sum += s->group[g * s->llc_domains + n].total;
            return sum;
        }
    return NAN;
}

static int add_job(struct reader *r, const json_t *entry, const char *name)
{
    const struct sample *s = r->sample;
    json_int_t job = json_integer_value(json_object_get(entry, "job"));
    double traffic = job_traffic(s, job);
    double missed =
        misses(s, json_string_value(json_object_get(entry, "cpus")));

    return add(r->counts, REQUEST_JOB_TRAFFIC, name, &traffic, 1, s->time_ns,
               s->coverage) < 0 ||
                   add(r->counts, REQUEST_READ_MISSES, name, &missed, 1,
                       s->time_ns, s->coverage) < 0
               ? -1
               : 0;
}

static int add_memory(struct reader *r, const char *name)
{
    const struct sample *s = r->sample;

    for (size_t m = 0; m < s->numa_nodes; m++) {
        const struct sample_memory *memory = &s->memory[m];
        /* Prefetches are in the reads where they are not told apart. */
        r->node[m] = memory->reads + memory->writes +
                     (isfinite(memory->prefetches) ? memory->prefetches : 0);
    }
    return add(r->counts, REQUEST_MEMORY, name, r->node, s->numa_nodes,
               s->time_ns, s->coverage);
}

static int on_sample(struct reader *r, const json_t *line, struct errtext *err)
{
    const json_t *jobs = json_object_get(line, "jobs");
    char name[64 + 40], all[NAME_ROOM] = "";
    size_t used = 0;
    bool one = true; /* each job was in one region */
    struct errtext why;
    int rc = 0;

    if (sample_json_read(line, r->sample, &why) < 0)
        return recording_refuse(r->recording, err, "%.100s", why.text);
    for (size_t i = 0; rc == 0 && i < json_array_size(jobs); i++) {
        const json_t *entry = json_array_get(jobs, i);
        if (json_integer_value(json_object_get(entry, "cores")) < 1)
            continue;
        if (!name_of(entry, name, sizeof(name))) {
            one = false;
            continue;
        }
        rc = add_job(r, entry, name);
        int n = snprintf(all + used, sizeof(all) - used, "%s%s",
                         used ? ", " : "", name);
        one = one && (size_t)n < sizeof(all) - used;
        used += one ? (size_t)n : 0;
    }
    one = one && used > 0;
    r->counts->intervals++;
    r->counts->mixed += !one;
    if (rc == 0 && one)
        rc = add_memory(r, all);
    return rc < 0 ? errtext_set(err, ENOMEM, "too many regions, or out of "
                                             "memory")
                  : 0;
}

/* ---- files --------------------------------------------------------------- */

static int make_sample(struct reader *r, struct errtext *err)
{
    static const char *const keys[] = {"cpus", "llc_domains", "numa_nodes",
                                       "packages"};
    const json_t *machine =
        json_object_get(recording_begin(r->recording), "machine");
    size_t size[4];

    for (size_t i = 0; i < 4; i++) {
        json_int_t n = json_integer_value(json_object_get(machine, keys[i]));
        if (n < (i < 3) || n > MOST_NODES)
            return recording_refuse(r->recording, err,
                                    "machine: %s: not a number of them",
                                    keys[i]);
        size[i] = (size_t)n;
    }
    r->sample = sample_new(size[0], size[1], size[2], size[3]);
    r->node = calloc(size[2], sizeof(*r->node));
    return r->sample && r->node ? 0
                                : errtext_set(err, ENOMEM, "out of memory");
}

static int read_recording(struct request_counts *counts, const char *path,
                          struct errtext *err)
{
    struct reader r = {.counts = counts,
                       .recording = recording_open(path, err)};
    const char *type;
    json_t *line;
    int rc = r.recording ? make_sample(&r, err) : -1;

    while (rc == 0 &&
           (rc = recording_next(r.recording, &line, &type, err)) > 0) {
        rc = strcmp(type, "sample") == 0 ? on_sample(&r, line, err) : 0;
        json_decref(line);
        if (rc < 0)
            break;
    }
    int saved = errno;
    sample_free(r.sample);
    free(r.node);
    recording_close(r.recording);
    errno = saved;
    return rc;
}

static int read_numbers(struct request_counts *counts, const char *path,
                        FILE *file, struct errtext *err)
{
    char *text = NULL;
    size_t room = 0, number = 0;
    int rc = 0;

    while (rc == 0 && getline(&text, &room, file) > 0) {
        char *end, *begin = text + strspn(text, " \t");
        number++;
        if (*begin == '#' || *begin == '\n' || !*begin)
            continue;
        double count = strtod(begin, &end);
        end += strspn(end, " \t\r\n");
        if (end == begin || (*end && *end != '#') || !(count >= 0) ||
            count > 0x1p53 || count != floor(count))
            rc = errtext_set(err, EINVAL,
                             "%.120s:%zu: not a whole number from 0 on", path,
                             number);
        else if (add(counts, REQUEST_NUMBERS, path, &count, 1, 0, 1) < 0)
            rc = errtext_set(err, ENOMEM, "%.120s: out of memory", path);
    }
    free(text);
    return rc;
}

/* The looks of run number I of a calibration. */
static int read_run(struct request_counts *counts, const char *path, json_t *run, size_t i,
                    struct errtext *err)
{
    const char *kernel;
    json_int_t domain, memory, stride;
    json_t *looks = NULL, *look;
    char name[NAME_ROOM];
    size_t l;

    if (!json_object_get(run, "looks"))
        return 0;
    if (json_unpack(run, "{s:I, s:I, s:s, s:I, s:o}", "llc_domain", &domain, "memory", &memory,
                    "kernel", &kernel, "stride", &stride, "looks", &looks) < 0 ||
        !json_is_array(looks))
        return errtext_set(err, EINVAL, "%.120s: calibration: runs[%zu]: no run with looks", path,
                           i);
    snprintf(name, sizeof(name), "LLC domain %lld, NUMA node %lld: %.40s, stride %lld",
             (long long)domain, (long long)memory, kernel, (long long)stride);
    json_array_foreach(looks, l, look) {
        double us, requests;
        if (json_unpack(look, "[F, F!]", &us, &requests) < 0 || !(us > 0) || !(requests >= 0))
            return errtext_set(err, EINVAL, "%.120s: calibration: runs[%zu]: looks[%zu]: not us "
                               "and requests", path, i, l);
        if (add(counts, REQUEST_SERVED, name, &requests, 1, (uint64_t)(us * 1e3), 1) < 0)
            return errtext_set(err, ENOMEM, "%.120s: out of memory", path);
        counts->intervals++;
    }
    return 0;
}

/* CALIBRATION of a machine's description. */
static int read_calibration(struct request_counts *counts, const char *path,
                            const json_t *calibration, struct errtext *err)
{
    json_t *run;
    size_t i;
    int rc = 0;

    json_array_foreach(json_object_get(calibration, "runs"), i, run)
        if (rc == 0)
            rc = read_run(counts, path, run, i, err);
    if (rc == 0 && !counts->regions)
        rc = errtext_set(err, EINVAL, "%.120s: its calibration has no looks: requests were not "
                         "counted, or by an older version", path);
    return rc;
}

/* A recording is a directory, or a file that begins with an object; a machine's description is one
 * object with a calibration. */
static int read_any(struct request_counts *counts, const char *path,
                    struct errtext *err)
{
    struct stat st;
    int first = EOF, rc;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return read_recording(counts, path, err);
    FILE *file = fopen(path, "re");
    if (!file)
        return errtext_set(err, errno, "%.150s: %s", path, strerror(errno));
    while ((first = getc(file)) != EOF && isspace(first))
        ;
    rewind(file);
    json_t *object = first == '{' ? json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    const json_t *calibration = json_object_get(object, "calibration");
    if (calibration)
        rc = read_calibration(counts, path, calibration, err);
    else
        rc = first == '{' ? read_recording(counts, path, err)
                          : read_numbers(counts, path, file, err);
    json_decref(object);
    fclose(file);
    return rc;
}

struct request_counts *request_counts_read(const char *path,
                                           struct errtext *err)
{
    struct request_counts *counts = calloc(1, sizeof(*counts));

    if (!counts) {
        errtext_set(err, ENOMEM, "%.120s: out of memory", path);
        return NULL;
    }
    if (read_any(counts, path, err) == 0)
        return counts;
    int saved = errno;
    request_counts_free(counts);
    errno = saved;
    return NULL;
}

/* ---- even intervals ------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The median length in *MIDDLE, or false when out of memory. */
static bool median(const struct request_region *s, uint64_t *middle)
{
    uint64_t *sorted = malloc((s->samples + 1) * sizeof(*sorted));

    if (!sorted)
        return false;
    memcpy(sorted, s->ns, s->samples * sizeof(*sorted));
    qsort(sorted, s->samples, sizeof(*sorted), compare);
    *middle = s->samples ? sorted[s->samples / 2] : 0;
    free(sorted);
    return true;
}

size_t request_region_counts(const struct request_region *s, size_t node,
                              uint64_t per_ns, double *counts, uint64_t *ns)
{
    uint64_t middle;
    size_t n = 0;

    if (!median(s, &middle))
        return 0;
    *ns = !middle ? 0 : per_ns ? per_ns : middle;
    for (size_t i = 0; i < s->samples; i++) {
        double count = s->count[i * s->nodes + node];
        if (middle && (s->ns[i] < middle - middle / 5 ||
                       s->ns[i] > middle + middle / 5))
            continue;
        counts[n++] = round(middle ? count * (double)*ns / (double)s->ns[i]
                                   : count);
    }
    return n;
}
