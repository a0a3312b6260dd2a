/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Formulas over counters: a recursive descent parser to postfix code. */

#include "node_agent/counters/formula.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Each operand takes at least one byte of the text; sum() makes more. */
#define CODE_MAX (2 * FORMULA_BYTES)

/* A factor nested in parentheses leaves at most two operands behind on each
 * level (a sum's and a product's left side), and min() and max() one more. */
#define STACK_MAX (3 * FORMULA_DEPTH + 4)

enum op { OP_NUMBER, OP_VARIABLE, OP_NEGATE, OP_ADD, OP_SUBTRACT, OP_MULTIPLY,
          OP_DIVIDE, OP_MIN, OP_MAX };

struct step {
    enum op op;
    double number;
    size_t variable;
};

struct formula {
    size_t length;
    struct step step[];
};

struct parser {
    const char *at;
    const struct formula_names *names;
    struct errtext *err;
    int depth;
    bool failed;
    size_t length;
    struct step step[CODE_MAX];
};

static void expression(struct parser *p);

/* The first reason is the one to tell. */
static void fail(struct parser *p, const char *term, size_t length,
                 const char *why)
{
    if (p->failed)
        return;
    p->failed = true;
    if (length > 80)
        length = 80;
    if (length == 0)
        errtext_set(p->err, EINVAL, "at the end: %s", why);
    else
        errtext_set(p->err, EINVAL, "\"%.*s\": %s", (int)length, term, why);
}

static void emit(struct parser *p, struct step step)
{
    if (p->length == CODE_MAX)
        fail(p, p->at, strlen(p->at), "the formula is too long");
    else
        p->step[p->length++] = step;
}

static void emit_op(struct parser *p, enum op op)
{
    emit(p, (struct step){.op = op});
}

static char peek(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
    return *p->at;
}

static bool accept_char(struct parser *p, char c)
{
    if (p->failed || peek(p) != c)
        return false;
    p->at++;
    return true;
}

/* From here to the end of the word, or one character. */
static size_t word_length(const char *s)
{
    size_t n = 0;

    while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '#' ||
           s[n] == '.')
        n++;
    return n || !*s ? n : 1;
}

static void expect(struct parser *p, char c)
{
    char why[] = "expected \" \"";

    why[10] = c;
    if (!accept_char(p, c))
        fail(p, p->at, word_length(p->at), why);
}

/* NAME, in which each "#" of PATTERN (LENGTH bytes) is a number. */
static bool matches(const char *pattern, size_t length, const char *name)
{
    const char *end = pattern + length;

    while (pattern < end) {
        if (*pattern == '#') {
            if (!isdigit((unsigned char)*name))
                return false;
            while (isdigit((unsigned char)*name))
                name++;
        } else if (*pattern != *name++) {
            return false;
        }
        pattern++;
    }
    return !*name;
}

/* Push the sum of all variables that match. */
static void variables(struct parser *p, const char *pattern, size_t length)
{
    size_t found = 0;

    for (size_t i = 0; i < p->names->count; i++) {
        if (!matches(pattern, length, p->names->name(p->names->arg, i)))
            continue;
        emit(p, (struct step){.op = OP_VARIABLE, .variable = i});
        if (found++)
            emit_op(p, OP_ADD);
    }
    if (!found)
        fail(p, pattern, length, "no such counter or variable");
}

static void call_sum(struct parser *p)
{
    peek(p);
    const char *pattern = p->at;
    size_t length = word_length(pattern);

    if (!isalpha((unsigned char)*pattern)) {
        fail(p, pattern, length, "expected a name");
        return;
    }
    p->at += length;
    variables(p, pattern, length);
    expect(p, ')');
}

static void call_two(struct parser *p, enum op op)
{
    expression(p);
    expect(p, ',');
    expression(p);
    expect(p, ')');
    emit_op(p, op);
}

static void name(struct parser *p)
{
    const char *word = p->at;
    size_t length = word_length(word);

    p->at += length;
    if (peek(p) != '(') {
        if (memchr(word, '#', length))
            fail(p, word, length, "\"#\" only in sum()");
        else
            variables(p, word, length);
        return;
    }
    p->at++;
    if (length == 3 && !memcmp(word, "sum", 3))
        call_sum(p);
    else if (length == 3 && !memcmp(word, "min", 3))
        call_two(p, OP_MIN);
    else if (length == 3 && !memcmp(word, "max", 3))
        call_two(p, OP_MAX);
    else
        fail(p, word, length, "no such function");
}

/* Take the digits at S + *N into *VALUE; how many they were. */
static int digits(const char *s, size_t *n, double *value)
{
    int count = 0;

    for (; isdigit((unsigned char)s[*n]); (*n)++, count++)
        *value = *value * 10 + (s[*n] - '0');
    return count;
}

/* Digits, a point, an exponent: strtod() alone would take "inf" and "0x1p3",
 * and "1,5" in some locales. */
static void number(struct parser *p)
{
    const char *s = p->at;
    size_t n = 0;
    double value = 0, exponent = 0;
    int count = digits(s, &n, &value), after = 0;
    bool good = true;

    if (s[n] == '.') {
        n++;
        after = digits(s, &n, &value);
    }
    good = count + after > 0;
    if (s[n] == 'e' || s[n] == 'E') {
        bool negative = s[++n] == '-';
        n += s[n] == '-' || s[n] == '+';
        good = digits(s, &n, &exponent) > 0 && good;
        exponent = negative ? -exponent : exponent;
    }
    value *= pow(10, exponent - after);
    if (!good || !isfinite(value) || isalnum((unsigned char)s[n]) ||
        (s[n] && strchr("_.#", s[n]))) {
        fail(p, s, n + word_length(s + n), "not a number");
        return;
    }
    p->at += n;
    emit(p, (struct step){.op = OP_NUMBER, .number = value});
}

static void factor(struct parser *p)
{
    bool negative = false;

    while (accept_char(p, '-'))
        negative = !negative;
    if (p->failed)
        return;
    char c = peek(p);
    if (++p->depth > FORMULA_DEPTH)
        fail(p, p->at, word_length(p->at), "nested too deeply");
    else if (accept_char(p, '(')) {
        expression(p);
        expect(p, ')');
    } else if (isdigit((unsigned char)c) || c == '.')
        number(p);
    else if (isalpha((unsigned char)c))
        name(p);
    else
        fail(p, p->at, word_length(p->at), "expected a number or a name");
    p->depth--;
    if (negative)
        emit_op(p, OP_NEGATE);
}

static void term(struct parser *p)
{
    factor(p);
    while (!p->failed) {
        if (accept_char(p, '*')) {
            factor(p);
            emit_op(p, OP_MULTIPLY);
        } else if (accept_char(p, '/')) {
            factor(p);
            emit_op(p, OP_DIVIDE);
        } else {
            return;
        }
    }
}

static void expression(struct parser *p)
{
    term(p);
    while (!p->failed) {
        if (accept_char(p, '+')) {
            term(p);
            emit_op(p, OP_ADD);
        } else if (accept_char(p, '-')) {
            term(p);
            emit_op(p, OP_SUBTRACT);
        } else {
            return;
        }
    }
}

struct formula *formula_parse(const char *text,
                              const struct formula_names *names,
                              struct errtext *err)
{
    struct formula *f = NULL;

    if (strlen(text) > FORMULA_BYTES) {
        errtext_set(err, EINVAL, "\"%.40s...\": the formula is too long", text);
        return NULL;
    }
    struct parser *p = calloc(1, sizeof(*p));
    if (!p) {
        errtext_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    p->at = text;
    p->names = names;
    p->err = err;
    expression(p);
    if (!p->failed && peek(p))
        fail(p, p->at, word_length(p->at), "not expected here");
    if (!p->failed) {
        f = malloc(sizeof(*f) + p->length * sizeof(f->step[0]));
        if (!f) {
            errtext_set(err, ENOMEM, "out of memory");
        } else {
            f->length = p->length;
            memcpy(f->step, p->step, p->length * sizeof(f->step[0]));
        }
    }
    int saved = f ? errno : p->failed ? EINVAL : ENOMEM;
    free(p);
    errno = saved;
    return f;
}

static double apply(enum op op, double a, double b)
{
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUBTRACT:
        return a - b;
    case OP_MULTIPLY:
        return a * b;
    case OP_DIVIDE:
        return b == 0 ? NAN : a / b;
    /* Not fmin() and fmax(): these would drop a NAN. */
    case OP_MIN:
        return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    default:
        return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    }
}

double formula_value(const struct formula *f, const double *values)
{
    double stack[STACK_MAX];
    size_t top = 0;

    for (size_t i = 0; i < f->length; i++) {
        const struct step *s = &f->step[i];
        switch (s->op) {
        case OP_NUMBER:
            stack[top++] = s->number;
            break;
        case OP_VARIABLE:
            stack[top++] = values[s->variable];
            break;
        case OP_NEGATE:
            stack[top - 1] = -stack[top - 1];
            break;
        default:
            top--;
            stack[top - 1] = apply(s->op, stack[top - 1], stack[top]);
        }
    }
    return isfinite(stack[0]) ? stack[0] : NAN;
}

int formula_uses(const struct formula *f, size_t index)
{
    for (size_t i = 0; i < f->length; i++)
        if (f->step[i].op == OP_VARIABLE && f->step[i].variable == index)
            return 1;
    return 0;
}

void formula_free(struct formula *formula)
{
    free(formula);
}
