/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Names of regions of processes: compiled here, whole, stripped, broken and hostile. */

#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "config.h"
#include "node_agent/names/region_names.h"

static char dir[64];

static const char program[] = "#include <unistd.h>\n"
                              "int conj_grad(void)\n"
                              "{\n"
                              "    return 0;\n"
                              "}\n"
                              "int main(void) { pause(); return conj_grad(); }\n";

/* Each look at the clock takes so long. */
static time_t clock_step_s, clock_ahead_s;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = __real_clock_gettime(clock, now);

    clock_ahead_s += clock_step_s;
    now->tv_sec += clock_ahead_s;
    return rc;
}

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
    char command[512];
    va_list ap;

    va_start(ap, format);
    vsnprintf(command, sizeof(command), format, ap);
    va_end(ap);
    if (system(command) != 0)
        fail_msg("%s", command);
}

static int set_up(void **state)
{
    char path[128];

    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/cosched-names.XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chmod(dir, 0755), 0);
    snprintf(path, sizeof(path), "%s/cg.c", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(program, f);
    fclose(f);
    run("gcc -g -Wl,--build-id -o %s/whole %s/cg.c", dir, dir);
    run("strip --strip-debug -o %s/symbols %s/whole", dir, dir);
    run("strip --strip-all -o %s/bare %s/whole", dir, dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run("rm -r %s", dir);
    return 0;
}

/* Start NAME as user UID; its pid. */
static pid_t start(const char *name, uid_t uid)
{
    char path[128], link[64], exe[128] = "";

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && setresuid(uid, uid, uid) < 0)
            _exit(1);
        execl(path, path, (char *)NULL);
        _exit(1);
    }
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    /* A broken one may have ended. */
    while (strcmp(exe, path) && waitpid(pid, NULL, WNOHANG) == 0) {
        ssize_t n = readlink(link, exe, sizeof(exe) - 1);
        exe[n < 0 ? 0 : n] = '\0';
        usleep(1000);
    }
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* The region of conj_grad in NAME. */
static void region_of(const char *name, char region[64])
{
    char command[512], id[17], offset[17];

    snprintf(command, sizeof(command),
             "readelf -n %s/%s | sed -n 's/.*Build ID: \\(.\\{16\\}\\).*/\\1/p' && "
             "nm %s/whole | sed -n 's/^\\(.*\\) T conj_grad/\\1/p'",
             dir, name, dir);
    FILE *p = popen(command, "r");
    assert_int_equal(fscanf(p, "%16s %16s", id, offset), 2);
    pclose(p);
    snprintf(region, 64, "%s+%llx", id, strtoull(offset, NULL, 16));
}

/* The name of REGION in process PID of UID. */
static const char *look(struct region_names *names, pid_t pid, uid_t uid, const char *region)
{
    region_names_look(names, pid, uid, &region, 1);
    return region_names_get(names, region);
}

static uid_t another(void)
{
    return geteuid() == 0 ? 65534 : geteuid();
}

#ifdef HAVE_LIBDW
/* A machine with much other work takes its time: look until it is found, at most 10 times. */
static void patient(struct region_names **names, pid_t pid, uid_t uid, const char *region)
{
    for (int i = 0; i < 10 && look(*names, pid, uid, region) == region; i++) {
        region_names_free(*names);
        *names = region_names_new();
    }
}

static void test_found(void **state)
{
    static const struct {
        const char *program, *name;
    } cases[] = {{"whole", "conj_grad, cg.c:3"}, {"symbols", "conj_grad"}, {"bare", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct region_names *names = region_names_new();
        char region[64];
        region_of(cases[i].program, region);
        pid_t pid = start(cases[i].program, another());
        patient(&names, pid, another(), region);
        assert_string_equal(look(names, pid, another(), region),
                            cases[i].name ? cases[i].name : region);
        /* It is kept, and so is that nothing was found. */
        look(names, pid, another(), region);
        assert_int_equal(region_names_looks(names), 1);
        end(pid);
        region_names_free(names);
    }
}

/* One who looks at another's process becomes that user: what only root can read is not. */
static void test_as_user(void **state)
{
    struct region_names *names = region_names_new();
    char region[64];

    (void)state;
    if (geteuid() != 0)
        skip();
    region_of("whole", region);
    pid_t pid = start("whole", 65534);
    assert_string_equal(look(names, pid, 65533, region), region);
    region_names_free(names);
    names = region_names_new();
    patient(&names, pid, 65534, region);
    assert_string_equal(look(names, pid, 65534, region), "conj_grad, cg.c:3");
    end(pid);
    region_names_free(names);
}

/* Each part of the file is another's word. */
static void test_garbled(void **state)
{
    char region[64], path[128], broken[128];
    struct stat st;
    unsigned seed = 7;

    (void)state;
    region_of("whole", region);
    snprintf(path, sizeof(path), "%s/whole", dir);
    snprintf(broken, sizeof(broken), "%s/broken", dir);
    assert_int_equal(stat(path, &st), 0);
    char *bytes = malloc((size_t)st.st_size);
    for (int round = 0; round < 40; round++) {
        int fd = open(path, O_RDONLY);
        assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
        close(fd);
        /* What the process needs to run is left as it was. */
        for (int i = 0; i < 60; i++) {
            seed = seed * 1103515245 + 12345;
            bytes[0x3000 + (seed >> 8) % (unsigned)(st.st_size - 0x3000)] = (char)(seed >> 4);
        }
        fd = open(broken, O_WRONLY | O_CREAT | O_TRUNC, 0755);
        assert_int_equal(write(fd, bytes, (size_t)st.st_size), st.st_size);
        close(fd);
        struct region_names *names = region_names_new();
        pid_t pid = start("broken", another());
        const char *name = look(names, pid, another(), region);
        for (const char *p = name; *p; p++)
            assert_true((unsigned char)*p >= ' ');
        end(pid);
        unlink(broken);
        region_names_free(names);
    }
    free(bytes);
}

/* A look that takes long, by this clock: it is given up, and its user's files are not looked at
 * again when that happens twice. */
static void test_endless(void **state)
{
    struct region_names *names = region_names_new();
    char region[64], other[64];

    (void)state;
    region_of("whole", region);
    pid_t pid = start("whole", another());
    clock_step_s = 1;
    for (int i = 0; i < 5; i++) {
        snprintf(other, sizeof(other), "1+%x", i + 1);
        look(names, pid, another(), other);
    }
    size_t looks = region_names_looks(names);
    assert_in_range(looks, 1, 2);
    clock_step_s = 0;
    assert_string_equal(look(names, pid, another(), region), region);
    assert_int_equal(region_names_looks(names), looks);
    end(pid);
    region_names_free(names);
}
#endif

static void test_nonsense(void **state)
{
    static const char *const regions[] = {"short", "", "-", "12", "12+", "+12", "12+x", "12+12x",
                                          "0123456789abcdef0+1", "zz+1",
                                          "111111111111111111111111111111111111111111111111"};
    struct region_names *names = region_names_new();

    (void)state;
    region_names_look(names, getpid(), getuid(), regions, 11);
    assert_int_equal(region_names_looks(names), 0);
    for (size_t i = 0; i < 11; i++)
        assert_string_equal(region_names_get(names, regions[i]), regions[i]);
    /* No such process; and 10,000 regions are one look for each NAMES_BATCH. */
    assert_string_equal(look(names, 0, getuid(), "1+1"), "1+1");
    assert_string_equal(look(names, INT32_MAX, getuid(), "1+2"), "1+2");
    char(*many)[32] = calloc(10000, sizeof(*many));
    const char **list = calloc(10000, sizeof(*list));
    for (size_t i = 0; i < 10000; i++) {
        snprintf(many[i], sizeof(many[i]), "1+%zx", i + 16);
        list[i] = many[i];
    }
    for (size_t at = 0; at < 10000; at += NAMES_BATCH)
        region_names_look(names, INT32_MAX, getuid(), list + at,
                          10000 - at < NAMES_BATCH ? 10000 - at : NAMES_BATCH);
    assert_int_equal(region_names_looks(names), 1 + (10000 + NAMES_BATCH - 1) / NAMES_BATCH);
    free(list);
    free(many);
    region_names_free(names);
}

UNIT(test_region_names)
{
    const struct CMUnitTest tests[] = {
#ifdef HAVE_LIBDW
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_as_user),
        cmocka_unit_test(test_garbled),
        cmocka_unit_test(test_endless),
#endif
        cmocka_unit_test(test_nonsense),
    };

    return cmocka_run_group_tests_name("test_region_names", tests, set_up, tear_down);
}
