/* The parts of the runtime that its two files share: see hooks.c. */
#ifndef MOWGLI_RUNTIME_H
#define MOWGLI_RUNTIME_H
#include <stddef.h>
#include <stdint.h>

enum { NODES = 8, THREADS = 64, EPILOGUE = 255, PAIRS = 64, DEPTH = 1024 };

/* Entry points save the registers that calls preserve and jump to `mw_NAME`, so that the state of the caller can be hashed. */
#define ENTRY(name) \
	__asm__(".text\n.weak " #name "\n.type " #name ",@function\n" #name ":\n" \
		"movq %rbx, mw_regs(%rip)\nmovq %rbp, mw_regs+8(%rip)\nmovq %r12, mw_regs+16(%rip)\nmovq %r13, mw_regs+24(%rip)\n" \
		"movq %r14, mw_regs+32(%rip)\nmovq %r15, mw_regs+40(%rip)\nmovq %rsp, mw_regs+48(%rip)\njmp mw_" #name "\n" \
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

/* Reports a call without a result, or one whose result the explorer chooses. `extra` is state of the runtime that is in no table. */
void mw_call(uint64_t extra, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t mw_ask(uint64_t extra, const char *format, ...) __attribute__((format(printf, 2, 3)));
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
/* The state of the queue pairs, for the hash, and their declarations. */
uint64_t mw_verbs_state(uint64_t hash);
void mw_verbs_lines(void);
/* The tables of the other programs. */
void mw_verbs_others(char *text);
int mw_is_registered(uintptr_t at);
/* The state of the sockets, for the hash, and the bytes that have come when the set-up ends. */
uint64_t mw_sockets_state(uint64_t hash);
void mw_sockets_have(char *text);
/* Warns of an access by the CPU to memory that an operation of this thread may still read or write. */
void mw_verbs_touch(uintptr_t at, size_t n, int writes);
#endif
