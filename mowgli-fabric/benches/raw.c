// What libfabric takes by itself: the latency of a put and of a get of one word, from one process to another on the same machine, which
// does nothing but let it go on. `raw PROVIDER TIMES` prints both in nanoseconds.

#include <stdio.h>
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

static double measured(struct fabric_end *end, uint64_t peer, struct hello *far, int times, int is_put) {
    double least = 1e18;
    for (int turn = 0; turn < 250; turn++) {
        double begin = now();
        for (int i = 0; i < times; i++) {
            int err;
            do {
                err = is_put ? fabric_put(end, 0, 0, peer, far->base, far->key) : fabric_get(end, 0, 0, peer, far->base, far->key);
                if (err) fabric_end_progress(end);
            } while (err == -FI_EAGAIN);
            if (err || done(end)) return -1;
        }
        double each = (now() - begin) / times;
        least = each < least ? each : least;
    }
    return least;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int is_tcp = argv[1][0] == 't', both[2], times = atoi(argv[2]);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, both)) return 1;
    pid_t child = fork();
    int link = both[child == 0];
    close(both[child != 0]);
    static uint64_t memory[64] __attribute__((aligned(4096)));
    struct fabric_node *node;
    struct fabric_end *end;
    struct hello own = {0}, far;
    size_t length = sizeof own.name;
    uint64_t peer;
    const char *absent = fabric_load();
    if (absent) return fprintf(stderr, "%s\n", absent), 1;
    int err = fabric_node_open(is_tcp ? "tcp;ofi_rxm" : "shm", is_tcp ? "127.0.0.1" : NULL, memory, sizeof memory, &node);
    if (!err) err = fabric_end_open(node, 8, 2, &end);
    if (!err) err = fabric_node_name(node, own.name, &length);
    if (err) return fprintf(stderr, "%s\n", fabric_text(-err)), 1;
    fabric_node_memory(node, &own.key, &own.base);
    if (write(link, &own, sizeof own) != sizeof own || read(link, &far, sizeof far) != sizeof far) return 1;
    if (fabric_node_know(node, far.name, &peer)) return 1;
    if (child == 0) {
        char over;
        while (recv(link, &over, 1, MSG_DONTWAIT) < 0)
            for (int i = 0; i < 1000; i++) fabric_node_progress(node);
        return 0;
    }
    double put = measured(end, peer, &far, times, 1), get = measured(end, peer, &far, times, 0);
    printf("%.0f %.0f\n", put, get);
    if (write(link, "", 1) != 1) return 1;
    waitpid(child, NULL, 0);
    return put < 0 || get < 0;
}
