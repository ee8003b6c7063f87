#include "options.h"

#include <string.h>

enum option options_read(int count, char **arguments, const char **unknown)
{
    *unknown = NULL;
    if (count <= 1)
        return OPTION_SERVE;
    if (count > 2)
        *unknown = arguments[2];
    else if (strcmp(arguments[1], "--list") == 0)
        return OPTION_LIST;
    else if (strcmp(arguments[1], "--version") == 0)
        return OPTION_VERSION;
    else
        *unknown = arguments[1];
    return OPTION_UNKNOWN;
}
