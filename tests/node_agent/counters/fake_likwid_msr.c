/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Registers of a processor that is not there, put in front of liblikwid by
 * LD_PRELOAD: the real library then opens, programs and reads counters as on
 * that machine.
 *
 * $FAKE_LIKWID_TOPOLOGY is a file in LIKWID's format that says which processor.
 * $FAKE_LIKWID_STEPS has lines "msr|pci REGISTER STEP" in hexadecimal: registers
 * that are more by so much each time that they are read; the others keep still.
 * MSR devices and PCI configuration spaces are memory.  Every PCI device of
 * Intel's is there once, so that LIKWID finds the one by which it knows the bus
 * of a socket.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#define FDS 1024
#define TOPOLOGY "/etc/likwid_topo.cfg"
#define PCI_LIST "/proc/bus/pci/devices"
#define PCI_BUS "7f"

#define STEPS 64

enum kind { OTHER, MSR, PCI };

static enum kind kinds[FDS]; /* of descriptors */

static struct {
    enum kind kind;
    off_t reg;
    uint64_t step;
} steps[STEPS];

__attribute__((constructor)) static void read_steps(void)
{
    const char *path = getenv("FAKE_LIKWID_STEPS");
    FILE *in = path ? fopen(path, "r") : NULL;
    unsigned long reg, step;
    char kind[4];

    for (size_t n = 0;
         in && n < STEPS && fscanf(in, "%3s %lx %lx", kind, &reg, &step) == 3;
         n++) {
        steps[n].kind = !strcmp(kind, "msr") ? MSR : PCI;
        steps[n].reg = (off_t)reg;
        steps[n].step = step;
    }
    if (in)
        fclose(in);
}

static enum kind kind_of(const char *path)
{
    if (!strncmp(path, "/dev/", 5) && strstr(path, "msr"))
        return MSR;
    return strncmp(path, "/proc/bus/pci/" PCI_BUS, 16) ? OTHER : PCI;
}

/* A register is 8 bytes of a file without an end. */
static int open_registers(enum kind kind)
{
    int fd = memfd_create("registers", MFD_CLOEXEC);

    if (fd < 0 || fd >= FDS || ftruncate(fd, (off_t)1 << 40) < 0)
        abort();
    kinds[fd] = kind;
    return fd;
}

static FILE *pci_list(void)
{
    FILE *list = tmpfile();

    if (!list)
        abort();
    for (unsigned device = 0; device < 0x10000; device++)
        fprintf(list, PCI_BUS "80\t8086%04x\t0\n", device);
    rewind(list);
    return list;
}

int access(const char *path, int mode)
{
    int (*next)(const char *, int) = dlsym(RTLD_NEXT, "access");

    return !strcmp(path, TOPOLOGY) || kind_of(path) ? 0 : next(path, mode);
}

int open(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    va_list ap;

    if (kind_of(path))
        return open_registers(kind_of(path));
    va_start(ap, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
    va_end(ap);
    return next(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*next)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen");

    if (!strcmp(path, PCI_LIST))
        return pci_list();
    if (!strcmp(path, TOPOLOGY))
        path = getenv("FAKE_LIKWID_TOPOLOGY");
    return next(path, mode);
}

static enum kind kind(int fd)
{
    return fd >= 0 && fd < FDS ? kinds[fd] : OTHER;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    ssize_t (*next)(int, const void *, size_t, off_t) =
        dlsym(RTLD_NEXT, "pwrite");

    return next(fd, data, size, kind(fd) ? offset * 8 : offset);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    ssize_t (*next)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
    uint64_t value = 0;

    if (!kind(fd) || size > sizeof(value))
        return next(fd, data, size, offset);
    if (next(fd, &value, size, offset * 8) != (ssize_t)size)
        return -1;
    for (size_t i = 0; i < STEPS; i++)
        if (steps[i].kind == kind(fd) && steps[i].reg == offset)
            value += steps[i].step;
    memcpy(data, &value, size);
    return pwrite(fd, data, size, offset);
}

int close(int fd)
{
    int (*next)(int) = dlsym(RTLD_NEXT, "close");

    if (kind(fd))
        kinds[fd] = OTHER;
    return next(fd);
}
