// Any bytes given to the ONNX importer are a graph or an error: no crash, no hang, no unbounded
// memory. Types of a graph can be inferred again.
#include <cstdlib>

#include "onnx/importer.h"
#include "ops/table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tenon::ImportRequest request;
  request.bytes = {reinterpret_cast<const std::byte*>(data), size};
  request.directory = "nowhere";
  request.options.double_as_float = size % 2 == 1;
  auto model = tenon::import_model(request);
  if (model.ok() && !tenon::infer_graph(*model->graph).ok()) std::abort();
  return 0;
}
