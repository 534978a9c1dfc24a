#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/large_memory.h"
#include "base/status.h"
#include "plan/plan.h"

namespace tenon {

/// The file: one page of header, the FlatBuffers description (plan/plan.fbs), then page-aligned
/// weights that are used in place. Little-endian.
///
///     bytes  0..3   magic 0x74727466
///            4..7   0; in files of format 1 and 2 that number
///            8..15  size of the whole file
///           16..23  size of the description, which starts at 4096
///           24..27  library version: major, minor, patch, build
///           28..31  format version
///           32..39  offset of the weights
///           40..55  XXH3-128 of all bytes of the file, these 16 taken as zero
inline constexpr size_t kPlanPage = 4096;

/// The facts of a plan that can be read without loading it.
struct PlanVersion {
  int major = 0, minor = 0, patch = 0, build = 0;
  std::string to_string() const;
};

/// The same plan gives the same bytes. Of a stripped plan, or with
/// `strip`, no weights are written.
Result<LargeBytes> write_plan(const Plan& plan, bool strip = false);
/// The same of a plan that is not needed any more: its graphs and its code are gone, and weights
/// leave memory as they are copied. The file needs little memory beside them.
Result<LargeBytes> write_and_free(Plan& plan);

/// Takes the bytes of a file, one part behind the other. An error ends the writing.
class PlanSink {
 public:
  virtual ~PlanSink() = default;
  /// Ahead of all parts.
  virtual Status begin(size_t /*bytes*/) { return {}; }
  virtual Status take(std::span<const std::byte> part) = 0;
};
/// write_and_free() to a sink, which gets weights as they lie.
Status write_and_free(Plan& plan, PlanSink& sink);

class PlanInMemory final : public PlanSink {
 public:
  Status begin(size_t bytes) override;
  Status take(std::span<const std::byte> part) override;
  LargeBytes file;

 private:
  size_t at_ = 0;
};

/// Checks magic, sizes, checksum, the description's structure and every index before use; any
/// damage is a named error. Weights stay where they are: `owner` keeps `bytes` alive (null: they
/// are copied). `mapped` tells that `bytes` are a file's: pages that are not needed are not kept in
/// memory.
Result<Plan> read_plan(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                       bool mapped = false);

/// A plan's demands on the machine, known before it is read.
struct PlanNeeds {
  DeviceKind device = DeviceKind::kCpu;
  std::set<std::string> tactics;  ///< Of all nodes, bodies' too, and choices.
};
/// Looks at the description alone, which may be damaged: a hint, for work that may begin ahead of
/// read_plan(). Empty where there is no sound description.
std::optional<PlanNeeds> peek_plan_needs(std::span<const std::byte> bytes);

/// Bytes that a peek needs.
inline constexpr size_t kPlanPeek = 28;
Result<PlanVersion> peek_plan_version(std::span<const std::byte> bytes);
/// Size of the whole file, at least kPlanPage.
Result<size_t> peek_plan_size(std::span<const std::byte> bytes);

}  // namespace tenon
