/* A spin lock by compare-and-swap, for a counter on node 1. The release is batched: one list of work requests writes the counter
 * and then the lock, by one queue pair, and the holder does not wait between the two.
 * BROKEN: the list has the lock first.
 */
#include "node.h"

static struct { volatile uint64_t lock, counter; } shared;
static struct own { volatile uint64_t seen, value, zero; } own[2];
static struct node home, nodes[2];
static struct ibv_qp *qp[2], *served[2];

static void *adds(void *arg)
{
	int me = (int)(intptr_t)arg;
	struct own *m = &own[me];
	struct node *n = &nodes[me];
	struct request r, unlock, *first = &r, *second = &unlock;
	do {
		request(&r, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_SEND_SIGNALED, n, (void *)&m->seen, 8, &home, (void *)&shared.lock);
		r.wr.wr.atomic.compare_add = 0;
		r.wr.wr.atomic.swap = 1;
		post(qp[me], &r);
		wait_for_one(qp[me]);
	} while (m->seen != 0);
	post(qp[me], request(&r, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, n, (void *)&m->value, 8, &home, (void *)&shared.counter));
	wait_for_one(qp[me]);
	m->value++;
	request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, n, (void *)&m->value, 8, &home, (void *)&shared.counter);
	request(&unlock, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, n, (void *)&m->zero, 8, &home, (void *)&shared.lock);
#ifdef BROKEN
	first = &unlock;
	second = &r;
#endif
	first->wr.next = &second->wr;
	post(qp[me], first);
	return NULL;
}
int main(void)
{
	home = node_open(1, (void *)&shared, sizeof shared);
	for (int k = 0; k < 2; k++) {
		nodes[k] = node_open(k + 2, (void *)&own[k], sizeof own[k]);
		connect_nodes(&nodes[k], &home, &qp[k], &served[k]);
	}
	for (int k = 0; k < 2; k++) mowgli_node(k + 2, adds, (void *)(intptr_t)k);
	mowgli_join();
	assert(shared.counter == 2);
	return 0;
}
