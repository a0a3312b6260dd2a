/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What resctrl can limit on this node: ways of caches, and bandwidth. */

#include "node_agent/counters/resctrl_info.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "node_agent/counters/perf_sysfs.h"

#define SCHEMATA_MAX 16384 /* all domains of all resources */

char *resctrl_root(const struct counters_setup *setup)
{
    char *root;
    int rc = setup->argument && setup->argument[0]
                 ? asprintf(&root, "%s", setup->argument)
                 : asprintf(&root, "%s/fs/resctrl", setup->sysfs);

    return rc < 0 ? NULL : root;
}

static bool exists(const char *root, const char *file)
{
    char path[PATH_MAX];
    struct stat st;

    return snprintf(path, sizeof(path), "%s/%s", root, file) <
               (int)sizeof(path) &&
           stat(path, &st) == 0;
}

/* The number in info/RESOURCE/FILE, at most MOST. */
static int number(const char *root, const char *resource, const char *file,
                  int base, uint64_t most, uint64_t *value, struct errtext *err)
{
    char path[96], text[64], *end;

    snprintf(path, sizeof(path), "info/%s/%s", resource, file);
    if (perf_sysfs_line(root, path, text, sizeof(text)) < 0)
        return errtext_set(err, errno, "resctrl: %s/%s: %s", root, path,
                           strerror(errno));
    errno = 0;
    *value = strtoull(text, &end, base);
    if (!isxdigit((unsigned char)text[0]) || end == text || *end || errno ||
        *value > most)
        return errtext_set(err, EINVAL, "resctrl: %s/%s: \"%.30s\" is not a %s",
                           root, path, text, base == 16 ? "mask" : "number");
    return 0;
}

static int read_cache(const char *root, struct resctrl_info *info,
                      struct errtext *err)
{
    uint64_t least, groups;

    info->cdp = exists(root, "info/L3DATA");
    if (!info->cdp && !exists(root, "info/L3/cbm_mask"))
        return 0;
    const char *name = info->cache.name = info->cdp ? "L3DATA" : "L3";
    if (number(root, name, "cbm_mask", 16, UINT64_MAX, &info->ways.usable,
               err) < 0 ||
        number(root, name, "min_cbm_bits", 10, 64, &least, err) < 0 ||
        number(root, name, "num_closids", 10, 65536, &groups, err) < 0)
        return -1;
    /* Kernels before 4.16 do not tell. */
    if (exists(root, info->cdp ? "info/L3DATA/shareable_bits"
                               : "info/L3/shareable_bits") &&
        number(root, name, "shareable_bits", 16, UINT64_MAX,
               &info->ways.shareable, err) < 0)
        return -1;
    info->ways.least = (unsigned)least;
    info->groups = (unsigned)groups;
    return 0;
}

/* Whether ROOT is mounted with OPTION. */
static bool mounted_with(const char *root, const char *procfs,
                         const char *option)
{
    char path[PATH_MAX], line[PATH_MAX + 256];
    bool found = false;

    snprintf(path, sizeof(path), "%s/mounts", procfs);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        char *rest = line;
        strsep(&rest, " ");
        char *where = strsep(&rest, " ");
        char *type = strsep(&rest, " ");
        char *options = strsep(&rest, " ");
        if (!options || strcmp(where, root) || strcmp(type, "resctrl"))
            continue;
        found = false; /* the last mount is on top */
        for (char *one; (one = strsep(&options, ","));)
            found |= !strcmp(one, option);
    }
    if (f)
        fclose(f);
    return found;
}

static int read_bandwidth(const char *root, const char *procfs,
                          struct resctrl_info *info, struct errtext *err)
{
    uint64_t least, step, groups;

    if (!exists(root, "info/MB"))
        return 0;
    info->bandwidth.name = "MB";
    if (number(root, "MB", "min_bandwidth", 10, 100, &least, err) < 0 ||
        number(root, "MB", "bandwidth_gran", 10, 100, &step, err) < 0 ||
        number(root, "MB", "num_closids", 10, 65536, &groups, err) < 0)
        return -1;
    info->least = (unsigned)least;
    info->step = (unsigned)step;
    info->mbps = mounted_with(root, procfs, "mba_MBps");
    if (!info->groups || groups < info->groups)
        info->groups = (unsigned)groups;
    return 0;
}

/* The domains of RESOURCE from its line in TEXT, the default group's schemata. */
static int read_domains(const char *root, struct resctrl_resource *resource,
                        int base, const char *text, struct errtext *err)
{
    size_t length = strlen(resource->name);
    const char *p = text;
    char *end;

    while (p) { /* the line that begins with its name and a colon */
        p += strspn(p, " \n");
        if (!strncmp(p, resource->name, length) && p[length] == ':')
            break;
        p = strchr(p, '\n');
    }
    p = p ? p + length : NULL;
    while (p && (*p == ':' || *p == ';') &&
           resource->domains < RESCTRL_DOMAINS) {
        struct resctrl_domain *d = &resource->domain[resource->domains];
        long id = strtol(p + 1, &end, 10);
        if (end == p + 1 || *end != '=' || id < 0 || id > INT_MAX)
            break;
        p = end + 1 + strspn(end + 1, " ");
        if (!isxdigit((unsigned char)*p))
            break;
        d->base = strtoull(p, &end, base);
        d->id = (int)id;
        p = end;
        resource->domains++;
    }
    if (!p || !resource->domains || (*p != '\n' && *p))
        return errtext_set(err, EINVAL, "resctrl: %s/schemata: its line of %s "
                           "makes no sense", root, resource->name);
    return 0;
}

static int read_schemata(const char *root, struct resctrl_info *info,
                         struct errtext *err)
{
    char path[PATH_MAX], text[SCHEMATA_MAX];

    snprintf(path, sizeof(path), "%s/schemata", root);
    FILE *f = fopen(path, "re");
    if (!f)
        return errtext_set(err, errno, "resctrl: %s: %s", path,
                           strerror(errno));
    size_t got = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[got] = '\0';
    if (info->cache.name &&
        read_domains(root, &info->cache, 16, text, err) < 0)
        return -1;
    if (info->bandwidth.name &&
        read_domains(root, &info->bandwidth, 10, text, err) < 0)
        return -1;
    return 0;
}

int resctrl_info_read(const char *root, const char *procfs,
                      struct resctrl_info *info, struct errtext *err)
{
    memset(info, 0, sizeof(*info));
    if (!exists(root, ""))
        return errtext_set(err, ENOTSUP, "resctrl: %s: %s (CPU or kernel "
                           "without resctrl)", root, strerror(errno));
    if (!exists(root, "info"))
        return errtext_set(err, ENOTSUP, "resctrl: nothing mounted at %s "
                           "(mount -t resctrl resctrl %s)", root, root);
    if (read_cache(root, info, err) < 0 ||
        read_bandwidth(root, procfs, info, err) < 0)
        return -1;
    if (!info->cache.name && !info->bandwidth.name)
        return errtext_set(err, ENOTSUP, "resctrl: %s/info has neither L3 nor "
                           "MB (this CPU monitors but does not allocate)", root);
    return read_schemata(root, info, err);
}

const char *resctrl_info_describe(const struct resctrl_info *info, char *text,
                                  size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    if (info->cache.domains)
        used = (size_t)snprintf(text, size, "%d ways%s of %zu cache%s",
                                __builtin_popcountll(info->ways.usable),
                                info->cdp ? " for data" : "",
                                info->cache.domains,
                                info->cache.domains > 1 ? "s" : "");
    if (used >= size)
        return text;
    const char *comma = used ? ", " : "";
    if (info->bandwidth.domains && info->mbps)
        used += (size_t)snprintf(text + used, size - used,
                                 "%sbandwidth in MB/s", comma);
    else if (info->bandwidth.domains)
        used += (size_t)snprintf(text + used, size - used,
                                 "%sbandwidth in steps of %u %%", comma,
                                 info->step);
    if (used < size)
        snprintf(text + used, size - used, ", for %u jobs",
                 info->groups ? info->groups - 1 : 0);
    return text;
}
