// Windows, filter banks and Fourier transforms.
#include <cmath>
#include <complex>
#include <numbers>

#include "ops/generate.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/table.h"

namespace tenon {
namespace {

using Complex = std::complex<double>;

/// An integer scalar operand as an expression, or nothing.
std::optional<Dim> scalar_element(const InferContext& context, int index) {
  const auto known = context.elements(index);
  if (!known || known->size() != 1) return std::nullopt;
  return (*known)[0];
}

double window_value(WindowKind window, double turn) {
  const double c = std::cos(turn);
  switch (window) {
    case WindowKind::kHann: return 0.5 - 0.5 * c;
    case WindowKind::kHamming: return 25.0 / 46.0 - 21.0 / 46.0 * c;
    default: return 0.42 - 0.5 * c + 0.08 * std::cos(2 * turn);
  }
}

/// Fourier transforms of one length and direction: y[m] is the sum over k of x[k] e^(sign 2 pi i k
/// m / n). A length of several factors is transformed one factor after the other, so that the time
/// grows with their sum.
class Fourier {
 public:
  Fourier(int64_t length, double sign) : turns_(static_cast<size_t>(length)), result_(turns_) {
    const double angle = sign * 2 * std::numbers::pi / static_cast<double>(length);
    // Each by itself: products of them would add up errors.
    for (size_t k = 0; k < turns_.size(); ++k)
      turns_[k] = std::polar(1.0, angle * static_cast<double>(k));
  }

  void transform(std::vector<Complex>& x) {
    lines(x.data(), result_.data(), x.size(), 1);
    x.swap(result_);
  }

 private:
  static size_t least_factor(size_t n) {
    for (size_t factor = 2; factor * factor <= n; ++factor)
      if (n % factor == 0) return factor;
    return n;
  }

  /// Of each step-th element from `x` on, n of them.
  void lines(const Complex* x, Complex* y, size_t n, size_t step) {
    if (n == 1) {
      *y = *x;
      return;
    }
    const size_t factor = least_factor(n), rest = n / factor;
    for (size_t r = 0; r < factor; ++r) lines(x + r * step, y + r * rest, rest, step * factor);
    for (size_t k = 0; k < rest; ++k) join(y + k, factor, rest, k * step);
  }

  /// Makes `factor` elements of the result of those of the transforms of every factor-th element.
  void join(Complex* y, size_t factor, size_t rest, size_t turn) {
    parts_.resize(factor);
    for (size_t r = 0; r < factor; ++r) parts_[r] = y[r * rest] * turns_[r * turn];
    if (factor == 2) {
      y[0] = parts_[0] + parts_[1];
      y[rest] = parts_[0] - parts_[1];
      return;
    }
    const size_t n = turns_.size();
    for (size_t q = 0; q < factor; ++q) {
      const size_t each = q * (n / factor);
      Complex sum = parts_[0];
      for (size_t r = 1, at = each; r < factor; ++r, at = (at + each) % n)
        sum += parts_[r] * turns_[at];
      y[q * rest] = sum;
    }
  }

  std::vector<Complex> turns_, result_, parts_;
};

struct DftShape {
  int axis = 0;
  Dim length;  ///< Of the transform.
  Shape output;
};

Result<DftShape> dft_shape(const Dft& op, const Shape& x, int64_t axis,
                           const std::optional<Dim>& length, const Fail& fail) {
  const int rank = static_cast<int>(x.size());
  if (rank < 2) return fail("x needs a rank of at least 2: [..., 1 or 2]");
  if (!x.back().is_constant() || x.back().constant() < 1 || x.back().constant() > 2)
    return fail("the last axis of x must have extent 1 (real) or 2 (complex)");
  DftShape shape;
  TENON_ASSIGN(shape.axis, resolve_axis(axis, rank, fail));
  if (shape.axis == rank - 1) return fail("the last axis cannot be transformed");
  const bool to_real = op.inverse && op.onesided;
  const Dim extent = x[shape.axis];
  shape.length = length ? *length : (to_real ? (extent - 1) * 2 : extent);
  if (shape.length.is_constant() && shape.length.constant() < 1)
    return fail("a transform of length {}", shape.length.constant());
  shape.output = x;
  shape.output[shape.axis] =
      op.onesided && !op.inverse ? floor_div(shape.length, 2) + 1 : shape.length;
  shape.output.back() = to_real ? 1 : 2;
  return shape;
}

/// One line of x as complex numbers, cut or padded to the length of the transform.
std::vector<Complex> line_of(const Values<double>& x, int64_t first, int64_t step, int64_t extent,
                             int64_t parts, int64_t length) {
  std::vector<Complex> line(static_cast<size_t>(length));
  for (int64_t k = 0; k < std::min(extent, length); ++k) {
    const int64_t at = first + k * step;
    line[k] = Complex(x[at], parts == 2 ? x[at + 1] : 0.0);
  }
  return line;
}

/// Fills the upper half of a spectrum of a real signal from the lower one.
void mirror_spectrum(std::vector<Complex>& line) {
  const size_t n = line.size();
  line[0] = line[0].real();
  if (n % 2 == 0) line[n / 2] = line[n / 2].real();
  for (size_t k = n / 2 + 1; k < n; ++k) line[k] = std::conj(line[n - k]);
}

Result<Shape> stft_shape(const Stft& op, const Shape& signal, const Dim& step, const Dim& length,
                         const Fail& fail) {
  TENON_TRY(expect_rank(signal, 3, "the signal", fail));
  if (!signal[2].is_constant() || signal[2].constant() < 1 || signal[2].constant() > 2)
    return fail("the last axis of the signal must have extent 1 (real) or 2 (complex)");
  for (const Dim* value : {&step, &length})
    if (value->is_constant() && value->constant() < 1)
      return fail("a frame length or step below 1");
  if (signal[1].is_constant() && length.is_constant() && length.constant() > signal[1].constant())
    return fail("frames of {} are longer than the signal of {}", length.constant(),
                signal[1].constant());
  const Dim frames = floor_div(signal[1] - length, step) + 1;
  return Shape{signal[0], frames, op.onesided ? floor_div(length, 2) + 1 : length, 2};
}

/// Corner places of the triangular filters on the spectrum.
std::vector<int64_t> mel_corners(int64_t bins, int64_t length, double rate, double low,
                                 double high) {
  const double from = 2595 * std::log10(1 + low / 700), to = 2595 * std::log10(1 + high / 700);
  const double step = (to - from) / static_cast<double>(bins + 2);
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + from) / 2595) - 1);
    corners.push_back(
        saturate_to<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  return corners;
}

}  // namespace

Status infer(const Window& op, InferContext& context) {
  const auto size = scalar_element(context, 0);
  if (size && size->is_constant() && size->constant() < 0)
    return context.fail("the size is negative");
  return context.finish(op.to, {size ? *size : context.data_dependent(kUnbounded)});
}

Status evaluate(const Window& op, EvalContext& context) {
  TENON_ASSIGN(const int64_t size, integer_of(context, 0, 0));
  TENON_ASSIGN(const Extents extents, concrete({size}, context));
  std::vector<double> values(static_cast<size_t>(size), 1.0);
  const double period = static_cast<double>(op.periodic ? size : size - 1);
  for (int64_t i = 0; i < size && period > 0; ++i)
    values[i] = window_value(op.window, 2 * std::numbers::pi * static_cast<double>(i) / period);
  return context.finish(tensor_of_values(op.to, extents, values));
}

Status infer(const MelWeights& op, InferContext& context) {
  const auto bins = scalar_element(context, 0), length = scalar_element(context, 1);
  const Dim rows = length ? floor_div(*length, 2) + 1 : context.data_dependent(kUnbounded);
  return context.finish(op.to, {rows, bins ? *bins : context.data_dependent(kUnbounded)});
}

Status evaluate(const MelWeights& op, EvalContext& context) {
  for (int i = 0; i < 5; ++i)
    if (context.input(i).count() != 1) return context.fail("all operands must be scalars");
  const int64_t bins = context.input(0).as_int64(0), length = context.input(1).as_int64(0);
  if (bins < 0 || length < 0 || length > INT32_MAX || !(context.input(2).as_double(0) > 0))
    return context.fail("sizes and sample rate must be positive");
  TENON_ASSIGN(const Extents extents, concrete({length / 2 + 1, bins}, context));
  const std::vector<int64_t> corners =
      mel_corners(bins, length, context.input(2).as_double(0), context.input(3).as_double(0),
                  context.input(4).as_double(0));
  for (const int64_t corner : corners)
    if (corner < 0 || corner > extents[0])
      return context.fail(
          fmt::format("a filter reaches place {} of a spectrum of {}", corner, extents[0]));
  std::vector<double> weights(static_cast<size_t>(element_count(extents)), 0.0);
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t low = corners[i], centre = corners[i + 1], high = corners[i + 2];
    const auto ratio = [](int64_t a, int64_t b) {
      return static_cast<double>(a) / static_cast<double>(b);
    };
    for (int64_t j = low; j <= std::min(centre, extents[0] - 1); ++j)
      weights[j * bins + i] = centre == low ? 1 : ratio(j - low, centre - low);
    for (int64_t j = centre; j < high; ++j) weights[j * bins + i] = ratio(high - j, high - centre);
  }
  return context.finish(tensor_of_values(op.to, extents, weights));
}

Status infer(const Dft& op, InferContext& context) {
  const auto axis = context.integers(2);
  if (context.has_input(2) && (!axis || axis->size() != 1))
    return context.fail("the axis must be known while building; make it a constant");
  auto length = scalar_element(context, 1);
  if (context.has_input(1) && !length) length = context.data_dependent(kUnbounded);
  TENON_ASSIGN(DftShape shape,
               dft_shape(op, context.shape(0), axis ? (*axis)[0] : -2, length, context));
  return context.finish(context.input(0).type, std::move(shape.output));
}

Status evaluate(const Dft& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const int64_t wanted_axis, integer_of(context, 2, -2));
  std::optional<Dim> wanted;
  if (context.has_input(1)) {
    TENON_ASSIGN(const int64_t length, integer_of(context, 1, 0));
    wanted = length;
  }
  TENON_ASSIGN(const DftShape shape, dft_shape(op, shape_of(x), wanted_axis, wanted, context));
  TENON_ASSIGN(const Extents extents, concrete(shape.output, context));
  const int64_t length = shape.length.constant(), parts = x.extents().back();
  const int64_t extent = x.extents()[shape.axis], kept = extents[shape.axis];
  const int64_t outer = count_between(x.extents(), 0, shape.axis);
  const int64_t inner = count_between(x.extents(), shape.axis + 1, x.rank() - 1);
  const Values<double> values(x);
  const int64_t out_parts = extents.back();
  std::vector<double> y(static_cast<size_t>(element_count(extents)));
  Fourier fourier(y.empty() ? 0 : length, op.inverse ? 1 : -1);
  for (int64_t i = 0; i < outer * inner; ++i) {
    const int64_t first = (i / inner * extent * inner + i % inner) * parts;
    std::vector<Complex> line = line_of(values, first, inner * parts, extent, parts, length);
    if (op.inverse && op.onesided) mirror_spectrum(line);
    fourier.transform(line);
    const double scale = op.inverse ? 1.0 / static_cast<double>(length) : 1.0;
    for (int64_t k = 0; k < kept; ++k) {
      double* to = y.data() + ((i / inner * kept + k) * inner + i % inner) * out_parts;
      to[0] = line[k].real() * scale;
      if (out_parts == 2) to[1] = line[k].imag() * scale;
    }
  }
  return context.finish(tensor_of_values(x.type(), extents, y));
}

Status infer(const Stft& op, InferContext& context) {
  const auto step = scalar_element(context, 1);
  auto length = scalar_element(context, 3);
  if (!context.has_input(3) && !context.has_input(2))
    return context.fail("a window or a frame length is needed");
  if (!length && context.has_input(2)) {
    TENON_TRY(expect_rank(context.shape(2), 1, "the window", context));
    length = context.shape(2)[0];
  }
  const Dim frame = length ? *length : context.data_dependent(kUnbounded);
  TENON_ASSIGN(Shape shape,
               stft_shape(op, context.shape(0), step ? *step : Dim(1), frame, context));
  if (!step) shape[1] = context.data_dependent(context.shape(0)[1]);
  return context.finish(context.input(0).type, std::move(shape));
}

Status evaluate(const Stft& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const int64_t step, integer_of(context, 1, 1));
  if (!context.has_input(2) && !context.has_input(3))
    return context.fail("a window or a frame length is needed");
  const int64_t window_size = context.has_input(2) ? context.input(2).count() : 0;
  TENON_ASSIGN(const int64_t length, integer_of(context, 3, window_size));
  if (context.has_input(2) && window_size != length)
    return context.fail(fmt::format("a window of {} for frames of {}", window_size, length));
  TENON_ASSIGN(const Shape shape, stft_shape(op, shape_of(x), step, length, context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  const Values<double> values(x);
  const Values<double> window =
      context.has_input(2) ? Values<double>(context.input(2)) : Values<double>();
  const int64_t samples = x.extents()[1], parts = x.extents()[2];
  const int64_t frames = extents[1], kept = extents[2];
  std::vector<double> y(static_cast<size_t>(element_count(extents)));
  Fourier fourier(y.empty() ? 0 : length, -1);
  for (int64_t i = 0; i < extents[0] * frames; ++i) {
    const int64_t first = (i / frames * samples + i % frames * step) * parts;
    std::vector<Complex> line = line_of(values, first, parts, length, parts, length);
    for (int64_t k = 0; k < window.size(); ++k) line[k] *= window[k];
    fourier.transform(line);
    for (int64_t k = 0; k < kept; ++k) {
      y[(i * kept + k) * 2] = line[k].real();
      y[(i * kept + k) * 2 + 1] = line[k].imag();
    }
  }
  return context.finish(tensor_of_values(x.type(), extents, y));
}

}  // namespace tenon
