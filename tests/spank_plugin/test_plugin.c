/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The SPANK plugin, hook by hook, in a host of the test's own. */

#include "tests/spank_plugin/fake_host.h"

#include <sys/stat.h>

#include "protocol/options.h"
#include "spank_plugin/plugin.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int slurm_spank_init(spank_t spank, int ac, char **av);
int slurm_spank_init_post_opt(spank_t spank, int ac, char **av);
int slurm_spank_task_init_privileged(spank_t spank, int ac, char **av);
int slurm_spank_task_exit(spank_t spank, int ac, char **av);
int slurm_spank_job_epilog(spank_t spank, int ac, char **av);

/* A directory with something named libgomp.so.1, made in group_setup(). */
static char directory[] = "/tmp/cosched-plugin.XXXXXX";
static char libgomp_arg[64], library[64];
static char socket_arg[] = "socket=/agent";
static char *good_args[] = {socket_arg, libgomp_arg};

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(libgomp_arg, sizeof(libgomp_arg), "libgomp=%s", directory);
    snprintf(library, sizeof(library), "%s/libgomp.so.1", directory);
    FILE *file = fopen(library, "w");
    return file ? fclose(file) : -1;
}

static int group_teardown(void **state)
{
    host_reset(state);
    unlink(library);
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

/* ---- plugstack.conf --------------------------------------------------------- */

static void args__bad(void **state)
{
    static char huge[PATH_MAX + 16] = "socket=";
    char begin[128];
    char *table[] = {"bogus", "socket", "Socket=/x", "libgomp:/x", "", huge};

    (void)state;
    memset(huge + 7, 'x', sizeof(huge) - 8);
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        assert_int_equal(slurm_spank_init(NULL, 1, &table[i]), 0);
        assert_int_equal(host.error_lines, 1);
        snprintf(begin, sizeof(begin), "cosched: plugstack.conf: %.80s: ",
                 table[i]);
        assert_memory_equal(host.errors, begin, strlen(begin));
        assert_string_equal(plugin.socket, "");
        assert_string_equal(plugin.libgomp, COSCHED_LIBGOMPDIR);

        /* Users of sbatch are not told unless they ask. */
        host_reset(NULL);
        host.context = S_CTX_ALLOCATOR;
        assert_int_equal(slurm_spank_init(NULL, 1, &table[i]), 0);
        assert_int_equal(host.error_lines, 0);
        assert_non_null(strstr(host.rest, "plugstack.conf"));
    }
}

static void args__good(void **state)
{
    char *args[] = {"socket=/run/%n.sock", "libgomp=/lib/x", "munge=/m"};

    (void)state;
    assert_int_equal(slurm_spank_init(NULL, COUNT(args), args), 0);
    assert_string_equal(plugin.socket, "/run/%n.sock");
    assert_string_equal(plugin.libgomp, "/lib/x");
    assert_string_equal(plugin.munge, "/m");
    assert_string_equal(host.errors, "");
}

/* ---- the option ------------------------------------------------------------- */

static void option__bad(void **state)
{
    static char huge[MESSAGE_OPTIONS_MAX + 1];
    const char *table[] = {"bogus", "ults=0", "equal,equal", "policy=x", huge};

    (void)state;
    memset(huge, 'x', sizeof(huge) - 1);
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        host.context = S_CTX_ALLOCATOR;
        slurm_spank_init(NULL, 0, NULL);
        assert_int_equal(host.option->cb(0, table[i], 0), -1);
        assert_int_equal(host.error_lines, 1);
        assert_non_null(strstr(host.errors, "--coschedule="));
        assert_false(plugin.requested);

        /* On the node the job shares already: it is a job of ours. */
        host_reset(NULL);
        slurm_spank_init(NULL, 0, NULL);
        assert_int_equal(host.option->cb(0, table[i], 1), 0);
        assert_true(plugin.requested);
        assert_string_equal(plugin.value, "");
        assert_int_equal(host.error_lines, 0);
    }
}

static void option__names_value_and_choice(void **state)
{
    (void)state;
    host.context = S_CTX_LOCAL;
    slurm_spank_init(NULL, 0, NULL);
    for (const char *const *policy = options_policies; *policy; policy++)
        assert_non_null(strstr(host.option->usage, *policy));
    assert_non_null(strstr(host.option->usage, "max_cores), comma separated"));
    host.option->cb(0, "bogus", 0);
    const char *words[] = {"--coschedule=bogus", "nupoco", "greedy", "equal",
                           "policy", "ults", "min_cores", "max_cores"};
    for (size_t i = 0; i < COUNT(words); i++)
        assert_non_null(strstr(host.errors, words[i]));
}

static void option__good(void **state)
{
    static const struct {
        const char *given, *kept;
    } table[] = {
        {NULL, ""}, {"", ""}, {"(null)", ""}, {"equal", "equal"},
        {"ults=3,max_cores=4", "ults=3,max_cores=4"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        for (int remote = 0; remote < 2; remote++) {
            host_reset(NULL);
            slurm_spank_init(NULL, 0, NULL);
            assert_int_equal(host.option->cb(0, table[i].given, remote), 0);
            assert_true(plugin.requested);
            assert_string_equal(plugin.value, table[i].kept);
        }
}

static void option__last_one_counts(void **state)
{
    (void)state;
    slurm_spank_init(NULL, 0, NULL);
    host.option->cb(0, "greedy", 1);
    host.option->cb(0, NULL, 1);
    assert_string_equal(plugin.value, "");
}

/* ---- submission -------------------------------------------------------------- */

static void submit__carries_the_value(void **state)
{
    (void)state;
    host.context = S_CTX_ALLOCATOR;
    slurm_spank_init(NULL, 0, NULL);
    host.option->cb(0, "equal,ults=2", 0);
    assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
    assert_string_equal(host.control, PLUGIN_CONTROL "=equal,ults=2");
}

static void submit__plain_job_of_a_coscheduled_one(void **state)
{
    (void)state;
    setenv(PLUGIN_CONTROL_JOB, "equal", 1);
    host.context = S_CTX_LOCAL; /* a step of that job: stays */
    slurm_spank_init_post_opt(NULL, 0, NULL);
    assert_non_null(getenv(PLUGIN_CONTROL_JOB));
    host.context = S_CTX_ALLOCATOR; /* another job */
    slurm_spank_init_post_opt(NULL, 0, NULL);
    assert_null(getenv(PLUGIN_CONTROL_JOB));
    assert_string_equal(host.control, "");
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
        snprintf(path, sizeof(path), "%s%s", directory,
                 user_has_own ? ":/opt/x" : "");
        host_setenv("LD_LIBRARY_PATH", path);
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
                            "coschedule: job 7: 34.2 s on 1.50 cores (mean), "
                            "with job 17, 18; coschedreport 7 tells more");
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

static void task__sets_the_environment(void **state)
{
    (void)state;
    start_task("(null)");
    assert_string_equal(host_getenv("COSCHED_SOCKET"), "/agent");
    assert_string_equal(host_getenv("COSCHED_JOB"), "7");
    assert_string_equal(host_getenv("LD_LIBRARY_PATH"), directory);
    assert_null(host_getenv("COSCHED_ULTS"));

    host_reset(NULL);
    start_task("ults=3");
    assert_string_equal(host_getenv("COSCHED_ULTS"), "3");
}

static void task__prepends_once(void **state)
{
    char once[128], longer[128];

    (void)state;
    snprintf(once, sizeof(once), "%s:/opt/x", directory);
    host_setenv("LD_LIBRARY_PATH", "/opt/x");
    start_task("");
    assert_string_equal(host_getenv("LD_LIBRARY_PATH"), once);
    start_task(""); /* a step inherits */
    assert_string_equal(host_getenv("LD_LIBRARY_PATH"), once);

    /* A directory whose name only begins alike. */
    snprintf(longer, sizeof(longer), "%s2", directory);
    host_setenv("LD_LIBRARY_PATH", longer);
    start_task("");
    snprintf(once, sizeof(once), "%s:%s2", directory, directory);
    assert_string_equal(host_getenv("LD_LIBRARY_PATH"), once);
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
        assert_string_equal(plugin.socket, "/agent");
    }
}

static void epilog__without_agent(void **state)
{
    (void)state;
    host.context = S_CTX_JOB_SCRIPT;
    host.option_used = true;
    host.open_errno = ENOENT;
    assert_int_equal(slurm_spank_job_epilog(NULL, 0, NULL), 0);
    assert_int_equal(host.error_lines, 0);
    assert_non_null(strstr(host.rest, "job 7"));
}

#define TEST(name) cmocka_unit_test_setup(name, host_reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(args__bad),
        TEST(args__good),
        TEST(option__bad),
        TEST(option__names_value_and_choice),
        TEST(option__good),
        TEST(option__last_one_counts),
        TEST(submit__carries_the_value),
        TEST(submit__plain_job_of_a_coscheduled_one),
        TEST(task__other_jobs_are_left_alone),
        TEST(task__other_job_inside_of_ours),
        TEST(task__announces_job_and_task),
        TEST(task__knows_its_cpus),
        TEST(task_exit__summary),
        TEST(task__sets_the_environment),
        TEST(task__prepends_once),
        TEST(task__export_none),
        TEST(task__control_variable_of_a_user),
        TEST(task__warns_once_without_agent),
        TEST(task__only_the_first_task_warns),
        TEST(task__warns_when_refused),
        TEST(task__step_while_the_agent_is_away),
        TEST(task__without_our_libgomp),
        TEST(task__never_fails),
        TEST(epilog__of_other_jobs),
        TEST(epilog__withdraws),
        TEST(epilog__without_agent),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
