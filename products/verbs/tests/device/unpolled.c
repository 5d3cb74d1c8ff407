/* The data of a receive that is posted behind the set-up come at the poll. CASE says who uses its memory before: 1 `main`, 2 a READ of the
 * other side, 3 `main` after the poll, 4 `main` if no message comes. */
#include "node.h"
static volatile uint64_t *own, *there;
static struct node one, two;
static struct ibv_qp *qp, *end;
static void *sends(void *none)
{
	struct request r;
	own[0] = 1;
	if (CASE != 4) {
		post(qp, request(&r, IBV_WR_SEND, IBV_SEND_SIGNALED, &one, (void *)own, 8, &two, NULL));
		wait_for_one(qp);
	}
	if (CASE != 2) return none;
	post(qp, request(&r, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &one, (void *)(own + 1), 8, &two, (void *)there));
	wait_for_one(qp);
	mowgli_outcome("n", (int64_t)own[1]);
	return none;
}
static void *receives(void *none)
{
	struct ibv_sge s = { (uintptr_t)there, 8, two.mr->lkey };
	struct ibv_recv_wr *bad, w = { .sg_list = &s, .num_sge = 1 };
	if (ibv_post_recv(end, &w, &bad)) abort();
	if (CASE == 3) wait_for_one(end);
	return none;
}
int main(void)
{
	own = calloc(8, 8), there = calloc(8, 8);
	one = node_open(1, (void *)own, 64), two = node_open(2, (void *)there, 64);
	connect_nodes(&one, &two, &qp, &end);
	mowgli_node(1, sends, NULL), mowgli_node(2, receives, NULL), mowgli_join();
	if (CASE != 2) mowgli_outcome("n", (int64_t)there[0]);
	return 0;
}
