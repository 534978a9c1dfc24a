// `tenon explain`.
#include "tools/commands/command_line.h"
#include "tools/page.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon explain E-203", "one error: cause and remedy"},
    {"tenon explain", "all of them, a line each"},
};

constexpr OwnFlag kFlags[] = {{"markdown", "", "print docs/errors.md"}};

constexpr Usage kUsage = {
    .command = "explain",
    .words = "[E-NNN]",
    .purpose = "Says what an error of tenon's subcommands means, and what to try.",
    .examples = kExamples,
    .flags = kFlags,
    .least_words = 0,
};

void show_list(Session& session) {
  Table table("lll");
  constexpr std::string_view kStages[] = {"usage", "model", "build", "run", "accuracy"};
  for (const ErrorRow* row : sorted_error_rows())
    table.add({row->name(), std::string(kStages[row->exit_status() - 1]), std::string(row->title)});
  session.line("{}", table.text());
}

Status explain(Session& session, const CommandLine& line) {
  if (line.has("markdown")) {
    session.console().plain(errors_markdown());
    return {};
  }
  if (line.words().empty()) {
    show_list(session);
    return {};
  }
  const ErrorRow* row = find_error(line.words().front());
  if (row == nullptr)
    return session.fail(ErrorId::kUnknownError, "the catalogue has no error '{}'",
                        line.words().front());
  session.line("{}  {}", session.bold(row->name()), row->title);
  session.line("\n{}", wrapped("", row->cause, 0));
  session.heading("Try");
  for (const std::string_view step : row->steps()) session.line("{}", wrapped("  -", step, 4));
  session.line("\n{}", wrapped("",
                               fmt::format("Subcommands that end with it exit with status {}.",
                                           row->exit_status()),
                               0));
  return {};
}

}  // namespace

int run_explain(std::span<const char* const> words) {
  return run_with_line(kUsage, words, explain);
}

}  // namespace tenon::tools
