/* The barrier of LOCO: each node counts its arrivals, writes the count to the other node, and waits for the count of that one.
 * What a node has written to the other before the barrier is there behind it, although data and counts go by two queue pairs: a
 * READ behind the data comes back only when the data are in memory.
 * BROKEN: without that READ, as LOCO's first barrier was.
 */
#include "node.h"

static struct memory { volatile uint64_t data, own, other, nothing; } memory[2];
static struct node nodes[2];
static struct ibv_qp *data_qp[2], *count_qp[2];

/* Waits until everything that was written by the queue pair for data is in the memory of the other node. */
static void global_fence(int me)
{
	struct request r;
	post(data_qp[me], request(&r, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &nodes[me], (void *)&memory[me].nothing, 8,
		&nodes[!me], (void *)&memory[!me].nothing));
	wait_for_one(data_qp[me]);
}
static void barrier(int me)
{
	struct request r;
#ifndef BROKEN
	global_fence(me);
#endif
	memory[me].own++;
	post(count_qp[me], request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &nodes[me], (void *)&memory[me].own, 8,
		&nodes[!me], (void *)&memory[!me].other));
	wait_for_one(count_qp[me]);
	while (look(&memory[me].other) < memory[me].own) {}
}
static void *writer(void *none)
{
	struct request r;
	(void)none, (void)global_fence;
	memory[0].data = 7;
	post(data_qp[0], request(&r, IBV_WR_RDMA_WRITE, 0, &nodes[0], (void *)&memory[0].data, 8, &nodes[1], (void *)&memory[1].data));
	barrier(0);
	return NULL;
}
static void *reader(void *none)
{
	(void)none;
	barrier(1);
	assert(memory[1].data == 7);
	return NULL;
}
int main(void)
{
	for (int n = 0; n < 2; n++) nodes[n] = node_open(n + 1, (void *)&memory[n], sizeof memory[n]);
	connect_nodes(&nodes[0], &nodes[1], &data_qp[0], &data_qp[1]);
	connect_nodes(&nodes[0], &nodes[1], &count_qp[0], &count_qp[1]);
	mowgli_node(1, writer, NULL);
	mowgli_node(2, reader, NULL);
	mowgli_join();
	return 0;
}
