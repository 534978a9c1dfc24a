// Any bytes given to the ONNX importer are a graph or an error, and any graph goes through the
// passes: no crash, no hang, no unbounded memory.
#include "onnx/importer.h"
#include "passes/pass.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tenon::ImportRequest request;
  request.bytes = {reinterpret_cast<const std::byte*>(data), size};
  request.directory = "nowhere";
  request.options.double_as_float = size % 2 == 1;
  auto model = tenon::import_model(request);
  if (!model.ok()) return 0;
  tenon::NullLogger logger;
  const tenon::PassOptions options;
  (void)tenon::run_passes(*model->graph, options, logger).ok();
  return 0;
}
