/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: the ledger that a killed agent left.
 *
 * The input is its entries, each what, pid and the begin of what follows; the
 * head is good. */

#include "tests/fuzz/fuzz.h"

#include "node_agent/enforce/cgroup.h"
#include "node_agent/enforce/ledger.h"

static size_t undone;

static void undo(const struct ledger_entry *entry)
{
    struct errtext err = {""};

    REQUIRE(entry->what > LEDGER_NOTHING && entry->what <= LEDGER_STOPPED);
    undone++;
    if (entry->what != LEDGER_NARROWED && entry->what != LEDGER_FROZEN)
        return;
    REQUIRE(memchr(entry->path, '\0', sizeof(entry->path)));
    /* Nothing outside of the target's directory. */
    if (entry->path[0] != '/' && !strstr(entry->path, "..") &&
        cgroup_restore(entry->path, NULL, &err) < 0)
        fuzz_refused(&err);
}

static size_t undo_all(struct ledger *ledger)
{
    return ledger_undo(ledger, undo);
}

static bool gone(const struct ledger_entry *entry)
{
    return entry->pid % 2;
}

/* A file as LEDGER leaves it, with the entries of the input in it. */
static void fill(const char *path, struct fuzz_bytes in)
{
    static struct ledger_entry head;
    FILE *file = fopen(path, "r+be");

    REQUIRE(file && fread(&head, sizeof(head), 1, file) == 1 &&
            ftruncate(fileno(file), 0) == 0);
    rewind(file);
    REQUIRE(fwrite(&head, sizeof(head), 1, file) == 1);
    for (int i = 0; in.size && i < 64; i++) {
        struct ledger_entry entry = {.what = fuzz_take_byte(&in) % 8,
                                     .pid = fuzz_take_byte(&in)};
        size_t length = fuzz_take_byte(&in) * 2;
        fuzz_take(&in, entry.path,
                  length < sizeof(entry.path) ? length : sizeof(entry.path));
        REQUIRE(fwrite(&entry, sizeof(entry), 1, file) == 1);
    }
    if (in.size)
        REQUIRE(fwrite(in.data, in.size, 1, file) == 1); /* half an entry */
    fclose(file);
}

static struct ledger *make(const char *path, size_t *count)
{
    struct errtext err = {""};
    struct ledger *ledger = ledger_new(path, 0, undo_all, count, &err);

    REQUIRE(ledger && !*ledger_problem(ledger));
    return ledger;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ledger_entry entry = {.what = LEDGER_HELD, .pid = 3};
    char path[256];
    size_t count;

    snprintf(path, sizeof(path), "%s/ledger", fuzz_directory());
    REQUIRE(chdir(fuzz_directory()) == 0);
    ledger_free(make(path, &count));
    undone = 0;
    fill(path, (struct fuzz_bytes){data, size});
    struct ledger *ledger = make(path, &count);
    REQUIRE(count == undone && ledger_count(ledger) == 0);
    REQUIRE(ledger_add(ledger, &entry) != 0 && ledger_count(ledger) == 1);
    ledger_tidy(ledger, 300, gone);
    REQUIRE(ledger_count(ledger) == 0);
    ledger_free(ledger);
    return 0;
}
