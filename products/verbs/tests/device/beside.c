/* What libraries read and write beside the hooks. Case K says which. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <mowgli.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int x, y;
static pthread_t t, u;
/* The other thread writes y last, so that states meet where one reads y. */
static __attribute__((unused)) void *writes(void *none) { x = 1; y = 1; return none; }
/* Two paths are in one state here unless something in memory tells them apart. A local variable would have what other calls have left. */
static __attribute__((unused)) void meet(void) { (void)y; }
static __attribute__((unused)) void two(void *(*one)(void *), void *(*other)(void *))
{
	pthread_create(&t, 0, one, 0);
	pthread_create(&u, 0, other, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
}

#if K == 1 /* the end of a number goes to memory that no hook announces */
static char text[8];
static _Alignas(64) struct { int at; char rest[60]; } end;
static void *prints(void *none)
{
	((volatile char *)text)[0] = '1';
	((volatile char *)text)[1] = '2';
	y = 1;
	return none;
}
static void *scans(void *none) { sscanf(text, "%*d%n", &end.at); meet(); mowgli_outcome("n", end.at); return none; }
int main(void) { two(prints, scans); }
#elif K == 2 /* one call writes two words that others read */
static int a, b;
static void *scans(void *none) { sscanf("4 2", "%d %d", &a, &b); return none; }
static void *reads(void *none)
{
	int second = *(volatile int *)&b, first = *(volatile int *)&a;
	mowgli_outcome("b", second);
	mowgli_outcome("a", first);
	return none;
}
int main(void) { two(scans, reads); }
#elif K == 3 /* attributes */
static pthread_attr_t all;
static void *sets(void *none)
{
	int state;
	pthread_attr_init(&all);
	if (x) pthread_attr_setdetachstate(&all, PTHREAD_CREATE_DETACHED);
	meet();
	pthread_attr_getdetachstate(&all, &state);
	mowgli_outcome("n", state);
	return none;
}
int main(void) { two(sets, writes); }
#elif K == 4 /* what a thread says of its cancellation */
static void *sets(void *none)
{
	int before = 0;
	if (x) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	meet();
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
	mowgli_outcome("n", before);
	return none;
}
int main(void) { two(sets, writes); }
#elif K == 5 /* a function within `main` changes a word of its frame, of which no hook knows */
int main(void)
{
	int own = 3;
	void *adds(void *none) { own += 4; return none; }
	pthread_create(&t, 0, adds, 0);
	pthread_join(t, 0);
	mowgli_outcome("n", own);
}
#elif K == 6 /* a function within that of a thread */
static void calls(void (*fn)(void)) { fn(); }
static void *adds(void *none)
{
	int own = 1;
	void here(void) { own += x; }
	calls(here);
	mowgli_outcome("n", own);
	return none;
}
int main(void) { two(adds, writes); }
#elif K == 7 /* a structure of `main` that a thread writes, and `main` passes */
struct pair { long a, b; };
static struct pair __attribute__((noinline)) passed(struct pair p) { return p; }
static void *fills(void *at) { *(struct pair *)at = (struct pair){ 4, 5 }; return NULL; }
int main(void)
{
	struct pair own = { 1, 2 };
	pthread_create(&t, 0, fills, &own);
	pthread_join(t, 0);
	struct pair copy = passed(own);
	mowgli_outcome("n", 10 * copy.a + copy.b);
}
#elif K == 8 /* the sign of a result is a variable of libm */
static void *computes(void *none)
{
	volatile double v = x ? -0.5 : 0.5;
	v = lgamma(v);
	v = 0;
	meet();
	mowgli_outcome("n", signgam);
	return none;
}
int main(void) { two(computes, writes); }
#elif K == 10 /* a pointer of another object to a function */
extern int (*const getter)(volatile int *);
static void *reads(void *none) { mowgli_outcome("n", getter(&x)); return none; }
int main(void) { two(reads, writes); }
#elif K == 11 /* a value that a thread keeps, in memory of each kind */
static _Alignas(64) int fixed[16];
static __thread int of_thread;
/* A function of its own leaves no value in a register. */
static void __attribute__((noinline)) keep(volatile int *at) { *at = x; }
static void *keeps(void *none)
{
	volatile int own = 0;
	int *heap = calloc(1, sizeof *heap);
	(void)own, (void)heap, (void)fixed, (void)of_thread;
	keep(&PLACE);
	meet();
	mowgli_outcome("n", PLACE);
	return none;
}
int main(void) { two(keeps, writes); }
#elif K == 12 /* a value that is recorded */
static void __attribute__((noinline)) record(void) { mowgli_outcome("n", x); }
static void *records(void *none) { record(); meet(); return none; }
int main(void) { two(records, writes); }
#elif K == 9 /* a locked instruction on a word of the own frame */
static void * __attribute__((noinline, optimize("omit-frame-pointer"))) adds(void *none)
{
	int own = 5, more = 1;
	__asm__ volatile("lock xaddl %1, %0" : "+m"(own), "+r"(more) : : "memory", "cc");
	mowgli_outcome("n", 10 * own + more);
	return none;
}
int main(void) { two(adds, writes); }
#endif
