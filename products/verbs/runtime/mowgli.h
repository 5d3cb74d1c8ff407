/* Programs that `mowgli cc` compiles and `mowgli explore` runs under every execution of the memory model.
 *
 * `main` sets everything up: devices, memory, queue pairs. Device k of ibv_get_device_list is the card of node k + 1. Then it
 * starts the threads of the nodes with mowgli_node, and waits for them with mowgli_join. What it reads after that are the last
 * values in memory.
 */
#ifndef MOWGLI_H
#define MOWGLI_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/* Starts a thread on a node, from 1. pthread_create in `main` starts one on node 1. */
void mowgli_node(int node, void *(*fn)(void *), void *arg);
/* Waits until all threads have ended and all operations have arrived. pthread_join in `main` does so, too. */
void mowgli_join(void);
/* Records a value of this execution. The outcomes of a program are the values that its executions record. */
void mowgli_outcome(const char *name, int64_t value);
/* Leaves out the executions in which this is reached with a false condition. */
void mowgli_assume(int condition);
#ifdef __cplusplus
}
#endif
#endif
