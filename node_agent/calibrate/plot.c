/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Pictures of a calibration. */

#include "node_agent/calibrate/plot.h"

#include <limits.h>
#include <string.h>

#include "coschedmodel/chart.h"

#define CELL 64.0
#define LEFT 90.0
#define TOP 70.0

static double requests(const struct calibrate_run *run)
{
    return run->reads + run->writes + run->prefetches;
}

static int plot_rate(const struct calibration *c, const struct machine *m,
                     const char *file, struct errtext *err)
{
    struct canvas_point points[KERNELS][CALIBRATE_STRIDES];
    struct chart_series series[KERNELS];

    for (enum kernel k = 0; k < KERNELS; k++) {
        series[k] = (struct chart_series){.points = points[k]};
        snprintf(series[k].name, sizeof(series[k].name), "%s", kernel_names[k]);
        for (size_t s = 0; s < CALIBRATE_STRIDES; s++) {
            const struct calibrate_run *run =
                calibration_run(c, 0, (size_t)m->home[0], k, s);
            if (run->us > 0)
                points[k][series[k].count++] = (struct canvas_point){
                    (double)calibrate_strides[s], requests(run) / run->us};
        }
    }
    return chart_draw(&(struct chart){.title = "Service rate, LLC domain 0 with "
                                               "its own memory",
                                      .x_label = "stride (bytes)",
                                      .y_label = "requests per microsecond",
                                      .series = series,
                                      .count = KERNELS},
                      file, err);
}

/* Mean ns per request of NODE with MEMORY over all runs; 0: none. */
static double mean_ns(const struct calibration *c, size_t node, size_t memory)
{
    double us = 0, count = 0;

    for (enum kernel k = 0; k < KERNELS; k++)
        for (size_t s = 0; s < CALIBRATE_STRIDES; s++) {
            const struct calibrate_run *run =
                calibration_run(c, node, memory, k, s);
            us += run->us;
            count += run->us > 0 ? requests(run) : 0;
        }
    return count > 0 ? us / count * 1e3 : 0;
}

static void draw_cell(struct canvas *canvas, double x, double y, double ns,
                      double most)
{
    char text[32], fill[16];
    /* White for nothing to orange for the slowest. */
    unsigned pale = 255 - (unsigned)(160 * (most > 0 ? ns / most : 0));

    snprintf(fill, sizeof(fill), "#ff%02x%02x", 128 + pale / 2, pale);
    canvas_box(canvas, x, y, CELL, CELL / 2, fill, "#888888");
    snprintf(text, sizeof(text), "%.2f", ns);
    canvas_text(canvas, x + CELL / 2, y + CELL / 4 + 5, 12, CANVAS_MIDDLE, 0,
                text);
}

static int plot_links(const struct calibration *c, const char *file,
                      struct errtext *err)
{
    double width = LEFT + CELL * (double)c->numa_nodes + 20, most = 0;
    double height = TOP + CELL / 2 * (double)c->llc_domains + 20;
    struct canvas *canvas =
        canvas_open(file, width < 420 ? 420 : width, height, err);
    char text[32];

    if (!canvas)
        return -1;
    canvas_text(canvas, 12, 22, 13, CANVAS_START, 0,
                "Mean time per request (ns) of one core with each NUMA node");
    for (size_t i = 0; i < c->llc_domains * c->numa_nodes; i++) {
        double ns = mean_ns(c, i / c->numa_nodes, i % c->numa_nodes);
        most = ns > most ? ns : most;
    }
    for (size_t j = 0; j < c->numa_nodes; j++) {
        snprintf(text, sizeof(text), "memory %zu", j);
        canvas_text(canvas, LEFT + CELL * ((double)j + 0.5), TOP - 8, 11,
                    CANVAS_MIDDLE, 0, text);
    }
    for (size_t i = 0; i < c->llc_domains; i++) {
        double y = TOP + CELL / 2 * (double)i;
        snprintf(text, sizeof(text), "LLC domain %zu", i);
        canvas_text(canvas, 12, y + CELL / 4 + 5, 11, CANVAS_START, 0, text);
        for (size_t j = 0; j < c->numa_nodes; j++)
            draw_cell(canvas, LEFT + CELL * (double)j, y, mean_ns(c, i, j),
                      most);
    }
    return canvas_close(canvas, err);
}

int calibration_plot(const struct calibration *c, const struct machine *m,
                     const char *prefix, struct errtext *err)
{
    char rate[PATH_MAX], links[PATH_MAX];

    if (snprintf(rate, sizeof(rate), "%s-rate.svg", prefix) >= PATH_MAX ||
        snprintf(links, sizeof(links), "%s-links.svg", prefix) >= PATH_MAX)
        return errtext_set(err, ENAMETOOLONG, "--plot %.60s...: too long",
                           prefix);
    return plot_rate(c, m, rate, err) < 0 ? -1 : plot_links(c, links, err);
}
