/* A log on node 1 to which others append: a fetch-and-add takes a slot, a WRITE fills it, and a second WRITE behind it says that it is
 * valid. The reader on node 1 takes the valid entries.
 * BROKEN: the reader takes all entries below the end of the log.
 */
#include "node.h"

static struct { volatile uint64_t end, entry[2], valid[2]; } shared;
static struct own { volatile uint64_t slot, entry, one; } own[2] = { { .one = 1 }, { .one = 1 } };
static struct node home, nodes[2];
static struct ibv_qp *qp[2], *served[2];

static void *appends(void *arg)
{
	int me = (int)(intptr_t)arg;
	struct node *n = &nodes[me];
	struct request r;
	request(&r, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_SEND_SIGNALED, n, (void *)&own[me].slot, 8, &home, (void *)&shared.end);
	r.wr.wr.atomic.compare_add = 1;
	post(qp[me], &r);
	wait_for_one(qp[me]);
	own[me].entry = 10 + (uint64_t)me;
	post(qp[me], request(&r, IBV_WR_RDMA_WRITE, 0, n, (void *)&own[me].entry, 8, &home, (void *)&shared.entry[own[me].slot]));
	post(qp[me], request(&r, IBV_WR_RDMA_WRITE, 0, n, (void *)&own[me].one, 8, &home, (void *)&shared.valid[own[me].slot]));
	return NULL;
}
static void *reads(void *none)
{
	(void)none;
	uint64_t end = shared.end;
	for (uint64_t k = 0; k < end; k++) {
#ifndef BROKEN
		if (!shared.valid[k]) continue;
#endif
		assert(shared.entry[k] >= 10);
	}
	return NULL;
}
int main(void)
{
	home = node_open(1, (void *)&shared, sizeof shared);
	for (int k = 0; k < 2; k++) {
		nodes[k] = node_open(k + 2, (void *)&own[k], sizeof own[k]);
		connect_nodes(&nodes[k], &home, &qp[k], &served[k]);
	}
	mowgli_node(1, reads, NULL);
	for (int k = 0; k < 2; k++) mowgli_node(k + 2, appends, (void *)(intptr_t)k);
	mowgli_join();
	return 0;
}
