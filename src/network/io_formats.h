#pragma once

#include <map>
#include <optional>
#include <string>

#include "NvInferRuntime.h"
#include "base/arithmetic.h"
#include "base/status.h"
#include "ir/graph.h"

namespace tenon::network {

class Network;

/// Order and padding of an input's or output's elements in the application's buffer, where it is
/// not linear. The buffer is then described as a linear tensor of more or other axes, its *buffer
/// shape*.
struct IoFormat {
  nvinfer1::TensorFormat format = nvinfer1::TensorFormat::kLINEAR;
  int axis = 0;          ///< Of the channels.
  int64_t channels = 0;  ///< Of the tensor, without padding.
  int64_t vector = 1;    ///< Channels are padded to a multiple of this, and packed by it.
  /// Channels come last as a whole; otherwise only the vectors do.
  bool channels_last = false;

  /// Whether a buffer may have this shape.
  bool fits(const Shape& buffer) const;
  int64_t vectors() const { return ceil_div(channels, vector); }
  /// An error where a tensor of that name cannot have these extents.
  Status check(const std::string& tensor, const Extents& extents) const;
  /// From the tensor's extents to the buffer's, and back.
  Extents to_buffer(const Extents& extents) const;
  Extents from_buffer(const Extents& extents) const;
  Shape to_buffer(const Shape& shape) const;
  Shape from_buffer(const Shape& shape) const;
  /// Of the tensor's axes in the buffer, in vectors.
  Extents strides(const Extents& extents) const;
};

/// By the tensor's name; linear ones have no entry.
using IoFormats = std::map<std::string, IoFormat, std::less<>>;

/// "kHWC" and so on; "none" for numbers that name no format.
const char* name_of(nvinfer1::TensorFormat format);

/// In TensorRT's words: "Row major linear FP32 format (kLINEAR)".
std::string description(nvinfer1::TensorFormat format, DataType type);

/// Formats that TensorRT has for tensors of that type, without DLA's; linear first.
std::vector<nvinfer1::TensorFormat> formats_of_type(nvinfer1::DataType type);

/// The format of a tensor, or the reason why it cannot have it.
Result<IoFormat> format_of(nvinfer1::TensorFormat format, const TensorType& type);

/// Nodes that give the buffer of a tensor, and the tensor of a buffer, named after `name`.
Value* to_buffer(Graph& graph, const IoFormat& format, Value* tensor, const std::string& name);
Value* from_buffer(Graph& graph, const IoFormat& format, Value* buffer, const std::string& name);

/// The formats of the network's inputs and outputs: linear wherever that is allowed, else the one
/// of least padding that can be bound. `graph` is finished_graph(). An error names each that
/// cannot.
Result<IoFormats> io_formats(const Network& network, const Graph& graph);

/// Inputs and outputs get the shapes of their buffers; the network sees its own tensors behind
/// nodes that move the elements.
Status bind_formats(Graph& graph, const IoFormats& formats);

/// As text for a plan, and back; nothing for text that is none of it.
std::string to_text(const IoFormat& format);
std::optional<IoFormat> io_format_of(std::string_view text);

}  // namespace tenon::network
