/* Threads whose first calls depend on shared memory that a later round of the exploration finds. Case K says how. */
#include "node.h"

static struct node one, two;
static struct ibv_qp *qp, *other;
static struct request r, s;
static __attribute__((unused)) void moves(enum ibv_wr_opcode op, void *here, void *there)
{
	post(other, request(&s, op, IBV_SEND_SIGNALED, &two, here, 1, &one, there));
}

#if K == 1 /* a comparison may begin with either text if both are shared, which an operation behind it says of the second one */
static uint8_t a[2] = { 0, 1 }, b[4];
static void *client(void *none)
{
	post(qp, request(&r, IBV_WR_RDMA_WRITE, 0, &one, a + 1, 1, &two, b + 1));
	return none;
}
static void *server(void *none)
{
	mowgli_outcome("is equal", memcmp(b + 1, b + 3, 1) == 0);
	moves(IBV_WR_RDMA_READ, b + 3, a);
	moves(IBV_WR_RDMA_WRITE, b + 3, a + 1);
	moves(IBV_WR_RDMA_WRITE, b + 1, a);
	wait_for_one(other);
	return none;
}
#elif K == 2 /* a word of which a half is read before the whole */
static uint64_t a[] = { 1 }, b[1];
static void *client(void *none)
{
	post(qp, request(&r, IBV_WR_RDMA_WRITE, 0, &one, a, 8, &two, b));
	return none;
}
static void *server(void *none)
{
	if (*(volatile uint32_t *)b) mowgli_outcome("b", (int64_t)*b);
	return none;
}
#endif
int main(void)
{
	one = node_open(1, a, sizeof a);
	two = node_open(2, b, sizeof b);
	connect_nodes(&one, &two, &qp, &other);
	mowgli_node(1, client, NULL);
	mowgli_node(2, server, NULL);
	mowgli_join();
#if K == 1
	/* So the first round knows the first operation alone. */
	for (int i = 0; i < 3; i++) mowgli_outcome("b", b[i]);
#endif
}
