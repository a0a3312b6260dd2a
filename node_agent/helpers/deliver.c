/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Keeps final records until Slurm's accounting has them. */

#include "node_agent/helpers/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json_reader.h"
#include "common/json_writer.h"
#include "node_agent/helpers/collector.h"
#include "node_agent/helpers/courier.h"
#include "node_agent/helpers/hand_over.h"
#include "node_agent/helpers/record_queue.h"

#define LINE_MAX_SIZE 65536
#define COMMENT_MAX 1000
#define SHORTEST_PAUSE_MS 50
#define LONGEST_PAUSE_MS (600 * 1000)
#define AWAY_PAUSE_MS 20000     /* between two tries while the accounting is away, at most */
#define TRIES_MOST 150          /* pauses of a day in all */
#define TRIES_PAUSED 8          /* then pauses are the longest */
#define COURIER_MS (300 * 1000) /* longest life of a courier */
#define RETRY_DISK_MS 60000
#define SAVED_DELAYS 10 /* slurmctld has then saved its state, without what it has forgotten */
#define NEVER INT64_MAX

extern char **environ;

static struct record_queue *queue;
static bool told_to;                /* the agent has said whom records go to; none go before */
static char to[HAND_OVER_HOST];     /* whom records are handed over to; "": the accounting */
static const char *munge_socket;    /* or NULL: munge's default */
static struct collector *collector; /* NULL: an agent gives records */
static long delay_s;
static int64_t job_age_ms = 300 * 1000; /* how long slurmctld keeps an ended job */
static bool disk_fails;                 /* and that was said */
static int64_t disk_due_ms = NEVER;     /* when to try again */

/* The courier under way. */
static struct {
    pid_t pid; /* 0: none */
    int from;  /* its answers */
    int64_t until_ms;
    int64_t boot_s; /* when slurmctld began, by its word; 0: none */
    bool away;        /* it said so */
    bool answered;    /* it said something else */
    size_t used;
    char line[LINE_MAX_SIZE];
} courier_now;

/* While the accounting does not answer. */
static struct {
    unsigned tries; /* 0: it does */
    int64_t due_ms;
} away;

/* End for want of WHAT: the agent starts another helper and gives it what is not kept. */
static _Noreturn void die(const char *what)
{
    fprintf(stderr, "coschedd-slurm: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Print one event, packed as json_pack() does.  What the agent is not told, a helper that begins
 * anew tells it; a collector's are for its log. */
static void emit(const char *format, ...)
{
    json_error_t error;
    va_list ap;

    va_start(ap, format);
    json_t *event = json_vpack_ex(&error, 0, format, ap);
    va_end(ap);
    if (json_writer_line(STDOUT_FILENO, event) < 0)
        die("its output");
}

static void emit_record(const char *event, const struct queued *r, const char *error)
{
    if (collector && !error)
        return; /* each would be a line of the log */
    emit("{s:s, s:I, s:I, s:s*}", "event", event, "job", (json_int_t)r->job, "end",
         (json_int_t)r->end_s, "error", error);
}

/* ---- records ----------------------------------------------------------------- */

static int64_t pause_ms(unsigned tries, int64_t most_ms)
{
    int64_t ms = delay_s > 0 ? delay_s * 1000 : SHORTEST_PAUSE_MS;

    for (; tries > 0 && ms < most_ms; tries--)
        ms *= 2;
    return ms < most_ms ? ms : most_ms;
}

/* Wait for the rest of the delay; the clock may have been set since the end. */
static void begin(struct queued *r)
{
    int64_t left_s = r->end_s + delay_s + 1 - (int64_t)time(NULL);

    r->due_ms = clock_ms() + 1000 * (left_s < 0 || *to     ? 0
                                     : left_s > delay_s + 1 ? delay_s + 1
                                                            : left_s);
}

/* What the accounting has had is no failure. */
static void give_up(struct queued *r, const char *error)
{
    if (!r->told)
        emit_record("failed", r, error);
    record_queue_remove(queue, r);
}

static void drop_excess(void)
{
    struct queued *r;
    char why[96];

    while ((r = record_queue_excess(queue))) {
        snprintf(why, sizeof(why), "dropped: %zu records wait for Slurm's accounting",
                 record_queue_count(queue));
        give_up(r, why);
    }
}

static void on_kept(const struct queued *r)
{
    emit_record("kept", r, NULL);
}

static void sync_queue(void)
{
    struct errtext err;
    int rc = record_queue_sync(queue, on_kept, &err);

    if (rc < 0 && !disk_fails)
        emit("{s:s, s:s}", "event", "unkept", "error", err.text);
    disk_fails = rc < 0;
    disk_due_ms = rc < 0 ? clock_ms() + RETRY_DISK_MS : NEVER;
}

/* ---- the courier --------------------------------------------------------------- */

/* Write R to FD for a courier. */
static int write_parcel(const struct queued *r, int fd)
{
    return json_writer_line(fd, json_pack("{s:I, s:I, s:s, s:b, s:I}", "job", (json_int_t)r->job,
                                          "end", (json_int_t)r->end_s, "text", r->text, "told",
                                          r->told, "boot", (json_int_t)r->boot_s));
}

static void none_under_way(void)
{
    for (struct queued *r = record_queue_first(queue); r; r = r->next)
        r->under_way = false;
}

/* The records that are due, as a courier's input.  A descriptor; -1 with errno, 0: none is. */
static int collect(int64_t now_ms)
{
    size_t count = 0;
    int fd = -1, saved = 0;

    for (struct queued *r = record_queue_first(queue); r && count < COURIER_BATCH; r = r->next) {
        if (r->due_ms > now_ms)
            continue;
        if ((fd < 0 && (fd = memfd_create("records", MFD_CLOEXEC)) < 0) ||
            write_parcel(r, fd) < 0) {
            saved = errno;
            break;
        }
        r->under_way = true;
        count++;
    }
    if (!saved && fd >= 0 && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    none_under_way();
    errno = saved;
    return -1;
}

/* Start SELF as a courier that reads IN. */
static int spawn_courier(const char *self, int in)
{
    char deliver_[] = "--deliver", hand_over_[] = "--hand-over", munge_[] = "--munge-socket";
    char *argv[] = {(char *)(uintptr_t)self, *to ? hand_over_ : deliver_, *to ? to : NULL,
                    munge_socket ? munge_ : NULL, (char *)(uintptr_t)munge_socket, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int out[2];

    if (pipe2(out, O_CLOEXEC) < 0)
        return errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    int rc = posix_spawn_file_actions_adddup2(&actions, in, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    /* Of its own group, which is ended with it. */
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    if (rc == 0)
        rc = posix_spawn(&courier_now.pid, self, &actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    if (rc == 0) {
        courier_now.from = out[0];
        fcntl(out[0], F_SETFL, O_NONBLOCK);
    } else {
        courier_now.pid = 0;
        close(out[0]);
    }
    return rc;
}

/* The accounting does not answer, for the reason WHY. */
static void set_away(const char *why)
{
    if (away.tries++ == 0)
        emit("{s:s, s:I, s:s}", "event", "waiting", "count",
             (json_int_t)record_queue_count(queue), "error", why);
    away.due_ms = clock_ms() + pause_ms(away.tries, AWAY_PAUSE_MS);
}

static void start_courier(const char *self, int64_t now_ms)
{
    if (!told_to || courier_now.pid || (away.tries && away.due_ms > now_ms))
        return;
    int in = collect(now_ms);
    if (in < 0 && errno)
        set_away(strerror(errno));
    if (in < 0)
        return;
    courier_now.away = courier_now.answered = false;
    courier_now.boot_s = 0;
    courier_now.used = 0;
    courier_now.until_ms = now_ms + COURIER_MS;
    int rc = spawn_courier(self, in);
    close(in);
    if (rc == 0)
        return;
    none_under_way();
    set_away(strerror(rc));
}

/* A time after DUE_MS, the same for many: what nobody waits for is asked for together. */
static int64_t together(int64_t due_ms)
{
    int64_t step_ms = SAVED_DELAYS * 1000 * delay_s;

    return step_ms ? (due_ms / step_ms + 1) * step_ms : due_ms;
}

/* R is in the accounting; slurmctld may write its own until it has forgotten the job, which
 * is asked when it is time to. */
static void look_again(struct queued *r)
{
    r->due_ms = together(r->ended_ms + job_age_ms + SAVED_DELAYS * 1000 * delay_s);
}

/* R is not in the accounting, for the reason ERROR, or is there but not for good.  A day without
 * slurmctld, or with a job that it remembers, proves nothing. */
static void try_again(struct queued *r, const char *error)
{
    bool proves = error && courier_now.boot_s;

    if (proves && r->tries >= TRIES_MOST) {
        give_up(r, error);
        return;
    }
    if (r->tries < (proves ? TRIES_MOST : TRIES_PAUSED))
        r->tries++;
    r->due_ms = clock_ms() + pause_ms(r->tries, LONGEST_PAUSE_MS);
}

/* The accounting has R, for good if SETTLED; or not, for the reason ERROR. */
static void on_answer(struct queued *r, const char *error, bool settled)
{
    bool before = settled && r->boot_s && r->boot_s == courier_now.boot_s;

    r->under_way = false;
    r->boot_s = settled ? courier_now.boot_s : 0;
    if (before) {
        record_queue_remove(queue, r);
    } else if (settled) {
        r->due_ms = together(clock_ms() + SAVED_DELAYS * 1000 * delay_s);
    } else if (error || r->told) {
        try_again(r, error);
    } else {
        r->told = true;
        r->tries = 0;
        emit_record("recorded", r, NULL);
        int64_t age_ms = 1000 * ((int64_t)time(NULL) - r->end_s);
        r->ended_ms = clock_ms() - (age_ms > 0 ? age_ms : 0);
        look_again(r);
    }
}

/* slurmctld keeps ended jobs for AGE_S. */
static void set_age(int64_t age_s)
{
    if (job_age_ms == 1000 * age_s)
        return;
    job_age_ms = 1000 * age_s;
    for (struct queued *r = record_queue_first(queue); r; r = r->next)
        if (r->told && !r->tries && !r->boot_s && !r->under_way)
            look_again(r);
}

/* The collector has all that is under way, or, with an ERROR, nobody will. */
static void on_all(const char *error)
{
    courier_now.answered = true;
    for (struct queued *r = record_queue_first(queue), *next; r; r = next) {
        next = r->next;
        if (!r->under_way)
            continue;
        if (error) {
            give_up(r, error);
            continue;
        }
        if (!r->told)
            emit_record("recorded", r, NULL);
        record_queue_remove(queue, r);
    }
}

static void on_line(const char *line)
{
    const char *error = NULL, *gone = NULL, *refused = NULL;
    json_int_t job = 0, end_s = 0, age_s = -1, boot_s = 0;
    int settled = 0, handed = 0;
    json_t *object = json_reader_line(line, strlen(line));

    if (json_unpack(object, "{s?I, s?I, s?s, s?b, s?s, s?s, s?I, s?I, s?b}", "job", &job, "end",
                    &end_s, "error", &error, "settled", &settled, "away", &gone, "refused",
                    &refused, "age", &age_s, "boot", &boot_s, "handed", &handed) < 0) {
        json_decref(object);
        return;
    }
    if (gone) {
        courier_now.away = true;
        set_away(gone);
    } else if (age_s >= 0) {
        courier_now.boot_s = boot_s;
        set_age(age_s);
    } else if (job) {
        struct queued *r = record_queue_find(queue, (uint32_t)job, end_s);
        courier_now.answered = true;
        if (r && r->under_way)
            on_answer(r, error, settled);
    } else if (handed || refused) {
        on_all(refused);
    }
    json_decref(object);
}

/* The courier has ended, or is ended: what it did not answer for stays. */
static void end_courier(void)
{
    bool answered = courier_now.answered;

    kill(-courier_now.pid, SIGKILL);
    while (waitpid(courier_now.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(courier_now.from);
    courier_now.pid = 0;
    if (!answered && !courier_now.away)
        set_away("the process that asks sacct and slurmdbd gave no answer");
    for (struct queued *r = record_queue_first(queue); r; r = r->next) {
        r->under_way = false;
        /* What waited because of the outage need not wait on. */
        if (answered && away.tries && !r->told)
            r->due_ms = 0;
    }
    if (answered)
        away.tries = 0;
    sync_queue();
}

static void on_courier(void)
{
    char *end;
    ssize_t got = read(courier_now.from, courier_now.line + courier_now.used,
                       sizeof(courier_now.line) - 1 - courier_now.used);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        end_courier();
        return;
    }
    courier_now.used += (size_t)got;
    courier_now.line[courier_now.used] = '\0';
    char *rest = courier_now.line;
    while ((end = strchr(rest, '\n'))) {
        *end = '\0';
        on_line(rest);
        rest = end + 1;
    }
    courier_now.used -= (size_t)(rest - courier_now.line);
    memmove(courier_now.line, rest, courier_now.used + 1);
    if (courier_now.used == sizeof(courier_now.line) - 1)
        courier_now.used = 0; /* a line without end is no answer */
}

/* ---- the agent's lines ----------------------------------------------------------- */

/* Keep the record of OBJECT.  False: it is none, or json_reader_refused(). */
static bool take_record(json_t *object)
{
    json_int_t job = 0, end_s = 0;
    const char *text = "";

    if (json_unpack(object, "{s:I, s:s, s:I}", "job", &job, "text", &text, "end", &end_s) < 0 ||
        json_reader_refused() || job <= 0 || job > UINT32_MAX || end_s < 0 || !*text ||
        strlen(text) > COMMENT_MAX || strpbrk(text, "\"'\\\n|"))
        return false;
    size_t count = record_queue_count(queue);
    struct queued *r = record_queue_add(queue, (uint32_t)job, end_s, text);
    if (!r)
        die("a record");
    else if (r->kept && r->told)
        emit_record("recorded", r, NULL); /* the agent has not heard of it */
    else if (r->kept)
        emit_record("kept", r, NULL);
    else if (record_queue_count(queue) > count || !r->due_ms)
        begin(r);
    return true;
}

/* Bring records to whom OBJECT says from now on.  False: it does not. */
static bool set_collector(json_t *object)
{
    const char *name = NULL, *socket = NULL;
    static char path[PATH_MAX];

    if (json_unpack(object, "{s:s, s?s}", "to", &name, "munge", &socket) < 0 ||
        json_reader_refused() || strlen(name) >= sizeof(to) || *name == '-' ||
        (socket && strlen(socket) >= sizeof(path)))
        return false;
    if (strcmp(to, name) == 0)
        return true;
    snprintf(path, sizeof(path), "%s", socket ? socket : "");
    munge_socket = *path ? path : NULL;
    strcpy(to, name);
    courier_now.answered = true; /* it is not away: nobody wants to know */
    if (courier_now.pid)
        end_courier();
    away.tries = 0;
    for (struct queued *r = record_queue_first(queue); r; r = r->next) {
        r->tries = 0;
        begin(r);
    }
    return true;
}

static void command(const char *line)
{
    json_t *object = json_reader_line(line, strlen(line));
    const char *cmd = "";

    json_unpack(object, "{s:s}", "cmd", &cmd);
    told_to = true; /* an agent that has a collector names it first */
    bool obeyed = (strcmp(cmd, "record") == 0 && take_record(object)) ||
                  (strcmp(cmd, "collector") == 0 && set_collector(object));
    errno = ENOMEM;
    if (json_reader_refused())
        die("a command");
    if (!obeyed)
        fprintf(stderr, "coschedd-slurm: refused: %.200s\n", line);
    json_decref(object);
}

/* A node's record.  One that is none will not become one when it comes again. */
static bool take_line(const char *line)
{
    json_t *object = json_reader_line(line, strlen(line));
    bool room = !json_reader_refused() && !record_queue_full(queue);
    bool taken = room && take_record(object);

    room &= !json_reader_refused();
    if (room && !taken)
        fprintf(stderr, "coschedd-slurm: no record: %.200s\n", line);
    json_decref(object);
    return room;
}

/* Read what is there and obey whole lines.  False at the end of input. */
static bool read_commands(void)
{
    static char buffer[LINE_MAX_SIZE];
    static size_t used;
    char *end, *rest = buffer;

    ssize_t got = read(0, buffer + used, sizeof(buffer) - 1 - used);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    used += (size_t)got;
    buffer[used] = '\0';
    while ((end = strchr(rest, '\n'))) {
        *end = '\0';
        command(rest);
        rest = end + 1;
    }
    used -= (size_t)(rest - buffer);
    memmove(buffer, rest, used + 1);
    if (used == sizeof(buffer) - 1)
        used = 0; /* a line without end is no command */
    drop_excess();
    sync_queue();
    return true;
}

/* When there is something to do, other than to read. */
static int64_t next_ms(void)
{
    int64_t next = disk_due_ms;

    if (courier_now.pid)
        return courier_now.until_ms < next ? courier_now.until_ms : next;
    if (!told_to)
        return next;
    for (const struct queued *r = record_queue_first(queue); r; r = r->next) {
        int64_t due_ms = away.tries && away.due_ms > r->due_ms ? away.due_ms : r->due_ms;
        if (due_ms < next)
            next = due_ms;
    }
    return next;
}

/* Read what has come to the collector, and answer when that is on disk. */
static void on_nodes(const struct pollfd *fds)
{
    collector_read(collector, fds, take_line);
    sync_queue();
    collector_answer(collector, !disk_fails);
}

/* Do what is due and wait for more.  False at the end of the agent. */
static bool serve_once(const char *self)
{
    struct pollfd p[2 + COLLECTOR_FDS];
    int64_t now_ms = clock_ms(), nodes_ms = NEVER;

    if (disk_due_ms <= now_ms)
        sync_queue();
    if (courier_now.pid && courier_now.until_ms <= now_ms)
        end_courier();
    start_courier(self, now_ms);
    p[0] = (struct pollfd){.fd = collector ? -1 : STDIN_FILENO, .events = POLLIN};
    p[1] = (struct pollfd){.fd = courier_now.pid ? courier_now.from : -1, .events = POLLIN};
    if (collector)
        nodes_ms = collector_wait(collector, p + 2);
    int64_t wait_ms = next_ms();
    if (nodes_ms < wait_ms)
        wait_ms = nodes_ms;
    wait_ms = wait_ms == NEVER ? -1 : wait_ms > now_ms ? wait_ms - now_ms : 0;
    int ready = poll(p, collector ? 2 + COLLECTOR_FDS : 2, wait_ms > 60000 ? 60000 : (int)wait_ms);
    if (ready < 0)
        return true;
    if (collector)
        on_nodes(p + 2);
    if (p[1].revents)
        on_courier();
    return !p[0].revents || read_commands();
}

int deliver(const char *self, const char *path, long delay, const char *collect,
            const char *munge)
{
    struct errtext err = {""};

    delay_s = delay;
    if (collect && !(collector = collector_open(collect, munge, &err))) {
        fprintf(stderr, "coschedd-slurm: --collect %s\n", err.text);
        return 1;
    }
    if (!(queue = record_queue_open(path, &err))) {
        emit("{s:s, s:s}", "event", "unkept", "error", err.text);
        return 1;
    }
    if (err.text[0])
        emit("{s:s, s:s}", "event", "unkept", "error", err.text);
    disk_fails = err.text[0] != '\0';
    told_to = collector != NULL;
    for (struct queued *r = record_queue_first(queue); r; r = r->next)
        begin(r);
    while (serve_once(self))
        ;
    if (courier_now.pid)
        end_courier();
    sync_queue();
    record_queue_close(queue);
    return 0;
}
