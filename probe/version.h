#ifndef SEATRIAL_VERSION_H
#define SEATRIAL_VERSION_H

#define PROBE_VERSION "1"

/* History of the record format; a reader refuses a number it does not know.
 * 1  first: version, kernel, header, rank, ready, start, sample, end, error, stopped;
 *    later rank got cpus and cpu, which a reader may do without */
#define PROBE_FORMAT 1

#endif
