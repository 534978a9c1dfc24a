#include "network/io_formats.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "network/convert.h"
#include "network/network.h"
#include "ops/movement.h"
#include "ops/table.h"

namespace tenon::network {
namespace {

using nvinfer1::TensorFormat;

using Types = uint32_t;
template <class... Type> constexpr Types types(Type... type) {
  return ((1U << static_cast<uint32_t>(type)) | ... | 0U);
}
constexpr auto kFloat = nvinfer1::DataType::kFLOAT, kHalf = nvinfer1::DataType::kHALF,
               kBrain = nvinfer1::DataType::kBF16, kByte = nvinfer1::DataType::kINT8,
               kPixel = nvinfer1::DataType::kUINT8, kFloat8 = nvinfer1::DataType::kFP8;

/// Formats in the order of TensorFormat.
struct FormatFacts {
  const char *name, *description;  ///< With a place for the type.
  int64_t vector;                  ///< 0: cannot be bound.
  bool channels_last;
  int inner_axes;  ///< Behind the channels.
  Types types;     ///< That TensorRT has it for.
};
constexpr FormatFacts kFormatFacts[] = {
    {"kLINEAR", "Row major linear {} format (kLINEAR)", 1, false, 0, ~0U},
    {"kCHW2", "Two wide channel vectorized row major {} format (kCHW2)", 2, false, 2,
     types(kHalf, kBrain)},
    {"kHWC8", "Channel major {} format where C is a multiple of 8 (kHWC8)", 8, true, 2,
     types(kHalf, kBrain)},
    {"kCHW4", "Four wide channel vectorized row major {} format (kCHW4)", 4, false, 2,
     types(kByte, kHalf)},
    {"kCHW16", "Sixteen wide channel vectorized row major {} format (kCHW16)", 16, false, 2,
     types(kHalf)},
    {"kCHW32", "Thirty-two wide channel vectorized row major {} format (kCHW32)", 32, false, 2,
     types(kByte, kHalf, kFloat)},
    {"kDHWC8", "Channel major {} format in three dimensions where C is a multiple of 8 (kDHWC8)", 8,
     true, 3, types(kHalf, kBrain)},
    {"kCDHW32", "Thirty-two wide channel vectorized {} format in three dimensions (kCDHW32)", 32,
     false, 3, types(kHalf, kByte)},
    {"kHWC", "Channel major {} format (kHWC)", 1, true, 2, types(kFloat, kPixel)},
    {"kDLA_LINEAR", "", 0, false, 2, 0},
    {"kDLA_HWC4", "", 0, true, 2, 0},
    {"kHWC16", "Channel major {} format where C is a multiple of 16 (kHWC16)", 16, true, 2,
     types(kHalf, kByte, kFloat8)},
    {"kDHWC", "Channel major {} format in three dimensions (kDHWC)", 1, true, 3, types(kFloat)}};
static_assert(std::size(kFormatFacts) == nvinfer1::EnumMax<TensorFormat>());

const FormatFacts& facts_of(TensorFormat format) {
  return kFormatFacts[static_cast<size_t>(format)];
}

/// The one of least padding; channels last before packed ones, then by number.
Result<IoFormat> best_format(const TensorHandle& tensor, const char* kind, const TensorType& type) {
  std::optional<IoFormat> best;
  std::string reasons;
  const uint32_t allowed = tensor.getAllowedFormats();
  for (uint32_t i = 1; i < std::size(kFormatFacts); ++i) {
    if ((allowed >> i & 1U) == 0) continue;
    auto format = format_of(static_cast<TensorFormat>(i), type);
    if (!format.ok())
      reasons += fmt::format("{}{} ({})", reasons.empty() ? "" : ", ", kFormatFacts[i].name,
                             format.error().message);
    else if (!best.has_value() ||
             std::pair(format->vectors() * format->vector, !format->channels_last) <
                 std::pair(best->vectors() * best->vector, !best->channels_last))
      best = *format;
  }
  if (best.has_value()) return *best;
  return unsupported(
      "{} '{}': its allowed formats leave out kLINEAR (chw), and none of them can be bound: {}; "
      "allow kLINEAR",
      kind, tensor.getName(), reasons.empty() ? "none that there is" : reasons);
}

template <class Extent>
std::vector<Extent> buffer_of(const IoFormat& format, std::vector<Extent> shape) {
  const auto at = shape.begin() + format.axis;
  if (format.channels_last) {
    shape.erase(at);
    shape.push_back(Extent(format.vectors() * format.vector));
  } else {
    *at = Extent(format.vectors());
    shape.push_back(Extent(format.vector));
  }
  return shape;
}

template <class Extent>
std::vector<Extent> tensor_of(const IoFormat& format, std::vector<Extent> shape) {
  shape.pop_back();
  if (format.channels_last)
    shape.insert(shape.begin() + format.axis, Extent(format.channels));
  else
    shape[static_cast<size_t>(format.axis)] = Extent(format.channels);
  return shape;
}

/// Puts nodes that move the elements of one input or output into the graph.
class Mover {
 public:
  Mover(Graph& graph, const IoFormat& format, const std::string& name, int rank)
      : graph_(graph), format_(format), name_(name), rank_(rank) {}

  /// The tensor of a buffer.
  Value* unpack(Value* value) {
    if (!format_.channels_last) value = joined(transposed(value, vectors_together()));
    return transposed(cut(value), moved(rank_ - 1, format_.axis));
  }
  /// The buffer of a tensor.
  Value* pack(Value* value) {
    value = padded(transposed(value, moved(format_.axis, rank_ - 1)));
    if (format_.channels_last) return value;
    return transposed(split(value), inverse(vectors_together()));
  }

 private:
  Value* add(std::unique_ptr<Op> op, std::vector<Value*> operands) {
    Node* node =
        graph_.add_node(std::move(op), std::move(operands), 1, fmt::format("reformat({})", name_));
    return node->output();
  }
  Value* integers(const std::vector<int64_t>& values) {
    return graph_.add_constant(Tensor::vector_i64(values));
  }
  Value* transposed(Value* value, std::vector<int64_t> permutation) {
    if (std::ranges::is_sorted(permutation)) return value;
    auto op = std::make_unique<Transpose>();
    op->permutation = std::move(permutation);
    return add(std::move(op), {value});
  }
  /// The last axis in as many pieces, and back. Zeros keep extents.
  Value* split(Value* value) {
    std::vector<int64_t> shape(static_cast<size_t>(rank_ - 1), 0);
    shape.insert(shape.end(), {format_.vectors(), format_.vector});
    return add(std::make_unique<Reshape>(), {value, integers(shape)});
  }
  Value* joined(Value* value) {
    std::vector<int64_t> shape(static_cast<size_t>(rank_ - 1), 0);
    shape.push_back(format_.vectors() * format_.vector);
    return add(std::make_unique<Reshape>(), {value, integers(shape)});
  }
  int64_t padding() const { return format_.vectors() * format_.vector - format_.channels; }
  Value* cut(Value* value) {
    if (padding() == 0) return value;
    return add(std::make_unique<Slice>(),
               {value, integers({0}), integers({format_.channels}), integers({rank_ - 1})});
  }
  Value* padded(Value* value) {
    if (padding() == 0) return value;
    std::vector<int64_t> pads(static_cast<size_t>(2 * rank_), 0);
    pads.back() = padding();
    return add(std::make_unique<Pad>(), {value, integers(pads)});
  }
  /// The axis `from` put at `to`.
  std::vector<int64_t> moved(int from, int to) const {
    std::vector<int64_t> order;
    for (int i = 0; i < rank_; ++i)
      if (i != from) order.push_back(i);
    order.insert(order.begin() + to, from);
    return order;
  }
  /// From [.., C / v, .., v] to [.., .., C / v, v].
  std::vector<int64_t> vectors_together() const {
    std::vector<int64_t> order = moved(format_.axis, rank_ - 1);
    order.push_back(rank_);
    return order;
  }
  static std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
    std::vector<int64_t> back(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return back;
  }

  Graph& graph_;
  const IoFormat& format_;
  std::string name_;
  int rank_;
};

void bind_input_format(Graph& graph, Value& input, const IoFormat& format) {
  const std::vector<Use> readers(input.uses().begin(), input.uses().end());
  const bool is_output = graph.is_output(&input);
  input.type.shape = format.to_buffer(input.type.shape);
  Value* inner = from_buffer(graph, format, &input, input.name);
  for (const Use& use : readers) use.node->set_input(use.index, inner);
  if (is_output)
    for (size_t i = 0; i < graph.outputs().size(); ++i)
      if (graph.outputs()[i] == &input) graph.set_output(static_cast<int>(i), inner);
}

void bind_output_format(Graph& graph, int index, const IoFormat& format) {
  Value* inner = graph.outputs()[static_cast<size_t>(index)];
  Value* outer = to_buffer(graph, format, inner, inner->name);
  if (outer == inner) return;
  if (inner->producer() != nullptr) outer->producer()->origins = inner->producer()->origins;
  outer->name = std::move(inner->name);
  inner->name.clear();
  graph.set_output(index, outer);
}

}  // namespace

std::vector<TensorFormat> formats_of_type(nvinfer1::DataType type) {
  std::vector<TensorFormat> formats;
  for (size_t i = 0; i < std::size(kFormatFacts); ++i)
    if ((kFormatFacts[i].types >> static_cast<uint32_t>(type) & 1U) != 0)
      formats.push_back(static_cast<TensorFormat>(i));
  return formats;
}

Result<IoFormat> format_of(TensorFormat format, const TensorType& type) {
  const FormatFacts& facts = facts_of(format);
  if (facts.vector == 0) return unsupported("there is no DLA");
  const auto rank = static_cast<int>(type.shape.size());
  const int axis = rank - facts.inner_axes - 1;
  if (axis < 0)
    return unsupported("it takes {} axes and more, and there are {}", facts.inner_axes + 1, rank);
  if (rank == nvinfer1::Dims::MAX_DIMS && !facts.channels_last)
    return unsupported("its vectors would be an axis more than {}", rank);
  if (!type.shape[static_cast<size_t>(axis)].is_constant())
    return unsupported("the number of channels is not known when the plan is built");
  if (const auto word = to_public(type.type); word.has_value() && is_half_a_byte(*word))
    return unsupported("two elements of {} share a byte", tenon::name_of(type.type));
  return IoFormat{format, axis, type.shape[static_cast<size_t>(axis)].constant(), facts.vector,
                  facts.channels_last};
}

Value* to_buffer(Graph& graph, const IoFormat& format, Value* tensor, const std::string& name) {
  return Mover(graph, format, name, static_cast<int>(tensor->type.shape.size())).pack(tensor);
}

Value* from_buffer(Graph& graph, const IoFormat& format, Value* buffer, const std::string& name) {
  const auto rank = static_cast<int>(buffer->type.shape.size()) - (format.channels_last ? 0 : 1);
  return Mover(graph, format, name, rank).unpack(buffer);
}

Extents IoFormat::to_buffer(const Extents& extents) const {
  return buffer_of(*this, extents);
}
Extents IoFormat::from_buffer(const Extents& extents) const {
  return tensor_of(*this, extents);
}
Shape IoFormat::to_buffer(const Shape& shape) const {
  return buffer_of(*this, shape);
}
Shape IoFormat::from_buffer(const Shape& shape) const {
  return tensor_of(*this, shape);
}

Status IoFormat::check(const std::string& tensor, const Extents& extents) const {
  const auto at = static_cast<size_t>(axis);
  if (at < extents.size() && extents[at] == channels) return {};
  return user_error("'{}' has {} channels in axis {}: the plan was built for that number, in {}",
                    tensor, channels, axis, network::name_of(format));
}

bool IoFormat::fits(const Shape& buffer) const {
  const size_t rank = buffer.size() - (channels_last ? 0 : 1);
  return !buffer.empty() && static_cast<size_t>(axis) < rank;
}

Extents IoFormat::strides(const Extents& extents) const {
  Extents strides(extents.size(), 1);
  const auto channels_at = static_cast<size_t>(axis);
  int64_t stride = channels_last ? vectors() : 1;
  for (size_t i = extents.size(); i-- > 0;) {
    if (channels_last && i == channels_at) continue;
    strides[i] = stride;
    const int64_t extent = i == channels_at ? vectors() : extents[i];
    stride = stride < 0 || extent < 0 ? -1 : stride * extent;
  }
  return strides;
}

const char* name_of(TensorFormat format) {
  const auto index = static_cast<size_t>(format);
  return index < std::size(kFormatFacts) ? kFormatFacts[index].name : "none";
}

Result<IoFormats> io_formats(const Network& network, const Graph& graph) {
  constexpr uint32_t kLinear = 1U << static_cast<uint32_t>(TensorFormat::kLINEAR);
  IoFormats formats;
  const auto take = [&](const TensorHandle& tensor, const char* kind,
                        const TensorType& type) -> Status {
    if ((tensor.getAllowedFormats() & kLinear) != 0) return {};
    TENON_ASSIGN(const IoFormat format, best_format(tensor, kind, type));
    formats.emplace(tensor.getName(), format);
    return {};
  };
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    const auto& input = static_cast<const TensorHandle&>(*network.getInput(i));
    for (const Value* value : graph.inputs())
      if (value->name == input.getName()) TENON_TRY(take(input, "input", value->type));
  }
  for (int32_t i = 0; i < network.getNbOutputs(); ++i) {
    const auto& output = static_cast<const TensorHandle&>(*network.getOutput(i));
    TENON_TRY(take(output, "output", graph.outputs()[static_cast<size_t>(i)]->type));
  }
  return formats;
}

Status bind_formats(Graph& graph, const IoFormats& formats) {
  if (formats.empty()) return {};
  for (Value* input : graph.inputs())
    if (const auto found = formats.find(input->name); found != formats.end())
      bind_input_format(graph, *input, found->second);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const auto found = formats.find(graph.outputs()[i]->name);
    // An output that is an input as well keeps its input format.
    if (found != formats.end() && graph.outputs()[i]->producer() != nullptr)
      bind_output_format(graph, static_cast<int>(i), found->second);
  }
  TENON_TRY(graph.sort());
  return infer_graph(graph);
}

/// TensorRT's words for types in such descriptions.
constexpr std::pair<DataType, const char*> kTypeWords[] = {
    {DataType::kFloat32, "FP32"},   {DataType::kFloat16, "FP16"},  {DataType::kBFloat16, "BF16"},
    {DataType::kFloat8E4M3, "FP8"}, {DataType::kInt8, "INT8"},     {DataType::kUInt8, "UINT8"},
    {DataType::kInt32, "INT32"},    {DataType::kInt64, "INT64"},   {DataType::kBool, "BOOL"},
    {DataType::kInt4, "INT4"},      {DataType::kFloat4E2M1, "FP4"}};

std::string description(nvinfer1::TensorFormat format, DataType type) {
  const auto* const found =
      std::ranges::find(kTypeWords, type, &std::pair<DataType, const char*>::first);
  const std::string_view word =
      found == std::end(kTypeWords) ? tenon::name_of(type) : std::string_view(found->second);
  return fmt::format(fmt::runtime(facts_of(format).description), word);
}

std::string to_text(const IoFormat& format) {
  return fmt::format("{} {} {}", static_cast<int>(format.format), format.axis, format.channels);
}

std::optional<IoFormat> io_format_of(std::string_view text) {
  std::array<int64_t, 3> numbers{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int64_t& number : numbers) {
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc() || number < 0) return std::nullopt;
    at = read.ptr == end ? end : read.ptr + 1;
  }
  const auto [format, axis, channels] = numbers;
  if (format >= static_cast<int64_t>(std::size(kFormatFacts))) return std::nullopt;
  const FormatFacts& facts = kFormatFacts[static_cast<size_t>(format)];
  if (facts.vector == 0 || axis >= nvinfer1::Dims::MAX_DIMS) return std::nullopt;
  return IoFormat{static_cast<TensorFormat>(format), static_cast<int>(axis), channels, facts.vector,
                  facts.channels_last};
}

}  // namespace tenon::network
