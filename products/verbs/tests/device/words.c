/* Words that are used in parts, in pieces, or unseen. Case K says which. */
#define _GNU_SOURCE
#include "node.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/shm.h>

#if K == 1 /* memcpy of twelve bytes may begin with the last ones */
static struct __attribute__((packed, aligned(8))) { uint64_t data; uint32_t flag; } s;
static void *writes(void *none) { __atomic_store_n(&s.flag, 1, 0); __atomic_store_n(&s.data, 1, 0); return none; }
static void *reads(void *none)
{
	struct __attribute__((packed)) { uint64_t data; uint32_t flag; } own;
	memcpy(&own, &s, 12);
	mowgli_outcome("flag", own.flag);
	mowgli_outcome("data", (int64_t)own.data);
	return none;
}
#elif K == 16 /* memcpy of N bytes may move the second half from its end */
static uint64_t to[N / 8], from[N / 8];
static void *writes(void *none) { for (size_t k = 0; k < N / 8; k++) from[k] = 1; memcpy(to, from, N); return none; }
static void *reads(void *none)
{
	uint64_t later = ((volatile uint64_t *)to)[N / 8 - 1], earlier = ((volatile uint64_t *)to)[N / 8 - 5];
	mowgli_outcome("later", (int64_t)later);
	mowgli_outcome("earlier", (int64_t)earlier);
	return none;
}
#elif K == 2 /* half of a word is read */
static union { _Atomic uint64_t word; struct { uint32_t lock, version; } halves; } u;
static void *writes(void *none) { uint64_t old = 0; atomic_compare_exchange_strong(&u.word, &old, (1ul << 32) + 1); return none; }
static void *reads(void *none) { mowgli_outcome("version", *(volatile uint32_t *)&u.halves.version); return none; }
#elif K == 3 /* two bit-fields of one byte */
static struct { unsigned a : 3, b : 5; } s;
static void *writes(void *none) { s.a = 5; return none; }
static void *reads(void *none) { s.b = 9; mowgli_outcome("a", s.a); return none; }
#elif K == 4 /* an unsigned sum beyond the signed numbers */
static atomic_uint n = 0x7ffffffe;
static void *writes(void *none) { atomic_fetch_add(&n, 10); return none; }
static void *reads(void *none) { mowgli_outcome("n", (int64_t)n - 0x7ffffffe); return none; }
#elif K == 5 /* a sum in a vector register */
static uint64_t x;
static void *writes(void *none) { __atomic_store_n(&x, 1, 0); return none; }
static void *reads(void *none)
{
	double sum = 0;
	for (int i = 0; i < 3; i++) {
		uint64_t v;
		__asm__ volatile("movq (%1), %0" : "=r"(v) : "r"(&x) : "memory");
		sum = sum * 2 + (double)v;
	}
	mowgli_outcome("sum", (int64_t)sum);
	return none;
}
#elif K == 6 /* a stream over memory of the program */
static char text[16];
static FILE *stream;
static volatile int is_over;
static void *writes(void *none) { fputc('A', stream); fflush(stream); is_over = 1; return none; }
static void *reads(void *none) { while (!is_over) {} mowgli_outcome("c", *(volatile char *)text); return none; }
#elif K == 7 /* assembly in the syntax of Intel */
static volatile uint64_t x;
static void *writes(void *none) { x = 1; return none; }
static void *reads(void *none)
{
	uint64_t v;
	__asm__ volatile(".intel_syntax noprefix\n mov %0, [%1]\n .att_syntax prefix" : "=r"(v) : "r"(&x) : "memory");
	return none;
}
#elif K == 8 /* memory of an operation is written again before its completion, and nobody reads its target */
static uint64_t here[2], there[2];
static struct node one, two;
static struct ibv_qp *qp, *other;
static void *writes(void *none)
{
	struct request r;
	post(qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &one, here, 8, &two, there));
	here[0] = 2;
	wait_for_one(qp);
	return none;
}
static void *reads(void *none) { return none; }
#elif K == 9 || K == 10 /* memory of the set-up that other processes could have, too */
static struct { uint64_t own; volatile uint64_t flag; } *s, *twice;
static void *writes(void *none) { s->own++; s->flag = s->own; return none; }
static void *reads(void *none) { mowgli_outcome("flag", (int64_t)s->flag); return none; }
#elif K == 11 /* memchr looks at nothing behind what it finds */
static char *text;
static volatile int x;
static void *writes(void *none)
{
	text = malloc(4);
	memcpy(text, "abcd", 4);
	mowgli_outcome("at", (char *)memchr(text, 'd', 100) - text);
	x = 1;
	return none;
}
static void *reads(void *none) { mowgli_outcome("x", x); return none; }
#elif K == 12 /* comments and texts of assembly */
static volatile int x;
static void *writes(void *none)
{
	uint64_t v = 0;
	__asm__ volatile("nop # first; movq $7, %0\n\t/* then;\n movq $8, %0; */ nop; addq $1, %0 # last" : "+r"(v));
	mowgli_outcome("v", (int64_t)v);
	x = 1;
	return none;
}
static void *reads(void *none) { mowgli_outcome("x", x); return none; }
#elif K == 13 /* a comparison may begin with either text */
static volatile uint64_t a, b;
static void *writes(void *none) { b = 1; a = 1; return none; }
static void *reads(void *none)
{
	int is = COMPARES((char *)&a, (char *)&b);
	mowgli_outcome("is", (is > 0) - (is < 0));
	return none;
}
#elif K == 14 /* a function that is found by its name */
static int (*compares)(const void *, const void *, size_t);
static volatile uint64_t a, b;
static void *writes(void *none) { a = 1; return none; }
static void *reads(void *none) { mowgli_outcome("is", compares((void *)&a, (void *)&b, 8) != 0); return none; }
#elif K == 15 /* a flag in the last byte of a word that is written as a whole, too */
static union { volatile uint64_t word; volatile uint8_t bytes[8]; } u;
static void *writes(void *none) { u.word = 5; return none; }
static void *reads(void *none) { u.bytes[7] = 1; mowgli_outcome("word", (int64_t)u.word); return none; }
#endif
int main(void)
{
#if K == 6
	stream = fmemopen(text, sizeof text, "w");
#elif K == 8
	one = node_open(1, here, sizeof here);
	two = node_open(2, there, sizeof there);
	connect_nodes(&one, &two, &qp, &other);
#elif K == 9 && defined SYSTEM_V
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	s = shmat(id, 0, 0);
	shmctl(id, IPC_RMID, 0);
	s->own = 4;
#elif K == 9
	s = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	s->own = 4;
#elif K == 14
	*(void **)&compares = dlsym(RTLD_DEFAULT, "memcmp");
#elif K == 10
	int fd = memfd_create("twice", 0);
	if (ftruncate(fd, 4096)) return 1;
	s = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	twice = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
#endif
	mowgli_node(1, writes, NULL);
	mowgli_node(1, reads, NULL);
	mowgli_join();
}
