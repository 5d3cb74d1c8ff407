// The latency of Open MPI between two processes: of MPI_Barrier, and of MPI_Put, MPI_Get and MPI_Fetch_and_op of one word
// with a flush, of messages of 64 bytes in sequence, and of MPI_Put of 1 MiB with a flush. A barrier of LOCO also promises that earlier puts are placed. So this also measures a put by each process, a flush and
// a barrier together. `peers TIMES` prints the times in nanoseconds.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Win window;
static long word;
static int rank;

static void barrier(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}

static void sent(void) {
    MPI_Put(&word, 1, MPI_LONG, 1 - rank, 0, 1, MPI_LONG, window);
    MPI_Win_flush(1 - rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void put(void) {
    MPI_Put(&word, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window);
    MPI_Win_flush(1, window);
}

enum { MEBIBYTE = 1 << 20, PAGE = 4096, OFFSET = 1024 };

static char bytes[MEBIBYTE + 2 * PAGE];
static long *memory;

// Puts from this offset behind that of the window in its page.
static void put_from(size_t offset) {
    size_t place = ((size_t)memory - (size_t)bytes) % PAGE + offset;
    MPI_Put(bytes + place, MEBIBYTE, MPI_CHAR, 1, 0, MEBIBYTE, MPI_CHAR, window);
    MPI_Win_flush(1, window);
}

static void put_large(void) {
    put_from(0);
}

static void put_shifted(void) {
    put_from(OFFSET);
}

static void get(void) {
    MPI_Get(&word, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window);
    MPI_Win_flush(1, window);
}

static void add(int to) {
    long one = 1;
    MPI_Fetch_and_op(&one, &word, MPI_LONG, to, 0, MPI_SUM, window);
    MPI_Win_flush(to, window);
}

static void add_here(void) {
    add(0);
}

static void add_there(void) {
    add(1);
}

enum { MESSAGES = 1000 };

static void messages(void) {
    static long message[8];
    for (int i = 0; i < MESSAGES; i++)
        if (rank == 0)
            MPI_Send(message, 8, MPI_LONG, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(message, 8, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int by_time(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double measured(void (*act)(void), int times) {
    static double turns[500];
    for (int turn = 0; turn < 500; turn++) {
        double begin = MPI_Wtime();
        for (int i = 0; i < times; i++) act();
        turns[turn] = (MPI_Wtime() - begin) / times * 1e9;
    }
    qsort(turns, 500, sizeof *turns, by_time);
    return turns[250];
}

int main(int argc, char **argv) {
    int times = atoi(argv[argc - 1]);
    double results[9] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(MEBIBYTE, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    results[0] = measured(barrier, times);
    results[6] = measured(messages, 1) / MESSAGES;
    MPI_Win_lock_all(0, window);
    results[1] = measured(sent, times);
    if (rank == 0) {
        results[2] = measured(put, times), results[3] = measured(get, times);
        results[4] = measured(add_here, times), results[5] = measured(add_there, times);
        results[7] = measured(put_large, 1), results[8] = measured(put_shifted, 1);
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        // A flush waits until a put is placed, so there is no figure of a put alone.
        for (int i = 0; i < 9; i++) printf("%s%.0f%s", i == 2 ? "- " : "", results[i], i < 8 ? " " : "\n");
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
