#pragma once

#include "ops/op_kind.h"

namespace tenon {

struct RangeOf final : OpBase<RangeOf> {
  TENON_OP_HEADER(RangeOf, "range");
};

/// `value` has one element; undefined stands for an f32 zero.
struct Fill final : OpBase<Fill> {
  TENON_OP_HEADER(Fill, "fill");
  Tensor value;
  TENON_ATTRIBUTES(value);
};

/// Type `to`, or the input's with same_type.
struct EyeLike final : OpBase<EyeLike> {
  TENON_OP_HEADER(EyeLike, "eye_like");
  int64_t k = 0;
  bool same_type = true;
  DataType to = DataType::kFloat32;
  TENON_ATTRIBUTES(k, same_type, to);
};

struct OneHot final : OpBase<OneHot> {
  TENON_OP_HEADER(OneHot, "one_hot");
  int64_t axis = -1;
  TENON_ATTRIBUTES(axis);
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
  TENON_ATTRIBUTES(distribution, to, a, b, seed);
};

struct Bernoulli final : OpBase<Bernoulli> {
  TENON_OP_HEADER(Bernoulli, "bernoulli");
  bool same_type = true;
  DataType to = DataType::kFloat32;
  int64_t seed = 0;
  TENON_ATTRIBUTES(same_type, to, seed);
};

struct Multinomial final : OpBase<Multinomial> {
  TENON_OP_HEADER(Multinomial, "multinomial");
  int64_t samples = 1;
  DataType to = DataType::kInt32;
  int64_t seed = 0;
  TENON_ATTRIBUTES(samples, to, seed);
};

enum class WindowKind { kHann, kHamming, kBlackman };
TENON_ENUM_NAMES(WindowKind, "hann", "hamming", "blackman")

struct Window final : OpBase<Window> {
  TENON_OP_HEADER(Window, "window");
  WindowKind window = WindowKind::kHann;
  bool periodic = true;
  DataType to = DataType::kFloat32;
  TENON_ATTRIBUTES(window, periodic, to);
};

struct MelWeights final : OpBase<MelWeights> {
  TENON_OP_HEADER(MelWeights, "mel_weights");
  DataType to = DataType::kFloat32;
  TENON_ATTRIBUTES(to);
};

struct Dft final : OpBase<Dft> {
  TENON_OP_HEADER(Dft, "dft");
  bool onesided = false;
  bool inverse = false;
  TENON_ATTRIBUTES(onesided, inverse);
};

struct Stft final : OpBase<Stft> {
  TENON_OP_HEADER(Stft, "stft");
  bool onesided = true;
  TENON_ATTRIBUTES(onesided);
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
  TENON_ATTRIBUTES(mode, min_length, max_length, max_skips, counts, indexes, pool, weights);
};

}  // namespace tenon
