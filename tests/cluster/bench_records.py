#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""How fast final records come into the accounting of a throw-away cluster, and what Slurm's
daemons are asked for that: records a second, and requests a record by their kind."""

import argparse
import json
import os
import re
import select
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


def sql(c, text):
    return subprocess.run(["mariadb", "--no-defaults", f"--socket={c.root}/run/db.sock", "-N",
                           "-u", "root", "slurm_acct"], input=text, text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def make_rows(c, count, end):
    sql(c, f"DELETE FROM cosched_job_table WHERE id_job >= {FIRST}")
    job = c.sbatch("--partition=normal", "--output=/dev/null", "--wrap=true")
    c.wait_end(job)
    c.wait_state(job, "COMPLETED")
    sql(c, ROWS.format(first=FIRST, start=end - 60, end=end, model=job, last=count - 1))


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
    """The helper that keeps records, on the cluster C."""

    def __init__(self, c):
        self.path = f"{c.directory}/records"
        self.rest = b""
        self.process = subprocess.Popen(
            [f"{BUILD}/coschedd-slurm", "--records", self.path, "--delay", "0"], env=c.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def give(self, count, end):
        lines = "".join(json.dumps({"cmd": "record", "job": FIRST + i, "end": end,
                                    "text": TEXT.format(i)}) + "\n" for i in range(count))
        self.process.stdin.write(lines.encode())

    def until(self, word, count, seconds=600):
        """Read events until COUNT are WORD; the seconds that it took."""
        begin = time.monotonic()
        while count:
            assert time.monotonic() - begin < seconds, f"{count} are not {word}"
            if not select.select([self.process.stdout], [], [], 1)[0]:
                continue
            self.rest += os.read(self.process.stdout.fileno(), 1 << 16)
            *lines, self.rest = self.rest.split(b"\n")
            for event in map(json.loads, lines):
                if event["event"] not in ("kept", "recorded"):
                    print(event)
                count -= event["event"] == word
        return time.monotonic() - begin

    def waiting(self):
        """Records on disk."""
        kept = {}
        with open(self.path, encoding="ascii") as file:
            for line in map(json.loads, file):
                kept[line["job"], line["end"]] = "text" in line
        return sum(kept.values())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def told(c, what, count, seconds, before):
    after = requests(c)
    print(f"{what:10} {count} records in {seconds:.2f} s: {count / seconds:.0f} a second, load "
          f"{os.getloadavg()[0]:.0f}")
    asked = {kind: number - before.get(kind, 0) for kind, number in after.items()
             if number > before.get(kind, 0)}
    for kind, number in sorted(asked.items(), key=lambda item: -item[1]):
        print(f"    {number / count:7.3f} a record {number:6} {kind}")
    print(f"    {sum(asked.values()) / count:7.3f} a record {sum(asked.values()):6} in all",
          flush=True)
    return {"name": f"records-{what}", "value": count / seconds, "unit": "1/s",
            "requests": asked, "records": count}


def measure(c, count):
    end = int(time.time()) - HOUR_S # slurmctld has forgotten them
    make_rows(c, count, end)
    before = requests(c)
    keeper = Keeper(c)
    keeper.give(count, end)
    rows = [told(c, "recorded", count, keeper.until("recorded", count), before)]
    good = int(sql(c, f"SELECT COUNT(*) FROM cosched_job_table WHERE id_job >= {FIRST} AND "
                      f"admin_comment = REPLACE('{TEXT}', '{{}}', id_job - {FIRST})"))
    assert good == count, good
    before, begin = requests(c), time.monotonic()
    while keeper.waiting():
        assert time.monotonic() - begin < 600, keeper.waiting()
        time.sleep(0.05)
    rows.append(told(c, "let go", count, time.monotonic() - begin, before))
    keeper.end()
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
    parser.add_argument("--cluster", metavar="DIR", help="one that runs, in DIR")
    parser.add_argument("--json", metavar="FILE", help="write the table there, too")
    options = parser.parse_args()
    need_cluster()
    with Running(options.cluster) if options.cluster else Cluster() as c:
        rows = measure(c, options.records)
    path = options.json or f"{BUILD}/bench/bench-records.json"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)


main()
