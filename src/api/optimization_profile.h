#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "network/report.h"
#include "plan/plan.h"
#include "surface/implementation.h"

namespace tenon::api {

/// IOptimizationProfile: ranges by input name.
class OptimizationProfile final : public surface::Implementation<nvinfer1::IOptimizationProfile> {
 public:
  explicit OptimizationProfile(std::shared_ptr<network::Reporter> reporter)
      : reporter_(std::move(reporter)) {}
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

  /// The first input whose shapes or values are incomplete or out of order; null: none.
  const std::string* wrong_input() const;
  /// For the compiler. Only for valid profiles.
  Profile profile() const;

 private:
  /// False, with an error.
  bool refuse(const char* method, const char* what) const;
  static constexpr int kSelectors = 3;
  struct Values {
    std::vector<int64_t> wide;
    std::vector<int32_t> narrow;
  };
  std::shared_ptr<network::Reporter> reporter_;
  std::map<std::string, std::map<int, nvinfer1::Dims>> shapes_;
  std::map<std::string, std::map<int, Values>> values_;
  float extra_memory_ = 1.0F;
};

}  // namespace tenon::api
