#include <algorithm>
#include <type_traits>

#include "ops/nn_window.h"
#include "ops/reals.h"
#include "ops/small_gemm.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace tenon {
namespace {

WindowAttributes attributes_of(const Conv& op) {
  return {op.strides, op.dilations, op.pads_begin, op.pads_end, op.pad_mode};
}

/// Products of integers are added up in 32 bits.
DataType result_type(DataType x) {
  return is_integer(x) ? DataType::kInt32 : x;
}

Status check_operands(const Shape& x, const Shape& weights, int64_t groups, const Fail& fail) {
  if (x.size() < 3) return fail("x needs a rank of at least 3: [N,C,...]");
  TENON_TRY(expect_rank(weights, static_cast<int>(x.size()), "the weights", fail));
  if (groups < 1) return fail("{} groups", groups);
  for (size_t i = 2; i < weights.size(); ++i)
    if (!weights[i].is_constant()) return fail("the kernel's extents must be fixed");
  return {};
}

Status check_bias(const Shape& bias, const Dim& channels, const Fail& fail) {
  TENON_TRY(expect_rank(bias, 1, "the bias", fail));
  return expect_equal(bias[0], channels, "bias and output channels", fail);
}

std::vector<int64_t> kernel_of(const Shape& weights) {
  return constants(Shape(weights.begin() + 2, weights.end()));
}

Result<Shape> conv_shape(const Conv& op, const Shape& x, const Shape& weights, const Fail& fail) {
  TENON_TRY(check_operands(x, weights, op.groups, fail));
  TENON_TRY(expect_equal(x[1], weights[1] * op.groups,
                         "channels of x and of the weights times groups", fail));
  if (weights[0].is_constant() && weights[0].constant() % op.groups != 0)
    return fail("{} output channels do not divide into {} groups", weights[0].constant(),
                op.groups);
  TENON_ASSIGN(const Shape spatial, window_output(attributes_of(op), Shape(x.begin() + 2, x.end()),
                                                  kernel_of(weights), fail));
  Shape shape{x[0], weights[0]};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

/// Numbers of one convolution.
struct ConvSizes {
  int64_t batch, groups, channels, filters, kernel, pixels, positions;  ///< Channels of a group.
};

/// Each position reads the pixel of its own place and no other.
bool is_pointwise(const SlidingWindow& window) {
  const auto none = [](int64_t pad) { return pad == 0; };
  const auto one = [](int64_t step) { return step == 1; };
  return element_count(window.kernel) == 1 && window.input == window.output &&
         std::ranges::all_of(window.strides, one) && std::ranges::all_of(window.begin, none);
}

/// Pixels of an image at equal distances, which follow each other in the columns: a line of the
/// output meets them. From a negative place on: zeros.
struct PixelRun {
  int64_t from, step, count;
};

std::vector<PixelRun> runs_of(const std::vector<int64_t>& offsets) {
  std::vector<PixelRun> runs;
  for (size_t i = 0; i < offsets.size();) {
    const bool outside = offsets[i] < 0;
    const bool alone = i + 1 == offsets.size() || (offsets[i + 1] < 0) != outside;
    const int64_t step = alone || outside ? 0 : offsets[i + 1] - offsets[i];
    size_t end = i + 1;
    while (end < offsets.size() && (offsets[end] < 0) == outside &&
           (outside || offsets[end] - offsets[end - 1] == step))
      ++end;
    runs.push_back({offsets[i], step, static_cast<int64_t>(end - i)});
    i = end;
  }
  return runs;
}

template <class T> T* copy_run(const PixelRun& run, const T* image, T* to) {
  if (run.from < 0) return std::fill_n(to, run.count, T(0));
  const T* from = image + run.from;
  if (run.step == 1) return std::copy_n(from, run.count, to);
  for (int64_t i = 0; i < run.count; ++i) to[i] = from[i * run.step];
  return to + run.count;
}

/// A window that moves by one pixel at a time over an image with its padding around it: each of the
/// window's elements reads the element at the same distance from every position.
struct PaddedImage {
  Extents extents;
  std::vector<int64_t> strides;
  std::vector<int64_t> taps;   ///< Distance of each element of the window from the position.
  std::vector<int64_t> lines;  ///< Where each line of positions along the last axis begins.
  int64_t pixels = 1, line = 0;

  explicit PaddedImage(const SlidingWindow& window) {
    const size_t rank = window.input.size();
    for (size_t i = 0; i < rank; ++i)
      extents.push_back(window.output[i] + (window.kernel[i] - 1) * window.dilations[i]);
    strides.assign(rank, 1);
    for (size_t i = rank; i-- > 0; pixels *= extents[i]) strides[i] = pixels;
    std::vector<int64_t> steps = strides;
    for (size_t i = 0; i < rank; ++i) steps[i] *= window.dilations[i];
    taps = places_of(window.kernel, steps);
    line = window.output[rank - 1];
    lines = places_of(Extents(window.output.begin(), window.output.end() - 1), strides);
  }

  /// In order of the indices.
  static std::vector<int64_t> places_of(const Extents& extents, const std::vector<int64_t>& steps) {
    std::vector<int64_t> places = {0};
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      std::vector<int64_t> next;
      for (const int64_t place : places)
        for (int64_t i = 0; i < extents[axis]; ++i) next.push_back(place + i * steps[axis]);
      places = std::move(next);
    }
    return places;
  }

  /// Positions between those of the output are computed as well.
  bool suits(const SlidingWindow& window) const {
    constexpr double kMostWork = 1.5;
    for (size_t i = 0; i < extents.size(); ++i)
      if (window.strides[i] != 1 || window.begin[i] < 0 ||
          window.begin[i] + window.input[i] > extents[i])
        return false;
    return !lines.empty() && static_cast<double>(lines.back() + line) <=
                                 kMostWork * static_cast<double>(element_count(window.output));
  }

  /// Copies the lines of an image to their places; the rest stays.
  template <class T> void fill(const SlidingWindow& window, const T* image, T* padded) const {
    const Extents outer(window.input.begin(), window.input.end() - 1);
    const int64_t width = window.input.back();
    int64_t begin = 0;
    for (size_t i = 0; i < strides.size(); ++i) begin += window.begin[i] * strides[i];
    for (const int64_t place : places_of(outer, strides)) {
      std::copy_n(image, width, padded + begin + place);
      image += width;
    }
  }
};

/// As convolve(), of several lines at a time, without columns.
template <class T>
void convolve_padded(const ConvSizes& s, const SlidingWindow& window, const PaddedImage& image,
                     const T* x, const T* weights, T* y) {
  constexpr int64_t kMostSums = 1 << 16;
  const int64_t depth = s.channels * s.kernel;
  const int64_t most = std::max(kMostSums / std::max<int64_t>(s.filters, 1), image.line);
  std::vector<int64_t> rows;
  for (int64_t c = 0; c < s.channels; ++c)
    for (const int64_t tap : image.taps) rows.push_back(c * image.pixels + tap);
  std::vector<T> padded(static_cast<size_t>(s.channels * image.pixels)), sums;
  const size_t lines = image.lines.size();
  for (int64_t part = 0; part < s.batch * s.groups; ++part) {
    for (int64_t c = 0; c < s.channels; ++c)
      image.fill(window, x + (part * s.channels + c) * s.pixels, padded.data() + c * image.pixels);
    for (size_t first = 0, end = 0; first < lines; first = end) {
      const int64_t begin = image.lines[first];
      while (end < lines && image.lines[end] + image.line - begin <= most) ++end;
      const int64_t count = image.lines[end - 1] + image.line - begin;
      sums.assign(static_cast<size_t>(s.filters * count), T(0));
      multiply_add(s.filters, count, depth, weights + part % s.groups * s.filters * depth, depth,
                   padded.data() + begin, rows.data(), sums.data(), count);
      for (int64_t f = 0; f < s.filters; ++f)
        for (size_t i = first; i < end; ++i) {
          const T* from = sums.data() + f * count + image.lines[i] - begin;
          T* to = y + (part * s.filters + f) * s.positions + static_cast<int64_t>(i) * image.line;
          for (int64_t j = 0; j < image.line; ++j) to[j] += from[j];
        }
    }
  }
}

/// y[n, g] += weights[g] * columns(x[n, g]) for a block of output positions at a time.
template <class T>
void convolve(const ConvSizes& s, const SlidingWindow& window, const T* x, const T* weights, T* y) {
  const int64_t depth = s.channels * s.kernel;
  const int64_t block = std::clamp<int64_t>(65536 / std::max<int64_t>(depth, 1), 32, 4096);
  const auto multiply = [&](int64_t part, int64_t begin, int64_t count, const T* columns,
                            int64_t stride) {
    multiply_add(s.filters, count, depth, weights + part % s.groups * s.filters * depth, depth,
                 columns, stride, y + part * s.filters * s.positions + begin, s.positions);
  };
  const bool pointwise = is_pointwise(window);
  if (const PaddedImage image(window); !pointwise && image.suits(window))
    return convolve_padded(s, window, image, x, weights, y);
  std::vector<T> columns(pointwise ? 0 : static_cast<size_t>(depth * block));
  for (int64_t begin = 0; begin < s.positions; begin += block) {
    const int64_t count = std::min(block, s.positions - begin);
    const std::vector<PixelRun> runs =
        pointwise ? std::vector<PixelRun>() : runs_of(window_offsets(window, begin, begin + count));
    for (int64_t part = 0; part < s.batch * s.groups; ++part) {
      const T* image = x + part * s.channels * s.pixels;
      if (pointwise) {
        multiply(part, begin, count, image + begin, s.pixels);
        continue;
      }
      T* to = columns.data();
      for (int64_t c = 0; c < s.channels; ++c)
        for (const PixelRun& run : runs) to = copy_run(run, image + c * s.pixels, to);
      multiply(part, begin, count, columns.data(), count);
    }
  }
}

template <class T>
void fill_bias(const EvalContext& context, int64_t batch, int64_t channels, int64_t positions,
               T* y) {
  const Values<T> bias = context.has_input(2) ? Values<T>(context.input(2)) : Values<T>();
  for (int64_t i = 0; i < batch * channels; ++i)
    std::fill_n(y + i * positions, positions, bias.size() == 0 ? T(0) : bias[i % channels]);
}

/// f(T{}) with the type to add up in: modular 32-bit for integers.
template <class F> auto with_sum_type(DataType type, F&& f) {
  if (is_integer(type)) return f(uint32_t{});
  return with_real(type, f);
}

/// A tensor that `write` fills, without a copy where it has that type.
template <class T, class Write> Tensor stored(DataType type, Extents extents, Write write) {
  if constexpr (std::is_same_v<T, float>) {
    if (type == DataType::kFloat32) {
      Tensor result(type, std::move(extents));
      write(reinterpret_cast<float*>(result.mutable_bytes()));
      return result;
    }
  }
  std::vector<T> y(static_cast<size_t>(element_count(extents)));
  write(y.data());
  if constexpr (std::is_same_v<T, uint32_t>)
    return Tensor::of<uint32_t>(type, std::move(extents), y);
  else
    return tensor_of_values(type, std::move(extents), y);
}

/// Transposed convolution: how output extents and pads follow from the attributes.
struct Transposed {
  std::vector<int64_t> strides, dilations, padding;
  Shape output;
  std::vector<Dim> begin;
};

Status spread(const Deconv& op, const Dim& input, int64_t kernel, size_t i, Transposed& t,
              const Fail& fail) {
  for (const int64_t value : {kernel, t.strides[i], t.dilations[i]})
    if (value < 1 || value > INT32_MAX)
      return fail("{} is not a valid kernel extent, stride or dilation", value);
  const int64_t reach = (kernel - 1) * t.dilations[i] + 1;
  const Dim full = (input - 1) * t.strides[i] + (t.padding[i] + reach);
  const bool given = !op.output_shape.empty();
  if (given || op.pad_mode != PadMode::kExplicit) {
    const Dim output = given ? Dim(op.output_shape[i]) : input * t.strides[i];
    const Dim total = max(full - output, 0);
    const Dim half = floor_div(total, 2);
    t.output.push_back(output);
    t.begin.push_back(op.pad_mode == PadMode::kSameUpper ? half : total - half);
    return {};
  }
  const int64_t begin = or_all(op.pads_begin, i + 1, 0)[i], end = or_all(op.pads_end, i + 1, 0)[i];
  t.output.push_back(full - (begin + end));
  t.begin.push_back(begin);
  return {};
}

Result<Transposed> transposed(const Deconv& op, const Shape& spatial,
                              const std::vector<int64_t>& kernel, const Fail& fail) {
  const size_t n = kernel.size();
  Transposed t{or_all(op.strides, n, 1),
               or_all(op.dilations, n, 1),
               or_all(op.output_padding, n, 0),
               {},
               {}};
  const auto pads_begin = or_all(op.pads_begin, n, 0), pads_end = or_all(op.pads_end, n, 0);
  std::vector<int64_t> given = or_all(op.output_shape, n, 0);
  // ONNX lets output_shape hold batch and channels too.
  if (given.size() != n) return fail("output_shape needs {} spatial extents", n);
  for (const std::vector<int64_t>* list : std::initializer_list<const std::vector<int64_t>*>{
           &t.strides, &t.dilations, &t.padding, &pads_begin, &pads_end})
    if (list->size() != n) return fail("{} numbers for {} spatial axes", list->size(), n);
  for (size_t i = 0; i < n; ++i) {
    TENON_TRY(spread(op, spatial[i], kernel[i], i, t, fail));
    if (t.output[i].is_constant() && t.output[i].constant() < 0)
      return fail("spatial axis {} would have a negative extent", i);
  }
  return t;
}

Result<Shape> deconv_shape(const Deconv& op, const Shape& x, const Shape& weights,
                           const Fail& fail) {
  TENON_TRY(check_operands(x, weights, op.groups, fail));
  TENON_TRY(expect_equal(x[1], weights[0], "channels of x and of the weights", fail));
  if (x[1].is_constant() && x[1].constant() % op.groups != 0)
    return fail("{} channels do not divide into {} groups", x[1].constant(), op.groups);
  TENON_ASSIGN(const Transposed t,
               transposed(op, Shape(x.begin() + 2, x.end()), kernel_of(weights), fail));
  Shape shape{x[0], weights[1] * op.groups};
  shape.insert(shape.end(), t.output.begin(), t.output.end());
  return shape;
}

/// The convolution whose input is the deconvolution's output and the other way round.
Result<SlidingWindow> mirrored(const Transposed& t, const Extents& input,
                               const std::vector<int64_t>& kernel, const Fail& fail) {
  TENON_ASSIGN(Extents image, concrete(t.output, fail));
  TENON_ASSIGN(auto begin, is_constant(t.begin)
                               ? Result<std::vector<int64_t>>(constants(t.begin))
                               : Result<std::vector<int64_t>>(fail("pads have no value")));
  return SlidingWindow{image, kernel, input, t.strides, t.dilations, std::move(begin), {}};
}

/// Products of one image and the weights, added where the kernel touches the output.
template <class T>
void spread_image(const ConvSizes& s, const std::vector<int64_t>& offsets, const T* x,
                  const T* weights_transposed, T* y) {
  const int64_t rows = s.filters * s.kernel;
  std::vector<T> columns(static_cast<size_t>(rows * s.pixels), T(0));
  multiply_add(rows, s.pixels, s.channels, weights_transposed, s.channels, x, s.pixels,
               columns.data(), s.pixels);
  const int64_t touched = s.kernel * s.pixels;
  for (int64_t f = 0; f < s.filters; ++f)
    for (int64_t i = 0; i < touched; ++i)
      if (offsets[i] >= 0) y[f * s.positions + offsets[i]] += columns[f * touched + i];
}

}  // namespace

Status infer(const Conv& op, InferContext& context) {
  TENON_ASSIGN(Shape shape, conv_shape(op, context.shape(0), context.shape(1), context));
  if (context.has_input(2)) TENON_TRY(check_bias(context.shape(2), shape[1], context));
  if (is_real(context.input(0).type) != is_real(context.input(1).type))
    return context.fail("x and weights must both be real or both be integers");
  return context.finish(result_type(context.input(0).type), std::move(shape));
}

Status evaluate(const Conv& op, EvalContext& context) {
  const Tensor &x = context.input(0), &weights = context.input(1);
  const Extents &xe = x.extents(), &we = weights.extents();
  TENON_ASSIGN(const Shape shape, conv_shape(op, to_shape(xe), to_shape(we), context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  if (context.has_input(2)) TENON_TRY(check_bias(shape_of(context.input(2)), extents[1], context));
  TENON_ASSIGN(const SlidingWindow window,
               resolve_window(attributes_of(op), Extents(xe.begin() + 2, xe.end()),
                              Extents(we.begin() + 2, we.end()), context));
  const ConvSizes sizes{xe[0],
                        op.groups,
                        we[1],
                        we[0] / op.groups,
                        element_count(window.kernel),
                        element_count(window.input),
                        element_count(window.output)};
  context.set_output(0, with_sum_type(x.type(), [&](auto sum) {
                       using T = decltype(sum);
                       return stored<T>(result_type(x.type()), extents, [&](T* y) {
                         fill_bias(context, extents[0], extents[1], sizes.positions, y);
                         convolve(sizes, window, Values<T>(x).data(), Values<T>(weights).data(), y);
                       });
                     }));
  return {};
}

Status infer(const Deconv& op, InferContext& context) {
  TENON_ASSIGN(Shape shape, deconv_shape(op, context.shape(0), context.shape(1), context));
  if (context.has_input(2)) TENON_TRY(check_bias(context.shape(2), shape[1], context));
  return context.finish(result_type(context.input(0).type), std::move(shape));
}

Status evaluate(const Deconv& op, EvalContext& context) {
  const Tensor &x = context.input(0), &weights = context.input(1);
  const Extents &xe = x.extents(), &we = weights.extents();
  TENON_ASSIGN(const Shape shape, deconv_shape(op, to_shape(xe), to_shape(we), context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  if (context.has_input(2)) TENON_TRY(check_bias(shape_of(context.input(2)), extents[1], context));
  const Extents input(xe.begin() + 2, xe.end()), kernel(we.begin() + 2, we.end());
  TENON_ASSIGN(const Transposed t, transposed(op, to_shape(input), kernel, context));
  TENON_ASSIGN(const SlidingWindow window, mirrored(t, input, kernel, context));
  const ConvSizes sizes{xe[0],
                        op.groups,
                        xe[1] / op.groups,
                        we[1],
                        element_count(kernel),
                        element_count(input),
                        element_count(window.input)};
  const std::vector<int64_t> offsets =
      sizes.pixels == 0 ? std::vector<int64_t>() : window_offsets(window, 0, sizes.pixels);
  context.set_output(
      0, with_sum_type(x.type(), [&](auto sum) {
        using T = decltype(sum);
        const Values<T> image(x), w(weights);
        const int64_t rows = sizes.filters * sizes.kernel;
        std::vector<T> flipped(static_cast<size_t>(w.size()));
        for (int64_t i = 0; i < w.size(); ++i) {
          const int64_t group = i / (rows * sizes.channels), inside = i % (rows * sizes.channels);
          flipped[(group * rows + inside % rows) * sizes.channels + inside / rows] = w[i];
        }
        return stored<T>(result_type(x.type()), extents, [&](T* y) {
          fill_bias(context, extents[0], extents[1], sizes.positions, y);
          for (int64_t part = 0; part < sizes.batch * sizes.groups; ++part)
            spread_image(sizes, offsets, image.data() + part * sizes.channels * sizes.pixels,
                         flipped.data() + part % sizes.groups * rows * sizes.channels,
                         y + part * sizes.filters * sizes.positions);
        });
      }));
  return {};
}

}  // namespace tenon
