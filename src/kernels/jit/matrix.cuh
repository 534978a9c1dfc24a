// Tensor cores on 16-bit floats (sm_80): 8x8 matrices from shared memory, products of 16x16 by 16x8. X is f16, or bf16
// where MATRIX_BF16 is 1.

__device__ inline void load_matrices(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
}
__device__ inline void load_matrices_transposed(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
}
#if MATRIX_BF16
#define MATRIX_TYPES "bf16.bf16"
#else
#define MATRIX_TYPES "f16.f16"
#endif
__device__ inline void multiply(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MATRIX_TYPES
               ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/// A thread's sums of tiles of 16x8 below and beside each other, to rows of kPitch floats; `to` is the place of its first.
template <int kPitch, int kDown, int kAcross>
__device__ inline void keep_sums(const float (&sums)[kDown][kAcross][4], float* to) {
#pragma unroll
  for (int i = 0; i < kDown; ++i)
#pragma unroll
    for (int j = 0; j < kAcross; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<float2*>(to + (i * 16 + half * 8) * kPitch + j * 8) =
            make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
}
/// 16 bytes to shared memory, or zeros; complete after cp.async.wait_group.
__device__ inline void copy_async(void* to, const void* from, bool inside) {
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes) : "memory");
}
