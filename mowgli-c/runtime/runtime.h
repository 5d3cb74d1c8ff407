/* The parts of the runtime that its two files share: see hooks.c. */
#ifndef MOWGLI_RUNTIME_H
#define MOWGLI_RUNTIME_H
#include <stddef.h>
#include <stdint.h>

enum { NODES = 8, THREADS = 64, EPILOGUE = 255, PAIRS = 64, DEPTH = 1024 };

/* Entry points save what a function may use of its caller's registers: those that calls preserve, the arguments, and the place to which
 * it returns. They jump over the return address, so that arguments on the stack are where `mw_NAME` expects them, and clear the
 * registers that calls do not preserve, because what the runtime leaves there is no part of a thread's state. */
enum { RETURN = 13 };
#define ENTRY(name) \
	__asm__(".text\n.weak " #name "\n.type " #name ",@function\n" #name ":\n" \
		"movq %rbx, mw_regs(%rip)\nmovq %rbp, mw_regs+8(%rip)\nmovq %r12, mw_regs+16(%rip)\nmovq %r13, mw_regs+24(%rip)\n" \
		"movq %r14, mw_regs+32(%rip)\nmovq %r15, mw_regs+40(%rip)\nmovq %rsp, mw_regs+48(%rip)\nmovq %rdi, mw_regs+56(%rip)\n" \
		"movq %rsi, mw_regs+64(%rip)\nmovq %rdx, mw_regs+72(%rip)\nmovq %rcx, mw_regs+80(%rip)\nmovq %r8, mw_regs+88(%rip)\n" \
		"movq %r9, mw_regs+96(%rip)\nmovl $1, mw_is_entry(%rip)\npopq mw_regs+104(%rip)\n" \
		"pushq mw_regs+104(%rip)\npopq mw_return(%rip)\ncall mw_" #name "\npushq mw_return(%rip)\n" \
		"xorl %ecx, %ecx\nxorl %edx, %edx\nxorl %esi, %esi\nxorl %edi, %edi\n" \
		"xorl %r8d, %r8d\nxorl %r9d, %r9d\nxorl %r10d, %r10d\nxorl %r11d, %r11d\nret\n" \
		".size " #name ", .-" #name "\n")

/* The thread that runs: -1 while `main` sets up. */
extern int mw_thread;
/* Programs that are started once per node: the number of this one, from 0, and -1 for a program that has all nodes. Its `main` is
 * thread 0. Addresses that the explorer sees have the number in their upper bits, so they are unique. */
extern int mw_program;
#define GLOBAL_OF(program, at) ((unsigned long)(at) | (unsigned long)(program) << 48)
#define GLOBAL(at) GLOBAL_OF(mw_program < 0 ? 0 : mw_program, at)
#define OWN(at) ((at) & ((1ul << 48) - 1))
/* Ends the set-up of `main`, if it has not ended. Behind it `main` is a thread, if the program is one of several. */
void mw_ready(void);
/* Counts a call that sets something up. */
void mw_sets_up(void);
/* Asks for a step of the set-up that others take part in, and returns the answer; NULL if the set-up has ended before it. */
char *mw_broker(const char *format, ...) __attribute__((format(printf, 1, 2)));
int mw_node_of(int thread);

/* Reports a call without a result, or one whose result the explorer chooses. */
void mw_call(const char *format, ...) __attribute__((format(printf, 1, 2)));
int64_t mw_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A thread's state is its state when it entered the runtime, and all that it has learned since: calls and their results. The runtime
 * adds what it learns otherwise. A loop of the runtime that waits forgets what it learned in an iteration, back to a mark, because
 * it goes on in the same way. */
void mw_learn(const void *from, size_t n);
size_t mw_learned(void);
void mw_forget(size_t mark);
/* Adds bytes to the state that is being taken. */
void mw_state(const void *from, size_t n);
/* Makes visible the store whose hook came last. Every entry point begins with it. */
void mw_flush(void);
/* Reads and writes memory as the CPU does. What a card wrote before the completion is not plain. */
void mw_load(const void *from, size_t n);
void mw_store(void *to, const void *from, size_t n, int plain);
/* Reads the rest of the word that has this byte, but at most so many bytes and none behind a zero. Returns their number. */
size_t mw_load_word(const void *from, size_t most);
/* True if `main` has not started its threads. One of several programs may end its set-up here. */
int mw_sets_up_still(void);
void *__mowgli_malloc(size_t n);
/* Ends this run: a wrong use of verbs, something that is not supported, or a failure of the program. */
void mw_end(char kind, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void mw_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes a line for the explorer when `main` is done. */
void mw_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t mw_mix(uint64_t hash, uint64_t value);
/* Adds the state of the queue pairs, and writes their declarations. */
void mw_verbs_state(void);
void mw_verbs_lines(void);
/* The tables of the other programs. */
void mw_verbs_others(char *text);
int mw_is_registered(uintptr_t at);
/* Adds the state of the sockets, and takes the bytes that have come when the set-up ends. */
void mw_sockets_state(void);
void mw_sockets_have(char *text);
/* Warns of an access by the CPU to memory that an operation of this thread may still read or write. */
void mw_verbs_touch(uintptr_t at, size_t n, int writes);
#endif
