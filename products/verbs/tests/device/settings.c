/* The processors, the scheduling and the priority of threads. Case K says what is set and asked. */
#define _GNU_SOURCE
#include <mowgli.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile int x, y;
static __attribute__((unused)) cpu_set_t only(int k)
{
	cpu_set_t all;
	CPU_ZERO(&all);
	CPU_SET(k, &all);
	return all;
}
static __attribute__((unused)) int processor(pthread_t t)
{
	cpu_set_t all;
	int k = 0;
	if (pthread_getaffinity_np(t, sizeof all, &all)) abort();
	while (k < CPU_SETSIZE && !CPU_ISSET(k, &all)) k++;
	return CPU_COUNT(&all) == 1 ? k : -1;
}

#if K == 1 /* each thread finds what it has set */
static void *one(void *name)
{
	int k = name ? 1 : 0, policy;
	cpu_set_t all = only(k + 70), found;
	struct sched_param level = { .sched_priority = 0 }, wrong = { .sched_priority = 0 };
	x = k;
	if (pthread_setaffinity_np(pthread_self(), sizeof all, &all) || pthread_setschedparam(pthread_self(), k ? SCHED_BATCH : SCHED_IDLE, &level)) abort();
	if (setpriority(PRIO_PROCESS, 0, k + 3)) abort();
	if (sched_setscheduler(0, SCHED_RR, &wrong) != -1 || errno != EINVAL || pthread_setschedparam(pthread_self(), 99, &level) != EINVAL) abort();
	mowgli_outcome("processor", processor(pthread_self()));
	level.sched_priority = 0;
	if (pthread_getschedparam(pthread_self(), &policy, &level) || level.sched_priority) abort();
	mowgli_outcome("policy", policy);
	mowgli_outcome("priority", getpriority(PRIO_PROCESS, gettid()));
	all = only(k + 80);
	if (sched_setaffinity(gettid(), sizeof all, &all) || sched_getaffinity(0, sizeof found, &found) || !CPU_EQUAL(&all, &found)) abort();
	if (pthread_setschedprio(pthread_self(), k + 9) != EINVAL || sched_getparam(0, &level) || level.sched_priority) abort();
	if (sched_setscheduler(0, SCHED_IDLE, &level) || sched_getscheduler(0) != SCHED_IDLE) abort();
	CPU_ZERO(&all);
	if (sched_setaffinity(0, sizeof all, &all) != -1 || nice(2) != k + 5 || getpriority(PRIO_PROCESS, 0) != k + 5) abort();
	return NULL;
}
int main(void)
{
	pthread_t t, u;
	pthread_create(&t, 0, one, NULL);
	pthread_create(&u, 0, one, "second");
	pthread_join(t, 0);
	pthread_join(u, 0);
}
#elif K == 2 /* states that differ by what was set */
static __attribute__((noinline)) void sets(int k) { cpu_set_t all = only(k); if (sched_setaffinity(0, sizeof all, &all)) abort(); }
static void *one(void *none) { x = 1; y = 1; return none; }
static void *two(void *none)
{
	sets(x);
	while (!y) {}
	mowgli_outcome("processor", processor(pthread_self()));
	return none;
}
int main(void) { mowgli_node(1, one, 0); mowgli_node(1, two, 0); mowgli_join(); }
#elif K == 3 /* a thread begins with the settings of `main`, which may change them */
static void *asks(void *none) { mowgli_outcome("processor", processor(pthread_self())); return none; }
static void sets(pthread_t t, int k) { cpu_set_t all = only(k); if (pthread_setaffinity_np(t, sizeof all, &all)) abort(); }
int main(void)
{
	pthread_t t[3];
	sets(pthread_self(), 5);
	pthread_create(&t[0], 0, asks, NULL);
	sets(pthread_self(), 6);
	pthread_create(&t[1], 0, asks, NULL);
	pthread_create(&t[2], 0, asks, NULL);
	sets(t[2], 7);
	for (int k = 0; k < 3; k++) pthread_join(t[k], 0);
	mowgli_outcome("of main", processor(pthread_self()));
}
#elif K == 6 /* attributes are settings, too */
static void *asks(void *none)
{
	int policy;
	struct sched_param level;
	if (pthread_getschedparam(pthread_self(), &policy, &level)) abort();
	mowgli_outcome("processor", processor(pthread_self()));
	mowgli_outcome("policy", policy);
	return none;
}
int main(void)
{
	pthread_t t;
	pthread_attr_t attributes;
	cpu_set_t all = only(8);
	struct sched_param level = { .sched_priority = 0 };
	if (sched_setscheduler(0, SCHED_BATCH, &level)) abort();
	level.sched_priority = 4;
	pthread_attr_init(&attributes);
	pthread_attr_setaffinity_np(&attributes, sizeof all, &all);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_RR);
	pthread_attr_setschedparam(&attributes, &level);
	if (pthread_create(&t, &attributes, asks, NULL) != EPERM) abort();
	level.sched_priority = 0;
	pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
	pthread_attr_setschedparam(&attributes, &level);
	pthread_create(&t, &attributes, asks, NULL);
	pthread_join(t, 0);
}
#elif K == 4 || K == 5 /* settings that another thread changes, or that its starter has changed */
static pthread_t t;
static void *asks(void *none) { mowgli_outcome("processor", processor(pthread_self())); return none; }
static void *sets(void *none)
{
	cpu_set_t all = only(1);
	pthread_t own;
	if (pthread_setaffinity_np(K == 4 ? t : pthread_self(), sizeof all, &all)) abort();
	if (K == 5) pthread_create(&own, 0, asks, 0);
	if (K == 5) pthread_join(own, 0);
	return none;
}
int main(void)
{
	pthread_t u;
	if (K == 4) pthread_create(&t, 0, asks, 0);
	pthread_create(&u, 0, sets, 0);
	if (K == 4) pthread_join(t, 0);
	pthread_join(u, 0);
}
#elif K == 7 || K == 8 /* a thread asks which signals it blocks: what its starter has set first, and then its own */
static pthread_t t;
static int is_blocked(int signal)
{
	sigset_t now;
	if (pthread_sigmask(SIG_BLOCK, NULL, &now)) abort();
	return sigismember(&now, signal);
}
static void *asks(void *none)
{
	sigset_t set;
	y = x;
	mowgli_outcome("inherits", is_blocked(SIGUSR1));
	sigfillset(&set);
	sigdelset(&set, SIGTERM);
	if (pthread_sigmask(SIG_SETMASK, &set, NULL) || !is_blocked(SIGUSR2) || is_blocked(SIGTERM) || is_blocked(SIGKILL)) abort();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (pthread_sigmask(SIG_UNBLOCK, &set, NULL) || is_blocked(SIGUSR2) || !is_blocked(SIGUSR1)) abort();
	if (pthread_sigmask(77, &set, NULL) != EINVAL || sigaddset(&set, 0) != -1 || errno != EINVAL) abort();
	sigset_t before;
	if (sigprocmask(SIG_SETMASK, &set, &before) || !sigismember(&before, SIGINT) || is_blocked(SIGINT)) abort();
	mowgli_outcome("own", is_blocked(SIGUSR2));
	return none;
}
int main(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, 0, asks, NULL);
	if (K == 8) x = 1;
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	pthread_join(t, 0);
	mowgli_outcome("of main", is_blocked(SIGUSR1));
}
#endif
