/* How threads end, and how they wait for time. Case K says which. */
#define _GNU_SOURCE
#include <mowgli.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile uint64_t x, y;
static pthread_t t, u;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

#if K == 1 /* handlers at the end by pthread_exit, and the result */
static void unlocks(void *lock) { pthread_mutex_unlock(lock); }
static void *leaves(void *result)
{
	pthread_mutex_lock(&m);
	pthread_cleanup_push(unlocks, &m);
	if (result) pthread_exit(result);
	pthread_cleanup_pop(1);
	return (void *)3;
}
int main(void)
{
	void *a, *b;
	pthread_create(&t, 0, leaves, 0);
	pthread_create(&u, 0, leaves, (void *)7);
	pthread_join(t, &a);
	pthread_join(u, &b);
	mowgli_outcome("n", (long)a + (long)b);
}
#elif K == 2 /* nobody waits for a detached thread */
static void *waits(void *none) { while (!x) {} return none; }
static void *starts(void *none)
{
	pthread_create(&u, 0, waits, 0);
	pthread_detach(u);
	return none;
}
int main(void) { pthread_create(&t, 0, waits, 0); pthread_detach(t); pthread_create(&t, 0, starts, 0); y = 1; }
#elif K == 3 /* a lock until a time */
static void *locks(void *none)
{
	struct timespec end = { 0 };
	int why = pthread_mutex_timedlock(&m, &end);
	mowgli_outcome("n", why);
	if (!why) pthread_mutex_unlock(&m);
	return none;
}
int main(void) { mowgli_node(1, locks, 0); mowgli_node(1, locks, 0); mowgli_join(); }
#elif K == 4 /* a condition may be awaited without a loop, which is a mistake */
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void *waits(void *none)
{
	pthread_mutex_lock(&m);
	if (!x) pthread_cond_wait(&c, &m);
	mowgli_outcome("n", x);
	pthread_mutex_unlock(&m);
	return none;
}
static void *signals(void *none)
{
	pthread_mutex_lock(&m);
	x = 1;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	return none;
}
int main(void) { mowgli_node(1, waits, 0); mowgli_node(1, signals, 0); mowgli_join(); }
#elif K == 5 /* time passes or not */
static void *waits(void *none)
{
	time_t start = time(0);
	while (!x && time(0) - start < 5) {}
	mowgli_outcome("n", x);
	return none;
}
static void *sets(void *none) { x = 1; return none; }
int main(void) { mowgli_node(1, waits, 0); mowgli_node(1, sets, 0); mowgli_join(); }
#elif K == 6 /* what the end of the program calls is known from one path alone */
static void fails(void) { abort(); }
static void *sets(void *none) { x = 1; y = 1; return none; }
int main(void)
{
	void *result;
	pthread_create(&t, 0, sets, 0);
	volatile uint64_t v = x;
	if (v) atexit(fails);
	v = 0;
	v = y;
	v = 0;
	pthread_join(t, &result);
}
#elif K == 7 /* a handler of the program for a signal */
static sigjmp_buf place;
static void jumps(int number) { siglongjmp(place, number); }
static void *crashes(void *none)
{
	int number = sigsetjmp(place, 1);
	if (!number) *(volatile int *)0 = 1;
	mowgli_outcome("n", number);
	return none;
}
int main(void) { signal(SIGSEGV, jumps); mowgli_node(1, crashes, 0); mowgli_join(); }
#endif
