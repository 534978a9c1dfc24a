#include "tools/report/markdown.h"

#include <algorithm>

#include "base/counted.h"
#include "base/printable.h"
#include "tools/report/document.h"

namespace tenon::tools {
namespace {

constexpr size_t kMostRows = 10;

/// On one line: names may hold control characters, which a terminal would obey.
std::string line_of(std::string_view text) {
  std::string result(text);
  std::ranges::replace(result, '\n', ' ');
  return printable_name(result);
}

/// In a cell of a table.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : line_of(text)) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string joined(const Json& words) {
  std::string text;
  for (const Json& word : words)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", word.get<std::string>());
  return text;
}

std::string metric(const Json& summary, const char* key) {
  const Json& figures = member(summary, key);
  return figures.is_null() ? "" : fmt::format("{:.4g} ms", number_of(figures, "median"));
}

std::string facts(const Json& document) {
  const Json& summary = member(document, "summary");
  std::string text = "| | |\n|---|---|\n";
  const auto row = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("| {} | {} |\n", name, cell(value));
  };
  row("device", text_of(document, "device"));
  row("median latency", metric(summary, "latency"));
  row("median computation", metric(summary, "compute"));
  if (const double rate = number_of(summary, "throughput"); rate > 0)
    row("throughput", fmt::format("{:.4g} queries/s", rate));
  row("precision asked for", joined(member(document, "asked")));
  std::string got;
  for (const auto& [precision, of] : member(document, "got").items())
    got += fmt::format("{}{} {}, {:.3g} ms", got.empty() ? "" : "; ", precision,
                       counted(number_of(of, "layers"), "layer"), number_of(of, "ms"));
  row("precision got", got);
  row("self-check", text_of(member(document, "settings"), "self_check"));
  row("command", text_of(document, "command").empty()
                     ? ""
                     : fmt::format("`{}`", text_of(document, "command")));
  return text;
}

std::string slowest(const Json& document) {
  std::vector<const Json*> layers;
  for (const Json& layer : member(document, "layers"))
    if (number_of(layer, "ms") > 0) layers.push_back(&layer);
  std::ranges::stable_sort(layers, std::greater<>(),
                           [](const Json* layer) { return number_of(*layer, "ms"); });
  if (layers.empty()) return {};
  std::string text =
      "\n### Slowest layers\n\n| layer | ms | share | floor | precision | kernel |\n"
      "|---|---:|---:|---:|---|---|\n";
  for (size_t i = 0; i < std::min(layers.size(), kMostRows); ++i) {
    const Json& layer = *layers[i];
    text += fmt::format("| {} | {:.4f} | {:.1f} % | {:.4f} | {} | {} |\n",
                        cell(text_of(layer, "name")), number_of(layer, "ms"),
                        number_of(layer, "share") * 100, number_of(layer, "floorMs"),
                        text_of(layer, "precision"), cell(text_of(layer, "tactic")));
  }
  return text;
}

std::string advice(const Json& document) {
  std::string text;
  for (const Json& piece : member(document, "advice"))
    text += fmt::format("- **{}.** {} ({})\n", line_of(text_of(piece, "title")),
                        line_of(text_of(piece, "text")), line_of(text_of(piece, "evidence")));
  return text.empty() ? text : "\n### Advice\n\n" + text;
}

void add_difference(std::string& text, const Json& row) {
  const Json &a = member(row, "a"), &b = member(row, "b");
  text += fmt::format("| {} | {:.4f} | {:.4f} | {:+.4f} | {} → {} |\n",
                      cell(joined(member(row, "nodes"))), number_of(a, "ms"), number_of(b, "ms"),
                      number_of(row, "slowerBy"), joined(member(a, "precisions")),
                      joined(member(b, "precisions")));
}

std::string comparison(const Json& document) {
  const Json& rows = member(document, "rows");
  const double a = number_of(document, "aMs"), b = number_of(document, "bMs");
  std::string text =
      fmt::format("## {}\n\nLayers add up to {:.4g} ms, against {:.4g} ms before ({:+.1f} %).\n",
                  line_of(text_of(document, "title")), b, a, a > 0 ? (b / a - 1) * 100 : 0.0);
  const char* head =
      "| ONNX nodes | before, ms | now, ms | slower by | precision |\n"
      "|---|---:|---:|---:|---|\n";
  std::string slower, faster;
  for (size_t i = 0; i < rows.size() && i < kMostRows; ++i)
    if (number_of(rows[i], "slowerBy") > 0) add_difference(slower, rows[i]);
  for (size_t i = 0; i < rows.size() && i < kMostRows; ++i)
    if (const Json& row = rows[rows.size() - 1 - i]; number_of(row, "slowerBy") < 0)
      add_difference(faster, row);
  if (!slower.empty()) text += fmt::format("\n### Slower\n\n{}{}", head, slower);
  if (!faster.empty()) text += fmt::format("\n### Faster\n\n{}{}", head, faster);
  return text;
}

std::string xml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result;
}

/// The cases of one report, and how many of them failed or were skipped.
struct Suite {
  std::string cases;
  int count = 0, failed = 0, skipped = 0;

  void add(const std::string& name, const std::string& kind, const std::string& failure,
           const std::string& skip) {
    ++count;
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\">", kind, xml(name));
    if (!failure.empty()) {
      ++failed;
      cases += fmt::format("<failure message=\"{}\"/>", xml(failure));
    } else if (!skip.empty()) {
      ++skipped;
      cases += fmt::format("<skipped message=\"{}\"/>", xml(skip));
    }
    cases += "</testcase>\n";
  }
};

std::string why_not_compared(const Json& report) {
  const std::string outcome = text_of(member(report, "settings"), "self_check");
  return outcome.empty() ? "reports of builds have a self-check's result"
                         : fmt::format("self-check {}", outcome);
}

std::string suite_of(const Json& report) {
  Suite suite;
  for (const Json& row : member(report, "accuracy")) {
    const std::string state = text_of(row, "state"), detail = text_of(row, "detail");
    suite.add(text_of(row, "layer"), "layer", state == "wrong" ? detail : "",
              state == "not compared" ? "not compared " + detail : "");
  }
  for (const Json& output : member(report, "outputs")) {
    const double distance = number_of(output, "distance"), limit = number_of(output, "limit");
    suite.add(text_of(output, "name"), "output",
              distance > limit ? fmt::format("distance {:.3g}, limit {:.3g}", distance, limit) : "",
              "");
  }
  // A suite without cases would read as one that passed.
  if (suite.count == 0)
    suite.add("outputs", "output", "", fmt::format("not compared: {}", why_not_compared(report)));
  return fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n{}  </testsuite>\n",
      xml(text_of(report, "title")), suite.count, suite.failed, suite.skipped, suite.cases);
}

bool is_comparison(const Json& document) {
  return text_of(document, "schema") == kComparisonSchema;
}

}  // namespace

std::string report_markdown(const Json& document) {
  if (is_comparison(document)) return comparison(document);
  return fmt::format("## {}\n\n", line_of(text_of(document, "title"))) + facts(document) +
         slowest(document) + advice(document);
}

std::string report_junit(const Json& document) {
  const std::string suites = is_comparison(document)
                                 ? suite_of(document["a"]) + suite_of(document["b"])
                                 : suite_of(document);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n" + suites + "</testsuites>\n";
}

}  // namespace tenon::tools
