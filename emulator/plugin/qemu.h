/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the plugin uses of QEMU's plugin interface. */

#ifndef COSCHED_EMULATOR_QEMU_H
#define COSCHED_EMULATOR_QEMU_H

/* QEMU's own qemu-plugin.h wants glib, and no package that has it is needed to run QEMU.  These
 * are our declarations of what that header documents.  QEMU resolves the names when it loads the
 * plugin, and refuses it when one is missing or the version of the interface is not to its liking.
 *
 * Two versions are served, 4 (QEMU 9.2 to 10.x) and 7 (11.1).  They differ for us in callbacks
 * about CPUs and translation: those of 7 get user data, as others always did, and no plugin's id.
 * Registering passes the user data to both, 4 takes no notice of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;

struct qemu_info {
    const char *target_name;
    struct {
        int min;
        int cur;
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus;
        int max_vcpus;
    } system;
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_plugin_scoreboard;

typedef struct { /* a field of each CPU's entry of a scoreboard */
    struct qemu_plugin_scoreboard *score;
    size_t offset;
} qemu_plugin_u64;

enum { QEMU_NO_REGISTERS = 0 };
enum { QEMU_MEM_R = 1, QEMU_MEM_W = 2 };
enum { QEMU_INLINE_ADD_U64 = 0 };
enum { QEMU_COND_LT = 4 }; /* unsigned */

typedef void qemu_any_f(void); /* of the version's type */
typedef void qemu_exec_f(unsigned cpu, void *data);
typedef void qemu_mem_f(unsigned cpu, uint32_t info, uint64_t address, void *data);

/* What QEMU looks for in a plugin. */
extern EXPORT int qemu_plugin_version;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
                               char **argv);

/* What it offers. */
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t entry_bytes);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *board, unsigned cpu);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t size);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_any_f *f, void *data);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_any_f *f, void *data);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, qemu_any_f *f, void *data);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb, qemu_exec_f *f,
                                               int registers, int condition, qemu_plugin_u64 entry,
                                               uint64_t value, void *data);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, int operation,
                                                       qemu_plugin_u64 entry, uint64_t value);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn,
                                                         int operation, qemu_plugin_u64 entry,
                                                         uint64_t value);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_mem_f *f, int registers,
                                      int kind, void *data);

/* Such as `QEMU 10.0.2 Debian 1:10.0.2+ds-2`. */
const char *qemu_name(void);

/* Its version of the plugin interface, as far as we know any. */
int qemu_interface(void);

#endif
