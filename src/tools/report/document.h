#pragma once

#include <string>
#include <vector>

#include "tools/report/json.h"

namespace tenon::tools {

/// What a report is made of. Members that are null are left out of it.
struct ReportParts {
  std::string title;               ///< The model's or the plan's file.
  std::string command;             ///< That repeats it.
  std::string library;             ///< "10.16.0.72".
  std::string device;              ///< For people.
  std::vector<std::string> asked;  ///< Flags that allow or ask for precisions, "--fp16".
  Json build;                      ///< getBuildReport().
  Json run;                        ///< getRunReport().
  Json kernels;                    ///< getKernelReport().
  Json profile;                    ///< [{name, averageMs, medianMs, timeMs}].
  Json summary;                    ///< {throughput, latency: {median, ...}, ...}.
  Json queries;                    ///< As --exportTimes has them; some of the last.
  double bytes_per_second = 0;     ///< Of the device's memory; 0: not known.
  std::string bytes_source;        ///< Where that is from: "a copy of memory, measured".
};

inline constexpr const char* kReportSchema = "tenon-report";
inline constexpr const char* kComparisonSchema = "tenon-comparison";
inline constexpr int kReportVersion = 1;

/// The document that docs/report.md describes: facts, times by layer, and advice. The page, the
/// Markdown, and comparisons are made of it alone.
Json make_report(ReportParts parts);

/// Whether this is a report that this version reads.
Status check_report(const Json& document, std::string_view file);

}  // namespace tenon::tools
