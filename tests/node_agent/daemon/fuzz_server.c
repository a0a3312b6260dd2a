/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: the agent's socket as a state machine.  Connections of several
 * users and their processes open, attach, ask, hang up and end in any order,
 * while root announces and withdraws their jobs. */

/* All of it is in this process: connections are pairs of sockets, processes are descriptors whose
 * numbers are used again, listeners and what binds threads are not there. */

#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "common/clock.h"

/* Who connects, and what it costs, is the input's to say. */
static int said_getsockopt(int fd, int level, int name, void *value,
                           socklen_t *size);
static uint64_t said_cpu_ns(void);
#define getsockopt   said_getsockopt
#define clock_cpu_ns said_cpu_ns
#include "node_agent/daemon/server.c"
#undef getsockopt
#undef clock_cpu_ns

/* Processes, too. */
#define host_process_hold    kernels_process_hold
#define host_process_release kernels_process_release
#define host_process_cpu_ns  kernels_process_cpu_ns
#define host_process_stopped kernels_process_stopped
#define host_process_resident kernels_process_resident
#include "node_agent/daemon/host_event.c"
#undef host_process_hold
#undef host_process_release
#undef host_process_cpu_ns
#undef host_process_stopped
#undef host_process_resident
int host_process_hold(pid_t pid, uint64_t *start);
void host_process_release(int handle, struct sd_event_source *watch);
uint64_t host_process_cpu_ns(pid_t pid);
int host_process_stopped(pid_t pid);
uint64_t host_process_resident(pid_t pid);

#include "simulator/virtual_enforcer.c"

#include "node_agent/daemon/request.h"
#include "node_agent/daemon/agent.h"
#include "node_agent/daemon/caller.h"
#include "node_agent/daemon/ending.h"
#include "node_agent/core/process.h"
#include "node_agent/enforce/members.h"

#define CLIENTS   12
#define PROCESSES 6
#define USERS     3
#define FIRST_UID 61101
#define JOBS      4

#define FIRST_PID 5000000 /* no process has such a number */
#define MOST_FD   1024

/* One after the other with the same number, of one user after the other. */
static struct process_said {
    int life; /* readable when it has ended; -1: there is none */
    unsigned generation;
} processes[PROCESSES];
static int connected[MOST_FD]; /* of the agent's sockets: the life of who connected */

static struct client {
    int fd; /* -1: none */
    unsigned process;
    bool root;
} clients[CLIENTS];

static struct ucred connecting;

static sd_event *loop;
static struct agent *agent;
static int witness = -1; /* root's connection, which nobody may touch */
static uint64_t cpu_ns;
static uint64_t next_cost_ns;

static uid_t uid_of(unsigned index)
{
    return FIRST_UID + index % USERS;
}

static uid_t user_of(unsigned index)
{
    return uid_of(index + processes[index].generation);
}

static int said_getsockopt(int fd, int level, int name, void *value,
                           socklen_t *size)
{
    if (name != SO_PEERCRED)
        return getsockopt(fd, level, name, value, size);
    memcpy(value, &connecting, sizeof(connecting));
    return 0;
}

static uint64_t said_cpu_ns(void)
{
    cpu_ns += next_cost_ns;
    return cpu_ns;
}

/* ---- processes ----------------------------------------------------------- */

static pid_t process(unsigned index)
{
    if (processes[index].life < 0)
        REQUIRE((processes[index].life = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) >= 0);
    return FIRST_PID + (pid_t)index;
}

static void end_process(unsigned index)
{
    struct process_said *p = &processes[index];

    if (p->life < 0)
        return;
    REQUIRE(eventfd_write(p->life, 1) == 0);
    close(p->life);
    p->life = -1;
    p->generation++;
}

/* Of the process with number PID now; -1 with errno. */
static int life_of(pid_t pid)
{
    unsigned index = (unsigned)(pid - FIRST_PID);

    if (index < PROCESSES && processes[index].life >= 0)
        return processes[index].life;
    errno = ESRCH;
    return -1;
}

static bool ended(int life)
{
    struct pollfd p = {.fd = life, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

int host_process_hold(pid_t pid, uint64_t *start)
{
    int life = life_of(pid);

    if (life < 0)
        return -1;
    *start = 1 + processes[pid - FIRST_PID].generation;
    return fcntl(life, F_DUPFD_CLOEXEC, 0);
}

void host_process_release(int handle, struct sd_event_source *watch)
{
    sd_event_source_disable_unref(watch);
    if (handle >= 0)
        close(handle);
}

uint64_t host_process_cpu_ns(pid_t pid)
{
    return life_of(pid) < 0 ? UINT64_MAX : 1000000;
}

uint64_t host_process_resident(pid_t pid)
{
    return life_of(pid) < 0 ? 0 : 1000000;
}

int host_process_stopped(pid_t pid)
{
    return life_of(pid) < 0 ? -1 : 0;
}

/* As with a kernel that has SO_PEERPIDFD. */
int caller_open(int socket, pid_t pid)
{
    REQUIRE(socket < MOST_FD);
    if (pid < FIRST_PID || ended(connected[socket])) {
        errno = ESRCH;
        return -1;
    }
    return fcntl(connected[socket], F_DUPFD_CLOEXEC, 0);
}

bool caller_lives(int pidfd)
{
    return !ended(pidfd);
}

/* All but the last are of any job of their users'. */
int members_admit(struct job *job, pid_t pid, pid_t called, struct errtext *err)
{
    if (life_of(pid) < 0)
        return errtext_set(err, ESRCH, "pid %d: no such process", (int)pid);
    if (called != pid || user_of((unsigned)(pid - FIRST_PID)) != job->uid ||
        pid == FIRST_PID + PROCESSES - 1)
        return errtext_set(err, EPERM, "pid %d: not of this job", (int)pid);
    return 0;
}

/* ---- what else there is on a node ------------------------------------------ */

void enforcer_use_cgroups(struct enforcer *e, const char *node)
{
    (void)e;
    (void)node;
}

void enforcer_expect(struct enforcer *e, uint64_t now_ns)
{
    (void)e;
    (void)now_ns;
}

void enforcer_take_over(struct job *job)
{
    (void)job;
}

void enforcer_attached(struct enforcer *e, struct job *job, pid_t pid)
{
    (void)e;
    (void)job;
    (void)pid;
}

struct listener {
    char unused;
};

struct listener *listener_new(sd_event *event, const char *path, mode_t mode, uid_t other,
                              int64_t priority, listener_accepted *accepted, void *arg,
                              struct errtext *err)
{
    (void)event;
    (void)path;
    (void)mode;
    (void)other;
    (void)priority;
    (void)accepted;
    (void)arg;
    (void)err;
    return calloc(1, sizeof(struct listener));
}

void listener_free(struct listener *l)
{
    free(l);
}

void listener_remove_left(const char *path)
{
    (void)path;
}

/* ---- the agent ----------------------------------------------------------- */

/* Let the agent handle all that is there. */
static void settle(void)
{
    for (int i = 0; i < 500 && sd_event_run(loop, 0) > 0; i++)
        ;
}

/* Connect, by a job's socket or by that for all. */
static int connect_as(pid_t pid, uid_t uid, bool jobs)
{
    int fd[2], life = pid < FIRST_PID ? -1 : life_of(pid);

    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) == 0 &&
            fd[1] < MOST_FD);
    if (connected[fd[1]] > 0)
        close(connected[fd[1]]);
    connected[fd[1]] = life < 0 ? 0 : fcntl(life, F_DUPFD_CLOEXEC, 0);
    connecting = (struct ucred){.pid = pid, .uid = uid, .gid = uid};
    (jobs ? on_accepted_of_job : on_accepted)(agent->server, fd[1]);
    settle();
    return fd[0];
}

/* Read a reply from FD, which may have none: 1, 0 at its end, -1 without. */
static int read_reply(int fd)
{
    static struct message_packet packet;
    struct errtext err;
    int rc = message_receive(fd, &packet, &err);

    if (rc > 0) {
        json_t *reply = json_loadb(packet.text, packet.size,
                                   JSON_REJECT_DUPLICATES, NULL);
        REQUIRE(json_is_object(reply) &&
                json_is_boolean(json_object_get(reply, "ok")));
        json_decref(reply);
        message_packet_close(&packet);
    }
    return rc;
}

static void say(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Root is served, whatever others do. */
static void check_witness(void)
{
    say(witness, "{\"v\":1,\"op\":\"ping\"}");
    settle();
    REQUIRE(read_reply(witness) == 1);
}

/* What users hold is what their connections are. */
QUIET static void check_accounts(const struct server *s)
{
    static struct {
        size_t connections, attached, unread;
    } found[USERS_MOST];
    size_t count = 0, strangers = 0;

    memset(found, 0, sizeof(found));
    for (size_t k = 0; k < CONNECTIONS_MOST; k++) {
        const struct connection *c = s->connections.slot[k];
        if (!c)
            continue;
        size_t i = (size_t)(c->user - s->connections.users.user);
        REQUIRE(i < USERS_MOST);
        found[i].connections++;
        found[i].attached += c->job != 0;
        found[i].unread += c->unread;
    }
    for (size_t i = 0; i < USERS_MOST; i++) {
        const struct user *u = &s->connections.users.user[i];
        REQUIRE(u->connections == found[i].connections &&
                u->attached == found[i].attached &&
                u->unread == found[i].unread);
        count += u->connections;
        strangers += u->resident ? 0 : u->connections;
    }
    REQUIRE(s->connections.count == count &&
            s->connections.users.strangers.connections == strangers);
}

/* Each process has its connection, and no two have the same. */
static void check_processes(void)
{
    for (const struct job *j = agent->jobs.first; j; j = j->next)
        for (const struct process *p = j->processes; p; p = p->next) {
            const struct connection *c = connections_find(&agent->server->connections,
                                                          p->connection);
            REQUIRE(c && c->job == j->id && c->cred.pid == p->pid);
            for (const struct process *q = p->next; q; q = q->next)
                REQUIRE(q->connection != p->connection && q->pid != p->pid);
        }
}

static void begin(void)
{
    static struct settings settings;
    static char socket_path[300], state_path[300];
    char *argv[] = {"coschedd", "--no-slurm", "--auth",  "peer",
                    "--socket", socket_path,  "--state", state_path,
                    "--set",    "epoch=10s",  NULL};
    struct errtext err = {""};

    for (size_t i = 0; i < PROCESSES; i++)
        processes[i].life = -1;
    log_open(LOG_CRIT, false);
    snprintf(socket_path, sizeof(socket_path), "%s/sock", fuzz_directory());
    snprintf(state_path, sizeof(state_path), "%s/state", fuzz_directory());
    REQUIRE(settings_parse(&settings, sizeof(argv) / sizeof(argv[0]) - 1, argv,
                           &err) == 0);
    REQUIRE(sd_event_new(&loop) >= 0);
    agent = agent_new(&settings, NULL, loop, &request_handler, &err);
    if (!agent)
        fprintf(stderr, "%s\n", err.text);
    REQUIRE(agent);
    witness = connect_as(getpid(), geteuid(), false);
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i].fd = -1;
}

/* ---- what the input says ------------------------------------------------- */

static void request(const struct client *c, unsigned what, unsigned job,
                    unsigned other)
{
    static const char *const plain[] = {"status", "explain", "trace",
                                        "config", "ping",    "counters",
                                        "resume", "status"};
    char text[400];

    switch (what % 8) {
    case 0:
    case 1:
        snprintf(
            text, sizeof(text),
            "{\"v\":1,\"op\":\"attach\",\"job\":%u,\"pid\":%d,\"threads\":2}",
            job, (int)process(other % 8 ? c->process : other % PROCESSES));
        break;
    case 2:
        snprintf(
            text, sizeof(text),
            "{\"v\":1,\"op\":\"announce\",\"job\":%u,\"uid\":%u,\"name\":\"x\","
            "\"cores\":\"0\",\"memory_mb\":0,\"options\":\"\",\"restarts\":%u}",
            job, uid_of(other), other / 64);
        break;
    case 3:
        snprintf(text, sizeof(text),
                 "{\"v\":1,\"op\":\"task\",\"job\":%u,\"step\":0,\"pid\":%d}",
                 job, (int)process(other % PROCESSES));
        break;
    case 4:
        snprintf(text, sizeof(text), "{\"v\":1,\"op\":\"withdraw\",\"job\":%u}",
                 job);
        break;
    case 5:
        snprintf(text, sizeof(text), "{\"v\":1,\"op\":\"%s\",\"job\":%u}",
                 other % 2 ? "why" : plain[other % 3], job);
        break;
    default:
        snprintf(text, sizeof(text), "{\"v\":1,\"op\":\"%s\"}",
                 plain[other % 8]);
    }
    say(c->fd, text);
}

static void raw(const struct client *c, struct fuzz_bytes *from)
{
    char packet[64];
    size_t size = fuzz_take_byte(from) % sizeof(packet);

    fuzz_take(from, packet, size);
    (void)!send(c->fd, packet, size, MSG_NOSIGNAL);
}

static void close_client(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static void step(struct fuzz_bytes *from)
{
    unsigned word = fuzz_take_byte(from), argument = fuzz_take_byte(from);
    struct client *c = &clients[argument % CLIENTS];
    unsigned other = fuzz_take_byte(from);

    if (c->fd < 0) {
        c->root = other % 4 == 0;
        c->process = other % PROCESSES;
        c->fd = c->root ? connect_as(getpid(), geteuid(), false)
                        : connect_as(process(c->process), user_of(c->process), other & 64);
    }
    switch (word % 16) {
    case 0:
        close_client(c);
        break;
    case 1:
        end_process(other % PROCESSES);
        break;
    case 2:
        raw(c, from);
        break;
    case 3:
        next_cost_ns = (uint64_t)other * 2000000;
        break;
    case 4:
        shutdown(c->fd, other % 3);
        break;
    case 5:
    case 6:
        while (read_reply(c->fd) > 0)
            ;
        break;
    default:
        request(c, word % 16 - 7, 1 + other % JOBS, other / JOBS);
    }
    if (word < 128) /* else more is to come before the agent looks */
        settle();
}

/* Everybody leaves and is forgiven; nothing remains. */
QUIET static void end(void)
{
    struct server *s = agent->server;

    next_cost_ns = 0;
    for (size_t i = 0; i < USERS_MOST; i++)
        s->connections.users.user[i].left_ns = USERS_BURST_NS;
    s->connections.users.strangers.left_ns = USERS_BURST_NS;
    check_witness();
    check_accounts(s);
    check_processes();
    for (size_t i = 0; i < CLIENTS; i++)
        close_client(&clients[i]);
    settle();
    /* Those that wait would take their time. */
    for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
        struct connection *c = s->connections.slot[i];
        if (c && (c->waiting || c->ticket))
            connection_end(c);
    }
    settle();
    while (agent->jobs.first)
        ending_finish(agent, agent->jobs.first);
    settle();
    check_accounts(s);
    REQUIRE(s->connections.count == 1 && TAILQ_EMPTY(&s->connections.waiting));
    check_witness();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes from = {data, size};

    if (!agent)
        begin();
    while (from.size)
        step(&from);
    end();
    return 0;
}
