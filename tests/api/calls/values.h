#pragma once

#include <climits>
#include <cmath>

#include "world.h"

namespace api_calls {

/// How values of a parameter's type are kept until a call: references as pointers.
template <class P>
using Kept =
    std::conditional_t<std::is_reference_v<P>, std::remove_reference_t<P>*, std::remove_const_t<P>>;

template <class T> struct Tag {};

/// Whether a parameter points to plain memory or an array. Lengths beside it are then never above
/// what is there, which no callee can tell.
template <class P>
inline constexpr bool kIsMemory =
    std::is_pointer_v<P> && !std::is_same_v<P, const char*> &&
    (std::is_void_v<std::remove_pointer_t<P>> || std::is_pointer_v<std::remove_pointer_t<P>> ||
     std::is_arithmetic_v<std::remove_pointer_t<P>> || std::is_enum_v<std::remove_pointer_t<P>> ||
     std::is_same_v<P, TimingCacheKey*>);

/// The arguments of one type: the first makes sense where one does for most methods.
class Values {
 public:
  Values(World& world, bool lengths) : world_(world), lengths_(lengths) {}

  template <class T> std::vector<T> of(Tag<T> tag) const {
    if constexpr (std::is_enum_v<T>)
      return {static_cast<T>(0), static_cast<T>(1), static_cast<T>(2), static_cast<T>(99),
              static_cast<T>(-1)};
    else if constexpr (std::is_floating_point_v<T>)
      return {T{1},
              T{0},
              T{-1},
              static_cast<T>(1e30),
              std::numeric_limits<T>::infinity(),
              std::numeric_limits<T>::quiet_NaN()};
    else if constexpr (std::is_integral_v<T>)
      return integers(tag);
    else
      return objects(tag);
  }

 private:
  std::vector<bool> integers(Tag<bool>) const { return {true, false}; }
  template <class T> std::vector<T> integers(Tag<T>) const {
    constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
    if (lengths_) return {T{1}, T{0}, T{16}, kLeast, static_cast<T>(std::is_signed_v<T> ? -1 : 7)};
    return {T{1}, T{0}, T{2}, static_cast<T>(-1), T{99}, kLeast, kMost};
  }
  template <class T> static std::vector<T*> array(Tag<T*>) {
    static std::remove_const_t<T> values[64] = {};
    return {values, nullptr};
  }
  std::vector<const char*> objects(Tag<const char*>) const;
  std::vector<const Dims*> objects(Tag<const Dims*>) const;
  std::vector<Dims> objects(Tag<Dims>) const;
  std::vector<Weights> objects(Tag<Weights>) const;
  std::vector<Permutation> objects(Tag<Permutation>) const;
  std::vector<void*> objects(Tag<void*>) const {
    return {world_.memory(), nullptr, static_cast<std::byte*>(world_.memory()) + 1};
  }
  std::vector<const void*> objects(Tag<const void*>) const {
    return {world_.plan().data(), nullptr, world_.memory()};
  }
  std::vector<cudaStream_t> objects(Tag<cudaStream_t>) const { return {nullptr}; }
  std::vector<cudaEvent_t> objects(Tag<cudaEvent_t>) const { return {nullptr}; }
  std::vector<const char**> objects(Tag<const char**> tag) const { return array(tag); }
  std::vector<const char* const*> objects(Tag<const char* const*>) const;
  std::vector<void* const*> objects(Tag<void* const*>) const;
  std::vector<ITensor* const*> objects(Tag<ITensor* const*>) const;
  std::vector<WeightsRole*> objects(Tag<WeightsRole*> tag) const { return array(tag); }
  std::vector<const int32_t*> objects(Tag<const int32_t*> tag) const { return array(tag); }
  std::vector<int32_t*> objects(Tag<int32_t*> tag) const { return array(tag); }
  std::vector<const int64_t*> objects(Tag<const int64_t*> tag) const { return array(tag); }
  std::vector<int64_t*> objects(Tag<int64_t*> tag) const { return array(tag); }
  std::vector<const float*> objects(Tag<const float*> tag) const { return array(tag); }
  std::vector<float*> objects(Tag<float*> tag) const { return array(tag); }
  std::vector<TimingCacheKey*> objects(Tag<TimingCacheKey*> tag) const { return array(tag); }
  std::vector<const TimingCacheKey*> objects(Tag<const TimingCacheKey*>) const { return {&key_}; }
  std::vector<const TimingCacheValue*> objects(Tag<const TimingCacheValue*>) const {
    return {&value_};
  }
  std::vector<cudaStream_t*> objects(Tag<cudaStream_t*> tag) const { return array(tag); }
  std::vector<SubGraphCollection_t*> objects(Tag<SubGraphCollection_t*>) const { return {&parts_}; }
  std::vector<IHostMemory**> objects(Tag<IHostMemory**>) const { return {&text_}; }

#define TENON_ARGUMENT(Type, ...)                \
  std::vector<Type*> objects(Tag<Type*>) const { \
    return {__VA_ARGS__};                        \
  }
  TENON_ARGUMENT(ITensor, world_.tensor, world_.other_tensor, world_.foreign_tensor)
  TENON_ARGUMENT(const ITensor, world_.tensor, world_.other_tensor, world_.foreign_tensor)
  TENON_ARGUMENT(const ILayer, world_.network->getLayer(1), nullptr)
  TENON_ARGUMENT(IErrorRecorder, &world_.recorder, nullptr)
  TENON_ARGUMENT(IGpuAllocator, &world_.callbacks, nullptr)
  TENON_ARGUMENT(IProfiler, &world_.callbacks, nullptr)
  TENON_ARGUMENT(IOutputAllocator, &world_.callbacks, nullptr)
  TENON_ARGUMENT(IDebugListener, &world_.callbacks, nullptr)
  TENON_ARGUMENT(IProgressMonitor, &world_.callbacks, nullptr)
  TENON_ARGUMENT(IAlgorithmSelector, &world_.callbacks, nullptr)
  TENON_ARGUMENT(IStreamReader, &world_.callbacks)
  TENON_ARGUMENT(IStreamReaderV2, &world_.callbacks)
  TENON_ARGUMENT(IStreamWriter, &world_.callbacks)
  TENON_ARGUMENT(IPluginResource, &world_.callbacks, nullptr)
  TENON_ARGUMENT(IInt8Calibrator, &world_.calibrator, nullptr)
  TENON_ARGUMENT(INetworkDefinition, world_.network.get(), world_.other_network.get())
  TENON_ARGUMENT(const INetworkDefinition, world_.network.get(), world_.other_network.get())
  TENON_ARGUMENT(IBuilderConfig, world_.config.get())
  TENON_ARGUMENT(const IBuilderConfig, world_.config.get(), nullptr)
  TENON_ARGUMENT(const IOptimizationProfile, world_.profile, nullptr)
  TENON_ARGUMENT(const ITimingCache, world_.timing_cache.get())
  TENON_ARGUMENT(const IExecutionContext, world_.context.get(), nullptr)
  TENON_ARGUMENT(IRuntimeConfig, world_.runtime_config.get(), nullptr)
  TENON_ARGUMENT(ISerializationConfig, world_.serialization.get())
  TENON_ARGUMENT(ILogger, &world_.log)
  TENON_ARGUMENT(IPluginV2, &world_.offset)
  TENON_ARGUMENT(IPluginV3, &world_.repeat)
  TENON_ARGUMENT(IPluginCreator, &world_.offset_creator)
  TENON_ARGUMENT(const IPluginCreator, &world_.offset_creator)
  TENON_ARGUMENT(IPluginCreatorInterface, &world_.repeat_creator)
  TENON_ARGUMENT(const IPluginCreatorInterface, &world_.repeat_creator)
#undef TENON_ARGUMENT

  World& world_;
  bool lengths_;
  static inline TimingCacheKey key_{};
  static inline TimingCacheValue value_{};
  static inline SubGraphCollection_t parts_{};
  static inline IHostMemory* text_ = nullptr;
};

/// What a call is given, in words.
template <class T> std::string described(const T& value) {
  if constexpr (std::is_same_v<T, const char*>)
    return value == nullptr ? "null" : "'" + std::string(value).substr(0, 20) + "'";
  else if constexpr (std::is_pointer_v<T>)
    return value == nullptr ? "null" : "an object";
  else if constexpr (std::is_enum_v<T>)
    return std::to_string(static_cast<int64_t>(value));
  else if constexpr (std::is_arithmetic_v<T>)
    return std::to_string(value);
  else
    return "a structure";
}

}  // namespace api_calls
