// `tenon quantize`.
#include "tenon/quantize.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "NvOnnxParser.h"
#include "tools/api_logger.h"
#include "tools/arrays.h"
#include "tools/commands.h"
#include "tools/commands/engine_source.h"
#include "tools/exports.h"
#include "tools/quantize_options.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

/// A model of one input may have an array without a name.
Status name_single_array(std::vector<NumpyArray>& arrays, const std::string& model,
                         ApiLogger& logger) {
  if (arrays.size() != 1 || !arrays[0].name.empty()) return {};
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger));
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  if (!parser->parseFromFile(model.c_str(),
                             static_cast<int>(nvinfer1::ILogger::Severity::kWARNING)))
    return user_error("the model '{}' could not be read; see the errors above", model);
  if (network->getNbInputs() != 1)
    return user_error(
        "--calibration_data: the model has {} inputs: give an .npz file with an array for each "
        "(numpy.savez(file, name=array, ...))",
        network->getNbInputs());
  arrays[0].name = network->getInput(0)->getName();
  return {};
}

Status quantize(Session& session, const QuantizeArguments& given) {
  const auto text = [&](const char* flag) { return given.text(flag); };
  const std::string model = text("onnx_path");
  if (model.empty())
    return session.fail(ErrorId::kMissingArgument, "usage: tenon quantize MODEL [-o OUTPUT]");
  TENON_TRY(expect_model(session, "quantize", model));
  std::string output = text("output_path");
  if (output.empty()) output = std::filesystem::path(model).replace_extension(".quant.onnx");
  TENON_TRY(check_writable(output, model));
  ApiLogger logger(session.console());
  std::vector<NumpyArray> arrays;
  if (const std::string file = text("calibration_data"); !file.empty()) {
    Result<std::vector<NumpyArray>> read = read_arrays(file);
    if (!read.ok()) return std::move(read).error().with_context("--calibration_data");
    arrays = *std::move(read);
    if (arrays.empty()) return user_error("the calibration data in '{}' hold no array", file);
    session.enter(Stage::kModel);
    TENON_TRY(name_single_array(arrays, model, logger));
  }
  std::vector<QuantizeData> data;
  for (const NumpyArray& array : arrays)
    data.push_back({array.name.c_str(), array.type, array.dims, array.bytes.data()});
  QuantizeOptions options;
  const std::string mode = text("quantize_mode"), op_types = text("op_types_to_quantize"),
                    op_types_left_out = text("op_types_to_exclude"),
                    nodes = text("nodes_to_quantize"), left_out = text("nodes_to_exclude"),
                    shapes = text("calibration_shapes"), cache = text("calibration_cache_path"),
                    device = text("device");
  // Weights alone need no calibration.
  const std::string method = text("calibration_method");
  options.onnxPath = model.c_str();
  options.outputPath = output.c_str();
  options.mode = mode.c_str();
  options.method = method.c_str();
  options.percentile = given.number("percentile");
  options.perChannel = given.text("per_channel") != "false";
  options.blockSize = static_cast<int32_t>(given.number("block_size"));
  options.device = device.c_str();
  options.opTypes = op_types.c_str();
  options.opTypesToExclude = op_types_left_out.c_str();
  options.nodesToQuantize = nodes.c_str();
  options.nodesToExclude = left_out.c_str();
  options.data = data.data();
  options.dataCount = static_cast<int32_t>(data.size());
  options.shapes = shapes.c_str();
  options.cachePath = cache.c_str();
  options.sensitivity = !text("sensitivity").empty();
  options.externalData = !text("use_external_data_format").empty();
  if (!text("max-drop").empty()) options.maxDrop = given.number("max-drop");
  session.enter(Stage::kModel);
  std::string report(1 << 20, '\0');
  const int32_t count =
      quantizeOnnx(options, report.data(), static_cast<int64_t>(report.size()), logger);
  if (count < 0) return user_error("'{}' is not quantized", model);
  session.console().plain(report.c_str());
  session.line("{} layers are quantized to {}: {}", count, mode, output);
  return {};
}

}  // namespace

int run_quantize(std::span<const char* const> words) {
  return run_session("tenon quantize", [&](Session& session) -> Status {
    TENON_ASSIGN(const QuantizeArguments given, QuantizeArguments::parse(words));
    if (given.wants_help()) {
      session.console().plain(QuantizeArguments::help());
      return {};
    }
    for (const std::string& remark : given.remarks()) session.console().warning("{}", remark);
    return quantize(session, given);
  });
}

}  // namespace tenon::tools
