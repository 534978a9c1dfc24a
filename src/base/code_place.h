#pragma once

namespace tenon {

/// A place in our sources: like std::source_location, which older compilers lack.
struct CodePlace {
  const char* file = "";
  int line = 0;
  const char* function = "";

  /// Where the caller stands, also as a default argument.
  static constexpr CodePlace here(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                                  const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
};

}  // namespace tenon
