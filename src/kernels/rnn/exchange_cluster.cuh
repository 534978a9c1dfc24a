// New states go straight to the shared memory of every block of a cluster, counted by a barrier there.
//
// States of step t lie in buffer t % 2, counted by barrier t % 2. Two of each do, and no block waits for another besides:
// - A warp sends its states of step t + 1 behind its own reads of those of step t (their products are done; where
//   warps share k, the others' reads are in the sums that it added).
// - States of step t + 2 are sent by who has those of step t + 1 of all warps of all blocks. By then everybody has read
//   buffer t % 2, and its barrier, which everybody saw complete, counts for step t + 2.
// - States of the last step are not sent: when a block ends, all that is sent to it has come.

struct Exchange {
  enum : int { kBarriers = 2 * kStateBytes, kBytes = kBarriers + 128 };
  u32 shared, read[kTiles], sent, expected, remote[kTeam];

  __device__ void begin(const Place& p, unsigned char* raw, const X* first_h, unsigned char*) {
    shared = shared_address(raw);
    expected = p.elements * kTeam * kGroups * 16;
    if (threadIdx.x == 0) {
      for (int i = 0; i < 2; ++i) barrier_create(shared + kBarriers + i * 8, 1);
      barriers_visible();
      for (int step = 1; step < min(3, kStepCount); ++step) barrier_expect(shared + kBarriers + step % 2 * 8, expected);
    }
    for (int i = threadIdx.x; i < kStateGroups * kTiles * 64; i += kBlock) {
      const int group = i / (kTiles * 64), element = i / 8 % (kTiles * 8), unit = group * 8 + i % 8;
      const bool inside = element < p.elements && unit < kHidden && first_h != nullptr;
      const X v = inside ? first_h[state_index(p.direction, p.batch0 + element, unit)] : narrow<X>(0.0f);
      for (int buffer = 0; buffer < 2; ++buffer)
        reinterpret_cast<X*>(raw + buffer * kStateBytes + Place::state(group, element))[i % 8] = v;
    }
#pragma unroll
    for (int n = 0; n < kTiles; ++n) read[n] = shared + p.read(n);
    sent = p.sent(0);
    // In turns, so that not all send to the same block at a time.
#pragma unroll
    for (int i = 0; i < kTeam; ++i) remote[i] = address_in_block(shared, (p.rank + i) % kTeam);
    __syncthreads();
    cluster_start();
  }
  __device__ void await(int step, int now) {
    if (step > 0) barrier_wait_cluster(shared + kBarriers + now * 8, (step - 1) / 2 % 2);
  }
  /// The states behind the weights of a chunk.
  __device__ void pieces(uint4 (&h)[kTiles], int now, int j) const {
#pragma unroll
    for (int n = 0; n < kTiles; ++n) h[n] = load_shared_piece(read[n] + now * kStateBytes + j * (kTiles * 512));
  }
  __device__ void send(int, int now, int tile, u32 pair) const {
    const u32 to = (1 - now) * kStateBytes + sent + tile * 128, barrier = kBarriers + (1 - now) * 8;
#pragma unroll
    for (int i = 0; i < kTeam; ++i)
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                   ::"r"(remote[i] + to), "r"(pair), "r"(remote[i] + barrier) : "memory");
  }
  /// Behind the sends is time.
  __device__ void rest(int step, int now) const {
    if (threadIdx.x == 0 && step > 0 && step + 2 < kStepCount) barrier_expect(shared + kBarriers + now * 8, expected);
  }
};
