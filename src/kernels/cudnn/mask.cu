// A bool mask as an addend of attention's scores: 0 where scores are kept, minus infinity elsewhere, in a 16-bit type.
#ifndef REJECTED
#define REJECTED 0xfc00
#endif

extern "C" __global__ void __launch_bounds__(256) add_mask(const unsigned char* kept, unsigned short* addend, long long count) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) addend[i] = kept[i] != 0 ? 0 : REJECTED;
}
