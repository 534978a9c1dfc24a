#include "kernels/jit/kernel_case.h"

namespace tenon::test {

Cases all_cases() {
  Cases cases;
  for (auto make : {row_cases, pointwise_cases, movement_cases, pooling_cases, product_cases,
                    rnn_cases, attention_cases, order_cases, generic_cases})
    for (auto& one : make()) cases.push_back(std::move(one));
  return cases;
}

}  // namespace tenon::test
