// Products of f32 and bf16 rows with constant weights of 4 or 8 bits. Of few rows the weights'
// bytes decide the time: they become floats in registers. For many rows a panel does in the
// first-level cache, and is multiplied like one of floats.
#include <algorithm>
#include <cstring>

#include "base/arithmetic.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "device/cpu/worker_memory.h"
#include "kernels/cpu_tactic.h"
#include "kernels/dequantized_weights.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/gemm/gemm.h"
#include "kernels/quantized/weight_product.h"
#include "kernels/strides.h"
#include "ops/math.h"
#include "ops/structure.h"

namespace tenon::tactics::quantized_weights {
namespace {

using cpu::kWeightPanel;
using cpu::kWeightRows;
using cpu::WeightForm;

/// Longest chain behind the product.
constexpr size_t kMaxSteps = 16;

struct Description {
  int x = 0;  ///< Problem input.
  DequantizedWeights weights;
  int64_t rows = 0;
  cpu::GemmMatrix x_rows, y_rows;
  WeightForm form;
  std::vector<cpu::BoundStep> steps;
};

/// All axes but the last being rows.
Result<cpu::GemmMatrix> rows_of(const Operand& operand) {
  const auto type = cpu::element_type(operand.type);
  if (!type) return unsupported("rows of {}; takes f32, bf16", name_of(operand.type));
  const std::vector<int64_t> strides = strides_of(operand);
  const int last = operand.rank() - 1;
  if (operand.extents[last] != 1 && strides[last] != 1)
    return unsupported("columns that lie apart");
  int64_t stride = 0, expected = 0;
  for (int axis = last - 1; axis >= 0; --axis) {
    if (operand.extents[axis] == 1) continue;
    if (stride == 0) stride = expected = strides[axis];
    if (strides[axis] != expected) return unsupported("rows at unequal distances");
    expected *= operand.extents[axis];
  }
  return cpu::GemmMatrix{.type = *type, .row_stride = stride == 0 ? operand.extents[last] : stride};
}

/// How the weights are packed.
WeightForm form_of(const Problem& problem, const DequantizedWeights& w) {
  WeightForm form{
      .depth = w.depth, .block = w.block, .nibbles = w.nibbles(), .is_signed = w.is_signed()};
  const Tensor* zeros = w.zeros < 0 ? nullptr : problem.input(w.zeros).constant;
  // Different ones are packed, and a plan need not have them as well.
  form.has_zeros = zeros != nullptr && zeros->bytes() == nullptr;
  const double first = zeros == nullptr || form.has_zeros ? 0 : zeros->as_double(0);
  for (int64_t i = 1; zeros != nullptr && !form.has_zeros && i < zeros->count(); ++i)
    form.has_zeros = zeros->as_double(i) != first;
  // Of signed 4-bit weights the packed form is counted from -8 on.
  const double least = form.nibbles && form.is_signed ? -8 : 0;
  form.zero = static_cast<float>((form.has_zeros ? 0 : first) - least);
  return form;
}

/// A residual is read row by row, whatever the axes before are.
Status check_steps(const Problem& problem, Description& d) {
  for (cpu::BoundStep& bound : d.steps) {
    const bool moves = bound.input >= 0 && bound.copy.empty();
    if (moves && problem.input(bound.input).extents == problem.output().extents) {
      bound.step.operand = cpu::OperandKind::full;
      TENON_ASSIGN(const auto rows, rows_of(problem.input(bound.input)));
      bound.row_stride = rows.row_stride;
    } else if (bound.step.operand == cpu::OperandKind::full) {
      return unsupported("a residual that broadcasts");
    } else if (bound.step.operand == cpu::OperandKind::per_row) {
      return unsupported("an operand of one number a row");
    } else if (std::any_of(bound.outer_strides.begin(), bound.outer_strides.end(),
                           [](int64_t stride) { return stride != 0; })) {
      return unsupported("an operand that changes over the batch");
    }
  }
  return {};
}

Result<Description> describe(const Problem& problem) {
  TENON_ASSIGN(const AnchoredRegion region, anchored_region(problem, {.dequantized = true}));
  const auto* product = region.anchor.as<MatMul>();
  if (product == nullptr) return unsupported("not a product");
  const MatMul& matmul = *product;
  const Node* dequantize = region.dequantize;
  if (dequantize == nullptr) return unsupported("weights that are not dequantized in the region");
  Description d;
  d.x = region.anchor_inputs[0];
  if (d.x < 0 || matmul.transpose_a || problem.input(d.x).rank() < 2)
    return unsupported("rows that are computed in the region, or transposed");
  TENON_ASSIGN(d.weights, dequantized_weights(problem, matmul, *dequantize));
  d.form = form_of(problem, d.weights);
  if (problem.input(d.x).count() == 0) return unsupported("an empty tensor");
  TENON_ASSIGN(d.x_rows, rows_of(problem.input(d.x)));
  TENON_ASSIGN(d.y_rows, rows_of(problem.output()));
  d.rows = problem.output().count() / d.weights.columns;
  TENON_ASSIGN(d.steps, cpu::matrix_steps(problem, region));
  if (d.steps.size() > kMaxSteps) return unsupported("an epilogue of {} steps", d.steps.size());
  TENON_TRY(check_steps(problem, d));
  return d;
}

void pack_block(const Problem& problem, const Description& d, int64_t panel, int64_t block,
                std::byte* to) {
  const DequantizedWeights& w = d.weights;
  const Tensor &weights = *problem.input(w.weights).constant,
               &scales = *problem.input(w.scales).constant;
  const int64_t first = panel * kWeightPanel, count = std::min(kWeightPanel, w.columns - first);
  const int64_t begin = block * d.form.block, end = std::min(begin + d.form.block, d.form.depth);
  auto* numbers = reinterpret_cast<float*>(to);
  auto* bytes = reinterpret_cast<uint8_t*>(to) + d.form.scale_bytes();
  const int64_t bias = d.form.nibbles && d.form.is_signed ? 8 : 0;
  for (int64_t c = 0; c < count; ++c) {
    const int64_t number = w.number_at(block, first + c);
    numbers[c] = static_cast<float>(scales.as_double(number));
    if (d.form.has_zeros)
      numbers[kWeightPanel + c] =
          static_cast<float>(problem.input(w.zeros).constant->as_double(number));
    for (int64_t k = begin; k < end; ++k) {
      const auto weight = static_cast<uint8_t>(weights.as_int64(w.at(k, first + c)) + bias);
      uint8_t* step = bytes + (k - begin) * d.form.step_bytes();
      if (d.form.nibbles)
        step[c % 16] |= static_cast<uint8_t>(c < 16 ? weight & 15U : (weight & 15U) << 4U);
      else
        step[c] = weight;
    }
  }
}

void pack(const Problem& problem, const Description& d, void* target) {
  const int64_t panels = ceil_div(d.weights.columns, kWeightPanel);
  std::memset(target, 0, static_cast<size_t>(panels * d.form.panel_bytes()));
  auto* to = static_cast<std::byte*>(target);
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t block = 0; block < d.form.blocks(); ++block) {
      pack_block(problem, d, panel, block, to);
      const int64_t steps = std::min(d.form.block, d.form.depth - block * d.form.block);
      to += d.form.scale_bytes() + steps * d.form.step_bytes();
    }
}

const cpu::WeightFunctions& functions_of(const Problem& problem) {
  const cpu::Isa isa = cpu::isa_up_to(problem.isa_limit);
#if defined(__x86_64__)
  if (isa >= cpu::Isa::avx512_bf16) return cpu::weight_functions_avx512bf16();
#endif
  return cpu::weight_functions(isa);
}

/// What both ways share.
class WeightKernel : public Kernel {
 public:
  WeightKernel(Description description, cpu::PackedWeights packed, const Problem& problem)
      : d_(std::move(description)),
        packed_(std::move(packed)),
        functions_(functions_of(problem)),
        threads_(std::max(1, problem.threads)) {}

  bool uses_input(int input) const override {
    return input == d_.x || cpu::reads_input(d_.steps, input);
  }
  std::span<const std::byte> packed() const override { return packed_.bytes(); }
  bool packs_input(int input) const override {
    return input == d_.weights.weights || input == d_.weights.scales ||
           (d_.form.has_zeros && input == d_.weights.zeros);
  }

 protected:
  const std::byte* panel_at(int64_t panel) const {
    return reinterpret_cast<const std::byte*>(
        packed_.at(static_cast<size_t>(panel * d_.form.panel_bytes())));
  }

  Description d_;
  cpu::PackedWeights packed_;
  const cpu::WeightFunctions& functions_;
  int threads_;
};

class FewRowsKernel final : public WeightKernel {
 public:
  FewRowsKernel(Description description, cpu::PackedWeights packed, const Problem& problem)
      : WeightKernel(std::move(description), std::move(packed), problem),
        plain_steps_(cpu::plain_steps(d_.steps)),
        finish_(cpu::finish_function(cpu::isa_up_to(problem.isa_limit))) {}

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), threads_));
    auto* shared = static_cast<float*>(arguments.workspace) + threads_ * own_floats();
    const Rows x = floats_of(arguments.inputs[d_.x], shared + sum_floats());
    if (d_.form.has_zeros) sum_blocks(x, shared);
    cpu::EpilogueOperand operands[kMaxSteps];
    cpu::bind_operands(d_.steps, arguments, operands);
    arguments.queue.pool->for_each(
        ceil_div(d_.weights.columns, kWeightPanel), 1, [&](int64_t panel, int worker) {
          float* sums = static_cast<float*>(arguments.workspace) + worker * own_floats();
          tile(x, panel, sums, shared, operands, arguments.outputs[0]);
        });
    return {};
  }
  size_t workspace_bytes() const override {
    return static_cast<size_t>(threads_ * own_floats() + sum_floats() + row_floats()) *
           sizeof(float);
  }

 private:
  struct Rows {
    const float* data;
    int64_t stride;
  };

  int64_t own_floats() const {
    return cpu::worker_stride(kWeightRows * kWeightPanel * sizeof(float), threads_) / sizeof(float);
  }
  int64_t sum_floats() const { return d_.form.has_zeros ? d_.rows * d_.form.blocks() : 0; }
  int64_t row_floats() const {
    return d_.x_rows.type == cpu::ElementType::f32 ? 0 : d_.rows * d_.form.depth;
  }

  /// Rows of bf16 are widened once.
  Rows floats_of(const void* x, float* to) const {
    if (row_floats() == 0) return {static_cast<const float*>(x), d_.x_rows.row_stride};
    const cpu::Microkernels& floats = cpu::microkernels(cpu::ElementType::f32, cpu::Isa::generic);
    const cpu::MatrixView rows{x, d_.x_rows.type, d_.x_rows.row_stride};
    cpu::pack_rows(floats, rows, d_.rows, d_.form.depth, to, d_.form.depth);
    return {to, d_.form.depth};
  }

  void sum_blocks(const Rows& x, float* sums) const {
    for (int64_t r = 0; r < d_.rows; ++r)
      for (int64_t block = 0; block < d_.form.blocks(); ++block) {
        const float* from = x.data + r * x.stride + block * d_.form.block;
        const int64_t count = std::min(d_.form.block, d_.form.depth - block * d_.form.block);
        float sum = 0;
        for (int64_t k = 0; k < count; ++k) sum += from[k];
        sums[r * d_.form.blocks() + block] = sum;
      }
  }

  void tile(const Rows& x, int64_t panel, float* sums, const float* block_sums,
            const cpu::EpilogueOperand* operands, void* output) const {
    const int64_t column = panel * kWeightPanel;
    functions_.multiply(
        d_.form, {x.data, x.stride, block_sums, static_cast<int>(d_.rows), panel_at(panel), sums});
    const cpu::ElementType type = d_.y_rows.type;
    finish_({.tile = sums,
             .tile_stride = kWeightPanel,
             .rows = d_.rows,
             .columns = std::min(kWeightPanel, d_.weights.columns - column),
             .row = 0,
             .column = column,
             .output = static_cast<char*>(output) + column * cpu::element_size(type),
             .output_stride = d_.y_rows.row_stride,
             .output_type = type},
            plain_steps_, operands);
  }

  std::vector<cpu::EpilogueStep> plain_steps_;
  cpu::FinishFunction finish_;
};

class ManyRowsKernel final : public WeightKernel {
 public:
  ManyRowsKernel(Description description, cpu::PackedWeights packed, cpu::Gemm gemm,
                 const Problem& problem)
      : WeightKernel(std::move(description), std::move(packed), problem), gemm_(std::move(gemm)) {}

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), threads_));
    cpu::EpilogueOperand operands[kMaxSteps];
    cpu::bind_operands(d_.steps, arguments, operands);
    const cpu::Microkernels& kernels = *gemm_.plan().kernels;
    const auto unpack = [&](int64_t column, int64_t k, int64_t count, void* to) {
      functions_.unpack(
          d_.form, {panel_at(column / kWeightPanel), column % kWeightPanel, kernels.panel, k, count,
                    to, kernels.type == cpu::ElementType::bf16});
    };
    const cpu::PanelSource panels(unpack);
    gemm_.run({.a = arguments.inputs[d_.x],
               .c = arguments.outputs[0],
               .operands = {operands, d_.steps.size()},
               .ahead = arguments.ahead,
               .panels = &panels},
              *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return gemm_.scratch_bytes(); }
  size_t fetch_capacity() const override { return gemm_.fetch_capacity(); }

 private:
  cpu::Gemm gemm_;
};

Result<cpu::Gemm> gemm_of(const Problem& problem, const Description& d) {
  return cpu::Gemm::prepare({.m = d.rows,
                             .n = d.weights.columns,
                             .k = d.weights.depth,
                             .a = d.x_rows,
                             .c = d.y_rows,
                             .compute = d.x_rows.type,
                             .steps = cpu::plain_steps(d.steps),
                             .isa = cpu::isa_up_to(problem.isa_limit),
                             .threads = std::max(1, problem.threads),
                             .strassen = false,
                             .makes_panels = true});
}

}  // namespace

Support supports(const Problem& problem) {
  return Support::of(describe(problem));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_ASSIGN(Description d, describe(problem));
  const Tensor& weights = *problem.input(d.weights.weights).constant;
  const int64_t bytes = ceil_div(d.weights.columns, kWeightPanel) * d.form.panel_bytes();
  TENON_ASSIGN(
      cpu::PackedWeights packed,
      cpu::PackedWeights::make(static_cast<size_t>(bytes), problem.packed, weights.bytes()));
  if (!packed.filled()) pack(problem, d, packed.target());
  if (d.rows <= kWeightRows)
    return make_kernel<FewRowsKernel>(std::move(d), std::move(packed), problem);
  TENON_ASSIGN(cpu::Gemm gemm, gemm_of(problem, d));
  return make_kernel<ManyRowsKernel>(std::move(d), std::move(packed), std::move(gemm), problem);
}

}  // namespace tenon::tactics::quantized_weights
