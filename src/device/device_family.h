#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "device/device.h"

namespace tenon {

/// NVIDIA's GPUs from one compute capability on. Kernels that are made for a family run on each of
/// its GPUs: they are made by the properties that all have, and compiled for all.
struct DeviceFamily {
  static constexpr int kFirst = 80;  ///< Of the family that plans are built for: from Ampere on.
  int least = kFirst;                ///< The compute capability.
  int compute_units = 0;  ///< Multiprocessors that kernels are sized for, wherever they run.
};

/// The plan's setting of a family's compute_units, which kernels are made by where it runs.
inline constexpr const char* kFamilyUnitsSetting = "family_units";

/// "8.0" of compute capability 80.
std::string capability_text(int capability);

/// "sm_80+", the architecture of a family's plans, and back; nothing for architectures of one GPU.
std::string architecture_of(const DeviceFamily& family);
std::optional<DeviceFamily> parse_family(std::string_view architecture, int compute_units);

/// The properties that a GPU has in common with all others of the family.
DeviceProperties shared_properties(const DeviceProperties& own, const DeviceFamily& family);

/// What a device that may stand for a family is as well.
class FamilyMember {
 public:
  virtual ~FamilyMember() = default;
  /// From now on properties() are the shared ones. Before kernels are made.
  virtual void stand_for(const DeviceFamily& family) = 0;
  /// The device's own properties where it stands for a family, else null.
  virtual const DeviceProperties* own_properties() const = 0;
};

/// The same for any device: an error, with the reason, where it belongs to no such family.
Status stand_for(Device& device, const DeviceFamily& family);
const DeviceProperties* own_properties(const Device& device);

}  // namespace tenon
