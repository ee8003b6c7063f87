#ifndef SEATRIAL_WAIT_H
#define SEATRIAL_WAIT_H

/* A polite wait: test, then sleep, each sleep twice the last up to a cap. */

#define WAIT_FIRST_NS 50000L
#define WAIT_IDLE_CAP_NS 1000000L /* nobody waits for the answer */
#define WAIT_START_CAP_NS 50000L  /* all pairs must start together */

struct wait {
    long sleep_ns, cap_ns;
};

static inline struct wait wait_begin(long cap_ns)
{
    return (struct wait){WAIT_FIRST_NS, cap_ns};
}

void wait_sleep(struct wait *wait);

#endif
