#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Upgrades: messages, pages and state of older and newer versions."""

import json
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, announce, fake, need, wait_for


def ask(agent, request):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(60)
        sock.connect(agent.socket)
        sock.send(json.dumps(request).encode())
        return json.loads(sock.recv(1 << 17))


def check_messages(agent):
    ping = ask(agent, {"v": 1, "op": "ping"})
    assert (ping["oldest"], ping["newest"], ping["layout"]) == (1, 1, 1), ping
    for version in (0, 2, 99):
        reply = ask(agent, {"v": version, "op": "ping"})
        # A newer sender learns what it may fall back to.
        assert not reply["ok"] and reply["oldest"] == reply["newest"] == 1
        assert f"message version {version}" in reply["error"], reply
    later = ping["revision"] + 1
    # Of a later revision: what is not known here is left out ...
    assert ask(agent, {"v": 1, "r": later, "op": "ping", "mood": "good",
                       "job": 5})["ok"]
    request = {"v": 1, "r": later, "op": "announce", "job": 7,
               "uid": os.getuid(), "name": "x", "memory_mb": 0, "options": "",
               "cores": f"0-{os.cpu_count() - 1}", "restarts": 0, "mood": [1]}
    assert ask(agent, request)["ok"] and agent.job(7)
    # ... but what is missing or wrong is an error all the same.
    del request["uid"]
    assert "'uid': missing" in ask(agent, request)["error"]
    reply = ask(agent, {"v": 1, "r": later, "op": "dance"})
    assert not reply["ok"] and "dance" in reply["error"]
    for revision in (0, -1, "2", None):
        reply = ask(agent, {"v": 1, "r": revision, "op": "ping", "mood": 1})
        assert not reply["ok"], (revision, reply)


def check_pages(agent):
    """A library that knows newer pages gets ours; one that writes others is
    treated as one that does not cooperate, its job goes on."""
    with fake(agent, 1, "layout=9"):
        wait_for("attach of a newer library", lambda: agent.attached(1))
        wait_for("its region",
                 lambda: "+40" in str(agent.job(1)["region"]))
    with fake(agent, 2, "layout=1"):
        wait_for("attach", lambda: agent.attached(2))
    with fake(agent, 3, "layout=0") as job:
        wait_for("refusal", lambda: "refused" in job.text())
        assert "layout" in job.text() and not agent.attached(3)
    with fake(agent, 4, "version=2"), fake(agent, 5):
        wait_for("attach", lambda: agent.attached(4) and agent.attached(5))
        wait_for("refusal of the page", lambda: "report page of process" in
                 agent.log_text())
        wait_for("the neighbour's region",
                 lambda: "+40" in str(agent.job(5)["region"]))


def check_state(agent):
    """A newer agent has written more; the older one that replaces it keeps
    the jobs."""
    path = os.path.join(agent.directory, "state.json")
    with fake(agent, 8) as job:
        wait_for("attach", lambda: agent.attached(8))
        agent.stop()
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
        state["mood"] = {"good": True}
        for entry in state["jobs"]:
            entry["mood"] = entry["record"]["mood"] = 1
        with open(path, "w", encoding="utf-8") as file:
            json.dump(state, file)
        agent.start()
        wait_for("attach to the next agent", lambda: agent.attached(8))
        assert not os.path.exists(path + ".bad")
        assert job.process.poll() is None


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    with Agent() as agent:
        check_messages(agent)
        check_pages(agent)
        check_state(agent)
        assert announce(agent, 20)["ok"]


main()
