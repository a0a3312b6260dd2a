/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Cpuset cgroups of Slurm's jobs: where a process is, and how to narrow it. */

#include "node_agent/enforce/cgroup.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node_agent/enforce/threads.h"
#include "protocol/cpulist.h"

/* Begin of the names of version 1's groups; the node and a colon follow. */
#define OURS "cosched-"

/* Processes may fork while they are being moved. */
#define MOVE_PASSES 100
#define MOVE_WORK   16 /* for each of a group's processes */

/* ---- files -------------------------------------------------------------- */

static int join(char path[CGROUP_PATH_MAX], struct errtext *err,
                const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int join(char path[CGROUP_PATH_MAX], struct errtext *err,
                const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int n = vsnprintf(path, CGROUP_PATH_MAX, format, args);
    va_end(args);
    if (n < 0 || n >= CGROUP_PATH_MAX)
        return errtext_set(err, ENAMETOOLONG, "%.100s...: path too long", path);
    return 0;
}

/* The text of a file; malloc'ed. */
static char *read_file(const char *path, struct errtext *err)
{
    size_t used = 0, room = 4096;
    char *text = malloc(room);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    while (text && fd >= 0 &&
           (n = read(fd, text + used, room - 1 - used)) > 0) {
        used += (size_t)n;
        if (used + 1 == room) {
            char *bigger = realloc(text, room *= 2);
            if (!bigger)
                break;
            text = bigger;
        }
    }
    int saved = errno;
    if (fd >= 0)
        close(fd);
    if (!text || n != 0) {
        free(text);
        errtext_set(err, text ? saved : ENOMEM, "%.150s: %s", path,
                    strerror(saved));
        return NULL;
    }
    text[used] = '\0';
    return text;
}

int cgroup_write(const char *dir, const char *name, const char *text,
                 struct errtext *err)
{
    char path[CGROUP_PATH_MAX];

    if (join(path, err, "%s/%s", dir, name) < 0)
        return -1;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    return n < 0 ? errtext_set(err, errno, "%.150s: %s", path, strerror(errno))
                 : 0;
}

/* A list of CPUs in a file of DIR. */
static int read_cpus(const char *dir, const char *name,
                     struct cosched_cpuset *cpus)
{
    char path[CGROUP_PATH_MAX];

    if (join(path, NULL, "%s/%s", dir, name) < 0)
        return -1;
    char *text = read_file(path, NULL);
    if (!text)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    int rc = cpulist_parse(text, cpus, NULL);
    free(text);
    return rc;
}

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    while (*list) {
        size_t n = strcspn(list, ", \n");
        if (n == length && !memcmp(list, word, n))
            return true;
        list += n;
        list += strspn(list, ", \n");
    }
    return false;
}

/* ---- the hierarchy ------------------------------------------------------ */

/* Version 2 with the controller: not a hybrid set-up's, which has none. */
static bool unified_has_cpuset(const char *mount)
{
    char path[CGROUP_PATH_MAX];

    if (join(path, NULL, "%s/cgroup.controllers", mount) < 0)
        return false;
    char *text = read_file(path, NULL);
    bool has = text && has_word(text, "cpuset");
    free(text);
    return has;
}

/* One line of mountinfo: ID PARENT DEVICE ROOT MOUNT OPTIONS... - TYPE SOURCE
 * SUPER-OPTIONS.  The hierarchy must be of version 2, or have tree->controller: version 2 always
 * has a freezer, but version 1's comes first. */
static bool take_mount(struct cgroup_tree *tree, const char *line)
{
    char type[32], super[1024];
    char root[CGROUP_PATH_MAX], mount[CGROUP_PATH_MAX];
    const char *dash = strstr(line, " - ");

    /* From a cgroup namespace a mount made outside of it shows what cannot be named. */
    if (!dash || sscanf(line, "%*s %*s %*s %511s %511s", root, mount) != 2 ||
        sscanf(dash, " - %31s %*s %1023s", type, super) != 2 || !strncmp(root, "/..", 3))
        return false;
    const char *controller = tree->controller;
    tree->unified = !strcmp(type, "cgroup2");
    if (tree->unified ? controller && (strcmp(controller, "cpuset") || !unified_has_cpuset(mount))
                      : !controller || strcmp(type, "cgroup") || !has_word(super, controller))
        return false;
    memcpy(tree->root, root, sizeof(root));
    memcpy(tree->mount, mount, sizeof(mount));
    return true;
}

static int find_tree(struct cgroup_tree *tree, const char *procfs,
                     const char *node, const char *controller, struct errtext *err)
{
    char path[CGROUP_PATH_MAX], *rest;
    bool found = false;

    memset(tree, 0, sizeof(*tree));
    tree->controller = controller;
    if (snprintf(tree->procfs, sizeof(tree->procfs), "%s", procfs) >=
            (int)sizeof(tree->procfs) ||
        snprintf(tree->node, sizeof(tree->node), "%s", node) >=
            (int)sizeof(tree->node))
        return errtext_set(err, ENAMETOOLONG, "cgroup: name too long");
    if (join(path, err, "%s/self/mountinfo", procfs) < 0)
        return -1;
    char *text = read_file(path, err);
    if (!text)
        return -1;
    for (char *line = strtok_r(text, "\n", &rest); line && !found;
         line = strtok_r(NULL, "\n", &rest))
        found = take_mount(tree, line);
    free(text);
    return found ? 0
                 : errtext_set(err, ENOTSUP, "no cgroup hierarchy %s%s is mounted",
                               controller ? "with " : "of version 2", controller ? controller : "");
}

int cgroup_tree_find(struct cgroup_tree *tree, const char *procfs,
                     const char *node, struct errtext *err)
{
    return find_tree(tree, procfs, node, "cpuset", err);
}

int cgroup_tree_find_unified(struct cgroup_tree *tree, const char *procfs,
                             struct errtext *err)
{
    return find_tree(tree, procfs, "", NULL, err);
}

int cgroup_tree_find_freezer(struct cgroup_tree *tree, const char *procfs,
                             struct errtext *err)
{
    return find_tree(tree, procfs, "", "freezer", err) == 0
               ? 0
               : cgroup_tree_find_unified(tree, procfs, err);
}

/* In the text of a /proc/PID/cgroup: the path within the hierarchy, or NULL.
 * Lines are ID:CONTROLLERS:PATH, "0::PATH" in version 2.  Changes TEXT. */
static char *find_line(const struct cgroup_tree *tree, char *text)
{
    char *rest;

    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        if (tree->unified ? !strcmp(line, "0:")
                          : has_word(controllers + 1, tree->controller))
            return path;
    }
    return NULL;
}

/* Directory of the cgroup of TREE that PID is in. */
static int directory_of(const struct cgroup_tree *tree, pid_t pid,
                        char dir[CGROUP_PATH_MAX], struct errtext *err)
{
    size_t root = strcmp(tree->root, "/") ? strlen(tree->root) : 0;
    char file[CGROUP_PATH_MAX];

    if (join(file, err, "%s/%d/cgroup", tree->procfs, (int)pid) < 0)
        return -1;
    char *text = read_file(file, NULL);
    if (!text)
        return errtext_set(err, ESRCH, "process %d: no such process", (int)pid);
    char *path = find_line(tree, text);
    int rc;
    /* "/.." leads out of what this process is allowed to see. */
    if (!path || strncmp(path, tree->root, root) || path[root] != '/' ||
        !strncmp(path, "/..", 3))
        rc = errtext_set(err, ENOTSUP, "process %d is in no cpuset cgroup that "
                                       "can be seen from here", (int)pid);
    else
        rc = join(dir, err, "%s%s", tree->mount, path + root);
    int saved = errno;
    free(text);
    errno = saved;
    return rc;
}

/* ---- groups ------------------------------------------------------------- */

static void replace(char *text, char from, char to)
{
    for (; (text = strchr(text, from)); text++)
        *text = to;
}

/* Version 1: DIR is JOB/STEP, or a group of ours that stands for one. */
static int beside_step(const struct cgroup_tree *tree, const char *job,
                       const char *step, struct cgroup_group *group,
                       struct errtext *err)
{
    char ours[sizeof(OURS) + sizeof(tree->node)];
    size_t length = (size_t)snprintf(ours, sizeof(ours), OURS "%s:", tree->node);
    char name[CGROUP_PATH_MAX];

    group->inside = !strncmp(step, ours, length);
    if (join(name, err, "%s", group->inside ? step + length : step) < 0)
        return -1;
    replace(name, '/', ':');
    if (join(group->path, err, "%s/%s%s", job, ours, name) < 0)
        return -1;
    replace(name, ':', '/');
    return join(group->origin, err, "%s/%s", job, name);
}

/* Version 2: the innermost group around the process that has a cpuset, below
 * that of the step, which has slurmstepd in it. */
static int around_task(const char *job, const char *step,
                       struct cgroup_group *group, struct errtext *err)
{
    size_t least = strlen(job) + 1 + strcspn(step, "/");
    char file[CGROUP_PATH_MAX], *end;

    group->inside = true;
    if (join(group->path, err, "%s/%s", job, step) < 0)
        return -1;
    while (strlen(group->path) > least) {
        if (join(file, err, "%s/cpuset.cpus", group->path) < 0)
            return -1;
        if (access(file, F_OK) == 0)
            return join(group->origin, err, "%s", group->path);
        end = strrchr(group->path, '/');
        *end = '\0';
    }
    return errtext_set(err, ENOTSUP,
                       "%.80s/%.40s: no task's cgroup with cpuset.cpus (cgroup.conf: "
                       "EnableControllers=yes)", job, step);
}

int cgroup_group_of(const struct cgroup_tree *tree, pid_t pid, uint32_t job,
                    struct cgroup_group *group, struct errtext *err)
{
    char dir[CGROUP_PATH_MAX], name[32];

    if (directory_of(tree, pid, dir, err) < 0)
        return -1;
    snprintf(name, sizeof(name), "/job_%u/", job);
    char *step = strstr(dir + strlen(tree->mount), name);
    if (step) {
        step += strlen(name);
        step[-1] = '\0';
    }
    if (!step || (strncmp(step, "step_", 5) && strncmp(step, OURS, strlen(OURS))))
        return errtext_set(err, ENOTSUP,
                           "process %d is in no cpuset cgroup of the job (%.100s)",
                           (int)pid, dir);
    return tree->unified ? around_task(dir, step, group, err)
                         : beside_step(tree, dir, step, group, err);
}

int cgroup_tasks_of(const struct cgroup_tree *tree, pid_t pid, uint32_t job,
                    char path[CGROUP_PATH_MAX], struct errtext *err)
{
    char name[32], *step, *tasks = NULL;

    if (directory_of(tree, pid, path, err) < 0)
        return -1;
    snprintf(name, sizeof(name), "/job_%u/step_", job);
    if ((step = strstr(path + strlen(tree->mount), name))) {
        step += strlen(name);
        step += strcspn(step, "/");
        tasks = strncmp(step, "/user/", 6) ? NULL : step + 6;
    }
    if (!tasks || !*tasks)
        return errtext_set(err, ENOTSUP,
                           "process %d is in no task's cgroup of the job (%.100s)",
                           (int)pid, path);
    tasks[strcspn(tasks, "/")] = '\0';
    return 0;
}

bool cgroup_suspended(const struct cgroup_tree *tree, pid_t pid, uint32_t job)
{
    char path[CGROUP_PATH_MAX], file[CGROUP_PATH_MAX], name[32];

    snprintf(name, sizeof(name), "/job_%u/", job);
    if (tree->unified) {
        if (cgroup_tasks_of(tree, pid, job, path, NULL) < 0)
            return false;
        *strrchr(path, '/') = '\0'; /* .../user: what is above it freezes that, too */
    } else if (directory_of(tree, pid, path, NULL) < 0 ||
               !strstr(path + strlen(tree->mount), name)) {
        return false;
    }
    char *text = join(file, NULL, "%s/%s", path,
                      tree->unified ? "cgroup.events" : "freezer.state") < 0
                     ? NULL
                     : read_file(file, NULL);
    bool frozen = text && strstr(text, tree->unified ? "frozen 1" : "FROZEN");
    free(text);
    return frozen;
}

/* The processes in the group at PATH, a malloc'ed text of one a line. */
static char *members(const char *path, struct errtext *err)
{
    char file[CGROUP_PATH_MAX];

    return join(file, err, "%s/cgroup.procs", path) < 0 ? NULL
                                                        : read_file(file, err);
}

bool cgroup_populated(const char *path)
{
    char *text = members(path, NULL);
    bool populated = text && *text;

    free(text);
    return populated;
}

int cgroup_check(const struct cgroup_tree *tree,
                 const struct cgroup_group *group, struct errtext *err)
{
    char file[CGROUP_PATH_MAX], *rest;
    char *text = tree->unified ? members(group->path, err) : NULL;
    int rc = tree->unified && !text ? -1 : 0;

    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL;
         line && rc == 0; line = strtok_r(NULL, "\n", &rest)) {
        char *comm = NULL;
        if (join(file, NULL, "%s/%s/comm", tree->procfs, line) == 0 &&
            (comm = read_file(file, NULL)) && !strcmp(comm, "slurmstepd\n"))
            rc = errtext_set(err, ENOTSUP, "%.150s: has slurmstepd in it",
                             group->path);
        free(comm);
    }
    int saved = errno;
    free(text);
    errno = saved;
    return rc;
}

/* NUMA nodes as those of the origin: a new group of version 1 has none. */
static int make_group(const struct cgroup_group *group, struct errtext *err)
{
    char file[CGROUP_PATH_MAX];

    if (mkdir(group->path, 0755) < 0)
        return errno == EEXIST ? 0
                               : errtext_set(err, errno, "%.150s: %s",
                                             group->path, strerror(errno));
    if (join(file, err, "%s/cpuset.mems", group->origin) < 0)
        return -1;
    char *mems = read_file(file, err);
    int rc = mems ? cgroup_write(group->path, "cpuset.mems", mems, err) : -1;
    int saved = errno;
    free(mems);
    if (rc < 0)
        rmdir(group->path);
    errno = saved;
    return rc;
}

int cgroup_narrow(const struct cgroup_tree *tree,
                  const struct cgroup_group *group,
                  const struct cosched_cpuset *cpus, struct errtext *err)
{
    struct cosched_cpuset now;
    char list[4096];

    /* As it is in nearly all epochs. */
    if (read_cpus(group->path, "cpuset.cpus", &now) == 0 &&
        cpuset_equal(&now, cpus))
        return 0;
    if (!tree->unified && make_group(group, err) < 0)
        return -1;
    return cgroup_write(group->path, "cpuset.cpus",
                      cpulist_format(cpus, list, sizeof(list)), err);
}

int cgroup_enter(const struct cgroup_group *group, pid_t pid,
                 struct errtext *err)
{
    char number[16];

    if (group->inside)
        return 0;
    snprintf(number, sizeof(number), "%d", (int)pid);
    return cgroup_write(group->path, "cgroup.procs", number, err);
}

void cgroup_leave(const struct cgroup_tree *tree, pid_t pid, uint32_t job)
{
    struct cgroup_group group;
    char number[16];

    snprintf(number, sizeof(number), "%d", (int)pid);
    if (!tree->unified &&
        cgroup_group_of(tree, pid, job, &group, NULL) == 0 && group.inside)
        cgroup_write(group.origin, "cgroup.procs", number, NULL);
}

/* ---- as if we had never been there -------------------------------------- */

/* Move all processes from the group at PATH to that at ORIGIN, as far as *WORK goes. */
static int move_back(const char *path, const char *origin, size_t *work, struct errtext *err)
{
    size_t plenty = SIZE_MAX;
    int rc = -1;

    if (!work)
        work = &plenty;

    for (int pass = 0; pass < MOVE_PASSES; pass++) {
        char *rest, *text = members(path, err);
        if (!text)
            return -1;
        bool empty = !*text;
        for (char *line = strtok_r(text, "\n", &rest); line && *work;
             line = strtok_r(NULL, "\n", &rest)) {
            rc = cgroup_write(origin, "cgroup.procs", line, err);
            work_take(work, MOVE_WORK);
        }
        free(text);
        if (empty)
            return 0;
        if (!*work)
            return errtext_set(err, EAGAIN, "%.150s: more are to be moved", path);
        if (rc < 0 && errno != ESRCH)
            return -1;
    }
    return errtext_set(err, EBUSY, "%.150s: processes come too fast", path);
}

/* NAME is where in PATH the name begins, COLON where the origin's does. */
static int restore_beside(const char *path, size_t name, size_t colon,
                          size_t *work, struct errtext *err)
{
    char origin[CGROUP_PATH_MAX], parent[CGROUP_PATH_MAX];

    if (join(parent, err, "%.*s", (int)(name - 1), path) < 0 ||
        join(origin, err, "%s/%s", parent, path + colon + 1) < 0)
        return -1;
    replace(origin + name, ':', '/');
    if (move_back(path, origin, work, err) < 0 && errno != ENOENT && errno != ENODEV)
        return -1;
    if (rmdir(path) < 0 && errno != ENOENT)
        return errtext_set(err, errno, "%.150s: %s", path, strerror(errno));
    /* Slurm removes job and user with the last step, unless something is in the
     * way.  That was us. */
    for (int level = 0; access(origin, F_OK) < 0 && level < 2; level++) {
        char *slash = strrchr(parent, '/');
        if (!slash || rmdir(parent) < 0)
            break;
        *slash = '\0';
    }
    return 0;
}

/* No CPUs of its own: those of the group around it. */
static int restore_task(const char *path, struct errtext *err)
{
    char parent[CGROUP_PATH_MAX], list[4096];
    struct cosched_cpuset cpus;

    if (access(path, F_OK) < 0)
        return 0;
    /* Kernels differ in whether a group with processes may go back to none;
     * where not, it gets by name what it would have had. */
    int rc = cgroup_write(path, "cpuset.cpus", "\n", err);
    if (rc < 0 && join(parent, NULL, "%s", path) == 0) {
        *strrchr(parent, '/') = '\0';
        if (read_cpus(parent, "cpuset.cpus.effective", &cpus) == 0)
            rc = cgroup_write(path, "cpuset.cpus",
                            cpulist_format(&cpus, list, sizeof(list)), err);
    }
    return rc;
}

int cgroup_restore(const char *path, size_t *work, struct errtext *err)
{
    const char *slash = strrchr(path, '/');

    if (!slash || slash == path)
        return errtext_set(err, EINVAL, "%.150s: no group", path);
    const char *name = slash + 1, *colon = strchr(name, ':');

    return !strncmp(name, OURS, strlen(OURS)) && colon
               ? restore_beside(path, (size_t)(name - path),
                                (size_t)(colon - path), work, err)
               : restore_task(path, err);
}
