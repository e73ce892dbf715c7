/* railyard-pairs: bandwidth and latency between pairs of ranks, round by round, inside one MPI job.
 *
 *   railyard-pairs NAME ROUNDS SIZE WINDOW REPEATS WARM-UP EXCHANGES
 *
 * NAME       the name of this measurement in the output: pairs, bisection, onnode, alone
 * ROUNDS     a file with one line per round: the pairs of ranks that measure at once ("0-1 2-3"); or "node" for the
 *            ranks that share a node, two by two, one round per pair
 * SIZE       bytes of a message      WINDOW     messages in flight       REPEATS  timed windows
 * WARM-UP    messages before them    EXCHANGES  8-byte messages there and back, for the latency
 *
 * Each pair measures latency, then a stream from the first to the second rank, then one back; all pairs of a round at
 * once. These words determine all bytes that are moved, so counters can be compared with them. Uses only MPI-2.
 * Source of the method: a window of messages is timed from the first send to an answer to the last one, as in osu_bw;
 * latency is half a round trip, as in osu_latency.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FORMAT 1
#define NAME_LENGTH 256
#define LATENCY_BYTES 8

enum { GO = 1, DONE, READY, DATA, ANSWER };

static int rank, ranks, window, repeats, warm_up, exchanges, wrong;
static long size;
static char *buffer;
static MPI_Request *requests;

static void fail(const char *sentence, const char *what)
{
    fprintf(stderr, "railyard-pairs: %s%s\n", sentence, what);
    usleep(200000); /* if the job aborts, a launcher may drop output not yet forwarded (Hydra of MPICH 5.0.2 did) */
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static void *space(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (memory == NULL) fail("found too little memory, expected room for a window of messages", "");
    return memory;
}

/* Sleep until a message comes: ranks that spin in a barrier would take the cores from those that measure. */
static void receive_asleep(void *value, int count, MPI_Datatype type, int from, int tag)
{
    const struct timespec nap = {0, 500000};
    MPI_Request request;
    int there = 0;
    MPI_Irecv(value, count, type, from, tag, MPI_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &there, MPI_STATUS_IGNORE);
        if (there) return;
        nanosleep(&nap, NULL);
    }
}

/* All ranks wait for each other; rank 0 gets the value of each.
 *
 * It receives from each rank in turn: over UCX (MPICH 5.0.2, UCX_TLS=tcp,self) a receive from MPI_ANY_SOURCE gets the
 * message of one rank and waits for ever for those of the others, although they were sent.
 */
static void meet(double value, double *values)
{
    int n;
    if (rank != 0) {
        MPI_Send(&value, 1, MPI_DOUBLE, 0, DONE, MPI_COMM_WORLD);
        receive_asleep(&n, 0, MPI_INT, 0, GO);
        return;
    }
    values[0] = value;
    for (n = 1; n < ranks; n++) receive_asleep(values + n, 1, MPI_DOUBLE, n, DONE);
    for (n = 1; n < ranks; n++) MPI_Send(&n, 0, MPI_INT, n, GO, MPI_COMM_WORLD);
}

/* Half a round trip in us of a pair whose ranks are ready; the first tenth is not timed. */
static double latency(int peer, int first)
{
    char word[LATENCY_BYTES] = {0};
    double begun = 0;
    int n, before = exchanges / 10 + 1;
    for (n = -before; n < exchanges; n++) {
        if (n == 0) begun = MPI_Wtime();
        if (first) MPI_Send(word, LATENCY_BYTES, MPI_BYTE, peer, DATA, MPI_COMM_WORLD);
        MPI_Recv(word, LATENCY_BYTES, MPI_BYTE, peer, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!first) MPI_Send(word, LATENCY_BYTES, MPI_BYTE, peer, DATA, MPI_COMM_WORLD);
    }
    return exchanges ? (MPI_Wtime() - begun) / exchanges / 2 * 1e6 : 0;
}

/* Every message begins and ends with its own byte, so a torn or swapped message is detected. */
static unsigned char mark(int repeat, int n)
{
    return (unsigned char)(1 + (repeat * window + n) % 251);
}

static void send_window(int peer, int count, int repeat)
{
    int n;
    for (n = 0; n < count; n++) {
        char *message = buffer + n * size;
        message[0] = message[size - 1] = (char)mark(repeat, n);
        MPI_Isend(message, (int)size, MPI_BYTE, peer, DATA, MPI_COMM_WORLD, requests + n);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void receive_window(int peer, int count, int repeat)
{
    int n;
    for (n = 0; n < count; n++)
        MPI_Irecv(buffer + n * size, (int)size, MPI_BYTE, peer, DATA, MPI_COMM_WORLD, requests + n);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (n = 0; n < count; n++) {
        const unsigned char *message = (const unsigned char *)buffer + n * size;
        if (message[0] != mark(repeat, n) || message[size - 1] != mark(repeat, n)) wrong++;
    }
}

/* MB/s (10^6 B/s) of a stream from the sender to the receiver, as the sender sees it; 0 on the receiver. */
static double stream(int peer, int sends)
{
    double begun;
    int n, nothing = 0;
    if (!sends) {
        for (n = 0; n < warm_up; n++) receive_window(peer, 1, n);
        MPI_Send(&nothing, 0, MPI_INT, peer, READY, MPI_COMM_WORLD);
        for (n = 0; n < repeats; n++) receive_window(peer, window, n);
        MPI_Send(&nothing, 0, MPI_INT, peer, ANSWER, MPI_COMM_WORLD);
        return 0;
    }
    for (n = 0; n < warm_up; n++) send_window(peer, 1, n);
    MPI_Recv(&nothing, 0, MPI_INT, peer, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    begun = MPI_Wtime();
    for (n = 0; n < repeats; n++) send_window(peer, window, n);
    MPI_Recv(&nothing, 0, MPI_INT, peer, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (double)size * window * repeats / (MPI_Wtime() - begun) / 1e6;
}

/* The rounds of ranks that share a node: peers of round 0, then of round 1 …, -1 for a rank without a peer. */
static int *rounds_of_nodes(const char *names, int *rounds)
{
    int *peers = space(sizeof(int) * ranks * ranks), *free_rank = space(sizeof(int) * ranks);
    int a, b;
    *rounds = 0;
    for (a = 0; a < ranks * ranks; a++) peers[a] = -1;
    for (a = 0; a < ranks; a++) free_rank[a] = 1;
    for (a = 0; a < ranks; a++)
        for (b = a + 1; b < ranks && free_rank[a]; b++)
            if (free_rank[b] && strcmp(names + a * NAME_LENGTH, names + b * NAME_LENGTH) == 0) {
                peers[*rounds * ranks + a] = b;
                peers[*rounds * ranks + b] = a;
                free_rank[a] = free_rank[b] = 0;
                ++*rounds;
            }
    free(free_rank);
    return peers;
}

/* The rounds of a file; ends the job with a sentence if a line is wrong. */
static int *rounds_of_file(const char *path, int *rounds)
{
    FILE *file = fopen(path, "r");
    char *line = space(ranks * 16 + 64), *word, *end;
    int *peers = NULL, n;
    if (file == NULL) fail("found no readable file of rounds: ", path);
    for (*rounds = 0; fgets(line, ranks * 16 + 64, file) != NULL;) {
        if (line[0] == '\n' || line[0] == '#') continue;
        peers = realloc(peers, sizeof(int) * ranks * (*rounds + 1));
        if (peers == NULL) fail("found too little memory, expected room for the rounds of ", path);
        for (n = 0; n < ranks; n++) peers[*rounds * ranks + n] = -1;
        for (word = strtok(line, " \n"); word != NULL; word = strtok(NULL, " \n")) {
            long a = strtol(word, &end, 10), b = *end == '-' ? strtol(end + 1, &end, 10) : -1;
            int *round = peers + *rounds * ranks;
            if (*end || a < 0 || b < 0 || a >= ranks || b >= ranks || a == b || round[a] >= 0 || round[b] >= 0)
                fail("expected two ranks of this job (0-1), each once in a line, found ", word);
            round[a] = (int)b;
            round[b] = (int)a;
        }
        ++*rounds;
    }
    fclose(file);
    free(line);
    return peers;
}

/* Latency and both streams of one round; rank 0 prints one line per pair and returns how many there were. */
static int measure(int round, const int *peers, double *values)
{
    int peer = peers[rank], first = rank < peer, n, pairs = 0;
    double *half = values, *forth = values + ranks, *back = values + 2 * ranks;
    meet(0, values);
    meet(peer < 0 ? 0 : latency(peer, first), half);
    meet(peer < 0 ? 0 : stream(peer, first), forth);
    meet(peer < 0 ? 0 : stream(peer, !first), back);
    if (rank != 0) return 0;
    for (n = 0; n < ranks; n++)
        if (peers[n] > n) {
            printf("%d %d %d %.2f %.2f %.2f\n", round + 1, n, peers[n], forth[n], back[peers[n]], half[n]);
            pairs++;
        }
    fflush(stdout);
    return pairs;
}

static void begin(int argc, char **argv)
{
    char *end = "";
    if (argc != 8) fail("expected NAME ROUNDS SIZE WINDOW REPEATS WARM-UP EXCHANGES", "");
    size = strtol(argv[3], &end, 10);
    window = atoi(argv[4]), repeats = atoi(argv[5]), warm_up = atoi(argv[6]), exchanges = atoi(argv[7]);
    if (*end || size < 1 || size > 1L << 30) fail("expected a SIZE of 1 to 1073741824 bytes, found ", argv[3]);
    if (window < 1 || repeats < 1 || warm_up < 0 || exchanges < 0)
        fail("expected WINDOW and REPEATS of at least 1, WARM-UP and EXCHANGES of at least 0", "");
    buffer = space(size * window);
    requests = space(sizeof(MPI_Request) * window);
    /* The rank itself touches it first, so it is on the NUMA node to which the rank is bound. */
    memset(buffer, 0, size * window);
}

int main(int argc, char **argv)
{
    int rounds = 0, round, n, pairs = 0, *peers = NULL;
    char name[NAME_LENGTH] = "", *names;
    double *values, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    begin(argc, argv);
    names = space((size_t)NAME_LENGTH * ranks);
    values = space(sizeof(double) * 3 * ranks);
    gethostname(name, NAME_LENGTH - 1);
    MPI_Allgather(name, NAME_LENGTH, MPI_CHAR, names, NAME_LENGTH, MPI_CHAR, MPI_COMM_WORLD);
    if (rank == 0) {
        peers = strcmp(argv[2], "node") ? rounds_of_file(argv[2], &rounds) : rounds_of_nodes(names, &rounds);
        if (rounds == 0) fail("found no pair of ranks in ", argv[2]);
        printf("# railyard-pairs %d %s: %d ranks, %d rounds\n", FORMAT, argv[1], ranks, rounds);
        printf("# size %ld window %d repeats %d warm-up %d exchanges %d of %d bytes\n", size, window, repeats, warm_up,
               exchanges, LATENCY_BYTES);
        for (n = 0; n < ranks; n++) printf("# rank %d on %s\n", n, names + n * NAME_LENGTH);
        printf("# round first second forward_MB/s backward_MB/s latency_us\n");
        fflush(stdout);
    }
    MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank != 0) peers = space(sizeof(int) * ranks * rounds);
    MPI_Bcast(peers, ranks * rounds, MPI_INT, 0, MPI_COMM_WORLD);
    for (round = 0; round < rounds; round++) pairs += measure(round, peers + round * ranks, values);
    meet(wrong, values);
    if (rank == 0) {
        for (n = 0; n < ranks; n++) all += values[n];
        if (all > 0) printf("# FAILED: %.0f messages arrived with wrong data\n", all);
        printf("# end: %d pairs\n", pairs);
    }
    MPI_Finalize();
    return 0;
}
