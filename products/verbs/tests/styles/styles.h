/* The part that random programs in many styles share: see styles.rs. It is C and C++. The waits of a program are in its own file, so that
 * its lines are those of its statements. */
#ifndef STYLES_H
#define STYLES_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <mowgli.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include <x86intrin.h>
#ifdef __cplusplus
#include <atomic>
#include <thread>
#define ATOMIC_LOAD(T, at) reinterpret_cast<std::atomic<T> *>(at)->load()
#define ATOMIC_STORE(T, at, v, order) reinterpret_cast<std::atomic<T> *>(at)->store(v, std::order)
#define ATOMIC_ADD(T, at, v) reinterpret_cast<std::atomic<T> *>(at)->fetch_add(v)
#define ATOMIC_EXCHANGE(T, at, v) reinterpret_cast<std::atomic<T> *>(at)->exchange(v)
#define ATOMIC_COMPARE(T, at, old, v) reinterpret_cast<std::atomic<T> *>(at)->compare_exchange_strong(*(old), v)
#define ATOMIC_FENCE() std::atomic_thread_fence(std::memory_order_seq_cst)
#else
#include <stdatomic.h>
#include <threads.h>
#define ATOMIC_LOAD(T, at) atomic_load((_Atomic T *)(at))
#define ATOMIC_STORE(T, at, v, order) atomic_store_explicit((_Atomic T *)(at), v, order)
#define ATOMIC_ADD(T, at, v) atomic_fetch_add((_Atomic T *)(at), v)
#define ATOMIC_EXCHANGE(T, at, v) atomic_exchange((_Atomic T *)(at), v)
#define ATOMIC_COMPARE(T, at, old, v) atomic_compare_exchange_strong((_Atomic T *)(at), old, v)
#define ATOMIC_FENCE() atomic_thread_fence(memory_order_seq_cst)
#endif
#define UNUSED __attribute__((unused))
/* Keeps the accesses of two statements apart when the compiler optimises. */
#define BARRIER __asm__ volatile("" ::: "memory")

typedef unsigned __int128 wide __attribute__((aligned(1), may_alias));
typedef uint64_t two_words __attribute__((vector_size(16), aligned(1), may_alias));

enum { ALL_RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

struct card { struct ibv_context *context; struct ibv_pd *pd; struct ibv_cq *received; };

/* Opens the card of a node, from 1. It has one completion queue for all that it receives. */
static UNUSED void card_open(struct card *c, int number)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	c->context = ibv_open_device(list[number - 1]);
	c->pd = ibv_alloc_pd(c->context);
	c->received = ibv_create_cq(c->context, 16, NULL, NULL, 0);
	ibv_free_device_list(list);
}
static UNUSED struct ibv_mr *memory_of(struct card *c, volatile void *at, size_t size) { return ibv_reg_mr(c->pd, (void *)at, size, ALL_RIGHTS); }
static UNUSED struct ibv_qp *pair_of(struct card *c)
{
	struct ibv_qp_init_attr init;
	memset(&init, 0, sizeof init);
	init.send_cq = ibv_create_cq(c->context, 16, NULL, NULL, 0);
	init.recv_cq = c->received;
	init.qp_type = IBV_QPT_RC;
	init.cap.max_send_wr = init.cap.max_recv_wr = 16;
	init.cap.max_send_sge = init.cap.max_recv_sge = 4;
	init.cap.max_inline_data = 64;
	return ibv_create_qp(c->pd, &init);
}
static UNUSED void begins_pair(struct ibv_qp *qp)
{
	struct ibv_qp_attr a;
	memset(&a, 0, sizeof a);
	a.qp_state = IBV_QPS_INIT;
	a.port_num = 1;
	a.qp_access_flags = ALL_RIGHTS;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) abort();
}
static UNUSED uint16_t lid_of(struct ibv_qp *qp)
{
	struct ibv_port_attr port;
	ibv_query_port(qp->context, 1, &port);
	return port.lid;
}
static UNUSED void connect_to(struct ibv_qp *qp, uint16_t lid, uint32_t number)
{
	struct ibv_qp_attr a;
	memset(&a, 0, sizeof a);
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = number;
	a.max_dest_rd_atomic = 16;
	a.min_rnr_timer = 12;
	a.ah_attr.dlid = lid;
	a.ah_attr.port_num = 1;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) abort();
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 14;
	a.retry_cnt = a.rnr_retry = 7;
	a.max_rd_atomic = 16;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		IBV_QP_MAX_QP_RD_ATOMIC)) abort();
}
/* Makes a queue pair from one node to another. `*other` is its other side. */
static UNUSED struct ibv_qp *pair_between(struct card *from, struct card *to, struct ibv_qp **other)
{
	struct ibv_qp *qp = pair_of(from);
	*other = pair_of(to);
	begins_pair(qp);
	begins_pair(*other);
	connect_to(qp, lid_of(*other), (*other)->qp_num);
	connect_to(*other, lid_of(qp), qp->qp_num);
	return qp;
}
static UNUSED void receive_into(struct ibv_qp *qp, struct ibv_mr *mr, void *at, uint32_t length, uint64_t id)
{
	struct ibv_sge to;
	struct ibv_recv_wr wr, *bad;
	memset(&wr, 0, sizeof wr);
	to.addr = (uintptr_t)at;
	to.length = length;
	to.lkey = mr->lkey;
	wr.wr_id = id;
	wr.sg_list = &to;
	wr.num_sge = 1;
	if (ibv_post_recv(qp, &wr, &bad)) abort();
}

/* The content of the message that a program of one node sends the other: where its memory is, the keys, and the queue pairs. */
struct about { uint64_t memory; uint32_t keys[4], pairs[8]; uint16_t lid; };
/* Exchanges these over TCP. Node 0 listens. */
static UNUSED void exchange(int node, struct about *mine, struct about *theirs)
{
	struct sockaddr_in at;
	memset(&at, 0, sizeof at);
	at.sin_family = AF_INET;
	at.sin_port = htons(18515);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int line = socket(AF_INET, SOCK_STREAM, 0);
	if (node == 0) {
		if (bind(line, (struct sockaddr *)&at, sizeof at) || listen(line, 1)) abort();
		line = accept(line, NULL, NULL);
	} else if (connect(line, (struct sockaddr *)&at, sizeof at)) abort();
	if (write(line, mine, sizeof *mine) != sizeof *mine || recv(line, theirs, sizeof *theirs, MSG_WAITALL) != sizeof *theirs) abort();
}

/* A work request with up to four scatter elements. */
struct request { struct ibv_send_wr wr; struct ibv_sge sge[4]; };
static UNUSED struct request *begins(struct request *r, enum ibv_wr_opcode op, unsigned flags)
{
	memset(r, 0, sizeof *r);
	r->wr.opcode = op;
	r->wr.send_flags = flags;
	r->wr.sg_list = r->sge;
	return r;
}
static UNUSED struct request *with(struct request *r, volatile void *at, size_t size, struct ibv_mr *mr)
{
	struct ibv_sge *s = &r->sge[r->wr.num_sge++];
	s->addr = (uintptr_t)at;
	s->length = (uint32_t)size;
	s->lkey = mr ? mr->lkey : 0;
	return r;
}
static UNUSED struct request *into(struct request *r, volatile void *at, struct ibv_mr *mr)
{
	r->wr.wr.rdma.remote_addr = (uintptr_t)at;
	r->wr.wr.rdma.rkey = mr->rkey;
	return r;
}
static UNUSED struct request *atomically(struct request *r, volatile void *at, struct ibv_mr *mr, uint64_t a, uint64_t b)
{
	r->wr.wr.atomic.remote_addr = (uintptr_t)at;
	r->wr.wr.atomic.rkey = mr->rkey;
	r->wr.wr.atomic.compare_add = a;
	r->wr.wr.atomic.swap = b;
	return r;
}
static UNUSED struct request *immediate(struct request *r, uint32_t v) { r->wr.imm_data = v; return r; }
static UNUSED void posts(struct ibv_qp *qp, struct request *r)
{
	struct ibv_send_wr *bad;
	if (ibv_post_send(qp, &r->wr, &bad)) abort();
}
static UNUSED void succeeded(const struct ibv_wc *wc) { if (wc->status != IBV_WC_SUCCESS) abort(); }
#endif
