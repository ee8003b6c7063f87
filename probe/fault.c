#include "fault.h"

#include <stdarg.h>
#include <stdio.h>

void fault_set(struct fault *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->sentence, sizeof fault->sentence, format, arguments);
    va_end(arguments);
}

void fault_excerpt(char *excerpt, size_t room, const char *text, size_t length)
{
    size_t n = 0;
    for (; n + 1 < room && n < length; n++)
        excerpt[n] = text[n] == '\0' ? '?' : text[n];
    excerpt[n] = '\0';
}
