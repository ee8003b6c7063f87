#define _DEFAULT_SOURCE /* readlink, opendir */

#include "host/others.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 96
#define NAME_BYTES 64

static bool first_line(const char *path, char *text, int bytes)
{
    FILE *file = fopen(path, "r");
    text[0] = '\0';
    if (file == NULL)
        return false;
    const bool read = fgets(text, bytes, file) != NULL;
    fclose(file);
    return read;
}

/* Empty where it cannot be read, as that of other users' processes. */
static void namespace_of(const char *process, char *text)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%.20s/ns/net", process);
    const ssize_t length = readlink(path, text, NAME_BYTES - 1);
    text[length > 0 ? length : 0] = '\0';
}

static void add(struct others *others, int64_t thread, int64_t used_ns)
{
    if (others->count == others->room) {
        const size_t room = others->room * 2 + 512;
        struct thread_time *larger = realloc(others->threads, room * sizeof *larger);
        if (larger == NULL)
            return;
        others->threads = larger;
        others->room = room;
    }
    others->threads[others->count++] = (struct thread_time){thread, used_ns};
}

static void add_threads(struct others *others, const char *process)
{
    char path[PATH_BYTES], line[NAME_BYTES];
    snprintf(path, sizeof path, "/proc/%.20s/task", process);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int64_t used_ns = 0;
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/schedstat", process, entry->d_name);
        if (first_line(path, line, sizeof line) && sscanf(line, "%" SCNd64, &used_ns) == 1)
            add(others, strtoll(entry->d_name, NULL, 10), used_ns);
    }
    closedir(folder);
}

static int by_thread(const void *left, const void *right)
{
    const int64_t a = ((const struct thread_time *)left)->thread, b = ((const struct thread_time *)right)->thread;
    return (a > b) - (a < b);
}

struct others others_read(void)
{
    struct others others = {0};
    char own[NAME_BYTES], name[NAME_BYTES], own_space[NAME_BYTES], space[NAME_BYTES], path[PATH_BYTES];
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return others;
    first_line("/proc/self/comm", own, sizeof own);
    namespace_of("self", own_space);
    namespace_of("1", space);
    if (space[0] == '\0')
        namespace_of("2", space); /* a thread of the kernel, where the first process may not be looked at */
    const bool virtual = space[0] != '\0' && strcmp(own_space, space) != 0;
    for (const struct dirent *entry; (entry = readdir(processes)) != NULL;) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%.20s/comm", entry->d_name);
        if (!first_line(path, name, sizeof name) || strcmp(name, own) == 0)
            continue;
        if (virtual)
            namespace_of(entry->d_name, space);
        if (!virtual || strcmp(own_space, space) == 0)
            add_threads(&others, entry->d_name);
    }
    closedir(processes);
    if (others.count > 0)
        qsort(others.threads, others.count, sizeof *others.threads, by_thread);
    return others;
}

int64_t others_since(const struct others *before, const struct others *now)
{
    int64_t used_ns = 0;
    if (before->count == 0 || now->count == 0)
        return -1;
    for (size_t i = 0; i < now->count; i++) {
        const struct thread_time *known =
            bsearch(&now->threads[i], before->threads, before->count, sizeof *known, by_thread);
        const int64_t grown = now->threads[i].used_ns - (known == NULL ? 0 : known->used_ns);
        used_ns += grown > 0 ? grown : 0;
    }
    return used_ns;
}

void others_free(struct others *others)
{
    free(others->threads);
    *others = (struct others){0};
}
