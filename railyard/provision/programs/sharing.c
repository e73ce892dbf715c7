/* railyard-sharing: how much two ranks on one processor slow each other, for each way in which the idle one can wait.
 *
 *   railyard-sharing
 *
 * Two ranks of one node are bound to one processor. The first does the same work again and again. Meanwhile the second
 * waits for its message: asleep, in the library's own MPI_Recv, polling, or yielding the processor at each look.
 * A library that polls takes half of the processor from the working rank: this happened with two compute and two data
 * processes on two processors (survey of cluster interconnects, 2004, GAMESS). It prints the median of TRIALS, in s.
 * Uses only MPI-2.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FORMAT 1
#define TRIALS 3
#define WORK_SECONDS 0.2

enum { PROCESSOR = 1, READY, DONE };
enum { ASLEEP, RECEIVING, POLLING, YIELDING, WAYS };

static volatile double sink;

static void fail(const char *sentence)
{
    fprintf(stderr, "railyard-sharing: %s\n", sentence);
    usleep(200000); /* if the job aborts, a launcher may drop output not yet forwarded (Hydra of MPICH 5.0.2 did) */
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static void work(long rounds)
{
    double value = 1.0;
    for (long i = 0; i < rounds; i++) value = value * 1.0000001 + 1e-9;
    sink = value;
}

static double seconds_of(long rounds)
{
    double begun = MPI_Wtime();
    work(rounds);
    return MPI_Wtime() - begun;
}

/* How many rounds of work take WORK_SECONDS on a processor that nobody shares. */
static long calibrated(void)
{
    long rounds = 1000;
    double took = 0;
    while ((took = seconds_of(rounds)) < WORK_SECONDS / 10) rounds *= 2;
    return (long)(rounds * WORK_SECONDS / took);
}

static void wait_for_message(int way)
{
    const struct timespec nap = {0, 5000000};
    int there = 0;
    char word;
    while (way != RECEIVING && !there) {
        MPI_Iprobe(0, DONE, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (!there && way == ASLEEP) nanosleep(&nap, NULL);
        if (!there && way == YIELDING) sched_yield();
    }
    MPI_Recv(&word, 1, MPI_CHAR, 0, DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void bind_to(int processor)
{
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(processor, &own);
    if (sched_setaffinity(0, sizeof own, &own) != 0) fail("could not bind itself to a processor, expected to be allowed");
}

static int first_processor(void)
{
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof own, &own) != 0) fail("could not ask for its processors (more than 1024?)");
    for (int processor = 0; processor < CPU_SETSIZE; processor++)
        if (CPU_ISSET(processor, &own)) return processor;
    fail("found no processor that it may run on");
    return 0;
}

static int compared(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

static void measure(int processor, const char *node)
{
    double took[WAYS][TRIALS];
    long rounds = 0;
    char word = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        for (int way = 0; way < WAYS; way++) {
            MPI_Recv(&word, 1, MPI_CHAR, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rounds == 0) rounds = calibrated(); /* the other rank sleeps: this is the first way of waiting */
            took[way][trial] = seconds_of(rounds);
            MPI_Send(&word, 1, MPI_CHAR, 1, DONE, MPI_COMM_WORLD);
        }
    }
    printf("# railyard-sharing %d: 2 ranks on processor %d of %s\n", FORMAT, processor, node);
    printf("# seconds of the same work while the other rank is\n# asleep receiving polling yielding\n");
    for (int way = 0; way < WAYS; way++) {
        qsort(took[way], TRIALS, sizeof took[way][0], compared);
        printf("%s%.4f", way ? " " : "", took[way][TRIALS / 2]);
    }
    printf("\n# end\n");
}

int main(int count, char **words)
{
    char node[2][MPI_MAX_PROCESSOR_NAME];
    int rank, ranks, length, processor = 0;
    memset(node, 0, sizeof node);
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) fail("expected two ranks");
    MPI_Get_processor_name(node[rank], &length);
    MPI_Sendrecv(node[rank], MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 1 - rank, PROCESSOR, node[1 - rank],
                 MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 1 - rank, PROCESSOR, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(node[0], node[1]) != 0) fail("found its two ranks on two nodes, expected both on one");
    if (rank == 0) {
        processor = first_processor();
        MPI_Send(&processor, 1, MPI_INT, 1, PROCESSOR, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&processor, 1, MPI_INT, 0, PROCESSOR, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    bind_to(processor);
    if (rank == 0) {
        measure(processor, node[0]);
    } else {
        char word = 0;
        for (int turn = 0; turn < TRIALS * WAYS; turn++) {
            MPI_Send(&word, 1, MPI_CHAR, 0, READY, MPI_COMM_WORLD);
            wait_for_message(turn % WAYS);
        }
    }
    MPI_Finalize();
    return 0;
}
