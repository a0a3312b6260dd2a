/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Atomic operations that compilers call instead of having instructions: mostly
   Intel's.  Variables of up to 8 bytes are changed by compare and exchange,
   others, and complex ones, which may be aligned to less than their size, under
   one lock.

   The names are __kmpc_atomic_TYPE_OPERATION.  With _cpt the function returns
   the value after or before the operation, with _rev the operands are
   exchanged, with _fp the right one is a quadruple.  */

#include "kmp.h"

#include <string.h>

#include "libgomp_g.h"

#ifdef __x86_64__
typedef long double long10; /* has 10 bytes */
typedef _Complex long double long_complex;
typedef __float128 quad;
typedef _Complex float __attribute__ ((mode (TC))) quad_complex;
#endif

#define RELAXED __ATOMIC_RELAXED
#define FULL __ATOMIC_SEQ_CST

/* Sets *LHS to VALUE, which depends on its value x; y is the new one.  */
#define BY_EXCHANGE(lhs, value)                                               \
  __atomic_load (lhs, &x, RELAXED);                                           \
  do                                                                          \
    y = (value);                                                              \
  while (!__atomic_compare_exchange (lhs, &x, &y, false, FULL, RELAXED))
#define BY_LOCK(lhs, value)                                                   \
  GOMP_atomic_start ();                                                       \
  memcpy (&x, lhs, sizeof x);                                                 \
  y = (value);                                                                \
  memcpy (lhs, &y, sizeof y);                                                 \
  GOMP_atomic_end ()

/* OPERATION, which may have a SUFFIX, on a T and an R.  */
#define ONLY(by, T, R, operation, suffix, value)                              \
  void __kmpc_atomic_##operation##suffix (ident_t *loc, int gtid, T *lhs,     \
					  R rhs)                              \
  {                                                                           \
    T x, y;                                                                   \
    (void) loc, (void) gtid;                                                  \
    by (lhs, (T) (value));                                                    \
    (void) x;                                                                 \
  }
#define OPERATION(by, T, R, operation, suffix, value)                         \
  ONLY (by, T, R, operation, suffix, value)                                   \
  T __kmpc_atomic_##operation##_cpt##suffix (ident_t *loc, int gtid, T *lhs,  \
					     R rhs, int after)                \
  {                                                                           \
    T x, y;                                                                   \
    (void) loc, (void) gtid;                                                  \
    by (lhs, (T) (value));                                                    \
    return after ? y : x;                                                     \
  }

/* Read, write and swap.  */
#define ACCESS(by, T, name)                                                   \
  T __kmpc_atomic_##name##_rd (ident_t *loc, int gtid, T *lhs)                \
  {                                                                           \
    T x, y;                                                                   \
    (void) loc, (void) gtid;                                                  \
    by (lhs, x);                                                              \
    return y;                                                                 \
  }                                                                           \
  ONLY (by, T, T, name##_wr, , rhs)
#define SWAP(by, T, name)                                                     \
  T __kmpc_atomic_##name##_swp (ident_t *loc, int gtid, T *lhs, T rhs)        \
  {                                                                           \
    T x, y;                                                                   \
    (void) loc, (void) gtid;                                                  \
    by (lhs, rhs);                                                            \
    return x;                                                                 \
  }

#define ARITHMETIC(by, T, R, name, suffix)                                    \
  OPERATION (by, T, R, name##_add, suffix, x + rhs)                           \
  OPERATION (by, T, R, name##_sub, suffix, x - rhs)                           \
  OPERATION (by, T, R, name##_mul, suffix, x *rhs)                            \
  OPERATION (by, T, R, name##_div, suffix, x / rhs)
#define REVERSED(by, T, R, name, suffix)                                      \
  OPERATION (by, T, R, name##_sub, suffix, rhs - x)                           \
  OPERATION (by, T, R, name##_div, suffix, rhs / x)
#define ORDER(by, T, name)                                                    \
  OPERATION (by, T, T, name##_max, , x < rhs ? rhs : x)                       \
  OPERATION (by, T, T, name##_min, , x > rhs ? rhs : x)

/* ---- Integers.  ---- */

#define UNSIGNED(T, name)                                                     \
  OPERATION (BY_EXCHANGE, T, T, name##_div, , x / rhs)                        \
  OPERATION (BY_EXCHANGE, T, T, name##_shr, , x >> rhs)                       \
  OPERATION (BY_EXCHANGE, T, T, name##_div, _rev, rhs / x)                    \
  OPERATION (BY_EXCHANGE, T, T, name##_shr, _rev, rhs >> x)

#define INTEGER(T, UT, name)                                                  \
  ARITHMETIC (BY_EXCHANGE, T, T, name, )                                      \
  REVERSED (BY_EXCHANGE, T, T, name, _rev)                                    \
  ORDER (BY_EXCHANGE, T, name)                                                \
  OPERATION (BY_EXCHANGE, T, T, name##_andb, , x & rhs)                       \
  OPERATION (BY_EXCHANGE, T, T, name##_orb, , x | rhs)                        \
  OPERATION (BY_EXCHANGE, T, T, name##_xor, , x ^ rhs)                        \
  OPERATION (BY_EXCHANGE, T, T, name##_neqv, , x ^ rhs)                       \
  OPERATION (BY_EXCHANGE, T, T, name##_eqv, , x ^ ~rhs)                       \
  OPERATION (BY_EXCHANGE, T, T, name##_andl, , x && rhs)                      \
  OPERATION (BY_EXCHANGE, T, T, name##_orl, , x || rhs)                       \
  OPERATION (BY_EXCHANGE, T, T, name##_shl, , (UT) x << rhs)                  \
  OPERATION (BY_EXCHANGE, T, T, name##_shr, , x >> rhs)                       \
  OPERATION (BY_EXCHANGE, T, T, name##_shl, _rev, (UT) rhs << x)              \
  OPERATION (BY_EXCHANGE, T, T, name##_shr, _rev, rhs >> x)                   \
  ONLY (BY_EXCHANGE, T, double, name##_mul, _float8, x *rhs)                  \
  ONLY (BY_EXCHANGE, T, double, name##_div, _float8, x / rhs)                 \
  ACCESS (BY_EXCHANGE, T, name)                                               \
  SWAP (BY_EXCHANGE, T, name)                                                 \
  UNSIGNED (UT, name##u)

INTEGER (int8_t, uint8_t, fixed1)
INTEGER (int16_t, uint16_t, fixed2)
INTEGER (int32_t, uint32_t, fixed4)
INTEGER (int64_t, uint64_t, fixed8)

/* ---- Floating point.  ---- */

#define FLOATING(by, T, name)                                                 \
  ARITHMETIC (by, T, T, name, )                                               \
  REVERSED (by, T, T, name, _rev)                                             \
  ORDER (by, T, name)                                                         \
  ACCESS (by, T, name)                                                        \
  SWAP (by, T, name)

FLOATING (BY_EXCHANGE, float, float4)
FLOATING (BY_EXCHANGE, double, float8)
ONLY (BY_EXCHANGE, float, double, float4_add, _float8, x + rhs)
ONLY (BY_EXCHANGE, float, double, float4_sub, _float8, x - rhs)
ONLY (BY_EXCHANGE, float, double, float4_mul, _float8, x *rhs)
ONLY (BY_EXCHANGE, float, double, float4_div, _float8, x / rhs)

#define COMPLEX(T, name)                                                      \
  ARITHMETIC (BY_LOCK, T, T, name, )                                          \
  REVERSED (BY_LOCK, T, T, name, _rev)                                        \
  ACCESS (BY_LOCK, T, name)                                                   \
  SWAP (BY_LOCK, T, name)

COMPLEX (_Complex double, cmplx8)

/* The small ones are returned through a pointer.  */
#define COMPLEX4(operation, suffix, value)                                    \
  ONLY (BY_LOCK, _Complex float, _Complex float, cmplx4_##operation, suffix,  \
	value)                                                                \
  void __kmpc_atomic_cmplx4_##operation##_cpt##suffix (                       \
      ident_t *loc, int gtid, _Complex float *lhs, _Complex float rhs,        \
      _Complex float *out, int after)                                         \
  {                                                                           \
    _Complex float x, y;                                                      \
    (void) loc, (void) gtid;                                                  \
    BY_LOCK (lhs, value);                                                     \
    *out = after ? y : x;                                                     \
  }
COMPLEX4 (add, , x + rhs)
COMPLEX4 (sub, , x - rhs)
COMPLEX4 (mul, , x *rhs)
COMPLEX4 (div, , x / rhs)
COMPLEX4 (sub, _rev, rhs - x)
COMPLEX4 (div, _rev, rhs / x)
ACCESS (BY_LOCK, _Complex float, cmplx4)
ONLY (BY_LOCK, _Complex float, _Complex double, cmplx4_add, _cmplx8, x + rhs)
ONLY (BY_LOCK, _Complex float, _Complex double, cmplx4_sub, _cmplx8, x - rhs)
ONLY (BY_LOCK, _Complex float, _Complex double, cmplx4_mul, _cmplx8, x *rhs)
ONLY (BY_LOCK, _Complex float, _Complex double, cmplx4_div, _cmplx8, x / rhs)

void
__kmpc_atomic_cmplx4_swp (ident_t *loc, int gtid, _Complex float *lhs,
			  _Complex float rhs, _Complex float *out)
{
  _Complex float x, y;
  (void) loc, (void) gtid;
  BY_LOCK (lhs, rhs);
  *out = x;
}

#ifdef __x86_64__
FLOATING (BY_LOCK, long10, float10)
FLOATING (BY_LOCK, quad, float16)
COMPLEX (long_complex, cmplx10)
COMPLEX (quad_complex, cmplx16)

#define QUADRUPLE(by, T, name)                                                \
  ARITHMETIC (by, T, quad, name, _fp)                                         \
  REVERSED (by, T, quad, name, _rev_fp)

QUADRUPLE (BY_EXCHANGE, int8_t, fixed1)
QUADRUPLE (BY_EXCHANGE, uint8_t, fixed1u)
QUADRUPLE (BY_EXCHANGE, int16_t, fixed2)
QUADRUPLE (BY_EXCHANGE, uint16_t, fixed2u)
QUADRUPLE (BY_EXCHANGE, int32_t, fixed4)
QUADRUPLE (BY_EXCHANGE, uint32_t, fixed4u)
QUADRUPLE (BY_EXCHANGE, int64_t, fixed8)
QUADRUPLE (BY_EXCHANGE, uint64_t, fixed8u)
QUADRUPLE (BY_EXCHANGE, float, float4)
QUADRUPLE (BY_EXCHANGE, double, float8)
QUADRUPLE (BY_LOCK, long10, float10)
#endif

/* ---- Any operation: F (result, left, right).  ---- */

typedef void (*operation_fn) (void *, void *, void *);

#define ANY_BY_EXCHANGE(T, size)                                              \
  void __kmpc_atomic_##size (ident_t *loc, int gtid, void *lhs, void *rhs,    \
			     operation_fn f)                                  \
  {                                                                           \
    T x, y;                                                                   \
    (void) loc, (void) gtid;                                                  \
    BY_EXCHANGE ((T *) lhs, (f (&y, &x, rhs), y));                            \
  }
ANY_BY_EXCHANGE (uint8_t, 1)
ANY_BY_EXCHANGE (uint16_t, 2)
ANY_BY_EXCHANGE (uint32_t, 4)
ANY_BY_EXCHANGE (uint64_t, 8)

#define ANY_BY_LOCK(size)                                                     \
  void __kmpc_atomic_##size (ident_t *loc, int gtid, void *lhs, void *rhs,    \
			     operation_fn f)                                  \
  {                                                                           \
    (void) loc, (void) gtid;                                                  \
    GOMP_atomic_start ();                                                     \
    f (lhs, lhs, rhs);                                                        \
    GOMP_atomic_end ();                                                       \
  }
ANY_BY_LOCK (10)
ANY_BY_LOCK (16)
ANY_BY_LOCK (20)
ANY_BY_LOCK (32)

void
__kmpc_atomic_start (void)
{
  GOMP_atomic_start ();
}

void
__kmpc_atomic_end (void)
{
  GOMP_atomic_end ();
}

/* ---- Compare and exchange.  ---- */

#define EXCHANGE(T, size)                                                     \
  T __kmpc_atomic_val_##size##_cas (ident_t *loc, int gtid, T *lhs, T is,     \
				    T then)                                   \
  {                                                                           \
    (void) loc, (void) gtid;                                                  \
    __atomic_compare_exchange_n (lhs, &is, then, false, FULL, FULL);          \
    return is;                                                                \
  }                                                                           \
  int __kmpc_atomic_bool_##size##_cas (ident_t *loc, int gtid, T *lhs, T is,  \
				       T then)                                \
  {                                                                           \
    (void) loc, (void) gtid;                                                  \
    return __atomic_compare_exchange_n (lhs, &is, then, false, FULL, FULL);   \
  }                                                                           \
  /* Whether or not, *VALUE is the new value, */                              \
  T __kmpc_atomic_val_##size##_cas_cpt (ident_t *loc, int gtid, T *lhs, T is, \
					T then, T *value)                     \
  {                                                                           \
    T before = __kmpc_atomic_val_##size##_cas (loc, gtid, lhs, is, then);     \
    *value = before == is ? then : before;                                    \
    return before;                                                            \
  }                                                                           \
  /* and here only if not.  */                                                \
  int __kmpc_atomic_bool_##size##_cas_cpt (ident_t *loc, int gtid, T *lhs,    \
					   T is, T then, T *value)            \
  {                                                                           \
    (void) loc, (void) gtid;                                                  \
    if (__atomic_compare_exchange_n (lhs, &is, then, false, FULL, FULL))      \
      return 1;                                                               \
    *value = is;                                                              \
    return 0;                                                                 \
  }
EXCHANGE (int8_t, 1)
EXCHANGE (int16_t, 2)
EXCHANGE (int32_t, 4)
EXCHANGE (int64_t, 8)

/* ---- What libiomp5 has of libatomic, and MKL asks it for.  ---- */

#define LIKE(name) __asm__ (name)
void generic_load (size_t, void *, void *, int) LIKE ("__atomic_load");
void generic_store (size_t, void *, void *, int) LIKE ("__atomic_store");
bool generic_exchange (size_t, void *, void *, void *, int,
		       int) LIKE ("__atomic_compare_exchange");

/* Does CASE (T) for a variable that has the size and alignment of a T.  */
#define BY_SIZE(size, p, CASE)                                                \
  do                                                                          \
    {                                                                         \
      if (size == 1)                                                          \
	CASE (uint8_t);                                                       \
      if (size == 2 && (uintptr_t) p % 2 == 0)                                \
	CASE (uint16_t);                                                      \
      if (size == 4 && (uintptr_t) p % 4 == 0)                                \
	CASE (uint32_t);                                                      \
      if (size == 8 && (uintptr_t) p % 8 == 0)                                \
	CASE (uint64_t);                                                      \
    }                                                                         \
  while (0)

void
generic_load (size_t size, void *p, void *value, int model)
{
#define CASE(T) return __atomic_load ((T *) p, (T *) value, FULL)
  (void) model;
  BY_SIZE (size, p, CASE);
#undef CASE
  GOMP_atomic_start ();
  memcpy (value, p, size);
  GOMP_atomic_end ();
}

void
generic_store (size_t size, void *p, void *value, int model)
{
#define CASE(T) return __atomic_store ((T *) p, (T *) value, FULL)
  (void) model;
  BY_SIZE (size, p, CASE);
#undef CASE
  GOMP_atomic_start ();
  memcpy (p, value, size);
  GOMP_atomic_end ();
}

bool
generic_exchange (size_t size, void *p, void *is, void *then, int success,
		  int failure)
{
#define CASE(T)                                                               \
  return __atomic_compare_exchange ((T *) p, (T *) is, (T *) then, false,     \
				    FULL, FULL)
  (void) success, (void) failure;
  BY_SIZE (size, p, CASE);
#undef CASE
  GOMP_atomic_start ();
  bool same = memcmp (p, is, size) == 0;
  if (same)
    memcpy (p, then, size);
  else
    memcpy (is, p, size);
  GOMP_atomic_end ();
  return same;
}
