! SPDX-License-Identifier: GPL-2.0-or-later
! Copyright (C) 2026 The coschedule developers
! What flang has of OpenMP, again and again, with its results checked.
program test_flang
  implicit none
  integer, parameter :: n = 2000, rounds = 400
  integer :: round, wrong, kept
  integer(8) :: right
  integer, external :: omp_get_thread_num, omp_get_max_threads
  common /block/ kept
  !$omp threadprivate(/block/)
  wrong = 0
  right = int(n, 8) * (n + 1) / 2
  do round = 1, rounds
    call loops
    call sync
    call tasks
    call private
  end do
  if (wrong == 0) then
    print '(a)', 'PASS'
  else
    print '(a,i0)', 'FAIL flang ', wrong
    stop 1
  end if

contains

  subroutine expect(holds)
    logical, intent(in) :: holds
    if (.not. holds) wrong = wrong + 1
  end subroutine

  subroutine loops
    integer :: i
    integer(8) :: static, dynamic, guided, last
    static = 0; dynamic = 0; guided = 0; last = 0
    !$omp parallel
    !$omp do schedule(static) reduction(+:static)
    do i = 1, n
      static = static + i
    end do
    !$omp end do
    !$omp do schedule(dynamic, 7) reduction(+:dynamic)
    do i = 1, n
      dynamic = dynamic + i
    end do
    !$omp end do
    !$omp do schedule(guided) reduction(+:guided)
    do i = 1, n
      guided = guided + i
    end do
    !$omp end do
    ! Each iteration comes after the one before.
    !$omp do ordered schedule(dynamic)
    do i = 1, n / 20
      !$omp ordered
      if (last == i - 1) last = i
      !$omp end ordered
    end do
    !$omp end do
    !$omp end parallel
    call expect(static == right .and. dynamic == right .and. guided == right)
    call expect(last == n / 20)
  end subroutine

  subroutine sync
    integer :: entered, single, parts, i
    integer, volatile :: late, arrived
    entered = 0; single = 0; parts = 0; late = 0; arrived = 0
    !$omp parallel private(i)
    do i = 1, 10
      !$omp critical (inside)
      entered = entered + 1
      !$omp end critical (inside)
    end do
    !$omp single
    single = single + 1
    !$omp end single
    !$omp atomic
    arrived = arrived + 1
    !$omp barrier
    if (arrived /= omp_get_max_threads()) late = 1
    !$omp sections
    !$omp section
    !$omp atomic
    parts = parts + 1
    !$omp section
    !$omp atomic
    parts = parts + 10
    !$omp end sections
    !$omp end parallel
    call expect(entered == 10 * omp_get_max_threads())
    call expect(single == 1 .and. late == 0 .and. parts == 11)
  end subroutine

  ! flang 19 copies what is firstprivate too late, so nothing is.
  subroutine tasks
    integer :: i, ran
    ran = 0
    !$omp parallel
    !$omp single
    do i = 1, 50
      !$omp task shared(ran)
      !$omp atomic
      ran = ran + 1
      !$omp end task
    end do
    !$omp taskwait
    if (ran == 50) ran = 100
    !$omp end single
    !$omp end parallel
    call expect(ran == 100)
  end subroutine

  ! Common blocks of threads are kept across regions.
  subroutine private
    integer :: lost
    lost = 0
    !$omp parallel reduction(+:lost)
    if (round > 1 .and. kept /= (round - 1) * 1000 + omp_get_thread_num()) lost = lost + 1
    kept = round * 1000 + omp_get_thread_num()
    !$omp end parallel
    call expect(lost == 0)
  end subroutine
end program
