/* Memory and queue pairs that operations need, and when they end. Each argument is what a part of the program does, one letter a step: the
 * client, another thread of its node, the server, and the end of the set-up. */
#include "node.h"
#include <mowgli.h>
static volatile uint64_t *own, *there, posted, done;
static struct node one, two;
static struct ibv_qp *qp, *end;
static struct ibv_cq *queue;
static void posts(enum ibv_wr_opcode kind, unsigned words)
{
	struct request r;
	request(&r, kind, IBV_SEND_SIGNALED, &one, (void *)own, 8 * words, &two, (void *)there);
	if (kind == IBV_WR_ATOMIC_FETCH_AND_ADD) r.wr.wr.atomic.compare_add = 1;
	post(qp, &r);
}
static void receives(struct ibv_qp *by, struct node *of, volatile uint64_t *to)
{
	struct ibv_sge s = { (uintptr_t)to, 8, of->mr->lkey };
	struct ibv_recv_wr *bad, w = { .sg_list = &s, .num_sge = 1 };
	if (by->srq ? ibv_post_srq_recv(by->srq, &w, &bad) : ibv_post_recv(by, &w, &bad)) abort();
}
static void step(char what)
{
	struct ibv_wc wc;
	struct request back;
	switch (what) {
	case '1': case '2': case '3': posts(IBV_WR_RDMA_WRITE, what - '0'); break;
	case 'a': posts(IBV_WR_ATOMIC_FETCH_AND_ADD, 1); break;
	case 'g': posts(IBV_WR_RDMA_READ, 1); break;
	case 's': posts(IBV_WR_SEND, 1); break;
	case 'r': receives(end, &two, there); break;
	case 'R': receives(qp, &one, own + 13); break;
	case 'S': post(end, request(&back, IBV_WR_SEND, IBV_SEND_SIGNALED, &two, (void *)(there + 1), 8, &one, NULL)); break;
	case 'z': mowgli_outcome("n", (int64_t)own[13]); break;
	case 'Z': while (!own[13]) {} break;
	case 'n': own[12] = own[14] = 9; break;
	case 'w': wait_for_one(qp); break;
	case 'W': wait_for_one(end); break;
	case 'p': posted = 1; break;
	case 'P': while (!posted) {} break;
	case 'd': done = 1; break;
	case 'D': while (!done) {} break;
	case 'x': while (!there[0]) {} break;
	case 'y': while (there[1] == 7) {} break;
	case 'f': free((void *)there); break;
	case 'F': free((void *)own); break;
	case 'q': ibv_destroy_qp(qp); break;
	case 'Q': ibv_destroy_qp(end); break;
	case 'c': ibv_destroy_cq(queue); break;
	case 'C': ibv_poll_cq(queue, 1, &wc); break;
	}
}
static void *steps(void *all)
{
	for (const char *at = all; *at; at++) step(*at);
	return NULL;
}
int main(int count, char **all)
{
	if (count != 5) return 1;
	own = calloc(256, 8);
	there = calloc(256, 8);
	own[0] = there[1] = 7;
	own[1] = own[2] = 5;
	one = node_open(1, (void *)own, 2048);
	two = node_open(2, (void *)there, 2048);
	connect_nodes(&one, &two, &qp, &end);
	if (all[4][0] == 'm') {
		struct ibv_srq_init_attr any = { .attr = { .max_wr = 8, .max_sge = 1 } };
		struct ibv_qp_init_attr init = { .send_cq = qp->send_cq, .recv_cq = qp->recv_cq, .srq = ibv_create_srq(one.pd, &any), .qp_type = IBV_QPT_RC,
			.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 1 } };
		connect_to(qp = ibv_create_qp(one.pd, &init), end = queue_pair(&two));
		connect_to(end, qp);
	}
	queue = qp->send_cq;
	steps(all[4]);
	mowgli_node(1, steps, all[1]);
	if (all[2][0] != '-') mowgli_node(1, steps, all[2]);
	mowgli_node(2, steps, all[3]);
	mowgli_join();
	return 0;
}
