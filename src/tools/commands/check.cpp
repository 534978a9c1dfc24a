// `tenon check`.
#include <memory>

#include "NvInfer.h"
#include "NvOnnxParser.h"
#include "base/counted.h"
#include "tools/api_logger.h"
#include "tools/commands/engine_source.h"
#include "tools/page.h"
#include "tools/preparation.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon check model.onnx", "everything that is in the way, at once"},
    {"tenon check model.onnx --dynamicPlugins=mine.so", "with the operators of a plugin library"},
};

constexpr Usage kUsage = {
    .command = "check",
    .words = "MODEL [flags]",
    .purpose =
        "Lists all that keeps a model from being built, each with what to try. Nothing is "
        "built.",
    .examples = kExamples,
    .flags = {},
    .exec_flags = ExecFlags::kModel,
};

/// The first step of the remedy of the catalogue's row that the problem belongs to.
struct Advice {
  const ErrorRow* row;
  std::string_view step;
};

Advice advice_on(std::string_view message) {
  const ErrorRow& row = classify(Stage::kModel, message);
  return {&row, row.steps().front()};
}

std::string place_of(const nvonnxparser::IParserError& error) {
  const std::string_view name = error.nodeName(), type = error.nodeOperator();
  if (error.node() < 0 && name.empty()) return "the model";
  std::string place = error.node() >= 0 ? fmt::format("node {}", error.node()) : "node";
  if (!name.empty()) place += fmt::format(" '{}'", name);
  if (!type.empty()) place += fmt::format(" ({})", type);
  return place;
}

void show_problem(Session& session, int number, const nvonnxparser::IParserError& error) {
  const Advice advice = advice_on(error.desc());
  session.line("\n  {}  {}  {}", number, session.bold(advice.row->name()), place_of(error));
  session.line("{}", wrapped("     ", error.desc(), 5));
  session.line("{}", wrapped("     try:", advice.step, 10));
}

Status check(Session& session, const CommandLine& line) {
  TENON_TRY(expect_model(session, "check", line.words().front()));
  TENON_TRY(open_plugins(line.arguments(), session.console()));
  session.enter(Stage::kModel);
  ApiLogger logger(session.console());
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger));
  if (!builder) return internal_error("the builder could not be made");
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  if (!network || !parser) return internal_error("the network could not be made");
  const std::string& file = line.words().front();
  session.line("{}", session.bold(file));
  if (parser->parseFromFile(file.c_str(), static_cast<int>(nvinfer1::ILogger::Severity::kERROR))) {
    session.line("\n  {}; nothing is in the way.", counted(network->getNbLayers(), "layer"));
    return {};
  }
  session.console().take_errors();  // The list says them again, with more.
  const int count = parser->getNbErrors();
  for (int i = 0; i < count; ++i) show_problem(session, i + 1, *parser->getError(i));
  if (count == 1) {
    const ErrorRow& row = classify(Stage::kModel, parser->getError(0)->desc());
    return session.fail(row.id, "{}: {}", file, parser->getError(0)->desc());
  }
  return session.fail(ErrorId::kModel, "{}: {} problems; the list above has each one's remedy",
                      file, count);
}

}  // namespace

int run_check(std::span<const char* const> words) {
  return run_with_line(kUsage, words, check);
}

}  // namespace tenon::tools
