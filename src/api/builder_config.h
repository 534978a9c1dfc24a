#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/build_report.h"
#include "api/timing_cache.h"
#include "network/report.h"
#include "select/compile.h"
#include "surface/implementation.h"
#include "tenon/device.h"
#include "tenon/progress.h"

namespace tenon::api {

using namespace nvinfer1;  // The surface's own names, in the classes that implement it.
using nvinfer1::DataType;
using nvinfer1::Dims;

/// What a pool is limited to by default: TensorRT's defaults.
constexpr std::size_t default_pool_limit(MemoryPoolType pool) {
  return pool == MemoryPoolType::kTACTIC_SHARED_MEMORY ? std::size_t{1} << 30 : SIZE_MAX;
}

/// A setting of which api/builder_settings.def says the values that it may have.
#define TENON_CONFIG_NUMBER(Type, Name, member)                      \
  Type get##Name() const noexcept override {                         \
    return member;                                                   \
  }                                                                  \
  void set##Name(Type value) noexcept override {                     \
    if (accepts(#Name, static_cast<int64_t>(value))) member = value; \
  }
/// One that the application owns.
#define TENON_CONFIG_OBJECT(Type, Name, member)  \
  Type get##Name() const noexcept override {     \
    return member;                               \
  }                                              \
  void set##Name(Type value) noexcept override { \
    member = value;                              \
  }

/// IBuilderConfig: plain settings.
class BuilderConfig final : public surface::Implementation<IBuilderConfig> {
 public:
  explicit BuilderConfig(std::shared_ptr<network::Reporter> reporter)
      : reporter_(std::move(reporter)) {}

  TENON_CONFIG_NUMBER(int32_t, AvgTimingIterations, avg_timing_iterations_)
  TENON_CONFIG_NUMBER(EngineCapability, EngineCapability, engine_capability_)
  TENON_CONFIG_OBJECT(IInt8Calibrator*, Int8Calibrator, int8_calibrator_)
  BuilderFlags getFlags() const noexcept override { return flags_; }
  void setFlags(BuilderFlags value) noexcept override;
  TENON_CONFIG_NUMBER(int32_t, DLACore, d_l_a_core_)
  TENON_CONFIG_NUMBER(DeviceType, DefaultDeviceType, default_device_type_)
  TENON_CONFIG_OBJECT(cudaStream_t, ProfileStream, profile_stream_)
  TENON_CONFIG_NUMBER(ProfilingVerbosity, ProfilingVerbosity, profiling_verbosity_)
  TENON_CONFIG_OBJECT(IAlgorithmSelector*, AlgorithmSelector, algorithm_selector_)
  TENON_CONFIG_NUMBER(QuantizationFlags, QuantizationFlags, quantization_flags_)
  TacticSources getTacticSources() const noexcept override { return tactic_sources_; }
  bool setTacticSources(TacticSources value) noexcept override {
    if (!accepts("TacticSources", value)) return false;
    tactic_sources_ = value;
    sources_given_ = true;
    return true;
  }
  /// False for sources that the application left out; without its word all are used.
  bool takes_from(TacticSource source) const {
    return !sources_given_ || (tactic_sources_ & bit(source)) != 0;
  }
  TENON_CONFIG_NUMBER(int32_t, BuilderOptimizationLevel, builder_optimization_level_)
  TENON_CONFIG_NUMBER(HardwareCompatibilityLevel, HardwareCompatibilityLevel,
                      hardware_compatibility_level_)
  TENON_CONFIG_NUMBER(int32_t, MaxAuxStreams, max_aux_streams_)
  TENON_CONFIG_OBJECT(IProgressMonitor*, ProgressMonitor, progress_monitor_)
  TENON_CONFIG_NUMBER(RuntimePlatform, RuntimePlatform, runtime_platform_)
  TENON_CONFIG_NUMBER(int32_t, MaxNbTactics, max_nb_tactics_)
  TilingOptimizationLevel getTilingOptimizationLevel() const noexcept override {
    return tiling_optimization_level_;
  }
  bool setTilingOptimizationLevel(TilingOptimizationLevel value) noexcept override {
    if (!accepts("TilingOptimizationLevel", static_cast<int64_t>(value))) return false;
    tiling_optimization_level_ = value;
    return true;
  }
  int64_t getL2LimitForTiling() const noexcept override { return l2_limit_for_tiling_; }
  bool setL2LimitForTiling(int64_t value) noexcept override {
    if (!accepts("L2LimitForTiling", static_cast<int64_t>(value))) return false;
    l2_limit_for_tiling_ = value;
    return true;
  }

  void clearFlag(BuilderFlag flag) noexcept override {
    if (is_flag("clearFlag", flag)) flags_ &= ~bit(flag);
  }
  void setFlag(BuilderFlag flag) noexcept override;
  bool getFlag(BuilderFlag flag) const noexcept override {
    return is_flag("getFlag", flag) && (flags_ & bit(flag)) != 0;
  }
  void clearQuantizationFlag(QuantizationFlag flag) noexcept override {
    if (is_flag("clearQuantizationFlag", flag)) quantization_flags_ &= ~bit(flag);
  }
  void setQuantizationFlag(QuantizationFlag flag) noexcept override {
    if (is_flag("setQuantizationFlag", flag)) quantization_flags_ |= bit(flag);
  }
  bool getQuantizationFlag(QuantizationFlag flag) const noexcept override {
    return is_flag("getQuantizationFlag", flag) && (quantization_flags_ & bit(flag)) != 0;
  }
  void setDeviceType(const ILayer* layer, DeviceType type) noexcept override;
  DeviceType getDeviceType(const ILayer* layer) const noexcept override;
  bool isDeviceTypeSet(const ILayer* layer) const noexcept override {
    return layer_devices_.count(layer) != 0;
  }
  void resetDeviceType(const ILayer* layer) noexcept override { layer_devices_.erase(layer); }
  bool canRunOnDLA(const ILayer*) const noexcept override { return false; }
  void reset() noexcept override;
  int32_t addOptimizationProfile(const IOptimizationProfile* profile) noexcept override;
  int32_t getNbOptimizationProfiles() const noexcept override {
    return static_cast<int32_t>(profiles_.size());
  }
  bool setCalibrationProfile(const IOptimizationProfile* profile) noexcept override;
  const IOptimizationProfile* getCalibrationProfile() noexcept override {
    return calibration_profile_;
  }
  ITimingCache* createTimingCache(const void* blob, std::size_t size) const noexcept override;
  bool setTimingCache(const ITimingCache& cache, bool ignoreMismatch) noexcept override;
  const ITimingCache* getTimingCache() const noexcept override { return timing_cache_; }
  void setMemoryPoolLimit(MemoryPoolType pool, std::size_t size) noexcept override;
  std::size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept override;
  void setPreviewFeature(PreviewFeature feature, bool enable) noexcept override;
  bool getPreviewFeature(PreviewFeature feature) const noexcept override;
  void setPluginsToSerialize(const char* const* paths, int32_t count) noexcept override;
  const char* getPluginToSerialize(int32_t index) const noexcept override;
  int32_t getNbPluginsToSerialize() const noexcept override {
    return static_cast<int32_t>(plugins_.size());
  }
  bool setRemoteAutoTuningConfig(const char* config) noexcept override;
  const char* getRemoteAutoTuningConfig() const noexcept override { return remote_tuning_.c_str(); }

  bool has_layer_devices() const { return !layer_devices_.empty(); }
  const IOptimizationProfile* calibration_profile() const { return calibration_profile_; }
  const std::map<PreviewFeature, bool>& previews() const { return previews_; }
  const std::vector<const IOptimizationProfile*>& profiles() const { return profiles_; }
  TimingCacheHandle* timing_cache() const { return timing_cache_; }
  /// Of include/tenon/passes.h.
  struct PassSwitches {
    std::vector<std::string> disabled, no_fuse;
    LevelObserver levels;
  };
  /// Of include/tenon/self_check.h.
  struct SelfCheckSwitch {
    bool enabled = true;
    int64_t max_cost = -1;  ///< -1: the usual limit.
    bool regions = false;
    bool keep_failed = false;
  };
  /// Of include/tenon/progress.h.
  struct ProgressSettings {
    IBuildObserver* observer = nullptr;
    double budget = 0;  ///< Seconds; 0: no limit.
  };
  ProgressSettings& progress() { return progress_; }
  const ProgressSettings& progress() const { return progress_; }
  SelfCheckSwitch& self_check() { return self_check_; }
  const SelfCheckSwitch& self_check() const { return self_check_; }
  /// Of include/tenon/device.h.
  int32_t device() const { return device_; }
  void set_device(int32_t device) { device_ = device; }
  /// Of a GPU that is not there; empty: the device is.
  const std::string& device_description() const { return device_description_; }
  void set_device_description(std::string text) { device_description_ = std::move(text); }
  /// Of include/tenon/precision.h; negative: none.
  double precision_budget() const { return precision_budget_; }
  void set_precision_budget(double error) { precision_budget_ = error; }
  double quantization_budget() const { return quantization_budget_; }
  void set_quantization_budget(double error) { quantization_budget_ = error; }
  /// Of include/tenon/quantize.h.
  bool random_calibration() const { return random_calibration_; }
  void set_random_calibration(bool enabled) { random_calibration_ = enabled; }
  /// Of include/tenon/numerics.h.
  bool exact_numerics() const { return exact_numerics_; }
  void set_exact_numerics(bool exact) { exact_numerics_ = exact; }
  /// Of include/tenon/inspect.h.
  bool records_candidates() const { return records_candidates_; }
  void set_records_candidates(bool record) { records_candidates_ = record; }
  PassSwitches& pass_switches() { return pass_switches_; }
  const PassSwitches& pass_switches() const { return pass_switches_; }
  /// Of include/tenon/report.h; null where nothing is kept.
  BuildReport* report() { return report_.get(); }
  const BuildReport* report() const { return report_.get(); }
  void keep_report(bool keep) { report_ = keep ? std::make_unique<BuildReport>() : nullptr; }

 private:
  /// cuBLAS, cuBLASLt and cuDNN off, as the surface documents; edge-mask and run-time compiled
  /// convolutions on.
  static constexpr TacticSources kDefaultTacticSources = 0x18;
  template <class Flag> static uint32_t bit(Flag flag) { return 1U << static_cast<uint32_t>(flag); }
  /// Whether the value is one that api/builder_settings.def allows; reports it otherwise.
  bool accepts(const char* setting, int64_t value) const;
  bool is_flag(const char* method, BuilderFlag flag) const;
  bool is_flag(const char* method, QuantizationFlag flag) const;

  std::shared_ptr<network::Reporter> reporter_;
  int32_t avg_timing_iterations_ = 1;
  EngineCapability engine_capability_ = EngineCapability::kSTANDARD;
  IInt8Calibrator* int8_calibrator_ = nullptr;
  BuilderFlags flags_ = 1U << static_cast<uint32_t>(BuilderFlag::kTF32);
  int32_t d_l_a_core_ = -1;
  DeviceType default_device_type_ = DeviceType::kGPU;
  cudaStream_t profile_stream_ = nullptr;
  ProfilingVerbosity profiling_verbosity_ = ProfilingVerbosity::kLAYER_NAMES_ONLY;
  IAlgorithmSelector* algorithm_selector_ = nullptr;
  QuantizationFlags quantization_flags_ = 0;
  TacticSources tactic_sources_ = kDefaultTacticSources;
  bool sources_given_ = false;
  int32_t builder_optimization_level_ = 3;
  HardwareCompatibilityLevel hardware_compatibility_level_ = HardwareCompatibilityLevel::kNONE;
  int32_t max_aux_streams_ = -1;
  IProgressMonitor* progress_monitor_ = nullptr;
  RuntimePlatform runtime_platform_ = RuntimePlatform::kSAME_AS_BUILD;
  int32_t max_nb_tactics_ = -1;
  TilingOptimizationLevel tiling_optimization_level_ = TilingOptimizationLevel::kNONE;
  int64_t l2_limit_for_tiling_ = -1;
  std::map<const ILayer*, DeviceType> layer_devices_;
  std::vector<const IOptimizationProfile*> profiles_;
  const IOptimizationProfile* calibration_profile_ = nullptr;
  TimingCacheHandle* timing_cache_ = nullptr;
  std::map<MemoryPoolType, std::size_t> pools_;
  std::map<PreviewFeature, bool> previews_;
  std::vector<std::string> plugins_;
  std::string remote_tuning_;
  PassSwitches pass_switches_;
  SelfCheckSwitch self_check_;
  bool exact_numerics_ = false;
  bool random_calibration_ = false;
  double precision_budget_ = -1;
  double quantization_budget_ = -1;
  ProgressSettings progress_;
  bool records_candidates_ = false;
  int32_t device_ = kDefaultDevice;
  std::string device_description_;
  std::unique_ptr<BuildReport> report_;
};

}  // namespace tenon::api
