/* Wrong uses of memory and of locks. The statement A is that of one thread, and B that of another. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
static char *p;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static __attribute__((unused)) void *starts(void *none) { return none; }
static void *one(void *none) { A; return none; }
static void *other(void *none) { B; return none; }
int main(void)
{
	pthread_t t, u;
	p = malloc(16);
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	pthread_create(&t, 0, one, 0);
	pthread_create(&u, 0, other, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
