/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Functions that libgomp has, too, under the symbol version of libomp.  */

#ifndef KMP_API_H
#define KMP_API_H 1

/* Defines NAME@VERSION; to the compiler it is kmpv_NAME, which is local.  A
   program that was linked with libomp finds it by its version, everybody else
   finds libgomp's.  */
#define KMP_EXPORT(result, name, parameters, ...)                             \
  result kmpv_##name parameters;                                              \
  __asm__ (".symver kmpv_" #name ", " #name "@VERSION");                      \
  __attribute__ ((used)) result kmpv_##name parameters __VA_ARGS__

#endif /* KMP_API_H */
