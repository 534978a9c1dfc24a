#include "kernels/tactic.h"

#include <fmt/format.h>

#include "device/device_family.h"

namespace tenon {

bool limits_shared_memory(const Problem& problem) {
  return problem.shared_memory != INT64_MAX && problem.device != nullptr &&
         problem.device->properties().kind == DeviceKind::kCuda;
}

namespace {

/// Of a problem without a device everything is asked that does not depend on it.
Support runs_on(const Architectures& needed, const Device* device) {
  if (device == nullptr || device->properties().kind != DeviceKind::kCuda) return {};
  const int capability = device->properties().compute_capability;
  if (needed.least == needed.most && capability != needed.least)
    return Support::no(fmt::format("its instructions are those of sm_{}a", needed.least));
  if (capability < needed.least)
    return Support::no(
        fmt::format("it needs compute capability {}", capability_text(needed.least)));
  if (capability > needed.most)
    return Support::no(
        fmt::format("it ends at compute capability {}", capability_text(needed.most)));
  return {};
}

/// Libraries choose their kernels by the GPU that they find.
Support runs_on_family(const TacticTraits& traits, const Device* device) {
  if (device == nullptr || own_properties(*device) == nullptr) return {};
  if (is_library(traits.origin))
    return Support::no("the plan is for all GPUs of a family, and the library's kernels for one");
  if (traits.architectures.most != Architectures{}.most)
    return Support::no(
        fmt::format("the plan is for later GPUs too, and it ends at compute "
                    "capability {}",
                    capability_text(traits.architectures.most)));
  return {};
}

}  // namespace

Support Tactic::supports(const Problem& problem) const {
  if (!problem.numerics.allows(traits.algorithm))
    return Support::no(fmt::format("{}'s rounding is not allowed", name_of(traits.algorithm)));
  if (Support there = runs_on(traits.architectures, problem.device); !there) return there;
  if (Support all = runs_on_family(traits, problem.device); !all) return all;
  return takes(problem);
}

std::string_view name_of(Algorithm algorithm) {
  constexpr std::string_view kNames[] = {"plain", "Winograd", "Strassen"};
  return kNames[static_cast<size_t>(algorithm)];
}

std::vector<std::string> single_config(const Problem&) {
  return {""};
}

std::vector<int64_t> dense_strides(const Extents& extents, Layout layout) {
  const size_t rank = extents.size();
  const bool channels_last = layout == Layout::kChannelsLast && rank >= 3;
  std::vector<int64_t> strides(rank, 1);
  int64_t stride = channels_last ? extents[1] : 1;
  for (size_t i = rank; i-- > 0;) {
    if (channels_last && i == 1) continue;
    strides[i] = stride;
    stride *= extents[i];
  }
  return strides;
}

}  // namespace tenon
