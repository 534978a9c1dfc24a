#include "tools/commands/check_command.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "tools/interrupt.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

Result<std::vector<int>> parse_codes(Session& session, const CommandLine& line,
                                     std::string_view flag) {
  std::vector<int> codes;
  const std::string text = line.text(flag);
  for (const std::string_view word : split_outside_quotes(text, ',')) {
    const auto code = parse_integer(word);
    if (!code.has_value())
      return session.fail(ErrorId::kFlagValue, "--{}={}: '{}' is no exit status", flag, text, word);
    codes.push_back(static_cast<int>(*code));
  }
  return codes;
}

/// What a shell gives for a command that it cannot run.
constexpr int kNotExecutable = 126, kNotFound = 127;

}  // namespace

Result<std::optional<CheckCommand>> CheckCommand::parse(Session& session, const CommandLine& line) {
  if (!line.has("check")) return std::optional<CheckCommand>();
  CheckCommand check;
  check.command_ = line.text("check");
  if (check.command_.empty())
    return session.fail(ErrorId::kMissingArgument, "--check is followed by a command");
  TENON_ASSIGN(check.fail_codes_, parse_codes(session, line, "fail-code"));
  TENON_ASSIGN(check.ignored_codes_, parse_codes(session, line, "ignore-fail-code"));
  if (line.has("fail-regex")) try {
      check.fail_regex_.emplace(line.text("fail-regex"));
    } catch (const std::regex_error& error) {
      return session.fail(ErrorId::kFlagValue, "--fail-regex={}: this is no regular expression: {}",
                          line.text("fail-regex"), error.what());
    }
  check.shows_all_ = line.has("show-output");
  check.hides_failures_ = line.has("hide-fail-output");
  return std::optional(std::move(check));
}

bool CheckCommand::is_failure(int status, const std::string& output) const {
  if (std::ranges::find(ignored_codes_, status) != ignored_codes_.end()) return false;
  const bool has_sign = fail_regex_.has_value() && std::regex_search(output, *fail_regex_);
  if (fail_codes_.empty()) return fail_regex_.has_value() ? has_sign : status != 0;
  const bool is_code = std::ranges::find(fail_codes_, status) != fail_codes_.end();
  return is_code && (has_sign || !fail_regex_.has_value());
}

Result<bool> CheckCommand::passes(Session& session) const {
  std::fflush(stdout);
  // Its errors come with the rest of its output, in their order.
  std::FILE* pipe = popen(fmt::format("( {}\n) 2>&1", command_).c_str(), "r");
  if (pipe == nullptr) return resource_error("--check: the shell cannot be started");
  std::string output;
  std::array<char, 4096> piece;
  while (const size_t count = std::fread(piece.data(), 1, piece.size(), pipe))
    output.append(piece.data(), count);
  const int result = pclose(pipe);
  if (interrupted()) return user_error("stopped: the check was interrupted");
  const int status = WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
  if (status == kNotExecutable || status == kNotFound)
    return session.fail(ErrorId::kNoCheck, "--check: exit status {}: {}", status,
                        output.substr(0, output.find('\n')));
  const bool fails = is_failure(status, output);
  if (shows_all_ || (fails && !hides_failures_)) session.console().plain(output);
  return !fails;
}

}  // namespace tenon::tools
