#include "tools/commands/session.h"

#include "tools/page.h"

namespace tenon::tools {
namespace {

/// Warnings that a page has room for.
constexpr size_t kShownWarnings = 6;

}  // namespace

Session::Session(std::string_view command)
    : command_(command), console_(Severity::kWarning, ConsoleStyle::kPage) {}

std::string Session::styled(std::string_view style, std::string_view text) const {
  return console_.colored() ? fmt::format("{}{}{}", style, text, Console::kPlain)
                            : std::string(text);
}

void Session::show_warnings() {
  const std::vector<std::string> warnings = console_.take_warnings();
  if (warnings.empty()) return;
  heading("Remarks");
  for (size_t i = 0; i < std::min(warnings.size(), kShownWarnings); ++i)
    line("{}", wrapped("  -", warnings[i], 4));
  if (warnings.size() > kShownWarnings)
    line("  - {} more; `tenon exec` prints all", warnings.size() - kShownWarnings);
}

int Session::end(const Status& status) {
  console_.clear_progress();
  show_warnings();
  if (!status.ok()) {
    show_error(status.error());
    return row_of(failed_.value()).exit_status();
  }
  if (std::ferror(stdout) == 0) return 0;
  std::fputs("standard output takes no more: the page is incomplete\n", stderr);
  return row_of(ErrorId::kNotWritable).exit_status();
}

/// The library's own messages say more than the error that a call failed.
void Session::show_error(const Error& error) {
  std::vector<std::string> messages = console_.take_errors();
  if (failed_.has_value() || messages.empty()) messages = {error.message};
  const ErrorRow* row = failed_ ? &row_of(*failed_) : nullptr;
  for (const std::string& message : messages) {
    const ErrorRow& found = classify(stage_, message);
    if (row == nullptr || (!failed_ && row->number % 100 == 0)) row = &found;
  }
  failed_ = row->id;
  std::string text = fmt::format("\n{} {}\n", bold("error " + row->name() + ":"), row->title);
  for (size_t i = 0; i < std::min(messages.size(), kShownWarnings); ++i)
    text += wrapped("  what", messages[i], 8) + '\n';
  if (messages.size() > kShownWarnings)
    text += fmt::format("        and {} more; `tenon check MODEL` lists all\n",
                        messages.size() - kShownWarnings);
  for (const std::string_view step : row->steps()) text += wrapped("  try", step, 8) + '\n';
  text += fmt::format("  more  tenon explain {}", row->name());
  console_.plain_error(text);
}

}  // namespace tenon::tools
