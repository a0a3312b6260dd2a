/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Encode, decode, send and receive the messages of protocol/message.h. */

#include "protocol/message.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Kind of a key's value, which decides its range and its C type. */
enum key_kind {
    KEY_U32,      /* 0 .. 2^32-1, uint32_t */
    KEY_POSITIVE, /* 1 .. 2^32-1, uint32_t */
    KEY_PID,      /* 1 .. 2^31-1, pid_t */
    KEY_U64,      /* 0 .. 2^63-1, uint64_t */
    KEY_TEXT,     /* string shorter than the field */
};

struct key {
    const char *name;
    enum key_kind kind;
    size_t offset; /* in struct message_request */
    size_t size;   /* of the field */
};

#define KEY(name, kind, field)                                                 \
    {name, kind, offsetof(struct message_request, field),                      \
     sizeof(((struct message_request *)0)->field)}

enum key_index {
    K_JOB,
    K_UID,
    K_NAME,
    K_CORES,
    K_MEMORY,
    K_OPTIONS,
    K_RESTARTS,
    K_STEP,
    K_PID,
    K_THREADS,
    K_DIR,
    K_LAYOUT,
    K_REASON,
    K_NODE,
    K_MODE,
    K_WHY,
    KEYS,
};

static const struct key keys[KEYS] = {
    [K_JOB] = KEY("job", KEY_POSITIVE, job),
    [K_UID] = KEY("uid", KEY_U32, uid),
    [K_NAME] = KEY("name", KEY_TEXT, name),
    [K_CORES] = KEY("cores", KEY_TEXT, cores),
    [K_MEMORY] = KEY("memory_mb", KEY_U64, memory_mb),
    [K_OPTIONS] = KEY("options", KEY_TEXT, options),
    [K_RESTARTS] = KEY("restarts", KEY_U32, restarts),
    [K_STEP] = KEY("step", KEY_U32, step),
    [K_PID] = KEY("pid", KEY_PID, pid),
    [K_THREADS] = KEY("threads", KEY_POSITIVE, threads),
    [K_DIR] = KEY("dir", KEY_TEXT, dir),
    [K_LAYOUT] = KEY("layout", KEY_POSITIVE, layout),
    [K_REASON] = KEY("reason", KEY_TEXT, reason),
    [K_NODE] = KEY("node", KEY_U32, node),
    [K_MODE] = KEY("mode", KEY_TEXT, mode),
    [K_WHY] = KEY("why", KEY_TEXT, why),
};

#define BIT(k) (1u << (k))

/* The operations: the table of message.h. */
static const struct {
    const char *name;
    bool privileged;
    unsigned required;
    unsigned optional;
} ops[MESSAGE_OPS] = {
    [MESSAGE_ANNOUNCE] = {"announce", true,
                          BIT(K_JOB) | BIT(K_UID) | BIT(K_NAME) |
                              BIT(K_CORES) | BIT(K_MEMORY) | BIT(K_OPTIONS) |
                              BIT(K_RESTARTS),
                          BIT(K_NODE) | BIT(K_STEP)},
    [MESSAGE_TASK] = {"task", true, BIT(K_JOB) | BIT(K_STEP) | BIT(K_PID), 0},
    [MESSAGE_WITHDRAW] = {"withdraw", true, BIT(K_JOB), 0},
    [MESSAGE_ATTACH] = {"attach", false,
                        BIT(K_JOB) | BIT(K_PID) | BIT(K_THREADS),
                        BIT(K_LAYOUT) | BIT(K_MODE) | BIT(K_WHY)},
    [MESSAGE_STATUS] = {"status", false, 0, BIT(K_JOB)},
    [MESSAGE_EXPLAIN] = {"explain", false, 0, BIT(K_JOB)},
    [MESSAGE_TRACE] = {"trace", false, 0, BIT(K_JOB)},
    [MESSAGE_CONFIG] = {"config", false, 0, 0},
    [MESSAGE_PING] = {"ping", false, 0, 0},
    [MESSAGE_COUNTERS] = {"counters", false, 0, 0},
    [MESSAGE_RECORD] = {"record", true, BIT(K_DIR), 0},
    [MESSAGE_DRAIN] = {"drain", true, BIT(K_REASON), 0},
    [MESSAGE_RESUME] = {"resume", true, 0, 0},
    [MESSAGE_WHY] = {"why", false, BIT(K_JOB), 0},
};

const char *message_op_name(enum message_op op)
{
    return (unsigned)op < MESSAGE_OPS ? ops[op].name : NULL;
}

bool message_op_privileged(enum message_op op)
{
    return (unsigned)op < MESSAGE_OPS && ops[op].privileged;
}

static int decode_number(const struct key *key, const json_t *value,
                         struct message_request *request, struct errtext *err)
{
    json_int_t number = json_integer_value(value);
    json_int_t low = key->kind == KEY_POSITIVE || key->kind == KEY_PID;
    json_int_t high = key->kind == KEY_U64   ? INT64_MAX
                      : key->kind == KEY_PID ? INT32_MAX
                                             : UINT32_MAX;
    char *field = (char *)request + key->offset;

    if (!json_is_integer(value))
        return errtext_set(err, EINVAL, "key '%s': not an integer", key->name);
    if (number < low || number > high)
        return errtext_set(err, EINVAL, "key '%s': %" JSON_INTEGER_FORMAT
                           " is out of range", key->name, number);
    if (key->kind == KEY_U64)
        *(uint64_t *)field = (uint64_t)number;
    else if (key->kind == KEY_PID)
        *(pid_t *)field = (pid_t)number;
    else
        *(uint32_t *)field = (uint32_t)number;
    return 0;
}

static int decode_text(const struct key *key, const json_t *value,
                       struct message_request *request, struct errtext *err)
{
    if (!json_is_string(value))
        return errtext_set(err, EINVAL, "key '%s': not a string", key->name);
    /* JSON text may hold zero bytes only if asked for; ours may not. */
    if (json_string_length(value) >= key->size)
        return errtext_set(err, EINVAL, "key '%s': longer than %zu bytes",
                           key->name, key->size - 1);
    memcpy((char *)request + key->offset, json_string_value(value),
           json_string_length(value) + 1);
    return 0;
}

/* Index of the key called NAME, or KEYS. */
static unsigned key_find(const char *name)
{
    unsigned k = 0;

    while (k < KEYS && strcmp(keys[k].name, name) != 0)
        k++;
    return k;
}

/* True when OBJECT says that it is of a later revision. */
static bool is_later(const json_t *object)
{
    const json_t *revision = json_object_get(object, "r");

    return json_is_integer(revision) &&
           json_integer_value(revision) > MESSAGE_REVISION;
}

/* Decode all keys but "v", "r" and "op". */
static int decode_keys(json_t *object, struct message_request *request,
                       struct errtext *err)
{
    bool later = is_later(object);
    unsigned allowed = ops[request->op].required | ops[request->op].optional;
    unsigned seen = 0;
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value) {
        if (strcmp(name, "v") == 0 || strcmp(name, "op") == 0 ||
            (strcmp(name, "r") == 0 && json_is_integer(value)))
            continue;
        unsigned k = key_find(name);
        if (later && (k == KEYS || !(allowed & BIT(k))))
            continue;
        if (k == KEYS || !(allowed & BIT(k)))
            return errtext_set(err, EINVAL, "key '%.40s': unknown for '%s'",
                               name, ops[request->op].name);
        if ((keys[k].kind == KEY_TEXT
                 ? decode_text(&keys[k], value, request, err)
                 : decode_number(&keys[k], value, request, err)) < 0)
            return -1;
        seen |= BIT(k);
    }
    for (unsigned k = 0; k < KEYS; k++)
        if (ops[request->op].required & ~seen & BIT(k))
            return errtext_set(err, EINVAL, "key '%s': missing for '%s'",
                               keys[k].name, ops[request->op].name);
    return 0;
}

/* Decode "v" and "op". */
static int decode_head(json_t *object, struct message_request *request,
                       struct errtext *err)
{
    const json_t *version = json_object_get(object, "v");
    const char *op = json_string_value(json_object_get(object, "op"));
    unsigned i = 0;

    if (!json_is_integer(version))
        return errtext_set(err, EPROTO, "key 'v': missing or not an integer");
    if (json_integer_value(version) < MESSAGE_VERSION_OLDEST ||
        json_integer_value(version) > MESSAGE_VERSION)
        return errtext_set(err, EPROTO, "message version %" JSON_INTEGER_FORMAT
                           ", this agent speaks %d to %d",
                           json_integer_value(version), MESSAGE_VERSION_OLDEST,
                           MESSAGE_VERSION);
    if (!op)
        return errtext_set(err, EINVAL, "key 'op': missing or not a string");
    while (i < MESSAGE_OPS && strcmp(ops[i].name, op) != 0)
        i++;
    if (i == MESSAGE_OPS)
        return errtext_set(err, EOPNOTSUPP, "op '%.40s': unknown", op);
    request->op = (enum message_op)i;
    return 0;
}

int message_decode(const char *text, size_t size,
                   struct message_request *request, struct errtext *err)
{
    struct message_request result;
    json_error_t where;
    int rc = -1;

    memset(&result, 0, sizeof(result));
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (!object)
        return errtext_set(err, EBADMSG, "not JSON: %.120s", where.text);
    if (!json_is_object(object))
        errtext_set(err, EBADMSG, "not a JSON object");
    else if (decode_head(object, &result, err) == 0 &&
             decode_keys(object, &result, err) == 0) {
        *request = result;
        rc = 0;
    }
    int saved = errno;
    json_decref(object);
    errno = saved;
    return rc;
}

/* TEXT (SIZE bytes at most) as JSON: a job's name may be any bytes, and that is
 * no reason to leave the job alone. */
static json_t *encode_text(const char *text, size_t size)
{
    char copy[MESSAGE_CORES_MAX];

    if (size > sizeof(copy) || !memchr(text, '\0', size))
        return NULL;
    return json_string(errtext_clean(strcpy(copy, text)));
}

/* The value of KEY in REQUEST, a new reference, or NULL where the agent would
 * refuse it. */
static json_t *encode_key(const struct key *key,
                          const struct message_request *request)
{
    const char *field = (const char *)request + key->offset;
    uint64_t number;

    switch (key->kind) {
    case KEY_TEXT:
        return encode_text(field, key->size);
    case KEY_U64:
        number = *(const uint64_t *)field;
        return number <= INT64_MAX ? json_integer((json_int_t)number) : NULL;
    case KEY_PID:
        return *(const pid_t *)field > 0
                   ? json_integer(*(const pid_t *)field)
                   : NULL;
    default:
        number = *(const uint32_t *)field;
        return number || key->kind == KEY_U32 ? json_integer((json_int_t)number)
                                              : NULL;
    }
}

char *message_encode(const struct message_request *request,
                     struct errtext *err)
{
    const char *op = message_op_name(request->op);

    if (!op) {
        errtext_set(err, EINVAL, "op %d: unknown", (int)request->op);
        return NULL;
    }
    unsigned present = ops[request->op].required;
    if (request->job)
        present |= ops[request->op].optional & BIT(K_JOB);
    if (request->layout)
        present |= ops[request->op].optional & BIT(K_LAYOUT);
    if (request->node)
        present |= ops[request->op].optional & BIT(K_NODE);
    json_t *object = json_pack("{s:i, s:s}", "v", MESSAGE_VERSION, "op", op);
    /* What came later than the first agents. */
    if (request->mode[0] || request->why[0])
        present |= ops[request->op].optional & (BIT(K_MODE) | BIT(K_WHY));
    if (request->step)
        present |= ops[request->op].optional & BIT(K_STEP);
    if (request->op == MESSAGE_WHY || present & BIT(K_MODE) ||
        (request->op == MESSAGE_ANNOUNCE && present & BIT(K_STEP)))
        json_object_set_new(object, "r", json_integer(MESSAGE_REVISION));
    const char *bad = NULL;
    for (unsigned k = 0; k < KEYS && object && !bad; k++)
        if (present & BIT(k) &&
            json_object_set_new(object, keys[k].name,
                                encode_key(&keys[k], request)) < 0)
            bad = keys[k].name;
    char *text = bad ? NULL : json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (bad)
        errtext_set(err, EINVAL, "key '%s': out of range for '%s'", bad, op);
    else if (!text)
        errtext_set(err, ENOMEM, "out of memory");
    return text;
}

int message_send(int fd, const char *text, size_t size, const int *fds,
                 size_t nfds, struct errtext *err)
{
    union {
        char space[CMSG_SPACE(sizeof(int) * MESSAGE_MAX_FDS)];
        struct cmsghdr align;
    } control;
    struct iovec iov = {.iov_base = (void *)(uintptr_t)text, .iov_len = size};
    struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t sent;

    if (size > MESSAGE_MAX || nfds > MESSAGE_MAX_FDS)
        return errtext_set(err, EMSGSIZE, "message of %zu bytes and %zu "
                           "descriptors is too large", size, nfds);
    if (nfds) {
        memset(&control, 0, sizeof(control));
        header.msg_control = control.space;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
        memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * nfds);
    }
    do
        sent = sendmsg(fd, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? errtext_set(err, errno, "send: %s", strerror(errno)) : 0;
}

/* Take over the descriptors that came with HEADER; those beyond the packet's
 * room are closed.  Returns how many came. */
static size_t take_descriptors(struct msghdr *header,
                               struct message_packet *packet)
{
    size_t came = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c;
         c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++, came++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            if (packet->nfds < MESSAGE_MAX_FDS)
                packet->fds[packet->nfds++] = fd;
            else
                close(fd);
        }
    }
    return came;
}

int message_receive(int fd, struct message_packet *packet,
                    struct errtext *err)
{
    /* Room for more than allowed, so that too many can be seen and closed. */
    union {
        char space[CMSG_SPACE(sizeof(int) * 8 * MESSAGE_MAX_FDS)];
        struct cmsghdr align;
    } control;
    struct iovec iov = {.iov_base = packet->text, .iov_len = MESSAGE_MAX};
    struct msghdr header = {.msg_iov = &iov,
                            .msg_iovlen = 1,
                            .msg_control = control.space,
                            .msg_controllen = sizeof(control.space)};
    ssize_t got;

    packet->size = packet->nfds = 0;
    packet->text[0] = '\0';
    do
        got = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errtext_set(err, errno, "receive: %s", strerror(errno));
    size_t came = take_descriptors(&header, packet);
    if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
        came > MESSAGE_MAX_FDS) {
        message_packet_close(packet);
        return errtext_set(err, EMSGSIZE, "message over %d bytes or %d "
                           "descriptors", MESSAGE_MAX, MESSAGE_MAX_FDS);
    }
    if (got == 0) { /* end of file; an empty packet counts as one */
        message_packet_close(packet);
        return 0;
    }
    packet->size = (size_t)got;
    packet->text[got] = '\0';
    return 1;
}

void message_packet_close(struct message_packet *packet)
{
    int saved = errno;

    while (packet->nfds)
        close(packet->fds[--packet->nfds]);
    errno = saved;
}
