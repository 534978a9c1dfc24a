#pragma once

/// TensorRT 10.16 surface: types and interfaces that every other header needs.
///
/// Of all headers, unless a text says otherwise: pointers that a method returns belong to the
/// object that returned them and live as long as it does; names are compared byte for byte; a call
/// that fails logs an error that names the reason and returns false, null, -1 or dimensions with
/// nbDims -1, and changes nothing; no method throws; and an object may be used by one thread at a
/// time, different objects by different threads.

#include <cstddef>
#include <cstdint>

#include "NvInferVersion.h"
#include "tenon/cuda_types.h"

/// A version as one number: major * 10000 + minor * 100 + patch.
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major)*10000L + (minor)*100L + (patch)*1L)
#define NV_TENSORRT_VERSION \
  NV_TENSORRT_VERSION_INT(NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH)

#if __cplusplus >= 201703L
#define TRT_DEPRECATED [[deprecated]]
#define TRT_DEPRECATED_BECAUSE(REASON) [[deprecated(REASON)]]
#define TRT_NODISCARD [[nodiscard]]
#else  // attributes of enumerators and [[nodiscard]] came with C++17
#define TRT_DEPRECATED __attribute__((deprecated))
#define TRT_DEPRECATED_BECAUSE(REASON) __attribute__((deprecated(REASON)))
#define TRT_NODISCARD
#endif
#define TRT_DEPRECATED_ENUM TRT_DEPRECATED
#define TRT_DEPRECATED_API TENSORRTAPI
#ifdef TENSORRT_BUILD_LIB
#define TENSORRTAPI __attribute__((visibility("default")))
#else
#define TENSORRTAPI
#endif
#define TRTNOEXCEPT noexcept

namespace nvinfer1 {

/// Number of enumerators of an enumeration.
template <typename T> constexpr int32_t EnumMax() noexcept;

namespace v_1_0 {
class IErrorRecorder;
}

}  // namespace nvinfer1

namespace nvinfer1 {

using char_t = char;
using AsciiChar = char_t;
using IErrorRecorder = v_1_0::IErrorRecorder;
/// Element types.
enum class DataType : int32_t {
  /// 32-bit IEEE floating point.
  kFLOAT = 0,
  /// 16-bit IEEE floating point.
  kHALF = 1,
  /// Signed 8-bit integer, mostly quantized.
  kINT8 = 2,
  /// Signed 32-bit integer.
  kINT32 = 3,
  /// A byte, 0 or 1.
  kBOOL = 4,
  /// Unsigned 8-bit integer.
  kUINT8 = 5,
  /// 8-bit floating point with 4 bits of exponent and 3 of mantissa (E4M3).
  kFP8 = 6,
  /// 16-bit floating point with the exponent of 32 bits.
  kBF16 = 7,
  /// Signed 64-bit integer.
  kINT64 = 8,
  /// Signed 4-bit integer, two in a byte, the first in the lower half.
  kINT4 = 9,
  /// 4-bit floating point (E2M1), two in a byte.
  kFP4 = 10,
  /// A power of two in 8 bits, for scales of blocks.
  kE8M0 = 11,
};
template <> constexpr int32_t EnumMax<DataType>() noexcept {
  return 12;
}

/// Extents of a tensor: nbDims (-1: unknown rank) and d[0..nbDims). -1 in d stands for an extent
/// known only at run time.
struct Dims64 {
  static constexpr int32_t MAX_DIMS{8};
  int32_t nbDims;
  int64_t d[8];
};

using Dims = Dims64;
using InterfaceKind = const char*;
/// Name and version of an interface that the application implements.
struct InterfaceInfo {
  InterfaceKind kind;
  int32_t major;
  int32_t minor;
};

/// Language an interface is implemented in.
enum class APILanguage : int32_t {
  /// C++.
  kCPP = 0,
  /// Python.
  kPYTHON = 1,
};
template <> constexpr int32_t EnumMax<APILanguage>() noexcept {
  return 2;
}

/// Base of all interfaces that the application implements.
class IVersionedInterface {
 public:
  /// Returns the language that the interface is implemented in. C++ unless overridden.
  virtual APILanguage getAPILanguage() const noexcept { return APILanguage::kCPP; }
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Each interface overrides it.
  virtual InterfaceInfo getInterfaceInfo() const noexcept = 0;
  virtual ~IVersionedInterface() noexcept = default;

 protected:
  IVersionedInterface() = default;
  IVersionedInterface(const IVersionedInterface&) = default;
  IVersionedInterface& operator=(const IVersionedInterface&) = default;
  IVersionedInterface(IVersionedInterface&&) = default;
  IVersionedInterface& operator=(IVersionedInterface&&) = default;
};

/// Kinds of errors that an IErrorRecorder takes.
enum class ErrorCode : int32_t {
  /// No error.
  kSUCCESS = 0,
  /// None of the others.
  kUNSPECIFIED_ERROR = 1,
  /// The library contradicts itself: please report it.
  kINTERNAL_ERROR = 2,
  /// An argument is null, out of range or of the wrong type.
  kINVALID_ARGUMENT = 3,
  /// The configuration contradicts itself or the network.
  kINVALID_CONFIG = 4,
  /// Memory was not to be had.
  kFAILED_ALLOCATION = 5,
  /// A device, library or plugin could not be started.
  kFAILED_INITIALIZATION = 6,
  /// A run failed.
  kFAILED_EXECUTION = 7,
  /// A computation gave an invalid result.
  kFAILED_COMPUTATION = 8,
  /// The object is not ready for the call.
  kINVALID_STATE = 9,
  /// The device, platform or network cannot do it.
  kUNSUPPORTED_STATE = 10,
};
template <> constexpr int32_t EnumMax<ErrorCode>() noexcept {
  return 11;
}

}  // namespace nvinfer1

namespace nvinfer1 {
namespace v_1_0 {

/// Collects errors. Implementations must be thread-safe; the library counts references with
/// incRefCount and decRefCount.
class IErrorRecorder : public IVersionedInterface {
 public:
  using ErrorDesc = const char*;
  using RefCount = int32_t;
  static constexpr size_t kMAX_DESC_LENGTH{127};
  /// Names the interface and its version, so that the library knows which methods an object has.
  /// Implementations keep it as it is.
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return InterfaceInfo{"IErrorRecorder", 1, 0};
  }
  ~IErrorRecorder() noexcept override = default;
  /// Returns how many errors the recorder holds.
  virtual int32_t getNbErrors() const noexcept = 0;
  /// Returns the kind of an error, `errorIdx` from 0 to getNbErrors() - 1.
  virtual ErrorCode getErrorCode(int32_t errorIdx) const noexcept = 0;
  /// Returns the text of an error, null-terminated, which lives until clear().
  virtual v_1_0::IErrorRecorder::ErrorDesc getErrorDesc(int32_t errorIdx) const noexcept = 0;
  /// Returns whether errors were dropped because the recorder was full.
  virtual bool hasOverflowed() const noexcept = 0;
  /// Drops all errors and the overflow mark.
  virtual void clear() noexcept = 0;
  /// Takes an error from the library; `desc` is valid during the call only and may be longer than
  /// kMAX_DESC_LENGTH. Any thread may call it. The return value says whether the error is fatal;
  /// the library does not read it.
  virtual bool reportError(ErrorCode val, v_1_0::IErrorRecorder::ErrorDesc desc) noexcept = 0;
  /// Counts one more object that reports here, and returns the new count.
  virtual v_1_0::IErrorRecorder::RefCount incRefCount() noexcept = 0;
  /// Counts one object less that reports here, and returns the new count.
  virtual v_1_0::IErrorRecorder::RefCount decRefCount() noexcept = 0;

 protected:
  IErrorRecorder() = default;
  IErrorRecorder(const IErrorRecorder&) = default;
  IErrorRecorder& operator=(const IErrorRecorder&) = default;
  IErrorRecorder(IErrorRecorder&&) = default;
  IErrorRecorder& operator=(IErrorRecorder&&) = default;
};

}  // namespace v_1_0
}  // namespace nvinfer1

namespace nvinfer1 {

using IErrorRecorder = v_1_0::IErrorRecorder;
/// Role of a tensor in an engine: input, output, or neither.
enum class TensorIOMode : int32_t {
  /// Neither input nor output, or no tensor of the engine.
  kNONE = 0,
  /// Read by runs.
  kINPUT = 1,
  /// Written by runs.
  kOUTPUT = 2,
};
template <> constexpr int32_t EnumMax<TensorIOMode>() noexcept {
  return 3;
}

}  // namespace nvinfer1

/// Returns the version of the loaded library as one number, NV_TENSORRT_VERSION of its build.
/// Thread-safe.
extern "C" TENSORRTAPI int32_t getInferLibVersion() noexcept;
