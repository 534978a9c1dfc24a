#pragma once

#include <span>
#include <vector>

#include "check/reference_pace.h"
#include "select/compile.h"

namespace tenon {

/// The results of a network, by kernels for the processor that no pass has joined: many times
/// faster than the reference, against which each of these kernels is tested. Every value is rounded
/// to the type that it has. Fails where shapes are data-dependent, and where a plan could not be
/// made. `threads`: 0 for as many as there are cores.
Result<std::vector<Tensor>> evaluate_on_processor(const Graph& network,
                                                  const std::vector<Profile>& profiles,
                                                  std::span<const Tensor> inputs,
                                                  const ReferenceObserver& told = {},
                                                  int threads = 0);

}  // namespace tenon
