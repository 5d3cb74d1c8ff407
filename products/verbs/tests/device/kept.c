/* What a thread has beside its memory is part of its state, and what belongs to two threads is not half seen. */
#include "node.h"
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
static volatile uint64_t x, y;
static struct node one, two;
static struct ibv_qp *here, *there;
static char from[1 << 20], to[1 << 20];
static jmp_buf place;
static pthread_key_t key;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void posts(void)
{
	struct request r;
	post(here, request(&r, K == 5 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &one, from, K == 5 ? sizeof from : 8, &two, to));
}
static void waits(void)
{
	pthread_mutex_lock(&m);
	while (!x) pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
}
static void destroys(void *v)
{
	if (v == &x) pthread_setspecific(key, (void *)&y);
	else x = 2;
}
/* Both calls leave the same on the stack. */
__attribute__((noinline)) static void rounds(unsigned how)
{
	__asm__ volatile("ldmxcsr %0" ::"m"(how));
	how = 0;
}
/* Both calls leave the same behind, but for errno. */
__attribute__((noinline)) static void parses(int is_too_long) { if (is_too_long) strtol("99999999999999999999", NULL, 10); }
/* Two words by one store, of which the frame has nothing any more when others may see it. */
static struct pair { uint64_t a, b; } pair;
__attribute__((noinline)) static void puts_pair(uint64_t v)
{
	struct pair own = { 1, v };
	pair = own;
	own.b = v = 0;
}
/* A list of two work requests that are the same. */
static void adds_twice(void)
{
	struct request r[2];
	for (int i = 0; i < 2; i++) {
		request(&r[i], IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_SEND_SIGNALED, &one, from, 8, &two, to);
		r[i].wr.wr.atomic.compare_add = 1;
	}
	r[0].wr.next = &r[1].wr;
	post(here, r);
}
static void *p(void *n)
{
	if (K == 8 || K == 10) { x = 1; y = 1; }
	if (K == 9) adds_twice();
	if (K == 1 || K == 2) { x = 1; y = 1; }
	if (K == 4) pthread_setspecific(key, (void *)&x);
	if (K == 5 || K == 6) posts();
	if (K == 7) waits();
	return n;
}
static void *q(void *n)
{
	uint64_t v = K == 1 || K == 2 ? x : 0;
	int first = v != 0;
	if (K == 1) {
		if (v) {
			if (setjmp(place)) { mowgli_outcome("first", 1); return n; }
		} else if (setjmp(place)) { mowgli_outcome("first", 0); return n; }
		v = first = 0;
		v = y;
		longjmp(place, 1);
	}
	if (K == 2) {
		rounds(v ? 0x5f80 : 0x1f80);
		v = first = 0;
		v = y;
		v = 0;
		volatile double one = 1, three = 3;
		mowgli_outcome("up", one / three > 0.33333333333333331483);
	}
	if (K == 3) {
		void *block;
		mowgli_outcome("gone", realloc(malloc(8), 0) == NULL && posix_memalign(&block, 3, 8) == EINVAL);
	}
	if (K == 4) {
		while (!x) {}
		mowgli_outcome("x", x);
	}
	if (K == 8) {
		parses(x != 0);
		v = y;
		v = 0;
		mowgli_outcome("errno", errno);
	}
	if (K == 10) puts_pair(x);
	struct ibv_wc wc;
	if (K == 5) {
		while (!ibv_poll_cq(there->recv_cq, 1, &wc)) {}
		mowgli_outcome("size", wc.byte_len);
		mowgli_outcome("imm", wc.imm_data);
	}
	if (K == 6) while (!ibv_poll_cq(here->send_cq, 1, &wc)) {}
	if (K == 7) waits();
	return n;
}
static void *signals(void *n)
{
	pthread_mutex_lock(&m);
	x = 1;
	if (BROADCASTS) pthread_cond_broadcast(&c);
	else pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	return n;
}
int main(void)
{
	one = node_open(1, from, sizeof from);
	two = node_open(2, to, sizeof to);
	connect_nodes(&one, &two, &here, &there);
	pthread_key_create(&key, destroys);
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	if (ibv_post_recv(there, &wr, &bad)) abort();
	mowgli_node(1, p, NULL);
	mowgli_node(K == 5 ? 2 : 1, q, NULL);
	if (K == 7) mowgli_node(1, signals, NULL);
	mowgli_join();
	if (K == 9) mowgli_outcome("sum", (int64_t)*(uint64_t *)to);
	if (K == 10) mowgli_outcome("pair", (int64_t)(10 * pair.a + pair.b));
}
