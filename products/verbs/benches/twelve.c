/* Two nodes, two threads, twelve shared accesses and six operations: each thread makes six accesses and three operations. */
#include "node.h"

static struct { volatile uint64_t a, b, c; } left, right;
static struct node left_node, right_node;
static struct ibv_qp *left_qp, *right_qp;

static void operation(struct ibv_qp *qp, enum ibv_wr_opcode op, struct node *from, volatile uint64_t *at, struct node *to, volatile uint64_t *target)
{
	struct request r;
	post(qp, request(&r, op, IBV_SEND_SIGNALED, from, (void *)at, 8, to, (void *)target));
}
static void *on_left(void *none)
{
	left.a = 1;
	left.b = 2;
	operation(left_qp, IBV_WR_RDMA_WRITE, &left_node, &left.a, &right_node, &right.a);
	operation(left_qp, IBV_WR_RDMA_WRITE, &left_node, &left.b, &right_node, &right.b);
	mowgli_outcome("left a", (int64_t)left.a);
	wait_for_one(left_qp);
	operation(left_qp, IBV_WR_RDMA_READ, &left_node, &left.c, &right_node, &right.c);
	wait_for_one(left_qp);
	left.a = 3;
	wait_for_one(left_qp);
	mowgli_outcome("left c", (int64_t)left.c);
	mowgli_outcome("left b", (int64_t)left.b);
	return none;
}
static void *on_right(void *none)
{
	right.c = 4;
	operation(right_qp, IBV_WR_RDMA_WRITE, &right_node, &right.c, &left_node, &left.b);
	mowgli_outcome("right b", (int64_t)right.b);
	operation(right_qp, IBV_WR_RDMA_READ, &right_node, &right.b, &left_node, &left.a);
	wait_for_one(right_qp);
	mowgli_outcome("right a", (int64_t)right.a);
	wait_for_one(right_qp);
	operation(right_qp, IBV_WR_RDMA_WRITE, &right_node, &right.c, &left_node, &left.c);
	mowgli_outcome("right b again", (int64_t)right.b);
	right.a = 5;
	wait_for_one(right_qp);
	right.c = 6;
	return none;
}
int main(void)
{
	left_node = node_open(1, (void *)&left, sizeof left);
	right_node = node_open(2, (void *)&right, sizeof right);
	connect_nodes(&left_node, &right_node, &left_qp, &right_qp);
	mowgli_node(1, on_left, NULL);
	mowgli_node(2, on_right, NULL);
	mowgli_join();
	return 0;
}
