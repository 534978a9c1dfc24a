#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>

namespace tenon {

/// Who has to act on an error.
enum class ErrorKind {
  kUser,         ///< The caller's input is wrong; the message names the change.
  kUnsupported,  ///< Valid input that this build cannot handle; the message names it.
  kInternal,     ///< Our own fault; the message names the place.
  kResource,     ///< Memory, files or a device ran out or failed.
};

/// The error, its place, and advice. Context is added outermost-last with `with_context`.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;

  Error with_context(std::string_view context) && {
    message = fmt::format("{}: {}", context, message);
    return std::move(*this);
  }
};

/// A value or an Error. No exception crosses a function that returns one.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)), ok_(false) {}

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool ok_ = true;
};

template <class... Args> Error user_error(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kUser, fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args> Error unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kUnsupported, fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args> Error internal_error(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kInternal, fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args> Error resource_error(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kResource, fmt::format(format, std::forward<Args>(args)...)};
}

#define TENON_CONCAT_INNER(a, b) a##b
#define TENON_CONCAT(a, b) TENON_CONCAT_INNER(a, b)

/// Returns the error of `expression` (a Status or Result) from the enclosing function.
#define TENON_TRY(expression)                                       \
  do {                                                              \
    auto tenon_status = (expression);                               \
    if (!tenon_status.ok()) return std::move(tenon_status).error(); \
  } while (false)

/// `TENON_ASSIGN(auto x, f());` binds the value of a Result or returns its error.
#define TENON_ASSIGN(declaration, expression) \
  TENON_ASSIGN_INNER(TENON_CONCAT(tenon_result_, __LINE__), declaration, expression)
#define TENON_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                               \
  if (!result.ok()) return std::move(result).error();       \
  declaration = std::move(result).value()

}  // namespace tenon
