/* Stands in for osu_bw and sendrecv_perf on two ranks of a lab, with their outputs: one size, a window of messages.
 *
 * As osu_bw, rank 0 sends to rank 1. As sendrecv_perf, both send at the same time, the rate is that of one direction,
 * and what rank 0 received last is checked. The name by which it is called decides. SEATRIAL_STAND_IN_FAILS names a host on which it exits with 3.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1 << 20, WINDOW = 4, WARMUP = 2, ITERATIONS = 12 };

static void exchange(int rank, int both, char *out, char *in)
{
    MPI_Request requests[2 * WINDOW];
    int sends = both || rank == 0, receives = both || rank == 1, count = 0;
    char done = 0;
    for (int place = 0; place < WINDOW; place++) {
        if (receives)
            MPI_Irecv(in + (size_t)place * BYTES, BYTES, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, &requests[count++]);
        if (sends)
            MPI_Isend(out, BYTES, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    if (rank == 1)
        MPI_Send(&done, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
    else
        MPI_Recv(&done, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int count, char **words)
{
    const char *slash = strrchr(words[0], '/'), *fails = getenv("SEATRIAL_STAND_IN_FAILS");
    int both = strcmp(slash ? slash + 1 : words[0], "osu_bw") != 0, rank, ranks;
    char host[256] = "", hosts[2][256];
    (void)count;
    gethostname(host, sizeof host - 1);
    if (fails && !strcmp(fails, host)) {
        fprintf(stderr, "CUDA error: no CUDA-capable device is detected\n");
        return 3;
    }
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int wrong = 0;
    char *out = calloc(1, BYTES), *in = calloc(WINDOW, BYTES);
    if (ranks != 2 || !out || !in)
        MPI_Abort(MPI_COMM_WORLD, 2);
    memset(out, 1 + rank, BYTES);
    for (int turn = 0; turn < WARMUP; turn++)
        exchange(rank, both, out, in);
    MPI_Gather(host, sizeof host, MPI_CHAR, hosts, sizeof host, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int turn = 0; turn < ITERATIONS; turn++)
        exchange(rank, both, out, in);
    double seconds = MPI_Wtime() - began, rate = (double)BYTES * WINDOW * ITERATIONS / seconds;
    for (size_t place = 0; both && place < (size_t)WINDOW * BYTES; place++)
        wrong += in[place] != 2 - rank;
    if (rank == 0 && !both)
        printf("# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n%-10d%18.2f\n", BYTES, rate / 1e6);
    if (rank == 0 && both) {
        printf("# Collective test starting: sendrecv_perf\n");
        printf("# nThread 1 nGpus 1 minBytes %d maxBytes %d step: 1048576(bytes) warmup iters: 2 iters: 12\n", BYTES, BYTES);
        for (int place = 0; place < 2; place++)
            printf("#  Rank %2d Group  0 Pid %d on %s device 0\n", place, getpid(), hosts[place]);
        printf("#       size         count      type   redop    root");
        printf("     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n");
        printf("%12d  %12d     float    none      -1  %.1f  %.6f  %.6f  %d  %.1f  %.6f  %.6f    N/A\n", BYTES, BYTES / 4,
               1e6 * BYTES / rate, rate / 1e9, rate / 1e9, wrong, 1e6 * BYTES / rate, rate / 1e9, rate / 1e9);
        printf("# Out of bounds values : %d %s\n", wrong, wrong ? "FAILED" : "OK");
        printf("# Avg bus bandwidth    : %.6f\n#\n", rate / 1e9);
        printf("# Collective test concluded: sendrecv_perf\n");
    }
    MPI_Finalize();
    return 0;
}
