#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "onnx/importer.h"

namespace tenon::importer {

/// A serialized model whose initializers the application supplies one by one.
class LoadedModel {
 public:
  Status load(const void* model, size_t size, const char* path);
  /// The type and extents are the model's, the bytes the caller's; they are copied.
  Status set(const char* name, const void* data, size_t size);
  /// The request for an import; refers to this object.
  ImportRequest request() const;

 private:
  std::vector<std::byte> bytes_;
  std::string path_;
  std::map<std::string, Tensor, std::less<>> values_;
};

/// The folder of a file, with the slash; "" where the path is null or has none.
std::string folder_of(const char* path);

}  // namespace tenon::importer
