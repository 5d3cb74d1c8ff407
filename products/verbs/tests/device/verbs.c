/* A device for programs over libibverbs that are tested where there is no hardware: processes of one machine, which read and write each
 * other's memory by process_vm_readv and process_vm_writev. It is linked in place of -libverbs, and has what mowgli_verbs.h calls.
 *
 * A thread performs what was posted, a step of a random queue pair at a time. A WRITE reads its source, and is complete; it gets to
 * the other side some time later, after those before it. A READ reads after them; as many as max_rd_atomic may pass each other. So
 * it shows what is weak. With VERBS_UNORDERED in the environment WRITEs pass each other, as those of no queue pair may.
 */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#undef ibv_query_port
#undef ibv_reg_mr

enum { MOST = 128, PAIRS = 256 };

struct posted { struct ibv_send_wr wr; uint64_t local, remote, value; uint32_t peer; int has_read; };
struct late { uint64_t remote, value; uint32_t peer; };
struct done { struct ibv_cq cq; struct ibv_wc wc[MOST]; int count; };
struct pair {
	struct ibv_qp qp;
	struct posted pipe[MOST];
	struct late wire[MOST];
	int posted, late, reads, often, left;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pair *pairs[PAIRS];
static int count, lock, unordered;
static unsigned seed;
static struct ibv_device device = { .name = "tested" };
static struct ibv_context context = { .device = &device };

static void fail(const char *what) { perror(what); exit(3); }

static uint64_t far(uint32_t peer, uint64_t address)
{
	uint64_t value;
	struct iovec to = { &value, 8 }, from = { (void *)(uintptr_t)address, 8 };
	if (process_vm_readv((pid_t)peer, &to, 1, &from, 1, 0) != 8) fail("process_vm_readv");
	return value;
}
static void set_far(uint32_t peer, uint64_t address, uint64_t value)
{
	struct iovec from = { &value, 8 }, to = { (void *)(uintptr_t)address, 8 };
	if (process_vm_writev((pid_t)peer, &from, 1, &to, 1, 0) != 8) fail("process_vm_writev");
}
static uint64_t *near(uint64_t address) { return (uint64_t *)(uintptr_t)address; }

/* The first of the pipe is complete. */
static void complete(struct pair *p)
{
	struct done *done = (struct done *)p->qp.send_cq;
	done->wc[done->count++] = (struct ibv_wc){ .wr_id = p->pipe[0].wr.wr_id, .status = IBV_WC_SUCCESS };
	memmove(&p->pipe[0], &p->pipe[1], (size_t)--p->posted * sizeof p->pipe[0]);
}

static void arrive(struct pair *p)
{
	int i = unordered ? rand_r(&seed) % p->late : 0;
	set_far(p->wire[i].peer, p->wire[i].remote, p->wire[i].value);
	memmove(&p->wire[i], &p->wire[i + 1], (size_t)(--p->late - i) * sizeof p->wire[0]);
}

static void perform(struct pair *p)
{
	struct posted *first = &p->pipe[0];
	uint64_t old;
	switch (first->wr.opcode) {
	case IBV_WR_RDMA_WRITE:
		if (p->late == MOST) return;
		old = __atomic_load_n(near(first->local), __ATOMIC_ACQUIRE);
		p->wire[p->late++] = (struct late){ first->remote, old, first->peer };
		complete(p);
		return;
	case IBV_WR_RDMA_READ: {
		int reads = 0, i;
		while (reads < p->posted && reads < p->reads && p->pipe[reads].wr.opcode == IBV_WR_RDMA_READ) reads++;
		if (p->late) return;
		i = rand_r(&seed) % reads;
		if (!p->pipe[i].has_read) {
			p->pipe[i].value = far(p->pipe[i].peer, p->pipe[i].remote);
			p->pipe[i].has_read = 1;
		} else if (first->has_read) {
			__atomic_store_n(near(first->local), first->value, __ATOMIC_RELEASE);
			complete(p);
		}
		return;
	}
	default:
		if (p->late) return;
		flock(lock, LOCK_EX);
		old = far(first->peer, first->remote);
		if (first->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
			set_far(first->peer, first->remote, old + first->wr.wr.atomic.compare_add);
		else if (old == first->wr.wr.atomic.compare_add)
			set_far(first->peer, first->remote, first->wr.wr.atomic.swap);
		flock(lock, LOCK_UN);
		__atomic_store_n(near(first->local), old, __ATOMIC_RELEASE);
		complete(p);
	}
}

static void *works(void *none)
{
	for (int idle = 0;; idle++) {
		pthread_mutex_lock(&mutex);
		for (int i = 0; i < count; i++) {
			struct pair *p = pairs[i];
			if (!p->posted && !p->late) continue;
			idle = 0;
			/* Some are slow for a while. */
			if (p->left-- <= 0) { p->left = rand_r(&seed) % 64; p->often = 1 << rand_r(&seed) % 6; }
			if (rand_r(&seed) % p->often) continue;
			if (p->late && (!p->posted || rand_r(&seed) % 4 == 0)) arrive(p);
			else if (p->posted) perform(p);
		}
		pthread_mutex_unlock(&mutex);
		if (idle > 1000) usleep(20);
		else sched_yield();
	}
	return none;
}

static int post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct pair *p = (struct pair *)qp;
	int is_atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	int full;
	pthread_mutex_lock(&mutex);
	full = p->posted == MOST;
	if (!full)
		p->pipe[p->posted++] = (struct posted){ .wr = *wr, .local = wr->sg_list[0].addr,
			.remote = is_atomic ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr,
			.peer = is_atomic ? wr->wr.atomic.rkey : wr->wr.rdma.rkey };
	/* Now and then it is at once. */
	if (!full && p->posted == 1 && rand_r(&seed) % 4 == 0) perform(p);
	pthread_mutex_unlock(&mutex);
	if (full) *bad = wr;
	return full;
}
static int poll(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	struct done *done = (struct done *)cq;
	int has = 0;
	pthread_mutex_lock(&mutex);
	if (done->count && most) {
		*wc = done->wc[0];
		memmove(&done->wc[0], &done->wc[1], (size_t)--done->count * sizeof done->wc[0]);
		has = 1;
	}
	pthread_mutex_unlock(&mutex);
	if (!has) sched_yield();
	return has;
}

struct ibv_device **ibv_get_device_list(int *n)
{
	static struct ibv_device *list[] = { &device, NULL };
	*n = 1;
	return list;
}
void ibv_free_device_list(struct ibv_device **list) { (void)list; }
const char *ibv_get_device_name(struct ibv_device *d) { return d->name; }
struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	pthread_t thread;
	(void)d;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	unordered = getenv("VERBS_UNORDERED") != NULL;
	seed = (unsigned)getpid();
	if ((lock = open("/proc/self/exe", O_RDONLY)) < 0) fail("/proc/self/exe");
	context.ops.post_send = post;
	context.ops.poll_cq = poll;
	if (pthread_create(&thread, NULL, works, NULL)) fail("pthread_create");
	return &context;
}
int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
	(void)c;
	enum ibv_atomic_cap atomic = getenv("VERBS_NO_ATOMICS") ? IBV_ATOMIC_NONE : IBV_ATOMIC_HCA;
	*a = (struct ibv_device_attr){ .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16, .atomic_cap = atomic };
	return 0;
}
int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *a)
{
	struct ibv_port_attr own = { .state = IBV_PORT_ACTIVE, .active_mtu = IBV_MTU_1024, .lid = 1 };
	(void)c, (void)port;
	memcpy(a, &own, sizeof own);
	return 0;
}
int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
	(void)c, (void)port, (void)index;
	memset(gid, 0, sizeof *gid);
	return 0;
}
struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
	static struct ibv_pd pd;
	pd.context = c;
	return &pd;
}
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	static struct ibv_mr mr;
	(void)access;
	mr = (struct ibv_mr){ .context = pd->context, .pd = pd, .addr = address, .length = length, .rkey = (uint32_t)getpid() };
	return &mr;
}
struct ibv_cq *ibv_create_cq(struct ibv_context *c, int n, void *of, struct ibv_comp_channel *channel, int vector)
{
	struct done *done = calloc(1, sizeof *done);
	(void)n, (void)of, (void)channel, (void)vector;
	done->cq.context = c;
	return &done->cq;
}
struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct pair *p = calloc(1, sizeof *p);
	p->qp.context = pd->context;
	p->qp.send_cq = init->send_cq;
	p->qp.qp_num = (uint32_t)count + 1;
	if (count == PAIRS) return NULL;
	pthread_mutex_lock(&mutex);
	pairs[count++] = p;
	pthread_mutex_unlock(&mutex);
	return &p->qp;
}
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int what)
{
	if (what & IBV_QP_MAX_QP_RD_ATOMIC) ((struct pair *)qp)->reads = a->max_rd_atomic;
	return 0;
}
const char *ibv_wc_status_str(enum ibv_wc_status status) { return status == IBV_WC_SUCCESS ? "success" : "no success"; }
