/* A text that a card changes from "0" to "7", and a thread that looks at it by one call: VALUE. */
#define _GNU_SOURCE
#include "node.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
static char from[16] = "7", to[16] = "0";
static struct node one, two;
static struct ibv_qp *qp, *other;

static __attribute__((unused)) int by_list(char *own, const char *format, ...)
{
	va_list all;
	va_start(all, format);
	int n = vsprintf(own, format, all);
	va_end(all);
	return n;
}
static void *writes(void *none)
{
	struct request r;
	post(qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &one, from, 8, &two, to));
	wait_for_one(qp);
	return none;
}
static void *reads(void *none)
{
	char own[32] = "", *made = own;
	int n = 0;
	(void)n;
	mowgli_outcome("v", (int64_t)(VALUE));
	if (made != own) free(made);
	return none;
}
int main(void)
{
	one = node_open(1, from, sizeof from);
	two = node_open(2, to, sizeof to);
	connect_nodes(&one, &two, &qp, &other);
	mowgli_node(1, writes, NULL);
	mowgli_node(2, reads, NULL);
	mowgli_join();
	return 0;
}
