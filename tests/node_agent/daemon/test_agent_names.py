#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Parallel regions have names: of C, C++ and Fortran programs, by GCC and Clang, with and
without debug information, in status, explain and trace; for their user and root only."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import Agent, BUILD, Job, LIBGOMP_COOP, need, wait_for
from fakes import GATE, announce

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
        assert f" {shown}" in ctl(agent, "top"), (name, shown)
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


class Names:
    """The socket at which the agent asks: systemd's part, which starts a program for each
    question.  What was asked is in `questions`."""

    def __init__(self, agent, program=None, hangs=None):
        self.command = program or [os.path.join(BUILD, "coschedd-names")]
        self.hangs, self.open = hangs, []   # of the files of user HANGS nobody ever hears
        self.path = agent.socket + ".names"
        self.questions = []
        self.listener = socket.socket(socket.AF_UNIX)

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb", 0) as asked:
                line = asked.readline()
                self.questions.append(line.decode().split())
                if self.questions[-1][1] == self.hangs:
                    self.open.append(connection.dup())
                    continue
                subprocess.run(self.command, input=line, stdout=connection, check=False,
                               timeout=60)

    def __enter__(self):
        self.listener.bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for connection in self.open:
            connection.close()
        os.unlink(self.path)


LIAR = """import sys
region = sys.stdin.readline().split()[2]
print("0 other")
print(region, "f alone_s=1 \\x1b|,*" + "x" * 90)
"""


def record_of(agent, number):
    """The record of job NUMBER, which ends now."""
    assert agent.call({"op": "withdraw", "job": number})["ok"]
    return wait_for("record", lambda: re.search(
        rf"job {number} ended: (cosched/1 .*)", agent.log_text()))[1]


def run_as(agent, folder, number, uid):
    """A program with a region as job NUMBER of user UID."""
    assert announce(agent, number, uid=uid)["ok"]
    process = subprocess.Popen(
        [*GATE, f"{folder}/gcc"], user=uid, group=uid, extra_groups=[], stdin=subprocess.PIPE,
        env={"COSCHED_SOCKET": agent.socket, "COSCHED_JOB": str(number), "OMP_NUM_THREADS": "2",
             "LD_LIBRARY_PATH": folder})
    assert agent.call({"op": "task", "job": number, "step": 0, "pid": process.pid})["ok"]
    process.stdin.write(b"go\n")
    process.stdin.close()
    wait_for("region", lambda: "+" in ((agent.job(number) or {}).get("region") or {}).get(
        "region", ""))
    return process


def kept(agent, number):
    """What the state has of the regions of job NUMBER."""
    with open(os.path.join(agent.directory, "state.json"), encoding="utf-8") as file:
        return next((j["record"]["hot"] for j in json.load(file)["jobs"] if j["job"] == number), "")


def check_record(agent, folder, uid):
    """Records name regions; nobody listens at first, and that costs nothing."""
    with Names(agent) as names:
        process = run_as(agent, folder, 50, uid)
        try:
            question = wait_for("question", lambda: names.questions)[0]
            assert question[:2] == [str(process.pid), str(uid)] and len(question) == 3, question
            wait_for("answer", lambda: "main@p.c:9" in kept(agent, 50))
        finally:
            process.kill()
            process.wait()
        # The agent's question is about a process, so it came before the end; the region is known.
        record = record_of(agent, 50)
        assert re.search(r" hot=main@p\.c:9\*[01]", record), record
        assert len(names.questions) == 1, names.questions
    # Whoever is asked may say what he likes, and too much.
    with open(f"{folder}/liar", "w", encoding="ascii") as file:
        file.write(LIAR)
    with Names(agent, [sys.executable, f"{folder}/liar"]) as names:
        process = run_as(agent, folder, 51, uid)
        try:
            wait_for("answer", lambda: "xxx" in kept(agent, 51))
        finally:
            process.kill()
            process.wait()
    assert re.search(r" hot=f_alone_s_1_____x{31}\*[01]", record_of(agent, 51))
    # A user's files that never answer keep nobody's names but his own.
    with Names(agent, hangs=str(uid)) as names:
        processes = [run_as(agent, folder, 53, uid)]
        try:
            wait_for("question", lambda: names.open)
            processes.append(run_as(agent, folder, 54, uid - 1))
            wait_for("answer", lambda: "main@p.c:9" in kept(agent, 54))
            assert "main@" not in kept(agent, 53)
        finally:
            for process in processes:
                process.kill()
                process.wait()
    assert " hot=main@p.c:9*" in record_of(agent, 54)
    assert "main@" not in record_of(agent, 53)
    # Nobody is there: the region has its number.
    process = run_as(agent, folder, 52, uid)
    process.kill()
    process.wait()
    record = record_of(agent, 52)
    assert "main@" not in record, record


def check_helper(folder, uid):
    """It looks as the job's user, never at what is root's, and believes no question."""
    def ask(text):
        done = subprocess.run([os.path.join(BUILD, "coschedd-names")], input=text, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=60)
        return done.stdout
    with subprocess.Popen([f"{folder}/plain"], env={"OMP_NUM_THREADS": "1"}) as process:
        for text in ("", "\n", "1", "x y z\n", f"{process.pid} 0 0123456789abcdef+10\n",
                     f"{process.pid} -1 0123456789abcdef+10\n", "1 " * 300 + "\n",
                     f"{process.pid} {uid} {'f' * 400}\n"):
            assert ask(text) == "", text
        process.kill()


def main():
    folder = tempfile.mkdtemp(prefix="cosched-test.")
    os.chmod(folder, 0o755)
    try:
        build(folder)
        with Agent() as agent:
            for number, (name, (_, _, expected)) in enumerate(PROGRAMS.items(), 1):
                check(agent, folder, number, name, expected)
        if os.geteuid() == 0:
            shutil.copy(os.path.join(LIBGOMP_COOP, "libgomp.so.1"), folder)
            with Agent() as agent:
                check_record(agent, folder, 65534)
            check_helper(folder, 65534)
    finally:
        shutil.rmtree(folder)


main()
