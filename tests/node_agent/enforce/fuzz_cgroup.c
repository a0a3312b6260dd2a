/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: mountinfo, /proc/PID/cgroup and the files of cgroups; a bundle.
 *
 * Job 7 has process 1.  Paths are relative to the bundle's directory; where a
 * hierarchy or a group would lie elsewhere nothing is written. */

#include "tests/fuzz/fuzz.h"

#include "node_agent/enforce/cgroup.h"
#include "protocol/cpulist.h"

static bool is_here(const char *path)
{
    return *path && *path != '/' && !strstr(path, "..");
}

static void check_group(const struct cgroup_tree *tree,
                        const struct cgroup_group *g)
{
    size_t mount = strlen(tree->mount);

    REQUIRE(memchr(g->path, '\0', sizeof(g->path)) &&
            memchr(g->origin, '\0', sizeof(g->origin)));
    REQUIRE(!strncmp(g->path, tree->mount, mount) &&
            !strncmp(g->origin, tree->mount, mount));
    REQUIRE(strstr(g->path, "/job_7"));
    REQUIRE(!tree->unified || !strcmp(g->path, g->origin));
}

static void use(const struct cgroup_tree *tree,
                const struct cgroup_group *group)
{
    struct cosched_cpuset cpus = {{5}};
    struct errtext err = {""};

    if (cgroup_check(tree, group, &err) < 0)
        fuzz_refused(&err);
    cgroup_populated(group->path);
    if (cgroup_narrow(tree, group, &cpus, &err) < 0)
        fuzz_refused(&err);
    if (cgroup_enter(group, 1, &err) < 0)
        fuzz_refused(&err);
    cgroup_leave(tree, 1, 7);
    if (cgroup_restore(group->path, NULL, &err) < 0)
        fuzz_refused(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cgroup_tree tree;
    struct cgroup_group group;
    struct errtext err = {""};

    REQUIRE(chdir(fuzz_files(data, size)) == 0);
    if (cgroup_tree_find(&tree, "proc", "n1", &err) < 0) {
        fuzz_refused(&err);
        return 0;
    }
    if (!is_here(tree.mount))
        return 0;
    if (cgroup_group_of(&tree, 1, 7, &group, &err) < 0) {
        fuzz_refused(&err);
    } else {
        check_group(&tree, &group);
        if (is_here(group.path) && is_here(group.origin))
            use(&tree, &group);
    }
    if (cgroup_tree_find_freezer(&tree, "proc", &err) < 0)
        fuzz_refused(&err);
    else if (is_here(tree.mount))
        cgroup_suspended(&tree, 1, 7);
    if (cgroup_tree_find_unified(&tree, "proc", &err) < 0)
        fuzz_refused(&err);
    else if (cgroup_tasks_of(&tree, 1, 7, group.path, &err) < 0)
        fuzz_refused(&err);
    else
        REQUIRE(strstr(group.path, "/job_7/step_"));
    return 0;
}
