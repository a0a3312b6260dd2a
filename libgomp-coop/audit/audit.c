/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Audit library of the loader: whatever way a program looks for an OpenMP
 * runtime, it finds the cooperative libgomp. */

/* Concept
 *
 * The loader calls la_objsearch() for each library that a process asks for,
 * before it looks at DT_RPATH, LD_LIBRARY_PATH or anything else.  For a name of
 * an OpenMP runtime the answer is ours, in the directory of this file:
 * libgomp.so.1 for that name, an alias (make-aliases) for each other one.  The
 * loader notes what was asked for as one more name of the file, but not if it
 * has loaded the file before; an object that wants versions of a library by a
 * name that the loader does not know aborts the program.  Hence one alias for
 * one name.
 *
 * The first time, it is decided once for the process whether ours will do: the
 * file is whole, the C library has what it needs, and it has what the program
 * wants of it.  Else the process keeps its own libraries, one line says why,
 * and so does the name of a page that is mapped, "coschedule-libgomp-WORD", for
 * whoever looks at /proc/PID/maps.
 *
 * With any audit library, the loader lays out thread-local storage before it
 * has seen the libraries of the program: those that must have theirs in the
 * static block share a reserve, and what does not fit cannot be loaded.  A
 * program that comes near to that is started again without us, before any of
 * its code ran.
 *
 * Loaders before glibc 2.35 would send every call of an audited program through
 * a slow path (glibc's bug 15533): there we decline.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include "bare.h"
#include "image.h"

#define EXPORT     __attribute__((visibility("default")))
#define FILE_NAME  "coschedule-audit.so"
#define LIBRARY    "libgomp.so.1"
#define ALIASES    12 /* as many as make-aliases was told to make */
#define PATH_SIZE  4096
#define LINE_SIZE  512
/* Of the reserve, 1664 bytes and the tunable optional_static_tls, 512. */
#define STATIC_TLS 1400

static enum { UNDECIDED, OURS, THEIRS } decision;
static const char *choice = ""; /* COSCHED_LIBGOMP */
static const char *program = "";
static char **arguments, **variables;
static bool running;              /* the program's own code */
static bool given;                /* ours has been the answer */
static size_t static_tls;         /* of the libraries that it began with */
static char directory[PATH_SIZE]; /* of this file, with a slash; "": unknown */
static char answer[PATH_SIZE];    /* the loader copies it */
static uint64_t alias_of[ALIASES];

/* ---- start -------------------------------------------------------------- */

/* Find our directory in LD_AUDIT, paths separated by colons. */
static void find_directory(const char *paths)
{
    while (*paths) {
        size_t length = 0, name = 0;
        for (; paths[length] && paths[length] != ':'; length++)
            if (paths[length] == '/')
                name = length + 1;
        const char *rest = bare_after(paths + name, FILE_NAME);
        if (name && name + LINE_SIZE < PATH_SIZE && rest == paths + length) {
            for (size_t i = 0; i < name; i++)
                directory[i] = paths[i];
            directory[name] = '\0';
        }
        paths += length + (paths[length] == ':');
    }
}

/* The loader calls constructors of audit libraries before anything of ours. */
__attribute__((constructor)) static void begin(int argc, char **argv,
                                               char **environment)
{
    const char *value;

    if (argc > 0 && argv[0])
        program = bare_basename(argv[0]);
    arguments = argv;
    variables = environment;
    for (; environment && *environment; environment++) {
        if ((value = bare_after(*environment, "LD_AUDIT=")))
            find_directory(value);
        else if ((value = bare_after(*environment, "COSCHED_LIBGOMP=")))
            choice = value;
    }
}

EXPORT unsigned int la_version(unsigned int version)
{
    return version >= 2 && directory[0] ? 2 : 0;
}

EXPORT void la_preinit(uintptr_t *cookie)
{
    (void)cookie;
    running = true;
}

/* Take our path out of the list in LD_AUDIT, the variable if no other is left.
 */
static void stop_auditing(void)
{
    char **last = variables;

    for (char **v = variables; *v; v++) {
        char *list = (char *)bare_after(*v, "LD_AUDIT="), *to = list;
        for (char *from = list; from && *from;) {
            size_t length = 0;
            while (from[length] && from[length] != ':')
                length++;
            const char *rest = bare_after(from, directory);
            bool ours = rest && bare_after(rest, FILE_NAME) == from + length;
            length += from[length] == ':';
            for (size_t i = 0; i < length && !ours; i++)
                *to++ = from[i];
            from += length;
        }
        if (list)
            *to = '\0';
        if (!list || *list)
            *last++ = *v;
    }
    *last = NULL;
}

/* Start the program again without us; returns where that cannot be. */
static void start_again(void)
{
    char path[PATH_SIZE];
    long length = bare_syscall(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe",
                               (long)path, PATH_SIZE - 1, 0, 0);

    if (length <= 0)
        return;
    path[length] = '\0';
    /* As a program, the loader has arguments that we do not know. */
    if (bare_after(bare_basename(path), "ld-") ||
        bare_after(bare_basename(path), "ld."))
        return;
    stop_auditing();
    bare_syscall(SYS_execve, (long)path, (long)arguments, (long)variables, 0, 0,
                 0);
}

/* ---- decision ----------------------------------------------------------- */

/* Leave WORD where the agent can see it. */
static void leave_word(const char *word)
{
    char name[sizeof("coschedule-libgomp-") + 16] = "coschedule-libgomp-";

    bare_add(name, sizeof(name), word);
    long fd = bare_syscall(SYS_memfd_create, (long)name, 0, 0, 0, 0, 0);
    if (fd < 0)
        return;
    bare_syscall(SYS_mmap, 0, 1, PROT_NONE, MAP_PRIVATE, fd, 0);
    bare_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* A line of the COUNT strings PARTS, cut short where it is too long. */
static void say(const char *const *parts, size_t count)
{
    char line[LINE_SIZE];

    line[0] = '\0';
    for (size_t i = 0; i < count; i++)
        bare_add(line, sizeof(line), parts[i]);
    bare_add(line, sizeof(line), "\n");
    line[sizeof(line) - 2] = '\n';
    bare_syscall(SYS_write, 2, (long)line, (long)bare_length(line), 0, 0, 0);
}

/* Keep the process's own libraries, because of WORD; A, B, C and D say it to
 * the user, unless A is NULL. */
static void decline(const char *word, const char *a, const char *b,
                    const char *c, const char *d)
{
    const char *const parts[] = {"cosched: ",
                                 a,
                                 b,
                                 c,
                                 d,
                                 ": ",
                                 program,
                                 decision == OURS
                                     ? " has two libgomps, one of them pinned"
                                     : " runs with its own libgomp, pinned"};

    if (decision == UNDECIDED)
        decision = THEIRS;
    leave_word(word);
    if (a)
        say(parts, sizeof(parts) / sizeof(parts[0]));
}

static bool defined(const void *library, const char *version)
{
    return image_defines(library, version);
}

/* Has every C library whose loader calls us this VERSION?  They are of glibc
 * 2.35 or newer, and the build sees to it that ours is content with less. */
static bool is_old(const void *data, const char *version)
{
    const char *digits = bare_after(version, "GLIBC_2.");
    unsigned minor = 0;

    (void)data;
    for (; digits && *digits >= '0' && *digits <= '9'; digits++)
        minor = minor * 10 + (unsigned)(*digits - '0');
    return !digits || minor <= 35;
}

/* Is there something that REQUESTER, called WHO, wants of the library NAME and
 * OURS does not have?  If so, the process keeps its own. */
static bool declines(const struct image *ours, const struct image *requester,
                     const char *who, const char *name)
{
    const char *want = image_wants(requester, name, defined, ours);

    if (!want)
        want = image_lacks(requester, name, ours);
    if (want)
        decline("newer", who, " wants ", want,
                ", which coschedule's libgomp does not have");
    return want != NULL;
}

/* The path of the library NAME of our directory. */
static char *path_of(const char *name)
{
    answer[0] = '\0';
    bare_add(answer, sizeof(answer), directory);
    bare_add(answer, sizeof(answer), name);
    return answer;
}

/* May REQUESTER have ours for NAME?  The first time, decide for the process. */
static bool decide(const struct image *requester, const char *who,
                   const char *name)
{
    struct image ours;
    const char *want, *why;
    bool fits;

    if (decision == UNDECIDED && choice[0] && !bare_equal(choice, "coop") &&
        !bare_equal(choice, "stock"))
        say((const char *[]){"cosched: COSCHED_LIBGOMP=", choice,
                             ": neither coop nor stock"},
            3);
    if (bare_equal(choice, "stock")) {
        decline("refused", NULL, NULL, NULL, NULL);
        return false;
    }
    why = image_open(&ours, path_of(LIBRARY));
    if (why) {
        decline("broken", path_of(LIBRARY), " ", why, "");
        return false;
    }
    want = image_wants(&ours, NULL, is_old, NULL);
    if (want)
        decline("glibc", path_of(LIBRARY), " wants ", want,
                ", which this C library may not have");
    fits = !want && !declines(&ours, requester, who, name);
    if (fits)
        decision = OURS;
    image_close(&ours);
    return fits;
}

/* ---- objects ------------------------------------------------------------ */

static const char *name_of(const struct link_map *map)
{
    return map->l_name && map->l_name[0] ? bare_basename(map->l_name) : program;
}

/* A library that the program begins with may want more of LIBRARY than the
 * first that asked for it; the loader would end the program.  Where ours is
 * loaded already, the program starts again without us. */
static void look_at(const struct link_map *map)
{
    struct image object;

    image_of_map(&object, map);
    if (decision == THEIRS || !image_depends(&object, LIBRARY))
        return;
    decision = UNDECIDED;
    if (!decide(&object, name_of(map), LIBRARY) && given && variables)
        start_again();
}

/* The objects of another namespace than the program's (dlmopen) have a libgomp
 * of their own, too: a cookie of 0 says so. */
EXPORT unsigned int la_objopen(struct link_map *map, Lmid_t space,
                               uintptr_t *cookie)
{
    if (space != LM_ID_BASE) {
        *cookie = 0;
    } else if (!running) {
        if (map->l_name[0]) /* the program's own has its place */
            static_tls += image_static_tls(map);
        if (static_tls > STATIC_TLS && variables)
            start_again();
        look_at(map);
    }
    return 0;
}

/* ---- search ------------------------------------------------------------- */

/* Is FILE, a name without directory, that of an OpenMP runtime?  Wheels rename
 * theirs to libgomp-a34b3233.so.1.0.0 and the like. */
static bool is_runtime(const char *file)
{
    static const char *const stems[] = {"libgomp", "libomp", "libiomp5", NULL};
    const char *rest;

    for (size_t i = 0; stems[i]; i++) {
        rest = bare_after(file, stems[i]);
        if (!rest || (*rest != '.' && *rest != '-') ||
            bare_after(rest, "-plugin-"))
            continue;
        for (; *rest; rest++)
            if (bare_after(rest, ".so"))
                return true;
    }
    return false;
}

/* The path of an alias for NAME, always the same; NULL when there are no more.
 * Names are compared by FNV-1a. */
static char *alias(const char *name)
{
    char file[] = "coschedule-alias-NN.so";
    char *digits = file + sizeof("coschedule-alias-") - 1;
    uint64_t hash = UINT64_C(14695981039346656037);
    size_t i = 0;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    while (i < ALIASES && alias_of[i] && alias_of[i] != hash)
        i++;
    if (i == ALIASES)
        return NULL;
    alias_of[i] = hash;
    if (i >= 10)
        *digits++ = (char)('0' + i / 10);
    *digits++ = (char)('0' + i % 10);
    *digits = '\0';
    bare_add(file, sizeof(file), ".so");
    return path_of(file);
}

/* What to load for NAME, an OpenMP runtime that REQUESTER asks for. */
static char *ours_for(char *name, const struct image *requester)
{
    const char *file = bare_basename(name);
    bool depends = image_depends(requester, name);
    char *path;

    if (bare_equal(depends ? name : file, LIBRARY))
        return path_of(LIBRARY);
    /* dlopen() by any path finds what is loaded under that file's name. */
    path = alias(depends ? name : file);
    return path ? path : name;
}

EXPORT char *la_objsearch(const char *name, uintptr_t *cookie,
                          unsigned int flag)
{
    const struct link_map *map = (const struct link_map *)*cookie;
    struct image requester;

    if (!map || !is_runtime(bare_basename(name)))
        return (char *)name;
    if (bare_after(name,
                   directory)) /* by LD_LIBRARY_PATH, or by who knows us */
        return decision == THEIRS && flag != LA_SER_ORIG ? NULL : (char *)name;
    if (flag != LA_SER_ORIG || decision == THEIRS)
        return (char *)name;
    image_of_map(&requester, map);
    if (!decide(&requester, name_of(map), name))
        return (char *)name;
    given = true;
    return ours_for((char *)name, &requester);
}
