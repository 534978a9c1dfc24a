// `tenon report`.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include "tools/commands.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/plan_table.h"
#include "tools/engine_file.h"
#include "tools/exports.h"
#include "tools/report/compare.h"
#include "tools/report/document.h"
#include "tools/report/foreign.h"
#include "tools/report/markdown.h"
#include "tools/report/page.h"
#include "tools/report/timeline.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon report model.plan --html=report.html", "run and measure a plan, and look at it"},
    {"tenon report now.json before.json --html=c.html", "compare two runs of --exportReport"},
    {"tenon report now.json profile.json,layers.json", "... with TensorRT's own exports"},
};

constexpr OwnFlag kFlags[] = {
    {"html", "FILE", "a page that needs nothing else"},
    {"json", "FILE", "the same facts as JSON"},
    {"markdown", "FILE", "a summary for a pull request"},
    {"junit", "FILE", "accuracy as test cases"},
    {"timeline", "FILE", "trace events for Perfetto and chrome://tracing"},
};

constexpr Usage kUsage = {
    .command = "report",
    .words = "INPUT [AGAINST] [flags]",
    .purpose =
        "Shows where the time goes. An INPUT is a plan, which is run and measured; a report of "
        "--exportReport; or the files of --exportProfile and --exportLayerInfo, TensorRT's or "
        "ours, joined by a comma. With AGAINST, INPUT is compared with it: layers that are "
        "slower in INPUT come first. Without a file to write, the Markdown goes to standard "
        "output.",
    .examples = kExamples,
    .flags = kFlags,
    .exec_flags = ExecFlags::kAll,
    .most_words = 2,
};

/// What a document can be written as.
struct Form {
  std::string_view flag;
  std::string (*text)(const Json& document);
};
std::string as_json(const Json& document) {
  return dumped(document) + "\n";
}
std::string as_timeline(const Json& document) {
  return report_timeline(document.contains("b") ? document["b"] : document) + "\n";
}
constexpr Form kForms[] = {{"--html=", report_page},
                           {"--json=", as_json},
                           {"--markdown=", report_markdown},
                           {"--junit=", report_junit},
                           {"--timeline=", as_timeline}};

struct Request {
  std::vector<std::string> inputs;
  std::vector<std::pair<const Form*, std::string>> outputs;
  std::vector<std::string> others;  ///< For the run of a plan.
};

Request request_of(const CommandLine& line) {
  Request request{.inputs = line.words()};
  for (const std::string_view word : line.typed()) {
    const Form* form = nullptr;
    for (const Form& row : kForms)
      if (word.starts_with(row.flag)) form = &row;
    if (form != nullptr)
      request.outputs.emplace_back(form, word.substr(form->flag.size()));
    else if (word.starts_with("-"))
      request.others.emplace_back(word);
  }
  return request;
}

Result<Json> read_json(const std::string& file) {
  TENON_ASSIGN(const std::vector<char> bytes, read_file(file));
  return parse_json({bytes.data(), bytes.size()}, fmt::format("'{}'", file));
}

/// While it lives, standard output goes where errors go: a run's log is no part of a result there.
class LogAside {
 public:
  LogAside() : kept_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    if (kept_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~LogAside() {
    std::fflush(stdout);
    if (kept_ < 0) return;
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  LogAside(const LogAside&) = delete;
  LogAside& operator=(const LogAside&) = delete;

 private:
  const int kept_;
};

/// Runs and measures a plan; its report comes by a file that is gone afterwards.
Result<Json> report_of_plan(Session& session, const std::string& file,
                            const std::vector<std::string>& others) {
  // Told as other subcommands do, ahead of a run that has a log of its own.
  TENON_TRY(plan_version(file));
  TENON_ASSIGN(const std::vector<char> plan, read_file(file));
  TENON_TRY(plan_json(session, plan));
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("tenon-report-{}.json", getpid()))
          .string();
  std::vector<std::string> words = {"--loadEngine=" + file, "--exportReport=" + path};
  words.insert(words.end(), others.begin(), others.end());
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  std::optional<LogAside> aside(std::in_place);
  const bool ran = run_exec("trtexec", pointers) == 0;
  aside.reset();
  if (std::ferror(stdout) != 0)
    return session.fail(ErrorId::kNotWritable, "standard output takes no more");
  Result<Json> document =
      ran ? read_json(path)
          : Result<Json>(user_error("'{}' could not be run; see the messages above", file));
  std::remove(path.c_str());
  if (document.ok()) (*document)["command"] = fmt::format("tenon report {}", shell_word(file));
  return document;
}

/// Bytes that tell JSON from a plan.
constexpr uint64_t kHead = 256;

/// Whether a file begins as JSON does.
bool begins_as_json(std::span<const char> head) {
  const auto first = std::ranges::find_if(
      head, [](char c) { return c != ' ' && c != '\n' && c != '\r' && c != '\t'; });
  return first != head.end() ? *first == '{' || *first == '[' : false;
}

/// The report that one word of the command line stands for.
Result<Json> document_of(Session& session, const std::string& input,
                         const std::vector<std::string>& others) {
  Json profile, layers;
  for (size_t start = 0; start <= input.size();) {
    const size_t end = std::min(input.find(',', start), input.size());
    const std::string file = input.substr(start, end - start);
    start = end + 1;
    TENON_ASSIGN(const std::vector<char> head, read_file(file, kHead));
    if (!begins_as_json(head) && file == input) return report_of_plan(session, file, others);
    TENON_ASSIGN(Json json, read_json(file));
    if (is_exported_profile(json))
      profile = std::move(json);
    else if (is_exported_layers(json))
      layers = std::move(json);
    else {
      TENON_TRY(check_report(json, file));
      return json;
    }
  }
  if (profile.is_null())
    return user_error(
        "'{}' has layers without times: join it with the file of --exportProfile, "
        "as in profile.json,layers.json",
        input);
  return foreign_report(input, profile, layers);
}

Status report(Session& session, const CommandLine& line) {
  const Request request = request_of(line);
  for (const auto& output : request.outputs)
    if (Status writable = check_writable(output.second); !writable.ok())
      return std::move(writable).error().with_context(output.first->flag);
  session.enter(Stage::kRun);
  TENON_ASSIGN(Json document, document_of(session, request.inputs[0], request.others));
  if (request.inputs.size() == 2) {
    TENON_ASSIGN(Json against, document_of(session, request.inputs[1], request.others));
    document = make_comparison(std::move(against), std::move(document));
  }
  for (const auto& [form, file] : request.outputs)
    TENON_TRY(write_file(file, form->text(document)));
  if (request.outputs.empty()) std::fputs(report_markdown(document).c_str(), stdout);
  std::fflush(stdout);
  return {};
}

}  // namespace

int run_report(std::span<const char* const> words) {
  return run_with_line(kUsage, words, report);
}

}  // namespace tenon::tools
