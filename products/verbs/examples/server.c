/* A server whose memory a client writes, and its client (client.c): two programs, which exchange queue pair number, address and key by
 * TCP. The client writes data and then a flag, and the server polls on the flag.
 * BROKEN: it clears its memory when the client may write already.
 */
#include "exchange.h"

int main(int argc, char **argv)
{
	struct side me = side_open(argc > 1 ? atoi(argv[1]) : 0);
	if (me.index) return 1;
	struct message { uint64_t data; volatile uint64_t flag; } *m = (void *)me.memory;
#ifndef BROKEN
	memset(me.memory, 0, SIZE);
#endif
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_ANY) };
	if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 1)) return perror("listen"), 1;
	int line = accept(listener, NULL, NULL);
	if (line < 0) return perror("accept"), 1;
	side_connect(&me, line);
#ifdef BROKEN
	memset(me.memory, 0, SIZE);
#endif
	while (m->flag == 0) {}
	assert(m->data == 42);
	close(line);
	return 0;
}
