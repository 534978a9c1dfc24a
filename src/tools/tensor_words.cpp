#include "tools/tensor_words.h"

#include <algorithm>

#include "tools/values.h"

namespace tenon::tools {
namespace {

using nvinfer1::DataType;
using nvinfer1::TensorFormat;

struct TypeWord {
  std::string_view word;
  DataType type;
  int bits;
};

constexpr TypeWord kTypes[] = {
    {"fp32", DataType::kFLOAT, 32},  {"fp16", DataType::kHALF, 16},   {"bf16", DataType::kBF16, 16},
    {"int8", DataType::kINT8, 8},    {"fp8", DataType::kFP8, 8},      {"int4", DataType::kINT4, 4},
    {"int32", DataType::kINT32, 32}, {"int64", DataType::kINT64, 64}, {"bool", DataType::kBOOL, 8},
    {"uint8", DataType::kUINT8, 8},  {"fp4", DataType::kFP4, 4},      {"e8m0", DataType::kE8M0, 8},
};

struct FormatWord {
  std::string_view word;
  TensorFormat format;
};

constexpr FormatWord kFormats[] = {
    {"chw", TensorFormat::kLINEAR},
    {"chw2", TensorFormat::kCHW2},
    {"chw4", TensorFormat::kCHW4},
    {"hwc8", TensorFormat::kHWC8},
    {"chw16", TensorFormat::kCHW16},
    {"chw32", TensorFormat::kCHW32},
    {"dhwc8", TensorFormat::kDHWC8},
    {"cdhw32", TensorFormat::kCDHW32},
    {"hwc", TensorFormat::kHWC},
    {"dhwc", TensorFormat::kDHWC},
    {"dla_linear", TensorFormat::kDLA_LINEAR},
    {"hwc16", TensorFormat::kHWC16},
    {"dla_hwc4", TensorFormat::kDLA_HWC4},
};

const TypeWord* row_of(DataType type) {
  const auto* row = std::ranges::find(kTypes, type, &TypeWord::type);
  return row == std::end(kTypes) ? nullptr : row;
}

Result<nvinfer1::TensorFormats> parse_formats(std::string_view text) {
  nvinfer1::TensorFormats formats = 0;
  for (std::string_view word : split_outside_quotes(text, '+')) {
    const auto* row = std::ranges::find(kFormats, word, &FormatWord::word);
    if (row == std::end(kFormats))
      return user_error("'{}' is no tensor format (chw, chw2, hwc8, ...)", word);
    formats |= 1U << static_cast<uint32_t>(row->format);
  }
  return formats;
}

}  // namespace

std::optional<DataType> parse_type(std::string_view word) {
  const auto* row = std::ranges::find(kTypes, word, &TypeWord::word);
  if (row == std::end(kTypes)) return std::nullopt;
  return row->type;
}

std::string_view type_word(DataType type) {
  const TypeWord* row = row_of(type);
  return row ? row->word : "unknown";
}

int type_bits(DataType type) {
  const TypeWord* row = row_of(type);
  return row ? row->bits : 32;
}

Result<std::vector<IoFormat>> parse_io_formats(std::string_view text) {
  std::vector<IoFormat> entries;
  for (std::string_view piece : split_outside_quotes(text, ',')) {
    const size_t colon = piece.find(':');
    const auto type = parse_type(piece.substr(0, colon));
    if (!type || colon == std::string_view::npos) {
      return user_error("'{}' is not of the form type:format, e.g. fp32:chw", piece);
    }
    TENON_ASSIGN(const nvinfer1::TensorFormats formats, parse_formats(piece.substr(colon + 1)));
    entries.push_back({*type, formats});
  }
  return entries;
}

nvinfer1::ProfilingVerbosity parse_verbosity(std::string_view word) {
  using nvinfer1::ProfilingVerbosity;
  if (word == "detailed" || word == "verbose") return ProfilingVerbosity::kDETAILED;
  return word == "none" ? ProfilingVerbosity::kNONE : ProfilingVerbosity::kLAYER_NAMES_ONLY;
}

nvinfer1::Dims to_dims(const std::vector<int64_t>& extents) {
  nvinfer1::Dims dims{};
  dims.nbDims = static_cast<int32_t>(extents.size());
  std::copy_n(extents.begin(), std::min<size_t>(extents.size(), nvinfer1::Dims::MAX_DIMS), dims.d);
  return dims;
}

std::string dims_text(const nvinfer1::Dims& dims) {
  return shape_text(dims.d, dims.nbDims);
}

int64_t volume(const nvinfer1::Dims& dims) {
  int64_t count = 1;
  for (int32_t i = 0; i < dims.nbDims; ++i) {
    if (dims.d[i] < 0) return -1;
    count *= dims.d[i];
  }
  return dims.nbDims < 0 ? -1 : count;
}

int64_t bytes_of(const nvinfer1::Dims& dims, DataType type) {
  const int64_t count = volume(dims);
  return count < 0 ? -1 : (count * type_bits(type) + 7) / 8;
}

}  // namespace tenon::tools
