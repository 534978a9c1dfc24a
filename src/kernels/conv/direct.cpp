#include "kernels/conv/direct.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/worker_memory.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/pack.h"

namespace tenon::cpu {
namespace {

bool can_merge_columns(const ConvProblem& p) {
  if (p.transposed || p.dilation[2] != 1) return false;
  return p.channels_first_input || (p.groups == 1 && p.input_pixel_stride == p.input_channels);
}

/// Positions of every step, innermost last.
template <class F> void for_each_position(const Spatial& extents, F f) {
  for (int64_t d = 0; d < extents[0]; ++d)
    for (int64_t h = 0; h < extents[1]; ++h)
      for (int64_t w = 0; w < extents[2]; ++w) f(Spatial{d, h, w});
}

/// The weights of one group as a k x n matrix, k in the order of the gather, n those of each of
/// `pixels` pixels.
struct WeightMatrix {
  const ConvProblem& p;
  const void* weights;
  int64_t group;
  bool channels_outermost;  // k = (channel, tap), else (tap, channel)
  int64_t pixels;

  static float number(float value) { return value; }
  static float number(uint16_t bits) { return bf16_to_float(bits); }

  /// The columns from `first` to `last` alone, as a matrix by themselves: few of them, and of few
  /// channels at a time, stay in the caches on their way.
  void write(const std::vector<Spatial>& taps, int64_t first, int64_t last, float* matrix) const {
    constexpr int64_t kChannels = 16;
    const int64_t in_each = p.input_channels / p.groups;
    for (int64_t c = 0; c < in_each; c += kChannels)
      for (size_t i = 0; i < taps.size(); ++i)
        write_block(taps, i, {c, std::min(c + kChannels, in_each)}, {first, last}, matrix);
  }

 private:
  struct Range {
    int64_t first, last;
  };

  /// Channels by columns of one tap, and how far they lie apart: in the weights, and in the rows.
  struct Block {
    Range channels, columns;
    int64_t channel_step, column_step, row_step;

    void clear(float* rows) const {
      for (int64_t c = channels.first; c < channels.last; ++c)
        std::fill(rows + c * row_step + columns.first, rows + c * row_step + columns.last, 0.0f);
    }

    /// Several columns at a time: their results lie side by side.
    template <class T> void copy(const T* from, float* rows) const {
      constexpr int64_t kTogether = 8;
      int64_t n = columns.first;
      for (; n + kTogether <= columns.last; n += kTogether) copy_columns<kTogether>(from, n, rows);
      for (; n < columns.last; ++n) copy_columns<1>(from, n, rows);
    }

    template <int64_t kCount, class T>
    void copy_columns(const T* from, int64_t n, float* rows) const {
      for (int64_t c = channels.first; c < channels.last; ++c) {
        const T* column = from + n * column_step + c * channel_step;
        float* to = rows + c * row_step + n;
        for (int64_t i = 0; i < kCount; ++i) to[i] = number(column[i * column_step]);
      }
    }
  };

  /// Of one tap.
  void write_block(const std::vector<Spatial>& taps, size_t i, Range channels, Range columns,
                   float* matrix) const {
    const int64_t in_each = p.input_channels / p.groups, out_each = p.output_channels / p.groups;
    const int64_t count = static_cast<int64_t>(taps.size()) / pixels, each = volume(p.kernel);
    // Strides of the weights' axes: first, second, and those of the kernel as one.
    const int64_t second = p.transposed ? out_each : in_each;
    const int64_t steps[] = {second * each, p.channels_last_weights ? 1 : each,
                             p.channels_last_weights ? second : 1};
    const int64_t channel_step = steps[p.transposed ? 0 : 1];
    const int64_t column_step = steps[p.transposed ? 1 : 0];
    const Spatial& tap = taps[i];
    const int64_t pixel = static_cast<int64_t>(i) / count, t = static_cast<int64_t>(i) % count;
    const int64_t spatial = (tap[0] * p.kernel[1] + tap[1]) * p.kernel[2] + tap[2];
    const int64_t from = group * (p.transposed ? in_each : out_each) * steps[0] +
                         spatial * steps[2] - pixel * out_each * column_step;
    const int64_t width = columns.last - columns.first;
    const int64_t row_step = (channels_outermost ? count : 1) * width;
    float* rows = matrix + (channels_outermost ? t : t * in_each) * width;
    const int64_t end = std::min(columns.last, (pixel + 1) * out_each);
    const Block block{channels,
                      {std::max(columns.first, pixel * out_each), end},
                      channel_step,
                      column_step,
                      row_step};
    if (block.columns.first >= end) return;
    rows -= columns.first;
    if (tap[2] < 0)
      block.clear(rows);
    else if (p.weight_type == ElementType::f32)
      block.copy(static_cast<const float*>(weights) + from, rows);
    else
      block.copy(static_cast<const uint16_t*>(weights) + from, rows);
  }
};

// A part of the image by itself must save this much of the products. Tiles of few rows take as long
// as ones of a third of the most, and few rows altogether as long as reading the weights.
constexpr double kWorthParts = 0.85;
constexpr size_t kMostSegments = 5;
constexpr double kLeastRows = 16;

/// Time of a product, in rows of A times taps.
double part_cost(const Microkernels& kernels, double lines, int64_t line, int64_t taps) {
  const int64_t tiles = ceil_div(line, kernels.max_rows);
  const double rows = static_cast<double>(
      tiles * std::max<int64_t>(ceil_div(line, tiles), (kernels.max_rows + 2) / 3));
  return std::max(lines * rows, kLeastRows) * static_cast<double>(taps);
}

/// The steps of k that some taps have; channels are innermost.
std::vector<DepthRange> depths_of(const ConvProblem& p, const Segment& high, const Segment& wide) {
  const int64_t channels = p.input_channels / p.groups;
  if (high.taps() == 0 || wide.taps() == 0) return {{0, 0}};
  std::vector<DepthRange> depths;
  for (int64_t d = 0; d < p.kernel[0]; ++d)
    for (int64_t h = high.low; h < high.high; ++h) {
      const int64_t first = ((d * p.kernel[1] + h) * p.kernel[2] + wide.low) * channels;
      const int64_t count = wide.taps() * channels;
      if (!depths.empty() && depths.back().first + depths.back().count == first)
        depths.back().count += count;
      else
        depths.push_back({first, count});
    }
  return depths;
}

Status check(const ConvProblem& p) {
  if (p.groups < 1 || p.input_channels % p.groups != 0 || p.output_channels % p.groups != 0)
    return internal_error("{} and {} channels in {} groups", p.input_channels, p.output_channels,
                          p.groups);
  if (p.transposed && p.channels_first_input)
    return unsupported("a transposed convolution of a channels-first input");
  if (p.steps.size() > kMaxEpilogueSteps)
    return unsupported("an epilogue of {} steps (at most {})", p.steps.size(), kMaxEpilogueSteps);
  for (const EpilogueStep& step : p.steps)
    if (step.operand == OperandKind::per_row) return unsupported("an operand per pixel");
  return {};
}

}  // namespace

void Gather::find_extent() {
  for (const GatherRun& run : runs) {
    const Spatial first = {run.depth, run.height, run.column};
    const Spatial last = {run.depth, run.height, run.column + width - 1};
    for (int i = 0; i < 3; ++i) {
      lowest[i] = &run == runs.data() ? first[i] : std::min(lowest[i], first[i]);
      highest[i] = &run == runs.data() ? last[i] : std::max(highest[i], last[i]);
    }
  }
}

bool DirectConvolution::fits_tiles(const ConvProblem& p) {
  return (p.input_type == ElementType::f32 || p.compute == ElementType::bf16) &&
         !p.weights_change && tile_microkernels(p.compute, capped_isa(p.isa)) != nullptr;
}

Result<DirectConvolution> DirectConvolution::prepare(const ConvProblem& problem,
                                                     const void* weights) {
  DirectConvolution conv;
  conv.problem_ = problem.with_strides();
  ConvProblem& p = conv.problem_;
  TENON_TRY(check(p));
  const Isa isa = capped_isa(p.isa);
  if (p.tiles && !fits_tiles(p)) return unsupported("no tiles of such a convolution");
  const Microkernels& kernels =
      p.tiles ? *tile_microkernels(p.compute, isa) : microkernels(p.compute, isa);
  conv.gather_ = gather_function(kernels.isa);
  p.transposed ? conv.make_phases(kernels) : conv.make_convolution(kernels);
  TENON_TRY(conv.pack(kernels, weights));
  return conv;
}

Gather DirectConvolution::base_gather(const Microkernels& kernels) const {
  const ConvProblem& p = problem_;
  Gather g;
  g.input = p.input;
  g.column_stride = p.channels_first_input ? 1 : p.input_pixel_stride;
  g.height_stride = g.column_stride * p.input[2];
  g.depth_stride = g.height_stride * p.input[1];
  g.image_stride = g.depth_stride * p.input[0] * (p.channels_first_input ? p.input_channels : 1);
  g.from = p.input_type;
  g.to = kernels.type;
  g.k_unit = kernels.k_unit;
  g.unit = p.channels_first_input ? 1 : p.input_channels / p.groups;
  return g;
}

void DirectConvolution::make_convolution(const Microkernels& kernels) {
  const ConvProblem& p = problem_;
  Phase phase;
  Gather& g = phase.gather = base_gather(kernels);
  g.rows = p.output;
  g.step = p.stride;
  for (int i = 0; i < 3; ++i) g.origin[i] = -p.pad[i];
  g.width = can_merge_columns(p) ? p.kernel[2] : 1;
  const int64_t channel_stride = volume(p.input);
  Spatial taps = p.kernel;
  taps[2] /= g.width;
  for (int64_t c = 0; c < (p.channels_first_input ? p.input_channels / p.groups : 1); ++c)
    for_each_position(taps, [&](const Spatial& t) {
      GatherRun run{int32_t(t[0] * p.dilation[0]), int32_t(t[1] * p.dilation[1]),
                    int32_t(t[2] * p.dilation[2]), 0};
      run.offset = run.depth * g.depth_stride + run.height * g.height_stride +
                   run.column * g.column_stride + c * channel_stride;
      g.runs.push_back(run);
    });
  std::vector<Spatial> order;
  for_each_position(p.kernel, [&](const Spatial& t) { order.push_back(t); });
  taps_.push_back(order);
  if (make_parts(kernels, g)) return;
  const bool plain = volume(p.kernel) == 1 && volume(p.stride) == 1 && p.input == p.output &&
                     p.pad == Spatial{} && !p.channels_first_input;
  phase.direct = plain && p.input_type == kernels.type &&
                 can_read_directly(kernels, g.k(), p.input_pixel_stride);
  phase.plan = plan_product(kernels, p.batch * volume(p.output), p.output_channels / p.groups,
                            g.k(), p.output_type, p.steps, p.groups, p.threads, !phase.direct);
  phases_.push_back(std::move(phase));
}

/// Parts of the image that meet the same taps, where that saves enough: of a window that reaches
/// far over the border most taps meet padding at most pixels.
bool DirectConvolution::make_parts(const Microkernels& kernels, const Gather& whole) {
  const ConvProblem& p = problem_;
  if (p.channels_first_input || p.input_channels / p.groups % kernels.k_unit != 0) return false;
  const std::vector<Segment> high = segments_of(p, 1), wide = segments_of(p, 2);
  if (high.size() > kMostSegments || wide.size() > kMostSegments) return false;
  const auto images = static_cast<double>(p.batch * p.output[0]);
  double cost = 0;
  for (const Segment& h : high)
    for (const Segment& w : wide)
      cost += part_cost(kernels, images * static_cast<double>(h.extent()), w.extent(),
                        h.taps() * w.taps());
  const double all = images * static_cast<double>(p.output[1] * p.output[2]) *
                     static_cast<double>(p.kernel[1] * p.kernel[2]);
  if (cost > kWorthParts * all) return false;
  for (const Segment& h : high)
    for (const Segment& w : wide) make_part(kernels, whole, h, w);
  shares_weights_ = true;
  return true;
}

void DirectConvolution::make_part(const Microkernels& kernels, const Gather& whole,
                                  const Segment& high, const Segment& wide) {
  const ConvProblem& p = problem_;
  Phase phase;
  Gather& g = phase.gather = whole;
  phase.first = {0, high.first, wide.first};
  g.rows = {p.output[0], high.extent(), wide.extent()};
  for (int i = 1; i < 3; ++i) g.origin[i] += phase.first[i] * p.stride[i];
  const OutputLines lines{.rows = wide.extent(),
                          .lines = high.extent(),
                          .line_step = p.output[2],
                          .image_step = p.output[1] * p.output[2]};
  phase.plan = plan_product(kernels, p.batch * volume(g.rows), p.output_channels / p.groups, g.k(),
                            p.output_type, p.steps, p.groups, p.threads, true,
                            {.lines = lines, .depths = depths_of(p, high, wide)});
  phases_.push_back(std::move(phase));
}

Status DirectConvolution::pack(const Microkernels& kernels, const void* weights) {
  kernels_ = &kernels;
  for (Phase& phase : phases_) {
    phase.gather.find_extent();
    if (shares_weights_ && packed_bytes_ > 0) {
      phase.packed_each = phases_[0].packed_each;
      continue;
    }
    phase.packed_offset = packed_bytes_;
    phase.packed_each = align_up(tenon::cpu::packed_bytes(kernels, phase.plan.k, phase.plan.n));
    packed_bytes_ += phase.packed_each * problem_.groups;
  }
  int64_t before = 0, staged = 0;
  for (Phase& phase : phases_) {
    phase.tasks_before = before, before += tasks(phase);
    phase.staged_before = staged, staged += static_cast<int64_t>(phase.plan.staged_bytes());
  }
  if (problem_.weights_change) return {};
  TENON_ASSIGN(packed_, PackedWeights::make(packed_bytes_, problem_.packed, weights));
  if (packed_.filled()) return {};
  const int threads = packing_threads(packed_bytes_, problem_.threads);
  ThreadPool pool(threads);
  std::vector<char> dense(dense_bytes() * static_cast<size_t>(threads));
  pack_all(weights, pool, dense.data(), static_cast<char*>(packed_.target()));
  return {};
}

int64_t DirectConvolution::panels() const {
  return phases_.empty() ? 0 : ceil_div(phases_[0].plan.n, kernels_->panel);
}

int64_t DirectConvolution::pack_tasks() const {
  return static_cast<int64_t>(taps_.size()) * problem_.groups * panels();
}

size_t DirectConvolution::dense_bytes() const {
  int64_t most = 0;
  for (const Phase& phase : phases_) most = std::max(most, phase.plan.k);
  return align_up(static_cast<size_t>(most * kernels_->panel) * sizeof(float));
}

void DirectConvolution::pack_panel(int64_t task, const void* weights, float* dense,
                                   char* to) const {
  const int64_t panel = task % panels(), group = task / panels() % problem_.groups;
  const auto index = static_cast<size_t>(task / panels() / problem_.groups);
  const Phase& phase = phases_[index];
  const int64_t k = phase.plan.k, first = panel * kernels_->panel;
  const int64_t last = std::min<int64_t>(first + kernels_->panel, phase.plan.n);
  const WeightMatrix matrix{problem_, weights, group, problem_.channels_first_input, merged_};
  matrix.write(taps_[index], first, last, dense);
  const MatrixView columns{dense, ElementType::f32, last - first, 1};
  pack_panels(*kernels_, columns, k, last - first, 0, 1,
              to + phase.packed_offset + group * phase.packed_each +
                  panel * static_cast<int64_t>(tenon::cpu::packed_bytes(*kernels_, k, 1)));
}

/// `dense` has room for a panel of each worker.
void DirectConvolution::pack_all(const void* weights, ThreadPool& pool, char* dense,
                                 char* to) const {
  pool.for_each(pack_tasks(), 1, [&](int64_t i, int worker) {
    pack_panel(i, weights, reinterpret_cast<float*>(dense + worker * dense_bytes()), to);
  });
}

size_t DirectConvolution::worker_bytes() const {
  size_t most = 0;
  for (const Phase& phase : phases_) most = std::max(most, phase.plan.worker_scratch_bytes());
  return worker_stride(most, problem_.threads);
}

size_t DirectConvolution::staged_bytes() const {
  if (phases_.empty()) return 0;
  return phases_.back().staged_before + phases_.back().plan.staged_bytes();
}

size_t DirectConvolution::scratch_bytes() const {
  const size_t all = worker_bytes() * problem_.threads + staged_bytes();
  if (!problem_.weights_change) return repeated_bytes() + all;
  return repeated_bytes() + packed_bytes_ + std::max(all, dense_bytes() * problem_.threads);
}

size_t DirectConvolution::fetch_capacity() const {
  return phases_.empty() ? 0 : tasks(phases_[0]) * phases_[0].plan.fetch_bytes_of_task();
}

int64_t DirectConvolution::tasks(const Phase& phase) const {
  return problem_.groups * phase.lines * phase.plan.row_tasks() * phase.plan.column_tasks();
}

void DirectConvolution::run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const {
  if (problem_.batch == 0) return;
  char* memory = static_cast<char*>(scratch);
  ConvArguments own = arguments;
  EpilogueOperand operands[kMaxEpilogueSteps];
  if (merged_ > 1) {
    repeat_operands(arguments, memory, operands);
    own.operands = operands;
    memory += repeated_bytes();
  }
  const char* packed = packed_.at(0);
  if (problem_.weights_change) {
    packed = memory;
    memory += packed_bytes_;
    pack_all(arguments.weights, pool, memory, const_cast<char*>(packed));
  }
  if (staged_bytes() > 0) stage(arguments.input, pool, memory + worker_bytes() * problem_.threads);
  run_phases(own, packed, pool, memory);
}

/// Rows of A that several tasks read.
void DirectConvolution::stage(const void* input, ThreadPool& pool, char* to) const {
  for (const Phase& phase : phases_) {
    if (!phase.plan.staged) continue;
    const auto copy = [&](int64_t r, int64_t rows, int64_t k, int64_t count, void* row,
                          int64_t stride) {
      gather_(phase.gather, input, r, rows, k, count, row, stride);
    };
    stage_rows(phase.plan, RowSource(copy), pool, to + phase.staged_before);
  }
}

/// All at once: threads wait for each other at the end alone.
void DirectConvolution::run_phases(const ConvArguments& arguments, const char* packed,
                                   ThreadPool& pool, char* scratch) const {
  if (phases_.empty()) return;
  const char* staged = scratch + worker_bytes() * problem_.threads;
  const int64_t count = phases_.back().tasks_before + tasks(phases_.back());
  pool.parallel_for(count, 1, [&](int64_t begin, int64_t end, int worker) {
    const Phase* phase = phases_.data();
    for (int64_t task = begin; task < end; ++task) {
      while (task >= phase->tasks_before + tasks(*phase)) ++phase;
      run_task(*phase, arguments, phase->plan.staged ? staged + phase->staged_before : nullptr,
               packed, task - phase->tasks_before, scratch + worker * worker_bytes());
    }
  });
}

int64_t DirectConvolution::output_pixel(const Phase& phase, int64_t line) const {
  const Spatial& rows = phase.gather.rows;
  const int64_t height = line % rows[1] * phase.step[1] + phase.first[1];
  line /= rows[1];
  const int64_t depth = line % rows[0] * phase.step[0] + phase.first[0];
  const int64_t image = line / rows[0];
  const Spatial& out = problem_.output;
  return ((image * out[0] + depth) * out[1] + height) * out[2] + phase.first[2];
}

void DirectConvolution::run_task(const Phase& phase, const ConvArguments& arguments,
                                 const void* staged, const char* packed, int64_t task,
                                 void* scratch) const {
  const ProductPlan& plan = phase.plan;
  // Of several phases the first one does all the fetching.
  const bool fetches = &phase == phases_.data() && !arguments.ahead.empty();
  const auto ahead =
      fetches ? part_of(arguments.ahead, task, tasks(phase)) : arguments.ahead.first(0);
  const int64_t each = plan.row_tasks() * plan.column_tasks() * phase.lines;
  const auto [row_task, column] = plan.place_of(task % each, phase.lines);
  const int64_t line = row_task / plan.row_tasks();
  const int64_t in_line = row_task % plan.row_tasks() * plan.row_block;
  const int64_t group = task / each;
  // Row numbers run through all lines; the addresses below are those of row 0 if the line went on
  // backwards.
  const int64_t row = line * plan.m + in_line;
  const int64_t pixel_step = phase.step[2];
  const int64_t origin = problem_.transposed && plan.lines.rows == 0
                             ? output_pixel(phase, line) - line * plan.m * pixel_step
                             : phase.first[1] * problem_.output[2] + phase.first[2];
  const int64_t channel = group * plan.n;
  EpilogueOperand operands[kMaxEpilogueSteps];
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    operands[i] = arguments.operands[i];
    int64_t offset = 0;
    if (plan.steps[i].operand == OperandKind::per_column) offset = channel;
    if (plan.steps[i].operand == OperandKind::full)
      offset = origin * operands[i].row_stride + channel;
    operands[i].data = static_cast<const char*>(operands[i].data) +
                       offset * element_size(plan.steps[i].operand_type);
    operands[i].row_stride *= pixel_step;
  }
  const int64_t in_each = problem_.input_channels / problem_.groups;
  const int64_t group_offset =
      group * in_each * (problem_.channels_first_input ? volume(problem_.input) : 1);
  const char* input =
      static_cast<const char*>(arguments.input) + group_offset * element_size(problem_.input_type);
  const auto copy = [&](int64_t r, int64_t rows, int64_t k, int64_t count, void* to,
                        int64_t stride) {
    gather_(phase.gather, input, r, rows, k, count, to, stride);
  };
  const RowSource source(copy);
  const ProductOperands product{
      .a = staged != nullptr ? staged : input,
      .a_stride = staged != nullptr ? plan.staged_stride() : problem_.input_pixel_stride,
      .source = phase.direct || staged != nullptr ? nullptr : &source,
      .b = packed + phase.packed_offset + group * phase.packed_each,
      .output =
          static_cast<char*>(arguments.output) +
          (origin * problem_.output_pixel_stride + channel) * element_size(problem_.output_type),
      .output_stride = problem_.output_pixel_stride * pixel_step,
      .operands = operands,
      .ahead = ahead};
  run_product(plan, product, row, std::min(plan.row_block, plan.m - in_line), column,
              std::min(plan.column_block, plan.n - column), scratch);
}

}  // namespace tenon::cpu
