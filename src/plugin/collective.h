#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/instance.h"
#include "plugin/nccl.h"

namespace tenon::plugin {

/// The devices that a context runs on together with others. Not thread-safe.
class Communication {
 public:
  Communication() = default;
  ~Communication();
  Communication(const Communication&) = delete;
  Communication& operator=(const Communication&) = delete;

  /// The application's ncclComm_t, which outlives this.
  Status set(void* communicator);
  bool is_set() const { return whole_ != nullptr; }
  const Nccl& nccl() const { return *nccl_; }
  /// That of these ranks in this order, or of all where there are none; null where this rank is
  /// none of them. All ranks ask for the same parts in the same order.
  Result<void*> among(const std::vector<int64_t>& ranks);

 private:
  void forget_parts();

  std::optional<Nccl> nccl_;
  void* whole_ = nullptr;
  std::map<std::vector<int64_t>, void*> parts_;
};

/// The means of a context for the collectives in its plan.
class CollectiveResources {
 public:
  virtual ~CollectiveResources() = default;
  /// Null while a plan is built.
  virtual Communication* communication() = 0;
  virtual Status copy(void* to, const void* from, size_t bytes, void* stream) = 0;
};

/// In the order of nvinfer1::CollectiveOperation.
enum class CollectiveKind : int64_t { kAllReduce, kAllGather, kBroadcast, kReduce, kReduceScatter };

/// A collective operation among the ranks of a group, or of all.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int64_t reduction = 0;  ///< As nvinfer1::ReduceOperation and NCCL number it.
  int64_t root = 0;       ///< Its rank among all.
  int64_t ranks = 1;      ///< Where there is no group: as many as shapes are made for.
  std::vector<int64_t> group;

  bool reduces() const {
    return kind != CollectiveKind::kAllGather && kind != CollectiveKind::kBroadcast;
  }
  bool has_root() const {
    return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
  }
  /// Its result is as large as its input times the participants, or as a part of it.
  bool changes_shape() const {
    return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  }
  int64_t participants() const {
    return group.empty() ? ranks : static_cast<int64_t>(group.size());
  }
  /// An error that names the wrong part.
  Status check() const;
};

/// The namespace of plugins of our own, which no creator is registered for.
inline constexpr const char* kOwnSpace = "tenon";

/// The plugin that runs it, by NCCL. While a plan is built, and among one rank, it copies.
std::unique_ptr<Instance> make_collective(Collective collective);
Result<std::unique_ptr<Instance>> read_collective(const std::string& serialized);

}  // namespace tenon::plugin
