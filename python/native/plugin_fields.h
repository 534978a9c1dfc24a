#pragma once

/// Fields of plugins, which own their data.

#include <string>
#include <vector>

#include "NvInfer.h"

namespace tenon::python {

struct Field {
  std::string name;
  nvinfer1::PluginFieldType type = nvinfer1::PluginFieldType::kUNKNOWN;
  int32_t length = 0;  ///< Elements.
  std::string bytes;
};

struct FieldCollection {
  std::vector<Field> fields;
  std::vector<nvinfer1::PluginField> table;
  nvinfer1::PluginFieldCollection view{0, nullptr};

  /// As the library takes them; valid until the fields change or the next call.
  const nvinfer1::PluginFieldCollection* surface();
};

/// Copies of the library's fields.
FieldCollection fields_from(const nvinfer1::PluginFieldCollection* given);

}  // namespace tenon::python
