/* Errors of functions of libc, as glibc has them. Case K says which. */
#define _GNU_SOURCE
#include <mowgli.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static volatile int x;
/* Ends the program at the first call whose result is another one. */
#define IS(call, expected) do { if ((call) != (expected)) { mowgli_outcome(#call, __LINE__); abort(); } } while (0)
#define FAILS(call, why) do { errno = 0; IS(call, -1); IS(errno, why); } while (0)
#if K != 8 && K != 9
static void *tries(void *none);
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, tries, 0);
	x = 1;
	pthread_join(t, 0);
	mowgli_outcome("end", 1);
}
#endif

#if K == 1 /* times and clocks */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, m = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t s;
static struct timespec past, below = { 0, -1 }, above = { 0, 1000000000 };
static void *holds(void *none) { pthread_mutex_lock(&held); return none; }
static void *tries(void *none)
{
	pthread_t t;
	pthread_create(&t, 0, holds, 0);
	pthread_join(t, 0);
	IS(pthread_mutex_timedlock(&m, &below), 0);
	IS(pthread_cond_timedwait(&c, &m, &above), EINVAL);
	IS(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &below), EINVAL);
	IS(pthread_cond_clockwait(&c, &m, CLOCK_BOOTTIME, &past), EINVAL);
	IS(cnd_timedwait((cnd_t *)&c, (mtx_t *)&m, &above), thrd_error);
	IS(pthread_mutex_unlock(&m), 0);
	IS(pthread_mutex_timedlock(&held, &below), EINVAL);
	IS(pthread_mutex_timedlock(&held, &past), ETIMEDOUT);
	IS(mtx_timedlock((mtx_t *)&held, &above), thrd_error);
	IS(mtx_timedlock((mtx_t *)&held, &past), thrd_timedout);
	IS(pthread_mutex_clocklock(&m, CLOCK_BOOTTIME, &past), EINVAL);
	IS(pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, &above), EINVAL);
	IS(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &above), 0);
	IS(pthread_mutex_lock(&own), 0);
	IS(pthread_mutex_timedlock(&own, &above), EDEADLK);
	IS(pthread_rwlock_timedrdlock(&l, &above), EINVAL);
	IS(pthread_rwlock_clockrdlock(&l, CLOCK_BOOTTIME, &past), EINVAL);
	IS(pthread_rwlock_trywrlock(&l), 0);
	IS(pthread_rwlock_timedwrlock(&l, &below), EINVAL);
	IS(pthread_rwlock_clockwrlock(&l, CLOCK_BOOTTIME, &past), EINVAL);
	IS(pthread_rwlock_timedwrlock(&l, &past), EDEADLK);
	IS(sem_init(&s, 0, 1), 0);
	FAILS(sem_timedwait(&s, &below), EINVAL);
	FAILS(sem_clockwait(&s, CLOCK_BOOTTIME, &past), EINVAL);
	FAILS(sem_clockwait(&s, CLOCK_REALTIME, &above), EINVAL);
	IS(sem_clockwait(&s, CLOCK_MONOTONIC, &past), 0);
	return none;
}
#elif K == 2 /* a thread that joins itself */
static void *tries(void *none)
{
	IS(pthread_join(pthread_self(), 0), EDEADLK);
	IS(thrd_join(thrd_current(), 0), thrd_error);
	return none;
}
#elif K == 3 /* a mutex that the thread does not hold, and that knows who holds it */
static pthread_mutex_t checks = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, counts = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static struct timespec past;
static void *tries(void *none)
{
	IS(pthread_cond_wait(&c, &checks), EPERM);
	IS(pthread_cond_timedwait(&c, &counts, &past), EPERM);
	IS(cnd_wait((cnd_t *)&c, (mtx_t *)&counts), thrd_error);
	return none;
}
#elif K == 4 /* a destructor that sets a value each time runs four times */
static pthread_key_t k;
static int n;
static void sets(void *value) { n++; pthread_setspecific(k, value); }
static void *ends(void *none) { pthread_setspecific(k, &n); return none; }
static void *tries(void *none)
{
	pthread_t t;
	pthread_key_create(&k, sets);
	pthread_create(&t, 0, ends, 0);
	pthread_join(t, 0);
	pthread_setspecific(k, 0);
	IS(n, PTHREAD_DESTRUCTOR_ITERATIONS);
	return none;
}
#elif K == 5 /* a key that is deleted, and one that is made again in its place */
static void fails(void *value) { (void)value; abort(); }
static pthread_key_t k, again;
static void *sets(void *none) { IS(pthread_setspecific(k, &k), 0); IS(pthread_key_delete(k), 0); return none; }
static void *tries(void *none)
{
	pthread_t t;
	pthread_key_create(&k, 0);
	IS(pthread_setspecific(k, &k), 0);
	IS(pthread_getspecific(k) == &k, 1);
	IS(pthread_key_delete(k), 0);
	IS(pthread_getspecific(k) == 0, 1);
	IS(pthread_setspecific(k, &k), EINVAL);
	IS(pthread_key_delete(k), EINVAL);
	IS(pthread_setspecific(5000, &k), EINVAL);
	IS(pthread_key_delete(5000), EINVAL);
	pthread_key_create(&again, 0);
	IS(again, k);
	IS(pthread_getspecific(again) == 0, 1);
	pthread_key_create(&k, fails);
	pthread_create(&t, 0, sets, 0);
	pthread_join(t, 0);
	IS(pthread_setspecific(k, &k), EINVAL);
	return none;
}
#elif K == 6 /* counts of semaphores */
static sem_t s;
static void *tries(void *none)
{
	FAILS(sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1), EINVAL);
	IS(sem_init(&s, 0, SEM_VALUE_MAX - 1), 0);
	IS(sem_post(&s), 0);
	FAILS(sem_post(&s), EOVERFLOW);
	IS(sem_wait(&s), 0);
	IS(sem_post(&s), 0);
	return none;
}
#elif K == 7 /* a process that cannot exist, and the length of a name */
static void *tries(void *none)
{
	char own[15];
	cpu_set_t all;
	struct sched_param level = { 0 };
	CPU_ZERO(&all);
	CPU_SET(0, &all);
	FAILS(sched_getaffinity(-1, sizeof all, &all), ESRCH);
	FAILS(sched_setaffinity(-1, sizeof all, &all), ESRCH);
	FAILS(sched_getscheduler(-1), EINVAL);
	FAILS(sched_setscheduler(-1, SCHED_OTHER, &level), EINVAL);
	FAILS(sched_getparam(-1, &level), EINVAL);
	FAILS(sched_setparam(-1, &level), EINVAL);
	FAILS(getpriority(PRIO_PROCESS, -1), ESRCH);
	FAILS(setpriority(PRIO_PROCESS, -1, 0), ESRCH);
	IS(pthread_setname_np(pthread_self(), "0123456789abcdef"), ERANGE);
	IS(pthread_setname_np(pthread_self(), "0123456789abcde"), 0);
	IS(pthread_getname_np(pthread_self(), own, sizeof own), ERANGE);
	return none;
}
#elif K == 8 || K == 9 /* objects of verbs that others use, destroyed by `main`, or one of them by a thread */
#include <node.h>
static uint64_t a, b;
static struct node one, two;
static struct ibv_qp *qa, *qb;
static void *destroys(void *none) { if (K == 9) IS(ibv_destroy_qp(qa), 0); return none; }
int main(void)
{
	one = node_open(1, &a, sizeof a);
	two = node_open(2, &b, sizeof b);
	connect_nodes(&one, &two, &qa, &qb);
	struct ibv_cq *cq = qa->send_cq;
	IS(ibv_destroy_cq(cq), EBUSY);
	mowgli_node(1, destroys, 0);
	mowgli_join();
	if (K == 8) {
		IS(ibv_destroy_cq(cq), EBUSY);
		IS(ibv_dealloc_pd(one.pd), EBUSY);
		IS(ibv_destroy_qp(qa), 0);
	}
	IS(ibv_destroy_cq(cq), 0);
	IS(ibv_dealloc_pd(one.pd), EBUSY);
	IS(ibv_dereg_mr(one.mr), 0);
	IS(ibv_dealloc_pd(one.pd), 0);
	IS(ibv_close_device(one.device), 0);
	mowgli_outcome("end", 1);
}
#elif K == 10 /* waits for time, with times and clocks that are none */
static void *tries(void *none)
{
	struct timespec no = { 0, 0 }, below = { 0, -1 }, above = { 0, 1000000000 }, negative = { -1, 0 }, now;
	FAILS(nanosleep(&below, 0), EINVAL);
	FAILS(nanosleep(&above, &now), EINVAL);
	FAILS(nanosleep(&negative, 0), EINVAL);
	IS(nanosleep(&no, 0), 0);
	IS(clock_nanosleep(CLOCK_MONOTONIC, 0, &above, 0), EINVAL);
	IS(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &negative, 0), EINVAL);
	IS(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &no, 0), 0);
	IS(clock_nanosleep(CLOCK_BOOTTIME, 0, &no, 0), 0);
	IS(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &no, 0), EINVAL);
	IS(clock_nanosleep(CLOCK_MONOTONIC_RAW, 0, &no, 0), ENOTSUP);
	IS(clock_nanosleep(77, 0, &no, 0), EINVAL);
	IS(thrd_sleep(&above, 0), -2);
	IS(thrd_sleep(&no, 0), 0);
	IS(usleep(0), 0);
	FAILS(clock_gettime(77, &now), EINVAL);
	IS(timespec_get(&now, 77), 0);
	return none;
}
#elif K == 11 /* what a usual user has no right to */
static void *tries(void *none)
{
	struct sched_param one = { 1 }, no = { 0 }, many = { 100 };
	FAILS(sched_setscheduler(0, SCHED_FIFO, &one), EPERM);
	FAILS(sched_setscheduler(0, SCHED_RR, &many), EINVAL);
	FAILS(sched_setscheduler(0, SCHED_FIFO, &no), EINVAL);
	FAILS(sched_setparam(0, &one), EINVAL);
	IS(pthread_setschedparam(pthread_self(), SCHED_RR, &one), EPERM);
	IS(pthread_setschedparam(pthread_self(), SCHED_OTHER, &one), EINVAL);
	IS(pthread_setschedprio(pthread_self(), 1), EINVAL);
	IS(pthread_setschedprio(pthread_self(), 0), 0);
	IS(sched_setscheduler(0, SCHED_BATCH, &no), 0);
	IS(setpriority(PRIO_PROCESS, 0, 4), 0);
	FAILS(setpriority(PRIO_PROCESS, 0, 3), EACCES);
	FAILS(nice(-1), EPERM);
	IS(nice(1), 5);
	IS(sched_setscheduler(0, SCHED_IDLE, &no), 0);
	FAILS(sched_setscheduler(0, SCHED_OTHER, &no), EPERM);
	return none;
}
#elif K == 12 /* a join that does not wait */
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct timespec past, above = { 0, 1000000000 };
static void *waits(void *none) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); (void)none; return &m; }
static void *tries(void *none)
{
	pthread_t t;
	void *result = 0;
	pthread_mutex_lock(&m);
	pthread_create(&t, 0, waits, 0);
	IS(pthread_tryjoin_np(t, &result), EBUSY);
	IS(pthread_timedjoin_np(t, &result, &past), ETIMEDOUT);
	IS(pthread_tryjoin_np(pthread_self(), &result), EBUSY);
	IS(pthread_timedjoin_np(pthread_self(), &result, &past), EDEADLK);
	pthread_mutex_unlock(&m);
	while (pthread_tryjoin_np(t, &result)) {}
	IS(result, &m);
	pthread_create(&t, 0, waits, 0);
	IS(pthread_timedjoin_np(t, 0, 0), 0);
	pthread_create(&t, 0, waits, 0);
	IS(pthread_timedjoin_np(t, 0, &above), 0);
	pthread_create(&t, 0, waits, 0);
	while (pthread_clockjoin_np(t, &result, CLOCK_MONOTONIC, &past)) {}
	return none;
}
#endif
