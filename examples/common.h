// Shared by the examples: a logger, memory where engines run, and the digits that they classify.
#pragma once

#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <tenon/device.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace example {

class Logger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "%s\n", text);
  }
};

inline Logger& logger() {
  static Logger one;
  return one;
}

/// Ends the program with the text unless it holds.
inline void require(bool holds, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", text.c_str());
  std::exit(1);
}

/// The first GPU; null where there is none, and engines run on the CPU.
inline tenon::IGpu* gpu() {
  static struct Silent final : nvinfer1::ILogger {  // Having no GPU is no error here.
    void log(Severity, const char*) noexcept override {}
  } silent;
  static const std::unique_ptr<tenon::IGpu> one(tenon::openGpu(0, silent));
  return one.get();
}

/// Memory that an engine reads and writes: of the GPU, or of the host.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(bytes) {
    if (gpu() != nullptr)
      data_ = gpu()->allocate(bytes);
    else
      host_.resize(bytes / sizeof(double) + 1);
    if (gpu() == nullptr) data_ = host_.data();
    require(data_ != nullptr, "no memory");
  }
  ~Buffer() {
    if (gpu() != nullptr) gpu()->destroy(data_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  void write(const void* from, size_t bytes) { copy(data_, from, bytes); }
  void read(void* to, size_t bytes) const { copy(to, data_, bytes); }

 private:
  static void copy(void* to, const void* from, size_t bytes) {
    if (gpu() == nullptr)
      std::memcpy(to, from, bytes);
    else
      require(gpu()->copyAsync(to, from, bytes, nullptr) && gpu()->synchronize(cudaStream_t{}),
              "a copy");
  }

  size_t bytes_;
  void* data_ = nullptr;
  std::vector<double> host_;
};

/// scikit-learn's digits that the network was not trained with: 8x8 pixels each.
struct Digits {
  std::vector<float> pixels;
  std::vector<int> classes;
  int count() const { return static_cast<int>(classes.size()); }
  const float* image(int index) const { return &pixels[static_cast<size_t>(index) * 64]; }
};

inline std::vector<float> read_floats(const std::string& file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  require(stream.good(), file + " cannot be read; examples/digits.py writes it");
  std::vector<float> values(static_cast<size_t>(stream.tellg()) / sizeof(float));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

inline Digits read_digits(const std::string& folder) {
  const std::vector<float> values = read_floats(folder + "/digits.test");
  Digits digits;
  for (size_t at = 1; at + 65 <= values.size(); at += 65) {
    digits.pixels.insert(digits.pixels.end(), &values[at], &values[at] + 64);
    digits.classes.push_back(static_cast<int>(values[at + 64]));
  }
  return digits;
}

inline std::unique_ptr<nvinfer1::ICudaEngine> load(nvinfer1::IRuntime& runtime,
                                                   const nvinfer1::IHostMemory* plan) {
  require(plan != nullptr, "the build");
  std::unique_ptr<nvinfer1::ICudaEngine> engine(
      runtime.deserializeCudaEngine(plan->data(), plan->size()));
  require(engine != nullptr, "loading the plan");
  return engine;
}

/// The part of the digits that an engine from "pixels" [batch, 1, 8, 8] to "scores" [batch, 10]
/// finds the class of, `batch` at a time.
inline double accuracy(nvinfer1::IExecutionContext& context, const Digits& digits, int batch) {
  Buffer pixels(static_cast<size_t>(batch) * 64 * sizeof(float)),
      scores(static_cast<size_t>(batch) * 10 * sizeof(float));
  require(context.setInputShape("pixels", nvinfer1::Dims4{batch, 1, 8, 8}), "the shape");
  require(context.setTensorAddress("pixels", pixels.data()) &&
              context.setTensorAddress("scores", scores.data()),
          "addresses");
  int right = 0, seen = 0;
  for (int first = 0; first + batch <= digits.count(); first += batch) {
    pixels.write(digits.image(first), static_cast<size_t>(batch) * 64 * sizeof(float));
    require(context.enqueueV3(nullptr), "the run");
    std::vector<float> found(static_cast<size_t>(batch) * 10);
    scores.read(found.data(), found.size() * sizeof(float));
    for (int i = 0; i < batch; ++i, ++seen) {
      const float* row = &found[static_cast<size_t>(i) * 10];
      int best = 0;
      for (int c = 1; c < 10; ++c)
        if (row[c] > row[best]) best = c;
      right += best == digits.classes[static_cast<size_t>(first + i)];
    }
  }
  return static_cast<double>(right) / seen;
}

/// A builder with an empty network and a configuration.
struct Build {
  std::unique_ptr<nvinfer1::IBuilder> builder{nvinfer1::createInferBuilder(logger())};
  std::unique_ptr<nvinfer1::INetworkDefinition> network{builder->createNetworkV2(0)};
  std::unique_ptr<nvinfer1::IBuilderConfig> config{builder->createBuilderConfig()};

  /// The digits' network from ONNX.
  void parse(const std::string& folder) {
    parser.reset(nvonnxparser::createParser(*network, logger()));
    require(parser->parseFromFile((folder + "/digits.onnx").c_str(), 1), "the ONNX file");
  }
  void profile(int least, int usual, int most) {
    nvinfer1::IOptimizationProfile* bounds = builder->createOptimizationProfile();
    bounds->setDimensions("pixels", nvinfer1::OptProfileSelector::kMIN,
                          nvinfer1::Dims4{least, 1, 8, 8});
    bounds->setDimensions("pixels", nvinfer1::OptProfileSelector::kOPT,
                          nvinfer1::Dims4{usual, 1, 8, 8});
    bounds->setDimensions("pixels", nvinfer1::OptProfileSelector::kMAX,
                          nvinfer1::Dims4{most, 1, 8, 8});
    config->addOptimizationProfile(bounds);
  }
  std::unique_ptr<nvinfer1::IHostMemory> plan() {
    return std::unique_ptr<nvinfer1::IHostMemory>(
        builder->buildSerializedNetwork(*network, *config));
  }

 private:
  std::unique_ptr<nvonnxparser::IParser> parser;  ///< Holds the weights until the plan is built.
};

}  // namespace example
