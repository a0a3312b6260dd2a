! SPDX-License-Identifier: GPL-2.0-or-later
! Copyright (C) 2026 The coschedule developers
! Threadprivate common blocks kept across regions, and a reduction.
program test_shapes_common
  use omp_lib
  implicit none
  integer :: kept, round, wrong, total
  common /block/ kept
  !$omp threadprivate(/block/)
  wrong = 0
  do round = 1, 40
    total = 0
    !$omp parallel reduction(+:wrong, total)
    if (round > 1) then
      if (kept /= (round - 1) * 1000 + omp_get_thread_num()) wrong = wrong + 1
    end if
    kept = round * 1000 + omp_get_thread_num()
    total = total + 1
    !$omp end parallel
    if (total /= omp_get_max_threads()) wrong = wrong + 1
  end do
  if (wrong == 0) then
    print '(a)', 'PASS'
  else
    print '(a,i0)', 'FAIL common ', wrong
    stop 1
  end if
end program
