/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The SPANK plugin on a node, hook by hook, in a host of the test's own. */

#include "tests/spank_plugin/fake_host.h"

#include <sys/stat.h>

#include "protocol/job_library.h"
#include "spank_plugin/plugin.h"

int slurm_spank_init(spank_t spank, int ac, char **av);
int slurm_spank_init_post_opt(spank_t spank, int ac, char **av);
int slurm_spank_task_init_privileged(spank_t spank, int ac, char **av);
int slurm_spank_task_exit(spank_t spank, int ac, char **av);
int slurm_spank_job_epilog(spank_t spank, int ac, char **av);

/* A directory with files named like those of the libgomp, made in group_setup(). */
static char directory[] = "/tmp/cosched-plugin.XXXXXX";
static char libgomp_arg[64], library[64];

static const char *library_file(size_t i)
{
    snprintf(library, sizeof(library), "%s/%s", directory, job_library_files[i]);
    return library;
}

static char socket_arg[] = "socket=/agent";
static char *good_args[] = {socket_arg, libgomp_arg};

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(libgomp_arg, sizeof(libgomp_arg), "libgomp=%s", directory);
    for (size_t i = 0; job_library_files[i]; i++) {
        FILE *file = fopen(library_file(i), "w");
        if (!file || fclose(file))
            return -1;
    }
    return 0;
}

static int group_teardown(void **state)
{
    host_reset(state);
    for (size_t i = 0; job_library_files[i]; i++)
        unlink(library_file(i));
    return rmdir(directory);
}

/* Slurm's calls up to a task's start; VALUE is that of the option as Slurm
 * hands it over. */
static void start_task(const char *value)
{
    assert_int_equal(slurm_spank_init(NULL, COUNT(good_args), good_args), 0);
    if (value)
        assert_int_equal(host.option->cb(0, value, 1), 0);
    assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
    assert_int_equal(slurm_spank_task_init_privileged(NULL, 0, NULL), 0);
}

/* ---- a task -------------------------------------------------------------------- */

static void task__other_jobs_are_left_alone(void **state)
{
    (void)state;
    host_setenv("LD_LIBRARY_PATH", "/opt/x");
    host_setenv("COSCHED_SOCKET", "/mine");
    start_task(NULL);
    assert_int_equal(host.opened, 0);
    assert_string_equal(host_getenv("LD_LIBRARY_PATH"), "/opt/x");
    assert_string_equal(host_getenv("COSCHED_SOCKET"), "/mine");
    assert_null(host_getenv("COSCHED_JOB"));
    assert_null(host_getenv("COSCHED_WARNED"));
    assert_int_equal(host.error_lines, 0);
}

static void task__other_job_inside_of_ours(void **state)
{
    char path[128];

    (void)state;
    for (int user_has_own = 0; user_has_own < 2; user_has_own++) {
        host_reset(NULL);
        snprintf(path, sizeof(path), "%s/before-2.35%s", directory,
                 user_has_own ? ":/opt/x" : "");
        host_setenv("LD_LIBRARY_PATH", path);
        snprintf(path, sizeof(path), "%s%s/coschedule-audit.so",
                 user_has_own ? "/opt/a.so:" : "", directory);
        host_setenv("LD_AUDIT", path);
        host_setenv("COSCHED_SOCKET", "/agent");
        host_setenv("COSCHED_JOB", "6");
        start_task(NULL);
        assert_int_equal(host.opened, 0);
        assert_null(host_getenv("COSCHED_SOCKET"));
        assert_null(host_getenv("COSCHED_JOB"));
        if (user_has_own)
            assert_string_equal(host_getenv("LD_LIBRARY_PATH"), "/opt/x");
        else
            assert_null(host_getenv("LD_LIBRARY_PATH"));
        if (user_has_own)
            assert_string_equal(host_getenv("LD_AUDIT"), "/opt/a.so");
        else
            assert_null(host_getenv("LD_AUDIT"));
    }
}

static void task__announces_job_and_task(void **state)
{
    (void)state;
    host_setenv("SLURM_JOB_NAME", "cg");
    host_setenv("SLURM_RESTART_COUNT", "2");
    start_task("equal");
    assert_int_equal(host.calls_made, 2);
    const struct message_request *r = &host.calls[0];
    assert_int_equal(r->op, MESSAGE_ANNOUNCE);
    assert_int_equal(r->job, 7);
    assert_int_equal(r->uid, 1234);
    assert_string_equal(r->name, "cg");
    assert_string_equal(r->cores, "0-3");
    assert_int_equal(r->memory_mb, 500);
    assert_string_equal(r->options, "equal");
    assert_int_equal(r->restarts, 2);
    r = &host.calls[1];
    assert_int_equal(r->op, MESSAGE_TASK);
    assert_int_equal(r->job, 7);
    assert_int_equal(r->step, 4294967291u);
    assert_int_equal(r->pid, getpid());
    assert_int_equal(host.closed, 1);
    assert_int_equal(host.error_lines, 0);
}

/* The first of a job's nodes keeps its record. */
static void task__tells_the_first_node(void **state)
{
    static const struct {
        const char *list, *node;
        uint32_t number;
    } table[] = {
        {NULL, "n1", 0},           {"n1", NULL, 0},
        {"n1", "n1", 0},           {"n1,n2", "n1", 0},
        {"n1,n2", "n2", 1},        {"n[1-2]", "n1", 0},
        {"n[1-2]", "n2", 1},       {"n[1-12]", "n12", 1},
        {"n[001,007]", "n001", 0}, {"n[001,007]", "n007", 1},
        {"r[1-2]n[3-4]", "r1n3", 0}, {"r[1-2]n[3-4]", "r1n4", 1},
        {"a,n1", "n1", 1},         {"n", "n1", 1},
        {"n1", "n", 1},            {"n[1", "n1", 0},
        {"n[", "n", 0},            {"n[9-11]b,c", "n9b", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        host_setenv("SLURM_JOB_NODELIST", table[i].list);
        if (table[i].node)
            setenv("SLURMD_NODENAME", table[i].node, 1);
        else
            unsetenv("SLURMD_NODENAME");
        start_task("");
        assert_int_equal(host.calls[0].node, table[i].number);
    }
    unsetenv("SLURMD_NODENAME");
}

/* The CPUs that a task may use, for scripts that make it OMP_NUM_THREADS. */
static void task__knows_its_cpus(void **state)
{
    static const struct {
        const char *reply, *before;
        uint32_t tasks;
        const char *after; /* NULL: unset */
    } table[] = {
        {"{\"cpus\": \"0-3\"}", NULL, 1, "4"},
        {"{\"cpus\": \"0-3\"}", NULL, 0, "4"},
        {"{\"cpus\": \"0-3\"}", NULL, 2, "2"},
        {"{\"cpus\": \"0-3\"}", NULL, 9, "1"},
        {"{\"cpus\": \"0-3\"}", "4", 2, "2"}, /* inherited from the script */
        {"{\"cpus\": \"0-3\"}", "3", 2, "3"}, /* --cpus-per-task */
        {"{\"cpus\": \"x\"}", NULL, 1, NULL},
        {"{\"cpus\": 4}", NULL, 1, NULL},
        {"{}", "2", 1, "2"},
        {NULL, NULL, 1, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        host.reply = table[i].reply;
        host.tasks = table[i].tasks;
        if (table[i].before)
            host_setenv("SLURM_CPUS_PER_TASK", table[i].before);
        start_task("");
        const char *cpus = host_getenv("SLURM_CPUS_PER_TASK");
        if (table[i].after)
            assert_string_equal(cpus, table[i].after);
        else
            assert_null(cpus);
        assert_int_equal(host.error_lines, 0);
    }
}

/* Where memory shall lie, as the agent says. */
static void task__interleaves_if_told_to(void **state)
{
    static const struct {
        const char *reply;
        bool after;
    } table[] = {
        {"{\"interleave\": true}", true},
        {"{\"interleave\": false}", false},
        {"{\"interleave\": \"serial\"}", false},
        {"{}", false},
        {NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        host.reply = table[i].reply;
        start_task("");
        const char *word = host_getenv("COSCHED_MEMORY");
        assert_int_equal(word != NULL, table[i].after);
        assert_true(!word || strcmp(word, "interleave") == 0);
    }
}

/* One line for batch scripts of ours that ask for it. */
static void task_exit__summary(void **state)
{
    const char *reply = "{\"jobs\": [{\"live_s\": 34.21, \"mean_cores\": 1.5,"
                        " \"partners\": [17, 18]}]}";

    (void)state;
    for (int i = 0; i < 8; i++) {
        bool ours = i & 1, asked = i & 2, batch = i & 4;
        host_reset(NULL);
        host.reply = reply;
        host.step = batch ? 0xfffffffb : 0;
        if (asked)
            host_setenv("COSCHED_REPORT", "1");
        start_task(ours ? "" : NULL);
        host.calls_made = 0;
        assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
        if (!ours || !asked || !batch) {
            assert_int_equal(host.calls_made, 0);
            assert_string_equal(host.said, "");
            continue;
        }
        assert_int_equal(host.calls[0].op, MESSAGE_STATUS);
        assert_int_equal(host.calls[0].job, 7);
        assert_string_equal(host.said,
                            "coschedule: job 7: ran 34.2 s on 1.5 cores on average "
                            "beside jobs 17, 18; coschedreport 7 tells more");
    }
    host.said[0] = '\0';
    host.agent_errno = EPROTO;
    assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
    assert_non_null(strstr(host.said, "no summary: the agent refused"));
    host.said[0] = '\0';
    host.agent_errno = 0;
    host.reply = "{\"jobs\": []}";
    assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
    assert_string_equal(host.said, "");
    assert_int_equal(host.error_lines, 0);
    assert_int_equal(host.opened, host.closed);
}

/* What the line says of how the job went. */
static void task_exit__summary_contents(void **state)
{
    static const struct {
        const char *job;
        uint32_t array, element;
        int status; /* as of waitpid() */
        const char *line;
    } table[] = {
        {"\"live_s\": 9.96, \"mean_cores\": 1, \"partners\": []", 0, 0, 0,
         "job 7: ran 10.0 s on 1.0 cores on average, alone; coschedreport 7 tells "
         "more"},
        {"\"live_s\": 3, \"mean_cores\": 0.5, \"partners\": [8]", 5, 0,
         3 << 8, "job 5_0: exit status 3, ran 3.0 s on 0.5 cores on average beside "
         "job 8; coschedreport 5_0 tells more"},
        {"\"live_s\": 27, \"mean_cores\": 5.34, \"partners\": [812], \"progress\": "
         "{\"granted\": 8, \"alone_s\": 25, \"ahead_s\": 240.2}", 0, 0, 0,
         "job 7: ran 27.0 s on 5.3 of 8 cores on average beside job 812; 1.08x slower than "
         "alone, waited 0 s for it instead of 240 s; coschedreport 7 tells more"},
        {"\"live_s\": 25, \"mean_cores\": 8, \"partners\": [812], \"progress\": "
         "{\"granted\": 8, \"alone_s\": 25, \"ahead_s\": 0.5}", 0, 0, 0,
         "job 7: ran 25.0 s on 8.0 of 8 cores on average beside job 812; as fast as alone; "
         "coschedreport 7 tells more"},
        {"\"live_s\": 25, \"mean_cores\": 8, \"partners\": [], \"progress\": "
         "{\"granted\": 8, \"alone_s\": 20, \"ahead_s\": 5}", 0, 0, 0,
         "job 7: ran 25.0 s on 8.0 of 8 cores on average, alone; coschedreport 7 tells more"},
        {"\"live_s\": 25, \"mean_cores\": 8, \"partners\": [8], \"progress\": "
         "{\"granted\": \"x\", \"alone_s\": null, \"ahead_s\": 5}", 0, 0, 0,
         "job 7: ran 25.0 s on 8.0 cores on average beside job 8; coschedreport 7 tells more"},
        {"\"live_s\": 0.02, \"mean_cores\": 0, \"partners\": []", 5, 12, 9,
         "job 5_12: killed by signal 9, too short to be measured, alone; "
         "coschedreport 5_12 tells more"},
        {"\"live_s\": 3, \"mean_cores\": 1, \"held\": true", 0, 0, 0,
         "job 7: ran 3.0 s on 1.0 cores on average, alone, pinned to its share; "
         "coschedreport 7 tells more"},
        {"\"live_s\": 3, \"mean_cores\": 1, \"held\": true, \"follow\": "
         "{\"word\": \"static\", \"program\": \"cg\", \"sentence\": "
         "\"it is so\", \"advice\": \"Do so.\"}", 0, 0, 0,
         "job 7: ran 3.0 s on 1.0 cores on average, alone, pinned to its share; "
         "coschedreport 7 tells more"
         "coschedule: job 7: cg does not follow: it is so. Do so."},
        {"\"live_s\": 3, \"mean_cores\": 1, \"held\": false, \"follow\": "
         "{\"word\": \"kthread\", \"malleable\": true, \"program\": \"cg\", "
         "\"sentence\": \"it is so\", \"advice\": \"\"}", 0, 0, 0,
         "job 7: ran 3.0 s on 1.0 cores on average, alone; coschedreport 7 tells more"
         "coschedule: job 7: cg follows: it is so."},
        {"\"live_s\": 3, \"mean_cores\": 1, \"held\": false, \"follow\": "
         "{\"word\": \"no-openmp\", \"program\": \"sh\", \"sentence\": \"x\"}",
         0, 0, 0,
         "job 7: ran 3.0 s on 1.0 cores on average, alone; coschedreport 7 tells more"},
        {"\"live_s\": 3, \"mean_cores\": 1, \"held\": true, \"follow\": [1]", 0,
         0, 0,
         "job 7: ran 3.0 s on 1.0 cores on average, alone, pinned to its share; "
         "coschedreport 7 tells more"},
        {"\"live_s\": 3, \"mean_cores\": 1, \"held\": false", 0, 0, 0,
         "job 7: ran 3.0 s on 1.0 cores on average, alone; coschedreport 7 tells "
         "more"},
    };
    char reply[512], line[256];

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        snprintf(reply, sizeof(reply), "{\"jobs\": [{%s}]}", table[i].job);
        snprintf(line, sizeof(line), "coschedule: %s", table[i].line);
        host.reply = reply;
        host.array = table[i].array;
        host.element = table[i].element;
        host.status = table[i].status;
        start_task("report=yes");
        assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
        assert_string_equal(host.said, line);
    }
}

/* The option has the last word about that line. */
static void task_exit__summary_by_option(void **state)
{
    static const struct {
        const char *option, *variable;
        bool said;
    } table[] = {
        {"report=yes", NULL, true}, {"report=yes", "0", true},
        {"report=no", "1", false},  {"", "yes", true},
        {"", "0", false},           {"", "11111111111", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        host.reply = "{\"jobs\": [{\"live_s\": 2, \"mean_cores\": 1}]}";
        host_setenv("COSCHED_REPORT", table[i].variable);
        start_task(table[i].option);
        assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
        assert_int_equal(strstr(host.said, "coschedule: job 7: ") != NULL,
                         table[i].said);
    }
}

/* The value of LD_LIBRARY_PATH is our entry and AFTER, that of LD_AUDIT is BEFORE
 * and ours. */
static void expect_library(const char *before, const char *after)
{
    char value[256];

    snprintf(value, sizeof(value), "%s/before-2.35%s", directory, after);
    assert_string_equal(host_getenv("LD_LIBRARY_PATH"), value);
    snprintf(value, sizeof(value), "%s%s/coschedule-audit.so", before,
             directory);
    assert_string_equal(host_getenv("LD_AUDIT"), value);
}

static void task__sets_the_environment(void **state)
{
    (void)state;
    start_task("(null)");
    assert_string_equal(host_getenv("COSCHED_SOCKET"), "/agent");
    assert_string_equal(host_getenv("COSCHED_JOB"), "7");
    expect_library("", "");
    assert_null(host_getenv("COSCHED_ULTS"));

    host_reset(NULL);
    start_task("ults=3");
    assert_string_equal(host_getenv("COSCHED_ULTS"), "3");
}

static void task__leads_to_our_libgomp_once(void **state)
{
    char longer[128], after[129];

    (void)state;
    host_setenv("LD_LIBRARY_PATH", "/opt/x");
    host_setenv("LD_AUDIT", "/opt/a.so");
    start_task("");
    expect_library("/opt/a.so:", ":/opt/x");
    start_task(""); /* a step inherits */
    expect_library("/opt/a.so:", ":/opt/x");

    /* A directory whose name only begins alike. */
    snprintf(longer, sizeof(longer), "%s/before-2.352", directory);
    snprintf(after, sizeof(after), ":%s", longer);
    host_setenv("LD_LIBRARY_PATH", longer);
    start_task("");
    expect_library("/opt/a.so:", after);
}

static void task__keeps_the_programs_libgomp(void **state)
{
    (void)state;
    host_setenv("LD_LIBRARY_PATH", "/opt/x");
    start_task("libgomp=stock");
    assert_string_equal(host_getenv("COSCHED_JOB"), "7");
    assert_string_equal(host_getenv("COSCHED_LIBGOMP"), "stock");
    assert_string_equal(host_getenv("LD_LIBRARY_PATH"), "/opt/x");
    assert_null(host_getenv("LD_AUDIT"));

    /* The option, given by hand, beats the variable of the submission ... */
    host_reset(NULL);
    host_setenv("COSCHED_LIBGOMP", "stock");
    start_task("libgomp=coop");
    assert_string_equal(host_getenv("COSCHED_LIBGOMP"), "coop");
    expect_library("", "");
    /* ... and a variable of the script refuses for a step's programs. */
    host_setenv("COSCHED_LIBGOMP", "stock");
    start_task("libgomp=coop");
    assert_string_equal(host_getenv("COSCHED_LIBGOMP"), "stock");
}

static void task__export_none(void **state)
{
    (void)state;
    host_setenv(PLUGIN_CONTROL_JOB, "ults=5");
    start_task(NULL); /* Slurm does not call the option's function */
    assert_int_equal(host.calls_made, 2);
    assert_string_equal(host.calls[0].options, "ults=5");
    assert_string_equal(host_getenv("COSCHED_ULTS"), "5");
}

/* What was submitted completes what the task's step was given. */
static void task__completed_options(void **state)
{
    static const struct {
        const char *given, *submitted, *announced;
    } table[] = {
        {"(null)", "policy=equal,ults=2", "policy=equal,ults=2"},
        {"ults=3", "policy=equal,ults=2", "ults=3,policy=equal"},
        {"equal", "", "equal"},
        {"equal", "bogus", "equal"},
        {"max_cores=1", "min_cores=2", "max_cores=1"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        host_setenv(PLUGIN_CONTROL_JOB, table[i].submitted);
        start_task(table[i].given);
        assert_string_equal(host.calls[0].options, table[i].announced);
        assert_int_equal(host.error_lines, 0);
    }
}

static void task__control_variable_of_a_user(void **state)
{
    static char huge[MESSAGE_OPTIONS_MAX + 9];
    const char *table[] = {"bogus", "(null)", huge};

    (void)state;
    memset(huge, 'x', sizeof(huge) - 1);
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        host_setenv(PLUGIN_CONTROL_JOB, table[i]);
        start_task(NULL);
        assert_int_equal(host.calls_made, 2);
        assert_string_equal(host.calls[0].options, "");
    }
}

static void task__warns_once_without_agent(void **state)
{
    (void)state;
    host.open_errno = ENOENT;
    host_setenv("COSCHED_SOCKET", "/of/the/login/node");
    start_task("");
    assert_int_equal(host.error_lines, 1);
    assert_non_null(strstr(host.errors, "no agent at /agent"));
    assert_non_null(strstr(host.errors, "without co-scheduling"));
    assert_null(host_getenv("COSCHED_SOCKET"));
    assert_null(host_getenv("COSCHED_JOB"));
    assert_null(host_getenv("LD_LIBRARY_PATH"));

    host.step = 0; /* a step inherits that it was said */
    start_task("");
    assert_int_equal(host.error_lines, 1);

    host.job = 8; /* another job that was submitted from here */
    start_task("");
    assert_int_equal(host.error_lines, 2);
}

static void task__waits_for_a_restarted_agent(void **state)
{
    (void)state;
    host.open_errno = ECONNREFUSED;
    host.open_failures = 3;
    start_task("");
    assert_int_equal(host.error_lines, 0);
    assert_int_equal(host.calls_made, 2);
    assert_string_equal(host_getenv("COSCHED_SOCKET"), "/agent");

    /* One that is not there at all is not waited for. */
    host.job = 8;
    host.open_errno = ENOENT;
    host.open_failures = 1;
    start_task("");
    assert_int_equal(host.error_lines, 1);
    assert_int_equal(host.calls_made, 2);
}

static void task__only_the_first_task_warns(void **state)
{
    (void)state;
    host.open_errno = ECONNREFUSED;
    host.task = 1;
    start_task("");
    assert_int_equal(host.error_lines, 0);
}

static void task__warns_when_refused(void **state)
{
    (void)state;
    host.agent_errno = EPERM;
    start_task("");
    assert_int_equal(host.calls_made, 1); /* no task of an unknown job */
    assert_int_equal(host.closed, 1);
    assert_int_equal(host.error_lines, 1);
    assert_null(host_getenv("COSCHED_SOCKET"));
}

static void task__step_while_the_agent_is_away(void **state)
{
    (void)state;
    start_task("");
    host.open_errno = ENOENT;
    host.step = 0;
    start_task("");
    assert_int_equal(host.error_lines, 1);
    assert_string_equal(host_getenv("COSCHED_SOCKET"), "/agent");
    assert_string_equal(host_getenv("COSCHED_JOB"), "7");
}

static void task__without_our_libgomp(void **state)
{
    char *args[] = {socket_arg, "libgomp=/nonexistent"};

    (void)state;
    host_setenv("LD_LIBRARY_PATH", "/opt/x");
    slurm_spank_init(NULL, COUNT(args), args);
    host.option->cb(0, "", 1);
    for (int step = 0; step < 2; step++) {
        slurm_spank_task_init_privileged(NULL, 0, NULL);
        assert_int_equal(host.error_lines, 1);
    }
    assert_non_null(strstr(host.errors, "/nonexistent/libgomp.so.1"));
    assert_string_equal(host_getenv("LD_LIBRARY_PATH"), "/opt/x");
    assert_string_equal(host_getenv("COSCHED_SOCKET"), "/agent");
}

static void task__never_fails(void **state)
{
    (void)state;
    host.broken = true;
    start_task("equal");
    assert_int_equal(slurm_spank_job_epilog(NULL, 0, NULL), 0);

    host_reset(NULL);
    host.cores = NULL;
    start_task("equal");
    assert_string_equal(host.calls[0].cores, "");
}

/* ---- the end ----------------------------------------------------------------- */

static void epilog__of_other_jobs(void **state)
{
    (void)state;
    host.context = S_CTX_JOB_SCRIPT;
    unsetenv(PLUGIN_CONTROL_SCRIPT);
    assert_int_equal(slurm_spank_job_epilog(NULL, 0, NULL), 0);
    assert_int_equal(host.opened, 0);
}

static void epilog__withdraws(void **state)
{
    (void)state;
    for (int by_option = 0; by_option < 2; by_option++) {
        host_reset(NULL);
        host.context = S_CTX_JOB_SCRIPT;
        host.option_used = by_option;
        if (by_option)
            unsetenv(PLUGIN_CONTROL_SCRIPT);
        else
            setenv(PLUGIN_CONTROL_SCRIPT, "", 1);
        assert_int_equal(slurm_spank_job_epilog(NULL, COUNT(good_args),
                                                good_args), 0);
        assert_int_equal(host.calls_made, 1);
        assert_int_equal(host.calls[0].op, MESSAGE_WITHDRAW);
        assert_int_equal(host.calls[0].job, 7);
        assert_int_equal(host.closed, 1);
        assert_int_equal(host.noted, 0);
        assert_string_equal(plugin.socket, "/agent");
    }
}

static void epilog__without_agent(void **state)
{
    (void)state;
    host.context = S_CTX_JOB_SCRIPT;
    host.option_used = true;
    host.open_errno = ENOENT;
    host.note_errno = ENOENT;
    assert_int_equal(slurm_spank_job_epilog(NULL, 0, NULL), 0);
    assert_int_equal(host.error_lines, 0);
    assert_string_equal(host.rest, "cosched: withdraw job 7: no agent at ");
}

/* What the agent does not hear is left in writing. */
static void epilog__leaves_note(void **state)
{
    (void)state;
    host.context = S_CTX_JOB_SCRIPT;
    host.option_used = true;
    host.agent_errno = ETIMEDOUT;
    assert_int_equal(slurm_spank_job_epilog(NULL, 0, NULL), 0);
    assert_int_equal(host.noted, 7);
    assert_int_equal(host.closed, 1);
    assert_string_equal(host.rest,
                        "cosched: withdraw job 7: the agent refused");

    host.note_errno = ENOSPC;
    assert_int_equal(slurm_spank_job_epilog(NULL, 0, NULL), 0);
    assert_non_null(strstr(host.rest, "job 7: .ended: not writable"));
    assert_int_equal(host.error_lines, 0);
}

UNIT(test_plugin)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(task__other_jobs_are_left_alone),
        HOST_TEST(task__other_job_inside_of_ours),
        HOST_TEST(task__announces_job_and_task),
        HOST_TEST(task__tells_the_first_node),
        HOST_TEST(task__knows_its_cpus),
        HOST_TEST(task__interleaves_if_told_to),
        HOST_TEST(task_exit__summary),
        HOST_TEST(task_exit__summary_contents),
        HOST_TEST(task_exit__summary_by_option),
        HOST_TEST(task__sets_the_environment),
        HOST_TEST(task__leads_to_our_libgomp_once),
        HOST_TEST(task__keeps_the_programs_libgomp),
        HOST_TEST(task__export_none),
        HOST_TEST(task__completed_options),
        HOST_TEST(task__control_variable_of_a_user),
        HOST_TEST(task__warns_once_without_agent),
        HOST_TEST(task__waits_for_a_restarted_agent),
        HOST_TEST(task__only_the_first_task_warns),
        HOST_TEST(task__warns_when_refused),
        HOST_TEST(task__step_while_the_agent_is_away),
        HOST_TEST(task__without_our_libgomp),
        HOST_TEST(task__never_fails),
        HOST_TEST(epilog__of_other_jobs),
        HOST_TEST(epilog__withdraws),
        HOST_TEST(epilog__without_agent),
        HOST_TEST(epilog__leaves_note),
    };

    return cmocka_run_group_tests_name("test_plugin", tests, group_setup, group_teardown);
}
