#include "device/cuda/module.h"

#include "device/cuda/context_scope.h"
#include "device/cuda/driver.h"

namespace tenon::cuda {
namespace {

CUlaunchConfig config_of(const LaunchShape& shape, void* stream) {
  CUlaunchConfig config{};
  config.gridDimX = shape.grid_x;
  config.gridDimY = shape.grid_y;
  config.gridDimZ = shape.grid_z;
  config.blockDimX = shape.block_x;
  config.blockDimY = shape.block_y;
  config.blockDimZ = shape.block_z;
  config.sharedMemBytes = shape.shared_bytes;
  config.hStream = static_cast<CUstream>(stream);
  return config;
}

CUlaunchAttribute cluster_attribute(const LaunchShape& shape) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = shape.cluster_x;
  attribute.value.clusterDim.y = 1;
  attribute.value.clusterDim.z = 1;
  return attribute;
}

}  // namespace

Status Function::allow_shared(int bytes) const {
  TENON_DRIVER(cuFuncSetAttribute, handle_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
  return {};
}

Status Function::allow_large_clusters(const LaunchShape& shape) const {
  TENON_DRIVER(cuFuncSetAttribute, handle_, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  CUlaunchAttribute attribute = cluster_attribute(shape);
  CUlaunchConfig config = config_of(shape, nullptr);
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  TENON_DRIVER(cuOccupancyMaxActiveClusters, &clusters, handle_, &config);
  if (clusters == 0) return unsupported("the GPU has no place for {} blocks", shape.cluster_x);
  return {};
}

Result<int> Function::attribute(CUfunction_attribute which) const {
  int value = 0;
  TENON_DRIVER(cuFuncGetAttribute, &value, which, handle_);
  return value;
}

Status Function::launch_addresses(const LaunchShape& shape, void* stream,
                                  const void** addresses) const {
  CUlaunchAttribute attributes[3];
  CUlaunchConfig config = config_of(shape, stream);
  config.attrs = attributes;
  if (shape.overlaps_previous) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  if (shape.cluster_x > 0) attributes[config.numAttrs++] = cluster_attribute(shape);
  if (shape.cooperative) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
  TENON_DRIVER(cuLaunchKernelEx, &config, handle_, const_cast<void**>(addresses), nullptr);
  return {};
}

Result<std::shared_ptr<const Module>> Module::load(std::string_view binary) {
  CUcontext context = nullptr;
  TENON_DRIVER(cuCtxGetCurrent, &context);
  CUmodule handle = nullptr;
  TENON_DRIVER(cuModuleLoadData, &handle, binary.data());
  return std::shared_ptr<const Module>(new Module(handle, context));
}

Module::~Module() {
  const ContextScope scope(context_);
  driver().cuModuleUnload(handle_);
}

Result<Function> Module::function(const char* name) const {
  CUfunction function = nullptr;
  TENON_DRIVER(cuModuleGetFunction, &function, handle_, name);
  return Function(function);
}

Result<Function> Module::kernel(unsigned shared_bytes) const {
  Function found(kernel_);
  if (found.handle() == nullptr) {
    TENON_ASSIGN(found, function("kernel"));
    kernel_ = found.handle();
  }
  if (shared_bytes <= allowed_shared_) return found;
  // No launch takes back the bytes that another one was allowed.
  const std::lock_guard lock(allowing_);
  if (shared_bytes <= allowed_shared_) return found;
  TENON_TRY(found.allow_shared(static_cast<int>(shared_bytes)));
  allowed_shared_ = shared_bytes;
  return found;
}

void* Module::variable(const char* name) const {
  CUdeviceptr at = 0;
  size_t bytes = 0;
  const bool found = driver().cuModuleGetGlobal(&at, &bytes, handle_, name) == CUDA_SUCCESS;
  return found ? reinterpret_cast<void*>(at) : nullptr;
}

}  // namespace tenon::cuda
