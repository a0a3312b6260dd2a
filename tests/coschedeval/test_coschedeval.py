#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedeval: its arithmetic, real runs of small jobs, bad input, and the pack."""

import ctypes
import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE, BUILD = os.environ["abs_top_srcdir"], os.environ["abs_top_builddir"]
EVAL = os.path.join(SOURCE, "coschedeval", "coschedeval")
sys.path[:0] = [os.path.join(SOURCE, "coschedeval"), os.path.join(SOURCE, "plot")]

import measured                     # noqa: E402
from evaluation import (EvaluationError, intervals, load, mixes, modes,     # noqa: E402
                        prediction, records, run as runs, verdict, weights)

EP = f"{BUILD}/jobs/ep --class S"
FINE = (0, 4)   # 4: on a loaded machine
SHORT = ("--job", EP, "--job", EP, "--modes", "batch,equal,corun", "--policies", "corun",
         "--time", "0.01")


def run(*arguments, **environment):
    return subprocess.run([EVAL, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=600, check=False,
                          env={**os.environ, "COSCHED_BUILD_DIR": BUILD, **environment})


def can_divide():
    return len(os.sched_getaffinity(0)) > 1


def result_of(names, **makespans):
    """A result of two jobs; MAKESPANS are those of each mode's rounds."""
    mix = mixes.Mix([mixes.Job(name, [name]) for name in names.split()])
    result = verdict.Result(mix, [m for m in modes.of_mix(mix, 2, ["corun"])
                                  if m.name in makespans])
    for number in range(len(makespans["native"])):
        result.rounds.append({})
        for mode in result.modes:
            one = runs.Run(mix, mode)
            one.turnaround, one.cpu_s = [makespans[mode.name][number]] * 2, [1.0, 1.0]
            result.rounds[number][mode.name] = one
    return result


def cpu_list(text):
    """The CPUs of a list as 0-3,8."""
    for part in text.split(","):
        low, _, high = part.partition("-")
        yield from range(int(low), int(high or low) + 1)


class FakeRun:
    def __init__(self, *turnaround):
        self.turnaround, self.cpu_s, self.agent_s = list(turnaround), [1.0], 0.0
        self.makespan = max(turnaround)
        self.mean_turnaround = sum(turnaround) / len(turnaround)


class Arithmetic(unittest.TestCase):
    def test_interval_of_known_ratios(self):
        estimate = intervals.Estimate([0.5, 0.5 * math.e ** 0.1, 0.5 * math.e ** -0.1])
        self.assertAlmostEqual(estimate.value, 0.5)
        # t = 4.303 for two degrees of freedom; the standard error is 0.1 / sqrt(3).
        self.assertAlmostEqual(math.log(estimate.high / 0.5), 4.303 * 0.1 / math.sqrt(3), 6)
        self.assertFalse(estimate.known(0.03))
        self.assertTrue(intervals.Estimate([0.7] * 3).known(0.03))
        self.assertIsNone(intervals.Estimate([0.7]).low)

    def test_quantiles_fall_to_the_normal_one(self):
        values = [intervals.quantile(n) for n in range(1, 200)]
        self.assertEqual(values, sorted(values, reverse=True))
        self.assertAlmostEqual(values[-1], 1.972, 2)

    def test_sentences(self):
        def say(*ratios):
            return intervals.worded(intervals.Estimate(ratios), "time sharing")
        self.assertEqual(say(0.69, 0.70, 0.69), "ends 31 % ± 1 earlier than time sharing")
        self.assertEqual(say(1.10, 1.10, 1.10), "ends 10 % ± 0 later than time sharing")
        self.assertRegex(say(0.9, 1.1, 1.0), r"\Ashows no difference to time sharing \(within")
        self.assertIn("once only", say(0.5))

    def test_ratios_are_taken_within_a_round(self):
        rounds = [{"native": FakeRun(10), "corun": FakeRun(5)},
                  {"native": FakeRun(100), "corun": FakeRun(50)}, {"native": FakeRun(7)}]
        estimate = intervals.ratio(rounds, "corun", "native", verdict.makespan)
        self.assertEqual((estimate.value, estimate.count), (0.5, 2))
        self.assertAlmostEqual(estimate.half, 0)

    def test_best_order_of_jobs_in_turn(self):
        # Lengths 5, 1, 3: shortest first ends at 1, 4, 9.
        self.assertAlmostEqual(verdict.in_best_order(FakeRun(5, 6, 9)), 14 / 3)

    def test_splits_use_all_cpus(self):
        for jobs, cpus in ((2, 2), (2, 3), (2, 64), (3, 3), (3, 16), (16, 256)):
            splits = modes._splits(jobs, cpus)
            for shares in splits:
                self.assertEqual(sum(shares), cpus)
                self.assertGreaterEqual(min(shares), 1)
            self.assertLessEqual(max(splits[0]) - min(splits[0]), 1)
            parts = modes.Mode("x", "x", shares=splits[0]).parts(jobs, range(cpus))
            self.assertEqual(sorted(cpu for part in parts for cpu in part), list(range(cpus)))
        self.assertIn([48, 16], modes._splits(2, 64))

    def test_the_verdict_is_about_the_first_policy(self):
        mix = mixes.Mix([mixes.Job("a", ["a"]), mixes.Job("b", ["b"])])
        result = verdict.Result(mix, modes.of_mix(mix, 2, ["corun", "nupoco"]))
        result.rounds = [{"native": FakeRun(10), "batch": FakeRun(10), "corun": FakeRun(8),
                          "nupoco": FakeRun(5)}] * 2
        self.assertIn("by corun ends 20 % ± 0 earlier than time sharing", result.sentence())
        said = verdict.summary([result])
        self.assertEqual(len(said), 1)
        self.assertTrue(said[0].startswith("corun: makespan 0.800 of time sharing's"), said)
        result.rounds = [{"native": FakeRun(10), "nupoco": FakeRun(5)}]
        self.assertEqual(result.sentence(), "a + b: co-scheduling was not measured")
        self.assertEqual(verdict.summary([result]), [])

    def test_it_says_where_memory_lies(self):
        result = result_of("a b", native=[10], corun=[8])
        self.assertEqual(verdict.remarks([result]), [])
        result.rounds[0]["corun"].nodes = {"a": {0: 30, 1: 10}, "b": {1: 5}}
        self.assertEqual(verdict.remarks([result]), [
            "a + b, corun: memory of a lies on node 0 (75 %), node 1 (25 %)",
            "a + b, corun: memory of b lies on node 1 (100 %)"])

    def test_named_sets(self):
        self.assertEqual([len(mixes.SETS[name]) for name in ("node2", "papers10", "papers18")],
                         [12, 10, 18])

    def test_others_are_noticed(self):
        watch = load.Watch(os.sched_getaffinity(0))
        self.assertEqual(sorted(watch.end(1e9)), ["foreign", "stolen", "waited"])
        self.assertEqual(watch.end(1e9)["foreign"], 0)
        self.assertGreaterEqual(watch.end(0)["foreign"], 0)


class Page(unittest.TestCase):
    """`make measured`"""
    GAIN = result_of("a b", native=[10, 10, 10], batch=[9, 9.1, 9], corun=[8, 8.1, 8])
    LOSS = result_of("c d", native=[10, 10, 10], batch=[5, 5, 5.1], corun=[6, 6.1, 6])
    SAME = result_of("e f", native=[10, 10, 10], batch=[5, 6, 5], corun=[5.5, 5, 5.6])

    def data(self, *results):
        record = json.loads(json.dumps([r.record() for r in results]))
        return {"format": "coschedeval/1", "version": "1", "node": {"text": "2 CPUs of X"},
                "mixes": record}

    def test_results_come_back(self):
        back, = records.results(self.data(self.LOSS))
        self.assertEqual(back.sentence(), self.LOSS.sentence())
        self.assertEqual(back.record()["modes"], self.LOSS.record()["modes"])

    def test_block(self):
        text = measured.block(self.data(self.GAIN, self.LOSS, self.SAME), "2026-01-02")
        self.assertIn("2 CPUs of X; 2026-01-02; coschedeval 1, 3 mixes, 3 to 3 rounds, 0 runs",
                      text)
        rows = [line for line in text.split("\n") if line.startswith("|")]
        self.assertEqual({row.count("|") for row in rows}, {7})
        self.assertIn("| c + d | 10.00 s | 0.50 ± 0.01 | 0.60 ± 0.01 | 0.60 ± 0.01 | "
                      "1.20 ± 0.05 (batch) |", rows)
        self.assertRegex(text, r"(?m)^\*\*Where it does not pay.\*\* Co-scheduled, c \+ d ends "
                         r"20 % ± \d later than one after the other. No gain over the best "
                         r"other way can be shown for e \+ f.$")
        passive = result_of("g h", native=[10, 10, 10], batch=[9, 9, 9.1], corun=[6, 6.1, 6],
                            passive=[5, 5, 5])
        self.assertRegex(measured.where_it_does_not_pay([passive]),
                         "g \\+ h ends 21 % ± . later than time sharing with passive waiting")
        once = result_of("i j", native=[10], corun=[11])
        self.assertIn("Nothing can be said", measured.where_it_does_not_pay([once]))

    def test_page(self):
        with tempfile.TemporaryDirectory() as directory:
            page, file = directory + "/page.md", directory + "/x.json"
            begin, end = (f"<!-- {word} measured-node2 -->\n" for word in ("begin", "end"))
            with open(page, "w", encoding="utf-8") as out:
                out.write(f"a\n{begin}old\n{end}b\n")
            with open(file, "w", encoding="utf-8") as out:
                json.dump(self.data(self.GAIN), out)
            subprocess.run([SOURCE + "/coschedeval/measured.py", file, page], check=True)
            with open(page, encoding="utf-8") as done:
                text = done.read()
            self.assertRegex(text, f"(?s)\\Aa\n{begin}2 CPUs.*No mix ends later.*{end}b\n\\Z")
            self.assertNotIn("old", text)
            with open(file, "w", encoding="utf-8") as out:
                out.write("[]")
            done = subprocess.run([SOURCE + "/coschedeval/measured.py", file, page], check=False,
                                  stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr),
                             (1, f"measured: {file}: not written by coschedeval --json\n"))

    def test_nothing_was_measured(self):
        with self.assertRaises(EvaluationError):
            measured.block(self.data(), "")


@unittest.skipUnless(can_divide(), "one CPU cannot be divided")
class Real(unittest.TestCase):
    def test_a_mix_of_two(self):
        with tempfile.TemporaryDirectory() as directory:
            done = run(*SHORT, "--json", directory + "/x.json", "--html", directory + "/x.html",
                       "--record", directory + "/record")
            self.assertIn(done.returncode, FINE, done)
            self.assertEqual(done.stderr, "")
            self.assertRegex(done.stdout, r"(?m)^ep \+ ep: co-scheduling by corun was measured "
                             r"once only, \S+ of the time of time sharing")
            with open(directory + "/x.json", encoding="utf-8") as file:
                data = json.load(file)
            with open(directory + "/x.html", encoding="utf-8") as file:
                page = file.read()
            self.assertTrue(any(names for _, _, names in os.walk(directory + "/record")))
        self.assertEqual(data["format"], "coschedeval/1")
        self.check_prediction(data["mixes"][0]["prediction"], done.stdout, directory)
        measured = data["mixes"][0]["modes"]
        self.assertEqual(list(measured), ["native", "batch", "equal", "corun"])
        for mode in measured.values():
            one = mode["runs"][0]
            self.assertEqual(len(one["turnaround_s"]), 2)
            self.assertEqual(one["makespan_s"], max(one["turnaround_s"]))
            self.assertGreater(min(one["cpu_s"]), 0)
        self.assertLess(measured["batch"]["runs"][0]["turnaround_s"][0],
                        measured["batch"]["runs"][0]["turnaround_s"][1])
        self.assertGreaterEqual(measured["corun"]["runs"][0]["agent_cpu_s"], 0)
        self.assertEqual(page.count("<svg"), 2)
        self.assertNotIn("http", re.sub(r"http://www.w3.org/\S+", "", page))

    def check_prediction(self, found, text, directory):
        self.assertEqual((found["policy"], [row["job"] for row in found["jobs"]]),
                         ("corun", ["ep", "ep"]))
        replayed = found["replayed_makespan_s"]
        self.assertEqual(list(replayed), ["corun", "equal", "native"])
        self.assertGreater(min(replayed.values()), 0)
        self.assertIn("\nErrors of the speeds that corun predicted", text)
        self.assertIn(f"coschedsim replay --policy NAME {directory}/record/ep-ep-corun-1-", text)

    def test_weights_where_they_are_allowed(self):
        try:
            place = weights.find()
        except EvaluationError as error:
            self.skipTest(str(error))
        before = os.listdir(place.path)
        mix = mixes.Mix([mixes.Job("a", ["sh", "-c", "grep coschedeval /proc/self/cgroup >&2; "
                                         "sleep 1000 & exit 3"])] * 2)
        one = runs.measure(mix, modes.Mode("weights", "", groups=place),
                           os.sched_getaffinity(0), None, os.environ, 60)
        for number in range(2):
            self.assertIn(f"/coschedeval-{os.getpid()}-{number}", one.problem)
        self.assertEqual(os.listdir(place.path), before)

    def test_a_job_that_fails(self):
        done = run("--job", EP, "--job", "sh -c 'echo it broke; exit 3'", "--modes", "corun",
                   "--policies", "corun", "--time", "0.01")
        self.assertEqual(done.returncode, 3)
        self.assertIn("native: sh: exit status 3: it broke\n", done.stderr)

    def test_a_job_that_never_ends(self):
        done = run("--job", EP, "--job", "sleep 1000", "--limit", "1", "--time", "0.01")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"(?m)native: (ep: .*; )?sleep: still ran after 1 s$")

    def test_a_job_that_fails_co_scheduled_only(self):
        done = run("--job", EP, "--job", "sh -c 'test -z \"$COSCHED_SOCKET\"'", "--modes",
                   "batch,corun", "--time", "0.01", "--policies", "corun")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ep + sh, corun: sh: exit status 1:", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^ep \+ sh +\S+ s +\d+\.\d\d +-$")
        self.assertIn("ep + sh: co-scheduling was not measured\n", done.stdout)

    def test_jobs_leave_nothing_behind(self):
        with tempfile.TemporaryDirectory() as directory:
            file = directory + "/pid"
            job = f"sh -c 'setsid sleep 1000 & echo $! >{file}'"
            done = run("--job", job, "--job", "true", "--modes", "native", "--time", "0.01")
            self.assertIn(done.returncode, FINE, done)
            with open(file, encoding="ascii") as text:
                self.assertFalse(os.path.exists("/proc/" + text.read().strip()))

    def test_what_is_ended_ends_its_jobs(self):
        with tempfile.TemporaryDirectory() as directory:
            file = directory + "/pid"
            job = f"sh -c 'echo $$ >{file}.new; mv {file}.new {file}; exec sleep 1000'"
            with subprocess.Popen([EVAL, "--job", job, "--job", "true"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "COSCHED_BUILD_DIR": BUILD}) as process:
                while not os.path.exists(file) and process.poll() is None:
                    time.sleep(0.01)
                process.terminate()
                _, said = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 3)
            self.assertIn("interrupted", said)
            with open(file, encoding="ascii") as text:
                self.assertFalse(os.path.exists("/proc/" + text.read().strip()))

    def test_others_compute_all_the_time(self):
        with subprocess.Popen([sys.executable, "-c", "import os\nos.fork()\nos.fork()\n"
                               "while os.getppid() != 1: pass"], start_new_session=True) as busy:
            try:
                done = run("--job", EP, "--job", EP, "--modes", "native", "--time", "0.01")
            finally:
                os.killpg(busy.pid, signal.SIGKILL)
        self.assertEqual((done.returncode, done.stderr), (4, ""))
        self.assertIn("others computed on these CPUs in most runs", done.stdout)

    def test_without_perf_events(self):
        if os.uname().machine != "x86_64":
            self.skipTest("the number of a system call")
        done = subprocess.run([EVAL, *SHORT], capture_output=True, text=True, check=False,
                              env={**os.environ, "COSCHED_BUILD_DIR": BUILD},
                              preexec_fn=refuse_perf_event_open)
        self.assertIn(done.returncode, FINE, done)
        self.assertIn("counters: reported progress only, no hardware counters\n", done.stdout)

    def test_jobs_have_the_cpus_of_their_part(self):
        cpus = os.sched_getaffinity(0)
        job = mixes.Job("sh", ["sh", "-c", "grep Cpus_allowed_list /proc/self/status; exit 3"])
        for mode in modes.of_mix(mixes.Mix([job, job]), len(cpus), []):
            one = runs.measure(mixes.Mix([job, job]), mode, cpus, None, os.environ, 60)
            had = [set(cpu_list(text)) for text in re.findall(r"list:\s*([\d,-]+)", one.problem)]
            self.assertEqual(had, mode.parts(2, cpus)[:len(had)], one.problem)

    def test_a_set_sizes_its_jobs(self):
        done = run("--set", "node2", "--only", "ep + cg", "--modes", "equal", "--policies",
                   "corun", "--seconds", "1.5", "--time", "0.01")
        self.assertIn(done.returncode, FINE, done)
        self.assertEqual(done.stderr, "")
        self.assertRegex(done.stdout, r"(?m)^ep \+ cg +\d+\.\d\d s +\d+\.\d\d$")

    def test_the_pack_runs_elsewhere_as_anybody(self):
        if os.getuid():
            self.skipTest("only root can become another user")
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            path = directory + "/eval.run"
            done = run("pack", path)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            room = directory + "/room"
            os.mkdir(room)
            os.chmod(room, 0o1777)
            done = subprocess.run(
                [path, "--set", "node2", "--only", "ep + cg", "--modes", "corun", "--policies",
                 "corun", "--seconds", "1.5", "--time", "0.01"], cwd="/", user=65534, group=65534,
                extra_groups=[], capture_output=True, text=True, timeout=600, check=False,
                env={"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": room})
            self.assertIn(done.returncode, FINE, done)
            self.assertEqual(done.stderr, "")
            self.assertIn("ep + cg: co-scheduling by corun was measured once", done.stdout)
            self.assertEqual(os.listdir(room), [])
            done = subprocess.run([path, "--json", "x.json"], cwd="/", user=65534, group=65534,
                                  extra_groups=[], capture_output=True, text=True, check=False,
                                  env={"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": room})
            self.assertEqual((done.returncode, done.stderr),
                             (2, "coschedeval: x.json: Permission denied\n"))


def refuse_perf_event_open():
    """In a child: the kernel refuses as with perf_event_paranoid 3."""
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, 298), (0x06, 0, 0, 0x00050000 | 13),
            (0x06, 0, 0, 0x7fff0000)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


class Prediction(unittest.TestCase):
    @staticmethod
    def recording(directory, *lines):
        os.mkdir(directory)
        with open(directory + "/record.jsonl", "w", encoding="utf-8") as file:
            for line in ({"type": "begin", "cpus": "0-3"},) + lines:
                file.write(json.dumps(line) + "\n")
            file.write('{"type": "sam')     # cut off

    @staticmethod
    def decision(*jobs):
        return {"type": "decision", "jobs": [
            {"job": job, "region": region, "gets": cpus, "speed": speed, "parked": False,
             "measured_at": 0} for job, region, cpus, speed in jobs]}

    @staticmethod
    def sample(seconds, *jobs):
        return {"type": "sample", "ns": seconds * 1e9, "jobs": [
            {"job": job, "region": region, "cpus": cpus, "work": [work, 0, 0, 1]}
            for job, region, cpus, work in jobs]}

    def test_errors_of_predicted_speeds(self):
        with tempfile.TemporaryDirectory() as directory:
            # Alone 1000 a second; what is done on other cores does not count.
            self.recording(directory + "/alone", self.decision((1, "r", "0-3", 1.0)),
                           self.sample(1, (1, "r", "0-3", 1000)),
                           self.sample(1, (1, "r", "0-1", 7)))
            both = self.decision((1, "r", "0-1", 0.6), (2, "q", "2-3", 0.5))
            self.recording(directory + "/shared", both,
                           self.sample(0.5, (1, "r", "0-1", 250), (2, "q", "2-3", 9)),
                           both,        # decided again, the same
                           self.sample(0.5, (1, "r", "0-1", 250), (2, None, "2-3", 9)),
                           self.decision((1, "r", "0-2", 0.8), (2, "q", "3", 0.3)),
                           self.sample(3, (1, "r", "0-2", 2400), (2, "q", "3", 9)),
                           self.decision((1, "r", "0-3", 1.0)),
                           self.sample(9, (1, "r", "0-3", 1)))
            found = prediction.compare(["a", "b"], [directory + "/shared"],
                                       [directory + "/alone"] * 2)
        # 0.6 of 0.5 for 1 s, 0.8 of 0.8 for 3 s; alone is no prediction; q is unknown.
        self.assertAlmostEqual(found[0]["compared_s"], 4)
        self.assertAlmostEqual(found[0]["median"], 0)
        self.assertAlmostEqual(found[0]["p90"], 0.2)
        self.assertEqual(found[1], {"job": "b", "compared_s": 0, "median": None, "p90": None})

    def test_a_recording_that_cannot_be_replayed(self):
        self.assertIn("/nowhere", prediction.replay(BUILD + "/simulator/coschedsim", "/nowhere",
                                                    ["corun"])["problem"])


class Weights(unittest.TestCase):
    """Where cgroups may be made, on made-up systems."""

    def find(self, cgroup, mounts, files=()):
        with tempfile.TemporaryDirectory() as top:
            os.makedirs(top + "/proc/self")
            for name, text in [("proc/self/cgroup", cgroup), ("proc/self/mountinfo", "".join(
                    f"1 1 0:1 / {top}/{mount} rw - {kind} x {options}\n"
                    for mount, kind, options in mounts)), *files]:
                os.makedirs(os.path.dirname(f"{top}/{name}"), exist_ok=True)
                with open(f"{top}/{name}", "w", encoding="ascii") as file:
                    file.write(text)
            try:
                place = weights.find(top + "/proc")
            except EvaluationError as error:
                return str(error)
            return place.path[len(top):], place.weight, place.alone

    V1, V2 = ("v1", "cgroup", "rw,cpu,cpuacct"), ("v2", "cgroup2", "rw")

    def test_version_1(self):
        self.assertEqual(self.find("3:cpu,cpuacct:/a\n0::/\n", [self.V2, self.V1],
                                   [("v1/a/cgroup.procs", ""), ("v2/cgroup.controllers", "")]),
                         ("/v1/a", "cpu.shares", False))

    def test_version_2(self):
        files = [("v2/cgroup.controllers", "cpu memory"), ("v2/u/cgroup.procs", ""),
                 ("v2/u/cgroup.subtree_control", "cpu\n"), ("v2/u/s/cgroup.procs", "1\n"),
                 ("v2/u/s/cgroup.subtree_control", ""), ("v2/u/s/cgroup.controllers", "cpu\n")]
        self.assertEqual(self.find("0::/u/s\n", [self.V2], files),
                         ("/v2/u", "cpu.weight", False))
        files[3] = ("v2/u/s/cgroup.procs", f"{os.getpid()}\n")     # a delegated one
        self.assertEqual(self.find("0::/u/s\n", [self.V2], files),
                         ("/v2/u/s", "cpu.weight", True))

    def test_it_says_why_not(self):
        self.assertEqual(self.find("", []), "there are no cgroups with CPU weights")
        self.assertEqual(self.find("0::/\n", [self.V2], [("v2/cgroup.controllers", "memory\n")]),
                         "there are no cgroups with CPU weights")
        self.assertEqual(self.find("0::/a\n", [self.V2], [("v2/cgroup.controllers", "cpu\n")]),
                         "this user may not make cgroups with CPU weights")


class BadInput(unittest.TestCase):
    def refused(self, message, *arguments, status=2, **environment):
        done = run(*arguments, **environment)
        self.assertEqual(done.returncode, status, done)
        self.assertIn(message, done.stderr)

    def test_arguments_are_named(self):
        self.refused("--set nothing: not one of node2", "--set", "nothing")
        self.refused("--job: one job shares the node with nobody", "--job", "true")
        self.refused("--job and --set exclude", "--job", "true", "--job", "true", "--set",
                     "node2")
        self.refused("--only xyz: no mix has this", "--only", "xyz")
        self.refused("--time: -1 is not a positive number", "--time=-1")
        self.refused("--time: abc is not a positive number", "--time", "abc")
        self.refused("unpack x: not `pack FILE`", "unpack", "x")
        self.refused("--job 'x: No closing quotation", "--job", "'x", "--job", "true")
        self.refused("no/such/program: No such file", "--job", "no/such/program", "--job", "true")
        self.refused("coschedd is missing", "--job", "true", "--job", "true",
                     COSCHED_BUILD_DIR="/nowhere")
        self.refused("/nowhere/x: No such file", "pack", "/nowhere/x")
        self.refused("/nowhere/x: No such file", *SHORT, "--json", "/nowhere/x")
        self.refused("/nowhere/x: No such file", *SHORT, "--html", "/nowhere/x")
        self.refused("--record /: is not empty", *SHORT, "--record", "/")

    def test_modes_are_named(self):
        if can_divide():
            self.refused("--modes: fair is not one of native, passive", "--job", EP, "--job", EP,
                         "--modes", "fair")
            self.refused("the agent does not start:", "--job", EP, "--job", EP, "--modes",
                         "best", "--policies", "best")

    def test_one_cpu(self):
        cpu = str(min(os.sched_getaffinity(0)))
        done = subprocess.run(["taskset", "-c", cpu, EVAL, "--job", "true", "--job", "true"],
                              capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "COSCHED_BUILD_DIR": BUILD})
        self.assertEqual((done.returncode, done.stderr),
                         (2, "coschedeval: one CPU only: there is nothing to divide\n"))


if __name__ == "__main__":
    unittest.main()
