#include "kernels/pattern.h"

#include <string.h>

#define WORD_BYTES sizeof(uint64_t)

/* SplitMix64's output function: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t word_at(size_t position, uint64_t seed)
{
    return mix(seed + (uint64_t)(position / WORD_BYTES) * UINT64_C(0x9E3779B97F4A7C15));
}

/* How many bytes of the word that begins at `position` the message has. */
static size_t part_of_word(size_t position, size_t length)
{
    return length - position < WORD_BYTES ? length - position : WORD_BYTES;
}

/* A whole word, but for the last one of a message, is copied without a call: this is most of the work. */
static void copy_word(void *to, const void *from, size_t part)
{
    if (part == WORD_BYTES)
        memcpy(to, from, WORD_BYTES);
    else
        memcpy(to, from, part);
}

uint64_t pattern_seed(int sender, int receiver, int64_t slot, int64_t iteration)
{
    uint64_t seed = mix((uint64_t)sender + 1);
    seed = mix(seed + (uint64_t)receiver + 1);
    seed = mix(seed + (uint64_t)slot + 1);
    return mix(seed + (uint64_t)iteration + 1);
}

static void fill(char *bytes, size_t length, uint64_t seed, uint64_t flip)
{
    for (size_t i = 0; i < length; i += WORD_BYTES) {
        const uint64_t word = word_at(i, seed) ^ flip;
        copy_word(bytes + i, &word, part_of_word(i, length));
    }
}

void pattern_fill(char *bytes, size_t length, uint64_t seed)
{
    fill(bytes, length, seed, 0);
}

void pattern_spoil(char *bytes, size_t length, uint64_t seed)
{
    fill(bytes, length, seed, UINT64_MAX);
}

/* Looks at the bytes of one word that is not as it should be. */
static void count_word(const char *bytes, size_t position, size_t part, uint64_t word, struct wrong *wrong)
{
    unsigned char wanted[WORD_BYTES];
    memcpy(wanted, &word, WORD_BYTES);
    for (size_t i = 0; i < part; i++) {
        if ((unsigned char)bytes[position + i] == wanted[i])
            continue;
        if (wrong->first < 0)
            wrong->first = (int64_t)(position + i);
        wrong->bytes++;
    }
}

void pattern_compare(const char *bytes, size_t length, uint64_t seed, struct wrong *wrong)
{
    for (size_t i = 0; i < length; i += WORD_BYTES) {
        const uint64_t word = word_at(i, seed);
        const size_t part = part_of_word(i, length);
        uint64_t got = word;
        copy_word(&got, bytes + i, part);
        if (got != word)
            count_word(bytes, i, part, word, wrong);
    }
}
