#include <memory>

#include "NvInfer.h"
#include "NvOnnxParser.h"
#include "base/counted.h"
#include "tenon/self_check.h"
#include "tools/api_logger.h"
#include "tools/commands/engine_source.h"
#include "tools/commands/model_inputs.h"
#include "tools/interrupt.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon nan-hunt bert.onnx", "as it is, in fp16 and in bf16"},
    {"tenon nan-hunt bert.onnx --shapes=input_ids:1x64", "with these extents"},
    {"tenon nan-hunt vit.onnx --loadInputs=input:cat.bin", "with real inputs"},
};

constexpr Usage kUsage = {
    .command = "nan-hunt",
    .words = "MODEL [flags]",
    .purpose =
        "Evaluates the model operator by operator, as it is and in 16-bit floating point, "
        "and names the first node that makes a NaN or an infinity out of finite inputs. "
        "Inputs are random where no files are given, and extents that are open are 1 where "
        "no shapes are.",
    .examples = kExamples,
    .flags = {},
    .exec_flags = ExecFlags::kModel,
    .least_words = 0,
};

Status hunt(Session& session, const CommandLine& line) {
  const Arguments& arguments = line.arguments();
  const std::string model =
      line.words().empty() ? arguments.text(OptionId::onnx) : line.words().front();
  if (model.empty())
    return session.fail(ErrorId::kMissingArgument, "usage: tenon nan-hunt MODEL [flags]");
  TENON_TRY(expect_model(session, "nan-hunt", model));
  session.enter(Stage::kModel);
  ApiLogger logger(session.console());
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger));
  if (!builder) return internal_error("the builder could not be made");
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  if (!parser->parseFromFile(model.c_str(),
                             static_cast<int>(nvinfer1::ILogger::Severity::kWARNING)))
    return user_error("the model '{}' could not be read", model);
  session.enter(Stage::kRun);
  watch_interrupts();
  std::vector<NamedShape> shapes;
  if (arguments.has(OptionId::shapes)) {
    TENON_ASSIGN(shapes, parse_shape_list(arguments.text(OptionId::shapes)));
  }
  TENON_ASSIGN(const auto files, parse_map("--loadInputs", arguments.text(OptionId::loadInputs)));
  const nvinfer1::IOptimizationProfile& profile = usual_profile(*builder, *network, shapes);
  TENON_ASSIGN(const auto contents, read_inputs(*network, shapes, files));
  std::vector<const void*> addresses;
  for (const auto& bytes : contents) addresses.push_back(bytes.data());
  std::string report(1 << 16, '\0');
  const int32_t found = huntNonFinite(
      *network, profile, addresses.empty() ? nullptr : addresses.data(), report.data(),
      static_cast<int64_t>(report.size()), logger, is_interrupted, nullptr);
  if (found < 0 && interrupted())
    return session.fail(ErrorId::kStopped, "stopped: '{}' is not searched", model);
  if (found < 0) return user_error("the model '{}' could not be evaluated", model);
  if (found == 0) {
    session.line("every value is finite");
    return {};
  }
  session.console().plain(report.c_str());
  return session.fail(ErrorId::kNotFinite, "'{}' has such a node in {}", model,
                      counted(found, "precision"));
}

}  // namespace

int run_nan_hunt(std::span<const char* const> words) {
  return run_with_line(kUsage, words, hunt);
}

}  // namespace tenon::tools
