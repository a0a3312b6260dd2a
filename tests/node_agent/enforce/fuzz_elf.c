/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: files of programs, which are their users'. */

#include "tests/fuzz/fuzz.h"

#include "node_agent/enforce/program_elf.h"

static void check_versions(const struct program_elf *elf, bool wanted)
{
    static struct program_versions v;

    program_elf_versions(elf, wanted, &v);
    REQUIRE(v.count <= PROGRAM_VERSIONS);
    for (size_t i = 0; i < v.count; i++) {
        REQUIRE(v.name[i][0] && memchr(v.name[i], '\0', PROGRAM_VERSION_MAX));
        REQUIRE(program_versions_have(&v, v.name[i]));
        REQUIRE(!program_version_above(v.name[i], v.name[i]));
    }
    const char *highest = program_versions_highest(&v, "GLIBC_");
    REQUIRE(!highest || program_versions_have(&v, highest));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct program_elf elf;
    bool probably;

    if (program_elf_open(&elf, fuzz_fd(data, size)) < 0) {
        REQUIRE(errno == ENOEXEC);
        return 0;
    }
    program_elf_is_ours(&elf);
    check_versions(&elf, false);
    check_versions(&elf, true);
    const char *runtime = program_elf_runtime(&elf, &probably);
    REQUIRE(runtime || !probably);
    REQUIRE(!runtime || !strcmp(runtime, "libgomp") ||
            !strcmp(runtime, "libomp"));
    return 0;
}
