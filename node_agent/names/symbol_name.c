/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the user would call the function behind a symbol. */

#include "node_agent/names/symbol_name.h"

#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOL_MAX 1024 /* bytes of a symbol that are looked at */

#ifdef HAVE_CXA_DEMANGLE
/* Of the C++ runtime library: the ABI's own way. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

static char *demangle(const char *symbol)
{
    int status;

    return strncmp(symbol, "_Z", 2) ? NULL : __cxa_demangle(symbol, NULL, NULL, &status);
}
#else
static char *demangle(const char *symbol)
{
    (void)symbol;
    return NULL;
}
#endif

/* The end of the bracket that opens at TEXT, or of TEXT. */
static const char *behind_bracket(const char *text)
{
    int depth = 0;

    for (; *text; text++) {
        if (strchr("(<[{", *text))
            depth++;
        else if (strchr(")>]}", *text) && --depth == 0)
            return text + 1;
    }
    return text;
}

/* Length of "operator<<" and the like at TEXT, 0 if there is none. */
static size_t operator_length(const char *text)
{
    size_t n = strlen("operator");

    if (strncmp(text, "operator", n) || isalnum((unsigned char)text[n]) || text[n] == '_')
        return 0;
    if (!strncmp(text + n, "()", 2))
        return n + 2;
    return n + strspn(text + n, "<>=!+-*/%&|^~[],");
}

/* Copy the demangled TEXT without arguments of functions and templates, and without the type
 * before the name.  A lambda's {...} and (anonymous namespace) are parts of names. */
static void shorten(const char *text, char *to, size_t size)
{
    static const char anonymous[] = "(anonymous namespace)";
    size_t used = 0;

    while (*text && used + 1 < size) {
        size_t word = operator_length(text);
        if (!strncmp(text, anonymous, strlen(anonymous)))
            word = strlen(anonymous);
        else if (*text == '{')
            word = (size_t)(behind_bracket(text) - text);
        if (word) {
            int n = snprintf(to + used, size - used, "%.*s", (int)word, text);
            used = (size_t)n < size - used ? used + (size_t)n : size - 1;
            text += word;
        } else if (*text == '<' || *text == '(' || *text == '[') {
            text = behind_bracket(text);
        } else if (*text == ' ') {
            text++;
            if (strncmp(text, "const", 5)) /* behind a method's arguments */
                used = 0;
            else
                text += 5;
        } else {
            to[used++] = *text++;
        }
    }
    to[used] = '\0';
}

/* gfortran's and others' "__module_MOD_procedure" as "module::procedure"; "step_" as "step".
 * False for the main program, which has no name there. */
static bool fortran_name(char *name, bool sure)
{
    char *module = !strncmp(name, "__", 2) ? strstr(name + 2, "_MOD_") : NULL;
    size_t length = strlen(name);

    if (!strcmp(name, "MAIN__") || (sure && !strcmp(name, "main")))
        return false;
    if (module) {
        memmove(name, name + 2, (size_t)(module - name) - 2);
        memcpy(module - 2, "::", 2);
        memmove(module, module + 5, strlen(module + 5) + 1);
        return true;
    }
    while (length > 1 && name[length - 1] == '_' &&
           (sure || strcspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == length))
        name[--length] = '\0';
    return true;
}

bool symbol_name(const char *symbol, bool fortran, char name[SYMBOL_NAME_MAX])
{
    char plain[SYMBOL_MAX];

    name[0] = '\0';
    /* ".omp_outlined." and what compilers put behind a dot: ".isra.0", "._omp_fn.1". */
    size_t length = strcspn(symbol, ".");
    if (!length || length >= sizeof(plain))
        return false;
    memcpy(plain, symbol, length);
    plain[length] = '\0';
    char *demangled = demangle(plain);
    if (demangled)
        shorten(demangled, plain, sizeof(plain));
    free(demangled);
    if (!demangled && !fortran_name(plain, fortran))
        return false;
    if (!plain[0])
        return false;
    int n = snprintf(name, SYMBOL_NAME_MAX, "%s", plain);
    if (n >= SYMBOL_NAME_MAX)
        memcpy(name + SYMBOL_NAME_MAX - 4, "...", 4);
    return true;
}
