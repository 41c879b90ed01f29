/* Products of bf16 on matrix units, by mma.sync of PTX (m16n8k16), and factors that come straight from memory.
 *
 * Which lane of a warp holds what (PTX ISA, "Matrix Fragments for mma.m16n8k16"), with g = lane / 4 and q = lane % 4; a word holds two elements,
 * the first in its low half:
 *   a [16,16]: word 0: row g,   k 2q and 2q+1;  word 1: row g+8, the same k;  word 2: row g, k 2q+8 and 2q+9;  word 3: row g+8, those
 *   b [16,8]:  word 0: k 2q and 2q+1 of column g;  word 1: k 2q+8 and 2q+9
 *   d [16,8]:  0: row g, column 2q;  1: column 2q+1;  2, 3: row g+8
 * Rows, columns and k may be numbered as one likes, as long as all factors agree. So no factor has to come through shared memory:
 *   along k: where k lies side by side in memory, lane q takes 8 of 32, which are its words of two products
 *   across k: where rows or columns lie side by side, lane g takes V of 8 V, for each k that is its; pairs of k are put together here */
#ifndef CT_CUDA_MMA_CUH
#define CT_CUDA_MMA_CUH

#include "backends/cuda/dev.cuh"

/* d += a b; sums f32. Every lane of the warp takes part. Cards before compute capability 8.0 have no such units: accept() sees to it. */
__device__ __forceinline__ void ct_mma(float d[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
#if defined(CT_CUDA_EMULATE)
    const uint32_t a[4] = { a0, a1, a2, a3 }, b[2] = { b0, b1 };
    emu_mma_bf16(d, a, b);
#elif __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}

/* V elements of bf16 from p; zeros where p is NULL. */
template <int V> __device__ __forceinline__ ct_words<ct_b16, V> ct_fetch_words(const ct_b16 *p)
{
    ct_words<ct_b16, V> none = {};
    return p ? *reinterpret_cast<const ct_words<ct_b16, V> *>(p) : none;
}

/* Element i of two rows as a word: one row's in its low half, the next one's in its high half. */
template <int V> __device__ __forceinline__ uint32_t ct_pair(const ct_words<ct_b16, V> &one, const ct_words<ct_b16, V> &next, int i)
{
    const uint32_t x = one.w[i / 2], y = next.w[i / 2];
    return i % 2 ? x >> 16 | (y & 0xffff0000u) : (x & 0xffffu) | y << 16;
}

/* Goes through k = 0, STEP, .. < n: fetch(part, k) asks for what use(part) needs; what the next AHEAD use is on its way meanwhile. */
template <typename PART, int AHEAD, int STEP, typename FETCH, typename USE> __device__ __forceinline__ void ct_pipeline(int64_t n, FETCH fetch, USE use)
{
    PART ring[AHEAD + 1];
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        if (i * STEP < n) fetch(ring[i], i * STEP);
    for (int64_t k = 0; k < n; k += (AHEAD + 1) * STEP) {
#pragma unroll
        for (int i = 0; i <= AHEAD; i++) {
            const int64_t now = k + i * STEP, later = now + AHEAD * STEP;
            if (later < n) fetch(ring[(i + AHEAD) % (AHEAD + 1)], later);
            if (now < n) use(ring[i]);
        }
    }
}

#endif
