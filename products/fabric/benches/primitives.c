// The rates of Open MPI for what LOCO's Figures 15 and 19 measure: barriers, broadcasts of 64 bytes with so many outstanding, and
// changes of a word under one lock. `primitives WHAT OUTSTANDING MILLISECONDS` prints how many a second the first process made.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 64, MOST = 128, BATCH = 64 };

static int rank;
static MPI_Win window;

static void barriers(int count) {
    for (int i = 0; i < count; i++) MPI_Barrier(MPI_COMM_WORLD);
}

// Posts each broadcast again as soon as it has completed, as long as `count` are not over.
static void broadcasts(int count, int outstanding) {
    static char messages[MOST][BYTES];
    static MPI_Request requests[MOST];
    for (int i = 0; i < count + outstanding; i++) {
        int slot = i % outstanding;
        if (i >= outstanding) MPI_Wait(&requests[slot], MPI_STATUS_IGNORE);
        if (i < count) MPI_Ibcast(messages[slot], BYTES, MPI_CHAR, 0, MPI_COMM_WORLD, &requests[slot]);
        else requests[slot] = MPI_REQUEST_NULL;
    }
}

static void changes(int count) {
    for (int i = 0; i < count; i++) {
        long word;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Get(&word, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
        MPI_Win_flush(0, window);
        word++;
        MPI_Put(&word, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
        MPI_Win_unlock(0, window);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *what = argv[1];
    int outstanding = atoi(argv[2]), size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double seconds = atof(argv[3]) / 1000;
    long *memory;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    *memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    long done = 0;
    for (int goes_on = 1; goes_on;) {
        if (!strcmp(what, "barrier")) barriers(BATCH);
        if (!strcmp(what, "broadcast")) broadcasts(16 * BATCH, outstanding);
        if (!strcmp(what, "lock")) changes(BATCH);
        done += strcmp(what, "broadcast") ? BATCH : 16 * BATCH;
        goes_on = MPI_Wtime() - begin < seconds;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    double rate = done / (MPI_Wtime() - begin) * (strcmp(what, "lock") ? 1 : size);
    if (rank == 0) printf("%.0f\n", rate);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
