// Two floats as elements of 16 bits side by side, on any GPU (jit/hopper.cuh has instructions for it).
__device__ inline u32 pair_of(f16, float a, float b) { return narrow<f16>(a).bits | u32(narrow<f16>(b).bits) << 16; }
__device__ inline u32 pair_of(bf16, float a, float b) { return narrow<bf16>(a).bits | u32(narrow<bf16>(b).bits) << 16; }
