#include <iterator>

#include "kernels/jit/kernel_case.h"

namespace tenon::test {

std::vector<std::unique_ptr<KernelCase>> all_cases() {
  std::vector<std::unique_ptr<KernelCase>> cases;
  for (auto make : {row_cases, pointwise_cases})
    for (auto& one : make()) cases.push_back(std::move(one));
  return cases;
}

}  // namespace tenon::test
