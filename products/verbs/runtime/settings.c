/* The processors, the scheduling and the priority of threads, and the signals that they block. They decide nothing that a program computes,
 * but a thread may ask for what was set. Each thread has its own settings, and begins with those of its starter. If a thread asks for
 * settings that another one may have changed, the answer makes an exception of them. The program has the rights of a usual user.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROCESSORS, SCHEDULING, PRIORITY, SIGNALS, KINDS };
enum { BITS = 1024 };
static const char *const names[KINDS] = { "the processors of a thread", "the scheduling of a thread", "the priority of a thread", "the signals that a thread blocks" };
/* Without processors they are those of the machine. Signals are as Linux has them, one a bit. The last two say what this thread has set, of itself and of others. */
struct settings { int policy, priority, has_processors; uint64_t blocked; unsigned char processors[BITS / 8]; char of_own[KINDS], of_others[KINDS]; };
static struct settings own, of_starts[THREADS], nobody;
/* These bytes stand for what the threads of each node have set of themselves, and of others. */
static char set_own[NODES + 1][KINDS], set_others[NODES + 1][KINDS];
static int has_thread_as_starter;

void mw_settings_state(void) { mw_state(&own, sizeof own); }
void mw_settings_start(int thread) { of_starts[thread] = own; }
/* The first thread among the starters of a thread was started by `main`. */
void mw_settings_begin(uint64_t id)
{
	has_thread_as_starter = id >> 8 != 0;
	while (id >> 8) id >>= 8;
	if (id - 1 < THREADS && !(mw_main && id == 1)) own = of_starts[id - 1];
}

/* Begins a call that sets, and returns what it changes. */
static struct settings *sets(int kind, int is_own, pthread_t other)
{
	if (mw_thread < 0) return is_own ? &own : other - 1 < THREADS ? &of_starts[other - 1] : &nobody;
	mw_is_shared(is_own ? &set_own[mw_node()][kind] : &set_others[mw_node()][kind], 1, 1);
	(is_own ? own.of_own : own.of_others)[kind] = 1;
	return is_own ? &own : &nobody;
}
/* Begins a call that asks, and returns what it finds. */
static const struct settings *asks(int kind, int is_own, pthread_t other)
{
	if (mw_thread < 0) return !is_own && other - 1 < THREADS ? &of_starts[other - 1] : &own;
	int is_changed = mw_is_shared(&set_others[mw_node()][kind], 1, 0) || (!is_own && own.of_others[kind]);
	if (!is_own || (has_thread_as_starter && !own.of_own[kind])) is_changed |= mw_is_shared(&set_own[mw_node()][kind], 1, 0);
	if (is_changed) mw_unsure(names[kind]);
	return &own;
}
static int is_own_process(pid_t p)
{
	extern pid_t __mowgli_gettid(void);
	return !p || p == __mowgli_gettid();
}
static int is_nobody(int which, id_t p) { return which == PRIO_PROCESS && (pid_t)p < 0; }
static int fails(int why)
{
	if (!why) return 0;
	errno = why;
	return -1;
}

static void keeps_processors(const unsigned char *from, size_t n, struct settings *to)
{
	memset(to->processors, 0, sizeof to->processors);
	memcpy(to->processors, from, n < sizeof to->processors ? n : sizeof to->processors);
	to->has_processors = 1;
}
static int sets_processors(const unsigned char *from, size_t n, int is_own, pthread_t other)
{
	int is_empty = 1;
	mw_look(from, n);
	for (size_t k = 0; k < n; k++) {
		is_empty &= !from[k];
		if (from[k] && k >= BITS / 8) mw_end('x', "more than %d processors", BITS);
	}
	if (is_empty) return EINVAL;
	keeps_processors(from, n, sets(PROCESSORS, is_own, other));
	return 0;
}
static int asks_processors(void *to, size_t n, int is_own, pthread_t other)
{
	const struct settings *of = asks(PROCESSORS, is_own, other);
	unsigned char *all = memset(mw_own_malloc(n + BITS / 8), 0, n + BITS / 8);
	int is_short = 0, kept = errno;
	if (of->has_processors) memcpy(all, of->processors, sizeof of->processors);
	else is_short = syscall(SYS_sched_getaffinity, 0, n, all) < 0;
	errno = kept;
	for (size_t k = n; k < n + BITS / 8; k++) is_short |= all[k] != 0;
	if (!is_short) mw_put(to, all, n);
	mw_own_free(all);
	return is_short ? EINVAL : 0;
}
static int level_at(const struct sched_param *at)
{
	mw_look(at, sizeof *at);
	return at->sched_priority;
}
static int plain(int policy) { return policy & ~SCHED_RESET_ON_FORK; }
static int scheduling_fails(int before, int policy, int level)
{
	int is_real = plain(policy) == SCHED_FIFO || plain(policy) == SCHED_RR;
	if (!is_real && plain(policy) != SCHED_OTHER && plain(policy) != SCHED_BATCH && plain(policy) != SCHED_IDLE) return EINVAL;
	if (is_real ? level < 1 || level > 99 : level != 0) return EINVAL;
	int leaves = (plain(before) == SCHED_IDLE && plain(policy) != SCHED_IDLE) || (before & ~policy & SCHED_RESET_ON_FORK);
	return is_real || leaves ? EPERM : 0;
}
/* With the policy SAME it stays. */
enum { SAME = -1 };
static int sets_scheduling(int policy, int level, int is_own, pthread_t other)
{
	int before = asks(SCHEDULING, is_own, other)->policy, why = scheduling_fails(before, policy == SAME ? before : policy, level);
	if (!why && policy != SAME) sets(SCHEDULING, is_own, other)->policy = policy;
	return why;
}
/* Only policies that need rights have a level. */
static int asks_level(struct sched_param *to, int is_own, pthread_t other)
{
	struct sched_param level = { .sched_priority = 0 };
	asks(SCHEDULING, is_own, other);
	mw_put(to, &level, sizeof level);
	return 0;
}
/* Attributes are settings of the thread that is started with them. */
#define OF_ATTRIBUTES(name, ...) ((int (*)(const void *, ...))dlsym(RTLD_NEXT, "pthread_attr_get" name))(attributes, __VA_ARGS__)
static int policy_of(const void *attributes, int *level)
{
	int how = PTHREAD_INHERIT_SCHED, policy = SCHED_OTHER;
	struct sched_param own = { 0 };
	OF_ATTRIBUTES("inheritsched", &how);
	OF_ATTRIBUTES("schedpolicy", &policy);
	OF_ATTRIBUTES("schedparam", &own);
	*level = own.sched_priority;
	return how == PTHREAD_EXPLICIT_SCHED ? policy : SAME;
}
int mw_settings_fail(const void *attributes)
{
	int level, policy;
	mw_look(attributes, sizeof(pthread_attr_t));
	policy = policy_of(attributes, &level);
	return policy == SAME ? 0 : scheduling_fails(own.policy, policy, level);
}
void mw_settings_of_attributes(const void *attributes, pthread_t t)
{
	int level, policy = policy_of(attributes, &level);
	unsigned char all[BITS / 8], every[BITS / 8];
	memset(every, 0xff, sizeof every);
	if (policy != SAME) sets_scheduling(policy, level, 0, t);
	if (!OF_ATTRIBUTES("affinity_np", sizeof all, all) && memcmp(all, every, sizeof all)) keeps_processors(all, sizeof all, sets(PROCESSORS, 0, t));
}
static int sets_priority(int v, int is_own)
{
	v = v < -20 ? -20 : v > 19 ? 19 : v;
	if (v < asks(PRIORITY, is_own, 0)->priority) return EACCES;
	sets(PRIORITY, is_own, 0)->priority = v;
	return 0;
}
/* Signals, one a bit. The two that glibc keeps for itself are no signals of the program, and two others nobody can block. */
static uint64_t bit_of(int signal) { return 1ul << (signal - 1); }
static int is_signal(int signal) { return signal > 0 && signal < NSIG && signal != 32 && signal != 33; }
int mw_settings_block(int signal) { return (own.blocked & bit_of(signal)) != 0; }
static uint64_t signals_at(const uint64_t *at) { mw_look(at, sizeof *at); return *at; }
static int sets_signals(uint64_t *to, uint64_t v) { mw_put(to, &v, sizeof v); return 0; }
static int blocks(int how, const uint64_t *set, uint64_t *before)
{
	uint64_t was = before || how != SIG_SETMASK ? asks(SIGNALS, 1, 0)->blocked : 0, v = set ? signals_at(set) & ~(bit_of(32) | bit_of(33)) : 0;
	if (set && how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) return EINVAL;
	if (mw_thread < 0) pthread_sigmask(how, (const sigset_t *)set, NULL);
	if (set) sets(SIGNALS, 1, 0)->blocked = (how == SIG_BLOCK ? was | v : how == SIG_UNBLOCK ? was & ~v : v) & ~(bit_of(SIGKILL) | bit_of(SIGSTOP));
	if (before) sets_signals(before, was);
	return 0;
}

/* `t` or `p` is the thread that the call is about. */
#define HOOK(type, name, parameters, ...) ENTRY(name); type mw_##name parameters { if (mw_thread >= 0) mw_flush(); __VA_ARGS__ }
#define OF_THREAD t == pthread_self(), t
#define OF_PROCESS is_own_process(p), 0
/* No process has a negative number. */
#define FAILS_IF(is_wrong, why) if (is_wrong) return fails(why);
HOOK(int, pthread_setaffinity_np, (pthread_t t, size_t n, const void *from), return sets_processors(from, n, OF_THREAD);)
HOOK(int, pthread_getaffinity_np, (pthread_t t, size_t n, void *to), return asks_processors(to, n, OF_THREAD);)
HOOK(int, sched_setaffinity, (pid_t p, size_t n, const void *from), FAILS_IF(p < 0, ESRCH) return fails(sets_processors(from, n, OF_PROCESS));)
HOOK(int, sched_getaffinity, (pid_t p, size_t n, void *to), FAILS_IF(p < 0, ESRCH) return fails(asks_processors(to, n, OF_PROCESS));)
HOOK(int, pthread_setschedparam, (pthread_t t, int policy, const struct sched_param *level),
	return policy < 0 ? EINVAL : sets_scheduling(policy, level_at(level), OF_THREAD);)
HOOK(int, pthread_setschedprio, (pthread_t t, int level), return sets_scheduling(SAME, level, OF_THREAD);)
HOOK(int, pthread_getschedparam, (pthread_t t, int *policy, struct sched_param *level),
	int own_policy = asks(SCHEDULING, OF_THREAD)->policy;
	mw_put(policy, &own_policy, sizeof own_policy);
	return asks_level(level, OF_THREAD);)
HOOK(int, sched_setscheduler, (pid_t p, int policy, const struct sched_param *level),
	return fails(p < 0 || policy < 0 ? EINVAL : sets_scheduling(policy, level_at(level), OF_PROCESS));)
HOOK(int, sched_setparam, (pid_t p, const struct sched_param *level), FAILS_IF(p < 0, EINVAL) return fails(sets_scheduling(SAME, level_at(level), OF_PROCESS));)
HOOK(int, sched_getscheduler, (pid_t p), FAILS_IF(p < 0, EINVAL) return asks(SCHEDULING, OF_PROCESS)->policy;)
HOOK(int, sched_getparam, (pid_t p, struct sched_param *level), FAILS_IF(p < 0, EINVAL) return asks_level(level, OF_PROCESS);)
HOOK(int, setpriority, (int which, id_t p, int v), FAILS_IF(is_nobody(which, p), ESRCH) return fails(sets_priority(v, which == PRIO_PROCESS && is_own_process((pid_t)p)));)
HOOK(int, getpriority, (int which, id_t p), FAILS_IF(is_nobody(which, p), ESRCH) return asks(PRIORITY, which == PRIO_PROCESS && is_own_process((pid_t)p), 0)->priority;)
HOOK(int, nice, (int more), return sets_priority(own.priority + more, 1) ? fails(EPERM) : own.priority;)
HOOK(int, __mowgli_pthread_sigmask, (int how, const uint64_t *set, uint64_t *before), return blocks(how, set, before);)
HOOK(int, __mowgli_sigprocmask, (int how, const uint64_t *set, uint64_t *before), return fails(blocks(how, set, before));)
HOOK(int, __mowgli_sigemptyset, (uint64_t *set), return sets_signals(set, 0);)
HOOK(int, __mowgli_sigfillset, (uint64_t *set), return sets_signals(set, ~(bit_of(32) | bit_of(33)));)
HOOK(int, __mowgli_sigaddset, (uint64_t *set, int signal), return is_signal(signal) ? sets_signals(set, signals_at(set) | bit_of(signal)) : fails(EINVAL);)
HOOK(int, __mowgli_sigdelset, (uint64_t *set, int signal), return is_signal(signal) ? sets_signals(set, signals_at(set) & ~bit_of(signal)) : fails(EINVAL);)
HOOK(int, __mowgli_sigismember, (const uint64_t *set, int signal), return is_signal(signal) ? (signals_at(set) & bit_of(signal)) != 0 : fails(EINVAL);)
