/* Clients of `mowgli emit c`, explored: nodes with registered memory, and a queue pair from each thread to each node. */
#include <mowgli.h>

enum { SIZE = 1 << 14, MOST = 4 };
static char memory[MOST][SIZE] __attribute__((aligned(64)));
/* Polls between iterations would only add states. */
static void goes_on(struct mw_thread *me) { (void)me; }

static struct mw nodes[MOST];
static struct mw_thread threads[MOST];
static struct ibv_pd *domain[MOST];
static struct ibv_context *device[MOST];

static const int everything = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

static struct ibv_qp *queue_pair(int node, struct ibv_cq **cq)
{
	*cq = ibv_create_cq(device[node], MW_DEPTH, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = *cq, .recv_cq = *cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = MW_DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	return ibv_create_qp(domain[node], &init);
}
static void connect_to(struct ibv_qp *qp, struct ibv_qp *other)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = everything };
	struct ibv_port_attr port;
	ibv_query_port(other->context, 1, &port);
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) abort();
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .path_mtu = port.active_mtu, .dest_qp_num = other->qp_num,
		.max_dest_rd_atomic = 16, .min_rnr_timer = 12, .ah_attr = { .dlid = port.lid, .port_num = 1 } };
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) abort();
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 16 };
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		IBV_QP_MAX_QP_RD_ATOMIC)) abort();
}

/* Makes `count` nodes, and as many threads as `of` has nodes. */
static void set_up(int count, int many, const int of[])
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_mr *mr[MOST];
	for (int n = 1; n <= count; n++) {
		device[n] = ibv_open_device(list[n - 1]);
		domain[n] = ibv_alloc_pd(device[n]);
		mr[n] = ibv_reg_mr(domain[n], memory[n], SIZE, everything);
	}
	for (int n = 1; n <= count; n++) {
		nodes[n] = (struct mw){ .nodes = count, .threads = many, .node = n, .memory = memory[n], .size = SIZE, .lkey = mr[n]->lkey };
		for (int t = 1; t <= many; t++) nodes[n].node_of[t] = of[t];
		for (int m = 1; m <= count; m++) nodes[n].base[m] = (uintptr_t)memory[m], nodes[n].rkey[m] = mr[m]->rkey;
	}
	for (int t = 1; t <= many; t++) {
		threads[t] = (struct mw_thread){ .all = &nodes[of[t]], .thread = t, .node = of[t], .again = goes_on };
		for (int n = 1; n <= count; n++) {
			struct ibv_cq *cq;
			struct ibv_qp *other = queue_pair(n, &cq);
			threads[t].qp[n] = queue_pair(of[t], &threads[t].cq[n]);
			connect_to(threads[t].qp[n], other);
			connect_to(other, threads[t].qp[n]);
		}
	}
	ibv_free_device_list(list);
}

/* Values as the test names them: false and true are 0 and 1, and a list is a number to the base 100. */
static inline void record_number(const char *name, int64_t v) { mowgli_outcome(name, v); }
static inline void record_bool(const char *name, bool v) { mowgli_outcome(name, v); }
static inline void record_list(const char *name, struct mw_list l)
{
	int64_t all = l.n < 0 ? MW_BOT : 0;
	for (int i = 0; i < l.n; i++) all = all * 100 + l.at[i];
	mowgli_outcome(name, all);
}
#define RECORD(name, v) _Generic((v), bool: record_bool, int64_t: record_number, struct mw_list: record_list)(name, v)
