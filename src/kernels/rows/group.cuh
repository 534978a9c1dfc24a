// One row, or one group that is normalized together, by a group of kGroup threads: rows of a loop [rows, kLength],
// kVector elements at a time, kSteps times a thread.

enum : int { kRowsPerBlock = kBlock / kGroup };
enum : int { kSteps = (kLength + kGroup * kVector - 1) / (kGroup * kVector) };
// Rows of up to that many elements a thread stay in registers.
enum : bool { kKeep = kSteps * kVector <= 64 };

struct Row {
  Index first;  // Number of its first element.
  int lane;
  bool active;  // The last block may have groups without a row; they work on the first one.

  __device__ Row() {
    const Index row = Index(blockIdx.x) * kRowsPerBlock + threadIdx.x / kGroup;
    lane = threadIdx.x % kGroup;
    active = kRowsPerBlock == 1 || row < Index(kRows);
    first = active ? row * Index(kLength) : Index(0);
  }
  __device__ Index column(int step) const { return Index(step * kGroup + lane) * kVector; }
  __device__ bool inside(int step) const {
    return kLength % (kGroup * kVector) == 0 || column(step) < Index(kLength);
  }
};
