#include "tools/commands/sides.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "NvOnnxParser.h"
#include "tools/api_logger.h"
#include "tools/commands/plan_table.h"
#include "tools/debug_dump.h"
#include "tools/measure.h"
#include "tools/tensor_words.h"

namespace tenon::tools {
namespace {

/// Contents with the same name, type and number of bytes replace those of the runner.
Status take_inputs(Runner& runner, const Inputs& inputs) {
  for (const auto& binding : runner.bindings()) {
    const auto given = binding->is_input ? inputs.find(binding->name) : inputs.end();
    if (given == inputs.end()) continue;
    const InputContents& contents = given->second;
    if (contents.bytes.size() > binding->memory.size() || contents.type != binding->type)
      return user_error("input '{}' is {} of shape {} on one side, {} of shape {} on the other",
                        binding->name, type_word(contents.type), dims_text(contents.dims),
                        type_word(binding->type), dims_text(binding->dims));
    std::ranges::copy(contents.bytes, binding->memory.data());
  }
  return {};
}

Inputs inputs_of(const Runner& runner) {
  Inputs inputs;
  for (const auto& binding : runner.bindings()) {
    if (!binding->is_input) continue;
    const auto bytes =
        static_cast<size_t>(std::max<int64_t>(bytes_of(binding->dims, binding->type), 0));
    const char* data = binding->memory.data();
    inputs[binding->name] = {binding->type, binding->dims, {data, data + bytes}};
  }
  return inputs;
}

/// In the order in which the model's nodes make them; others behind them.
Status sort_as_in_model(Session& session, const std::string& model, TensorValues& values) {
  TENON_ASSIGN(const Json json, model_json(session, model));
  std::map<std::string, size_t> places;
  for (const Json& node : json["nodes"])
    for (const Json& output : node["outputs"])
      places.emplace(output.get<std::string>(), places.size());
  std::ranges::stable_sort(values, {}, [&](const OutputValues& tensor) {
    const auto place = places.find(tensor.name);
    return place == places.end() ? places.size() : place->second;
  });
  return {};
}

nvinfer1::Dims dims_of(const nvinfer1::ITensor& input, const Inputs& inputs) {
  const auto given = inputs.find(input.getName());
  return given == inputs.end() ? input.getDimensions() : given->second.dims;
}

}  // namespace

void KeptValues::value(const char* name, nvinfer1::DataType type, const nvinfer1::Dims& shape,
                       const void* data) noexcept {
  Binding tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.dims = shape;
  const auto bytes = static_cast<size_t>(bytes_of(shape, type));
  if (!tensor.memory.resize(bytes)) return;
  std::memcpy(tensor.memory.data(), data, bytes);
  values.push_back(tensor.values());
}

Result<Computed> compute_by_engine(Session& session, const Arguments& arguments,
                                   const Inputs* given, bool inside) {
  TENON_ASSIGN(const LoadedEngine engine, engine_of(session, arguments));
  session.enter(Stage::kRun);
  return compute_on(session, *engine.engine, arguments, given, inside);
}

Result<Computed> compute_on(Session& session, nvinfer1::ICudaEngine& engine,
                            const Arguments& arguments, const Inputs* given, bool inside) {
  TENON_ASSIGN(const auto runners, make_runners(engine, arguments, session.console()));
  Runner& runner = *runners.front();
  if (given != nullptr) TENON_TRY(take_inputs(runner, *given));
  Computed computed{.inputs = inputs_of(runner)};
  std::vector<QueryTimes> times;
  TENON_TRY(runner.query(Clock(), times));
  TENON_TRY(runner.finish(times));
  for (const auto& binding : runner.bindings()) {
    if (binding->is_input) continue;
    computed.tensors.push_back(binding->values());
    computed.outputs.push_back(binding->name);
  }
  if (!inside) return computed;
  TENON_ASSIGN(TensorValues values,
               gather_debug_tensors(runner.context(), arguments, session.console()));
  std::erase_if(values, [&](const OutputValues& tensor) {
    return std::ranges::find(computed.outputs, tensor.name) != computed.outputs.end();
  });
  if (arguments.has(OptionId::onnx))
    TENON_TRY(sort_as_in_model(session, arguments.text(OptionId::onnx), values));
  std::ranges::move(computed.tensors, std::back_inserter(values));
  computed.tensors = std::move(values);
  return computed;
}

Result<TensorValues> compute_by_reference(Session& session, const Arguments& arguments,
                                          const Inputs& inputs) {
  ApiLogger logger(session.console());
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger));
  if (!builder) return internal_error("the builder could not be made");
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  const std::string model = arguments.text(OptionId::onnx);
  if (!parser->parseFromFile(model.c_str(), static_cast<int>(nvinfer1::ILogger::Severity::kERROR)))
    return user_error("the model '{}' could not be read", model);
  nvinfer1::IOptimizationProfile& profile = *builder->createOptimizationProfile();
  std::vector<const void*> contents;
  for (int i = 0; i < network->getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *network->getInput(i);
    const auto given = inputs.find(input.getName());
    if (given == inputs.end())
      return user_error("the model's input '{}' has no contents: the plan has no such input",
                        input.getName());
    contents.push_back(given->second.bytes.data());
    for (const auto which : {nvinfer1::OptProfileSelector::kMIN, nvinfer1::OptProfileSelector::kOPT,
                             nvinfer1::OptProfileSelector::kMAX})
      profile.setDimensions(input.getName(), which, dims_of(input, inputs));
  }
  KeptValues keep;
  if (!evaluateReference(*network, profile, contents.data(), keep, logger))
    return user_error("the reference could not evaluate '{}'", model);
  return std::move(keep.values);
}

}  // namespace tenon::tools
