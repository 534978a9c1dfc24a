#pragma once

/// TensorRT 10.16 surface: what all plugins share.

#include "NvInferRuntimeBase.h"

namespace nvinfer1 {

enum class PluginFieldType : int32_t;
struct PluginField;
struct PluginFieldCollection;
enum class TensorRTPhase : int32_t;
enum class PluginCapabilityType : int32_t;

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

class IPluginCapability;
class IPluginResource;
class IPluginCreatorInterface;
class IPluginV3;

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

using IPluginResource = v_1_0::IPluginResource;
using IPluginCreatorInterface = v_1_0::IPluginCreatorInterface;
using IPluginV3 = v_1_0::IPluginV3;
using IPluginCapability = v_1_0::IPluginCapability;
/// Element type of a plugin field.
enum class PluginFieldType : int32_t {
  /// 16-bit floating point.
  kFLOAT16 = 0,
  /// 32-bit floating point.
  kFLOAT32 = 1,
  /// 64-bit floating point.
  kFLOAT64 = 2,
  /// Signed 8-bit integers.
  kINT8 = 3,
  /// Signed 16-bit integers.
  kINT16 = 4,
  /// Signed 32-bit integers.
  kINT32 = 5,
  /// Characters; the length counts them, and there need not be a null behind the last.
  kCHAR = 6,
  /// Dims structures.
  kDIMS = 7,
  /// Bytes that only the plugin knows.
  kUNKNOWN = 8,
  /// 16-bit floating point with the exponent of 32 bits.
  kBF16 = 9,
  /// Signed 64-bit integers.
  kINT64 = 10,
  /// 8-bit floating point (E4M3).
  kFP8 = 11,
  /// Signed 4-bit integers, two in a byte.
  kINT4 = 12,
  /// 4-bit floating point (E2M1), two in a byte.
  kFP4 = 13,
};
template <> constexpr int32_t EnumMax<PluginFieldType>() noexcept {
  return 14;
}

/// A named value for making a plugin; `length` counts elements.
struct PluginField {
  const AsciiChar* name;
  const void* data;
  PluginFieldType type;
  int32_t length;
  PluginField(const AsciiChar* const name_ = nullptr, const void* const data_ = nullptr,
              const PluginFieldType type_ = PluginFieldType::kUNKNOWN,
              const int32_t length_ = 0) noexcept
      : name(name_), data(data_), type(type_), length(length_) {}
};

/// Fields of one plugin.
struct PluginFieldCollection {
  int32_t nbFields;
  const PluginField* fields;
};

/// Purpose that a plugin is made for: building or running.
enum class TensorRTPhase : int32_t {
  /// For a network.
  kBUILD = 0,
  /// For an engine that is loaded.
  kRUNTIME = 1,
};
template <> constexpr int32_t EnumMax<TensorRTPhase>() noexcept {
  return 2;
}

/// The interfaces that an IPluginV3 hands out.
enum class PluginCapabilityType : int32_t {
  /// Name, version and namespace.
  kCORE = 0,
  /// Shapes, types and formats, asked by builds.
  kBUILD = 1,
  /// Runs.
  kRUNTIME = 2,
};
template <> constexpr int32_t EnumMax<PluginCapabilityType>() noexcept {
  return 3;
}

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// Base of the capabilities.
class IPluginCapability : public IVersionedInterface {
 public:
  ~IPluginCapability() noexcept override = default;
};

/// Something that plugins share by a key in the registry.
class IPluginResource : public IVersionedInterface {
 public:
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IPluginResource", 1, 0};
  }
  /// Frees the resource when the last plugin has given it back. Returns 0 on success.
  virtual int32_t release() noexcept = 0;
  /// Returns a copy for the registry to keep, which it frees with release(); null on failure.
  virtual v_1_0::IPluginResource* clone() noexcept = 0;
  ~IPluginResource() noexcept override = default;

 protected:
  IPluginResource() = default;
  IPluginResource(const IPluginResource&) = default;
  IPluginResource& operator=(const IPluginResource&) = default;
  IPluginResource(IPluginResource&&) = default;
  IPluginResource& operator=(IPluginResource&&) = default;
};

/// Base of all creators.
class IPluginCreatorInterface : public IVersionedInterface {
 public:
  ~IPluginCreatorInterface() noexcept override = default;
};

/// A plugin of the third generation: an object that hands out its capabilities.
class IPluginV3 : public IVersionedInterface {
 public:
  ~IPluginV3() noexcept override = default;
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN", 1, 0}; }
  /// Returns the interface for a capability: core, build or runtime. It belongs to the plugin and
  /// lives as long. Null where the plugin lacks it, which fails the build or the load.
  virtual v_1_0::IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept = 0;
  /// Returns a copy with the same settings, which the library owns and deletes; null on failure.
  /// Copies are made when a layer is added and for each execution context.
  virtual v_1_0::IPluginV3* clone() noexcept = 0;

 protected:
  IPluginV3() = default;
  IPluginV3(const IPluginV3&) = default;
  IPluginV3& operator=(const IPluginV3&) = default;
  IPluginV3(IPluginV3&&) = default;
  IPluginV3& operator=(IPluginV3&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1
