#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "surface/implementation.h"

namespace tenon::api {

/// IOptimizationProfile: ranges by input name.
class OptimizationProfile final : public surface::Implementation<nvinfer1::IOptimizationProfile> {
 public:
  bool setDimensions(const char* input, nvinfer1::OptProfileSelector select,
                     const nvinfer1::Dims& dims) noexcept override;
  nvinfer1::Dims getDimensions(const char* input,
                               nvinfer1::OptProfileSelector select) const noexcept override;
  bool setShapeValues(const char* input, nvinfer1::OptProfileSelector select, const int32_t* values,
                      int32_t count) noexcept override;
  int32_t getNbShapeValues(const char* input) const noexcept override;
  const int32_t* getShapeValues(const char* input,
                                nvinfer1::OptProfileSelector select) const noexcept override;
  bool setExtraMemoryTarget(float target) noexcept override;
  float getExtraMemoryTarget() const noexcept override { return extra_memory_; }
  bool isValid() const noexcept override;
  bool setShapeValuesV2(const char* input, nvinfer1::OptProfileSelector select,
                        const int64_t* values, int32_t count) noexcept override;
  const int64_t* getShapeValuesV2(const char* input,
                                  nvinfer1::OptProfileSelector select) const noexcept override;

  /// For the compiler. Only for valid profiles.
  Profile profile() const;

 private:
  static constexpr int kSelectors = 3;
  struct Values {
    std::vector<int64_t> wide;
    std::vector<int32_t> narrow;
  };
  std::map<std::string, std::map<int, nvinfer1::Dims>> shapes_;
  std::map<std::string, std::map<int, Values>> values_;
  float extra_memory_ = 1.0F;
};

}  // namespace tenon::api
