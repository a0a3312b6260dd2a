/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* MPI + OpenMP until the file named by the argument is there: regions and
 * messages in turn, messages by the initial thread only. */

#define _GNU_SOURCE

#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long home = syscall(SYS_gettid), away = 0, sum = 0, rounds = 0;
    int level, rank, ranks, threads = 0, stop = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while (!stop) {
#pragma omp parallel reduction(+ : sum)
        {
#pragma omp master
            {
                threads = omp_get_num_threads();
                away += syscall(SYS_gettid) != home;
            }
#pragma omp for
            for (int i = 0; i < 1000000; i++)
                sum += i % 7;
        }
        away += syscall(SYS_gettid) != home;
        stop = rank == 0 && access(argv[1], F_OK) == 0;
        MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
        long all = 0;
        MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (all != sum * ranks)
            printf("rank %d: sums differ\n", rank);
        rounds++;
    }
    printf("rank %d of %d threads=%d away=%ld %s\n", rank, ranks, threads, away,
           sum == rounds * 2999997 ? "PASS" : "FAIL");
    MPI_Finalize();
    return 0;
}
