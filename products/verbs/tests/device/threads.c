/* Ways to start and to join threads. Case K says which. */
#define _GNU_SOURCE
#include <assert.h>
#include <mowgli.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <threads.h>

static atomic_int x, y;
static __attribute__((unused)) void *writes(void *none) { x = 1; return none; }
static __attribute__((unused)) void *reads(void *none) { mowgli_outcome("x", x); return none; }
static pthread_t t, u;

#if K == 1 /* `main` writes behind the start of a thread: 0 or 1 */
int main(void) { pthread_create(&t, 0, reads, 0); x = 1; pthread_join(t, 0); }
#elif K == 2 /* `main` waits for a thread */
static void *answers(void *none) { while (!x) {} y = 1; return none; }
int main(void) { pthread_create(&t, 0, answers, 0); x = 1; while (!y) {} pthread_join(t, 0); mowgli_outcome("x", 1); }
#elif K == 3 /* a thread starts another one, and gets its result */
static void *inner(void *n) { x = 1; return (char *)n + 1; }
static void *outer(void *none)
{
	void *result;
	pthread_create(&u, 0, inner, (void *)6);
	pthread_join(u, &result);
	mowgli_outcome("x", x + (long)result);
	return none;
}
int main(void) { pthread_create(&t, 0, outer, 0); pthread_join(t, 0); }
#elif K == 4 /* variables of threads */
static __thread int own = 3;
static void *adds(void *n) { own += (int)(long)n; assert(own == 3 + (long)n); x += own; return 0; }
int main(void)
{
	own = 7;
	pthread_create(&t, 0, adds, (void *)1);
	pthread_create(&u, 0, adds, (void *)2);
	pthread_join(t, 0);
	pthread_join(u, 0);
	mowgli_outcome("x", x);
}
#elif K == 5 /* threads of C11, with their results and locks */
static mtx_t m;
static int n;
static int counts(void *none) { (void)none; mtx_lock(&m); n++; mtx_unlock(&m); return 5; }
int main(void)
{
	thrd_t a, b;
	int ra, rb;
	mtx_init(&m, mtx_plain);
	thrd_create(&a, counts, 0);
	thrd_create(&b, counts, 0);
	thrd_join(a, &ra);
	thrd_join(b, &rb);
	mowgli_outcome("x", n + ra + rb);
}
#elif K == 6 /* a barrier, a semaphore and pthread_once */
static pthread_barrier_t b;
static sem_t s;
static pthread_once_t o = PTHREAD_ONCE_INIT;
static int once_count;
static void counts(void) { once_count++; }
static void *meets(void *none) { pthread_once(&o, counts); x += 1; pthread_barrier_wait(&b); assert(x == 2); sem_post(&s); return none; }
int main(void)
{
	pthread_barrier_init(&b, 0, 2);
	sem_init(&s, 0, 0);
	pthread_create(&t, 0, meets, 0);
	pthread_create(&u, 0, meets, 0);
	sem_wait(&s);
	sem_wait(&s);
	pthread_join(t, 0);
	pthread_join(u, 0);
	mowgli_outcome("x", x + once_count);
}
#elif K == 7 /* an MCS lock whose nodes are on the stacks */
struct node { _Atomic(struct node *) next; atomic_int is_locked; };
static _Atomic(struct node *) tail;
static int n;
static void *locks(void *none)
{
	struct node mine, *me = &mine;
	mine.next = NULL;
	mine.is_locked = 1;
	struct node *before = atomic_exchange(&tail, &mine);
	if (before) { before->next = &mine; while (mine.is_locked) {} }
	n++;
	if (!mine.next && atomic_compare_exchange_strong(&tail, &me, NULL)) return none;
	while (!mine.next) {}
	mine.next->is_locked = 0;
	return none;
}
int main(void)
{
	pthread_create(&t, 0, locks, 0);
	pthread_create(&u, 0, locks, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	mowgli_outcome("x", n);
}
#elif K == 8 /* the end by pthread_exit */
static void *ends(void *none) { x = 1; pthread_exit(none); }
int main(void) { pthread_create(&t, 0, ends, 0); pthread_join(t, 0); mowgli_outcome("x", x); }
#elif K == 10 /* `main` writes behind the threads, and a function for the end of the program reads */
static int z;
static void at_the_end(void) { mowgli_outcome("x", x + z); }
static void *adds(void *none) { x++; z = 1; return none; }
int main(void) { atexit(at_the_end); pthread_create(&t, 0, adds, 0); pthread_join(t, 0); x += 2; z += 4; exit(0); }
#elif K == 9 /* a computation without an end: in the set-up, in a thread, behind the threads */
static __attribute__((unused)) void computes(void) { for (;;) {} }
static void *spins(void *none)
{
	if (PLACE == 1) computes();
	return none;
}
int main(void) { if (PLACE == 0) computes(); pthread_create(&t, 0, spins, 0); pthread_join(t, 0); if (PLACE == 2) computes(); }
#endif
