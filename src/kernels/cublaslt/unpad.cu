// Rows of PADDED elements, a multiple of 16 bytes, to dense rows of COLUMNS. A thread writes 16 bytes, wherever rows
// begin: it joins the two aligned pieces that hold them, of which its neighbour has loaded the second.
#ifndef ELEMENT
#define ELEMENT unsigned short
#define COLUMNS 50257
#define PADDED 50264
#endif

typedef ELEMENT Element;
enum : int { kPiece = 16 / sizeof(Element) };

union Piece {
  Element elements[kPiece];
  unsigned words[4];
  uint4 whole;
};

/// 16 bytes from byte BYTES on of the 32 in low and high.
template <int BYTES>
__device__ Piece joined(const Piece& low, const Piece& high) {
  Piece result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = i + BYTES / 4;
    const unsigned first = at < 4 ? low.words[at] : high.words[at - 4];
    const unsigned second = at + 1 < 4 ? low.words[at + 1] : high.words[at - 3];
    result.words[i] = BYTES % 4 != 0 ? __funnelshift_r(first, second, 16) : first;
  }
  return result;
}

__device__ Piece shifted(const Piece& low, const Piece& high, int bytes) {
  switch (bytes) {
    case 2: return joined<2>(low, high);
    case 4: return joined<4>(low, high);
    case 6: return joined<6>(low, high);
    case 8: return joined<8>(low, high);
    case 10: return joined<10>(low, high);
    case 12: return joined<12>(low, high);
    case 14: return joined<14>(low, high);
    default: return low;
  }
}

extern "C" __global__ void __launch_bounds__(256) unpad(const Element* padded, Element* dense, long long count) {
  const long long first = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * kPiece;
  const bool inside = first + kPiece <= count;
  const long long row = first / COLUMNS;
  const int column = static_cast<int>(first % COLUMNS);
  const bool one_row = inside && column + kPiece <= COLUMNS;
  const Element* from = padded + row * PADDED + column / kPiece * kPiece;
  const int shift = column % kPiece * static_cast<int>(sizeof(Element));
  Piece low, high;
  low.whole = make_uint4(0, 0, 0, 0);
  if (one_row) low.whole = *reinterpret_cast<const uint4*>(from);
#pragma unroll
  for (int i = 0; i < 4; ++i) high.words[i] = __shfl_down_sync(0xffffffffu, low.words[i], 1);
  if (one_row) {
    // The neighbour is in the next row, or in the next warp, or holds pieces of two rows.
    const bool alone = threadIdx.x % 32 == 31 || column + 2 * kPiece > COLUMNS || first + 2 * kPiece > count;
    if (alone && shift != 0) high.whole = *reinterpret_cast<const uint4*>(from + kPiece);
    *reinterpret_cast<uint4*>(dense + first) = shifted(low, high, shift).whole;
    return;
  }
  for (int i = 0; i < kPiece && first + i < count; ++i) {
    const long long at = first + i;
    dense[at] = padded[at / COLUMNS * PADDED + at % COLUMNS];
  }
}
