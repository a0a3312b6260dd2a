#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The exporter: its text as a strict parser reads it, from an agent of the test's own and from
one that says what it is told; names that users chose, floods, slow and odd clients, an agent
that is gone, hangs or babbles; the file for node_exporter; manual page, rules and dashboard
name the same metrics.  Needs Debian's python3-prometheus-client (so not /usr/bin/env)."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import SOURCE
from fakeagent import FakeAgent
from fakes import Agent, allowed_cpus, fake, need, skip, wait_for

sys.path.insert(0, os.path.join(SOURCE, "exporter"))
import coschedmetrics

try:
    from prometheus_client.openmetrics import parser as openmetrics
    from prometheus_client import parser as plain
except ImportError:
    skip("python3-prometheus-client is not installed")

EXPORTER = os.path.join(SOURCE, "exporter", "cosched-exporter")
CPU = allowed_cpus()[0]
NASTY = 'a"b\\c\nd\r\x00\x7f\x85 {}# EOF\n# TYPE x counter ' + "é" * 100

PING = {"version": "0.2.0", "problems": ["one", "two"]}
JOB = {"job": 12, "uid": 1000, "name": "ep", "state": "malleable", "cpus": "0-3",
       "granted": "0-7", "cores": 4, "live_s": 3.5, "energy_j": 12.5,
       "history": {"expected_s": 100.0},
       "progress": {"work_s": 3.0, "cpu_s": 4.0, "alone_s": 2.5, "steps": 7.0, "moves": 5},
       "speed": {"predicted": 0.6, "measured": 0.5, "limit": "memory"}}
STATUS = {"node": "n1", "policy": "corun", "counters": "perf", "cpus": "0-7", "cores": 8,
          "load": {"cores": 5.5, "controllers": [0.25, 0.5], "links": [0.125]},
          "totals": {"epochs": 100, "late": 3, "decisions": 20, "plans": 10, "plan_s": 0.01,
                     "plan_max_s": 0.002, "moves": 8, "records": 1, "cpu_s": 0.5},
          "drained": None, "omitted": 0, "jobs": [JOB]}


def teller():
    """An agent that says PING and STATUS, started; its owner stops it."""
    agent = FakeAgent()
    agent.replies.update(ping=PING, status=STATUS)
    agent.start()
    return agent


# The exporter with other constants: less patience, so that the test has it.
CHANGED = """
import importlib.machinery, importlib.util, json, sys
loader = importlib.machinery.SourceFileLoader("exporter", sys.argv[1])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("exporter", loader))
loader.exec_module(module)
vars(module).update(json.loads(sys.argv[2]))
sys.exit(module.main(sys.argv[3:]))
"""


class Exporter:
    """An exporter of the test's own, with CONSTANTS."""

    def __init__(self, path, **constants):
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHANGED, EXPORTER, json.dumps(constants),
             "--socket", path, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.port = int(re.fullmatch(
            r"cosched-exporter: listens at port (\d+) of 127\.0\.0\.1\n", line)[1])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), 60)

    def get(self, path="/metrics", method="GET", modern=True):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        accept = {"Accept": "application/openmetrics-text;version=1.0.0"} if modern else {}
        connection.request(method, path, headers=accept)
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply, text

    def samples(self, modern=True):
        reply, text = self.get(modern=modern)
        assert reply.status == 200, reply.status
        wanted = "application/openmetrics-text" if modern else "text/plain; version=0.0.4"
        assert reply.getheader("Content-Type").startswith(wanted)
        return parse(text, modern)

    def value(self, name):
        return next((v for (n, _), v in self.samples().items() if n == name), None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0 or exception[0]
        if exception[0]:
            print(self.process.stderr.read())
        self.process.stderr.close()


def parse(text, modern=True):
    """(name, labels) -> value."""
    families = (openmetrics if modern else plain).text_string_to_metric_families(text)
    samples = [s for family in families for s in family.samples]
    found = {(s.name, tuple(sorted(s.labels.items()))): s.value for s in samples}
    assert len(found) == len(samples), "a series twice"
    return found


# ---- text ----------------------------------------------------------------------

def text_of(most=64, modern=True, ping=PING, **status):
    return coschedmetrics.render(coschedmetrics.of(ping, {**STATUS, **status}, most), modern)


def check_values():
    for modern in True, False:
        found = parse(text_of(modern=modern), modern)
        for name, value in (
                ("cosched_up", 1), ("cosched_drained", 0), ("cosched_problems", 2),
                ("cosched_pool_cpus", 8), ("cosched_pool_held_cpus", 4),
                ("cosched_computing_cores", 5.5), ("cosched_records_waiting", 1),
                ("cosched_epochs_total", 100), ("cosched_epochs_late_total", 3),
                ("cosched_plan_seconds_total", 0.01), ("cosched_core_moves_total", 8),
                ("cosched_agent_cpu_seconds_total", 0.5)):
            assert found[name, ()] == value, (name, found)
        assert abs(found["cosched_prediction_error_ratio", ()] - 0.2) < 1e-9
        job = (("jobid", "12"),)
        assert found["cosched_job_cores", job] == 4
        assert found["cosched_job_expected_seconds", job] == 100
        assert found["cosched_job_speed_measured_ratio", job] == 0.5
        assert found["cosched_job_limit", (*job, ("limit", "memory"))] == 1
        assert found["cosched_job_limit", (*job, ("limit", "serial"))] == 0
        assert found["cosched_controller_utilisation_ratio", (("controller", "1"),)] == 0.5
        assert found["cosched_jobs", (("state", "malleable"),)] == 1
        assert found["cosched_info", (("counters", "perf"), ("node", "n1"), ("policy", "corun"),
                                      ("version", "0.2.0"))] == 1


def check_names():
    """What users call jobs is a label's value and nothing else."""
    for modern in True, False:
        found = parse(text_of(modern=modern, jobs=[{**JOB, "name": NASTY}]), modern)
        info = [dict(labels) for name, labels in found if name == "cosched_job_info"]
        assert len(info) == 1 and info[0]["uid"] == "1000", info
        name = info[0]["name"]
        assert name.startswith('a"b\\c') and len(name) <= coschedmetrics.LABEL_MOST, name
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", name), name


def check_many():
    """Few series however many jobs, and no job that is not there."""
    jobs = [{**JOB, "job": 1 + i, "cores": i % 7} for i in range(5000)]
    text = text_of(64, jobs=jobs, omitted=3)
    found = parse(text)
    assert found["cosched_jobs_omitted", ()] == 5000 - 64 + 3
    shown = {labels for name, labels in found if name == "cosched_job_cores"}
    assert len(shown) == 64 and len(found) < 64 * 20 + 60, len(found)
    assert min(found["cosched_job_cores", s] for s in shown) == 6
    assert "cosched_job_cores" not in text_of(0)
    assert len(parse(text_of(load={"controllers": [0.5] * 10 ** 5}))) < 700


def check_unknown():
    """What is not known, or no number, is left out."""
    bare = coschedmetrics.of({}, {"jobs": []}, 64)
    names = {family.name for family in bare}
    assert names == {"cosched_up", "cosched", "cosched_drained", "cosched_problems",
                     "cosched_pool_cpus", "cosched_pool_held_cpus", "cosched_jobs",
                     "cosched_jobs_omitted"}, names
    parse(coschedmetrics.render(bare, True))
    odd = [None, True, "x", [], {}, float("nan"), float("inf"), -1]
    for value in odd:
        job = {key: value for key in JOB}
        parse(text_of(jobs=[job], load=value, totals=value, cpus=value, cores=value,
                      omitted=0, ping={"problems": value, "version": value}))
        parse(text_of(jobs=[{**JOB, "speed": {"predicted": value, "measured": value,
                                              "limit": value}, "cpus": "9" * 99}]))
    for jobs in None, {}, [1]:
        try:
            coschedmetrics.of(PING, {"jobs": jobs}, 64)
        except ValueError:
            continue
        raise AssertionError(jobs)


def check_lists():
    """The manual page has each metric; rules and dashboard have no others."""
    def read(path):
        with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
            return file.read()

    page = set(re.findall(r"cosched_[a-z_]+", read("docs/cosched-exporter.8")))
    known = set(coschedmetrics.NAMES)
    full = {name + {"counter": "_total", "info": "_info"}.get(kind, "")
            for name, (kind, _) in coschedmetrics.NAMES.items()}
    missing = known - page - {name[:-5] for name in page if name.endswith("_info")}
    assert not missing, missing
    assert page <= known | full, page - known - full
    for path in "exporter/rules.yml", "exporter/dashboard.json", "docs/monitoring.md":
        used = set(re.findall(r"\bcosched_[a-z_]+", read(path)))
        assert used and used <= full, (path, used - full)


# ---- HTTP ----------------------------------------------------------------------

def check_http(exporter):
    assert exporter.value("cosched_up") == 1
    assert exporter.samples(modern=False)["cosched_up", ()] == 1
    for path, method, status in (("/", "GET", 200), ("/metrics?x=y", "GET", 200),
                                 ("/x", "GET", 404), ("/metrics", "POST", 405)):
        assert exporter.get(path, method)[0].status == status, (path, method)
    reply, text = exporter.get(method="HEAD")
    assert reply.status == 200 and int(reply.getheader("Content-Length")) > 1000 and not text
    for junk in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET /metrics SPDY/3\r\n\r\n", b"\xff\x00" * 9000,
                 b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n"):
        with exporter.connect() as sock:
            try:
                sock.sendall(junk)
                sock.shutdown(socket.SHUT_WR)
                answer = sock.recv(1 << 16)
                assert not answer or b" 400 " in answer, answer
            except ConnectionError:
                pass
    assert exporter.value("cosched_up") == 1


def check_cache(exporter, agent):
    """Asking often asks the agent at most once a second."""
    before, at = len(agent.asked), os.times().elapsed
    for _ in range(100):
        exporter.get()
    asked = len(agent.asked) - before
    assert asked <= 2 * (2 + os.times().elapsed - at), asked


def check_silent(exporter):
    """Clients of this node that say nothing take their places and no more."""
    socks = [exporter.connect() for _ in range(200)]
    for sock in socks:
        sock.setblocking(False)

    def gone(sock):
        try:
            return sock.recv(1) == b""
        except BlockingIOError:
            return False
        except ConnectionError:
            return True

    wait_for("refusals", lambda: sum(map(gone, socks)) == 200 - 32)
    assert not answers(exporter)
    for sock in socks:
        sock.close()
    wait_for("place", lambda: answers(exporter))


def check_dropped(exporter):
    """Who says nothing for long leaves its place."""
    socks = [exporter.connect() for _ in range(40)]
    wait_for("place", lambda: answers(exporter))
    for sock in socks:
        sock.close()


def answers(exporter):
    try:
        return exporter.value("cosched_up") == 1
    except (OSError, http.client.HTTPException):
        return False


def check_agents(exporter, agent):
    """Whatever the agent says or does not, there is an answer."""
    def up():
        return exporter.value("cosched_up")

    for reply in (b"{", b"[]", b"\xff", b'{"ok": true}', b'{"ok": true, "jobs": [1]}', b"[" * 60000,
                  b'{"ok": false, "errnum": 1, "error": "x"}', b"", b'{"ok": true, "jobs": [], '
                  b'"omitted": 1' + b"0" * 400 + b"}"):
        agent.replies["status"] = reply
        assert up() == 0, reply[:40]
        agent.replies["status"] = STATUS
        wait_for("up", lambda: up() == 1)


def check_hanging(exporter, agent):
    """It says nothing for ever."""
    over = threading.Event()
    agent.replies["ping"] = lambda request: over.wait() and None
    try:
        assert exporter.value("cosched_up") == 0
    finally:
        agent.replies["ping"] = PING
        over.set()


def check_file(path, directory):
    file = os.path.join(directory, "coschedule.prom")
    process = subprocess.Popen([EXPORTER, "--socket", path, "--textfile", file, "--interval", "1"])
    try:
        def read():
            try:
                with open(file, encoding="utf-8") as text:
                    return parse(text.read(), False)
            except FileNotFoundError:
                return {}

        wait_for("file", lambda: read().get(("cosched_up", ())) == 1)
        first = os.stat(file)
        assert first.st_mode & 0o777 == 0o644
        wait_for("another", lambda: os.stat(file).st_ino != first.st_ino)
        yield
        wait_for("down", lambda: read().get(("cosched_up", ())) == 0)
        assert os.listdir(directory).count("coschedule.prom") == 1
    finally:
        process.terminate()
        assert process.wait(60) == 0
    assert not [n for n in os.listdir(directory) if n.startswith(".coschedule")]


def check_print(path):
    def run(*arguments, status=0):
        done = subprocess.run([EXPORTER, "--socket", path, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        assert done.returncode == status, (arguments, done)
        return done.stdout

    assert parse(run("--print", "openmetrics"))["cosched_up", ()] == 1
    flat = json.loads(run("--print", "json"))
    assert flat["cosched_up"] == 1 and all(isinstance(v, (int, float)) for v in flat.values())
    for bad in (["--listen", "x"], ["--listen", "h:99999"], ["--interval", "0"], ["--jobs", "-1"],
                ["--textfile", "x", "--print", "json"]):
        run(*bad, status=2)
    run("--listen", "192.0.2.1:1", status=1)


# ---- a real agent --------------------------------------------------------------

def check_agent():
    """What it publishes is there, and grows."""
    with Agent(cpus=str(CPU)) as agent, Exporter(agent.socket, CACHE=0.05) as exporter, \
            fake(agent, 7), fake(agent, 8):
        wait_for("jobs", lambda: agent.attached(7) and agent.attached(8))
        wait_for("both", lambda: ("cosched_job_cores", (("jobid", "8"),)) in exporter.samples())
        found = exporter.samples()
        for name in ("cosched_pool_busy_seconds_total", "cosched_epochs_total",
                     "cosched_plans_total", "cosched_plan_seconds_total",
                     "cosched_core_moves_total", "cosched_agent_cpu_seconds_total"):
            assert found[name, ()] > 0, (name, found)
        assert found["cosched_plan_max_seconds", ()] <= found["cosched_plan_seconds_total", ()]
        assert found["cosched_epochs_late_total", ()] <= found["cosched_epochs_total", ()]
        assert found["cosched_plans_total", ()] <= found["cosched_decisions_total", ()]
        assert found["cosched_pool_cores", ()] == found["cosched_pool_cpus", ()] == 1
        assert found["cosched_records_waiting", ()] == 0
        # Two on one core: one has its turn.
        assert sum(v for (n, _), v in found.items() if n == "cosched_job_cores") == 1
        wait_for("turns", lambda: exporter.samples()[
            "cosched_job_core_moves_total", (("jobid", "8"),)] > 2)
        agent.kill()
        wait_for("down", lambda: exporter.value("cosched_up") == 0)
        agent.start()
        wait_for("up", lambda: exporter.value("cosched_up") == 1)


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    check_values()
    check_names()
    check_many()
    check_unknown()
    check_lists()
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as directory:
        agent = teller()
        path = agent.path
        check_print(path)
        file = check_file(path, directory)
        next(file)
        with Exporter(path) as exporter:
            check_http(exporter)
            check_cache(exporter, agent)
        with Exporter(path, CACHE=0, REQUEST_S=600) as exporter:
            check_agents(exporter, agent)
            check_silent(exporter)
        with Exporter(path, REQUEST_S=1) as exporter:
            check_dropped(exporter)
        with Exporter(path, CACHE=0, TIMEOUT=0.2) as exporter:
            check_hanging(exporter, agent)
            agent.stop()
            wait_for("down", lambda: exporter.value("cosched_up") == 0)
        assert list(file) == []
    check_agent()


if __name__ == "__main__":
    main()
