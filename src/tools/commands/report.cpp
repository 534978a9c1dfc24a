#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <vector>

#include "tools/commands.h"
#include "tools/commands/command.h"
#include "tools/console.h"
#include "tools/exports.h"
#include "tools/report/compare.h"
#include "tools/report/document.h"
#include "tools/report/foreign.h"
#include "tools/report/markdown.h"
#include "tools/report/page.h"
#include "tools/report/timeline.h"

namespace tenon::tools {
namespace {

constexpr const char* kUsage =
    "examples:\n"
    "  tenon report model.plan --html=report.html      run and measure a plan, and look at it\n"
    "  tenon report now.json before.json --html=c.html compare two runs of trtexec --exportReport\n"
    "  tenon report now.json profile.json,layers.json  ... with what TensorRT's trtexec exported\n"
    "\n"
    "usage: tenon report INPUT [AGAINST] [flags]\n"
    "\n"
    "An INPUT is a plan, which is run and measured; a report of --exportReport; or the files of\n"
    "--exportProfile and --exportLayerInfo, TensorRT's or ours, joined by a comma. With AGAINST\n"
    "INPUT is compared with it: what is slower in INPUT comes first. Without a file to write the\n"
    "Markdown goes to standard output.\n"
    "\n"
    "Flags:\n"
    "  --html=FILE      a page that needs nothing else\n"
    "  --json=FILE      the same facts as JSON\n"
    "  --markdown=FILE  a summary for a pull request\n"
    "  --junit=FILE     accuracy as test cases\n"
    "  --timeline=FILE  trace events for Perfetto and chrome://tracing\n"
    "and those of trtexec for the run of a plan.\n";

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

Request parse(std::span<const char* const> words) {
  Request request;
  for (const std::string_view word : words) {
    const Form* form = nullptr;
    for (const Form& row : kForms)
      if (word.starts_with(row.flag)) form = &row;
    if (form != nullptr)
      request.outputs.emplace_back(form, word.substr(form->flag.size()));
    else if (word.starts_with("-"))
      request.others.emplace_back(word);
    else
      request.inputs.emplace_back(word);
  }
  return request;
}

Result<Json> read_json(const std::string& file) {
  TENON_ASSIGN(const std::vector<char> bytes, read_file(file));
  return parse_json({bytes.data(), bytes.size()}, fmt::format("'{}'", file));
}

/// Runs and measures a plan; its report comes by a file that is gone afterwards.
Result<Json> report_of_plan(const std::string& file, const std::vector<std::string>& others) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("tenon-report-{}.json", getpid()))
          .string();
  std::vector<std::string> words = {"--loadEngine=" + file, "--exportReport=" + path};
  words.insert(words.end(), others.begin(), others.end());
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  const bool ran = run_exec("trtexec", pointers) == 0;
  Result<Json> document =
      ran ? read_json(path)
          : Result<Json>(user_error("'{}' could not be run; see the messages above", file));
  std::remove(path.c_str());
  if (document.ok()) (*document)["command"] = fmt::format("tenon report {}", file);
  return document;
}

/// The report that one word of the command line stands for.
Result<Json> document_of(const std::string& input, const std::vector<std::string>& others) {
  Json profile, layers;
  for (size_t start = 0; start <= input.size();) {
    const size_t end = std::min(input.find(',', start), input.size());
    const std::string file = input.substr(start, end - start);
    start = end + 1;
    TENON_ASSIGN(const std::vector<char> head, read_file(file, 1));
    const bool is_text = !head.empty() && (head[0] == '{' || head[0] == '[' || head[0] == ' ');
    if (!is_text && file == input) return report_of_plan(file, others);
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

Status make(const Request& request) {
  TENON_ASSIGN(Json document, document_of(request.inputs[0], request.others));
  if (request.inputs.size() == 2) {
    TENON_ASSIGN(Json against, document_of(request.inputs[1], request.others));
    document = make_comparison(std::move(against), std::move(document));
  }
  for (const auto& [form, file] : request.outputs)
    TENON_TRY(write_file(file, form->text(document)));
  if (request.outputs.empty()) std::fputs(report_markdown(document).c_str(), stdout);
  return {};
}

}  // namespace

int run_report(std::span<const char* const> words) {
  for (const std::string_view word : words)
    if (word == "--help" || word == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    }
  const Request request = parse(words);
  if (request.inputs.empty() || request.inputs.size() > 2) {
    std::fputs(kUsage, words.empty() ? stdout : stderr);
    return words.empty() ? 0 : 1;
  }
  const Status status = make(request);
  if (status.ok()) return 0;
  Console().error("{}", status.error().message);
  return 1;
}

}  // namespace tenon::tools
