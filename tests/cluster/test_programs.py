#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Programs that cannot follow by themselves are held to their share, and their
users are told; ordinary job scripts; MPI with OpenMP.

What is too large to install everywhere has a stand-in with the same threads; the
real one is run as well where it is installed."""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import BUILD, SOURCE, allowed_cpus, need, skip, wait_for
from coschedcluster import Cluster, need_cluster
from ends import cpus, ended, freed, long_run, said, share, submit

STANDIN = f"{BUILD}/tests/cluster/standin"
HELD = "pinned to its share; "
# Runs the program until the test has seen enough.
HOLD = """#!/bin/bash
#SBATCH --coschedule=report=yes --nodelist=n1
{command} &
until test -e {go}; do sleep 0.05; done
kill -9 $(jobs -p)
wait
echo end
exit 0
"""
BLAS = """import numpy
a = numpy.random.rand(700, 700)
while True:
    a = a @ a
    a /= abs(a).max()
"""
JAVA = """public class Spin {
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 3; i++)
            new Thread(() -> { while (true) { byte[] b = new byte[4096]; } })
                .start();
    }
}
"""


def write(c, name, text):
    path = os.path.join(c.output, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def build(c, name, *command):
    """Build a program at the test's own place; None, and why, if it fails."""
    path = os.path.join(c.output, name)
    if not shutil.which(command[0]):
        print(f"left out: {name}: {command[0]} is not installed")
        return None
    done = subprocess.run([*command, "-o", path], capture_output=True,
                          text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        print(f"left out: {name}: {command[0]} cannot build it:",
              done.stderr[-200:])
        return None
    return path


def masks(job, name):
    """Allowed CPUs of each thread of the processes NAME of JOB."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8",
                      errors="replace") as comm:
                if comm.read().strip() != name[:15]:
                    continue
            with open(f"/proc/{pid}/environ", "rb") as environ:
                if f"COSCHED_JOB={job}".encode() not in \
                        environ.read().split(b"\0"):
                    continue
            found += [os.sched_getaffinity(int(tid))
                      for tid in os.listdir(f"/proc/{pid}/task")]
        except OSError:
            continue
    return found


def check_held(c, other, command, threads, why="it has no OpenMP runtime"):
    """COMMAND's threads (so many at least) run on its job's CPUs only, and its user
    is told WHY."""
    go = os.path.join(c.output, "go")
    job = int(c.call("sbatch", "--parsable",
                     write(c, "hold.sh", HOLD.format(command=command, go=go))))
    name = os.path.basename(command.split()[0])

    def held():
        entry = c.status().get(job, {})
        seen, own = masks(job, name), cpus(c, job)
        return entry.get("state") == "pinned" and len(seen) >= threads and \
            own and all(mask <= own for mask in seen)

    wait_for(f"{command} on its share", held, 60, 0.05)
    share(c, job, other)
    write(c, "go", "")
    said(c, job, "end\n", f"coschedule: job {job}: ", HELD, " does not follow: " + why)
    c.wait_end(job)
    os.unlink(go)
    freed(c, other)
    print(f"held: {command}")


def check_stand_ins(c, other):
    check_held(c, other, f"{STANDIN} ranks 3", 3)
    check_held(c, other, f"{STANDIN} pool 4", 4)
    check_held(c, other, f"{STANDIN} machine 3", 7)
    check_held(c, other, f"{c.program('pinned')} --class W --min-time 300", 2)
    if os.path.exists(c.program("ep-static")):
        check_held(c, other, f"{c.program('ep-static')} --class W "
                   "--min-time 300", 2, "it contains libgomp statically. Link it")


def check_real(c, other):
    if subprocess.run(["/usr/bin/python3", "-c", "import numpy"], check=False,
                      capture_output=True).returncode == 0:
        check_held(c, other, f"/usr/bin/python3 {write(c, 'blas.py', BLAS)}",
                   2)
    else:
        print("left out: BLAS: numpy is not installed")
    java = os.path.join(c.output, "Spin.java")
    write(c, "Spin.java", JAVA)
    if shutil.which("javac") and subprocess.run(
            ["javac", java], check=False, capture_output=True).returncode == 0:
        check_held(c, other, f"java -cp {c.output} Spin", 4)
    else:
        print("left out: Java: it is not installed")


def check_mpi(c, other):
    """Ranks with OpenMP are one job: they share its cores, and the initial
    threads, which call MPI, stay on their kernel threads."""
    hybrid = build(c, "hybrid", "mpicc", "-fopenmp", "-O2",
                   f"{SOURCE}/tests/cluster/hybrid.c")
    if not hybrid:
        return
    go = os.path.join(c.output, "gone")
    job = submit(c, "--coschedule=report=yes", "--wrap",
                 f"mpirun -n 2 {hybrid} {go}")
    wait_for("two attached ranks", lambda:
             c.status().get(job, {}).get("attached") == 2, 60, 0.05)
    share(c, job, other)
    write(c, "gone", "")
    ended(c, job, "COMPLETED", "0:0")
    said(c, job, "rank 0 of 2", "rank 1 of 2", f"coschedule: job {job}: ")
    text = c.text(job)
    assert text.count("PASS") == 2 and text.count("away=0") == 2, text
    assert HELD not in text and "differ" not in text, text
    freed(c, other)


# Lines of ordinary job scripts, and what the program then prints (NCPU: the
# CPUs of the node); a module command is a function of the shell.
LINES = (
    ("{ep}", "threads=NCPU "),
    ("srun {ep}", "threads=NCPU "),
    # Steps of Slurm 20.11 have all CPUs otherwise.
    ("srun --exact -n1 -c1 {ep}", "threads=1 "),
    ("srun -n1 -c$SLURM_CPUS_ON_NODE {ep}", "threads=NCPU "),
    ("OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK {ep}", "threads=NCPU "),
    ("srun -n1 env OMP_NUM_THREADS=3 {ep}", "threads=3 "),
    ("module load x; {ep}", "module load x\n"),
    ("srun bash -c 'module load y' && {ep}", "module load y\n"),
    ("COSCHED_POLICY=bogus srun {ep}", "threads=NCPU "),
    ("(cd /; exec {ep}) | cat", "threads=NCPU "),
    ("timeout 60 nice {ep}", "threads=NCPU "),
)


def check_scripts(c):
    """All in one job: each line as its author expects."""
    text = "#!/bin/bash\nmodule() { echo \"module $*\"; }\nexport -f module\n"
    for line, _ in LINES:
        text += f"echo '---'\n{line.format(ep=c.program('ep') + ' --class S')}\n"
    job = submit(c, write(c, "lines.sh", text))
    ended(c, job, "COMPLETED", "0:0")
    for (line, wanted), got in zip(LINES, c.text(job).split("---\n")[1:]):
        wanted = wanted.replace("NCPU", str(len(allowed_cpus())))
        assert wanted in got and got.count("PASS") == 1, (line, wanted, got)
        assert "error" not in got, (line, got)


def main():
    need_cluster()
    need("tests/cluster/standin")
    if len(allowed_cpus()) < 2:
        skip("one CPU cannot be shared in space")
    with Cluster() as c:
        check_scripts(c)
        other = submit(c, "--wrap", long_run(c))
        freed(c, other)
        check_stand_ins(c, other)
        check_real(c, other)
        check_mpi(c, other)


main()
