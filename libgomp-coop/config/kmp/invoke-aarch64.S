/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* kmp_invoke for aarch64 (AAPCS64); see kmp.h.  Empty elsewhere.  */

#ifdef __aarch64__
	.text
	.p2align 4
	.globl	kmp_invoke
	.hidden	kmp_invoke
	.type	kmp_invoke, %function
kmp_invoke:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	mov	x16, x0		/* fn */
	mov	x0, x1		/* gtid, tid: first arguments of fn */
	mov	x1, x2
	mov	x9, x3		/* argc */
	mov	x10, x4		/* argv */
	subs	x11, x9, #6
	b.le	2f
	/* Arguments from the seventh on go on the stack, which is aligned.  */
	add	x12, x11, #1
	and	x12, x12, #-2
	sub	sp, sp, x12, lsl #3
	add	x13, x10, #48
1:	sub	x11, x11, #1
	ldr	x14, [x13, x11, lsl #3]
	str	x14, [sp, x11, lsl #3]
	cbnz	x11, 1b
2:	cmp	x9, #1
	b.lt	3f
	ldr	x2, [x10]
	b.eq	3f
	ldr	x3, [x10, #8]
	cmp	x9, #3
	b.lt	3f
	ldr	x4, [x10, #16]
	b.eq	3f
	ldr	x5, [x10, #24]
	cmp	x9, #5
	b.lt	3f
	ldr	x6, [x10, #32]
	b.eq	3f
	ldr	x7, [x10, #40]
3:	blr	x16
	mov	sp, x29
	ldp	x29, x30, [sp], #16
	.cfi_restore x30
	.cfi_restore x29
	.cfi_def_cfa sp, 0
	ret
	.cfi_endproc
	.size	kmp_invoke, .-kmp_invoke
#endif

	.section .note.GNU-stack, "", %progbits
