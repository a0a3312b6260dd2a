/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: /proc/PID/stat and maps, in which processes write their names
 * and files. */

#include "tests/fuzz/fuzz.h"

#include "node_agent/enforce/follow_look.h"
#include "node_agent/enforce/proc.h"

static void as_stat(const char *text)
{
    struct proc_stat stat;

    memset(&stat, 1, sizeof(stat));
    if (proc_parse(text, &stat) < 0) {
        REQUIRE(errno == EINVAL);
        return;
    }
    REQUIRE(memchr(stat.comm, '\0', sizeof(stat.comm)));
    /* What the process calls itself moves no field: with another name all else
     * is the same. */
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    char *other = malloc(strlen(text) + 8);
    struct proc_stat same;
    sprintf(other, "%.*s(x)%s", (int)(open - text), text, close + 1);
    REQUIRE(proc_parse(other, &same) == 0);
    free(other);
    REQUIRE(stat.pid == same.pid && stat.parent == same.parent &&
            stat.group == same.group);
    REQUIRE(stat.session == same.session && stat.state == same.state);
    REQUIRE(stat.ticks == same.ticks && stat.start == same.start);
}

/* In one piece or, as the kernel gives it, in several: the same files. */
static void as_maps(const char *text, size_t size, size_t cut)
{
    static struct follow_files whole, parts;

    whole.count = parts.count = 0;
    whole.declined[0] = parts.declined[0] = '\0';
    REQUIRE(follow_read_maps(text, size, &whole) <= size);
    size_t done = follow_read_maps(text, cut, &parts);
    REQUIRE(done <= cut);
    follow_read_maps(text + done, size - done, &parts);
    REQUIRE(whole.count <= FOLLOW_FILES && whole.count == parts.count);
    REQUIRE(!strcmp(whole.declined, parts.declined));
    for (size_t i = 0; i < whole.count; i++) {
        REQUIRE(memchr(whole.file[i].path, '\0', FOLLOW_PATH_MAX));
        REQUIRE(whole.file[i].path[0] == '/' || !whole.file[i].path[0]);
        REQUIRE(!strcmp(whole.file[i].path, parts.file[i].path));
        REQUIRE(whole.file[i].inode == parts.file[i].inode);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    as_stat(text);
    REQUIRE(proc_entry_number(text) >= 0);
    as_maps(text, size, size / 2);
    free(text);
    return 0;
}
