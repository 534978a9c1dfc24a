#pragma once

/// The reference implementation of a network, operator by operator in the network's own types: what
/// plans are compared with.

#include "NvInfer.h"

namespace tenon {

/// Is shown values of a network, in the order in which they are computed.
class IValueVisitor {
 public:
  virtual ~IValueVisitor() noexcept = default;
  /// `data` holds the elements of `shape` without gaps, and is the library's until the call ends.
  virtual void value(const char* name, nvinfer1::DataType type, const nvinfer1::Dims& shape,
                     const void* data) noexcept = 0;
};

/// Evaluates the network, with the extents of the profile's optimum and these contents of its
/// inputs (in the network's order), and shows the visitor every named value that depends on them,
/// outputs included. Types without a name in the public surface are not shown. Slow: for accuracy,
/// not for speed. False, and an error in `logger`, where the network cannot be evaluated.
TENSORRTAPI bool evaluateReference(nvinfer1::INetworkDefinition& network,
                                   const nvinfer1::IOptimizationProfile& profile,
                                   const void* const* inputs, IValueVisitor& visitor,
                                   nvinfer1::ILogger& logger) noexcept;

}  // namespace tenon
