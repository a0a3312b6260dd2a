/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Slurm's and the agent's side of the plugin, see fake_host.h. */

#include "tests/spank_plugin/fake_host.h"

#include "node_agent/client/client.h"
#include "node_agent/client/end_note.h"
#include "spank_plugin/plugin.h"

struct host host;

int host_reset(void **state)
{
    (void)state;
    for (size_t i = 0; i < HOST_VARIABLES; i++)
        free(host.environment[i]);
    memset(&host, 0, sizeof(host));
    memset(&plugin, 0, sizeof(plugin));
    plugin.timeout_ms = PLUGIN_TIMEOUT_MS;
    host.context = S_CTX_REMOTE;
    host.cores = "0-3";
    host.job = 7;
    host.step = 4294967291u;
    return 0;
}

/* The entry of variable NAME, or NULL. */
static char **entry(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < HOST_VARIABLES; i++)
        if (host.environment[i] &&
            strncmp(host.environment[i], name, length) == 0 &&
            host.environment[i][length] == '=')
            return &host.environment[i];
    return NULL;
}

void host_setenv(const char *name, const char *value)
{
    char **slot = entry(name);

    if (slot) {
        free(*slot);
        *slot = NULL;
    }
    if (!value)
        return;
    for (size_t i = 0; i < HOST_VARIABLES && !slot; i++)
        if (!host.environment[i])
            slot = &host.environment[i];
    assert_non_null(slot);
    size_t size = strlen(name) + strlen(value) + 2;
    *slot = malloc(size);
    assert_non_null(*slot);
    snprintf(*slot, size, "%s=%s", name, value);
}

const char *host_getenv(const char *name)
{
    char **slot = entry(name);

    return slot ? strchr(*slot, '=') + 1 : NULL;
}

/* ---- Slurm ------------------------------------------------------------------ */

spank_context_t spank_context(void)
{
    return host.context;
}

const char *spank_strerror(spank_err_t err)
{
    return err == ESPANK_SUCCESS ? "Success" : "Failure";
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *opt)
{
    (void)spank;
    host.option = opt;
    return host.broken ? ESPANK_ERROR : ESPANK_SUCCESS;
}

spank_err_t spank_option_getopt(spank_t spank, struct spank_option *opt,
                                char **value)
{
    (void)spank, (void)opt;
    *value = NULL;
    return host.option_used ? ESPANK_SUCCESS : ESPANK_ERROR;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    spank_err_t rc = host.broken ? ESPANK_NOT_AVAIL : ESPANK_SUCCESS;
    va_list ap;

    (void)spank;
    va_start(ap, item);
    void *to = va_arg(ap, void *);
    va_end(ap);
    if (host.broken)
        return rc;
    switch ((int)item) {
    case S_JOB_ID:
        *(uint32_t *)to = host.job;
        break;
    case S_JOB_UID:
        *(uid_t *)to = 1234;
        break;
    case S_JOB_STEPID:
        *(uint32_t *)to = host.step;
        break;
    case S_TASK_ID:
        *(int *)to = (int)host.task;
        break;
    case S_JOB_LOCAL_TASK_COUNT:
        *(uint32_t *)to = host.tasks;
        rc = host.tasks ? ESPANK_SUCCESS : ESPANK_NOT_AVAIL;
        break;
    case S_JOB_ARRAY_ID:
        *(uint32_t *)to = host.array;
        break;
    case S_JOB_ARRAY_TASK_ID:
        *(uint32_t *)to = host.array ? host.element : UINT32_C(0xfffffffe);
        break;
    case S_TASK_EXIT_STATUS:
        *(int *)to = host.status;
        break;
    case S_JOB_ALLOC_MEM:
        *(uint64_t *)to = 500;
        break;
    case S_JOB_ALLOC_CORES:
        *(const char **)to = host.cores;
        rc = host.cores ? ESPANK_SUCCESS : ESPANK_NOT_AVAIL;
        break;
    default:
        fail_msg("unexpected item %d", (int)item);
    }
    return rc;
}

spank_err_t spank_getenv(spank_t spank, const char *var, char *buf, int len)
{
    const char *value = host_getenv(var);

    (void)spank;
    if (host.broken)
        return ESPANK_NOT_REMOTE;
    if (!value)
        return ESPANK_ENV_NOEXIST;
    snprintf(buf, (size_t)len, "%s", value);
    return strlen(value) < (size_t)len ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t spank, const char *var, const char *val,
                         int overwrite)
{
    (void)spank;
    if (host.broken)
        return ESPANK_NOT_REMOTE;
    if (!overwrite && host_getenv(var))
        return ESPANK_ENV_EXISTS;
    host_setenv(var, val);
    return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *var)
{
    (void)spank;
    if (host.broken)
        return ESPANK_NOT_REMOTE;
    host_setenv(var, NULL);
    return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_setenv(spank_t sp, const char *name,
                                     const char *value, int overwrite)
{
    (void)sp, (void)overwrite;
    if (host.broken)
        return ESPANK_ERROR;
    memcpy(host.control[1], host.control[0], sizeof(host.control[0]));
    snprintf(host.control[0], sizeof(host.control[0]), "%s=%s", name, value);
    return ESPANK_SUCCESS;
}

#define LOG(name, buffer, lines)                                               \
    void name(const char *format, ...)                                         \
    {                                                                          \
        size_t used = strlen(buffer);                                          \
        va_list ap;                                                            \
        va_start(ap, format);                                                  \
        vsnprintf(buffer + used, sizeof(buffer) - used, format, ap);           \
        va_end(ap);                                                            \
        host.error_lines += (lines);                                           \
    }

LOG(slurm_error, host.errors, 1)
LOG(slurm_spank_log, host.said, 0)
LOG(slurm_info, host.rest, 0)
LOG(slurm_verbose, host.rest, 0)

/* ---- the agent ---------------------------------------------------------------- */

int client_socket_path(const char *path, char *buffer, size_t size,
                       struct errtext *err)
{
    if (strlen(path) >= size)
        return errtext_set(err, ENAMETOOLONG, "socket path too long");
    strcpy(buffer, *path ? path : "/default");
    return 0;
}

struct client *client_open(const char *path, int timeout_ms,
                           struct errtext *err)
{
    assert_in_range(timeout_ms, 1, 1000);
    if (host.open_errno) {
        int errnum = host.open_errno;
        if (host.open_failures && --host.open_failures == 0)
            host.open_errno = 0;
        errtext_set(err, errnum, "no agent at %s", path);
        return NULL;
    }
    host.opened++;
    return (struct client *)&host;
}

void client_bound_in_all(struct client *client)
{
    (void)client;
    host.bounded++;
}

int client_use_munge(struct client *client, const char *socket,
                     struct errtext *err)
{
    (void)client, (void)socket, (void)err;
    return 0;
}

int client_call(struct client *client, const struct message_request *request,
                json_t **reply, int *fds, size_t max_fds, size_t *nfds,
                struct errtext *err)
{
    (void)client, (void)fds, (void)max_fds, (void)nfds;
    assert_in_range(host.calls_made, 0, HOST_CALLS - 1);
    assert_int_equal(host.bounded, host.opened); /* nobody waits for each call */
    host.calls[host.calls_made++] = *request;
    if (host.agent_errno)
        return errtext_set(err, host.agent_errno, "the agent refused");
    if (reply)
        *reply = host.reply ? json_loads(host.reply, 0, NULL) : NULL;
    return 0;
}

void client_close(struct client *client)
{
    host.closed += client != NULL;
}

int end_note_leave(const char *socket, uint32_t job, struct errtext *err)
{
    if (host.note_errno)
        return errtext_set(err, host.note_errno, "%s.ended: not writable",
                           socket);
    host.noted = job;
    return 0;
}
