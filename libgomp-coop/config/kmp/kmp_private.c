/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Threadprivate variables (kmp_private.h).  */

#include "kmp_private.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_LENGTH 65536 /* gtids that a cache has room for */
#define BUCKETS 256

typedef void *(*make_fn) (void *);
typedef void *(*copy_fn) (void *, void *);
typedef void (*destroy_fn) (void *);
typedef void *(*make_vec_fn) (void *, size_t);
typedef void *(*copy_vec_fn) (void *, void *, size_t);
typedef void *(*destroy_vec_fn) (void *, size_t);

/* What is known of a variable.  COUNT is that of an array's objects, whose
   functions take it as last argument, or 0.  */
struct variable
{
  struct variable *next; /* in a bucket */
  void *data;
  size_t count;
  union
  {
    make_fn one;
    make_vec_fn vec;
  } make;
  union
  {
    copy_fn one;
    copy_vec_fn vec;
  } copy;
  union
  {
    destroy_fn one;
    destroy_vec_fn vec;
  } destroy;
  void *image;	  /* its value at the first access of all, */
  bool has_image; /* NULL: zero */
  void **cache;
};

/* A thread's copy.  */
struct kmp_private
{
  struct kmp_private *next;
  struct variable *variable;
  void *copy;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct variable *buckets[BUCKETS];

/* Caller holds the lock.  */
static struct variable *
find (void *data)
{
  struct variable **bucket
      = &buckets[((uintptr_t) data * 0x9e3779b97f4a7c15u) >> 56], *v;

  for (v = *bucket; v && v->data != data; v = v->next)
    ;
  if (!v)
    {
      v = gomp_malloc_cleared (sizeof *v);
      v->data = data;
      v->next = *bucket;
      *bucket = v;
    }
  return v;
}

void
__kmpc_threadprivate_register (ident_t *loc, void *data, make_fn make,
			       copy_fn copy, destroy_fn destroy)
{
  (void) loc;
  pthread_mutex_lock (&lock);
  struct variable *v = find (data);
  v->make.one = make;
  v->copy.one = copy;
  v->destroy.one = destroy;
  v->count = 0;
  pthread_mutex_unlock (&lock);
}

void
__kmpc_threadprivate_register_vec (ident_t *loc, void *data, make_vec_fn make,
				   copy_vec_fn copy, destroy_vec_fn destroy,
				   size_t count)
{
  (void) loc;
  pthread_mutex_lock (&lock);
  struct variable *v = find (data);
  v->make.vec = make;
  v->copy.vec = copy;
  v->destroy.vec = destroy;
  v->count = count;
  pthread_mutex_unlock (&lock);
}

/* The first access of all finds the value that the program was linked with,
   as the initial thread's are accesses, too.  Caller holds the lock.  */
static void
take_image (struct variable *v, size_t size)
{
  const char *data = v->data;
  size_t i = 0;

  v->has_image = true;
  while (i < size && !data[i])
    i++;
  if (i == size)
    return;
  v->image = gomp_malloc (size);
  memcpy (v->image, data, size);
}

static void *
make_copy (struct variable *v, size_t size)
{
  void *copy = gomp_malloc_cleared (size ? size : 1);

  if (v->make.one)
    {
      if (v->count)
	v->make.vec (copy, v->count);
      else
	v->make.one (copy);
    }
  else if (v->copy.one)
    {
      if (v->count)
	v->copy.vec (copy, v->data, v->count);
      else
	v->copy.one (copy, v->data);
    }
  else if (v->image)
    memcpy (copy, v->image, size);
  return copy;
}

static void *
find_copy (struct kmp_thread *t, void *data, size_t size, struct variable **var)
{
  struct kmp_private *p;
  struct variable *v;

  for (p = t->private; p; p = p->next)
    if (p->variable->data == data)
      {
	*var = p->variable;
	return p->copy;
      }
  pthread_mutex_lock (&lock);
  *var = v = find (data);
  if (!v->has_image)
    take_image (v, size);
  pthread_mutex_unlock (&lock);
  if (t->initial)
    return data;
  p = gomp_malloc (sizeof *p);
  p->variable = v;
  p->copy = make_copy (v, size);
  p->next = t->private;
  t->private = p;
  return p->copy;
}

void *
__kmpc_threadprivate (ident_t *loc, kmp_int32 gtid, void *data, size_t size)
{
  struct variable *v;

  (void) loc, (void) gtid;
  return find_copy (kmp_thread (), data, size, &v);
}

void *
__kmpc_threadprivate_cached (ident_t *loc, kmp_int32 gtid, void *data,
			     size_t size, void ***where)
{
  struct kmp_thread *t = kmp_thread ();
  void **cache = coop_load (where), *copy;
  unsigned i = (unsigned) t->gtid;
  struct variable *v;

  (void) loc, (void) gtid;
  if (cache && i < CACHE_LENGTH && cache[i])
    return cache[i];
  copy = find_copy (t, data, size, &v);
  if (!cache)
    {
      /* Most of it is never touched, and so no memory.  */
      pthread_mutex_lock (&lock);
      if (!v->cache)
	v->cache = gomp_malloc_cleared (CACHE_LENGTH * sizeof *v->cache);
      cache = v->cache;
      pthread_mutex_unlock (&lock);
      coop_store (where, cache);
    }
  if (i < CACHE_LENGTH)
    cache[i] = copy;
  return copy;
}

void
kmp_private_free (struct kmp_thread *t)
{
  struct kmp_private *p;

  while ((p = t->private))
    {
      struct variable *v = p->variable;
      t->private = p->next;
      if (v->cache && (unsigned) t->gtid < CACHE_LENGTH)
	v->cache[t->gtid] = NULL;
      if (v->destroy.one && v->count)
	v->destroy.vec (p->copy, v->count);
      else if (v->destroy.one)
	v->destroy.one (p->copy);
      free (p->copy);
      free (p);
    }
}
