#include <algorithm>
#include <memory>

#include "NvInfer.h"
#include "NvOnnxParser.h"
#include "base/guard.h"
#include "tenon/self_check.h"
#include "tools/api_logger.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/exports.h"
#include "tools/interrupt.h"
#include "tools/tensor_words.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

constexpr const char* kUsage =
    "usage: tenon nan-hunt --onnx=file [--shapes=input:1x3x224x224,...] "
    "[--loadInputs=input:file,...]\n"
    "\n"
    "Evaluates the model operator by operator, as it is and in 16-bit floating point, and names\n"
    "the first node that makes a NaN or an infinity out of finite inputs. Inputs are random where\n"
    "no files are given, and extents that are open are 1 where no shapes are.\n";

nvinfer1::Dims usual_dims(const nvinfer1::ITensor& input, const std::vector<NamedShape>& shapes) {
  if (const NamedShape* shape = find_shape(shapes, input.getName())) return to_dims(shape->dims);
  nvinfer1::Dims dims = input.getDimensions();
  for (int i = 0; i < dims.nbDims; ++i) dims.d[i] = std::max<int64_t>(dims.d[i], 1);
  return dims;
}

/// Contents of all inputs, in the network's order; none where no files are given.
Result<std::vector<std::vector<char>>> read_inputs(const nvinfer1::INetworkDefinition& network,
                                                   const std::vector<NamedShape>& shapes,
                                                   const std::vector<NamedText>& files) {
  std::vector<std::vector<char>> contents;
  for (int i = 0; i < network.getNbInputs() && !files.empty(); ++i) {
    const nvinfer1::ITensor& input = *network.getInput(i);
    const auto file = std::find_if(files.begin(), files.end(), [&](const NamedText& entry) {
      return matches(entry.name, input.getName());
    });
    if (file == files.end())
      return user_error("--loadInputs names no file for '{}'", input.getName());
    TENON_ASSIGN(std::vector<char> bytes, read_file(file->text));
    const int64_t expected = bytes_of(usual_dims(input, shapes), input.getType());
    if (static_cast<int64_t>(bytes.size()) != expected)
      return user_error("'{}' holds {} bytes; '{}' needs {}", file->text, bytes.size(),
                        input.getName(), expected);
    contents.push_back(std::move(bytes));
  }
  return contents;
}

Result<int> hunt(const Arguments& arguments, Console& console) {
  if (!arguments.unknown().empty())
    return user_error("unknown option {}", arguments.unknown().front());
  ApiLogger logger(console);
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger));
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  const std::string model = arguments.text(OptionId::onnx);
  if (!parser->parseFromFile(model.c_str(),
                             static_cast<int>(nvinfer1::ILogger::Severity::kWARNING)))
    return user_error("the model '{}' could not be read; see the errors above", model);
  std::vector<NamedShape> shapes;
  if (arguments.has(OptionId::shapes)) {
    TENON_ASSIGN(shapes, parse_shape_list(arguments.text(OptionId::shapes)));
  }
  TENON_ASSIGN(const auto files, parse_map(arguments.text(OptionId::loadInputs)));
  nvinfer1::IOptimizationProfile* profile = builder->createOptimizationProfile();
  for (int i = 0; i < network->getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *network->getInput(i);
    for (const auto which : {nvinfer1::OptProfileSelector::kMIN, nvinfer1::OptProfileSelector::kOPT,
                             nvinfer1::OptProfileSelector::kMAX})
      profile->setDimensions(input.getName(), which, usual_dims(input, shapes));
  }
  TENON_ASSIGN(const auto contents, read_inputs(*network, shapes, files));
  std::vector<const void*> addresses;
  for (const auto& bytes : contents) addresses.push_back(bytes.data());
  std::string report(1 << 16, '\0');
  const int32_t found = huntNonFinite(
      *network, *profile, addresses.empty() ? nullptr : addresses.data(), report.data(),
      static_cast<int64_t>(report.size()), logger, is_interrupted, nullptr);
  if (found < 0 && interrupted()) return user_error("stopped: '{}' is not searched", model);
  if (found < 0) return user_error("the model '{}' could not be evaluated", model);
  console.plain(found == 0 ? "every value is finite" : report.c_str());
  return found == 0 ? 0 : 2;
}

}  // namespace

int run_nan_hunt(std::span<const char* const> words) {
  Console console(Severity::kWarning);
  const Result<Arguments> arguments = parse_arguments(words);
  if (arguments.ok() && (words.empty() || arguments->flag(OptionId::help))) {
    console.plain(kUsage);
    return words.empty() ? 1 : 0;
  }
  watch_interrupts();
  const Result<int> status = guarded("searching", [&]() -> Result<int> {
    if (!arguments.ok()) return arguments.error();
    return hunt(*arguments, console);
  });
  if (!status.ok()) console.error("{}", status.error().message);
  return status.ok() ? *status : 1;
}

}  // namespace tenon::tools
