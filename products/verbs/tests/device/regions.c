/* Data and a flag in two memory regions. Either may be registered with relaxed ordering. */
#include "node.h"
#ifndef DATA
#define DATA 0
#endif
#ifndef FLAG
#define FLAG 0
#endif

static volatile uint64_t data, flag, from[2];
static struct node client_node, data_node, flag_node;
static struct ibv_qp *qp, *other;

static void *client(void *none)
{
	struct request r;
	(void)none;
	from[0] = from[1] = 1;
	post(qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &client_node, (void *)&from[0], 8, &data_node, (void *)&data));
	post(qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &client_node, (void *)&from[1], 8, &flag_node, (void *)&flag));
	wait_for_one(qp);
	wait_for_one(qp);
	return NULL;
}
static void *server(void *none)
{
	(void)none;
	while (!look(&flag)) {}
	mowgli_outcome("data", (int64_t)look(&data));
	return NULL;
}
int main(void)
{
	client_node = node_open(1, (void *)from, sizeof from);
	data_node = flag_node = node_open(2, (void *)&data, sizeof data);
	data_node.mr = ibv_reg_mr(data_node.pd, (void *)&data, sizeof data, EVERYTHING | DATA);
	flag_node.mr = ibv_reg_mr(data_node.pd, (void *)&flag, sizeof flag, EVERYTHING | FLAG);
	connect_nodes(&client_node, &data_node, &qp, &other);
	mowgli_node(1, client, NULL);
	mowgli_node(2, server, NULL);
	mowgli_join();
	return 0;
}
