// Reductions over the last axes of a dense tensor, and over all pixels of channels-last images.
#include <algorithm>
#include <cmath>
#include <optional>

#include "device/cpu/thread_pool.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/image.h"
#include "kernels/rows/describe.h"
#include "kernels/strides.h"
#include "kernels/tactic.h"
#include "ops/math.h"

namespace tenon::tactics::reduce_rows {
namespace {

std::vector<bool> reduced_axes(const Reduce& op, int rank) {
  std::vector<bool> reduced(static_cast<size_t>(rank), op.axes.empty() && !op.empty_is_identity);
  for (const int64_t axis : op.axes) reduced[axis < 0 ? axis + rank : axis] = true;
  return reduced;
}

enum class Form { kRows, kImage, kNone };

/// Which of the two forms the reduction has.
Form form_of(const Reduce& op, const Operand& x) {
  const std::vector<bool> reduced = reduced_axes(op, x.rank());
  const auto first = std::find(reduced.begin(), reduced.end(), true);
  if (first == reduced.end()) return Form::kNone;
  const bool last_ones = std::all_of(first, reduced.end(), [](bool r) { return r; });
  if (last_ones && is_plain(x)) return Form::kRows;
  const bool sums = op.function == ReduceFunction::kSum || op.function == ReduceFunction::kMean;
  if (last_ones && sums && first - reduced.begin() == 2 && pixel_stride(x)) return Form::kImage;
  return Form::kNone;
}

/// How a row is reduced, and the operation on the result.
struct Recipe {
  cpu::RowReduction reduction;
  enum { kAsItIs, kMean, kRoot, kLogarithm } then = kAsItIs;
};

std::optional<Recipe> recipe_of(ReduceFunction function) {
  using cpu::RowReduction;
  switch (function) {
    case ReduceFunction::kSum: return Recipe{RowReduction::sum};
    case ReduceFunction::kMean: return Recipe{RowReduction::sum, Recipe::kMean};
    case ReduceFunction::kMax: return Recipe{RowReduction::max};
    case ReduceFunction::kMin: return Recipe{RowReduction::min};
    case ReduceFunction::kL1: return Recipe{RowReduction::sum_magnitudes};
    case ReduceFunction::kSumSquare: return Recipe{RowReduction::sum_squares};
    case ReduceFunction::kL2: return Recipe{RowReduction::sum_squares, Recipe::kRoot};
    case ReduceFunction::kLogSum: return Recipe{RowReduction::sum, Recipe::kLogarithm};
    case ReduceFunction::kLogSumExp: return Recipe{RowReduction::log_sum_exp};
    case ReduceFunction::kProd: break;
  }
  return std::nullopt;
}

class RowReducer final : public Kernel {
 public:
  RowReducer(int64_t rows, int64_t length, cpu::ElementType type, Recipe recipe, cpu::Isa isa)
      : rows_(rows),
        length_(length),
        type_(type),
        recipe_(recipe),
        functions_(cpu::row_functions(isa)) {}

  Status run(const LaunchArguments& arguments) const override {
    const bool is_short = length_ <= kShort && recipe_.reduction != cpu::RowReduction::log_sum_exp;
    const int64_t grain = std::max<int64_t>(1, 8192 / length_);
    arguments.queue.pool->parallel_for(rows_, grain, [&](int64_t begin, int64_t end, int) {
      float results[kRows];
      for (int64_t row = begin; row < end; row += kRows) {
        const int64_t count = std::min(kRows, end - row);
        const void* x = cpu::advance(arguments.inputs[0], row * length_, type_);
        if (is_short)
          functions_.reduce_short(type_, x, count, length_, recipe_.reduction, results);
        else
          reduce_long(x, count, results);
        for (int64_t i = 0; i < count; ++i) results[i] = finish(results[i]);
        store(results, count, cpu::advance(arguments.outputs[0], row, type_));
      }
    });
    return {};
  }

 private:
  static constexpr int64_t kRows = 64, kShort = 16;

  void reduce_long(const void* x, int64_t rows, float* results) const {
    for (int64_t i = 0; i < rows; ++i)
      results[i] =
          functions_.reduce(type_, cpu::advance(x, i * length_, type_), length_, recipe_.reduction);
  }

  void store(const float* results, int64_t count, char* to) const {
    if (type_ == cpu::ElementType::f32)
      std::copy_n(results, count, reinterpret_cast<float*>(to));
    else
      for (int64_t i = 0; i < count; ++i)
        reinterpret_cast<uint16_t*>(to)[i] = cpu::to_bf16(results[i]);
  }

  float finish(float value) const {
    if (recipe_.then == Recipe::kMean) return value * (1.0f / static_cast<float>(length_));
    if (recipe_.then == Recipe::kRoot) return std::sqrt(value);
    return recipe_.then == Recipe::kLogarithm ? std::log(value) : value;
  }

  int64_t rows_, length_;
  cpu::ElementType type_;
  Recipe recipe_;
  const cpu::RowFunctions& functions_;
};

/// Sums of each channel over the pixels, in pieces that are added up in order.
class ImageReduction final : public Kernel {
 public:
  ImageReduction(const Problem& problem, bool mean)
      : type_(*cpu::element_type(problem.output().type)),
        functions_(cpu::row_functions(cpu::isa_up_to(problem.isa_limit))) {
    const Operand& x = problem.input(0);
    batch_ = x.extents[0];
    channels_ = x.extents[1];
    for (int i = 2; i < x.rank(); ++i) pixels_ *= x.extents[i];
    stride_ = *pixel_stride(x);
    pieces_ = std::clamp<int64_t>(pixels_ * channels_ / 16384, 1, 16);
    factors_.assign(static_cast<size_t>(channels_),
                    mean ? 1.0f / static_cast<float>(pixels_) : 1.0f);
    zeros_.assign(static_cast<size_t>(channels_), 0.0f);
  }

  Status run(const LaunchArguments& arguments) const override {
    auto* sums = static_cast<float*>(arguments.workspace);
    arguments.queue.pool->for_each(batch_ * pieces_, 1, [&](int64_t task) {
      float* to = sums + task * 2 * channels_;
      std::fill_n(to, 2 * channels_, 0.0f);
      const int64_t first = task % pieces_ * pixels_ / pieces_,
                    last = (task % pieces_ + 1) * pixels_ / pieces_;
      const int64_t at = (task / pieces_ * pixels_ + first) * stride_;
      functions_.moments(type_, cpu::advance(arguments.inputs[0], at, type_), last - first, stride_,
                         channels_, to, to + channels_);
    });
    for (int64_t n = 0; n < batch_; ++n) {
      float* total = sums + n * pieces_ * 2 * channels_;
      for (int64_t piece = 1; piece < pieces_; ++piece)
        for (int64_t c = 0; c < channels_; ++c) total[c] += total[piece * 2 * channels_ + c];
      float* scaled = total + channels_;  // The squares are not needed.
      functions_.scale_pixels(cpu::ElementType::f32, total, scaled, 1, 0, 0, channels_,
                              factors_.data(), zeros_.data(), {});
      char* to = cpu::advance(arguments.outputs[0], n * channels_, type_);
      if (type_ == cpu::ElementType::f32)
        std::copy_n(scaled, channels_, reinterpret_cast<float*>(to));
      else
        for (int64_t c = 0; c < channels_; ++c)
          reinterpret_cast<uint16_t*>(to)[c] = cpu::to_bf16(scaled[c]);
    }
    return {};
  }
  size_t workspace_bytes() const override {
    return static_cast<size_t>(batch_ * pieces_ * 2 * channels_) * sizeof(float);
  }

 private:
  cpu::ElementType type_;
  int64_t batch_ = 1, channels_ = 1, pixels_ = 1, stride_ = 1, pieces_ = 1;
  std::vector<float> factors_, zeros_;
  const cpu::RowFunctions& functions_;
};

Result<Form> describe(const Problem& problem) {
  const auto* op = problem.operation.as<Reduce>();
  if (op == nullptr) return unsupported("not a reduction");
  if (!recipe_of(op->function)) return unsupported("a product");
  if (problem.has_input(1)) return unsupported("axes given at run time");
  if (!cpu::is_vector_type(problem.input(0).type))
    return unsupported("the type is neither f32 nor bf16");
  if (problem.input(0).count() == 0) return unsupported("an empty tensor");
  if (!problem.output().dense()) return unsupported("a strided result");
  const Form form = form_of(*op, problem.input(0));
  if (form == Form::kNone)
    return unsupported("axes that are neither the last ones nor those of an image");
  return form;
}

}  // namespace

Support supports(const Problem& problem) {
  return Support::of(describe(problem));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Form form, describe(problem));
  const auto& op = *problem.operation.as<Reduce>();
  const Operand& x = problem.input(0);
  if (form == Form::kImage)
    return make_kernel<ImageReduction>(problem, op.function == ReduceFunction::kMean);
  const int64_t rows = problem.output().count();
  return make_kernel<RowReducer>(rows, x.count() / rows, *cpu::element_type(x.type),
                                 *recipe_of(op.function), cpu::isa_up_to(problem.isa_limit));
}

}  // namespace tenon::tactics::reduce_rows
