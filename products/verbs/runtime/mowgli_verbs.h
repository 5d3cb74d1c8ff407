/* Runs a litmus test on RDMA hardware, over libibverbs. One process on each node; each thread has a queue pair to each
 * node, its own included. The first node collects outcomes and counts them. Before each run the threads tell each other over
 * queue pairs of their own that they are there, spin until all are, and wait for a random moment more: a barrier over TCP would let
 * them begin at times that are further apart than a run takes.
 *
 *   cc -O2 -pthread -o test TEST.c -libverbs
 *   ./test NODE HOST1 HOST2 ... [-n RUNS] [-p PORT] [-d DEVICE] [-i IB_PORT] [-g GID_INDEX] [-s SECONDS] [-w SECONDS]
 *
 * NODE is from 1. A node listens at its own host only, and waits for the others for -w seconds (60 if not given).
 *
 * A thread that waits in one place for SECONDS (10 if not given) is stuck. The program then prints where, whether the model has such
 * an execution, and what it counted until then. It exits with 3 if the model has one, or if that is not known, and with 1 otherwise.
 *
 * `mowgli cc -o test TEST.c && mowgli explore ./test` runs it once under every execution of the model, without hardware. Then one
 * process has all nodes.
 *
 * A test defines NODES, THREADS, WORDS, REGISTERS, the arrays below, and one function for each thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef __MOWGLI__
#include <mowgli.h>
#endif

#define OBSERVED (REGISTERS + WORDS)
#define IDENTIFIERS 32
#define LINE 64
/* Behind the words: one that gets use, and one for each thread in which it says that it is there. */
#define ALL_WORDS (WORDS + 1 + THREADS)

struct word { const char *name; int node; int64_t init; };
struct outcome { int64_t value[OBSERVED > 0 ? OBSERVED : 1]; };
struct ctx;

extern const char *const test_name;
extern const int thread_node[THREADS];
extern const struct word words[WORDS];
extern const char *const register_names[REGISTERS + 1];
/* The thread that sets each register. */
extern const int register_thread[REGISTERS + 1];
extern void (*const thread_body[THREADS])(struct ctx *);
/* 1: the model has it, -1: it has not, and the test says so; 0: it has not. */
extern int judge(const struct outcome *o);
extern const char *const thread_name[THREADS];
/* 1: the model has an execution in which this thread waits at this line for ever, 0: it has none; -1: that is not known. */
extern int hangs(int thread, int line);

struct endpoint { uint32_t qpn, rkey; uint16_t lid; union ibv_gid gid; uint64_t base; uint8_t mtu, serves; };
struct link { struct ibv_qp *qp; struct ibv_cq *cq; int open; int fence; int of[IDENTIFIERS]; };
/* `line`: the statement in which the thread last waited, 0 if it did not; `spins`: how often it looked, since `since`. */
struct ctx {
	int thread; int64_t *reg; struct link link[NODES], there[NODES]; unsigned seed;
	volatile int line; unsigned spins; time_t since;
};

static int me, runs = 100000, port = 18515, gid_index = -1, patience = 10, absence = 60, ran;
static uint8_t ib_port = 1;
static const char *device_name;
static char *hosts[NODES];
static int tcp[NODES];
static struct ibv_context *device;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_port_attr attr;
static struct ibv_device_attr limits;
static union ibv_gid own_gid;
static struct ctx contexts[THREADS];
static struct link passive[THREADS], passive_there[THREADS];
static struct endpoint remote_memory[NODES];
static int64_t registers[REGISTERS + 1];
static unsigned char *memory;
static pthread_barrier_t start, stop;
#ifdef __MOWGLI__
/* A region for each word, at its node. */
static struct ibv_mr *regions[WORDS];
#define LOCAL_KEY(w) regions[w]->lkey
#define REMOTE_KEY(n, w) regions[w]->rkey
#define REMOTE_BASE(n) ((uintptr_t)memory)
#else
#define LOCAL_KEY(w) mr->lkey
#define REMOTE_KEY(n, w) remote_memory[n].rkey
#define REMOTE_BASE(n) remote_memory[n].base
#endif

static __attribute__((noreturn)) void die(const char *what) { perror(what); exit(2); }
static void *check(void *p, const char *what) { if (!p) die(what); return p; }
static int64_t *at(int w) { return (int64_t *)(memory + (size_t)w * LINE); }

static int report(void);
/* Another node has ended, for example because a thread is stuck there, which it prints itself. */
static void gone(void)
{
	if (!me) report();
	fflush(stdout);
	fprintf(stderr, "the connection to another node has ended: see what it printed\n");
	exit(3);
}
static void all(int fd, void *data, size_t n, int out)
{
	for (size_t done = 0; done < n;) {
		ssize_t k = out ? write(fd, (char *)data + done, n - done) : read(fd, (char *)data + done, n - done);
		if (k <= 0) gone();
		done += (size_t)k;
	}
}

/* Local statements. On x86 these are plain loads and stores, and the compiler keeps their order; elsewhere they are as strong. */
static inline __attribute__((unused)) int64_t cpu_read(int w) { return __atomic_load_n(at(w), __ATOMIC_ACQUIRE); }
static inline __attribute__((unused)) void cpu_write(int w, int64_t v) { __atomic_store_n(at(w), v, __ATOMIC_RELEASE); }
static inline __attribute__((unused)) void cpu_mfence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline __attribute__((unused)) int64_t cpu_cas(int w, int64_t old, int64_t new)
{
	__atomic_compare_exchange_n(at(w), &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}
static inline __attribute__((unused)) int64_t cpu_xchg(int w, int64_t new)
{
	return __atomic_exchange_n(at(w), new, __ATOMIC_SEQ_CST);
}
static inline __attribute__((unused)) int64_t cpu_faa(int w, int64_t v)
{
	return (int64_t)__atomic_fetch_add((uint64_t *)at(w), (uint64_t)v, __ATOMIC_SEQ_CST);
}

/* Remote operations. `id` is the identifier that a wait names, 0 for none. */
static void post_by(struct link *l, int n, int local, int remote, enum ibv_wr_opcode op, int64_t a, int64_t b, int id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)at(local), .length = 8, .lkey = LOCAL_KEY(local) };
	struct ibv_send_wr wr = { .wr_id = (uint64_t)id, .sg_list = &sge, .num_sge = 1, .opcode = op }, *bad;
	uint64_t addr = REMOTE_BASE(n) + (uint64_t)remote * LINE;
	wr.send_flags = IBV_SEND_SIGNALED | (l->fence ? IBV_SEND_FENCE : 0);
	l->fence = 0;
	if (op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
#ifndef __MOWGLI__
		if (limits.atomic_cap == IBV_ATOMIC_NONE) {
			fprintf(stderr, "the device has no atomic operations, and this test makes one\n");
			exit(2);
		}
#endif
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = REMOTE_KEY(n, remote);
		wr.wr.atomic.compare_add = (uint64_t)a;
		wr.wr.atomic.swap = (uint64_t)b;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = REMOTE_KEY(n, remote);
	}
	if (ibv_post_send(l->qp, &wr, &bad)) die("ibv_post_send");
	l->open++;
	l->of[id]++;
}
static void post(struct ctx *c, int n, int local, int remote, enum ibv_wr_opcode op, int64_t a, int64_t b, int id)
{
	post_by(&c->link[n], n, local, remote, op, a, b, id);
}
static inline __attribute__((unused)) void rdma_put(struct ctx *c, int to, int from, int id) { post(c, words[to].node, from, to, IBV_WR_RDMA_WRITE, 0, 0, id); }
static inline __attribute__((unused)) void rdma_get(struct ctx *c, int to, int from, int id) { post(c, words[from].node, to, from, IBV_WR_RDMA_READ, 0, 0, id); }
static inline __attribute__((unused)) void rdma_cas(struct ctx *c, int to, int w, int64_t old, int64_t new, int id)
{
	post(c, words[w].node, to, w, IBV_WR_ATOMIC_CMP_AND_SWP, old, new, id);
}
static inline __attribute__((unused)) void rdma_faa(struct ctx *c, int to, int w, int64_t v, int id)
{
	post(c, words[w].node, to, w, IBV_WR_ATOMIC_FETCH_AND_ADD, v, 0, id);
}
/* Prints where the threads of this node wait, and ends the program. */
static void stuck(void)
{
	static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
	int bad = 0;
	pthread_mutex_lock(&first);
	for (int t = 0; t < THREADS; t++) {
		if (thread_node[t] != me || !contexts[t].line) continue;
		int known = hangs(t, contexts[t].line);
		bad |= !known;
		printf("Test %s: stuck after %d runs: %s at line %d: %s\n", test_name, ran, thread_name[t], contexts[t].line,
			known > 0 ? "expected" : known < 0 ? "not known" : "not expected");
	}
	if (!me) bad |= report();
	fflush(stdout);
	exit(bad ? 1 : 3);
}
/* Called each time that a thread has looked in vain. */
static void waits(struct ctx *c)
{
#ifdef __MOWGLI__
	(void)c;
	return;
#endif
	if (++c->spins % (1u << 16)) return;
	time_t now = time(NULL);
	if (!c->since) c->since = now;
	else if (c->line && now - c->since > patience) stuck();
}
static void poll_by(struct ctx *c, struct link *l)
{
	struct ibv_wc wc;
	int k;
	while ((k = ibv_poll_cq(l->cq, 1, &wc)) == 0) waits(c);
	if (k < 0) die("ibv_poll_cq");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "an operation failed: %s\n", ibv_wc_status_str(wc.status));
		exit(2);
	}
	l->open--;
	l->of[wc.wr_id]--;
}
static inline __attribute__((unused)) void rdma_poll(struct ctx *c, int n) { poll_by(c, &c->link[n]); }
static inline __attribute__((unused)) void rdma_flush(struct ctx *c, int n) { while (c->link[n].open) rdma_poll(c, n); }
static inline __attribute__((unused)) void rdma_wait(struct ctx *c, int id)
{
	for (int n = 0; n < NODES; n++) while (c->link[n].of[id]) rdma_poll(c, n);
}
static inline __attribute__((unused)) void rdma_fence(struct ctx *c, int n) { c->link[n].fence = 1; }
/* Now a few instructions, now some microseconds: as long as an operation takes, or much shorter. */
static void pause_a_little(struct ctx *c)
{
	int most = 1 << (rand_r(&c->seed) % 14);
	for (volatile int i = rand_r(&c->seed) % most; i > 0; i--) {}
}
/* Says to all nodes that this thread is at a run, and waits until all threads are. */
static void meet(struct ctx *c, int64_t nth)
{
	int own = WORDS + 1 + c->thread;
	cpu_write(own, nth);
	for (int n = 0; n < NODES; n++) {
		if (n == me) continue;
		post_by(&c->there[n], n, own, own, IBV_WR_RDMA_WRITE, 0, 0, 0);
		poll_by(c, &c->there[n]);
	}
	time_t begin = time(NULL);
	for (int t = 0; t < THREADS; t++) {
		for (unsigned k = 1; cpu_read(WORDS + 1 + t) < nth; k++) {
			if (k % 4096 == 0) sched_yield();
			if (k % (1u << 16) == 0 && time(NULL) - begin > patience) gone();
		}
	}
	pause_a_little(c);
}

/* Setting up. */
static void make(struct link *l)
{
	l->cq = check(ibv_create_cq(device, 128, NULL, NULL, 0), "ibv_create_cq");
	struct ibv_qp_init_attr init = { .send_cq = l->cq, .recv_cq = l->cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 128, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	l->qp = check(ibv_create_qp(pd, &init), "ibv_create_qp");
}
/* How many READs and atomics may be under way: with one only, none would ever pass another. */
static uint8_t depth(int most) { return (uint8_t)(most < 1 ? 1 : most > 255 ? 255 : most); }
static uint8_t least(uint8_t a, uint8_t b) { return a < b ? a : b; }
static struct endpoint described(struct link *l)
{
	return (struct endpoint){ .qpn = l->qp->qp_num, .rkey = mr->rkey, .lid = attr.lid, .gid = own_gid, .base = (uintptr_t)memory,
		.mtu = (uint8_t)attr.active_mtu, .serves = depth(limits.max_qp_rd_atom) };
}
static void join(struct link *l, struct endpoint *to)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = ib_port,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };
	if (ibv_modify_qp(l->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) die("to INIT");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .path_mtu = (enum ibv_mtu)least((uint8_t)attr.active_mtu, to->mtu), .dest_qp_num = to->qpn, .rq_psn = 0,
		.max_dest_rd_atomic = depth(limits.max_qp_rd_atom), .min_rnr_timer = 12, .ah_attr = { .dlid = to->lid, .port_num = ib_port } };
	if (gid_index >= 0) {
		a.ah_attr.is_global = 1;
		a.ah_attr.grh = (struct ibv_global_route){ .dgid = to->gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 64 };
	}
	if (ibv_modify_qp(l->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) die("to RTR");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = least(depth(limits.max_qp_init_rd_atom), to->serves) };
	if (ibv_modify_qp(l->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		IBV_QP_MAX_QP_RD_ATOMIC)) die("to RTS");
}
static struct addrinfo *resolved(int n)
{
	char service[16];
	struct addrinfo *info, hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	snprintf(service, sizeof service, "%d", port + n);
	int wrong = getaddrinfo(hosts[n], service, &hints, &info);
	if (!wrong) return info;
	fprintf(stderr, "%s, the host of node %d: %s\n", hosts[n], n + 1, gai_strerror(wrong));
	exit(2);
}
static __attribute__((noreturn)) void absent(int n)
{
	fprintf(stderr, "node %d on %s did not come within %d s: start it, or let -w give more time\n", n + 1, hosts[n], absence);
	exit(2);
}
/* The node that connects next, or -1 after a second without one. */
static int arrived(int listener)
{
	struct pollfd come = { .fd = listener, .events = POLLIN };
	int who;
	if (poll(&come, 1, 1000) < 1) return -1;
	int fd = accept(listener, NULL, NULL);
	if (fd < 0) die("accept");
	struct timeval second = { .tv_sec = 1 }, ever = { 0 };
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
	/* What says no number of a node that is missing is no node. */
	if (recv(fd, &who, sizeof who, MSG_WAITALL) != sizeof who || who <= me || who >= NODES || tcp[who]) {
		close(fd);
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &ever, sizeof ever);
	tcp[who] = fd;
	return who;
}
static void connect_nodes(void)
{
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	struct addrinfo *own = resolved(me);
	time_t begin = time(NULL);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(listener, own->ai_addr, own->ai_addrlen) || listen(listener, NODES)) {
		fprintf(stderr, "port %d of %s, the host of node %d: %s\n", port + me, hosts[me], me + 1, strerror(errno));
		exit(2);
	}
	freeaddrinfo(own);
	for (int n = 0; n < me; n++) {
		struct addrinfo *info = resolved(n);
		for (;;) {
			tcp[n] = socket(AF_INET, SOCK_STREAM, 0);
			if (!connect(tcp[n], info->ai_addr, info->ai_addrlen)) break;
			close(tcp[n]);
			if (time(NULL) - begin > absence) absent(n);
			usleep(100000);
		}
		freeaddrinfo(info);
		all(tcp[n], &me, sizeof me, 1);
	}
	for (int n = me + 1; n < NODES; n++)
		while (!tcp[n])
			if (arrived(listener) < 0 && time(NULL) - begin > absence) absent(n);
	for (int n = 0; n < NODES; n++)
		if (n != me) setsockopt(tcp[n], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	close(listener);
}
static void together(void)
{
	char token = 0;
	for (int n = 0; n < NODES; n++) if (n != me) all(tcp[n], &token, 1, 1);
	for (int n = 0; n < NODES; n++) if (n != me) all(tcp[n], &token, 1, 0);
}
/* An active end where a thread runs, and a passive one where the memory is. */
static void pair(int home, int n, struct link *active, struct link *served)
{
	struct endpoint mine, theirs;
	if (me == home) { make(active); mine = described(active); }
	if (me == n) make(served);
	if (me == home && me == n) {
		theirs = described(served);
		join(active, &theirs);
		join(served, &mine);
		remote_memory[n] = theirs;
	} else if (me == home) {
		all(tcp[n], &mine, sizeof mine, 1);
		all(tcp[n], &theirs, sizeof theirs, 0);
		join(active, &theirs);
		remote_memory[n] = theirs;
	} else if (me == n) {
		mine = described(served);
		all(tcp[home], &theirs, sizeof theirs, 0);
		all(tcp[home], &mine, sizeof mine, 1);
		join(served, &theirs);
	}
}
static void set_up(void)
{
	int count;
	struct ibv_device **list = check(ibv_get_device_list(&count), "ibv_get_device_list");
	for (int i = 0; i < count && !device; i++)
		if (!device_name || !strcmp(device_name, ibv_get_device_name(list[i]))) device = ibv_open_device(list[i]);
	if (!device) {
		fprintf(stderr, "there is no RDMA device%s%s; ibv_devices lists them\n", device_name ? " " : "", device_name ? device_name : "");
		exit(2);
	}
	ibv_free_device_list(list);
	pd = check(ibv_alloc_pd(device), "ibv_alloc_pd");
	if (ibv_query_port(device, ib_port, &attr)) die("ibv_query_port: -i names a port of the device");
	if (ibv_query_device(device, &limits)) die("ibv_query_device");
	if (gid_index < 0 && attr.link_layer == IBV_LINK_LAYER_ETHERNET) gid_index = 1;
	if (gid_index >= 0 && ibv_query_gid(device, ib_port, gid_index, &own_gid)) die("ibv_query_gid");
	if (posix_memalign((void **)&memory, 4096, (size_t)ALL_WORDS * LINE)) die("memory");
	memset(memory, 0, (size_t)ALL_WORDS * LINE);
	mr = check(ibv_reg_mr(pd, memory, (size_t)ALL_WORDS * LINE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC), "ibv_reg_mr");
	for (int t = 0; t < THREADS; t++) {
		for (int n = 0; n < NODES; n++) {
			pair(thread_node[t], n, &contexts[t].link[n], &passive[t]);
			pair(thread_node[t], n, &contexts[t].there[n], &passive_there[t]);
		}
	}
}
static void *run(void *arg)
{
	struct ctx *c = arg;
	for (int i = 0; i < runs; i++) {
		pthread_barrier_wait(&start);
		meet(c, i + 1);
		c->since = 0;
		thread_body[c->thread](c);
		c->line = 0;
		/* A put that is complete may not be in memory yet; a get behind it sees to that. */
		for (int n = 0; n < NODES; n++) {
			post(c, n, WORDS, WORDS, IBV_WR_RDMA_READ, 0, 0, 0);
			rdma_flush(c, n);
		}
		pthread_barrier_wait(&stop);
	}
	return NULL;
}
static struct { struct outcome o; long count; } table[4096];
static int kinds;
static long uncounted;
static void counted(const struct outcome *o)
{
	int i = 0;
	while (i < kinds && memcmp(&table[i].o, o, sizeof *o)) i++;
	if (i == kinds && kinds == 4096) { uncounted++; return; }
	if (i == kinds) { table[i].o = *o; kinds++; }
	table[i].count++;
}
static void collect(void)
{
	struct outcome o = { { 0 } };
	memcpy(o.value, registers, sizeof(int64_t) * REGISTERS);
	for (int w = 0; w < WORDS; w++) if (words[w].node == me) o.value[REGISTERS + w] = *at(w);
	if (me) { all(tcp[0], &o, sizeof o, 1); return; }
	/* What a node does not hold it leaves 0. */
	for (int n = 1; n < NODES; n++) {
		struct outcome other;
		all(tcp[n], &other, sizeof other, 0);
		for (int i = 0; i < OBSERVED; i++) o.value[i] |= other.value[i];
	}
	counted(&o);
}
/* Prints the outcomes that were counted; true if one of them is not expected. */
static int report(void)
{
	int bad = 0;
	printf("Test %s: %d runs, %d outcomes\n", test_name, ran, kinds);
	for (int i = 0; i < kinds; i++) {
		int judged = judge(&table[i].o);
		bad |= judged < 1;
		printf("%8ld ", table[i].count);
		for (int r = 0; r < REGISTERS; r++) printf("%s=%lld; ", register_names[r], (long long)table[i].o.value[r]);
		for (int w = 0; w < WORDS; w++) printf("%s=%lld; ", words[w].name, (long long)table[i].o.value[REGISTERS + w]);
		puts(judged > 0 ? "expected" : judged < 0 ? "FORBIDDEN" : "not expected");
	}
	if (uncounted) printf("%8ld more, of other outcomes: there are too many to tell them apart\n", uncounted);
	return bad;
}
#ifdef __MOWGLI__
static void *explored(void *arg)
{
	struct ctx *c = arg;
	thread_body[c->thread](c);
	for (int r = 0; r < REGISTERS; r++)
		if (register_thread[r] == c->thread) mowgli_outcome(register_names[r], c->reg[r]);
	return NULL;
}
int main(void)
{
	static int64_t own[THREADS][REGISTERS + 1];
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *opened[NODES];
	struct ibv_pd *domains[NODES];
	if (posix_memalign((void **)&memory, 4096, (size_t)ALL_WORDS * LINE)) die("memory");
	for (int n = 0; n < NODES; n++) {
		opened[n] = check(ibv_open_device(list[n]), "ibv_open_device");
		domains[n] = check(ibv_alloc_pd(opened[n]), "ibv_alloc_pd");
	}
	for (int w = 0; w < WORDS; w++) {
		*at(w) = words[w].init;
		regions[w] = mr = check(ibv_reg_mr(domains[words[w].node], at(w), 8, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC), "ibv_reg_mr");
	}
	for (int t = 0; t < THREADS; t++) {
		contexts[t].thread = t;
		contexts[t].reg = own[t];
		for (int n = 0; n < NODES; n++) {
			int ends[] = { thread_node[t], n };
			struct link *both[] = { &contexts[t].link[n], &passive[t] };
			for (int k = 0; k < 2; k++) {
				device = opened[ends[k]];
				pd = domains[ends[k]];
				make(both[k]);
			}
			struct endpoint mine = described(both[0]), theirs = described(both[1]);
			join(both[0], &theirs);
			join(both[1], &mine);
		}
	}
	for (int t = 0; t < THREADS; t++) mowgli_node(thread_node[t] + 1, explored, &contexts[t]);
	mowgli_join();
	for (int w = 0; w < WORDS; w++) mowgli_outcome(words[w].name, *at(w));
	return 0;
}
#else
int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int local = 0, option;
	while ((option = getopt(argc, argv, "n:p:d:i:g:s:w:")) != -1) {
		if (option == 'n') runs = atoi(optarg);
		else if (option == 'p') port = atoi(optarg);
		else if (option == 'd') device_name = optarg;
		else if (option == 'i') ib_port = (uint8_t)atoi(optarg);
		else if (option == 'w') absence = atoi(optarg);
		else if (option == 'g') gid_index = atoi(optarg);
		else if (option == 's') patience = atoi(optarg);
		else return 2;
	}
	me = optind < argc ? atoi(argv[optind]) - 1 : -1;
	if (argc - optind != 1 + NODES || me < 0 || me >= NODES) {
		fprintf(stderr, "usage: %s NODE HOST... [-n runs] [-p port] [-d device] [-i port of the device] [-g gid index] [-s seconds] "
			"[-w seconds]\nNODE is from 1 to %d, and there are as many hosts\n", argv[0], NODES);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	for (int n = 0; n < NODES; n++) hosts[n] = argv[optind + 1 + n];
	connect_nodes();
	set_up();
	for (int t = 0; t < THREADS; t++) local += thread_node[t] == me;
	pthread_barrier_init(&start, NULL, (unsigned)local + 1);
	pthread_barrier_init(&stop, NULL, (unsigned)local + 1);
	for (int t = 0; t < THREADS; t++) {
		contexts[t].thread = t;
		contexts[t].reg = registers;
		contexts[t].seed = (unsigned)(t + 1);
		if (thread_node[t] == me && pthread_create(&threads[t], NULL, run, &contexts[t])) die("pthread_create");
	}
	for (; ran < runs; ran++) {
		memset(registers, 0, sizeof registers);
		for (int w = 0; w < WORDS; w++) if (words[w].node == me) cpu_write(w, words[w].init);
		together();
		pthread_barrier_wait(&start);
		pthread_barrier_wait(&stop);
		together();
		collect();
		together();
	}
	for (int t = 0; t < THREADS; t++) if (thread_node[t] == me) pthread_join(threads[t], NULL);
	return me ? 0 : report();
}
#endif
