#include "host/sysroot.h"

#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 512

FILE *sysroot_opened(const char *path)
{
    const char *root = getenv("SEATRIAL_SYSROOT");
    while (root != NULL && *root != '\0') {
        char full[PATH_BYTES];
        const int length = (int)strcspn(root, ":"), written = snprintf(full, sizeof full, "%.*s%s", length, root, path);
        FILE *file = written < (int)sizeof full ? fopen(full, "r") : NULL;
        if (file != NULL)
            return file;
        root += length + (root[length] == ':');
    }
    return fopen(path, "r");
}
