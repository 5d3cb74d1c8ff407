/* Threads, locks, and how threads end. Locks, barriers and the like are words of the model: a thread that waits for one reads it again.
 * The functions have the names of libc, so that libstdc++ and other libraries use them, too.
 */
#define _GNU_SOURCE
#include "mowgli.h"
#include "runtime.h"
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

/* The threads that run when the threads begin. `main` is the first one if it takes part. */
static struct { void *(*fn)(void *); void *arg; int node, is_detached, is_of_node; } threads[THREADS];
int mw_thread_count;
uint64_t mw_open;
/* The number of this thread as the program knows it, and how many it has started. */
static uint64_t self;
static int created;
/* Those that it has started by mowgli_node, as bits. */
static uint64_t started_on_nodes;
static int my_node;
int mw_node(void) { return my_node; }
void mw_main_takes_part(int node)
{
	threads[0].node = node;
	mw_thread_count = 1;
}
void mw_threads_lines(void)
{
	for (int t = 0; t < mw_thread_count; t++) mw_line("thread %d %d %lx\n", threads[t].node, threads[t].is_detached, GLOBAL(threads[t].fn));
}
/* What this thread holds: the lock, how often, whether it is a mutex, and whether the thread that had it before has ended with it. */
enum { HELD = 64 };
static struct { const void *lock; int64_t times, is_mutex, is_left; } held[HELD];
static size_t held_count;
static void ends_state(void);
void mw_threads_state(void)
{
	mw_state(held, held_count * sizeof *held);
	mw_state(&created, sizeof created);
	mw_state(&mw_open, sizeof mw_open);
	mw_state(&started_on_nodes, sizeof started_on_nodes);
	ends_state();
	mw_settings_state();
}

/* Starting and joining. A node of 0 is that of the starter. The explorer knows a thread that another one starts by the number of its starter and how many that had started. */
static void start(int node, void *(*fn)(void *), void *arg, uint64_t *id)
{
	if (mw_thread == EPILOGUE) mw_main_must_take_part("a thread is started after others were joined");
	mw_is_no_fork("a thread");
	if (mw_thread < 0 && mw_main) mw_ready();
	if (mw_thread >= 0) {
		if (created == THREADS) mw_end('x', "a thread starts more than %d others", THREADS);
		if (self >> 56) mw_end('x', "threads that start each other, more than seven deep");
		mw_flush();
		*id = (self << 8) + (uint64_t)++created;
		mw_open |= 1ul << (created - 1);
		if (node) started_on_nodes |= 1ul << (created - 1);
		mw_call("spawn %d %lu %ld %d", created, (unsigned long)(uintptr_t)fn, (long)(intptr_t)arg, node ? node : my_node);
		return;
	}
	if (mw_thread_count == THREADS) mw_end('x', "more than %d threads", THREADS);
	threads[mw_thread_count].fn = fn;
	threads[mw_thread_count].arg = arg;
	threads[mw_thread_count].is_of_node = node != 0;
	mw_settings_start(mw_thread_count);
	mw_open |= 1ul << mw_thread_count;
	threads[mw_thread_count++].node = node ? node : 1;
	*id = (uint64_t)mw_thread_count;
}
ENTRY(mowgli_node);
void mw_mowgli_node(int node, void *(*fn)(void *), void *arg)
{
	uint64_t id;
	if (node < 1 || node > NODES) mw_end('m', "mowgli_node: node %d; nodes are 1 to %d", node, NODES);
	if (mw_thread >= 0 && mw_thread != EPILOGUE && !mw_is_main()) mw_end('x', "mowgli_node in a thread; let `main` start the threads of nodes");
	start(node, fn, arg, &id);
}
/* A thread knows those that it has started itself: such a one is joined or detached once. */
static void closes(uint64_t id, const char *call)
{
	int is_of_main = mw_thread < 0 || mw_thread == EPILOGUE;
	uint64_t k = (is_of_main ? id : id & 255) - 1;
	if (k >= THREADS || (!is_of_main && id >> 8 != self)) return;
	if (!is_of_main && !(mw_open >> k & 1)) mw_end('f', "%s of a thread that was joined or detached", call);
	mw_open &= ~(1ul << k);
}
/* A time that is over at any moment is a choice. */
static int is_over(void) { return mw_ask("choose") != 0; }
/* What is not to be had is tried once, or until a time. At a time that no clock shows it is not awaited. */
enum { TRIES = 1, UNTIL = 2, NEVER = 3 };
static int is_awaited_by(int tries) { return tries != TRIES && tries != NEVER; }
static int is_given_up(int tries) { return tries == TRIES ? EBUSY : tries == NEVER ? EINVAL : tries == UNTIL && is_over() ? ETIMEDOUT : 0; }
static int is_time(const struct timespec *t)
{
	mw_look(&t->tv_nsec, sizeof t->tv_nsec);
	return t->tv_nsec >= 0 && t->tv_nsec < 1000000000;
}
/* True of the clocks by which glibc waits. */
static int is_awaited(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC; }
static int is_time_of(clockid_t clock, const struct timespec *t) { return is_awaited(clock) && is_time(t); }
static int joined(uint64_t id, int64_t *result, int tries)
{
	mw_flush();
	if (mw_thread == EPILOGUE && id >> 8) mw_main_must_take_part("a join of a thread that another thread has started");
	if (!tries) closes(id, "a join");
	*result = 0;
	int why = 0, is_ended = mw_thread == EPILOGUE;
	for (size_t mark = mw_learned(); !is_ended && !(is_ended = mw_ask("joined %lu", (unsigned long)id) != 0) && !(why = is_given_up(tries)); mw_forget(mark)) {}
	if (why) return why;
	if (tries) closes(id, "a join");
	if (mw_thread != EPILOGUE) *result = mw_ask("result %lu", (unsigned long)id);
	return 0;
}
/* The number of `main` is the same before and behind its first thread. No thread can wait for a `main` that is none. */
enum { MAIN = -1 };
static uint64_t main_id(void) { return mw_main ? 1 : (uint64_t)MAIN; }
/* The end of a program does not wait for it. `main` ends the program itself. */
static void detaches(uint64_t id)
{
	if (id == main_id()) {
		if (mw_thread >= 0) mw_flush();
		return;
	}
	if (mw_thread == EPILOGUE) mw_main_must_take_part("a thread is left after others were joined");
	if (mw_thread < 0 && id - 1 < (uint64_t)mw_thread_count) threads[id - 1].is_detached = 1;
	else if (mw_thread >= 0) { mw_flush(); closes(id, "a detach"); mw_call("detached %lu", (unsigned long)id); }
}
/* The threads that a thread has started and not joined: nobody waits for them when it has ended. */
static void leaves_own_threads(void)
{
	for (int k = 0; k < created; k++) if ((mw_open & ~started_on_nodes) >> k & 1) detaches((self << 8) + (uint64_t)k + 1);
}
void mw_leaves_threads(void)
{
	if (mw_is_main()) leaves_own_threads();
	for (uint64_t k = 0; (mw_thread < 0 || mw_thread == EPILOGUE) && k < THREADS; k++) {
		if (!(mw_open >> k & 1) || threads[k].is_detached) continue;
		if (threads[k].is_of_node) closes(k + 1, "the end"); else detaches(k + 1);
	}
}
/* A function of libc, and not that of the runtime, which takes what it is given for memory of the program. */
#define OF_LIBC(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define HOOK(type, name, parameters, ...) ENTRY(name); type mw_##name parameters { __VA_ARGS__ }
/* Attributes are memory of the program, which libc reads and writes. */
typedef int uses(void *, long, long);
static int changes(void *attribute, size_t n, const char *call, int is_read, long v)
{
	char own[sizeof(pthread_attr_t)];
	if (is_read) mw_look(attribute, n);
	memcpy(own, attribute, n);
	int why = ((uses *)dlsym(RTLD_NEXT, call))(own, v, 0);
	if (!is_read || memcmp(own, attribute, n)) mw_put(attribute, own, n);
	return why;
}
static int found(const void *attribute, size_t n, const char *call, void *to)
{
	mw_look(attribute, n);
	return ((uses *)dlsym(RTLD_NEXT, call))((void *)attribute, (long)to, 0);
}
#define ATTRIBUTES(of) \
	HOOK(int, of##_init, (of##_t *a), return changes(a, sizeof *a, #of "_init", 0, 0);) \
	HOOK(int, of##_destroy, (of##_t *a), return changes(a, sizeof *a, #of "_destroy", 1, 0);)
#define ATTRIBUTE(of, name, type) \
	HOOK(int, of##_set##name, (of##_t *a, long v), return changes(a, sizeof *a, #of "_set" #name, 1, v);) \
	HOOK(int, of##_get##name, (const of##_t *a, type *to), \
		type v = 0; \
		int why = found(a, sizeof *a, #of "_get" #name, &v); \
		if (!why) mw_put(to, &v, sizeof v); \
		return why;)
ATTRIBUTES(pthread_attr) ATTRIBUTE(pthread_attr, detachstate, int) ATTRIBUTE(pthread_attr, stacksize, size_t)
ATTRIBUTE(pthread_attr, guardsize, size_t) ATTRIBUTE(pthread_attr, schedpolicy, int) ATTRIBUTE(pthread_attr, inheritsched, int)
ATTRIBUTE(pthread_attr, scope, int)
ATTRIBUTES(pthread_mutexattr) ATTRIBUTE(pthread_mutexattr, type, int) ATTRIBUTE(pthread_mutexattr, pshared, int)
ATTRIBUTE(pthread_mutexattr, robust, int) ATTRIBUTE(pthread_mutexattr, protocol, int)
ATTRIBUTES(pthread_condattr) ATTRIBUTE(pthread_condattr, clock, int) ATTRIBUTE(pthread_condattr, pshared, int)
ATTRIBUTES(pthread_barrierattr) ATTRIBUTE(pthread_barrierattr, pshared, int)
ATTRIBUTES(pthread_rwlockattr) ATTRIBUTE(pthread_rwlockattr, pshared, int) ATTRIBUTE(pthread_rwlockattr, kind_np, int)
/* A thread that nobody can cancel may say what it likes of that. */
static __thread int cancels[2];
static int says(int k, int v, int *before)
{
	if (mw_thread >= 0) mw_flush();
	if (v != 0 && v != 1) return EINVAL;
	int was = cancels[k];
	cancels[k] = v;
	if (before) mw_put(before, &was, sizeof was);
	return 0;
}
HOOK(int, pthread_setcancelstate, (int v, int *before), return says(0, v, before);)
HOOK(int, pthread_setcanceltype, (int v, int *before), return says(1, v, before);)
HOOK(int, pthread_create, (pthread_t *id, const pthread_attr_t *attr, void *(*fn)(void *), void *arg),
	uint64_t own;
	int state = PTHREAD_CREATE_JOINABLE, why = attr ? mw_settings_fail(attr) : 0;
	if (why) return why;
	mw_window_begins();
	start(0, fn, arg, &own);
	if (attr) found(attr, sizeof *attr, "pthread_attr_getdetachstate", &state);
	if (attr) mw_settings_of_attributes(attr, own);
	if (state == PTHREAD_CREATE_DETACHED) detaches(own);
	mw_put(id, &own, sizeof own);
	return 0;)
static pthread_t own_id(void) { return mw_thread >= 0 && mw_thread != EPILOGUE ? self : main_id(); }
static int joins_pthread(pthread_t id, void **result, int tries)
{
	int64_t own;
	if (id == own_id()) return tries == TRIES ? EBUSY : EDEADLK;
	if (id == (pthread_t)MAIN) mw_main_must_take_part("a thread joins `main`");
	if ((mw_thread < 0 || mw_thread == EPILOGUE) && (result || tries)) mw_main_must_take_part("pthread_join asks for a result, or is given up");
	if (mw_thread < 0) mw_serve();
	int why = joined(id, &own, tries);
	if (!why && result) mw_put(result, &own, sizeof own);
	return why;
}
HOOK(int, pthread_join, (pthread_t id, void **result), return joins_pthread(id, result, 0);)
HOOK(int, pthread_tryjoin_np, (pthread_t id, void **result), return joins_pthread(id, result, TRIES);)
/* glibc waits without an end if the time or the clock is none. */
HOOK(int, pthread_timedjoin_np, (pthread_t id, void **result, const struct timespec *t),
	return joins_pthread(id, result, t && is_time(t) ? UNTIL : 0);)
HOOK(int, pthread_clockjoin_np, (pthread_t id, void **result, clockid_t clock, const struct timespec *t),
	return joins_pthread(id, result, t && is_time_of(clock, t) ? UNTIL : 0);)
HOOK(int, pthread_detach, (pthread_t id), detaches(id); return 0;)
/* Numbers of processes and threads, which no process of a system has. A process that the set-up starts keeps its own. */
enum { PROCESS = 1 << 23 };
static pid_t numbered(pid_t own, int add)
{
	if (mw_thread >= 0) mw_flush();
	if (mw_thread < 0 && getpid() != mw_process) return own == mw_process ? PROCESS : own;
	return PROCESS + (mw_program < 0 ? 0 : mw_program << 8) + add;
}
HOOK(pid_t, __mowgli_getpid, (void), return numbered(getpid(), 0);)
HOOK(pid_t, __mowgli_getppid, (void), return numbered(getppid(), -1);)
HOOK(pid_t, __mowgli_gettid, (void), return numbered((pid_t)syscall(SYS_gettid), mw_thread < 0 || mw_thread == EPILOGUE || mw_is_main() ? 0 : mw_thread + 1);)
HOOK(int, __mowgli_sched_getcpu, (void), if (mw_thread >= 0) { mw_flush(); mw_unsure("sched_getcpu"); } return 0;)
HOOK(pthread_t, pthread_self, (void), return own_id();)
HOOK(int, pthread_equal, (pthread_t a, pthread_t b), return a == b;)
/* Whether `main` waits for all threads but those that are detached. */
static int joins_all;
HOOK(void, mowgli_join, (void),
	if (mw_thread < 0) { joins_all = 1; mw_serve(); }
	mw_flush();
	if (mw_thread == EPILOGUE) mw_open = 0;
	for (uint64_t k = 1; mw_is_main() && k <= (uint64_t)created; k++) if (mw_open >> (k - 1) & 1) joins_pthread((self << 8) + k, NULL, 0);)
HOOK(int, thrd_create, (thrd_t *id, thrd_start_t fn, void *arg), return mw_pthread_create(id, NULL, (void *(*)(void *))fn, arg);)
HOOK(int, thrd_join, (thrd_t id, int *result),
	int64_t own;
	if (id == own_id()) return thrd_error;
	if (id == (thrd_t)MAIN) mw_main_must_take_part("a thread joins `main`");
	if ((mw_thread < 0 || mw_thread == EPILOGUE) && result) mw_main_must_take_part("thrd_join asks for a result");
	if (mw_thread < 0) mw_serve();
	joined(id, &own, 0);
	if (result) mw_put(result, &own, sizeof *result);
	return thrd_success;)
HOOK(int, thrd_detach, (thrd_t id), detaches(id); return thrd_success;)
HOOK(thrd_t, thrd_current, (void), return mw_pthread_self();)
HOOK(int, thrd_equal, (thrd_t a, thrd_t b), return a == b;)

/* Words of threads: natively in `main` alone, else by the model. An object of a library is part of what a thread has for itself. */
static int is_of_library;
static int is_alone(void) { return mw_thread < 0 || mw_thread == EPILOGUE || is_of_library; }
static int64_t word(const void *at) { return is_alone() ? *(const int *)at : mw_ask("read %lu 4", GLOBAL(at)); }
static void set_word(void *at, int64_t v)
{
	if (is_alone()) { *(int *)at = (int)v; return; }
	mw_needs(at);
	mw_call("write %lu 4 %ld", GLOBAL(at), (long)v);
	mw_call("fence");
}
static int64_t compare_word(void *at, int64_t old, int64_t new)
{
	if (!is_alone()) return mw_ask("cas %lu 4 %ld %ld", GLOBAL(at), (long)old, (long)new);
	int was = *(int *)at;
	if (was == old) *(int *)at = (int)new;
	return was;
}
static int64_t add_word(void *at, int64_t v)
{
	if (!is_alone()) return mw_ask("faa %lu 4 %ld", GLOBAL(at), (long)v);
	int was = *(int *)at;
	*(int *)at = was + (int)v;
	return was;
}
static int belongs_to_library(void *at)
{
	static void *program;
	Dl_info own, found;
	if (!program && dladdr((void *)mw_runs, &own)) program = own.dli_fbase;
	return dladdr(at, &found) && found.dli_fbase != program;
}
/* Begins a call about an object. One thread that waits alone in `main` would wait for ever, so `main` takes part then. */
static void about(void *at)
{
	if (mw_thread < 0) { mw_window(at, 4, 1); return; }
	is_of_library = belongs_to_library(at);
	mw_flush();
	/* Behind the threads it is as they have left it, and then as `main` does. */
	if (mw_thread == EPILOGUE && !is_of_library) { mw_load(at, 4); mw_store(at, at, 4, 0); }
	if (is_alone()) return;
	mw_heap_touch((uintptr_t)at, 4, "uses");
	mw_needs(at);
}
/* A wait in `main` alone never ends. */
static void waits_alone(const char *call)
{
	if (mw_thread < 0 || (mw_thread == EPILOGUE && mw_open)) mw_main_must_take_part(call);
	if (is_of_library) mw_end('x', "%s of a library, which waits for another thread,", call);
	if (mw_thread == EPILOGUE) mw_end('f', "%s waits for ever: all threads have ended", call);
}
static size_t held_at(const void *lock)
{
	size_t i = 0;
	while (i < held_count && held[i].lock != lock) i++;
	return i;
}
static void holds(const void *lock, int64_t times)
{
	size_t i = held_at(lock);
	if (i == held_count) {
		if (held_count == HELD) mw_end('x', "a thread holds more than %d locks", HELD);
		held[held_count].lock = lock;
		held[held_count].is_mutex = held[held_count].is_left = 0;
		held[held_count++].times = 0;
	}
	held[i].times += times;
	if (!held[i].times) held[i] = held[--held_count];
}
/* Returns the number by which functions of C11 name an error. */
static int thrd_of(int why)
{
	return !why ? thrd_success : why == ETIMEDOUT ? thrd_timedout : why == EBUSY ? thrd_busy : thrd_error;
}
/* A word of each object is DESTROYED behind the end of its life. */
enum { DESTROYED = -77 };
static int64_t living(int64_t was, const char *call, const char *what)
{
	if (was == DESTROYED) mw_end('f', "%s of a destroyed %s", call, what);
	return was;
}
/* Ends the life of an object. */
static int destroy_object(void *at, const char *call, const char *what)
{
	about(at);
	living(word(at), call, what);
	set_word(at, DESTROYED);
	return 0;
}
/* Ends the life of an object whose word is 0 unless a thread uses it. */
static int destroy_unused(void *at, const char *call, const char *what)
{
	about(at);
	if (living(compare_word(at, 0, DESTROYED), call, what)) mw_end('f', "%s of a %s in use", call, what);
	return 0;
}
/* Of a mutex the first word is who holds it. A robust one is LEFT if the thread that held it has ended, and LOST if the next one has not
 * made it consistent. */
enum { LEFT = -78, LOST = -79, ROBUST = 16 };
static int data_of(const pthread_mutex_t *m)
{
	if (!is_alone()) mw_load(&m->__data.__kind, sizeof m->__data.__kind);
	return m->__data.__kind;
}
static int kind_of(const pthread_mutex_t *m) { return data_of(m) & 3; }
static int is_robust(const pthread_mutex_t *m) { return data_of(m) & ROBUST; }
/* True if glibc refuses to unlock it where another thread has it, or nobody. */
static int knows_owner(const pthread_mutex_t *m)
{
	int kind = kind_of(m);
	return kind == PTHREAD_MUTEX_RECURSIVE || kind == PTHREAD_MUTEX_ERRORCHECK || is_robust(m);
}
static int64_t owner(void) { return is_alone() ? 1 : (int64_t)(mw_thread + 1); }
static int lock(pthread_mutex_t *m, const char *call, int tries)
{
	about(m);
	if (held_at(m) < held_count) {
		if (kind_of(m) == PTHREAD_MUTEX_RECURSIVE) { holds(m, 1); return 0; }
		if (kind_of(m) == PTHREAD_MUTEX_ERRORCHECK) return tries == TRIES ? EBUSY : EDEADLK;
	}
	int64_t was;
	for (size_t mark = mw_learned(); (was = compare_word(m, 0, owner())); mw_forget(mark)) {
		living(was, call, "mutex");
		if (was == LOST) return ENOTRECOVERABLE;
		if (was == LEFT && compare_word(m, LEFT, owner()) == LEFT) {
			holds(m, 1);
			held[held_at(m)].is_mutex = held[held_at(m)].is_left = 1;
			return EOWNERDEAD;
		}
		if (was == LEFT) continue;
		if (is_awaited_by(tries) && is_alone()) waits_alone(call);
		int why = is_given_up(tries);
		if (why) return why;
	}
	holds(m, 1);
	held[held_at(m)].is_mutex = 1;
	return 0;
}
static int unlock(pthread_mutex_t *m, const char *call)
{
	about(m);
	size_t i = held_at(m);
	if (i == held_count) {
		int64_t was = word(m);
		if (knows_owner(m)) return EPERM;
		if (living(was, call, "mutex")) mw_end('f', "%s of a mutex that thread %ld has locked", call, (long)was);
		mw_end('f', "%s of a mutex that nobody has locked", call);
	}
	int is_last = held[i].times == 1, is_left = held[i].is_left != 0;
	holds(m, -1);
	if (is_last) set_word(m, is_left ? LOST : 0);
	return 0;
}
static int destroy(void *m, const char *call)
{
	about(m);
	int64_t was = living(compare_word(m, 0, DESTROYED), call, "mutex");
	if (was == LEFT || was == LOST) set_word(m, DESTROYED);
	else if (was) mw_end('f', "%s of a mutex that thread %ld has locked", call, (long)was);
	return 0;
}
/* A thread that ends leaves the robust mutexes that it holds. */
static void leaves_locks(void)
{
	for (size_t i = 0; i < held_count; i++) {
		pthread_mutex_t *m = (pthread_mutex_t *)held[i].lock;
		if (!held[i].is_mutex) continue;
		about(m);
		if (is_robust(m)) set_word(m, LEFT);
	}
}
HOOK(int, pthread_mutex_consistent, (pthread_mutex_t *m),
	about(m);
	size_t i = held_at(m);
	if (i == held_count || !held[i].is_left) return EINVAL;
	held[i].is_left = 0;
	return 0;)
HOOK(int, pthread_mutex_init, (pthread_mutex_t *m, const pthread_mutexattr_t *attr),
	pthread_mutex_t own;
	memset(&own, 0, sizeof own);
	int robust = PTHREAD_MUTEX_STALLED;
	if (attr) found(attr, sizeof *attr, "pthread_mutexattr_getrobust", &robust);
	own.__data.__kind = (attr ? *(const int *)attr & 3 : 0) | (robust == PTHREAD_MUTEX_ROBUST ? ROBUST : 0);
	about(m);
	mw_put((char *)m + 4, (char *)&own + 4, sizeof own - 4);
	set_word(m, 0);
	return 0;)
HOOK(int, pthread_mutex_destroy, (pthread_mutex_t *m), return destroy(m, "pthread_mutex_destroy");)
HOOK(int, pthread_mutex_lock, (pthread_mutex_t *m), return lock(m, "pthread_mutex_lock", 0);)
HOOK(int, pthread_mutex_trylock, (pthread_mutex_t *m), return lock(m, "pthread_mutex_trylock", TRIES);)
HOOK(int, pthread_mutex_timedlock, (pthread_mutex_t *m, const struct timespec *t), return lock(m, "pthread_mutex_timedlock", is_time(t) ? UNTIL : NEVER);)
HOOK(int, pthread_mutex_clocklock, (pthread_mutex_t *m, clockid_t clock, const struct timespec *t),
	return is_awaited(clock) ? lock(m, "pthread_mutex_clocklock", is_time(t) ? UNTIL : NEVER) : EINVAL;)
HOOK(int, pthread_mutex_unlock, (pthread_mutex_t *m), return unlock(m, "pthread_mutex_unlock");)
HOOK(int, mtx_init, (mtx_t *m, int kind), return mw_pthread_mutex_init((pthread_mutex_t *)m, kind & mtx_recursive ? &(pthread_mutexattr_t){ .__align = 1 } : NULL);)
HOOK(void, mtx_destroy, (mtx_t *m), destroy(m, "mtx_destroy");)
HOOK(int, mtx_lock, (mtx_t *m), return lock((pthread_mutex_t *)m, "mtx_lock", 0);)
HOOK(int, mtx_trylock, (mtx_t *m), return lock((pthread_mutex_t *)m, "mtx_trylock", TRIES) ? thrd_busy : thrd_success;)
HOOK(int, mtx_timedlock, (mtx_t *m, const struct timespec *t),
	return thrd_of(lock((pthread_mutex_t *)m, "mtx_timedlock", is_time(t) ? UNTIL : NEVER));)
HOOK(int, mtx_unlock, (mtx_t *m), return unlock((pthread_mutex_t *)m, "mtx_unlock");)

#define CONDITION "condition variable"
static void *waiters(void *c) { return (char *)c + 4; }
static void begins_condition(void *c)
{
	about(waiters(c));
	set_word(waiters(c), 0);
	about(c);
	set_word(c, 0);
}
/* True if one thread destroys an object and another one waits at it. A word of it that has no other use stands for that. */
static int is_destroyed(void *word, int destroys) { return !is_alone() && mw_is_shared(word, 4, destroys); }
/* Waits until all have left an object that they have stopped waiting for, as glibc does: its memory may be used otherwise then. The word counts
 * them, if the object is destroyed so. Else counting would only add states. */
static void awaits_leavers(void *at, int64_t count, const char *call)
{
	about(at);
	for (size_t mark = mw_learned(); word(at) != count; mw_forget(mark)) if (is_alone()) waits_alone(call);
}
static int destroy_condition(void *c, const char *call)
{
	about(c);
	living(word(c), call, CONDITION);
	is_destroyed(waiters(waiters(c)), 1);
	awaits_leavers(waiters(c), 0, call);
	return destroy_object(c, call, CONDITION);
}
/* A waiter sleeps until the count of signals changes. It may wake for any signal, and for no reason, which POSIX allows. It leaves before
 * it locks the mutex again if a thread destroys the condition. */
static int wakes(void *c, const char *call)
{
	about(waiters(c));
	if (strstr(call, "signal") && word(waiters(c)) > 1) mw_unsure("a signal for which several threads wait: all of them wake");
	about(c);
	living(add_word(c, 1), call, CONDITION);
	return 0;
}
static int sleeps(void *c, pthread_mutex_t *m, const char *call, int has_end)
{
	about(m);
	if (held_at(m) == held_count && knows_owner(m)) return EPERM;
	about(waiters(c));
	about(c);
	if (is_alone()) waits_alone(call);
	int64_t before = living(word(c), call, CONDITION);
	int leaves_first = is_destroyed(waiters(waiters(c)), 0);
	add_word(waiters(c), 1);
	unlock(m, call);
	int is_late = has_end && is_over(), is_spurious = !is_late && is_over();
	for (size_t mark = mw_learned(); !is_late && !is_spurious && word(c) == before; mw_forget(mark)) {}
	if (leaves_first) add_word(waiters(c), -1);
	int why = lock(m, call, 0);
	if (!leaves_first) add_word(waiters(c), -1);
	return why ? why : is_late ? ETIMEDOUT : 0;
}
HOOK(int, pthread_cond_init, (pthread_cond_t *c, const pthread_condattr_t *a), (void)a; begins_condition(c); return 0;)
HOOK(int, pthread_cond_destroy, (pthread_cond_t *c), return destroy_condition(c, "pthread_cond_destroy");)
HOOK(int, pthread_cond_signal, (pthread_cond_t *c), return wakes(c, "pthread_cond_signal");)
HOOK(int, pthread_cond_broadcast, (pthread_cond_t *c), return wakes(c, "pthread_cond_broadcast");)
HOOK(int, pthread_cond_wait, (pthread_cond_t *c, pthread_mutex_t *m), return sleeps(c, m, "pthread_cond_wait", 0);)
HOOK(int, pthread_cond_timedwait, (pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t),
	return is_time(t) ? sleeps(c, m, "pthread_cond_timedwait", 1) : EINVAL;)
HOOK(int, pthread_cond_clockwait, (pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *t),
	return is_time_of(clock, t) ? sleeps(c, m, "pthread_cond_clockwait", 1) : EINVAL;)
HOOK(int, cnd_init, (cnd_t *c), begins_condition(c); return thrd_success;)
HOOK(void, cnd_destroy, (cnd_t *c), destroy_condition(c, "cnd_destroy");)
HOOK(int, cnd_signal, (cnd_t *c), return wakes(c, "cnd_signal");)
HOOK(int, cnd_broadcast, (cnd_t *c), return wakes(c, "cnd_broadcast");)
HOOK(int, cnd_wait, (cnd_t *c, mtx_t *m), return thrd_of(sleeps(c, (pthread_mutex_t *)m, "cnd_wait", 0));)
HOOK(int, cnd_timedwait, (cnd_t *c, mtx_t *m, const struct timespec *t),
	return thrd_of(is_time(t) ? sleeps(c, (pthread_mutex_t *)m, "cnd_timedwait", 1) : EINVAL);)

/* Waiting for a word, as std::atomic and std::future do. A word of the runtime stands for those who sleep at it. */
enum { SLEEPERS = 64 };
static struct { int signals, waiters; } sleepers[SLEEPERS];
static void *sleepers_of(const void *at) { return &sleepers[(uintptr_t)at / 4 % SLEEPERS]; }
static int futex_wait(void *at, int value, int has_end)
{
	char *s = sleepers_of(at);
	about(waiters(s));
	about(s);
	about(at);
	int64_t before = is_alone() ? 0 : word(s);
	if ((int)word(at) != value) { errno = EAGAIN; return -1; }
	if (is_alone()) waits_alone("futex");
	add_word(waiters(s), 1);
	int is_late = has_end && is_over();
	for (size_t mark = mw_learned(); !is_late && word(s) == before; mw_forget(mark)) {}
	add_word(waiters(s), -1);
	if (is_late) errno = ETIMEDOUT;
	return -is_late;
}
static int futex_wake(void *at, int most)
{
	char *s = sleepers_of(at);
	about(waiters(s));
	about(s);
	if (mw_thread >= 0 && most < INT32_MAX && word(waiters(s)) > most) mw_unsure("a futex for which several threads wait: all of them wake");
	add_word(s, 1);
	return 0;
}
HOOK(long, __mowgli_syscall, (long n, long a, long b, long c, long d, long e, long f),
	if (n == SYS_futex && (b & 15) % 9 == FUTEX_WAIT) return futex_wait((void *)a, (int)c, d != 0);
	if (n == SYS_futex && (b & 15) % 9 == FUTEX_WAKE) return futex_wake((void *)a, (int)c);
	if (n == SYS_gettid) return mw___mowgli_gettid();
	if (n == SYS_getpid) return mw___mowgli_getpid();
	if (mw_thread >= 0) { mw_flush(); mw_end('x', "syscall(%ld) in a thread is not supported", n); }
	return syscall(n, a, b, c, d, e, f);)
#define OF_FUTURES(name) \
	HOOK(int, _ZNSt28__atomic_futex_unsigned_base##name##EPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE, \
		(void *at, unsigned value, char has_end), return futex_wait(at, (int)value, has_end) == 0 || errno != ETIMEDOUT;)
OF_FUTURES(19_M_futex_wait_until) OF_FUTURES(26_M_futex_wait_until_steady)
HOOK(void, _ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj, (void *at), futex_wake(at, INT32_MAX);)

/* A lock for readers and writers: the number of readers, or -1 for a writer. If writers go first, WANTED is added as soon as one waits for
 * readers. Then no reader is added, and the last one leaves the lock to that writer. So it is in glibc if the lock may not be read
 * recursively; of the other two kinds it lets readers pass a writer that waits. */
enum { WANTED = 1 << 30 };
static int writers_go_first(const pthread_rwlock_t *l)
{
	if (!is_alone()) mw_load(&l->__data.__flags, sizeof l->__data.__flags);
	return l->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}
static int read_lock(void *l, const char *call, int tries)
{
	about(l);
	for (size_t mark = mw_learned();; mw_forget(mark)) {
		int64_t was = living(word(l), call, "lock");
		if (was >= 0 && !(was & WANTED)) {
			if (compare_word(l, was, was + 1) == was) break;
			continue;
		}
		if (is_awaited_by(tries) && is_alone()) waits_alone(call);
		int why = is_given_up(tries);
		if (why) return why;
	}
	holds(l, 1);
	return 0;
}
/* Waits as the writer that goes first. */
static int write_lock_wanted(void *l, int tries)
{
	int64_t was;
	for (size_t mark = mw_learned(); (was = word(l)) != -1; mw_forget(mark))
		if (tries && is_over() && compare_word(l, was, was & ~WANTED) == was) return ETIMEDOUT;
	holds(l, -1);
	return 0;
}
static int write_lock(void *l, const char *call, int tries, int goes_first)
{
	about(l);
	int64_t was;
	for (size_t mark = mw_learned(); (was = living(compare_word(l, 0, -1), call, "lock")); mw_forget(mark)) {
		if (tries == TRIES) return EBUSY;
		if (is_alone()) waits_alone(call);
		if (goes_first && was > 0 && !(was & WANTED) && compare_word(l, was, was | WANTED) == was) return write_lock_wanted(l, tries);
		if (tries && is_over()) return ETIMEDOUT;
	}
	holds(l, -1);
	return 0;
}
static void read_unlock(pthread_rwlock_t *l)
{
	if (!writers_go_first(l)) { add_word(l, -1); return; }
	int64_t was;
	for (size_t mark = mw_learned(); was = word(l), compare_word(l, was, was == (WANTED | 1) ? -1 : was - 1) != was; mw_forget(mark)) {}
}
/* True if the thread would wait for itself. */
static int is_own_writer(void *l)
{
	about(l);
	size_t i = held_at(l);
	return i < held_count && held[i].times < 0;
}
HOOK(int, pthread_rwlock_init, (pthread_rwlock_t *l, const pthread_rwlockattr_t *a),
	int kind = PTHREAD_RWLOCK_DEFAULT_NP;
	if (a) found(a, sizeof *a, "pthread_rwlockattr_getkind_np", &kind);
	about(l);
	mw_put(&l->__data.__flags, &kind, sizeof kind);
	set_word(l, 0);
	return 0;)
HOOK(int, pthread_rwlock_destroy, (pthread_rwlock_t *l), return destroy_unused(l, "pthread_rwlock_destroy", "lock");)
HOOK(int, pthread_rwlock_rdlock, (pthread_rwlock_t *l), return is_own_writer(l) ? EDEADLK : read_lock(l, "pthread_rwlock_rdlock", 0);)
HOOK(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *l), return read_lock(l, "pthread_rwlock_tryrdlock", TRIES);)
HOOK(int, pthread_rwlock_wrlock, (pthread_rwlock_t *l), return is_own_writer(l) ? EDEADLK : write_lock(l, "pthread_rwlock_wrlock", 0, writers_go_first(l));)
HOOK(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *l), return write_lock(l, "pthread_rwlock_trywrlock", TRIES, 0);)
#define UNTIL_TIME(name, locks, ...) \
	HOOK(int, pthread_rwlock_timed##name, (pthread_rwlock_t *l, const struct timespec *t), \
		return !is_time(t) ? EINVAL : is_own_writer(l) ? EDEADLK : locks(l, "pthread_rwlock_timed" #name, UNTIL __VA_ARGS__);) \
	HOOK(int, pthread_rwlock_clock##name, (pthread_rwlock_t *l, clockid_t clock, const struct timespec *t), \
		return !is_time_of(clock, t) ? EINVAL : is_own_writer(l) ? EDEADLK : locks(l, "pthread_rwlock_clock" #name, UNTIL __VA_ARGS__);)
UNTIL_TIME(rdlock, read_lock) UNTIL_TIME(wrlock, write_lock, , writers_go_first(l))
HOOK(int, pthread_rwlock_unlock, (pthread_rwlock_t *l),
	about(l);
	size_t i = held_at(l);
	if (i == held_count) mw_end('f', "pthread_rwlock_unlock of a lock that this thread does not hold");
	int writes = held[i].times < 0;
	holds(l, writes ? 1 : -1);
	if (writes) set_word(l, 0); else read_unlock(l);
	return 0;)
HOOK(int, pthread_spin_init, (pthread_spinlock_t *l, int shared), (void)shared; about((void *)l); set_word((void *)l, 0); return 0;)
HOOK(int, pthread_spin_destroy, (pthread_spinlock_t *l), return destroy_unused((void *)l, "pthread_spin_destroy", "lock");)
HOOK(int, pthread_spin_lock, (pthread_spinlock_t *l), return write_lock((void *)l, "pthread_spin_lock", 0, 0);)
HOOK(int, pthread_spin_trylock, (pthread_spinlock_t *l), return write_lock((void *)l, "pthread_spin_trylock", TRIES, 0);)
HOOK(int, pthread_spin_unlock, (pthread_spinlock_t *l),
	about((void *)l);
	if (held_at((void *)l) == held_count) mw_end('f', "pthread_spin_unlock of a lock that this thread does not hold");
	holds((void *)l, 1);
	set_word((void *)l, 0);
	return 0;)

/* A barrier: how many meet, how many have come in all, and how many have left again, which is counted only if somebody destroys it. Who
 * comes as the k-th of n waits until meeting k / n is complete. So threads of a later meeting may come before all have left. */
HOOK(int, pthread_barrier_init, (pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned n),
	(void)a;
	if (!n || n > INT32_MAX) return EINVAL;
	about(b);
	int *words = (int *)b;
	mw_put(words, &n, sizeof n);
	for (int k = 1; k < 3; k++) { about(words + k); set_word(words + k, 0); }
	return 0;)
static int meets(int *words, const char *call)
{
	for (int k = 1; k < 3; k++) about(words + k);
	if (mw_thread >= 0) mw_load(words, sizeof *words);
	if (!*words) mw_end('f', "%s of a barrier that was not initialised", call);
	return *words;
}
HOOK(int, pthread_barrier_destroy, (pthread_barrier_t *b),
	int *words = (int *)b;
	int leaves = is_destroyed(words + 3, 1), n = meets(words, "pthread_barrier_destroy");
	int64_t come = living(word(words + 1), "pthread_barrier_destroy", "barrier");
	if (come % n == 0 && leaves) awaits_leavers(words + 2, come, "pthread_barrier_destroy");
	if (come % n || compare_word(words + 1, come, DESTROYED) != come) mw_end('f', "pthread_barrier_destroy of a barrier in use");
	return 0;)
HOOK(int, pthread_barrier_wait, (pthread_barrier_t *b),
	int *words = (int *)b;
	int n = meets(words, "pthread_barrier_wait"), leaves = is_destroyed(words + 3, 0);
	int64_t before = living(add_word(words + 1, 1), "pthread_barrier_wait", "barrier");
	int is_last = before % n == n - 1;
	if (!is_last && is_alone()) waits_alone("pthread_barrier_wait");
	for (size_t mark = mw_learned(); !is_last && word(words + 1) / n == before / n; mw_forget(mark)) {}
	if (leaves) add_word(words + 2, 1);
	return is_last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;)

static int fails(int why) { errno = why; return -1; }
/* A semaphore is its count. */
static int take(sem_t *s, const char *call, int tries, int has_end)
{
	about(s);
	int64_t was;
	for (size_t mark = mw_learned(); (was = living(word(s), call, "semaphore")) <= 0 || compare_word(s, was, was - 1) != was; mw_forget(mark)) {
		if (was > 0) continue;
		if (tries) { errno = EAGAIN; return -1; }
		if (is_alone()) waits_alone(call);
		if (has_end && is_over()) { errno = ETIMEDOUT; return -1; }
	}
	return 0;
}
/* The second word says that the count began so high that it may reach its maximum. It is compared at each post then. */
static int posts(sem_t *s)
{
	int *words = (int *)s;
	about(s);
	mw_look(words + 1, sizeof *words);
	if (!words[1]) { living(add_word(s, 1), "sem_post", "semaphore"); return 0; }
	int64_t was;
	for (size_t mark = mw_learned(); (was = living(word(s), "sem_post", "semaphore")) != SEM_VALUE_MAX; mw_forget(mark))
		if (compare_word(s, was, was + 1) == was) return 0;
	return fails(EOVERFLOW);
}
HOOK(int, sem_init, (sem_t *s, int shared, unsigned n),
	(void)shared;
	if (n > SEM_VALUE_MAX) return fails(EINVAL);
	int is_high = n > SEM_VALUE_MAX / 2;
	about(s);
	mw_put((int *)s + 1, &is_high, sizeof is_high);
	set_word(s, n);
	return 0;)
HOOK(int, sem_destroy, (sem_t *s), return destroy_object(s, "sem_destroy", "semaphore");)
HOOK(int, sem_wait, (sem_t *s), return take(s, "sem_wait", 0, 0);)
HOOK(int, sem_trywait, (sem_t *s), return take(s, "sem_trywait", 1, 0);)
HOOK(int, sem_timedwait, (sem_t *s, const struct timespec *t), return is_time(t) ? take(s, "sem_timedwait", 0, 1) : fails(EINVAL);)
HOOK(int, sem_clockwait, (sem_t *s, clockid_t clock, const struct timespec *t),
	return is_time_of(clock, t) ? take(s, "sem_clockwait", 0, 1) : fails(EINVAL);)
HOOK(int, sem_post, (sem_t *s), return posts(s);)
HOOK(int, sem_getvalue, (sem_t *s, int *v), about(s); int own = (int)living(word(s), "sem_getvalue", "semaphore"); mw_put(v, &own, sizeof own); return 0;)

/* Once: 0 before, 1 while somebody is at it, 2 behind. */
enum { AT_IT = 1, DONE = 2 };
static int nothing(void *fn, void *none)
{
	(void)none;
	((void (*)(void))fn)();
	return 0;
}
/* Behind an exception another call begins again. */
static void is_thrown(int **open)
{
	if (!*open) return;
	mw_nested = 1;
	about(*open);
	set_word(*open, 0);
	mw_nested = 0;
}
static void once(int *o, void (*fn)(void), const char *call)
{
	about(o);
	int64_t was;
	for (size_t mark = mw_learned(); (was = compare_word(o, 0, AT_IT)) == AT_IT; mw_forget(mark)) if (is_alone()) waits_alone(call);
	if (was) return;
	int *open __attribute__((cleanup(is_thrown))) = o;
	mw_call_program(nothing, (void *)fn, NULL);
	open = NULL;
	about(o);
	set_word(o, DONE);
}
#define CALLS(type, name, parameters, ...) ENTRY_THAT_CALLS(name); type mw_##name parameters { __VA_ARGS__ }
CALLS(int, pthread_once, (pthread_once_t *o, void (*fn)(void)), once((int *)o, fn, "pthread_once"); return 0;)
CALLS(void, call_once, (once_flag *o, void (*fn)(void)), once((int *)o, fn, "call_once");)
/* libstdc++ looks at the number in a std::thread, and clears it. It throws if there is none, or if it is that of the caller. Nothing of
 * the runtime is below it then. */
static uint64_t *joinable(uint64_t *thread, const char *call)
{
	mw_look(thread, sizeof *thread);
	int is_refused = !*thread || (*thread == own_id() && strstr(call, "join"));
	if (!is_refused) return thread;
	mw_nested = 0;
	((void (*)(void *))dlsym(RTLD_NEXT, call))(thread);
	return thread;
}
static void is_no_more(uint64_t *thread)
{
	static const uint64_t none;
	mw_put(thread, &none, sizeof none);
}
CALLS(void, _ZNSt6thread4joinEv, (uint64_t *thread), mw_pthread_join(*joinable(thread, "_ZNSt6thread4joinEv"), NULL); is_no_more(thread);)
CALLS(void, _ZNSt6thread6detachEv, (uint64_t *thread), detaches(*joinable(thread, "_ZNSt6thread6detachEv")); is_no_more(thread);)
/* A variable of a function in C++: its first byte says that it has a value, and the fifth to eighth who gives it one. */
HOOK(int, __cxa_guard_acquire, (char *g),
	about(g + 4);
	for (size_t mark = mw_learned(); compare_word(g + 4, 0, AT_IT); mw_forget(mark)) if (is_alone()) waits_alone("the start of a static variable");
	if (mw_thread >= 0) mw_load(g, 1);
	if (!*g) return 1;
	set_word(g + 4, 0);
	return 0;)
HOOK(void, __cxa_guard_release, (char *g), char one = 1; about(g + 4); mw_put(g, &one, 1); set_word(g + 4, 0);)
HOOK(void, __cxa_guard_abort, (char *g), about(g + 4); set_word(g + 4, 0);)

/* Values of a thread. A key has an odd number while it is used: it grows as the key is made and deleted. A value belongs to the key that
 * had its number when the value was set. */
enum { KEYS = 64 };
static struct { int number; void (*destroy)(void *); } keys[KEYS] __attribute__((aligned(64)));
static __thread void *of_keys[KEYS];
static __thread int numbers_of_values[KEYS];
/* The number of keys from the first one on that the set-up has made. */
static unsigned first_keys;
static int number_of(unsigned k)
{
	mw_look(&keys[k].number, sizeof keys[k].number);
	return keys[k].number;
}
/* Makes or deletes a key that has this number, and returns whether it had it. */
static int counts_key(unsigned k, int number)
{
	about(&keys[k].number);
	return compare_word(&keys[k].number, number, number + 1) == number;
}
static int new_key(unsigned *to, void (*destroy)(void *))
{
	unsigned k = mw_thread < 0 ? 0 : first_keys;
	for (; k < KEYS; k++) {
		int number = number_of(k);
		if (!(number & 1) && counts_key(k, number)) break;
	}
	if (k == KEYS) mw_end('x', "more than %d keys for values of threads", KEYS);
	mw_put(&keys[k].destroy, &destroy, sizeof destroy);
	mw_put(to, &k, sizeof k);
	if (mw_thread < 0 && k >= first_keys) first_keys = k + 1;
	return 0;
}
static int no_key(unsigned k)
{
	int number = k < KEYS ? number_of(k) : 0;
	return number & 1 && counts_key(k, number) ? 0 : EINVAL;
}
static int sets_value(unsigned k, const void *v)
{
	int number = k < KEYS ? number_of(k) : 0;
	if (!(number & 1)) return EINVAL;
	mw_put(&of_keys[k], &v, sizeof v);
	mw_put(&numbers_of_values[k], &number, sizeof number);
	return 0;
}
static void *value_of(unsigned k)
{
	return k < KEYS && of_keys[k] && numbers_of_values[k] == number_of(k) ? of_keys[k] : NULL;
}
HOOK(int, pthread_key_create, (pthread_key_t *k, void (*destroy)(void *)), return new_key(k, destroy);)
HOOK(int, pthread_key_delete, (pthread_key_t k), return no_key(k);)
HOOK(int, pthread_setspecific, (pthread_key_t k, const void *v), return sets_value(k, v);)
HOOK(void *, pthread_getspecific, (pthread_key_t k), return value_of(k);)
HOOK(int, tss_create, (tss_t *k, tss_dtor_t destroy), return new_key(k, destroy) ? thrd_error : thrd_success;)
HOOK(void, tss_delete, (tss_t k), no_key(k);)
HOOK(int, tss_set, (tss_t k, void *v), return thrd_of(sets_value(k, v));)
HOOK(void *, tss_get, (tss_t k), return value_of(k);)

int mw_threads_run(void) { return mw_thread >= 0 && mw_thread != EPILOGUE && (!mw_is_main() || mw_open); }
HOOK(int, __mowgli_munmap, (void *at, size_t n),
	mw_window(at, n, 1);
	if (mw_thread >= 0) mw_flush();
	/* The runtime keeps words that others use. */
	if (mw_threads_run() && mw_is_used_by_others(at, n)) {
		mw_unsure("munmap of memory that other threads use");
		return 0;
	}
	if (mw_thread >= 0) mw_unmaps((uintptr_t)at, n);
	return munmap(at, n);)
/* Calls of which nothing is seen, and that change what memory is: of `main` that matters where its threads may run, or use it. */
#define CHANGES(name, parameters, arguments, at, n) \
	HOOK(long, __mowgli_##name, parameters, \
		mw_window(at, n, 1); \
		if (mw_thread >= 0) mw_flush(); \
		if (mw_threads_run() || (mw_thread >= 0 && (n) && mw_is_used_by_others(at, n))) mw_unsure(#name); \
		return ((long (*) parameters)dlsym(RTLD_NEXT, #name)) arguments;)
CHANGES(mmap, (void *at, size_t n, int may, int how, int file, long from), (at, n, may, how, file, from), at, how & MAP_FIXED ? n : 0)
CHANGES(mmap64, (void *at, size_t n, int may, int how, int file, long from), (at, n, may, how, file, from), at, how & MAP_FIXED ? n : 0)
CHANGES(mprotect, (void *at, size_t n, int may), (at, n, may), at, n)
CHANGES(madvise, (void *at, size_t n, int advice), (at, n, advice), at, n)
CHANGES(mremap, (void *at, size_t n, size_t m, int how, void *to), (at, n, m, how, to), at, n)

/* Waiting for time: a thread may wait for as short or as long as it likes. */
static int yields(void)
{
	if (mw_thread < 0) return 0;
	mw_flush();
	if (mw_waits(0)) mw_end('l', "a loop that waits for time");
	return 0;
}
HOOK(int, __mowgli_sched_yield, (void), return yields();)
HOOK(void, __mowgli_thrd_yield, (void), yields();)
HOOK(int, __mowgli_usleep, (unsigned n), (void)n; return yields();)
HOOK(unsigned, __mowgli_sleep, (unsigned n), (void)n; return (unsigned)yields();)
/* A clock by which nobody sleeps is not the same to Linux as one that does not exist. */
static int sleeps_by(clockid_t clock, const struct timespec *t)
{
	if (mw_thread >= 0) mw_flush();
	if (clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE) return ENOTSUP;
	if (clock == CLOCK_THREAD_CPUTIME_ID || clock_getres(clock, NULL)) return EINVAL;
	mw_look(&t->tv_sec, sizeof t->tv_sec);
	if (!is_time(t) || t->tv_sec < 0) return EINVAL;
	return yields();
}
HOOK(int, __mowgli_nanosleep, (const struct timespec *t, void *left), (void)left; int why = sleeps_by(CLOCK_REALTIME, t); return why ? fails(why) : 0;)
HOOK(int, __mowgli_thrd_sleep, (const struct timespec *t, void *left), (void)left; return sleeps_by(CLOCK_REALTIME, t) ? -2 : 0;)
HOOK(int, __mowgli_clock_nanosleep, (clockid_t clock, int flags, const struct timespec *t, void *left), (void)flags; (void)left; return sleeps_by(clock, t);)
/* Time: a call in a thread may be much later than the one before, or at the same time. In the set-up it passes slowly, and is the same in
 * each run. */
enum { LATER = 8 };
static struct { int64_t nanoseconds, later; } now = { 1000000000000000000, 0 };
static int64_t time_is(const char *call)
{
	if (mw_thread < 0 || mw_thread == EPILOGUE) return now.nanoseconds += 1000000;
	mw_flush();
	if (now.later == LATER) { mw_unsure(call); return now.nanoseconds; }
	if (is_over()) { now.nanoseconds += 1000000000000000; now.later++; }
	return now.nanoseconds;
}
static void put_time(long *to, const char *call, long divides)
{
	int64_t at = time_is(call);
	long both[2] = { at / 1000000000, at % 1000000000 / divides };
	mw_put(to, both, sizeof both);
}
HOOK(int, __mowgli_clock_gettime, (clockid_t c, struct timespec *to),
	if (mw_thread >= 0) mw_flush();
	if (clock_getres(c, NULL)) return -1;
	put_time((long *)to, "clock_gettime", 1);
	return 0;)
HOOK(int, __mowgli_timespec_get, (struct timespec *to, int base), if (mw_thread >= 0) mw_flush(); if (base != TIME_UTC) return 0; put_time((long *)to, "timespec_get", 1); return base;)
HOOK(int, __mowgli_gettimeofday, (void *to, void *zone), (void)zone; put_time(to, "gettimeofday", 1000); return 0;)
HOOK(time_t, __mowgli_time, (time_t *to),
	time_t at = time_is("time") / 1000000000;
	if (to) mw_put(to, &at, sizeof at);
	return at;)
HOOK(clock_t, __mowgli_clock, (void), return time_is("clock") / 1000 % 1000000000000;)
HOOK(int64_t, _ZNSt6chrono3_V212steady_clock3nowEv, (void), return time_is("steady_clock::now");)
HOOK(int64_t, _ZNSt6chrono3_V212system_clock3nowEv, (void), return time_is("system_clock::now");)

/* How a thread ends otherwise. */
enum { ENDS = 64 };
static struct { void *fn, *arg; } at_end[ENDS], at_exit[ENDS];
static size_t at_end_count, at_exit_count;
/* The number of keys that the end of the thread has gone through, in all rounds. */
static int keys_done;
static void *run(void *fn, void *arg);
/* The last thread ends the program if `main` has left, so the rest of `main` comes behind the other threads of the process. */
static void waits_for_others(void)
{
	int64_t has_ended = 0;
	for (int k = 0; has_ended >= 0; k++) for (size_t mark = mw_learned(); !(has_ended = mw_ask("other %d", k)); mw_forget(mark)) {}
	mw_open = 0;
}
/* The program may have ended before a thread that it does not wait for. `main` that is no thread has code behind those that it joins, so
 * that the thread may go on beside that. */
int mw_is_over(void)
{
	int64_t has_ended = 1;
	for (int k = 0; has_ended > 0; k++) has_ended = mw_ask("over %d", k);
	return has_ended < 0 && (mw_main || is_over());
}
static void ends_value(unsigned k)
{
	void *v = value_of(k), *none = NULL;
	if (v) mw_load(&keys[k].destroy, sizeof(void *));
	if (!v || !keys[k].destroy) return;
	mw_put(&of_keys[k], &none, sizeof none);
	run((void *)keys[k].destroy, v);
	mw_flush();
}
__attribute__((noreturn)) static void ends(void *result)
{
	mw_nested = 0;
	mw_flush();
	while (at_end_count) { at_end_count--; run(at_end[at_end_count].fn, at_end[at_end_count].arg); mw_flush(); }
	/* A destructor may set values again. */
	for (; keys_done < KEYS * PTHREAD_DESTRUCTOR_ITERATIONS; keys_done++) ends_value((unsigned)keys_done % KEYS);
	leaves_locks();
	if (!mw_is_main() && !joins_all) leaves_own_threads();
	uintptr_t base = mw_base;
	mw_enters_nowhere();
	mw_learn("end", 3);
	mw_call("ended %ld", (long)(intptr_t)result);
	if (!mw_is_main()) mw_ended("");
	waits_for_others();
	mw_base = base;
	exit(0);
}
/* `thread_local` variables have destructors. Those of `main` belong to libc. */
HOOK(int, __cxa_thread_atexit, (void (*fn)(void *), void *arg, void *object),
	if (mw_thread < 0 || mw_thread == EPILOGUE || mw_is_main()) {
		int (*own)(void (*)(void *), void *, void *) = (int (*)(void (*)(void *), void *, void *))dlsym(RTLD_NEXT, "__cxa_thread_atexit_impl");
		return own(fn, arg, object);
	}
	mw_flush();
	if (at_end_count == ENDS) mw_end('x', "a thread has more than %d variables with destructors", ENDS);
	at_end[at_end_count].fn = (void *)fn;
	at_end[at_end_count++].arg = arg;
	return 0;)
/* What libc calls at the end of the program, as far as threads say it. */
static void will_call(void *fn, void *arg)
{
	if (mw_thread < 0) return;
	mw_flush();
	if (mw_thread != EPILOGUE && !mw_is_main()) mw_unsure("a function for the end of the program, which a thread registers");
	if (at_exit_count == ENDS) mw_end('x', "a thread registers more than %d functions for the end of the program", ENDS);
	at_exit[at_exit_count].fn = fn;
	at_exit[at_exit_count++].arg = arg;
}
HOOK(int, __mowgli_atexit, (void (*fn)(void)), will_call((void *)fn, NULL); return atexit(fn);)
HOOK(int, __mowgli_at_quick_exit, (void (*fn)(void)), will_call((void *)fn, at_exit); return at_quick_exit(fn);)
HOOK(int, __mowgli_on_exit, (void (*fn)(int, void *), void *arg), will_call((void *)fn, arg); return on_exit(fn, arg);)
extern int __cxa_atexit(void (*)(void *), void *, void *);
HOOK(int, __mowgli___cxa_atexit, (void (*fn)(void *), void *arg, void *object), will_call((void *)fn, arg); return __cxa_atexit(fn, arg, object);)

static __pthread_unwind_buf_t *cleanups[ENDS];
static size_t cleanup_count;
static void *leaves_with;
static void ends_state(void)
{
	mw_state(at_end, at_end_count * sizeof *at_end);
	mw_state(at_exit, at_exit_count * sizeof *at_exit);
	mw_state(cleanups, cleanup_count * sizeof *cleanups);
	mw_state(&leaves_with, sizeof leaves_with);
	mw_state(&keys_done, sizeof keys_done);
	mw_state(&now, sizeof now);
}
/* pthread_exit runs the handlers of pthread_cleanup_push, and destructors of C++ in all frames of the thread. */
HOOK(void, __pthread_register_cancel, (__pthread_unwind_buf_t *b),
	if (mw_thread >= 0) mw_flush();
	if (cleanup_count == ENDS) mw_end('x', "a thread has more than %d cleanup handlers", ENDS);
	cleanups[cleanup_count++] = b;)
HOOK(void, __pthread_unregister_cancel, (__pthread_unwind_buf_t *b), (void)b; if (mw_thread >= 0) mw_flush(); cleanup_count--;)
void mowgli_leaves(void *result);
ENTRY(mowgli_leaves);
void mw_mowgli_leaves(void *result)
{
	mw_ready();
	if (mw_thread < 0 && mw_main) mw_serve();
	if (mw_thread < 0 || mw_thread == EPILOGUE) mw_main_must_take_part("pthread_exit in `main`");
	mw_flush();
	leaves_with = result;
}
static _Unwind_Reason_Code leaves_frame(int version, _Unwind_Action does, _Unwind_Exception_Class class, struct _Unwind_Exception *e,
	struct _Unwind_Context *frame, void *none)
{
	(void)version, (void)class, (void)e, (void)none;
	if (does & _UA_END_OF_STACK || _Unwind_GetCFA(frame) > mw_base) ends(leaves_with);
	return _URC_NO_REASON;
}
__attribute__((noreturn)) static void leaves(void)
{
	static struct _Unwind_Exception e;
	if (cleanup_count) longjmp((struct __jmp_buf_tag *)cleanups[--cleanup_count], 1);
	memset(&e, 0, sizeof e);
	_Unwind_ForcedUnwind(&e, leaves_frame, NULL);
	ends(leaves_with);
}
void pthread_exit(void *result) { mowgli_leaves(result); leaves(); }
void thrd_exit(int result) { pthread_exit((void *)(intptr_t)result); }
void __pthread_unwind_next(__pthread_unwind_buf_t *b) { (void)b; mowgli_leaves(leaves_with); leaves(); }
HOOK(void, __mowgli___assert_fail, (const char *what, const char *file, unsigned at, const char *function),
	mw_ready();
	mw_beside_threads("an assertion of `main` that fails while its threads run");
	if (mw_thread < 0) { fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, at, function, what); abort(); }
	mw_flush(); mw_end('f', "assertion `%s' failed", what);)
/* An index that is not one of its array: see compile.rs. The compiler says where the array is used, of what type it is, and of what its index. */
struct index_use { const char *file; unsigned line, column; const struct { unsigned short kind, info; char name[]; } *array, *index; };
HOOK(void, __ubsan_handle_out_of_bounds, (const struct index_use *use, long index),
	mw_ready();
	mw_beside_threads("an index of `main` that is wrong while its threads run");
	if (mw_thread < 0) { fprintf(stderr, "%s:%u: index %ld of an array %s\n", use->file, use->line, index, use->array->name); abort(); }
	mw_flush(); mw_end('f', "index %ld of an array %s", index, use->array->name);)
HOOK(void, __mowgli_abort, (void), mw_ready(); mw_beside_threads("abort in `main` while its threads run"); if (mw_thread < 0) abort(); mw_flush(); mw_end('f', "abort() is called");)
static void leaves_program(int code, const char *call)
{
	mw_nested = 0;
	if (!strcmp(call, "exit")) exit(code);
	if (!strcmp(call, "quick_exit")) quick_exit(code);
}
static void exits(int code, const char *call)
{
	if (mw_thread < 0 && getpid() != mw_process) { leaves_program(code, call); _exit(code); }
	mw_ready();
	/* Functions that the program has for its end may still join its threads. */
	if (call[0] == '_' || !mw_is_main()) mw_leaves_threads();
	if (mw_thread < 0) mw_serve();
	mw_flush();
	if ((mw_thread == EPILOGUE || mw_is_main()) && code == 0) { leaves_program(code, call); mw_ended(""); }
	if (!code) mw_end('x', "%s(0) in a thread, which stops the others where they are, is not supported", call);
	mw_end('f', "%s(%d) is called", call, code);
}
HOOK(void, __mowgli_exit, (int code), exits(code, "exit");)
HOOK(void, __mowgli__exit, (int code), exits(code, "_exit");)
HOOK(void, __mowgli__Exit, (int code), exits(code, "_Exit");)
HOOK(void, __mowgli_quick_exit, (int code), exits(code, "quick_exit");)

/* What nobody may do: it starts, stops or waits for threads in ways that are not part of the model. */
#define REFUSES(name) \
	ENTRY(name); \
	void mw_##name(void) { if (mw_thread >= 0) mw_flush(); mw_end('x', #name " is not supported"); }
REFUSES(GOMP_parallel) REFUSES(GOMP_parallel_reductions) REFUSES(GOMP_parallel_sections) REFUSES(GOMP_parallel_loop_static)
REFUSES(GOMP_parallel_loop_dynamic) REFUSES(GOMP_parallel_loop_guided) REFUSES(GOMP_parallel_loop_runtime)
REFUSES(GOMP_parallel_loop_nonmonotonic_dynamic) REFUSES(GOMP_parallel_loop_nonmonotonic_guided)
REFUSES(GOMP_parallel_loop_nonmonotonic_runtime) REFUSES(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
REFUSES(GOMP_task) REFUSES(GOMP_barrier) REFUSES(__kmpc_fork_call) REFUSES(clone) REFUSES(pthread_cancel)
REFUSES(pthread_kill) REFUSES(pthread_getcpuclockid) REFUSES(sem_open)
/* A thread may look where its stack is. The stacks of threads here are not those of libc, and only `main` has its own. */
HOOK(int, pthread_getattr_np, (pthread_t t, pthread_attr_t *to),
	if (mw_thread >= 0) mw_flush();
	if (mw_thread >= 0 || t != own_id()) mw_end('x', "pthread_getattr_np of a thread is not supported; give it what pthread_create was given");
	return OF_LIBC(pthread_getattr_np)(OF_LIBC(pthread_self)(), to);)
/* What changes nothing that a program computes. libc would take the number of a thread for an address. */
/* The most bytes of a name, with its end. */
enum { NAME = 16 };
HOOK(int, pthread_setname_np, (pthread_t t, const char *name),
	char last = 1;
	(void)t;
	for (int k = 0; last && k < NAME; k++) { mw_look(name + k, 1); last = name[k]; }
	return last ? ERANGE : 0;)
HOOK(int, pthread_getname_np, (pthread_t t, char *to, size_t n),
	(void)t;
	if (mw_thread >= 0) mw_flush();
	if (n < NAME) return ERANGE;
	if (mw_thread >= 0) mw_unsure("the name of a thread");
	mw_put(to, "", 1);
	return 0;)
/* What threads may not do: chance, signals and other processes are not part of the model. */
#define LACKS(name) \
	ENTRY(__mowgli_##name); \
	long mw___mowgli_##name(void) \
	{ \
		if (mw_thread >= 0) { mw_flush(); mw_end('x', #name " in a thread is not supported: it depends on chance"); } \
		return ((long (*)(void))dlsym(RTLD_NEXT, #name))(); \
	}
LACKS(rand) LACKS(random) LACKS(lrand48) LACKS(mrand48)
#define LACKS_IN_THREADS(name) \
	__asm__(".text\n.globl __mowgli_" #name "\n__mowgli_" #name ":\ncmpl $0, mw_thread(%rip)\njl " #name "\njmp mw_refused_" #name "\n"); \
	ENTRY(mw_refused_##name); \
	void mw_mw_refused_##name(void) { mw_flush(); mw_end('x', #name " in a thread is not supported"); }
LACKS_IN_THREADS(drand48) LACKS_IN_THREADS(getrandom) LACKS_IN_THREADS(fork) LACKS_IN_THREADS(vfork)
LACKS_IN_THREADS(system) LACKS_IN_THREADS(popen) LACKS_IN_THREADS(execl) LACKS_IN_THREADS(execlp) LACKS_IN_THREADS(execv)
LACKS_IN_THREADS(execvp) LACKS_IN_THREADS(execve) LACKS_IN_THREADS(signal) LACKS_IN_THREADS(sigaction) LACKS_IN_THREADS(raise)
LACKS_IN_THREADS(kill) LACKS_IN_THREADS(alarm) LACKS_IN_THREADS(setitimer) LACKS_IN_THREADS(pause) LACKS_IN_THREADS(sigwait)
LACKS_IN_THREADS(makecontext) LACKS_IN_THREADS(setcontext) LACKS_IN_THREADS(swapcontext)
LACKS_IN_THREADS(sigsuspend) LACKS_IN_THREADS(wait) LACKS_IN_THREADS(waitpid)

HOOK(int, __mowgli_rand_r, (unsigned *seed),
	if (mw_thread >= 0) mw_load(seed, sizeof *seed);
	unsigned own = *seed;
	int v = rand_r(&own);
	mw_put(seed, &own, sizeof own);
	return v;)
/* An exception that is thrown again is memory of libstdc++, which only the thread that has thrown it has. */
#define RETHROW "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE"
__asm__(".text\n.weak " RETHROW "\n.globl __mowgli_" RETHROW "\n__mowgli_" RETHROW ":\npushq %rdi\ncall mw_may_rethrow\npopq %rdi\njmp " RETHROW "\n");
__attribute__((used)) void mw_may_rethrow(void *const *e)
{
	if (mw_thread < 0 || !mw_is_in_other_heap((uintptr_t)*e)) return;
	mw_flush();
	mw_end('x', "an exception of another thread that is thrown again is not supported");
}

/* Functions that the set-up finds by their names are called without one. */
static uint64_t found_at;
HOOK(void *, __mowgli_dlsym, (void *library, const char *name),
	if (mw_thread < 0) found_at = mw_regs[RETURN];
	else { mw_flush(); mw_unsure("dlsym"); }
	return dlsym(library, name);)

/* The thread-local variables of the program. A compiler that knows that no other thread has their addresses leaves out the hooks. */
static size_t variables_size;
/* Functions within functions need stacks with code. */
static int stacks_may = PROT_READ | PROT_WRITE;
static int finds_variables(struct dl_phdr_info *of, size_t size, void *none)
{
	(void)size, (void)none;
	for (int i = 0; i < of->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &of->dlpi_phdr[i];
		if (p->p_type == PT_TLS) variables_size = (p->p_memsz + p->p_align - 1) / p->p_align * p->p_align;
		if (p->p_type == PT_GNU_STACK && p->p_flags & PF_X) stacks_may |= PROT_EXEC;
	}
	/* The first one is the program, whose variables are just below the thread pointer. */
	return 1;
}
static uintptr_t variables(void)
{
	uintptr_t pointer;
	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer - variables_size;
}
void mw_variables_state(void) { mw_state((void *)variables(), variables_size); }

/* Running a thread: on a stack of its own, with variables of its own, so that their addresses are different in each thread. */
enum { STACK = 8 << 20 };
static char *stacks;
/* Those of `main`, and the end of its stack. */
static uintptr_t variables_of_main, end_of_main;
void mw_threads_begin(uintptr_t end)
{
	dl_iterate_phdr(finds_variables, NULL);
	stacks = mmap(NULL, (size_t)THREADS * STACK, stacks_may, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED) mw_end('x', "no memory for the stacks of threads");
	variables_of_main = variables();
	end_of_main = end;
}
uintptr_t mw_end_of_stack(void) { return (uintptr_t)stacks + (size_t)(mw_thread + 1) * STACK; }
int mw_is_on_a_stack(uintptr_t at)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	return (stacks && at - (uintptr_t)stacks < (size_t)THREADS * STACK) || at - (here - STACK) < 2 * STACK || at - variables() < variables_size;
}
int mw_is_in_other_frame(uintptr_t at, int writes)
{
	size_t offset = at - (uintptr_t)stacks;
	if (stacks && offset < (size_t)THREADS * STACK) return (int)(offset / STACK) != mw_thread;
	int is_of_other = mw_thread != EPILOGUE && (mw_main ? mw_thread > 0 : writes);
	return is_of_other && (end_of_main - at < STACK || at - variables_of_main < variables_size);
}
int mw_is_on_stack(uintptr_t at)
{
	if (mw_thread == EPILOGUE) return 0;
	if (mw_is_main()) return at < mw_base && at + STACK > mw_base;
	return at < mw_base && stacks && at - (uintptr_t)stacks - (size_t)mw_thread * STACK < STACK;
}
/* The frames above this one belong to the thread; those below depend on the request, and are no part of its state. So do the
 * registers that a call preserves. */
__attribute__((noinline)) static void *run(void *fn, void *arg)
{
	__asm__ volatile("pushq %%rbp\npushq %%rbp\nmovq %%rsp, mw_base(%%rip)\nxorl %%ebp, %%ebp\nxorl %%ebx, %%ebx\nxorl %%r12d, %%r12d\nxorl %%r13d, %%r13d\nxorl %%r14d, %%r14d\nxorl %%r15d, %%r15d\ncall *%%rax\npopq %%rbp\npopq %%rbp"
		: "+a"(fn), "+D"(arg) : : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	return fn;
}
static int number;
static void *begins(void *none)
{
	(void)none;
	void *fn = NULL, *arg = NULL;
	mw_thread = number;
	mw_nested = 0;
	mw_catches();
	mw_settings_begin(self);
	if (mw_thread < mw_thread_count) {
		fn = (void *)threads[mw_thread].fn;
		arg = threads[mw_thread].arg;
	} else {
		mw_enters_nowhere();
		for (size_t mark = mw_learned(); !(fn = (void *)(uintptr_t)mw_ask("started")); mw_forget(mark)) {}
		arg = (void *)(intptr_t)mw_ask("argument");
		/* libstdc++ reads the table of the object that is to run, which another thread has made. */
		if (belongs_to_library(fn)) mw_load(arg, sizeof(void *));
	}
	ends(run(fn, arg));
}
/* Starts a thread of libc on the stack of a thread of the program, where it gives `__thread` variables their first values. */
static pthread_t starts_on(int thread, void *(*fn)(void *))
{
	pthread_attr_t attr;
	pthread_t own;
	OF_LIBC(pthread_attr_init)(&attr);
	OF_LIBC(pthread_attr_setstack)(&attr, stacks + (size_t)thread * STACK, STACK);
	if (OF_LIBC(pthread_create)(&own, &attr, fn, NULL)) mw_end('x', "a thread cannot be started");
	return own;
}
static void joins(pthread_t own) { OF_LIBC(pthread_join)(own, NULL); }
static void *does_nothing(void *none) { return none; }
void mw_has_first_values(uintptr_t at)
{
	static char is_known[THREADS];
	size_t thread = (at - (uintptr_t)stacks) / STACK;
	if (at < (uintptr_t)stacks || thread >= THREADS || is_known[thread]) return;
	is_known[thread] = 1;
	joins(starts_on((int)thread, does_nothing));
}
void mw_runs(int thread, uint64_t id, int node)
{
	if (thread != EPILOGUE && thread >= THREADS) mw_end('x', "more than %d threads", THREADS);
	self = id;
	my_node = node;
	number = thread;
	if (found_at) { mw_regs[RETURN] = found_at; mw_unsure("dlsym"); }
	if (thread == EPILOGUE || (mw_main && !thread)) {
		mw_thread = thread;
		mw_catches();
		return;
	}
	joins(starts_on(thread, begins));
	_exit(0);
}
