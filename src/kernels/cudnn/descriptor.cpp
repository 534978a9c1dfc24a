#include "kernels/cudnn/descriptor.h"

#include "device/cuda/process_end.h"

namespace tenon::cudnn {

Error failure(const Api& api, std::string_view call, cudnnStatus_t status) {
  char details[512] = "";
  if (api.cudnnGetLastErrorString != nullptr) api.cudnnGetLastErrorString(details, sizeof details);
  const auto message = fmt::format("{}: {}{}{}", call, api.cudnnGetErrorString(status),
                                   details[0] != 0 ? ", " : "", details);
  const bool refused = status >= CUDNN_STATUS_NOT_SUPPORTED && status < CUDNN_STATUS_INTERNAL_ERROR;
  return {refused ? ErrorKind::kUnsupported : ErrorKind::kResource, message};
}

Descriptor::Descriptor(const Api& api, cudnnBackendDescriptorType_t type) : api_(&api) {
  const cudnnStatus_t status = api.cudnnBackendCreateDescriptor(type, &descriptor_);
  if (status != CUDNN_STATUS_SUCCESS) state_ = failure(api, "cudnnBackendCreateDescriptor", status);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  reset();
  api_ = other.api_;
  descriptor_ = std::exchange(other.descriptor_, nullptr);
  state_ = std::move(other.state_);
  return *this;
}

void Descriptor::reset() {
  if (descriptor_ != nullptr && !cuda::process_is_ending())
    api_->cudnnBackendDestroyDescriptor(descriptor_);
  descriptor_ = nullptr;
}

void Descriptor::set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         int64_t count, const void* values) {
  if (!state_.ok()) return;
  const cudnnStatus_t status =
      api_->cudnnBackendSetAttribute(descriptor_, name, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS)
    state_ = failure(*api_, fmt::format("attribute {}", static_cast<int>(name)), status);
}

void Descriptor::set_descriptor(cudnnBackendAttributeName_t name, const Descriptor& value) {
  const cudnnBackendDescriptor_t raw = value.get();
  set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

Status Descriptor::finalize() {
  if (!state_.ok()) return state_;
  const cudnnStatus_t status = api_->cudnnBackendFinalize(descriptor_);
  if (status != CUDNN_STATUS_SUCCESS) state_ = failure(*api_, "cudnnBackendFinalize", status);
  return state_;
}

Result<int64_t> Descriptor::get_raw(cudnnBackendAttributeName_t name,
                                    cudnnBackendAttributeType_t type, int64_t capacity,
                                    void* values) const {
  int64_t count = 0;
  const cudnnStatus_t status =
      api_->cudnnBackendGetAttribute(descriptor_, name, type, capacity, &count, values);
  if (status != CUDNN_STATUS_SUCCESS)
    return failure(*api_, fmt::format("attribute {}", static_cast<int>(name)), status);
  return count;
}

Result<int64_t> Descriptor::get_int64(cudnnBackendAttributeName_t name) const {
  int64_t value = 0;
  TENON_TRY(get_raw(name, CUDNN_TYPE_INT64, 1, &value));
  return value;
}

}  // namespace tenon::cudnn
