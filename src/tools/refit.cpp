#include "tools/refit.h"

#include <chrono>
#include <memory>
#include <vector>

#include "NvOnnxParser.h"

namespace tenon::tools {
namespace {

using nvinfer1::IRefitter;

constexpr int kTimedRefits = 10;

void print_weights(IRefitter& refitter, Console& console) {
  std::vector<const char*> names(static_cast<size_t>(refitter.getAllWeights(0, nullptr)));
  refitter.getAllWeights(static_cast<int32_t>(names.size()), names.data());
  console.requested("Weights that can be refitted: {}", names.size());
  for (const char* name : names)
    console.requested("{} ({} values)", name, refitter.getWeightsPrototype(name).count);
}

/// The model whose weights are taken: that of --refitFromOnnx, else the one that was built.
std::string source_of(const Arguments& arguments) {
  return arguments.text(arguments.has(OptionId::refitFromOnnx) ? OptionId::refitFromOnnx
                                                               : OptionId::onnx);
}

/// The weights of a model, given to the refitter. The returned object keeps them until they are
/// used.
Result<std::unique_ptr<nvonnxparser::IParserRefitter>> take_weights(IRefitter& refitter,
                                                                    const std::string& file,
                                                                    nvinfer1::ILogger& logger) {
  std::unique_ptr<nvonnxparser::IParserRefitter> parser(
      nvonnxparser::createParserRefitter(refitter, logger));
  if (parser == nullptr || !parser->refitFromFile(file.c_str()))
    return user_error("the weights of '{}' could not be taken; see the errors above", file);
  return parser;
}

Status time_refits(IRefitter& refitter, const std::string& file, Console& console,
                   nvinfer1::ILogger& logger) {
  double total = 0;
  for (int i = 0; i <= kTimedRefits; ++i) {
    TENON_ASSIGN(const auto weights, take_weights(refitter, file, logger));
    const auto start = std::chrono::steady_clock::now();
    if (!refitter.refitCudaEngine()) return user_error("the engine could not be refitted");
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (i > 0) total += time.count();
  }
  console.requested("Engine refitted in {:g} ms on average of {}.", total / kTimedRefits,
                    kTimedRefits);
  return {};
}

}  // namespace

Status refit_engine(nvinfer1::ICudaEngine& engine, const Arguments& arguments, Console& console,
                    nvinfer1::ILogger& logger) {
  const bool refits = arguments.has(OptionId::refitFromOnnx);
  const bool timed = arguments.flag(OptionId::timeRefit);
  if (!refits && !timed && !arguments.flag(OptionId::dumpRefit)) return {};
  const std::unique_ptr<IRefitter> refitter(nvinfer1::createInferRefitter(engine, logger));
  if (refitter == nullptr)
    return user_error("the engine cannot be refitted: build its plan with --refit");
  if (arguments.flag(OptionId::dumpRefit)) print_weights(*refitter, console);
  const std::string file = source_of(arguments);
  if (timed && file.empty())
    return user_error("--timeRefit needs weights: give --onnx=file or --refitFromOnnx=file");
  if (timed) TENON_TRY(time_refits(*refitter, file, console, logger));
  if (!refits) return {};
  TENON_ASSIGN(const auto weights, take_weights(*refitter, file, logger));
  if (!refitter->refitCudaEngine()) return user_error("the engine could not be refitted");
  console.info("Engine refitted with the weights of {}", file);
  return {};
}

}  // namespace tenon::tools
