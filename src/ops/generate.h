#pragma once

#include "ops/op_kind.h"

namespace tenon {

struct RangeOf final : OpBase<RangeOf> {
  TENON_OP_HEADER(RangeOf, "range");
  template <class V>
  void attributes(V&) {}
};

/// `value` has one element; undefined stands for an f32 zero.
struct Fill final : OpBase<Fill> {
  TENON_OP_HEADER(Fill, "fill");
  Tensor value;
  template <class V>
  void attributes(V& v) {
    v("value", value);
  }
};

/// Type `to`, or the input's with same_type.
struct EyeLike final : OpBase<EyeLike> {
  TENON_OP_HEADER(EyeLike, "eye_like");
  int64_t k = 0;
  bool same_type = true;
  DataType to = DataType::kFloat32;
  template <class V>
  void attributes(V& v) {
    v("k", k);
    v("same_type", same_type);
    v("to", to);
  }
};

struct OneHot final : OpBase<OneHot> {
  TENON_OP_HEADER(OneHot, "one_hot");
  int64_t axis = -1;
  template <class V>
  void attributes(V& v) {
    v("axis", axis);
  }
};

enum class Distribution { kUniform, kNormal };
TENON_ENUM_NAMES(Distribution, "uniform", "normal")

/// Uniform in [a, b), or normal with mean a and standard deviation b. Counter-based: the same seed
/// gives the same numbers.
struct Random final : OpBase<Random> {
  TENON_OP_HEADER(Random, "random");
  Distribution distribution = Distribution::kUniform;
  DataType to = DataType::kFloat32;
  double a = 0;
  double b = 1;
  int64_t seed = 0;
  template <class V>
  void attributes(V& v) {
    v("distribution", distribution);
    v("to", to);
    v("a", a);
    v("b", b);
    v("seed", seed);
  }
};

struct Bernoulli final : OpBase<Bernoulli> {
  TENON_OP_HEADER(Bernoulli, "bernoulli");
  bool same_type = true;
  DataType to = DataType::kFloat32;
  int64_t seed = 0;
  template <class V>
  void attributes(V& v) {
    v("same_type", same_type);
    v("to", to);
    v("seed", seed);
  }
};

struct Multinomial final : OpBase<Multinomial> {
  TENON_OP_HEADER(Multinomial, "multinomial");
  int64_t samples = 1;
  DataType to = DataType::kInt32;
  int64_t seed = 0;
  template <class V>
  void attributes(V& v) {
    v("samples", samples);
    v("to", to);
    v("seed", seed);
  }
};

enum class WindowKind { kHann, kHamming, kBlackman };
TENON_ENUM_NAMES(WindowKind, "hann", "hamming", "blackman")

struct Window final : OpBase<Window> {
  TENON_OP_HEADER(Window, "window");
  WindowKind window = WindowKind::kHann;
  bool periodic = true;
  DataType to = DataType::kFloat32;
  template <class V>
  void attributes(V& v) {
    v("window", window);
    v("periodic", periodic);
    v("to", to);
  }
};

struct MelWeights final : OpBase<MelWeights> {
  TENON_OP_HEADER(MelWeights, "mel_weights");
  DataType to = DataType::kFloat32;
  template <class V>
  void attributes(V& v) {
    v("to", to);
  }
};

struct Dft final : OpBase<Dft> {
  TENON_OP_HEADER(Dft, "dft");
  bool onesided = false;
  bool inverse = false;
  template <class V>
  void attributes(V& v) {
    v("onesided", onesided);
    v("inverse", inverse);
  }
};

struct Stft final : OpBase<Stft> {
  TENON_OP_HEADER(Stft, "stft");
  bool onesided = true;
  template <class V>
  void attributes(V& v) {
    v("onesided", onesided);
  }
};

enum class TfIdfMode { kTf, kIdf, kTfIdf };
TENON_ENUM_NAMES(TfIdfMode, "tf", "idf", "tfidf")

/// ONNX TfIdfVectorizer over integers.
struct TfIdf final : OpBase<TfIdf> {
  TENON_OP_HEADER(TfIdf, "tfidf");
  TfIdfMode mode = TfIdfMode::kTf;
  int64_t min_length = 1;
  int64_t max_length = 1;
  int64_t max_skips = 0;
  std::vector<int64_t> counts;
  std::vector<int64_t> indexes;
  std::vector<int64_t> pool;
  std::vector<double> weights;
  template <class V>
  void attributes(V& v) {
    v("mode", mode);
    v("min_length", min_length);
    v("max_length", max_length);
    v("max_skips", max_skips);
    v("counts", counts);
    v("indexes", indexes);
    v("pool", pool);
    v("weights", weights);
  }
};

}  // namespace tenon
