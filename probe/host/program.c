#define _GNU_SOURCE

#include "host/program.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "host/conditions.h"
#include "host/waiting.h"

/* The first thread did the work if its share of the processor time is at least one in so many. */
#define WORKING_SHARE 4

static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
static volatile sig_atomic_t child;

static void pass_on(int number)
{
    kill((pid_t)child, number);
}

/* A program that cannot be run is reported as slurmstepd does it: execve() and its reason, which is also the status. */
static _Noreturn void become(char **words, const sigset_t *mask, pid_t parent)
{
    int error = 0;
    sigprocmask(SIG_SETMASK, mask, NULL);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() == parent) { /* else it was gone before the signal was asked for */
        execvp(words[0], words);
        error = errno;
        fprintf(stderr, "seatrial-probe: error: execve(): %s: %s\n", words[0], strerror(error));
    }
    _exit(error);
}

/* What is ignored, as under nohup, stays ignored. */
static void install(void)
{
    struct sigaction before, handler = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        if (sigaction(passed_on[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(passed_on[i], &handler, NULL);
}

static int64_t microseconds(const struct timeval *time)
{
    return (int64_t)time->tv_sec * 1000000 + time->tv_usec;
}

/* Of a process that has ended and has not been waited for: the kernel still has its numbers. */
static void read_schedstat(struct program_end *end)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)child);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    if (fscanf(file, "%" SCNd64 " %" SCNd64, &end->ran_ns, &end->waited_ns) != 2)
        end->ran_ns = end->waited_ns = UNKNOWN;
    fclose(file);
}

struct program_end program_run(char **words)
{
    struct program_end end = {.ran_ns = UNKNOWN, .waited_ns = UNKNOWN};
    struct rusage usage;
    sigset_t every, mask;
    siginfo_t info;
    const pid_t parent = getpid();
    const int64_t stolen_before_ns = stolen_ns();
    sigfillset(&every);
    sigprocmask(SIG_BLOCK, &every, &mask);
    const pid_t started = fork();
    if (started == 0)
        become(words, &mask, parent);
    child = started;
    end.error = started < 0 ? errno : 0;
    if (started > 0)
        install();
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (started < 0)
        return end;
    while (waitid(P_PID, (id_t)started, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        continue;
    read_schedstat(&end);
    if (end.waited_ns != UNKNOWN)
        end.waited_ns += stolen_ns() - stolen_before_ns;
    while (waitpid(started, &end.status, 0) < 0 && errno == EINTR)
        continue;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0 ||
        end.ran_ns / 1000 * WORKING_SHARE < microseconds(&usage.ru_utime) + microseconds(&usage.ru_stime))
        end.ran_ns = end.waited_ns = UNKNOWN;
    return end;
}

void end_like(const struct program_end *end)
{
    if (end->error != 0) {
        fprintf(stderr, "seatrial-probe: cannot start a process: %s\n", strerror(end->error));
        exit(end->error);
    }
    if (WIFSIGNALED(end->status)) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none); /* the program has left its own */
        signal(WTERMSIG(end->status), SIG_DFL);
        raise(WTERMSIG(end->status));
    }
    exit(WEXITSTATUS(end->status));
}

/* Launchers inside a job of Slurm run below a task of srun, whose number is of the launcher's daemon: theirs first. */
int rank_given(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    int alone = 0; /* no launcher numbered it: it is the only process */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        char *rest;
        if (text == NULL || *text == '\0')
            continue;
        const long rank = strtol(text, &rest, 10);
        if (*rest == '\0' && rank >= 0 && rank < INT32_MAX)
            return (int)rank;
        alone = -1;
    }
    return alone;
}
