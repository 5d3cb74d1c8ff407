/* The parts of the runtime that its two files share: see hooks.c. */
#ifndef MOWGLI_RUNTIME_H
#define MOWGLI_RUNTIME_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { NODES = 8, THREADS = 64, EPILOGUE = 255, PAIRS = 64, DEPTH = 1024 };

/* Entry points save what a function may use of its caller's registers: those that calls preserve, the arguments, and the place to which
 * it returns. They take away the return address, so that arguments on the stack are where `mw_NAME` expects them, and clear the
 * registers that calls do not preserve, because what the runtime leaves there would be in the state at a probe. A call by libc from within
 * the runtime is nested: it belongs to the function that the program has called. */
enum { RETURN = 13 };
/* Pointers to members of C++ are even. */
#define ENTRY(name) ENTRY_WITH(name, "%rsi", "%rdx", "%rcx", "%r8", "%r9", "vzeroall\n")
/* Of a function whose result is a floating-point number. */
#define ENTRY_OF_REAL(name) ENTRY_WITH(name, "%rsi", "%rdx", "%rcx", "%r8", "%r9", "vzeroupper\n")
/* Of a function with one argument. What is in the registers of the others does not matter. */
#define ENTRY_OF_ADDRESS(name) ENTRY_WITH(name, "$0", "$0", "$0", "$0", "$0", "vzeroall\n")
#define ENTRY_WITH(name, second, third, fourth, fifth, sixth, clears) \
	__asm__(".text\n.balign 16\n.weak " #name "\n.type " #name ",@function\n" #name ":\ncmpl $0, mw_nested(%rip)\njne 1f\n" \
		SAVES(second, third, fourth, fifth, sixth) \
		"1: movq mw_depth(%rip), %r11\npopq mw_returns(,%r11,8)\nincq mw_depth(%rip)\nincl mw_nested(%rip)\n" \
		"call mw_" #name "\n" \
		"decl mw_nested(%rip)\ndecq mw_depth(%rip)\nmovq mw_depth(%rip), %r11\npushq mw_returns(,%r11,8)\n" CLEARS(clears) \
		".size " #name ", .-" #name "\n")
#define SAVES(second, third, fourth, fifth, sixth) \
	"movq %rbx, mw_regs(%rip)\nmovq %rbp, mw_regs+8(%rip)\nmovq %r12, mw_regs+16(%rip)\nmovq %r13, mw_regs+24(%rip)\n" \
	"movq %r14, mw_regs+32(%rip)\nmovq %r15, mw_regs+40(%rip)\nmovq %rsp, mw_regs+48(%rip)\nmovq %rdi, mw_regs+56(%rip)\n" \
	"movq " second ", mw_regs+64(%rip)\nmovq " third ", mw_regs+72(%rip)\nmovq " fourth ", mw_regs+80(%rip)\n" \
	"movq " fifth ", mw_regs+88(%rip)\nmovq " sixth ", mw_regs+96(%rip)\nmovq (%rsp), %r11\nmovq %r11, mw_regs+104(%rip)\nmovl $1, mw_is_entry(%rip)\n"
#define CLEARS(clears) \
	"xorl %ecx, %ecx\nxorl %edx, %edx\nxorl %esi, %esi\nxorl %edi, %edi\ntestb $4, mw_parts(%rip)\nje 2f\n" clears \
	"2: xorl %r8d, %r8d\nxorl %r9d, %r9d\nxorl %r10d, %r10d\nxorl %r11d, %r11d\nret\n"
/* Of a function with at most six arguments that calls functions of the program. An exception may pass it. */
#define ENTRY_THAT_CALLS(name) \
	__asm__(".text\n.balign 16\n.weak " #name "\n.type " #name ",@function\n" #name ":\n.cfi_startproc\ncmpl $0, mw_nested(%rip)\njne 1f\n" \
		SAVES("%rsi", "%rdx", "%rcx", "%r8", "%r9") \
		"1: incl mw_nested(%rip)\nsubq $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall mw_" #name "\naddq $8, %rsp\n.cfi_adjust_cfa_offset -8\n" \
		"decl mw_nested(%rip)\n" CLEARS("vzeroall\n") ".cfi_endproc\n.size " #name ", .-" #name "\n")

/* The registers of the program when it called the runtime last. */
extern uint64_t mw_regs[RETURN + 1] __attribute__((visibility("hidden")));
/* The thread that runs: -1 while `main` sets up. */
extern int mw_thread;
/* The process in which `main` sets up. */
extern pid_t mw_process;
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
/* The node of the thread that runs. */
int mw_node(void);

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
/* True if the thread is in the same state again as when it looked at this address before. */
int mw_waits(uintptr_t at);
/* Makes visible the store whose hook came last. Every entry point begins with it. */
void mw_flush(void);
/* Reads and writes memory as the CPU does. What a card wrote before the completion is not plain. */
void mw_load(const void *from, size_t n);
void mw_store(void *to, const void *from, size_t n, int plain);
/* Chooses which of two texts is read first, if others write both. A function that compares may begin with either. */
int mw_begins_with_second(const void *a, size_t n, const void *b, size_t m);
/* Copies as memcpy does. */
void *mw_copy(void *to, const void *from, size_t n);
/* Names memory that streams use. */
void mw_streams_touch(uintptr_t at, size_t n);
/* Reads the rest of the word that has this byte, but at most so many bytes and none behind the first `last`. Returns their number. */
size_t mw_load_word(const void *from, size_t most, int last);
/* True if `main` sets up, so that an access is its own. One of several programs may end its set-up here. */
int mw_native(const void *at, size_t n, int writes);
/* Memory of the runtime, which is no part of a thread's state, and a text that is printed to such memory. */
void *mw_own_malloc(size_t n);
void *mw_own_realloc(void *p, size_t n);
void mw_own_free(void *p);
char *mw_text(const char *format, va_list all);
/* The functions of the runtime that the program is in. */
extern int mw_nested;
/* Calls a function of the program. The caller has an entry of those that call. */
int mw_call_program(int (*fn)(void *, void *), void *a, void *b);
/* Reads memory of the program, natively while `main` sets up, and writes it. */
void mw_look(const void *at, size_t n);
void mw_put(void *to, const void *from, size_t n);
/* Names what an answer makes an exception of. */
void mw_unsure(const char *what);
int mw_is_shared(const void *at, size_t n, int changes);
/* Ends the run if these four bytes are no cell. */
void mw_needs(const void *at);
/* The word that says who has freed a block, which nobody else knows. */
int64_t mw_flag(int64_t *at);
void mw_set_flag(int64_t *at, int64_t v);
/* The place in the program from which it called the runtime. */
uint64_t mw_place(void);
/* The same, with the callers of the function there, as text of at most 128 letters. */
void mw_places(char *text);
void mw_receives(uintptr_t at, size_t n);
void mw_allocates(uintptr_t at, size_t n);
/* Checks that memory of an access is allocated. */
void mw_heap_touch(uintptr_t at, size_t n, const char *does);
void *mw_allocated(size_t n);
int mw_is_in_other_heap(uintptr_t at);
void mw_heap_begins(void);
void mw_heap_state(void);
void mw_heap_others(char *text);
/* `main` is a thread if it takes part: always in a program of one node, else if it shares memory with the threads that it starts. */
extern int mw_main, mw_thread_count;
/* The threads that `main` has started and not joined, as bits. Of other threads, those that they have started. */
extern uint64_t mw_open;
int mw_is_main(void);
void mw_main_takes_part(int node);
void mw_main_must_take_part(const char *why) __attribute__((noreturn));
void mw_window_begins(void);
/* Makes `main` take part if its threads may run. */
void mw_beside_threads(const char *why);
/* True if other threads of the program may run beside this one. */
int mw_threads_run(void);
/* True if other threads use these bytes, whose memory a call changes. */
int mw_is_used_by_others(const void *at, size_t n);
/* Notes an access of `main`; true if its threads may run. */
int mw_window(const void *at, size_t n, int writes);
/* The stack of `main` ends at this address. */
void mw_threads_begin(uintptr_t end);
void mw_threads_lines(void);
void mw_threads_state(void);
void mw_variables_state(void);
/* The settings of this thread, of one that `main` starts, and of one with attributes. A thread begins with those that its number says, and
 * may block a signal. */
void mw_settings_state(void);
void mw_settings_start(int thread);
/* The error with which a thread with these attributes is not started, or 0. */
int mw_settings_fail(const void *attributes);
int mw_settings_block(int signal);
void mw_settings_of_attributes(const void *attributes, unsigned long id);
void mw_settings_begin(uint64_t id);
void mw_runs(int thread, uint64_t id, int node);
/* True of the stack of any thread; of this thread. */
int mw_is_on_a_stack(uintptr_t at);
int mw_is_on_stack(uintptr_t at);
/* True of frames and `__thread` variables of other threads. What those do there may have no hook. Of a `main` that is no thread, only
 * what others write matters. */
int mw_is_in_other_frame(uintptr_t at, int writes);
uintptr_t mw_end_of_stack(void);
void mw_enters_nowhere(void);
void mw_catches(void);
void mw_unmaps(uintptr_t at, size_t n);
/* Gives `__thread` variables their first values, if the address is on the stack of a thread. */
void mw_has_first_values(uintptr_t at);
void mw_serve(void);
void mw_ended(const char *how) __attribute__((noreturn));
/* True if the program has ended and this thread ends with it. */
int mw_is_over(void);
/* The end of a program whose `main` returns: nobody waits for the threads that it has not joined. */
void mw_leaves_threads(void);
/* Ends the run if this is a process that the set-up has forked. The explorer knows none of these. */
void mw_is_no_fork(const char *what);
/* The end of the stack of the thread. */
extern uintptr_t mw_base;
/* Ends this run: a wrong use of verbs, something that is not supported, or a failure of the program. */
void mw_end(char kind, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void mw_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes a line for the explorer when `main` is done. */
void mw_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t mw_mix(uint64_t hash, uint64_t value);
/* Adds the state of the queue pairs, and writes their declarations. */
void mw_verbs_state(void);
void mw_verbs_lines(void);
/* Writes what a thread that ends has sent and posted. */
void mw_verbs_ended(void);
/* True if a descriptor is that of the explorer. */
int mw_is_line(int fd);
/* The tables of the other programs. */
void mw_verbs_others(char *text);
/* Adds the state of the sockets, and takes the bytes that have come when the set-up ends. */
void mw_sockets_state(void);
void mw_sockets_have(char *text);
/* Warns of an access by the CPU to memory that an operation of this thread may still read or write. */
void mw_verbs_touch(uintptr_t at, size_t n, int writes);
/* Checks that no operation uses memory that is freed, or comes to it later. */
void mw_verbs_frees(uintptr_t at, size_t n);
int mw_is_registered(uintptr_t at, size_t n);
/* Whether a word of a frame is shared; whether one is registered, which makes it so. */
extern int mw_shares_frames, mw_registers_frames;
#endif
