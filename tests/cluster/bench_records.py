#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""How fast final records come into the accounting of a throw-away cluster, and what Slurm's
daemons are asked for that: records a second, requests a record by their kind, CPU time of the
daemons.  With --nodes N as many helpers have a part of them each, with --collector they hand them
over to one.  With --watch S they have none, but watch the settings for S seconds from their start,
until all know a change, and S seconds after it."""

import argparse
import json
import os
import re
import select
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import BUILD
from coschedcluster import Cluster, need_cluster

RECORDS = 500
FIRST = 1_000_000 # job
TEXT = "cosched/1 state=final policy=corun mean_cores=1.43 partners=17,18 number={}"
# Of our own: its beginning and its end.
HOUR_S = 3600

# Rows like that of a job that ran, one for each record.
ROWS = """
SET @columns = (SELECT GROUP_CONCAT(CONCAT('`', column_name, '`')) FROM
    information_schema.columns WHERE table_schema = 'slurm_acct' AND
    table_name = 'cosched_job_table' AND column_name NOT IN
    ('job_db_inx', 'id_job', 'time_submit', 'time_eligible', 'time_start', 'time_end',
     'deleted', 'state', 'admin_comment'));
SET @text = CONCAT('INSERT INTO cosched_job_table (', @columns, ', id_job, time_submit,
    time_eligible, time_start, time_end, deleted, state, admin_comment) SELECT ', @columns,
    ', {first} + seq, {start}, {start}, {start}, {end}, 0, 3, "cosched/1 state=running"
    FROM (SELECT * FROM cosched_job_table WHERE id_job = {model} LIMIT 1) AS model
    JOIN seq_0_to_{last}');
PREPARE make_rows FROM @text;
EXECUTE make_rows;
"""


def make_rows(c, count, end):
    c.sql(f"DELETE FROM cosched_job_table WHERE id_job >= {FIRST}")
    job = c.sbatch("--partition=normal", "--output=/dev/null", "--wrap=true")
    c.wait_end(job)
    c.wait_state(job, "COMPLETED")
    c.sql(ROWS.format(first=FIRST, start=end - 60, end=end, model=job, last=count - 1))


def requests(c):
    """{kind: number} so far of slurmdbd and slurmctld."""
    found = {}
    for program in (("sacctmgr", "show", "stats"), ("sdiag",)):
        text = c.call(*program)
        text = re.split("statistics by user", text)[0]
        for name, number in re.findall(r"^\s*(\w+)\s*\(\s*\d+\)\s*count:(\d+)", text, re.M):
            found[name] = found.get(name, 0) + int(number)
    return found


class Keeper:
    """The helper that keeps records, on the cluster C, as agent NUMBER's or as collector."""

    def __init__(self, c, number, *arguments):
        self.path = f"{c.directory}/records-{number}"
        self.rest = b""
        self.process = subprocess.Popen(
            [f"{BUILD}/coschedd-slurm", "--records", self.path, "--delay", "0", *arguments],
            env=c.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def tell(self, *lines):
        self.process.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())

    def count(self, word):
        """How many more are WORD."""
        self.rest += os.read(self.process.stdout.fileno(), 1 << 16)
        *lines, self.rest = self.rest.split(b"\n")
        events = [json.loads(line)["event"] for line in lines]
        return events.count(word)

    def waiting(self):
        """Records on disk."""
        kept = {}
        with open(self.path, encoding="ascii") as file:
            for line in map(json.loads, file):
                kept[line["job"], line["end"]] = "text" in line
        return sum(kept.values())

    def end(self):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()


class Keepers:
    """NODES of them, which deliver by themselves or by a collector."""

    def __init__(self, c, nodes, collector):
        self.nodes = [Keeper(c, i) for i in range(nodes)]
        self.last = self.nodes      # who asks Slurm
        if not collector:
            return
        munge = f"{c.root}/run/munge.sock"
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port = str(sock.getsockname()[1])
        self.last = [Keeper(c, "collector", "--collect", port, "--munge-socket", munge)]
        for node in self.nodes:
            node.tell({"cmd": "collector", "to": "127.0.0.1:" + port, "munge": munge})

    def give(self, count, end):
        for i, node in enumerate(self.nodes):
            node.tell(*({"cmd": "record", "job": FIRST + job, "end": end,
                         "text": TEXT.format(job)} for job in range(i, count, len(self.nodes))))

    def until(self, word, count, seconds=600):
        """Read events of the nodes until COUNT are WORD."""
        begin = time.monotonic()
        poll = select.poll() # select() knows 1,024 descriptors
        by_output = {node.process.stdout.fileno(): node for node in self.nodes}
        for output in by_output:
            poll.register(output, select.POLLIN)
        while count > 0:
            assert time.monotonic() - begin < seconds, f"{count} are not {word}"
            for output, _ in poll.poll(1000):
                count -= by_output[output].count(word)

    def waiting(self):
        return sum(keeper.waiting() for keeper in self.last)

    def end(self):
        for keeper in {*self.nodes, *self.last}:
            keeper.end()


def cpu_seconds(c):
    """{daemon: CPU seconds so far}."""
    found = {}
    for name in ("slurmctld", "slurmdbd"):
        with open(f"{c.root}/run/{name}.pid", encoding="ascii") as pid, \
             open(f"/proc/{pid.read().strip()}/stat", encoding="ascii") as stat:
            user, system = stat.read().rpartition(")")[2].split()[11:13]
        found[name] = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return found


def told(c, what, count, seconds, before, cpu):
    after = requests(c)
    used = {name: value - cpu[name] for name, value in cpu_seconds(c).items()}
    print(f"{what:10} {count} records in {seconds:.2f} s: {count / seconds:.0f} a second, load "
          f"{os.getloadavg()[0]:.0f}, CPU seconds of " +
          ", ".join(f"{name} {value:.2f}" for name, value in used.items()))
    asked = {kind: number - before.get(kind, 0) for kind, number in after.items()
             if number > before.get(kind, 0)}
    for kind, number in sorted(asked.items(), key=lambda item: -item[1]):
        print(f"    {number / count:7.3f} a record {number:6} {kind}")
    print(f"    {sum(asked.values()) / count:7.3f} a record {sum(asked.values()):6} in all",
          flush=True)
    return {"name": f"records-{what}", "value": count / seconds, "unit": "1/s",
            "requests": asked, "records": count, "cpu_s": used}


def written(c):
    return int(c.sql(f"SELECT COUNT(*) FROM cosched_job_table WHERE id_job >= {FIRST} AND "
                      f"admin_comment = REPLACE('{TEXT}', '{{}}', id_job - {FIRST})"))


def until_zero(left, seconds=600):
    """Wait until LEFT() is 0; the seconds that it took."""
    begin = time.monotonic()
    while left():
        assert time.monotonic() - begin < seconds, left()
        time.sleep(0.2)
    return time.monotonic() - begin


def measure(c, count, nodes, collector):
    end = int(time.time()) - HOUR_S # slurmctld has forgotten them
    make_rows(c, count, end)
    keepers = Keepers(c, nodes, collector)
    before, cpu = requests(c), cpu_seconds(c)
    keepers.give(count, end)
    rows = [told(c, "recorded", count, until_zero(lambda: count - written(c)), before, cpu)]
    keepers.until("recorded", count)
    before, cpu = requests(c), cpu_seconds(c)
    rows.append(told(c, "let go", count, until_zero(keepers.waiting), before, cpu))
    keepers.end()
    return rows


class Watchers:
    """NODES helpers that watch the settings, as agents start them."""

    def __init__(self, c, nodes, more):
        self.processes = [subprocess.Popen(
            [f"{BUILD}/coschedd-slurm", "--node", f"n{i}", *more], env=c.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) for i in range(nodes)]

    def until(self, text, seconds=300):
        """Wait until each has said TEXT; the seconds that it took."""
        begin, left = time.monotonic(), {p.stdout: b"" for p in self.processes}
        while left:
            assert time.monotonic() - begin < seconds, f"{len(left)} have not heard of {text}"
            poll = select.poll()
            files = {out.fileno(): out for out in left}
            for number in files:
                poll.register(number, select.POLLIN)
            for number, _ in poll.poll(1000):
                out = files[number]
                left[out] += os.read(number, 1 << 16)
                if text.encode() in left[out]:
                    del left[out]
        return time.monotonic() - begin

    def end(self):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            process.wait()


def watch(c, nodes, seconds, more):
    """What NODES ask slurmctld for while nothing changes, and when something does."""
    def phase(what, wait):
        before, cpu, begin = requests(c), cpu_seconds(c), time.monotonic()
        wait()
        took = time.monotonic() - begin
        asked = {kind: number - before.get(kind, 0) for kind, number in requests(c).items()
                 if number > before.get(kind, 0) and kind.startswith(("REQUEST_", "MESSAGE_"))}
        used = cpu_seconds(c)["slurmctld"] - cpu["slurmctld"]
        print(f"{what:8} {took:6.1f} s, {sum(asked.values())} requests, {used:.2f} s of slurmctld: "
              + ", ".join(f"{kind} {number}" for kind, number in asked.items()), flush=True)
        return {"name": f"settings-{what}", "value": sum(asked.values()) / took, "unit": "1/s",
                "requests": asked, "nodes": nodes, "cpu_s": used}

    def change():
        with open(f"{c.root}/etc/extra.conf", encoding="utf-8") as file:
            text = file.read()
        with open(f"{c.root}/etc/extra.conf", "w", encoding="utf-8") as file:
            file.write(text.replace("cosched_policy=corun", "cosched_policy=equal"))
        c.call("scontrol", "reconfigure")
        print(f"all {nodes} know of a change after {watchers.until('policy=equal'):.1f} s")

    begin = time.monotonic()
    watchers = Watchers(c, nodes, more)
    watchers.until("cosched_policy=corun")
    print(f"{nodes} started and told in {time.monotonic() - begin:.1f} s")
    rows = [phase("start", lambda: time.sleep(seconds)), phase("change", change),
            phase("after", lambda: time.sleep(seconds))]
    watchers.end()
    return rows


class Running(Cluster):
    """A cluster that somebody else has started in ROOT."""

    def __init__(self, root):
        super().__init__()
        self.root = root

    def __enter__(self):
        self.directory = self.output = self.root
        lines = subprocess.check_output(["bash", "-c", f". {self.root}/env.sh && env -0"],
                                        text=True)
        self.env = dict(entry.split("=", 1) for entry in lines.split("\0") if "=" in entry)
        return self

    def __exit__(self, *exception):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS, metavar="N", help="[%(default)s]")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="[%(default)s]")
    parser.add_argument("--collector", action="store_true",
                        help="nodes hand records over to one")
    parser.add_argument("--watch", type=int, metavar="S",
                        help="only watch the settings, for S seconds")
    parser.add_argument("--interval", type=int, metavar="S",
                        help="and ask for them each S seconds at least")
    parser.add_argument("--cluster", metavar="DIR", help="one that runs, in DIR")
    parser.add_argument("--json", metavar="FILE", help="write the table there, too")
    options = parser.parse_args()
    need_cluster()
    with Running(options.cluster) if options.cluster else Cluster() as c:
        if options.watch:
            more = ["--interval", str(options.interval)] if options.interval else []
            rows = watch(c, options.nodes, options.watch, more)
        else:
            rows = measure(c, options.records, options.nodes, options.collector)
    path = options.json or f"{BUILD}/bench/bench-records.json"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)


main()
