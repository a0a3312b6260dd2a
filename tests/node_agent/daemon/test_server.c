/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What users can make the server do: counts of requests, connections, bytes and
 * lines, with made-up users, time and cost. */

#include "tests/support/unit.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/clock.h"
#include "common/log.h"

static int said_getsockopt(int fd, int level, int name, void *value,
                           socklen_t *size);
static uint64_t said_cpu_ns(void);
static uint64_t said_ns(void);
#define getsockopt   said_getsockopt
#define clock_cpu_ns said_cpu_ns
#define clock_ns     said_ns
#include "node_agent/daemon/connections.c"
#include "node_agent/daemon/listener.c"
#include "node_agent/daemon/server.c"
#include "node_agent/daemon/turns.c"
#undef getsockopt
#undef clock_cpu_ns
#undef clock_ns

#define ROOT      0
#define STRANGERS 100000 /* uids from here on have no job */
#define MOST      3000   /* connections of a test */
#define MS        UINT64_C(1000000)

static struct {
    char path[64];
    char directory[48];
    sd_event *event;
    struct server *server;
    size_t connected, accepted;
    uint64_t now_ns, cpu_ns;
    uint64_t cost_ns;      /* of each request */
    size_t reply_bytes;    /* of each reply */
    size_t served[400000]; /* requests, by uid */
    size_t hangups;
    uint64_t last; /* connection that asked */
    /* An event like that of an epoch, due again after each request. */
    int epoch_fd;
    size_t epochs, before_epoch, most_before_epoch;
} w;

static int said_getsockopt(int fd, int level, int name, void *value,
                           socklen_t *size)
{
    struct sockaddr_un peer = {.sun_family = AF_UNIX};
    struct ucred cred = {.pid = 1};
    socklen_t length = sizeof(peer);

    if (name != SO_PEERCRED)
        return getsockopt(fd, level, name, value, size);
    assert_int_equal(getpeername(fd, (struct sockaddr *)&peer, &length), 0);
    assert_int_equal(sscanf(peer.sun_path + 1, "%u.", &cred.uid), 1);
    w.accepted++;
    memcpy(value, &cred, sizeof(cred));
    return 0;
}

static uint64_t said_cpu_ns(void)
{
    return w.cpu_ns;
}

static uint64_t said_ns(void)
{
    return w.now_ns;
}

static int on_request(void *arg, const struct peer *peer,
                      const struct message_request *request,
                      struct reply *reply, struct errtext *err)
{
    const uint64_t one = 1;

    (void)arg;
    w.last = peer->connection;
    w.served[peer->uid]++;
    w.cpu_ns += w.cost_ns;
    if (peer->uid != ROOT && ++w.before_epoch > w.most_before_epoch)
        w.most_before_epoch = w.before_epoch;
    assert_int_equal(write(w.epoch_fd, &one, sizeof(one)), sizeof(one));
    if (request->op == MESSAGE_ATTACH) {
        if (peer->job)
            return errtext_set(err, EALREADY, "attached");
        server_attached(w.server, peer->connection, request->job);
    }
    reply->body = json_object();
    if (w.reply_bytes)
        json_object_set_new(reply->body, "x",
                            json_sprintf("%*s", (int)w.reply_bytes, ""));
    return 0;
}

static void on_hangup(void *arg, uint64_t connection, uint32_t job)
{
    (void)arg;
    (void)connection;
    (void)job;
    w.hangups++;
}

static bool on_resident(void *arg, uid_t uid)
{
    (void)arg;
    return uid < STRANGERS;
}

static const struct server_handler handler = {on_request, on_hangup,
                                              on_resident};

static int on_epoch(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    uint64_t count;

    (void)source;
    (void)events;
    (void)arg;
    assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
    w.epochs++;
    w.before_epoch = 0;
    return 0;
}

static int set_up(void **state)
{
    struct errtext err = {""};

    (void)state;
    memset(&w, 0, sizeof(w));
    w.now_ns = 1000 * NS_PER_S;
    w.epoch_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    strcpy(w.directory, "/tmp/cosched-server.XXXXXX");
    assert_non_null(mkdtemp(w.directory));
    snprintf(w.path, sizeof(w.path), "%s/sock", w.directory);
    assert_true(sd_event_new(&w.event) >= 0);
    assert_true(sd_event_add_io(w.event, NULL, w.epoch_fd, EPOLLIN, on_epoch,
                                NULL) >= 0);
    w.server = server_new(w.event, w.path, SERVER_AUTH_PEER, NULL, &handler,
                          NULL, &err);
    if (!w.server)
        fail_msg("%s", err.text);
    return 0;
}

static int take_down(void **state)
{
    (void)state;
    server_free(w.server);
    assert_int_equal(rmdir(w.directory), 0);
    sd_event_unref(w.event);
    close(w.epoch_fd);
    return 0;
}

/* Let the server go on until CONDITION is true. */
#define RUN_UNTIL(condition)                                                   \
    for (int runs = 0; !(condition); runs++) {                                 \
        assert_true(runs < 10000);                                             \
        sd_event_run(w.event, 0);                                              \
    }

/* Let the server do all that it does without waiting. */
static void settle(void)
{
    while (sd_event_run(w.event, 0) > 0)
        ;
}

static size_t total_served(void)
{
    return w.served[1001] + w.served[1002] + w.served[1003];
}

/* NS later: what waited for that is done, too. */
static void pass(uint64_t ns)
{
    size_t before = 0;

    w.now_ns += ns;
    for (int idle = 0; idle < 4; idle++) {
        sd_event_run(w.event, 2 * WAIT_US); /* a look at who waits */
        if (total_served() != before)
            idle = 0;
        before = total_served();
    }
}

/* Connect by the socket of JOB, 0: of all.  The client's own address says who
 * it is. */
static int dial_by(uid_t uid, uint32_t job)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct sockaddr_un self = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    int n = snprintf(self.sun_path + 1, sizeof(self.sun_path) - 1, "%u.%d.%zu",
                     uid, (int)getpid(), w.connected++);
    assert_int_equal(bind(fd, (struct sockaddr *)&self,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                      1 + (size_t)n)),
                     0);
    if (job)
        snprintf(address.sun_path, sizeof(address.sun_path), "%s.%u", w.path,
                 job);
    else
        strcpy(address.sun_path, w.path);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)),
                     0);
    return fd;
}

static int dial(uid_t uid)
{
    return dial_by(uid, 0);
}

static int client(uid_t uid)
{
    int fd = dial(uid);

    settle();
    while (w.accepted < w.connected) /* there is a pause */
        sd_event_run(w.event, 1000);
    return fd;
}

static void ask(int fd)
{
    static const char ping[] = "{\"v\":1,\"op\":\"ping\"}";

    assert_int_equal(send(fd, ping, sizeof(ping) - 1, MSG_NOSIGNAL),
                     sizeof(ping) - 1);
}

/* 1: a reply was read, 0: hung up, -1: nothing there. */
static int hear(int fd)
{
    static char text[MESSAGE_MAX];
    ssize_t n = recv(fd, text, sizeof(text), 0);

    return n > 0 ? 1 : n == 0 || errno == ECONNRESET ? 0 : -1;
}

/* Between two requests of users comes whatever else is due: epochs, root. */
static void test_priority(void **state)
{
    int fd[60], root = client(ROOT);

    (void)state;
    for (size_t i = 0; i < 60; i++)
        fd[i] = client(1001 + i % 3);
    for (size_t i = 0; i < 60; i++)
        ask(fd[i]);
    ask(root);
    while (!w.served[ROOT] && sd_event_run(w.event, 0) > 0)
        ;
    assert_int_equal(total_served(), 0);
    settle();
    assert_int_equal(total_served(), 60);
    assert_int_equal(w.most_before_epoch, 1);
    assert_int_equal(w.epochs, 61);
    for (size_t i = 0; i < 60; i++)
        close(fd[i]);
    close(root);
}

/* However many connections of a user ask at once, another's request is next,
 * and those of two that ask much are served in turn. */
static void test_turns(void **state)
{
    int fd[3][100];
    size_t most;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        for (uid_t u = 0; u < 2; u++)
            fd[u][i] = client(1001 + u);
    fd[2][0] = client(1003);
    settle();
    for (size_t i = 0; i < 100; i++)
        ask(fd[0][i]);
    assert_true(sd_event_run(w.event, 0) > 0); /* all of them are seen */
    ask(fd[2][0]);
    RUN_UNTIL(w.served[1003])
    assert_in_range(w.served[1001], 1, 2);
    for (size_t i = 0; i < 10; i++)
        ask(fd[1][i]);
    RUN_UNTIL(w.served[1002] == 10)
    most = w.served[1001];
    assert_true(most <= 2 + 2 * 10 + 4);
    settle();
    assert_int_equal(w.served[1001], 100);
    for (size_t i = 0; i < 100; i++)
        for (uid_t u = 0; u < 2; u++)
            close(fd[u][i]);
    close(fd[2][0]);
}

/* 200 connections of three users ask again and again: each user is served what
 * his time is good for, not what his connections are, and what was too much is
 * paid back first. */
static void test_shares(void **state)
{
    int fd[3][200];
    size_t burst = (size_t)(USERS_BURST_NS / (int64_t)MS), count;

    (void)state;
    for (size_t i = 0; i < 200; i++)
        for (uid_t u = 0; u < 3; u++)
            if (i < 10 || u == 0)
                fd[u][i] = client(1001 + u);
    w.cost_ns = MS - USERS_EVENT_NS;
    for (int round = 0; round < 160; round++) {
        for (size_t i = 0; i < 200; i++)
            for (uid_t u = 0; u < 3; u++)
                if ((i < 10 || u == 0) && (!round || hear(fd[u][i]) > 0))
                    ask(fd[u][i]);
        settle();
    }
    /* Accepting was paid for, too: that is at most a connection's 5 us. */
    for (uid_t u = 0; u < 3; u++)
        assert_in_range(w.served[1001 + u], burst - 2, burst + 1);
    /* One that costs much is served while there is anything left, then nothing
     * is for long. */
    w.cost_ns = 100 * MS;
    count = w.served[1001];
    pass(100 * MS); /* income: 5 ms */
    assert_int_equal(w.served[1001], count + 1);
    pass(1800 * MS); /* 95 ms are owed */
    assert_int_equal(w.served[1001], count + 1);
    pass(200 * MS);
    assert_int_equal(w.served[1001], count + 2);
    for (size_t i = 0; i < 200; i++)
        for (uid_t u = 0; u < 3; u++)
            if (i < 10 || u == 0)
                close(fd[u][i]);
}

/* What a user's processes hang up on, and garbage, are paid for as well. */
static void test_all_is_paid(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        int fd = client(1001);
        assert_true(send(fd, "x", 1, MSG_NOSIGNAL) == 1);
        settle();
        close(fd);
        settle();
    }
    const struct user *u = users_find(&w.server->connections.users, 1001, false, true,
                                      w.now_ns);
    assert_int_equal(u->left_ns, USERS_BURST_NS - 200 * 2 * USERS_EVENT_NS);
    assert_int_equal(u->connections, 0);
}

/* A user's many connections leave some for others, and strangers' many uids
 * bring nothing. */
static void test_connections(void **state)
{
    static int fd[MOST];
    size_t of_user = 0, of_strangers = 0;
    struct rlimit limit;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 3 * MOST)
        skip();
    for (size_t i = 0; i < 1200; i++) {
        fd[i] = client(1001);
        w.now_ns += SERVER_PAUSE_NS;
    }
    for (size_t i = 0; i < 1200; i++)
        of_user += hear(fd[i]) < 0;
    assert_int_equal(of_user, CONNECTIONS_UID);
    for (size_t i = 1200; i < MOST; i++) {
        fd[i] = client(STRANGERS + (uid_t)(i % 1000));
        w.now_ns += SERVER_PAUSE_NS;
    }
    for (size_t i = 1200; i < MOST; i++)
        of_strangers += hear(fd[i]) < 0;
    assert_true(of_strangers <= CONNECTIONS_UID);
    for (size_t i = 0; i < MOST; i++)
        close(fd[i]);
}

/* Of connections that are refused only so many are accepted at a time, and one
 * line says so. */
static void test_refused(void **state)
{
    static int fd[500];
    int log = memfd_create("log", MFD_CLOEXEC), before = dup(STDERR_FILENO);
    char line[1000] = "";
    size_t lines = 0;

    (void)state;
    for (size_t i = 0; i < CONNECTIONS_SILENT_UID; i++)
        fd[i] = client(STRANGERS);
    assert_int_equal(w.accepted, CONNECTIONS_SILENT_UID);
    dup2(log, STDERR_FILENO);
    for (size_t i = CONNECTIONS_SILENT_UID; i < 500; i++)
        fd[i] = dial(STRANGERS);
    settle();
    /* One more after each pause, should this take so long: time stands still.
     */
    assert_in_range(w.accepted, CONNECTIONS_SILENT_UID + SERVER_REFUSED,
                    CONNECTIONS_SILENT_UID + SERVER_REFUSED + 100);
    dup2(before, STDERR_FILENO);
    close(before);
    assert_true(pread(log, line, sizeof(line) - 1, 0) > 0);
    for (const char *c = line; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 1);
    close(log);
    for (size_t i = 0; i < 500; i++)
        close(fd[i]);
}

/* Who comes by his job's socket waits for nobody at that for all; who owes time
 * is not even accepted at his own. */
static void test_own_socket(void **state)
{
    static int fd[500], own[300];
    struct errtext err;
    struct listener *listener = server_listen_for(w.server, 7, 1001, &err);
    struct listener *another = server_listen_for(w.server, 8, 1002, &err);

    (void)state;
    assert_non_null(listener);
    assert_non_null(another);
    for (size_t i = 0; i < CONNECTIONS_SILENT_UID; i++)
        fd[i] = client(STRANGERS);
    for (size_t i = CONNECTIONS_SILENT_UID; i < 500; i++)
        fd[i] = dial(STRANGERS);
    own[0] = dial_by(1001, 7);
    ask(own[0]);
    RUN_UNTIL(w.served[1001])
    assert_in_range(w.accepted, CONNECTIONS_SILENT_UID + 1,
                    CONNECTIONS_SILENT_UID + 2 * ACCEPT_MOST + 1);
    assert_int_equal(hear(own[0]), 1);
    while (w.accepted < w.connected) {
        w.now_ns += SERVER_PAUSE_NS;
        sd_event_run(w.event, 1000);
    }

    /* Nor does he wait for many at that of another. */
    size_t before = w.accepted;
    for (size_t i = 1; i < 100; i++)
        own[i] = dial_by(1002, 8);
    own[100] = dial_by(1001, 7);
    ask(own[100]);
    RUN_UNTIL(w.served[1001] == 2)
    assert_in_range(w.accepted, before + 1, before + 5);
    settle();
    for (size_t i = 1; i <= 100; i++)
        close(own[i]);
    settle();

    w.cost_ns = (uint64_t)USERS_BURST_NS + 100 * MS;
    ask(own[0]);
    settle();
    before = w.accepted;
    for (size_t i = 1; i < 300; i++)
        own[i] = dial_by(1001, 7);
    pass(0);
    assert_int_equal(w.accepted, before + 1);
    for (size_t i = 0; i < 500; i++)
        close(fd[i]);
    for (size_t i = 0; i < 300; i++)
        close(own[i]);
    listener_free(listener);
    listener_free(another);
}

/* Who does not read what he asked for is told nothing more, and gets no more
 * memory. */
static void test_unread(void **state)
{
    static int fd[100];
    size_t bytes = 0, users_bytes = 0, heard = 0;

    (void)state;
    w.reply_bytes = 50000;
    for (size_t i = 0; i < 100; i++) {
        fd[i] = client(1001);
        ask(fd[i]);
    }
    settle();
    assert_in_range(w.served[1001], 1, TURNS_UNREAD_UID / w.reply_bytes + 1);
    for (size_t i = 0; i < CONNECTIONS_MOST; i++)
        if (w.server->connections.slot[i]) {
            bytes += connection_unread(w.server->connections.slot[i]);
            users_bytes += w.server->connections.slot[i]->unread;
        }
    assert_int_equal(bytes, users_bytes);
    assert_true(bytes < TURNS_UNREAD_UID + 2 * MESSAGE_MAX);
    /* Others do not notice. */
    int other = client(1002);
    ask(other);
    settle();
    assert_int_equal(hear(other), 1);
    close(other);
    /* Once read, the others have their turn. */
    for (int round = 0; round < 50 && heard < 100; round++) {
        for (size_t i = 0; i < 100; i++)
            heard += hear(fd[i]) > 0;
        pass(30 * MS);
    }
    assert_int_equal(heard, 100);
    for (size_t i = 0; i < 100; i++)
        close(fd[i]);
}

/* Who asks again without having read is disconnected; a reply that nobody reads
 * goes with its connection. */
static void test_deaf(void **state)
{
    int fd = client(1001), silent = client(1001);

    (void)state;
    ask(fd);
    settle();
    ask(fd);
    settle();
    assert_int_equal(w.served[1001], 1);
    assert_int_equal(hear(fd), 1);
    assert_int_equal(hear(fd), 0);
    ask(silent);
    settle();
    w.now_ns += 2 * SERVER_SILENT_NS;
    for (int i = 0; i < 1000 && w.server->connections.count; i++)
        sd_event_run(w.event, 10000);
    assert_int_equal(w.server->connections.count, 0);
    close(fd);
    close(silent);
}

/* A number that outlives its connection finds nothing, whoever has its place.
 */
static void test_numbers(void **state)
{
    static const char attach[] =
        "{\"v\":1,\"op\":\"attach\",\"job\":7,\"pid\":1,\"threads\":1}";
    int fd = client(1001);

    (void)state;
    send(fd, attach, sizeof(attach) - 1, MSG_NOSIGNAL);
    settle();
    uint64_t old = w.last;
    assert_int_equal(hear(fd), 1);
    /* One connection has one process. */
    send(fd, attach, sizeof(attach) - 1, MSG_NOSIGNAL);
    settle();
    assert_int_equal(hear(fd), 1);
    close(fd);
    settle();
    assert_int_equal(w.hangups, 1);
    int next = client(1002);
    ask(next);
    settle();
    assert_int_equal(w.last % CONNECTIONS_MOST, old % CONNECTIONS_MOST);
    assert_true(w.last != old);
    server_drop(w.server, old);
    server_attached(w.server, old, 7);
    server_drop(w.server, 0);
    server_drop(w.server, UINT64_MAX);
    settle();
    assert_int_equal(hear(next), 1);
    assert_int_equal(hear(next), -1);
    server_drop(w.server, w.last);
    settle();
    assert_int_equal(hear(next), 0);
    assert_int_equal(w.hangups, 1);
    assert_int_equal(w.server->connections.count, 0);
    close(next);
}

UNIT(test_server)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_priority, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_turns, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_shares, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_all_is_paid, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_connections, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_own_socket, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_unread, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_deaf, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_numbers, set_up, take_down),
    };

    return cmocka_run_group_tests_name("test_server", tests, NULL, NULL);
}
