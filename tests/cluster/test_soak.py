#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the soak says of jobs: each fault of theirs is told, and nothing else."""

import subprocess
import unittest

from soak_jobs import HEAD, TAIL, Soaked
from soak_node import narrowed

BEGIN = "begin restarts=0 cosched=3 at=100\n"
AGAIN = "begin restarts=1 cosched=3 at=120\n"
END = "PASS ep\nend\n"


class Job(Soaked):
    """One with this output, to which this was done."""

    def __init__(self, text, *done):
        super().__init__("3", "ep", 61001, None)
        self.output_text, self.done = text, list(done)

    def text(self):
        return self.output_text


class Judgement(unittest.TestCase):
    def test_good(self):
        self.assertIsNone(Job(BEGIN + END).problem("COMPLETED"))
        self.assertIsNone(Job(BEGIN, (101, "scancel")).problem("CANCELLED by 0"))

    def test_state(self):
        self.assertIn("is FAILED", Job(BEGIN + END).problem("FAILED"))
        self.assertIn("is CANCELLED", Job(BEGIN + END).problem("CANCELLED by 0"))
        self.assertIn("end", Job(BEGIN + "PASS ep\n").problem("COMPLETED"))
        self.assertIn("0 of 1", Job(BEGIN + "end\n").problem("COMPLETED"))

    def test_program_that_fails(self):
        bad = BEGIN + "BAD 143 at=105 from ep\n"
        self.assertTrue(Job(bad + END).problem("COMPLETED"))
        for what in ("scancel", "requeue"):
            self.assertTrue(Job(bad, (106.5, what)).bad(), "before it was ended")
            self.assertIsNone(Job(bad, (105.5, what)).bad())
        self.assertTrue(Job(bad, (105, "suspend")).bad())

    def test_run_after_a_requeue(self):
        text = BEGIN + "BAD 143 at=105 from ep\n" + AGAIN
        self.assertIsNone(Job(text + END, (105.5, "requeue")).problem("COMPLETED"))
        self.assertIn("at=122", Job(text + "BAD 1 at=122 from ep\n",
                                    (105.5, "requeue")).problem("FAILED"))

    def test_nothing_excuses_a_wrong_result(self):
        for word in ("WRONG [1] [2]", "FAIL ep"):
            self.assertEqual(Job(BEGIN + word, (101, "scancel")).problem("CANCELLED"),
                             word)

    def test_over(self):
        requeued, cancelled = {"state": "REQUEUED"}, {"state": "CANCELLED by 0"}
        for job in Job(BEGIN), Job(BEGIN, (101, "requeue"), (102, "scancel")):
            self.assertFalse(job.is_over(requeued))
            self.assertTrue(job.is_over(cancelled))
        self.assertTrue(job.is_over(None))
        self.assertFalse(Job(BEGIN, (101, "requeue")).is_over(None))

    def test_steps(self):
        text = BEGIN + "RETRY at=105: srun: error\n"
        self.assertEqual(Job(text).retries(), [105])
        self.assertEqual(Job(text, (104, "requeue")).retries(), [])
        self.assertIsNone(Job(text + END).problem("COMPLETED"))

    def test_script(self):
        script = (HEAD + "run true\nrun sh -c 'exit 7'\n" + TAIL).format(jobs=".")
        done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, text=True,
                              check=False, env={"COSCHED_JOB": "3"})
        job = Job(done.stdout)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(job.admitted() and job.began())
        self.assertRegex(job.bad(), r"^BAD 7 at=\d+ from sh -c exit 7$")


class Node(unittest.TestCase):
    def test_narrowed(self):
        """A library of ours has a thread on each CPU, without an agent, too."""
        everything, apart = {0, 1}, {7: {0}, 8: {1}}
        self.assertEqual(narrowed(apart, everything, True), [])
        self.assertEqual(narrowed(apart, everything, False), [(7, [0]), (8, [1])])
        self.assertEqual(narrowed({7: {1}, 8: {1}}, everything, True), [(7, [1]), (8, [1])])
        self.assertEqual(narrowed({7: {0, 1}, 8: {1}}, everything, False), [(8, [1])])
        self.assertEqual(narrowed({7: {0, 1}}, everything, False), [])


if __name__ == "__main__":
    unittest.main()
