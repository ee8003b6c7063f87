#include "protocol/refusal.h"

#include <stdarg.h>
#include <stdio.h>

void refuse(struct refusal *refusal, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(refusal->sentence, sizeof refusal->sentence, format, arguments);
    va_end(arguments);
}
