/* A ping-pong as osu_latency measures it: half of the mean round trip, two readings of the clock around all of them,
 * after a warm-up. It stands in for OSU's and Intel's benchmarks, which Debian does not package.
 * Usage: plain_pingpong BYTES BLOCKS. Prints the mean of each block of 20 round trips, in seconds one way. The mean of
 * them all is what osu_latency prints; blocks are there to tell quiet moments of a busy machine from others. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARMUP = 200, BLOCK = 20, MOST_BLOCKS = 10000 };

static void round_trips(int rank, char *buffer, int bytes, int count)
{
    for (int i = 0; i < count; i++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    static double seconds[MOST_BLOCKS];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int bytes = argc > 1 ? atoi(argv[1]) : 8, wanted = argc > 2 ? atoi(argv[2]) : 50;
    const int blocks = wanted < MOST_BLOCKS ? wanted : MOST_BLOCKS;
    char *buffer = calloc((size_t)bytes + 1, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    round_trips(rank, buffer, bytes, WARMUP);
    for (int block = 0; block < blocks; block++) {
        const double begin = MPI_Wtime();
        round_trips(rank, buffer, bytes, BLOCK);
        seconds[block] = (MPI_Wtime() - begin) / BLOCK / 2;
    }
    for (int block = 0; block < blocks && rank == 0; block++)
        printf("%.12f\n", seconds[block]);
    free(buffer);
    MPI_Finalize();
    return 0;
}
