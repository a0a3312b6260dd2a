/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Result of the model's functions.  The model never prints, exits or sets
 * errno; it says which class of failure it was and nothing else. */

#ifndef COSCHED_MODEL_STATUS_H
#define COSCHED_MODEL_STATUS_H

enum model_status {
    MODEL_OK = 0,
    MODEL_EINVAL = -1,   /* an argument is out of the documented range */
    MODEL_ENOMEM = -2,   /* allocation failed */
    MODEL_ENODATA = -3,  /* the data cannot tell (fit refused) */
    MODEL_ENOCONV = -4,  /* no convergence within the stated iterations */
};

#endif /* COSCHED_MODEL_STATUS_H */
