/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Why a process follows its job's allotment, or does not: words and sentences.
 */

#include "protocol/follow.h"

#include <stdio.h>
#include <string.h>

/* "%" is the detail, or what is said where there is none.  A detail that
 * neither sentence nor advice mentions follows the sentence in parentheses. */
static const struct {
    const char *word, *sentence, *advice, *otherwise;
} words[FOLLOW_WORDS] = {
    [FOLLOW_UNKNOWN] = {"unknown", "it cannot be looked into", "", ""},
    [FOLLOW_YES] = {"follows", "it is malleable", "", ""},
    [FOLLOW_KTHREAD] = {"kthread", "it is malleable with kernel threads", "",
                        ""},
    [FOLLOW_NO_REGION] = {"no-region", "it has begun no parallel region so far",
                          "It follows from its first one on.", ""},
    [FOLLOW_NO_OPENMP] =
        {"no-openmp", "it has no OpenMP runtime",
         "It may have as many threads as cores; more are no use.", ""},
    [FOLLOW_STATIC] = {"static", "it contains % statically",
                       "Link it without -static and -static-libgomp.",
                       "an OpenMP runtime"},
    [FOLLOW_OTHER] = {"other-runtime", "it runs with %",
                      "Build it for the shared runtime of GCC, LLVM or Intel.",
                      "another OpenMP runtime"},
    [FOLLOW_STOCK] =
        {"own-runtime", "it runs with an OpenMP runtime of its own",
         "A setuid program keeps its own; else see what overrides LD_AUDIT.",
         ""},
    [FOLLOW_REFUSED] = {"refused",
                        "it keeps its own runtime as was asked (libgomp=stock)",
                        "Leave out libgomp=stock and COSCHED_LIBGOMP=stock.",
                        ""},
    [FOLLOW_ENVIRONMENT] =
        {"environment", "its environment lacks %",
         "Start it with the environment that the job began with.",
         "what the job began with"},
    [FOLLOW_NO_LIBRARY] = {"no-library",
                           "its container lacks the cooperative libgomp",
                           "Bind % into the container.", "its directory"},
    [FOLLOW_NO_SOCKET] = {"no-socket", "its container lacks the agent's socket",
                          "Bind the directory of % into the container.",
                          "COSCHED_SOCKET"},
    [FOLLOW_OLD_GLIBC] = {"old-glibc", "its glibc is older than %",
                          "Run it in a container with a newer glibc.",
                          "the cooperative libgomp needs"},
    [FOLLOW_NEWER] = {"newer-symbols",
                      "it wants %, which the cooperative libgomp does not have",
                      "Build it with an older GCC, or ask the administrator to "
                      "build a newer libgomp (libgomp-coop/fetch-gcc-source).",
                      "newer symbols"},
    [FOLLOW_REALTIME] = {"realtime", "it has a real-time scheduling policy",
                         "Run it with the normal one.", ""},
    [FOLLOW_BROKEN] = {"broken-library",
                       "its cooperative libgomp is a damaged file",
                       "Ask the administrator to install it anew.", ""},
};

const char *follow_word(enum follow follow)
{
    return words[(unsigned)follow < FOLLOW_WORDS ? follow : FOLLOW_UNKNOWN]
        .word;
}

int follow_find(const char *word)
{
    for (int i = 0; i < FOLLOW_WORDS; i++)
        if (!strcmp(words[i].word, word))
            return i;
    return -1;
}

bool follow_is_malleable(enum follow follow)
{
    return follow == FOLLOW_YES || follow == FOLLOW_KTHREAD;
}

void follow_set_detail(struct follow_finding *finding, const char *detail)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789._+-/@:, ()";
    size_t n = 0;

    for (; detail[n] && n < sizeof(finding->detail) - 1; n++)
        finding->detail[n] = strchr(good, detail[n]) ? detail[n] : '?';
    finding->detail[n] = '\0';
}

/* Append FROM to TEXT; what does not fit is cut off. */
static void append(char text[FOLLOW_TEXT_MAX], const char *from, size_t length)
{
    size_t used = strlen(text);
    size_t room = FOLLOW_TEXT_MAX - 1 - used;

    if (length > room)
        length = room;
    memcpy(text + used, from, length);
    text[used + length] = '\0';
}

/* TEMPLATE with the detail of FINDING instead of "%". */
static void fill(const struct follow_finding *finding, const char *template,
                 char text[FOLLOW_TEXT_MAX])
{
    size_t before = strcspn(template, "%");

    append(text, template, before);
    if (!template[before])
        return;
    const char *detail = finding->detail[0] ? finding->detail
                                            : words[finding->word].otherwise;
    append(text, detail, strlen(detail));
    append(text, template + before + 1, strlen(template + before + 1));
}

const char *follow_sentence(const struct follow_finding *finding,
                            char text[FOLLOW_TEXT_MAX])
{
    const char *sentence = words[finding->word].sentence;

    text[0] = '\0';
    if (finding->probably && !strncmp(sentence, "it ", 3)) {
        append(text, "it probably ", 12);
        sentence += 3;
    }
    fill(finding, sentence, text);
    if (finding->detail[0] && !strchr(sentence, '%') &&
        !strchr(words[finding->word].advice, '%')) {
        append(text, " (", 2);
        append(text, finding->detail, strlen(finding->detail));
        append(text, ")", 1);
    }
    return text;
}

const char *follow_advice(const struct follow_finding *finding,
                          char text[FOLLOW_TEXT_MAX])
{
    text[0] = '\0';
    fill(finding, words[finding->word].advice, text);
    return text;
}
