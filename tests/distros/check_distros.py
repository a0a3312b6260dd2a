#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Builds, tests, packages and installs with the compilers and the Slurm of other releases of
Debian (make check-distros; root, debootstrap, network).

usage: check_distros.py [--only STEP,...] [--together N] [--old PACKAGES] [--write FILE]
                        ARCHIVE DIRECTORY [SUITE...]

Each suite has a tree in DIRECTORY, kept for the next time, in which ARCHIVE, of `make dist`, is
unpacked and built, N of them at a time.  What was found is in DIRECTORY/SUITE.json, logs are
DIRECTORY/SUITE.STEP.log, and their rows are put into the table of FILE between its two marks:
others stay.  The last column is the commit: steps of another one do not count."""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time

SOURCE = os.environ["abs_top_srcdir"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from debtree import make_tree, need_debootstrap, run_in  # noqa: E402

SUITES = ("bullseye", "bookworm", "trixie", "sid")
# Of scripts/install-deps, what other targets need; and GCC's sources, of the tree's own release.
LEFT_OUT = re.compile(r"autoconf|automake|libtool|clang|libomp-.*|libclang.*|gcc-.*-source|"
                      r"valgrind|qemu-.*|gcc-aarch64.*|libc6-dev-.*|dejagnu|lintian|"
                      r"python3-hypothesis")
OLDEST, NEWEST = 11, 15     # GCC that libgomp-coop takes
BEGIN, END = "<!-- check-distros -->", "<!-- end of check-distros -->"
INSTALLED = """set -e
coschedctl --version; coschedmodel --version; coschedreport --version; coschedhistory --version
ldd /usr/sbin/coschedd /usr/libexec/coschedule/coschedd-slurm | grep 'not found' && exit 1
test -e $(dirname $(find /usr/lib -name job_submit_lua.so))/spank_cosched.so
"""
# Where the release's own compiler is newer than libgomp-coop takes.
NEWEST_CC = f"$(command -v gcc-{NEWEST} | sed s/^/JOBS_CC=/)"
# Other trees, and whatever else the host does, take their time meanwhile.
PATIENTLY = "COSCHED_TEST_PATIENCE=4 make -j{jobs} "
# Name, heading, and what is run in the build tree.
STEPS = (
    # With the package's flags: ccache has then what the packages need.
    ("build", "builds", "test -e Makefile || eval ../configure "
     "$(DEB_BUILD_MAINT_OPTIONS=hardening=+all dpkg-buildflags --export=configure) "
     f"{NEWEST_CC}; make -j{{jobs}}"),
    ("unit", "unit tests", PATIENTLY + "check-units"),
    ("cluster", "cluster tests", PATIENTLY + "check-cluster"),
    ("packages", "packages", f"export {NEWEST_CC} DEB_BUILD_PROFILES=$("
     "ls -d /usr/share/doc/gcc-*-source >/dev/null 2>&1 || echo pkg.coschedule.site-gcc); "
     "make deb && dpkg --install packages/deb/*.deb && " + INSTALLED),
)
# With --old: from the packages of an older version, made for this release of Debian.
UPGRADE = ("upgrade", "upgrade", "abs_top_srcdir=$(cd ..; pwd) abs_top_builddir=$PWD "
           "../tests/distros/upgrade.py /old packages/deb")


def wanted():
    lines = subprocess.run([SOURCE + "/scripts/install-deps", "--list"], check=True,
                           stdout=subprocess.PIPE, universal_newlines=True).stdout.splitlines()
    return [name for name in (line.split()[0] for line in lines) if not LEFT_OUT.fullmatch(name)]


def output(tree, command):
    return run_in(tree, command, check=True, stdout=subprocess.PIPE).stdout.strip()


def install(tree, log):
    """What building and testing need, as far as the release has it."""
    run_in(tree, "apt-get -q update", check=True, stdout=log, stderr=log)
    known = set(output(tree, "apt-cache pkgnames").split())
    run_in(tree, ["apt-get", "-q", "-y", "--no-install-recommends", "install",
                  "build-essential", "ccache",
                  *(name for name in wanted() if name in known)],
           check=True, stdout=log, stderr=log)
    compiler = int(output(tree, "gcc -dumpversion").split(".")[0])
    if glob.glob(f"{tree}/usr/src/gcc-*/gcc-*.tar.*"):
        return
    if compiler >= OLDEST:
        use = min(compiler, NEWEST)
        run_in(tree, "apt-get -q -y --no-install-recommends install " +
               f"gcc-{use} gcc-{use}-source gfortran-{use}", check=True, stdout=log, stderr=log)
        return
    # Newer than the compiler is as good; the host's.
    newest = max(glob.glob("/usr/src/gcc-*/gcc-*.tar.*"), key=lambda path: [
        int(n) for n in re.findall(r"\d+", os.path.basename(path))])
    folder = tree + os.path.dirname(newest)
    os.makedirs(folder)
    shutil.copy(newest, folder)


def versions(tree):
    """What the table says of the tree."""
    def package(name):
        return re.sub(r"^\d+:|[-+].*", "", output(
            tree, f"dpkg-query -W -f '${{Version}}' {name} 2>/dev/null || true")) or "none"
    return {"Slurm": package("libslurm-dev"), "glibc": package("libc6"),
            "GCC": output(tree, "gcc -dumpfullversion"), "Python": package("python3"),
            "systemd": package("libsystemd-dev"), "LIKWID": package("likwid")}


def state():
    """The commit that is tested, with "+" where files other than the table differ from it."""
    def git(*words):
        return subprocess.run(["git", "-C", SOURCE, *words], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              universal_newlines=True).stdout.strip()
    return (git("rev-parse", "--short=10", "HEAD") or "of a release") + (
        "+" if git("status", "--porcelain", "-uno", "--", ".", ":!docs/versions.md") else "")


def unpack(archive, folder):
    """Files that are as before keep their time: make has not to build them again.  Others have
    the present one, as the archive's may be before that of what was built."""
    now = time.time()
    with tarfile.open(archive) as tar:
        for member in tar:
            path = os.path.join(folder, member.name)
            if not member.isfile():
                os.makedirs(path, exist_ok=True)
                continue
            data = tar.extractfile(member).read()
            if os.path.exists(path):
                with open(path, "rb") as file:
                    if file.read() == data:
                        continue
            with open(path, "wb") as file:
                file.write(data)
            os.chmod(path, member.mode)
            os.utime(path, (now, now))


def run_steps(tree, suite, folder, archive, options):
    """The result of each step: "yes", "no", or what tests say."""
    name = os.path.basename(archive)[:-len(".tar.xz")]
    unpack(archive, f"{tree}/src")
    os.makedirs(f"{tree}/src/{name}/build", exist_ok=True)
    results = {}
    if options.old:
        shutil.rmtree(f"{tree}/old", ignore_errors=True)
        shutil.copytree(options.old, f"{tree}/old")
    for step, _, command in STEPS + ((UPGRADE,) if options.old else ()):
        if options.only and step not in options.only:
            continue
        begin = time.monotonic()
        with open(f"{folder}/{suite}.{step}.log", "w", encoding="utf-8") as log:
            done = run_in(tree, f"set -e; cd /src/{name}/build; " + command.format(
                jobs=len(os.sched_getaffinity(0))), stdout=log, stderr=subprocess.STDOUT)
        with open(log.name, encoding="utf-8", errors="replace") as log:
            text = log.read()
        counts = dict(re.findall(r"^# (PASS|SKIP|FAIL|ERROR): +(\d+)", text, re.M))
        good = done.returncode == 0 and not (step == "build" and " warning: " in text)
        results[step] = "yes" if good else "no"
        if counts:
            results[step] = counts["PASS"] + " pass" + "".join(
                f", {counts[kind]} {word}" for kind, word in (
                    ("SKIP", "skipped"), ("FAIL", "fail"), ("ERROR", "fail"))
                if int(counts.get(kind, 0)))
        print(f"check-distros: {suite}: {step}: {results[step]} "
              f"({time.monotonic() - begin:.0f} s)", flush=True)
        if not good:
            failed = re.findall(r"^(?:FAIL|ERROR): .*|.*\b(?:error|warning):.*", text, re.M)
            print(*(failed or text.splitlines())[-12:], sep="\n", flush=True)
        if done.returncode and step == "build":
            break
    return results


def check(suite, folder, archive, options):
    """False when a step of SUITE fails."""
    print(f"check-distros: {suite}", flush=True)
    tree = make_tree(folder, suite)
    with open(f"{folder}/{suite}.install.log", "w", encoding="utf-8") as log:
        install(tree, log)
    path = f"{folder}/{suite}.json"
    found = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    if found.get("commit") != options.state:
        found = {"commit": options.state}
    results = run_steps(tree, suite, folder, archive, options)
    found.update(versions(tree), **results)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
    return not any("fail" in value or value == "no" for value in results.values())


def table(folder, before=""):
    """Rows of all suites: what was found, else those of the table BEFORE."""
    kept = {line.split("|")[1].strip(): line for line in before.splitlines() if line.strip()}
    found = {}
    for suite in SUITES:
        if os.path.exists(f"{folder}/{suite}.json"):
            with open(f"{folder}/{suite}.json", encoding="utf-8") as file:
                found[suite] = json.load(file)
    what = ("Slurm", "glibc", "GCC", "Python", "systemd", "LIKWID")
    lines = ["| Debian | " + " | ".join(what) + " | " +
             " | ".join(heading for _, heading, _ in STEPS) + " | commit |",
             "|" + "---|" * (2 + len(what) + len(STEPS))]
    for suite in SUITES:
        if suite in found:
            lines.append(f"| {suite} | " + " | ".join(found[suite].get(key, "not run") for key in (
                *what, *(step for step, _, _ in STEPS), "commit")) + " |")
        elif suite in kept:
            lines.append(kept[suite])
    return "\n".join(lines)


def write(path, folder):
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    old, after = rest.split(END)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{table(folder, old)}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(prog="check_distros.py", description=__doc__)
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--together", type=int, default=1)
    parser.add_argument("--old")
    parser.add_argument("--write")
    parser.add_argument("archive")
    parser.add_argument("directory")
    parser.add_argument("suites", nargs="*")
    args = parser.parse_args()
    need_debootstrap()
    folder = os.path.abspath(args.directory)
    args.state = state()
    with concurrent.futures.ThreadPoolExecutor(args.together) as pool:
        good = list(pool.map(lambda suite: check(
            suite, folder, os.path.abspath(args.archive), args), args.suites or SUITES))
    print(table(folder))
    if args.write:
        write(args.write, folder)
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
