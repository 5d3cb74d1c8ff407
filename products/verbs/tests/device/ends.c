/* How threads end, and how they wait for time. Case K says which. */
#define _GNU_SOURCE
#include <mowgli.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

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
#elif K == 8 /* `main` joins one thread, and goes on beside the other */
static void *waits(void *none) { y = 1; while (!x) {} return none; }
static void *returns(void *none) { return none; }
int main(void)
{
	pthread_create(&t, 0, waits, 0);
	pthread_create(&u, 0, returns, 0);
	pthread_join(u, 0);
	mowgli_outcome("n", y);
	x = 1;
	pthread_join(t, 0);
}
#elif K == 9 /* `main` joins one thread, and locks what the other locks */
static void *locks(void *none) { pthread_mutex_lock(&m); mowgli_outcome("n", x); pthread_mutex_unlock(&m); return none; }
static void *returns(void *none) { return none; }
int main(void)
{
	pthread_create(&t, 0, locks, 0);
	pthread_create(&u, 0, returns, 0);
	pthread_join(u, 0);
	pthread_mutex_lock(&m);
	y = 1;
	pthread_mutex_unlock(&m);
	x = 1;
	pthread_join(t, 0);
}
#elif K == 10 /* behind the threads, what is read on one path only, and what threads have left of a semaphore */
static uint64_t a, b;
static sem_t s;
static void *adds(void *none)
{
	pthread_mutex_lock(&m);
	a++;
	b++;
	pthread_mutex_unlock(&m);
	sem_post(&s);
	return none;
}
int main(void)
{
	sem_init(&s, 0, 0);
	mowgli_node(1, adds, 0);
	mowgli_node(1, adds, 0);
	mowgli_join();
	if (a == 2) mowgli_outcome("n", (int64_t)b);
	if (a == 2 && b == 2) sem_wait(&s);
	sem_wait(&s);
	int left;
	sem_getvalue(&s, &left);
	mowgli_outcome("left", left);
}
#elif K == 11 /* a robust mutex whose owner ends */
static void *leaves(void *none) { pthread_mutex_lock(&m); return none; }
static void *locks(void *none)
{
	int why = pthread_mutex_lock(&m), again;
	mowgli_outcome("n", why);
	if (why) {
		if (CONSISTENT) pthread_mutex_consistent(&m);
		pthread_mutex_unlock(&m);
		again = pthread_mutex_trylock(&m);
		mowgli_outcome("again", again);
	}
	if (!why || !again) pthread_mutex_unlock(&m);
	return none;
}
int main(void)
{
	pthread_mutexattr_t robust;
	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&m, &robust);
	mowgli_node(1, leaves, 0);
	mowgli_node(1, locks, 0);
	mowgli_join();
}
#elif K == 12 /* locks that a thread has already */
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static void *locks(void *none)
{
	pthread_mutexattr_t checks;
	pthread_mutexattr_init(&checks);
	pthread_mutexattr_settype(&checks, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&m, &checks);
	pthread_mutex_lock(&m);
	pthread_rwlock_wrlock(&l);
	mowgli_outcome("try", pthread_mutex_trylock(&m) == EBUSY && pthread_rwlock_tryrdlock(&l) == EBUSY && pthread_rwlock_trywrlock(&l) == EBUSY);
	mowgli_outcome("lock", pthread_mutex_lock(&m) == EDEADLK && pthread_rwlock_rdlock(&l) == EDEADLK && pthread_rwlock_wrlock(&l) == EDEADLK);
	pthread_rwlock_unlock(&l);
	x = 1;
	return none;
}
static void *looks(void *none) { if (x) mowgli_outcome("held", pthread_mutex_trylock(&m) == EBUSY && pthread_rwlock_trywrlock(&l) == 0); return none; }
int main(void) { mowgli_node(1, locks, 0); mowgli_node(1, looks, 0); mowgli_join(); }
#elif K == 13 /* a key that one of the threads makes */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key, own;
static void destroys(void *v) { __atomic_fetch_add((uint64_t *)v, 1, __ATOMIC_SEQ_CST); }
static void makes(void) { pthread_key_create(&key, destroys); }
static void *uses(void *none)
{
	pthread_once(&once, makes);
	if (pthread_getspecific(key)) abort();
	pthread_setspecific(key, (void *)&x);
	return none;
}
static void *gives_up(void *none)
{
	pthread_key_create(&own, destroys);
	pthread_setspecific(own, (void *)&x);
	pthread_key_delete(own);
	return none;
}
int main(void)
{
	mowgli_node(1, uses, 0);
	mowgli_node(1, uses, 0);
	mowgli_node(1, gives_up, 0);
	mowgli_join();
	mowgli_outcome("n", x);
}
#elif K == 14 /* numbers of the process and of threads are the same in each run */
static _Atomic int owner;
static pid_t started;
static void *locks(void *none)
{
	pid_t of = getpid(), me = gettid(), nobody = 0;
	while (!__atomic_compare_exchange_n((int *)&owner, &nobody, me, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) nobody = 0;
	if (of != started || me == of || owner != gettid()) abort();
	unsigned seed = 5, same = 5;
	if (rand_r(&seed) != rand_r(&same) || seed == 5) abort();
	x = x + 1;
	owner = 0;
	return none;
}
int main(void)
{
	started = getpid();
	if (gettid() != started) abort();
	mowgli_node(1, locks, 0);
	mowgli_node(1, locks, 0);
	mowgli_join();
	mowgli_outcome("n", x);
}
#elif K == 15 /* a context has a stack of its own */
static char stack[1 << 16];
static ucontext_t here, there;
static void goes_on(void) { mowgli_outcome("n", x); }
static void *starts(void *none)
{
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof stack;
	there.uc_link = &here;
	makecontext(&there, goes_on, 0);
	swapcontext(&here, &there);
	return none;
}
static void *sets(void *none) { x = 1; return none; }
int main(void) { getcontext(&there); mowgli_node(1, starts, 0); mowgli_node(1, sets, 0); mowgli_join(); }
#elif K == 16 /* a handler that shares memory, on the stack of handlers */
static sigjmp_buf place;
static void jumps(int number) { x = 1; y = 1; siglongjmp(place, number); }
static void *crashes(void *none) { if (!sigsetjmp(place, 1)) *(volatile int *)0 = 1; return none; }
static void *looks(void *none) { mowgli_outcome("n", x); return none; }
int main(void) { signal(SIGSEGV, jumps); mowgli_node(1, crashes, 0); mowgli_node(1, looks, 0); mowgli_join(); }
#elif K == 17 || K == 18 /* `main` frees what a thread uses that it has not joined, or has freed */
static char *block;
static void *uses(void *none) { mowgli_outcome("n", block[0]); if (K == 18) free(block); return none; }
static void *returns(void *none) { return none; }
int main(void)
{
	block = calloc(1, 1);
	pthread_create(&t, 0, uses, 0);
	pthread_create(&u, 0, returns, 0);
	pthread_join(u, 0);
	if (K == 18) pthread_join(t, 0);
	free(block);
	if (K == 17) pthread_join(t, 0);
}
#elif K == 19 /* threads have names and places, and one of them sleeps for ever */
static void *works(void *name)
{
	cpu_set_t all;
	CPU_ZERO(&all);
	CPU_SET(0, &all);
	if (pthread_setname_np(pthread_self(), name) || pthread_setaffinity_np(pthread_self(), sizeof all, &all)) abort();
	if (pthread_getaffinity_np(pthread_self(), sizeof all, &all) || sched_setaffinity(gettid(), sizeof all, &all) || !CPU_COUNT(&all)) abort();
	x = 1;
	for (;;) sleep(1);
	return NULL;
}
static void *looks(void *none) { mowgli_outcome("n", x); return none; }
int main(void)
{
	pthread_create(&t, 0, works, "worker");
	pthread_setname_np(t, "other");
	pthread_detach(t);
	pthread_create(&u, 0, looks, 0);
	pthread_join(u, 0);
}
#elif K == 20 || K == 21 /* `main` returns, or ends alone, beside a thread that waits */
static void *waits(void *none) { while (!x) {} return none; }
int main(void)
{
	pthread_create(&t, 0, waits, 0);
	mowgli_outcome("n", y);
	if (K == 21) pthread_exit(NULL);
}
#elif K == 22 /* a thread ends the program */
static void *ends(void *none) { exit(0); return none; }
int main(void) { pthread_create(&t, 0, ends, 0); pthread_join(t, 0); }
#elif K == 23 /* threads that start each other for ever */
static void *starts(void *none) { pthread_t next; pthread_create(&next, 0, starts, 0); return none; }
int main(void) { pthread_create(&t, 0, starts, 0); pthread_join(t, 0); }
#elif K == 24 /* many threads */
static void *returns(void *none) { x = 1; return none; }
static void *starts(void *none)
{
	pthread_t next;
	for (int k = 0; k < 35; k++) { pthread_create(&next, 0, returns, 0); pthread_detach(next); }
	return none;
}
int main(void) { mowgli_node(1, starts, 0); mowgli_node(1, starts, 0); mowgli_join(); }
#elif K == 25 /* a process that the set-up forks ends by itself */
static void *looks(void *none) { mowgli_outcome("n", x); return none; }
int main(void)
{
	int status;
	pid_t child = fork();
	if (!child) _exit(3);
	waitpid(child, &status, 0);
	x = WEXITSTATUS(status);
	pthread_create(&t, 0, looks, 0);
	pthread_join(t, 0);
}
#elif K == 26 /* one that starts threads is not known */
static void *looks(void *none) { mowgli_outcome("n", x); return none; }
int main(void)
{
	/* The child writes first, because two processes that write at once are read in an order of chance. */
	if (fork()) wait(NULL);
	pthread_create(&t, 0, looks, 0);
	pthread_join(t, 0);
}
#elif K == 28 /* a set-up that ends by a signal */
int main(void) { abort(); }
#elif K == 27 /* a thread says what the end of the program calls */
static void looks(void) { mowgli_outcome("n", x); }
static void *registers(void *none) { atexit(looks); x = 1; return none; }
int main(void) { pthread_create(&t, 0, registers, 0); pthread_join(t, 0); }
#elif K == 29 /* a thread writes a variable with a first value, and waits */
static volatile int set = 1;
static void *waits(void *none) { set = 2; while (!x) {} return none; }
int main(void) { pthread_create(&t, 0, waits, 0); x = 1; pthread_join(t, 0); }
#elif K == 30 /* a condition gives a mutex back once, and its thread has locked it twice */
static pthread_mutex_t twice = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void *waits(void *none)
{
	pthread_mutex_lock(&twice);
	pthread_mutex_lock(&twice);
	while (!x) pthread_cond_wait(&c, &twice);
	return none;
}
static void *signals(void *none) { pthread_mutex_lock(&twice); x = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&twice); return none; }
int main(void) { pthread_create(&t, 0, waits, 0); pthread_create(&u, 0, signals, 0); pthread_join(t, 0); pthread_join(u, 0); }
#elif K == 31 || K == 32 /* the last thread ends a program whose `main` has left: a function for the end, or a destructor, looks */
static void looks(void) { mowgli_outcome("n", x); }
#if K == 32
__attribute__((destructor)) static void destroys(void) { looks(); }
#endif
static void *writes(void *none) { x = 1; return none; }
static void *starts(void *none) { pthread_create(&u, 0, writes, 0); pthread_detach(u); return none; }
int main(void)
{
	if (K == 31) atexit(looks);
	pthread_create(&t, 0, starts, 0);
	pthread_detach(t);
	pthread_exit(NULL);
}
#elif K == 33 /* the end of the program does not wait for a thread that records */
static void *records(void *none) { mowgli_outcome("n", 5); return none; }
int main(void) { pthread_create(&t, 0, records, 0); }
#elif K == 34 /* nor for one that writes what a destructor reads */
__attribute__((destructor)) static void looks(void) { mowgli_outcome("n", x); }
static void *writes(void *none) { x = 1; return none; }
int main(void) { pthread_create(&t, 0, writes, 0); }
#elif K == 35 /* nor for one that writes what `main` reads, before it records what it has read */
static void *writes(void *none) { y = 1; uint64_t v = x; mowgli_outcome("v", (int64_t)v); return none; }
int main(void)
{
	pthread_create(&t, 0, writes, 0);
	x = 1;
	uint64_t v = y;
	mowgli_outcome("of main", (int64_t)v);
}
#elif K == 36 /* a record before a write is there if `main` sees the write */
static void *records(void *none) { mowgli_outcome("n", 1); y = 1; mowgli_outcome("n", 2); return none; }
int main(void)
{
	pthread_create(&t, 0, records, 0);
	uint64_t v = y;
	mowgli_outcome("of main", (int64_t)v);
}
#elif K == 37 || K == 38 /* `main` waits for a thread that it does not join: by a semaphore, or as the last thread does */
static sem_t s;
static void *records(void *none) { mowgli_outcome("n", 5); sem_post(&s); return none; }
int main(void)
{
	sem_init(&s, 0, 0);
	pthread_create(&t, 0, records, 0);
	if (K == 38) pthread_exit(NULL);
	sem_wait(&s);
}
#elif K == 39 /* nobody waits for a thread that a thread has left */
static void *records(void *none) { mowgli_outcome("n", 5); return none; }
static void *starts(void *none) { pthread_create(&u, 0, records, 0); return none; }
int main(void) { pthread_create(&t, 0, starts, 0); pthread_join(t, 0); }
#elif K == 40 /* nor for one that waits, and that a detached thread joins */
static void *waits(void *none) { while (!x) {} return none; }
static void *joins(void *none) { pthread_create(&u, 0, waits, 0); pthread_join(u, 0); return none; }
int main(void) { pthread_create(&t, 0, joins, 0); pthread_detach(t); x = 0; }
#elif K == 41 /* a failure before the end is one */
static void *fails(void *none) { if (x) abort(); return none; }
int main(void) { pthread_create(&t, 0, fails, 0); x = 1; }
#elif K == 42 /* mowgli_join waits for all threads */
static void *records(void *none) { mowgli_outcome("n", 5); return none; }
static void *starts(void *none) { pthread_create(&u, 0, records, 0); return none; }
int main(void) { mowgli_node(2, starts, 0); mowgli_join(); }
#elif K >= 43 && K <= 47 /* beside `main`, behind its join, a thread goes on that was left by the one that it joins, or that it has left */
static uint64_t *block;
static void *goes_on(void *none)
{
	if (K == 43) { x = 1; x = 2; }
	if (K == 44) { pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); }
	if (K == 45) { y = 1; y = 2; if (x) abort(); }
	if (K == 46) *block = 1;
	if (K == 47) x = 1;
	return none;
}
static void *starts(void *none) { pthread_create(&u, 0, goes_on, 0); if (K != 43) pthread_detach(u); return none; }
int main(void)
{
	block = malloc(8);
	if (K == 47) {
		pthread_create(&t, 0, goes_on, 0);
		pthread_detach(t);
		mowgli_join();
	} else {
		pthread_create(&t, 0, starts, 0);
		pthread_join(t, 0);
	}
	if (K == 44) pthread_mutex_lock(&m);
	if (K == 45) x = 1;
	if (K == 46) free(block); else mowgli_outcome("n", x);
}
#elif K >= 48 && K <= 51 /* nobody waits for a thread that `main` leaves behind a join, but for one that it joins behind its starter */
static void *records(void *none) { mowgli_outcome("n", 5); return none; }
static void *starts(void *none) { if (K == 51) pthread_create(&t, 0, records, 0); return none; }
int main(void)
{
	if (K < 51) pthread_create(&t, 0, records, 0);
	pthread_create(&u, 0, starts, 0);
	pthread_join(u, 0);
	if (K == 49 || K == 50) pthread_detach(t);
	if (K == 50) mowgli_join();
	if (K == 51) pthread_join(t, 0);
}
#elif K >= 52 && K <= 55 /* who destroys an object waits until the others have left it, and uses its memory otherwise */
static union { pthread_barrier_t b; pthread_cond_t c; } *o;
static void uses_again(void)
{
	if (K == 52) pthread_barrier_init(&o->b, 0, 2);
	if (K == 54) pthread_cond_init(&o->c, 0);
	if (K == 53 || K == 55) { *o = (__typeof__(*o)){ 0 }; free(o); }
}
static void *meets(void *none)
{
	if (pthread_barrier_wait(&o->b) == PTHREAD_BARRIER_SERIAL_THREAD) { pthread_barrier_destroy(&o->b); uses_again(); }
	return none;
}
static void *waits(void *none)
{
	pthread_mutex_lock(&m);
	while (!x) pthread_cond_wait(&o->c, &m);
	pthread_mutex_unlock(&m);
	return none;
}
static void *wakes(void *none)
{
	pthread_mutex_lock(&m);
	x = 1;
	pthread_cond_broadcast(&o->c);
	if (K == 55) pthread_mutex_unlock(&m);
	pthread_cond_destroy(&o->c);
	uses_again();
	if (K == 54) pthread_mutex_unlock(&m);
	return none;
}
int main(void)
{
	o = malloc(sizeof *o);
	if (K < 54) pthread_barrier_init(&o->b, 0, 2); else pthread_cond_init(&o->c, 0);
	pthread_create(&t, 0, K < 54 ? meets : waits, 0);
	pthread_create(&u, 0, K < 54 ? meets : wakes, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
}
#elif K == 56 || K == 57 /* `main` ends with a number behind a join, or beside a thread */
static void *returns(void *none) { return none; }
int main(void)
{
	pthread_create(&t, 0, returns, 0);
	if (K == 56) pthread_join(t, 0);
	return 3;
}
#elif K >= 58 && K <= 61 /* functions for a quick end: behind a join, beside a thread, from the set-up, and none for _exit */
static void never(void) { abort(); }
static void first(void) { mowgli_outcome("n", 1); }
static void second(void) { mowgli_outcome("n", 2); }
static void *writes(void *none) { x = 1; return none; }
int main(void)
{
	atexit(never);
	at_quick_exit(first);
	at_quick_exit(second);
	pthread_create(&t, 0, writes, 0);
	if (K == 58) pthread_join(t, 0);
	if (K == 59) (void)x;
	if (K == 61) _exit(0);
	quick_exit(0);
}
#elif K == 62 || K == 63 /* `main` has one number, by which a thread joins it */
static pthread_t of_main;
static void *joins(void *none)
{
	void *result;
	if (pthread_equal(of_main, pthread_self()) || pthread_join(of_main, &result)) abort();
	mowgli_outcome("n", (long)result);
	return none;
}
static void *writes(void *none) { x = 1; return none; }
int main(void)
{
	of_main = pthread_self();
	pthread_create(&t, 0, K == 62 ? writes : joins, 0);
	if (K == 62) (void)x;
	if (!pthread_equal(of_main, pthread_self())) abort();
	if (K == 63) pthread_exit((void *)7);
	pthread_join(t, 0);
}
#elif K == 64 /* a thread that detaches itself has its own threads still */
static void *records(void *none) { mowgli_outcome("n", 5); return none; }
static void *starts(void *none)
{
	pthread_create(&u, 0, records, 0);
	pthread_detach(pthread_self());
	pthread_join(u, 0);
	return none;
}
int main(void) { pthread_create(&t, 0, starts, 0); mowgli_join(); }
#elif K == 65 /* a later join has a result, too */
static void *nine(void *none) { return (void *)9; }
int main(void)
{
	void *result;
	pthread_create(&t, 0, nine, 0);
	pthread_create(&u, 0, nine, 0);
	pthread_join(t, 0);
	pthread_join(u, &result);
	mowgli_outcome("n", (long)result);
}
#elif K == 66 || K == 67 /* a function for the end joins a thread */
static void *writes(void *none) { x = 1; return none; }
static void joins(void) { pthread_join(t, 0); mowgli_outcome("n", x); }
int main(void)
{
	pthread_create(&t, 0, writes, 0);
	(void)x;
	if (K == 66) { atexit(joins); exit(0); }
	at_quick_exit(joins);
	quick_exit(0);
}
#elif K == 68 /* `main` that detaches itself ends the program all the same */
static void *writes(void *none) { x = 1; return none; }
int main(void)
{
	pthread_detach(pthread_self());
	pthread_create(&t, 0, writes, 0);
	pthread_join(t, 0);
	mowgli_outcome("n", x);
}
#elif K == 69 /* who waits for a notification that nobody sends waits for ever */
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void *waits(void *none)
{
	pthread_mutex_lock(&m);
	while (!x) pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
	return none;
}
static void *forgets(void *none)
{
	pthread_mutex_lock(&m);
	x = 1;
	pthread_mutex_unlock(&m);
	return none;
}
int main(void)
{
	pthread_create(&t, 0, waits, 0);
	pthread_create(&u, 0, forgets, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
}
#elif K == 70 || K == 71 || K == 72 /* more threads than two use a barrier of two */
static pthread_barrier_t b;
static _Atomic int serial;
static void *meets(void *none)
{
	if (pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
	return none;
}
int main(void)
{
	pthread_t all[4];
	pthread_barrier_init(&b, 0, 2);
	int last = K == 70 ? 3 : 4;
	for (int i = 0; i < last; i++) pthread_create(&all[i], 0, meets, 0);
	for (int i = 0; i < last; i++) pthread_join(all[i], 0);
	if (K == 72) pthread_barrier_destroy(&b);
	mowgli_outcome("n", serial);
}
#elif K == 73 || K == 74 /* a barrier in use, and one that nobody made */
static pthread_barrier_t b;
static void *meets(void *none)
{
	pthread_barrier_wait(&b);
	return none;
}
int main(void)
{
	if (K == 73) pthread_barrier_init(&b, 0, 2);
	pthread_create(&t, 0, meets, 0);
	if (K == 73) pthread_barrier_destroy(&b);
	pthread_join(t, 0);
}
#endif
