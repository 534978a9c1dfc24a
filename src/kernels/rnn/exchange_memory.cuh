// New states go through memory to blocks of all multiprocessors, each step to a place of its own. Bits are inverted
// there, so that a zero has not arrived yet: no two states side by side are all ones. Where warps share k, each also
// waits for its own group's states: then its part of their sum for the previous step has been read.

struct Exchange {
  enum : int { kBytes = 0 };
  static __device__ i64 step_bytes() { return i64(kDirections) * kTeams * kStateBytes; }
  unsigned char* states;
  u32 read[kTiles], sent, own;
  uint4 come[kOwnChunks][kTiles];

  __device__ void begin(const Place& p, unsigned char*, const X* first_h, unsigned char* memory) {
    states = memory + i64(p.direction * kTeams + p.batch0 / kElements) * kStateBytes;
    sent = p.sent(0), own = Place::state(p.own, 0);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      read[n] = p.read(n);
      if (p.part > 0 || !p.sends(n)) continue;
      u32 pair = 0;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int unit = p.own * 8 + p.quad * 2 + i;
        // A NaN of all ones becomes the usual one.
        if (unit < kHidden && first_h != nullptr)
          pair |= min(u32(first_h[state_index(p.direction, p.batch0 + n * 8 + p.slot, unit)].bits), 0xfffeu) << i * 16;
      }
      send(-1, 0, n, pair);
    }
    // Of k behind the last unit.
#pragma unroll
    for (int i = 0; i < kOwnChunks * kTiles; ++i) come[i / kTiles][i % kTiles] = make_uint4(~0u, ~0u, ~0u, ~0u);
    first = p.part * kOwnChunks * 4 + p.quad;
  }
  __device__ void await(int step, int) {
    const unsigned char* from = states + step * step_bytes();
    const auto has_come = [](const uint4& v) { return (v.x != 0) & (v.y != 0) & (v.z != 0) & (v.w != 0); };
#pragma unroll
    for (int i = 0; i < kOwnChunks * kTiles; ++i)
      if (first + i / kTiles * 4 < kTeam * kGroups) come[i / kTiles][i % kTiles].x = 0;
    u32 mark = kSplit > 1 ? 0 : 1;
    bool all = false;
    while (!all) {
      if (mark == 0) asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(mark) : "l"(from + own) : "memory");
#pragma unroll
      for (int i = 0; i < kOwnChunks * kTiles; ++i) {
        uint4& v = come[i / kTiles][i % kTiles];
        if (has_come(v)) continue;
        asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(from + read[i % kTiles] + i / kTiles * (kTiles * 512)) : "memory");
      }
      all = mark != 0;
#pragma unroll
      for (int i = 0; i < kOwnChunks * kTiles; ++i) all &= has_come(come[i / kTiles][i % kTiles]);
    }
    __syncwarp();
  }
  /// The states behind the weights of a chunk.
  __device__ void pieces(uint4 (&h)[kTiles], int, int j) const {
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const uint4 v = come[j][n];
      h[n] = make_uint4(~v.x, ~v.y, ~v.z, ~v.w);
    }
  }
  __device__ void send(int step, int, int tile, u32 pair) const {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(states + (step + 1) * step_bytes() + sent + tile * 128), "r"(~pair)
                 : "memory");
  }
  __device__ void rest(int, int) const {}

 private:
  int first;  // Group of units of the lane's first piece.
};
