#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/cpu/aligned_buffer.h"
#include "kernels/conv/problem.h"
#include "kernels/gemm/buffer.h"

namespace tenon::cpu {

/// A convolution with random contents and its result in double precision.
struct ConvCase {
  ConvProblem problem;
  int epilogue = 0;
  std::mt19937 random{11};
  Buffer input, weights;
  std::vector<Buffer> step_buffers;
  std::vector<EpilogueOperand> operands;
  std::vector<double> expected, magnitude;

  explicit ConvCase(const ConvProblem& with, int which = 0)
      : problem(complete(with)),
        epilogue(which),
        input(problem.input_type, input_count(), random),
        weights(problem.weight_type,
                problem.input_channels * problem.output_channels / problem.groups *
                    volume(problem.kernel),
                random) {
    problem.steps = sample_epilogue(which, problem.output_type);
    std::erase_if(problem.steps,
                  [](const EpilogueStep& s) { return s.operand == OperandKind::per_row; });
    for (const EpilogueStep& s : problem.steps)
      step_buffers.emplace_back(s.operand_type, output_count(), random);
    for (Buffer& b : step_buffers)
      operands.push_back({b.bytes.data(), problem.output_pixel_stride});
    compute();
  }

  static ConvProblem complete(ConvProblem p) {
    if (p.input_pixel_stride == 0) p.input_pixel_stride = p.input_channels;
    if (p.output_pixel_stride == 0) p.output_pixel_stride = p.output_channels;
    return p;
  }
  int64_t input_count() const {
    return problem.batch * volume(problem.input) * problem.input_pixel_stride;
  }
  int64_t pixels() const { return problem.batch * volume(problem.output); }
  int64_t output_count() const { return pixels() * problem.output_pixel_stride; }

  float input_at(int64_t n, const Spatial& at, int64_t c) const {
    int64_t pixel = (at[0] * problem.input[1] + at[1]) * problem.input[2] + at[2];
    const int64_t size = volume(problem.input);
    if (problem.channels_first_input)
      return input.values[(n * problem.input_channels + c) * size + pixel];
    return input.values[(n * size + pixel) * problem.input_pixel_stride + c];
  }

  /// The input position that tap `t` of output position `o` reads, or false.
  bool source(const Spatial& o, const Spatial& t, Spatial& at) const {
    for (int i = 0; i < 3; ++i) {
      if (problem.transposed) {
        const int64_t x = o[i] + problem.pad[i] - t[i] * problem.dilation[i];
        if (x % problem.stride[i] != 0) return false;
        at[i] = x / problem.stride[i];
        if (x < 0) return false;
      } else {
        at[i] = o[i] * problem.stride[i] - problem.pad[i] + t[i] * problem.dilation[i];
      }
      if (at[i] < 0 || at[i] >= problem.input[i]) return false;
    }
    return true;
  }

  void compute() {
    const ConvProblem& p = problem;
    const int64_t in_each = p.input_channels / p.groups, out_each = p.output_channels / p.groups;
    for (int64_t pixel = 0; pixel < pixels(); ++pixel) {
      int64_t rest = pixel;
      Spatial o;
      for (int i = 2; i >= 0; --i) o[i] = rest % p.output[i], rest /= p.output[i];
      for (int64_t c = 0; c < p.output_channels; ++c) {
        double sum = 0, size = 1;
        const int64_t g = c / out_each;
        int64_t tap = 0;
        Spatial t, at;
        for (t[0] = 0; t[0] < p.kernel[0]; ++t[0])
          for (t[1] = 0; t[1] < p.kernel[1]; ++t[1])
            for (t[2] = 0; t[2] < p.kernel[2]; ++t[2], ++tap) {
              if (!source(o, t, at)) continue;
              for (int64_t i = 0; i < in_each; ++i) {
                if (p.channels_last_weights) {
                  const int64_t at_weights = (c * volume(p.kernel) + tap) * in_each + i;
                  const double product =
                      double(input_at(rest, at, g * in_each + i)) * weights.values[at_weights];
                  sum += product, size += std::fabs(product);
                  continue;
                }
                const int64_t pair =
                    p.transposed ? (g * in_each + i) * out_each + c % out_each : c * in_each + i;
                const double product = double(input_at(rest, at, g * in_each + i)) *
                                       weights.values[pair * volume(p.kernel) + tap];
                sum += product;
                size += std::fabs(product);
              }
            }
        for (size_t s = 0; s < p.steps.size(); ++s) {
          int64_t index = 0;
          if (p.steps[s].operand == OperandKind::per_column) index = c;
          if (p.steps[s].operand == OperandKind::full) index = pixel * p.output_pixel_stride + c;
          sum = apply_exactly(p.steps[s], sum, step_buffers[s].values[index]);
        }
        expected.push_back(sum);
        magnitude.push_back(size);
      }
    }
  }

  /// Runs an implementation into a poisoned output.
  template <class C> Buffer run(Isa isa, int threads) {
    problem.isa = isa;
    problem.threads = threads;
    Buffer result = Buffer::poisoned(problem.output_type, output_count());
    const void* constant = problem.weights_change ? nullptr : weights.bytes.data();
    auto conv = C::prepare(problem, constant);
    EXPECT_TRUE(conv.ok()) << conv.error().message;
    if (!conv.ok()) return result;
    AlignedBuffer scratch(conv->scratch_bytes());
    std::memset(scratch.data(), 0xff, scratch.size());
    ThreadPool pool(threads);
    conv->run({.input = input.bytes.data(),
               .weights = problem.weights_change ? weights.bytes.data() : nullptr,
               .output = result.bytes.data(),
               .operands = operands.data()},
              pool, scratch.data());
    return result;
  }

  void check(const Buffer& result, double epsilon) const {
    int failures = 0;
    for (int64_t pixel = 0; pixel < pixels(); ++pixel)
      for (int64_t c = 0; c < problem.output_pixel_stride && failures < 4; ++c) {
        const float got = result.at(pixel * problem.output_pixel_stride + c);
        if (c >= problem.output_channels) {
          ASSERT_TRUE(std::isnan(got)) << "wrote behind a pixel";
          continue;
        }
        const int64_t i = pixel * problem.output_channels + c;
        if (!(std::fabs(got - expected[i]) <= epsilon * magnitude[i]) && ++failures)
          ADD_FAILURE() << "pixel " << pixel << " channel " << c << ": " << got << " instead of "
                        << expected[i];
      }
  }

  std::string description() const {
    const ConvProblem& p = problem;
    const auto show = [](const Spatial& s) { return fmt::format("{},{},{}", s[0], s[1], s[2]); };
    return fmt::format(
        "batch {} channels {}->{} groups {} in {} out {} kernel {} stride {} dilation {} pad {} "
        "types {}{} transposed {} epilogue {}",
        p.batch, p.input_channels, p.output_channels, p.groups, show(p.input), show(p.output),
        show(p.kernel), show(p.stride), show(p.dilation), show(p.pad), int(p.input_type),
        int(p.output_type), p.transposed, epilogue);
  }
};

template <class C> void check_everywhere(ConvCase test, double epsilon = 2e-6) {
  SCOPED_TRACE(test.description());
  if (test.problem.output_type == ElementType::bf16) epsilon = 1.0 / 128;
  for (Isa isa : available_levels()) {
    SCOPED_TRACE(isa_name(isa));
    const Buffer one = test.run<C>(isa, 1);
    test.check(one, epsilon);
    for (int threads = 2; threads <= 4; ++threads)
      ASSERT_EQ(one.bytes, test.run<C>(isa, threads).bytes) << threads << " threads differ";
  }
}

/// A 2-D problem with its output extents filled in.
inline ConvProblem conv2d(int64_t channels, int64_t filters, int64_t size, int64_t kernel,
                          int64_t stride = 1, int64_t pad = 0, int64_t groups = 1,
                          int64_t dilation = 1) {
  ConvProblem p;
  p.batch = 2;
  p.input_channels = channels, p.output_channels = filters, p.groups = groups;
  p.input = {1, size, size + 1}, p.kernel = {1, kernel, kernel}, p.stride = {1, stride, stride};
  p.dilation = {1, dilation, dilation}, p.pad = {0, pad, pad};
  for (int i = 1; i < 3; ++i)
    p.output[i] = (p.input[i] + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  return p;
}

/// The same over volumes of `depth` images, with a window of `slices` of them.
inline ConvProblem conv3d(const ConvProblem& images, int64_t depth, int64_t slices,
                          int64_t stride = 1, int64_t pad = 0, int64_t dilation = 1) {
  ConvProblem p = images;
  p.input[0] = depth, p.kernel[0] = slices, p.stride[0] = stride, p.pad[0] = pad;
  p.dilation[0] = dilation;
  p.output[0] = (depth + 2 * pad - dilation * (slices - 1) - 1) / stride + 1;
  return p;
}

}  // namespace tenon::cpu
