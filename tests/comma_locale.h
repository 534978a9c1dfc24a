#pragma once

#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <locale>
#include <string>

/// While it lives, numbers of C and of C++ streams have a decimal comma and points between their
/// thousands, as in a German application that has called setlocale(LC_ALL, "").
class CommaLocale {
 public:
  CommaLocale() {
    std::filesystem::create_directory(folder_);
    const std::string command =
        "localedef -i de_DE -f UTF-8 '" + (folder_ / "de_DE.UTF-8").string() + "' >/dev/null 2>&1";
    // Without localedef the system may have that locale all the same.
    if (std::system(command.c_str()) == 0) setenv("LOCPATH", folder_.c_str(), 1);
    std::locale::global(std::locale(std::locale::classic(), new Comma));
    std::setlocale(LC_ALL, "de_DE.UTF-8");
  }
  CommaLocale(const CommaLocale&) = delete;
  ~CommaLocale() {
    std::locale::global(streams_);
    std::setlocale(LC_ALL, c_library_.c_str());
    unsetenv("LOCPATH");
    std::filesystem::remove_all(folder_);
  }

  /// False where this machine has no such locale for the C library.
  bool complete() const { return *std::localeconv()->decimal_point == ','; }

 private:
  struct Comma final : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("comma_locale." + std::to_string(getpid()));
  std::locale streams_;
  std::string c_library_ = std::setlocale(LC_ALL, nullptr);
};
