/* The operations of RDMA-WAIT-RMW over libibverbs, for code that `mowgli emit c` prints.
 *
 * Nodes and threads have the numbers 1, 2, ...; 0 is none. Each node has one `struct mw`: its memory, registered with the device, and what
 * it knows of the memory of the others. Each thread has a `struct mw_thread`: for each node, its own included, a connected queue pair and
 * the completion queue of that alone. The caller connects them; then
 *
 *   struct mw all = { .nodes = 2, .threads = 2, .node = 1, .node_of = { 0, 1, 2 }, .memory = buffer, .size = sizeof buffer, ... };
 *   struct bal x;
 *   bal_new(&all, &x, mw_threads(2, 1, 2));      // on every node, for the same objects in the same order
 *   ... meet: no thread may use an object before all nodes have made it ...
 *   bal_bar(&me, &x);                            // by threads 1 and 2
 *
 * An addition is defined up to 2^63: compile with -fwrapv if counters may go beyond.
 */
#ifndef MOWGLI_PORT_H
#define MOWGLI_PORT_H
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef MW_NODES
#define MW_NODES 16 /* at most 63 */
#endif
#ifndef MW_THREADS
#define MW_THREADS 63
#endif
#ifndef MW_IDS
#define MW_IDS 64 /* work identifiers: those of objects, and those that a program uses itself, from mw_id */
#endif
#ifndef MW_MOST
#define MW_MOST 64 /* the longest list */
#endif
#ifndef MW_DEPTH
#define MW_DEPTH 64 /* operations that a queue pair may have outstanding: max_send_wr, and the size of its completion queue */
#endif
#ifndef MW_LINE
#define MW_LINE 64 /* words are this far apart; with 8, words in a row are copied by one operation */
#endif
#define MW_LIBRARIES 16

/* A set of nodes: bit n for node n. */
typedef uint64_t mw_nodes;
/* Threads, nodes or values, in order. A length of -1 is the value bottom. */
struct mw_list { int n; int64_t at[MW_MOST]; };
/* The value bottom where a number is expected. */
#define MW_BOT INT64_MIN
/* A word of memory: the same offset is its own on every node. */
struct mw_word { int node; size_t at; };
/* Words in a row, which an object has made one after the other. */
struct mw_row { const struct mw_word *first; int64_t n; };

struct mw {
	int nodes, threads, node, node_of[MW_THREADS + 1];
	char *memory;
	size_t size, used;
	uint64_t base[MW_NODES + 1];
	uint32_t rkey[MW_NODES + 1], lkey;
	int ids;
	void *own[MW_LIBRARIES];
	uint64_t key[2]; /* of checksums: the same secret on each node, set before any object is made */
};
struct mw_thread {
	struct mw *all;
	int thread, node;
	struct ibv_qp *qp[MW_NODES + 1];
	struct ibv_cq *cq[MW_NODES + 1];
	unsigned outstanding[MW_NODES + 1], by_id[MW_NODES + 1][MW_IDS];
	bool fenced[MW_NODES + 1];
	/* Called in each iteration of a loop that waits, in place of polls of all queues and of sched_yield. */
	void (*again)(struct mw_thread *me);
	int64_t deadline; /* the time of mw_now after which a loop that waits ends the program; 0 for none */
};

#define MW_FN static inline __attribute__((unused))

MW_FN _Noreturn void mw_fail(const char *why) { fprintf(stderr, "%s\n", why); abort(); }
/* A call that its thread may not make, and that never returns. */
MW_FN _Noreturn void mw_never(const char *call) { fprintf(stderr, "%s: this thread takes no part in the object\n", call); abort(); }

/* Sets and lists. */
MW_FN mw_nodes mw_only(int64_t n) { return (mw_nodes)1 << n; }
MW_FN mw_nodes mw_all_nodes(const struct mw *all) { return (mw_only(all->nodes) << 1) - 2; }
MW_FN bool mw_has(mw_nodes set, int64_t n) { return set >> n & 1; }
/* The first node of a set after n; 0 if there is none. */
MW_FN int64_t mw_next(mw_nodes set, int64_t n) { for (n++; n < 64; n++) if (mw_has(set, n)) return n; return 0; }
MW_FN void mw_add(struct mw_list *l, int64_t v) { if (l->n == MW_MOST) mw_fail("a list is longer than MW_MOST"); l->at[l->n++] = v; }
MW_FN struct mw_list mw_none(void) { return (struct mw_list){ 0 }; }
MW_FN struct mw_list mw_bot(void) { return (struct mw_list){ .n = -1 }; }
MW_FN struct mw_list mw_one(int64_t v) { struct mw_list l = mw_none(); mw_add(&l, v); return l; }
/* mw_threads(2, 1, 3): threads 1 and 3. */
MW_FN struct mw_list mw_threads(int n, ...)
{
	struct mw_list l = mw_none();
	va_list threads;
	va_start(threads, n);
	while (n-- > 0) mw_add(&l, va_arg(threads, int));
	va_end(threads);
	return l;
}
MW_FN struct mw_list mw_range(int64_t from, int64_t to) { struct mw_list l = mw_none(); for (; from < to; from++) mw_add(&l, from); return l; }
MW_FN struct mw_list mw_all_threads(const struct mw *all) { return mw_range(1, all->threads + 1); }
MW_FN int64_t mw_item(struct mw_list l, int64_t k) { if (k < 0 || k >= l.n) mw_fail("a list has no such part"); return l.at[k]; }
MW_FN int64_t mw_first(struct mw_list l) { return mw_item(l, 0); }
MW_FN struct mw_list mw_rest(struct mw_list l) { struct mw_list r = mw_none(); for (int i = 1; i < l.n; i++) mw_add(&r, l.at[i]); return r; }
MW_FN struct mw_list mw_reversed(struct mw_list l) { struct mw_list r = mw_none(); for (int i = l.n; i > 0; i--) mw_add(&r, l.at[i - 1]); return r; }
MW_FN bool mw_in(int64_t v, struct mw_list l) { for (int i = 0; i < l.n; i++) if (l.at[i] == v) return true; return false; }
MW_FN struct mw_list mw_without(struct mw_list l, int64_t v) { struct mw_list r = mw_none(); for (int i = 0; i < l.n; i++) if (l.at[i] != v) mw_add(&r, l.at[i]); return r; }
MW_FN struct mw_list mw_except(struct mw_list l, struct mw_list o) { struct mw_list r = mw_none(); for (int i = 0; i < l.n; i++) if (!mw_in(l.at[i], o)) mw_add(&r, l.at[i]); return r; }
MW_FN int64_t mw_min(struct mw_list l) { int64_t m = mw_first(l); for (int i = 1; i < l.n; i++) if (l.at[i] < m) m = l.at[i]; return m; }
MW_FN int64_t mw_max(struct mw_list l) { int64_t m = mw_first(l); for (int i = 1; i < l.n; i++) if (l.at[i] > m) m = l.at[i]; return m; }
MW_FN bool mw_same(struct mw_list a, struct mw_list b)
{
	if (a.n != b.n) return false;
	for (int i = 0; i < a.n; i++) if (a.at[i] != b.at[i]) return false;
	return true;
}
MW_FN mw_nodes mw_nodes_of(const struct mw *all, struct mw_list threads)
{
	mw_nodes set = 0;
	for (int i = 0; i < threads.n; i++) set |= mw_only(all->node_of[threads.at[i]]);
	return set;
}
/* A checksum of words, never MW_BOT: SipHash-1-3 of their bytes, the lowest first. Without the key, nobody finds words with a given checksum,
 * or two lists with one, but by chance. That takes about 2^64 attempts. */
MW_FN uint64_t mw_turned(uint64_t v, int by) { return v << by | v >> (64 - by); }
MW_FN void mw_mix(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = mw_turned(v[1], 13) ^ v[0];
	v[3] = mw_turned(v[3], 16) ^ v[2];
	v[0] = mw_turned(v[0], 32) + v[3];
	v[2] += v[1];
	v[3] = mw_turned(v[3], 21) ^ v[0];
	v[1] = mw_turned(v[1], 17) ^ v[2];
	v[2] = mw_turned(v[2], 32);
}
MW_FN int64_t mw_checksum(const struct mw *all, struct mw_list l)
{
	uint64_t k = all->key[0], m = all->key[1];
	uint64_t v[4] = { k ^ UINT64_C(0x736f6d6570736575), m ^ UINT64_C(0x646f72616e646f6d), k ^ UINT64_C(0x6c7967656e657261), m ^ UINT64_C(0x7465646279746573) };
	for (int i = 0; i <= l.n; i++) {
		uint64_t word = i < l.n ? (uint64_t)l.at[i] : (uint64_t)l.n << 59;
		v[3] ^= word;
		mw_mix(v);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++) mw_mix(v);
	int64_t sum = (int64_t)(v[0] ^ v[1] ^ v[2] ^ v[3]);
	return sum == MW_BOT ? 0 : sum;
}
/* Natural numbers in one word, each with so many bits, the first in the highest. It is never MW_BOT. A number that does not fit ends the program. */
MW_FN int64_t mw_packed(struct mw_list l, int n, const int *widths)
{
	int64_t word = 0;
	if (l.n != n) mw_fail("a list has another length than its word");
	for (int i = 0; i < n; i++) {
		if (l.at[i] < 0 || l.at[i] >> widths[i]) mw_fail("a number does not fit into its part of a word");
		word = word << widths[i] | l.at[i];
	}
	return word;
}
/* The numbers in such a word, or bottom. */
MW_FN struct mw_list mw_unpacked(int64_t word, int n, const int *widths)
{
	struct mw_list l = { .n = word < 0 ? -1 : n };
	for (int i = l.n - 1; i >= 0; i--) {
		l.at[i] = word & ((INT64_C(1) << widths[i]) - 1);
		word >>= widths[i];
	}
	return l;
}
/* A thread, and the last thread of each other node. */
MW_FN struct mw_list mw_servers(const struct mw *all, int64_t thread)
{
	struct mw_list l = mw_one(thread);
	for (int n = 1; n <= all->nodes; n++) {
		int last = 0;
		for (int t = 1; t <= all->threads; t++) if (all->node_of[t] == n) last = t;
		if (last && n != all->node_of[thread]) mw_add(&l, last);
	}
	return l;
}
MW_FN int64_t mw_larger(int64_t a, int64_t b) { return a > b ? a : b; }
/* The quotient rounded down, and the remainder that is never negative. */
MW_FN int64_t mw_rem(int64_t n, int64_t k) { if (!k) return n; int64_t r = n % k; return r < 0 ? r + (k < 0 ? -k : k) : r; }
MW_FN int64_t mw_div(int64_t n, int64_t k) { return k ? (n - mw_rem(n, k)) / k : n; }

/* Objects. */
MW_FN int mw_id(struct mw *all) { if (++all->ids >= MW_IDS) mw_fail("more work identifiers than MW_IDS"); return all->ids; }
MW_FN void *mw_array(int64_t count, size_t each) { void *p = calloc(count > 0 ? (size_t)count : 1, each); if (!p) mw_fail("no memory is left"); return p; }
MW_FN int64_t *mw_at(const struct mw *all, const struct mw_word *w) { return (int64_t *)(void *)(all->memory + w->at); }
MW_FN void mw_word_new(struct mw *all, struct mw_word *w, int64_t node, int64_t initial)
{
	if (all->used + MW_LINE > all->size) mw_fail("the registered memory is too small for these objects");
	*w = (struct mw_word){ (int)node, all->used };
	all->used += MW_LINE;
	if (node == all->node) __atomic_store_n(mw_at(all, w), initial, __ATOMIC_SEQ_CST);
}

/* Operations of the CPU. On x86 reads and writes are plain loads and stores. On other CPUs each is sequentially consistent, as in Rust. */
#ifdef __x86_64__
#define MW_LOADS __ATOMIC_ACQUIRE
#define MW_STORES __ATOMIC_RELEASE
#else
#define MW_LOADS __ATOMIC_SEQ_CST
#define MW_STORES __ATOMIC_SEQ_CST
#endif
MW_FN int64_t mw_read(struct mw_thread *me, const struct mw_word *x) { return __atomic_load_n(mw_at(me->all, x), MW_LOADS); }
MW_FN void mw_write(struct mw_thread *me, const struct mw_word *x, int64_t v) { __atomic_store_n(mw_at(me->all, x), v, MW_STORES); }
MW_FN void mw_mfence(struct mw_thread *me) { (void)me; __atomic_thread_fence(__ATOMIC_SEQ_CST); }
MW_FN int64_t mw_cas(struct mw_thread *me, const struct mw_word *x, int64_t old, int64_t new)
{
	__atomic_compare_exchange_n(mw_at(me->all, x), &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}
MW_FN int64_t mw_xchg(struct mw_thread *me, const struct mw_word *x, int64_t v) { return __atomic_exchange_n(mw_at(me->all, x), v, __ATOMIC_SEQ_CST); }
MW_FN int64_t mw_faa(struct mw_thread *me, const struct mw_word *x, int64_t v) { return __atomic_fetch_add(mw_at(me->all, x), v, __ATOMIC_SEQ_CST); }

/* Operations of the card. `d` is the identifier that a wait names; 0 if none does. */
MW_FN bool mw_poll(struct mw_thread *me, int64_t n)
{
	struct ibv_wc wc;
	int k = ibv_poll_cq(me->cq[n], 1, &wc);
	if (k < 0 || (k && wc.status != IBV_WC_SUCCESS)) mw_fail("a completion is an error");
	if (!k) return false;
	me->outstanding[n]--;
	me->by_id[n][wc.wr_id]--;
	return true;
}
/* The time, in nanoseconds. C11 alone has no clock that never goes back. */
MW_FN int64_t mw_now(void) { struct timespec t; timespec_get(&t, TIME_UTC); return t.tv_sec * INT64_C(1000000000) + t.tv_nsec; }
/* A thread begins another iteration of a loop that waits. It takes completions, because some providers go on only then, and lets others run. */
MW_FN void mw_again(struct mw_thread *me)
{
	if (me->again) {
		me->again(me);
	} else {
		for (int n = 1; n <= me->all->nodes; n++) mw_poll(me, n);
		sched_yield();
	}
	if (me->deadline && mw_now() > me->deadline) mw_fail("a thread still waits at its deadline");
}
MW_FN void mw_post(struct mw_thread *me, struct ibv_send_wr *wr, const struct mw_word *local, const struct mw_word *remote, int64_t words, int d)
{
	struct mw *all = me->all;
	int n = remote->node;
	struct ibv_sge sge = { .addr = (uintptr_t)mw_at(all, local), .length = (uint32_t)(8 * words), .lkey = all->lkey };
	struct ibv_send_wr *bad;
	while (me->outstanding[n] == MW_DEPTH) if (!mw_poll(me, n)) mw_again(me);
	wr->wr_id = (uint64_t)d;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags = IBV_SEND_SIGNALED | (me->fenced[n] ? IBV_SEND_FENCE : 0);
	me->fenced[n] = false;
	if (ibv_post_send(me->qp[n], wr, &bad)) mw_fail("ibv_post_send");
	me->outstanding[n]++;
	me->by_id[n][d]++;
}
MW_FN void mw_move(struct mw_thread *me, enum ibv_wr_opcode how, const struct mw_word *local, const struct mw_word *remote, int64_t words, int d)
{
	struct ibv_send_wr wr = { .opcode = how };
	wr.wr.rdma.remote_addr = me->all->base[remote->node] + remote->at;
	wr.wr.rdma.rkey = me->all->rkey[remote->node];
	mw_post(me, &wr, local, remote, words, d);
}
MW_FN void mw_put(struct mw_thread *me, const struct mw_word *to, const struct mw_word *from, int d) { mw_move(me, IBV_WR_RDMA_WRITE, from, to, 1, d); }
MW_FN void mw_get(struct mw_thread *me, const struct mw_word *to, const struct mw_word *from, int d) { mw_move(me, IBV_WR_RDMA_READ, to, from, 1, d); }
/* True if the words lie side by side. */
MW_FN bool mw_is_dense(struct mw_row row)
{
	for (int64_t k = 1; k < row.n; k++) if (row.first[k].at != row.first[0].at + 8 * (size_t)k || row.first[k].node != row.first[0].node) return false;
	return true;
}
/* The words of the two rows, in any order: by one operation if they lie side by side in both, otherwise one by one. */
MW_FN void mw_move_row(struct mw_thread *me, enum ibv_wr_opcode how, struct mw_row local, struct mw_row remote, int d)
{
	if (local.n > 0 && mw_is_dense(local) && mw_is_dense(remote)) mw_move(me, how, local.first, remote.first, local.n, d);
	else for (int64_t k = 0; k < local.n; k++) mw_move(me, how, local.first + k, remote.first + k, 1, d);
}
MW_FN void mw_put_words(struct mw_thread *me, struct mw_row to, struct mw_row from, int d) { mw_move_row(me, IBV_WR_RDMA_WRITE, from, to, d); }
MW_FN void mw_get_words(struct mw_thread *me, struct mw_row to, struct mw_row from, int d) { mw_move_row(me, IBV_WR_RDMA_READ, to, from, d); }
MW_FN void mw_atomic(struct mw_thread *me, enum ibv_wr_opcode how, const struct mw_word *to, const struct mw_word *on, int64_t a, int64_t b, int d)
{
	struct ibv_send_wr wr = { .opcode = how };
	wr.wr.atomic.remote_addr = me->all->base[on->node] + on->at;
	wr.wr.atomic.rkey = me->all->rkey[on->node];
	wr.wr.atomic.compare_add = (uint64_t)a;
	wr.wr.atomic.swap = (uint64_t)b;
	mw_post(me, &wr, to, on, 1, d);
}
MW_FN void mw_rcas(struct mw_thread *me, const struct mw_word *to, const struct mw_word *on, int64_t old, int64_t new, int d)
{
	mw_atomic(me, IBV_WR_ATOMIC_CMP_AND_SWP, to, on, old, new, d);
}
MW_FN void mw_rfaa(struct mw_thread *me, const struct mw_word *to, const struct mw_word *on, int64_t v, int d)
{
	mw_atomic(me, IBV_WR_ATOMIC_FETCH_AND_ADD, to, on, v, 0, d);
}
/* Waits for the operations of this thread with an identifier. */
MW_FN void mw_wait(struct mw_thread *me, int d)
{
	for (int n = 1; n <= me->all->nodes; n++) while (me->by_id[n][d]) if (!mw_poll(me, n)) mw_again(me);
}
/* The next operation towards a node begins after the reads and atomics before it are over. */
MW_FN void mw_rfence(struct mw_thread *me, int64_t n) { me->fenced[n] = true; }
#endif
