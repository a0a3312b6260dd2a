/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A listening socket of the agent: its file, and how fast it accepts. */

#include "node_agent/daemon/listener.h"

#include <dirent.h>
#include <endian.h>
#include <libgen.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/daemon/caller.h"

/* The socket's file is looked for this often: somebody may clean up. */
#define LOOK_US (2 * 1000000)

/* Pause of accept() when the process is out of descriptors. */
#define DESCRIPTORS_PAUSE_NS (100 * NS_PER_MS)

/* Accepted at once before other events have their turn; where a user comes,
 * one. */
#define ACCEPT_MOST 16

struct listener {
    sd_event *event;
    int fd;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    listener_accepted *accepted;
    void *arg;
    mode_t mode;
    uid_t user;
    int64_t priority;
    sd_event_source *accept_source;
    sd_event_source *resume_source;
    sd_event_source *look_source;
    dev_t device; /* of the socket's file */
    ino_t inode;
    struct log_limit lost;
    struct log_limit out_of_descriptors;
};

/* ---- accepting ----------------------------------------------------------- */

static int on_resume(sd_event_source *source, uint64_t usec, void *arg)
{
    struct listener *l = arg;

    (void)source;
    (void)usec;
    if (l->accept_source)
        sd_event_source_set_enabled(l->accept_source, SD_EVENT_ON);
    return 0;
}

/* Accept nothing for NS: what waits stays readable, and the loop would spin. */
static void pause_accept(struct listener *l, uint64_t ns)
{
    l->resume_source = sd_event_source_disable_unref(l->resume_source);
    if (sd_event_add_time_relative(l->event, &l->resume_source, CLOCK_MONOTONIC,
                                   ns / NS_PER_US, 1, on_resume, l) >= 0)
        sd_event_source_set_enabled(l->accept_source, SD_EVENT_OFF);
}

static int on_accept(sd_event_source *source, int fd, uint32_t events,
                     void *arg)
{
    struct listener *l = arg;

    (void)source;
    (void)events;
    int most = l->user == LISTENER_NOBODY ? ACCEPT_MOST : 1;
    for (int i = 0; i < most; i++) {
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        uint64_t pause_ns = client < 0 ? 0 : l->accepted(l->arg, client);
        if (pause_ns) {
            pause_accept(l, pause_ns);
            return 0;
        }
        if (client >= 0)
            continue;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
            errno == ENOMEM) {
            if (log_limit_allows(&l->out_of_descriptors, 0, clock_ns()))
                log_warn("cannot accept connections for now: %s",
                         strerror(errno));
            pause_accept(l, DESCRIPTORS_PAUSE_NS);
        }
        return 0;
    }
    return 0;
}

/* ---- the socket ---------------------------------------------------------- */

/* Who may write into the directory may put a socket of their own there, and
 * Slurm would tell them of its jobs. */
static int make_directory(const char *path, struct errtext *err)
{
    char copy[sizeof(((struct sockaddr_un *)0)->sun_path)];
    struct stat st;

    snprintf(copy, sizeof(copy), "%s", path);
    char *dir = dirname(copy);
    if ((mkdir(dir, 0755) < 0 && errno != EEXIST) || stat(dir, &st) < 0)
        return errtext_set(err, errno, "%s: %s", dir, strerror(errno));
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return errtext_set(err, EPERM,
                           "%s: belongs to uid %u, not to uid %u or "
                           "root",
                           dir, st.st_uid, geteuid());
    if (st.st_mode & (S_IWGRP | S_IWOTH) && !(st.st_mode & S_ISVTX))
        return errtext_set(err, EPERM, "%s: others may write there", dir);
    return 0;
}

/* Does who listens at the other end of FD live?  A helper that an agent was about to execute when
 * it was killed has its socket a moment longer. */
static bool listener_lives(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0)
        return true; /* of another PID namespace, perhaps */
    int pidfd = caller_open(fd, peer.pid);
    if (pidfd < 0)
        return errno != ESRCH;
    close(pidfd);
    return true;
}

/* Remove a socket at ADDRESS that nobody listens on. */
static int remove_stale(const struct sockaddr_un *address, struct errtext *err)
{
    struct stat st;

    if (lstat(address->sun_path, &st) < 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return errtext_set(err, EEXIST, "%s: exists and is no socket",
                           address->sun_path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errtext_set(err, errno, "socket: %s", strerror(errno));
    int rc = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    bool stale = rc < 0 ? errno == ECONNREFUSED || errno == ENOENT : !listener_lives(fd);
    close(fd);
    if (!stale)
        return errtext_set(err, EADDRINUSE, "%s: another agent listens there",
                           address->sun_path);
    unlink(address->sun_path);
    return 0;
}

/* Let USER, too, write to the file at PATH, of mode 0600.  It stays ours: he
 * can let in nobody else, and to give it away takes a capability. */
static int share(const char *path, uid_t user)
{
    const struct {
        struct posix_acl_xattr_header header;
        struct posix_acl_xattr_entry entry[5];
    } list = {
        {htole32(POSIX_ACL_XATTR_VERSION)},
        {{htole16(ACL_USER_OBJ), htole16(ACL_READ | ACL_WRITE), 0},
         {htole16(ACL_USER), htole16(ACL_READ | ACL_WRITE), htole32(user)},
         {htole16(ACL_GROUP_OBJ), 0, 0},
         {htole16(ACL_MASK), htole16(ACL_READ | ACL_WRITE), 0},
         {htole16(ACL_OTHER), 0, 0}}};

    return lsetxattr(path, "system.posix_acl_access", &list, sizeof(list), 0);
}

static int listen_at(struct listener *l, struct errtext *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;

    memcpy(address.sun_path, l->path, sizeof(l->path));
    if (make_directory(l->path, err) < 0 || remove_stale(&address, err) < 0)
        return -1;
    l->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0 ||
        bind(l->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        lstat(l->path, &st) < 0)
        return errtext_set(err, errno, "%s: %s", l->path, strerror(errno));
    l->device = st.st_dev;
    l->inode = st.st_ino;
    if (chmod(l->path, l->mode) < 0 ||
        (l->user != LISTENER_NOBODY && l->user != geteuid() &&
         share(l->path, l->user) < 0) ||
        listen(l->fd, 512) < 0)
        return errtext_set(err, errno, "%s: %s", l->path, strerror(errno));
    int rc = sd_event_add_io(l->event, &l->accept_source, l->fd, EPOLLIN,
                             on_accept, l);
    if (rc >= 0)
        rc = sd_event_source_set_priority(l->accept_source, l->priority);
    return rc < 0 ? errtext_set(err, -rc, "event loop: %s", strerror(-rc)) : 0;
}

/* True while the file at the socket's path is the one that we made. */
static bool has_file(const struct listener *l)
{
    struct stat st;

    return l->inode && lstat(l->path, &st) == 0 && st.st_dev == l->device &&
           st.st_ino == l->inode;
}

static void stop_listening(struct listener *l)
{
    l->accept_source = sd_event_source_disable_unref(l->accept_source);
    if (has_file(l))
        unlink(l->path);
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    l->inode = 0;
}

/* A socket without a file is one that no job finds: make it anew. */
static int on_look(sd_event_source *source, uint64_t usec, void *arg)
{
    struct listener *l = arg;
    struct errtext err;

    sd_event_source_set_time(source, usec + LOOK_US);
    sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    if (has_file(l))
        return 0;
    stop_listening(l);
    if (listen_at(l, &err) == 0) {
        log_notice("%s was gone: made anew", l->path);
    } else {
        stop_listening(l);
        if (log_limit_allows(&l->lost, 0, clock_ns()))
            log_error("%s is gone: %s", l->path, err.text);
    }
    return 0;
}

struct listener *listener_new(sd_event *event, const char *path, mode_t mode,
                              uid_t user, int64_t priority,
                              listener_accepted *accepted, void *arg,
                              struct errtext *err)
{
    struct listener *l = calloc(1, sizeof(*l));

    if (!l) {
        errtext_set(err, ENOMEM, "server: out of memory");
        return NULL;
    }
    l->event = event;
    l->fd = -1;
    l->accepted = accepted;
    l->arg = arg;
    l->mode = mode;
    l->user = user;
    l->priority = priority;
    if (strlen(path) >= sizeof(l->path)) {
        errtext_set(err, ENAMETOOLONG, "%.100s...: too long for a socket",
                    path);
        goto fail;
    }
    strcpy(l->path, path);
    if (listen_at(l, err) < 0)
        goto fail;
    int rc = sd_event_add_time_relative(event, &l->look_source, CLOCK_MONOTONIC,
                                        LOOK_US, LOOK_US / 4, on_look, l);
    if (rc < 0) {
        errtext_set(err, -rc, "event loop: %s", strerror(-rc));
        goto fail;
    }
    return l;
fail:
    listener_free(l);
    return NULL;
}

void listener_free(struct listener *l)
{
    if (!l)
        return;
    int saved = errno;
    sd_event_source_disable_unref(l->resume_source);
    sd_event_source_disable_unref(l->look_source);
    stop_listening(l);
    free(l);
    errno = saved;
}

void listener_remove_left(const char *path)
{
    char copy[2][sizeof(((struct sockaddr_un *)0)->sun_path)];
    struct dirent *file;

    snprintf(copy[0], sizeof(copy[0]), "%s", path);
    snprintf(copy[1], sizeof(copy[1]), "%s.", path);
    DIR *dir = opendir(dirname(copy[0]));
    const char *prefix = basename(copy[1]);
    size_t length = strlen(prefix);
    while (dir && (file = readdir(dir)))
        if (!strncmp(file->d_name, prefix, length) && file->d_type == DT_SOCK &&
            file->d_name[length] &&
            !file->d_name[length + strspn(file->d_name + length, "0123456789")])
            unlinkat(dirfd(dir), file->d_name, 0);
    if (dir)
        closedir(dir);
}
