# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""gdb commands for programs that run under the cooperative libgomp.

    (gdb) source coschedule.py
    (gdb) cosched tasks             user-level tasks, and where they are
    (gdb) cosched bt all            backtraces of all of them
    (gdb) cosched bt 3 5            of tasks 3 and 5
    (gdb) cosched bt 3 full         with local variables

gdb knows kernel threads only.  A task that runs is what its worker's thread
shows; one that is suspended exists nowhere but on its stack, and the donor that
gdb shows in its place sleeps.  These commands unwind suspended tasks from their
saved stack pointers, in live processes and in core files.  Thread-local
variables that are printed meanwhile are those of the selected thread.
"""

import re

import gdb
from gdb.unwinder import Unwinder, register_unwinder

# What coop_switch leaves on the stack (config/coop/switch-CPU.S): words, the
# places of registers, the program counter last.
LAYOUTS = {
    "i386:x86-64": (8, {"r15": 1, "r14": 2, "r13": 3, "r12": 4, "rbx": 5,
                        "rbp": 6, "rip": 7}, "rsp"),
    "aarch64": (22, {"x29": 0, "x30": 1,
                     **{f"x{n}": n - 17 for n in range(19, 29)},
                     "pc": 21}, "sp"),
}


class FrameId:
    """What gdb tells frames apart by."""

    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class TaskUnwinder(Unwinder):
    """Makes the frames of a suspended task follow the innermost one."""

    def __init__(self):
        super().__init__("coschedule")
        self.sp = None
        self.innermost = None

    def __call__(self, pending):
        if self.sp is None:
            return None
        words, places, stack = LAYOUTS[pending.architecture().name()]
        # Functions inlined into the innermost one have frames of their own,
        # but the same stack pointer.
        here = int(pending.read_register(stack))
        if self.innermost is None:
            self.innermost = here
        if here != self.innermost:
            return None
        pointer = gdb.lookup_type("unsigned long").pointer()
        frame = gdb.Value(self.sp).cast(pointer)
        pc = next(n for n in ("rip", "pc") if n in places)
        unwound = pending.create_unwind_info(
            FrameId(gdb.Value(self.sp), frame[places[pc]]))
        for register, place in places.items():
            kind = pending.read_register(register).type
            unwound.add_saved_register(register, frame[place].cast(kind))
        kind = pending.read_register(stack).type
        unwound.add_saved_register(
            stack, gdb.Value(self.sp + 8 * words).cast(kind))
        return unwound


class suspended:
    """with suspended(sp): frames from first_frame() on are those of the
    task; those before are the selected thread's."""

    def __init__(self, sp):
        self.sp = sp

    def __enter__(self):
        unwinder.sp = self.sp
        unwinder.innermost = None
        gdb.invalidate_cached_frames()

    def __exit__(self, *_):
        unwinder.sp = None
        gdb.invalidate_cached_frames()


def first_frame():
    """The innermost frame of the task, and its level."""
    frame = gdb.newest_frame()
    words, _, stack = LAYOUTS[frame.architecture().name()]
    level = 0
    while (frame is not None
           and int(frame.read_register(stack)) != unwinder.sp + 8 * words):
        frame = frame.older()
        level += 1
    return frame, level


class Task:
    """One struct coop_ult."""

    def __init__(self, value):
        self.value = value
        self.address = int(value)
        self.id = int(value["id"])
        self.sp = int(value["sp"])
        self.root = bool(value["root"])
        self.worker = None if self.sp else worker_of(self.address)

    def number(self):
        """Its number in the team, as omp_get_thread_num says."""
        thread = self.value["thread"]
        return int(thread["ts"]["team_id"]) if int(thread) else 0

    def name(self):
        return "initial thread" if self.root else f"thread {self.number()}"

    def state(self):
        if self.worker is not None:
            w = self.worker
            return (f"runs on worker {int(w['index'])}, CPU {int(w['cpu'])}, "
                    f"LLC domain {int(w['node'])}, LWP {int(w['tid'])}")
        if not self.sp:
            return "ended or about to run"
        with suspended(self.sp):
            return f"suspended in {program_function()}"

    def backtrace(self, arguments):
        if self.worker is not None:
            return thread_backtrace(int(self.worker["tid"]), arguments)
        if not self.sp:
            return "(no frames)\n"
        with suspended(self.sp):
            first = first_frame()[1]
            text = gdb.execute(f"backtrace {arguments}", to_string=True)
        text = re.split(rf"(?m)^(?=#{first} )", text, maxsplit=1)
        return re.sub(r"(?m)^#(\d+) *",
                      lambda m: f"#{int(m[1]) - first}".ljust(4),
                      text[1] if len(text) > 1 else "")


def worker_of(address):
    """The struct coop_worker that runs the task at ADDRESS, or None."""
    workers = gdb.parse_and_eval("coop_workers")
    spares = workers.type.range()[1] + 1 - 256
    for first, count in ((0, "coop_nworkers"), (spares, "coop_nspares")):
        for i in range(int(gdb.parse_and_eval(count))):
            if int(workers[first + i]["running"]) == address:
                return workers[first + i]
    return None


def program_function():
    """The innermost function that is not libgomp's."""
    frame = first_frame()[0]
    while frame is not None and frame.is_valid():
        table = frame.find_sal().symtab
        library = gdb.solib_name(frame.pc()) or ""
        if "libgomp" not in library:
            return (frame.name() or hex(frame.pc())) + (
                f" at {table.filename}:{frame.find_sal().line}" if table
                else "")
        frame = frame.older()
    return "libgomp"


def thread_backtrace(tid, arguments):
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == tid:
            selected = gdb.selected_thread()
            thread.switch()
            text = gdb.execute(f"backtrace {arguments}", to_string=True)
            selected.switch()
            return text
    return f"(no thread with LWP {tid})\n"


def tasks():
    """The user-level tasks on the list of stacks."""
    try:
        entries = gdb.parse_and_eval("coop_stack_list")
        count = int(gdb.parse_and_eval("coop_stack_count"))
    except gdb.error as error:
        raise gdb.GdbError(
            "The cooperative libgomp is not loaded, or was built without "
            f"debugging information: {error}")
    found = [entries[i]["ult"] for i in range(count)]
    return [Task(u) for u in found if str(u["kind"]) == "COOP_ULT"]


class Cosched(gdb.Command):
    """User-level tasks of the cooperative libgomp."""

    def __init__(self):
        super().__init__("cosched", gdb.COMMAND_STACK, prefix=True)


class Tasks(gdb.Command):
    """cosched tasks: list user-level tasks and where they are."""

    def __init__(self):
        super().__init__("cosched tasks", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        for task in tasks():
            print(f"{task.id:6}  {task.name():16} {task.state()}")


class Backtrace(gdb.Command):
    """cosched bt all|ID...: backtraces of user-level tasks.
Other arguments, such as full, go to gdb's backtrace."""

    def __init__(self):
        super().__init__("cosched bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        wanted = {int(w) for w in words if w.isdigit()}
        rest = " ".join(w for w in words if not w.isdigit() and w != "all")
        if not wanted and "all" not in words:
            raise gdb.GdbError("cosched bt: which? all, or numbers that "
                               "'cosched tasks' lists")
        found = tasks()
        missing = wanted - {task.id for task in found}
        if missing:
            raise gdb.GdbError(f"cosched bt: no task {min(missing)}")
        for task in found:
            if task.id in wanted or "all" in words:
                print(f"Task {task.id} ({task.name()}), {task.state()}:")
                print(task.backtrace(rest))


unwinder = TaskUnwinder()
register_unwinder(None, unwinder, replace=True)
Cosched()
Tasks()
Backtrace()
