#include "kernels/pattern.h"

/* SplitMix64's output function: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static unsigned char byte_at(size_t position, uint64_t word)
{
    return (unsigned char)(word >> (position % 8 * 8));
}

static uint64_t word_at(size_t position, uint64_t seed)
{
    return mix(seed + (uint64_t)(position / 8) * UINT64_C(0x9E3779B97F4A7C15));
}

uint64_t pattern_seed(int sender, int receiver, int64_t slot, int64_t iteration)
{
    uint64_t seed = mix((uint64_t)sender + 1);
    seed = mix(seed + (uint64_t)receiver + 1);
    seed = mix(seed + (uint64_t)slot + 1);
    return mix(seed + (uint64_t)iteration + 1);
}

static void fill(char *bytes, size_t length, uint64_t seed, unsigned char flip)
{
    uint64_t word = 0;
    for (size_t i = 0; i < length; i++) {
        if (i % 8 == 0)
            word = word_at(i, seed);
        bytes[i] = (char)(byte_at(i, word) ^ flip);
    }
}

void pattern_fill(char *bytes, size_t length, uint64_t seed)
{
    fill(bytes, length, seed, 0x00);
}

void pattern_spoil(char *bytes, size_t length, uint64_t seed)
{
    fill(bytes, length, seed, 0xFF);
}

size_t pattern_wrong_bytes(const char *bytes, size_t length, uint64_t seed)
{
    uint64_t word = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < length; i++) {
        if (i % 8 == 0)
            word = word_at(i, seed);
        wrong += (unsigned char)bytes[i] != byte_at(i, word);
    }
    return wrong;
}
