#include "output.h"

#include <mpi.h>

void output_print(const struct record *record)
{
    if (record_print(record, stdout))
        return;
    fputs("seatrial-probe: cannot write a record to standard output\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, EXIT_OUTPUT);
}
