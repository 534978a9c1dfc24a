// Hopper (sm_90a): tiles by TMA, barriers in shared memory that count its bytes, products of warp groups.
// Addresses of shared memory are 32-bit numbers.

struct alignas(64) TensorMap {
  u64 words[16];
};

// How a launch goes through memory (Walk of kernels/tactic.h): bit 0: backwards; bit 1: each of its tensors fits into the
// second-level cache; bit 2 + i: it is the last one that reads input i. Kernels that follow it are compiled with WALKS and take
// it as their last argument; others have no trace of it. Code for all extents reads it as OPEN_WALK among its open numbers,
// whose line of the arguments it needs in any case, and always goes forwards, as small steps do.
#if defined(OPEN_WALK)
#define WALK OPEN_WALK
#define WALK_PARAMETERS
#define WALK_ARGUMENTS
enum : bool { kWalks = true, kGoesBack = false };
#elif defined(WALKS)
#define WALK walk
#define WALK_PARAMETERS , u32 walk
#define WALK_ARGUMENTS , walk
enum : bool { kWalks = true, kGoesBack = true };
#else
#define WALK 0u
#define WALK_PARAMETERS
#define WALK_ARGUMENTS
#define POLICY_OF(input, is_alone) CachePolicy()
enum : bool { kWalks = false, kGoesBack = false };
#endif
#ifndef POLICY_OF
#define POLICY_OF(input, is_alone) policy_of(reads_last(input, is_alone WALK_ARGUMENTS))
#endif
/// Numbers behind the last one stay there.
__device__ inline int walked(int number, int count WALK_PARAMETERS) {
  return kGoesBack && WALK & 1 && number < count ? count - 1 - number : number;
}
/// How the second-level cache treats lines that are read: those of a last reader leave it first. 0: as it treats all others, by
/// instructions without a policy; TMA takes a third longer to gather short rows of pixels by one that says the same.
struct CachePolicy {
  u64 bits = 0;
};
#if defined(OPEN_WALK) || defined(WALKS)
__device__ inline CachePolicy policy_of(bool is_last) {
  CachePolicy first;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first.bits));
  return is_last ? first : CachePolicy();
}
/// `is_alone`: one block reads each line of the input, at one time. Where several do, and much else passes through the cache, a
/// line may leave it too early.
__device__ inline bool reads_last(int input, bool is_alone WALK_PARAMETERS) {
  return (is_alone || WALK & 2) && (WALK >> (input + 2) & 1);
}
#endif

/// Nothing that kernels ahead write is touched above wait_previous(); release_next() of the prelude comes before it.
__device__ inline void wait_previous() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

__device__ inline void barrier_create(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Behind the last barrier_create, before the block's own barrier.
__device__ inline void barriers_visible() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void barrier_wait(u32 barrier, u32 phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra ready;\nbra again;\nready:\n}"
      ::"r"(barrier), "r"(phase) : "memory");
}

/// For messages of other blocks of the cluster.
__device__ inline void barrier_wait_cluster(u32 barrier, u32 phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@done bra ready;\nbra again;\nready:\n}" ::"r"(barrier), "r"(phase) : "memory");
}

/// Whole pieces of 16 bytes to shared memory.
__device__ inline void fetch_bytes(u32 to, const void* from, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
/// A box of a tensor to shared memory; places outside of the tensor are 0.
__device__ inline void fetch_box(u32 to, const TensorMap& map, u32 barrier, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
      ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z) : "memory");
}
__device__ inline void fetch_box(u32 to, const TensorMap& map, u32 barrier, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
      ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
/// The same by a policy, of launches that walk.
__device__ inline void fetch_box(u32 to, const TensorMap& map, u32 barrier, int x, int y, int z, CachePolicy policy) {
  if (!kWalks || policy.bits == 0) return fetch_box(to, map, barrier, x, y, z);
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;"
      ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "l"(policy.bits) : "memory");
}
__device__ inline void fetch_box(u32 to, const TensorMap& map, u32 barrier, int x, int y, int z, int w, CachePolicy policy) {
  if (!kWalks || policy.bits == 0) return fetch_box(to, map, barrier, x, y, z, w);
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7;"
      ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w), "l"(policy.bits) : "memory");
}
/// Channels from `c` on of pixels that follow each other, those of a convolution's result in the first tap's view, seen
/// from another tap; places outside of the image are 0.
__device__ inline void fetch_pixels(u32 to, const TensorMap& map, u32 barrier, int c, int x, int y, int image, int tap_x,
                                    int tap_y) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
      ::"r"(to), "l"(&map), "r"(barrier), "r"(c), "r"(x), "r"(y), "r"(image), "h"(u16(tap_x)), "h"(u16(tap_y)) : "memory");
}
__device__ inline void fetch_pixels(u32 to, const TensorMap& map, u32 barrier, int c, int x, int y, int image, int tap_x,
                                    int tap_y, CachePolicy policy) {
  if (!kWalks || policy.bits == 0) return fetch_pixels(to, map, barrier, c, x, y, image, tap_x, tap_y);
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;"
      ::"r"(to), "l"(&map), "r"(barrier), "r"(c), "r"(x), "r"(y), "r"(image), "h"(u16(tap_x)), "h"(u16(tap_y)), "l"(policy.bits)
      : "memory");
}
__device__ inline void fetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// The descriptor for tensor cores of a tile whose rows of 128 bytes are swizzled: `leading` bytes from 64 columns to
/// the next 64 where columns are contiguous, 1024 bytes from 8 rows to the next.
__device__ inline u64 tile_descriptor(u32 address, u32 leading) {
  return u64(address >> 4 & 0x3fff) | u64(leading >> 4) << 16 | u64(1024 >> 4) << 32 | u64(1) << 62;
}
/// Of rows of 128 or 64 bytes of k, swizzled likewise, where k is contiguous; for 128 what is above.
template <int kRowBytes>
__device__ inline u64 rows_descriptor(u32 address) {
  if constexpr (kRowBytes == 128) return tile_descriptor(address, 8192);
  else return u64(address >> 4 & 0x3fff) | u64(1) << 16 | u64(8 * kRowBytes >> 4) << 32 | u64(2) << 62;
}
/// The thread's warp, in a form that ptxas knows to be one for the warp: behind a branch by threadIdx.x it waits for each
/// product of tensor cores by itself.
__device__ inline int warp_of_block() { return __shfl_sync(0xffffffffu, int(threadIdx.x / 32), 0); }
__device__ inline void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ inline void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// A barrier of `count` threads of the block; 0 is the whole block's.
__device__ inline void barrier_of(int number, int count) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(count) : "memory");
}
/// Counts for it without waiting.
__device__ inline void barrier_arrive_of(int number, int count) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(count) : "memory");
}
/// All blocks of the cluster have made their barriers (barriers_visible).
__device__ inline void cluster_start() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/// The same place of another block's shared memory.
__device__ inline u32 address_in_block(u32 address, u32 rank) {
  u32 there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}
__device__ inline u32 bits_of(float v) { return __float_as_uint(v); }
__device__ inline u32 bits_of(int v) { return u32(v); }
/// 16 bytes to another block's shared memory, counted by a barrier there.
template <class T>
__device__ inline void send_to_block(u32 address, const T* v, u32 barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
               ::"r"(address), "r"(bits_of(v[0])), "r"(bits_of(v[1])), "r"(bits_of(v[2])), "r"(bits_of(v[3])),
               "r"(barrier) : "memory");
}
__device__ inline void load_shared(float (&v)[4], u32 address) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]) : "r"(address) : "memory");
}
__device__ inline void load_shared(int (&v)[4], u32 address) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(address) : "memory");
}
__device__ inline uint4 load_shared_piece(u32 address) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address) : "memory");
  return v;
}
/// 16 bytes of memory that no kernel under way writes.
__device__ inline uint4 load_piece(const void* from, CachePolicy policy) {
  if constexpr (!kWalks) return *reinterpret_cast<const uint4*>(from);
  uint4 v;
  asm volatile(
      "{\n.reg .pred last;\nsetp.ne.u64 last, %5, 0;\n"
      "@last ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;\n"
      "@!last ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from), "l"(policy.bits));
  return v;
}
/// fetch_located() with a policy, where runs are whole pieces of 16 bytes.
template <class At, int kCount, class T>
__device__ inline void fetch_run(const T* from, Index at, Fetched<At, kCount, T>& to, [[maybe_unused]] CachePolicy policy) {
  if constexpr (kWalks && packs_together<At, kCount>() && sizeof(to) % 16 == 0) {
    const T* first = from + locate<At>(at);
#pragma unroll
    for (int i = 0; i < int(sizeof(to)) / 16; ++i) {
      const uint4 piece = load_piece(reinterpret_cast<const char*>(first) + i * 16, policy);
      memcpy(reinterpret_cast<char*>(to.v) + i * 16, &piece, 16);
    }
  } else {
    fetch_located<At, kCount>(from, at, to);
  }
}
__device__ inline void store_shared_piece(u32 address, const uint4& v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

// Two elements side by side; as one where they are aligned.
__device__ inline u32 pair_of(f16, float a, float b) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
}
__device__ inline u32 pair_of(bf16, float a, float b) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
}
template <class T>
__device__ inline void store_shared_pair(T type, u32 address, float a, float b) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(pair_of(type, a, b)) : "memory");
}
__device__ inline void store_shared_pair(float, u32 address, float a, float b) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(a), "f"(b) : "memory");
}
template <class T>
__device__ inline void store_shared_each(T type, u32 address, float a, float b) {
  const u32 pair = pair_of(type, a, b);
  asm volatile("st.shared.u16 [%0], %1;\nst.shared.u16 [%0 + 2], %2;" ::"r"(address), "h"(u16(pair)), "h"(u16(pair >> 16)) : "memory");
}
__device__ inline void store_shared_each(float, u32 address, float a, float b) {
  asm volatile("st.shared.f32 [%0], %1;\nst.shared.f32 [%0 + 4], %2;" ::"r"(address), "f"(a), "f"(b) : "memory");
}
template <class T>
__device__ inline void store_shared_element(T type, u32 address, float v) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(u16(pair_of(type, v, v))) : "memory");
}
__device__ inline void store_shared_element(float, u32 address, float v) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(v) : "memory");
}
template <class T>
__device__ inline void load_shared_pair(u32 address, T& a, T& b) {
  if constexpr (sizeof(T) == 2) {
    asm volatile("ld.shared.v2.u16 {%0, %1}, [%2];" : "=h"(a.bits), "=h"(b.bits) : "r"(address) : "memory");
  } else {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "r"(address) : "memory");
  }
}
template <class T>
__device__ inline T load_shared_element(T, u32 address) {
  T v;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v.bits) : "r"(address) : "memory");
  return v;
}
__device__ inline float load_shared_element(float, u32 address) {
  float v;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(address) : "memory");
  return v;
}

/// Registers of each thread of the warp group from here on; every group of the kernel must say its number.
template <int kCount>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ inline void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
