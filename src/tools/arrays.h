#pragma once

#include <string>
#include <vector>

#include "NvInfer.h"
#include "base/status.h"

namespace tenon::tools {

/// An array of a file that numpy wrote, row-major. Numbers of types that the surface lacks (f8, u2,
/// ...) have become the next wider or kFLOAT.
struct NumpyArray {
  std::string name;  ///< Its key in an .npz file, else empty.
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  nvinfer1::Dims dims{};
  std::vector<char> bytes;
};

/// The arrays of an .npy or .npz file (numpy.save, numpy.savez; not compressed).
Result<std::vector<NumpyArray>> read_arrays(const std::string& path);

}  // namespace tenon::tools
