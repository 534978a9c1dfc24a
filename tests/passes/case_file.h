#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "passes/pass.h"

namespace tenon {

/// One case of a rule: a graph, and the pass's result.
struct PassCase {
  std::string title;
  bool fires = true;     ///< False: the pass must leave the graph alone.
  PassOptions options;   ///< From "option" lines.
  std::string given;     ///< Text of the graph; result types may be left out.
  std::string expected;  ///< Empty where the pass must not fire.
};

/// A file of cases for one rule of a pass: tests/passes/cases/<pass>/<rule>.txt.
///
///     // The effect of the rule.
///     === fires: the title of a case
///     option precision = bf16
///     (%0: f32[2,3]) {
///       %1 = relu "relu1"(%0)
///       return %1
///     }
///     --- becomes
///     graph "" ...
///     === stays: the title of a case where it must not fire
///     ...
struct CaseFile {
  std::string path, pass, rule;
  std::string heading;  ///< Comment lines before the first case.
  std::vector<PassCase> cases;
};

Result<CaseFile> read_case_file(const std::string& path);
/// Writes the file with the expected texts it holds now.
Status write_case_file(const CaseFile& file);
/// All files below a folder, sorted.
std::vector<std::string> find_case_files(const std::string& folder);

/// The graph of a case's `given` text, inferred.
Result<std::unique_ptr<Graph>> graph_of_case(const PassCase& item);

}  // namespace tenon
