/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* kmp_invoke for x86-64 (System V ABI); see kmp.h.  Empty elsewhere.  */

#if defined __x86_64__ && defined __LP64__

	.text
	.p2align 4
	.globl	kmp_invoke
	.hidden	kmp_invoke
	.type	kmp_invoke, @function
kmp_invoke:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq	%rdi, %r11	/* fn */
	movq	%rsi, %rdi	/* gtid, tid: first arguments of fn */
	movq	%rdx, %rsi
	movq	%r8, %r10	/* argv */
	movq	%rcx, %rax	/* argc */
	cmpq	$4, %rax
	jle	2f
	/* Arguments from the fifth on go on the stack, which is aligned.  */
	leaq	-3(%rax), %rdx
	andq	$-2, %rdx
	shlq	$3, %rdx
	subq	%rdx, %rsp
1:	movq	-8(%r10,%rax,8), %rdx
	movq	%rdx, -40(%rsp,%rax,8)
	decq	%rax
	cmpq	$4, %rax
	jg	1b
2:	testq	%rax, %rax
	jle	3f
	movq	(%r10), %rdx
	cmpq	$2, %rax
	jl	3f
	movq	8(%r10), %rcx
	je	3f
	movq	16(%r10), %r8
	cmpq	$4, %rax
	jl	3f
	movq	24(%r10), %r9
3:	xorl	%eax, %eax	/* no argument is in a vector register */
	call	*%r11
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	kmp_invoke, .-kmp_invoke

#endif

	.section .note.GNU-stack, "", @progbits
