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
/// description of it, or the reason against it, and a kernel that is made of both:
/// `TENON_DESCRIBED_TACTIC(describe, ResizeKernel)`.
#define TENON_DESCRIBED_TACTIC(describe, KernelClass)                                \
  Support supports(const Problem& problem) {                                         \
    return Support::of(describe(problem));                                           \
  }                                                                                  \
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) { \
    TENON_ASSIGN(auto description, describe(problem));                               \
    return make_kernel<KernelClass>(problem, std::move(description));                \
  }
