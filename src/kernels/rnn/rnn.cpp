#include "kernels/rnn/rnn.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "kernels/gemm/pack.h"
#include "kernels/rnn/lane.h"

namespace tenon::cpu {
namespace {

float read(ElementType type, const void* values, int64_t i) {
  return type == ElementType::f32 ? static_cast<const float*>(values)[i]
                                  : bf16_to_float(static_cast<const uint16_t*>(values)[i]);
}

void write(ElementType type, void* values, int64_t i, float value) {
  if (type == ElementType::f32)
    static_cast<float*>(values)[i] = value;
  else
    static_cast<uint16_t*>(values)[i] = float_to_bf16(value);
}

/// Packs gates [first_gate, first_gate + gates) of R ([gates * hidden, hidden]) as CellStep wants.
template <class T>
void pack_part(const T* r, int first_gate, int gates, int64_t hidden, int64_t unit_k, T* to) {
  const int64_t blocks = ceil_div(hidden, kUnitBlock);
  const int64_t k_rounded = round_up(hidden, unit_k);
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t k = 0; k < k_rounded; k += unit_k)
      for (int gate = 0; gate < gates; ++gate)
        for (int64_t i = 0; i < kUnitBlock; ++i)
          for (int64_t j = 0; j < unit_k; ++j) {
            const int64_t unit = block * kUnitBlock + i;
            const bool inside = unit < hidden && k + j < hidden;
            *to++ = inside ? r[((first_gate + gate) * hidden + unit) * hidden + k + j] : T{};
          }
}

}  // namespace

/// Some sequences in one direction, from the first step to the last.
struct Rnn::Lane {
  const Rnn& rnn;
  const RnnArguments& arguments;
  char* scratch;
  const char* weights;  ///< Of the direction.
  int direction;
  int64_t first_row, rows;
  float *h[2], *c, *update, *reset;

  Lane(const Rnn& owner, const RnnArguments& args, char* memory, const char* packed, int index)
      : rnn(owner), arguments(args), scratch(memory) {
    const RnnProblem& p = rnn.problem_;
    direction = index % p.directions;
    first_row = index / p.directions * rnn.lane_rows_;
    rows = std::min<int64_t>(rnn.lane_rows_, p.batch - first_row);
    weights = packed + direction * rnn.direction_bytes_;
    const int64_t each = p.directions * p.batch * rnn.stride_;
    float* base = reinterpret_cast<float*>(scratch + rnn.scratch_.states) +
                  (direction * p.batch + first_row) * rnn.stride_;
    h[0] = base, h[1] = base + each, c = base + 2 * each;
    update = base + 3 * each, reset = base + 4 * each;
  }

  bool backward() const { return rnn.problem_.reverse || direction == 1; }
  int64_t length(int64_t row) const {
    return arguments.lengths == nullptr ? rnn.problem_.steps : arguments.lengths[row];
  }

  void start() const {
    const RnnProblem& p = rnn.problem_;
    const size_t bytes = static_cast<size_t>(rows * rnn.stride_) * sizeof(float);
    for (float* state : {h[0], h[1], c, update, reset}) std::memset(state, 0, bytes);
    for (int64_t b = 0; b < rows; ++b)
      for (int64_t i = 0; i < p.hidden; ++i) {
        const int64_t row = first_row + b, at = b * rnn.stride_ + i;
        if (arguments.h0 != nullptr)
          h[0][at] = read(p.type, arguments.h0, direction * p.h0.direction + row * p.h0.batch + i);
        if (arguments.c0 != nullptr)
          c[at] = read(p.type, arguments.c0, direction * p.c0.direction + row * p.c0.batch + i);
      }
  }

  void* output(int64_t place, int64_t row) const {
    const RnnProblem& p = rnn.problem_;
    const int64_t at = place * p.y_step + direction * p.y_direction + row * p.y_batch;
    return static_cast<char*>(arguments.y) + at * element_size(p.type);
  }

  /// Shared by steps, phases and rows.
  CellStep common() const {
    const RnnProblem& p = rnn.problem_;
    CellStep s;
    s.cell = p.cell;
    s.weight_type = s.output_type = p.type;
    s.hidden = p.hidden, s.k = rnn.k_, s.stride = rnn.stride_;
    s.functions = p.functions.data() + direction * p.functions_each();
    s.clip = p.clip, s.input_forget = p.input_forget;
    if (p.has_peepholes)
      s.peepholes = reinterpret_cast<const float*>(scratch + rnn.scratch_.peepholes) +
                    direction * 3 * p.hidden;
    if (p.cell == RnnCell::gru_linear && p.has_bias)
      s.state_bias = reinterpret_cast<const float*>(scratch + rnn.scratch_.bias) +
                     (p.directions * 3 + direction) * p.hidden;
    return s;
  }

  void place_rows(CellStep& s, int64_t t, int64_t first, int64_t count) const {
    const RnnProblem& p = rnn.problem_;
    const auto* gates = reinterpret_cast<const float*>(scratch + rnn.scratch_.gates);
    const int64_t width = p.directions * p.gates() * p.hidden;
    s.rows = static_cast<int>(count);
    s.h = h[t % 2] + first * s.stride, s.h_next = h[(t + 1) % 2] + first * s.stride;
    s.c = c + first * s.stride;
    s.update = update + first * s.stride, s.reset = reset + first * s.stride;
    for (int i = 0; i < s.rows; ++i) {
      const int64_t row = first_row + first + i, steps = length(row);
      const int64_t place = backward() ? steps - 1 - t : t;
      const int64_t at = place * rnn.gate_step_ + row * rnn.gate_batch_;
      s.inputs[i] = t < steps ? gates + at * width + direction * p.gates() * p.hidden : nullptr;
      s.outputs[i] = t < steps ? output(place, row) : nullptr;
    }
  }

  /// Blocks [first, last) of one phase of step t.
  void compute(int64_t t, int phase, int64_t first, int64_t last) const {
    const CellFunctions& functions = cell_functions(rnn.problem_.isa);
    const Part& part = rnn.parts_[phase];
    CellStep s = common();
    s.phase = phase;
    s.gates = part.gates;
    s.weights = weights + part.offset;
    s.first_block = first, s.last_block = last;
    s.backwards = t % 2 != 0;
    for (int64_t row = 0; row < rows; row += functions.max_rows) {
      place_rows(s, t, row, std::min<int64_t>(functions.max_rows, rows - row));
      s.product_state = phase == 1 ? s.reset : s.h;
      functions.step(s);
    }
  }

  /// One thread's share: `self` of `helpers` threads that may be there.
  void run(LaneProgress& progress, int self, int helpers) const {
    const int64_t blocks = rnn.blocks(), phases = static_cast<int64_t>(rnn.parts_.size());
    const int pieces = helpers == 1
                           ? 1
                           : static_cast<int>(std::min<int64_t>(
                                 {blocks, 2 * helpers, int64_t{LaneProgress::kMaxPieces}}));
    for (int64_t phase = 0; phase < rnn.problem_.steps * phases; ++phase) {
      for (int i = 0; i < pieces; ++i) {
        const int piece = (self * pieces / helpers + i) % pieces;
        if (!progress.claim(piece, static_cast<int32_t>(phase))) continue;
        compute(phase / phases, static_cast<int>(phase % phases), piece * blocks / pieces,
                (piece + 1) * blocks / pieces);
        progress.done.fetch_add(1, std::memory_order_acq_rel);
      }
      progress.wait((phase + 1) * pieces);
    }
  }

  void store_state(const float* from, void* to, const StateStrides& strides) const {
    if (to == nullptr) return;
    for (int64_t b = 0; b < rows; ++b)
      for (int64_t i = 0; i < rnn.problem_.hidden; ++i)
        write(rnn.problem_.type, to,
              direction * strides.direction + (first_row + b) * strides.batch + i,
              from[b * rnn.stride_ + i]);
  }

  /// Last states, and zeros behind the ends of the sequences.
  void finish() const {
    const RnnProblem& p = rnn.problem_;
    store_state(h[p.steps % 2], arguments.h, p.h);
    store_state(c, arguments.c, p.c);
    for (int64_t row = first_row; row < first_row + rows; ++row)
      for (int64_t t = length(row); t < p.steps; ++t)
        std::memset(output(t, row), 0, static_cast<size_t>(p.hidden * element_size(p.type)));
  }
};

void Rnn::plan_parts() {
  const int gates = problem_.gates();
  const int64_t unit_k = problem_.type == ElementType::f32 ? 1 : 2;
  k_ = round_up(problem_.hidden, unit_k);
  stride_ = blocks() * kUnitBlock;
  const size_t each = static_cast<size_t>(blocks() * kUnitBlock * k_ * element_size(problem_.type));
  if (problem_.cell == RnnCell::gru)
    parts_ = {{0, 2, 0}, {2, 1, 2 * each}};
  else
    parts_ = {{0, gates, 0}};
  direction_bytes_ = align_up(gates * each);
}

/// Directions and sequences are independent; where they are too few, threads share them.
void Rnn::plan_lanes() {
  constexpr int64_t kLaneRows = kMaxCellRows;
  const int64_t wanted = std::max(1, problem_.threads / problem_.directions);
  const int64_t parts = std::clamp<int64_t>(ceil_div(problem_.batch, kLaneRows), 1, wanted);
  lane_rows_ = static_cast<int>(std::max<int64_t>(1, ceil_div(problem_.batch, parts)));
  lanes_ = static_cast<int>(ceil_div(problem_.batch, lane_rows_)) * problem_.directions;
  // Below some 16 blocks a thread a step is too short to be shared.
  const int64_t useful = std::max<int64_t>(1, blocks() / 4);
  helpers_ =
      static_cast<int>(std::clamp<int64_t>(problem_.threads / std::max(1, lanes_), 1, useful));
}

void Rnn::plan_scratch() {
  const RnnProblem& p = problem_;
  size_t at = 0;
  const auto take = [&](int64_t bytes) {
    const size_t start = at;
    at += align_up(static_cast<size_t>(bytes));
    return start;
  };
  scratch_.gates = take(p.steps * p.batch * p.directions * p.gates() * p.hidden * 4);
  scratch_.bias = take(p.directions * (p.gates() + 1) * p.hidden * 4);
  scratch_.peepholes = take(p.directions * 3 * p.hidden * 4);
  scratch_.states = take(5 * p.directions * p.batch * stride_ * 4);
  scratch_.progress = take(lanes_ * static_cast<int64_t>(align_up(sizeof(LaneProgress))));
  scratch_.weights = take(p.constant_r ? 0 : p.directions * direction_bytes_);
  scratch_.gemm = take(static_cast<int64_t>(input_->scratch_bytes()));
  scratch_.total = at;
}

/// One product over all steps, sequences, directions and gates.
Status Rnn::plan_input(const void* w, std::span<const std::byte> packed) {
  const RnnProblem& p = problem_;
  GemmProblem g;
  g.m = p.batch, g.n = p.directions * p.gates() * p.hidden, g.k = p.input;
  g.batch[kMaxBatchDims - 1] = p.steps;
  g.a = {p.type, p.x_batch, 1, {0, 0, 0, p.x_step}};
  g.b = {p.type, 1, p.input, {}};
  g.c = {ElementType::f32, g.n, 1, {0, 0, 0, p.batch * g.n}};
  gate_step_ = p.batch, gate_batch_ = 1;
  if (p.batch == 1 || p.x_step == p.batch * p.x_batch) {
    g.m = p.steps * p.batch;
    if (p.batch == 1) g.a.row_stride = p.x_step;
  } else if (p.steps == 1 || p.x_batch == p.steps * p.x_step) {
    g.m = p.steps * p.batch;
    g.a.row_stride = p.x_step;
    gate_step_ = 1, gate_batch_ = p.steps;
  }
  if (g.m != p.batch || p.steps == 1) g.batch = {1, 1, 1, 1};
  if (g.batch == BatchDims{1, 1, 1, 1}) g.a.batch_strides = g.c.batch_strides = {};
  g.compute = p.type;
  if (p.has_bias) {
    g.steps = {{PointwiseFunction::k_add, OperandKind::per_column}};
    g.step_batch_strides = {{}};
  }
  g.isa = p.isa, g.threads = p.threads;
  g.strassen = p.strassen;
  g.constant_b = p.constant_w;
  g.packed = packed;
  TENON_ASSIGN(Gemm gemm, Gemm::prepare(g, w));
  input_ = std::move(gemm);
  return {};
}

Status Rnn::pack_constants(const void* w, const void* r) {
  const RnnProblem& p = problem_;
  const size_t of_r = p.constant_r ? direction_bytes_ * p.directions : 0;
  TENON_TRY(plan_input(w, p.packed.subspan(std::min(of_r, p.packed.size()))));
  const std::span<const std::byte> of_w = input_->packed();
  TENON_ASSIGN(packed_, PackedWeights::make(of_r + of_w.size(), p.packed, p.constant_r ? r : w));
  if (packed_.filled()) return {};
  if (p.constant_r) {
    ThreadPool pool(1);
    pack(r, pool, packed_.target());
  }
  if (!p.constant_w) return {};
  std::ranges::copy(of_w, static_cast<std::byte*>(packed_.target()) + of_r);
  return plan_input(nullptr, packed_.bytes().subspan(of_r));
}

Result<Rnn> Rnn::prepare(const RnnProblem& problem, const void* w, const void* r) {
  Rnn rnn;
  rnn.problem_ = problem;
  rnn.plan_parts();
  rnn.plan_lanes();
  TENON_TRY(rnn.pack_constants(w, r));
  rnn.plan_scratch();
  return rnn;
}

void Rnn::pack_direction(const void* r, int direction, void* to) const {
  const int64_t count = problem_.gates() * problem_.hidden * problem_.hidden;
  for (const Part& part : parts_) {
    char* start = static_cast<char*>(to) + direction * direction_bytes_ + part.offset;
    if (problem_.type == ElementType::f32)
      pack_part(static_cast<const float*>(r) + direction * count, part.first_gate, part.gates,
                problem_.hidden, 1, reinterpret_cast<float*>(start));
    else
      pack_part(static_cast<const uint16_t*>(r) + direction * count, part.first_gate, part.gates,
                problem_.hidden, 2, reinterpret_cast<uint16_t*>(start));
  }
}

void Rnn::pack(const void* r, ThreadPool& pool, void* to) const {
  pool.for_each(problem_.directions, 1,
                [&](int64_t d) { pack_direction(r, static_cast<int>(d), to); });
}

/// Sums of both biases [directions, gates * hidden]; where a GRU needs the candidate's second one
/// apart, [directions, hidden] of these follow.
void Rnn::prepare_bias(const RnnArguments& arguments, char* scratch) const {
  const RnnProblem& p = problem_;
  const int64_t width = p.gates() * p.hidden, apart = p.cell == RnnCell::gru_linear ? 2 : 3;
  auto* bias = reinterpret_cast<float*>(scratch + scratch_.bias);
  for (int64_t d = 0; p.has_bias && d < p.directions; ++d)
    for (int64_t i = 0; i < width; ++i) {
      const float of_state = read(p.type, arguments.bias, d * 2 * width + width + i);
      const bool alone = i / p.hidden == apart && p.cell == RnnCell::gru_linear;
      if (alone) bias[p.directions * width + d * p.hidden + i % p.hidden] = of_state;
      bias[d * width + i] =
          read(p.type, arguments.bias, d * 2 * width + i) + (alone ? 0 : of_state);
    }
  auto* peepholes = reinterpret_cast<float*>(scratch + scratch_.peepholes);
  for (int64_t i = 0; p.has_peepholes && i < p.directions * 3 * p.hidden; ++i)
    peepholes[i] = read(p.type, arguments.peepholes, i);
}

Status Rnn::check_lengths(const RnnArguments& arguments) const {
  for (int64_t b = 0; arguments.lengths != nullptr && b < problem_.batch; ++b)
    if (arguments.lengths[b] < 0 || arguments.lengths[b] > problem_.steps)
      return user_error("length {} is outside [0, {}]", arguments.lengths[b], problem_.steps);
  return {};
}

Status Rnn::run(const RnnArguments& arguments, ThreadPool& pool, void* scratch) const {
  TENON_TRY(check_lengths(arguments));
  char* base = static_cast<char*>(scratch);
  const char* packed = packed_.at(0);
  if (!problem_.constant_r) {
    pack(arguments.r, pool, base + scratch_.weights);
    packed = base + scratch_.weights;
  }
  prepare_bias(arguments, base);
  const EpilogueOperand bias{base + scratch_.bias, 0};
  input_->run({arguments.x,
               arguments.w,
               base + scratch_.gates,
               {&bias, problem_.has_bias ? size_t{1} : size_t{0}}},
              pool, base + scratch_.gemm);
  const auto progress = [&](int64_t lane) -> LaneProgress& {
    char* at = base + scratch_.progress + lane * align_up(sizeof(LaneProgress));
    return *std::launder(reinterpret_cast<LaneProgress*>(at));
  };
  for (int64_t i = 0; i < lanes_; ++i) {
    (new (&progress(i)) LaneProgress)->reset();
    if (helpers_ > 1) Lane(*this, arguments, base, packed, static_cast<int>(i)).start();
  }
  pool.for_each(lanes_ * helpers_, 1, [&](int64_t task) {
    const Lane lane(*this, arguments, base, packed, static_cast<int>(task % lanes_));
    if (helpers_ == 1) lane.start();
    lane.run(progress(task % lanes_), static_cast<int>(task / lanes_), helpers_);
    if (helpers_ == 1) lane.finish();
  });
  for (int i = 0; helpers_ > 1 && i < lanes_; ++i) Lane(*this, arguments, base, packed, i).finish();
  return {};
}

}  // namespace tenon::cpu
