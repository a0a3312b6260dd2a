#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedd-slurm --records: final records are kept on disk and brought into an
accounting of the test's own, whatever happens to either."""

import json
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import BUILD, need
from slurmhelper import END, TEXT, Keeper, need_fake

SHIM = os.path.join(BUILD, "tests", "support", ".libs", "shifted.so")
TRIES_MOST = 150 # before a record is given up


def row(job, comment="cosched/1 state=running", end=END):
    return (job, job, end, comment)


def check_delivery():
    """Kept, then in the accounting and read back, and away when slurmctld has
    forgotten the job."""
    with Keeper() as k:
        k.rows(row(5))
        k.write("config", "1\n")
        k.record(5)
        k.expect(("kept", 5))
        assert (5, END) in k.kept()
        k.expect(("recorded", 5))
        assert k.comment("5") == TEXT
        assert k.lines("updates") == [], "slurmctld is not asked any more"
        k.wait_until("its removal", lambda: not k.kept())
        # It is known already: nothing is changed, and the agent is told again.
        k.record(5)
        k.expect(("kept", 5), ("recorded", 5))
        assert len(k.lines("modified")) == 1, k.lines("modified")
        # Not there yet, then there.
        for job, early in enumerate(((), row(11, end="Unknown"), row(12, "", "Unknown")), 10):
            k.rows(*([early] if early else []))
            asked = len(k.lines("sacct.asked"))
            k.record(job)
            k.expect(("kept", job))
            k.wait_until("tries", lambda n=asked: len(k.lines("sacct.asked")) > n + 2)
            k.rows(row(job))
            k.expect(("recorded", job))
        assert k.end() == 0


def check_batch():
    """Many at a time: few looks at the accounting, each changed once."""
    jobs = range(100, 500)
    with Keeper() as k:
        k.rows(*map(row, jobs))
        k.write("sacct.waits", "")
        k.record(99)
        k.expect(("kept", 99))
        k.wait_until("the first courier", lambda: k.lines("sacct.asked"))
        # As one write: what is there is synced together.
        k.tell("\n".join(json.dumps({"cmd": "record", "job": j, "text": f"{TEXT} n={j}",
                                     "end": END}) for j in jobs))
        k.expect(*(("kept", j) for j in jobs))
        k.remove("sacct.waits")
        k.expect(*(("recorded", j) for j in jobs))
        assert all(k.comment(str(j)) == f"{TEXT} n={j}" for j in jobs)
        assert len(k.lines("modified")) == len(jobs)
        with_all = [line for line in k.lines("sacct.asked") if "499" in line]
        assert len(with_all) <= 4, (len(with_all), "looks for 400 records")
        assert len(k.lines("connections")) <= 12 * len(with_all), k.lines("connections")


def check_runs():
    """A run of a requeued job has its own record, an element of an array, too;
    other clusters' and older jobs of that number keep theirs."""
    with Keeper() as k:
        k.rows((5, 5, END - 9000, END - 8000, "old"), (5, 5, END - 100, END - 50, "running"),
               (5, 5, END - 40, END, "running"), (6, "6_9", END - 10, END, "x"),
               (60, "6_1", END - 10, END, "y"), (55, 55, END - 10, END, "z"))
        k.record(5, TEXT + " run=1", END - 49)
        k.record(5, TEXT + " run=2", END + 1)
        k.record(6)
        k.expect(("kept", 5), ("kept", 5), ("kept", 6),
                 ("recorded", 5), ("recorded", 5), ("recorded", 6))
        assert k.comments() == {("5", str(END - 8000)): "old",
                                ("5", str(END - 50)): TEXT + " run=1",
                                ("5", str(END)): TEXT + " run=2", ("6_9", str(END)): TEXT,
                                ("6_1", str(END)): "y", ("55", str(END)): "z"}


def check_unheard():
    """A run of which slurmdbd has heard the end alone, as its job was requeued at once, has its own
    record, and the next run's stays what it is."""
    with Keeper() as k:
        k.rows((5, 5, "None", END - 3, "REQUEUED", "n1", "cosched/1 state=running"),
               (5, 5, END + 6, END + 10, "COMPLETED", "n1", "cosched/1 state=running"))
        for end in (END, END + 10):
            k.record(5, f"{TEXT} run={end}", end)
            k.expect(("kept", 5), ("recorded", 5))
        assert k.comments() == {("5", str(END - 3)): f"{TEXT} run={END}",
                                ("5", str(END + 10)): f"{TEXT} run={END + 10}"}, k.comments()


def check_forgotten():
    """slurmctld was killed before it had saved that the job began, and heard later that it is over:
    the job's only row says that it was cancelled in the queue, with or without interim record."""
    with Keeper() as k:
        k.rows((5, 5, "None", END + 15, "CANCELLED", "None assigned", ""),
               (6, 6, "None", END + 15, "CANCELLED", "None assigned", "cosched/1 state=running"))
        k.record(5)
        k.record(6)
        k.expect(("kept", 5), ("kept", 6), ("recorded", 5), ("recorded", 6))
        assert set(k.comments().values()) == {TEXT}, k.comments()


def check_outage():
    """While the accounting does not answer nothing is given up, and all is
    delivered when it does."""
    with Keeper() as k:
        k.rows(*map(row, (5, 6)))
        k.write("sacct.fails", "\n sacct: error: no slurmdbd\nmore\n" + "x" * 100000 + "\n")
        k.record(5)
        k.expect(("kept", 5))
        event = k.event()
        assert event == {"event": "waiting", "count": 1,
                         "error": "sacct: error: no slurmdbd"}, event
        k.wait_until("tries", lambda: len(k.lines("sacct.asked")) > 3)
        k.record(6)
        k.expect(("kept", 6)) # and the outage is told once
        # The node restarts meanwhile.
        k.kill()
        k.start()
        assert k.event()["event"] == "waiting"
        assert k.kept() == {(5, END), (6, END)}
        k.remove("sacct.fails")
        k.expect(("recorded", 5), ("recorded", 6))
    with Keeper() as k:
        k.rows(row(5))
        k.write("no-dbd", "") # sacct answers, but nothing can be changed
        k.record(5)
        k.expect(("kept", 5))
        k.wait_until("tries", lambda: len(k.lines("sacct.asked")) > 5)
        k.remove("no-dbd")
        k.expect(("recorded", 5))
    with Keeper(programs=False) as k:
        k.record(5)
        k.expect(("kept", 5), ("waiting", None))


def check_refused():
    """Without any accounting nothing waits."""
    with Keeper() as k:
        k.write("sacct.fails", "Slurm accounting storage is disabled\n")
        k.record(5)
        k.expect(("kept", 5), ("failed", 5))
        k.wait_until("its removal", lambda: not k.kept())


def check_hanging():
    """An accounting that hangs keeps no record from being kept, nor the helper from
    ending with the agent."""
    with Keeper() as k:
        k.write("sacct.waits", "")
        k.record(5)
        k.expect(("kept", 5))
        k.wait_until("the courier", lambda: k.lines("sacct.asked"))
        for job in range(6, 20):
            k.record(job)
            k.expect(("kept", job))
        assert k.end() == 0
        assert len(k.kept()) == 15
        k.remove("sacct.waits")


def check_overwritten():
    """slurmctld sends its own record again when it restarts: looked for once
    more when it has forgotten the job."""
    with Keeper() as k:
        k.write("config", "1\n")
        k.write("age", "1000000000") # so that the first look is not the last
        now = int(time.time())
        k.rows((5, 5, now - 100, now - 10, "x"), (6, 6, now - 100, now - 10, "x"))
        k.record(5, end=now)
        k.expect(("kept", 5), ("recorded", 5))
        k.wait_until("age", lambda: len(k.lines("asked")) > 0)
        k.record(6, end=now)
        k.expect(("kept", 6), ("recorded", 6))
        k.wait_until("age, and no courier", lambda: len(k.lines("asked")) > 1)
        assert k.kept() == {(5, now), (6, now)}
        k.write("age", "0")
        k.rows((5, 5, now - 100, now - 10, "x"), (6, 6, now - 100, now - 10, TEXT))
        # A helper that begins anew looks again.
        k.kill()
        k.start()
        k.expect(("recorded", 5), ("recorded", 6))
        k.wait_until("second looks", lambda: not k.kept())
        assert [line.split()[0] for line in k.lines("modified")] == ["5", "6", "5"], \
            (k.lines("modified"), k.lines("rows"), now)


def check_remembered():
    """Until slurmctld has forgotten the run, and has nothing more for slurmdbd, the
    record is not let go: whatever it sends in between is mended."""
    with Keeper() as k:
        k.write("config", "1\n")
        k.write("age", "0")
        k.write("known", f"5 {END - 100}\n6 {END + 50}\n")
        k.rows(row(5), row(6))
        k.record(5)
        k.record(6)
        k.expect(("kept", 5), ("kept", 6), ("recorded", 5), ("recorded", 6))
        # Job 6 was requeued: its next run is no reason to keep this one's record.
        k.wait_until("its removal", lambda: k.kept() == {(5, END)})
        for name, text in (("known", ""), ("queue", "0\n"), ("config", "2\n")):
            asked = len(k.lines("known.asked"))
            k.rows(row(5)) # slurmctld restarts, or slurmdbd is back
            k.wait_until("its mend", lambda: k.comment("5") == TEXT)
            k.wait_until("next look", lambda: "5" in k.lines("known.asked")[asked:] or
                         name != "known")
            assert k.kept() == {(5, END)}, name
            if name == "known":
                k.write("queue", "1\n") # not sent so far
            elif name == "queue":
                k.remove("config") # slurmctld does not answer
            k.write(name, text)
        k.wait_until("its removal", lambda: not k.kept())
        assert k.comment("5") == TEXT and k.event(0) is None
        assert k.lines("known.asked").count("6") == 1, k.lines("known.asked")


def check_killed_controller():
    """A slurmctld that is killed comes back with what it knew a while ago: a record is let go
    only while the same one runs, some time after it has forgotten the job."""
    with Keeper(delay="3600") as k: # so that the last look is hours away
        k.write("config", "1\n")
        k.write("age", "0")
        k.rows(row(5), row(6))
        for job in (5, 6):
            k.record(job)
            k.expect(("kept", job), ("recorded", job))
            k.wait_until("its look", lambda j=job: str(j) in k.lines("known.asked"))
        k.record(7)
        k.expect(("kept", 7))
        k.wait_until("one more courier", lambda: "7" in k.lines("sacct.asked")[-1])
        assert k.end() == 0
        assert k.kept() == {(5, END), (6, END), (7, END)}
    with Keeper() as k:
        k.write("config", "1\n")
        k.write("age", "0")
        k.write("boot", "1 1 2 3 3\n") # of the courier that writes it, and of four looks
        k.rows(row(5))
        k.record(5)
        k.expect(("kept", 5), ("recorded", 5))
        k.wait_until("its removal", lambda: not k.kept())
        assert k.lines("known.asked") == ["5"] * 3, k.lines("known.asked")


def check_cost():
    """What Slurm's daemons are asked for: 500 records need 500 requests to change them, and some
    more; one that slurmctld has not forgotten is not let go."""
    jobs = range(100, 600)
    with Keeper() as k:
        k.write("config", "1\n")
        k.write("age", "0")
        k.rows(*map(row, jobs))
        k.write("known", f"300 {END - 100}\n")
        k.write("sacct.waits", "")
        k.record(99)
        k.expect(("kept", 99))
        k.wait_until("the first courier", lambda: k.lines("sacct.asked"))
        k.tell("\n".join(json.dumps({"cmd": "record", "job": j, "text": TEXT, "end": END})
                         for j in jobs))
        k.expect(*(("kept", j) for j in jobs))
        k.remove("sacct.waits")
        k.expect(*(("recorded", j) for j in jobs))
        k.wait_until("their removal", lambda: k.kept() == {(99, END), (300, END)})
        asked = {name: len(k.lines(name)) for name in (
            "modified", "known.asked", "asked", "statistics.asked", "sacct.asked",
            "connections", "commits")}
        # A connection has a beginning and an end, sacct has one, too.
        asked["sacct.asked"] *= 3
        asked["connections"] *= 2
        print(asked)
        assert asked["modified"] == len(jobs), asked
        # The one is asked for again and again.
        assert sum(asked.values()) - k.lines("known.asked").count("300") <= 700, asked
        k.write("known", "")
        k.wait_until("its removal", lambda: k.kept() == {(99, END)})


def check_requeued():
    """The run that a job did not begin, because it was cancelled while it waited for that, has no
    interim record of the run before; nor has the job while it waits."""
    running = "cosched/1 state=running policy=corun"
    never = "cosched/1 state=final started=0"
    # All in the second of the run's end.
    with Keeper() as k:
        k.write("config", "1\n")
        k.rows((5, 5, END - 100, END, "REQUEUED", "n1", running),
               (5, 5, END, END, "CANCELLED by 0", "None assigned", running))
        k.record(5)
        k.expect(("kept", 5), ("recorded", 5))
        assert [line.split("|")[7] for line in k.lines("rows")] == [TEXT, never], k.lines("rows")
    with Keeper() as k:
        k.write("config", "1\n")
        k.write("age", "0")
        k.write("queue", "1\n") # nothing is settled
        k.write("known", f"5 0 PENDING {running}\n6 {END + 9} COMPLETED {running}\n"
                         "7 0 PENDING a note\n")
        k.rows(*((job, job, END - 100, END, "REQUEUED", "n1", running) for job in (5, 6, 7)))
        for job in (5, 6, 7):
            k.record(job)
            k.expect(("kept", job), ("recorded", job))
        assert k.lines("updates") == [f"5 {never}"], k.lines("updates")
        # It is cancelled all the same before that came, and slurmctld remembers it.
        k.write("known", f"5 {END + 5} CANCELLED {running}\n")
        k.rows(*((job, job, END - 100, END, "REQUEUED", "n1", TEXT) for job in (5, 6, 7)),
               (5, 5, END + 5, END + 5, "CANCELLED", "None assigned", running))
        k.write("queue", "0\n")
        k.wait_until("its record", lambda: k.comment("5", END + 5) == never)
        k.wait_until("what is settled", lambda: k.kept() == {(5, END)})
        k.write("known", "")
        k.wait_until("its removal", lambda: (5, END) not in k.kept())


def check_absent_controller():
    """Requeued jobs do not wait for a slurmctld that does not answer, each anew."""
    with Keeper() as k:
        k.remove("config")
        k.rows(*((job, job, END - 100, END, "REQUEUED", "n1", "x") for job in (5, 6)))
        for job in (5, 6):
            k.record(job)
            k.expect(("kept", job), ("recorded", job))
        assert k.lines("known.asked") == []


def check_day():
    """More tries than a record has, over a day without slurmctld, prove nothing: it will still tell
    slurmdbd of the job."""
    k = Keeper()
    clock = k.path("clock")
    k.environment |= {"LD_PRELOAD": f"{SHIM} {k.environment['LD_PRELOAD']}",
                      "SHIFTED_CLOCK": clock}

    def courier():
        with open(f"/proc/{k.process.pid}/task/{k.process.pid}/children", encoding="ascii") as f:
            return f.read()

    def later(tries):
        """Ten minutes after the last try; the helper is woken, as it sleeps by the real clock."""
        k.wait_until("the end of a try", lambda: len(k.lines("sacct.asked")) > tries
                     and not courier())
        # The helper has it mapped: a file that is empty for a moment would be its end.
        with open(clock, "r+b") as file:
            file.write(struct.pack("qq", 0, 601 * (tries + 1)))
        k.tell("x")

    with open(clock, "wb") as file:
        file.write(bytes(16))
    with k:
        k.remove("config")
        k.record(5)
        k.expect(("kept", 5))
        for tries in range(TRIES_MOST + 2):
            later(tries)
        assert k.kept() == {(5, END)}
        k.write("config", "1\n")
        k.rows(row(5))
        later(TRIES_MOST + 2)
        k.expect(("recorded", 5))


def check_dying():
    """Slurm's plugin ends its process in a call that cannot be resolved: the courier goes on, and
    the record is written at its next look."""
    with Keeper() as k:
        k.rows(row(5))
        k.write("dies", "")
        k.record(5)
        k.expect(("kept", 5), ("recorded", 5))
        assert not os.path.exists(k.path("dies"))
        assert k.comment("5") == TEXT


def check_delay():
    """A record waits for its time, however the clock was set since its end, and
    does not keep the helper from ending with the agent."""
    for end in (time.time() + 86400, time.time()):
        with Keeper(delay="3600") as k:
            k.record(5, end=int(end))
            k.expect(("kept", 5))
            assert k.event(0.2) is None
            assert k.lines("sacct.asked") == []
            assert k.end() == 0
    # A day ahead of the clock, it still waits for the delay alone.
    with Keeper(delay="1") as k:
        tomorrow = int(time.time()) + 86400
        k.rows((5, 5, tomorrow - 100, tomorrow, "x"))
        k.record(5, end=tomorrow)
        k.expect(("kept", 5), ("recorded", 5))


def check_garbage():
    good = {"cmd": "record", "job": 5, "text": TEXT, "end": END}
    with Keeper() as k:
        for line in ["", "x", "[]", "{}", b"\xff\xfe", {**good, "job": 0},
                     {**good, "job": -1}, {**good, "job": 1 << 32}, {**good, "job": "5"},
                     {**good, "text": 5}, {**good, "text": ""}, {**good, "text": "x" * 1001},
                     {**good, "text": 'a"b'}, {**good, "text": "a'b"}, {**good, "text": "a\\b"},
                     {**good, "text": "a\nb"}, {**good, "text": "a|b"}, {**good, "end": "now"},
                     {**good, "end": -1}, {"cmd": "dance", "job": 5}, "{" * 5000]:
            k.tell(json.dumps(line) if isinstance(line, dict) else line)
            complaint = k.complaint()
            assert complaint.startswith("coschedd-slurm: refused: "), complaint
        k.tell(b"x" * 200000) # no line at all: dropped in pieces
        assert "refused" in k.complaint()
        assert not k.kept() and k.lines("sacct.asked") == []
        # What sacct may say instead of rows.
        k.write("rows", "5\n|\n||||||\n5|5\n5|" + "x" * 40 + "|fake|1|2|FAILED|n1|x\n"
                "5||fake|1|2|FAILED|n1|\nx|5|fake|1|2|FAILED|n1|x\n5|5|" + "y" * 200 +
                "|1|2|FAILED|n1|x\n5x|5|fake|1|2|FAILED|n1|x\n5|5|fake|1|2|x\n" +
                "z" * 100000 + "\n")
        k.tell(json.dumps(good))
        k.expect(("kept", 5))
        k.wait_until("looks", lambda: len(k.lines("sacct.asked")) > 2)
        assert k.lines("modified") == []


def check_file():
    """The file: half a line, garbage, what is no file of ours; it has one helper."""
    with Keeper() as k:
        k.kill()
        os.makedirs(k.path("sub"), exist_ok=True)
        line = json.dumps({"job": 5, "end": END, "text": "old"})
        k.write("sub/records", "\n".join([
            line, line.replace("old", TEXT), "garbage", '{"job":6,"end":1,"text":"gone"}',
            '{"job":6,"end":1}', '{"job":0,"end":1,"text":"x"}', '{"job":7,"end":1,"te']))
        k.write("sacct.fails", "away\n")
        k.start()
        assert k.event()["count"] == 1
        assert [json.loads(line) for line in k.lines("sub/records")] == [
            {"job": 5, "end": END, "text": TEXT}], k.lines("sub/records")
        # A second helper on the same file keeps nothing, and says so.
        with Keeper() as other:
            other.kill()
            other.arguments = k.arguments
            other.start()
            event = other.event()
            assert event["event"] == "unkept" and "another" in event["error"], event
            assert other.process.wait(60) == 1
        assert k.kept() == {(5, END)}
        for make in (os.mkfifo, lambda path: os.symlink("/etc/passwd", path)):
            k.kill()
            os.unlink(k.path("sub/records"))
            make(k.path("sub/records"))
            k.start()
            k.record(8)
            k.expect(("kept", 8), ("waiting", None))
            assert k.kept() == {(8, END)}
        k.kill()
        os.unlink(k.path("sub/records"))
        os.mkdir(k.path("sub/records"))
        k.start()
        event = k.event()
        assert event["event"] == "unkept", event
        # It serves all the same, and delivers.
        k.rows(row(8))
        k.remove("sacct.fails")
        k.record(8)
        k.expect(("recorded", 8))


def main():
    need_fake()
    need("tests/support/.libs/shifted.so")
    check_delivery()
    check_batch()
    check_runs()
    check_unheard()
    check_forgotten()
    check_outage()
    check_refused()
    check_hanging()
    check_overwritten()
    check_remembered()
    check_killed_controller()
    check_cost()
    check_requeued()
    check_absent_controller()
    check_day()
    check_dying()
    check_delay()
    check_garbage()
    check_file()


main()
