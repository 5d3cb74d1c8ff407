/* The server waits for eight words of a WRITE of nine, and frees them. */
#include "node.h"
static volatile uint64_t *own, *there; static struct node one, two; static struct ibv_qp *qp, *end;
static void *client(void *none)
{
	struct request r;
	post(qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &one, (void *)own, 72, &two, (void *)there));
	wait_for_one(qp);
	return none;
}
static void *server(void *none) { for (int k = 0; k < 8; k++) while (!there[k]) {} free((void *)there); return none; }
int main(void)
{
	own = calloc(16, 8), there = calloc(16, 8);
	for (int k = 0; k < 9; k++) own[k] = 7;
	one = node_open(1, (void *)own, 128), two = node_open(2, (void *)there, 128);
	connect_nodes(&one, &two, &qp, &end);
	mowgli_node(1, client, NULL), mowgli_node(2, server, NULL), mowgli_join();
	return 0;
}
