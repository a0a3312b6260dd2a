/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Looks at a process from outside: why does it not follow? */

#include "node_agent/enforce/follow_look.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/syscalls.h"
#include "node_agent/enforce/proc.h"
#include "node_agent/enforce/program_elf.h"

#define MAPS_MAX                                                               \
    (16u << 20) /* bytes of maps; the kernel's limit gives 10 MB               \
                 */
#define ENVIRON_MAX     (2u << 20) /* bytes of environ */
#define BLOCK           65536
#define DIRECTORIES_MAX 64 /* searched for our library */
#define LIBRARY         "libgomp.so.1"
#define DECLINED        "/memfd:coschedule-libgomp-" /* libgomp-coop/audit */

/* OpenMP runtimes by the begin of their files' names. */
static const struct runtime {
    const char *file, *name;
    bool served; /* ours has its entry points, too */
} runtimes[] = {
    {"libgomp", "libgomp", true},
    {"libomp", "LLVM libomp", true},
    {"libiomp5", "Intel libiomp5", true},
    {"libnvomp", "NVIDIA libnvomp", false},
    {"libcraymp", "Cray libcraymp", false},
    {"libfjomp", "Fujitsu libfjomp", false},
    {"libxlsmp", "IBM libxlsmp", false},
};

/* What else makes threads. */
static const struct {
    const char *file, *name;
} others[] = {
    {"libjvm", "Java"},
    {"libtbb", "TBB"},
    {"libopenblas", "OpenBLAS with threads of its own"},
    {"libmpi", "MPI"},
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* What is known during a look. */
struct look {
    int proc;       /* the process' directory in /proc */
    int root, host; /* its root, and ours */
    struct follow_finding *finding;
    struct follow_files *files;
    char *environ; /* "A=1\0B=2\0\0"; NULL: not readable */
};

static int say(struct look *l, enum follow word, const char *detail)
{
    l->finding->word = word;
    follow_set_detail(l->finding, detail);
    return 0;
}

/* ---- files of the process -------------------------------------------------
 */

/* A descriptor for PATH as a process with ROOT sees it, which cannot be read
 * from; -1: none. */
static int find_in(int root, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

    if (fd >= 0 || errno != ENOSYS) /* before Linux 5.6 */
        return fd;
    while (*path == '/')
        path++;
    return openat(root, path, O_PATH | O_CLOEXEC);
}

/* Read from what FD, of O_PATH, stands for if it is a regular file: opening
 * others may block or change them.  Closes FD. */
static int open_regular(int fd)
{
    char link[40];
    struct stat st;
    int opened = -1;

    if (fd < 0)
        return -1;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        opened = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    close(fd);
    return opened;
}

/* Look at the file at PATH as ROOT has it; a descriptor to close behind *ELF,
 * or -1. */
static int open_elf(int root, const char *path, struct program_elf *elf)
{
    int fd = open_regular(find_in(root, path));

    if (fd >= 0 && program_elf_open(elf, fd) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The same for FILE, which the process has mapped.  Its path in maps is what we
 * would call it (a changed root) or, where we could not reach it, what the
 * process does (a container); which of them the inode tells, if the file system
 * tells the same one twice. */
static int open_mapped(const struct look *l, const struct follow_file *file,
                       struct program_elf *elf)
{
    int fd = open_elf(l->root, file->path, elf);
    struct program_elf other;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == file->inode)
        return fd;
    int from_here = open_elf(l->host, file->path, &other);
    if (from_here < 0)
        return fd;
    if (fd >= 0 && (fstat(from_here, &st) < 0 || st.st_ino != file->inode)) {
        close(from_here);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    *elf = other;
    return from_here;
}

/* Is it the cooperative libgomp?  Closes FD. */
static bool is_ours(int fd, const struct program_elf *elf)
{
    bool ours = fd >= 0 && program_elf_is_ours(elf);

    if (fd >= 0)
        close(fd);
    return ours;
}

/* All of file NAME of the process, at most SIZE bytes and a zero; NULL: none.
 */
static char *read_file(const struct look *l, const char *name, size_t size)
{
    int fd = openat(l->proc, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char *text = fd >= 0 ? malloc(size + 2) : NULL;
    size_t used = 0;
    ssize_t n;

    while (text && used < size && (n = read(fd, text + used, size - used)) > 0)
        used += (size_t)n;
    if (text)
        text[used] = text[used + 1] = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

/* ---- maps -----------------------------------------------------------------
 */

/* Add the file of the LINE that ends before END: "FROM-TO r-xp OFFSET DEVICE
 * INODE  /PATH". */
static void add_file(const char *line, const char *end,
                     struct follow_files *files)
{
    struct follow_file *to = &files->file[files->count];
    const char *field[6] = {line};

    for (int i = 1; i < 6; i++) {
        const char *blank = memchr(field[i - 1], ' ',
                                   (size_t)(end - field[i - 1]));
        if (!blank)
            return;
        field[i] = blank + 1;
    }
    const char *path = memchr(field[5], '/', (size_t)(end - field[5]));
    size_t length = path ? (size_t)(end - path) : 0, before = strlen(DECLINED);
    if (length >= FOLLOW_PATH_MAX || field[2] - field[1] < 4)
        return;
    if (length > before && !memcmp(path, DECLINED, before)) {
        size_t n = 0;
        for (; path[before + n] != ' ' && before + n < length &&
               n < sizeof(files->declined) - 1;
             n++)
            files->declined[n] = path[before + n];
        files->declined[n] = '\0';
    }
    if (!path || field[1][2] != 'x' || files->count == FOLLOW_FILES)
        return;
    memcpy(to->path, path, (size_t)(end - path));
    to->path[end - path] = '\0';
    to->inode = strtoull(field[4], NULL, 10);
    if (!files->count || strcmp(to->path, to[-1].path))
        files->count++;
}

size_t follow_read_maps(const char *text, size_t size,
                        struct follow_files *files)
{
    const char *line = text, *newline;

    while ((newline = memchr(line, '\n', (size_t)(text + size - line)))) {
        add_file(line, newline, files);
        line = newline + 1;
    }
    return (size_t)(line - text);
}

static bool read_maps(struct look *l)
{
    int fd = openat(l->proc, "maps", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char *block = fd >= 0 ? malloc(BLOCK) : NULL;
    size_t kept = 0, all = 0;
    ssize_t n;

    while (block && all < MAPS_MAX &&
           (n = read(fd, block + kept, BLOCK - kept)) > 0) {
        all += (size_t)n;
        kept += (size_t)n;
        size_t done = follow_read_maps(block, kept, l->files);
        if (!done && kept == BLOCK)
            done = kept; /* the kernel writes no such line */
        kept -= done;
        memmove(block, block + done, kept);
    }
    free(block);
    if (fd >= 0)
        close(fd);
    return all > 0;
}

/* Is PATH that of a library whose name begins with FILE: FILE.so.1,
 * FILE-HASH.so? */
static bool is_called(const char *path, const char *file)
{
    const char *name = strrchr(path, '/') + 1;
    size_t length = strlen(file);

    return !strncmp(name, file, length) && strchr(".-_", name[length]) &&
           name[length] && strncmp(name, "libgomp-plugin", 14);
}

/* The runtime that PATH is, or NULL. */
static const struct runtime *runtime_of(const char *path)
{
    for (size_t i = 0; i < LENGTH(runtimes); i++)
        if (is_called(path, runtimes[i].file))
            return &runtimes[i];
    return NULL;
}

/* ---- environment ------------------------------------------------------------
 */

/* The value of variable NAME, or NULL. */
static const char *get(const struct look *l, const char *name)
{
    size_t length = strlen(name);

    for (const char *p = l->environ; p && *p; p += strlen(p) + 1)
        if (!strncmp(p, name, length) && p[length] == '=')
            return p + length + 1;
    return NULL;
}

/* Does the process see the agent's socket? */
static bool sees_socket(const struct look *l, const char *path)
{
    struct stat st;
    int fd = find_in(l->root, path);
    bool seen = fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);

    if (fd >= 0)
        close(fd);
    return seen;
}

/* Each directory of LIST, a search path, or of the files in it. */
struct directories {
    const char *at;
    bool files;
    size_t left;
};

/* The next one's path for our library into PATH; false: no more. */
static bool next_library(struct directories *d, char path[FOLLOW_PATH_MAX])
{
    while (d->at && *d->at && d->left) {
        size_t length = strcspn(d->at, ":; "), n = length;
        const char *from = d->at;
        d->at += length + (d->at[length] != '\0');
        d->left--;
        while (d->files && n && from[n - 1] != '/')
            n--;
        while (n > 1 && from[n - 1] == '/')
            n--;
        if (n && from[0] == '/' && n + sizeof("/" LIBRARY) <= FOLLOW_PATH_MAX) {
            memcpy(path, from, n);
            strcpy(path + n, "/" LIBRARY);
            return true;
        }
    }
    return false;
}

/* Find our library beside an audit library, or with ANYWHERE on the search
 * path, too, as the process with ROOT sees it. */
static bool find_library(const struct look *l, int root, bool anywhere,
                         char path[FOLLOW_PATH_MAX])
{
    struct directories d[] = {
        {get(l, "LD_AUDIT"), true, DIRECTORIES_MAX},
        {get(l, "LD_LIBRARY_PATH"), false, DIRECTORIES_MAX},
    };
    struct program_elf elf;

    for (size_t i = 0; i < (anywhere ? LENGTH(d) : 1); i++)
        while (next_library(&d[i], path))
            if (is_ours(open_elf(root, path, &elf), &elf))
                return true;
    return false;
}

/* ---- why another runtime than ours ------------------------------------------
 */

/* The version of glibc that LIBRARY needs and the process' libc does not have,
 * or NULL. */
static const char *lacks_glibc(const struct look *l,
                               const struct program_versions *needs)
{
    static struct program_versions has;
    const char *highest = program_versions_highest(needs, "GLIBC_"),
               *own = NULL;
    struct program_elf elf;

    for (size_t i = 0; i < l->files->count && highest && !own; i++) {
        const struct follow_file *f = &l->files->file[i];
        int fd = is_called(f->path, "libc") ? open_mapped(l, f, &elf) : -1;
        if (fd < 0)
            continue;
        program_elf_versions(&elf, false, &has);
        own = program_versions_highest(&has, "GLIBC_");
        close(fd);
    }
    return highest && own && program_version_above(highest, own) ? highest
                                                                 : NULL;
}

/* The version that the file behind FD wants of libgomp and HAS has not, or
 * NULL.  Closes FD. */
static const char *wants(int fd, const struct program_elf *elf,
                         const struct program_versions *has)
{
    static const char *const prefixes[] = {"GOMP_", "OMP_", "OACC_", "GOACC_"};
    static struct program_versions wanted;

    program_elf_versions(elf, true, &wanted);
    close(fd);
    for (size_t i = 0; i < wanted.count; i++)
        for (size_t k = 0; k < LENGTH(prefixes); k++)
            if (!strncmp(wanted.name[i], prefixes[k], strlen(prefixes[k])) &&
                !program_versions_have(has, wanted.name[i]))
                return wanted.name[i];
    return NULL;
}

/* The same for all that the process has mapped. */
static const char *wants_newer(const struct look *l,
                               const struct program_versions *has)
{
    struct program_elf elf;
    const char *found = NULL;

    for (size_t i = 0; i < l->files->count && !found; i++) {
        int fd = open_mapped(l, &l->files->file[i], &elf);
        if (fd >= 0)
            found = wants(fd, &elf, has);
    }
    return found;
}

/* A version that keeps our library, the file at PATH, from being loaded. False:
 * none. */
static bool explain_version(struct look *l, const char *path)
{
    static struct program_versions needs, has;
    struct program_elf elf;
    const char *version;
    int fd = open_elf(l->root, path, &elf);

    if (fd < 0)
        return false;
    program_elf_versions(&elf, true, &needs);
    program_elf_versions(&elf, false, &has);
    close(fd);
    if ((version = lacks_glibc(l, &needs)))
        say(l, FOLLOW_OLD_GLIBC, version);
    else if (has.count && (version = wants_newer(l, &has)))
        say(l, FOLLOW_NEWER, version);
    return version != NULL;
}

/* What the audit library says of it, which knows best.  False: nothing. */
static bool explain_declined(struct look *l)
{
    static const struct {
        const char *said;
        enum follow word;
    } words[] = {{"refused", FOLLOW_REFUSED},
                 {"glibc", FOLLOW_OLD_GLIBC},
                 {"newer", FOLLOW_NEWER},
                 {"broken", FOLLOW_BROKEN}};

    for (size_t i = 0; i < LENGTH(words); i++)
        if (!strcmp(l->files->declined, words[i].said)) {
            say(l, words[i].word, "");
            return true;
        }
    return false;
}

/* The file PATH is mapped, though ours was meant. */
static int explain_stock(struct look *l, const char *path)
{
    /* In older ones the audit library does nothing (libgomp-coop/audit). */
    static const struct program_versions auditing = {1, {"GLIBC_2.35"}};
    char ours[FOLLOW_PATH_MAX];
    const char *choice = get(l, "COSCHED_LIBGOMP");

    if (!l->environ)
        return say(l, FOLLOW_STOCK, path);
    if (choice && !strcmp(choice, "stock"))
        return say(l, FOLLOW_REFUSED, "");
    if (!get(l, "COSCHED_SOCKET"))
        return say(l, FOLLOW_ENVIRONMENT, "COSCHED_SOCKET");
    if (find_library(l, l->root, true, ours)) {
        if (explain_version(l, ours) || explain_declined(l))
            return 0;
        /* The path alone does not help where a RPATH comes first. */
        if (!find_library(l, l->root, false, ours))
            return say(l, FOLLOW_ENVIRONMENT, "LD_AUDIT");
        return lacks_glibc(l, &auditing)
                   ? say(l, FOLLOW_OLD_GLIBC, auditing.name[0])
                   : say(l, FOLLOW_STOCK, path);
    }
    if (explain_declined(l))
        return 0;
    if (!find_library(l, l->host, true, ours))
        return say(l, FOLLOW_ENVIRONMENT, "LD_AUDIT");
    *strrchr(ours, '/') = '\0';
    return say(l, FOLLOW_NO_LIBRARY, ours);
}

/* Ours is mapped, but the process has not attached. */
static int explain_ours(struct look *l, pid_t pid)
{
    const char *socket = get(l, "COSCHED_SOCKET");
    int policy = sched_getscheduler(pid);

    if (!socket && l->environ)
        return say(l, FOLLOW_ENVIRONMENT, "COSCHED_SOCKET");
    if (socket && !sees_socket(l, socket))
        return say(l, FOLLOW_NO_SOCKET, socket);
    if (policy == SCHED_FIFO || policy == SCHED_RR)
        return say(l, FOLLOW_REALTIME, "");
    return say(l, FOLLOW_NO_REGION, "");
}

/* ---- the look
 * ----------------------------------------------------------------- */

/* No runtime is mapped: there may be one in the program itself. */
static int explain_program(struct look *l)
{
    struct program_elf elf;
    int fd = open_regular(openat(l->proc, "exe", O_PATH | O_CLOEXEC));
    bool readable = fd >= 0, probably = false;
    const char *runtime = readable && program_elf_open(&elf, fd) == 0
                              ? program_elf_runtime(&elf, &probably)
                              : NULL;

    if (readable)
        close(fd);
    l->finding->probably = probably;
    if (runtime)
        return say(l, FOLLOW_STATIC, runtime);
    l->finding->probably = !readable;
    for (size_t i = 0; i < l->files->count; i++)
        for (size_t k = 0; k < LENGTH(others); k++)
            if (is_called(l->files->file[i].path, others[k].file))
                return say(l, FOLLOW_NO_OPENMP, others[k].name);
    return say(l, FOLLOW_NO_OPENMP, "");
}

static int explain(struct look *l, pid_t pid)
{
    const struct runtime *found = NULL, *r;
    struct program_elf elf;
    const char *path = NULL;

    if (!read_maps(l))
        return say(l, FOLLOW_UNKNOWN, strerror(errno));
    for (size_t i = 0; i < l->files->count; i++) {
        const struct follow_file *f = &l->files->file[i];
        if (!(r = runtime_of(f->path)))
            continue;
        if (is_ours(open_mapped(l, f, &elf), &elf))
            return explain_ours(l, pid);
        if (!found || (r->served && !found->served)) {
            found = r;
            path = f->path;
        }
    }
    if (!found)
        return explain_program(l);
    if (!found->served)
        return say(l, FOLLOW_OTHER, found->name);
    return explain_stock(l, path);
}

/* The name of the program, as records have it. */
static void name_program(const struct look *l, struct follow_process *p)
{
    char path[4096];
    ssize_t n = readlinkat(l->proc, "exe", path, sizeof(path) - 1);

    path[n > 0 ? n : 0] = '\0';
    const char *from = strrchr(path, '/');
    from = from ? from + 1 : path;
    for (n = 0; from[n] && from[n] != ' ' && n < FOLLOW_PROGRAM_MAX - 1; n++)
        p->program[n] = isalnum((unsigned char)from[n]) ||
                                strchr("._+-", from[n])
                            ? from[n]
                            : '_';
    p->program[n] = '\0';
}

void follow_look(struct follow_process *p)
{
    struct look l = {.root = -1, .host = -1, .finding = &p->finding};
    char path[32];
    struct proc_stat stat;

    p->program[0] = '\0';
    memset(&p->finding, 0, sizeof(p->finding));
    snprintf(path, sizeof(path), "/proc/%d", (int)p->pid);
    l.proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    /* It stays that of the process that had the number when it was opened. */
    if (l.proc < 0 || proc_read(p->pid, &stat) < 0 || stat.start != p->start) {
        say(&l, FOLLOW_UNKNOWN, "it has ended");
    } else {
        name_program(&l, p);
        l.root = openat(l.proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        l.host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        l.files = calloc(1, sizeof(*l.files));
        l.environ = read_file(&l, "environ", ENVIRON_MAX);
        if (!l.files)
            say(&l, FOLLOW_UNKNOWN, strerror(ENOMEM));
        else
            explain(&l, p->pid);
    }
    free(l.files);
    free(l.environ);
    if (l.host >= 0)
        close(l.host);
    if (l.root >= 0)
        close(l.root);
    if (l.proc >= 0)
        close(l.proc);
}
