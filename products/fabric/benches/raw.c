// The latency of libfabric alone: of a put of one word that is injected, of one with its completion, of one that is placed, of a get, of an
// addition, and of puts of 1 MiB. One process operates on another of the same machine, which only progresses the operations.
// `raw PROVIDER TIMES` prints the medians of turns in nanoseconds, as rows of the table of `latency`.

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../shim/fabric.c"

struct hello {
    char name[256];
    uint64_t key, base;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int done(struct fabric_end *end) {
    size_t slot;
    int err = 0;
    do err = fabric_end_next(end, &slot);
    while (!err && slot == end->count);
    return err;
}

enum what { INJECTED, PUT, GOT, ADDED, PLACED, LARGE, SHIFTED };

enum { MEBIBYTE = 1 << 20, OFFSET = 1024 };

static int begun(struct fabric_end *end, uint64_t peer, struct hello *far, enum what what) {
    if (what == INJECTED) return fabric_put(end, 0, 8, peer, far->base, far->key);
    if (what == GOT) return fabric_get(end, 0, 0, 8, peer, far->base, far->key);
    if (what == ADDED) return fabric_add(end, 0, 0, peer, far->base, far->key, 1);
    if (what == PLACED) return fabric_put_delivered(end, 0, 0, 8, peer, far->base, far->key);
    size_t bytes = what >= LARGE ? MEBIBYTE : 8;
    return fi_write(end->active->endpoint, end->node->begin + (what == SHIFTED ? OFFSET : 0), bytes, fi_mr_desc(end->node->memory), peer, far->base, far->key, end->slots);
}

static int by_time(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double measured(struct fabric_end *end, uint64_t peer, struct hello *far, int times, enum what what) {
    static double turns[500];
    for (int turn = 0; turn < 500; turn++) {
        double begin = now();
        for (int i = 0; i < times; i++) {
            int err;
            do {
                err = begun(end, peer, far, what);
                if (err) fabric_end_progress(end);
            } while (err == -FI_EAGAIN);
            if (err || (what != INJECTED && done(end))) return -1;
        }
        turns[turn] = (now() - begin) / times;
    }
    qsort(turns, 500, sizeof *turns, by_time);
    return turns[250];
}

// Closes what is open, because files in shared memory would be left otherwise.
static int closed(struct fabric_node *node, struct fabric_end *end) {
    fabric_end_close(end);
    fabric_node_close(node);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int is_tcp = argv[1][0] == 't', both[2], times = atoi(argv[2]);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, both)) return 1;
    pid_t child = fork();
    int link = both[child == 0];
    close(both[child != 0]);
    static uint64_t memory[(MEBIBYTE + OFFSET) / 8] __attribute__((aligned(4096)));
    // Pages that were never written would all be the same page of zeros.
    memset(memory, 1, sizeof memory);
    struct fabric_node *node;
    struct fabric_end *end;
    struct hello own = {0}, far;
    size_t length = sizeof own.name;
    uint64_t peer;
    char name[32];
    snprintf(name, sizeof name, "mowgli-raw-%d", (int)getpid());
    const char *absent = fabric_load();
    if (absent) return fprintf(stderr, "%s\n", absent), 1;
    int err = fabric_node_open(is_tcp ? "tcp;ofi_rxm" : "shm", is_tcp ? "127.0.0.1" : name, 1, 0, 1, memory, sizeof memory, &node);
    if (!err) err = fabric_end_open(node, 8, 2, 0, &end);
    if (!err) err = fabric_node_name(node, own.name, &length);
    if (err) return fprintf(stderr, "%s\n", fabric_text(-err)), 1;
    fabric_node_memory(node, &own.key, &own.base);
    if (write(link, &own, sizeof own) != sizeof own || read(link, &far, sizeof far) != sizeof far) return 1;
    if (fabric_node_know(node, far.name, &peer)) return 1;
    if (child == 0) {
        char over;
        while (recv(link, &over, 1, MSG_DONTWAIT) < 0)
            for (int i = 0; i < 1000; i++) fabric_node_progress(node);
        return closed(node, end);
    }
    double got = measured(end, peer, &far, times, GOT), put = measured(end, peer, &far, times, PUT);
    double added = measured(end, peer, &far, times, ADDED);
    double injected = measured(end, peer, &far, times, INJECTED);
    double placed = measured(end, peer, &far, times, PLACED);
    double large = measured(end, peer, &far, 1, LARGE), shifted = measured(end, peer, &far, 1, SHIFTED);
    printf("- - %.0f - %.0f - %.0f - - -\n- - %.0f %.0f - - - - %.0f %.0f\n", injected, got, added, put, placed, large, shifted);
    if (write(link, "", 1) != 1) return 1;
    waitpid(child, NULL, 0);
    closed(node, end);
    return injected < 0 || put < 0 || got < 0 || large < 0;
}
