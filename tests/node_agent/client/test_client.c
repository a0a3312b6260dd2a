/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The client library against a listener of the test's own. */

#include "config.h"

#include "tests/support/unit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "node_agent/client/client.h"
#include "node_agent/client/munge_credential.h"

/* Long enough to be certain that an answer was not late. */
#define PATIENT_MS 20000

struct agent {
    char directory[32];
    char path[64];
    int listener;
    struct message_packet packet;
};

static int set_up(void **state)
{
    struct agent *agent = calloc(1, sizeof(*agent));
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (!agent)
        return -1;
    strcpy(agent->directory, "/tmp/cosched-test.XXXXXX");
    if (!mkdtemp(agent->directory))
        return -1;
    snprintf(agent->path, sizeof(agent->path), "%s/sock", agent->directory);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", agent->path);
    agent->listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    *state = agent;
    return bind(agent->listener, (struct sockaddr *)&address,
                sizeof(address)) < 0 ||
           listen(agent->listener, 4) < 0;
}

static int tear_down(void **state)
{
    struct agent *agent = *state;

    close(agent->listener);
    unlink(agent->path);
    rmdir(agent->directory);
    free(agent);
    return 0;
}

static void test_socket_path(void **state)
{
    static const struct {
        const char *path, *environment, *node, *want;
    } table[] = {
        {"/a/b", NULL, NULL, "/a/b"},
        {"/a/b", "/c", NULL, "/a/b"},
        {NULL, "/c", NULL, "/c"},
        {"", "/c", NULL, "/c"},
        {NULL, NULL, NULL, COSCHED_RUNDIR "/coschedd.sock"},
        {NULL, "", NULL, COSCHED_RUNDIR "/coschedd.sock"},
        {"/a-%n.sock", NULL, "n1", "/a-n1.sock"},
        {"%n%n", NULL, "n1", "n1n1"},
        {"/a%", NULL, "n1", "/a%"},
        {"/%d%%n", NULL, "n1", "/%d%n1"},
    };
    char buffer[256];
    struct errtext err;

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        unsetenv("COSCHED_SOCKET");
        unsetenv("SLURMD_NODENAME");
        if (table[i].environment)
            setenv("COSCHED_SOCKET", table[i].environment, 1);
        if (table[i].node)
            setenv("SLURMD_NODENAME", table[i].node, 1);
        assert_int_equal(client_socket_path(table[i].path, buffer,
                                            sizeof(buffer), &err), 0);
        assert_string_equal(buffer, table[i].want);
    }
    /* A node's name is no way out of the directory. */
    setenv("SLURMD_NODENAME", "../x", 1);
    assert_int_equal(client_socket_path("%n", buffer, sizeof(buffer), &err), 0);
    assert_null(strchr(buffer, '/'));
    unsetenv("SLURMD_NODENAME");
    unsetenv("COSCHED_SOCKET");

    errno = 0;
    assert_int_equal(client_socket_path("/abc", buffer, 4, &err), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    assert_non_null(strstr(err.text, "/abc"));
    assert_int_equal(client_socket_path("/abc", buffer, 5, &err), 0);
}

static void test_no_agent(void **state)
{
    struct agent *agent = *state;
    struct errtext err = {""};
    char long_path[256];

    errno = 0;
    assert_null(client_open("/nowhere/sock", PATIENT_MS, &err));
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(err.text, "/nowhere/sock"));
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_null(client_open(long_path, PATIENT_MS, &err));
    assert_int_equal(errno, ENAMETOOLONG);
    /* A socket that an agent has left behind. */
    close(agent->listener);
    agent->listener = -1;
    assert_null(client_open(agent->path, PATIENT_MS, &err));
    assert_int_equal(errno, ECONNREFUSED);
    errno = EXDEV;
    client_close(NULL);
    assert_int_equal(errno, EXDEV);
}

/* One that does not even accept. */
static void test_full_backlog(void **state)
{
    struct agent *agent = *state;
    struct client *clients[64];
    size_t count = 0;

    errno = 0;
    while (count < 64 &&
           (clients[count] = client_open(agent->path, 50, NULL)) != NULL)
        count++;
    assert_in_range(count, 1, 63);
    assert_int_equal(errno, ETIMEDOUT);
    while (count)
        client_close(clients[--count]);
}

static void test_timeout(void **state)
{
    static const struct message_request ping = {.op = MESSAGE_PING};
    static const char late[] = "{\"v\":1,\"ok\":true,\"late\":1}";
    struct agent *agent = *state;
    struct errtext err = {""};
    struct client *client = client_open(agent->path, 50, &err);
    json_t *reply = NULL;

    assert_non_null(client);
    int peer = accept(agent->listener, NULL, NULL);
    assert_int_equal(client_call(client, &ping, &reply, NULL, 0, NULL, &err),
                     -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_null(reply);
    assert_non_null(strstr(err.text, "50 ms"));
    /* What comes late is nobody's reply. */
    message_send(peer, late, strlen(late), NULL, 0, NULL);
    assert_int_equal(client_call(client, &ping, &reply, NULL, 0, NULL, &err),
                     -1);
    assert_null(reply);
    close(peer);
    client_close(client);
}

/* An agent that stops between two answers: what the first took is gone. */
static void test_timeout_in_all(void **state)
{
    static const struct message_request ping = {.op = MESSAGE_PING};
    static const char text[] = "{\"v\":1,\"ok\":true}";
    struct agent *agent = *state;
    struct errtext err = {""};
    struct client *client = client_open(agent->path, 50, &err);
    struct client *other = client_open(agent->path, PATIENT_MS, &err);

    assert_non_null(client);
    assert_non_null(other);
    int peer = accept(agent->listener, NULL, NULL);
    int other_peer = accept(agent->listener, NULL, NULL);
    client_bound_in_all(client);
    for (int i = 0; i < 2; i++) {
        message_send(peer, text, strlen(text), NULL, 0, NULL);
        message_send(other_peer, text, strlen(text), NULL, 0, NULL);
    }
    assert_int_equal(client_call(other, &ping, NULL, NULL, 0, NULL, &err), 0);
    usleep(50000);
    /* Its answer is there, but so late that nobody asks any more. */
    assert_int_equal(client_call(client, &ping, NULL, NULL, 0, NULL, &err), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_string_equal(err.text, "the agent did not answer within 50 ms");
    assert_int_equal(message_receive(other_peer, &agent->packet, NULL), 1);
    fcntl(peer, F_SETFL, O_NONBLOCK);
    assert_int_equal(message_receive(peer, &agent->packet, NULL), -1);
    assert_int_equal(errno, EAGAIN);
    /* Else each call has its own time. */
    assert_int_equal(client_call(other, &ping, NULL, NULL, 0, NULL, &err), 0);
    close(peer);
    close(other_peer);
    client_close(client);
    client_close(other);
}

/* Answer REQUEST with TEXT and COUNT descriptors; what client_call() returns. */
static int call(struct agent *agent, const char *text, size_t count,
                json_t **reply, int *fds, size_t max_fds, size_t *nfds,
                struct errtext *err)
{
    static const struct message_request ping = {.op = MESSAGE_PING};
    struct client *client = client_open(agent->path, PATIENT_MS, err);
    int pages[MESSAGE_MAX_FDS];

    assert_non_null(client);
    int peer = accept(agent->listener, NULL, NULL);
    /* Answered before it was asked, so that one thread is enough. */
    for (size_t i = 0; i < count; i++)
        pages[i] = agent->listener;
    if (text)
        assert_int_equal(
            message_send(peer, text, strlen(text), pages, count, NULL), 0);
    else
        shutdown(peer, SHUT_WR);
    int rc = client_call(client, &ping, reply, fds, max_fds, nfds, err);
    int saved = errno;
    assert_int_equal(message_receive(peer, &agent->packet, NULL), 1);
    assert_string_equal(agent->packet.text, "{\"v\":1,\"op\":\"ping\"}");
    close(peer);
    client_close(client);
    errno = saved;
    return rc;
}

static size_t open_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void test_bad_replies(void **state)
{
    static const struct {
        const char *text;
        int errnum;
        const char *says;
    } table[] = {
        {NULL, ECONNRESET, "hung up"},
        {"x", EPROTO, "not JSON"},
        {"[]", EPROTO, "not JSON"},
        {"{\"ok\":true,\"ok\":true}", EPROTO, "not JSON"},
        {"{}", EPROTO, "without a reason"},
        {"{\"ok\":1}", EPROTO, "without a reason"},
        {"{\"ok\":false,\"errnum\":2,\"error\":\"job 9: gone\"}", ENOENT,
         "job 9: gone"},
        {"{\"ok\":false,\"errnum\":0,\"error\":\"odd\"}", EPROTO, "odd"},
        {"{\"ok\":false,\"errnum\":-2,\"error\":\"odd\"}", EPROTO, "odd"},
        {"{\"ok\":false,\"errnum\":99999,\"error\":\"odd\"}", EPROTO, "odd"},
        {"{\"ok\":false,\"errnum\":1,\"error\":\"a\\nb\"}", EPERM, "a?b"},
        {"{\"ok\":false,\"errnum\":1,\"error\":7}", EPERM, "without a reason"},
    };
    struct agent *agent = *state;
    size_t before = open_descriptors();

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct errtext err = {""};
        json_t *reply = NULL;
        int fds[2];
        size_t nfds = 7;
        errno = 0;
        /* Descriptors of a reply that is none are closed. */
        assert_int_equal(call(agent, table[i].text, table[i].text ? 2 : 0,
                              &reply, fds, 2, &nfds, &err), -1);
        if (errno != table[i].errnum || !strstr(err.text, table[i].says))
            fail_msg("%s: errno %d, '%s'", table[i].text, errno, err.text);
        assert_null(reply);
        assert_int_equal(nfds, 0);
        assert_int_equal(open_descriptors(), before);
    }
}

static void test_replies(void **state)
{
    static const char text[] = "{\"v\":1,\"ok\":true,\"new\":[1]}";
    struct agent *agent = *state;
    size_t before = open_descriptors();
    struct errtext err = {""};
    json_t *reply = NULL;
    int fds[2] = {-1, -1};
    size_t nfds = 7;

    assert_int_equal(call(agent, text, 0, NULL, NULL, 0, NULL, &err), 0);
    assert_int_equal(call(agent, text, 2, NULL, NULL, 0, NULL, &err), 0);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(call(agent, text, 2, &reply, fds, 1, &nfds, &err), 0);
    assert_int_equal(json_array_size(json_object_get(reply, "new")), 1);
    json_decref(reply);
    assert_int_equal(nfds, 1);
    assert_int_equal(open_descriptors(), before + 1);
    close(fds[0]);
    assert_int_equal(call(agent, text, 2, NULL, fds, 2, &nfds, &err), 0);
    assert_int_equal(nfds, 2);
    assert_int_equal(open_descriptors(), before + 2);
    close(fds[0]);
    close(fds[1]);
}

static void test_bad_request(void **state)
{
    static const struct message_request bad = {.op = MESSAGE_WITHDRAW};
    struct agent *agent = *state;
    struct errtext err = {""};
    struct client *client = client_open(agent->path, PATIENT_MS, &err);

    assert_non_null(client);
    assert_int_equal(client_call(client, &bad, NULL, NULL, 0, NULL, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.text, "'job'"));
    client_close(client);
}

#ifdef HAVE_MUNGE

/* A munged that accepts and never answers holds nobody for longer than the client's time, and
 * leaves no process behind. */
static void test_hanging_munge(void **state)
{
    struct agent *agent = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct message_request request = {.op = MESSAGE_WITHDRAW, .job = 5};
    struct errtext err = {""};

    snprintf(address.sun_path, sizeof(address.sun_path), "%s.munge", agent->path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    struct client *client = client_open(agent->path, 300, &err);
    assert_non_null(client);
    client_bound_in_all(client);
    assert_int_equal(client_use_munge(client, address.sun_path, &err), 0);
    assert_int_equal(client_call(client, &request, NULL, NULL, 0, NULL, &err), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_non_null(strstr(err.text, "munged did not answer"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    client_close(client);
    close(fd);
    unlink(address.sun_path);
}

#endif

/* Without munged, or without munge: an error, and nothing unsigned is sent. */
static void test_no_munge(void **state)
{
    static const struct message_request withdraw = {.op = MESSAGE_WITHDRAW,
                                                    .job = 1};
    struct agent *agent = *state;
    struct errtext err = {""};
    struct client *client = client_open(agent->path, PATIENT_MS, &err);
    char *payload = NULL;
    size_t size;
    uid_t uid;

    assert_non_null(client);
    int peer = accept(agent->listener, NULL, NULL);
    fcntl(peer, F_SETFL, O_NONBLOCK);
    if (client_use_munge(client, "/nowhere/munge", &err) == 0) {
        assert_int_equal(
            client_call(client, &withdraw, NULL, NULL, 0, NULL, &err), -1);
        assert_int_equal(errno, EACCES);
        assert_non_null(strstr(err.text, "munge: "));
        assert_int_equal(munge_credential_decode("MUNGE:x:", "/nowhere/munge",
                                                 &payload, &size, &uid, &err),
                         -1);
        assert_int_equal(errno, EACCES);
    } else {
        assert_int_equal(errno, ENOTSUP);
        assert_non_null(strstr(err.text, "without munge"));
    }
    assert_null(payload);
    assert_int_equal(message_receive(peer, &agent->packet, NULL), -1);
    assert_int_equal(errno, EAGAIN);
    close(peer);
    client_close(client);
}

UNIT(test_client)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_socket_path),
        cmocka_unit_test_setup_teardown(test_no_agent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_backlog, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_timeout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_timeout_in_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_replies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_munge, set_up, tear_down),
#ifdef HAVE_MUNGE
        cmocka_unit_test_setup_teardown(test_hanging_munge, set_up, tear_down),
#endif
    };

    return cmocka_run_group_tests_name("test_client", tests, NULL, NULL);
}
