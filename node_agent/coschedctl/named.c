/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl: output in which parallel regions have their names. */

#include "node_agent/coschedctl/named.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/coschedctl/ctl.h"

#define ID_DIGITS 16
#define TOKEN_MAX 34 /* an id, "+", an offset of 16 digits, and a zero */

FILE *ctl_named_open(struct ctl_named *n)
{
    *n = (struct ctl_named){0};
    return n->file = open_memstream(&n->text, &n->size);
}

void ctl_named_drop(struct ctl_named *n)
{
    if (n->file)
        fclose(n->file);
    free(n->text);
}

static size_t hex_digits(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

/* The next region in TEXT, whose length goes into *LENGTH, or NULL. */
static const char *next_region(const char *text, size_t *length)
{
    while ((text = strchr(text, '+'))) {
        size_t offset = hex_digits(++text);
        const char *id = text - 1 - ID_DIGITS;
        if (!offset || offset > 16 || isalnum((unsigned char)text[offset]))
            continue;
        *length = ID_DIGITS + 1 + offset;
        return id;
    }
    return NULL;
}

/* The next region at or behind FROM in a text that begins at BEGIN: all digits of the id are
 * there, and no more. */
static const char *find_region(const char *begin, const char *from, size_t *length)
{
    const char *at = from;

    while ((at = next_region(at, length))) {
        if (at >= from && hex_digits(at) == ID_DIGITS &&
            (at == begin || !isalnum((unsigned char)at[-1])))
            return at;
        at += ID_DIGITS + 1;
    }
    return NULL;
}

/* Look for the COUNT regions at LIST in what JOBS run.  Those that the first has not are asked of
 * the next. */
static void look(struct region_names *names, const json_t *jobs, const char **list, size_t count)
{
    const json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job) {
        const json_t *region = json_object_get(job, "region");
        const json_t *of = ctl_number(region, "pid") > 0 ? region : json_object_get(job, "follow");
        for (size_t at = 0; at < count; at += NAMES_BATCH)
            region_names_look(names, (pid_t)ctl_number(of, "pid"), (uid_t)ctl_number(job, "uid"),
                              list + at, count - at < NAMES_BATCH ? count - at : NAMES_BATCH);
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All different regions in TEXT as a list to free with its members; NULL: none. */
static char **list_regions(const char *text, size_t *count)
{
    char **list = NULL;
    size_t length, room = 0, used = 0;

    for (const char *at = text; (at = find_region(text, at, &length)); at += length) {
        if (used == room) {
            char **more = reallocarray(list, room = room ? 2 * room : 16, sizeof(*list));
            if (!more)
                break;
            list = more;
        }
        if (!(list[used] = strndup(at, length)))
            break;
        used++;
    }
    if (used)
        qsort(list, used, sizeof(*list), compare);
    *count = 0;
    for (size_t i = 0; i < used; i++)
        if (*count && !strcmp(list[*count - 1], list[i]))
            free(list[i]);
        else
            list[(*count)++] = list[i];
    return list;
}

/* Write TEXT with what NAMES have. */
static void write_named(const char *text, const struct region_names *names, FILE *out)
{
    const char *from = text, *at;
    size_t length;

    for (; (at = find_region(text, from, &length)); from = at + length) {
        char region[TOKEN_MAX];
        snprintf(region, sizeof(region), "%.*s", (int)length, at);
        fwrite(from, 1, (size_t)(at - from), out);
        fputs(region_names_get(names, region), out);
    }
    fputs(from, out);
}

int ctl_named_print(struct ctl_named *n, const struct arguments *a, const json_t *jobs)
{
    return ctl_named_close(n, a, jobs, stdout) ? fail(CTL_FAILED, "out of memory") : CTL_OK;
}

int ctl_named_close(struct ctl_named *n, const struct arguments *a, const json_t *jobs, FILE *out)
{
    struct region_names *names = region_names_new();
    size_t count = 0;
    json_t *reply = NULL;

    if (!n->file || fclose(n->file) != 0 || !names) {
        free(n->text);
        region_names_free(names);
        errno = ENOMEM;
        return -1;
    }
    char **list = list_regions(n->text, &count);
    if (count && !jobs) {
        struct message_request request = {.op = MESSAGE_STATUS};
        ctl_call(a->socket, NULL, CTL_TIMEOUT_MS, &request, &reply, NULL, NULL);
        jobs = json_object_get(reply, "jobs");
    }
    look(names, jobs, (const char **)list, count);
    write_named(n->text, names, out);
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
    free(n->text);
    json_decref(reply);
    region_names_free(names);
    return CTL_OK;
}

void ctl_names_of_jobs(struct region_names *names, const json_t *jobs)
{
    json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job) {
        const json_t *region = json_object_get(job, "region");
        const char *name = ctl_text(region, "region", NULL);
        if (name)
            region_names_look(names, (pid_t)ctl_number(region, "pid"),
                              (uid_t)ctl_number(job, "uid"), &name, 1);
    }
}

void ctl_name_jobs(json_t *jobs)
{
    struct region_names *names = region_names_new();
    json_t *job;
    size_t i;

    if (!names)
        return;
    ctl_names_of_jobs(names, jobs);
    json_array_foreach(jobs, i, job) {
        json_t *region = json_object_get(job, "region");
        const char *id = ctl_text(region, "region", NULL);
        const char *name = id ? region_names_get(names, id) : id;
        if (name != id)
            json_object_set_new(region, "name", json_string(name));
    }
    region_names_free(names);
}
