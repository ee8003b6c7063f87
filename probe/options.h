#ifndef SEATRIAL_OPTIONS_H
#define SEATRIAL_OPTIONS_H

/* What the program was asked on its command line. */
enum option { OPTION_SERVE, OPTION_LIST, OPTION_VERSION, OPTION_UNKNOWN };

/* On OPTION_UNKNOWN, *unknown is the argument not understood. */
enum option options_read(int count, char **arguments, const char **unknown);

#endif
