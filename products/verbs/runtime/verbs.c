/* A libibverbs without hardware. Device k is the card of node k + 1. `main` makes everything that needs to be made; threads post
 * and poll. The explorer performs what is posted, in every order that the model allows. Here a queue pair is a list of what
 * was posted and not yet polled, and the number of messages that went by it.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list

enum { REGIONS = 256 };

struct sent { uint64_t id; unsigned long place[4]; uint32_t length; uint8_t opcode, signaled; int count; struct { uint64_t at; uint32_t n; } own[8]; };
/* `owner` is the number of the queue pair whose message has it, if that is known, of several that share it. */
struct awaited { uint64_t id; int count; uint32_t owner; int64_t number; struct ibv_sge to[8]; };
struct receives { char mark, is_mine; uint32_t most, elements; int count; int64_t posted, before; struct awaited queue[DEPTH]; };
/* `is_gone` is a word that says that an object is destroyed, by whichever thread. */
struct shared { struct ibv_srq srq; int node; int64_t is_gone; struct receives all; };
/* What the threads change is in `now`, in `pipe` and in receive queues; all of it is part of a thread's state. */
struct pair {
	struct ibv_qp qp;
	char mark;
	struct ibv_qp_cap cap;
	int64_t is_gone;
	int node, all_signaled, access;
	uint32_t peer;
	struct { int sent; int64_t messages, received, completed; } now;
	/* The places of the last poll that returned the completion of a message. */
	char polled_at[128];
	struct sent pipe[DEPTH];
	/* Its receive queue: its own one or a shared one. */
	struct receives own, *from;
};
/* `used` says which threads have operations with local memory there, by the places of one: see `uses`. `awaited` says near what receives
 * are that threads have posted, as bits of `parts`. */
struct region { struct ibv_mr mr; int node, access; int64_t is_gone, used[THREADS], awaited[THREADS + 1]; };
/* Memory of receives that each thread has posted, for the others. Behind the threads is what the set-up has posted to shared queues. A place
 * keeps its memory and its queue, and is used for it again. */
enum { UNUSED, AWAITED, POLLED };
static struct posted { int64_t state, at, size, from, number; } posted[THREADS + 1][DEPTH];
struct queue { struct ibv_cq cq; int node; int64_t is_gone; };

static struct ibv_device devices[NODES];
static struct ibv_device *device_list[NODES + 1];
static struct pair *pairs[PAIRS];
static int pair_count;
static struct shared *shared[PAIRS];
static int shared_count;
static struct region *regions[REGIONS];
static int region_count;
static struct queue *queues[PAIRS];
static int queue_count;
/* Those of the other programs. */
static struct pair *other_pairs[NODES * PAIRS];
static struct region *other_regions[NODES * REGIONS];
static int other_pair_count, other_region_count;

static int node_of(struct ibv_context *c) { return (int)(c->device - devices) + 1; }
static struct pair *pair_of(struct ibv_qp *qp) { return (struct pair *)qp; }
/* A completion goes to whoever polls. The model has those of a thread's own work requests only. */
static void belongs(const char *mark, int posts)
{
	if (mw_is_shared(mark, 1, posts)) mw_end('x', "work requests of one thread whose completions another thread polls");
}
static struct pair *numbered(uint32_t qpn)
{
	for (int i = 0; i < pair_count; i++) if (pairs[i]->qp.qp_num == qpn) return pairs[i];
	for (int i = 0; i < other_pair_count; i++) if (other_pairs[i]->qp.qp_num == qpn) return other_pairs[i];
	return NULL;
}
static struct region *keyed(uint32_t key)
{
	for (int i = 0; i < region_count; i++) if (regions[i]->mr.lkey == key) return regions[i];
	for (int i = 0; i < other_region_count; i++) if (other_regions[i]->mr.lkey == key) return other_regions[i];
	return NULL;
}
/* Numbers are unique among all programs. */
static uint32_t next_number(int count, int most) { return (uint32_t)((mw_program < 0 ? 0 : mw_program) * most + count); }
static void sets_up(const char *call)
{
	if (mw_thread >= 0 && mw_program >= 0) mw_end('x', "%s after the set-up", call);
	if (mw_thread >= 0) mw_end('x', "%s in a thread; let `main` set up devices, memory and queue pairs", call);
	mw_sets_up();
}
static int is_alive(int64_t *is_gone) { return !(mw_native(is_gone, sizeof *is_gone, 0) || *is_gone ? *is_gone : mw_flag(is_gone)); }
static void lives(int64_t *is_gone, const char *call, const char *what)
{
	if (!is_alive(is_gone)) mw_end('m', "%s: the %s is destroyed", call, what);
}
/* True if threads or other programs may run, so that operations are under way. */
static int others_run(void) { return mw_threads_run() || (mw_thread >= 0 && mw_thread != EPILOGUE && mw_program >= 0); }
/* Behind the threads nobody else needs to know. */
static int destroys(int64_t *is_gone, const char *call, const char *what)
{
	int is_own = mw_native(is_gone, sizeof *is_gone, 1) || !others_run();
	if (mw_thread >= 0) mw_flush();
	lives(is_gone, call, what);
	if (is_own) *is_gone = 1; else mw_set_flag(is_gone, 1);
	return 0;
}
static void *made(size_t size)
{
	/* The program looks into it. */
	void *p = mw_allocated(size);
	if (!p) mw_end('x', "no memory");
	return memset(p, 0, size);
}

static void receives_state(const struct receives *r)
{
	mw_state(&r->count, sizeof r->count);
	mw_state(&r->posted, sizeof r->posted);
	mw_state(r->queue, (size_t)r->count * sizeof *r->queue);
}
static void operations_state(void);
/* The last use of memory that a receive of another thread awaits. */
static struct { uint64_t place, at; } awaited_at;
void mw_verbs_state(void)
{
	operations_state();
	for (int i = 0; i < queue_count; i++) mw_state(&queues[i]->is_gone, sizeof queues[i]->is_gone);
	for (int i = 0; i < shared_count; i++) {
		mw_state(&shared[i]->is_gone, sizeof shared[i]->is_gone);
		receives_state(&shared[i]->all);
	}
	for (int i = 0; i < pair_count; i++) {
		struct pair *p = pairs[i];
		mw_state(&p->now, sizeof p->now);
		mw_state(&p->is_gone, sizeof p->is_gone);
		mw_state(p->pipe, (size_t)p->now.sent * sizeof *p->pipe);
		receives_state(&p->own);
	}
	mw_state(&awaited_at, sizeof awaited_at);
	for (int i = 0; i < region_count; i++) mw_state(&regions[i]->is_gone, sizeof regions[i]->is_gone);
}
static int receives_at(const struct awaited *w, uintptr_t at, size_t n)
{
	int is_there = 0;
	for (int i = 0; i < w->count; i++) is_there |= at < w->to[i].addr + w->to[i].length && w->to[i].addr < at + n;
	return is_there;
}
/* The card writes it when a message comes. For a receive that is posted behind the set-up the runtime does so at the poll. */
static void touches_receive(const struct receives *r, int64_t early, uintptr_t at, size_t n)
{
	for (int k = 0; r->is_mine && k < r->count; k++)
		if (r->posted - r->count + k >= early && receives_at(&r->queue[k], at, n))
			mw_unsure("memory of a receive that is used before its completion was polled");
}
static int is_in_region(const struct region *r, uintptr_t at, size_t n)
{
	return at < (uintptr_t)r->mr.addr + r->mr.length && (uintptr_t)r->mr.addr < at + n;
}
/* The parts of a region that have some of these bytes, one a bit. */
static uint64_t parts(const struct region *r, uintptr_t at, size_t n)
{
	uint64_t bits = 0;
	size_t size = (r->mr.length + 63) / 64 < 8 ? 8 : (r->mr.length + 63) / 64;
	for (size_t k = 0; is_in_region(r, at, n) && k < 64; k++) if ((uintptr_t)r->mr.addr + k * size < at + n && at < (uintptr_t)r->mr.addr + (k + 1) * size) bits |= 1ul << k;
	return bits;
}
static void sets(int64_t *at, int64_t v)
{
	if (*at == v) return;
	if (mw_thread < 0) *at = v; else mw_set_flag(at, v);
}
/* Tells other threads that a receive of this owner is posted, or polled. */
static void tells_receive(int owner, const struct receives *r, const struct awaited *w, int state)
{
	struct posted *all = posted[owner], *p;
	for (int j = 0; owner <= THREADS && j < w->count; j++) {
		int64_t at = (int64_t)w->to[j].addr, size = w->to[j].length, from = (int64_t)(uintptr_t)r;
		for (p = all; p < all + DEPTH && p->state; p++)
			if (p->at == at && p->size == size && p->from == from && (state == AWAITED ? p->state == POLLED : p->number == w->number)) break;
		if (p == all + DEPTH) mw_end('x', "a thread posts receives of more than %d kinds", DEPTH);
		sets(&p->at, at);
		sets(&p->size, size);
		sets(&p->from, from);
		sets(&p->number, w->number);
		sets(&p->state, state);
	}
	for (int i = 0; owner <= THREADS && i < region_count; i++) {
		uint64_t bits = 0;
		for (p = all; p < all + DEPTH && p->state; p++) if (p->state == AWAITED) bits |= parts(regions[i], (uintptr_t)p->at, (size_t)p->size);
		sets(&regions[i]->awaited[owner], (int64_t)bits);
	}
}
/* True if others have a receive with some of these bytes, of which the poll is not done. `frees` is called with each, or NULL. */
static int is_awaited_by_others(uintptr_t at, size_t n, void (*frees)(const struct receives *, int64_t))
{
	for (int i = 0; mw_thread < THREADS && i < region_count; i++) {
		uint64_t bits = regions[i]->node == mw_node() ? parts(regions[i], at, n) : 0;
		for (int t = 0; bits && t <= THREADS; t++) {
			if (t == mw_thread || !((uint64_t)mw_flag(&regions[i]->awaited[t]) & bits)) continue;
			int64_t state;
			for (struct posted *p = posted[t]; p < posted[t] + DEPTH && (state = mw_flag(&p->state)); p++) {
				if (state != AWAITED) continue;
				uintptr_t begin = (uintptr_t)mw_flag(&p->at), end = begin + (uintptr_t)mw_flag(&p->size);
				if (at >= end || begin >= at + n) continue;
				const struct receives *from = (const void *)mw_flag(&p->from);
				if (frees) frees(from, mw_flag(&p->number)); else if (t < THREADS || !from->is_mine) return 1;
			}
		}
	}
	return 0;
}
/* A use of memory of such a receive by another thread. If it is repeated, the thread waits for what the card may have written, and goes no
 * further. */
static void touches_awaited(uintptr_t at, size_t n)
{
	if (!is_awaited_by_others(at, n, NULL)) return;
	mw_unsure("memory of a receive that another thread uses before its completion was polled");
	if (awaited_at.place == mw_place() && awaited_at.at == at) mw_end('d', "a wait for the memory of a receive");
	awaited_at.place = mw_place();
	awaited_at.at = at;
}
void mw_verbs_touch(uintptr_t at, size_t n, int writes)
{
	touches_awaited(at, n);
	for (int i = 0; i < pair_count; i++)
		for (int k = 0; k < pairs[i]->now.sent; k++) {
			struct sent *s = &pairs[i]->pipe[k];
			int is_written = s->opcode == IBV_WR_RDMA_READ || s->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP;
			for (int j = 0; j < s->count && (writes || is_written); j++)
				if (at < s->own[j].at + s->own[j].n && s->own[j].at < at + n)
					mw_warn("memory of an operation is %s before its completion was polled", writes ? "written" : "read");
		}
	for (int i = 0; i < pair_count; i++) touches_receive(&pairs[i]->own, pairs[i]->own.before, at, n);
	for (int i = 0; i < shared_count; i++) touches_receive(&shared[i]->all, 0, at, n);
}
int mw_is_registered(uintptr_t at, size_t n)
{
	for (int i = 0; i < region_count; i++) if (is_in_region(regions[i], at, n)) return 1;
	return 0;
}
void mw_verbs_lines(void)
{
	for (int i = 0; i < shared_count; i++)
		for (int k = 0; k < shared[i]->all.count; k++) {
			struct awaited *w = &shared[i]->all.queue[k];
			tells_receive(THREADS, &shared[i]->all, w, AWAITED);
			for (int j = 0; j < w->count; j++) mw_line("late %lu %lu %u\n", GLOBAL(&shared[i]->all), GLOBAL(w->to[j].addr), w->to[j].length);
		}
	for (int i = 0; i < region_count; i++)
		mw_line("region %d %lu %zu %u %d %lu\n", regions[i]->node, GLOBAL(regions[i]->mr.addr), regions[i]->mr.length,
			regions[i]->mr.lkey, regions[i]->access, GLOBAL(regions[i]->mr.pd));
	for (int i = 0; i < pair_count; i++) {
		struct pair *other = numbered(pairs[i]->peer);
		pairs[i]->from->before = pairs[i]->from->posted;
		mw_line("pair %d %d %u %u %d %d %lu %lu %ld\n", pairs[i]->node, other ? other->node : 0, pairs[i]->peer, pairs[i]->qp.qp_num,
			pairs[i]->qp.state, pairs[i]->access, GLOBAL(pairs[i]->qp.pd), GLOBAL(pairs[i]->from), (long)pairs[i]->from->posted);
		for (int k = 0; k < pairs[i]->own.count; k++) {
			mw_line("receive %lu", GLOBAL(&pairs[i]->own));
			for (int j = 0; j < pairs[i]->own.queue[k].count; j++)
				mw_line(" %lu %u", GLOBAL(pairs[i]->own.queue[k].to[j].addr), pairs[i]->own.queue[k].to[j].length);
			mw_line("\n");
		}
	}
}
/* The same lines of the other programs. */
void mw_verbs_others(char *text)
{
	for (char *word = strtok(text, ";"); word; word = strtok(NULL, ";")) {
		unsigned long at, pd;
		struct region *r = memset(mw_own_malloc(sizeof *r), 0, sizeof *r);
		if (sscanf(word, "region %d %lu %zu %u %d %lu", &r->node, &at, &r->mr.length, &r->mr.lkey, &r->access, &pd) == 6) {
			r->mr.addr = (void *)OWN(at);
			r->mr.pd = (void *)pd;
			other_regions[other_region_count++] = r;
			continue;
		}
		struct pair *p = memset(mw_own_malloc(sizeof *p), 0, sizeof *p);
		int to, state;
		if (sscanf(word, "pair %d %d %u %u %d %d %lu", &p->node, &to, &p->peer, &p->qp.qp_num, &state, &p->access, &pd) != 7) continue;
		p->qp.state = (enum ibv_qp_state)state;
		p->qp.pd = (void *)pd;
		other_pairs[other_pair_count++] = p;
	}
}
static void operations_ended(void);
void mw_verbs_ended(void)
{
	if (mw_thread == EPILOGUE) return;
	operations_ended();
	for (int i = 0; i < pair_count; i++)
		if (pairs[i]->now.completed) mw_line("p %u %ld %s\n", pairs[i]->peer, (long)pairs[i]->now.completed, pairs[i]->polled_at);
	/* The messages of each queue pair, and the receives behind the set-up whose messages were not polled. */
	for (int i = 0; i < pair_count; i++)
		if (pairs[i]->now.messages || pairs[i]->now.received)
			mw_line("M %u %ld %u %ld\n", pairs[i]->peer, (long)pairs[i]->now.messages, pairs[i]->qp.qp_num, (long)pairs[i]->now.received);
	for (int i = 0; i < pair_count; i++) {
		struct receives *r = pairs[i]->from;
		for (int k = 0; r->posted > r->before && k < r->count; k++)
			for (int j = 0; r->queue[k].number >= r->before && j < r->queue[k].count; j++)
				mw_line("Y %lu %lu %u\n", GLOBAL(r), GLOBAL(r->queue[k].to[j].addr), r->queue[k].to[j].length);
		if (r->posted > r->before) mw_line("r %lu %ld\n", GLOBAL(r), (long)(r->posted - r->before));
		r->before = r->posted;
	}
}
/* Checks an access by the card, and names what is wrong. `rights` are those that it needs, 0 for a local read. */
static void reaches(const char *what, int node, struct ibv_pd *pd, uint32_t key, uint64_t at, uint64_t n, int rights)
{
	struct region *r = keyed(key);
	if (!r) mw_end('m', "%s: no memory is registered with the key %u", what, key);
	uint64_t from = (uint64_t)(uintptr_t)r->mr.addr;
	if (r->is_gone) mw_end('m', "%s: the memory of the key %u is deregistered", what, key);
	if (r->node != node) mw_end('m', "%s: the key %u is of memory on node %d, but the access is on node %d", what, key, r->node, node);
	if (pd && r->mr.pd != pd) mw_end('m', "%s: the memory of the key %u is of another protection domain", what, key);
	if (at < from || at + n > from + r->mr.length)
		mw_end('m', "%s: %lu bytes at offset %ld of memory of %zu bytes", what, (unsigned long)n, (long)(at - from), r->mr.length);
	if ((r->access & rights) != rights)
		mw_end('m', "%s: the memory is registered without %s", what, rights & IBV_ACCESS_LOCAL_WRITE ? "IBV_ACCESS_LOCAL_WRITE"
			: rights & IBV_ACCESS_REMOTE_WRITE ? "IBV_ACCESS_REMOTE_WRITE" : rights & IBV_ACCESS_REMOTE_READ
			? "IBV_ACCESS_REMOTE_READ" : "IBV_ACCESS_REMOTE_ATOMIC");
}

/* Operations that may come later than the end of what they need. The kind says what ends: memory is freed ('f') or deregistered ('d'), a
 * queue pair is destroyed ('q'), or the memory of the receive for a message is freed ('r'). */
enum { OPEN = 64 };
static struct { uint64_t kind, at, size; int64_t k; } open_operations[OPEN];
static int open_count;
static char freed_at[OPEN][128];
static void operations_state(void)
{
	mw_state(open_operations, (size_t)open_count * sizeof *open_operations);
}
static void operations_ended(void)
{
	for (int i = 0; i < open_count; i++)
		mw_line("o %c %lu %lu %ld %s\n", (int)open_operations[i].kind, (unsigned long)open_operations[i].at, (unsigned long)open_operations[i].size, (long)open_operations[i].k, freed_at[i]);
}
static void stays_open(char kind, uint64_t at, uint64_t size, int64_t k)
{
	if (open_count == OPEN) mw_end('x', "more than %d operations to what a thread frees or destroys", OPEN);
	mw_places(freed_at[open_count]);
	open_operations[open_count].kind = (uint64_t)kind;
	open_operations[open_count].at = at;
	open_operations[open_count].size = size;
	open_operations[open_count++].k = k;
}
static void ends_for(char kind, uint64_t at, uint64_t size)
{
	int64_t landed;
	for (int64_t k = 0; (landed = mw_ask("landed %lu %lu %ld %c", (unsigned long)at, (unsigned long)size, (long)k, kind)) >= 0; k++)
		if (!landed) stays_open(kind, at, size, k);
}
/* True of memory that the card of this node knows. */
static int is_of_card(uintptr_t at, size_t n)
{
	int is_known = 0;
	for (int i = 0; i < region_count; i++) is_known |= regions[i]->node == mw_node() && is_in_region(regions[i], at, n);
	return is_known;
}
/* A place in the first 2 MiB of the program, as 21 bits. */
extern char __executable_start;
static uint64_t keeps(uint64_t place)
{
	uint64_t offset = OWN(place) - (uintptr_t)&__executable_start;
	return offset < 1 << 21 ? offset : 0;
}
static unsigned long kept(uint64_t bits)
{
	uint64_t offset = bits & ((1 << 21) - 1);
	return offset ? GLOBAL(offset + (uintptr_t)&__executable_start) : 0;
}
/* Frees the memory of the receive with this number, where no message comes behind the end of its queue pair. Messages to queue pairs that
 * share a queue take its receives in turn, so the first one that is open stands for all of them. */
static void frees_receive(const struct receives *r, int64_t number)
{
	int64_t come = 0;
	const struct pair *p = NULL;
	for (int i = 0; i < pair_count; i++) {
		if (pairs[i]->from != r) continue;
		p = pairs[i];
		if (!is_alive(&pairs[i]->is_gone)) return;
		if (r == &p->own) { come = mw_ask("received %u %ld", p->qp.qp_num, (long)number) ? number + 1 : 0; break; }
		for (int k = 0; k < open_count; k++)
			if (open_operations[k].kind == 'r' && numbered((uint32_t)open_operations[k].at)->from == r && (int64_t)open_operations[k].size <= number) return;
		int64_t k = p->now.received;
		while (mw_ask("received %u %ld", p->qp.qp_num, (long)k)) k++;
		come += k;
	}
	if (p && come <= number) stays_open('r', p->qp.qp_num, (uint64_t)number, 0);
}
static void frees_receives(const struct receives *r, int64_t first, uintptr_t at, size_t n)
{
	for (int k = 0; k < r->count; k++) if (r->queue[k].number >= first && receives_at(&r->queue[k], at, n)) frees_receive(r, r->queue[k].number);
}
void mw_verbs_frees(uintptr_t at, size_t n)
{
	for (int i = 0; i < pair_count; i++)
		for (int k = 0; k < pairs[i]->now.sent; k++)
			for (int j = 0; j < pairs[i]->pipe[k].count; j++) {
				const struct sent *s = &pairs[i]->pipe[k];
				if (at < s->own[j].at + s->own[j].n && s->own[j].at < at + n)
					mw_end('m', "frees memory of the operation of {%lx,%lx,%lx,%lx} before its completion was polled", s->place[0], s->place[1],
						s->place[2], s->place[3]);
			}
	if (!is_of_card(at, n) || !others_run()) return;
	for (int i = 0; i < region_count; i++)
		for (int t = 0; is_in_region(regions[i], at, n) && t < THREADS; t++) {
			uint64_t place = t == mw_thread ? 0 : (uint64_t)mw_flag(&regions[i]->used[t]);
			if (place) mw_end('m', "frees memory of the operation of {%lx,%lx,%lx} before its completion was polled", kept(place), kept(place >> 21), kept(place >> 42));
		}
	ends_for('f', GLOBAL(at), n);
	mw_call("freed %lu %zu", GLOBAL(at), n);
	/* The messages that have the receives there. */
	for (int i = 0; i < pair_count; i++) frees_receives(&pairs[i]->own, 0, at, n);
	for (int i = 0; i < shared_count; i++) frees_receives(&shared[i]->all, shared[i]->all.before, at, n);
	is_awaited_by_others(at, n, frees_receive);
}
/* Notes that this thread has an operation with local memory in a region, or none. Another thread that frees it looks. The value has three
 * places of the operation. */
static void uses(struct region *r, int is_open)
{
	unsigned long place[3] = { 0 };
	char places[128];
	mw_places(places);
	sscanf(places, "%lx,%lx,%lx", &place[0], &place[1], &place[2]);
	if (!r->used[mw_thread] == !is_open) return;
	mw_set_flag(&r->used[mw_thread], is_open ? (int64_t)(1ul << 63 | keeps(place[0]) | keeps(place[1]) << 21 | keeps(place[2]) << 42) : 0);
}

/* Posting. */
static int sends(struct pair *p, struct ibv_send_wr *wr)
{
	static const char *const names[] = { [IBV_WR_RDMA_WRITE] = "write", [IBV_WR_RDMA_WRITE_WITH_IMM] = "writeimm",
		[IBV_WR_SEND] = "send", [IBV_WR_SEND_WITH_IMM] = "sendimm", [IBV_WR_RDMA_READ] = "read",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "cas", [IBV_WR_ATOMIC_FETCH_AND_ADD] = "faa" };
	const char *name = wr->opcode < sizeof names / sizeof *names ? names[wr->opcode] : NULL;
	if (!name) mw_end('x', "ibv_post_send with opcode %d", wr->opcode);
	struct pair *to = numbered(p->peer);
	int is_read = wr->opcode == IBV_WR_RDMA_READ;
	int is_atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	int is_send = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM;
	int is_message = is_send || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	int is_inline = (wr->send_flags & IBV_SEND_INLINE) != 0, is_signaled = p->all_signaled || wr->send_flags & IBV_SEND_SIGNALED;
	if (p->qp.state != IBV_QPS_RTS) mw_end('m', "ibv_post_send: the queue pair is not in the state RTS");
	if (!to || to->qp.state < IBV_QPS_RTR) mw_end('m', "ibv_post_send: the queue pair at the other side is not in the state RTR");
	/* Only what the set-up or this thread has destroyed is known of the other side. */
	if (to->is_gone) mw_end('m', "ibv_post_send: the queue pair at the other side is destroyed");
	if (to->peer != p->qp.qp_num) mw_end('m', "ibv_post_send: the queue pair at the other side is connected to another one");
	if ((uint32_t)p->now.sent >= p->cap.max_send_wr || p->now.sent >= DEPTH) {
		mw_warn("ibv_post_send: the send queue is full: %d work requests, and no completion of them was polled, so it returns ENOMEM", p->now.sent);
		return ENOMEM;
	}
	/* A card that has no room for a completion stops the queue. */
	int room = p->qp.send_cq->cqe - is_signaled;
	for (int i = 0; i < pair_count; i++)
		for (int k = 0; pairs[i]->qp.send_cq == p->qp.send_cq && k < pairs[i]->now.sent; k++) room -= pairs[i]->pipe[k].signaled;
	if (is_signaled && room < 0)
		mw_end('m', "ibv_post_send: the completion queue of %d entries may overrun: poll it before more signaled work requests", p->qp.send_cq->cqe);
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > p->cap.max_send_sge)
		mw_end('m', "ibv_post_send: %d scatter elements on a queue pair of %u", wr->num_sge, p->cap.max_send_sge);
	if (is_inline && (is_read || is_atomic)) mw_end('m', "ibv_post_send: IBV_SEND_INLINE is for WRITE and SEND alone");
	uint64_t length = 0;
	for (int i = 0; i < wr->num_sge; i++) {
		struct ibv_sge *s = &wr->sg_list[i];
		if (!is_inline && s->length)
			reaches("the local side of ibv_post_send", p->node, p->qp.pd, s->lkey, s->addr, s->length,
				is_read || is_atomic ? IBV_ACCESS_LOCAL_WRITE : 0);
		length += s->length;
	}
	if (is_inline && length > p->cap.max_inline_data)
		mw_end('m', "ibv_post_send: %lu bytes inline on a queue pair of %u", (unsigned long)length, p->cap.max_inline_data);
	uint64_t remote = is_atomic ? wr->wr.atomic.remote_addr : is_send ? 0 : wr->wr.rdma.remote_addr;
	uint32_t key = is_atomic ? wr->wr.atomic.rkey : is_send ? 0 : wr->wr.rdma.rkey;
	if (is_atomic && (length != 8 || remote % 8)) mw_end('m', "ibv_post_send: an atomic operation is of 8 bytes at a multiple of 8");
	int right = is_atomic ? IBV_ACCESS_REMOTE_ATOMIC : is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
	if (!is_send && length) {
		reaches("the remote side of ibv_post_send", to->node, to->qp.pd, key, remote, length, right);
		if (!(to->access & right)) mw_end('m', "ibv_post_send: the queue pair at the other side does not allow this access (qp_access_flags)");
	}
	if (length > (1u << 20)) mw_end('x', "an operation of more than 1 MiB");
	/* What is inline is read now, and all else by the card. */
	char *data = mw_own_malloc(2 * length + 1), *local = mw_own_malloc(44 * (size_t)wr->num_sge + 1);
	data[0] = local[0] = 0;
	size_t used = 0, at = 0;
	for (int i = 0; i < wr->num_sge; i++) {
		struct ibv_sge *s = &wr->sg_list[i];
		if (!is_inline) { at += (size_t)sprintf(local + at, " %lu %u", GLOBAL(s->addr), s->length); continue; }
		if (s->length) mw_load((void *)(uintptr_t)s->addr, s->length);
		for (uint32_t k = 0; k < s->length; k++) used += (size_t)sprintf(data + used, "%02x", ((unsigned char *)(uintptr_t)s->addr)[k]);
	}
	int has_imm = wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	mw_call("op %u %s %d %d %lu %lu %ld %ld %ld %s%s", p->qp.qp_num, name, is_signaled, (wr->send_flags & IBV_SEND_FENCE) != 0,
		GLOBAL_OF(mw_program < 0 ? 0 : to->node - 1, remote), (unsigned long)length, is_message ? (long)p->now.messages : -1,
		is_atomic ? (long)wr->wr.atomic.compare_add : has_imm ? (long)wr->imm_data : 0, is_atomic ? (long)wr->wr.atomic.swap : 0,
		is_inline ? "=" : "@", is_inline ? data : local);
	mw_own_free(data);
	mw_own_free(local);
	if (is_signaled) belongs(&p->mark, 1);
	struct sent *s = &p->pipe[p->now.sent++];
	memset(s, 0, sizeof *s);
	s->id = wr->wr_id;
	char places[128];
	mw_places(places);
	sscanf(places, "%lx,%lx,%lx,%lx", &s->place[0], &s->place[1], &s->place[2], &s->place[3]);
	s->length = (uint32_t)length;
	s->opcode = (uint8_t)wr->opcode;
	s->signaled = (uint8_t)is_signaled;
	for (; !is_inline && s->count < wr->num_sge && s->count < 8; s->count++) {
		if (wr->sg_list[s->count].length) uses(keyed(wr->sg_list[s->count].lkey), 1);
		s->own[s->count].at = wr->sg_list[s->count].addr;
		s->own[s->count].n = wr->sg_list[s->count].length;
	}
	p->now.messages += is_message;
	return 0;
}
ENTRY(mowgli_post_send);
int mw_mowgli_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	mw_ready();
	if (mw_thread < 0 || mw_thread == EPILOGUE) mw_main_must_take_part("ibv_post_send in `main`");
	mw_flush();
	lives(&pair_of(qp)->is_gone, "ibv_post_send", "queue pair");
	if (pair_of(qp)->node != mw_node())
		mw_end('m', "ibv_post_send: a thread of node %d posts to a queue pair of node %d", mw_node(), pair_of(qp)->node);
	for (; wr; wr = wr->next) {
		mw_load(wr, sizeof *wr);
		if (wr->num_sge > 0) mw_load(wr->sg_list, (size_t)wr->num_sge * sizeof *wr->sg_list);
		int why = sends(pair_of(qp), wr);
		if (!why) continue;
		mw_put(bad, &wr, sizeof wr);
		return why;
	}
	return 0;
}
static int awaits(const char *call, struct receives *r, int node, struct ibv_pd *pd, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	belongs(&r->mark, 1);
	r->is_mine |= mw_thread >= 0;
	for (; wr; wr = wr->next) {
		if (mw_thread >= 0) mw_load(wr, sizeof *wr);
		if (mw_thread >= 0 && wr->num_sge > 0) mw_load(wr->sg_list, (size_t)wr->num_sge * sizeof *wr->sg_list);
		if ((uint32_t)r->count >= r->most || r->count >= DEPTH) {
			mw_warn("%s: the receive queue is full: %d work requests, so it returns ENOMEM", call, r->count);
			mw_put(bad, &wr, sizeof wr);
			return ENOMEM;
		}
		if (wr->num_sge < 0 || wr->num_sge > 8 || (uint32_t)wr->num_sge > r->elements)
			mw_end('m', "%s: %d scatter elements on a queue of %u", call, wr->num_sge, r->elements);
		struct awaited *w = &r->queue[r->count++];
		memset(w, 0, sizeof *w);
		w->number = r->posted++;
		w->id = wr->wr_id;
		w->count = wr->num_sge;
		for (int i = 0; i < wr->num_sge; i++) {
			w->to[i] = wr->sg_list[i];
			if (w->to[i].length) reaches(call, node, pd, w->to[i].lkey, w->to[i].addr, w->to[i].length, IBV_ACCESS_LOCAL_WRITE);
		}
		for (int i = 0; mw_thread >= 0 && i < w->count; i++) mw_receives(w->to[i].addr, w->to[i].length);
		if (mw_thread >= 0) tells_receive(mw_thread, r, w, AWAITED);
	}
	return 0;
}
ENTRY(mowgli_post_recv);
int mw_mowgli_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct pair *p = pair_of(qp);
	if (mw_thread >= 0) mw_flush();
	lives(&p->is_gone, "ibv_post_recv", "queue pair");
	if (qp->state == IBV_QPS_RESET) mw_end('m', "ibv_post_recv: the queue pair is in the state RESET");
	if (qp->srq) mw_end('m', "ibv_post_recv: the queue pair has a shared receive queue; use ibv_post_srq_recv");
	return awaits("ibv_post_recv", &p->own, p->node, qp->pd, wr, bad);
}
ENTRY(mowgli_post_srq_recv);
int mw_mowgli_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct shared *s = (struct shared *)srq;
	if (mw_thread >= 0) mw_flush();
	lives(&s->is_gone, "ibv_post_srq_recv", "shared receive queue");
	return awaits("ibv_post_srq_recv", &s->all, s->node, srq->pd, wr, bad);
}

/* Polling. */
static int has_open(const struct region *r)
{
	int is_open = 0;
	for (int i = 0; i < pair_count; i++)
		for (int k = 0; k < pairs[i]->now.sent; k++)
			for (int j = 0; j < pairs[i]->pipe[k].count; j++)
				is_open |= pairs[i]->pipe[k].own[j].n && is_in_region(r, pairs[i]->pipe[k].own[j].at, pairs[i]->pipe[k].own[j].n);
	return is_open;
}
static void gone(struct pair *p, int first, int count)
{
	for (int k = first; k < first + count; k++)
		if (p->pipe[k].opcode == IBV_WR_SEND || p->pipe[k].opcode == IBV_WR_SEND_WITH_IMM || p->pipe[k].opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
			p->now.completed++;
			mw_places(p->polled_at);
		}
	p->now.sent -= count;
	memmove(p->pipe + first, p->pipe + first + count, (size_t)(p->now.sent - first) * sizeof *p->pipe);
	for (int i = 0; i < region_count; i++) if (regions[i]->used[mw_thread] && !has_open(regions[i])) uses(regions[i], 0);
}
static int polls_send(struct pair *p, struct ibv_wc *wc)
{
	static const enum ibv_wc_opcode opcodes[] = { [IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE, [IBV_WR_SEND] = IBV_WC_SEND, [IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ, [IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD };
	int first = 0;
	while (first < p->now.sent && !p->pipe[first].signaled) first++;
	/* The answer is which of the operations, from 1; only on some networks it is not the first one. There all are signaled. */
	int64_t which = first == p->now.sent ? 0 : mw_ask("poll %u", p->qp.qp_num);
	if (!which) return 0;
	int at = first + (int)which - 1;
	struct sent s = p->pipe[at];
	*wc = (struct ibv_wc){ .wr_id = s.id, .status = IBV_WC_SUCCESS, .opcode = opcodes[s.opcode], .byte_len = s.length,
		.qp_num = p->qp.qp_num };
	gone(p, which == 1 ? 0 : at, which == 1 ? first + 1 : 1);
	return 1;
}
/* The word that tells of a message: its kind, length and immediate value; 0 if it has not come. `k` is how many others come before it. */
static int64_t arrived(const struct pair *p, int64_t k) { return mw_ask("arrived %u %ld", p->qp.qp_num, (long)(p->now.received + k)); }
/* Returns the receive that the next message of a queue pair has, which has come. Queue pairs that share receives take them in the order in
 * which messages come. So those that others have taken before are a choice, if completions do not show the order. */
static int received_by(const struct pair *p)
{
	struct receives *r = p->from;
	int at = 0, is_new = 1;
	while (at < r->count && r->queue[at].owner != p->qp.qp_num) at++;
	if (at < r->count) return at;
	while (is_new) {
		is_new = 0;
		for (int i = 0; i < pair_count; i++) {
			int64_t own = 0;
			int first = -1;
			for (int k = r->count - 1; k >= 0; k--) {
				own += r->queue[k].owner == pairs[i]->qp.qp_num;
				if (!r->queue[k].owner) first = k;
			}
			if (pairs[i] == p || pairs[i]->from != r || pairs[i]->qp.recv_cq == p->qp.recv_cq || first < 0) continue;
			if (!arrived(pairs[i], own) || !mw_ask("choose")) continue;
			r->queue[first].owner = pairs[i]->qp.qp_num;
			is_new = 1;
		}
	}
	for (at = 0; at < r->count && r->queue[at].owner;) at++;
	return at;
}
/* The data are in words of 8 bytes, or where the receive has them. */
static int polls_receive(struct pair *p, int64_t came, struct ibv_wc *wc)
{
	struct receives *from = p->from;
	int at = received_by(p);
	if (at == from->count) return 0;
	struct awaited w = from->queue[at];
	uint32_t length = (uint32_t)(came >> 4) & 0xffffff, left = length;
	int is_write = came & 2, has_imm = came & 4, is_there = came & 8, word = 0;
	memmove(from->queue + at, from->queue + at + 1, (size_t)(--from->count - at) * sizeof *from->queue);
	*wc = (struct ibv_wc){ .wr_id = w.id, .status = IBV_WC_SUCCESS, .opcode = is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.byte_len = length, .qp_num = p->qp.qp_num, .wc_flags = has_imm ? IBV_WC_WITH_IMM : 0, .imm_data = (uint32_t)(came >> 28) };
	unsigned char *data = mw_own_malloc(length + 8);
	if (!is_write && !is_there) {
		for (; left; left -= left < 8 ? left : 8, word++) {
			int64_t v = mw_ask("inbox %u %ld %d", p->qp.qp_num, (long)p->now.received, word);
			memcpy(data + 8 * word, &v, 8);
		}
		uint32_t done = 0;
		for (int i = 0; i < w.count && done < length; i++) {
			uint32_t n = length - done < w.to[i].length ? length - done : w.to[i].length;
			mw_store((void *)(uintptr_t)w.to[i].addr, data + done, n, 0);
			done += n;
		}
		if (done < length) mw_end('m', "a message of %u bytes is received into %u bytes", length, done);
	}
	mw_own_free(data);
	p->now.received++;
	if (w.number >= from->before) tells_receive(mw_thread, from, &w, POLLED);
	else if (from != &p->own) tells_receive(THREADS, from, &w, POLLED);
	return 1;
}
/* Of the queue pairs whose next message has come, any has the next completion. Returns NULL if there is none. */
static struct pair *receiver(const struct ibv_cq *cq, int64_t *came)
{
	struct pair *found = NULL;
	for (int i = 0; i < pair_count; i++) {
		int64_t own = pairs[i]->qp.recv_cq == cq && pairs[i]->from->count ? arrived(pairs[i], 0) : 0;
		if (!own || (found && mw_ask("choose"))) continue;
		found = pairs[i];
		*came = own;
	}
	return found;
}
/* Ends the run if more messages and other completions have come than the queue has entries. */
static void may_overrun(const struct ibv_cq *cq)
{
	int64_t open = 0, sent = 0, came = 0;
	for (int i = 0; i < pair_count; i++) {
		if (pairs[i]->qp.recv_cq == cq) open += pairs[i]->from->count;
		for (int k = 0; pairs[i]->qp.send_cq == cq && k < pairs[i]->now.sent; k++) sent += pairs[i]->pipe[k].signaled;
	}
	if (open + sent <= cq->cqe) return;
	for (int i = 0; i < pair_count; i++)
		for (int64_t k = 0; pairs[i]->qp.recv_cq == cq && k < pairs[i]->from->count && arrived(pairs[i], k); k++)
			if (++came + sent > cq->cqe) mw_end('m', "ibv_poll_cq: the completion queue of %d entries may overrun: more have come than it has", cq->cqe);
}
ENTRY(mowgli_poll_cq);
int mw_mowgli_poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	int count = 0;
	mw_ready();
	if (mw_thread < 0 || mw_thread == EPILOGUE) mw_main_must_take_part("ibv_poll_cq in `main`");
	mw_flush();
	lives(&((struct queue *)cq)->is_gone, "ibv_poll_cq", "completion queue");
	if (((struct queue *)cq)->node != mw_node())
		mw_end('m', "ibv_poll_cq: a thread of node %d polls a completion queue of node %d", mw_node(), ((struct queue *)cq)->node);
	int unsignaled = 0, open = 0, sources, before;
	int64_t came;
	struct pair *p;
	for (int i = 0; i < pair_count; i++) {
		if (pairs[i]->qp.send_cq == cq) belongs(&pairs[i]->mark, 0);
		if (pairs[i]->qp.recv_cq != cq) continue;
		belongs(&pairs[i]->from->mark, 0);
		pairs[i]->from->is_mine = 1;
	}
	may_overrun(cq);
	/* Completions of several queues come in any order, so each queue may have more behind those of others. */
	do {
		struct ibv_wc one;
		sources = 0, before = count;
		for (int i = 0; i < pair_count; i++) {
			p = pairs[i];
			if (p->qp.recv_cq == cq && p->from->count) { sources++; open = 1; }
			if (p->qp.send_cq != cq) continue;
			int is_source = 0;
			for (int k = 0; k < p->now.sent; k++) { if (p->pipe[k].signaled) open = is_source = 1; else unsignaled = 1; }
			sources += is_source;
			while (count < most && polls_send(p, &one)) mw_store(&wc[count++], &one, sizeof one, 1);
		}
		while (count < most && (p = receiver(cq, &came)) && polls_receive(p, came, &one)) mw_store(&wc[count++], &one, sizeof one, 1);
	} while (sources > 1 && count > before && count < most);
	if (!count && unsignaled && !open) mw_warn("ibv_poll_cq: all that is posted and not polled is unsignaled, so no completion comes");
	return count;
}

/* What a thread asks for goes to its memory. */
#define ASKS(name) ENTRY(name); int mw_##name
/* Setting up. */
struct ibv_device **ibv_get_device_list(int *n)
{
	for (int i = 0; i < NODES; i++) {
		snprintf(devices[i].name, sizeof devices[i].name, "node%d", i + 1);
		devices[i].node_type = IBV_NODE_CA;
		devices[i].transport_type = IBV_TRANSPORT_IB;
		device_list[i] = &devices[i];
	}
	if (n) *n = mw_program < 0 ? NODES : 1;
	if (mw_program < 0) return device_list;
	device_list[0] = &devices[mw_program];
	device_list[1] = NULL;
	return device_list;
}
void ibv_free_device_list(struct ibv_device **list) { (void)list; }
const char *ibv_get_device_name(struct ibv_device *d) { return d->name; }
__be64 ibv_get_device_guid(struct ibv_device *d) { return (__be64)(d - devices) + 1; }
static int notifies(struct ibv_cq *cq, int solicited) { (void)cq, (void)solicited; mw_end('x', "ibv_req_notify_cq"); }
struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	extern int mowgli_post_send(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
	extern int mowgli_post_recv(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
	extern int mowgli_post_srq_recv(struct ibv_srq *, struct ibv_recv_wr *, struct ibv_recv_wr **);
	extern int mowgli_poll_cq(struct ibv_cq *, int, struct ibv_wc *);
	sets_up("ibv_open_device");
	struct ibv_context *c = made(sizeof *c);
	c->device = d;
	c->num_comp_vectors = 1;
	c->ops.post_send = mowgli_post_send;
	c->ops.post_recv = mowgli_post_recv;
	c->ops.post_srq_recv = mowgli_post_srq_recv;
	c->ops.poll_cq = mowgli_poll_cq;
	c->ops.req_notify_cq = notifies;
	return c;
}
int ibv_close_device(struct ibv_context *c) { (void)c; return 0; }
ASKS(ibv_query_device)(struct ibv_context *c, struct ibv_device_attr *a)
{
	(void)c;
	struct ibv_device_attr own = { .max_qp = PAIRS, .max_qp_wr = DEPTH, .max_sge = 8, .max_cq = PAIRS, .max_cqe = 4096, .max_mr = REGIONS,
		.max_pd = 64, .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16, .max_srq = PAIRS, .max_srq_wr = DEPTH, .max_srq_sge = 8, .atomic_cap = IBV_ATOMIC_HCA, .phys_port_cnt = 1 };
	mw_put(a, &own, sizeof own);
	return 0;
}
ASKS(ibv_query_port)(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *a)
{
	struct ibv_port_attr own = { .state = IBV_PORT_ACTIVE, .max_mtu = IBV_MTU_4096, .active_mtu = IBV_MTU_1024, .lid = (uint16_t)node_of(c),
		.gid_tbl_len = 1, .pkey_tbl_len = 1, .link_layer = IBV_LINK_LAYER_INFINIBAND };
	(void)port;
	mw_put(a, &own, sizeof own);
	return 0;
}
ASKS(ibv_query_gid)(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
	(void)port, (void)index;
	union ibv_gid own = { .global.interface_id = (uint64_t)node_of(c) };
	mw_put(gid, &own, sizeof own);
	return 0;
}
struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
	sets_up("ibv_alloc_pd");
	struct ibv_pd *pd = made(sizeof *pd);
	pd->context = c;
	return pd;
}
ASKS(ibv_dealloc_pd)(struct ibv_pd *pd)
{
	int is_used = 0;
	if (mw_thread >= 0) mw_flush();
	for (int i = 0; i < pair_count; i++) is_used = is_used || (pairs[i]->qp.pd == pd && is_alive(&pairs[i]->is_gone));
	for (int i = 0; i < shared_count; i++) is_used = is_used || (shared[i]->srq.pd == pd && is_alive(&shared[i]->is_gone));
	for (int i = 0; i < region_count; i++) is_used = is_used || (regions[i]->mr.pd == pd && is_alive(&regions[i]->is_gone));
	return is_used ? EBUSY : 0;
}
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *at, size_t length, int access)
{
	sets_up("ibv_reg_mr");
	if (region_count == REGIONS) mw_end('x', "more than %d memory regions", REGIONS);
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) && !(access & IBV_ACCESS_LOCAL_WRITE))
		mw_end('m', "ibv_reg_mr: remote writes need IBV_ACCESS_LOCAL_WRITE, too");
	struct region *r = made(sizeof *r);
	regions[region_count++] = r;
	r->mr = (struct ibv_mr){ .context = pd->context, .pd = pd, .addr = at, .length = length, .lkey = next_number(region_count, REGIONS),
		.handle = (uint32_t)region_count };
	r->mr.rkey = r->mr.lkey;
	r->node = node_of(pd->context);
	r->access = access;
	if (mw_is_on_a_stack((uintptr_t)at)) mw_shares_frames = mw_registers_frames = 1;
	return &r->mr;
}
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *at, size_t length, uint64_t iova, unsigned int access)
{
	if (iova != (uintptr_t)at) mw_end('x', "ibv_reg_mr_iova with another address");
	return ibv_reg_mr(pd, at, length, (int)access);
}
ASKS(ibv_dereg_mr)(struct ibv_mr *mr)
{
	struct region *r = (struct region *)mr;
	/* Another thread that posts with its key does not know. */
	if (others_run() && mw_program < 0) mw_end('x', "ibv_dereg_mr in a thread");
	destroys(&r->is_gone, "ibv_dereg_mr", "memory region");
	if (others_run()) ends_for('d', GLOBAL(mr->addr), mr->length);
	return 0;
}
struct ibv_cq *ibv_create_cq(struct ibv_context *c, int n, void *of, struct ibv_comp_channel *channel, int vector)
{
	sets_up("ibv_create_cq");
	if (channel) mw_end('x', "ibv_create_cq with a completion channel");
	(void)vector;
	if (queue_count == PAIRS) mw_end('x', "more than %d completion queues", PAIRS);
	struct queue *q = made(sizeof *q);
	queues[queue_count++] = q;
	q->cq.context = c;
	q->cq.cq_context = of;
	q->cq.cqe = n;
	q->node = node_of(c);
	return &q->cq;
}
ASKS(ibv_destroy_cq)(struct ibv_cq *cq)
{
	int is_used = 0;
	if (mw_thread >= 0) mw_flush();
	for (int i = 0; i < pair_count; i++)
		is_used = is_used || ((pairs[i]->qp.send_cq == cq || pairs[i]->qp.recv_cq == cq) && is_alive(&pairs[i]->is_gone));
	return is_used ? EBUSY : destroys(&((struct queue *)cq)->is_gone, "ibv_destroy_cq", "completion queue");
}
struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	sets_up("ibv_create_srq");
	if (shared_count == PAIRS) mw_end('x', "more than %d shared receive queues", PAIRS);
	if (init->attr.max_wr > DEPTH || init->attr.max_sge > 8) { errno = EINVAL; return NULL; }
	struct shared *s = made(sizeof *s);
	shared[shared_count++] = s;
	s->srq.context = pd->context;
	s->srq.srq_context = init->srq_context;
	s->srq.pd = pd;
	s->node = node_of(pd->context);
	s->all.most = init->attr.max_wr;
	s->all.elements = init->attr.max_sge;
	return &s->srq;
}
ASKS(ibv_destroy_srq)(struct ibv_srq *srq)
{
	int is_used = 0;
	if (mw_thread >= 0) mw_flush();
	for (int i = 0; i < pair_count; i++) is_used = is_used || (pairs[i]->qp.srq == srq && is_alive(&pairs[i]->is_gone));
	return is_used ? EBUSY : destroys(&((struct shared *)srq)->is_gone, "ibv_destroy_srq", "shared receive queue");
}
struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	sets_up("ibv_create_qp");
	if (init->qp_type != IBV_QPT_RC) mw_end('x', "ibv_create_qp of another type than IBV_QPT_RC");
	if (init->srq && init->srq->context != pd->context) mw_end('m', "ibv_create_qp: the shared receive queue is of another device");
	if (pair_count == PAIRS) mw_end('x', "more than %d queue pairs", PAIRS);
	if (init->cap.max_send_wr > DEPTH || init->cap.max_recv_wr > DEPTH) { errno = EINVAL; return NULL; }
	struct pair *p = made(sizeof *p);
	pairs[pair_count++] = p;
	if (init->cap.max_inline_data < 64) init->cap.max_inline_data = 64;
	p->cap = init->cap;
	p->own.most = p->cap.max_recv_wr;
	p->own.elements = p->cap.max_recv_sge;
	p->qp.srq = init->srq;
	p->from = init->srq ? &((struct shared *)init->srq)->all : &p->own;
	p->all_signaled = init->sq_sig_all;
	p->node = node_of(pd->context);
	p->qp.context = pd->context;
	p->qp.qp_context = init->qp_context;
	p->qp.pd = pd;
	p->qp.send_cq = init->send_cq;
	p->qp.recv_cq = init->recv_cq;
	p->qp.qp_num = next_number(pair_count, PAIRS);
	p->qp.qp_type = init->qp_type;
	p->qp.state = IBV_QPS_RESET;
	return &p->qp;
}
ASKS(ibv_destroy_qp)(struct ibv_qp *qp)
{
	destroys(&pair_of(qp)->is_gone, "ibv_destroy_qp", "queue pair");
	if (others_run() && pair_of(qp)->node == mw_node()) ends_for('q', qp->qp_num, 0);
	return 0;
}
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int what)
{
	struct pair *p = pair_of(qp);
	sets_up("ibv_modify_qp");
	if (what & IBV_QP_ACCESS_FLAGS) p->access = (int)a->qp_access_flags;
	if (what & IBV_QP_DEST_QPN) {
		if (mw_program < 0 && !numbered(a->dest_qp_num)) mw_end('m', "ibv_modify_qp: no queue pair has the number %u", a->dest_qp_num);
		p->peer = a->dest_qp_num;
	}
	if (what & IBV_QP_STATE) {
		int from = qp->state, to = a->qp_state;
		int steps = (from == IBV_QPS_RESET && to == IBV_QPS_INIT) || (from == IBV_QPS_INIT && to == IBV_QPS_RTR) ||
			(from == IBV_QPS_RTR && to == IBV_QPS_RTS) || to == from;
		if (to == IBV_QPS_RESET || to == IBV_QPS_ERR || to == IBV_QPS_SQD) mw_end('x', "ibv_modify_qp to RESET, ERR or SQD");
		if (!steps) mw_end('m', "ibv_modify_qp: a queue pair goes from RESET to INIT, RTR and RTS, and skips none");
		if (to == IBV_QPS_RTR && !p->peer) mw_end('m', "ibv_modify_qp: to RTR without IBV_QP_DEST_QPN");
		qp->state = (enum ibv_qp_state)to;
	}
	return 0;
}
ASKS(ibv_query_qp)(struct ibv_qp *qp, struct ibv_qp_attr *a, int what, struct ibv_qp_init_attr *init)
{
	struct pair *p = pair_of(qp);
	(void)what;
	struct ibv_qp_attr own = { .qp_state = qp->state, .cur_qp_state = qp->state, .dest_qp_num = p->peer, .cap = p->cap };
	struct ibv_qp_init_attr made = { .send_cq = qp->send_cq, .recv_cq = qp->recv_cq, .srq = qp->srq, .cap = p->cap, .qp_type = qp->qp_type };
	mw_put(a, &own, sizeof own);
	mw_put(init, &made, sizeof made);
	return 0;
}
const char *ibv_wc_status_str(enum ibv_wc_status status) { return status == IBV_WC_SUCCESS ? "success" : "no success"; }
const char *ibv_node_type_str(enum ibv_node_type t) { (void)t; return "InfiniBand channel adapter"; }
const char *ibv_port_state_str(enum ibv_port_state s) { (void)s; return "active"; }
/* No queue has a completion channel, so no event is open. */
void ibv_ack_cq_events(struct ibv_cq *cq, unsigned n) { (void)cq, (void)n; }
int ibv_fork_init(void) { return 0; }
const char *ibv_event_type_str(enum ibv_event_type t) { (void)t; return "an event"; }
ASKS(ibv_query_pkey)(struct ibv_context *c, uint8_t port, int index, __be16 *key)
{
	(void)c, (void)port, (void)index;
	__be16 all = 0xffff;
	mw_put(key, &all, sizeof all);
	return 0;
}

