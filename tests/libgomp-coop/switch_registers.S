/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* unsigned switch_registers(void **save, void *sp, void *tp, uintptr_t seed):
 * coop_switch with each callee-saved register set to a number that follows from
 * SEED.  Returns how many of them have another value afterwards. */

	.text
	.p2align 4
	.globl	switch_registers
#ifdef __x86_64__
	.type	switch_registers, @function
switch_registers:
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	%rcx
	leaq	1(%rcx), %rbp
	leaq	2(%rcx), %rbx
	leaq	3(%rcx), %r12
	leaq	4(%rcx), %r13
	leaq	5(%rcx), %r14
	leaq	6(%rcx), %r15
	call	coop_switch
	popq	%rcx
	xorl	%eax, %eax
	.macro	compare register, number
	leaq	\number(%rcx), %rdx
	cmpq	\register, %rdx
	setne	%sil
	movzbl	%sil, %esi
	addl	%esi, %eax
	.endm
	compare	%rbp, 1
	compare	%rbx, 2
	compare	%r12, 3
	compare	%r13, 4
	compare	%r14, 5
	compare	%r15, 6
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	ret
#elif defined __aarch64__
	.type	switch_registers, %function
switch_registers:
	sub	sp, sp, #176
	stp	x29, x30, [sp, #0]
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	str	x3, [sp, #160]
	.irp	n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
	add	x\n, x3, #\n
	.endr
	.irp	n, 8, 9, 10, 11, 12, 13, 14, 15
	add	x9, x3, #(100 + \n)
	fmov	d\n, x9
	.endr
	bl	coop_switch
	ldr	x3, [sp, #160]
	mov	w0, #0
	.irp	n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
	add	x9, x3, #\n
	cmp	x9, x\n
	cinc	w0, w0, ne
	.endr
	.irp	n, 8, 9, 10, 11, 12, 13, 14, 15
	add	x9, x3, #(100 + \n)
	fmov	x10, d\n
	cmp	x9, x10
	cinc	w0, w0, ne
	.endr
	ldp	d14, d15, [sp, #144]
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
	ret
#endif
	.size	switch_registers, .-switch_registers

	.section .note.GNU-stack, "", %progbits
