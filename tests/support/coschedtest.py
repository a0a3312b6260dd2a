# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What tests of the running system share: a private agent, jobs, sampling.

Everything a test starts is ended by the object that started it (use `with`);
nothing else is touched.  Paths come from the environment that make sets:
abs_top_builddir and abs_top_srcdir.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = os.environ.get("abs_top_builddir", os.getcwd())
SOURCE = os.environ.get("abs_top_srcdir", os.getcwd())
LIBGOMP_COOP = os.path.join(BUILD, "libgomp-coop", "lib-coop")
LIBGOMP_STOCK = os.path.join(BUILD, "libgomp-coop", "lib-stock")
# All limits of time are longer by this factor, on emulated machines.
PATIENCE = float(os.environ.get("COSCHED_TEST_PATIENCE", "1"))


def tell_failure(kind, error, trace):
    """A line for each call and the error: ./check shows the end of a log only."""
    if error.__context__ and not error.__suppress_context__:
        tell_failure(type(error.__context__), error.__context__,
                     error.__context__.__traceback__)
        print("---- and then ----", file=sys.stderr)
    sys.stdout.flush()
    for frame in traceback.extract_tb(trace):
        print(f"{os.path.basename(frame.filename)}:{frame.lineno}: "
              f"{frame.name}: {frame.line}", file=sys.stderr)
    print(f"{kind.__name__}: {error}", file=sys.stderr)


sys.excepthook = tell_failure


def skip(reason):
    """End the test program as skipped (automake's exit status 77)."""
    print(f"SKIP: {reason}")
    sys.exit(77)


def need(*paths):
    """Skip unless all of PATHS below the build tree exist."""
    for path in paths:
        if not os.path.exists(os.path.join(BUILD, path)):
            skip(f"{path} was not built")


def wait_for(what, condition, seconds=60.0, every=0.005):
    """Wait until CONDITION() is true and return its value; fail after SECONDS.
    That is for a machine that is busy with other things and stands still at
    times, so it is long, and the last look comes after it."""
    seconds *= PATIENCE
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() > end
        value = condition()
        if value:
            return value
        if late:
            raise AssertionError(f"no {what} after {seconds:g} s (load "
                                 f"{os.getloadavg()[0]:.1f})")
        time.sleep(every)


def cpu_list(text):
    """The set of CPUs in the kernel's list format: "0-2,5" -> {0, 1, 2, 5}."""
    cpus = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def allowed_cpus():
    return sorted(os.sched_getaffinity(0))


class Agent:
    """A coschedd of the test's own: private directory, socket and state."""

    def __init__(self, *arguments, cpus=None):
        self.directory = tempfile.mkdtemp(prefix="cosched-test.")
        os.chmod(self.directory, 0o755)
        self.socket = os.path.join(self.directory, "sock")
        self.log = os.path.join(self.directory, "log")
        self.arguments = list(arguments)
        if cpus is not None:
            self.arguments += ["--cpus", cpus]
        self.prefix = []      # of the command: what it runs under
        self.environment = {} # of its own
        self.process = None

    def start(self):
        log = open(self.log, "ab")
        self.process = subprocess.Popen(
            [*self.prefix, os.path.join(BUILD, "coschedd"), "--foreground", "--no-slurm",
             "--auth", "peer", "--socket", self.socket,
             "--state", os.path.join(self.directory, "state.json"),
             "--log-level", "info", *self.arguments],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, **self.environment})
        log.close()
        wait_for("agent", self.alive)
        return self

    def alive(self):
        if self.process.poll() is not None:
            raise AssertionError("coschedd ended: " + self.log_text()[-2000:])
        try:
            return self.call({"op": "ping"})["ok"]
        except OSError:
            return False

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def call(self, request):
        """Send one request and return the decoded reply."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
            sock.settimeout(60 * PATIENCE)
            sock.connect(self.socket)
            sock.send(json.dumps({"v": 1, **request}).encode())
            text, fds, _, _ = socket.recv_fds(sock, 1 << 17, 4)
            for fd in fds:
                os.close(fd)
            return json.loads(text)

    def trace(self):
        """What `coschedctl trace` writes."""
        return json.loads(subprocess.run(
            [os.path.join(BUILD, "coschedctl"), "--socket", self.socket, "trace"],
            check=True, stdout=subprocess.PIPE).stdout)

    def status(self):
        reply = self.call({"op": "status"})
        assert reply["ok"], reply
        return reply

    def job(self, number):
        """The status entry of job NUMBER, or None."""
        for job in self.status()["jobs"]:
            if job["job"] == number:
                return job
        return None

    def attached(self, number):
        job = self.job(number)
        return job is not None and job["attached"] > 0

    def kill(self):
        """End the agent as a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60 * PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self.start()

    def __exit__(self, *exception):
        self.stop()
        if exception[0] is not None:
            print("---- log of coschedd ----", self.log_text()[-6000:], sep="\n")
        shutil.rmtree(self.directory, ignore_errors=True)


class Job:
    """A program run as co-scheduled job NUMBER by `coschedctl run`."""

    def __init__(self, agent, number, program, cpus=None, env=None,
                 options=None):
        self.number = number
        self.output = tempfile.TemporaryFile()
        command = [os.path.join(BUILD, "coschedctl"),
                   "--socket", agent.socket, "run", "--job", str(number),
                   "--libgomp", LIBGOMP_COOP,
                   "--cpus", cpus or ",".join(map(str, allowed_cpus()))]
        if options:
            command += ["--options", options]
        self.process = subprocess.Popen(
            command + ["--", *program], stdin=subprocess.DEVNULL,
            stdout=self.output, stderr=subprocess.STDOUT,
            start_new_session=True, env={**os.environ, **(env or {})})

    def programs(self):
        """Pids of the job's processes below coschedctl."""
        found, parents = [], {self.process.pid}
        listing = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii",
                          errors="replace") as stat:
                    fields = stat.read().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] not in "ZX":
                listing.append((int(pid), int(fields[1])))
        for pid, parent in sorted(listing):
            if parent in parents:
                parents.add(pid)
                found.append(pid)
        return found

    def wait(self, seconds=120):
        self.process.wait(seconds)
        return self.process.returncode

    def text(self):
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def kill(self, number=signal.SIGKILL):
        """Kill the job's programs, as scancel would."""
        for pid in self.programs():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGCONT)
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
        if exception[0] is not None:
            print(f"---- output of job {self.number} ----", self.text(),
                  sep="\n")
        self.output.close()


def threads(pid):
    """[(tid, state, cpu)] of the threads of PID; [] when it has ended."""
    result = []
    try:
        tids = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return result
    for tid in tids:
        try:
            with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii",
                      errors="replace") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue
        result.append((int(tid), fields[0], int(fields[36])))
    return result
