/* nbody_cuda_hermite.cu - Hermite's fourth-order scheme with a shared step, on a GPU.
 *
 * Formulas: nbody_hermite_math.h. For scenes of few bodies: one block takes many steps in
 * one launch, each thread every THREADS-th body, which meets its sources in ascending
 * order. The shared step is the least of all, found by a tree, so nothing waits for the
 * host between steps. Bound by latency, not by arithmetic.
 *
 * Not here: large systems (N_MAX), individual steps. */
#include "nbody_cuda.h"
#include "nbody_hermite_math.h"

#define THREADS 256
#define N_MAX   4096

struct hermite_args {
    struct hermite_body *old, *now; /* [n] each */
    struct sim_real4 *position, *velocity, *acceleration, *jerk;
    unsigned long long *least;
    struct sim_hermite *run; /* on the device */
    int n;
    bool charge;
    double G, dt;
    real eps2;
};

static __device__ void evaluate(const struct hermite_args &r)
{
    for (int i = threadIdx.x; i < r.n; i += THREADS) {
        struct hermite_body b = r.now[i];
        int met = 0;
        b.a = b.j = {0, 0, 0, 0};
        for (int j = 0; j < r.n; j++)
            if (j != i)
                met += hermite_add(&b, nbody_load(&r.now[j].x), nbody_load(&r.now[j].v),
                                   r.eps2);
        const real k = (real)(r.charge ? -r.G * (double)b.x.w : r.G);
        r.now[i].a = {k * b.a.x, k * b.a.y, k * b.a.z, 0};
        r.now[i].j = {k * b.j.x, k * b.j.y, k * b.j.z, 0};
        if (met)
            atomicMin(r.least, (unsigned long long)i);
    }
    __syncthreads();
}

/* The next step's length, in every thread; h = 0: the first step's. */
static __device__ double shortest(const struct hermite_args &r, double h, double eta)
{
    __shared__ double shared[THREADS];
    double least = fabs(r.dt);
    for (int i = threadIdx.x; i < r.n; i += THREADS)
        least = fmin(least, h == 0.0 ? hermite_first_length(&r.now[i], eta)
                                     : hermite_length(&r.old[i], &r.now[i], h, eta));
    shared[threadIdx.x] = least;
    __syncthreads();
    for (int half = THREADS / 2; half >= 1; half /= 2) {
        if ((int)threadIdx.x < half)
            shared[threadIdx.x] =
                fmin(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    least = shared[0];
    __syncthreads();
    return copysign(least, r.dt);
}

static __device__ void take_step(const struct hermite_args &r, double h, int corrections)
{
    for (int i = threadIdx.x; i < r.n; i += THREADS) {
        r.old[i] = r.now[i];
        hermite_predict(&r.now[i], (real)h);
    }
    __syncthreads();
    for (int c = 0; c < corrections; c++) {
        evaluate(r);
        for (int i = threadIdx.x; i < r.n; i += THREADS)
            hermite_correct(&r.old[i], &r.now[i], (real)h);
        __syncthreads();
    }
    evaluate(r);
}

static __device__ bool passes(const struct sim_hermite &h)
{
    if (h.eta == 0.0)
        return false;
    return h.next > 0 ? h.time + h.next > h.until : h.time + h.next < h.until;
}

static __global__ void __launch_bounds__(THREADS)
    hermite_kernel(const struct hermite_args r)
{
    struct sim_hermite h = *r.run;
    for (int i = threadIdx.x; i < r.n; i += THREADS)
        r.now[i] = {r.position[i], r.velocity[i], r.acceleration[i], r.jerk[i]};
    __syncthreads();
    if (h.fresh) {
        evaluate(r);
        h.next = h.eta > 0 ? shortest(r, 0, h.eta) : r.dt;
    }
    h.next = h.eta > 0 ? copysign(h.next, r.dt) : r.dt;
    h.fresh = false;
    int64_t taken = 0;
    for (; taken < h.steps && !passes(h); taken++) {
        take_step(r, h.next, h.corrections);
        h.time += h.next;
        if (h.eta > 0)
            h.next = shortest(r, h.next, h.eta);
    }
    for (int i = threadIdx.x; i < r.n; i += THREADS) {
        r.position[i] = r.now[i].x;
        r.velocity[i] = r.now[i].v;
        r.acceleration[i] = r.now[i].a;
        r.jerk[i] = r.now[i].j;
    }
    h.steps = taken;
    __syncthreads();
    if (threadIdx.x == 0)
        *r.run = h;
}

static enum sim_status run(struct sim_nbody *nbody, const struct hermite_args &args,
                           struct sim_hermite *h)
{
    const size_t offset = (size_t)((char *)args.run - (char *)nbody->scratch.data);
    SIM_TRY(sim_buffer_write(&nbody->scratch, offset, h, sizeof *h));
    SIM_TRY(sim_launch(nbody->device, "computing gravity", hermite_kernel, dim3(1),
                       dim3(THREADS), 0, args));
    return sim_buffer_read(&nbody->scratch, offset, h, sizeof *h);
}

/* In launches of about 10 ms, so that an interrupt is seen between them. */
enum sim_status nbody_hermite_cuda(struct sim_nbody *nbody, struct sim_hermite *h)
{
    struct hermite_args r = {};
    if (nbody->n > N_MAX)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "hermite4 is for few bodies on a GPU: %lld are more than %d",
                        (long long)nbody->n, N_MAX);
    const size_t bytes = 2 * (size_t)nbody->n * sizeof(struct hermite_body);
    SIM_TRY(sim_nbody_scratch(nbody, SIM_NBODY_KEPT + bytes + sizeof *h));
    char *scratch = (char *)nbody->scratch.data;
    r.old = (struct hermite_body *)(scratch + SIM_NBODY_KEPT);
    r.now = r.old + nbody->n;
    r.run = (struct sim_hermite *)(scratch + SIM_NBODY_KEPT + bytes);
    r.position = (struct sim_real4 *)nbody->position;
    r.velocity = (struct sim_real4 *)nbody->velocity;
    r.acceleration = (struct sim_real4 *)nbody->acceleration;
    r.jerk = (struct sim_real4 *)h->jerk;
    r.least = (unsigned long long *)scratch;
    r.n = (int)nbody->n;
    r.charge = nbody->coupling == SIM_CHARGE;
    r.G = nbody->G;
    r.dt = nbody->dt;
    r.eps2 = (real)(nbody->eps * nbody->eps);
    const double work = h->corrections * (double)nbody->n *
                        (1.0 + (double)nbody->n / THREADS) * 1e-7;
    const int64_t most = (int64_t)(0.01 / (work + 1e-5)) + 1;
    const int64_t wanted = h->steps;
    int64_t taken = 0;
    do {
        SIM_TRY(sim_check_interrupt());
        h->steps = wanted - taken < most ? wanted - taken : most;
        const int64_t asked = h->steps;
        SIM_TRY(run(nbody, r, h));
        taken += h->steps;
        if (h->steps < asked)
            break; /* the next step would pass `until` */
    } while (taken < wanted);
    h->steps = taken;
    return SIM_OK;
}
