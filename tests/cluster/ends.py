# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Ways in which jobs come and end: what the user sees, and that the cores go to
the job that is left (part of test_jobs.py, on its cluster)."""

import os

from coschedtest import allowed_cpus, cpu_list, wait_for

# Touches more memory than its job may have, and then waits to be killed.
HOG = """import time
memory = bytearray(400 << 20)
for i in range(0, len(memory), 4096):
    memory[i] = 1
time.sleep(300)
"""


def submit(c, *options, node="n1"):
    """A co-scheduled job on NODE."""
    return c.sbatch("--coschedule", f"--nodelist={node}", *options)


def long_run(c, name="ep"):
    return f"{c.program(name)} --class W --min-time 300"


def cpus(c, job, node="n1"):
    return cpu_list(c.status(node).get(job, {}).get("cpus", ""))


def share(c, *jobs):
    """Wait until each of JOBS has CPUs of its own."""
    def disjoint():
        sets = [cpus(c, job) for job in jobs]
        return all(sets) and sum(map(len, sets)) == len(set().union(*sets))
    wait_for(f"CPUs for {jobs}", disjoint, 60, 0.02)


def freed(c, other, node="n1"):
    """Wait until OTHER has all CPUs."""
    wait_for(f"all CPUs for job {other}",
             lambda: cpus(c, other, node) == set(allowed_cpus()), 60, 0.02)


def ended(c, job, state, code):
    wait_for(f"end of job {job} in the accounting", lambda: c.call(
        "sacct", "-X", "-n", "-P", "-j", str(job), "-o", "state,exitcode")
        .strip().startswith(state), 60, 0.1)
    shown = c.call("sacct", "-X", "-n", "-P", "-j", str(job), "-o", "exitcode")
    assert shown.strip() == code, (job, shown)


def said(c, job, *words):
    for word in words:
        wait_for(f"{word} in the output of job {job}",
                 lambda w=word: w in c.text(job), 60, 0.1)


def check_failure(c, other):
    """The exit status of the script is that of the job."""
    c.env["COSCHED_REPORT"] = "1"
    job = submit(c, "--wrap",
                 f"{c.program('ep')} --class W --min-time 3; exit 3")
    del c.env["COSCHED_REPORT"]
    share(c, job, other)
    ended(c, job, "FAILED", "3:0")
    freed(c, other)
    said(c, job, "PASS", f"coschedule: job {job}: exit status 3, ",
         "cores on average beside job")


def check_cancelled(c, other):
    """The program ends, and the user is told by whom."""
    job = submit(c, "--wrap", long_run(c, "cg"))
    share(c, job, other)
    pid = wait_for("its program", lambda: c.programs("cg").get(job))[0]
    c.call("scancel", str(job))
    wait_for("end of its program", lambda: not os.path.exists(f"/proc/{pid}"))
    freed(c, other)
    ended(c, job, "CANCELLED", "0:0")
    said(c, job, "CANCELLED AT")


def bound_memory(c):
    """For check_memory(), well before it: nodes hear of it when they do."""
    with open(f"{c.root}/etc/extra.conf", "a", encoding="utf-8") as file:
        file.write("JobAcctGatherParams=OverMemoryKill\n")
    c.call("scontrol", "reconfigure")


def check_memory(c, other):
    """Slurm kills a job that takes more memory than it asked for."""
    hog = os.path.join(c.output, "hog.py")
    with open(hog, "w", encoding="ascii") as file:
        file.write(HOG)
    job = submit(c, "--mem=100", "--wrap", f"exec python3 {hog}")
    said(c, job, "exceeded memory limit")
    c.wait_end(job)
    freed(c, other)
    # By this means Slurm calls it a failure; by control groups, OUT_OF_MEMORY.
    ended(c, job, "FAILED", "0:9")


def check_array(c, other):
    """Each element is a job of its own, with its own end and record."""
    c.env["COSCHED_REPORT"] = "1"
    seen = f"{c.output}/seen." # an element runs until it has been seen to share
    array = submit(c, "--array=3,7%1", "--wrap",
                   f"until test -e {seen}$SLURM_ARRAY_TASK_ID; do "
                   f"{c.program('ep')} --class W --min-time 1; done")
    del c.env["COSCHED_REPORT"]
    raw = {}

    def element(number):
        """Job number of an element that runs beside OTHER."""
        for job, entry in c.status().items():
            name = f"{array}_{number}"
            if job != other and entry["cpus"] and name in c.call(
                    "squeue", "-h", "-j", str(job), "-o", "%F_%K"):
                return job
        return None

    for number in (3, 7):
        raw[number] = wait_for(f"element {number}", lambda n=number:
                               element(n), 60, 0.05)
        share(c, raw[number], other)
        with open(f"{seen}{number}", "w", encoding="ascii"):
            pass
    c.wait_end(array)
    freed(c, other)
    for number in (3, 7):
        name = f"{array}_{number}"
        ended(c, name, "COMPLETED", "0:0")
        said(c, name, "PASS", f"coschedule: job {name}: ", f"{name} tells more")
    return [f"{array}_{number}" for number in (3, 7)]


def check_array_records(c, names):
    """The record of the last element is not that of all."""
    texts = [c.wait_final(name) for name in names]
    assert len(set(texts)) == len(texts), texts


def check_cancelled_element(c, other):
    """The other elements go on."""
    array = submit(c, "--array=0-1%1", "--wrap", long_run(c))
    first = wait_for("first element", lambda: [
        job for job in c.status() if job != other], 60, 0.05)[0]
    share(c, first, other)
    c.call("scancel", f"{array}_0")
    second = wait_for("second element", lambda: [
        job for job, entry in c.status().items()
        if job not in (first, other) and entry["cpus"]], 60, 0.05)[0]
    share(c, second, other)
    c.call("scancel", f"{array}_1")
    c.wait_end(array)
    freed(c, other)


def check_steps(c, other):
    """One job, one share: whatever is started in it, one after another or side
    by side, runs on the job's CPUs, and a failed step fails as with srun.  In Slurm 20.11 a step
    without --mem has all of the job's, and no other one begins."""
    ep = c.program("ep")
    job = submit(c, "--wrap", f"srun {ep} --class S && "
                 f"srun -n1 {ep} --class S && srun -n2 --overcommit hostname; "
                 f"srun false; echo status=$?; srun --overlap --mem=100 -n1 {long_run(c)}"
                 f" & srun --overlap --mem=100 -n1 {long_run(c, 'cg')} & wait")
    pids = wait_for("two steps side by side", lambda: [
        pid for name in ("ep", "cg") for pid in c.programs(name).get(job, [])
        if "300" in command(pid)][:2], 90, 0.05)
    wait_for("both", lambda: len(c.programs("cg").get(job, [])) == 1 and
             c.status()[job]["attached"] == 2, 60, 0.05)
    share(c, job, other)
    text = c.text(job)
    assert text.count("PASS") == 2 and "status=1" in text, text
    assert len(text.split("\nPASS")[-1].splitlines()) >= 3, text
    c.call("scancel", "--signal=TERM", f"{job}.4")
    wait_for("end of one step", lambda: len(c.status()[job]["cpus"]) and
             c.status()[job]["attached"] == 1, 60, 0.05)
    share(c, job, other)
    c.call("scancel", str(job))
    c.wait_end(job)
    assert not any(map(command, pids)), pids
    freed(c, other)


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
            return cmdline.read().decode(errors="replace")
    except OSError:
        return ""


def check_dependency(c, other):
    """A job waits for another as always, and has cores only then."""
    first = submit(c, "--wrap", long_run(c, "cg"))
    share(c, first, other)
    after = submit(c, f"--dependency=afterany:{first}", "--wrap", long_run(c))
    never = submit(c, f"--dependency=afterok:{first}", "--wrap", "true")
    for job in (after, never):
        assert "Dependency" in c.call("squeue", "-h", "-j", str(job), "-o",
                                      "%r"), job
        assert job not in c.status(), job
    c.call("scancel", str(first))
    share(c, after, other)
    wait_for("a dependency that cannot be", lambda: "NeverSatisfied" in c.call(
        "squeue", "-h", "-j", str(never), "-o", "%r"), 60, 0.1)
    c.call("scancel", str(after), str(never))
    c.wait_end(after, never)
    freed(c, other)


def start_timeout(c):
    """A job whose time is over now, beside another on the second node; Slurm
    looks at that twice a minute.  The other one computes when it is told to: it
    would slow down what is done meanwhile."""
    wait = f"until test -e {c.output}/compute; do sleep 0.1; done"
    jobs = [c.sbatch("--coschedule", "--nodelist=n2", "--time=1", "--wrap",
                     "sleep 300"),
            submit(c, "--wrap", f"{wait}; {long_run(c)}", node="n2")]
    wait_for("both jobs' CPUs", lambda: all(cpus(c, job, "n2") for job in jobs),
             60, 0.1)
    wait_for("its state", lambda: c.call(
        "squeue", "-h", "-j", str(jobs[0]), "-o", "%t").strip() == "R", 60, 0.1)
    c.call("scontrol", "update", f"jobid={jobs[0]}", "EndTime=now+5")
    return jobs


def check_timeout(c, job, other):
    """At the end of its time a job's cores go to the other."""
    c.wait_end(job)
    open(f"{c.output}/compute", "w", encoding="utf-8").close()
    freed(c, other, "n2")
    said(c, job, "DUE TO TIME LIMIT")
    c.call("scancel", str(other))


def check_ends(c):
    """All of these, beside a job that stays.  Returns names of jobs, for
    check_array_records() when the records have had time."""
    other = submit(c, "--mem=100", "--wrap", long_run(c))
    freed(c, other)
    check_failure(c, other)
    check_cancelled(c, other)
    check_memory(c, other)
    names = check_array(c, other)
    check_cancelled_element(c, other)
    check_steps(c, other)
    check_dependency(c, other)
    c.call("scancel", str(other))
    c.wait_end(other)
    return names
