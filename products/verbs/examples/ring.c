/* A ring buffer with credits: the producer writes messages into the consumer's memory, and the consumer writes back how many it has
 * taken. The producer writes a message only if there is room.
 * BROKEN: it thinks that there is room for one more.
 */
#include "node.h"

enum { SLOTS = 2, MESSAGES = 3 };
#ifdef BROKEN
enum { ROOM = SLOTS + 1 };
#else
enum { ROOM = SLOTS };
#endif
static struct { volatile uint64_t message[MESSAGES], tail[MESSAGES], taken; } producer_memory;
static struct { volatile uint64_t slot[SLOTS], tail, taken; } consumer_memory;
static struct node producer_node, consumer_node;
static struct ibv_qp *producer_qp, *consumer_qp;

static void *producer(void *none)
{
	(void)none;
	for (uint64_t i = 0; i < MESSAGES; i++) {
		struct request r;
		while (i - look(&producer_memory.taken) >= ROOM) {}
		producer_memory.message[i] = 100 + i;
		producer_memory.tail[i] = i + 1;
		post(producer_qp, request(&r, IBV_WR_RDMA_WRITE, 0, &producer_node, (void *)&producer_memory.message[i], 8,
			&consumer_node, (void *)&consumer_memory.slot[i % SLOTS]));
		post(producer_qp, request(&r, IBV_WR_RDMA_WRITE, 0, &producer_node, (void *)&producer_memory.tail[i], 8,
			&consumer_node, (void *)&consumer_memory.tail));
	}
	return NULL;
}
static void *consumer(void *none)
{
	(void)none;
	for (uint64_t i = 0; i < MESSAGES; i++) {
		struct request r;
		while (look(&consumer_memory.tail) <= i) {}
		assert(consumer_memory.slot[i % SLOTS] == 100 + i);
		consumer_memory.taken = i + 1;
		post(consumer_qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &consumer_node, (void *)&consumer_memory.taken, 8,
			&producer_node, (void *)&producer_memory.taken));
		wait_for_one(consumer_qp);
	}
	return NULL;
}
int main(void)
{
	producer_node = node_open(1, (void *)&producer_memory, sizeof producer_memory);
	consumer_node = node_open(2, (void *)&consumer_memory, sizeof consumer_memory);
	connect_nodes(&producer_node, &consumer_node, &producer_qp, &consumer_qp);
	mowgli_node(1, producer, NULL);
	mowgli_node(2, consumer, NULL);
	mowgli_join();
	return 0;
}
