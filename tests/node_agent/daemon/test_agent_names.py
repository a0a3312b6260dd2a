#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Parallel regions have names: of C, C++ and Fortran programs, by GCC and Clang, with and
without debug information, in status, explain and trace; for their user and root only."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import Agent, BUILD, Job, need, wait_for

CTL = os.path.join(BUILD, "coschedctl")
need(CTL, os.path.join(BUILD, "libgomp-coop/lib-coop/libgomp.so.1"))

C = """void conj_grad(volatile double *a)
{
    for (;;)
        a[1]++;
}
int main(void)
{
    static double a[2];
#pragma omp parallel
    conj_grad(a);
}
"""
CC = """namespace solver {
template <class T> struct Grid {
    void smooth(volatile T *a)
    {
#pragma omp parallel
        for (;;)
            a[1]++;
    }
};
}
int main()
{
    static double a[2];
    solver::Grid<double>().smooth(a);
}
"""
F90 = """module waves
contains
subroutine step(a)
    real, volatile :: a(2)
!$omp parallel
    do
        a(1) = a(1) + 1
    end do
!$omp end parallel
end subroutine
end module
program prog
    use waves
    real, volatile :: a(2)
    call step(a)
end program
"""

# source, compiler, what its region is called
PROGRAMS = {
    "gcc": (("p.c", C), ["gcc", "-g"], "main, p.c:9"),
    "clang": (("p.c", C), ["clang", "-g"], "main, p.c:9"),
    "g++": (("p.cc", CC), ["g++", "-g", "-O2"], "solver::Grid::smooth, p.cc:5"),
    "clang++": (("p.cc", CC), ["clang++", "-g"], "solver::Grid::smooth, p.cc:5"),
    "gfortran": (("p.f90", F90), ["gfortran", "-g"], "waves::step, p.f90:5"),
    "plain": (("p.c", C), ["gcc"], "main"),
    "stripped": (("p.c", C), ["gcc", "-s"], None),
}


def ctl(agent, *arguments, user=0):
    return subprocess.run([CTL, "--socket", agent.socket, *arguments], text=True, check=True,
                          stdout=subprocess.PIPE, user=user or None).stdout


def build(folder):
    for name, ((source, text), compiler, _) in PROGRAMS.items():
        with open(f"{folder}/{source}", "w", encoding="ascii") as file:
            file.write(text)
        subprocess.run([*compiler, "-fopenmp", "-o", name, source], cwd=folder,
                       check=True)


def check(agent, folder, number, name, expected):
    def region():
        jobs = json.loads(ctl(agent, "status", "--json"))["jobs"]
        job = next((j for j in jobs if j["job"] == number), {"region": None})
        found = job["region"] or {}
        # A machine with much other work takes its time: coschedctl gives up after 2 s.
        late = expected and "name" not in found
        return found if "+" in found.get("region", "") and not late else None

    with Job(agent, number, [f"{folder}/{name}"], env={"OMP_NUM_THREADS": "2"}) as job:
        found = wait_for(f"region of {name}", region)
        assert found.get("name") == expected, (name, found)
        # A table with the region behind the job's CPUs.
        shown = expected or found["region"]
        assert f"  {shown} " in ctl(agent, "status", str(number)), (name, shown)
        agent.call({"op": "config"})
        if expected:
            # Decisions of the time before had no region.
            trace = json.loads(ctl(agent, "trace", str(number)))
            names = {e["name"] for e in trace["traceEvents"]}
            assert any(f"malleable {shown} " in n for n in names), names
        if name == "gcc" and os.geteuid() == 0:
            # Another user sees what he saw before.
            line = ctl(agent, "status", user=65534)
            assert found["region"] in line and expected not in line, line
        if name == "gcc":
            with Job(agent, 100, ["sleep", "1000"]) as other:
                wait_for("decision", lambda: f"job {number} in {shown}: " in ctl(agent, "explain"))
                other.kill()
                other.wait()
        job.kill()
        job.wait()


def main():
    folder = tempfile.mkdtemp(prefix="cosched-test.")
    os.chmod(folder, 0o755)
    try:
        build(folder)
        with Agent() as agent:
            for number, (name, (_, _, expected)) in enumerate(PROGRAMS.items(), 1):
                check(agent, folder, number, name, expected)
    finally:
        shutil.rmtree(folder)


main()
