#include <cmath>

#include "kernels/epilogue/finish.h"

namespace tenon::cpu {
namespace {

float floor_div(float x, float y) {
  return std::floor(x / y);
}
float floor_mod(float x, float y) {
  const float r = std::fmod(x, y);
  return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}
float trunc_mod(float x, float y) {
  return std::fmod(x, y);
}

}  // namespace

#define TENON_FORMULA_arithmetic(...) return static_cast<float>(__VA_ARGS__)
#define TENON_FORMULA_real(...) return static_cast<float>(__VA_ARGS__)
#define TENON_FORMULA_compare(...) return (__VA_ARGS__) ? 1.0f : 0.0f
#define TENON_FORMULA_logical(...) return (__VA_ARGS__) ? 1.0f : 0.0f
#define TENON_FORMULA_bitwise(...) return x
#define TENON_FORMULA_choose(...) return x

float apply_scalar(PointwiseFunction f, float x, float y, float alpha, float beta) {
  using namespace std;  // the formulas name the functions of <cmath>
  using T = float;
  switch (f) {
#define TENON_POINTWISE(name, arity, category, ...) \
  case PointwiseFunction::k_##name:                 \
    TENON_FORMULA_##category(__VA_ARGS__);
#include "ops/pointwise.def"
  }
  return x;
}

}  // namespace tenon::cpu
