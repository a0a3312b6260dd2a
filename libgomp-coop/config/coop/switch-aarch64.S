/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* coop_switch for aarch64 (AAPCS64); see switch.h.  Empty elsewhere.  */

#ifdef __aarch64__
	.text
	.p2align 4
	.globl	coop_switch
	.hidden	coop_switch
	.type	coop_switch, %function
	/* x0: where to save, x1: the other stack pointer, x2: thread pointer.
	   The frame has a word for the place to continue besides x30: in the
	   first frame x30 is 0, which ends backtraces.  arch-aarch64.h knows
	   its size and the last two words.  */
coop_switch:
	.cfi_startproc
	sub	sp, sp, #176
	.cfi_adjust_cfa_offset 176
	stp	x29, x30, [sp, #0]
	.cfi_offset x29, -176
	.cfi_offset x30, -168
	stp	x19, x20, [sp, #16]
	.cfi_offset x19, -160
	.cfi_offset x20, -152
	stp	x21, x22, [sp, #32]
	.cfi_offset x21, -144
	.cfi_offset x22, -136
	stp	x23, x24, [sp, #48]
	.cfi_offset x23, -128
	.cfi_offset x24, -120
	stp	x25, x26, [sp, #64]
	.cfi_offset x25, -112
	.cfi_offset x26, -104
	stp	x27, x28, [sp, #80]
	.cfi_offset x27, -96
	.cfi_offset x28, -88
	/* Of the vector registers (64 onward for DWARF) the low halves of these
	   are callee-saved.  */
	stp	d8, d9, [sp, #96]
	.cfi_offset 72, -80
	.cfi_offset 73, -72
	stp	d10, d11, [sp, #112]
	.cfi_offset 74, -64
	.cfi_offset 75, -56
	stp	d12, d13, [sp, #128]
	.cfi_offset 76, -48
	.cfi_offset 77, -40
	stp	d14, d15, [sp, #144]
	.cfi_offset 78, -32
	.cfi_offset 79, -24
	mrs	x9, fpcr
	stp	x9, x30, [sp, #160]
	mov	x10, sp
	str	x10, [x0]
	mov	sp, x1
	msr	tpidr_el0, x2
	ldp	x10, x17, [sp, #160]
	cmp	x9, x10
	b.eq	1f		/* writing it is slow */
	msr	fpcr, x10
1:	ldp	d14, d15, [sp, #144]
	ldp	d12, d13, [sp, #128]
	ldp	d10, d11, [sp, #112]
	ldp	d8, d9, [sp, #96]
	ldp	x27, x28, [sp, #80]
	ldp	x25, x26, [sp, #64]
	ldp	x23, x24, [sp, #48]
	ldp	x21, x22, [sp, #32]
	ldp	x19, x20, [sp, #16]
	ldp	x29, x30, [sp, #0]
	add	sp, sp, #176
	.cfi_adjust_cfa_offset -176
	ret	x17
	.cfi_endproc
	.size	coop_switch, .-coop_switch
#endif

	.section .note.GNU-stack, "", %progbits
