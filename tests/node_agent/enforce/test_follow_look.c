/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Files of users: lines of maps, and programs that are damaged in all ways. */

#include "tests/support/unit.h"

#include <fcntl.h>

#include "node_agent/enforce/follow_look.h"
#include "node_agent/enforce/program_elf.h"

static struct follow_files files;

static size_t read_maps(const char *text)
{
    files.count = 0;
    return follow_read_maps(text, strlen(text), &files);
}

static void test_maps(void **state)
{
    static const char text[] =
        "55d0-55d1 r--p 00000000 fe:01 131 /usr/bin/cat\n"
        "55d1-55d2 r-xp 00002000 fe:01 131 /usr/bin/cat\n"
        "55d2-55d3 r-xp 00002000 fe:01 131                /usr/bin/cat\n"
        "7f00-7f01 r-xp 00000000 fe:01 18446744073709551615 /a b/libgomp.so.1 (deleted)\n"
        "7f01-7f02 r-xp 00000000 00:00 0 \n"
        "7f02-7f03 r-xp 00000000 00:00 0                  [vdso]\n"
        "7f03-7f04 r-xp 00000000 00:05 7                  /x\\012y\n"
        "7f04-7f05 ---p 00000000 00:01 9 /memfd:coschedule-libgomp-newer (deleted)\n"
        "7f04-7f05 ---p 00000000 00:01 9 /memfd:coschedule-libgom\n"
        "7f04-7f05 r-xp 00000000 00:05 7    /cut";
    static const char *const nothing[] = {
        "", "\n", "/\n", "a b\n", " / / / / / /\n", "a r-xp\n", "a r-xp 0 0\n",
        "a r-- 0 0 0 /x\n", "a r-x 0 0 0\n", "\n\n\n", "a  x 0 0 /x\n"};

    (void)state;
    assert_int_equal(read_maps(text), strlen(text) - strlen(strrchr(text, '\n') + 1));
    assert_int_equal(files.count, 3);
    assert_string_equal(files.file[0].path, "/usr/bin/cat");
    assert_int_equal(files.file[0].inode, 131);
    assert_string_equal(files.file[1].path, "/a b/libgomp.so.1 (deleted)");
    assert_true(files.file[1].inode == UINT64_MAX);
    assert_string_equal(files.file[2].path, "/x\\012y");
    assert_string_equal(files.declined, "newer");
    read_maps("1-2 ---p 0 0:0 1 /memfd:coschedule-libgomp-a-word-that-is-too-long\n");
    assert_string_equal(files.declined, "a-word-that-is-");
    read_maps("1-2 ---p 0 0:0 1 /memfd:coschedule-libgomp-\n");
    assert_string_equal(files.declined, "a-word-that-is-");
    files.declined[0] = '\0';
    for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
        assert_int_equal(read_maps(nothing[i]), strlen(nothing[i]));
        assert_int_equal(files.count, 0);
    }
}

static void test_many_maps(void **state)
{
    char line[FOLLOW_PATH_MAX + 100];

    (void)state;
    files.count = 0;
    for (int i = 0; i < 2 * FOLLOW_FILES; i++) {
        int n = snprintf(line, sizeof(line), "1-2 r-xp 0 0:0 1 /lib%d\n", i);
        assert_int_equal(follow_read_maps(line, (size_t)n, &files), n);
    }
    assert_int_equal(files.count, FOLLOW_FILES);
    /* A path that is too long is left out. */
    memset(line, 'x', sizeof(line));
    memcpy(line, "1-2 r-xp 0 0:0 1 /", 18);
    line[sizeof(line) - 2] = '\n';
    line[sizeof(line) - 1] = '\0';
    read_maps(line);
    assert_int_equal(files.count, 0);
}

/* ---- programs ------------------------------------------------------------------ */

/* A file with SIZE bytes of DATA. */
static int file_with(const void *data, size_t size)
{
    int fd = memfd_create("program", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, size, 0), size);
    return fd;
}

/* Whatever it is, all that can be asked of it has an answer. */
static bool ask_all(int fd)
{
    static struct program_versions versions;
    struct program_elf elf;
    bool probably;

    if (program_elf_open(&elf, fd) < 0) {
        assert_int_equal(errno, ENOEXEC);
        return false;
    }
    program_elf_is_ours(&elf);
    program_elf_runtime(&elf, &probably);
    for (int wanted = 0; wanted < 2; wanted++) {
        program_elf_versions(&elf, wanted, &versions);
        assert_true(versions.count <= PROGRAM_VERSIONS);
        for (size_t i = 0; i < versions.count; i++)
            assert_true(strnlen(versions.name[i], PROGRAM_VERSION_MAX) <
                        PROGRAM_VERSION_MAX);
        program_versions_highest(&versions, "GLIBC_");
    }
    return true;
}

static void test_sound_program(void **state)
{
    struct program_elf elf;
    struct program_versions versions;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool probably;

    (void)state;
    assert_int_equal(program_elf_open(&elf, fd), 0);
    assert_false(program_elf_is_ours(&elf));
    assert_null(program_elf_runtime(&elf, &probably));
    assert_false(probably);
    program_elf_versions(&elf, true, &versions);
    assert_true(program_versions_have(&versions, "GLIBC_2.34") ||
                program_versions_highest(&versions, "GLIBC_"));
    assert_false(program_versions_have(&versions, "GLIBC_99"));
    assert_null(program_versions_highest(&versions, "MUSL_"));
    assert_true(program_version_above("GLIBC_2.34", "GLIBC_2.9"));
    assert_false(program_version_above("GLIBC_2.9", "GLIBC_2.34"));
    close(fd);
}

static void test_no_program(void **state)
{
    static const char *const texts[] = {"", "#!/bin/sh\n", "\x7f" "ELF", "\x7f" "ELF\2\1\1"};
    char zeros[4096] = "\x7f" "ELF\2\1\1";
    int pipes[2];
    struct program_elf elf;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int fd = file_with(texts[i], strlen(texts[i]));
        assert_false(ask_all(fd));
        close(fd);
    }
    int fd = file_with(zeros, sizeof(zeros));
    assert_false(ask_all(fd));
    close(fd);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(program_elf_open(&elf, pipes[0]), -1);
    assert_int_equal(errno, ENOEXEC);
    close(pipes[0]);
    close(pipes[1]);
}

/* This program with a few bytes of its tables changed, or cut off anywhere. */
static void test_damaged_program(void **state)
{
    static char good[65536], bad[65536];
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    size_t size = (size_t)pread(self, good, sizeof(good), 0), opened = 0;
    struct program_elf elf;

    (void)state;
    assert_int_equal(program_elf_open(&elf, self), 0);
    close(self);
    srand(1);
    for (int i = 0; i < 3000; i++) {
        memcpy(bad, good, size);
        /* Most of what is read lies in front. */
        size_t within = i % 3 == 0 ? 64 : i % 3 == 1 ? 1024 : size;
        for (int k = 0; k < 1 + i % 5; k++)
            bad[(size_t)rand() % within] = (char)(rand() % 4 ? rand() : 0xff);
        int fd = file_with(bad, i % 7 ? size : (size_t)rand() % size);
        opened += ask_all(fd);
        close(fd);
    }
    assert_true(opened > 100);
}

/* Tables that say that they are as large as can be, and lists that run in a circle, end. */
static void test_endless_tables(void **state)
{
    static struct {
        Elf64_Ehdr header;
        Elf64_Phdr segment[3];
        Elf64_Dyn dynamic[4];
        Elf64_Verneed need;
        Elf64_Vernaux aux;
        Elf64_Nhdr note;
        char names[64];
    } f;
    struct program_versions versions;
    struct program_elf elf;

    (void)state;
    memcpy(f.header.e_ident, ELFMAG, SELFMAG);
    f.header.e_ident[EI_CLASS] = ELFCLASS64;
    f.header.e_ident[EI_DATA] =
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    f.header.e_phentsize = sizeof(Elf64_Phdr);
    f.header.e_phnum = 65535;
    f.header.e_phoff = offsetof(typeof(f), segment);
    f.header.e_shoff = UINT64_MAX - 8;
    f.header.e_shentsize = sizeof(Elf64_Shdr);
    f.header.e_shnum = 65535;
    f.segment[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = UINT64_MAX};
    f.segment[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_filesz = UINT64_MAX,
                                .p_offset = offsetof(typeof(f), dynamic)};
    f.segment[2] = (Elf64_Phdr){.p_type = PT_NOTE, .p_filesz = UINT64_MAX,
                                .p_offset = offsetof(typeof(f), note)};
    f.dynamic[0] = (Elf64_Dyn){DT_VERNEED, {offsetof(typeof(f), need)}};
    f.dynamic[1] = (Elf64_Dyn){DT_STRTAB, {offsetof(typeof(f), names)}};
    f.dynamic[2] = (Elf64_Dyn){DT_VERDEF, {UINT64_MAX - 4}};
    f.need = (Elf64_Verneed){.vn_cnt = 65535, .vn_aux = sizeof(f.need),
                             .vn_next = sizeof(f.need) + 1};
    f.note = (Elf64_Nhdr){UINT32_MAX, UINT32_MAX, PROGRAM_NOTE_TYPE};
    strcpy(f.names, "GOMP_1.0");
    int fd = file_with(&f, sizeof(f));
    assert_int_equal(program_elf_open(&elf, fd), 0);
    program_elf_versions(&elf, true, &versions);
    assert_int_equal(versions.count, PROGRAM_VERSIONS);
    assert_true(ask_all(fd));
    close(fd);
}

UNIT(test_follow_look)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_many_maps),
        cmocka_unit_test(test_sound_program),
        cmocka_unit_test(test_no_program),
        cmocka_unit_test(test_damaged_program),
        cmocka_unit_test(test_endless_tables),
    };

    return cmocka_run_group_tests_name("test_follow_look", tests, NULL, NULL);
}
