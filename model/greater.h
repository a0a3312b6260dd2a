/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The greater and the lesser of two numbers. */

#ifndef COSCHED_MODEL_GREATER_H
#define COSCHED_MODEL_GREATER_H

/* fmax() and fmin() take care of NaN, which inner loops pay for. */
static inline double greater(double a, double b)
{
    return a > b ? a : b;
}

static inline double lesser(double a, double b)
{
    return a < b ? a : b;
}

#endif /* COSCHED_MODEL_GREATER_H */
