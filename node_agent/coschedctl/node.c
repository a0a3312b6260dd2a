/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl: the node as its commands see it for themselves. */

#include "node_agent/coschedctl/node.h"

#include <string.h>

int ctl_node_open(struct ctl_node *node, const struct arguments *a)
{
    struct errtext err = {""};
    struct message_request request = {.op = MESSAGE_COUNTERS};

    *node = (struct ctl_node){0};
    node->topology = topology_new(NULL, &err);
    if (!node->topology)
        return fail(CTL_FAILED, "%s", err.text);
    counters_setup_init(&node->setup, topology_machine(node->topology),
                        topology_cpus(node->topology));
    node->setup.llc_domain = topology_llc_domains(node->topology);
    node->setup.package =
        topology_packages(node->topology, &node->setup.packages);
    node->setup.topology = node->topology;
    node->setup.threads = true;
    node->setup.cpu_model = counters_cpu_model(
        node->setup.procfs, node->cpu_model, sizeof(node->cpu_model));
    /* Without an agent there is more to see, not less. */
    node->silent = ctl_call(a->socket, NULL, CTL_TIMEOUT_MS, &request,
                            &node->agent, NULL, NULL) > 0;
    return CTL_OK;
}

void ctl_node_close(struct ctl_node *node)
{
    json_decref(node->agent);
    topology_free(node->topology);
}

/* "perf" is in "perf + powercap", "per" is not. */
static bool listed(const char *names, const char *name)
{
    size_t length = strlen(name);

    for (const char *p = names; (p = strstr(p, name)); p += length)
        if ((p == names || p[-1] == ' ') && (!p[length] || p[length] == ' '))
            return true;
    return false;
}

/* What stands against opening B beside the agent, or NULL. */
static const char *conflict(const struct ctl_node *node,
                            const struct counters_backend *b)
{
    const char *names =
        json_string_value(json_object_get(node->agent, "counters"));

    if (node->silent && b->flags & COUNTERS_EXCLUSIVE)
        return "not tried: it might disturb the agent, which does not answer";
    if (!names || !b->sample)
        return NULL;
    if (listed(names, b->name))
        return "the agent counts with it";
    if (b->flags & COUNTERS_EXCLUSIVE && !listed(names, "progress"))
        return "not tried: it would disturb the agent's counters";
    return NULL;
}

json_t *ctl_node_probe(const struct ctl_node *node,
                       const struct counters_backend *b)
{
    const char *why = conflict(node, b);

    json_t *one = why ? json_pack("{s:s, s:s, s:b, s:n, s:s, s:n, s:n}", "name",
                                  b->name, "help", b->help, "opens", 0, "moves",
                                  "error", why, "metrics", "sample")
                      : probe_backend(&node->setup, b, 1);
    if (one)
        json_object_set_new(one, "auto",
                            json_boolean(b->flags & COUNTERS_AUTO));
    return one;
}

const char *ctl_probe_error(const json_t *one)
{
    const char *name = ctl_text(one, "name", "");
    const char *error = ctl_text(one, "error", "");
    size_t length = strlen(name);

    return !strncmp(error, name, length) && !strncmp(error + length, ": ", 2)
               ? error + length + 2
               : error;
}
