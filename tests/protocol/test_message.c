/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Decoding and encoding of requests, bad input first. */

#include "tests/protocol/unit.h"

#include "protocol/message.h"

#define ANNOUNCE_BUT_NAME                                                      \
    "\"v\":1,\"op\":\"announce\",\"job\":1,\"uid\":0,\"cores\":\"0\","         \
    "\"memory_mb\":0,\"options\":\"\",\"restarts\":0"

/* Decode TEXT (SIZE bytes), which must fail with ERRNUM, leave the request
 * alone, and give a reason of one line that has NAMES in it. */
static void refuse(const char *text, size_t size, int errnum, const char *names)
{
    struct message_request request, before;
    struct errtext err = {""};

    memset(&request, 0x5a, sizeof(request));
    before = request;
    errno = 0;
    check(message_decode(text, size, &request, &err) == -1, text);
    if (errno != errnum)
        fail_msg("%s: errno %d, not %d", text, errno, errnum);
    check(memcmp(&request, &before, sizeof(request)) == 0, text);
    if (!strstr(err.text, names))
        fail_msg("%s: '%s' does not name '%s'", text, err.text, names);
    check(!strpbrk(err.text, "\n\r\033"), text);
    errno = 0;
    check(message_decode(text, size, &request, NULL) == -1, text);
    check(errno == errnum, text);
}

static void test_not_json(void **state)
{
    static const char *const table[] = {
        "", " ", "x", "{", "}", "{}x", "{\"v\":1,}", "[", "null", "1",
        "\"text\"", "[]", "[{\"v\":1,\"op\":\"ping\"}]",
        "{\"v\":1,\"op\":\"ping\"} {\"v\":1}",
        "{\"v\":1,\"v\":1,\"op\":\"ping\"}",         /* twice */
        "{\"v\":1,\"op\":\"ping\",\"op\":\"ping\"}",
        "{'v':1,'op':'ping'}",
        "{\"v\":1,\"op\":\"pi\xffng\"}",             /* not UTF-8 */
        "{\"v\":1,\"op\":\"\xed\xa0\x80\"}",         /* a surrogate */
        "{\"v\":1,\"op\":\"\xc0\xaf\"}",             /* overlong */
        "{\"v\":1,\"op\":\"a\nb\"}",                 /* raw control */
        "{\"v\":1,\"op\":\"a\\u0000b\"}",            /* a zero byte */
        "{\"v\":99999999999999999999999,\"op\":\"ping\"}",
        "{\"v\":1e999,\"op\":\"ping\"}",
        "MUNGE:AwQFAAA",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        refuse(table[i], strlen(table[i]), EBADMSG, "not");
    static const char zero[] = "{\"v\":1,\"op\":\"ping\"}\0";
    refuse(zero, sizeof(zero), EBADMSG, "not JSON");
    /* The size counts, not the terminator. */
    refuse("{\"v\":1,\"op\":\"ping\"}", 10, EBADMSG, "not JSON");
}

static void test_nesting(void **state)
{
    char *text = malloc(MESSAGE_MAX + 1);

    (void)state;
    assert_non_null(text);
    memset(text, '[', MESSAGE_MAX);
    text[MESSAGE_MAX] = '\0';
    refuse(text, MESSAGE_MAX, EBADMSG, "not JSON");
    for (size_t i = 0; i + 5 <= MESSAGE_MAX; i += 5)
        memcpy(text + i, "{\"a\":", 5);
    refuse(text, MESSAGE_MAX, EBADMSG, "not JSON");
    /* What nests and is JSON is a bad value. */
    int n = snprintf(text, MESSAGE_MAX, "{\"v\":1,\"op\":\"ping\",\"x\":");
    memset(text + n, '[', 1000);
    memset(text + n + 1000, ']', 1000);
    text[n + 2000] = '}';
    refuse(text, (size_t)n + 2001, EINVAL, "'x'");
    free(text);
}

static void test_bad_head(void **state)
{
    static const struct {
        const char *text;
        int errnum;
        const char *names;
    } table[] = {
        {"{}", EPROTO, "'v'"},
        {"{\"op\":\"ping\"}", EPROTO, "'v'"},
        {"{\"v\":\"1\",\"op\":\"ping\"}", EPROTO, "'v'"},
        {"{\"v\":1.0,\"op\":\"ping\"}", EPROTO, "'v'"},
        {"{\"v\":true,\"op\":\"ping\"}", EPROTO, "'v'"},
        {"{\"v\":null,\"op\":\"ping\"}", EPROTO, "'v'"},
        {"{\"v\":0,\"op\":\"ping\"}", EPROTO, "version 0"},
        {"{\"v\":-1,\"op\":\"ping\"}", EPROTO, "version -1"},
        {"{\"v\":2,\"op\":\"ping\"}", EPROTO,
         "version 2, this agent speaks 1 to 1"},
        {"{\"v\":4294967297,\"op\":\"ping\"}", EPROTO, "4294967297"},
        /* Another version may have other operations and keys. */
        {"{\"v\":2,\"op\":\"dance\",\"x\":1}", EPROTO, "version 2"},
        {"{\"v\":1}", EINVAL, "'op'"},
        {"{\"v\":1,\"op\":1}", EINVAL, "'op'"},
        {"{\"v\":1,\"op\":[\"ping\"]}", EINVAL, "'op'"},
        {"{\"v\":1,\"op\":\"\"}", EOPNOTSUPP, "''"},
        {"{\"v\":1,\"op\":\"dance\"}", EOPNOTSUPP, "'dance'"},
        {"{\"v\":1,\"op\":\"PING\"}", EOPNOTSUPP, "'PING'"},
        {"{\"v\":1,\"op\":\"ping \"}", EOPNOTSUPP, "'ping '"},
        {"{\"v\":1,\"op\":\"a\\n\\u001b[2Jb\"}", EOPNOTSUPP, "'a??[2Jb'"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        refuse(table[i].text, strlen(table[i].text), table[i].errnum,
               table[i].names);
}

static void test_bad_keys(void **state)
{
    /* What follows "v" and "op", the key that the text must name. */
    static const struct {
        const char *op, *keys, *names;
    } table[] = {
        /* missing */
        {"announce", "", "'job'"},
        {"task", "\"job\":1,\"step\":0", "'pid'"},
        {"task", "\"job\":1,\"pid\":1", "'step'"},
        {"withdraw", "", "'job'"},
        {"attach", "\"job\":1,\"pid\":1", "'threads'"},
        /* unknown, here or anywhere */
        {"ping", "\"x\":1", "'x'"},
        {"ping", "\"job\":1", "'job'"},
        {"ping", "\"\":1", "''"},
        {"config", "\"job\":1", "'job'"},
        {"status", "\"pid\":1", "'pid'"},
        {"withdraw", "\"job\":1,\"Job\":1", "'Job'"},
        {"ping", "\"a\\nb\":1", "'a?b'"},
        /* wrong type */
        {"status", "\"job\":\"1\"", "'job'"},
        {"status", "\"job\":1.0", "'job'"},
        {"status", "\"job\":true", "'job'"},
        {"status", "\"job\":null", "'job'"},
        {"status", "\"job\":[1]", "'job'"},
        {"status", "\"job\":{}", "'job'"},
        {"announce", "\"name\":1", "'name'"},
        {"announce", "\"options\":null", "'options'"},
        {"announce", "\"cores\":[0]", "'cores'"},
        /* out of range */
        {"status", "\"job\":0", "'job'"},
        {"status", "\"job\":-1", "'job'"},
        {"status", "\"job\":4294967296", "'job'"},
        {"status", "\"job\":9223372036854775807", "'job'"},
        {"task", "\"step\":-1", "'step'"},
        {"task", "\"step\":4294967296", "'step'"},
        {"task", "\"pid\":0", "'pid'"},
        {"task", "\"pid\":-1", "'pid'"},
        {"task", "\"pid\":2147483648", "'pid'"},
        {"attach", "\"threads\":0", "'threads'"},
        {"attach", "\"mode\":1", "'mode'"},
        {"attach", "\"mode\":\"a mode that is too long\"", "'mode'"},
        {"attach", "\"why\":null", "'why'"},
        {"why", "\"job\":0", "'job'"},
        {"announce", "\"uid\":-1", "'uid'"},
        {"announce", "\"uid\":4294967296", "'uid'"},
        {"announce", "\"memory_mb\":-1", "'memory_mb'"},
        {"announce", "\"restarts\":-1", "'restarts'"},
        {"announce", "\"node\":-1", "'node'"},
        {"task", "\"node\":1", "'node'"},
    };
    char text[256];

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        int n = snprintf(text, sizeof(text), "{\"v\":1,\"op\":\"%s\"%s%s}",
                         table[i].op, table[i].keys[0] ? "," : "",
                         table[i].keys);
        refuse(text, (size_t)n, EINVAL, table[i].names);
    }
}

/* A request with key NAME of LENGTH bytes; the caller frees it. */
static char *with_long(const char *name, size_t length)
{
    static const char *const keys[] = {"name", "cores", "options"};
    char *text = malloc(length + 256), *p = text;

    assert_non_null(text);
    p += sprintf(p, "{\"v\":1,\"op\":\"announce\",\"job\":1,\"uid\":0,"
                    "\"memory_mb\":0,\"restarts\":0");
    for (size_t i = 0; i < COUNT(keys); i++) {
        p += sprintf(p, ",\"%s\":\"", keys[i]);
        if (strcmp(keys[i], name) == 0) {
            memset(p, 'x', length);
            p += length;
        }
        *p++ = '"';
    }
    strcpy(p, "}");
    return text;
}

static void test_text_sizes(void **state)
{
    static const struct {
        const char *name;
        size_t size;
    } table[] = {
        {"name", MESSAGE_NAME_MAX},
        {"cores", MESSAGE_CORES_MAX},
        {"options", MESSAGE_OPTIONS_MAX},
    };
    struct message_request request;

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        char *text = with_long(table[i].name, table[i].size);
        refuse(text, strlen(text), EINVAL, table[i].name);
        free(text);
        text = with_long(table[i].name, table[i].size - 1);
        check(message_decode(text, strlen(text), &request, NULL) == 0,
              table[i].name);
        free(text);
    }
    /* Bytes count, not characters. */
    char text[1024] = "{" ANNOUNCE_BUT_NAME ",\"name\":\"";
    for (int i = 0; i < MESSAGE_NAME_MAX / 2; i++)
        strcat(text, "\xc3\xa4");
    strcat(text, "\"}");
    refuse(text, strlen(text), EINVAL, "'name'");
}

static void test_decode(void **state)
{
    static const char text[] =
        " {\"restarts\":2, \"op\":\"announce\", \"job\":4294967295,"
        "\"uid\":4294967295, \"name\":\"caf\\u00e9\", \"cores\":\"0-3,8\","
        "\"memory_mb\":9223372036854775807, \"options\":\"nupoco\", \"v\":1}\n";
    struct message_request request;
    struct errtext err;

    (void)state;
    memset(&request, 0x5a, sizeof(request));
    assert_int_equal(message_decode(text, strlen(text), &request, &err), 0);
    assert_int_equal(request.op, MESSAGE_ANNOUNCE);
    assert_true(request.job == UINT32_MAX && request.uid == UINT32_MAX);
    assert_true(request.memory_mb == INT64_MAX);
    assert_int_equal(request.restarts, 2);
    assert_string_equal(request.name, "caf\xc3\xa9");
    assert_string_equal(request.cores, "0-3,8");
    assert_string_equal(request.options, "nupoco");
    /* What the operation does not have is zero. */
    assert_int_equal(request.pid, 0);
    assert_int_equal(request.step, 0);
    assert_int_equal(request.threads, 0);
}

static void test_encode_bad(void **state)
{
    static const struct {
        struct message_request request;
        const char *names;
    } table[] = {
        {{.op = MESSAGE_OPS}, "op"},
        {{.op = (enum message_op)-1}, "op"},
        {{.op = MESSAGE_WITHDRAW}, "'job'"},
        {{.op = MESSAGE_TASK, .job = 1}, "'pid'"},
        {{.op = MESSAGE_TASK, .job = 1, .pid = -1}, "'pid'"},
        {{.op = MESSAGE_ATTACH, .job = 1, .pid = 1}, "'threads'"},
        {{.op = MESSAGE_ANNOUNCE, .job = 1, .memory_mb = UINT64_MAX},
         "'memory_mb'"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct errtext err = {""};
        errno = 0;
        check(message_encode(&table[i].request, &err) == NULL, table[i].names);
        check(errno == EINVAL, table[i].names);
        check(strstr(err.text, table[i].names), table[i].names);
    }
    struct message_request unterminated = {.op = MESSAGE_ANNOUNCE, .job = 1};
    memset(unterminated.name, 'x', sizeof(unterminated.name));
    assert_null(message_encode(&unterminated, NULL));
}

/* Each operation survives encoding and decoding. */
static void test_round_trip(void **state)
{
    static const struct message_request table[] = {
        {.op = MESSAGE_ANNOUNCE, .job = 7, .uid = 1000, .node = 1,
         .cores = "0-3"},
        {.op = MESSAGE_ANNOUNCE, .job = 7, .uid = 1000, .restarts = 1,
         .memory_mb = 1 << 20, .name = "a \"job\"\\ \xc3\xa4",
         .cores = "0-1023", .options = "ults=4,max_cores=3"},
        {.op = MESSAGE_TASK, .job = 7, .step = 4294967291, .pid = 1},
        {.op = MESSAGE_WITHDRAW, .job = UINT32_MAX},
        {.op = MESSAGE_ATTACH, .job = 7, .pid = INT32_MAX, .threads = 1},
        {.op = MESSAGE_STATUS},
        {.op = MESSAGE_STATUS, .job = 7},
        {.op = MESSAGE_EXPLAIN, .job = 7},
        {.op = MESSAGE_TRACE, .job = 7},
        {.op = MESSAGE_CONFIG},
        {.op = MESSAGE_PING},
        {.op = MESSAGE_COUNTERS},
        {.op = MESSAGE_RECORD, .dir = "/var/tmp/r\xc3\xa4"},
        {.op = MESSAGE_RECORD},
        {.op = MESSAGE_WHY, .job = 7},
        {.op = MESSAGE_ATTACH, .job = 7, .pid = 1, .threads = 1, .mode = "kthread",
         .why = "pthread_kill"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct message_request got;
        const char *name = message_op_name(table[i].op);
        char *text = message_encode(&table[i], NULL);
        check(text, name);
        memset(&got, 0x5a, sizeof(got));
        check(message_decode(text, strlen(text), &got, NULL) == 0, text);
        check(memcmp(&got, &table[i], sizeof(got)) == 0, text);
        free(text);
    }
}

/* A job may be called anything; it is announced all the same. */
static void test_strange_names(void **state)
{
    static const struct {
        const char *name, *sent;
    } table[] = {
        {"caf\xe9", "caf?"},
        {"a\nb\x1b[2J", "a?b?[2J"},
        {"\x7f\xc2\x9b", "???"},
        {"\xe2\x82", "??"}, /* cut off by a limit */
        {"\xe2\x82\xac", "\xe2\x82\xac"},
        {"\xed\xa0\x80", "???"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xc0\xaf", "??"},
        {"\xfe\xff", "??"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct message_request request = {.op = MESSAGE_ANNOUNCE, .job = 1};
        struct message_request got;
        strcpy(request.name, table[i].name);
        char *text = message_encode(&request, NULL);
        check(text, table[i].sent);
        check(message_decode(text, strlen(text), &got, NULL) == 0, text);
        check(strcmp(got.name, table[i].sent) == 0, got.name);
        free(text);
    }
}

static void test_operations(void **state)
{
    (void)state;
    assert_null(message_op_name(MESSAGE_OPS));
    assert_null(message_op_name((enum message_op)-1));
    assert_false(message_op_privileged(MESSAGE_OPS));
    for (int op = 0; op < MESSAGE_OPS; op++) {
        bool want = op == MESSAGE_ANNOUNCE || op == MESSAGE_TASK ||
                    op == MESSAGE_WITHDRAW || op == MESSAGE_RECORD ||
                    op == MESSAGE_DRAIN || op == MESSAGE_RESUME;
        check(message_op_name(op), "name");
        check(message_op_privileged(op) == want, message_op_name(op));
    }
}

/* ---- every allocation fails once ---- */

static long allocations_left, allocated;

static void *failing_malloc(size_t size)
{
    if (allocations_left-- <= 0)
        return NULL;
    allocated++;
    return malloc(size);
}

static void counting_free(void *memory)
{
    allocated -= memory != NULL;
    free(memory);
}

static void test_no_memory(void **state)
{
    static const char text[] =
        "{" ANNOUNCE_BUT_NAME ",\"name\":\"a name that is not short\"}";
    struct message_request request = {.op = MESSAGE_PING};
    long failures = 0;
    int rc = -1;

    (void)state;
    json_set_alloc_funcs(failing_malloc, counting_free);
    for (; rc < 0; failures++) {
        allocations_left = failures;
        rc = message_decode(text, strlen(text), &request, NULL);
        assert_true(rc == 0 || request.op == MESSAGE_PING);
        assert_int_equal(allocated, 0);
    }
    assert_true(failures > 10);
    char *encoded = NULL;
    for (failures = 0; !encoded; failures++) {
        allocations_left = failures;
        errno = 0;
        encoded = message_encode(&request, NULL);
        assert_int_equal(allocated, encoded != NULL);
        assert_true(encoded || errno == EINVAL || errno == ENOMEM);
    }
    assert_true(failures > 10);
    free(encoded);
    json_set_alloc_funcs(malloc, free);
}

UNIT(test_message)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_json),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_bad_head),
        cmocka_unit_test(test_bad_keys),
        cmocka_unit_test(test_text_sizes),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_encode_bad),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_strange_names),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("test_message", tests, NULL, NULL);
}
