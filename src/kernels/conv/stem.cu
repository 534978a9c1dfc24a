// First convolutions of images, of up to four channels, on tensor cores (16-bit floats, sm_80). The part of the image that
// a tile of the result needs lies in shared memory with four channels a pixel, so that the taps of one kernel row follow
// each other: 8x8 matrices are loaded from there as they lie, one pixel of the result a row. Rows of a matrix begin at
// whole 16 bytes, which are pixels at even places; for odd strides there is a second copy, a pixel further to the front.
// Weights: [kN][kernel rows][kTaps][4], zeros where there is neither tap nor channel.

enum : int { kColumns = 16 };                                    // Of a tile, one matrix high.
enum : int { kRowsOfWarp = kRows / kWarps };
enum : int { kPatchRows = (kRows - 1) * kStride1 + kKernel1 };
enum : int { kPatchVectors = ((kColumns - 1) * kStride2 + kTaps + kDelta + 7) / 8 };
enum : int { kPatchPitch = kPatchVectors * 8 };                  // Pixels.
enum : int { kPatch = kPatchRows * kPatchPitch * 4 };            // Elements of a copy.
enum : int { kWeightRow = kKernel1 * kTaps * 4, kWeightPitch = kWeightRow + 8 };
enum : int { kTiles1 = (kOut1 + kRows - 1) / kRows, kTiles2 = (kOut2 + kColumns - 1) / kColumns };
#define kTiles (kImages * kTiles1 * kTiles2)
enum : int { kPitch = kN + 8 };                                  // Floats of a pixel's results.

// Eight pixels of a row from `at`, a multiple of 8 places; zeros outside.
__device__ inline void load_pixels(const X* image, int i1, int i2, uint2 (&pixels)[8]) {
  X e[8][4];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int c = 0; c < 4; ++c) e[i][c].bits = 0;
  if (i1 >= 0 && i1 < kIn1) {
    const X* row = image + i1 * Index(X1);
    if constexpr (kVectorPlanes) {
      if (i2 >= 0 && i2 < kIn2) {
        Pack<X, 8> planes[kC];
#pragma unroll
        for (int c = 0; c < kC; ++c) planes[c] = load_pack<8>(row + c * Index(XC) + i2);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
          for (int c = 0; c < kC; ++c) e[i][c] = planes[c].v[i];
      }
    } else if constexpr (kVectorPixels) {
      if (i2 >= 0 && i2 < kIn2) {
        Pack<X, 8> parts[kC];
#pragma unroll
        for (int c = 0; c < kC; ++c) parts[c] = load_pack<8>(row + i2 * kC + c * 8);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
          for (int c = 0; c < kC; ++c) e[i][c] = parts[(i * kC + c) / 8].v[(i * kC + c) % 8];
      }
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (i2 + i >= 0 && i2 + i < kIn2)
#pragma unroll
          for (int c = 0; c < kC; ++c) e[i][c] = row[c * Index(XC) + (i2 + i) * Index(X2)];
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    pixels[i] = make_uint2(e[i][0].bits | u32(e[i][1].bits) << 16, e[i][2].bits | u32(e[i][3].bits) << 16);
}

__device__ inline void load_patch(X* patch, const X* image, int first1, int first2) {
  for (int i = threadIdx.x; i < kPatchRows * kPatchVectors; i += kBlock) {
    const int row = i / kPatchVectors, vector = i % kPatchVectors;
    uint2 pixels[8];
    load_pixels(image, first1 + row, first2 + vector * 8, pixels);
    uint4* to = reinterpret_cast<uint4*>(patch + (row * kPatchPitch + vector * 8) * 4);
#pragma unroll
    for (int k = 0; k < 4; ++k)
      to[k] = make_uint4(pixels[2 * k].x, pixels[2 * k].y, pixels[2 * k + 1].x, pixels[2 * k + 1].y);
    if constexpr (kCopies == 2) {
      uint2* shifted = reinterpret_cast<uint2*>(patch + kPatch + (row * kPatchPitch + vector * 8) * 4);
#pragma unroll
      for (int k = 0; k < 8; ++k)
        if (vector > 0 || k > 0) shifted[k - 1] = pixels[k];
    }
  }
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const X* __restrict__ weights, Y* __restrict__ y EPILOGUE_PARAMETERS) {
  extern __shared__ __align__(16) unsigned char shared[];
  X* filters = reinterpret_cast<X*>(shared);
  X* patch = filters + kN * kWeightPitch;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float* results = reinterpret_cast<float*>(patch + kCopies * kPatch) + warp * (kColumns * kPitch);
  for (int i = threadIdx.x; i < kN * (kWeightRow / 8); i += kBlock) {
    const int n = i / (kWeightRow / 8), k = i % (kWeightRow / 8) * 8;
    store_pack<8>(filters + n * kWeightPitch + k, load_pack<8>(weights + n * kWeightRow + k));
  }
  begin_kernel();
  for (int tile = blockIdx.x; tile < kTiles; tile += gridDim.x) {
    const int out2 = tile % kTiles2 * kColumns, out1 = tile / kTiles2 % kTiles1 * kRows, image = tile / (kTiles2 * kTiles1);
    __syncthreads();
    load_patch(patch, x + image * Index(XN), out1 * kStride1 - kBegin1, out2 * kStride2 - kShift);
    __syncthreads();
    float sums[kRowsOfWarp][kN / 8][4];
#pragma unroll
    for (int i = 0; i < kRowsOfWarp; ++i)
#pragma unroll
      for (int j = 0; j < kN / 8; ++j)
#pragma unroll
        for (int k = 0; k < 4; ++k) sums[i][j][k] = 0;
    const int odd = kCopies == 2 ? lane % 2 : 0;
    const u32 from = shared_address(patch + odd * kPatch) + ((warp * kRowsOfWarp * kStride1 * kPatchPitch) +
                                                             lane % 16 * kStride2 - odd + kDelta + lane / 16 * 2) * 8;
    const u32 factors = shared_address(filters) + ((lane / 16 * 8 + lane % 8) * kWeightPitch + lane / 8 % 2 * 8) * 2;
#pragma unroll
    for (int r = 0; r < kKernel1; ++r)
#pragma unroll
      for (int s = 0; s < kTaps / 4; ++s) {
        u32 b[kN / 16][4];
#pragma unroll
        for (int j = 0; j < kN / 16; ++j) load_matrices(b[j], factors + (j * 16 * kWeightPitch + (r * kTaps + s * 4) * 4) * 2);
#pragma unroll
        for (int i = 0; i < kRowsOfWarp; ++i) {
          u32 a[4];
          load_matrices(a, from + ((i * kStride1 + r) * kPatchPitch + s * 4) * 8);
#pragma unroll
          for (int j = 0; j < kN / 8; ++j) multiply(sums[i][j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
#pragma unroll
    for (int i = 0; i < kRowsOfWarp; ++i) {
      __syncwarp();
#pragma unroll
      for (int j = 0; j < kN / 8; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          *reinterpret_cast<float2*>(results + (lane / 4 + half * 8) * kPitch + lane % 4 * 2 + j * 8) =
              make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
      __syncwarp();
      const int o1 = out1 + warp * kRowsOfWarp + i;
#pragma unroll
      for (int p = lane; p < kColumns * (kN / 8); p += 32) {
        const int pixel = p / (kN / 8), n = p % (kN / 8) * 8, o2 = out2 + pixel;
        if (o1 >= kOut1 || o2 >= kOut2) continue;
        const float4* parts = reinterpret_cast<const float4*>(results + pixel * kPitch + n);
        const float4 low = parts[0], high = parts[1];
        float v[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        const Index at = ((Index(image) * kOut1 + o1) * kOut2 + o2) * kN + n;
        epilogue<8>(v, at EPILOGUE_ARGUMENTS);
        store_located<YAt, 8>(y, at, v);
      }
    }
  }
}
