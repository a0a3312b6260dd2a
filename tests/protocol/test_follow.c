/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Words, sentences and advices of protocol/follow.h. */

#include "tests/support/unit.h"

#include "protocol/follow.h"

static void test_words(void **state)
{
    /* Records have them: they stay. */
    static const char *const words[FOLLOW_WORDS] = {
        "unknown", "follows", "kthread", "no-region", "no-openmp", "static",
        "other-runtime", "own-runtime", "refused", "environment", "no-library",
        "no-socket", "old-glibc", "newer-symbols", "realtime", "broken-library"};
    char text[FOLLOW_TEXT_MAX];

    (void)state;
    for (int i = 0; i < FOLLOW_WORDS; i++) {
        struct follow_finding f = {.word = (enum follow)i};
        assert_string_equal(follow_word(f.word), words[i]);
        assert_int_equal(follow_find(words[i]), i);
        assert_int_equal(follow_is_malleable(f.word), i == 1 || i == 2);
        assert_null(strchr(follow_sentence(&f, text), '%'));
        assert_true(!strncmp(text, "it", 2) && text[strlen(text) - 1] != '.');
        assert_null(strchr(follow_advice(&f, text), '%'));
        assert_true(!*text || text[strlen(text) - 1] == '.');
    }
    assert_int_equal(follow_find("Follows"), -1);
    assert_int_equal(follow_find(""), -1);
    assert_string_equal(follow_word(FOLLOW_WORDS), "unknown");
    assert_string_equal(follow_word((enum follow)-1), "unknown");
}

static void test_sentences(void **state)
{
    static const struct {
        struct follow_finding finding;
        const char *sentence, *advice;
    } table[] = {
        {{FOLLOW_STATIC, false, "libgomp"}, "it contains libgomp statically",
         "Link it without -static and -static-libgomp."},
        {{FOLLOW_STATIC, true, "libgomp"}, "it probably contains libgomp statically",
         "Link it without -static and -static-libgomp."},
        {{FOLLOW_NO_OPENMP, false, "Java"}, "it has no OpenMP runtime (Java)",
         "It may have as many threads as cores; more are no use."},
        {{FOLLOW_NO_SOCKET, false, "/run/s"},
         "its container lacks the agent's socket",
         "Bind the directory of /run/s into the container."},
        {{FOLLOW_OLD_GLIBC, false, "GLIBC_2.34"}, "its glibc is older than GLIBC_2.34",
         "Run it in a container with a newer glibc."},
        {{FOLLOW_KTHREAD, false, "pthread_kill"},
         "it is malleable with kernel threads (pthread_kill)", ""},
    };
    char text[FOLLOW_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        assert_string_equal(follow_sentence(&table[i].finding, text),
                            table[i].sentence);
        assert_string_equal(follow_advice(&table[i].finding, text), table[i].advice);
    }
}

/* Details are what a user's process made them. */
static void test_detail(void **state)
{
    struct follow_finding f = {.word = FOLLOW_STOCK};
    char text[FOLLOW_TEXT_MAX], longest[1000];

    (void)state;
    follow_set_detail(&f, "a\n\x1b[31m\"\\%s\xff{}'");
    assert_string_equal(f.detail, "a???31m???s????");
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    follow_set_detail(&f, longest);
    assert_int_equal(strlen(f.detail), FOLLOW_DETAIL_MAX - 1);
    for (int i = 0; i < FOLLOW_WORDS; i++) {
        f.word = (enum follow)i;
        assert_true(strlen(follow_sentence(&f, text)) < FOLLOW_TEXT_MAX - 20);
        assert_true(strlen(follow_advice(&f, text)) < FOLLOW_TEXT_MAX - 20);
    }
    follow_set_detail(&f, "");
    assert_string_equal(f.detail, "");
}

UNIT(test_follow)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_detail),
    };

    return cmocka_run_group_tests_name("test_follow", tests, NULL, NULL);
}
