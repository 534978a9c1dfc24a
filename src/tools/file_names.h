#pragma once

#include <map>
#include <set>
#include <string>

namespace tenon::tools {

/// Files in the current folder that bear the names of tensors: a tensor of any name has one, and no
/// two share it.
class FileNames {
 public:
  /// Without an ending; the same at each call for a tensor.
  const std::string& stem(const std::string& tensor);

 private:
  std::map<std::string, std::string> stems_;
  std::set<std::string> taken_;
};

}  // namespace tenon::tools
