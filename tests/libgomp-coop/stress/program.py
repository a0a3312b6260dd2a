# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A random OpenMP program, in C, from a seed.

A program is a list of blocks, each a function that uses some constructs and
returns a checksum.  Checksums depend neither on the interleaving nor on the
size of a team that is not asked for by num_threads; so any two runs of a
program print the same, whatever the library and the number of CPUs.
"""

import random

from threads import ThreadBlocks

HEAD = """\
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uint64_t u64;

static u64 mix(u64 x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Takes a while that depends on X; returns something that does, too. */
static u64 work(u64 x, int n)
{
    for (int i = 0, end = (int)(mix(x) % (u64)n); i < end; i++)
        x = mix(x + 1);
    __asm__ volatile("" : : "r"(x));
    return mix(x);
}
"""

MAIN = """
int main(void)
{
    omp_set_dynamic(0);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
            u64 sum = blocks[i].run();

            printf("%d %zu %s %016llx\\n", round, i, blocks[i].name, (unsigned long long)sum);
            fflush(stdout);
        }
    return 0;
}
"""

TEAMS = (1, 2, 2, 3, 4, 5, 8, 16)


class Program(ThreadBlocks):
    """The source of program number SEED.

    shared_storage: all threads may share errno and threadprivate variables, as
    in plain ULT mode; blocks that need their own are left out."""

    def __init__(self, seed, shared_storage=False):
        self.random = random.Random(seed)
        self.number = 0
        blocks = [name[6:] for name in dir(self) if name.startswith("block_")]
        if shared_storage:
            blocks = [b for b in blocks if b not in ("threadprivate", "errno")]
        chosen = [self.random.choice(blocks)
                  for _ in range(self.random.randint(4, 9))]
        bodies, table = [], []
        for self.number, name in enumerate(chosen):
            bodies.append(getattr(self, "block_" + name)())
            table.append(f'    {{"{name}", block{self.number}}},')
        rounds = self.random.choice((1, 2, 5, 10))
        self.source = "".join([
            f"/* Seed {seed}: {' '.join(chosen)} */\n", HEAD, *bodies,
            "\nstatic const struct {\n    const char *name;\n"
            "    u64 (*run)(void);\n} blocks[] = {\n", "\n".join(table),
            "\n};\n", MAIN.replace("ROUNDS", str(rounds))])

    # Parts

    def pick(self, *choices):
        return self.random.choice(choices)

    def team(self):
        return self.random.choice(TEAMS)

    def maybe_team(self):
        return self.pick("", f" num_threads({self.team()})")

    def length(self):
        """How long an iteration or task works, in steps of some 3 ns."""
        return self.pick(1, 20, 300, 3000)

    def count(self):
        return self.pick(1, 7, 64, 333, 1000)

    def schedule(self):
        chunk = self.pick("", ", 1", ", 3", ", 17", ", 100")
        return self.pick(
            "", f" schedule(static{chunk})", f" schedule(dynamic{chunk})",
            f" schedule(guided{chunk})", " schedule(runtime)",
            " schedule(auto)", f" schedule(nonmonotonic: dynamic{chunk})",
            f" schedule(monotonic: dynamic{chunk})")

    def pause(self):
        """A blocking call now and then."""
        return self.pick("", "", "", "if (mix((u64)i) % 29 == 0) usleep(100);")

    def function(self, body, before=""):
        n = self.number
        body = body.strip("\n").replace("@", str(n))
        return (f"\n{before.replace('@', str(n))}static u64 block{n}(void)\n{{\n"
                f"    u64 sum = {self.random.getrandbits(32)}u;\n\n{body}\n"
                "    return sum;\n}\n")

    # Blocks

    def block_barriers(self):
        n = self.team()
        return self.function(f"""
    u64 cell[{n}] = {{0}};

#pragma omp parallel num_threads({n}) reduction(^ : sum)
    {{
        int me = omp_get_thread_num(), threads = omp_get_num_threads();

        for (int i = 0; i < {self.pick(3, 50, 200)}; i++) {{
            cell[me] = work(cell[me] + (u64)(me + i), {self.length()});
#pragma omp barrier
            sum ^= mix(cell[(me + 1) % threads] + (u64)me);
#pragma omp barrier
        }}
    }}""")

    def block_regions(self):
        return self.function(f"""
    for (int i = 0; i < {self.pick(10, 100)}; i++) {{
#pragma omp parallel{self.maybe_team()}
        {{
#pragma omp single
            sum = work(sum + (u64)i, {self.length()});
#pragma omp master
            sum += 3;
        }}
    }}""")

    def block_loop(self):
        op, kind = self.pick("+", "^"), self.pick("int", "unsigned long long",
                                                  "long", "unsigned")
        start = self.pick(0, 5)
        return self.function(f"""
    {kind} last = 0;

    omp_set_schedule({self.pick("omp_sched_static", "omp_sched_dynamic",
                                "omp_sched_guided")}, {self.pick(0, 1, 5)});
#pragma omp parallel{self.maybe_team()}
    {{
        for (int k = 0; k < {self.pick(1, 4)}; k++) {{
#pragma omp for{self.schedule()} reduction({op} : sum) lastprivate(last)
            for ({kind} i = {start}; i < {start + self.count()};
                 i += {self.pick(1, 2, 7)}) {{
                sum {op}= work((u64)i, {self.length()});
                {self.pause()}
                last = i;
            }}
        }}
    }}
    sum += (u64)last;""")

    def block_nowait(self):
        count = self.count()
        return self.function(f"""
    static u64 cell@[{count}];

    memset(cell@, 0, sizeof cell@);
#pragma omp parallel{self.maybe_team()}
    {{
#pragma omp for{self.schedule()} nowait
        for (int i = 0; i < {count}; i++) {{
#pragma omp atomic
            cell@[i] += work((u64)i, {self.length()});
        }}
#pragma omp for{self.schedule()} nowait
        for (int i = {count} - 1; i >= 0; i--) {{
#pragma omp atomic
            cell@[i] += work((u64)i + 1, {self.length()});
        }}
    }}
    for (int i = 0; i < {count}; i++)
        sum = mix(sum + cell@[i]);""")

    def block_collapse(self):
        return self.function(f"""
#pragma omp parallel for{self.maybe_team()}{self.schedule()} collapse(2) reduction(+ : sum)
    for (int i = 0; i < {self.pick(1, 5, 30)}; i++)
        for (int j = 0; j < {self.pick(1, 9, 31)}; j++)
            sum += work((u64)(i * 100 + j), {self.length()});""")

    def block_ordered(self):
        schedule = self.pick("static", "static, 1", "dynamic", "dynamic, 3",
                             "guided")
        return self.function(f"""
#pragma omp parallel for{self.maybe_team()} ordered schedule({schedule})
    for (int i = 0; i < {self.pick(3, 100, 300)}; i++) {{
        u64 x = work((u64)i, {self.length()});
#pragma omp ordered
        sum = mix(sum + x);
    }}""")

    def block_doacross(self):
        schedule = self.pick("static", "dynamic", "static, 2")
        # With more threads than cores, stock only spins and takes minutes.
        team = self.pick("", "", " num_threads(2)", " num_threads(3)")
        return self.function(f"""
    static u64 cell@[301];
    int count = {self.pick(5, 60, 300)};

#pragma omp parallel for{team} ordered(1) schedule({schedule})
    for (int i = 1; i <= count; i++) {{
        u64 x = work((u64)i, {self.length()});
#pragma omp ordered depend(sink : i - 1)
        cell@[i] = mix(cell@[i - 1] + x);
#pragma omp ordered depend(source)
    }}
    sum += cell@[count];""")

    def block_sections(self):
        parts = "".join(f"""
#pragma omp section
        sum += work({self.random.getrandbits(16)}, {self.length()});"""
                        for _ in range(self.random.randint(1, 9)))
        return self.function(f"""
#pragma omp parallel sections{self.maybe_team()} reduction(+ : sum)
    {{{parts}
    }}""")

    def block_copyprivate(self):
        n = self.team()
        return self.function(f"""
#pragma omp parallel num_threads({n}) reduction(+ : sum)
    for (int i = 0; i < {self.pick(2, 40)}; i++) {{
        u64 x;
#pragma omp single copyprivate(x)
        x = work((u64)i, {self.length()});
        sum += mix(x + (u64)omp_get_thread_num());
    }}""")

    def block_locks(self):
        n = self.team()
        enter, leave = self.pick(
            ("omp_set_lock(&lock);", "omp_unset_lock(&lock);"),
            ("omp_set_nest_lock(&nest); omp_set_nest_lock(&nest);",
             "omp_unset_nest_lock(&nest); omp_unset_nest_lock(&nest);"),
            ("while (!omp_test_lock(&lock)) ;", "omp_unset_lock(&lock);"),
            ("pthread_mutex_lock(&mutex);", "pthread_mutex_unlock(&mutex);"))
        return self.function(f"""
    omp_lock_t lock;
    omp_nest_lock_t nest;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    (void)mutex;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads({n})
    for (int i = 0; i < {self.pick(10, 200)}; i++) {{
        u64 x = work((u64)(i + omp_get_thread_num()), {self.length()});

        {enter}
        sum += x;
        {leave}
    }}
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);""")

    def block_critical(self):
        n = self.team()
        more = self.pick("", "#pragma omp critical\n        x++;")
        return self.function(f"""
#pragma omp parallel num_threads({n})
    for (int i = 0; i < {self.pick(10, 300)}; i++) {{
        u64 x = work((u64)(i * omp_get_thread_num()), {self.length()});

{more}
#pragma omp critical(name@)
        sum += x;
    }}""")

    def block_tree(self):
        clause = self.pick("", " untied", f" if(depth > {self.pick(0, 2)})",
                           " final(depth < 3) mergeable", " priority(depth)")
        wait = self.pick("#pragma omp taskwait", "#pragma omp taskgroup")
        pair = f"""#pragma omp task shared(a){clause}
    a = tree@(depth - 1, mix(x));
#pragma omp task shared(b){clause}
    b = tree@(depth - 1, mix(x + 1));
"""
        if wait.endswith("taskgroup"):
            body = f"{wait}\n    {{\n{pair}    }}"
        else:
            body = pair + wait
        return self.function(f"""
#pragma omp parallel{self.maybe_team()}
#pragma omp single{self.pick("", " nowait")}
    sum += tree@({self.pick(3, 6, 9)}, 1);""", f"""\
static u64 tree@(int depth, u64 x)
{{
    u64 a = 0, b = 0;

    if (depth == 0)
        return work(x, {self.length()});
{body}
    return a ^ mix(b);
}}

""")

    def block_depend(self):
        cells, count = self.pick(1, 3, 10), self.pick(5, 50, 200)
        return self.function(f"""
    static u64 cell@[{cells}];

    memset(cell@, 0, sizeof cell@);
#pragma omp parallel{self.maybe_team()}
#pragma omp single
    for (int i = 0; i < {count}; i++) {{
        int from = (int)(mix((u64)i) % {cells}), to = (int)(mix((u64)i + 1) % {cells});

        if (from == to) {{
#pragma omp task firstprivate(i, to) depend(inout : cell@[to])
            cell@[to] = work(cell@[to] + (u64)i, {self.length()});
        }} else {{
#pragma omp task firstprivate(i, from, to) depend(in : cell@[from]) depend(inout : cell@[to])
            cell@[to] = mix(cell@[to] + work(cell@[from] + (u64)i, {self.length()}));
        }}
    }}
    for (int i = 0; i < {cells}; i++)
        sum = mix(sum + cell@[i]);""")

    def block_taskloop(self):
        clause = self.pick("", " grainsize(5)", " num_tasks(7)", " nogroup")
        end = "#pragma omp taskwait" if "nogroup" in clause else ""
        return self.function(f"""
#pragma omp parallel{self.maybe_team()}
#pragma omp single
    {{
#pragma omp taskloop{clause} shared(sum)
        for (int i = 0; i < {self.count()}; i++) {{
            u64 x = work((u64)i, {self.length()});
#pragma omp atomic
            sum += x;
        }}
{end}
    }}""")

    def block_taskreduction(self):
        return self.function(f"""
#pragma omp parallel{self.maybe_team()}
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
    for (int i = 0; i < {self.pick(3, 100)}; i++) {{
#pragma omp task in_reduction(+ : sum)
        {{
            sum += work((u64)i, {self.length()});
            {self.pause()}
        }}
    }}""")

    def block_nested(self):
        a, b = self.pick(1, 2, 3), self.pick(1, 2, 4)
        inner = self.pick(
            "#pragma omp barrier",
            "#pragma omp for schedule(dynamic)\n"
            "        for (int k = 0; k < 30; k++)\n            sum += work((u64)k, 100);",
            "#pragma omp task shared(sum)\n#pragma omp atomic\n        sum += 1;"
            "\n#pragma omp taskwait")
        return self.function(f"""
    omp_set_max_active_levels({self.pick(2, 3)});
    for (int i = 0; i < {self.pick(1, 10)}; i++) {{
#pragma omp parallel num_threads({a}) reduction(+ : sum)
        {{
            int outer = omp_get_thread_num();
#pragma omp parallel num_threads({b}) reduction(+ : sum)
            {{
                sum += work((u64)(outer * 10 + omp_get_thread_num()), {self.length()});
        {inner}
            }}
        }}
    }}
    omp_set_max_active_levels(1);""")

    def block_cancel_for(self):
        target = self.random.randrange(500)
        return self.function(f"""
    int found = 0;

#pragma omp parallel{self.maybe_team()}
    {{
#pragma omp for{self.schedule()}
        for (int i = 0; i < 500; i++) {{
#pragma omp cancellation point for
            work((u64)i, {self.length()});
            if (i == {target}) {{
#pragma omp atomic write
                found = i + 1;
#pragma omp cancel for
            }}
        }}
    }}
    sum += (u64)found;""")

    def block_cancel_parallel(self):
        n = self.team()
        return self.function(f"""
#pragma omp parallel num_threads({n})
    {{
        int me = omp_get_thread_num();

        for (int i = 0; i < 20; i++) {{
            work((u64)(i + me), {self.length()});
            if (me == {self.random.randrange(n)} && i == {self.pick(0, 10)}) {{
#pragma omp atomic
                sum += 7;
#pragma omp cancel parallel
            }}
#pragma omp barrier
        }}
    }}""")

    def block_cancel_taskgroup(self):
        return self.function(f"""
    int found = 0;

#pragma omp parallel{self.maybe_team()}
#pragma omp single
#pragma omp taskgroup
    for (int i = 0; i < {self.pick(20, 200)}; i++) {{
#pragma omp task shared(found)
        {{
            work((u64)i, {self.length()});
#pragma omp cancellation point taskgroup
#pragma omp atomic write
            found = 1;
#pragma omp cancel taskgroup
        }}
    }}
    sum += (u64)found;""")

    def block_declared(self):
        return self.function(f"""
    struct pair@ p = {{sum, 0}};

#pragma omp parallel for{self.maybe_team()}{self.schedule()} reduction(join@ : p)
    for (int i = 0; i < {self.count()}; i++) {{
        u64 x = work((u64)i, {self.length()});

        p.sum += x;
        p.max = x > p.max ? x : p.max;
    }}
    sum = mix(p.sum) + p.max;""", """\
struct pair@ {
    u64 sum, max;
};
#pragma omp declare reduction(join@ : struct pair@ : omp_out.sum += omp_in.sum, \\
        omp_out.max = omp_in.max > omp_out.max ? omp_in.max : omp_out.max) \\
        initializer(omp_priv = {0, 0})

""")
