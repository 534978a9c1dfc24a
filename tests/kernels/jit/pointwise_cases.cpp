// Pointwise operators and regions, casts, copies.
#include <limits>

#include "kernels/jit/kernel_case.h"

namespace tenon::test {
namespace {

Tensor random_of(DataType type, Extents extents, int seed, double low, double high) {
  if (type == DataType::kBool) return random_integers(type, std::move(extents), seed, 0, 1);
  if (is_real(type)) return random_reals(type, std::move(extents), seed, low, high);
  const bool is_signed = name_of(type)[0] == 'i';
  return random_integers(type, std::move(extents), seed, is_signed ? -7 : 0, 9);
}

/// Types that a class of functions is tried with.
std::vector<DataType> types_of(PointwiseClass category) {
  switch (category) {
    case PointwiseClass::real: return {DataType::kFloat32};
    case PointwiseClass::bitwise: return {DataType::kInt32, DataType::kUInt8};
    case PointwiseClass::logical: return {DataType::kBool};
    case PointwiseClass::compare: return {DataType::kFloat32, DataType::kInt64};
    default: return {DataType::kFloat32, DataType::kInt32};
  }
}

void add_function(Cases& cases, PointwiseFunction function, int seed) {
  const PointwiseInfo& info = pointwise_info(function);
  const bool above_one = info.name == "acosh";
  for (const DataType type : types_of(info.category)) {
    std::vector<CaseInput> inputs;
    for (int i = 0; i < info.arity; ++i) {
      const bool chooses = info.category == PointwiseClass::choose && i == 0;
      inputs.push_back(input(random_of(chooses ? DataType::kBool : type, {3, 5, 8}, seed * 3 + i,
                                       above_one ? 1.1 : 0.1, above_one ? 3 : 0.9)));
    }
    add(cases, fmt::format("pointwise {} {}", info.name, name_of(type)),
        Pointwise(function, 0.3, 0.7), std::move(inputs))
        .tolerance(is_real(type) ? 1e-4 : 0);
  }
}

void add_broadcasts(Cases& cases) {
  const std::vector<std::pair<Extents, Extents>> shapes = {
      {{4, 6, 32}, {32}},     {{4, 6, 32}, {6, 1}},      {{4, 6, 32}, {4, 1, 1}}, {{5, 7, 9}, {1}},
      {{3, 1, 8}, {1, 5, 1}}, {{2, 3, 5, 7}, {3, 1, 1}}, {{1000003}, {1}}};
  int seed = 0;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16})
    for (const auto& [a, b] : shapes) {
      auto& c = add(cases, fmt::format("broadcast {} {}", name_of(type), ++seed),
                    Pointwise(PointwiseFunction::k_mul),
                    std::vector{input(random_reals(type, a, seed)),
                                seed % 2 == 0 ? input(random_reals(type, b, seed + 9))
                                              : constant(random_reals(type, b, seed + 9))});
      c.then(PointwiseFunction::k_sigmoid)
          .then(PointwiseFunction::k_add, constant(random_reals(type, {1}, 5)));
    }
  add(cases, "broadcast nhwc", Pointwise(PointwiseFunction::k_add),
      std::vector{input(random_reals(DataType::kFloat16, {2, 24, 5, 3}, 1), Layout::kChannelsLast),
                  input(random_reals(DataType::kFloat16, {24, 1, 1}, 2))})
      .output_layout(Layout::kChannelsLast)
      .then(PointwiseFunction::k_relu);
  const auto all = [](double value) {
    Tensor tensor(DataType::kFloat32, {1});
    tensor.set_from_double(0, value);
    return constant(std::move(tensor));
  };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  add(cases, "infinite numbers", Pointwise(PointwiseFunction::k_max),
      std::vector{input(random_reals(DataType::kFloat32, {4, 6, 32}, 3)), all(-kInfinite)})
      .then(PointwiseFunction::k_min, all(kInfinite));
  add(cases, "large sum", Pointwise(PointwiseFunction::k_add),
      std::vector{input(random_reals(DataType::kFloat16, {1 << 21}, 1)),
                  input(random_reals(DataType::kFloat16, {1 << 21}, 2))});
}

void add_casts(Cases& cases) {
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16,
                                 DataType::kFloat64, DataType::kInt8,    DataType::kInt16,
                                 DataType::kInt32,   DataType::kInt64,   DataType::kUInt8,
                                 DataType::kUInt16,  DataType::kUInt32,  DataType::kUInt64,
                                 DataType::kBool};
  int seed = 0;
  for (const DataType from : kTypes)
    for (const DataType to :
         {kTypes[seed % 13], kTypes[(seed + 4) % 13], kTypes[(seed + 7) % 13]}) {
      ++seed;
      add(cases, fmt::format("cast {} to {}", name_of(from), name_of(to)), Cast(to),
          std::vector{input(random_of(from, {6, 40}, seed, -300, 300))});
    }
}

void add_copies(Cases& cases) {
  for (const DataType type : {DataType::kFloat16, DataType::kInt64, DataType::kBool}) {
    const auto data = [&](Extents extents) {
      return input(random_of(type, std::move(extents), 3, -1, 1));
    };
    Transpose transpose;
    transpose.permutation = {0, 2, 1, 3};
    add(cases, fmt::format("transpose {}", name_of(type)), transpose,
        std::vector{data({2, 5, 7, 8})});
    Concat concat;
    concat.axis = 1;
    add(cases, fmt::format("concat {}", name_of(type)), concat,
        std::vector{data({3, 4, 8}), data({3, 1, 8}), data({3, 3, 8})});
    add(cases, fmt::format("expand {}", name_of(type)), Expand(),
        std::vector{data({3, 1, 4}),
                    constant(Tensor::vector_i64(std::vector<int64_t>{2, 3, 5, 4}))});
  }
  add(cases, "reformat", Reformat(),
      std::vector{input(random_reals(DataType::kFloat16, {2, 5, 6, 7}, 4))})
      .output_layout(Layout::kChannelsLast);
}

}  // namespace

std::vector<std::unique_ptr<KernelCase>> pointwise_cases() {
  Cases cases;
  for (int i = 0; i < pointwise_count(); ++i)
    add_function(cases, static_cast<PointwiseFunction>(i), i + 1);
  add_broadcasts(cases);
  add_casts(cases);
  add_copies(cases);
  return cases;
}

}  // namespace tenon::test
