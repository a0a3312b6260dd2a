#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The recipes for Spack and EasyBuild are what these read, give configure only options that it
has, and name files that `make install` makes; the modulefile does what it says."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import types

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import SOURCE  # noqa: E402

FOLDER = os.path.join(SOURCE, "packaging", "recipes")
FILLED = {"VERSION": "1.2.3", "SHA256": "0" * 64, "bindir": "/opt/c/bin", "mandir": "/opt/c/man",
          "datadir": "/opt/c/share"}
MODULECMD = ("/usr/lib/x86_64-linux-gnu/modulecmd.tcl", "/usr/share/Modules/libexec/modulecmd.tcl",
             "/usr/lib/aarch64-linux-gnu/modulecmd.tcl")


def filled(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        text = re.sub(r"@(\w+)@", lambda found: FILLED[found.group(1)], file.read())
    assert "@" not in text.replace("@2:", "").replace("@3.6:", "").replace("@20.11:", ""), text
    return text


def configure_has(options):
    text = subprocess.run([os.path.join(SOURCE, "configure"), "--help"], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout
    known = set(re.findall(r"--[\w-]+", text))
    for option in options:
        name = option.split("=")[0]
        assert {name, name.replace("--without-", "--with-")} & known, option


def check_spack():
    """With what Spack gives a recipe: directives and a base class."""
    said = {}

    def directive(name):
        return lambda *args, **more: said.setdefault(name, []).append((args, more))

    stub = types.ModuleType("spack.package")
    stub.AutotoolsPackage = type("AutotoolsPackage", (), {
        "with_or_without": lambda self, name: [f"--with-{name}"]})
    for name in ("conflicts", "depends_on", "license", "variant", "version"):
        setattr(stub, name, directive(name))
    sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), stub
    made = {}
    exec(compile(filled("spack.py.in"), "package.py", "exec"), made)
    package = made["Coschedule"]()
    # As Spack has it: the name of the class is that of the package, its text its description.
    assert package.__doc__ and package.url.endswith("coschedule-1.2.3.tar.xz")
    assert said["version"] == [(("1.2.3",), {"sha256": "0" * 64})]
    variants = {args[0]: more for args, more in said["variant"]}
    assert set(variants) == {"likwid", "gcc_source"}
    assert all({"default", "description"} <= set(more) for more in variants.values())
    for args, more in said["depends_on"]:
        assert re.fullmatch(r"[a-z-]+(@[\d.]+:)?", args[0]), args
        assert set(more) <= {"type", "when"}, more
    package.prefix = types.SimpleNamespace(lib=types.SimpleNamespace(slurm="/opt/c/lib/slurm"))
    package.spec = types.SimpleNamespace(
        variants={"gcc_source": types.SimpleNamespace(value="no")})
    configure_has(package.configure_args())


def installed():
    """What `make install` makes, by configure's names of directories."""
    lines = subprocess.run(["make", "-s", "--no-print-directory", "-f", "-", "list"],
                           input="include Makefile\nlist:\n\t@printf '%s\\n' "
                                 "$(addprefix bin/,$(notdir $(bin_PROGRAMS) $(bin_SCRIPTS))) "
                                 "$(addprefix sbin/,$(notdir $(sbin_PROGRAMS) $(sbin_SCRIPTS))) "
                                 "lib/slurm/$(slurmlib_LTLIBRARIES:.la=.so)\n",
                           cwd=os.environ["abs_top_builddir"], check=True,
                           stdout=subprocess.PIPE, universal_newlines=True).stdout
    return set(lines.split())


def check_easybuild():
    """An easyconfig is Python that sets parameters: those that have to be there, in their form."""
    made = {}
    exec(compile(filled("easybuild.eb.in"), "coschedule.eb", "exec"), {}, made)
    must = {"easyblock", "name", "version", "homepage", "description", "toolchain", "sources",
            "source_urls", "checksums", "moduleclass"}
    assert must <= set(made), must - set(made)
    assert set(made) - must <= {"builddependencies", "dependencies", "osdependencies",
                                "configopts", "sanity_check_paths", "sanity_check_commands"}
    assert len(made["sources"]) == len(made["checksums"])
    for name, version in made["builddependencies"] + made["dependencies"]:
        assert name and re.fullmatch(r"[\d.]+", version), (name, version)
    configure_has(made["configopts"].split())
    assert set(made["sanity_check_paths"]) == {"files", "dirs"}
    missing = set(made["sanity_check_paths"]["files"]) - installed()
    assert not missing, missing


def check_modulefile():
    module = next((path for path in MODULECMD if os.path.exists(path)), None)
    if not module or not shutil.which("tclsh"):
        print("modulefile: not tried, without Environment Modules")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/coschedule")
        with open(f"{folder}/coschedule/1.2.3", "w", encoding="utf-8") as file:
            file.write(filled("modulefile.in"))

        def modules(*command, **environment):
            done = subprocess.run(
                ["tclsh", module, "python", *command], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, universal_newlines=True, check=False,
                env={"PATH": "/usr/bin:/bin", "HOME": folder, "MODULEPATH": folder, **environment})
            assert "ERROR" not in done.stderr, done.stderr
            return done.stdout, done.stderr

        out, _ = modules("load", "coschedule")
        changed = dict(re.findall(r"os\.environ\['(\w+)'\] = r?'(.*)'", out))
        assert changed["PATH"].split(":")[0] == "/opt/c/bin", changed
        assert changed["MANPATH"].split(":")[0] == "/opt/c/man", changed
        assert changed["XDG_DATA_DIRS"].split(":")[0] == "/opt/c/share", changed
        back, _ = modules("unload", "coschedule", **changed)
        assert "'/usr/bin:/bin'" in back and "/opt/c" not in back, back
        assert "share compute nodes" in modules("whatis", "coschedule")[1]
        assert "coschedule 1.2.3" in modules("help", "coschedule")[1]


check_spack()
check_easybuild()
check_modulefile()
