/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl top: the terminal. */

#include "node_agent/coschedctl/top/screen.h"

#include "config.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_NCURSES

#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <unistd.h>

static SCREEN *terminal;
static bool colours;

/* What NO_COLOR says of any value but the empty one (no-color.org). */
static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR");

    return !no || !*no;
}

int screen_open(bool *utf8, struct errtext *err)
{
    const char *name = getenv("TERM");

    if (!name || !*name)
        return errtext_set(err, ENOTTY, "TERM is not set");
    setlocale(LC_ALL, "");
    *utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
    terminal = newterm(NULL, stdout, stdin);
    if (!terminal)
        return errtext_set(err, ENOTTY, "TERM=%.64s: not known", name);
    set_term(terminal);
    if (!tigetstr("cup") || tigetstr("cup") == (char *)-1) {
        screen_close();
        return errtext_set(err, ENOTTY, "TERM=%.64s: cannot move the cursor", name);
    }
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    set_escdelay(50);
    mousemask(BUTTON1_CLICKED | BUTTON1_PRESSED, NULL);
    mouseinterval(0);
    colours = wants_colour() && has_colors() && start_color() == OK;
    if (colours) {
        use_default_colors();
        for (short i = 1; i <= TOP_COLOURS; i++)
            init_pair(i, i, -1);
    }
    return 0;
}

void screen_size(size_t *rows, size_t *columns)
{
    *rows = LINES > 0 ? (size_t)LINES : 1;
    *columns = COLS > 0 ? (size_t)COLS : 1;
}

void screen_show(const struct top_frame *f)
{
    erase();
    for (size_t r = 0; r < f->rows; r++)
        for (size_t c = 0; c < f->columns; c++) {
            const struct top_cell *cell = &f->cell[r * f->columns + c];
            attr_t attributes = (cell->bold ? A_BOLD : 0) | (cell->reverse ? A_REVERSE : 0);
            attr_set(attributes, colours ? (short)cell->colour : 0, NULL);
            mvaddstr((int)r, (int)c, cell->text);
        }
    attr_set(0, 0, NULL);
    refresh();
}

static int translate(int key)
{
    static const struct {
        int curses, ours;
    } keys[] = {{KEY_UP, TOP_UP},     {KEY_DOWN, TOP_DOWN}, {KEY_PPAGE, TOP_PAGE_UP},
                {KEY_NPAGE, TOP_PAGE_DOWN}, {KEY_HOME, TOP_HOME}, {KEY_END, TOP_END},
                {KEY_F(1), TOP_HELP}};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i].curses == key)
            return keys[i].ours;
    return key < 256 ? key : 0;
}

struct top_event screen_wait(int ms)
{
    struct top_event e = {0};
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    MEVENT mouse;

    timeout(ms);
    int key = getch();
    if (key == KEY_RESIZE) {
        e.resized = true;
    } else if (key == KEY_MOUSE) {
        if (getmouse(&mouse) == OK && mouse.y >= 0 && mouse.x >= 0) {
            e.clicked = true;
            e.row = (size_t)mouse.y;
            e.column = (size_t)mouse.x;
        }
    } else if (key != ERR) {
        e.key = translate(key);
    } else {
        e.gone = poll(&in, 1, 0) > 0 && in.revents & (POLLHUP | POLLERR | POLLNVAL);
    }
    return e;
}

void screen_close(void)
{
    if (!terminal)
        return;
    endwin();
    delscreen(terminal);
    terminal = NULL;
}

#else

int screen_open(bool *utf8, struct errtext *err)
{
    *utf8 = false;
    return errtext_set(err, ENOSYS, "built without ncurses");
}

void screen_size(size_t *rows, size_t *columns)
{
    *rows = *columns = 1;
}

void screen_show(const struct top_frame *frame)
{
    (void)frame;
}

struct top_event screen_wait(int ms)
{
    (void)ms;
    return (struct top_event){.gone = true};
}

void screen_close(void)
{
}

#endif
