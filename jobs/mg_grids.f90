! SPDX-License-Identifier: GPL-2.0-or-later
! Copyright (C) 2026 The coschedule developers
! Grids of NPB MG and the operators between them.

! Level k has 2**k points on a side, and on each side one more that repeats the
! opposite side (the problem is periodic): indices 0 to 2**k + 1.  Point j of a
! level is point 2j of the next finer one.  (NASA report RNR-94-007, section 2.3.)
module mg_grids
    use, intrinsic :: iso_c_binding, only: c_double, c_int
    implicit none
    private
    public :: mg_make, mg_begin, mg_cycle, mg_free

    type :: level
        integer :: n
        double precision, allocatable :: u(:, :, :), r(:, :, :)
    end type

    type(level), allocatable :: levels(:)
    double precision, allocatable :: v(:, :, :)   ! the right side, finest level
    double precision :: smoother(0:2)
    ! Of the operator A, by the number of coordinates in which a neighbour differs.
    double precision, parameter :: a0 = -8d0 / 3, a2 = 1d0 / 6, a3 = 1d0 / 12

contains

    ! Grids of up to 2**FINEST points on a side; C is the smoother's stencil.
    subroutine mg_make(finest, c) bind(c)
        integer(c_int), value :: finest
        real(c_double), intent(in) :: c(0:2)
        integer :: k, n

        smoother = c
        allocate (levels(finest))
        do k = 1, finest
            n = 2**k
            levels(k)%n = n
            allocate (levels(k)%u(0:n + 1, 0:n + 1, 0:n + 1))
            allocate (levels(k)%r(0:n + 1, 0:n + 1, 0:n + 1))
            call clear(levels(k)%r, n)
        end do
        allocate (v(0:n + 1, 0:n + 1, 0:n + 1))
        call clear(v, n)
    end subroutine

    subroutine mg_free() bind(c)
        deallocate (levels, v)
    end subroutine

    ! The right side: +1 at COUNT places, -1 at as many others; the solution is 0.
    ! PLACES(:, 1, i) and (:, 2, i) are x, y, z, from 1 on.
    subroutine mg_begin(count, places) bind(c)
        integer(c_int), value :: count
        integer(c_int), intent(in) :: places(3, 2, count)
        integer :: finest, i

        finest = size(levels)
        call clear(v, levels(finest)%n)
        do i = 1, count
            v(places(1, 1, i), places(2, 1, i), places(3, 1, i)) = 1
            v(places(1, 2, i), places(2, 2, i), places(3, 2, i)) = -1
        end do
        call wrap(v, levels(finest)%n)
        call clear(levels(finest)%u, levels(finest)%n)
        call residual(levels(finest)%u, v, levels(finest)%r, levels(finest)%n)
    end subroutine

    ! One V-cycle.  Returns the norm of the residual after it.
    function mg_cycle() result(norm) bind(c)
        real(c_double) :: norm
        integer :: finest, k

        finest = size(levels)
        do k = finest, 2, -1
            call restrict_to(levels(k)%r, levels(k)%n, levels(k - 1)%r)
        end do
        call clear(levels(1)%u, levels(1)%n)
        call smooth(levels(1)%r, levels(1)%u, levels(1)%n)
        do k = 2, finest
            if (k < finest) call clear(levels(k)%u, levels(k)%n)
            call interpolate(levels(k - 1)%u, levels(k - 1)%n, levels(k)%u)
            if (k < finest) then
                call residual(levels(k)%u, levels(k)%r, levels(k)%r, levels(k)%n)
            else
                call residual(levels(k)%u, v, levels(k)%r, levels(k)%n)
            end if
            call smooth(levels(k)%r, levels(k)%u, levels(k)%n)
        end do
        call residual(levels(finest)%u, v, levels(finest)%r, levels(finest)%n)
        norm = norm_of(levels(finest)%r, levels(finest)%n)
    end function

    subroutine clear(x, n)
        integer, intent(in) :: n
        double precision, intent(out) :: x(0:n + 1, 0:n + 1, 0:n + 1)
        integer :: k

        !$omp parallel do schedule(static)
        do k = 0, n + 1
            x(:, :, k) = 0
        end do
    end subroutine

    ! Repeat each side beyond the opposite one.
    subroutine wrap(x, n)
        integer, intent(in) :: n
        double precision, intent(inout) :: x(0:n + 1, 0:n + 1, 0:n + 1)
        integer :: j, k

        !$omp parallel
        !$omp do schedule(static)
        do k = 1, n
            do j = 1, n
                x(0, j, k) = x(n, j, k)
                x(n + 1, j, k) = x(1, j, k)
            end do
            x(:, 0, k) = x(:, n, k)
            x(:, n + 1, k) = x(:, 1, k)
        end do
        !$omp do schedule(static)
        do j = 0, n + 1
            x(:, j, 0) = x(:, j, n)
            x(:, j, n + 1) = x(:, j, 1)
        end do
        !$omp end parallel
    end subroutine

    ! Sums of X over the neighbours of a row that differ in one (FACES) and in two
    ! (EDGES) of the other coordinates.
    pure subroutine add_rows(x, n, j, k, faces, edges)
        integer, intent(in) :: n, j, k
        double precision, intent(in) :: x(0:n + 1, 0:n + 1, 0:n + 1)
        double precision, intent(out) :: faces(0:n + 1), edges(0:n + 1)
        integer :: i

        do i = 0, n + 1
            faces(i) = x(i, j - 1, k) + x(i, j + 1, k) + x(i, j, k - 1) + x(i, j, k + 1)
            edges(i) = x(i, j - 1, k - 1) + x(i, j + 1, k - 1) + x(i, j - 1, k + 1) &
                       + x(i, j + 1, k + 1)
        end do
    end subroutine

    ! R = B - A U.  R may be B.
    subroutine residual(u, b, r, n)
        integer, intent(in) :: n
        double precision, intent(in) :: u(0:n + 1, 0:n + 1, 0:n + 1)
        double precision, intent(in) :: b(0:n + 1, 0:n + 1, 0:n + 1)
        double precision, intent(inout) :: r(0:n + 1, 0:n + 1, 0:n + 1)
        double precision :: faces(0:n + 1), edges(0:n + 1)
        integer :: i, j, k

        !$omp parallel do schedule(static) private(i, j, faces, edges)
        do k = 1, n
            do j = 1, n
                call add_rows(u, n, j, k, faces, edges)
                do i = 1, n
                    r(i, j, k) = b(i, j, k) - a0 * u(i, j, k) &
                                 - a2 * (edges(i) + faces(i - 1) + faces(i + 1)) &
                                 - a3 * (edges(i - 1) + edges(i + 1))
                end do
            end do
        end do
        call wrap(r, n)
    end subroutine

    ! U = U + S R, S being the smoother.
    subroutine smooth(r, u, n)
        integer, intent(in) :: n
        double precision, intent(in) :: r(0:n + 1, 0:n + 1, 0:n + 1)
        double precision, intent(inout) :: u(0:n + 1, 0:n + 1, 0:n + 1)
        double precision :: faces(0:n + 1), edges(0:n + 1)
        integer :: i, j, k

        !$omp parallel do schedule(static) private(i, j, faces, edges)
        do k = 1, n
            do j = 1, n
                call add_rows(r, n, j, k, faces, edges)
                do i = 1, n
                    u(i, j, k) = u(i, j, k) + smoother(0) * r(i, j, k) &
                                 + smoother(1) * (r(i - 1, j, k) + r(i + 1, j, k) + faces(i)) &
                                 + smoother(2) * (edges(i) + faces(i - 1) + faces(i + 1))
                end do
            end do
        end do
        call wrap(u, n)
    end subroutine

    ! COARSE = weighted means of FINE, which has N points on a side.
    subroutine restrict_to(fine, n, coarse)
        integer, intent(in) :: n
        double precision, intent(in) :: fine(0:n + 1, 0:n + 1, 0:n + 1)
        double precision, intent(inout) :: coarse(0:n / 2 + 1, 0:n / 2 + 1, 0:n / 2 + 1)
        double precision :: faces(0:n + 1), edges(0:n + 1)
        integer :: i, j, k

        !$omp parallel do schedule(static) private(i, j, faces, edges)
        do k = 1, n / 2
            do j = 1, n / 2
                call add_rows(fine, n, 2 * j, 2 * k, faces, edges)
                do i = 1, n / 2
                    coarse(i, j, k) = &
                        0.5d0 * fine(2 * i, 2 * j, 2 * k) &
                        + 0.25d0 * (fine(2 * i - 1, 2 * j, 2 * k) + fine(2 * i + 1, 2 * j, 2 * k) &
                                    + faces(2 * i)) &
                        + 0.125d0 * (faces(2 * i - 1) + faces(2 * i + 1) + edges(2 * i)) &
                        + 0.0625d0 * (edges(2 * i - 1) + edges(2 * i + 1))
                end do
            end do
        end do
        call wrap(coarse, n / 2)
    end subroutine

    ! FINE = FINE + COARSE, which has N points on a side, interpolated.
    subroutine interpolate(coarse, n, fine)
        integer, intent(in) :: n
        double precision, intent(in) :: coarse(0:n + 1, 0:n + 1, 0:n + 1)
        double precision, intent(inout) :: fine(0:2 * n + 1, 0:2 * n + 1, 0:2 * n + 1)
        double precision :: row(0:n + 1)
        integer :: i, j, k

        !$omp parallel do schedule(static) private(i, j, row)
        do k = 0, 2 * n + 1
            do j = 0, 2 * n + 1
                row = 0.25d0 * (coarse(:, j / 2, k / 2) + coarse(:, (j + 1) / 2, k / 2) &
                                + coarse(:, j / 2, (k + 1) / 2) &
                                + coarse(:, (j + 1) / 2, (k + 1) / 2))
                do i = 0, n
                    fine(2 * i, j, k) = fine(2 * i, j, k) + row(i)
                    fine(2 * i + 1, j, k) = fine(2 * i + 1, j, k) + 0.5d0 * (row(i) + row(i + 1))
                end do
            end do
        end do
    end subroutine

    function norm_of(r, n) result(norm)
        integer, intent(in) :: n
        double precision, intent(in) :: r(0:n + 1, 0:n + 1, 0:n + 1)
        double precision :: norm
        integer :: k

        norm = 0
        !$omp parallel do schedule(static) reduction(+: norm)
        do k = 1, n
            norm = norm + sum(r(1:n, 1:n, k)**2)
        end do
        norm = sqrt(norm / dble(n)**3)
    end function
end module
