/* philox.h - counter-based random numbers, the same in C and CUDA C.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2,
 * 3", SC 2011): ten rounds of two 32 x 32 -> 64 bit products turn a 128-bit counter under
 * a 64-bit key into four random words. There is no state: a number is a function of key =
 * seed,  counter = (body, purpose, draw), so that body k gets the same numbers whatever
 * was drawn before and on any thread.
 *
 * Not for cryptography. Normals go through log and cos of the mathematics library, whose
 * last bit may differ between machines; the uniforms are exact everywhere. */
#ifndef PHILOX_H
#define PHILOX_H

#include "sim_fn.h"

struct sim_philox {
    uint32_t word[4];
};

SIM_FN struct sim_philox sim_philox(struct sim_philox counter, uint32_t key0,
                                    uint32_t key1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * counter.word[0];
        uint64_t b = (uint64_t)0xCD9E8D57u * counter.word[2];
        counter.word[0] = (uint32_t)(b >> 32) ^ counter.word[1] ^ key0;
        counter.word[2] = (uint32_t)(a >> 32) ^ counter.word[3] ^ key1;
        counter.word[1] = (uint32_t)b;
        counter.word[3] = (uint32_t)a;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

/* Uniform in the open interval (0,1): 52 random bits and a half, so that neither end can
 * come out of the rounding. */
SIM_FN double sim_philox_uniform(uint32_t high, uint32_t low)
{
    uint64_t bits = ((uint64_t)high << 20) | (low >> 12);
    return ((double)bits + 0.5) * (1.0 / 4503599627370496.0);
}

/* Two uniforms of body `body`, for the given purpose, at the given draw. */
SIM_FN void sim_random_uniforms(uint64_t seed, uint64_t body, uint32_t purpose,
                                uint32_t draw, double out[2])
{
    struct sim_philox counter = {{(uint32_t)body, (uint32_t)(body >> 32), purpose, draw}};
    struct sim_philox r = sim_philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
    out[0] = sim_philox_uniform(r.word[0], r.word[1]);
    out[1] = sim_philox_uniform(r.word[2], r.word[3]);
}

/* Evenly spread uniforms: body k gets the k-th point of Weyl's sequence, the fractional
 * part of k times the golden ratio, from an offset that depends on seed and purpose. Any
 * number of bodies fills (0,1) far more evenly than independent numbers would, and body k
 * does not depend on how many there are. For one coordinate of a model, such as the
 * radius. */
SIM_FN double sim_random_even(uint64_t seed, uint64_t body, uint32_t purpose)
{
    struct sim_philox counter = {{0xFFFFFFFFu, 0xFFFFFFFFu, purpose, 0xFFFFFFFFu}};
    struct sim_philox r = sim_philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
    uint64_t offset = ((uint64_t)r.word[0] << 32) | r.word[1];
    uint64_t at = offset + body * 0x9E3779B97F4A7C15u;
    return sim_philox_uniform((uint32_t)(at >> 32), (uint32_t)at);
}

/* Two independent normals of mean 0 and deviation 1 (Box and Muller 1958). */
SIM_FN void sim_random_normals(uint64_t seed, uint64_t body, uint32_t purpose,
                               uint32_t draw, double out[2])
{
    double u[2];
    sim_random_uniforms(seed, body, purpose, draw, u);
    double radius = sqrt(-2.0 * log(u[0]));
    double angle = 6.283185307179586476925 * u[1];
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

/* A vector of the given length in a direction uniform on the sphere. */
SIM_FN void sim_random_vector(uint64_t seed, uint64_t body, uint32_t purpose,
                              uint32_t draw, double length, double out[3])
{
    double u[2];
    sim_random_uniforms(seed, body, purpose, draw, u);
    double z = 2.0 * u[0] - 1.0;
    double across = length * sqrt(1.0 - z * z);
    double angle = 6.283185307179586476925 * u[1];
    out[0] = across * cos(angle);
    out[1] = across * sin(angle);
    out[2] = length * z;
}

#endif
