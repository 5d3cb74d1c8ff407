/* An optimistic read: the owner of two words changes them between two steps of a version, and a remote reader accepts what it has read
 * if the version is even and the same before and behind the words. It waits for each READ before it posts the next.
 * BROKEN: one READ of all four words, which the card reads in any order.
 */
#include "node.h"

static struct record { volatile uint64_t before, a, b, behind; } record, copy;
static struct node owner_node, reader_node;
static struct ibv_qp *reader_qp, *owner_qp;

static void *owner(void *none)
{
	(void)none;
	record.before = 1;
	record.a = 5;
	record.b = 5;
	record.before = 2;
	return NULL;
}
static void get(struct ibv_qp *qp, volatile uint64_t *to, volatile uint64_t *from, size_t size)
{
	struct request r;
	post(qp, request(&r, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, &reader_node, (void *)to, size, &owner_node, (void *)from));
	wait_for_one(qp);
}
static void *reader(void *none)
{
	(void)none;
#ifdef BROKEN
	get(reader_qp, &copy.before, &record.before, 24);
	copy.behind = copy.before;
#else
	get(reader_qp, &copy.before, &record.before, 8);
	get(reader_qp, &copy.a, &record.a, 16);
	get(reader_qp, &copy.behind, &record.before, 8);
#endif
	if (copy.before % 2 == 0 && copy.before == copy.behind) assert(copy.a == copy.b);
	mowgli_outcome("accepted", copy.before % 2 == 0 && copy.before == copy.behind);
	return NULL;
}
int main(void)
{
	owner_node = node_open(1, (void *)&record, sizeof record);
	reader_node = node_open(2, (void *)&copy, sizeof copy);
	connect_nodes(&reader_node, &owner_node, &reader_qp, &owner_qp);
	mowgli_node(1, owner, NULL);
	mowgli_node(2, reader, NULL);
	mowgli_join();
	return 0;
}
