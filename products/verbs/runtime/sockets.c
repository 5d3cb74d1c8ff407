/* TCP between programs that are started once per node. During the set-up the explorer carries the bytes, in an order that is the same
 * each time. Behind it a send is a message as IBV_WR_SEND is one, over a queue pair of its own, and a receive waits for its
 * arrival. So the memory model orders it, and nothing else: a message says nothing of operations under way.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST = 1000, SOCKETS = 64, PART = 64 };
/* A socket. `pair` is the number of its end of a connection; `left` are bytes that have come and were not received. */
static struct socket {
	int is_open, port, is_listening, is_over;
	unsigned pair;
	int64_t sent, received;
	unsigned char *left;
	size_t left_size;
} sockets[SOCKETS];
static int socket_count;

static struct socket *socket_of(int fd)
{
	return mw_program >= 0 && fd >= FIRST && fd < FIRST + socket_count && sockets[fd - FIRST].is_open ? &sockets[fd - FIRST] : NULL;
}
void mw_sockets_state(void)
{
	for (int i = 0; i < socket_count; i++) {
		struct socket *s = &sockets[i];
		mw_state(s, offsetof(struct socket, left));
		mw_state(&s->left_size, sizeof s->left_size);
		mw_state(s->left, s->left_size);
	}
}
static void adds(struct socket *s, const void *bytes, size_t n)
{
	s->left = mw_own_realloc(s->left, s->left_size + n + 1);
	memcpy(s->left + s->left_size, bytes, n);
	s->left_size += n;
}
static size_t bytes_of(const char *hex, unsigned char *to)
{
	size_t n = 0;
	unsigned byte;
	for (; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++) to[n] = (unsigned char)byte;
	return n;
}
static char *hex_of(const void *from, size_t n)
{
	char *hex = mw_own_malloc(2 * n + 1);
	hex[0] = 0;
	for (size_t k = 0; k < n; k++) sprintf(hex + 2 * k, "%02x", ((const unsigned char *)from)[k]);
	return hex;
}
/* What has come at the end of the set-up: for each end of a connection its number and the bytes, or `-`. */
void mw_sockets_have(char *text)
{
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
		unsigned pair = (unsigned)atoi(word);
		char *hex = strtok(NULL, " ");
		unsigned char *bytes = mw_own_malloc(strlen(hex) + 1);
		size_t n = bytes_of(hex, bytes);
		for (int i = 0; i < socket_count; i++)
			if (sockets[i].pair == pair) { adds(&sockets[i], bytes, n); sockets[i].is_over |= !n; }
		mw_own_free(bytes);
	}
}
__attribute__((noreturn)) static void after_the_set_up(const char *call) { mw_end('x', "%s after the set-up", call); }
static int fails_with(int why) { errno = why; return -1; }

#define CALL(type, name, parameters, body) ENTRY(__mowgli_##name); type mw___mowgli_##name parameters { body }
/* The functions of libc, for programs that have all nodes. */
#define ALONE(call) if (mw_program < 0) { if (mw_thread >= 0) { mw_flush(); mw_end('x', "a socket in a thread"); } return call; }

CALL(int, socket, (int domain, int type, int protocol),
	ALONE(socket(domain, type, protocol))
	if (mw_thread >= 0) after_the_set_up("socket");
	if ((domain != AF_INET && domain != AF_INET6) || (type & 0xff) != SOCK_STREAM) mw_end('x', "a socket that is not of TCP");
	if (socket_count == SOCKETS) mw_end('x', "more than %d sockets", SOCKETS);
	sockets[socket_count].is_open = 1;
	return FIRST + socket_count++;
)
static int port_of(const struct sockaddr *a)
{
	return ntohs(a->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port : ((const struct sockaddr_in *)a)->sin_port);
}
CALL(int, bind, (int fd, const struct sockaddr *a, socklen_t n),
	ALONE(bind(fd, a, n))
	struct socket *s = socket_of(fd);
	if (!s) return fails_with(EBADF);
	s->port = port_of(a);
	return 0;
)
CALL(int, setsockopt, (int fd, int level, int name, const void *v, socklen_t n), ALONE(setsockopt(fd, level, name, v, n)) return 0;)
CALL(int, listen, (int fd, int n),
	ALONE(listen(fd, n))
	struct socket *s = socket_of(fd);
	if (!s) return fails_with(EBADF);
	if (mw_thread >= 0) after_the_set_up("listen");
	mw_sets_up();
	s->is_listening = 1;
	char *answer = mw_broker("listen %d", s->port);
	if (!answer) after_the_set_up("listen");
	mw_own_free(answer);
	return 0;
)
static int connected(struct socket *s, char *answer, const char *call)
{
	if (!answer) mw_end('x', "%s, and no other program is at the other side", call);
	s->pair = (unsigned)atoi(answer + 2);
	mw_own_free(answer);
	return 0;
}
CALL(int, connect, (int fd, const struct sockaddr *a, socklen_t n),
	ALONE(connect(fd, a, n))
	struct socket *s = socket_of(fd);
	if (!s) return fails_with(EBADF);
	if (mw_thread >= 0) after_the_set_up("connect");
	mw_sets_up();
	return connected(s, mw_broker("connect %d", port_of(a)), "connect");
)
CALL(int, accept, (int fd, struct sockaddr *a, socklen_t *n),
	if (mw_program < 0 && mw_thread < 0 && !poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0))
		mw_end('m', "accept: no other program connects; start the program of each node by --node");
	ALONE(accept(fd, a, n))
	struct socket *s = socket_of(fd);
	if (!s) return fails_with(EBADF);
	if (mw_thread >= 0) after_the_set_up("accept");
	mw_sets_up();
	if (socket_count == SOCKETS) mw_end('x', "more than %d sockets", SOCKETS);
	struct sockaddr_in from = { .sin_family = AF_INET };
	if (a && n) memcpy(a, &from, *n < sizeof from ? *n : sizeof from);
	struct socket *own = &sockets[socket_count++];
	own->is_open = 1;
	connected(own, mw_broker("accept %d", s->port), "accept");
	return FIRST + (int)(own - sockets);
)
/* Each part of a message is at most as long as an operation. */
static ssize_t sends(int fd, const void *from, size_t n)
{
	struct socket *s = socket_of(fd);
	if (!s) return fails_with(EBADF);
	if (!s->pair) return fails_with(ENOTCONN);
	if (mw_thread < 0) {
		char *hex = hex_of(from, n);
		mw_own_free(mw_broker("send %u %s", s->pair, n ? hex : "-"));
		mw_own_free(hex);
		return (ssize_t)n;
	}
	mw_flush();
	for (size_t done = 0; done < n;) {
		size_t part = n - done < PART ? n - done : PART;
		mw_load((const char *)from + done, part);
		char *hex = hex_of((const char *)from + done, part);
		mw_call("fence");
		mw_call("op %u send 0 0 0 %zu %ld 0 0 =%s", s->pair, part, (long)s->sent++, hex);
		mw_own_free(hex);
		done += part;
	}
	return (ssize_t)n;
}
/* Waits for bytes; 0 if the other side has closed the connection. */
static int has_some(struct socket *s, size_t most)
{
	if (s->left_size) return 1;
	if (s->is_over) return 0;
	if (mw_thread < 0) {
		char *answer = mw_broker("receive %u %zu", s->pair, most);
		if (answer) {
			unsigned char *bytes = mw_own_malloc(strlen(answer) + 1);
			size_t n = bytes_of(answer + 2, bytes);
			s->is_over = !n;
			adds(s, bytes, n);
			mw_own_free(bytes);
			mw_own_free(answer);
			return s->left_size > 0;
		}
		if (s->left_size) return 1;
	}
	int64_t came;
	for (size_t mark = mw_learned(); !(came = mw_ask("arrived %u %ld", s->pair, (long)s->received)); mw_forget(mark)) {}
	size_t size = (size_t)(came >> 4) & 0xfffff;
	for (size_t at = 0; at < size; at += 8) {
		int64_t v = mw_ask("inbox %u %ld %zu", s->pair, (long)s->received, at / 8);
		adds(s, &v, size - at < 8 ? size - at : 8);
	}
	s->received++;
	s->is_over = !size;
	return size > 0;
}
static ssize_t receives(int fd, void *to, size_t n, int flags)
{
	struct socket *s = socket_of(fd);
	if (!s) return fails_with(EBADF);
	if (!s->pair) return fails_with(ENOTCONN);
	if (mw_thread >= 0) mw_flush();
	if (flags & ~(MSG_WAITALL | MSG_NOSIGNAL)) mw_end('x', "recv with flags other than MSG_WAITALL");
	size_t done = 0;
	do {
		if (done == n || !has_some(s, n - done)) break;
		size_t part = s->left_size < n - done ? s->left_size : n - done;
		if (mw_thread < 0) memcpy((char *)to + done, s->left, part); else mw_store((char *)to + done, s->left, part, 1);
		memmove(s->left, s->left + part, s->left_size -= part);
		done += part;
	} while (flags & MSG_WAITALL);
	return (ssize_t)done;
}
static void closes(struct socket *s)
{
	if (!s->pair || s->sent < 0) return;
	if (mw_thread < 0) mw_own_free(mw_broker("send %u -", s->pair));
	else {
		mw_flush();
		mw_call("op %u send 0 0 0 0 %ld 0 0 =", s->pair, (long)s->sent);
	}
	s->sent = -1;
}
CALL(ssize_t, send, (int fd, const void *from, size_t n, int flags), ALONE(send(fd, from, n, flags)) return sends(fd, from, n);)
CALL(ssize_t, recv, (int fd, void *to, size_t n, int flags), ALONE(recv(fd, to, n, flags)) return receives(fd, to, n, flags);)
CALL(ssize_t, write, (int fd, const void *from, size_t n), if (mw_is_line(fd)) return fails_with(EBADF);
	if (fd >= FIRST && mw_program >= 0) return sends(fd, from, n);
	if (mw_thread >= 0 && n) mw_load(from, n);
	return write(fd, from, n);)
CALL(ssize_t, read, (int fd, void *to, size_t n), if (mw_is_line(fd)) return fails_with(EBADF);
	if (fd >= FIRST && mw_program >= 0) return receives(fd, to, n, 0);
	if (mw_thread >= 0) mw_end('x', "read of a file in a thread");
	return read(fd, to, n);)
CALL(int, shutdown, (int fd, int how),
	ALONE(shutdown(fd, how))
	struct socket *s = socket_of(fd);
	if (!s) return fails_with(EBADF);
	if (how != SHUT_RD) closes(s);
	return 0;
)
CALL(int, close, (int fd),
	if (mw_is_line(fd)) return fails_with(EBADF);
	if (fd < FIRST || mw_program < 0) return close(fd);
	struct socket *s = socket_of(fd);
	if (!s) return fails_with(EBADF);
	closes(s);
	s->is_open = 0;
	return 0;
)
/* Every name is the one machine on which the programs run. */
int __mowgli_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
	if (mw_program < 0) return getaddrinfo(node, service, hints, found);
	if (mw_thread >= 0) after_the_set_up("getaddrinfo");
	struct addrinfo one = hints ? *hints : (struct addrinfo){ .ai_socktype = SOCK_STREAM };
	one.ai_family = AF_INET;
	return getaddrinfo(node ? "127.0.0.1" : NULL, service, &one, found);
}
void __mowgli_freeaddrinfo(struct addrinfo *all) { if (mw_thread < 0) freeaddrinfo(all); }
#define LACKS(name) \
	ENTRY(__mowgli_##name); \
	int mw___mowgli_##name(void) { if (mw_thread >= 0) mw_flush(); mw_end('x', #name " on sockets is not supported"); }
LACKS(poll) LACKS(select) LACKS(epoll_create1) LACKS(sendto) LACKS(recvfrom) LACKS(sendmsg) LACKS(recvmsg) LACKS(accept4)
