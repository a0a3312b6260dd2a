#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The agent dies at each stage of a job's life, hangs, or cannot listen: nobody
waits for it, and nothing is lost."""

import os
import shutil
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (Agent, BUILD, FAKE_JOB, GATE, Program, allowed_cpus, announce,
                   fake, need, skip, wait_for)

ALL = set(allowed_cpus())
NOBODY = 65534


def crash(agent):
    agent.kill()
    agent.start()


def check_stages(agent):
    """What the plugin and the job do, with a crash after each step."""
    assert announce(agent, 1)["ok"]
    crash(agent)
    # Known from the state: the task of a job that was announced before.
    with subprocess.Popen([*GATE, FAKE_JOB, agent.socket, "1"],
                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as job:
        try:
            assert agent.call({"op": "task", "job": 1, "step": 0,
                               "pid": job.pid})["ok"]
            crash(agent)
            job.stdin.write(b"go\n")
            job.stdin.flush()
            wait_for("attach", lambda: agent.attached(1))
            crash(agent)
            wait_for("attach again", lambda: agent.attached(1))
            # Announced anew by the next step: no news.
            assert announce(agent, 1)["ok"]
            assert agent.attached(1)
            # While it decides: two jobs that come and go.
            for number in (2, 3):
                with fake(agent, number) as other:
                    wait_for("share", lambda o=other: o.cpus() and
                             o.cpus() != ALL)
                    crash(agent)
                    wait_for("attach again", lambda: agent.attached(1))
                    wait_for("share again", lambda o=other: o.cpus() and
                             o.cpus() != ALL)
        finally:
            job.kill()
    # Ended while there was no agent, and withdrawn after the next crash.
    wait_for("end", lambda: not agent.job(1)["cpus"])
    crash(agent)
    for number in (1, 2, 3):
        assert agent.call({"op": "withdraw", "job": number})["ok"]
    assert agent.status()["jobs"] == []


def check_end_without_agent(agent):
    """A job ends while the agent is dead: its record is not lost."""
    with fake(agent, 4):
        wait_for("attach", lambda: agent.attached(4))
        agent.kill()
    agent.start()
    assert agent.job(4) is None
    assert "job 4 ended: cosched/1 state=final" in agent.log_text()


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


def check_hung(agent):
    """A stopped agent: its clients give up, and what they asked is not done
    later, as their users were told that there is no agent."""
    with fake(agent, 5) as job, fake(agent, 6):
        wait_for("share", lambda: job.cpus() and job.cpus() != ALL)
        os.kill(agent.process.pid, signal.SIGSTOP)
        wait_for("stop", lambda: state(agent.process.pid) == "T")
        try:
            run = subprocess.run(
                [os.path.join(BUILD, "coschedctl"), "--socket", agent.socket,
                 "run", "--job", "7", "--", "sh", "-c", "echo done"],
                capture_output=True, text=True, check=True, timeout=300,
                stdin=subprocess.DEVNULL)
            assert run.stdout == "done\n", run
            assert "did not answer within" in run.stderr, run
            assert state(agent.process.pid) == "T"
        finally:
            os.kill(agent.process.pid, signal.SIGCONT)
        wait_for("jobs", lambda: agent.attached(5) and agent.attached(6))
        assert agent.job(7) is None
        assert "job 7" not in agent.log_text()
    for number in (5, 6):
        assert agent.call({"op": "withdraw", "job": number})["ok"]


def check_lost_socket(agent):
    """Somebody removes the socket, then its directory."""
    os.unlink(agent.socket)
    wait_for("socket", agent.alive)
    agent.stop()
    folder = os.path.join(agent.directory, "run")
    there = agent.socket
    agent.socket = os.path.join(folder, "sock")
    agent.start() # makes the directory
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o755
    with fake(agent, 8) as job:
        wait_for("attach", lambda: agent.attached(8))
        shutil.rmtree(folder)
        wait_for("socket", agent.alive)
        # Who was connected did not notice.
        assert agent.attached(8) and "lost" not in job.text()
    assert agent.log_text().count("sock was gone: made anew") == 2
    agent.stop()
    assert not os.path.exists(agent.socket)
    agent.socket = there


def refused(agent, folder):
    """What the agent says of a socket in FOLDER."""
    run = subprocess.run(
        [os.path.join(BUILD, "coschedd"), "--foreground", "--no-slurm",
         "--auth", "peer", "--socket", os.path.join(folder, "sock"),
         "--state", os.path.join(agent.directory, "other.json")],
        capture_output=True, text=True, check=False, timeout=300,
        stdin=subprocess.DEVNULL)
    assert run.returncode == 1, run
    return run.stderr


def check_directory(agent):
    """No socket where others could put theirs."""
    folder = os.path.join(agent.directory, "open")
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    assert f"{folder}: others may write there" in refused(agent, folder)
    if os.geteuid() != 0:
        return
    os.chmod(folder, 0o755)
    os.chown(folder, NOBODY, NOBODY)
    assert f"{folder}: belongs to uid {NOBODY}" in refused(agent, folder)
    # And root tells nobody else of its jobs.
    path = os.path.join(folder, "sock")
    code = ("import os, socket, sys\n"
            f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "s.bind(sys.argv[1]); s.listen(); print('', flush=True)\n"
            "s.accept()[0].recv(1)\n")
    with subprocess.Popen([sys.executable, "-c", code, path],
                          stdout=subprocess.PIPE) as impostor:
        try:
            impostor.stdout.readline()
            run = subprocess.run(
                [os.path.join(BUILD, "coschedctl"), "--socket", path, "ping"],
                capture_output=True, text=True, check=False, timeout=300)
            assert run.returncode != 0, run
            assert f"belongs to uid {NOBODY}, not to root" in run.stderr, run
        finally:
            impostor.kill()


def main():
    need("coschedd", "coschedctl", "tests/node_agent/daemon/fake_job")
    if len(ALL) < 2:
        skip("one CPU cannot be shared in space")
    with Agent("--set", "attach_timeout=60s") as agent:
        check_stages(agent)
        check_end_without_agent(agent)
        check_hung(agent)
        check_lost_socket(agent)
        check_directory(agent)


main()
