#include "kernels/tactic.h"

namespace tenon {

bool limits_shared_memory(const Problem& problem) {
  return problem.shared_memory != INT64_MAX && problem.device != nullptr &&
         problem.device->properties().kind == DeviceKind::kCuda;
}

std::vector<std::string> single_config(const Problem&) {
  return {""};
}

std::vector<int64_t> dense_strides(const Extents& extents, Layout layout) {
  const int rank = static_cast<int>(extents.size());
  std::vector<int> order;  // Axes from slowest to fastest.
  for (int i = 0; i < rank; ++i) order.push_back(i);
  if (layout == Layout::kChannelsLast && rank >= 3) {
    order.erase(order.begin() + 1);
    order.push_back(1);
  }
  std::vector<int64_t> strides(rank);
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    strides[order[i]] = stride;
    stride *= extents[order[i]];
  }
  return strides;
}

}  // namespace tenon
