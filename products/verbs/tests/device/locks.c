/* A lock for readers and writers. KIND says who goes first, AGAIN how the reader locks again, and WRITES how the writer locks. */
#define _GNU_SOURCE
#include <mowgli.h>
#include <pthread.h>
#include <time.h>

#ifdef KIND
static pthread_rwlock_t l;
#else
static pthread_rwlock_t l = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#endif
static struct timespec end;
static int n;

static void *reads(void *none)
{
	(void)end;
	pthread_rwlock_rdlock(&l);
	int why = AGAIN;
	mowgli_outcome("again", why);
	if (!why) pthread_rwlock_unlock(&l);
	pthread_rwlock_unlock(&l);
	return none;
}
static void *writes(void *none)
{
	int why = WRITES;
	mowgli_outcome("writes", why);
	if (why) return none;
	n++;
	pthread_rwlock_unlock(&l);
	return none;
}
int main(void)
{
#ifdef KIND
	pthread_rwlockattr_t first;
	pthread_rwlockattr_init(&first);
	pthread_rwlockattr_setkind_np(&first, KIND);
	pthread_rwlock_init(&l, &first);
#endif
	mowgli_node(1, reads, 0);
	for (int k = 0; k < WRITERS; k++) mowgli_node(1, writes, 0);
	mowgli_join();
	mowgli_outcome("n", n);
}
