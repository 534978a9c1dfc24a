#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "device/device.h"
#include "device/device_family.h"

namespace tenon {

/// A device's properties as lines of `name = value`, and back. A missing line is an error.
std::string description_of(const DeviceProperties& properties);
Result<DeviceProperties> parse_description(std::string_view text);

/// A device that is not there: plans are made for it from its description and a timing cache, and
/// nothing runs on it.
class DescribedDevice final : public Device, public FamilyMember {
 public:
  explicit DescribedDevice(DeviceProperties properties) : properties_(std::move(properties)) {}
  const DeviceProperties& properties() const override { return properties_; }
  Result<DeviceBuffer> allocate(size_t) override { return absent(); }
  Status upload(void*, const void*, size_t, Queue) override { return absent(); }
  Status download(void*, const void*, size_t, Queue) override { return absent(); }
  Status copy(void*, const void*, size_t, Queue) override { return absent(); }
  Status synchronize(Queue) override { return absent(); }
  const Capabilities& capabilities() const override { return kCudaCapabilities; }
  Result<double> time(Queue, int, const std::function<Status()>&) override { return absent(); }
  void stand_for(const DeviceFamily& family) override {
    if (!own_) own_ = properties_;
    properties_ = shared_properties(*own_, family);
  }
  const DeviceProperties* own_properties() const override { return own_ ? &*own_ : nullptr; }

 private:
  Error absent() const {
    return user_error("{} is described, not present: nothing can run on it", properties_.name);
  }
  DeviceProperties properties_;
  std::optional<DeviceProperties> own_;
};

/// Whether nothing can run on the device.
inline bool is_described(const Device& device) {
  return dynamic_cast<const DescribedDevice*>(&device) != nullptr;
}

}  // namespace tenon
