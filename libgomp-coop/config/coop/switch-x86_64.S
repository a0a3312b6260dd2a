/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* coop_switch for x86-64 (System V ABI); see switch.h.  Empty elsewhere.  */

#if defined __x86_64__ && defined __LP64__

	.text
	.p2align 4
	.globl	coop_switch
	.hidden	coop_switch
	.type	coop_switch, @function
coop_switch:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r15, 0
	pushq	$0
	.cfi_adjust_cfa_offset 8
	.cfi_remember_state
	/* The control parts of both floating-point units are callee-saved.
	   What has just been stored is compared only after wrfsbase, which
	   waits for it on some processors, and by what was stored at once: only
	   that is forwarded.  */
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	movq	%rsp, %r8
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	cmpb	$0, coop_switch_by_kernel(%rip)
	jne	2f
	wrfsbase %rdx
	/* Loading them is slow, and most often they are the same.  */
1:	movl	(%r8), %r9d
	movzwl	4(%r8), %eax
	cmpl	(%rsp), %r9d
	jne	3f
	cmpw	4(%rsp), %ax
	jne	3f
4:	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r15
	popq	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r14
	popq	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_restore_state
2:	movl	$158, %eax	/* SYS_arch_prctl */
	movl	$0x1002, %edi	/* ARCH_SET_FS */
	movq	%rdx, %rsi
	syscall
	jmp	1b
3:	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	jmp	4b
	.cfi_endproc
	.size	coop_switch, .-coop_switch

#endif

	.section .note.GNU-stack, "", @progbits
