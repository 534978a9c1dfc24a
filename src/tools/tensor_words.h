#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "NvInfer.h"
#include "base/status.h"

namespace tenon::tools {

/// The words of the command line for types and formats: fp32, bf16, ...; chw, chw32, hwc8, ...
std::optional<nvinfer1::DataType> parse_type(std::string_view word);
std::string_view type_word(nvinfer1::DataType type);
int type_bits(nvinfer1::DataType type);

/// layer_names_only, detailed, none, and the old words default and verbose.
nvinfer1::ProfilingVerbosity parse_verbosity(std::string_view word);

struct IoFormat {
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  nvinfer1::TensorFormats formats = 1;  ///< Bit set of TensorFormat.
};
/// fp32:chw+chw32,fp16:hwc8: one entry for all tensors, or one for each.
Result<std::vector<IoFormat>> parse_io_formats(std::string_view text);

nvinfer1::Dims to_dims(const std::vector<int64_t>& extents);
std::string dims_text(const nvinfer1::Dims& dims);
/// Elements, or -1 where an extent is not known.
int64_t volume(const nvinfer1::Dims& dims);
int64_t bytes_of(const nvinfer1::Dims& dims, nvinfer1::DataType type);

}  // namespace tenon::tools
