#pragma once

#include <memory>
#include <vector>

namespace api_test {

struct FakeWorld;

/// Communicators of so many ranks of this process, for NCCL's functions that fake_nccl.cpp has: a
/// call returns when all ranks have come, and works on the host's memory, which is the pretending
/// driver's. Reductions are of FP32 alone.
class FakeRanks {
 public:
  explicit FakeRanks(int ranks);
  ~FakeRanks();
  void* operator[](int rank) const;

 private:
  std::shared_ptr<FakeWorld> world_;
  std::vector<void*> communicators_;
};

/// Communicators that there are now.
int fake_communicators();

}  // namespace api_test
