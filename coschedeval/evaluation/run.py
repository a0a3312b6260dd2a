# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""One run of a mix: processes begin together, and each one's end is measured."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from evaluation import EvaluationError, load, weights

SAMPLE_S = 0.2      # between looks at who computes
FOREIGN = 0.04      # share of the CPUs' time that others may have in a run that counts
PATIENCE_S = 10     # for the agent to begin and to end
NUMA_SAMPLES = (2, 10)      # at which to look where memory lies, which takes time
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """From now on what jobs leave behind becomes our child, so that end_orphans() finds it."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        pass
    return found


def end_orphans():
    """End all children, and what they leave, but those of other users."""
    foreign = set()
    while True:
        found = set(_children(os.getpid())) - foreign
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
            except PermissionError:
                foreign.add(pid)


class Process:
    """COMMAND from now on; a thread waits for its end, so that the time is exact."""

    def __init__(self, job, command, env, cpus, log, group=None):
        def prepare():      # in the child
            os.setsid()
            os.sched_setaffinity(0, cpus)
            if group:
                with open(group + "/cgroup.procs", "w", encoding="ascii") as file:
                    file.write("0")

        self.job, self.log = job, log
        self.start = self.end = time.monotonic()
        self.status, self.cpu_s, self.nodes = None, 0.0, {}
        self.samples = []   # (seconds since the start, CPU seconds so far)
        self.lock = threading.Lock()
        with open(log, "wb") as output:
            try:
                self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL,
                                                stdout=output, stderr=subprocess.STDOUT,
                                                preexec_fn=prepare)
            except (OSError, subprocess.SubprocessError) as error:
                raise EvaluationError(f"{command[0]}: "
                                      f"{getattr(error, 'strerror', error)}") from error
        self.pid = self.process.pid
        self.waiter = threading.Thread(target=self._wait)
        self.waiter.start()

    def _wait(self):
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self.end = time.monotonic()
        with self.lock:     # from here on its number may be another's
            _, status, usage = os.wait4(self.pid, 0)
            self.status = os.WEXITSTATUS(status) if os.WIFEXITED(status) \
                else -os.WTERMSIG(status)
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.process.returncode = self.status   # Popen must not wait for it again

    def pids(self):
        """The process and its descendants."""
        found = [self.pid]
        for pid in found:
            found += _children(pid)
        return found

    def sample(self):
        if self.status is None:
            pids = self.pids()
            self.samples.append((time.monotonic() - self.start,
                                 sum(load.process_seconds(pid) for pid in pids)))
            return pids
        return []

    def kill(self):
        with self.lock:
            for pid in self.pids() if self.status is None else ():
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass

    def last_words(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
        return " / ".join([line.strip() for line in lines if line.strip()][-3:])


class Agent:
    """An agent of our own, without Slurm and without privileges."""

    def __init__(self, tools, policy, cpus, directory, record=None):
        self.tools, self.socket = tools, os.path.join(directory, "socket")
        self.cpus = ",".join(map(str, sorted(cpus)))
        self.log = os.path.join(directory, "agent.log")
        command = [tools.coschedd, "--foreground", "--no-slurm", "--auth=peer",
                   "--socket", self.socket, "--state", os.path.join(directory, "state.json"),
                   "--set", "policy=" + policy, "--cpus", self.cpus]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)
        end = time.monotonic() + PATIENCE_S
        while self.call("ping").returncode:
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                with open(self.log, encoding="utf-8", errors="replace") as log:
                    said = log.read().strip().split("\n")[-1]
                raise EvaluationError(f"the agent does not start: {said}")
            time.sleep(0.02)
        if record:
            done = self.call("record", record)
            if done.returncode:
                self.stop()
                raise EvaluationError(f"--record: {done.stderr.decode().strip()}")

    def call(self, *arguments):
        return subprocess.run([self.tools.coschedctl, "--socket", self.socket] + list(arguments),
                              stdin=subprocess.DEVNULL, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)

    def command(self, number, command):
        """COMMAND as co-scheduled job NUMBER."""
        return [self.tools.coschedctl, "--socket", self.socket, "run", "--job", str(number),
                "--libgomp", self.tools.libgomp, "--cpus", self.cpus, "--"] + command

    def cpu_s(self):
        watched = Process.pids(self.process)
        return sum(load.process_seconds(pid) for pid in watched)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


def counters(tools):
    """What an agent measures with here, in words; with "progress" only what programs report."""
    done = subprocess.run([tools.coschedctl, "counters", "--json"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    try:
        name = json.loads(done.stdout.decode())["auto"]
    except (ValueError, KeyError):
        name = "unknown"
    return "reported progress only, no hardware counters" if name == "progress" else name


class Run:
    """What a mix took in one mode.  Times in seconds since the start of the first job."""

    def __init__(self, mix, mode):
        self.mix, self.mode = mix, mode
        self.turnaround = []        # of each job
        self.cpu_s, self.agent_s = [], 0.0
        self.samples = []
        self.problem = None         # why it does not count: a job failed, or took too long
        self.others = {}            # load.Watch.end()
        self.nodes = {}
        self.recording = None       # its directory

    @property
    def makespan(self):
        return max(self.turnaround)

    @property
    def mean_turnaround(self):
        return sum(self.turnaround) / len(self.turnaround)

    @property
    def disturbed(self):
        return self.others.get("foreign", 0) + self.others.get("stolen", 0) > FOREIGN

    def record(self):
        return {"mode": self.mode.name, "makespan_s": self.makespan if self.turnaround else None,
                "turnaround_s": self.turnaround, "cpu_s": self.cpu_s, "agent_cpu_s": self.agent_s,
                "disturbed": self.disturbed, "problem": self.problem, "pages_by_node": self.nodes,
                **{name + "_share": value for name, value in self.others.items()}}


def _wait_for(processes, limit, on_sample):
    """Until all have ended or LIMIT seconds are over; true in time."""
    end = time.monotonic() + limit
    while True:
        alive = [p for p in processes if p.status is None]
        if not alive:
            return True
        if time.monotonic() > end:
            for process in alive:
                process.kill()
            return False
        for process in alive:
            on_sample(process, process.sample())
        alive[0].waiter.join(SAMPLE_S)


def _fill(run, processes, in_time, limit):
    start = processes[0].start
    for process in processes:
        process.waiter.join()
        run.turnaround.append(process.end - start)
        run.cpu_s.append(process.cpu_s)
        run.samples.append([(when + process.start - start, used)
                            for when, used in process.samples] +
                           [(process.end - start, process.cpu_s)])
        if process.status:
            why = f"still ran after {limit:g} s" if not in_time and process.status == -9 else \
                f"exit status {process.status}: {process.last_words()}"
            run.problem = (run.problem + "; " if run.problem else "") + \
                f"{process.job.name}: {why}"


def _one_after_the_other(run, start, limit, on_sample):
    begin = time.monotonic()
    for number in range(len(run.mix.jobs)):
        process = start(number)
        in_time = _wait_for([process], limit, on_sample)
        one = Run(run.mix, run.mode)
        _fill(one, [process], in_time, limit)
        shift = process.start - begin
        run.turnaround.append(process.end - begin)
        run.cpu_s += one.cpu_s
        run.samples.append([(when + shift, used) for when, used in one.samples[0]])
        run.problem = run.problem or one.problem


def measure(mix, mode, cpus, tools, env, limit, record=None):
    """Run MIX once in MODE on CPUS (a set); jobs get ENV.  Cleans up whatever happens."""
    run, processes = Run(mix, mode), []
    directory = tempfile.mkdtemp(prefix="coschedeval.")
    agent = groups = None
    parts = mode.parts(len(mix.jobs), cpus)

    def start(number):
        job = mix.jobs[number]
        command = agent.command(number + 1, job.command) if agent else job.command
        processes.append(Process(job, command, {**env, **mode.env}, parts[number],
                                 os.path.join(directory, f"job{number}.log"),
                                 groups.paths[number] if groups else None))
        return processes[-1]

    def on_sample(process, pids):
        if load.numa_nodes() > 1 and len(process.samples) in NUMA_SAMPLES:
            run.nodes[process.job.name] = load.memory_by_node(pids)

    try:
        if mode.policy:
            agent = Agent(tools, mode.policy, cpus, directory, record)
        if mode.groups:
            groups = weights.Groups(mode.groups, len(mix.jobs))
        watch, before = load.Watch(cpus), agent.cpu_s() if agent else 0.0
        if mode.in_turn:
            _one_after_the_other(run, start, limit, on_sample)
        else:
            started = [start(number) for number in range(len(mix.jobs))]
            in_time = _wait_for(started, limit, on_sample)
            _fill(run, started, in_time, limit)
        if agent:
            run.agent_s = agent.cpu_s() - before
        run.others = watch.end(sum(run.cpu_s) + run.agent_s)
    finally:
        for process in processes:
            process.kill()
            process.waiter.join()
        if agent:
            agent.stop()
        end_orphans()
        if groups:
            groups.close()
        shutil.rmtree(directory, ignore_errors=True)
    return run
