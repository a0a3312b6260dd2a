#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Tasks that spin on each other's flags, or block in the kernel until a task
behind them in the queue has run: all end, with all CPUs, with one, and while
CPUs are taken and given; the runtime says that it used more workers to end the spinning.
Tasks that look the same but compute do not keep those, and tasks that ask the
runtime for something again and again need none."""

from fake_agent import FakeAgent, Program, directory, needs_probe, two_cpus, wait_for


def asks(path, cpus, mode, arguments):
    with FakeAgent(path, cpus) as agent, \
            Program(*arguments, program="test_spin", socket_path=path,
                    COSCHED_MODE=mode, OMP_NUM_THREADS="8",
                    COSCHED_TEST="no_preempt") as program:
        client = agent.client()
        out, err, _ = program.end_under(agent, [cpus], 0.003)
        extra = client.header_of_report()["extra_workers"]
        assert program.process.returncode == 0 and out.startswith("PASS"), (
            mode, arguments, out, err)
        assert extra == 0, (mode, arguments, extra)


def run_once(path, cpus, mode, team, arguments, sets):
    """False: the program was done before it had attached.  Who is not answered for
    a second goes on alone."""
    with FakeAgent(path, cpus) as agent, \
            Program(*arguments, program="test_spin", socket_path=path,
                    COSCHED_MODE=mode, OMP_NUM_THREADS=str(team)) as program:
        wait_for("attach or end", lambda: agent.clients
                 or program.process.poll() is not None)
        client = agent.client() if agent.clients else None
        out, err, _ = program.end_under(agent, sets, 0.003)
        assert program.process.returncode == 0 and out.startswith("PASS"), (
            mode, team, arguments, sets, out, err)
        if client is None:
            return False
        extra = client.header_of_report()["extra_workers"]
        # Whoever writes may have a worker to itself.
        assert extra > 0 or arguments[0] == "pipe", (mode, team, arguments, sets)
        print(f"{mode}, {team} tasks, {' '.join(arguments)}, "
              f"{len(sets)} allotments: {out.split()[1]} ms, "
              f"{extra} more workers")
    return True


def run(*arguments):
    assert any(run_once(*arguments) for _ in range(5)), arguments


def main():
    needs_probe()
    cpus = two_cpus()
    with directory() as path:
        for mode in ("donor", "ult", "kthread"):
            for team, arguments in ((8, ["pipeline", "2"]),
                                    (8, ["regions", "3"]),
                                    (40, ["pipeline", "1"]),
                                    (40, ["pipe", "400"])):
                for sets in ([cpus], [cpus[:1]], [cpus, cpus[:1], cpus[1:]]):
                    run(f"{path}/sock", cpus, mode, team, arguments, sets)
        for mode in ("donor", "ult"):
            run(f"{path}/sock", cpus, mode, 8, ["compute", "300"], [cpus])
            for way in ("cancellation-point", "taskyield", "critical", "clock",
                        "locked"):
                asks(f"{path}/sock", cpus[:1], mode, [way, "300"])


main()
