#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Wheels from PyPI that bring a libgomp of their own follow (make check-wheels).

usage: check_wheels.py DIRECTORY [NAME...]

DIRECTORY gets a virtual environment with scikit-learn, xgboost and lightgbm, and
with torch, which is large, if it is named."""

import os
import subprocess
import sys

from audit_programs import OURS, Running, mapped, needs_audit, runtimes
from fake_agent import FakeAgent, directory, two_cpus, wait_for

# Each sets step() and right(); some hundred ms of work in regions per step.
PROGRAMS = {
    "scikit-learn": ("sklearn", """
import numpy, sklearn.cluster, threadpoolctl
x = numpy.random.RandomState(1).rand(40000, 20)
def step():
    return sklearn.cluster.KMeans(8, n_init=1, max_iter=20, random_state=1).fit(
        x).inertia_
"""),
    "xgboost": ("xgboost", """
import numpy, xgboost
r = numpy.random.RandomState(1)
d = xgboost.DMatrix(r.rand(20000, 20), r.rand(20000))
def step():
    b = xgboost.train({"nthread": 2, "tree_method": "hist"}, d, 5)
    return float(b.predict(d)[0])
"""),
    "lightgbm": ("lightgbm", """
import numpy, lightgbm
r = numpy.random.RandomState(1)
x, y = r.rand(20000, 20), r.rand(20000)
def step():
    d = lightgbm.Dataset(x, y, params={"verbose": -1})
    b = lightgbm.train({"verbose": -1, "deterministic": True}, d, 5)
    return float(b.predict(x[:1])[0])
"""),
    "torch": ("torch", """
import torch
torch.manual_seed(1)
a = torch.rand(1000, 1000)
def step():
    return float(torch.sin(a).exp().cumsum(0)[0, 0])
"""),
}
RUN = """
import threading, sys
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()),
                 daemon=True).start()
first = step()
print("ready", flush=True)
good = True
while not stop.is_set():
    good = good and abs(step() - first) <= 1e-3 * abs(first)
print("PASS" if good else "FAIL", flush=True)
"""


def install(path, names):
    python = f"{path}/bin/python"
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", path], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "threadpoolctl",
                    *names], check=True)
    return python


def entries(client):
    """How often the process has entered any region."""
    used = client.header_of_report()["regions_used"]
    return sum(client.region(i)["entries"] for i in range(used))


def check(python, name, cpus, path):
    module, code = PROGRAMS[name]
    socket = f"{path}/sock"
    with FakeAgent(socket, cpus) as agent, \
            Running([python, "-c", code + RUN], COSCHED_SOCKET=socket,
                    COSCHED_JOB="7", OPENBLAS_NUM_THREADS="1") as program:
        program.wait_line("ready")
        assert runtimes(program.pid) == {OURS}, (name, [
            p for p in mapped(program.pid) if "omp" in p])
        client = agent.client()
        for allotment in (cpus[:1], cpus, cpus[1:]):
            generation, _ = client.allot(allotment)
            wait_for(f"{name} on {allotment}",
                     lambda g=generation: client.applied(g))
            before = entries(client)
            wait_for(f"regions of {name} on {allotment}",
                     lambda b=before: entries(client) > b)
        program.stop()
    print(f"{name} ({module}) follows", flush=True)


def main():
    needs_audit()
    names = sys.argv[2:] or ["scikit-learn", "xgboost", "lightgbm"]
    python = install(sys.argv[1], names)
    with directory() as path:
        for name in names:
            check(python, name, two_cpus(), path)


main()
