#include <cmath>
#include <limits>

#include "base/float_formats.h"
#include "ops/nn.h"
#include "ops/reals.h"
#include "ops/scalar_steps.h"
#include "ops/shapes.h"
#include "ops/small_gemm.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// q, k or v seen as batch, heads, sequence, size, whatever its form.
template <class D> struct Form {
  D batch, heads, sequence, size;
  bool sequence_first = false;
};

Result<Form<Dim>> form_of(const Shape& shape, int64_t heads, bool bsnh, const Fail& fail) {
  if (shape.size() == 4 && bsnh) return Form<Dim>{shape[0], shape[2], shape[1], shape[3], true};
  if (shape.size() == 4) return Form<Dim>{shape[0], shape[1], shape[2], shape[3], false};
  if (shape.size() != 3) return fail("q, k and v need a rank of 3 or 4");
  if (heads < 1) return fail("the numbers of heads must be given for operands of rank 3");
  if (shape[2].is_constant() && shape[2].constant() % heads != 0)
    return fail("{} does not divide into {} heads", shape[2].constant(), heads);
  return Form<Dim>{shape[0], heads, shape[1], floor_div(shape[2], heads), true};
}

struct Forms {
  Form<Dim> q, k, v;
  Dim past = 0, total = 0;
};

template <class Context>
Result<Forms> forms_of(const Attention& op, const Context& context,
                       const std::vector<Shape>& shapes) {
  const Fail fail(context);
  Forms forms;
  TENON_ASSIGN(forms.q, form_of(shapes[0], op.q_heads, op.q_bsnh, fail));
  TENON_ASSIGN(forms.k, form_of(shapes[1], op.kv_heads, op.k_bsnh, fail));
  TENON_ASSIGN(forms.v, form_of(shapes[2], op.kv_heads, op.v_bsnh, fail));
  TENON_TRY(expect_equal(forms.q.size, forms.k.size, "head sizes of q and k", fail));
  TENON_TRY(expect_equal(forms.k.sequence, forms.v.sequence, "lengths of k and v", fail));
  TENON_TRY(expect_equal(forms.k.heads, forms.v.heads, "heads of k and v", fail));
  TENON_TRY(expect_equal(forms.q.batch, forms.k.batch, "batches of q and k", fail));
  TENON_TRY(expect_equal(forms.q.batch, forms.v.batch, "batches of q and v", fail));
  if (forms.q.heads.is_constant() && forms.k.heads.is_constant() &&
      (forms.k.heads.constant() < 1 || forms.q.heads.constant() % forms.k.heads.constant() != 0))
    return fail("{} heads of q are no multiple of {} heads of k", forms.q.heads.constant(),
                forms.k.heads.constant());
  if (context.has_input(4) != context.has_input(5))
    return fail("past k and past v must be given together");
  if (context.has_input(4)) {
    TENON_TRY(expect_rank(shapes[4], 4, "past k", fail));
    TENON_TRY(expect_rank(shapes[5], 4, "past v", fail));
    TENON_TRY(expect_equal(shapes[4][2], shapes[5][2], "lengths of past k and v", fail));
    for (int i = 4; i < 6; ++i) {
      TENON_TRY(expect_equal(shapes[i][0], forms.q.batch, "batch of the past", fail));
      TENON_TRY(expect_equal(shapes[i][1], forms.k.heads, "heads of the past", fail));
      TENON_TRY(expect_equal(shapes[i][3], i == 4 ? forms.k.size : forms.v.size,
                             "head size of the past", fail));
    }
    forms.past = shapes[4][2];
  }
  forms.total = forms.past + forms.k.sequence;
  return forms;
}

Shape output_shape(const Attention& op, const Forms& f, size_t rank) {
  if (rank == 3) return {f.q.batch, f.q.sequence, f.q.heads * f.v.size};
  if (op.out_bsnh) return {f.q.batch, f.q.sequence, f.q.heads, f.v.size};
  return {f.q.batch, f.q.heads, f.q.sequence, f.v.size};
}

/// Concrete sizes.
struct Sizes {
  int64_t batch, q_heads, kv_heads, queries, keys, past, size, v_size;
};

/// Copies one head's [sequence, size] block, to rows or (transposed) to columns.
template <class T>
void copy_head(const T* from, const Form<int64_t>& form, int64_t b, int64_t h, T* to,
               int64_t row_step, int64_t element_step) {
  for (int64_t s = 0; s < form.sequence; ++s) {
    const int64_t row = form.sequence_first ? (b * form.sequence + s) * form.heads + h
                                            : (b * form.heads + h) * form.sequence + s;
    for (int64_t i = 0; i < form.size; ++i)
      to[s * row_step + i * element_step] = from[row * form.size + i];
  }
}

Form<int64_t> concrete_form(const Form<Dim>& form) {
  return {form.batch.constant(), form.heads.constant(), form.sequence.constant(),
          form.size.constant(), form.sequence_first};
}

/// k or v of the past followed by the new ones, [batch, heads, total, size].
template <class T>
std::vector<T> present(const Tensor& fresh, const Form<int64_t>& form, const Tensor* past,
                       int64_t past_length) {
  const int64_t total = past_length + form.sequence, block = total * form.size;
  std::vector<T> all(static_cast<size_t>(form.batch * form.heads * block));
  const Values<T> from(fresh);
  const Values<T> before = past == nullptr ? Values<T>() : Values<T>(*past);
  const int64_t old = past_length * form.size;
  for (int64_t i = 0; i < form.batch * form.heads; ++i) {
    std::copy_n(before.data() + i * old, old, all.data() + i * block);
    copy_head(from.data(), form, i / form.heads, i % form.heads, all.data() + i * block + old,
              form.size, 1);
  }
  return all;
}

/// Summands of the scores of one head; -inf where a key is hidden.
template <class T> class Bias {
 public:
  static Result<Bias> create(const Attention& op, const EvalContext& context, const Sizes& s) {
    Bias bias(op, s);
    if (context.has_input(6)) {
      TENON_ASSIGN(bias.lengths_, integers_of(context, 6));
      if (static_cast<int64_t>(bias.lengths_.size()) != s.batch)
        return context.fail(
            fmt::format("{} lengths for a batch of {}", bias.lengths_.size(), s.batch));
    }
    if (!context.has_input(3)) return bias;
    const Tensor& mask = context.input(3);
    const int shift = 4 - mask.rank();
    const Extents limits{s.batch, s.q_heads, s.queries, s.keys};
    if (shift < 0) return context.fail("the mask has a rank above 4");
    const Strides dense = row_major_strides(mask.extents());
    for (int i = 0; i < mask.rank(); ++i) {
      const int64_t extent = mask.extents()[i];
      const bool last = i + shift == 3;
      if (extent != 1 && extent != limits[i + shift] && !(last && extent < limits[3]))
        return context.fail(
            fmt::format("the mask does not broadcast to {}", to_string(to_shape(limits))));
      bias.strides_[i + shift] = extent == 1 ? 0 : dense[i];
      if (last && extent != 1) bias.mask_keys_ = extent;
    }
    if (mask.rank() > 0 && mask.extents().back() == 1 && s.keys > 1) bias.mask_keys_ = s.keys;
    bias.boolean_ = mask.type() == DataType::kBool;
    bias.mask_ = Values<T>(mask);
    return bias;
  }

  T at(int64_t b, int64_t h, int64_t i, int64_t j) const {
    constexpr T kHidden = -std::numeric_limits<T>::infinity();
    if (!lengths_.empty() && j >= lengths_[b]) return kHidden;
    if (op_.causal != CausalMask::kNone && j > i + offset(b)) return kHidden;
    if (mask_.size() == 0) return 0;
    if (j >= mask_keys_) return kHidden;
    const T value = mask_[b * strides_[0] + h * strides_[1] + i * strides_[2] + j * strides_[3]];
    return boolean_ ? (value != 0 ? T(0) : kHidden) : value;
  }

 private:
  Bias(const Attention& op, const Sizes& sizes) : op_(op), sizes_(sizes), mask_keys_(sizes.keys) {}
  /// How many keys precede the first query.
  int64_t offset(int64_t b) const {
    if (!lengths_.empty()) return lengths_[b] - sizes_.queries;
    return op_.causal == CausalMask::kUpperLeft ? sizes_.past : sizes_.keys - sizes_.queries;
  }
  const Attention& op_;
  Sizes sizes_;
  int64_t mask_keys_;
  bool boolean_ = false;
  Strides strides_ = Strides(4, 0);
  Values<T> mask_;
  std::vector<int64_t> lengths_;
};

std::vector<ScalarStep> steps_of(const std::vector<std::string>& texts) {
  return parse_scalar_steps(texts).value_or(std::vector<ScalarStep>());
}

/// The operations of an attention on its scores.
struct AttentionSteps {
  explicit AttentionSteps(const Attention& op)
      : scores(steps_of(op.score_steps)),
        masked(steps_of(op.masked_steps)),
        weights(steps_of(op.weight_steps)) {}
  std::vector<ScalarStep> scores, masked, weights;
};

template <class T> void apply(const std::vector<ScalarStep>& steps, T* row, int64_t count) {
  for (const ScalarStep& step : steps) apply_scalar_step(step, row, count);
}

/// Weights to multiples of the step.
template <class T> void round_row(const Attention& op, T* row, int64_t keys) {
  const T step = static_cast<T>(op.weights_step), limit = static_cast<T>(op.weights_limit);
  const SmallFloat format =
      op.weights_type == DataType::kFloat8E5M2 ? SmallFloat::kE5M2 : SmallFloat::kE4M3;
  for (int64_t j = 0; j < keys; ++j) {
    const T quotient = std::min(row[j] / step, limit);
    row[j] =
        step *
        (op.weights_type == DataType::kInt8
             ? std::rint(quotient)
             : T(small_float_decode(format, small_float_encode(format, float(quotient), true))));
  }
}

/// Turns one row of scores into weights; `shown` gets the step the scores output shows.
template <class T>
void finish_row(const Attention& op, const AttentionSteps& steps, const Bias<T>& bias,
                const int64_t (&at)[3], int64_t keys, T* row, T* shown) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  const auto show = [&](ScoresOutput step) {
    if (shown != nullptr && op.scores == step) std::copy_n(row, keys, shown);
  };
  show(ScoresOutput::kScaled);
  const T cap = static_cast<T>(op.softcap);
  for (int64_t j = 0; j < keys && cap > 0; ++j) row[j] = cap * std::tanh(row[j] / cap);
  apply(steps.scores, row, keys);
  show(ScoresOutput::kCapped);
  bool all_hidden = true;
  T top = kHidden, sum = 0;
  for (int64_t j = 0; j < keys; ++j) {
    const T added = bias.at(at[0], at[1], at[2], j);
    all_hidden = all_hidden && added == kHidden;
    row[j] += added;
  }
  apply(steps.masked, row, keys);
  for (int64_t j = 0; j < keys; ++j) top = std::max(top, row[j]);
  show(ScoresOutput::kMasked);
  if (all_hidden && op.masked_rows_zero) {
    std::fill_n(row, keys, T(0));
  } else {
    for (int64_t j = 0; j < keys; ++j) sum += row[j] = std::exp(row[j] - top);
    for (int64_t j = 0; j < keys; ++j) row[j] /= sum;
  }
  show(ScoresOutput::kSoftmax);
  apply(steps.weights, row, keys);
  if (op.weights_step > 0) round_row(op, row, keys);
}

/// Operands in one form and where results go.
template <class T> struct Heads {
  Values<T> q;
  std::vector<T> k, v, y, scores;
  Form<int64_t> q_form;
  bool out_sequence_first;
};

template <class T>
void attend(const Attention& op, const Sizes& s, const Bias<T>& bias, Heads<T>& heads) {
  const AttentionSteps steps(op);
  const T scale =
      static_cast<T>(op.scale != 0 ? op.scale : 1 / std::sqrt(static_cast<double>(s.size)));
  std::vector<T> q(static_cast<size_t>(s.queries * s.size));
  std::vector<T> keys(static_cast<size_t>(s.size * s.keys));
  std::vector<T> out(static_cast<size_t>(s.queries * s.v_size));
  for (int64_t n = 0; n < s.batch * s.q_heads; ++n) {
    const int64_t b = n / s.q_heads, h = n % s.q_heads;
    const int64_t kv = b * s.kv_heads + h / (s.q_heads / s.kv_heads);
    const Form<int64_t> one{1, 1, s.keys, s.size, false};
    copy_head(heads.k.data() + kv * s.keys * s.size, one, 0, 0, keys.data(), 1, s.keys);
    copy_head(heads.q.data(), heads.q_form, b, h, q.data(), s.size, 1);
    for (T& value : q) value *= scale;
    std::vector<T> scores(static_cast<size_t>(s.queries * s.keys), T(0));
    multiply_add(s.queries, s.keys, s.size, q.data(), s.size, keys.data(), s.keys, scores.data(),
                 s.keys);
    for (int64_t i = 0; i < s.queries; ++i) {
      T* shown =
          heads.scores.empty() ? nullptr : heads.scores.data() + (n * s.queries + i) * s.keys;
      finish_row(op, steps, bias, {b, h, i}, s.keys, scores.data() + i * s.keys, shown);
    }
    std::fill(out.begin(), out.end(), T(0));
    multiply_add(s.queries, s.v_size, s.keys, scores.data(), s.keys,
                 heads.v.data() + kv * s.keys * s.v_size, s.v_size, out.data(), s.v_size);
    for (int64_t i = 0; i < s.queries; ++i) {
      const int64_t row =
          heads.out_sequence_first ? (b * s.queries + i) * s.q_heads + h : n * s.queries + i;
      std::copy_n(out.data() + i * s.v_size, s.v_size, heads.y.data() + row * s.v_size);
    }
  }
}

template <class T>
Status run(const Attention& op, EvalContext& context, const Forms& forms, const Sizes& s) {
  const Tensor& q = context.input(0);
  const auto past = [&](int i) { return context.has_input(i) ? &context.input(i) : nullptr; };
  TENON_ASSIGN(const Bias<T> bias, Bias<T>::create(op, context, s));
  Heads<T> heads{Values<T>(q),
                 present<T>(context.input(1), concrete_form(forms.k), past(4), s.past),
                 present<T>(context.input(2), concrete_form(forms.v), past(5), s.past),
                 {},
                 {},
                 concrete_form(forms.q),
                 q.rank() == 3 || op.out_bsnh};
  TENON_ASSIGN(const Extents extents,
               concrete(output_shape(op, forms, static_cast<size_t>(q.rank())), context));
  heads.y.resize(static_cast<size_t>(element_count(extents)));
  const Extents scores{s.batch, s.q_heads, s.queries, s.keys};
  if (context.output_count() > 3) heads.scores.resize(static_cast<size_t>(element_count(scores)));
  attend(op, s, bias, heads);
  context.set_output(0, tensor_of_values(q.type(), extents, heads.y));
  if (context.output_count() > 1)
    context.set_output(1, tensor_of_values(context.input(1).type(),
                                           {s.batch, s.kv_heads, s.keys, s.size}, heads.k));
  if (context.output_count() > 2)
    context.set_output(2, tensor_of_values(context.input(2).type(),
                                           {s.batch, s.kv_heads, s.keys, s.v_size}, heads.v));
  if (context.output_count() > 3)
    context.set_output(3, tensor_of_values(q.type(), scores, heads.scores));
  return {};
}

}  // namespace

Status infer(const Attention& op, InferContext& context) {
  std::vector<Shape> shapes(7);
  for (int i = 0; i < 7; ++i)
    if (context.has_input(i)) shapes[i] = context.shape(i);
  TENON_ASSIGN(const Forms f, forms_of(op, context, shapes));
  for (const auto* texts : {&op.score_steps, &op.masked_steps, &op.weight_steps})
    if (!parse_scalar_steps(*texts).has_value())
      return context.fail("a step of the scores that is none");
  const bool hides = op.causal != CausalMask::kNone || context.has_input(6) ||
                     (context.has_input(3) && context.input(3).type == DataType::kBool);
  if (!op.masked_steps.empty() && hides)
    return context.fail("steps behind a mask that is not added");
  if (!op.weight_steps.empty() && op.weights_step <= 0)
    return context.fail("steps of weights that are not rounded");
  const DataType type = context.input(0).type;
  context.set_output(0, type, output_shape(op, f, shapes[0].size()));
  const DataType types[] = {context.input(1).type, context.input(2).type, type};
  const Shape others[] = {{f.q.batch, f.k.heads, f.total, f.k.size},
                          {f.q.batch, f.k.heads, f.total, f.v.size},
                          {f.q.batch, f.q.heads, f.q.sequence, f.total}};
  for (int i = 1; i < context.output_count(); ++i)
    context.set_output(i, types[i - 1], others[i - 1]);
  return {};
}

Status evaluate(const Attention& op, EvalContext& context) {
  std::vector<Shape> shapes(7);
  for (int i = 0; i < 7; ++i)
    if (context.has_input(i)) shapes[i] = shape_of(context.input(i));
  TENON_ASSIGN(const Forms f, forms_of(op, context, shapes));
  const Sizes sizes{f.q.batch.constant(),    f.q.heads.constant(), f.k.heads.constant(),
                    f.q.sequence.constant(), f.total.constant(),   f.past.constant(),
                    f.q.size.constant(),     f.v.size.constant()};
  return with_real(context.input(0).type(),
                   [&](auto real) { return run<decltype(real)>(op, context, f, sizes); });
}

}  // namespace tenon
