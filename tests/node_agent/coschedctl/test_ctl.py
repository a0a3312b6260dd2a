#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedctl against an agent of the test's own that says what it is told."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakeagent import FakeAgent

BUILD = os.environ["abs_top_builddir"]
COSCHEDCTL = os.path.join(BUILD, "coschedctl")
LIBGOMP_COOP = os.path.join(BUILD, "libgomp-coop", "lib-coop")

JOB = {"job": 12, "uid": os.getuid(), "name": "ep", "state": "malleable",
       "cpus": "0", "granted": "0-1", "cores": 1, "mean_cores": 1.4,
       "live_s": 3.5, "attached": 1, "decisions": 3,
       "region": {"region": "a1b2c3d4e5f60708+1234", "state": "known",
                   "rho": 0.5}}
STATUS = {"node": "n1", "policy": "nupoco", "counters": "progress",
          "cpus": "0-1", "omitted": 0, "jobs": [JOB]}


def ctl(agent, *arguments, status=0, stderr="", **options):
    """Run coschedctl; its output.  STDERR: what standard error must have."""
    environment = {**os.environ, **options.pop("env", {})}
    environment.pop("LD_LIBRARY_PATH", None)
    path = agent if isinstance(agent, str) else agent.path
    done = subprocess.run([COSCHEDCTL, "--socket", path, *arguments],
                          stdout=options.pop("stdout", subprocess.PIPE),
                          stderr=subprocess.PIPE, text=True, env=environment,
                          timeout=300, check=False, **options)
    where = f"{arguments}: {done.stdout!r} {done.stderr!r}"
    assert done.returncode == status, f"status {done.returncode}: {where}"
    if stderr:
        assert stderr in done.stderr, where
        for line in done.stderr.splitlines():
            assert line.startswith("coschedctl: "), where
    else:
        assert done.stderr == "", where
    return done.stdout


def check_command_line(agent):
    for arguments, stderr in [
            (["--bogus", "status"], "coschedctl: --bogus: unknown option"),
            (["--json", "status"], "--json: stands behind the command"),
            (["-x"], "-x: unknown option"),
            (["dance"], "dance: unknown command"),
            (["status", "--bogus"], "status: --bogus: unknown option"),
            (["status", "-x"], "status: -x: unknown option"),
            (["status", "--json=1"], "status: --json: takes no value"),
            (["status", "--version"], "status: --version: not for this command"),
            (["status", "--socket"], "status: --socket: needs a value"),
            (["status", "--output", "x"], "status: --output: not for this command"),
            (["trace", "--json"], "trace: --json: not for this command"),
            (["status", "x"], "x: not a job id"),
            (["status", "0"], "0: not a job id"),
            (["status", "1x"], "1x: not a job id"),
            (["status", ""], ": not a job id"),
            (["status", "4294967296"], "4294967296: not a job id"),
            (["status", "1", "2"], "status: 2: one argument too many"),
            (["ping", "1"], "ping: 1: one argument too many"),
            (["run"], "run: no program given"),
            (["run", "--cpus"], "run: --cpus: needs a value"),
            (["run", "--cpus", "3-1", "true"], "run: --cpus 3-1: not a CPU"),
            (["run", "--job", "0", "true"], "run: --job 0: not a job id"),
            (["run", "--options", "bogus", "true"], "run: --options bogus: "),
            (["run", "--options", "x" * 600, "true"], "run: --options "),
            (["run", "--bogus", "true"], "run: --bogus: unknown option")]:
        assert ctl(agent, *arguments, status=2, stderr=stderr) == ""
    assert "usage: " in subprocess.run([COSCHEDCTL], capture_output=True,
                                       text=True, check=False).stderr
    assert agent.asked == [], "asked before the command line was understood"
    long = "/" + "x" * 200
    ctl(long, "ping", status=3, stderr="socket path too long")
    ctl("/nowhere/sock", "status", status=3,
        stderr="no agent at /nowhere/sock: No such file")


def check_bad_replies(agent):
    for reply, status, stderr in [
            ((2, "job 99: not known to this agent"), 1,
             "status: job 99: not known to this agent"),
            ((1, "no\n\x1b[2Jway"), 1, "status: no??[2Jway"),
            ((0, "odd"), 1, "status: odd"),
            (b"garbage", 1, "status: the agent's reply is not JSON"),
            (b"[]", 1, "status: the agent's reply is not JSON"),
            (b"{}", 1, "status: refused without a reason"),
            (b'{"v":1,"ok":1}', 1, "status: refused without a reason"),
            (b'{"v":1,"ok":true,"ok":true}', 1, "not JSON"),
            (None, 3, "status: the agent hung up")]:
        agent.replies["status"] = reply
        assert ctl(agent, "status", "99", status=status, stderr=stderr) == ""
    assert agent.asked[-1] == {"v": 1, "op": "status", "job": 99}
    # Strange shapes are shown as far as they go.
    for reply in ({}, {"jobs": 1}, {"jobs": [1, None, {}]},
                  {"node": 1, "jobs": [{"job": "x", "region": []}]}):
        agent.replies["status"] = reply
        ctl(agent, "status")
        agent.replies["explain"] = {"decisions": reply.get("jobs")}
        ctl(agent, "explain")


def check_status(agent):
    agent.replies["status"] = STATUS
    assert json.loads(ctl(agent, "status", "--json")) == STATUS
    head, columns, job = ctl(agent, "status").splitlines()
    assert head == "node n1, CPUs 0-1, policy nupoco, counters progress", head
    assert columns.split() == ["JOB", "NAME", "USER", "STATE", "CORES", "MEAN",
                               "ATTACHED", "CPUS", "REGION"], columns
    fields = job.split(None, 8)
    assert fields[:2] + fields[3:] == [
        "12", "ep", "malleable", "1", "1.40", "1", "0",
        "a1b2c3d4e5f60708+1234 known, rho 0.50"], job
    agent.replies["status"] = {**STATUS, "jobs": [{**JOB, "near": 0.75}]}
    assert ctl(agent, "status").endswith("rho 0.50, 75 % of its pages near\n")
    # What a job calls itself does not reach the terminal as it is.
    agent.replies["status"] = {**STATUS, "omitted": 7, "jobs": [
        {**JOB, "name": "a\x1b[31m\nb", "cpus": "", "region": None}]}
    lines = ctl(agent, "status", "12").splitlines()
    assert "a?[31m?b" in lines[2] and lines[2].split()[-2:] == ["-", "-"], lines
    assert lines[3] == "and 7 more; name a job", lines
    agent.replies["status"] = {**STATUS, "jobs": []}
    ctl(agent, "status", "5", status=1, stderr="5: no such job on this node")
    with open("/dev/full", "w", encoding="ascii") as full:
        ctl(agent, "status", status=1, stderr="standard output: No space",
            stdout=full)


def check_others(agent):
    decision = {"time": 1e9 + 0.25, "trigger": "job 13 ended",
                "policy": "nupoco", "text": "job 12 gets both cores",
                "shares": [{"job": 12, "cores": 2}]}
    agent.replies["explain"] = {"node": "n1", "decisions": [decision]}
    assert ctl(agent, "explain", env={"TZ": "UTC"}) == \
        "01:46:40.250  job 13 ended: job 12 gets both cores\n"
    rounds = [{"thread": 17, "node": 2, "candidates": [
        {"thread": 17, "node": 2, "cost": 300.0}, {"thread": 12, "node": 0, "cost": 420.5}]}]
    agent.replies["explain"] = {"node": "n1", "decisions": [{**decision, "rounds": rounds}]}
    assert ctl(agent, "explain", env={"TZ": "UTC"}).splitlines()[1:] == \
        ["              thread 17 to NUMA node 2: of 17 at 2 (300), 12 at 0 (420.5)"]
    agent.replies["explain"] = {"node": "n1", "decisions": [decision]}
    assert json.loads(ctl(agent, "explain", "12", "--json"))["decisions"] == \
        [decision]
    assert agent.asked[-1] == {"v": 1, "op": "explain", "job": 12}
    agent.replies["status"] = STATUS
    head, _, job, reason = ctl(agent, "top", "12",
                               env={"TZ": "UTC"}).splitlines()
    assert head.startswith("node n1, ") and job.split()[0] == "12", (head, job)
    assert reason == "01:46:40.250  job 13 ended: job 12 gets both cores"
    agent.replies["explain"] = (1, "odd")
    ctl(agent, "top", status=1, stderr="explain: odd")
    agent.replies["config"] = {
        "policy": "equal", "partitions": "a,b", "problems": "cosched_x: unknown",
        "options": [{"name": "policy", "value": "equal",
                     "from": "slurm.conf, partition b"},
                    {"name": "fairness", "value": "", "from": "default"}]}
    assert [line.split(None, 2) for line in
            ctl(agent, "config").splitlines()] == \
        [["OPTION", "VALUE", "FROM"],
         ["cosched_policy", "equal", "slurm.conf, partition b"],
         ["cosched_fairness", "-", "default"], ["partitions:", "a,b"],
         ["without", "effect:", "cosched_x: unknown"]]
    assert json.loads(ctl(agent, "config", "--json")) == \
        agent.replies["config"]
    agent.replies["ping"] = {"version": "1", "pid": 7, "node": "n1"}
    assert json.loads(ctl(agent, "ping", "--json")) == agent.replies["ping"]


def check_trace(agent):
    text = json.dumps({"traceEvents": ["x" * 200000]})
    target = os.path.join(agent.directory.name, "trace.json")
    ctl(agent, "trace", status=1, stderr="trace: the agent sent none")
    with tempfile.TemporaryFile("w+") as page:
        page.write(text)
        page.flush()
        # One descriptor more than expected is closed, not misunderstood.
        agent.descriptors = [page.fileno(), page.fileno()]
        assert ctl(agent, "trace") == text
        assert ctl(agent, "trace", "12", "-o", target) == ""
        assert {"v": 1, "op": "trace", "job": 12} in agent.asked[-2:]
        with open(target, encoding="ascii") as written:
            assert written.read() == text
        ctl(agent, "trace", "--output", "/nowhere/x", status=1,
            stderr="/nowhere/x: No such file")
        ctl(agent, "trace", "-o", "/dev/full", status=1,
            stderr="/dev/full: No space")
    agent.descriptors = []


def check_run(agent):
    show = ("import os; print(os.getpid(), os.environ['COSCHED_SOCKET'], "
            "os.environ['COSCHED_JOB'], os.environ.get('LD_AUDIT'), "
            "os.environ.get('LD_LIBRARY_PATH'))")
    agent.asked.clear()
    run = ["run", "--job", "7", "--cpus", "0-1", "--options", "greedy,ults=2"]
    with tempfile.TemporaryDirectory() as library:
        for name in ("libgomp.so.1", "coschedule-audit.so"):
            out = ctl(agent, *run, "--libgomp", library, "--", sys.executable,
                      "-c", show, stderr=f"{library}/{name}: No such").split()
            assert out[1:] == [agent.path, "7", "None", "None"], out
            with open(f"{library}/{name}", "wb"):
                pass
    agent.asked.clear()
    run[-1] += ",libgomp=stock"
    out = ctl(agent, *run, "--libgomp", library, "--", sys.executable, "-c",
              show).split()
    assert out[1:] == [agent.path, "7", "None", "None"], out
    announce, task, withdraw = agent.asked
    assert announce == {
        "v": 1, "op": "announce", "job": 7, "uid": os.getuid(),
        "name": os.path.basename(sys.executable), "cores": "0-1",
        "memory_mb": 0, "options": "greedy,ults=2,libgomp=stock", "restarts": 0}, announce
    assert task == {"v": 1, "op": "task", "job": 7, "step": 0,
                    "pid": int(out[0])}, task
    assert withdraw == {"v": 1, "op": "withdraw", "job": 7}, withdraw

    if os.path.exists(f"{LIBGOMP_COOP}/coschedule-audit.so"):
        run[-1] = "equal"
        out = ctl(agent, *run, "--libgomp", LIBGOMP_COOP, "--", sys.executable,
                  "-c", show).split()
        assert out[1:] == [agent.path, "7",
                           f"{LIBGOMP_COOP}/coschedule-audit.so",
                           f"{LIBGOMP_COOP}/before-2.35"], out

    # The program's status is ours, and the job is withdrawn in any case.
    for program, status, stderr in [
            (["sh", "-c", "exit 5"], 5, ""),
            (["sh", "-c", "kill -9 $$"], 128 + 9, ""),
            (["/nowhere/x"], 127, "run: /nowhere/x: No such file"),
            (["/"], 126, "run: /: Permission denied")]:
        ctl(agent, "run", "--options", "libgomp=stock", "--", *program,
            status=status, stderr=stderr)
        assert agent.ops()[-3:] == ["announce", "task", "withdraw"]


def check_run_memory(agent):
    """Where the program's memory shall lie, as the agent says."""
    show = ["run", "--options", "libgomp=stock", "--", "sh", "-c", "echo ${COSCHED_MEMORY-none}"]
    for reply, word in ({"interleave": True}, "interleave"), ({"interleave": False}, "none"):
        agent.replies["announce"] = reply
        assert ctl(agent, *show) == word + "\n", reply
    agent.replies["announce"] = {}


def check_run_refused(agent):
    plain = ["run", "--", "sh", "-c", "echo ${COSCHED_JOB-none}"]
    agent.asked.clear()
    agent.replies["announce"] = (22, "cores \"9\": none of them is on this node")
    out = ctl(agent, *plain, stderr="none of them is on this node; the program "
              "runs without co-scheduling")
    assert out == "none\n" and agent.ops() == ["announce"], out
    assert ctl("/nowhere/sock", *plain, stderr="no agent at") == "none\n"
    agent.replies["announce"] = {}
    agent.replies["task"] = (3, "pid 1: No such process")
    ctl(agent, "run", "true", stderr="run: task: pid 1: No such process")
    assert agent.ops()[-1] == "withdraw"
    del agent.replies["task"]


def check_run_ended(agent):
    """SIGTERM ends the program first, and the job is withdrawn."""
    running = threading.Event()
    agent.asked.clear()
    agent.replies["attach"] = lambda request: (running.set(), {})[1]
    program = ("import json, socket, sys, time; "
               "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); "
               "s.connect(sys.argv[1]); "
               "s.send(json.dumps({'v': 1, 'op': 'attach'}).encode()); "
               "s.recv(100); s.close(); time.sleep(600)")
    with subprocess.Popen([COSCHEDCTL, "--socket", agent.path, "run", "--",
                           sys.executable, "-c", program, agent.path]) as run:
        try:
            assert running.wait(90), "the program did not start"
            run.send_signal(signal.SIGTERM)
            assert run.wait(90) == 128 + signal.SIGTERM
        finally:
            run.kill()
    assert agent.ops() == ["announce", "task", "attach", "withdraw"]


def check_slurm(agent):
    """--job becomes a step of the job; jobs are what squeue says, whatever they are called."""
    folder = agent.directory.name
    for name, body in (("srun", 'printf "%s\\n" "$@"'), ("squeue", f"cat {folder}/queue")):
        with open(f"{folder}/{name}", "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{body}\n")
        os.chmod(f"{folder}/{name}", 0o755)
    path = {"PATH": f"{folder}:{os.environ['PATH']}"}
    step = ["--jobid=12", "--overlap", "--mem=0", "--nodes=1", "--ntasks=1", "--quiet",
            "--input=none"]
    for words, more in ((["status", "--json"], ["status", "--json", "12"]),
                        (["explain", "5"], ["explain", "5"]), (["top"], ["top"]),
                        (["why"], ["why", "12"]), (["ping"], ["ping"]),
                        (["trace", "-o", f"{folder}/steps"], ["trace", "12"])):
        said = ctl(agent, "--job", "12", *words, env=path)
        if "-o" in words:
            with open(f"{folder}/steps", encoding="ascii") as file:
                said = file.read()
        assert said.splitlines() == [*step, os.path.realpath(COSCHEDCTL), "--socket", agent.path,
                                     *more], said
    ctl(agent, "drain", "--job", "3", status=2, stderr="drain: --job: not for this command")
    ctl(agent, "ping", "--node", "x", status=2, stderr="ping: --node: needs --job")
    ctl(agent, "--job", "12", "ping", status=1, stderr="--job: srun: ", env={"PATH": "/nowhere"})
    record = "cosched/1 state=running policy=corun mean_cores=1.43 partners=17,18 class=mixed"
    with open(f"{folder}/queue", "w", encoding="latin-1") as file:
        for comment, name in ((record, "a b\x1b[31m"), ("other", "x"), ("", "y")):
            file.write(f"{'7':12}{'RUNNING':14}{'1:00':14}{'n1':40}{'me':24}"
                       f"{comment:1001}{name:64}\n")
        file.write("cut\n")
    entry, = json.loads(ctl(agent, "jobs", "--json", env=path))["jobs"]
    assert (entry["job"], entry["name"], entry["class"], entry["policy"], entry["runs"]) == \
        ("7", "a b?[31m", "mixed", "corun", None), entry
    title, line = ctl(agent, "jobs", env=path).splitlines()
    assert title.split()[-2:] == ["CLASS", "POLICY"] and line.split()[-2:] == ["mixed", "corun"]
    ctl(agent, "jobs", status=1, stderr="jobs: squeue: not found", env={"PATH": "/nowhere"})


def main():
    with FakeAgent() as agent:
        check_slurm(agent)
        check_command_line(agent)
        check_bad_replies(agent)
        check_status(agent)
        check_others(agent)
        check_trace(agent)
        check_run(agent)
        check_run_memory(agent)
        check_run_refused(agent)
        check_run_ended(agent)


main()
