#include "device/device_family.h"

#include <algorithm>
#include <charconv>

namespace tenon {
namespace {

constexpr std::string_view kPrefix = "sm_";
/// Shared memory of a block, in bytes, that every GPU from compute capability 8.0 on has: 8.6, 8.9
/// and 12.0 have the least.
constexpr size_t kLeastShared = size_t{99} << 10;

}  // namespace

std::string capability_text(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

std::string architecture_of(const DeviceFamily& family) {
  return fmt::format("{}{}+", kPrefix, family.least);
}

std::optional<DeviceFamily> parse_family(std::string_view architecture, int compute_units) {
  constexpr int kMostUnits = 1 << 16;  // A damaged number.
  if (!architecture.starts_with(kPrefix) || !architecture.ends_with('+') || compute_units < 1 ||
      compute_units > kMostUnits)
    return std::nullopt;
  const char* const end = architecture.data() + architecture.size() - 1;
  DeviceFamily family{0, compute_units};
  const auto read = std::from_chars(architecture.data() + kPrefix.size(), end, family.least);
  const bool is_one = read.ec == std::errc() && read.ptr == end;
  return is_one && family.least >= DeviceFamily::kFirst ? std::optional(family) : std::nullopt;
}

DeviceProperties shared_properties(const DeviceProperties& own, const DeviceFamily& family) {
  DeviceProperties shared = own;
  shared.architecture = architecture_of(family);
  shared.compute_capability = family.least;
  shared.compute_units = family.compute_units;
  shared.shared_memory_per_block = own.shared_memory_per_block == 0
                                       ? kLeastShared
                                       : std::min(own.shared_memory_per_block, kLeastShared);
  shared.cache_bytes = 0;  // Of others it is not known.
  return shared;
}

Status stand_for(Device& device, const DeviceFamily& family) {
  const DeviceProperties& own = device.properties();
  auto* const member = dynamic_cast<FamilyMember*>(&device);
  if (member == nullptr)
    return user_error("'{}' is no GPU: there are no others of its kind that a plan could run on",
                      own.name);
  // Other threads may read the properties by now.
  const bool does_already = member->own_properties() != nullptr &&
                            own.compute_capability == family.least &&
                            own.compute_units == family.compute_units;
  if (does_already) return {};
  if (own.compute_capability < family.least)
    return user_error(
        "the plan is for GPUs of compute capability {} and later (hardware compatibility level "
        "kAMPERE_PLUS), and '{}' has {}; build it for this GPU alone (kNONE)",
        capability_text(family.least), own.name, capability_text(own.compute_capability));
  member->stand_for(family);
  return {};
}

const DeviceProperties* own_properties(const Device& device) {
  const auto* const member = dynamic_cast<const FamilyMember*>(&device);
  return member == nullptr ? nullptr : member->own_properties();
}

}  // namespace tenon
