/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: the agent's socket as a state machine.  Connections of several
 * users and their processes open, attach, ask, hang up and end in any order,
 * while root announces and withdraws their jobs. */

#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

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

#include "node_agent/daemon/request.h"
#include "node_agent/daemon/agent.h"
#include "node_agent/daemon/ending.h"
#include "node_agent/core/process.h"

#define CLIENTS   12
#define PROCESSES 6
#define USERS     3
#define FIRST_UID 61101
#define JOBS      4

/* A process that does nothing, of user INDEX % USERS. */
static pid_t processes[PROCESSES];
static int zygote; /* makes them */

static struct client {
    int fd; /* -1: none */
    unsigned process;
    bool root;
} clients[CLIENTS];

static struct ucred
    connecting[CLIENTS + 8]; /* in the order of their connect() */
static unsigned first_connecting, after_connecting;

static sd_event *loop;
static struct agent *agent;
static int witness = -1; /* root's connection, which nobody may touch */
static uint64_t cpu_ns;
static uint64_t next_cost_ns;

static uid_t uid_of(unsigned process)
{
    return FIRST_UID + process % USERS;
}

static int said_getsockopt(int fd, int level, int name, void *value,
                           socklen_t *size)
{
    if (name != SO_PEERCRED)
        return getsockopt(fd, level, name, value, size);
    REQUIRE(first_connecting != after_connecting);
    memcpy(value, &connecting[first_connecting], sizeof(connecting[0]));
    first_connecting = (first_connecting + 1) % (CLIENTS + 8);
    return 0;
}

static uint64_t said_cpu_ns(void)
{
    cpu_ns += next_cost_ns;
    return cpu_ns;
}

/* ---- processes ----------------------------------------------------------- */

static void serve_zygote(int from)
{
    uint8_t index;

    signal(SIGCHLD, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        close(fd);
    while (read(from, &index, 1) == 1) {
        pid_t pid = fork();
        if (pid == 0) {
            uid_t uid = uid_of(index);
            /* Without root it is ours. */
            if (setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) < 0)
                _exit(1);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pause();
            _exit(0);
        }
        if (write(from, &pid, sizeof(pid)) != sizeof(pid))
            break;
    }
    _exit(0);
}

static pid_t process(unsigned index)
{
    uint8_t byte = (uint8_t)index;

    if (!processes[index]) {
        ssize_t n;
        REQUIRE(write(zygote, &byte, 1) == 1);
        do /* libFuzzer's clock interrupts it */
            n = read(zygote, &processes[index], sizeof(pid_t));
        while (n < 0 && errno == EINTR);
        REQUIRE(n == sizeof(pid_t) && processes[index] > 0);
    }
    return processes[index];
}

static void end_process(unsigned index)
{
    if (processes[index])
        kill(processes[index], SIGKILL);
    processes[index] = 0;
}

/* ---- the agent ----------------------------------------------------------- */

/* Let the agent handle all that is there. */
static void settle(void)
{
    for (int i = 0; i < 500 && sd_event_run(loop, 0) > 0; i++)
        ;
}

static int connect_as(pid_t pid, uid_t uid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/sock",
             fuzz_directory());
    REQUIRE(fd >= 0 &&
            connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    connecting[after_connecting] = (struct ucred){
        .pid = pid, .uid = uid, .gid = uid};
    after_connecting = (after_connecting + 1) % (CLIENTS + 8);
    settle();
    return fd;
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
    for (size_t k = 0; k < SERVER_CONNECTIONS; k++) {
        const struct connection *c = s->slot[k];
        if (!c)
            continue;
        size_t i = (size_t)(c->user - s->users.user);
        REQUIRE(i < USERS_MOST);
        found[i].connections++;
        found[i].attached += c->job != 0;
        found[i].unread += c->unread;
    }
    for (size_t i = 0; i < USERS_MOST; i++) {
        const struct user *u = &s->users.user[i];
        REQUIRE(u->connections == found[i].connections &&
                u->attached == found[i].attached &&
                u->unread == found[i].unread);
        count += u->connections;
        strangers += u->resident ? 0 : u->connections;
    }
    REQUIRE(s->count == count && s->users.strangers.connections == strangers);
}

/* Each process has its connection, and no two have the same. */
static void check_processes(void)
{
    for (const struct job *j = agent->jobs.first; j; j = j->next)
        for (const struct process *p = j->processes; p; p = p->next) {
            const struct connection *c = connection_find(agent->server,
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
    int pair[2];

    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    if (fork() == 0)
        serve_zygote(pair[1]);
    close(pair[1]);
    zygote = pair[0];
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
    witness = connect_as(getpid(), geteuid());
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
        c->fd = c->root ? connect_as(getpid(), geteuid())
                        : connect_as(process(c->process), uid_of(c->process));
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
        s->users.user[i].left_ns = USERS_BURST_NS;
    s->users.strangers.left_ns = USERS_BURST_NS;
    check_witness();
    check_accounts(s);
    check_processes();
    for (size_t i = 0; i < CLIENTS; i++)
        close_client(&clients[i]);
    settle();
    for (size_t i = 0; i < SERVER_CONNECTIONS;
         i++) /* they would take their time */
        if (s->slot[i] && (s->slot[i]->waiting || s->slot[i]->ticket))
            connection_end(s->slot[i]);
    settle();
    while (agent->jobs.first)
        ending_finish(agent, agent->jobs.first);
    settle();
    check_accounts(s);
    REQUIRE(s->count == 1 && TAILQ_EMPTY(&s->waiting));
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
