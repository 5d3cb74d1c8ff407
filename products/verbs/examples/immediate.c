/* Two words and a notice of them: a WRITE with immediate completes a receive of the server when its data are in memory.
 * BROKEN: a plain WRITE, and the server takes the second word for the notice. The card writes the words in any order.
 */
#include "node.h"
#include <arpa/inet.h>

static struct { volatile uint64_t first, second; } client_memory, server_memory;
static struct node client_node, server_node;
static struct ibv_qp *client_qp, *server_qp;

static void *client(void *none)
{
	struct request r;
	(void)none;
	client_memory.first = 1;
	client_memory.second = 2;
	request(&r, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED, &client_node, (void *)&client_memory, 16, &server_node,
		(void *)&server_memory);
#ifdef BROKEN
	r.wr.opcode = IBV_WR_RDMA_WRITE;
#endif
	r.wr.imm_data = htonl(9);
	post(client_qp, &r);
	wait_for_one(client_qp);
	return NULL;
}
static void *server(void *none)
{
	(void)none;
#ifdef BROKEN
	while (look(&server_memory.second) == 0) {}
#else
	struct ibv_wc wc;
	while (ibv_poll_cq(server_qp->recv_cq, 1, &wc) == 0) {}
	assert(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && ntohl(wc.imm_data) == 9);
#endif
	assert(server_memory.first == 1);
	return NULL;
}
int main(void)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = 1 };
	client_node = node_open(1, (void *)&client_memory, sizeof client_memory);
	server_node = node_open(2, (void *)&server_memory, sizeof server_memory);
	connect_nodes(&client_node, &server_node, &client_qp, &server_qp);
	if (ibv_post_recv(server_qp, &wr, &bad)) abort();
	mowgli_node(1, client, NULL);
	mowgli_node(2, server, NULL);
	mowgli_join();
	return 0;
}
