/* What `main` does while its thread runs. The first argument says which. */
#define _GNU_SOURCE
#include <assert.h>
#include <mowgli.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
static void *reads(void *at) { mowgli_outcome("n", *(volatile int *)at); return NULL; }
static volatile int asked;
static void *asks(void *none)
{
	const char *text = getenv("MOWGLI_TEST");
	mowgli_outcome("n", text ? text[0] - '0' : 0);
	asked = 1;
	return none;
}
int main(int count, char **all)
{
	pthread_t t;
	int *heap = malloc(sizeof *heap), *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char what = count > 1 ? all[1][0] : 0;
	*heap = *map = 3;
	if (what == 'c') setenv("MOWGLI_TEST", "1", 1);
	pthread_create(&t, NULL, what == 'e' || what == 'c' ? asks : reads, what == 'f' || what == 'r' || what == 'h' ? heap : map);
	switch (what) {
	case 'e': setenv("MOWGLI_TEST", "1", 1); break;
	case 'm': madvise(map, 4096, MADV_DONTNEED); break;
	case 'x': mmap(map, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); break;
	case 'u': munmap(map, 4096); break;
	case 'p': mprotect(map, 4096, PROT_NONE); break;
	case 'f': free(heap); break;
	case 'r': heap = realloc(heap, 100000); break;
	case 'a': abort();
	case 's': assert(what == 0); break;
	case 'z': *(volatile int *)8 = 1; break;
	case 'h': setenv("MOWGLI_TEST", "1", 1), madvise(map, 4096, MADV_DONTNEED), free(malloc(8)); break;
	case 'c': while (!asked) {} break;
	case 'b': case 'd':
		/* Nothing runs beside this. */
		pthread_join(t, NULL);
		setenv("MOWGLI_TEST", "1", 1), setenv("MOWGLI_TEST", "4", 0), putenv("MOWGLI_TESTS=3");
		if (what == 'd') setenv("MOWGLI_TEST", "2", 1), unsetenv("MOWGLI_TEST"), madvise(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096, MADV_DONTNEED);
		pthread_create(&t, NULL, asks, NULL);
		break;
	}
	pthread_join(t, NULL);
	return 0;
}
