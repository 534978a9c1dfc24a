// Attention and rotary embedding by their parts, in local functions: no operator of ONNX has all of
// their attributes.
#include <cmath>
#include <limits>

#include "onnx/node_exporter.h"
#include "onnx/tensor_writer.h"
#include "ops/nn.h"
#include "ops/scalar_steps.h"
#include "ops/table.h"

namespace tenon::importer {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// The writing of one attention: names of its tensors as far as they are written.
class AttentionExport {
 public:
  AttentionExport(NodeExporter& n, const Attention& op)
      : n_(n), op_(op), type_(n.element(0)), compute_(is_narrow() ? DataType::kFloat32 : type_) {}

  void write() {
    const std::string q = by_heads(0, op_.q_heads, op_.q_bsnh);
    std::string k = with_past(by_heads(1, op_.kv_heads, op_.k_bsnh), 4, 1);
    std::string v = with_past(by_heads(2, op_.kv_heads, op_.v_bsnh), 5, 2);
    k = repeated(k);
    v = repeated(v);
    const std::string wide_q = n_.cast(q, type_, compute_),
                      wide_k = n_.cast(k, n_.element(1), compute_);
    std::string scores = n_.step("MatMul", {scaled(wide_q), n_.transpose(wide_k, {0, 1, 3, 2})});
    show(ScoresOutput::kScaled, scores);
    scores = modified(scores);
    show(ScoresOutput::kCapped, scores);
    scores = masked(scores, q, k);
    show(ScoresOutput::kMasked, scores);
    std::string weights = weighted(scores);
    show(ScoresOutput::kSoftmax, weights);
    weights = rounded(weights);
    const std::string y = n_.step("MatMul", {weights, n_.cast(v, n_.element(2), compute_)});
    give(n_.cast(y, compute_, type_));
  }

 private:
  bool is_narrow() const {
    return n_.element(0) == DataType::kFloat16 || n_.element(0) == DataType::kBFloat16;
  }
  std::string number(double value) { return n_.number(value, compute_); }

  /// [B,heads,S,size], whatever the form.
  std::string by_heads(int operand, int64_t heads, bool bsnh) {
    std::string x = n_.in(operand);
    if (n_.rank(operand) == 3) x = n_.reshape(x, {0, 0, heads, -1});
    return n_.rank(operand) == 3 || bsnh ? n_.transpose(x, {0, 2, 1, 3}) : x;
  }

  std::string with_past(const std::string& x, int past, int output) {
    std::string all = x;
    if (n_.has(past)) all = n_.step_with("Concat", {n_.in(past), x}).integer("axis", 2).output();
    if (n_.node().outputs().size() > static_cast<size_t>(output))
      n_.result("Identity", {all}, {n_.out(output)});
    return all;
  }

  int64_t heads_of(int operand, int64_t given, bool bsnh) {
    if (n_.rank(operand) == 3) return given;
    const Dim& heads = n_.type(operand).shape[bsnh ? 2 : 1];
    return heads.is_constant() ? heads.constant() : 0;
  }

  /// Heads of keys and values once for each head of queries.
  std::string repeated(const std::string& x) {
    const int64_t q_heads = heads_of(0, op_.q_heads, op_.q_bsnh);
    const int64_t kv_heads = heads_of(1, op_.kv_heads, op_.k_bsnh);
    if (q_heads == kv_heads || kv_heads == 0) return x;
    const std::string apart = n_.step("Unsqueeze", {x, n_.integers({2})});
    const std::string wide =
        n_.step("Expand", {apart, n_.integers({1, 1, q_heads / kv_heads, 1, 1})});
    const std::string shape = n_.step_with("Concat", {n_.extent(x, 0), n_.integers({q_heads}),
                                                      n_.extent(x, 2), n_.extent(x, 3)})
                                  .integer("axis", 0)
                                  .output();
    return n_.step("Reshape", {wide, shape});
  }

  std::string scaled(const std::string& q) {
    double scale = op_.scale;
    const Shape& shape = n_.type(0).shape;
    if (scale == 0 && shape.back().is_constant()) {
      const auto size = static_cast<double>(shape.back().constant());
      const double heads = shape.size() == 3 ? static_cast<double>(op_.q_heads) : 1;
      scale = 1 / std::sqrt(size / heads);
    }
    if (scale != 0) return n_.step("Mul", {q, number(scale)});
    const std::string size = n_.cast(n_.extent(q, 3), DataType::kInt64, compute_);
    return n_.step("Div", {q, n_.step("Sqrt", {size})});
  }

  /// The soft cap, and operations on scores ahead of the mask.
  std::string modified(std::string scores) {
    if (op_.softcap > 0) {
      const std::string cap = number(op_.softcap);
      scores = n_.step("Mul", {n_.step("Tanh", {n_.step("Div", {scores, cap})}), cap});
    }
    return with_steps(op_.score_steps, std::move(scores));
  }

  std::string with_steps(const std::vector<std::string>& texts, std::string x) {
    const auto steps = parse_scalar_steps(texts);
    for (const ScalarStep& step : steps.value_or(std::vector<ScalarStep>())) {
      std::vector<std::string> operands = {x};
      if (step.has_number())
        operands.insert(step.number_first ? operands.begin() : operands.end(), number(step.number));
      x = export_function(n_, step.function, step.alpha, step.beta, operands, compute_);
    }
    return x;
  }

  std::string hidden_unless(const std::string& allowed, const std::string& scores) {
    return n_.step("Where", {allowed, scores, number(kHidden)});
  }

  std::string counting(const std::string& limit) {
    return n_.step("Range",
                   {n_.scalar64(0), n_.step("Squeeze", {limit, n_.integers({0})}), n_.scalar64(1)});
  }

  std::string masked(std::string scores, const std::string& q, const std::string& k) {
    if (n_.has(3)) scores = with_mask(scores);
    scores = with_steps(op_.masked_steps, std::move(scores));
    if (op_.causal == CausalMask::kNone && !n_.has(6)) return scores;
    const std::string queries = n_.extent(q, 2), keys = n_.extent(k, 2);
    const std::string places = counting(keys);
    std::string lengths;
    if (n_.has(6)) {
      lengths = n_.reshape(n_.in64(6), {-1, 1, 1, 1});
      scores = hidden_unless(n_.step("Less", {places, lengths}), scores);
    }
    if (op_.causal == CausalMask::kNone) return scores;
    std::string ahead = n_.step("Sub", {lengths.empty() ? keys : lengths, queries});
    if (lengths.empty() && op_.causal == CausalMask::kUpperLeft)
      ahead = n_.has(4) ? n_.extent(n_.in(4), 2) : n_.integers({0});
    const std::string rows =
        n_.step("Add", {n_.step("Unsqueeze", {counting(queries), n_.integers({1})}), ahead});
    return hidden_unless(n_.step("LessOrEqual", {places, rows}), scores);
  }

  /// Keys behind the mask's end are hidden.
  std::string with_mask(const std::string& scores) {
    const bool boolean = n_.element(3) == DataType::kBool;
    std::string mask = n_.in(3);
    const Dim& keys = n_.rank(3) > 0 ? n_.type(3).shape.back() : Dim(1);
    const Dim all = n_.type(1).shape[n_.rank(1) == 3 || op_.k_bsnh ? 1 : 2] +
                    (n_.has(4) ? n_.type(4).shape[2] : Dim(0));
    if (keys.is_constant() && all.is_constant() && keys.constant() > 1 && keys != all)
      mask = n_.step("Pad", {mask, n_.integers({0, all.constant() - keys.constant()}),
                             n_.number(boolean ? 0 : kHidden, n_.element(3)), n_.integers({-1})});
    if (boolean) return hidden_unless(mask, scores);
    return n_.step("Add", {scores, n_.cast(mask, n_.element(3), compute_)});
  }

  std::string weighted(const std::string& scores) {
    const std::string weights = n_.step_with("Softmax", {scores}).integer("axis", -1).output();
    const bool may_hide_all = n_.has(3) || n_.has(6) || op_.causal != CausalMask::kNone;
    if (!op_.masked_rows_zero || !may_hide_all) return weights;
    const std::string lowest =
        n_.step("Equal", {n_.step("ReduceMax", {scores, n_.integers({-1})}), number(kHidden)});
    return n_.step("Where", {lowest, number(0), weights});
  }

  /// Weights as multiples of the step.
  std::string rounded(std::string weights) {
    if (op_.weights_step <= 0) return weights;
    weights = with_steps(op_.weight_steps, std::move(weights));
    const std::string step = number(op_.weights_step);
    std::string quotient = n_.step(
        "Min", {n_.step("Div", {weights, step}), number(static_cast<double>(op_.weights_limit))});
    if (op_.weights_type == DataType::kInt8)
      quotient = n_.step("Round", {quotient});
    else
      quotient = n_.cast(n_.cast(quotient, compute_, op_.weights_type), op_.weights_type, compute_);
    return n_.step("Mul", {quotient, step});
  }

  void show(ScoresOutput which, const std::string& scores) {
    if (n_.node().outputs().size() > 3 && op_.scores == which)
      n_.result("Identity", {n_.cast(scores, compute_, type_)}, {n_.out(3)});
  }

  void give(std::string y) {
    if (n_.rank(0) == 3) {
      y = n_.reshape(n_.transpose(y, {0, 2, 1, 3}), {0, 0, -1});
    } else if (op_.out_bsnh) {
      y = n_.transpose(y, {0, 2, 1, 3});
    }
    n_.give(y);
  }

  NodeExporter& n_;
  const Attention& op_;
  const DataType type_, compute_;
};

std::string halves(NodeExporter& n, const std::string& x, int64_t from, int64_t to, int64_t step) {
  return n.step("Slice",
                {x, n.integers({from}), n.integers({to}), n.integers({-1}), n.integers({step})});
}

/// Rows of a cache, [B or 1,S,1,half], for x of [B,S,heads,size].
std::string rows_of_cache(NodeExporter& n, int operand, const std::string& x, int64_t half) {
  const std::string cache = n.reshape(n.in(operand), {-1, half});
  const std::string sequence = n.extent(x, 1);
  const auto shaped = [&](const std::string& rows, const std::vector<int64_t>& behind) {
    const std::string shape =
        n.step_with("Concat", {n.integers({-1}), sequence, n.integers(behind)})
            .integer("axis", 0)
            .output();
    return n.step("Reshape", {rows, shape});
  };
  if (!n.has(3)) return shaped(cache, {1, half});
  const std::string rows =
      n.step_with("Gather", {cache, n.reshape(n.in64(3), {-1})}).integer("axis", 0).output();
  return shaped(rows, {1, half});
}

void write_rotary(NodeExporter& n, const RotaryEmbedding& op) {
  const bool flat = n.rank(0) == 3;
  const Dim& last = n.type(0).shape.back();
  if (!last.is_constant()) return n.fail("the size of heads is not known");
  const int64_t size = flat ? last.constant() / op.heads : last.constant();
  const int64_t rotated = op.rotary_dim == 0 ? size : op.rotary_dim, half = rotated / 2;
  const std::string x =
      flat ? n.reshape(n.in(0), {0, 0, op.heads, -1}) : n.transpose(n.in(0), {0, 2, 1, 3});
  const std::string cos = rows_of_cache(n, 1, x, half), sin = rows_of_cache(n, 2, x, half);
  const bool pairs = op.interleaved;
  const std::string a = halves(n, x, 0, pairs ? rotated : half, pairs ? 2 : 1);
  const std::string b = halves(n, x, pairs ? 1 : half, rotated, pairs ? 2 : 1);
  std::string first = n.step("Sub", {n.step("Mul", {a, cos}), n.step("Mul", {b, sin})});
  std::string second = n.step("Add", {n.step("Mul", {a, sin}), n.step("Mul", {b, cos})});
  if (pairs) {
    first = n.step("Unsqueeze", {first, n.integers({-1})});
    second = n.step("Unsqueeze", {second, n.integers({-1})});
  }
  std::string y = n.step_with("Concat", {first, second}).integer("axis", -1).output();
  if (pairs) y = n.reshape(y, {0, 0, 0, rotated});
  if (rotated < size)
    y = n.step_with("Concat", {y, halves(n, x, rotated, size, 1)}).integer("axis", -1).output();
  if (flat)
    n.result("Reshape", {y, n.integers({0, 0, -1})});
  else
    n.result("Transpose", {y}).integers("perm", {0, 2, 1, 3});
}

}  // namespace

void export_attention(NodeExporter& n) {
  const Attention& op = *n.node().as<Attention>();
  export_as_function(n, fmt::format("attention_{}", n.node().name),
                     [&](NodeExporter& inner) { AttentionExport(inner, op).write(); });
}

void export_rotary(NodeExporter& n) {
  const RotaryEmbedding& op = *n.node().as<RotaryEmbedding>();
  export_as_function(n, fmt::format("rotary_{}", n.node().name),
                     [&](NodeExporter& inner) { write_rotary(inner, op); });
}

}  // namespace tenon::importer
