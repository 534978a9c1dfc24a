#include "onnx/refitter.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/guard.h"
#include "network/convert.h"
#include "onnx/external_data.h"
#include "onnx/function_names.h"
#include "onnx/model_file.h"
#include "onnx/tensor_reader.h"
#include "onnx_proto/onnx.pb.h"
#include "ops/ops.h"

namespace tenon::importer {
namespace {

std::set<std::string> names_of_weights(nvinfer1::IRefitter& refitter) {
  const int32_t count = std::max(refitter.getAllWeights(0, nullptr), 0);
  std::vector<const char*> names(static_cast<size_t>(count), nullptr);
  refitter.getAllWeights(count, names.data());
  std::set<std::string> result;
  for (const char* name : names)
    if (name != nullptr) result.insert(name);
  return result;
}

/// As applications have numbers of 4 bits: two in a byte, the first one low.
Tensor packed(const Tensor& tensor) {
  Tensor bytes(DataType::kUInt8, {(tensor.count() + 1) / 2});
  std::fill_n(bytes.mutable_bytes(), bytes.byte_count(), std::byte{0});
  for (int64_t i = 0; i < tensor.count(); ++i)
    bytes.mutable_bytes()[i / 2] |= (tensor.bytes()[i] & std::byte{15}) << (i % 2 * 4);
  return bytes;
}

}  // namespace

bool ParserRefitter::finish(const Status& status) {
  return status.ok() || errors_.refuse(ImportCode::kRefitFailed, status.error().message);
}

/// The first tensor of a name counts, as it does for the engine.
Status ParserRefitter::set(const std::string& name, const Tensor& tensor) {
  if (!wanted_.contains(name)) return {};
  if (weights_.contains(name)) {
    logger_.log(nvinfer1::ILogger::Severity::kWARNING,
                fmt::format("several tensors are called \"{}\": the first is taken", name).c_str());
    return {};
  }
  auto type = network::to_public(tensor.type());
  if (!type.has_value() && byte_size(tensor.type()) == 1) type = nvinfer1::DataType::kUINT8;
  if (!type.has_value())
    return unsupported("\"{}\": weights of type {} cannot be refitted", name,
                       name_of(tensor.type()));
  const Tensor& kept =
      weights_.emplace(name, network::is_half_a_byte(*type) ? packed(tensor) : tensor)
          .first->second;
  if (!refitter_.setNamedWeights(name.c_str(), {*type, kept.bytes(), tensor.count()}))
    return user_error("the refitter does not take the weights \"{}\": {} x {}", name,
                      tensor.count(), name_of(tensor.type()));
  return {};
}

void ParserRefitter::compare_fixed(const std::string& name, const Tensor& tensor) {
  if (!is_fixed(name)) return;
  const Tensor& built = *fixed_->fixed_weights(name);
  bool same = built.extents() == tensor.extents();
  for (int64_t i = 0; same && i < built.count(); ++i)
    same = built.as_double(i) == tensor.as_double(i);
  if (!same) changed_.push_back(fmt::format("\"{}\"", name));
}

struct ParserRefitter::Source {
  TensorReader& tensors;
  const ImportRequest& request;
  std::map<std::string, const ::onnx::FunctionProto*> functions;
  int64_t nodes_left = 10'000'000;  ///< Functions that call functions multiply.
};

struct ParserRefitter::Place {
  std::string prefix;
  int depth = 0;
};

Status ParserRefitter::refit_graph(const ::onnx::GraphProto& graph, Source& source,
                                   const Place& place) {
  for (const auto& proto : graph.initializer()) {
    const std::string name = scoped_name(place.prefix, proto.name());
    const auto given = source.request.options.values.find(proto.name());
    if (given != source.request.options.values.end()) {
      compare_fixed(name, given->second);
      TENON_TRY(set(name, given->second));
    } else if (wanted_.contains(name) || is_fixed(name)) {
      TENON_ASSIGN(const Tensor tensor, source.tensors.read(proto));
      compare_fixed(name, tensor);
      TENON_TRY(set(name, tensor));
    }
  }
  for (const auto& node : graph.node()) TENON_TRY(refit_node(node, source, place));
  return {};
}

Status ParserRefitter::refit_node(const ::onnx::NodeProto& node, Source& source,
                                  const Place& place) {
  if (--source.nodes_left < 0)
    return user_error("the model has too many nodes: its functions multiply");
  if (node.op_type() == "Constant" && node.output_size() == 1) {
    const std::string name = scoped_name(place.prefix, node.output(0));
    return wanted_.contains(name) || is_fixed(name) ? refit_constant(node, source, name) : Status();
  }
  for (const auto& attribute : node.attribute())
    if (attribute.has_g()) TENON_TRY(refit_graph(attribute.g(), source, place));
  const auto called =
      source.functions.find(function_key(node.domain(), node.op_type(), node.overload()));
  if (called == source.functions.end()) return {};
  if (place.depth >= kMaxFunctionDepth)
    return user_error("the model's functions call each other too deep");
  const Place inside{call_prefix(node_name(place.prefix, node)), place.depth + 1};
  for (const auto& inner : called->second->node()) TENON_TRY(refit_node(inner, source, inside));
  return {};
}

/// A constant is a tensor, a number or a list of numbers.
Status ParserRefitter::refit_constant(const ::onnx::NodeProto& node, Source& source,
                                      const std::string& name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == "value" && attribute.has_t()) {
      TENON_ASSIGN(const Tensor tensor, source.tensors.read(attribute.t()));
      compare_fixed(name, tensor);
      return set(name, tensor);
    }
    if (attribute.name() == "value_float") return set(name, Tensor::scalar_f32(attribute.f()));
    if (attribute.name() == "value_int") {
      const Tensor number = Tensor::scalar_i64(attribute.i());
      compare_fixed(name, number);
      return set(name, number);
    }
    if (attribute.name() == "value_floats")
      return set(name, Tensor::of<float>(DataType::kFloat32, {attribute.floats_size()},
                                         std::span(attribute.floats().data(),
                                                   static_cast<size_t>(attribute.floats_size()))));
    if (attribute.name() == "value_ints") {
      const std::vector<int64_t> numbers(attribute.ints().begin(), attribute.ints().end());
      compare_fixed(name, Tensor::vector_i64(numbers));
      return set(name, Tensor::vector_i64(numbers));
    }
  }
  return {};
}

/// Weights that the importer makes of initializers, under names of its own: blobs of packed
/// numbers, scales times each other.
Status ParserRefitter::refit_derived(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (const auto* constant = node->as<Constant>(); constant != nullptr) {
      const std::string& name = node->output()->name.empty() ? node->name : node->output()->name;
      if (constant->value.defined() && !weights_.contains(name))
        TENON_TRY(set(name, constant->value));
    }
    for (const auto& body : node->bodies) TENON_TRY(refit_derived(*body));
  }
  return {};
}

Status ParserRefitter::refit(std::span<const std::byte> bytes, const ImportRequest& request) {
  TENON_ASSIGN(const auto proto, parse_model(bytes));
  ExternalDataFolder folder(request.directory);
  TensorReader tensors(proto, folder, true);
  wanted_ = names_of_weights(refitter_);
  weights_.clear();
  changed_.clear();
  Source source{tensors, request, {}};
  for (const auto& function : proto->functions())
    source.functions[function_key(function.domain(), function.name(), function.overload())] =
        &function;
  TENON_TRY(refit_graph(proto->graph(), source, {}));
  if (!changed_.empty())
    return user_error(
        "the model's {} {} other integers than the one that the engine was built from: shapes and "
        "the choice of kernels follow from them, so that they cannot be refitted; build the engine "
        "again",
        fmt::join(changed_, ", "), changed_.size() == 1 ? "holds" : "hold");
  if (weights_.size() < wanted_.size() && !weights_.empty()) {
    ImportRequest whole = request;
    whole.bytes = bytes;
    // Nodes that were plugins when the plan was built need no import for their weights.
    if (auto network = import_model(whole); network.ok()) TENON_TRY(refit_derived(*network->graph));
  }
  if (weights_.empty() && !wanted_.empty())
    return user_error("the model has none of the {} weights that the engine was built with",
                      wanted_.size());
  return {};
}

bool ParserRefitter::refitFromBytes(const void* model, size_t size, const char* path) noexcept {
  if (model == nullptr) return errors_.refuse(ImportCode::kInvalidValue, "the model is null");
  ImportRequest request;
  request.directory = folder_of(path);
  return finish(guarded("refit", [&] {
    return refit({static_cast<const std::byte*>(model), size}, request);
  }));
}

bool ParserRefitter::refitFromFile(const char* path) noexcept {
  if (path == nullptr) return errors_.refuse(ImportCode::kInvalidValue, "the file name is null");
  const Result<MappedBytes> bytes = guarded("refit", [&] { return map_file(path); });
  if (!bytes.ok()) return finish(bytes.error());
  ImportRequest request;
  request.directory = folder_of(path);
  return finish(guarded("refit", [&] { return refit({bytes->data, bytes->size}, request); }));
}

bool ParserRefitter::loadModelProto(const void* model, size_t size, const char* path) noexcept {
  return finish(guarded("loadModelProto", [&] { return loaded_.load(model, size, path); }));
}

bool ParserRefitter::loadInitializer(const char* name, const void* data, size_t size) noexcept {
  return finish(guarded("loadInitializer", [&] { return loaded_.set(name, data, size); }));
}

bool ParserRefitter::refitModelProto() noexcept {
  const ImportRequest request = loaded_.request();
  return finish(guarded("refitModelProto", [&] { return refit(request.bytes, request); }));
}

}  // namespace tenon::importer
