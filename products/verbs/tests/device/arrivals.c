/* The order in which completions and messages come. Case K says which. */
#include "node.h"

static uint64_t here[4] = { 5, 6 }, there[4];
static struct node one, two;
static struct ibv_qp *from[2], *to[2];
static struct ibv_cq *shared_cq;
static struct ibv_srq *srq;

static struct ibv_qp *made(struct node *n, struct ibv_cq *cq)
{
	if (!cq) cq = ibv_create_cq(n->device, K == 3 ? 1 : 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .srq = K == 2 && n == &two ? srq : NULL, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = 16 } };
	return ibv_create_qp(n->pd, &init);
}
static void receive(int i)
{
	struct ibv_sge sge = { (uintptr_t)&there[i], 8, two.mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1 };
	if (K == 2 ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(to[0], &wr, &bad)) abort();
}
static void *client(void *none)
{
	struct request r;
	struct ibv_wc wc[2];
	for (int i = 0; i < 2; i++) {
		request(&r, K == 1 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, IBV_SEND_SIGNALED, &one, &here[i], 8, &two, &there[i]);
		r.wr.wr_id = (uint64_t)i + 1;
		post(from[K < 3 && i], &r);
	}
	if (K == 1) {
		int n = ibv_poll_cq(shared_cq, 2, wc);
		mowgli_outcome("n", n);
		if (n) mowgli_outcome("first", (int64_t)wc[0].wr_id);
	}
	return none;
}
static void *server(void *none)
{
	struct ibv_wc wc;
	if (K == 2 || K == 3) {
		while (!ibv_poll_cq(to[0]->recv_cq, 1, &wc)) {}
		mowgli_outcome("got", (int64_t)wc.wr_id);
	}
	/* The second message may be there although its completion is not polled. */
	if (K == 4) mowgli_outcome("seen", look(&there[2]));
	/* `main` posts and polls itself, and starts another thread in between. */
	if (K == 5) {
		while (!look(&there[0]) || !look(&there[1])) {}
		mowgli_outcome("first", (int64_t)there[0]);
		mowgli_outcome("second", (int64_t)there[1]);
	}
	return none;
}
static uint64_t is_set;
static void *sets(void *none) { __atomic_store_n(&is_set, 1, 0); return none; }
int main(void)
{
	one = node_open(1, here, sizeof here);
	two = node_open(2, there, sizeof there);
	shared_cq = ibv_create_cq(one.device, 16, NULL, NULL, 0);
	struct ibv_srq_init_attr all = { .attr = { .max_wr = 8, .max_sge = 1 } };
	srq = ibv_create_srq(two.pd, &all);
	for (int i = 0; i < 2; i++) {
		from[i] = made(&one, shared_cq);
		to[i] = made(&two, NULL);
		connect_to(from[i], to[i]);
		connect_to(to[i], from[i]);
	}
	for (int i = 1; i < 3 && K > 1; i++) receive(i);
	if (K == 5) {
		mowgli_node(2, server, NULL);
		struct request r;
		post(from[0], request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &one, here, 16, &two, there));
		mowgli_node(1, sets, NULL);
		mowgli_join();
		mowgli_outcome("is_set", (int64_t)look(&is_set));
		return 0;
	}
	mowgli_node(1, client, NULL);
	mowgli_node(2, server, NULL);
	mowgli_join();
}
