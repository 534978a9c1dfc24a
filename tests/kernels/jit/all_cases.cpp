#include <cstdlib>

#include "kernels/jit/kernel_case.h"

namespace tenon::test {

bool limits_cases() {
  return std::getenv("TENON_TEST_CASES") != nullptr;
}

bool is_wanted(std::string_view name) {
  return !limits_cases() || name.find(std::getenv("TENON_TEST_CASES")) != std::string_view::npos;
}

Cases all_cases() {
  Cases cases = tiny_cases();
  // Making all of them takes seconds.
  if (limits_cases() && std::string_view(std::getenv("TENON_TEST_CASES")).starts_with("tiny"))
    return cases;
  for (auto make :
       {row_cases, pointwise_cases, movement_cases, pooling_cases, product_cases, quantized_cases,
        rounding_cases, weight_cases, rnn_cases, attention_cases, order_cases, generic_cases})
    for (auto& one : make()) cases.push_back(std::move(one));
  return cases;
}

}  // namespace tenon::test
