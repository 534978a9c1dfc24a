// The epilogue of gemm/hopper.cu. Results leave each warp 16 rows and a slab of columns at a time, through its part of
// shared memory, by pieces of 16 bytes that are aligned in the result: where its rows are not, each row lies as far behind
// such a place as it does there.
// GATE(x): each pair of columns is one result, GATE(first) times the second.
#ifdef GATE
enum : int { kEach = 2 };
#else
enum : int { kEach = 1 };
#endif
enum : int { kResults = kN / kEach };  // Of a row.
// Slabs are 128 bytes wide, those of bytes 64 columns, whose operands take as many registers as others'.
enum : int { kUnit = 16 / sizeof(Y), kLine = sizeof(Y) == 1 ? 64 : 128 / sizeof(Y) };
enum : int { kSlab = kOwn % kLine == 0 ? kLine : (kOwn % 32 == 0 ? 32 : 16) };
enum : int { kSlabResults = kSlab / kEach, kOwnResults = kOwn / kEach };
enum : int { kPitch = kSlabResults * sizeof(Y) + (sizeof(Y) == 4 ? 32 : 16) };
enum : int { kPieces = kSlabResults / kUnit, kItems = (16 * kPieces + 31) / 32 };
static_assert(kPieces > 0, "whole pieces");
/// Narrow slabs have fewer pieces than a warp has threads.
__device__ inline bool has_piece(int item) { return 16 * kPieces % 32 == 0 || item < 16 * kPieces; }

/// Of kColumns elements: those of an operand, or of the result.
template <class At, int kColumns = kN>
__device__ constexpr bool lies_in_rows() {
  if constexpr (At::kRank == 0) return true;
  else return At::template extent<At::kRank - 1>() % kColumns == 0;
}
template <class At>
__device__ constexpr int column_stride() {
  if constexpr (At::kRank == 0) return 0;
  else return int(At::template stride<At::kRank - 1>());
}
/// Where the row begins in a tensor that lies in rows.
template <class At, int kColumns = kN>
__device__ inline Index row_start(Index row) {
  if constexpr (At::kRank == 0) return 0;
  else if constexpr (At::template extent<At::kRank - 1>() != kColumns) return locate<At>(Index(row * kColumns));
  else if constexpr (At::kRank == 1) return 0;
  else return offset_of<At, At::kRank - 2>(row);
}
template <class At, int kColumns = kN>
__device__ inline Index place_of(Index row, int column) {
  if constexpr (At::kRank == 0) return 0;
  else if constexpr (lies_in_rows<At, kColumns>())
    return row_start<At, kColumns>(row) + Index(column) * Index(Actual<At>::template stride<At::kRank - 1>());
  else return locate<At>(Index(row * kColumns + column));
}
__device__ inline Index place_of_result(Index row, int column) { return place_of<YAt, kResults>(row, column); }
enum : bool { kWhole = kResults % kUnit == 0 && packs_together<YAt, kUnit>() };
// Elements of 4 bytes leave one by one just as well: a warp writes 128 bytes, and no ends are written apart.
enum : bool { kShifted = !kWhole && sizeof(Y) == 2 && lies_in_rows<YAt, kResults>() && column_stride<YAt>() == 1 };

/// Rows of kColumns elements lie equally far from each other, and so far.
template <class At, int kColumns>
__device__ constexpr bool has_even_rows() {
  if constexpr (At::kRank == 1) return true;
  else if constexpr (At::kRank == 2) return At::template extent<1>() == kColumns;
  else return false;
}
template <class At, int kColumns>
__device__ inline Index row_pitch() {
  if constexpr (At::kRank == 1) return Index(kColumns) * Index(Actual<At>::template stride<0>());
  else return Index(Actual<At>::template stride<0>());
}

/// Where the pieces of a lane lie, of which each one is kRowStep rows behind the one ahead: with even rows they are places at
/// known distances, which need no number each.
template <class At, class T, int kColumns>
struct LanePieces {
  enum : int { kRowStep = 32 / kPieces > 0 ? 32 / kPieces : 1 };
  enum : bool { kEven = has_even_rows<At, kColumns>() && 32 % kPieces == 0 };
  T* first;
  Place at;
  int column;

  __device__ LanePieces(T* memory, const Place& place, int of_column) : first(memory), at(place), column(of_column) {
    if constexpr (kEven) first += place_of<At, kColumns>(existing_row(at, threadIdx.x % 32 / kPieces), column);
  }
  __device__ int row(int i) const { return (i * 32 + int(threadIdx.x % 32)) / kPieces; }
  __device__ bool exists(int i) const { return has_piece(i * 32 + threadIdx.x % 32) && row_exists(at, row(i)); }
  __device__ T* place(int i) const {
    if constexpr (kEven) return first + u64(i * kRowStep) * row_pitch<At, kColumns>();
    else return first + place_of<At, kColumns>(existing_row(at, row(i)), column);
  }
};

/// Of the epilogue's operands, one that is like the result, element by element, passes through that memory, too.
template <class At, class T>
__device__ constexpr bool is_like_result() {
  if constexpr (At::kRank == 0) return false;
  else return kEach == 1 && kWhole && sizeof(T) == sizeof(Y) && packs_together<At, kUnit>() && At::template stride<0>() != 0;
}
#define LIKE_RESULT(i, T) is_like_result<Epilogue##i##At, T>() ? i :
enum : int { kStaged = EPILOGUE_EACH(LIKE_RESULT) - 1 };

using Pair = EpilogueOperands<2>;
struct SlabOperands {
  uint4 pieces[kItems];
  Pair pairs[kSlab / 8][2];
  ColumnTerms<kSlab> columns;
};

template <class At, class T>
__device__ inline void fetch_pair(Fetched<At, 2, T>& to, const T* from, Index row, int column) {
  const auto place = [&](int c) { return place_of<At>(row, c < kN ? c : kN - 1); };
  if constexpr (packs_in_one<At, 2>()) {
    to.v[0] = from[place(column)];
  } else if constexpr (kN % 2 == 0 && packs_together<At, 2>()) {
    const Pack<T, 2> pack = load_pack<2>(from + place_of<At>(row, column < kN ? column : kN - 2));
    to.v[0] = pack.v[0], to.v[1] = pack.v[1];
  } else {
    to.v[0] = from[place(column)], to.v[1] = from[place(column + 1)];
  }
}
template <class At, class T>
__device__ inline void fetch_pieces(uint4 (&to)[kItems], const T* from, const Place& at, int n, CachePolicy policy) {
  const int column = at.column + n + int(threadIdx.x % 32) % kPieces * kUnit;
  const LanePieces<At, const T, kN> pieces(from, at, column < kN ? column : kN - kUnit);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    to[i] = uint4{};
    if (pieces.exists(i)) to[i] = load_piece(pieces.place(i), policy);
  }
}
/// Operands of the epilogue of a slab.
__device__ inline void fetch_slab(SlabOperands& to, const Place& at, int n ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
  to.columns.fetch(at.column + n ROWS_ARGUMENTS);
#define FETCH_PIECES(i, T) \
  if constexpr (kStaged == i) fetch_pieces<Epilogue##i##At>(to.pieces, e##i, at, n, POLICY_OF(kAddend##i, ADDENDS_ALONE));
  EPILOGUE_EACH(FETCH_PIECES)
  [[maybe_unused]] const int row = row_lane(), pair = pair_lane();
#pragma unroll
  for (int j = 0; j < kSlab / 8; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#define FETCH_PAIR(i, T)      \
  if constexpr (kStaged != i) \
    fetch_pair<Epilogue##i##At>(to.pairs[j][half].o##i, e##i, row_of(at, row + half * 8), \
                                at.column + n + j * 8 + pair * 2);
      EPILOGUE_EACH(FETCH_PAIR)
    }
}

/// Elements of shared memory that a row begins behind its place.
__device__ inline int shift_of(const Y* y, Index row) {
  if constexpr (kShifted) return int(reinterpret_cast<u64>(y + row_start<YAt, kResults>(row)) / sizeof(Y) % kUnit);
  else return 0;
}
template <class F>
__device__ inline void take_pair(F& to, u32 address) {
  if constexpr (sizeof(to.v) / sizeof(to.v[0]) == 2) load_shared_pair(address, to.v[0], to.v[1]);
}
__device__ inline void store_pair(u32 address, const Real (&v)[2]) {
#ifdef GATE
  store_shared_element(Y(), address, GATE(v[0]) * v[1]);
#else
  if constexpr (kWhole) store_shared_pair(Y(), address, v[0], v[1]);
  else store_shared_each(Y(), address, v[0], v[1]);
#endif
}

/// Where rows are not aligned, the places of a thread's pieces of the first slab, 0 where there is no row.
struct ShiftedPieces {
  Y* to[kItems];

  __device__ void begin(Y* y, const Place& at) {
    if constexpr (kShifted) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const int item = i * 32 + threadIdx.x % 32, row = item / kPieces;
        const Index number = row_of(at, row);
        Y* first = y + place_of_result(number, at.column) - shift_of(y, number);
        to[i] = has_piece(item) && row_exists(at, row) ? first + item % kPieces * kUnit : nullptr;
      }
    }
  }
};

/// Of each row the elements of one piece, from shared memory: those from the row's shift on, or those ahead of it.
template <bool kAhead>
__device__ inline void store_end(Y* y, u32 pieces, const Place& at, int n) {
#pragma unroll
  for (int i = 0; i < kUnit / 2; ++i) {
    const int item = i * 32 + threadIdx.x % 32, row = item / kUnit, element = item % kUnit;
    const Index number = row_of(at, row);
    const int shift = shift_of(y, number);
    if (row_exists(at, row) && shift > 0 && (element < shift) == kAhead)
      y[place_of_result(number, at.column + n) + element - shift] =
          load_shared_element(Y(), pieces + row * kPitch + element * sizeof(Y));
  }
}

/// A slab of rows that are not aligned. Its last elements, less than a piece, leave with the first ones of the next slab.
__device__ inline void store_shifted(const ShiftedPieces& pieces, Y* y, u32 slab, const Place& at, int n) {
  const int lane = threadIdx.x % 32;
  uint4 own[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i)
    if (has_piece(i * 32 + lane)) own[i] = load_shared_piece(slab + (i * 32 + lane) / kPieces * kPitch + (i * 32 + lane) % kPieces * 16);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int item = i * 32 + lane;
    const bool is_whole = n > 0 || item % kPieces > 0 || shift_of(y, row_of(at, item / kPieces)) == 0;
    if (pieces.to[i] != nullptr && is_whole) *reinterpret_cast<uint4*>(pieces.to[i] + n) = own[i];
  }
  if (n == 0) store_end<false>(y, slab, at, 0);
  if (n + kSlabResults == kOwnResults || at.column + n + kSlabResults >= kResults) {
    store_end<true>(y, slab + kSlabResults * sizeof(Y), at, n + kSlabResults);
  } else {
    __syncwarp();
    if (lane < 16) store_shared_piece(slab + lane * kPitch, load_shared_piece(slab + lane * kPitch + kSlabResults * sizeof(Y)));
  }
}

/// The slab from shared memory to the result.
__device__ inline void store_slab(const ShiftedPieces& pieces, Y* y, u32 slab, const Place& at, int n) {
  const int lane = threadIdx.x % 32;
  if constexpr (kWhole) {
    const int piece = lane % kPieces, column = at.column + n + piece * kUnit;
    const LanePieces<YAt, Y, kResults> places(y, at, column);
#pragma unroll
    for (int i = 0; i < kItems; ++i)
      if (places.exists(i) && column < kResults)
        *reinterpret_cast<uint4*>(places.place(i)) = load_shared_piece(slab + places.row(i) * kPitch + piece * 16);
  } else {
    if (kShifted && at.column + n + kSlabResults <= kResults) {
      store_shifted(pieces, y, slab, at, n);
    } else if (at.column + n < kResults) {
      constexpr int kSlots = kShifted ? kSlabResults + kUnit : kSlabResults;
#pragma unroll 4
      for (int i = lane; i < 16 * kSlots; i += 32) {
        const int row = i / kSlots, slot = i % kSlots;
        const Index number = row_of(at, row);
        const int shift = shift_of(y, number), column = at.column + n + slot - shift;
        if (row_exists(at, row) && slot >= (n > 0 ? 0 : shift) && slot < kSlabResults + shift && column < kResults)
          y[place_of_result(number, column)] = load_shared_element(Y(), slab + row * kPitch + slot * sizeof(Y));
      }
    }
  }
}

/// The epilogue of the block's columns. The operands of the next slab are on their way meanwhile.
__device__ inline void store_tile(const Accumulator (&sums)[kOwn / 2], SlabOperands& next, const RowTerms& rows, u32 scratch,
                                  Y* y, const Place& at ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
  const int lane = threadIdx.x % 32;
  const u32 slab = scratch + threadIdx.x / 32 * (16 * kPitch);
  u32 mine[2];
  Index own_row[2];
  bool exists[2];
  GroupMoments given;
  ShiftedPieces pieces;
  Place result = at;
  result.column /= kEach;
  pieces.begin(y, result);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = row_lane() + half * 8;
    own_row[half] = row_of(at, row), exists[half] = row_exists(at, row);
    mine[half] = slab + row * kPitch + (shift_of(y, own_row[half]) + pair_lane() * 2 / kEach) * sizeof(Y);
  }
#pragma unroll
  for (int n = 0; n < kOwn; n += kSlab) {
    SlabOperands now = next;
    if (!kFetchesAhead) fetch_slab(now, at, n ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
    else if (n + kSlab < kOwn) fetch_slab(next, at, n + kSlab ROWS_ARGUMENTS EPILOGUE_ARGUMENTS);
    if constexpr (kStaged >= 0) {
#pragma unroll
      for (int i = 0; i < kItems; ++i)
        store_shared_piece(slab + (i * 32 + lane) / kPieces * kPitch + (i * 32 + lane) % kPieces * 16, now.pieces[i]);
      __syncwarp();
    }
#pragma unroll
    for (int j = 0; j < kSlab / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const u32 address = mine[half] + j * 8 / kEach * sizeof(Y);
        const int s = (n + j * 8) / 2 + half * 2;
        [[maybe_unused]] Pair& operands = now.pairs[j][half];
#define TAKE_PAIR(i, T) \
  if constexpr (kStaged == i) take_pair(operands.o##i, address);
        EPILOGUE_EACH(TAKE_PAIR)
        Real v[2];
        rows.begin(v, sums[s], sums[s + 1], now.columns, half, j);
        apply_epilogue<2>(v, operands);
        given.take(v, half, j);
        store_pair(address, v);
        if (half > 0) given.give(own_row, exists, at.column + n, j ROWS_ARGUMENTS);
      }
    __syncwarp();
    store_slab(pieces, y, slab, result, n / kEach);
    __syncwarp();
  }
}
