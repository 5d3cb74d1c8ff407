/* Ping-pong by polling on memory: the client writes a number into the server's memory, and the server writes it back.
 * BROKEN: the client writes the next number into the same buffer before the card has read the first.
 */
#include "node.h"

static struct { volatile uint64_t out, in; } client_memory, server_memory;
static struct node client_node, server_node;
static struct ibv_qp *client_qp, *server_qp;

static void *client(void *none)
{
	struct request r;
	(void)none;
	for (uint64_t i = 1; i <= 2; i++) {
		client_memory.out = i;
		post(client_qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &client_node, (void *)&client_memory.out, 8,
			&server_node, (void *)&server_memory.in));
#ifndef BROKEN
		wait_for_one(client_qp);
		while (look(&client_memory.in) != i) {}
#endif
	}
	return NULL;
}
static void *server(void *none)
{
	struct request r;
	(void)none;
	while (look(&server_memory.in) == 0) {}
	uint64_t first = look(&server_memory.in);
	assert(first == 1);
	server_memory.out = first;
	post(server_qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &server_node, (void *)&server_memory.out, 8,
		&client_node, (void *)&client_memory.in));
	wait_for_one(server_qp);
#ifndef BROKEN
	while (look(&server_memory.in) == 1) {}
	server_memory.out = 2;
	post(server_qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &server_node, (void *)&server_memory.out, 8,
		&client_node, (void *)&client_memory.in));
#endif
	return NULL;
}
int main(void)
{
	client_node = node_open(1, (void *)&client_memory, sizeof client_memory);
	server_node = node_open(2, (void *)&server_memory, sizeof server_memory);
	connect_nodes(&client_node, &server_node, &client_qp, &server_qp);
	mowgli_node(1, client, NULL);
	mowgli_node(2, server, NULL);
	mowgli_join();
	return 0;
}
