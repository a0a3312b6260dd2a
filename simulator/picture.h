/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Pictures of simulations. */

#ifndef COSCHED_SIMULATOR_PICTURE_H
#define COSCHED_SIMULATOR_PICTURE_H

#include "simulator/vnode.h"

/* Draw which job had which CPU when into FILE (.svg or .png).  Where jobs share
 * CPUs, the kernel decides, and they are drawn grey.  0, or -1 with ERR. */
int picture_allocation(const struct vnode_result *result, const char *file,
                       struct errtext *err);

struct picture_bar {
    char label[256];
    double value;
};

/* Draw COUNT bars of what UNIT says into FILE.  0, or -1 with ERR. */
int picture_bars(const struct picture_bar *bars, size_t count, const char *title,
                 const char *unit, const char *file, struct errtext *err);

#endif /* COSCHED_SIMULATOR_PICTURE_H */
