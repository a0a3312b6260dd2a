/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedsim compare: policies side by side. */

#include "config.h"

#include <string.h>

#include "protocol/options.h"
#include "simulator/coschedsim_table.h"

struct comparison {
    struct table table;
    double native_s; /* makespan of the present scenario */
};

static int one(struct world *w, const struct scenario *scenario,
               const char *policy, bool fresh, void *arg)
{
    struct comparison *c = arg;
    struct outcome o;
    int status = EXIT_DONE;

    if (fresh)
        status = world_native(w, scenario, &c->native_s);
    if (status != EXIT_DONE)
        return status;
    status = world_simulate(w, scenario, policy, "", &o);
    if (status == EXIT_DONE)
        status = table_add(&c->table, &o, policy, NULL, c->native_s);
    outcome_release(&o);
    return status;
}

int command_compare(const struct arguments *a)
{
    struct world w;
    struct comparison c;
    char every[1024] = "native";
    int status = world_open(&w, a);

    table_init(&c.table, a);
    for (size_t i = 0; options_policies[i]; i++) {
        size_t used = strlen(every);
        if (strcmp(options_policies[i], "native"))
            snprintf(every + used, sizeof(every) - used, ",%s",
                     options_policies[i]);
    }
    if (status == EXIT_DONE)
        status = world_each(&w, a->policy ? a->policy : every, one, &c);
    status = table_finish(&c.table, status);
    world_close(&w);
    return status;
}
