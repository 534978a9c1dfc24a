// `tenon debug`.
#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/counted.h"
#include "tools/commands/comparison.h"
#include "tools/commands/engine_source.h"
#include "tools/commands/precision_trials.h"
#include "tools/layer_search.h"
#include "tools/page.h"
#include "tools/preparation.h"
#include "tools/tensor_words.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon debug precision bert.onnx --fp16", "the layers to keep in fp32"},
    {"tenon debug precision bert.onnx --bf16 --by=rounding", "without builds, on the CPU"},
    {"tenon debug precision bert.quant.onnx --int8 --against=bert.onnx", "layers not to quantize"},
    {"tenon debug precision bert.onnx --fp16 --check ./accuracy.py tenon_debug.plan",
     "judged by a command"},
};

constexpr OwnFlag kFlags[] = {
    {"tolerance", "N",
     "distance from the outputs in fp32 (length of the difference over theirs) that is agreement "
     "still; by default as the precisions of the flags round"},
    {"max-drop", "N", "the same by the name that `tenon quantize` has for it"},
    {"mode", "WORD",
     "minimal (default): as few layers as suffice, wherever they are; bisect, linear: as few from "
     "one end of the model, as Polygraphy has it"},
    {"dir", "WORD", "of bisect and linear: forward (default), from the inputs; reverse"},
    {"p", "WORD", "precision of kept layers: float32 (default); float16 beside --int8 --fp16"},
    {"by", "WORD",
     "plans: builds that run on the device, as the flags say; rounding: 16 bits on the CPU without "
     "builds (the default of --fp16 for a CPU, which computes in bf16 in its place)"},
    {"against", "FILE", "the model before it was quantized, for the outputs in fp32"},
    {"check", "COMMAND",
     "judge plans by the exit status of a command; behind `--check ` the rest of the line is one"},
    {"iter-artifact", "FILE", "the plan that the command is to check (default tenon_debug.plan)"},
    {"fail-code", "LIST", "exit statuses of the command that mean failure; others do not"},
    {"ignore-fail-code", "LIST", "exit statuses that mean no failure"},
    {"fail-regex", "TEXT", "output of the command that means failure; without it there is none"},
    {"show-output", "", "print the output of the command also where it does not fail"},
    {"hide-fail-output", "", "do not print it where it does"},
    {"o", "PLAN", "where to save the plan that keeps the layers"},
};

constexpr OptionGroup kGroups[] = {OptionGroup::kSystem};

constexpr Usage kUsage = {
    .command = "debug",
    .words = "precision MODEL [flags]",
    .purpose =
        "Finds the layers of a model that lose its accuracy in reduced precision (--fp16, --bf16, "
        "--int8, --fp8, --best): keeps some in high precision, compares the outputs with those "
        "in fp32, and searches by bisection. Layers in QuantizeLinear and DequantizeLinear are "
        "kept by taking these away.",
    .examples = kExamples,
    .flags = kFlags,
    .exec_flags = ExecFlags::kAll,
    .least_words = 2,
    .most_words = 2,
    .groups = kGroups,
};

constexpr std::pair<OptionId, std::string_view> kReduced[] = {
    {OptionId::fp16, "fp16"}, {OptionId::bf16, "bf16"}, {OptionId::int8, "int8"},
    {OptionId::fp8, "fp8"},   {OptionId::int4, "int4"}, {OptionId::best, "best"},
};

/// "fp16 and int8"; empty where no flag allows less than FP32.
std::string reduced_words(const Arguments& arguments) {
  std::string words;
  for (const auto& [id, word] : kReduced)
    if (arguments.flag(id)) words += fmt::format("{}{}", words.empty() ? "" : " and ", word);
  return words;
}

std::string reduced_flags(const Arguments& arguments) {
  std::string flags;
  for (const auto& [id, word] : kReduced)
    if (arguments.flag(id)) flags += fmt::format(" --{}", word);
  return flags;
}

/// One of the words, of which the first is the default.
Result<std::string> one_of(Session& session, const CommandLine& line, std::string_view flag,
                           std::initializer_list<std::string_view> words) {
  if (!line.has(flag)) return std::string(*words.begin());
  const std::string given = line.text(flag);
  if (std::ranges::find(words, given) != words.end()) return given;
  return session.fail(ErrorId::kFlagValue, "{}{} {}: expected one of {}",
                      flag.size() == 1 ? "-" : "--", flag, given, fmt::join(words, ", "));
}

/// The command line; its words are checked.
struct Request {
  std::string model, mode, direction, high, by;
  TrialSettings trials;
};

Result<double> distance_allowed(Session& session, const CommandLine& line) {
  if (!line.has("max-drop")) return tolerance_of(session, line);
  if (line.has("tolerance"))
    return session.fail(ErrorId::kFlagsExclude, "--max-drop and --tolerance exclude each other");
  const auto given = parse_real(line.text("max-drop"));
  if (given.has_value() && *given >= 0) return *given;
  return session.fail(ErrorId::kFlagValue, "--max-drop={}: it is a number from 0 on",
                      line.text("max-drop"));
}

/// The outputs are judged without builds.
Status check_rounding(Session& session, const CommandLine& line, const Request& request) {
  const Arguments& arguments = line.arguments();
  const bool is_one = arguments.flag(OptionId::fp16) != arguments.flag(OptionId::bf16);
  const bool has_others = arguments.flag(OptionId::int8) || arguments.flag(OptionId::fp8) ||
                          arguments.flag(OptionId::int4) || arguments.flag(OptionId::best);
  if (!is_one || has_others)
    return session.fail(ErrorId::kFlagsExclude,
                        "--by=rounding takes one of --fp16 and --bf16: other precisions exclude "
                        "it, since their scales are a plan's");
  for (const std::string_view flag : {"check", "o", "against"})
    if (line.has(flag))
      return session.fail(ErrorId::kFlagsExclude,
                          "--by=rounding and {}{} exclude each other: there are no plans",
                          flag.size() == 1 ? "-" : "--", flag);
  if (request.high != "float32")
    return session.fail(ErrorId::kFlagsExclude, "--by=rounding and -p {} exclude each other",
                        request.high);
  return {};
}

Result<Request> read_request(Session& session, const CommandLine& line) {
  if (line.words()[0] != "precision")
    return session.fail(ErrorId::kUsage, "'{}' is nothing to debug; usage: tenon debug {}",
                        line.words()[0], kUsage.words);
  const Arguments& arguments = line.arguments();
  if (reduced_words(arguments).empty())
    return session.fail(
        ErrorId::kMissingArgument,
        "the precision to look at is missing: --fp16, --bf16, --int8, --fp8, --int4 or --best");
  Request request;
  request.model = line.words()[1];
  TENON_ASSIGN(request.mode, one_of(session, line, "mode", {"minimal", "bisect", "linear"}));
  TENON_ASSIGN(request.direction, one_of(session, line, "dir", {"forward", "reverse"}));
  TENON_ASSIGN(request.high, one_of(session, line, "p", {"float32", "float16"}));
  if (request.high == "float16" &&
      !(arguments.flag(OptionId::best) ||
        (arguments.flag(OptionId::fp16) && arguments.flag(OptionId::int8))))
    return session.fail(ErrorId::kMissingArgument,
                        "-p float16 keeps layers out of 8 bits: it needs --int8 --fp16");
  request.trials.high_word = request.high == "float16" ? "fp16" : "fp32";
  TENON_ASSIGN(request.trials.tolerance, distance_allowed(session, line));
  TENON_ASSIGN(request.trials.check, CheckCommand::parse(session, line));
  request.trials.plan_file =
      line.has("iter-artifact") ? line.text("iter-artifact") : "tenon_debug.plan";
  // Processors compute in bf16 where FP16 is asked for: plans there do not overflow.
  const bool is_half_alone = reduced_words(arguments) == "fp16";
  const bool wants_plans = line.has("check") || line.has("o") || line.has("against");
  const bool rounds =
      is_half_alone && !wants_plans && find_gpu(arguments, session.console()) == nullptr;
  request.by = rounds ? "rounding" : "plans";
  if (line.has("by")) {
    TENON_ASSIGN(request.by, one_of(session, line, "by", {"plans", "rounding"}));
  }
  if (request.by == "rounding") TENON_TRY(check_rounding(session, line, request));
  return request;
}

Result<std::unique_ptr<ReducedModel>> model_of(Session& session, const CommandLine& line,
                                               const Arguments& arguments, const Request& request) {
  using nvinfer1::DataType;
  if (request.by == "rounding")
    return reduced_by_rounding(session, arguments,
                               arguments.flag(OptionId::fp16) ? DataType::kHALF : DataType::kBF16);
  return reduced_by_plans(session, arguments,
                          request.high == "float16" ? DataType::kHALF : DataType::kFLOAT,
                          line.text("against"));
}

/// A name as --layerPrecisions takes it.
std::string listed_name(const std::string& name) {
  return name.find_first_of(",:") == std::string::npos ? name : fmt::format("'{}'", name);
}

/// As a regular expression that means the name alone.
std::string as_pattern(const std::string& name) {
  std::string pattern;
  for (const char letter : name) {
    if (std::string_view("\\^$.|?*+()[]{}").find(letter) != std::string_view::npos) pattern += '\\';
    pattern += letter;
  }
  return pattern;
}

/// The search, when it is known that some layers must be kept.
Result<std::vector<size_t>> searched(PrecisionTrials& trials, size_t count,
                                     const Request& request) {
  const LayersSuffice suffice = [&](const std::vector<size_t>& kept) -> Result<bool> {
    TENON_ASSIGN(const Verdict verdict, trials.with(kept));
    return verdict.suffices;
  };
  if (request.mode == "minimal") return fewest_layers(count, suffice);
  return leading_layers(count, request.direction == "reverse", request.mode == "linear", suffice);
}

/// The page behind the search.
class Findings {
 public:
  Findings(Session& session, const CommandLine& line, const Request& request,
           const ReducedModel& model, PrecisionTrials& trials)
      : session_(session), line_(line), request_(request), model_(model), trials_(trials) {}

  Status show(const std::vector<size_t>& kept) {
    const bool is_single = request_.mode == "minimal" && !request_.trials.check.has_value();
    Table table(is_single ? "lr" : "l");
    table.add(is_single ? std::vector<std::string>{"layer", "distance without it"}
                        : std::vector<std::string>{"layer"});
    for (const size_t place : kept) {
      std::vector<std::string> cells = {model_.layers()[place]};
      if (is_single) {
        std::vector<size_t> others = kept;
        std::erase(others, place);
        TENON_ASSIGN(const Verdict without, trials_.with(others));
        cells.push_back(trials_.text(without));
      }
      table.add(std::move(cells));
    }
    session_.heading(fmt::format("Layers that must stay in {}", high()));
    session_.line("{}", table.text());
    TENON_TRY(show_distances(kept));
    show_next(trials_.names(kept));
    return {};
  }

 private:
  const std::string& high() const { return request_.trials.high_word; }

  Status show_distances(const std::vector<size_t>& kept) {
    std::vector<size_t> all(model_.layers().size());
    std::iota(all.begin(), all.end(), size_t{0});
    TENON_ASSIGN(const Verdict none, trials_.with({}));
    TENON_ASSIGN(const Verdict these, trials_.with(kept));
    TENON_ASSIGN(const Verdict every, trials_.with(all));
    session_.heading(request_.trials.check.has_value()
                         ? "By the check command"
                         : fmt::format("Distance of the outputs from those in fp32, tolerance {:g}",
                                       request_.trials.tolerance));
    Table table("lr");
    table.add({"no layer in " + high(), trials_.text(none)});
    table.add(
        {fmt::format("{} in {}", counted(kept.size(), "layer"), high()), trials_.text(these)});
    table.add({"all layers in " + high(), trials_.text(every)});
    session_.line("{}", table.text());
    return {};
  }

  void show_next(const KeptLayers& names) {
    NextCommands next;
    std::string precisions, patterns;
    for (const std::string& name : names) {
      const std::string_view comma = precisions.empty() ? "" : ",";
      precisions += fmt::format("{}{}:{}", comma, listed_name(name), high());
      patterns += fmt::format("{}{}", comma, as_pattern(name));
    }
    const Arguments& arguments = line_.arguments();
    const bool is_strong = arguments.flag(OptionId::stronglyTyped);
    const bool is_in_bytes = arguments.flag(OptionId::int8) || arguments.flag(OptionId::fp8) ||
                             arguments.flag(OptionId::int4) || arguments.flag(OptionId::best);
    const bool is_lowered = arguments.flag(OptionId::fp16) || arguments.flag(OptionId::bf16) ||
                            arguments.flag(OptionId::best);
    const bool by_ranges = is_in_bytes && !model_.is_quantized();
    if (!is_strong && (is_lowered || by_ranges))
      next.add(fmt::format("tenon build {}{}{} --precisionConstraints=obey {}",
                           shell_word(request_.model), reduced_flags(arguments), others(),
                           shell_word("--layerPrecisions=" + precisions)),
               fmt::format("keeps them in {}", high()));
    if (is_in_bytes || model_.is_quantized())
      next.add(fmt::format("tenon quantize {} {}",
                           line_.has("against") ? shell_word(line_.text("against")) : "MODEL",
                           shell_word("--nodes_to_exclude=" + patterns)),
               "does not quantize them");
    session_.heading("Next");
    session_.line("{}", next.text());
  }

  /// Flags beside those for the precision.
  std::string others() const {
    std::string flags;
    for (const char* typed : line_.typed()) {
      const std::string_view word = typed;
      for (const std::string_view kept :
           {"--shapes=", "--minShapes=", "--optShapes=", "--maxShapes=", "--device=", "--calib="})
        if (word.starts_with(kept)) flags += " " + shell_word(word);
    }
    return flags;
  }

  Session& session_;
  const CommandLine& line_;
  const Request& request_;
  const ReducedModel& model_;
  PrecisionTrials& trials_;
};

/// The check command's plan goes with the search.
class Leftover {
 public:
  explicit Leftover(std::string file) : file_(std::move(file)) {}
  ~Leftover() {
    std::error_code ignored;
    if (!file_.empty()) std::filesystem::remove(file_, ignored);
  }
  Leftover(const Leftover&) = delete;

 private:
  std::string file_;
};

Status save_plan_with(Session& session, const Arguments& arguments, ReducedModel& model,
                      const KeptLayers& kept) {
  const std::string file = arguments.text(OptionId::saveEngine);
  if (file.empty()) return {};
  TENON_TRY(model.save(kept, file));
  session.line("\n  saved as {}", file);
  return {};
}

Status debug(Session& session, const CommandLine& line) {
  TENON_ASSIGN(const Request request, read_request(session, line));
  TENON_TRY(expect_model(session, "debug precision", request.model));
  TENON_ASSIGN(Arguments arguments, prepare(session, line, /*with_file=*/false));
  arguments.give(OptionId::onnx, request.model);
  const std::string words = reduced_words(arguments);
  const bool is_rounded = request.by == "rounding";
  session.line("{} in {}, {}\n", session.bold(request.model), words,
               is_rounded ? "evaluated on the CPU without builds"
                          : "by plans for " + device_text(arguments, session.console()));
  TENON_ASSIGN(const auto model, model_of(session, line, arguments, request));
  const Leftover plan(request.trials.check.has_value() ? request.trials.plan_file : "");
  PrecisionTrials trials(session, *model, request.trials);
  const size_t count = model->layers().size();
  TENON_ASSIGN(const Verdict none, trials.with({}));
  if (none.suffices) {
    session.line("\n  all {} may compute in {}", counted(count, "layer"), words);
    return save_plan_with(session, arguments, *model, {});
  }
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  TENON_ASSIGN(const Verdict every, trials.with(all));
  if (!every.suffices) {
    session.enter(Stage::kAccuracy);
    return session.fail(ErrorId::kPrecisionIsNotIt,
                        "also with all {} in {} the outputs of '{}' are not good enough ({})",
                        counted(count, "layer"), request.trials.high_word, request.model,
                        trials.text(every));
  }
  TENON_ASSIGN(const std::vector<size_t> kept, searched(trials, count, request));
  TENON_TRY(Findings(session, line, request, *model, trials).show(kept));
  return save_plan_with(session, arguments, *model, trials.names(kept));
}

}  // namespace

int run_debug(std::span<const char* const> words) {
  // As Polygraphy has it, all behind --check is the command.
  const auto check = std::ranges::find(words, std::string_view("--check"));
  std::vector<const char*> typed(words.begin(), check);
  std::string command;
  if (check != words.end()) {
    for (auto word = check + 1; word != words.end(); ++word)
      command += fmt::format("{}{}", command.empty() ? "" : " ", shell_word(*word));
    command = "--check=" + command;
    typed.push_back(command.c_str());
  }
  return run_with_line(kUsage, typed, debug);
}

}  // namespace tenon::tools
