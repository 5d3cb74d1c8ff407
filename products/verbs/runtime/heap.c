/* malloc and its family, for the program and for all libraries in its process. Each thread allocates in a range of its own, because the
 * same address in two threads would be one word. A block that one thread uses and another one frees has a word that says so, which is
 * shared like any other. So an access behind `free` is found in the execution in which it comes behind.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

enum { HEAP = 1 << 26, RED = 16 };
#define MARK 0x6d6f77676c6921ffu
/* What stands before a block. `freed` is the place of the program that has freed it. */
struct head { struct head *before, *next; void *raw; uint64_t mark; size_t size; int64_t freed; };
/* The blocks that `main` has allocated, in a ring, and in the order of their addresses when the threads begin. */
static struct head ring = { &ring, &ring, 0, 0, 0, 0 };
static struct head **of_main;
static size_t of_main_count;
static uintptr_t break_at_start;
/* The blocks of this thread, in the order of their addresses, and those of others, as the explorer knows them. */
struct block { uintptr_t at; size_t size, room; int is_free, is_of_library; };
enum { OWN_BLOCKS = 1 << 14 };
static struct block own[OWN_BLOCKS], *others;
static size_t own_count, other_count;
/* The blocks that `main` has freed while its threads may run. */
static struct { uintptr_t at; size_t size; } *freed_beside;
static size_t freed_beside_count;
static size_t heap_used;
static char *heap;

/* Memory of the runtime. */
void *mw_own_malloc(size_t n) { return mw_own_realloc(NULL, n); }
void *mw_own_realloc(void *p, size_t n)
{
	if (!(p = __libc_realloc(p, n))) abort();
	return p;
}
void mw_own_free(void *p) { __libc_free(p); }

static struct head *head_of(const void *p) { return (struct head *)p - 1; }
static int is_in_heaps(uintptr_t at) { return heap && at - (uintptr_t)heap < (size_t)(THREADS + 1) * HEAP; }
static size_t own_number(void) { return mw_thread == EPILOGUE ? THREADS : (size_t)mw_thread; }
static char *own_heap(void) { return heap + own_number() * HEAP; }

int mw_is_in_other_heap(uintptr_t at) { return is_in_heaps(at) && at - (uintptr_t)own_heap() >= HEAP; }

static int by_address(const void *a, const void *b)
{
	const struct head *x = *(struct head *const *)a, *y = *(struct head *const *)b;
	return (x > y) - (x < y);
}
void mw_heap_begins(void)
{
	heap = mmap(NULL, (size_t)(THREADS + 1) * HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (heap == MAP_FAILED) mw_end('x', "mmap: %s", strerror(errno));
	for (struct head *h = ring.next; h != &ring; h = h->next) of_main_count++;
	of_main = mw_own_malloc((of_main_count + 1) * sizeof *of_main);
	size_t k = 0;
	for (struct head *h = ring.next; h != &ring; h = h->next) of_main[k++] = h;
	qsort(of_main, of_main_count, sizeof *of_main, by_address);
}
/* What libraries keep in blocks of their own, for example an exception and its text, they write unseen. */
void mw_heap_state(void)
{
	for (size_t i = 0; i < own_count; i++) {
		mw_state(&own[i], sizeof own[i]);
		if (own[i].is_of_library && !own[i].is_free) mw_state((void *)own[i].at, own[i].size);
	}
}
/* The blocks of other threads: address and size of each. */
void mw_heap_others(char *text)
{
	other_count = (size_t)strtol(text, &text, 10);
	others = mw_own_realloc(others, (other_count + 1) * sizeof *others);
	for (size_t i = 0; i < other_count; i++) {
		others[i].at = OWN(strtoul(text, &text, 10));
		others[i].size = strtoul(text, &text, 10);
	}
}

/* Allocation. */
static void *of_setup(size_t n, size_t alignment)
{
	if (!break_at_start) break_at_start = (uintptr_t)sbrk(0);
	char *raw = __libc_malloc(n + alignment + sizeof(struct head) + RED);
	if (!raw) { errno = ENOMEM; return NULL; }
	char *at = (char *)(((uintptr_t)raw + sizeof(struct head) + alignment - 1) / alignment * alignment);
	struct head *h = head_of(at);
	*h = (struct head){ ring.before, &ring, raw, MARK, n, 0 };
	ring.before->next = h;
	ring.before = h;
	return at;
}
/* Of libc it is the buffers of streams, whose content is no part of an execution. */
extern char __executable_start, etext, end;
static int is_library(const void *caller)
{
	Dl_info of_caller, of_libc;
	if ((char *)caller >= &__executable_start && (char *)caller < &etext) return 0;
	return dladdr(caller, &of_caller) && dladdr(stdout, &of_libc) && of_caller.dli_fbase != of_libc.dli_fbase;
}
static void *of_thread(size_t n, size_t alignment, const void *caller)
{
	size_t room = (n + RED + 15) / 16 * 16;
	for (size_t i = 0; i < own_count; i++)
		if (own[i].is_free && own[i].room == room && own[i].at % alignment == 0) {
			own[i].is_free = 0;
			own[i].size = n;
			own[i].is_of_library = is_library(caller);
			head_of((void *)own[i].at)->size = n;
			mw_set_flag(&head_of((void *)own[i].at)->freed, 0);
			return (void *)own[i].at;
		}
	uintptr_t at = ((uintptr_t)own_heap() + heap_used + sizeof(struct head) + alignment - 1) / alignment * alignment;
	size_t used = at + room - (uintptr_t)own_heap();
	if (n > HEAP || used > HEAP) mw_end('x', "a thread allocates more than 64 MiB");
	if (own_count == OWN_BLOCKS) mw_end('x', "a thread allocates more than %d blocks", OWN_BLOCKS);
	heap_used = used;
	head_of((void *)at)->size = n;
	own[own_count++] = (struct block){ at, n, room, 0, is_library(caller) };
	mw_allocates(at, n);
	return (void *)at;
}
static void *allocated(size_t n, size_t alignment, const void *caller)
{
	if (alignment < 16) alignment = 16;
	return mw_thread < 0 ? of_setup(n, alignment) : of_thread(n, alignment, caller);
}
#define CALLER __builtin_return_address(0)
void *mw_allocated(size_t n) { return allocated(n, 16, CALLER); }
void *malloc(size_t n) { return allocated(n, 16, CALLER); }
/* `new` of C++, unless the program has its own. That of libstdc++ would be a call by a library, and throws. */
#define NEW(name) \
	__attribute__((weak)) void *name(size_t n) \
	{ \
		void *p = allocated(n ? n : 1, 16, CALLER); \
		return p ? p : ((void *(*)(size_t))dlsym(RTLD_NEXT, #name))(n); \
	}
NEW(_Znwm) NEW(_Znam)
void *calloc(size_t n, size_t size)
{
	size_t all;
	if (__builtin_mul_overflow(n, size, &all)) { errno = ENOMEM; return NULL; }
	void *p = allocated(all, 16, CALLER);
	if (!p) return NULL;
	if (mw_thread < 0) return memset(p, 0, all);
	char *zeros = mw_own_malloc(all + 1);
	memset(zeros, 0, all);
	mw_store(p, zeros, all, 1);
	mw_own_free(zeros);
	return p;
}
int posix_memalign(void **to, size_t alignment, size_t n)
{
	if (alignment < sizeof(void *) || alignment & (alignment - 1)) return EINVAL;
	void *p = allocated(n, alignment, CALLER);
	if (!p) return ENOMEM;
	if (mw_thread < 0) *to = p; else mw_store(to, &p, sizeof p, 1);
	return 0;
}
void *aligned_alloc(size_t alignment, size_t n) { return allocated(n, alignment, CALLER); }
void *memalign(size_t alignment, size_t n) { return allocated(n, alignment, CALLER); }
void *valloc(size_t n) { return allocated(n, 4096, CALLER); }
void *pvalloc(size_t n) { return allocated((n + 4095) / 4096 * 4096, 4096, CALLER); }
size_t malloc_usable_size(void *p) { return p ? head_of(p)->size : 0; }

/* The block that an address is in or near. `at` is 0 if there is none. */
static struct block nearest(uintptr_t at)
{
	const struct block *all = own;
	size_t low = 0, high = own_count;
	if (!is_in_heaps(at)) {
		for (high = of_main_count; low < high;) {
			size_t middle = (low + high) / 2;
			if ((uintptr_t)(of_main[middle] + 1) <= at) low = middle + 1; else high = middle;
		}
		if (!low || (uintptr_t)(of_main[low - 1] + 1) + of_main[low - 1]->size + RED <= at) return (struct block){ 0 };
		return (struct block){ (uintptr_t)(of_main[low - 1] + 1), of_main[low - 1]->size, 0, 0, 0 };
	}
	if (at - (uintptr_t)own_heap() >= HEAP) { all = others; high = other_count; }
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (all[middle].at <= at) low = middle + 1; else high = middle;
	}
	return low ? all[low - 1] : (struct block){ 0 };
}
void mw_heap_touch(uintptr_t at, size_t n, const char *does)
{
	if (mw_thread < 0) return;
	mw_streams_touch(at, n);
	int is_shared_heap = is_in_heaps(at);
	struct block b = nearest(at);
	for (size_t i = 0; (!b.at || at + n > b.at + b.size) && i < freed_beside_count; i++)
		if (at < freed_beside[i].at + freed_beside[i].size && freed_beside[i].at < at + n) mw_main_must_take_part("`main` frees memory that a thread uses");
	if (!b.at && !is_shared_heap) {
		if (break_at_start && at >= break_at_start && at < (uintptr_t)sbrk(0)) mw_end('f', "%s memory that is not allocated", does);
		return;
	}
	if (!b.at || at + n > b.at + b.size) {
		if (mw_is_in_other_heap(at)) mw_end('n', "%lu %zu 2", GLOBAL(at), n);
		mw_end('f', "%s %zu bytes at offset %ld of a block of %zu bytes", does, n, (long)(at - b.at), b.size);
	}
	int64_t freed = mw_flag(&head_of((void *)b.at)->freed);
	if (freed) mw_end('f', "%s memory that was freed at {%lx}", does, (unsigned long)freed);
}
static void frees(void *p)
{
	if (mw_thread < 0) {
		struct head *h = head_of(p);
		if (h->mark != MARK) { __libc_free(p); return; }
		if (mw_window(p, h->size, 1)) {
			freed_beside = mw_own_realloc(freed_beside, (freed_beside_count + 1) * sizeof *freed_beside);
			freed_beside[freed_beside_count].at = (uintptr_t)p;
			freed_beside[freed_beside_count++].size = h->size;
		}
		h->before->next = h->next;
		h->next->before = h->before;
		h->mark = 0;
		__libc_free(h->raw);
		return;
	}
	struct block b = nearest((uintptr_t)p);
	if (!b.at && !is_in_heaps((uintptr_t)p)) {
		/* A library frees what it had allocated before the runtime was there. */
		if (mw_is_on_a_stack((uintptr_t)p) || ((char *)p >= &__executable_start && (char *)p < &end)) mw_end('f', "free of memory that was not allocated");
		return;
	}
	mw_heap_touch((uintptr_t)p, 0, "frees");
	if (b.at != (uintptr_t)p) mw_end('f', "free of an address inside a block, at offset %ld", (long)((uintptr_t)p - b.at));
	mw_verbs_frees(b.at, b.size);
	int64_t place = (int64_t)mw_place();
	for (size_t i = 0; i < own_count; i++) if (own[i].at == b.at) own[i].is_free = 1;
	mw_set_flag(&head_of(p)->freed, place);
}
ENTRY(free);
void mw_free(void *p)
{
	if (!p) return;
	if (mw_thread >= 0) mw_flush();
	frees(p);
}
ENTRY(realloc);
void *mw_realloc(void *p, size_t n)
{
	if (mw_thread >= 0) mw_flush();
	if (!p) return allocated(n, 16, (void *)mw_regs[RETURN]);
	if (mw_thread < 0 && head_of(p)->mark != MARK) return __libc_realloc(p, n);
	struct block b = mw_thread < 0 ? (struct block){ (uintptr_t)p, head_of(p)->size, 0, 0, 0 } : nearest((uintptr_t)p);
	if (b.at != (uintptr_t)p) mw_end('f', "realloc of an address that is no block");
	size_t kept = b.size < n ? b.size : n;
	void *to = n ? allocated(n, 16, (void *)mw_regs[RETURN]) : NULL;
	if (!to) { if (!n) frees(p); return NULL; }
	if (mw_thread < 0) memcpy(to, p, kept);
	else if (kept) {
		mw_load(p, kept);
		mw_store(to, p, kept, 1);
	}
	frees(p);
	return to;
}
