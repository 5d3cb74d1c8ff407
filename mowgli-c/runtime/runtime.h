/* The parts of the runtime that its two files share: see hooks.c. */
#ifndef MOWGLI_RUNTIME_H
#define MOWGLI_RUNTIME_H
#include <stddef.h>
#include <stdint.h>

enum { NODES = 8, THREADS = 64, EPILOGUE = 255, PAIRS = 64, DEPTH = 128 };

/* Entry points save the registers that calls preserve and jump to `mw_NAME`, so that the state of the caller can be hashed. */
#define ENTRY(name) \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" \
		"movq %rbx, mw_regs(%rip)\nmovq %rbp, mw_regs+8(%rip)\nmovq %r12, mw_regs+16(%rip)\nmovq %r13, mw_regs+24(%rip)\n" \
		"movq %r14, mw_regs+32(%rip)\nmovq %r15, mw_regs+40(%rip)\nmovq %rsp, mw_regs+48(%rip)\njmp mw_" #name "\n" \
		".size " #name ", .-" #name "\n")

/* The thread that runs: -1 while `main` sets up. */
extern int mw_thread;
int mw_node_of(int thread);

/* Reports a call without a result, or one whose result the explorer chooses. `extra` is state of the runtime that is in no table. */
void mw_call(uint64_t extra, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t mw_ask(uint64_t extra, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes visible the store whose hook came last. Every entry point begins with it. */
void mw_flush(void);
/* Reads and writes memory as the CPU does. What a card wrote before the completion is not plain. */
void mw_load(const void *from, size_t n);
void mw_store(void *to, const void *from, size_t n, int plain);
/* Ends this run: a wrong use of verbs, something that is not supported, or a failure of the program. */
void mw_end(char kind, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void mw_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes a line for the explorer when `main` is done. */
void mw_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t mw_mix(uint64_t hash, uint64_t value);
/* The state of the queue pairs, for the hash, and their declarations. */
uint64_t mw_verbs_state(uint64_t hash);
void mw_verbs_lines(void);
/* Warns of an access by the CPU to memory that an operation of this thread may still read or write. */
void mw_verbs_touch(uintptr_t at, size_t n, int writes);
#endif
