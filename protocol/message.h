/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Socket messages between SPANK plugin, job process, coschedctl and agent. */

#ifndef COSCHED_MESSAGE_H
#define COSCHED_MESSAGE_H

/* Concept
 *
 * The agent listens on a Unix SOCK_SEQPACKET socket: one packet is one
 * message, a JSON object of at most MESSAGE_MAX bytes, no framing.  A client
 * sends a request and reads one reply; it may send more on the same
 * connection.  Replies too large for a packet travel as a memfd.
 *
 *   request  {"v":1, "op":OP, ...}
 *   reply    {"v":1, "ok":true, ...}
 *            {"v":1, "ok":false, "errnum":N, "error":TEXT}
 *
 * Requests (all keys are required unless marked ?; an unknown key is an error)
 *   op        from       keys                                     reply
 *   announce  privileged job, uid, name, cores, memory_mb,        cpus
 *                        options, restarts, node?, step?
 *   task      privileged job, step, pid
 *   withdraw  privileged job
 *   attach    job owner  job, pid, threads, layout?,             2 descriptors
 *                        mode?, why?
 *   status    anyone     job?                                     see status
 *   explain   anyone     job?                                     decisions
 *   why       anyone     job                                      findings
 *   trace     anyone     job?                                     1 descriptor
 *   config    anyone                                              options
 *   ping      anyone                                              version, pid
 *   counters  anyone                                              backends
 *   record    privileged dir                                      dir
 *   drain     privileged reason
 *   resume    privileged
 *
 *   job         integer > 0, Slurm job id
 *   uid         integer >= 0, owner of the job
 *   name        string, job name, at most 255 bytes
 *   cores       string, Slurm's list of allocated cores ("0-3,8")
 *   memory_mb   integer >= 0, memory granted on this node; 0: unknown
 *   options     string, the value of --coschedule as options_parse() takes it
 *   restarts    integer >= 0, SLURM_RESTART_COUNT: same job, later run.  That of
 *               the batch step counts; other steps have it from the user
 *   node        integer >= 0; 0 (and unset) on the first node of the job, which
 *               keeps its record
 *   step        integer, Slurm step id (batch: 4294967291)
 *   pid         integer > 0; must belong to the sender for attach
 *   threads     integer > 0, largest team so far or expected
 *   layout      integer > 0, newest version of the pages (layout.h) that the
 *               sender knows; 1 if not given
 *   mode        string, how the sender backs threads: "donor", "ult", "kthread"
 *   why         string, why in that way (one word, or a few); may be empty
 *   reason      string, why sharing is drained; may be empty
 *   dir         string, absolute path of a directory to record into; "": stop
 *
 * "attach" descriptors: [0] allotment page, [1] report page (layout.h).  The
 * connection stays open while the process lives; hang-up means detach.  The
 * runtime inside the job writes this request with snprintf and looks at the
 * descriptors of the reply only, so it needs no JSON library.
 *
 * The agent listens a second time at the socket's path with MESSAGE_ROOT_SUFFIX, for root
 * only, and with ".JOB" for each job, for its user: users can fill the queue of the other.
 * Clients try these first.
 *
 * Who is asking: SO_PEERCRED, or, for privileged requests, a munge credential
 * (a packet that starts with "MUNGE:" and whose payload is the JSON request).
 * Privileged is uid 0 or the uid the agent runs as.
 *
 * Garbage (not JSON, unknown op or key, wrong type, too long, too many
 * descriptors): answered with ok=false, the connection is closed, logged once
 * per uid and minute.
 *
 * Versions.  Agent, plugin, tools and the library inside running jobs are
 * upgraded one after the other, jobs keep the library that they began with, and
 * nobody may notice:
 *   - A reply may get new keys at any time; readers ignore what they do not
 *     know.
 *   - A new operation, or a new optional key of a request, raises
 *     MESSAGE_REVISION (of 1 are why, and the keys mode and why; of 2 is step with
 *     announce).  A sender that uses it says so by "r":REVISION.  An
 *     agent of a lower revision skips keys that it does not know in such a
 *     request, so a new key must be one that it can do without; an unknown
 *     operation is refused with EOPNOTSUPP, which the sender must live with.
 *     Without "r", or with one that the agent has, an unknown key is an error.
 *   - Only a key that changes its meaning, or a new or dropped required key,
 *     raises MESSAGE_VERSION.  An agent speaks all versions from
 *     MESSAGE_VERSION_OLDEST on, which is that of the oldest release whose jobs
 *     may still run; it refuses others with EPROTO and the keys "oldest" and
 *     "newest", so that a newer sender can fall back.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errtext.h"

#define MESSAGE_VERSION 1
#define MESSAGE_VERSION_OLDEST 1
#define MESSAGE_REVISION 2
#define MESSAGE_BATCH_STEP UINT32_C(0xfffffffb) /* SLURM_BATCH_SCRIPT */
#define MESSAGE_ROOT_SUFFIX ".root"
#define MESSAGE_MAX 65536 /* bytes in one packet */
#define MESSAGE_MAX_FDS 2
#define MESSAGE_NAME_MAX 256    /* job name with its terminating zero */
#define MESSAGE_CORES_MAX 4096  /* core list, likewise */
#define MESSAGE_OPTIONS_MAX 512 /* options, likewise */
#define MESSAGE_DIR_MAX 1024    /* directory, likewise */
#define MESSAGE_REASON_MAX 256  /* reason, likewise */
#define MESSAGE_MODE_MAX 16     /* mode, likewise */
#define MESSAGE_WHY_MAX 96      /* why, likewise */

enum message_op {
    MESSAGE_ANNOUNCE,
    MESSAGE_TASK,
    MESSAGE_WITHDRAW,
    MESSAGE_ATTACH,
    MESSAGE_STATUS,
    MESSAGE_EXPLAIN,
    MESSAGE_TRACE,
    MESSAGE_CONFIG,
    MESSAGE_PING,
    MESSAGE_COUNTERS,
    MESSAGE_RECORD,
    MESSAGE_DRAIN,
    MESSAGE_RESUME,
    MESSAGE_WHY,
    MESSAGE_OPS, /* number of operations */
};

/* A decoded request.  Fields that the operation does not have are zero. */
struct message_request {
    enum message_op op;
    uint32_t job; /* 0: not given (only where job is optional) */
    uint32_t uid;
    uint32_t step;
    uint32_t restarts;
    uint32_t node;
    pid_t pid;
    uint32_t threads;
    uint32_t layout;
    uint64_t memory_mb;
    char name[MESSAGE_NAME_MAX];
    char cores[MESSAGE_CORES_MAX];
    char options[MESSAGE_OPTIONS_MAX];
    char dir[MESSAGE_DIR_MAX];
    char reason[MESSAGE_REASON_MAX];
    char mode[MESSAGE_MODE_MAX];
    char why[MESSAGE_WHY_MAX];
};

/* A received packet.  The receiver owns the descriptors. */
struct message_packet {
    size_t size;
    size_t nfds;
    int fds[MESSAGE_MAX_FDS];
    char text[MESSAGE_MAX + 1]; /* zero terminated */
};

/* Name of OP as in "op", or NULL. */
const char *message_op_name(enum message_op op);

/* True when OP may only be sent by root or the agent's own user. */
bool message_op_privileged(enum message_op op);

/* Decode the JSON text of SIZE bytes at TEXT strictly into *REQUEST.
 * Returns 0, or -1 with errno EBADMSG (not JSON, not an object), EPROTO
 * (other version), EOPNOTSUPP (unknown op), EINVAL (a key: missing, unknown,
 * wrong type or out of range) and ERR naming the key. */
int message_decode(const char *text, size_t size,
                   struct message_request *request, struct errtext *err);

/* Encode REQUEST.  Bytes of its texts that are not printable UTF-8 are sent as
 * "?".  Returns a malloc'ed text, or NULL with errno ENOMEM or EINVAL (a number
 * that the agent would refuse; ERR names the key).  The caller frees it. */
char *message_encode(const struct message_request *request,
                     struct errtext *err);

/* Send TEXT (SIZE bytes) with NFDS descriptors as one packet.  The
 * descriptors stay the caller's.  Returns 0, or -1 with errno EMSGSIZE (over
 * MESSAGE_MAX) or that of sendmsg.  Never raises SIGPIPE. */
int message_send(int fd, const char *text, size_t size, const int *fds,
                 size_t nfds, struct errtext *err);

/* Receive one packet.  Returns 1, 0 at end of file, or -1 with errno EMSGSIZE
 * (truncated text or descriptors, all descriptors closed) or that of recvmsg
 * (EAGAIN on a non-blocking socket without data). */
int message_receive(int fd, struct message_packet *packet,
                    struct errtext *err);

/* Close the descriptors that PACKET still owns. */
void message_packet_close(struct message_packet *packet);

#endif /* COSCHED_MESSAGE_H */
