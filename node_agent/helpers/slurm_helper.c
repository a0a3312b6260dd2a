/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedd-slurm: what the agent asks of Slurm, in a process of its own. */

/* Concept
 *
 * libslurm blocks for seconds when slurmctld is away and may end its process on
 * an error, so the agent never calls it: it talks with this helper by lines of
 * JSON (node_agent/daemon/slurm_link.h).  Three things are done here:
 *
 *   config   watch SchedulerParameters: asked for when files of Slurm's on this
 *            host have changed (conf_files.h), then less and less often; an
 *            unchanged configuration costs slurmctld one answer without data
 *            per interval
 *   job      a new job's AdminComment, in which job_submit.lua left what the
 *            controller knows of it
 *   interim  a running job's AdminComment, by slurm_update_job()
 *
 * With --records it keeps and delivers records of ended jobs instead (deliver.h),
 * those of all nodes with --collect (collector.h); with --deliver or --hand-over it
 * is a courier of that (courier.h, hand_over.h).
 *
 * The end of standard input is the end of the agent, and of this process.
 */

#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json_writer.h"
#include "node_agent/helpers/conf_files.h"
#include "node_agent/helpers/courier.h"
#include "node_agent/helpers/deliver.h"
#include "node_agent/helpers/hand_over.h"
#include "node_agent/helpers/slurm_compat.h"

#define DELAY_S 6    /* from a job's end to its record */
#define INTERVAL_S 600 /* between two looks at a configuration that does not change */
#define FIRST_S 2      /* and between the first ones after news */
#define SOON_MS 1000   /* after a file has changed */
#define ABSENT_MS 60000 /* at most while slurmctld does not answer */
#define FILES_MS 2000  /* between two looks at files */
#define LINE_MAX_SIZE 65536
#define COMMENT_MAX 1000

static long interval_s = INTERVAL_S;
static long first_s = FIRST_S;
static long delay_s = DELAY_S;

/* Print one event, packed as json_pack() does. */
static void emit(const char *format, ...)
{
    json_error_t error;
    va_list ap;

    va_start(ap, format);
    json_t *event = json_vpack_ex(&error, 0, format, ap);
    va_end(ap);
    if (json_writer_line(STDOUT_FILENO, event) < 0)
        exit(1); /* the agent starts another, which says it */
}

/* ---- configuration ------------------------------------------------------- */

static const char *node = "";            /* --node */
static char *parameters;                /* SchedulerParameters; NULL: unknown */
static bool private_jobs;               /* PrivateData has jobs */
static uint32_t slurm_user;             /* who sees them all the same */
static bool newer;                      /* the last look found another configuration */

/* Comma separated names; NULL: not loaded so far. */
static struct {
    char *mine;   /* with the node */
    char *others; /* without */
    time_t last_update;
} partitions;

/* Back to "not loaded". */
static void partitions_clear(void)
{
    free(partitions.mine);
    free(partitions.others);
    partitions.mine = partitions.others = NULL;
    partitions.last_update = 0;
}

/* True when NODES ("n[1-4,7]") has ours. */
static bool has_node(const char *nodes)
{
    /* A pointer by name up to Slurm 23.02, by type since. */
    __auto_type list = slurm_hostlist_create(nodes ? nodes : "");

    if (!list)
        return false;
    bool found = slurm_hostlist_find(list, node) >= 0;
    slurm_hostlist_destroy(list);
    return found;
}

/* Load what is new.  0 or -1 with errno of libslurm, nothing changed;
 * nothing new is no error. */
static int partitions_load(void)
{
    partition_info_msg_t *message = NULL;
    char *text[2] = {NULL, NULL};
    size_t size[2];

    /* As with the configuration, times are in seconds: what is new is seen for
     * certain only because the same second is asked for again. */
    if (slurm_load_partitions(partitions.last_update, &message, SHOW_ALL) != 0)
        return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : -1;
    FILE *mine = open_memstream(&text[0], &size[0]);
    FILE *others = open_memstream(&text[1], &size[1]);
    for (uint32_t i = 0; mine && others && i < message->record_count; i++) {
        const partition_info_t *part = &message->partition_array[i];
        if (!part->name)
            continue;
        FILE *out = has_node(part->nodes) ? mine : others;
        fprintf(out, "%s%s", ftell(out) ? "," : "", part->name);
    }
    bool good = mine && others;
    good &= mine && fclose(mine) == 0;
    good &= others && fclose(others) == 0;
    if (good) {
        partitions_clear();
        partitions.mine = text[0];
        partitions.others = text[1];
        partitions.last_update = message->last_update;
    } else {
        free(text[0]);
        free(text[1]);
        errno = ENOMEM;
    }
    slurm_free_partition_info_msg(message);
    return good ? 0 : -1;
}

/* True when SchedulerParameters have an entry for a partition. */
static bool asks_for_partitions(void)
{
    const char *entry = parameters;

    while ((entry = strstr(entry, "cosched_"))) {
        size_t key = strcspn(entry, "=,");
        if (memchr(entry, '@', key))
            return true;
        entry += key;
    }
    return false;
}

/* Tell the agent what is known.  False if it was told the same before. */
static bool tell_config(void)
{
    static char *told;
    bool parts = partitions.mine != NULL;
    json_t *event = json_pack("{s:s, s:s, s:s*, s:s*}", "event", "config",
                              "scheduler_parameters", parameters, "partitions",
                              parts ? partitions.mine : NULL, "others",
                              parts ? partitions.others : NULL);
    if (private_jobs && event)
        json_object_update_new(event, json_pack("{s:b, s:I}", "private_jobs", 1,
                                                "slurm_user",
                                                (json_int_t)slurm_user));
    char *text = event ? json_writer_text(event, JSON_COMPACT) : NULL;

    if (!text || (told && strcmp(told, text) == 0)) {
        json_decref(event);
        free(text);
        return false;
    }
    free(told);
    told = text;
    if (json_writer_line(STDOUT_FILENO, event) < 0)
        exit(1);
    return true;
}

/* Load the configuration if it is newer than the one that is known.  False when
 * slurmctld does not answer. */
static bool load_config(void)
{
    static time_t last_update;
    static bool settled;
    slurm_conf_t *conf = NULL;

    newer = false;
    /* Times are in seconds: a change in the same second as the last one looks
     * like no change.  So what is new is loaded once more, an interval later,
     * and only then newer times count; no two clocks are compared. */
    if (slurm_load_ctl_conf(last_update + settled, &conf) != 0)
        return errno == SLURM_NO_CHANGE_IN_DATA;
    settled = conf->last_update == last_update;
    newer = !settled;
    last_update = conf->last_update;
    private_jobs = conf->private_data & PRIVATE_DATA_JOBS;
    slurm_user = conf->slurm_user_id;
    free(parameters);
    parameters = strdup(conf->sched_params ? conf->sched_params : "");
    slurm_free_ctl_conf(conf);
    return true;
}

/* Files have changed, and so has slurmctld's configuration since. */
static enum { NOTHING, FILES_CHANGED, ARRIVED } change;

/* Report SchedulerParameters and partitions when they have changed, and
 * slurmctld's absence when that has.  Returns the time until the next look:
 * short after news, then twice the last one each time.  What changed files had
 * announced needs but one look more, for a change in the same second. */
static int64_t watch_config(int64_t pause_ms)
{
    static bool absent;
    bool there = load_config();
    bool news = false;

    if (there && parameters) {
        if (!asks_for_partitions())
            partitions_clear();
        else
            there = partitions_load() == 0;
    }
    if (!there && !absent)
        emit("{s:s, s:s}", "event", "absent", "error", slurm_strerror(errno));
    else if (there && absent)
        emit("{s:s}", "event", "present");
    news = absent == there;
    absent = !there;
    if (there && parameters)
        news |= tell_config();
    int64_t most_ms = interval_s * 1000;
    if (!there && most_ms > ABSENT_MS)
        most_ms = ABSENT_MS;
    pause_ms = news ? first_s * 1000 : 2 * pause_ms;
    if (newer && change != NOTHING) {
        change = ARRIVED;
        pause_ms = SOON_MS;
    } else if (change == ARRIVED && there && !news) {
        change = NOTHING;
        pause_ms = most_ms;
    }
    return pause_ms < most_ms ? pause_ms : most_ms;
}

/* ---- comments -------------------------------------------------------------- */

static void write_interim(uint32_t job, const char *text)
{
    job_desc_msg_t update;

    slurm_init_job_desc_msg(&update);
    DESC_JOB_ID(&update) = job;
    update.admin_comment = (char *)(uintptr_t)text;
    if (slurm_update_job(&update) != 0)
        emit("{s:s, s:I, s:s}", "event", "failed", "job", (json_int_t)job,
             "error", slurm_strerror(errno));
    else
        emit("{s:s, s:I}", "event", "noted", "job", (json_int_t)job);
}

/* ---- what the controller knows of a job ---------------------------------- */

/* Say what AdminComment JOB has; nothing when that cannot be known: the agent
 * works without. */
static void tell_job(uint32_t job)
{
    job_info_msg_t *jobs = NULL;

    if (slurm_load_job(&jobs, job, 0) != 0)
        return;
    /* The number of an array's last element is that of all elements. */
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        const slurm_job_info_t *info = &jobs->job_array[i];
        if (INFO_JOB_ID(info) == job && info->admin_comment &&
            strlen(info->admin_comment) <= COMMENT_MAX)
            emit("{s:s, s:I, s:s}", "event", "job", "job", (json_int_t)job,
                 "comment", info->admin_comment);
    }
    slurm_free_job_info_msg(jobs);
}

/* ---- the agent's lines ------------------------------------------------------- */

/* Obey "comment".  False when OBJECT is no such command. */
static bool comment_command(json_t *object, uint32_t job)
{
    const char *text = NULL;

    if (json_unpack(object, "{s:s}", "text", &text) != 0 || strlen(text) > COMMENT_MAX ||
        strpbrk(text, "\"\n|"))
        return false;
    write_interim(job, text);
    return true;
}

static void command(const char *line)
{
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    const char *cmd = "";
    json_int_t job = 0;
    bool good = object &&
                json_unpack(object, "{s:s, s:I}", "cmd", &cmd, "job", &job) ==
                    0 &&
                job > 0 && job <= UINT32_MAX;

    if (good && strcmp(cmd, "job") == 0)
        tell_job((uint32_t)job);
    else if (!good || strcmp(cmd, "comment") != 0 ||
             !comment_command(object, (uint32_t)job))
        fprintf(stderr, "coschedd-slurm: refused: %.200s\n", line);
    json_decref(object);
}

/* Read what is there and obey whole lines.  False at the end of input. */
static bool read_commands(void)
{
    static char buffer[LINE_MAX_SIZE];
    static size_t used;
    char *end;

    ssize_t got = read(0, buffer + used, sizeof(buffer) - 1 - used);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    used += (size_t)got;
    buffer[used] = '\0';
    while ((end = strchr(buffer, '\n'))) {
        *end = '\0';
        command(buffer);
        used -= (size_t)(end + 1 - buffer);
        memmove(buffer, end + 1, used + 1);
    }
    if (used == sizeof(buffer) - 1)
        used = 0; /* a line without end is no command */
    return true;
}

static int usage(FILE *out, int status)
{
    fprintf(out,
            "usage: coschedd-slurm [--node NAME] [--first SECONDS] [--interval SECONDS]\n"
            "       coschedd-slurm --records FILE [--delay SECONDS] [--collect [HOST:]PORT]\n"
            "       coschedd-slurm --deliver\n"
            "       coschedd-slurm --hand-over HOST[:PORT]\n\n"
            "Started by coschedd, by itself, or, to collect, by systemd on slurmctld's host;\n"
            "speaks lines of JSON on standard input and output.\n\n"
            "  --node NAME         whose partitions count\n"
            "  --first SECONDS     between two requests for a slurm.conf that was new (%d),\n"
            "                      then twice as long each time, up to\n"
            "  --interval SECONDS  between two requests for an unchanged slurm.conf (%d)\n"
            "  --records FILE      keep final records in FILE until they are in\n"
            "                      Slurm's accounting\n"
            "  --delay SECONDS     from a job's end to its record (%d)\n"
            "  --collect PORT      take records from nodes instead of standard input\n"
            "  --munge-socket PATH munge's socket\n"
            "  --deliver           bring records into the accounting, once\n"
            "  --hand-over HOST    bring them to who collects there, once\n",
            FIRST_S, INTERVAL_S, DELAY_S);
    return status;
}

/* Parse "--NAME SECONDS" at ARGV into *SECONDS if it is there and at least
 * LEAST. */
static bool option(char **argv, const char *name, long least, long *seconds)
{
    char *end;

    if (strcmp(argv[0], name) != 0 || !argv[1])
        return false;
    long value = strtol(argv[1], &end, 10);
    if (end == argv[1] || *end || value < least || value > 3600)
        return false;
    *seconds = value;
    return true;
}

/* Nodes that started together, or see the same change, must not ask together:
 * MS and up to half as much more. */
static int64_t spread(int64_t ms)
{
    return ms + random() % (ms / 2 + 250);
}

/* Watch and obey. */
static int serve(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    int64_t look_ms = 0, files_ms = 0, pause_ms = SOON_MS;
    uint64_t files = conf_files_signature();

    slurm_init(NULL);
    for (;;) {
        int64_t now_ms = clock_ms();
        if (now_ms >= files_ms) {
            uint64_t found = conf_files_signature();
            files_ms = now_ms + FILES_MS;
            if (found != files) {
                files = found;
                change = FILES_CHANGED;
                pause_ms = SOON_MS; /* `scontrol reconfigure` may come later */
                look_ms = now_ms + spread(pause_ms);
            }
        }
        if (now_ms >= look_ms) {
            pause_ms = watch_config(pause_ms);
            look_ms = now_ms + spread(pause_ms);
        }
        int64_t wait_ms = (look_ms < files_ms ? look_ms : files_ms) - clock_ms();
        if (poll(&input, 1, wait_ms > 0 ? (int)wait_ms : 0) > 0 && !read_commands())
            return 0;
    }
}

int main(int argc, char **argv)
{
    const char *records = NULL, *collect = NULL, *munge = NULL, *to = NULL;
    struct timespec seed;

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout, 0);
    if (argc == 2 && strcmp(argv[1], "--deliver") == 0)
        return courier();
    for (argv++; *argv; argv += 2)
        if (strcmp(argv[0], "--node") == 0 && argv[1])
            node = argv[1];
        else if (strcmp(argv[0], "--records") == 0 && argv[1])
            records = argv[1];
        else if (strcmp(argv[0], "--collect") == 0 && argv[1])
            collect = argv[1];
        else if (strcmp(argv[0], "--munge-socket") == 0 && argv[1])
            munge = argv[1];
        else if (strcmp(argv[0], "--hand-over") == 0 && argv[1])
            to = argv[1];
        else if (!option(argv, "--interval", 0, &interval_s) &&
                 !option(argv, "--first", 0, &first_s) &&
                 !option(argv, "--delay", 0, &delay_s)) {
            fprintf(stderr, "coschedd-slurm: %s: unknown, or not a number of "
                    "seconds\n", argv[0]);
            return usage(stderr, 2);
        }
    clock_gettime(CLOCK_REALTIME, &seed);
    srandom((unsigned)(seed.tv_nsec ^ getpid()));
    signal(SIGPIPE, SIG_DFL);
    if (to)
        return hand_over(to, munge);
    return records ? deliver("/proc/self/exe", records, delay_s, collect, munge) : serve();
}
