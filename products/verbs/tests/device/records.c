/* A record of two words that a card writes, the flag first, and a thread that reads both by one statement: READ. The words are read
 * upwards, so data and flag are 0 and 0, 0 and 1, or 42 and 1. */
#include "node.h"
#include <stdarg.h>
#include <stdio.h>
struct record { uint64_t data, flag; };
static struct record from, to;
static struct node one, two;
static struct ibv_qp *qp, *other;

static __attribute__((unused)) struct record passed(struct record r) { return r; }
static __attribute__((unused)) struct record returned(struct record *r) { return *r; }
static __attribute__((unused)) struct record listed(int n, ...)
{
	va_list all;
	va_start(all, n);
	struct record r = va_arg(all, struct record);
	va_end(all);
	return r;
}
static void *writes(void *none)
{
	struct request r;
	from.data = 42;
	from.flag = 1;
	post(qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &one, &from.flag, 8, &two, &to.flag));
	wait_for_one(qp);
	post(qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &one, &from.data, 8, &two, &to.data));
	wait_for_one(qp);
	return none;
}
static void *reads(void *none)
{
	struct record own = { 0, 0 }, *heap = malloc(sizeof *heap);
	static __thread struct record of_thread;
	(void)of_thread;
	READ;
	free(heap);
	mowgli_outcome("data", (int64_t)own.data);
	mowgli_outcome("flag", (int64_t)own.flag);
	return none;
}
int main(void)
{
	one = node_open(1, &from, sizeof from);
	two = node_open(2, &to, sizeof to);
	connect_nodes(&one, &two, &qp, &other);
	mowgli_node(1, writes, NULL);
	mowgli_node(2, reads, NULL);
	mowgli_join();
	return 0;
}
