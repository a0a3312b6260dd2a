/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The administrator's options: SchedulerParameters in layers. */

#include "protocol/options.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "protocol/option_table.h"

#define NODE(key, field, type, low, high, initial, help)                       \
    {key,  type, offsetof(struct node_options, field), low, high, initial, help, \
     NULL}
#define NODE_WORD(key, field, words, initial, help)                            \
    {key,  OPTION_WORD, offsetof(struct node_options, field), 0, 0, initial,   \
     help, words}


static const struct option node_table[] = {
    NODE("policy", policy, OPTION_POLICY, 0, 0, OPTIONS_POLICY,
         "allocation policy"),
    NODE("policy_options", policy_options, OPTION_NAMED, 0, 0, "",
         "options of that policy, NAME:VALUE;NAME:VALUE"),
    NODE("epoch", epoch_ns, OPTION_DURATION, 10 * MS, 10 * SECOND, "50ms",
         "period of the control loop"),
    NODE("profile", profile_ns, OPTION_DURATION, 0, 60 * SECOND, "150ms",
         "time to measure a region at another DoP"),
    NODE("probe", probe_percent, OPTION_COUNT, 0, 100, "2",
         "largest percentage of a region's time for that"),
    NODE("clean", clean_ns, OPTION_DURATION, 0, 60 * SECOND, "0",
         "time that a job's first regions have the node to themselves"),
    NODE("min_region", min_region_ns, OPTION_DURATION, 0, 60 * SECOND,
         "100ms", "shorter regions are managed as one"),
    NODE("attach_timeout", attach_ns, OPTION_DURATION, 100 * MS, 60 * SECOND,
         "1s", "a job not attached by then is pinned if it uses several cores"),
    NODE("slice", slice_ns, OPTION_DURATION, 100 * MS, 3600 * SECOND, "2s",
         "length of a turn when there are more jobs than cores"),
    NODE("lease", lease_ns, OPTION_DURATION, 200 * MS, 60 * SECOND, "1s",
         "silence after which jobs take the agent for dead"),
    NODE("forget", forget_ns, OPTION_DURATION, 100 * MS, 24 * 3600 * SECOND,
         "1h", "a job dead for so long without an epilog is over"),
    NODE("fairness", fairness_percent, OPTION_COUNT, 0, 100, "25",
         "percentage by which a job may be slower than its fair share; 100: any"),
    NODE("max_jobs", max_jobs, OPTION_COUNT, 0, 1024, "0",
         "number of jobs with cores at a time, more take turns; 0: as many as cores"),
    NODE_WORD("enforcement", enforcement, "affinity|cpuset|auto", "affinity",
              "how jobs are pinned: affinity, cpuset (cgroup) or auto"),
    NODE("counters", counters, OPTION_NAME, 0, 0, "auto",
         "counter backend, see coschedctl counters"),
    NODE_WORD("report", report, "all|final|none", "all",
              "records written into AdminComment"),
    NODE("collector", collector, OPTION_NAME, 0, 0, "none",
         "HOST[:PORT] that takes final records; none: each node asks slurmdbd"),
    {0},
};

#define COUNT (sizeof(node_table) / sizeof(node_table[0]) - 1)

_Static_assert(COUNT <= NODE_OPTIONS_MAX, "room in struct node_origins");

void node_options_init(struct node_options *options)
{
    memset(options, 0, sizeof(*options));
    for (const struct option *o = node_table; o->key; o++)
        option_set(options, o, PREFIX, o->initial, NULL);
}

/* The next entry of *REST that is ours, as option_next_entry(). */
static int next_own(const char **rest, char *entry, struct errtext *err)
{
    while (**rest && strncmp(*rest, PREFIX, strlen(PREFIX)) != 0) {
        /* Slurm's own entries may be of any length. */
        *rest += strcspn(*rest, ",");
        *rest += **rest == ',';
    }
    return option_next_entry(rest, entry, err);
}

/* Take ENTRY apart: *VALUE, *PARTITION (NULL: none), and the option. */
static const struct option *split(char *entry, char **value, char **partition,
                                  struct errtext *err)
{
    char names[NAMES_MAX];

    if ((*value = strchr(entry, '=')))
        *(*value)++ = '\0';
    if ((*partition = strchr(entry, '@')))
        *(*partition)++ = '\0';
    const struct option *option = option_find(node_table,
                                              entry + strlen(PREFIX));
    if (!option)
        errtext_set(err, EINVAL, "%.60s: unknown, after " PREFIX
                    " comes one of %s", entry,
                    option_names(node_table, names, sizeof(names)));
    else if (!*value)
        errtext_set(err, EINVAL, "%.60s: has no value", entry);
    else if (*partition && !**partition)
        errtext_set(err, EINVAL, "%.60s@: names no partition", entry);
    else
        return option;
    return NULL;
}

/* ---- layers ------------------------------------------------------------- */

void node_problems_add(struct node_problems *problems, const char *entry)
{
    size_t used = strlen(problems->text);
    size_t room = sizeof(problems->text) - used;

    problems->count++;
    if (snprintf(problems->text + used, room, "%s%s", used ? "; " : "",
                 entry) >= (int)room)
        problems->text[used] = '\0';
}

/* True when the comma separated LIST has NAME. */
static bool listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    while (*list) {
        size_t n = strcspn(list, ",");
        if (n == length && strncmp(list, name, n) == 0)
            return true;
        list += n + (list[n] == ',');
    }
    return false;
}

/* A layer in the making. */
struct layer {
    struct node_options *options;
    struct node_origins *origins;
    enum option_source source;
    const char *mine, *others;
    struct node_problems *problems;
};

/* OPTION was set by SOURCE for PARTITION (or NULL). */
static void note(struct layer *l, const struct option *option,
                 enum option_source source, const char *partition)
{
    size_t i = (size_t)(option - node_table);
    size_t named = node_option_find("policy_options");

    l->origins->option[i].source = source;
    snprintf(l->origins->option[i].partition, OPTIONS_PARTITION_MAX, "%s",
             partition ? partition : "");
    /* What was meant for another policy. */
    if (option->type == OPTION_POLICY &&
        (l->origins->option[named].source < source ||
         (partition &&
          strcmp(partition, l->origins->option[named].partition) != 0)))
        node_option_reset(l->options, l->origins, "policy_options");
}

/* Apply ENTRY if it is for a partition and PARTITIONS are asked for, or else if
 * neither is so.  -1 with ERR when it is wrong. */
static int apply(struct layer *l, char *entry, bool partitions,
                 struct errtext *err)
{
    char *value, *partition;
    struct node_options scratch;
    const struct option *option = split(entry, &value, &partition, err);

    if (!option)
        return partitions ? 0 : -1; /* told once */
    if (!partition != !partitions)
        return 0;
    if (partition && l->source != OPTION_SLURM_CONF)
        return errtext_set(err, EINVAL, "%.60s@%.60s: partitions are for "
                           "slurm.conf only", entry, partition);
    if (partition && (strlen(partition) >= OPTIONS_PARTITION_MAX ||
                      (l->others && !listed(l->mine, partition) &&
                       !listed(l->others, partition))))
        return errtext_set(err, EINVAL, "%.60s@%.60s: no such partition", entry,
                           partition);
    bool other = partition && !listed(l->mine, partition);
    if (option_set(other ? &scratch : l->options, option, PREFIX, value, err) <
        0)
        return -1;
    if (!other)
        note(l, option, partition ? OPTION_PARTITION : l->source, partition);
    return 0;
}

void node_options_apply(struct node_options *options,
                        struct node_origins *origins,
                        enum option_source source, const char *text,
                        const char *mine, const char *others,
                        struct node_problems *problems)
{
    struct layer layer = {options, origins,  source, mine ? mine : "",
                          others,  problems};
    char entry[ENTRY_MAX];
    struct errtext err;

    for (int partitions = 0; partitions <= 1; partitions++) {
        const char *rest = text ? text : "";
        int more;
        while ((more = next_own(&rest, entry, &err)) != 0) {
            if (more < 0) /* too long: behind it are others */
                rest += strcspn(rest, ",");
            if (more < 0 ? !partitions
                         : apply(&layer, entry, partitions, &err) < 0)
                node_problems_add(problems, err.text);
        }
    }
}

int node_options_parse(struct node_options *options, const char *text,
                       struct errtext *err)
{
    struct node_options result;
    struct node_origins origins = {0};
    struct node_problems problems = {0};

    node_options_init(&result);
    node_options_apply(&result, &origins, OPTION_COMMAND_LINE, text, NULL, NULL,
                       &problems);
    if (problems.count)
        return errtext_set(err, EINVAL, "%s", problems.text);
    *options = result;
    return 0;
}

/* ---- single options ------------------------------------------------------ */

size_t node_option_count(void)
{
    return COUNT;
}

const char *node_option_name(size_t index)
{
    return node_table[index].key;
}

size_t node_option_find(const char *name)
{
    size_t i = 0;

    while (i < COUNT && strcmp(node_table[i].key, name) != 0)
        i++;
    return i;
}

void node_option_reset(struct node_options *options,
                       struct node_origins *origins, const char *name)
{
    size_t i = node_option_find(name);

    option_set(options, &node_table[i], PREFIX, node_table[i].initial, NULL);
    memset(&origins->option[i], 0, sizeof(origins->option[i]));
}

/* NS in the largest unit that leaves no fraction. */
static void format_duration(uint64_t ns, char *buffer, size_t size)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"h", 3600 * SECOND}, {"m", 60 * SECOND}, {"s", SECOND},
                 {"ms", MS},           {"us", 1000},       {"ns", 1}};
    size_t i = 0;

    while (ns % units[i].ns)
        i++;
    if (ns)
        snprintf(buffer, size, "%" PRIu64 "%s", ns / units[i].ns,
                 units[i].unit);
    else
        snprintf(buffer, size, "0");
}

const char *node_option_value(const struct node_options *options, size_t index,
                              char *buffer, size_t size)
{
    const struct option *o = &node_table[index];
    const void *field = (const char *)options + o->offset;
    const char *word = o->words;
    int number = 0;

    switch (o->type) {
    case OPTION_POLICY:
    case OPTION_NAMED:
    case OPTION_NAME:
        snprintf(buffer, size, "%s", (const char *)field);
        break;
    case OPTION_COUNT:
        snprintf(buffer, size, "%d", *(const int *)field);
        break;
    case OPTION_WORD:
        for (number = *(const int *)field; number > 0; number--)
            word += strcspn(word, "|") + 1;
        snprintf(buffer, size, "%.*s", (int)strcspn(word, "|"), word);
        break;
    case OPTION_NUMBER:
        snprintf(buffer, size, "%g", *(const double *)field);
        break;
    case OPTION_SWITCH:
        number = *(const int *)field;
        snprintf(buffer, size, "%s",
                 number > 0 ? "yes" : number < 0 ? "no" : "");
        break;
    case OPTION_DURATION:
        format_duration(*(const uint64_t *)field, buffer, size);
        break;
    }
    return buffer;
}

void node_options_help(FILE *out)
{
    option_help(out, node_table, PREFIX);
}
