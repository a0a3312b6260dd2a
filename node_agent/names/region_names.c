/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Names of parallel regions: "conj_grad, cg.c:87" for "729df73bfc2d7c41+1d80". */

#include "node_agent/names/region_names.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/errtext.h"
#include "common/fd.h"

#ifdef __has_feature
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

#define MEMORY_MAX (UINT64_C(2) << 30) /* of the child: debug information is large */
#define FILES_MAX  256                 /* mapped files that are looked at */
#define REGION_MAX 40
#define FNV_BASIS  UINT64_C(0xcbf29ce484222325) /* as the library has them (layout.h) */
#define FNV_PRIME  UINT64_C(0x100000001b3)

struct named {
    char region[REGION_MAX];
    pid_t pid; /* of the process that was looked at last */
    char label[REGION_LABEL_MAX]; /* empty: not found */
};

/* Time that looks at a user's files took.  Who has used it up is not looked at again: no user's
 * files delay what is shown of others for long. */
#define USER_NS (2 * NAMES_MS * NS_PER_MS)
struct spent {
    uid_t uid;
    uint64_t ns;
};

struct region_names {
    void *tree; /* of entries, by region */
    size_t looks;
    struct spent *spent; /* [users] */
    size_t users;
};

/* An answer of the child. */
struct answer {
    uint32_t which;
    char label[REGION_LABEL_MAX];
};

struct region_names *region_names_new(void)
{
    return calloc(1, sizeof(struct region_names));
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->region, ((const struct named *)b)->region);
}

static struct named *find(const struct region_names *n, const char *region)
{
    struct named key;

    snprintf(key.region, sizeof(key.region), "%s", region);
    struct named **found = tfind(&key, &n->tree, compare);
    return found ? *found : NULL;
}

const char *region_names_get(const struct region_names *n, const char *region)
{
    const struct named *e = n ? find(n, region) : NULL;

    return e && e->label[0] ? e->label : region;
}

size_t region_names_looks(const struct region_names *n)
{
    return n->looks;
}

void region_names_free(struct region_names *n)
{
    if (n)
        tdestroy(n->tree, free);
    if (n)
        free(n->spent);
    free(n);
}

/* ---- the child ------------------------------------------------------------ */

/* A place that is looked for. */
struct place {
    uint64_t object, offset;
    bool done;
};

struct look {
    int proc, to;
    struct place *place;
    size_t count, left;
};

static uint64_t hash_path(const char *path)
{
    uint64_t h = FNV_BASIS;

    for (; *path; path++)
        h = (h ^ (unsigned char)*path) * FNV_PRIME;
    return h;
}

/* Say what is known of the places in the file behind FD, which the process has as PATH and we at
 * HERE. */
static void look_into(struct look *l, int fd, const char *here, const char *path)
{
    struct elf_names *names = elf_names_open(fd, here);
    uint64_t id = names ? elf_names_id(names) : 0;

    if (names && !id)
        id = hash_path(path);
    for (size_t i = 0; names && i < l->count; i++) {
        struct answer answer = {.which = (uint32_t)i};
        if (l->place[i].done || l->place[i].object != id)
            continue;
        elf_names_label(names, l->place[i].offset, answer.label);
        l->place[i].done = true;
        l->left--;
        if (fd_write_all(l->to, &answer, sizeof(answer)) < 0)
            _exit(1);
    }
    elf_names_close(names);
}

/* A regular file: to open another may block or change it. */
static void look_at_file(struct look *l, const char *here, const char *path)
{
    struct stat st;
    int fd = stat(here, &st) == 0 && S_ISREG(st.st_mode)
                 ? open(here, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                 : -1;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        look_into(l, fd, here, path);
    if (fd >= 0)
        close(fd);
}

/* The files that process PID has mapped as code, its program first. */
static void look_at_process(struct look *l, pid_t pid)
{
    char here[4200], line[4200], path[4096] = "";
    size_t files = 0;

    snprintf(here, sizeof(here), "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(here, path, sizeof(path) - 1);
    path[n < 0 ? 0 : n] = '\0';
    look_at_file(l, here, path);
    snprintf(here, sizeof(here), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(here, "re");
    while (maps && l->left && files < FILES_MAX && fgets(line, sizeof(line), maps)) {
        char *file = strchr(line, '/');
        if (!file || !strstr(line, " r-xp "))
            continue;
        file[strcspn(file, "\n")] = '\0';
        files++;
        if (snprintf(here, sizeof(here), "/proc/%d/root%s", (int)pid, file) < (int)sizeof(here))
            look_at_file(l, here, file);
    }
    if (maps)
        fclose(maps);
}

static void limit(int what, rlim_t most)
{
    const struct rlimit limit = {most, most};

    setrlimit(what, &limit);
}

/* Root becomes the user; nobody else has to.  False if that fails. */
static bool become(uid_t uid, pid_t pid)
{
    char proc[32];
    struct stat st;

    snprintf(proc, sizeof(proc), "/proc/%d", (int)pid);
    if (geteuid() == 0 && uid != 0) {
        /* The process' own group; a process that cannot be looked at is root's here. */
        gid_t gid = stat(proc, &st) == 0 && st.st_uid == uid ? st.st_gid : 65534;
        if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
            setresuid(uid, uid, uid) < 0)
            return false;
    }
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

__attribute__((noreturn)) static void child_main(struct look *l, pid_t pid, uid_t uid)
{
    fd_drop_others(&l->to, 1);
    limit(RLIMIT_CPU, NAMES_MS / 1000);
    if (!SANITIZED) /* they reserve terabytes */
        limit(RLIMIT_AS, MEMORY_MAX);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    /* It would ask a server. */
    unsetenv("DEBUGINFOD_URLS");
    if (!become(uid, pid))
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* behind that, which takes it back */
    look_at_process(l, pid);
    _exit(0);
}

/* ---- the caller ----------------------------------------------------------- */

/* Take what the child says through FROM until it ends, or for NAMES_MS. */
static void listen_to(int from, struct named *const *entries, size_t count)
{
    uint64_t end_ns = clock_ns() + NAMES_MS * NS_PER_MS;
    struct answer answer;
    size_t have = 0;

    for (;;) {
        struct pollfd wait = {from, POLLIN, 0};
        uint64_t now_ns = clock_ns();
        if (now_ns >= end_ns)
            return;
        int rc = poll(&wait, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
        if (rc < 0 && errno == EINTR)
            continue;
        ssize_t n = rc > 0 ? read(from, (char *)&answer + have, sizeof(answer) - have) : 0;
        if (n <= 0)
            return;
        if ((have += (size_t)n) < sizeof(answer))
            continue;
        have = 0;
        if (answer.which < count) {
            struct named *e = entries[answer.which];
            answer.label[REGION_LABEL_MAX - 1] = '\0';
            memcpy(e->label, answer.label, sizeof(e->label));
            errtext_clean(e->label);
            for (char *p = e->label; (p = strpbrk(p, "\"\\")); p++)
                *p = '\'';
        }
    }
}

static void run_child(struct look *l, pid_t pid, uid_t uid, struct named *const *entries)
{
    int pipes[2];

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return;
    l->to = pipes[1];
    pid_t child = fork();
    if (child == 0)
        child_main(l, pid, uid);
    close(pipes[1]);
    if (child > 0) {
        listen_to(pipes[0], entries, l->count);
        kill(child, SIGKILL);
        /* One that cannot end, as its file server is dead, is left alone. */
        for (int i = 0; i < 50 && waitpid(child, NULL, WNOHANG) == 0; i++)
            poll(NULL, 0, 1);
    }
    close(pipes[0]);
}

/* A new entry for REGION, or NULL when out of memory. */
static struct named *add(struct region_names *n, const char *region)
{
    struct named *e = calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    snprintf(e->region, sizeof(e->region), "%s", region);
    if (!tsearch(e, &n->tree, compare)) {
        free(e);
        return NULL;
    }
    return e;
}

/* The entry for REGION, whose place goes into *PLACE; NULL if it is not to be looked for in PID. */
static struct named *enter(struct region_names *n, const char *region, pid_t pid,
                           struct place *place)
{
    unsigned long long object, offset;
    int end = 0;

    if (strlen(region) >= REGION_MAX ||
        sscanf(region, "%16llx+%16llx%n", &object, &offset, &end) != 2 || region[end])
        return NULL;
    struct named *e = find(n, region);
    if (e ? e->label[0] || e->pid == pid : !(e = add(n, region)))
        return NULL;
    e->pid = pid;
    *place = (struct place){.object = object, .offset = offset};
    return e;
}

/* What UID has spent; NULL when out of memory. */
static struct spent *spent_of(struct region_names *n, uid_t uid)
{
    for (size_t i = 0; i < n->users; i++)
        if (n->spent[i].uid == uid)
            return &n->spent[i];
    struct spent *more = reallocarray(n->spent, n->users + 1, sizeof(*more));
    if (!more)
        return NULL;
    n->spent = more;
    n->spent[n->users] = (struct spent){.uid = uid};
    return &n->spent[n->users++];
}

void region_names_look(struct region_names *n, pid_t pid, uid_t uid, const char *const *region,
                       size_t count)
{
    struct place *places = calloc(NAMES_BATCH, sizeof(*places));
    struct named **entries = calloc(NAMES_BATCH, sizeof(struct named *));
    struct look look = {.place = places};
    struct spent *spent = pid > 0 ? spent_of(n, uid) : NULL;

    bool may = places && entries && spent && spent->ns < USER_NS;
    for (size_t i = 0; may && i < count && look.count < NAMES_BATCH; i++) {
        struct named *e = enter(n, region[i], pid, &places[look.count]);
        if (e)
            entries[look.count++] = e;
    }
    look.left = look.count;
    if (look.count) {
        uint64_t begin_ns = clock_ns();
        n->looks++;
        run_child(&look, pid, uid, entries);
        spent->ns += clock_ns() - begin_ns;
    }
    free(entries);
    free(places);
}
