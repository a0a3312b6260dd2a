#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What a job finds in its environment and in its output: with and without the
agent, in batch scripts and steps, inside of other jobs, for other users."""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import LIBGOMP_COOP, allowed_cpus, skip, wait_for
from coschedcluster import Cluster, need_cluster

NAMES = ("COSCHED_JOB", "COSCHED_SOCKET", "COSCHED_ULTS", "LD_AUDIT",
         "LD_LIBRARY_PATH")
OLD = f"{LIBGOMP_COOP}/before-2.35"
SHOW = "for v in %s; do eval echo \"%%s.$v=\\$$v\"; done" % " ".join(NAMES)
# Steps with --export=NONE have no PATH.
SCRIPT = f"""#!/bin/bash
{SHOW % "batch"}
srun /bin/bash -c '{SHOW % "step"}'
echo end
"""
OPTION = "SLURM_SPANK__SLURM_SPANK_OPTION_cosched_coschedule"
NESTED = f"""#!/bin/bash
cd {{output}}
sbatch --parsable show.sh
env -u {OPTION} sbatch --parsable --partition=normal show.sh
sbatch --partition=normal show.sh
echo end
"""


def write_script(c, name, text):
    path = os.path.join(c.output, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def finished(c, job):
    """The output of JOB, which must complete."""
    c.wait_end(job)
    wait_for(f"output of job {job}", lambda: "end\n" in c.text(job))
    c.wait_state(job, "COMPLETED")
    return c.text(job)


def variables(text, where):
    return {line.split("=", 1)[0][len(where) + 1:]: line.split("=", 1)[1]
            for line in text.splitlines() if line.startswith(where + ".")}


def check_ours(c, job, text, library=OLD, ults="",
               where=("batch", "step")):
    for place in where:
        assert variables(text, place) == {
            "COSCHED_JOB": str(job), "COSCHED_ULTS": ults,
            "COSCHED_SOCKET": f"{c.root}/run/coschedd-n1.sock",
            "LD_AUDIT": f"{LIBGOMP_COOP}/coschedule-audit.so",
            "LD_LIBRARY_PATH": library}, (job, place, text)
    assert "error" not in text, text


def check_variants(c, show):
    """Batch script and steps, however the job was submitted."""
    for options, ults in ((["--coschedule"], ""), (["--coschedule="], ""),
                          (["--coschedule=equal,ults=3"], "3"),
                          (["--coschedule=ults=2", "--export=NONE"], "2"),
                          (["--coschedule", "--export=NIL"], ""),
                          (["--coschedule=ults=9", "--export=FOO=1"], "9")):
        job = c.sbatch(*options, show)
        check_ours(c, job, finished(c, job), ults=ults)
        assert f"job {job} announced" in c.log(), options
        wait_for(f"withdrawal of job {job}", lambda j=job:
                 f"job {j} ended:" in c.log())
    c.env["LD_LIBRARY_PATH"] = "/opt/x"
    job = c.sbatch("--coschedule", show)
    del c.env["LD_LIBRARY_PATH"]
    check_ours(c, job, finished(c, job), library=f"{OLD}:/opt/x")


def check_defaults(c):
    """Command line over environment over the site's defaults; a step of a
    job with --export=NONE knows them, too."""
    path = f"{c.root}/etc/plugstack.conf"
    with open(path, encoding="utf-8") as file:
        good = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(good.rstrip() + " defaults=ults=2,min_cores=1\n")
    show = write_script(c, "defaults.sh", "#!/bin/bash\n"
                        "echo batch.$SLURM_SPANK_COSCHEDULE\n"
                        "srun /bin/bash -c 'echo step.$COSCHED_ULTS'\n"
                        "echo end\n")
    c.env["COSCHED_POLICY"] = "equal"
    for options, all_, ults in (
            (["--coschedule"], "policy=equal,ults=2,min_cores=1", "2"),
            (["--coschedule=batch,ults=3", "--export=NONE"],
             "batch,ults=3,min_cores=1", "3")):
        text = finished(c, c.sbatch(*options, show))
        assert f"batch.{all_}\n" in text, text
        assert f"step.{ults}\n" in text, text
    del c.env["COSCHED_POLICY"]
    with open(path, "w", encoding="utf-8") as file:
        file.write(good)


def check_threads(c):
    """Scripts that make OMP_NUM_THREADS of --cpus-per-task, or 1 without it."""
    cpus = len(allowed_cpus())
    for options, step, threads in (
            ([], "", cpus), ([], "srun ", cpus), ([], "srun -n1 ", cpus),
            (["--cpus-per-task=1"], "", 1)):
        script = write_script(c, "threads.sh", f"""#!/bin/bash
export OMP_NUM_THREADS=${{SLURM_CPUS_PER_TASK:-1}}
{step}{c.program('ep')} --class S
echo end
""")
        job = c.sbatch("--coschedule", *options, script)
        text = finished(c, job)
        assert f"threads={threads} " in text, (options, step, text)


def check_summary(c, show):
    """The last line of a job's output, for those who ask for it."""
    c.env["COSCHED_REPORT"] = "1"
    job = c.sbatch("--coschedule", show)
    del c.env["COSCHED_REPORT"]
    text = finished(c, job)
    wait_for(f"summary of job {job}",
             lambda: f"coschedule: job {job}: " in c.text(job))
    text = c.text(job)
    assert text.count("coschedule: ") == 1, text
    # On a slow machine it runs for so long that it counts as held.
    for words in (", alone", f"; coschedreport {job} tells more"):
        assert words in text, text
    assert "cores on average" in text or "too short to be measured" in text, text


def check_interactive(c):
    """srun by itself, and a step of salloc."""
    show = SHOW % "step"
    for command in (["srun", "--coschedule", "bash", "-c", show],
                    ["salloc", "--coschedule", "srun", "bash", "-c", show]):
        done = c.run(*command)
        assert done.returncode == 0, (command, done.stderr)
        assert variables(done.stdout, "step")["LD_LIBRARY_PATH"] == \
            OLD, (command, done.stdout)
    # An allocation without a step has no task, but an epilog.
    assert c.run("salloc", "--coschedule", "true").returncode == 0


def check_node_name(c, show):
    """The agent's socket is not found by a variable of the user's."""
    c.env["SLURMD_NODENAME"] = "../evil"
    job = c.sbatch("--coschedule", show)
    del c.env["SLURMD_NODENAME"]
    check_ours(c, job, finished(c, job))


def check_nested(c, show):
    """A job inside a job inherits the option; one that does not is plain."""
    nest = write_script(c, "nest.sh", NESTED.format(output=c.output))
    outer = c.sbatch("--coschedule", nest)
    text = finished(c, outer)
    inner, plain = (int(line) for line in text.splitlines()
                    if line.isdigit())
    check_ours(c, inner, finished(c, inner))
    found = variables(finished(c, plain), "batch")
    assert not any(found.values()), found
    assert f"inside job {outer} it is inherited: unset {OPTION}" in text, text
    assert f"job {plain} " not in c.log()


def check_warning(c, show, *words):
    """One line of warning, and an ordinary shared job."""
    job = c.sbatch("--coschedule", show)
    text = finished(c, job)
    complaints = [line for line in text.splitlines() if "error" in line]
    assert len(complaints) == 1, text
    for word in ("cosched: ", *words):
        assert word in complaints[0], (word, complaints)
    return text


def check_node(c):
    """The node takes jobs: no error of ours has drained it."""
    wait_for("an idle node", lambda: c.call(
        "sinfo", "-hN", "-n", "n1", "-o", "%t").split()[0] == "idle")


def check_without_agent(c, show):
    c.agent("stop")
    text = check_warning(c, show, f"no agent at {c.root}/run/coschedd-n1.sock",
                         "without co-scheduling")
    assert not any(variables(text, "batch").values()), text
    done = c.run("srun", "--coschedule", "-n2", "--overcommit", "true")
    assert done.returncode == 0 and done.stderr.count("cosched: ") == 1, done
    c.agent("start")
    check_node(c)


def check_hung_agent(c, show):
    """An agent that does not answer delays nobody for long."""
    with open(f"{c.root}/run/coschedd-n1.pid", encoding="ascii") as file:
        pid = int(file.read())
    c.set_timeout(200)
    os.kill(pid, signal.SIGSTOP)
    try:
        check_warning(c, show, "did not answer within 200 ms",
                      "without co-scheduling")
    finally:
        os.kill(pid, signal.SIGCONT)
        c.set_timeout(5000)
    check_node(c)
    job = c.sbatch("--coschedule", show)
    check_ours(c, job, finished(c, job))


def check_without_libgomp(c, show):
    path = f"{c.root}/etc/plugstack.conf"
    with open(path, encoding="utf-8") as file:
        good = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(good.replace(f"libgomp={LIBGOMP_COOP}", "libgomp=/nowhere"))
    text = check_warning(c, show, "/nowhere/libgomp.so.1",
                         "cannot change their number of threads")
    assert variables(text, "step")["LD_LIBRARY_PATH"] == ""
    assert f"job {variables(text, 'step')['COSCHED_JOB']} announced" in c.log()
    with open(path, "w", encoding="utf-8") as file:
        file.write(good)


def main():
    need_cluster()
    if "LD_LIBRARY_PATH" in os.environ:
        skip("LD_LIBRARY_PATH is set")
    with Cluster() as c:
        for name in ("COSCHED_SOCKET", "COSCHED_ULTS"):
            c.env.pop(name, None)
        show = write_script(c, "show.sh", SCRIPT)
        check_variants(c, show)
        check_defaults(c)
        check_threads(c)
        check_summary(c, show)
        check_interactive(c)
        check_node_name(c, show)
        check_nested(c, show)
        check_without_agent(c, show)
        check_hung_agent(c, show)
        check_without_libgomp(c, show)


main()
