/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl ks: are the recorded requests Poisson distributed? */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/analysis/kstest.h"
#include "node_agent/recording/request_counts.h"
#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"

#define BINS 10       /* categories, as in thesis A.1.2 */
#define MOST_SHOWN 60 /* of a histogram, */
#define SHOWN 20      /* and where the test has none */
#define SAMPLES 20    /* fewer say nothing */
#define MOST_BINS 10000

struct test_plan {
    const char *path, *metric;
    bool json;
    double alpha, per_us;
    size_t bins, least;
};

/* One region on one NUMA node, or on all together. */
struct verdict {
    const struct request_region *region;
    size_t node, samples;
    uint64_t ns; /* that each count is of, 0: unknown */
    double mean, dispersion;
    double *counts; /* [samples] */
    bool counted;   /* more than 0; else TEST is of no meaning */
    struct kstest test;
};

void ctl_ks_help(FILE *out)
{
    fputs("  ks [OPTIONS] DIR|FILE            are the requests of a recording "
          "Poisson\n"
          "                                   distributed? (or of numbers, one "
          "a line)\n"
          "    --json                         the results as JSON, for "
          "coschedplot, too\n"
          "    --metric NAME                  memory, job-traffic or "
          "read-misses\n"
          "    --bins N                       categories; 0: each number "
          "(default: 10)\n"
          "    --per US                       scale counts to intervals of "
          "that length\n"
          "    --alpha P                      level of significance (default: "
          "0.05)\n"
          "    --least N                      intervals that a region must "
          "have (default: 20)\n", out);
}

/* ---- the tests ----------------------------------------------------------- */

static int judge(const struct test_plan *plan, struct verdict *v)
{
    double sum = 0, squares = 0;

    v->counts = calloc(v->region->samples + 1, sizeof(*v->counts));
    if (!v->counts)
        return fail(CTL_FAILED, "ks: out of memory");
    v->samples = request_region_counts(v->region, v->node,
                                        (uint64_t)(plan->per_us * 1e3),
                                        v->counts, &v->ns);
    if (v->samples < plan->least)
        return CTL_OK;
    for (size_t i = 0; i < v->samples; i++)
        sum += v->counts[i];
    v->mean = sum / (double)v->samples;
    for (size_t i = 0; i < v->samples; i++)
        squares += pow(v->counts[i] - v->mean, 2);
    v->counted = v->mean > 0;
    if (!v->counted)
        return CTL_OK;
    v->dispersion = squares / (double)(v->samples - 1) / v->mean;
    if (kstest_poisson(v->counts, v->samples, plan->bins, plan->alpha,
                       &v->test) != MODEL_OK)
        return fail(CTL_FAILED, "ks: out of memory");
    return CTL_OK;
}

/* The metric asked for, else the first that is there; -1: none. */
static int choose(const struct test_plan *plan, const struct request_counts *c)
{
    for (int m = 0; m < REQUEST_METRICS; m++)
        for (size_t s = 0; s < c->regions; s++)
            if ((int)c->region[s].metric == m &&
                (!plan->metric ||
                 !strcmp(plan->metric, request_metric_names[m])))
                return m;
    return -1;
}

/* The thesis judges a region by its mean over the NUMA nodes; *MEAN, *GEO.
 * False where nothing was counted. */
static bool over_nodes(const struct verdict *v, double *mean, double *geo,
                       double *critical)
{
    double sum = 0, logs = 0, limits = 0, count = 0;

    for (size_t n = 0; n < v->region->nodes; n++) {
        if (!v[n].counted)
            continue;
        sum += v[n].test.d;
        logs += log(v[n].test.d);
        limits += v[n].test.critical;
        count++;
    }
    *mean = sum / count;
    *geo = exp(logs / count);
    *critical = limits / count;
    return count > 0;
}

/* ---- showing ------------------------------------------------------------- */

/* Parts of the counts in each category, and of the distribution. */
static json_t *histogram_json(const struct test_plan *plan,
                              const struct verdict *v)
{
    size_t bins = !plan->bins               ? SHOWN
                  : plan->bins < MOST_SHOWN ? plan->bins
                                            : MOST_SHOWN;
    double least = INFINITY, greatest = 0, before = 0, below = -INFINITY;
    json_t *measured = json_array(), *expected = json_array();

    for (size_t i = 0; i < v->samples; i++) {
        least = fmin(least, v->counts[i]);
        greatest = fmax(greatest, v->counts[i]);
    }
    for (size_t k = 0; k < bins; k++) {
        double end = kstest_bin_end(least, greatest, bins, k), count = 0;
        double cdf = kstest_poisson_cdf(end, v->mean);
        for (size_t i = 0; i < v->samples; i++)
            count += v->counts[i] <= end && v->counts[i] > below;
        json_array_append_new(measured,
                              json_real(count / (double)v->samples));
        /* As the test: what is below the first category is in it. */
        json_array_append_new(expected, json_real(cdf - before));
        before = cdf;
        below = end;
    }
    return json_pack("{s:f, s:f, s:o, s:o}", "low", least, "width",
                     (greatest - least) / (double)bins, "measured", measured,
                     "expected", expected);
}

static json_t *node_json(const struct test_plan *plan, const struct verdict *v)
{
    json_t *node = json_pack("{s:I, s:f}", "samples", (json_int_t)v->samples,
                             "mean", v->mean);

    if (v->region->metric == REQUEST_MEMORY)
        json_object_set_new(node, "memory", json_integer((json_int_t)v->node));
    if (v->counted) {
        json_t *more = json_pack("{s:f, s:f, s:f, s:f, s:b, s:o}", "dispersion",
                                 v->dispersion, "d", v->test.d, "critical",
                                 v->test.critical, "p", v->test.p, "poisson",
                                 (int)v->test.passed, "histogram",
                                 histogram_json(plan, v));
        json_object_update(node, more);
        json_decref(more);
    }
    return node;
}

static json_t *region_json(const struct test_plan *plan,
                            const struct verdict *v)
{
    double mean, geo, critical;
    json_t *nodes = json_array();
    json_t *region = json_pack("{s:s, s:f, s:o}", "region", v->region->name,
                                "coverage", v->region->coverage, "nodes",
                                nodes);

    if (v->ns)
        json_object_set_new(region, "interval_us",
                            json_real((double)v->ns * 1e-3));
    for (size_t n = 0; n < v->region->nodes; n++)
        json_array_append_new(nodes, node_json(plan, &v[n]));
    if (over_nodes(v, &mean, &geo, &critical)) {
        json_object_set_new(region, "d_mean", json_real(mean));
        json_object_set_new(region, "d_geomean", json_real(geo));
        json_object_set_new(region, "poisson", json_boolean(mean <= critical));
    }
    return region;
}

static int show_json(const struct test_plan *plan, const char *metric,
                     const struct request_counts *counts,
                     const struct verdict *v, size_t count)
{
    json_t *regions = json_array();

    for (size_t i = 0; i < count; i += v[i].region->nodes)
        json_array_append_new(regions, region_json(plan, &v[i]));
    return ctl_print_json(json_pack(
        "{s:s, s:s, s:f, s:I, s:I, s:I, s:o}", "chart", "ks", "metric", metric,
        "alpha", plan->alpha, "bins", (json_int_t)plan->bins, "intervals",
        (json_int_t)counts->intervals, "mixed", (json_int_t)counts->mixed,
        "regions", regions));
}

static void print_region(const struct verdict *v, size_t *passed)
{
    double mean, geo, critical;
    char node[24] = "all";

    printf("%s", v->region->name);
    if (v->ns)
        printf(", per %g us", (double)v->ns * 1e-3);
    if (v->region->coverage < 1)
        printf(", partly extrapolated: counted for %.0f %% of the time",
               v->region->coverage * 100);
    putchar('\n');
    for (size_t n = 0; n < v->region->nodes; n++) {
        const struct verdict *one = &v[n];
        if (one->region->metric == REQUEST_MEMORY)
            snprintf(node, sizeof(node), "%zu", n);
        printf("%8s  %7zu  %11.6g", node, one->samples, one->mean);
        if (one->counted)
            printf("  %8.4g  %6.4f  %8.4f  %7.3g  %s", one->dispersion,
                   one->test.d, one->test.critical, one->test.p,
                   one->test.passed ? "yes" : "no");
        putchar('\n');
    }
    if (!over_nodes(v, &mean, &geo, &critical))
        return;
    *passed += mean <= critical;
    if (v->region->nodes > 1)
        printf("%8s  %7s  %11s  %8s  %6.4f  %8.4f  %7s  %s\n", "mean", "", "",
               "", mean, critical, "", mean <= critical ? "yes" : "no");
}

static int show_table(const struct test_plan *plan, const char *metric,
                      const struct request_counts *counts,
                      const struct verdict *v, size_t count)
{
    size_t regions = 0, passed = 0;

    printf("%8s  %7s  %11s  %8s  %6s  %8s  %7s  %s\n", "MEMORY", "SAMPLES",
           "MEAN", "VAR/MEAN", "D", "CRITICAL", "P", "POISSON");
    for (size_t i = 0; i < count; i += v[i].region->nodes, regions++)
        print_region(&v[i], &passed);
    printf("\n%s: %zu of %zu not rejected at the level of %g", metric, passed,
           regions, plan->alpha);
    if (counts->intervals)
        printf("; %zu of %zu intervals left out, not of one region",
               counts->mixed, counts->intervals);
    putchar('\n');
    return CTL_OK;
}

/* ---- all ----------------------------------------------------------------- */

/* Why there is nothing to test. */
static int nothing(const struct test_plan *plan, const struct request_counts *c,
                   int metric)
{
    if (metric < 0 && c->intervals == 0)
        return fail(CTL_FAILED, "ks: %s: has no counts: no job was on the "
                                "node while it was recorded", plan->path);
    if (metric < 0 && c->intervals == c->mixed)
        return fail(CTL_FAILED, "ks: %s: in none of its %zu intervals each "
                                "job was in one region",
                    plan->path, c->intervals);
    if (metric < 0)
        return fail(CTL_FAILED, "ks: %s: has no counts of %s; what did the "
                                "agent count with?",
                    plan->path,
                    plan->metric ? plan->metric : "memory requests");
    return fail(CTL_FAILED, "ks: %s: no region has %zu intervals (--least)",
                plan->path, plan->least);
}

static int test_all(const struct test_plan *plan,
                    const struct request_counts *c, struct verdict *v)
{
    int metric = choose(plan, c), rc = CTL_OK;
    size_t count = 0;

    for (size_t s = 0; metric >= 0 && s < c->regions; s++) {
        const struct request_region *region = &c->region[s];
        size_t begin = count;
        if ((int)region->metric != metric)
            continue;
        for (size_t n = 0; n < region->nodes; n++) {
            v[count] = (struct verdict){.region = region, .node = n};
            if ((rc = judge(plan, &v[count++])) != CTL_OK)
                return rc;
        }
        while (v[begin].samples < plan->least && count > begin) {
            free(v[--count].counts);
            v[count].counts = NULL;
        }
    }
    if (!count)
        return nothing(plan, c, metric);
    rc = plan->json ? show_json(plan, request_metric_names[metric], c, v, count)
                    : show_table(plan, request_metric_names[metric], c, v,
                                 count);
    return rc;
}

static int run(const struct test_plan *plan)
{
    struct errtext err;
    struct request_counts *counts = request_counts_read(plan->path, &err);
    size_t most = 1;

    if (!counts)
        return fail(CTL_FAILED, "ks: %s", err.text);
    for (size_t s = 0; s < counts->regions; s++)
        most += counts->region[s].nodes;
    struct verdict *verdicts = calloc(most, sizeof(*verdicts));
    int rc = verdicts ? test_all(plan, counts, verdicts)
                      : fail(CTL_FAILED, "ks: out of memory");
    for (size_t i = 0; verdicts && i < most; i++)
        free(verdicts[i].counts);
    free(verdicts);
    request_counts_free(counts);
    return cli_finish(rc);
}

/* ---- command line -------------------------------------------------------- */

enum { OPTION_METRIC = 256, OPTION_BINS, OPTION_PER, OPTION_ALPHA, OPTION_LEAST };

static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {"json", no_argument, NULL, 'j'},
    {"metric", required_argument, NULL, OPTION_METRIC},
    {"bins", required_argument, NULL, OPTION_BINS},
    {"per", required_argument, NULL, OPTION_PER},
    {"alpha", required_argument, NULL, OPTION_ALPHA},
    {"least", required_argument, NULL, OPTION_LEAST},
    {0},
};

static int set_count(const char *option, size_t least, size_t most,
                     size_t *value)
{
    char *end;
    unsigned long n = strtoul(optarg, &end, 10);

    if (optarg[0] < '0' || optarg[0] > '9' || *end || n < least || n > most)
        return fail(CTL_USAGE, "ks: --%s %s: not a number of %zu to %zu",
                    option, optarg, least, most);
    *value = n;
    return CTL_OK;
}

/* A number above 0 and below MOST. */
static int set_number(const char *option, double most, const char *wanted,
                      double *value)
{
    char *end;
    double n = strtod(optarg, &end);

    if (end == optarg || *end || !(n > 0) || !(n < most))
        return fail(CTL_USAGE, "ks: --%s %s: not %s", option, optarg,
                    wanted);
    *value = n;
    return CTL_OK;
}

static int set_metric(struct test_plan *plan)
{
    for (int m = 0; m < REQUEST_NUMBERS; m++)
        if (!strcmp(optarg, request_metric_names[m])) {
            plan->metric = optarg;
            return CTL_OK;
        }
    return fail(CTL_USAGE, "ks: --metric %s: not memory, job-traffic or "
                           "read-misses", optarg);
}

static int set_option(struct test_plan *plan, int option, char **argv)
{
    switch (option) {
    case 'j':
        plan->json = true;
        return CTL_OK;
    case OPTION_METRIC:
        return set_metric(plan);
    case OPTION_BINS:
        return set_count("bins", 0, MOST_BINS, &plan->bins);
    case OPTION_LEAST:
        return set_count("least", 2, 1000000, &plan->least);
    case OPTION_PER:
        return set_number("per", 1e9, "microseconds", &plan->per_us);
    case OPTION_ALPHA:
        return set_number("alpha", 1, "between 0 and 1", &plan->alpha);
    default:
        return cli_bad_option(argv[0], options, option, argv);
    }
}

int ctl_ks(int argc, char **argv)
{
    struct test_plan plan = {.alpha = 0.05, .bins = BINS, .least = SAMPLES};
    int option, rc;

    optind = 0;
    while ((option = getopt_long(argc, argv, ":hj", options, NULL)) != -1) {
        if (option == 'h') {
            ctl_ks_help(stdout);
            return CTL_OK;
        }
        if ((rc = set_option(&plan, option, argv)) != CTL_OK)
            return rc;
    }
    if (optind == argc)
        return fail(CTL_USAGE, "ks: needs a recording's directory, or a "
                               "file");
    if (optind + 1 < argc)
        return fail(CTL_USAGE, "ks: %s: one argument too many",
                    argv[optind + 1]);
    plan.path = argv[optind];
    return run(&plan);
}
