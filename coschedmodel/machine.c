/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel machine: show, check or draw a description. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coschedmodel/canvas.h"
#include "coschedmodel/chart.h"
#include "coschedmodel/command.h"

#define BOX 128.0  /* of a NUMA node with its LLC domains */
#define LINE 17.0  /* of an LLC domain within it */
#define MARGIN 24.0

/* Centre of NUMA node J of COUNT: on a circle, from the top clockwise. */
static struct canvas_point centre(size_t j, size_t count, double size,
                                  double box)
{
    double radius = size / 2 - MARGIN - box * 0.6;
    double angle = 2 * M_PI * (double)j / (double)count - M_PI / 2;

    if (count == 1)
        return (struct canvas_point){size / 2, size / 2};
    return (struct canvas_point){size / 2 + radius * cos(angle),
                                 size / 2 + radius * sin(angle)};
}

/* LLC domains at home on NUMA node J. */
static size_t residents(const struct machine *m, size_t j)
{
    size_t count = 0;

    for (size_t i = 0; i < m->llc_domains; i++)
        count += m->home[i] == (int)j;
    return count;
}

static void draw_memory(struct canvas *canvas, const struct machine *m,
                        size_t j, struct canvas_point at)
{
    double height = LINE * (double)(residents(m, j) + 1) + 10;
    double x = at.x - BOX / 2, y = at.y - height / 2;
    char text[64];

    canvas_box(canvas, x, y, BOX, height, "#eef4fa", "#0072b2");
    snprintf(text, sizeof(text), "memory %zu: %.3g ns", j,
             m->controller_service_us[j] * 1e3);
    canvas_text(canvas, at.x, y + LINE, 12, CANVAS_MIDDLE, 0, text);
    for (size_t i = 0; i < m->llc_domains; i++) {
        if (m->home[i] != (int)j)
            continue;
        y += LINE;
        canvas_box(canvas, x + 6, y + 6, BOX - 12, LINE - 2, "#ffffff",
                   "#888888");
        snprintf(text, sizeof(text), "node %zu: %zu cores", i,
                 machine_node_cpus(m, i));
        canvas_text(canvas, at.x, y + LINE + 1, 11, CANVAS_MIDDLE, 0, text);
    }
}

static void draw_links(struct canvas *canvas,
                       const struct machine_description *d, double size)
{
    const struct machine *m = d->machine;
    char text[32];

    for (size_t l = 0; l < m->links; l++) {
        const struct machine_link *link = &d->link[l];
        struct canvas_point a = centre(link->from, m->numa_nodes, size, BOX);
        struct canvas_point b = centre(link->to, m->numa_nodes, size, BOX);
        canvas_line(canvas, a.x, a.y, b.x, b.y, chart_colour(1), 1.5);
        /* Off the middle, where lines across the circle meet. */
        snprintf(text, sizeof(text), "%.3g%s", m->link_service_us[l] * 1e3,
                 link->one_way ? " >" : "");
        canvas_text(canvas, a.x + (b.x - a.x) * 0.4,
                    a.y + (b.y - a.y) * 0.4 - 3, 10, CANVAS_MIDDLE, 0, text);
    }
}

static int draw(const struct machine_description *d, const char *file)
{
    const struct machine *m = d->machine;
    double size = fmax(420, BOX * (double)m->numa_nodes * 0.62 + 2 * BOX);
    struct errtext err = {""};
    struct canvas *canvas;

    if (!file)
        return fail(EXIT_USAGE, "machine: draw needs --plot FILE");
    canvas = canvas_open(file, size, size + 20, &err);
    if (!canvas)
        return fail(EXIT_REFUSED, "%s", err.text);
    canvas_text(canvas, 12, 20, 13, CANVAS_START, 0, d->name);
    draw_links(canvas, d, size);
    for (size_t j = 0; j < m->numa_nodes; j++)
        draw_memory(canvas, m, j, centre(j, m->numa_nodes, size, BOX));
    canvas_text(canvas, 12, size + 10, 11, CANVAS_START, 0,
                "ns: mean service time of a read, at controllers and links");
    return canvas_close(canvas, &err) < 0 ? fail(EXIT_REFUSED, "%s", err.text)
                                          : EXIT_DONE;
}

static int show(const struct machine_description *d)
{
    json_t *value = machine_json_write(d);

    if (!value)
        return fail(EXIT_REFUSED, "out of memory");
    json_dumpf(value, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    putchar('\n');
    json_decref(value);
    return EXIT_DONE;
}

int command_machine(const struct arguments *arguments)
{
    static const char *const actions[] = {"show", "check", "draw"};
    struct errtext err = {""};
    size_t action = 0;

    while (action < 3 && strcmp(actions[action], arguments->action) != 0)
        action++;
    if (action == 3)
        return fail(EXIT_USAGE, "machine: %s: not show, check or draw",
                    arguments->action);
    if (arguments->plot && action != 2)
        return fail(EXIT_USAGE, "machine: --plot is for draw");
    struct machine_description *d = machine_json_find(arguments->file, &err);
    if (!d)
        return fail(EXIT_REFUSED, "%s", err.text);
    int status = action == 0   ? show(d)
                 : action == 1 ? EXIT_DONE
                               : draw(d, arguments->plot);
    machine_description_free(d);
    return status;
}
