/* What a program compiled with -fsanitize=thread calls, and how it is run again and again.
 *
 * `main` runs once, until it waits for its threads. The process then serves the explorer: for each run it forks, and the child runs
 * one thread alone. The explorer has chosen the results of the thread's first calls; the child reports the next calls and
 * waits for the result of one, or ends. A load is such a call if its address is a cell, that is if threads or operations share
 * it. All other memory is the child's own. The child reports which memory it touches, and the explorer decides what is a cell.
 *
 * A call is reported with the thread's state, as bytes: registers, stack, and the memory that it has written, as they were when the
 * program called the runtime last, and the calls and results since then. Behind equal bytes the thread goes on in the same way, so a
 * loop that waits is a loop for the explorer, too.
 */
#define _GNU_SOURCE
#include "mowgli.h"
#include "runtime.h"
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The state of a thread has whole blocks of 64 bytes, so the variables of the runtime begin in blocks of their own, and end so in end.c. */
int mw_begins_data __attribute__((aligned(64))) = 1, mw_begins_bss __attribute__((aligned(64)));
uint64_t mw_regs[RETURN + 1] __attribute__((visibility("hidden")));
uint64_t mw_returns[1024] __attribute__((visibility("hidden"))), mw_depth __attribute__((visibility("hidden")));
int mw_nested;
char *mw_text(const char *format, va_list all)
{
	va_list again;
	va_copy(again, all);
	size_t n = (size_t)vsnprintf(NULL, 0, format, again) + 1;
	va_end(again);
	char *text = mw_own_malloc(n);
	vsnprintf(text, n, format, all);
	return text;
}
int mw_thread = -1, mw_program = -1;

int mw_main;
int mw_is_main(void) { return mw_main && mw_thread == 0; }
static int is_serving, line = -1;
pid_t mw_process;

/* Bytes, as many as there are. */
struct bytes { char *at; size_t used, size; };
static void append(struct bytes *to, const void *from, size_t n)
{
	if (to->used + n > to->size) to->at = mw_own_realloc(to->at, to->size = 2 * (to->used + n));
	memcpy(to->at + to->used, from, n);
	to->used += n;
}
/* The answer to the explorer, which is sent whole. */
static struct bytes out;
static void add(const char *format, va_list all)
{
	char *text = mw_text(format, all);
	append(&out, text, strlen(text));
	mw_own_free(text);
}
void mw_line(const char *format, ...)
{
	va_list all;
	va_start(all, format);
	add(format, all);
	va_end(all);
}
static void send_all(void)
{
	for (size_t done = 0; done < out.used;) {
		ssize_t k = write(line, out.at + done, out.used - done);
		if (k <= 0) _exit(2);
		done += (size_t)k;
	}
	out.used = 0;
}
/* Reads a line, and nothing behind it: the next one may be for the parent. */
int mw_is_line(int fd) { return fd == line && line >= 0; }
static char *received(void)
{
	int kept = errno;
	size_t size = 256, n = 0;
	char *text = mw_own_malloc(size), *end = NULL;
	while (!end) {
		if (n == size) text = mw_own_realloc(text, size *= 2);
		ssize_t k = recv(line, text + n, size - n, MSG_PEEK);
		if (k <= 0) _exit(0);
		if ((end = memchr(text + n, '\n', (size_t)k))) k = end + 1 - (text + n);
		n += (size_t)recv(line, text + n, (size_t)k, 0);
	}
	*end = 0;
	errno = kept;
	return text;
}

/* The state of a thread. */
uint64_t mw_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 29);
}
static uint64_t hashed(uint64_t hash, const void *from, size_t n)
{
	const unsigned char *bytes = from;
	uint64_t word;
	for (; n >= 8; bytes += 8, n -= 8) {
		memcpy(&word, bytes, 8);
		hash = mw_mix(hash, word);
	}
	word = 0;
	memcpy(&word, bytes, n);
	return mw_mix(hash, word);
}
/* Blocks of 64 bytes that the thread has written since `main` was done, in the order of their addresses. */
enum { BLOCKS = 1 << 15 };
static uintptr_t blocks[BLOCKS];
static size_t block_count;
static void written(uintptr_t address, size_t n)
{
	if (mw_is_on_stack(address)) return;
	for (uintptr_t block = address / 64; block <= (address + n - 1) / 64; block++) {
		size_t low = 0, high = block_count;
		while (low < high) {
			size_t middle = (low + high) / 2;
			if (blocks[middle] < block) low = middle + 1; else high = middle;
		}
		if (low < block_count && blocks[low] == block) continue;
		if (block_count == BLOCKS) mw_end('x', "a thread writes more than 2 MiB of its own memory");
		memmove(blocks + low + 1, blocks + low, (block_count++ - low) * sizeof *blocks);
		blocks[low] = block;
	}
}
/* Memory that is gone is no part of the state. */
void mw_unmaps(uintptr_t at, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < block_count; i++)
		if (blocks[i] * 64 + 64 <= at || blocks[i] * 64 >= at + n) blocks[kept++] = blocks[i];
	block_count = kept;
}
static char recorded[4096];
static size_t recorded_used;
/* The end of the stack of the thread, and of that of `main`. */
uintptr_t mw_base;
static uintptr_t arguments;
/* The store whose hook came last. It is done at the next hook. */
static struct { uintptr_t at; size_t n; uint64_t pc, frame; int plain; } pending, stored;

static struct bytes entry_state, learned, kept;
/* 1 if the state at the entry has not been taken, and 2 if that has `kept`, too. */
int mw_is_entry = 1;
/* Each part has its length before it, so that two lists of parts have equal bytes only if they are equal. */
void mw_state(const void *from, size_t n)
{
	append(&entry_state, &n, sizeof n);
	append(&entry_state, from, n);
}
/* Takes the state that the thread had when the program called the runtime. Behind that, only results of calls are new to it. */
static void take_state(void)
{
	if (!mw_is_entry || mw_thread < 0) return;
	entry_state.used = learned.used = 0;
	if (mw_is_entry == 2) mw_state(kept.at, kept.used);
	mw_is_entry = 0;
	mw_state(mw_regs, sizeof mw_regs);
	size_t used = mw_base - mw_regs[6] - 8;
	if (used > 1 << 26) mw_end('x', "code on a stack that is not that of its thread, as a context or a handler of signals has, is not supported");
	mw_state((void *)(mw_regs[6] + 8), used);
	mw_state(&stored.at, sizeof stored.at + sizeof stored.n);
	mw_state((void *)stored.at, stored.n);
	for (size_t i = 0; i < block_count; i++) {
		mw_state(&blocks[i], sizeof *blocks);
		mw_state((void *)(blocks[i] * 64), 64);
	}
	mw_state(recorded, recorded_used);
	/* The rounding of numbers. The other bits say what has happened. */
	struct { unsigned sse, x87; } rounding = { __builtin_ia32_stmxcsr() & 0xffc0, 0 };
	__asm__ volatile("fnstcw %0" : "=m"(rounding.x87));
	mw_state(&rounding, sizeof rounding);
	mw_verbs_state();
	mw_sockets_state();
	mw_threads_state();
	mw_variables_state();
	mw_heap_state();
	mw_state(&errno, sizeof errno);
}
void mw_learn(const void *from, size_t n)
{
	if (mw_thread < 0) return;
	take_state();
	append(&learned, from, n);
}
size_t mw_learned(void)
{
	take_state();
	return learned.used;
}
void mw_forget(size_t mark) { learned.used = mark; }

/* The addresses from which a call was made, innermost first, by the chain of frame pointers. */
void mw_places(char *text)
{
	uint64_t pc = stored.n ? stored.pc : mw_regs[RETURN], frame = stored.n ? stored.frame : mw_regs[1];
	int n = sprintf(text, "%lx", GLOBAL(pc - 1));
	for (int depth = 0; depth < 4 && frame > mw_regs[6] && frame < mw_base; depth++) {
		n += sprintf(text + n, ",%lx", GLOBAL(((uint64_t *)frame)[1] - 1));
		frame = *(uint64_t *)frame;
	}
}

static void must_be_known(void);
/* Calls, in turn: those that the explorer knows are answered by it, and not reported. */
static int64_t *tape;
static int tape_used, tape_size, calls;
static uint64_t spins, loads, hooks;
/* A hash of all calls so far. If a thread makes other calls with the same results, it depends on time or chance. */
static uint64_t trail = 1;

static int is_known(void) { return tape_used < tape_size; }
static void report(char kind, const char *format, va_list all)
{
	char where[128], text[512];
	must_be_known();
	int n = vsnprintf(text, sizeof text, format, all);
	if (n >= (int)sizeof text) mw_end('x', "a call of more than 511 letters");
	if (mw_thread == EPILOGUE && mw_open && strncmp(text, "read ", 5) && strncmp(text, "load ", 5)) mw_main_must_take_part("a call before the last join");
	take_state();
	trail = hashed(trail, text, (size_t)n);
	/* An earlier run has reported the calls before the last known result. */
	if (!is_known()) {
		mw_places(where);
		mw_line("%c %zu %s %s\n", kind, entry_state.used + learned.used, where, text);
		append(&out, entry_state.at, entry_state.used);
		append(&out, learned.at, learned.used);
		if (++calls > 2000) mw_end('x', "a thread makes more than 2000 calls without a result between them");
	}
	append(&learned, text, (size_t)n + 1);
}
/* What a thread does behind the end of its program does not happen. Programs of other nodes see what it changes, and its records are seen. */
static void ends_with_program(void)
{
	if (mw_thread >= 0 && mw_thread != EPILOGUE && !mw_is_main() && mw_is_over()) mw_ended("");
}
void mw_call(const char *format, ...)
{
	if (mw_program >= 0) ends_with_program();
	spins = loads = 0;
	va_list all;
	va_start(all, format);
	report('c', format, all);
	va_end(all);
}
static int64_t answered(void)
{
	if (is_known()) {
		if (tape_used + 1 == tape_size) mw_line("t 0 %lx\n", (unsigned long)trail);
		return tape[tape_used++];
	}
	mw_line("t 0 %lx\n.\n", (unsigned long)trail);
	send_all();
	calls = 0;
	char *text = received();
	if (text[0] != 'r') _exit(0);
	int64_t result = strtoll(text + 2, NULL, 10);
	mw_own_free(text);
	return result;
}
static int changes_memory(const char *call) { return !strncmp(call, "cas ", 4) || !strncmp(call, "xchg ", 5) || !strncmp(call, "faa ", 4); }
int64_t mw_ask(const char *format, ...)
{
	if (mw_program >= 0 && changes_memory(format)) ends_with_program();
	spins = loads = 0;
	va_list all;
	va_start(all, format);
	report('q', format, all);
	va_end(all);
	int64_t result = answered();
	mw_learn(&result, sizeof result);
	return result;
}
void mw_warn(const char *format, ...)
{
	char where[128];
	va_list all;
	if (mw_thread < 0) return;
	mw_places(where);
	mw_line("w %s ", where);
	va_start(all, format);
	add(format, all);
	va_end(all);
	mw_line("\n");
}
void mw_end(char kind, const char *format, ...)
{
	char where[128] = "0";
	va_list all;
	if (mw_thread >= 0) {
		mw_places(where);
		mw_line("%.*s", (int)recorded_used, recorded);
	}
	mw_line("%c %s ", kind, where);
	va_start(all, format);
	add(format, all);
	va_end(all);
	mw_line("\n.\n");
	if (line < 0) {
		fwrite(out.at, 1, out.used, stderr);
		exit(2);
	}
	send_all();
	_exit(0);
}
void mw_ended(const char *how)
{
	char where[128] = "0";
	mw_flush();
	if (mw_is_main()) mw_call("over");
	must_be_known();
	mw_line("%.*s", (int)recorded_used, recorded);
	mw_verbs_ended();
	mw_line("e 0 %s %s\n.\n", where, how);
	send_all();
	_exit(0);
}

/* Memory. */
struct cell { uintptr_t at; size_t size; int wraps; };
static struct cell *cells;
static size_t cell_count;
/* The first cell that ends behind an address. */
static size_t cell_after(uintptr_t address)
{
	size_t low = 0, high = cell_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (cells[middle].at + cells[middle].size <= address) low = middle + 1; else high = middle;
	}
	return low;
}
/* The bytes of the cells as hooks have left them. Other code may not write there, because nobody would see it. */
static unsigned char *known_bytes;
/* The cells that the code behind the last join has written. Nobody else does so any more. */
static unsigned char *is_own;
static unsigned char *known(size_t i) { return known_bytes + 8 * i; }
static void knows(uintptr_t at, size_t n)
{
	for (size_t i = cell_after(at); i < cell_count && cells[i].at < at + n; i++) memcpy(known(i), (void *)cells[i].at, cells[i].size);
}
static void must_be_known(void)
{
	if (mw_thread < 0 || mw_thread == EPILOGUE) return;
	for (size_t i = 0; i < cell_count; i++) {
		/* A frame that is gone is memory of other functions. */
		if (mw_is_on_stack(cells[i].at) || !memcmp(known(i), (void *)cells[i].at, cells[i].size)) continue;
		knows(cells[i].at, 1);
		mw_end('x', "shared memory was written unseen, by a function of a library or inline assembly before this call");
	}
}
/* What was reported of memory, by any run: accesses, and looks at the table of cells. Bits of the kind. */
enum { SEEN = 1 << 20, SCALAR = 1, WRITTEN = 2, TABLE = 4 };
static struct seen { uint64_t at, size, open; } *seen;
/* True of what no run has reported. */
static int is_news(uintptr_t at, size_t n, int kind, uint64_t open)
{
	struct seen one = { at | (uint64_t)mw_thread << 48 | (uint64_t)kind << 56, n, open };
	size_t i = (size_t)(mw_mix(mw_mix(mw_mix(1, one.at), n), one.open) >> 20) % SEEN, looked = 0;
	while (seen[i].size && memcmp(&seen[i], &one, sizeof one) && ++looked < SEEN) i = (i + 1) % SEEN;
	if (looked == SEEN) mw_end('x', "the threads touch more than a million places");
	if (seen[i].size) return 0;
	seen[i] = one;
	return 1;
}
static void touches(uintptr_t at, size_t n, int writes, int scalar)
{
	uint64_t open = mw_thread == EPILOGUE ? mw_open : 0;
	if (!is_news(at, n, (writes ? WRITTEN : 0) | (scalar ? SCALAR : 0), open)) return;
	char where[128];
	mw_places(where);
	mw_line("a %lu %zu %d %d %s %lu\n", GLOBAL(at), n, writes + 2 * mw_is_in_other_frame(at, writes), scalar, where, open);
	spins = loads = 0;
}
/* Reports that the run depends on which of these bytes are cells, before it looks. With other cells it may make other calls, so the
 * explorer runs it again then. An access says so itself. */
static void looks_for_cells(uintptr_t at, size_t n)
{
	if (is_news(at, n, TABLE, 0)) mw_line("k %lu %zu\n", GLOBAL(at), n);
}
static int64_t value_of(const void *at, size_t n)
{
	int64_t v = 0;
	memcpy(&v, at, n);
	return n == 8 ? v : (int64_t)((uint64_t)v << (64 - 8 * n)) >> (64 - 8 * n);
}
/* True if the thread waits for another one, which has not got to where it writes. It loads the same word from the same line in the
 * same state again, even if it has written its own memory in between. What it reads is shared as soon as another thread writes it. A
 * state is compared a few times only, because a loop that computes never has it again. */
int mw_waits(uintptr_t at)
{
	enum { COMPARED = 32 };
	static struct { uintptr_t at; uint64_t pc; struct bytes state; int compared; } before;
	uint64_t pc = mw_regs[RETURN];
	spins++;
	if (spins > 1000000) mw_end('x', "a thread reads its own memory a million times, and something changes each time");
	if (mw_thread == EPILOGUE || ++loads < 64) return 0;
	if (loads > 64 && at == before.at && pc == before.pc && before.compared++ < COMPARED) {
		take_state();
		if (before.state.used == entry_state.used && !memcmp(before.state.at, entry_state.at, entry_state.used)) return 1;
	}
	if (!(loads & (loads - 1))) {
		take_state();
		before.at = at;
		before.pc = pc;
		before.state.used = 0;
		append(&before.state, entry_state.at, entry_state.used);
		before.compared = 0;
	}
	return 0;
}
/* A plain access is one that is neither atomic nor volatile: it takes part in races. It has a name of its own. */
static void load(uintptr_t at, size_t n, int scalar, int plain)
{
	mw_heap_touch(at, n, "reads");
	touches(at, n, 0, scalar);
	if (mw_waits(at)) mw_end('l', "a loop that looks");
	for (size_t i = cell_after(at); i < cell_count && cells[i].at < at + n; i++) {
		struct cell c = cells[i];
		int is_inside = c.at >= at && c.at + c.size <= at + n, is_part = c.at <= at && at + n <= c.at + c.size;
		if (scalar && !is_inside && !is_part) mw_end('x', "parts of two words are read at once, and others use the whole words; read one after the other");
		if (is_own[i]) continue;
		int64_t v = mw_ask("%s %lu %zu", plain ? "load" : "read", GLOBAL(c.at), c.size);
		memcpy((void *)c.at, &v, c.size);
		knows(c.at, 1);
	}
}
/* Words of the model are written as a whole. */
#define ADVICE "write it with one size everywhere, or give the part a variable of its own"
static void store(uintptr_t at, size_t n, int plain)
{
	knows(at, n);
	size_t i = cell_after(at);
	if (i == cell_count || cells[i].at >= at + n) { written(at, n); return; }
	for (uintptr_t from = at; from < at + n;) {
		while (i < cell_count && cells[i].at + cells[i].size <= from) i++;
		if (i == cell_count || cells[i].at >= at + n) { written(from, at + n - from); break; }
		struct cell c = cells[i];
		if (c.at > from) written(from, c.at - from);
		if (c.at < at || c.at + c.size > at + n) mw_end('x', "part of a word is written, and others use the whole word; " ADVICE);
		if (mw_thread == EPILOGUE) is_own[i] = 1;
		else mw_call("%s %lu %zu %ld", plain ? "store" : "write", GLOBAL(c.at), c.size, (long)value_of((void *)c.at, c.size));
		from = c.at + c.size;
	}
}
void mw_flush(void)
{
	if (!pending.n) return;
	/* The state is that at this hook, but the place is that of the store. */
	stored = pending;
	memset(&pending, 0, sizeof pending);
	store(stored.at, stored.n, stored.plain);
	memset(&stored, 0, sizeof stored);
	/* Every function of the runtime begins with this, so the rest of it goes on as one without a store before it. */
	mw_is_entry = 1;
}
void mw_load(const void *from, size_t n)
{
	mw_flush();
	load((uintptr_t)from, n, 0, 1);
}
size_t mw_load_word(const void *from, size_t most, int last)
{
	uintptr_t at = (uintptr_t)from;
	size_t i = cell_after(at), n = 8 - at % 8;
	int is_cell = i < cell_count && cells[i].at <= at;
	if (is_cell) n = cells[i].at + cells[i].size - at;
	else if (i < cell_count && cells[i].at < at + n) n = cells[i].at - at;
	if (n > most) n = most;
	const char *end = is_cell ? NULL : memchr(from, last, n);
	if (end) n = (size_t)(end - (const char *)from) + 1;
	load(at, n, 0, 1);
	return n;
}
void mw_store(void *to, const void *from, size_t n, int plain)
{
	if (!n) return;
	mw_flush();
	mw_heap_touch((uintptr_t)to, n, "writes");
	touches((uintptr_t)to, n, 1, 0);
	memmove(to, from, n);
	store((uintptr_t)to, n, plain);
}
/* One of several programs sets up until its last call that does so, which the explorer knows from an earlier start. It may have
 * to go on to the next message for others. A loop that only looks at memory ends the set-up, too. */
static long set_ups, last_set_up = -1;
static int must_go_on;
static uint64_t looks;
/* True if two threads use these bytes, one of which changes what they stand for. */
int mw_is_shared(const void *at, size_t n, int changes)
{
	if (mw_thread < 0) return 0;
	touches((uintptr_t)at, n, changes, 1);
	size_t i = cell_after((uintptr_t)at);
	return i < cell_count && cells[i].at == (uintptr_t)at;
}
int mw_is_used_by_others(const void *at, size_t n)
{
	touches((uintptr_t)at, n, 1, 0);
	size_t i = cell_after((uintptr_t)at);
	return i < cell_count && cells[i].at < (uintptr_t)at + n;
}
void mw_sets_up(void) { set_ups++; looks = 0; }
static int sets_up_still(void)
{
	/* A run that has not begun its thread sets nothing up. */
	if (mw_thread < 0 && mw_program >= 0 && !is_serving && (++looks > 10000000 || (set_ups == last_set_up && !must_go_on))) mw_broker("pause");
	return mw_thread < 0;
}
/* What `main` does after it has started a thread, and before it waits for one. If it shares memory with a thread that it has started by
 * then, it has to take part as a thread itself, which the explorer decides. */
static struct window { uintptr_t at; size_t n; int writes; uint64_t open, pc; } *window;
static size_t window_count, window_size;
static int is_window;
void mw_window_begins(void)
{
	is_window = mw_thread < 0 && !mw_main;
	if (is_window) mw_catches();
}
void mw_beside_threads(const char *why)
{
	if (is_window && mw_thread < 0 && getpid() == mw_process) mw_main_must_take_part(why);
}
int mw_window(const void *at, size_t n, int writes)
{
	if (!is_window || mw_thread >= 0 || !n) return 0;
	if (++looks > 1000000) mw_main_must_take_part("`main` waits while its threads run");
	for (size_t i = window_count; i-- && i + 16 > window_count;)
		if (window[i].at == (uintptr_t)at && window[i].n == n && window[i].writes == writes && window[i].open == mw_open) return 1;
	if (window_count == window_size) window = mw_own_realloc(window, (window_size = 2 * window_size + 64) * sizeof *window);
	window[window_count++] = (struct window){ (uintptr_t)at, n, writes, mw_open, mw_regs[RETURN] - 1 };
	return 1;
}
void mw_is_no_fork(const char *what)
{
	if (mw_thread < 0 && getpid() != mw_process) mw_end('x', "%s in a process that the set-up forks", what);
}
void mw_main_must_take_part(const char *why)
{
	mw_is_no_fork(why);
	mw_end(mw_main ? 'x' : 'z', "%s", why);
}
int mw_native(const void *at, size_t n, int writes)
{
	if (!sets_up_still()) return 0;
	mw_window(at, n, writes);
	return 1;
}
/* The memory that the last hook of each kind announced, and what of it no instruction has used since: how much, and which of the first
 * 64 bytes. Probes skip an instruction that uses a part for the first time; copies of 15 bytes use one twice. */
static struct announced { uintptr_t at; size_t n, left; uint64_t unused; } to_read, to_write;
static uint64_t first_bytes(size_t n) { return n >= 64 ? ~0UL : (1UL << n) - 1; }
static struct announced announced(void *at, size_t n) { return (struct announced){ (uintptr_t)at, n, n, first_bytes(n) }; }
static int is_announced(struct announced *a, uintptr_t at, size_t n)
{
	size_t from = at - a->at;
	if (at < a->at || at + n > a->at + a->n) return 0;
	uint64_t bytes = from < 64 ? first_bytes(n) << from : 0;
	int is_first = a->n <= 64 ? (a->unused & bytes) != 0 : a->left != 0;
	a->unused &= ~bytes;
	a->left -= n < a->left ? n : a->left;
	return is_first;
}
/* True if no instruction has stored since the hook of the last store. */
static int is_before_store(void)
{
	return pending.n && pending.at == to_write.at && to_write.left == to_write.n && !mw_is_on_stack(pending.at);
}
static void reads(void *at, size_t n, int scalar, int plain)
{
	if (mw_native(at, n, 0) || !n) return;
	to_read = announced(at, n);
	if (++hooks > 200000000) mw_end('x', "a thread makes 200 million accesses");
	/* gcc announces a copy by the write and then the read. If no instruction has stored since, the store comes behind this load. */
	if (pending.n != n || !is_before_store()) mw_flush();
	mw_verbs_touch((uintptr_t)at, n, 0);
	load((uintptr_t)at, n, scalar, plain);
}
/* A store that the program is about to do. */
static void announces_write(uintptr_t at, size_t n, int scalar, int plain)
{
	mw_heap_touch(at, n, "writes");
	mw_verbs_touch(at, n, 1);
	touches(at, n, 1, scalar);
	spins = 0;
	pending.at = at;
	pending.n = n;
	pending.plain = plain;
	pending.pc = mw_regs[RETURN];
	pending.frame = mw_regs[1];
}
static void writes(void *at, size_t n, int scalar, int plain)
{
	if (mw_native(at, n, 1) || !n) return;
	to_write = announced(at, n);
	if (++hooks > 200000000) mw_end('x', "a thread makes 200 million accesses");
	mw_flush();
	announces_write((uintptr_t)at, n, scalar, plain);
}

#define ACCESS(n, name, scalar, plain) \
	ENTRY_OF_ADDRESS(__tsan_##name##read##n); ENTRY_OF_ADDRESS(__tsan_##name##write##n); \
	void mw___tsan_##name##read##n(void *at) { reads(at, n, scalar, plain); } \
	void mw___tsan_##name##write##n(void *at) { writes(at, n, scalar, plain); }
#define ACCESSES(name, plain) \
	ACCESS(2, name, 1, plain) ACCESS(4, name, 1, plain) ACCESS(8, name, 1, plain) ACCESS(16, name, 0, plain)
ACCESS(1, , 1, 1) ACCESSES(, 1) ACCESSES(unaligned_, 1)
ACCESS(1, volatile_, 1, 0) ACCESSES(volatile_, 0) ACCESSES(unaligned_volatile_, 0)
ENTRY(__tsan_read_range); ENTRY(__tsan_write_range);
void mw___tsan_read_range(void *at, size_t n) { reads(at, n, 0, 1); }
void mw___tsan_write_range(void *at, size_t n) { writes(at, n, 0, 1); }
ENTRY_OF_ADDRESS(__tsan_vptr_read); ENTRY_OF_ADDRESS(__tsan_vptr_update); ENTRY_OF_ADDRESS(__tsan_func_exit);
void mw___tsan_vptr_read(void *at) { reads(at, 8, 1, 1); }
void mw___tsan_vptr_update(void *at, void *v) { (void)v; writes(at, 8, 1, 1); }
void mw___tsan_func_exit(void) { mw_flush(); }
void __tsan_func_entry(void *pc) { (void)pc; }
void __tsan_init(void) {}

/* Probes are calls in the program's assembly before instructions that no hook announces: see src/probes.rs. They keep all registers, and
 * `saved` points at those that calls do not preserve and the ones that do, from r15 on. */
enum { READS = 1 << 8, WRITES = 1 << 9, COPIES = 1 << 10, FILLS = 1 << 11, REPEATS = 1 << 12, FRAME = 1 << 13, CALLS = 1 << 14 };
/* Few programs share words of a frame or `__thread` variables. In the others, accesses of these are skipped at once. */
__attribute__((used)) int mw_shares_frames;
int mw_registers_frames;
__asm__(".text\n.globl __mowgli_frame, __mowgli_variable\n__mowgli_variable:\npushfq\naddq %fs:0, %rdi\njmp 2f\n__mowgli_frame:\npushfq\n"
	"2: cmpl $0, mw_shares_frames(%rip)\nje 1f\npopfq\njmp __mowgli_probe\n1: popfq\nret\n");
/* A pointer to code behind the runtime is one to another object, of which nothing is seen. */
__asm__(".text\n.globl __mowgli_call\n__mowgli_call:\npushfq\ncmpq $mw_end_of_runtime, %rdi\njbe 1f\ncmpq $etext, %rdi\njae 1f\n"
	"popfq\njmp __mowgli_probe\n1: popfq\nret\n");
/* Parts of registers that a processor has: those of x87, SSE, AVX and AVX-512. */
uint32_t mw_parts __attribute__((visibility("hidden")));
#define KEEPS_ALL(name) \
	__asm__(".text\n.globl __mowgli_" #name "\n__mowgli_" #name ":\npushfq\ncmpl $0, mw_thread(%rip)\njge 1f\npopfq\nret\n" \
		"1: pushq %rsi\npushq %rdi\npushq %rax\npushq %rcx\npushq %rdx\npushq %rbx\npushq %rbp\npushq %r8\npushq %r9\npushq %r10\npushq %r11\n" \
		"pushq %r12\npushq %r13\npushq %r14\npushq %r15\nmovq %rdi, %r12\nmovl %esi, %r13d\nmovq %rsp, %rbx\n" \
		"subq $2752, %rsp\nandq $-64, %rsp\ncld\nleaq 512(%rsp), %rdi\nmovl $8, %ecx\nxorl %eax, %eax\nrep stosq\n" \
		"movl mw_parts(%rip), %eax\nxorl %edx, %edx\nxsave (%rsp)\nmovq %rbx, %rdi\n" \
		"movq %r12, %rsi\nmovl %r13d, %edx\nmovq %rsp, %rcx\ncall mw_" #name "\nmovl mw_parts(%rip), %eax\nxorl %edx, %edx\nxrstor (%rsp)\nmovq %rbx, %rsp\n" \
		"popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %r11\npopq %r10\npopq %r9\npopq %r8\npopq %rbp\npopq %rbx\n" \
		"popq %rdx\npopq %rcx\npopq %rax\npopq %rdi\npopq %rsi\npopfq\nret\n")
KEEPS_ALL(probe); KEEPS_ALL(mfence); KEEPS_ALL(unseen);
enum { SAVED_RDI = 13, SAVED_RSI = 14, SAVED_FLAGS = 15, SAVED_RETURN = 16 };
/* Enters the runtime between two instructions. The state there has all registers: `wide` are those of floating-point numbers and vectors,
 * as xsave writes them. A load that `is_first` comes before the store whose hook came last. */
static void enters(uint64_t *saved, size_t pushed, const char *wide, int is_first)
{
	/* Where xsave puts each part, and its size. */
	static const struct { uint32_t part; size_t at, n; } parts[] = { { 1, 0, 2 }, { 1, 4, 1 }, { 1, 32, 128 }, { 2, 160, 256 }, { 4, 576, 256 }, { 0x20, 1088, 64 },
		{ 0x40, 1152, 512 }, { 0x80, 1664, 1024 } };
	/* Flags of the last computation. */
	uint64_t flags = saved[SAVED_FLAGS] & 0xcd5, *above = saved + SAVED_RETURN + 1 + pushed;
	kept.used = 0;
	append(&kept, &flags, sizeof flags);
	append(&kept, &saved[12], sizeof *saved);
	append(&kept, &saved[4], 2 * sizeof *saved);
	/* What of the last announcements is not used decides of the next probes. */
	append(&kept, &to_read, sizeof to_read);
	append(&kept, &to_write, sizeof to_write);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) if (mw_parts & parts[i].part) append(&kept, wide + parts[i].at, parts[i].n);
	uint64_t regs[RETURN + 1] = { saved[9], saved[8], saved[3], saved[2], saved[1], saved[0], (uint64_t)(above - 1), pushed ? above[-1] : saved[SAVED_RDI],
		pushed > 1 ? above[-2] : saved[SAVED_RSI], saved[10], saved[11], saved[7], saved[6], saved[SAVED_RETURN] };
	memcpy(mw_regs, regs, sizeof regs);
	mw_is_entry = 2;
	if (is_first) return;
	mw_flush();
	mw_is_entry = 2;
}
__attribute__((used)) void mw_probe(uint64_t *saved, uintptr_t at, unsigned code, const char *wide)
{
	size_t n = code & 0xff;
	uintptr_t from = at;
	if (code & CALLS) {
		enters(saved, 2, wide, 0);
		mw_unsure("a function of another object, which is called by a pointer");
		return;
	}
	int is_read = (code & (READS | COPIES)) != 0, is_written = (code & (WRITES | COPIES | FILLS)) != 0;
	if (code & (COPIES | FILLS)) {
		at = saved[SAVED_RETURN + 2];
		from = saved[SAVED_RETURN + 1];
		if (code & REPEATS) n *= saved[11];
	}
	if (is_read && is_announced(&to_read, from, n)) is_read = 0;
	if (is_written && is_announced(&to_write, at, n)) is_written = 0;
	if (!n || (!is_read && !is_written)) return;
	if (code & FRAME) {
		size_t cell = cell_after(at);
		int is_cell = cell < cell_count && cells[cell].at < at + n;
		if (!is_cell && !mw_is_registered(at, n)) return;
	}
	/* A bit-field is written by a load, a computation and a store, of which the store has a hook. */
	enters(saved, 2, wide, !is_written && is_before_store());
	if (is_read) { mw_verbs_touch(from, n, 0); load(from, n, 0, 1); }
	if (is_written) announces_write(at, n, 0, 1);
}
void mw_unsure(const char *what)
{
	if (is_known()) return;
	char where[128];
	mw_places(where);
	mw_line("u %s %s\n", where, what);
}
/* Output is no part of an execution, so what these streams hold does not matter. */
extern char _ZSt4cout[] __attribute__((weak)), _ZSt4cerr[] __attribute__((weak)), _ZSt4clog[] __attribute__((weak));
__attribute__((used)) void mw_unseen(uint64_t *saved, const char *name, unsigned none, const char *wide)
{
	(void)none;
	const char *stream = (const char *)saved[SAVED_RETURN + 1];
	if (stream && !strncmp(name, "_Z", 2) && (stream == _ZSt4cout || stream == _ZSt4cerr || stream == _ZSt4clog)) return;
	enters(saved, 1, wide, 0);
	mw_unsure(name);
}

/* Atomics, on memory that is the thread's own and on cells. x86: all but stores and loads are locked instructions. */
static int is_cell(uintptr_t at, size_t n)
{
	size_t i = cell_after(at);
	if (i == cell_count || cells[i].at >= at + n) return 0;
	if (cells[i].at != at || cells[i].size != n) mw_end('x', "part of a word is used, and others use the whole word; " ADVICE);
	return 1;
}
static int64_t own(volatile void *at, size_t n) { return value_of((void *)(uintptr_t)at, n); }
static void set_own(volatile void *at, int64_t v, size_t n)
{
	memcpy((void *)(uintptr_t)at, &v, n);
	if (mw_thread >= 0) written((uintptr_t)at, n);
}
static int begins(volatile void *at, size_t n, int changes)
{
	if (mw_native((void *)(uintptr_t)at, n, changes)) return 0;
	mw_flush();
	mw_heap_touch((uintptr_t)at, n, "uses");
	mw_verbs_touch((uintptr_t)at, n, changes);
	touches((uintptr_t)at, n, changes, 1);
	if (mw_thread == EPILOGUE && is_cell((uintptr_t)at, n)) {
		load((uintptr_t)at, n, 1, 0);
		is_own[cell_after((uintptr_t)at)] = 1;
		return 0;
	}
	return is_cell((uintptr_t)at, n);
}
static int64_t atomic_load(volatile void *at, size_t n)
{
	if (mw_native((void *)(uintptr_t)at, n, 0)) return own(at, n);
	mw_flush();
	mw_verbs_touch((uintptr_t)at, n, 0);
	load((uintptr_t)at, n, 1, 0);
	return own(at, n);
}
static void fence(int order)
{
	if (mw_thread >= 0 && mw_thread != EPILOGUE && order == __ATOMIC_SEQ_CST) mw_call("fence");
}
__attribute__((used)) void mw_mfence(uint64_t *saved, uintptr_t none, unsigned nothing, const char *wide)
{
	(void)none, (void)nothing;
	enters(saved, 0, wide, 0);
	mw_call("fence");
}
static void atomic_store(volatile void *at, int64_t v, size_t n, int order)
{
	int shared = begins(at, n, 1);
	if (!shared) set_own(at, v, n);
	else mw_call("write %lu %zu %ld", GLOBAL(at), n, (long)v);
	fence(order);
}
static int64_t compare(volatile void *at, int64_t old, int64_t new, size_t n)
{
	return mw_ask("cas %lu %zu %ld %ld", GLOBAL(at), n, (long)old, (long)new);
}
static int64_t cut_to(int64_t v, size_t n) { return value_of(&v, n); }
/* Operations that the model lacks are a compare-and-swap that is repeated. So are additions to words that wrap. */
enum { ADD, SUB, AND, OR, XOR, NAND, XCHG };
static int64_t changed(int64_t old, int64_t v, int by, size_t n)
{
	int64_t sum = by == ADD ? (int64_t)((uint64_t)old + (uint64_t)v) : by == SUB ? (int64_t)((uint64_t)old - (uint64_t)v)
		: by == AND ? (old & v) : by == OR ? (old | v) : by == XOR ? (old ^ v) : by == NAND ? ~(old & v) : v;
	return cut_to(sum, n);
}
static int64_t atomic_change(volatile void *at, int64_t v, size_t n, int by)
{
	if (!begins(at, n, 1)) {
		int64_t old = own(at, n);
		set_own(at, changed(old, v, by, n), n);
		return old;
	}
	if (by == XCHG) return mw_ask("xchg %lu %zu %ld", GLOBAL(at), n, (long)v);
	if ((by == ADD || by == SUB) && !cells[cell_after((uintptr_t)at)].wraps) {
		int64_t plus = by == ADD ? v : -v, old = mw_ask("faa %lu %zu %ld", GLOBAL(at), n, (long)plus);
		if (cut_to(old + plus, n) != old + plus) mw_end('n', "%lu %zu 3", GLOBAL(at), n);
		return old;
	}
	/* Behind a failure only the last result counts. */
	size_t mark = mw_learned();
	int64_t old = mw_ask("read %lu %zu", GLOBAL(at), n);
	for (;;) {
		int64_t was = compare(at, old, changed(old, v, by, n), n);
		if (was == old) return old;
		old = was;
		mw_forget(mark);
		mw_learn(&old, sizeof old);
	}
}
static int atomic_compare(volatile void *at, void *expected, int64_t new, size_t n)
{
	int shared = begins(at, n, 1);
	if (!mw_native(expected, n, 0)) load((uintptr_t)expected, n, 1, 1);
	int64_t old = value_of(expected, n), was = shared ? compare(at, old, new, n) : own(at, n);
	if (was == old && !shared) set_own(at, new, n);
	if (was != old) {
		if (mw_thread < 0) memcpy(expected, &was, n); else mw_store(expected, &was, n, 1);
	}
	return was == old;
}
#define HOOK(type, name, parameters, arguments, body) \
	ENTRY(name); type mw_##name parameters { body }
#define ATOMIC(bits, T) \
	HOOK(T, __tsan_atomic##bits##_load, (volatile T *a, int mo), , (void)mo; return (T)atomic_load(a, sizeof(T));) \
	HOOK(void, __tsan_atomic##bits##_store, (volatile T *a, T v, int mo), , atomic_store(a, v, sizeof(T), mo);) \
	HOOK(T, __tsan_atomic##bits##_exchange, (volatile T *a, T v, int mo), , (void)mo; return (T)atomic_change(a, v, sizeof(T), XCHG);) \
	HOOK(T, __tsan_atomic##bits##_fetch_add, (volatile T *a, T v, int mo), , (void)mo; return (T)atomic_change(a, v, sizeof(T), ADD);) \
	HOOK(T, __tsan_atomic##bits##_fetch_sub, (volatile T *a, T v, int mo), , (void)mo; return (T)atomic_change(a, v, sizeof(T), SUB);) \
	HOOK(T, __tsan_atomic##bits##_fetch_and, (volatile T *a, T v, int mo), , (void)mo; return (T)atomic_change(a, v, sizeof(T), AND);) \
	HOOK(T, __tsan_atomic##bits##_fetch_or, (volatile T *a, T v, int mo), , (void)mo; return (T)atomic_change(a, v, sizeof(T), OR);) \
	HOOK(T, __tsan_atomic##bits##_fetch_xor, (volatile T *a, T v, int mo), , (void)mo; return (T)atomic_change(a, v, sizeof(T), XOR);) \
	HOOK(T, __tsan_atomic##bits##_fetch_nand, (volatile T *a, T v, int mo), , (void)mo; return (T)atomic_change(a, v, sizeof(T), NAND);) \
	HOOK(int, __tsan_atomic##bits##_compare_exchange_strong, (volatile T *a, T *c, T v, int mo, int f), , \
		(void)mo; (void)f; return atomic_compare(a, c, v, sizeof(T));) \
	HOOK(int, __tsan_atomic##bits##_compare_exchange_weak, (volatile T *a, T *c, T v, int mo, int f), , \
		(void)mo; (void)f; return atomic_compare(a, c, v, sizeof(T));) \
	HOOK(T, __tsan_atomic##bits##_compare_exchange_val, (volatile T *a, T c, T v, int mo, int f), , \
		(void)mo; (void)f; atomic_compare(a, &c, v, sizeof(T)); return c;)
ATOMIC(8, int8_t) ATOMIC(16, int16_t) ATOMIC(32, int32_t) ATOMIC(64, int64_t)
/* The model has words of at most 8 bytes. */
#define WIDE(name) ENTRY(__tsan_atomic128_##name); void mw___tsan_atomic128_##name(void) { mw_end('x', "an atomic access of 16 bytes is not supported"); }
WIDE(load) WIDE(store) WIDE(exchange) WIDE(fetch_add) WIDE(fetch_sub) WIDE(fetch_and) WIDE(fetch_or) WIDE(fetch_xor) WIDE(fetch_nand)
WIDE(compare_exchange_strong) WIDE(compare_exchange_weak) WIDE(compare_exchange_val)
HOOK(void, __tsan_atomic_thread_fence, (int mo), , if (mw_thread >= 0) mw_flush(); fence(mo);)
void __tsan_atomic_signal_fence(int mo) { (void)mo; }

/* Functions of libc that touch memory. In objects of the program their names are replaced by these. Newer versions of clang have names
 * of their own for copies that they see. */
/* Returns where a copy is cut, or 0. memcpy moves few bytes as two words, which may overlap, and may begin with either. */
static size_t cut_at(uintptr_t at, size_t n)
{
	if (mw_thread == EPILOGUE || n >= 16 || !(n & (n - 1))) return 0;
	looks_for_cells(at, n);
	size_t first = n > 8 ? 8 : n > 4 ? 4 : 2, i = cell_after(at + first - 1);
	if (cell_after(at) == cell_after(at + n - 1)) return 0;
	int is_crossed = i < cell_count && cells[i].at < at + first && cells[i].at + cells[i].size > at + first;
	return !is_crossed && mw_ask("choose") ? first : 0;
}
/* Of as many bytes as have from three to eight vectors of 32, glibc moves the first half upwards, and the vectors behind it from the end.
 * With other vectors it is otherwise, so both orders are explored. Returns where the half ends, or 0 if the order does not matter. */
enum { VECTOR = 32 };
static size_t half_at(uintptr_t at, size_t n)
{
	if (mw_thread == EPILOGUE || n <= 2 * VECTOR || n > 8 * VECTOR) return 0;
	looks_for_cells(at, n);
	size_t half = n <= 4 * VECTOR ? 2 * VECTOR : 4 * VECTOR, i = cell_after(at + half);
	return i + 1 < cell_count && cells[i + 1].at < at + n && mw_ask("choose") ? half : 0;
}
static void load_part(uintptr_t at, size_t n) { load(at, n, 0, 1); }
static void store_part(uintptr_t at, size_t n) { store(at, n, 1); }
/* Words are not cut. */
static void moves(uintptr_t at, size_t n, void (*part)(uintptr_t, size_t))
{
	size_t first = cut_at(at, n), half = half_at(at, n), begin = first ? first : half ? half : n;
	size_t i = cell_after(at + begin);
	if (half && i < cell_count && cells[i].at < at + begin) begin = cells[i].at - at;
	if (first) part(at + first, n - first);
	part(at, begin);
	for (size_t end = n; half && end > begin;) {
		size_t from = end - begin > VECTOR ? end - VECTOR : begin;
		i = cell_after(at + from);
		if (i < cell_count && cells[i].at < at + from) from = cells[i].at - at;
		part(at + from, end - from);
		end = from;
	}
}
void *mw_copy(void *to, const void *from, size_t n)
{
	if (mw_native(from, n, 0)) { mw_native(to, n, 1); return memmove(to, from, n); }
	mw_flush();
	if (!n) return to;
	moves((uintptr_t)from, n, load_part);
	mw_heap_touch((uintptr_t)to, n, "writes");
	touches((uintptr_t)to, n, 1, 0);
	memmove(to, from, n);
	knows((uintptr_t)to, n);
	moves((uintptr_t)to, n, store_part);
	return to;
}
#define MOVES(name) ENTRY(name); void *mw_##name(void *to, const void *from, size_t n) { return mw_copy(to, from, n); }
MOVES(__mowgli_memcpy) MOVES(__mowgli_memmove) MOVES(__tsan_memcpy) MOVES(__tsan_memmove)
#define SETS(name) \
	ENTRY(name); \
	void *mw_##name(void *to, int byte, size_t n) \
	{ \
		if (mw_native(to, n, 1) || !n) return memset(to, byte, n); \
		mw_flush(); \
		mw_heap_touch((uintptr_t)to, n, "writes"); \
		touches((uintptr_t)to, n, 1, 0); \
		memset(to, byte, n); \
		store((uintptr_t)to, n, 1); \
		return to; \
	}
SETS(__mowgli_memset) SETS(__tsan_memset)
int mw_begins_with_second(const void *a, size_t n, const void *b, size_t m)
{
	if (mw_thread < 0 || mw_thread == EPILOGUE) return 0;
	mw_flush();
	if (!n || !m) return 0;
	looks_for_cells((uintptr_t)a, n);
	looks_for_cells((uintptr_t)b, m);
	size_t i = cell_after((uintptr_t)a), k = cell_after((uintptr_t)b);
	int have_cells = i < cell_count && cells[i].at < (uintptr_t)a + n && k < cell_count && cells[k].at < (uintptr_t)b + m;
	return have_cells && mw_ask("choose");
}

/* A place to which a program jumps is memory that it writes. */
__asm__(".text\n.globl __mowgli__setjmp, __mowgli_setjmp, __mowgli___sigsetjmp\n"
	"__mowgli__setjmp: __mowgli_setjmp:\nxorl %esi, %esi\n__mowgli___sigsetjmp:\npushq %rdi\npushq %rsi\nsubq $8, %rsp\n"
	"call mw_may_jump_to\naddq $8, %rsp\npopq %rsi\npopq %rdi\njmp __sigsetjmp\n");
__attribute__((used)) void mw_may_jump_to(void *place)
{
	if (mw_thread < 0) return;
	written((uintptr_t)place, sizeof(jmp_buf));
	touches((uintptr_t)place, sizeof(jmp_buf), 1, 0);
	size_t cell = cell_after((uintptr_t)place);
	if (cell < cell_count && cells[cell].at < (uintptr_t)place + sizeof(jmp_buf)) mw_unsure("setjmp into memory that others read");
}

/* For the other parts of the runtime. */
void mw_needs(const void *at)
{
	touches((uintptr_t)at, 4, 1, 1);
	if (is_cell((uintptr_t)at, 4)) return;
	mw_end('n', "%lu 4 1", GLOBAL(at));
}
void mw_look(const void *at, size_t n)
{
	if (!mw_native(at, n, 0) && n) mw_load(at, n);
}
void mw_put(void *to, const void *from, size_t n)
{
	if (mw_native(to, n, 1)) memmove(to, from, n);
	else mw_store(to, from, n, 1);
}
int64_t mw_flag(int64_t *at)
{
	touches((uintptr_t)at, sizeof *at, 0, 1);
	return is_cell((uintptr_t)at, sizeof *at) && !is_own[cell_after((uintptr_t)at)] ? mw_ask("read %lu 8", GLOBAL(at)) : *at;
}
void mw_set_flag(int64_t *at, int64_t v)
{
	touches((uintptr_t)at, sizeof *at, 1, 1);
	*at = v;
	store((uintptr_t)at, sizeof *at, 0);
}
uint64_t mw_place(void) { return GLOBAL(mw_regs[RETURN] - 1); }
/* Memory of a receive that is posted behind the set-up. */
void mw_receives(uintptr_t at, size_t n)
{
	if (!is_known()) mw_line("Z %lu %zu\n", GLOBAL(at), n);
}
void mw_allocates(uintptr_t at, size_t n)
{
	if (!is_known()) mw_line("b %lu %zu\n", GLOBAL(at), n);
}
/* What the program does there is done by it, and not by a function of the runtime. Where it ends by an exception, the program goes on. */
int mw_call_program(int (*fn)(void *, void *), void *a, void *b)
{
	int nested = mw_nested;
	mw_nested = 0;
	int result = fn(a, b);
	if (mw_thread >= 0) mw_flush();
	mw_nested = nested;
	return result;
}
/* Enters the runtime in a thread that has not begun, or that has ended. */
void mw_enters_nowhere(void)
{
	memset(mw_regs, 0, sizeof mw_regs);
	mw_base = mw_end_of_stack();
	mw_regs[6] = mw_base - 8;
	mw_is_entry = 1;
}

/* What a program says to the explorer. */
ENTRY(mowgli_outcome);
void mw_mowgli_outcome(const char *name, int64_t value)
{
	mw_ready();
	if (mw_thread < 0) mw_main_must_take_part("mowgli_outcome before the threads begin");
	mw_flush();
	ends_with_program();
	int n = snprintf(recorded + recorded_used, sizeof recorded - recorded_used, "v %s %ld\n", name, (long)value);
	if (recorded_used + (size_t)n >= sizeof recorded) mw_end('x', "a thread records more than 4096 bytes of outcomes");
	recorded_used += (size_t)n;
}
ENTRY(mowgli_assume);
void mw_mowgli_assume(int condition)
{
	if (condition) return;
	mw_ready();
	if (mw_thread < 0) return;
	mw_flush();
	mw_end('d', "an assumption is false");
}

/* Functions of libibverbs that the runtime lacks, here because verbs.h declares them otherwise. */
#define NO_VERB(name) ENTRY(name); int mw_##name(void) { if (mw_thread >= 0) mw_flush(); mw_end('x', #name " is not supported"); }
NO_VERB(ibv_ack_async_event) NO_VERB(ibv_attach_mcast) NO_VERB(ibv_create_ah)
NO_VERB(ibv_create_ah_from_wc) NO_VERB(ibv_create_comp_channel) NO_VERB(ibv_destroy_ah)
NO_VERB(ibv_destroy_comp_channel) NO_VERB(ibv_detach_mcast) NO_VERB(ibv_get_async_event)
NO_VERB(ibv_get_cq_event) NO_VERB(ibv_get_pkey_index) NO_VERB(ibv_import_device) NO_VERB(ibv_import_mr) NO_VERB(ibv_import_pd)
NO_VERB(ibv_modify_srq) NO_VERB(ibv_qp_to_qp_ex) NO_VERB(ibv_query_ece) NO_VERB(ibv_query_srq)
NO_VERB(ibv_reg_dmabuf_mr) NO_VERB(ibv_rereg_mr) NO_VERB(ibv_resize_cq) NO_VERB(ibv_set_ece)

/* The server. */
/* The handlers of the program. */
static struct sigaction handlers[NSIG];
static int is_handler(const struct sigaction *a) { return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN; }
static void fails(int signal, siginfo_t *info, void *context)
{
	struct sigaction *own = &handlers[signal];
	if (signal != SIGVTALRM && is_handler(own) && !mw_settings_block(signal)) {
		if (mw_nested) mw_end('x', "%s in a function of libc, with a handler of the program, is not supported", strsignal(signal));
		/* The store that it has announced is not done. */
		pending.n = 0;
		if (own->sa_flags & SA_SIGINFO) own->sa_sigaction(signal, info, context); else own->sa_handler(signal);
		return;
	}
	const char *why = signal == SIGVTALRM ? "a thread computes for ten seconds" : strsignal(signal);
	mw_beside_threads(why);
	if (mw_thread < 0) {
		sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		raise(signal);
	}
	mw_end(signal == SIGVTALRM ? 'x' : 'f', "%s", why);
}
void mw_catches(void)
{
	static char stack[1 << 16];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction action = { .sa_sigaction = fails, .sa_flags = SA_ONSTACK | SA_SIGINFO };
	int all[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM };
	sigaltstack(&other, NULL);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct sigaction before;
		sigaction(all[i], &action, &before);
		if (before.sa_sigaction != fails) handlers[all[i]] = before;
	}
}
static void runs(int thread, char *rest)
{
	uint64_t id = strtoul(rest, &rest, 10);
	int node = (int)strtol(rest, &rest, 10), n = (int)strtol(rest, &rest, 10);
	tape = mw_own_malloc(sizeof *tape * (size_t)(n + 1));
	for (tape_size = 0; tape_size < n; tape_size++) tape[tape_size] = strtoll(rest, &rest, 10);
	/* The time that it computes, because it waits for results as long as the explorer has other states. */
	struct itimerval limit = { .it_value = { .tv_sec = 10 } };
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	known_bytes = mw_own_malloc(8 * (cell_count + 1));
	is_own = memset(mw_own_malloc(cell_count + 1), 0, cell_count + 1);
	for (size_t i = 0; i < cell_count; i++) knows(cells[i].at, 1);
	mw_base = arguments;
	mw_is_entry = 1;
	mw_runs(thread, id, node);
}
static void cells_are(char *rest)
{
	cell_count = (size_t)strtol(rest, &rest, 10);
	cells = mw_own_realloc(cells, sizeof *cells * (cell_count + 1));
	mw_shares_frames = mw_registers_frames;
	for (size_t i = 0; i < cell_count; i++) {
		cells[i].at = OWN(strtoul(rest, &rest, 10));
		cells[i].size = strtoul(rest, &rest, 10);
		/* Additions to it are known to overflow. */
		cells[i].wraps = cells[i].size >> 8 != 0;
		cells[i].size &= 255;
		mw_shares_frames |= mw_is_on_a_stack(cells[i].at);
	}
}
/* The initial values of cells. */
static void values_of(char *rest)
{
	for (long n = strtol(rest, &rest, 10); n > 0; n--) {
		uintptr_t at = OWN(strtoul(rest, &rest, 10));
		size_t size = strtoul(rest, &rest, 10);
		mw_has_first_values(at);
		mw_line("%ld\n", (long)value_of((void *)at, size));
	}
	mw_line(".\n");
	send_all();
}
/* Makes all memory private that the set-up has mapped to share it with other processes: runs are such processes, and share nothing. */
static void unshares(void)
{
	struct mapping { unsigned long at, end, offset, file; unsigned device[2]; char may[5]; } *all = NULL;
	size_t count = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	char text[8192];
	while (maps && fgets(text, sizeof text, maps)) {
		struct mapping m;
		if (sscanf(text, "%lx-%lx %4s %lx %x:%x %lu", &m.at, &m.end, m.may, &m.offset, m.device, m.device + 1, &m.file) != 7 || m.may[3] != 's') continue;
		all = mw_own_realloc(all, (count + 1) * sizeof *all);
		all[count++] = m;
	}
	if (maps) fclose(maps);
	for (struct mapping *m = all; m < all + count; m++) {
		size_t n = m->end - m->at;
		if (m->may[1] != 'w') continue;
		for (struct mapping *o = all; o < all + count; o++)
			if (o != m && o->file == m->file && !memcmp(o->device, m->device, sizeof m->device) && o->offset < m->offset + n && m->offset < o->offset + (o->end - o->at))
				mw_end('x', "memory that is mapped at two addresses is not supported");
		char *own = mmap(NULL, n, PROT_READ | PROT_WRITE | (m->may[2] == 'x' ? PROT_EXEC : 0), MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		static const char zeros[4096];
		for (size_t k = 0; own != MAP_FAILED && k < n; k += sizeof zeros)
			if (memcmp((char *)m->at + k, zeros, sizeof zeros)) memcpy(own + k, (char *)m->at + k, sizeof zeros);
		if (own == MAP_FAILED || mremap(own, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)m->at) == MAP_FAILED) mw_end('x', "mmap: %s", strerror(errno));
	}
	mw_own_free(all);
}
/* Ends `main` here: the parent serves until the explorer is done, and a child returns to run the rest of `main`. */
void mw_serve(void)
{
	if (is_serving) return;
	mw_is_no_fork("the end of a set-up");
	is_serving = 1;
	if (line < 0) {
		fprintf(stderr, "this program runs under `mowgli explore` and `mowgli run`\n");
		_exit(2);
	}
	unshares();
	seen = mmap(NULL, SEEN * sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED) mw_end('x', "mmap: %s", strerror(errno));
	mw_heap_begins();
	mw_threads_begin(arguments);
	mw_threads_lines();
	for (size_t i = 0; i < window_count; i++)
		mw_line("window %lu %zu %d %lu %lx\n", GLOBAL(window[i].at), window[i].n, window[i].writes, window[i].open, GLOBAL(window[i].pc));
	mw_verbs_lines();
	mw_line(".\n");
	send_all();
	fflush(NULL);
	for (;;) {
		char *text = received();
		char *rest = text + 1;
		if (text[0] == 't') cells_are(rest);
		else if (text[0] == 'i') values_of(rest);
		else if (text[0] == 'o') mw_verbs_others(rest);
		else if (text[0] == 'b') mw_heap_others(rest);
		else if (text[0] == 'g') {
			long thread = strtol(rest, &rest, 10);
			pid_t child = fork();
			int status;
			if (!child) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				runs((int)thread, rest);
				return;
			}
			if (child < 0) mw_end('x', "fork: %s", strerror(errno));
			waitpid(child, &status, 0);
			if (WIFSIGNALED(status)) mw_end('x', "a thread was killed: %s", strsignal(WTERMSIG(status)));
		} else _exit(0);
		mw_own_free(text);
	}
}
void mw_ready(void)
{
	if (mw_thread >= 0 || !mw_main || getpid() != mw_process) return;
	if (mw_program >= 0) mw_own_free(mw_broker("ready")); else mw_serve();
}
char *mw_broker(const char *format, ...)
{
	va_list all;
	must_go_on = 0;
	looks = 0;
	mw_line("n %ld ", set_ups);
	va_start(all, format);
	add(format, all);
	va_end(all);
	mw_line("\n");
	send_all();
	char *text = received();
	if (text[0] != 's') {
		must_go_on = text[0] == 'g';
		return text;
	}
	mw_sockets_have(text + 1);
	mw_own_free(text);
	mw_serve();
	return NULL;
}
/* `main` returns, or a function that is not replaced calls exit. */
static void at_end(int code, void *none)
{
	(void)none;
	if (mw_thread < 0 && getpid() != mw_process) return;
	mw_nested = 0;
	mw_ready();
	mw_leaves_threads();
	if (mw_thread < 0) mw_serve();
	if ((mw_thread == EPILOGUE || mw_is_main()) && code) { mw_flush(); mw_end('f', "`main` ends with %d", code); }
}
/* Behind all functions that the program has for its end. */
__attribute__((destructor(101))) static void ends(void)
{
	if (mw_is_main()) mw_leaves_threads();
	if (mw_thread == EPILOGUE || mw_is_main()) mw_ended("");
}
/* glibc has it until a process starts a thread, and programs then count without atomic operations. */
extern char __libc_single_threaded __attribute__((weak));
__attribute__((constructor(101))) static void begin(int argc, char **argv)
{
	const char *path = getenv("MOWGLI_SOCKET"), *program = getenv("MOWGLI_PROGRAM"), *last = getenv("MOWGLI_SET_UPS");
	(void)argc;
	mw_process = getpid();
	uint32_t high;
	__asm__("xgetbv" : "=a"(mw_parts), "=d"(high) : "c"(0));
	mw_parts &= 0xe7;
	if (&__libc_single_threaded) __libc_single_threaded = 0;
	arguments = (uintptr_t)argv;
	on_exit(at_end, NULL);
	at_quick_exit(ends);
	if (!path) return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (last) last_set_up = atol(last);
	if (getenv("MOWGLI_MAIN")) {
		mw_main = 1;
		mw_main_takes_part(1);
	}
	if (program) {
		mw_program = atoi(program);
		mw_main = 1;
		mw_main_takes_part(mw_program + 1);
	}
	/* Addresses are names of memory, so they are the same each time. */
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE) && !getenv("MOWGLI_AGAIN")) {
		setenv("MOWGLI_AGAIN", "1", 1);
		personality(ADDR_NO_RANDOMIZE);
		execv("/proc/self/exe", argv);
	}
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	strncpy(to.sun_path, path, sizeof to.sun_path - 1);
	line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (line < 0 || connect(line, (struct sockaddr *)&to, sizeof to)) {
		perror(path);
		_exit(2);
	}
}
