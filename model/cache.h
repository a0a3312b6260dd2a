/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Who may fill how much of a last-level cache, and of the bandwidth behind it. */

#ifndef COSCHED_MODEL_CACHE_H
#define COSCHED_MODEL_CACHE_H

/* Concept
 *
 * Cores belong to one job at a time, but the cores of a CPU node share its LLC
 * and the way to memory.  Where a node's cores belong to several jobs, two rules
 * may limit one for the others' sake.  Both look at what was counted since the
 * look before, and at nothing else.
 *
 * CACHE_CONFINE.  What a job gains from the cache is its hits per fill
 *
 *     h = (accesses - misses) / misses
 *
 * and what it costs the others is its fills.  A job that fills much and hits
 * little streams: it gains nothing from what it holds, yet evicts what others
 * would have used.  Soares, Tam and Stumm keep such pages in a small "pollute
 * buffer" (MICRO 2008); with Intel's CAT (Herdrich et al., HPCA 2016) the same
 * is done by job, and one small part for all of them together is what
 * LFOC does with its streaming aggressors (Garcia-Garcia et al., ICPP 2019).  So:
 *
 *     streams   h <= CACHE_HITS_STREAM and at least CACHE_FILLS misses per us
 *               and core
 *     gains     any other job with at least CACHE_USES accesses per us and core,
 *               or not known yet
 *
 * Where one gains, those that stream are confined to CACHE_PART of the LLC, all
 * to the same, unless it is counted that together they hold no more.  The others
 * keep all of it, that part included: what a stream leaves there is theirs, and no
 * class of service is spent on them.
 *
 * That few hits now mean few hits with more cache is a guess: a working set a
 * little larger than the cache looks the same.  The trial tells the other way
 * round (as in dCat, Xu et al., EuroSys 2018): a job that misses by more than
 * CACHE_LOSS of its accesses more often since it was confined did reuse what it
 * held.  It is let go, and left alone for CACHE_PAUSE looks.
 *
 * CACHE_CAP.  When jobs ask for more than CACHE_FULL of what the memory behind
 * the node can serve, who asks for more than its share is capped to it.  Shares
 * of CACHE_FULL * capacity are max-min fair by cores and weights
 * (model/maxmin.h).  What a capped job would ask for is not seen: its demand before
 * the cap is taken on.  Nor is it known what the hardware makes of a rate, which
 * is one of what a core could ask for at most (MBA delays requests by steps that
 * no CPU does alike).  So the rate begins as cap over demand and is turned by
 * CACHE_STEP while the job makes more or less than its cap.  Where the step
 * after one down would be one up, it stays for CACHE_PAUSE looks.  A job whose
 * rate has thus come back to 1 asks for less by itself: no longer capped.
 *
 * Hysteresis: one threshold to limit, a lower one to let go; a change needs
 * CACHE_LOOKS looks in a row that want it; a cap changes by CACHE_STEP or more.
 *
 * The thresholds are choices: what they gain or cost was never measured.
 *
 * Rates are per microsecond of wall time, of lines of 64 bytes.  NAN: not known,
 * and then nothing changes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_HITS_STREAM (1.0 / 3) /* 3 of 4 accesses miss */
#define CACHE_HITS_RELEASE 1.0      /* 1 of 2 */
#define CACHE_FILLS 5.0             /* 0.3 GB/s of each core */
#define CACHE_FILLS_RELEASE 2.5
#define CACHE_USES 1.0
#define CACHE_PART 0.1
#define CACHE_LOSS 0.1
#define CACHE_LOOKS 2
#define CACHE_PAUSE 60
#define CACHE_FULL 0.9
#define CACHE_FULL_RELEASE 0.7
#define CACHE_STEP 0.1
#define CACHE_LEAST 0.1 /* no cap below this part of a job's demand */

/* Which rules apply. */
enum {
    CACHE_CONFINE = 1,
    CACHE_CAP = 2,
};

/* A CPU node. */
struct cache_node {
    double llc_bytes; /* size of its LLC; NAN */
    double capacity;  /* requests per us that its memory serves; NAN */
};

/* What a job did on a CPU node since the last look. */
struct cache_use {
    double cores;     /* on average; 0: it was not there */
    double accesses;  /* of the LLC, per us */
    double misses;    /* of them */
    double requests;  /* to memory, per us */
    double llc_bytes; /* it holds */
};

/* What a job may have of a CPU node.  {1, 1, INFINITY}: is not limited. */
struct cache_share {
    double part;     /* of the LLC's ways; 1: all */
    double rate;     /* of the requests that its cores could make; 1: all */
    double requests; /* that it may make per us, which the rate is to give */
};

/* What is remembered of a job on a CPU node; all 0 at first. */
struct cache_memory {
    unsigned looks;     /* in a row that wanted to confine it, or let it go */
    unsigned pause;     /* for so many it is not confined */
    double miss_ratio;  /* before it was */
    unsigned cap_looks; /* in a row that wanted another cap */
    double demand;      /* requests before it was capped */
    double cap;         /* part of them that it was capped to */
    unsigned steer_looks; /* in a row in which it made more, or less, than that */
    unsigned steer_pause; /* for so many the rate stays */
    int steered;        /* -1: the last step was down, 1: up */
};

struct cache_job {
    uint32_t id;
    double weight;               /* > 0, 1 is normal */
    const struct cache_use *use; /* [nodes] */
    struct cache_share *share;   /* [nodes] as it is; then as it should be */
    struct cache_memory *memory; /* [nodes] */
};

/* Not limited. */
extern const struct cache_share cache_unlimited;

/* Decide for NODES CPU nodes by RULES; jobs' shares of a rule that does not
 * apply return to all.  True when any share has changed; TEXT (SIZE bytes) then
 * says which and why, in clauses with "; " between. */
bool cache_decide(const struct cache_node *node, size_t nodes, unsigned rules,
                  struct cache_job *jobs, size_t count, char *text,
                  size_t size);

/* The ways of an LLC that may be used. */
struct cache_ways {
    uint64_t usable;    /* one bit each */
    uint64_t shareable; /* those that devices use, too */
    unsigned least;     /* bits that a mask must have */
};

/* PART of WAYS as a mask of neighbouring bits, as the hardware wants it: at one
 * end of the longest run of usable ways, that with fewer shareable ones (the low
 * one of equals), so that jobs of one part have the same ways and stay out of
 * devices' way.  Rounded up, two ways at least: with one, lines that a prefetcher
 * brings evict each other before they are used.  All of the run when PART >= 1,
 * or when `least` ways would not be left to others.  0: there are none. */
uint64_t cache_mask(const struct cache_ways *ways, double part);

/* Neighbouring bits of MASK, the longest run, the lowest of equals. */
uint64_t cache_run(uint64_t mask);

/* RATE (0..1) in percent, rounded up to what the hardware takes: LEAST, or a
 * multiple of STEP (>= 1) above it; at most 100. */
unsigned cache_percent(double rate, unsigned least, unsigned step);

#endif /* COSCHED_MODEL_CACHE_H */
