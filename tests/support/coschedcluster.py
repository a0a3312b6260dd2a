# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A throw-away Slurm cluster of the test's own (slurm_conf/testcluster/cluster)."""

import fcntl
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from coschedtest import BUILD, LIBGOMP_COOP, SOURCE, need, skip, wait_for

SCRIPT = os.path.join(SOURCE, "slurm_conf", "testcluster", "cluster")
# An ordinary user, for run().
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}
PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "munged", "mariadbd", "sbatch")


def need_cluster():
    """Skip where no cluster can run."""
    if os.geteuid() != 0:
        skip("must be root to run jobs of several users")
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    for program in PROGRAMS:
        if not shutil.which(program, path=path):
            skip(f"{program} is not installed")
    need("coschedd", "coschedctl", "coschedd-slurm", ".libs/spank_cosched.so",
         "jobs/ep", "jobs/cg", "libgomp-coop/lib-coop/libgomp.so.1")


def lines_of(path):
    """The lines of the file at PATH, none if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def database():
    """An empty accounting database, made once in the build tree for all tests: else
    that is the slowest step of a start."""
    path = os.path.join(BUILD, "tests", "cluster", "database")
    with open(path + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            # Short: paths of Unix sockets are.
            with tempfile.TemporaryDirectory(prefix="cs.", dir="/tmp") as folder:
                subprocess.run([SCRIPT, "database", folder], check=True,
                               stdin=subprocess.DEVNULL)
                shutil.copytree(f"{folder}/db", path + ".new", dirs_exist_ok=True)
            os.rename(path + ".new", path)
    return path


class Cluster:
    """Started on entry, stopped and removed on exit, also after a failure."""

    def __init__(self, nodes=1, cgroup=False, parent="/tmp", plain=False):
        """PLAIN: without us."""
        self.nodes, self.parent, self.plain = nodes, parent, plain
        self.more = [] if plain else ["--build", BUILD]
        self.more += ["--cgroup"] if cgroup else []

    def __enter__(self):
        # Short: paths of Unix sockets are.
        self.directory = tempfile.mkdtemp(prefix="cs.", dir=self.parent)
        os.chmod(self.directory, 0o755)
        self.root = os.path.join(self.directory, "c")
        # Noon: reports of today must not begin while the test runs.
        self.env = {**os.environ, "COSCHED_JOBS_DIR": f"{BUILD}/jobs",
                    "TZ": f"NOON{time.gmtime().tm_hour - 12:+d}"}
        self.env.pop("COSCHED_SOCKET", None)
        try:
            self.call(SCRIPT, "start", self.root, "--nodes", str(self.nodes),
                      "--database", database(), *self.more)
        except Exception:
            self.__exit__(True)
            raise
        lines = self.call("bash", "-c", f". {self.root}/env.sh && env -0")
        self.env.update(entry.split("=", 1) for entry in lines.split("\0")
                        if "=" in entry)
        # A busy machine stands still for longer than an agent may at a site.
        if not self.plain:
            self.set_timeout(5000)
        self.output = os.path.join(self.directory, "out")
        os.mkdir(self.output)
        os.chmod(self.output, 0o777)
        return self

    def __exit__(self, *exception):
        if exception[0] is not None:
            self.tell()
        subprocess.run([SCRIPT, "stop", self.root], check=False,
                       stdin=subprocess.DEVNULL, capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def tell(self):
        """Print what may explain a failure.  The most telling comes last and is
        short: ./check shows the end of a log only."""
        logs = {os.path.basename(path): lines_of(path) for path in
                sorted(glob.glob(f"{self.root}/log/*.log"))}
        outputs = sorted(glob.glob(f"{self.directory}/out/slurm-*.out"),
                         key=os.path.getmtime)
        for name, lines in logs.items():
            print(f"---- {name} ----", *lines[-40:], sep="\n")
        for path in outputs[-8:]:
            print(f"---- {os.path.basename(path)} ----", *lines_of(path)[-20:],
                  sep="\n")
        print("---- jobs, nodes, and the logs' last lines ----")
        for lines, count in (
                (self.ask("sacct", "-a", "-X", "-n", "-P", "-S", "now-1hour",
                          "-o", "jobid,jobname,state,exitcode,start,end,nodelist,"
                          "admincomment"), 5),
                (self.ask("squeue", "-h", "-o", "%i %j %T %r %N"), 3),
                (self.ask("sinfo", "-h", "-N", "-o", "%N %P %T %E"), 2),
                (logs.get("slurmctld.log", []), 2),
                (logs.get("coschedd-n1.log", []), 4)):
            print(*(line[:240] for line in lines[-count:]), sep="\n")
        sys.stdout.flush()

    def ask(self, *command):
        """The lines that COMMAND prints, or what has become of it."""
        try:
            done = self.run(*command, timeout=20)
        except (OSError, subprocess.TimeoutExpired) as error:
            return [str(error)]
        return (done.stdout + done.stderr).splitlines()

    def set_timeout(self, milliseconds):
        """How long jobs wait for an agent that does not answer, from now on."""
        path = f"{self.root}/etc/plugstack.conf"
        with open(path, encoding="utf-8") as file:
            text = re.sub(" timeout=[0-9]*", "", file.read()).rstrip("\n")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(f"{text} timeout={milliseconds}\n")
        os.replace(path + ".new", path)

    def open_to_all(self):
        """Let other users find plugin and libgomp: the build tree may be in a
        directory that only its owner enters."""
        parts = os.path.join(self.directory, "parts")
        plugin = f"{BUILD}/.libs/spank_cosched.so"
        shutil.copytree(LIBGOMP_COOP, f"{parts}/libgomp")
        shutil.copy(plugin, parts)
        path = f"{self.root}/etc/plugstack.conf"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(plugin, f"{parts}/spank_cosched.so")
                       .replace(LIBGOMP_COOP, f"{parts}/libgomp"))

    @staticmethod
    def program(name):
        """Path of one of our jobs' programs."""
        return os.path.join(BUILD, "jobs", name)

    def run(self, *command, **more):
        """The completed process of COMMAND, whatever its status."""
        return subprocess.run(command, env=self.env, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              cwd=getattr(self, "output", "/"), **more)

    def programs(self, name):
        """{job: [pid]} of the processes NAME of this cluster's jobs."""
        found = {}
        ours = f"={self.root}/".encode()  # in SLURM_CONF, COSCHED_SOCKET
        for path in glob.glob("/proc/[0-9]*/comm"):
            pid = int(path.split("/")[2])
            try:
                with open(path, encoding="ascii", errors="replace") as comm:
                    if comm.read().strip() != name:
                        continue
                with open(f"/proc/{pid}/environ", "rb") as environ:
                    text = environ.read()
            except OSError:
                continue
            for entry in text.split(b"\0") if ours in text else ():
                if entry.startswith(b"COSCHED_JOB="):
                    found.setdefault(int(entry[12:]), []).append(pid)
        return found

    def call(self, *command):
        """The output of COMMAND, which must succeed."""
        done = self.run(*command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def sbatch(self, *arguments):
        """Submit; the job's number."""
        return int(self.call("sbatch", "--parsable", *arguments).split(";")[0])

    def together(self, *commands):
        """Submit COMMANDS as jobs that share a node.  They begin when all are
        there, so that each meets the others however long one waits."""
        descriptor, gate = tempfile.mkstemp(prefix="gate.", dir=self.output)
        os.close(descriptor)
        jobs = [self.sbatch(
            "--coschedule", "--mem=50", "--wrap",
            f"while [ -e {gate} ]; do sleep 0.1; done; {command}")
            for command in commands]
        wait_for(f"jobs {jobs} on the node",
                 lambda: set(jobs) <= set(self.status()), 180, 0.05)
        os.unlink(gate)
        return jobs

    def text(self, job):
        """The output of a batch job so far."""
        try:
            with open(f"{self.output}/slurm-{job}.out", encoding="utf-8",
                      errors="replace") as out:
                return out.read()
        except FileNotFoundError:
            return ""

    def log(self, node="n1"):
        return "\n".join(lines_of(f"{self.root}/log/coschedd-{node}.log")) + "\n"

    def status(self, node="n1"):
        """{job: its entry in the status of the node's agent}."""
        reply = json.loads(self.call(
            "coschedctl", "--socket", f"{self.root}/run/coschedd-{node}.sock",
            "status", "--json"))
        return {job["job"]: job for job in reply["jobs"]}

    def attached(self, job):
        """The agent's entry of JOB when a process of it has attached."""
        entry = self.status().get(job, {})
        return entry if entry.get("attached") else None

    def state(self, job):
        return self.call("sacct", "-X", "-n", "-P", "-j", str(job), "-o",
                         "state").strip()

    def rows(self, job, *fields, options=()):
        """[texts of FIELDS and the record] of JOB in the accounting, of all of its runs with
        option -D.  Slurm before 21.08 has final records in the SystemComment."""
        text = self.call("sacct", *options, "-X", "-n", "-P", "-j", str(job), "-o",
                         ",".join((*fields, "admincomment,systemcomment")))
        rows = [line.split("|") for line in text.splitlines()]
        return [[*row[:-2], row[-1] or row[-2]] for row in rows]

    def comment(self, job):
        rows = self.rows(job)
        return rows[-1][-1] if rows else ""

    def sql(self, text):
        """What the accounting's database answers to TEXT."""
        return subprocess.run(["mariadb", "--no-defaults", f"--socket={self.root}/run/db.sock",
                               "-N", "-u", "root", "slurm_acct"], input=text, text=True, check=True,
                              stdout=subprocess.PIPE).stdout

    def wait_end(self, *jobs):
        """Wait until Slurm has ended JOBS.  The accounting hears of it later:
        wait_state()."""
        def ended():
            queued = self.call("squeue", "-h", "-o", "%A").split()
            return not any(str(job) in queued for job in jobs)
        wait_for(f"end of jobs {jobs}", ended, 180, 0.1)

    def wait_state(self, job, state):
        """Wait until JOB has ended with STATE in the accounting."""
        wait_for(f"end of job {job} as {state} in the accounting",
                 lambda: self.state(job).startswith(state), 120, 0.1)

    def wait_final(self, job):
        """Wait for the final record of JOB and return it.  Its agent has read
        it back then, and writes it no more."""
        def written():
            rows = self.rows(job, "jobidraw", "end")
            number, end, comment = rows[-1] if rows else ("", "", "")
            word = f"job {number}: its record is in the accounting"
            return "state=final" in comment and end != "Unknown" and any(
                word in self.log(f"n{i + 1}") for i in range(self.nodes))
        # After failures the agent pauses for 12, 24, 48 s.
        wait_for(f"record of job {job}", written, 180, 0.5)
        return self.comment(job)

    def restart(self):
        """Stop and start all daemons, for what they read only then."""
        self.call(SCRIPT, "stop", self.root)
        self.call(SCRIPT, "start", self.root)

    def agent(self, action):
        self.call(SCRIPT, "agent", self.root, action, "n1")

    def crash_agent(self):
        """End the agent by SIGKILL and wait until it is gone."""
        with open(f"{self.root}/run/coschedd-n1.pid", encoding="ascii") as file:
            pid = int(file.read())
        os.kill(pid, signal.SIGKILL)

        def gone():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
                    return not cmdline.read()
            except OSError:
                return True
        wait_for("end of the agent", gone)
