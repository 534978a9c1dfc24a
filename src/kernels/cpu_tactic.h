#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "kernels/tactic.h"

namespace tenon::cpu {

/// Fails where a launch has more threads than the kernel has scratch memory for.
inline Status check_threads(int threads, int made_for) {
  if (threads <= made_for) return {};
  return internal_error("a kernel made for {} threads runs on {}", made_for, threads);
}

}  // namespace tenon::cpu

/// Defines the functions of a tactic (kernels/tactic.h) from a function of the problem that gives a
/// description of it, or the reason against it, and one that makes the kernel of both:
/// `TENON_DESCRIBED_TACTIC(describe, make_kernel<ResizeKernel>)`.
#define TENON_DESCRIBED_TACTIC(describe, make)                                       \
  Support supports(const Problem& problem) {                                         \
    return Support::of(describe(problem));                                           \
  }                                                                                  \
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) { \
    TENON_ASSIGN(auto description, describe(problem));                               \
    return make(problem, std::move(description));                                    \
  }
