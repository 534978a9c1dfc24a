#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/jit/plan.h"

namespace tenon {

/// Compiles code that is not in the cache, and loads it on the problem's device, which must be a
/// CudaDevice.
Result<std::unique_ptr<Kernel>> make_jit_kernel(const Problem& problem, JitPlan plan);

/// supports() of a tactic that is a planner; some of several results may have no elements only
/// where the planner leaves them out.
Support jit_support(const Problem& problem, JitPlanner planner);
Support jit_support_with_empty(const Problem& problem, JitPlanner planner);

/// Defines the functions of a tactic (kernels/tactic.h) from a function `plan` of its namespace and
/// `configs`: `TENON_JIT_TACTIC(cuda_softmax, single_config)`.
#define TENON_JIT_TACTIC(space, configs_function) \
  TENON_JIT_TACTIC_BY(space, configs_function, jit_support)
/// The same with the function that makes supports() of the planner.
#define TENON_JIT_TACTIC_BY(space, configs_function, support_function)                      \
  namespace space {                                                                         \
  Support supports(const Problem& problem) {                                                \
    return support_function(problem, plan);                                                 \
  }                                                                                         \
  std::vector<std::string> configs(const Problem& problem) {                                \
    return configs_function(problem);                                                       \
  }                                                                                         \
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) { \
    TENON_ASSIGN(JitPlan jit, plan(problem, config));                                       \
    return make_jit_kernel(problem, std::move(jit));                                        \
  }                                                                                         \
  }

}  // namespace tenon
