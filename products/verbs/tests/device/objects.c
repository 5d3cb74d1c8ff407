/* Objects of `mowgli emit c` over a device: two nodes in one process, with a thread each.
 *
 * After each barrier a thread must see what the other one sent before it, the turns of two threads at one counter must add up, and a
 * ring must deliver messages in their order. Exits with 1 if not.
 *
 * With an argument a thread waits for a lock that it has itself: with `hook` until its hook was called often, which exits with 7; with
 * `deadline` until its deadline, which aborts, and exits with 9 if the queues were polled often until then.
 */
#include "objects.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 20, SIZE = 1 << 14 };

static char memory[3][SIZE] __attribute__((aligned(64)));
static struct mw nodes[3];
static struct mw_thread threads[3];
static struct bal barrier[3];
static struct sv shared[3];
static struct slock lock[3];
static struct sc_rmw counter[3], guarded[3];
static struct rbl ring[3];
static int wrong;

static struct ibv_qp *connected(struct ibv_context *device, struct ibv_pd *pd, struct ibv_cq **cq)
{
	struct ibv_qp_attr attr = { .max_rd_atomic = 16 };
	*cq = ibv_create_cq(device, MW_DEPTH, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = *cq, .recv_cq = *cq, .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	ibv_modify_qp(qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC);
	return qp;
}

static void set_up(void)
{
	struct ibv_device **list = ibv_get_device_list(&(int){ 0 });
	struct ibv_context *device = ibv_open_device(list[0]);
	struct ibv_pd *pd = ibv_alloc_pd(device);
	for (int n = 1; n <= 2; n++) {
		struct ibv_mr *mr = ibv_reg_mr(pd, memory[n], SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
		nodes[n] = (struct mw){ .nodes = 2, .threads = 2, .node = n, .node_of = { 0, 1, 2 }, .memory = memory[n], .size = SIZE };
		nodes[n].lkey = mr->lkey;
		for (int m = 1; m <= 2; m++) {
			nodes[n].base[m] = (uintptr_t)memory[m];
			nodes[n].rkey[m] = mr->rkey;
			threads[n].qp[m] = connected(device, pd, &threads[n].cq[m]);
		}
		threads[n].all = &nodes[n];
		threads[n].thread = threads[n].node = n;
		bal_new(&nodes[n], &barrier[n], mw_threads(2, 1, 2));
		sv_new(&nodes[n], &shared[n], 0);
		slock_new(&nodes[n], &lock[n], 1);
		sc_rmw_new(&nodes[n], &counter[n], 2, 0);
		sc_rmw_new(&nodes[n], &guarded[n], 1, 0);
		rbl_new(&nodes[n], &ring[n], mw_threads(2, 1, 2), 8);
	}
}

static void expect(int64_t found, int64_t expected, const char *what)
{
	if (found == expected) return;
	printf("%s: %lld, not %lld\n", what, (long long)found, (long long)expected);
	__atomic_store_n(&wrong, 1, __ATOMIC_SEQ_CST);
}

static void *run(void *number)
{
	int t = *(int *)number;
	struct mw_thread *me = &threads[t];
	for (int i = 1; i <= ROUNDS; i++) {
		if (t == 1) {
			sv_write(me, &shared[t], i);
			sv_bcast(me, &shared[t], 0, mw_only(2));
		}
		bal_bar(me, &barrier[t]);
		if (t == 2) expect(sv_read(me, &shared[t]), i, "after the barrier");
		bal_bar(me, &barrier[t]);
		sc_rmw_faa(me, &counter[t], 1);
		slock_acq(me, &lock[t]);
		sc_rmw_write(me, &guarded[t], sc_rmw_read(me, &guarded[t]) + 1);
		slock_rel(me, &lock[t]);
		if (t == 1) while (!rbl_submit(me, &ring[t], mw_one(i))) mw_again(me);
		if (t == 2) {
			struct mw_list message;
			while ((message = rbl_receive(me, &ring[t])).n < 0) mw_again(me);
			expect(mw_first(message), i, "a message");
		}
	}
	bal_bar(me, &barrier[t]);
	expect(sc_rmw_read(me, &counter[t]), 2 * ROUNDS, "the counter");
	expect(sc_rmw_read(me, &guarded[t]), 2 * ROUNDS, "behind the lock");
	return NULL;
}

static int (*poll_queue)(struct ibv_cq *cq, int n, struct ibv_wc *wc);
static int polls, calls;
static int counted_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc) { polls++; return poll_queue(cq, n, wc); }
static void counted_call(struct mw_thread *me) { (void)me; if (++calls == 1000) exit(7); }
static void aborted(int signal) { _exit(signal == SIGABRT && polls > 20 ? 9 : 8); }

static int waits(bool has_hook)
{
	struct mw_thread *me = &threads[1];
	if (has_hook) me->again = counted_call;
	else me->deadline = mw_now() + 2000000000;
	signal(SIGABRT, aborted);
	poll_queue = me->cq[1]->context->ops.poll_cq;
	me->cq[1]->context->ops.poll_cq = counted_poll;
	slock_acq(me, &lock[1]);
	slock_acq(me, &lock[1]);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t other;
	int one = 1, two = 2;
	set_up();
	if (argc > 1) return waits(!strcmp(argv[1], "hook"));
	if (pthread_create(&other, NULL, run, &two)) return 2;
	run(&one);
	pthread_join(other, NULL);
	return wrong;
}
