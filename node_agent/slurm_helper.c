/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedd-slurm: what the agent asks of Slurm, in a process of its own. */

/* Concept
 *
 * libslurm blocks for seconds when slurmctld is away and may end its process on
 * an error, so the agent never calls it: it talks with this helper by lines of
 * JSON (node_agent/slurm_link.h).  Three things are done here:
 *
 *   config   watch SchedulerParameters; an unchanged configuration costs
 *            slurmctld one answer without data per interval
 *   interim  a running job's AdminComment, by slurm_update_job()
 *   final    an ended job's AdminComment, by sacctmgr: slurmctld takes no more
 *            updates then.  Not before RECORD_DELAY_S after the end, because
 *            slurmctld's own record, written by a thread that runs every few
 *            seconds, would win; read back, and tried again until it is there.
 *
 * The end of standard input is the end of the agent, and of this process:
 * records that are not written yet are in the agent's state file.
 */

#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECORD_DELAY_S 6
#define RECORD_TRIES 8 /* 6 s, then pauses of 4, 8, ... 256 s */
#define INTERVAL_S 2   /* between two looks at the configuration */
#define LINE_MAX_SIZE 65536
#define COMMENT_MAX 1000

extern char **environ;

/* A final record that waits for its time. */
struct record {
    struct record *next;
    uint32_t job;
    time_t due;
    int tries;
    char text[COMMENT_MAX + 1];
};

static struct record *records;
static long interval_s = INTERVAL_S;

/* Print one event, packed as json_pack() does. */
static void emit(const char *format, ...)
{
    json_error_t error;
    va_list ap;

    va_start(ap, format);
    json_t *event = json_vpack_ex(&error, 0, format, ap);
    va_end(ap);
    if (event) {
        json_dumpf(event, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
    }
    json_decref(event);
}

/* ---- configuration ------------------------------------------------------- */

/* Report SchedulerParameters when they have changed, and slurmctld's absence
 * when that has. */
static void watch_config(void)
{
    static time_t last_update;
    static char *known;
    static bool absent;
    slurm_conf_t *conf = NULL;

    if (slurm_load_ctl_conf(last_update ? last_update + 1 : 0, &conf) != 0) {
        bool away = errno != SLURM_NO_CHANGE_IN_DATA;
        if (away && !absent)
            emit("{s:s, s:s}", "event", "absent", "error",
                 slurm_strerror(errno));
        absent = away;
        return;
    }
    absent = false;
    last_update = conf->last_update;
    const char *now = conf->sched_params ? conf->sched_params : "";
    if (!known || strcmp(known, now) != 0) {
        free(known);
        known = strdup(now);
        emit("{s:s, s:s}", "event", "config", "scheduler_parameters", now);
    }
    slurm_free_ctl_conf(conf);
}

/* ---- comments -------------------------------------------------------------- */

static void write_interim(uint32_t job, const char *text)
{
    job_desc_msg_t update;

    slurm_init_job_desc_msg(&update);
    update.job_id = job;
    update.admin_comment = (char *)(uintptr_t)text;
    if (slurm_update_job(&update) != 0)
        emit("{s:s, s:I, s:s}", "event", "failed", "job", (json_int_t)job,
             "error", slurm_strerror(errno));
    else
        emit("{s:s, s:I}", "event", "noted", "job", (json_int_t)job);
}

/* Run ARGV and return the first SIZE - 1 bytes of its output in OUT.  0 if it
 * exited with status 0. */
static int run(char *const *argv, char *out, size_t size)
{
    posix_spawn_file_actions_t actions;
    int fds[2], status = -1;
    size_t used = 0;
    ssize_t got;
    pid_t pid;

    if (pipe(fds) < 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
    posix_spawn_file_actions_addclose(&actions, fds[0]);
    int rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    char rest[512];
    while (rc == 0) {
        bool room = used < size - 1;
        got = read(fds[0], room ? out + used : rest,
                   room ? size - 1 - used : sizeof(rest));
        if (got <= 0)
            break;
        used += room ? (size_t)got : 0;
    }
    out[used] = '\0';
    close(fds[0]);
    if (rc != 0) {
        snprintf(out, size, "%s: %s", argv[0], strerror(rc));
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0 ? 0 : -1;
}

/* Write the record of an ended job and read it back. */
static int write_final(const struct record *record, char *out, size_t size)
{
    char where[32], set[COMMENT_MAX + 32], job[16];

    snprintf(where, sizeof(where), "jobid=%u", record->job);
    snprintf(set, sizeof(set), "admincomment=\"%s\"", record->text);
    snprintf(job, sizeof(job), "%u", record->job);
    char *const modify[] = {"sacctmgr", "-i", "modify", "job", "where", where,
                            "set", set, NULL};
    char *const show[] = {"sacct", "-n", "-X", "-P", "-D", "-j", job, "-o",
                          "admincomment", NULL};
    if (run(modify, out, size) < 0 || run(show, out, size) < 0)
        return -1;
    if (strstr(out, record->text))
        return 0;
    snprintf(out, size, "sacct does not show the record");
    return -1;
}

/* Write the records whose time has come; returns when the next one is due. */
static time_t write_due(time_t now)
{
    time_t next = now + interval_s;

    for (struct record **p = &records; *p;) {
        struct record *r = *p;
        char out[4096];
        bool done = false;
        if (r->due <= now) {
            done = true;
            if (write_final(r, out, sizeof(out)) == 0) {
                emit("{s:s, s:I}", "event", "recorded", "job",
                     (json_int_t)r->job);
            } else if (++r->tries == RECORD_TRIES) {
                out[strcspn(out, "\n")] = '\0';
                emit("{s:s, s:I, s:s}", "event", "failed", "job",
                     (json_int_t)r->job, "error", out);
            } else {
                r->due = now + (2L << r->tries);
                done = false;
            }
        }
        if (done) {
            *p = r->next;
            free(r);
            continue;
        }
        if (r->due < next)
            next = r->due;
        p = &r->next;
    }
    return next;
}

static void add_record(uint32_t job, const char *text, time_t due)
{
    struct record *r = calloc(1, sizeof(*r));

    if (!r)
        return;
    r->job = job;
    r->due = due;
    snprintf(r->text, sizeof(r->text), "%s", text);
    r->next = records;
    records = r;
}

/* ---- the agent's lines ------------------------------------------------------- */

static void command(const char *line)
{
    json_error_t error;
    const char *cmd = NULL, *text = NULL;
    json_int_t job = 0;
    double end = 0;
    int final = 0;
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);

    if (!object ||
        json_unpack_ex(object, &error, 0, "{s:s, s:I, s:s, s:b, s?F}", "cmd",
                       &cmd, "job", &job, "text", &text, "final", &final, "end",
                       &end) != 0 ||
        strcmp(cmd, "comment") != 0 || job <= 0 || job > UINT32_MAX ||
        strlen(text) > COMMENT_MAX || strpbrk(text, "\"\n|"))
        fprintf(stderr, "coschedd-slurm: refused: %.200s\n", line);
    else if (final)
        add_record((uint32_t)job, text, (time_t)end + RECORD_DELAY_S + 1);
    else
        write_interim((uint32_t)job, text);
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
    fputs("usage: coschedd-slurm [--interval SECONDS]\n\n"
          "Started by coschedd; speaks lines of JSON on standard input and "
          "output.\n", out);
    return status;
}

int main(int argc, char **argv)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    time_t next = 0;

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout, 0);
    if (argc == 3 && strcmp(argv[1], "--interval") == 0)
        interval_s = strtol(argv[2], NULL, 10);
    else if (argc > 1)
        return usage(stderr, 2);
    if (interval_s < 1)
        interval_s = INTERVAL_S;
    signal(SIGPIPE, SIG_DFL);
    slurm_init(NULL);
    for (;;) {
        time_t now = time(NULL);
        if (now >= next) {
            watch_config();
            next = write_due(now);
        }
        /* Nodes that started together must not ask together. */
        int jitter_ms = (int)(random() % 250);
        int wait_ms = (int)(next - now) * 1000 + jitter_ms;
        if (poll(&input, 1, wait_ms) > 0 && !read_commands())
            return 0;
    }
}
