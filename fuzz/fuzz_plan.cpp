// Any bytes given to the runtime are an engine or an error. A wrong checksum would end nearly every run at once, so the
// checksum is made right first.
#include <cstring>
#include <memory>
#include <vector>

#include "NvInfer.h"
#include "plan/plan_format.h"
#include "silent_logger.h"

namespace {

void make_plausible(std::vector<std::byte>& plan) {
  if (plan.size() < sizeof(tenon::PlanHeader)) return;
  tenon::PlanHeader header;
  std::memcpy(&header, plan.data(), sizeof(header));
  header.magic = tenon::kPlanMagic;
  header.format = tenon::kPlanFormat;
  header.file_size = plan.size();
  std::memcpy(plan.data(), &header, sizeof(header));
  header.checksum = tenon::plan_checksum(plan);
  std::memcpy(plan.data(), &header, sizeof(header));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static SilentLogger logger;
  static const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> plan(bytes, bytes + size);
  make_plausible(plan);
  const std::unique_ptr<nvinfer1::ICudaEngine> engine(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  if (engine) {
    const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  }
  return 0;
}
