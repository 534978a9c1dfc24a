// Elements of 8 bits on their way through shared memory (jit/hopper.cuh has the others).
__device__ inline i8 byte_as(i8, u16 v) { return i8(v); }
__device__ inline u8 byte_as(u8, u16 v) { return u8(v); }
__device__ inline e4m3 byte_as(e4m3, u16 v) { return {u8(v)}; }
__device__ inline e5m2 byte_as(e5m2, u16 v) { return {u8(v)}; }

#define BYTES_IN_SHARED(T) \
  __device__ inline void store_shared_pair(T type, u32 address, float a, float b) { \
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(byte_pair(type, a, b)) : "memory"); \
  } \
  __device__ inline void store_shared_each(T type, u32 address, float a, float b) { \
    const u32 pair = byte_pair(type, a, b); \
    asm volatile("st.shared.u8 [%0], %1;\nst.shared.u8 [%0 + 1], %2;" ::"r"(address), "r"(pair & 0xff), "r"(pair >> 8) \
                 : "memory"); \
  } \
  __device__ inline void load_shared_pair(u32 address, T& a, T& b) { \
    u16 pair; \
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(pair) : "r"(address) : "memory"); \
    a = byte_as(T(), pair & 0xff), b = byte_as(T(), pair >> 8); \
  } \
  __device__ inline T load_shared_element(T type, u32 address) { \
    u16 v; \
    asm volatile("ld.shared.u8 %0, [%1];" : "=h"(v) : "r"(address) : "memory"); \
    return byte_as(type, v); \
  }
BYTES_IN_SHARED(i8)
BYTES_IN_SHARED(u8)
BYTES_IN_SHARED(e4m3)
BYTES_IN_SHARED(e5m2)
