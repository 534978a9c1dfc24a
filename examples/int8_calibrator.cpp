// Integers of 8 bits with ranges from data: a calibrator hands out batches and keeps its results in
// a cache.
#include <cmath>

#include "common.h"

namespace {

constexpr int kBatch = 32;

class Calibrator final : public nvinfer1::IInt8EntropyCalibrator2 {
 public:
  Calibrator(const example::Digits& digits, std::string cache)
      : digits_(digits), cache_(std::move(cache)) {}

  int32_t getBatchSize() const noexcept override { return kBatch; }
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override {
    if (next_ + kBatch > digits_.count() || count != 1 || std::strcmp(names[0], "pixels") != 0)
      return false;
    batch_.write(digits_.image(next_), kBatch * 64 * sizeof(float));
    bindings[0] = batch_.data();
    next_ += kBatch;
    return true;
  }
  const void* readCalibrationCache(size_t& length) noexcept override {
    std::ifstream file(cache_, std::ios::binary);
    stored_.assign(std::istreambuf_iterator<char>(file), {});
    length = stored_.size();
    return stored_.empty() ? nullptr : stored_.data();
  }
  void writeCalibrationCache(const void* data, size_t length) noexcept override {
    std::ofstream(cache_, std::ios::binary)
        .write(static_cast<const char*>(data), static_cast<std::streamsize>(length));
  }
  int batches() const { return next_ / kBatch; }

 private:
  const example::Digits& digits_;
  std::string cache_;
  std::vector<char> stored_;
  example::Buffer batch_{kBatch * 64 * sizeof(float)};
  int next_ = 0;
};

double part_right(const std::string& folder, const example::Digits& digits,
                  Calibrator* calibrator) {
  example::Build build;
  build.parse(folder);
  build.profile(kBatch, kBatch, kBatch);
  if (calibrator != nullptr) {
    build.config->setFlag(nvinfer1::BuilderFlag::kINT8);
    build.config->setInt8Calibrator(calibrator);
  }
  const auto plan = build.plan();
  const std::unique_ptr<nvinfer1::IRuntime> runtime(
      nvinfer1::createInferRuntime(example::logger()));
  const auto engine = example::load(*runtime, plan.get());
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  return example::accuracy(*context, digits, kBatch);
}

}  // namespace

int main(int, char** arguments) {
  const std::string folder = arguments[1], cache = folder + "/digits.calibration";
  std::remove(cache.c_str());
  const example::Digits digits = example::read_digits(folder);
  Calibrator first(digits, cache), second(digits, cache);
  const double reals = part_right(folder, digits, nullptr),
               integers = part_right(folder, digits, &first);
  std::printf("FP32 %.1f %%, INT8 %.1f %% right; %d batches were looked at\n", 100 * reals,
              100 * integers, first.batches());
  example::require(first.batches() > 0, "calibration");
  example::require(integers > reals - 0.01, "accuracy in INT8");
  // Ranges are the same; kernels are timed anew, and may round in another order.
  example::require(std::abs(part_right(folder, digits, &second) - integers) < 0.01,
                   "the same result from the cache");
  example::require(second.batches() == 0, "no batch with a cache");
}
