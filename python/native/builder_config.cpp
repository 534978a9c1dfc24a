// IBuilderConfig, optimization profiles and timing caches.

#include "common.h"
#include "tenon/device.h"
#include "tenon/numerics.h"
#include "tenon/passes.h"
#include "tenon/self_check.h"

namespace tenon::python {
namespace {

constexpr auto kInside = nb::rv_policy::reference_internal;
constexpr auto kOwned = nb::rv_policy::take_ownership;

constexpr OptProfileSelector kSelectors[] = {OptProfileSelector::kMIN, OptProfileSelector::kOPT,
                                             OptProfileSelector::kMAX};

void refuse(const char* input, const char* what) {
  const std::string text = std::string(what) + " of input '" + input +
                           "' were refused: min <= opt <= max, and equal ranks";
  throw nb::value_error(text.c_str());
}

std::vector<int64_t> values_of(nb::handle source) {
  std::vector<int64_t> values;
  for (nb::handle item : source) values.push_back(nb::cast<int64_t>(nb::int_(item)));
  return values;
}

template <typename Config> void set_device_row(Config& bound) {
  using Class = IBuilderConfig;
  bound.def("set_device_type", &Class::setDeviceType, "layer"_a, "device_type"_a)
      .def("get_device_type", &Class::getDeviceType, "layer"_a)
      .def("is_device_type_set", &Class::isDeviceTypeSet, "layer"_a)
      .def("reset_device_type", &Class::resetDeviceType, "layer"_a)
      .def("can_run_on_DLA", &Class::canRunOnDLA, "layer"_a);
}

void bind_limits(Documented<IBuilderConfig>& bound) {
  using Class = IBuilderConfig;
  bound
      // clang-format off
      TENON_RW("avg_timing_iterations", getAvgTimingIterations, setAvgTimingIterations)
      TENON_RW("engine_capability", getEngineCapability, setEngineCapability)
      TENON_RW("flags", getFlags, setFlags)
      TENON_RW("default_device_type", getDefaultDeviceType, setDefaultDeviceType)
      TENON_RW("DLA_core", getDLACore, setDLACore)
      TENON_RO("num_optimization_profiles", getNbOptimizationProfiles)
      TENON_RW("profiling_verbosity", getProfilingVerbosity, setProfilingVerbosity)
      TENON_RW("builder_optimization_level", getBuilderOptimizationLevel, setBuilderOptimizationLevel)
      TENON_RW("max_num_tactics", getMaxNbTactics, setMaxNbTactics)
      TENON_RW("hardware_compatibility_level", getHardwareCompatibilityLevel, setHardwareCompatibilityLevel)
      TENON_RW("runtime_platform", getRuntimePlatform, setRuntimePlatform)
      TENON_RW("max_aux_streams", getMaxAuxStreams, setMaxAuxStreams)
      TENON_RW("tiling_optimization_level", getTilingOptimizationLevel, setTilingOptimizationLevel)
      TENON_RW("l2_limit_for_tiling", getL2LimitForTiling, setL2LimitForTiling)
      TENON_RW("remote_auto_tuning_config", getRemoteAutoTuningConfig, setRemoteAutoTuningConfig)
                              // clang-format on
                              .def_prop_rw(
                                  "profile_stream",
                                  [](const Class& c) { return address_of(c.getProfileStream()); },
                                  [](Class& c, Handle stream) {
                                    c.setProfileStream(stream_of(stream));
                                  })
                              .def_prop_rw(
                                  "plugins_to_serialize",
                                  [](const Class& c) {
                                    std::vector<std::string> paths;
                                    for (int32_t i = 0; i < c.getNbPluginsToSerialize(); ++i)
                                      paths.emplace_back(c.getPluginToSerialize(i));
                                    return paths;
                                  },
                                  [](Class& c, const std::vector<std::string>& paths) {
                                    std::vector<const char*> pointers;
                                    for (const std::string& path : paths)
                                      pointers.push_back(path.c_str());
                                    c.setPluginsToSerialize(pointers.data(),
                                                            static_cast<int32_t>(pointers.size()));
                                  })
                              .def("set_memory_pool_limit", &Class::setMemoryPoolLimit, "pool"_a,
                                   "pool_size"_a)
                              .def("get_memory_pool_limit", &Class::getMemoryPoolLimit, "pool"_a)
                              .def("set_tactic_sources", &Class::setTacticSources,
                                   "tactic_sources"_a)
                              .def("get_tactic_sources", &Class::getTacticSources)
                              .def("set_preview_feature", &Class::setPreviewFeature, "feature"_a,
                                   "enable"_a)
                              .def("get_preview_feature", &Class::getPreviewFeature, "feature"_a)
                              .def("clear_flag", &Class::clearFlag, "flag"_a)
                              .def("set_flag", &Class::setFlag, "flag"_a)
                              .def("get_flag", &Class::getFlag, "flag"_a)
                              .def("reset", &Class::reset);
}

/// Objects of the application live as long as the configuration.
void bind_application(Documented<IBuilderConfig>& bound) {
  using Class = IBuilderConfig;
  constexpr auto kNone = [] { return nb::for_setter(nb::arg("value").none()); };
  constexpr auto kKeep = [] { return nb::for_setter(nb::keep_alive<1, 2>()); };
  bound
      .def_prop_rw("int8_calibrator", &Class::getInt8Calibrator, &Class::setInt8Calibrator, kNone(),
                   kKeep())
      .def_prop_rw("algorithm_selector", &Class::getAlgorithmSelector, &Class::setAlgorithmSelector,
                   kNone(), kKeep())
      .def_prop_rw("progress_monitor", &Class::getProgressMonitor, &Class::setProgressMonitor,
                   kNone(), kKeep())
      .def_prop_rw("quantization_flags", &Class::getQuantizationFlags, &Class::setQuantizationFlags)
      .def("clear_quantization_flag", &Class::clearQuantizationFlag, "flag"_a)
      .def("set_quantization_flag", &Class::setQuantizationFlag, "flag"_a)
      .def("get_quantization_flag", &Class::getQuantizationFlag, "flag"_a)
      .def("set_calibration_profile", &Class::setCalibrationProfile, "profile"_a,
           nb::keep_alive<1, 2>())
      .def("get_calibration_profile", &Class::getCalibrationProfile, kInside)
      .def("add_optimization_profile", &Class::addOptimizationProfile, "profile"_a,
           nb::keep_alive<1, 2>());
}

void bind_timing_cache(nb::module_& m) {
  Documented<TimingCacheKey>(m, "TimingCacheKey", "Identifies a measured layer.")
      .def_static(
          "parse",
          [](const std::string& text) {
            TimingCacheKey key{};
            const size_t start = text.starts_with("0x") ? 2 : 0;
            if (text.size() != start + 2 * sizeof key.data)
              throw nb::value_error("a key is 32 hexadecimal digits");
            for (size_t i = 0; i < sizeof key.data; ++i) {
              const std::string byte = text.substr(start + 2 * i, 2);
              size_t used = 0;
              key.data[i] = static_cast<uint8_t>(std::stoi(byte, &used, 16));
              if (used != 2) throw nb::value_error("a key is 32 hexadecimal digits");
            }
            return key;
          },
          "text"_a)
      .def("__str__", [](const TimingCacheKey& key) {
        constexpr char kDigits[] = "0123456789abcdef";
        std::string text = "0x";
        for (const uint8_t byte : key.data) {
          text += kDigits[byte >> 4];
          text += kDigits[byte & 15];
        }
        return text;
      });
  Documented<TimingCacheValue>(m, "TimingCacheValue", "A measurement.")
      .def(
          "__init__",
          [](TimingCacheValue* self, uint64_t hash, float ms) {
            new (self) TimingCacheValue{hash, ms};
          },
          "tactic_hash"_a, "timing_msec"_a)
      .def_rw("tacticHash", &TimingCacheValue::tacticHash)
      .def_rw("timingMSec", &TimingCacheValue::timingMSec);
  using Class = ITimingCache;
  Documented<Class>(m, "ITimingCache", "Measured times of kernels.")
      .def("serialize", &Class::serialize, kOwned)
      .def("combine", &Class::combine, "input_cache"_a, "ignore_mismatch"_a)
      .def("reset", &Class::reset)
      .def("queryKeys",
           [](const Class& cache) {
             std::vector<TimingCacheKey> keys(
                 static_cast<size_t>(std::max<int64_t>(0, cache.queryKeys(nullptr, 0))));
             cache.queryKeys(keys.data(), static_cast<int64_t>(keys.size()));
             return keys;
           })
      .def("query", &Class::query, "key"_a)
      .def("update", &Class::update, "key"_a, "value"_a);
}

void bind_caches(Documented<IBuilderConfig>& bound) {
  using Class = IBuilderConfig;
  bound
      .def(
          "create_timing_cache",
          [](const Class& config, nb::handle data) {
            Py_buffer view;
            if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE)) throw nb::python_error();
            ITimingCache* cache = config.createTimingCache(view.buf, static_cast<size_t>(view.len));
            PyBuffer_Release(&view);
            return cache;
          },
          "serialized_timing_cache"_a, kOwned)
      .def("set_timing_cache", &Class::setTimingCache, "cache"_a, "ignore_mismatch"_a,
           nb::keep_alive<1, 2>())
      .def("get_timing_cache", &Class::getTimingCache, kInside);
}

/// Additions of this library: functions of the module, so that the class stays TensorRT's.
void bind_own_settings(nb::module_& m) {
  own(m).def("set_build_device", &tenon::setBuildDevice, "config"_a, "device"_a, TENON_CALL);
  own(m).def("set_build_device_description", &tenon::setBuildDeviceDescription, "config"_a,
             "text"_a, TENON_CALL);
  own(m).def("disable_passes", &tenon::disablePasses, "config"_a, "names"_a, "logger"_a,
             TENON_CALL);
  own(m).def("keep_unfused", &tenon::keepUnfused, "config"_a, "patterns"_a, TENON_CALL);
  own(m).def("pass_list", &tenon::passList);
  own(m).def(
      "set_numerics",
      [](IBuilderConfig& config, const std::string& numerics) {
        if (numerics != "default" && numerics != "exact")
          throw nb::value_error("numerics are 'default' or 'exact'");
        return tenon::setNumerics(
            config, numerics == "exact" ? tenon::Numerics::kExact : tenon::Numerics::kDefault);
      },
      "config"_a, "numerics"_a, TENON_CALL);
  own(m).def("set_self_check", &tenon::setSelfCheck, "config"_a, "enabled"_a, "max_cost"_a = -1,
             TENON_CALL);
}

}  // namespace

void bind_profile(nb::module_& m) {
  using Class = IOptimizationProfile;
  Documented<Class>(m, "IOptimizationProfile", "Ranges of the extents of dynamic inputs.")
      .def(
          "set_shape",
          [](Class& profile, const char* input, const Dims& min, const Dims& opt, const Dims& max) {
            const Dims* shapes[] = {&min, &opt, &max};
            for (int i = 0; i < 3; ++i)
              if (!profile.setDimensions(input, kSelectors[i], *shapes[i]))
                refuse(input, "the shapes");
          },
          "input"_a, "min"_a, "opt"_a, "max"_a)
      .def(
          "get_shape",
          [](const Class& profile, const char* input) {
            std::vector<Dims> shapes;
            for (const auto select : kSelectors)
              shapes.push_back(profile.getDimensions(input, select));
            if (shapes[0].nbDims < 0) shapes.clear();
            return shapes;
          },
          "input"_a)
      .def(
          "set_shape_input",
          [](Class& profile, const char* input, nb::object min, nb::object opt, nb::object max) {
            const nb::object* given[] = {&min, &opt, &max};
            for (int i = 0; i < 3; ++i) {
              const std::vector<int64_t> values = values_of(*given[i]);
              if (!profile.setShapeValuesV2(input, kSelectors[i], values.data(),
                                            static_cast<int32_t>(values.size())))
                refuse(input, "the values");
            }
          },
          "input"_a, "min"_a, "opt"_a, "max"_a)
      .def(
          "get_shape_input",
          [](const Class& profile, const char* input) {
            std::vector<std::vector<int64_t>> all;
            const int32_t count = profile.getNbShapeValues(input);
            for (const auto select : kSelectors) {
              const int64_t* values = profile.getShapeValuesV2(input, select);
              if (values && count >= 0) all.emplace_back(values, values + count);
            }
            return all;
          },
          "input"_a)
      .def_prop_rw("extra_memory_target", &Class::getExtraMemoryTarget,
                   &Class::setExtraMemoryTarget)
      .def("__bool__", &Class::isValid)
      .def("__nonzero__", &Class::isValid);
}

void bind_builder_config(nb::module_& m) {
  bind_timing_cache(m);
  Documented<IBuilderConfig> bound(m, "IBuilderConfig",
                                   "How to build: precision, profiles, limits, caches.");
  bind_limits(bound);
  bind_application(bound);
  bind_caches(bound);
  set_device_row(bound);
  with_statement(bound);
  bind_own_settings(m);
}

}  // namespace tenon::python
