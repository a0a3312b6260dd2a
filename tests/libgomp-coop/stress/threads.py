# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Blocks of random programs (program.py) about what threads are and have.

They take for granted what programs do: that each thread of a team has storage
and floating-point environment of its own, may wait for others by spinning and
blocking, and that teams can be large and started by any thread.
"""


class ThreadBlocks:
    """Part of Program, which has the tools."""

    def block_threadprivate(self):
        n = self.team()
        return self.function(f"""
    u64 start = sum;

    private@ = start;
#pragma omp parallel num_threads({n}) copyin(private@)
    private@ += work((u64)omp_get_thread_num(), {self.length()});
    for (int i = 0; i < {self.pick(1, 10)}; i++) {{
#pragma omp parallel num_threads({n}) reduction(+ : sum)
        {{
            private@ = mix(private@);
#pragma omp barrier
            sum += private@ ^ (u64)omp_get_thread_num();
        }}
    }}""", "static u64 private@;\n#pragma omp threadprivate(private@)\n\n")

    def block_errno(self):
        n = self.team()
        return self.function(f"""
#pragma omp parallel num_threads({n}) reduction(+ : sum)
    for (int i = 0; i < {self.pick(2, 50)}; i++) {{
        errno = omp_get_thread_num() + i;
        {self.pick("", "work((u64)i, 3000);")}
#pragma omp barrier
        sum += (u64)errno;
    }}""")

    def block_spin(self):
        """A pipeline whose stages spin on flags, mostly without yielding."""
        n, steps = self.pick(2, 2, 3), self.pick(2, 6)
        wait = self.pick("", "", "sched_yield()", "usleep(10)")
        return self.function(f"""
    int done[{n}] = {{0}};
    u64 value[{steps}] = {{0}};

#pragma omp parallel num_threads({n})
    {{
        int me = omp_get_thread_num();

        for (int i = 0; i < {steps}; i++) {{
            while (me > 0 && __atomic_load_n(&done[me - 1], __ATOMIC_ACQUIRE) <= i)
                {wait};
            value[i] = work(value[i] + (u64)me, {self.length()});
            __atomic_store_n(&done[me], i + 1, __ATOMIC_RELEASE);
        }}
    }}
    for (int i = 0; i < {steps}; i++)
        sum = mix(sum + value[i]);""")

    def block_initial_threads(self):
        """Several initial threads with teams of their own."""
        count = self.pick(1, 2, 3)
        return self.function(f"""
    pthread_t thread[{count}];

    for (int i = 0; i < {count}; i++)
        if (pthread_create(&thread[i], NULL, initial@, (void *)(intptr_t)i) != 0)
            abort();
    for (int i = 0; i < {count}; i++) {{
        void *result;

        pthread_join(thread[i], &result);
        sum += (u64)(uintptr_t)result;
    }}""", f"""\
static void *initial@(void *number)
{{
    u64 sum = (u64)(intptr_t)number;

    for (int k = 0; k < {self.pick(1, 10)}; k++) {{
#pragma omp parallel for{self.maybe_team()}{self.schedule()} reduction(+ : sum)
        for (int i = 0; i < {self.count()}; i++)
            sum += work((u64)i, {self.length()});
    }}
    return (void *)(uintptr_t)sum;
}}

""")

    def block_teamsize(self):
        """What is asked for once holds for all following regions."""
        n = self.team()
        return self.function(f"""
    int before = omp_get_max_threads();

    omp_set_num_threads({n});
    for (int i = 0; i < {self.pick(2, 20)}; i++) {{
#pragma omp parallel reduction(+ : sum)
        sum += (u64)omp_get_num_threads() + (omp_get_max_threads() == {n});
    }}
    omp_set_num_threads(before);
    sum += omp_get_max_threads() == before;{self.pick('''
    omp_pause_resource_all(omp_pause_soft);''', "")}""")

    def block_pipe(self):
        """Threads that block in the kernel until others come to write."""
        n, steps = self.pick(2, 4, 8), self.pick(1, 10)
        return self.function(f"""
    int ends[{n}][2];

    for (int i = 0; i < {n}; i++)
        if (pipe(ends[i]) != 0)
            abort();
#pragma omp parallel num_threads({n}) reduction(+ : sum)
    {{
        int me = omp_get_thread_num();
        u64 x = (u64)me;

        for (int i = 0; i < {steps}; i++) {{
            if ((me > 0 || i > 0) && read(ends[me][0], &x, sizeof x) != sizeof x)
                abort();
            x = work(x + (u64)me, {self.length()});
            sum += x;
            if (write(ends[(me + 1) % {n}][1], &x, sizeof x) != sizeof x)
                abort();
        }}
    }}
    for (int i = 0; i < {n}; i++) {{
        close(ends[i][0]);
        close(ends[i][1]);
    }}""")

    def block_condition(self):
        """The same with a condition variable."""
        n, steps = self.pick(2, 3, 8), self.pick(1, 10)
        return self.function(f"""
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
    int turn = 0;

#pragma omp parallel num_threads({n})
    for (int i = 0; i < {steps}; i++) {{
        int me = omp_get_thread_num();

        pthread_mutex_lock(&mutex);
        while (turn % {n} != me)
            pthread_cond_wait(&turned, &mutex);
        sum = work(sum + (u64)me, {self.length()});
        turn++;
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&mutex);
    }}""")

    def block_many(self):
        n = self.pick(50, 200, 500)
        return self.function(f"""
    static int ran@[{n}];

    memset(ran@, 0, sizeof ran@);
    for (int i = 0; i < {self.pick(1, 3)}; i++) {{
#pragma omp parallel num_threads({n})
        {{
            ran@[omp_get_thread_num()] += omp_get_num_threads();
#pragma omp barrier
#pragma omp atomic
            sum += (u64)ran@[(omp_get_thread_num() + 1) % {n}];
        }}
    }}""")

    def block_allocate(self):
        n, largest = self.team(), self.pick(100, 5000, 200000)
        return self.function(f"""
#pragma omp parallel num_threads({n}) reduction(+ : sum)
    for (int i = 0; i < {self.pick(10, 100)}; i++) {{
        size_t size = 8 + mix((u64)(i * 31 + omp_get_thread_num())) % {largest};
        unsigned char *p = malloc(size);

        memset(p, i, size);
        {self.pick("", "#pragma omp barrier", "sched_yield();")}
        sum += p[size / 2];
        free(p);
    }}""")

    def block_rounding(self):
        """Each thread has a floating-point environment."""
        n = self.team()
        return self.function(f"""
#pragma omp parallel num_threads({n}) reduction(+ : sum)
    {{
        static const int modes[] = {{FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO}};
        int before = fegetround(), mine = modes[omp_get_thread_num() % 4];

        fesetround(mine);
        for (int i = 0; i < {self.pick(2, 50)}; i++) {{
            work((u64)i, {self.length()});
#pragma omp barrier
            sum += fegetround() == mine;
        }}
        fesetround(before);
    }}""")
