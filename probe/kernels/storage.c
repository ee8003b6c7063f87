#define _GNU_SOURCE /* O_DIRECT */

/* A file system: each rank writes and reads a file of its own, or makes and removes empty ones. A file of data loses its
 * name as soon as it is open, so that the system removes it however the rank ends. Data go past the page cache
 * (O_DIRECT) where the file system permits; else each iteration includes fdatasync, and the cache is dropped before
 * reading. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/clock.h"
#include "kernels/group.h"
#include "kernels/kernel.h"
#include "kernels/pattern.h"

#ifndef O_DIRECT
#define O_DIRECT 0
#endif
#define HOST_BYTES 65
#define NAME_BYTES (HOST_BYTES + 64)

static bool failed(const struct group *group)
{
    if (group->storage->failed == 0)
        group->storage->failed = errno != 0 ? errno : EIO;
    return false;
}

/* The folder, which others may exchange for another one afterwards; -1: it cannot be opened. */
static int open_folder(const struct group *group)
{
    const int folder = open(group->storage->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        failed(group);
    return folder;
}

/* The name of a file that no other rank uses. */
static void name_file(char *name)
{
    char host[HOST_BYTES] = "";
    if (gethostname(host, sizeof host) != 0)
        host[0] = '\0';
    host[sizeof host - 1] = '\0';
    snprintf(name, NAME_BYTES, "%s-%ld", host, (long)getpid());
}

/* A new file without a name; -1: there is none. A file may not grow beyond ulimit -f: that is an error, not a signal. */
static int open_unnamed(const struct group *group)
{
    char name[NAME_BYTES];
    const int folder = open_folder(group);
    if (folder < 0)
        return -1;
    name_file(name);
    signal(SIGXFSZ, SIG_IGN);
    int file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_DIRECT, 0600);
    if (file < 0 && errno == EINVAL) { /* some file systems leave the file behind */
        unlinkat(folder, name, 0);
        file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    if (file < 0)
        failed(group);
    else
        unlinkat(folder, name, 0);
    close(folder);
    return file;
}

static bool is_direct(int file)
{
    return O_DIRECT != 0 && (fcntl(file, F_GETFL) & O_DIRECT) != 0;
}

/* Some file systems open with O_DIRECT and refuse to write: from then on without it. */
static bool to_cached(int file)
{
    return is_direct(file) && errno == EINVAL && fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_DIRECT) == 0;
}

static bool write_block(const struct group *group, int file, const char *block, int64_t offset)
{
    int64_t done = 0;
    while (done < group->message_bytes) {
        const ssize_t bytes =
            pwrite(file, block + done, (size_t)(group->message_bytes - done), (off_t)(offset + done));
        if (bytes > 0)
            done += bytes;
        else if (bytes == 0 || (errno != EINTR && !to_cached(file)))
            return failed(group);
    }
    return true;
}

static bool read_block(const struct group *group, int file, char *block, int64_t offset)
{
    int64_t done = 0;
    while (done < group->message_bytes) {
        const ssize_t bytes = pread(file, block + done, (size_t)(group->message_bytes - done), (off_t)(offset + done));
        if (bytes > 0) {
            done += bytes;
        } else if (bytes == 0 || (errno != EINTR && !to_cached(file))) {
            errno = bytes == 0 ? EIO : errno; /* the file is shorter than what was written */
            return failed(group);
        }
    }
    return true;
}

/* One iteration's blocks, and where they went through the page cache, on to the device or server. */
static bool write_window(const struct group *group, int file, int64_t iteration)
{
    for (int64_t slot = 0; slot < group->window; slot++)
        if (!write_block(group, file, group->send, (iteration * group->window + slot) * group->message_bytes))
            return false;
    return is_direct(file) || fdatasync(file) == 0 || failed(group);
}

static bool read_window(const struct group *group, int file, int64_t iteration)
{
    for (int64_t slot = 0; slot < group->window; slot++)
        if (!read_block(group, file, group->receive, (iteration * group->window + slot) * group->message_bytes))
            return false;
    return true;
}

/* Data that storage which compresses or removes duplicates cannot shrink. */
static void fill(const struct group *group, int64_t iteration)
{
    pattern_fill(group->send, (size_t)group->message_bytes,
                 pattern_seed(group->rank, (int)getpid(), 0, iteration));
}

static void close_file(const struct group *group, int file)
{
    if (file < 0)
        return;
    group->storage->cached = !is_direct(file);
    close(file);
}

static void run_write(const struct group *group, int64_t count, int64_t *times_ns)
{
    const int file = open_unnamed(group);
    bool good = file >= 0;
    for (int64_t i = 0; i < count; i++) {
        fill(group, i);
        MPI_Barrier(group->comm);
        const int64_t begin = clock_ns();
        good = good && write_window(group, file, i);
        times_ns[i] = good ? clock_ns() - begin : 0;
    }
    close_file(group, file);
}

/* What is to be read must be on the device or server, and no longer in this machine's memory. */
static bool write_all(const struct group *group, int file, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        fill(group, i);
        if (!write_window(group, file, i))
            return false;
    }
    return (fdatasync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0) || failed(group);
}

static void run_read(const struct group *group, int64_t count, int64_t *times_ns)
{
    const int file = open_unnamed(group);
    bool good = file >= 0 && write_all(group, file, count);
    for (int64_t i = 0; i < count; i++) {
        MPI_Barrier(group->comm);
        const int64_t begin = clock_ns();
        good = good && read_window(group, file, i);
        times_ns[i] = good ? clock_ns() - begin : 0;
    }
    close_file(group, file);
}

static void check_read(const struct group *group, int64_t first, int64_t count, struct wrong *wrong)
{
    const int file = open_unnamed(group);
    for (int64_t i = first; file >= 0 && i < first + count; i++) {
        fill(group, i);
        const bool good = write_block(group, file, group->send, 0) && fdatasync(file) == 0 &&
                          posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0 &&
                          read_block(group, file, group->receive, 0);
        if (!good)
            break;
        pattern_compare(group->receive, (size_t)group->message_bytes,
                        pattern_seed(group->rank, (int)getpid(), 0, i), wrong);
    }
    close_file(group, file);
}

static bool make_and_remove(const struct group *group, int folder, const char *name)
{
    struct stat status;
    const int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || close(file) != 0)
        return failed(group);
    return (fstatat(folder, name, &status, 0) == 0 && unlinkat(folder, name, 0) == 0) || failed(group);
}

static void run_files(const struct group *group, int64_t count, int64_t *times_ns)
{
    char name[NAME_BYTES];
    const int folder = open_folder(group);
    bool good = folder >= 0;
    name_file(name);
    for (int64_t i = 0; i < count; i++) {
        MPI_Barrier(group->comm);
        const int64_t begin = clock_ns();
        for (int slot = 0; slot < group->window; slot++)
            good = good && make_and_remove(group, folder, name);
        times_ns[i] = good ? clock_ns() - begin : 0;
    }
    if (folder >= 0)
        close(folder);
}

const struct kernel kernel_storage_write = {
    .name = "storage_write",
    .measures = "storage: each rank of the group writes new blocks of message_bytes to a file of its own in folder",
    .time_is = "window blocks: the longest time of a rank of the group",
    .needs = NEEDS_GROUP,
    .sized = true,
    .windowed = true,
    .group = {.send = MEMORY_MESSAGE, .run = run_write, .stores = true},
};

const struct kernel kernel_storage_read = {
    .name = "storage_read",
    .measures = "storage: each rank of the group reads blocks of message_bytes that it wrote before",
    .time_is = "window blocks: the longest time of a rank of the group",
    .needs = NEEDS_GROUP,
    .sized = true,
    .windowed = true,
    .group = {.send = MEMORY_MESSAGE,
              .receive = MEMORY_MESSAGE,
              .run = run_read,
              .verify = check_read,
              .stores = true},
};

const struct kernel kernel_storage_files = {
    .name = "storage_files",
    .measures = "storage: each rank of the group makes an empty file in folder, looks at it and removes it",
    .time_is = "window files, one after the other: the longest time of a rank of the group",
    .needs = NEEDS_GROUP,
    .windowed = true,
    .group = {.run = run_files, .stores = true},
};
