// The epilogue of gemm/hopper.cu by TMA: each warp has a part of shared memory for its rows of a tile. A tensor like the result
// that is added comes there while others multiply, results take its places, and leave in boxes of whole lines while the next
// tile is multiplied. Columns of packed weights are in such an order that a thread has kRun results that lie beside each other.
enum : int { kSlab = 64, kRun = kSlab / 4, kSize = sizeof(Y) };
static_assert(kOwn % kSlab == 0 && kSplits == 1 && kSize <= 2, "whole runs of bytes or of 16 bits");

// Boxes of 16 rows of a line: 16-byte pieces of a line are swizzled.
enum : int { kLine = kTileN * kSize % 128 == 0 ? 128 : 64, kBoxN = kLine / kSize, kBoxBytes = 16 * kLine };
enum : int { kBoxes = kTileN / kBoxN, kPitch = kParts * kTileN * kSize };  // Times 16 rows: of a warp.

/// Scales and biases of the first slab come ahead of the products, where registers are many.
enum : bool { kColumnsAhead = kTurns == 1 && kOwn <= 2 * kSlab };
struct SlabOperands {
  ColumnTerms<kRun> columns;
};
__device__ inline int run_of(const Place& at, int n) { return at.column + n + threadIdx.x % 4 * kRun; }
__device__ inline void fetch_slab(SlabOperands& to, const Place& at, int ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
  if constexpr (kColumnsAhead) to.columns.fetch_run(run_of(at, 0) ROWS_ARGUMENTS);
}

#if BOX_ADDEND
#define BOX_PARAMETERS , const __grid_constant__ TensorMap results, const __grid_constant__ TensorMap addends
#define BOX_ARGUMENTS , &results, &addends
#else
#define BOX_PARAMETERS , const __grid_constant__ TensorMap results
#define BOX_ARGUMENTS , &results, nullptr
#endif

__device__ inline void store_box(u32 from, const TensorMap& map, int x, int y) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
               ::"l"(&map), "r"(from), "r"(x), "r"(y), "r"(0) : "memory");
}
__device__ inline void boxes_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Shared memory may be written again.
__device__ inline void boxes_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ inline void boxes_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

/// Where a warp's results go.
struct Destination {
  const TensorMap* results;
  const TensorMap* addends;
  u32 memory, arrived, phase = 0;

  __device__ Destination(Y*, u32 scratch, u32 barriers, const TensorMap* to, const TensorMap* from)
      : results(to), addends(from), memory(scratch + threadIdx.x / 32 * (16 * kPitch)), arrived(barriers + threadIdx.x / 32 * 8) {}

  __device__ static void create(u32 barriers) {
    for (int i = 0; i < kGroups * 4; ++i) barrier_create(barriers + i * 8, 1);
  }
  __device__ u32 box(int part, int number) const { return memory + (part * kBoxes + number) * kBoxBytes; }
  /// The pieces of a row's run from `column` of the tile on.
  __device__ u32 piece(int part, int row, int column, int i) const {
    const int in_line = column % kBoxN * kSize / 16 + i;
    return box(part, column / kBoxN) + row * kLine + (in_line ^ (kLine == 128 ? row % 8 : row / 2 % 4)) * 16;
  }

  /// Asks for the addends of a tile that is not behind the block's last one.
  __device__ void expect_tile(int number, int end WALK_PARAMETERS) const {
    if constexpr (BOX_ADDEND) {
      if (threadIdx.x % 32 == 0 && number < end) {
        const Tile tile = tile_of(number WALK_ARGUMENTS);
        const CachePolicy policy = POLICY_OF(kAddend0, ADDENDS_ALONE);
        boxes_read();
        barrier_expect(arrived, 16 * kPitch);
#pragma unroll
        for (int part = 0; part < kParts; ++part)
#pragma unroll
          for (int i = 0; i < kBoxes; ++i) {
            const Place at = place_in(tile, part, 0);
            fetch_box(box(part, i), *addends, arrived, at.column + i * kBoxN, at.row, 0, policy);
          }
      }
      __syncwarp();
    }
  }
  /// The warp's memory may be written.
  __device__ void begin_tile() {
    if constexpr (BOX_ADDEND) {
      barrier_wait(arrived, phase);
      phase ^= 1;
    } else {
      if (threadIdx.x % 32 == 0) boxes_read();
      __syncwarp();
    }
  }
  __device__ void send(const Place& at) const {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int i = 0; i < kBoxes; ++i) store_box(box(at.part, i), *results, at.column + i * kBoxN, at.row);
      boxes_commit();
    }
    __syncwarp();
  }
  __device__ void finish() const {
    if (threadIdx.x % 32 == 0) boxes_written();
  }
};

template <class F>
__device__ inline void take_run(F& to, const Destination& from, int part, int row, int column) {
#pragma unroll
  for (int i = 0; i < int(sizeof(to.v)) / 16; ++i) {
    const uint4 piece = load_shared_piece(from.piece(part, row, column, i));
    memcpy(reinterpret_cast<unsigned char*>(to.v) + i * 16, &piece, 16);
  }
}

__device__ inline void store_tile(const Accumulator (&sums)[kOwn / 2], SlabOperands& next, const RowTerms& rows, u32, Destination& to,
                                  const Place& at ROWS_PARAMETERS EPILOGUE_PARAMETERS) {
  if (at.part == 0) to.begin_tile();
#pragma unroll
  for (int n = 0; n < kOwn; n += kSlab) {
    const int column = n + threadIdx.x % 4 * kRun;
    ColumnTerms<kRun> columns = next.columns;
    if (!kColumnsAhead || n > 0) columns.fetch_run(run_of(at, n) ROWS_ARGUMENTS);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = threadIdx.x % 32 / 4 + half * 8;
      float v[kRun];
#pragma unroll
      for (int j = 0; j < kSlab / 8; ++j) {
        const int s = (n + j * 8) / 2 + half * 2;
        float pair[2];
        rows.begin(pair, sums[s], sums[s + 1], columns, half, j);
        v[2 * j] = pair[0], v[2 * j + 1] = pair[1];
      }
      EpilogueOperands<kRun> operands;
#define TAKE_RUN(i, T) take_run(operands.o##i, to, at.part, row, column);
      EPILOGUE_EACH(TAKE_RUN)
      apply_epilogue<kRun>(v, operands);
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        constexpr int kEach = 4 / kSize;
        const float* from = v + i * (4 * kEach);
        store_shared_piece(to.piece(at.part, row, column, i),
                           make_uint4(word_of(Y(), from), word_of(Y(), from + kEach), word_of(Y(), from + 2 * kEach),
                                      word_of(Y(), from + 3 * kEach)));
      }
    }
  }
  to.send(at);
}
