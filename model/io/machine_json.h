/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Machine descriptions as files. */

#ifndef COSCHED_MACHINE_JSON_H
#define COSCHED_MACHINE_JSON_H

/* Concept
 *
 * The description of model/machine.h as people write it; machine.schema.json
 * beside this file defines each member, machines/ has examples.
 *
 *     {"name": "two sockets",
 *      "source": "where the numbers are from",
 *      "llc_domains": [{"cpus": "0-7", "memory": 0},
 *                    {"cpus": "8-15", "memory": 1}],
 *      "numa_nodes": [{"service_us": 0.004},
 *                    {"service_us": {"read": 0.004, "write": 0.003,
 *                                    "prefetch": 0.002}}],
 *      "links": [{"from": 0, "to": 1, "service_us": 0.006}],
 *      "routes": [{"llc_domain": 0, "memory": 1, "links": [0]}]}
 *
 * A link joins two NUMA nodes and is one station for both directions (thesis
 * 3.3.1), unless it is "one_way".  Routes that are not given are those with the
 * fewest links, of several the one whose first link comes first in the file.
 *
 * "power" is struct machine_power, if it is known.
 *
 * "calibration" says that the service times were measured on the machine
 * itself, when and with what: date, host, kernel and counters, and whatever
 * else coschedctl calibrate knows.
 */

#include "model/machine.h"
#include "common/json_reader.h"

#define MACHINE_JSON_MAX_NODES 256
#define MACHINE_JSON_MAX_LINKS 4096

struct machine_link {
    size_t from, to; /* NUMA nodes */
    bool one_way;
};

struct machine_description {
    char *name;
    char *source; /* or NULL */
    json_t *calibration; /* or NULL: the times were not measured here */
    struct machine *machine;   /* with both tables of service times by kind */
    struct machine_link *link; /* [machine->links] */
};

/* Make a description of VALUE, which is at the path of READER.  NULL with errno
 * EINVAL or ENOMEM and the text set.  Release it with
 * machine_description_free(). */
struct machine_description *machine_json_read(struct json_reader *reader,
                                              const json_t *value);

/* Load FILE ("-": standard input).  As above, or errno of open(2), read(2). */
struct machine_description *machine_json_load(const char *file,
                                              struct errtext *err);

/* Load the description NAME: a file, or the name of a shipped one, which is in
 * $COSCHED_MACHINES, or in the package's own directory.  As above. */
struct machine_description *machine_json_find(const char *name,
                                              struct errtext *err);

/* The description as JSON that machine_json_read() takes, routes included: a
 * new reference, or NULL when out of memory. */
json_t *machine_json_write(const struct machine_description *description);

/* Takes NULL. */
void machine_description_free(struct machine_description *description);

#endif /* COSCHED_MACHINE_JSON_H */
