#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::tools {

enum class ErrorId {
#define TENON_ERROR(id, number, title, signs, cause, remedy) id,
#include "tools/commands/errors.def"
};

/// The stage of a subcommand; its number is the exit status of errors that come up there.
enum class Stage { kUsage = 1, kModel = 2, kBuild = 3, kRun = 4, kAccuracy = 5 };

/// One row of errors.def.
struct ErrorRow {
  ErrorId id;
  int number;
  std::string_view title, signs, cause, remedy;

  int exit_status() const { return number / 100; }
  std::string name() const;                     ///< "E-203"
  std::vector<std::string_view> steps() const;  ///< Of the remedy.
};

std::span<const ErrorRow> error_rows();
/// The same by their numbers.
std::vector<const ErrorRow*> sorted_error_rows();
const ErrorRow& row_of(ErrorId id);
/// The row of "E-203", "e203" or "203"; null where there is none.
const ErrorRow* find_error(std::string_view name);

/// The row that a message of the library belongs to: one whose sign it holds, of the stage at hand
/// if there is one, else of any; else the stage's general row.
const ErrorRow& classify(Stage stage, std::string_view message);

/// docs/errors.md.
std::string errors_markdown();

}  // namespace tenon::tools
