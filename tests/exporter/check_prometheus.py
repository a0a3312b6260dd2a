#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A real Prometheus scrapes two agents with jobs, and one made up that knows profiles, history
and links: it accepts the text, answers each query of the dashboard with data, loads the rules, and
raises the alarm when an agent is gone.  promtool checks text, rules and alerts.  Needs Debian's
packages prometheus and python3-prometheus-client."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import SOURCE
from fakes import Agent, allowed_cpus, fake, need, skip, wait_for
from test_exporter import teller

EXPORTER = os.path.join(SOURCE, "exporter", "cosched-exporter")
RULES = os.path.join(SOURCE, "exporter", "rules.yml")
CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: coschedule
    static_configs: [{{targets: {targets}}}]
"""


def promtool(*arguments, **options):
    done = subprocess.run(["promtool", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    assert done.returncode == 0, (arguments, done.stdout)
    return done.stdout


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@contextlib.contextmanager
def started(command, **options):
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def exporter(path):
    """host:port of an exporter of the agent at PATH."""
    with started([EXPORTER, "--socket", path, "--listen", "127.0.0.1:0"],
                 stderr=subprocess.PIPE, text=True) as process:
        port = re.search(r"port (\d+)", process.stderr.readline())[1]
        yield f"127.0.0.1:{port}"


class Prometheus:
    """With its data in DIRECTORY, scraping TARGETS."""

    def __init__(self, directory, targets):
        self.url = f"http://127.0.0.1:{free_port()}"
        config = os.path.join(directory, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(rules=RULES, targets=json.dumps(targets)))
        promtool("check", "config", config)
        self.process = started(
            ["prometheus", f"--config.file={config}", "--log.level=error",
             f"--storage.tsdb.path={os.path.join(directory, 'data')}",
             f"--web.listen-address={self.url[7:]}"])

    def api(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=60) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None     # not yet
            raise AssertionError((path, parameters, error.read())) from error
        except (urllib.error.URLError, ConnectionError):
            return None

    def query(self, text):
        found = self.api("query", query=text)
        return found["result"] if found else []


def queries():
    """(panel, query) of the dashboard, for all nodes."""
    with open(os.path.join(SOURCE, "exporter", "dashboard.json"), encoding="utf-8") as file:
        dashboard = json.load(file)
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "1m") \
                .replace("$instance", ".*")


# What only jobs with profiles and earlier runs have, and nodes with several NUMA nodes.
RARE = ("computing", "controller", "link", "speed", "expected")


def check_queries(prometheus, every, rich):
    """Each query has an answer; those by node one of EVERY node, or at least of the RICH one."""
    def answered(query):
        result = prometheus.query(query)
        nodes = {r["metric"]["instance"] for r in result if "instance" in r["metric"]}
        wanted = {rich} if any(word in query for word in RARE) else set(every)
        return result and (not nodes or nodes >= wanted)

    asked = 0
    for title, query in queries():
        wait_for(f"data for {title}: {query}", lambda q=query: answered(q))
        asked += 1
    return asked


def check_series(prometheus):
    """The exporter's numbers are there as they are; two jobs on each."""
    jobs = prometheus.query("sum by (instance) (cosched_jobs)")
    assert sorted(r["value"][1] for r in jobs) == ["1", "2", "2"], jobs
    named = prometheus.query(
        "cosched_job_cores * on (instance, jobid) group_left (name) cosched_job_info")
    # "job" is Prometheus' own label: what it had to rename is lost to the dashboard.
    assert not prometheus.query('{exported_job!=""}')
    assert {r["metric"]["jobid"] for r in named} == {"7", "8", "12"} and len(named) == 5, named
    return named


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    for program in "prometheus", "promtool":
        if not shutil.which(program):
            skip(f"{program} is not installed")
    print(promtool("check", "rules", RULES))
    print(promtool("test", "rules", "rules.test.yml", cwd=os.path.dirname(RULES)))
    cpu = str(allowed_cpus()[0])
    with contextlib.ExitStack() as stack:
        agents = [stack.enter_context(Agent(cpus=cpu)) for _ in range(2)]
        targets = [stack.enter_context(exporter(agent.socket)) for agent in agents]
        for agent in agents:
            for job in 7, 8:
                stack.enter_context(fake(agent, job))
            wait_for("jobs", lambda a=agent: a.attached(7) and a.attached(8))
            text = subprocess.run([EXPORTER, "--socket", agent.socket, "--print", "text"],
                                  stdout=subprocess.PIPE, check=True).stdout
            promtool("check", "metrics", input=text.decode())
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="cosched-test."))
        told = teller()
        stack.callback(told.stop)
        rich = stack.enter_context(exporter(told.path))
        prometheus = Prometheus(directory, [*targets, rich])
        stack.enter_context(prometheus.process)
        wait_for("all", lambda: len(prometheus.query("cosched_up == 1")) == 3)
        print(len(check_series(prometheus)), "series of jobs")
        asked = check_queries(prometheus, [*targets, rich], rich)
        print(asked, "queries of the dashboard answered")
        groups = prometheus.api("rules")["groups"]
        assert all(rule["health"] in ("ok", "unknown") for g in groups for rule in g["rules"])
        agents[1].stop()
        wait_for("alarm", lambda: [
            a for a in (prometheus.api("alerts") or {"alerts": []})["alerts"]
            if a["labels"]["alertname"] == "CoschedAgentDown"
            and a["labels"]["instance"] == targets[1]])
        down = prometheus.query("cosched_up == 0")
        assert [r["metric"]["instance"] for r in down] == targets[1:], down
        print("alarm raised for", targets[1])


if __name__ == "__main__":
    main()
