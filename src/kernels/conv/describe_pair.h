#pragma once

#include <vector>

#include "kernels/conv/describe.h"
#include "ops/ops.h"

namespace tenon::cpu {

/// A convolution with the functions behind it. Numbers are problem inputs; -1: no bias.
struct PairedLayer {
  const Conv* conv = nullptr;
  int weights = -1, bias = -1;
  std::vector<EpilogueStep> steps;
};

/// The region { conv; functions; conv; functions } taken apart.
struct ConvPair {
  int image = -1;
  PairedLayer layers[2];
  ConvProblem problems[2];
};

/// Fails, with the reason, for regions that are no such pair of a channels-last image or, of a
/// `stem`, of a channels-first one.
Result<ConvPair> describe_pair(const Problem& problem, bool stem);
/// The weights of both, in ONNX order.
const void* weights_of(const Problem& problem, const PairedLayer& layer);

}  // namespace tenon::cpu
