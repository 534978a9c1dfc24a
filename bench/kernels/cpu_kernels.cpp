// Speed of the CPU's matrix and convolution kernels on the layers of known networks, in GFLOP/s and
// as a part of this machine's multipliers' rate at the same moment.
//
// usage: bench_cpu_kernels [threads] [substring of the layers wanted] [tiles] [cold] [plain]
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <string>

#include "device/cpu/aligned_buffer.h"
#include "kernels/conv/depthwise.h"
#include "kernels/conv/direct.h"
#include "kernels/conv/mixed_winograd.h"
#include "kernels/conv/stem.h"
#include "kernels/conv/winograd.h"
#include "kernels/gemm/gemm.h"

namespace tenon::cpu {
namespace {

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// Shortest of many runs, within a budget of time.
double shortest(const std::function<void()>& run) {
  run();
  double best = 1e9;
  const double start = now();
  for (int i = 0; i < 200 && now() - start < 0.15; ++i) {
    const double before = now();
    run();
    best = std::min(best, now() - before);
  }
  return best;
}

AlignedBuffer random_buffer(int64_t count, ElementType type) {
  AlignedBuffer buffer(static_cast<size_t>(count * element_size(type)) + 256);
  uint32_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    const float x = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    if (type == ElementType::f32)
      buffer.as<float>()[i] = x;
    else
      buffer.as<uint16_t>()[i] = float_to_bf16(x);
  }
  return buffer;
}

constexpr size_t kColdBytes = size_t{160} << 20;

struct Bench {
  int threads;
  bool tiles;  ///< Matrix products of floats by tiles of bf16.
  bool cold;
  bool plain;
  std::string filter;
  ThreadPool pool{threads};
  double peak[2] = {0, 0};  // f32, bf16
  double total = 0, total_at_peak = 0;

  /// The rate of a product that fits the caches: the multipliers' peak but for a percent or two.
  double measure_peak(ElementType type) {
    GemmProblem p{.m = 14 * 16 * threads, .n = 64, .k = 256, .compute = type, .threads = threads};
    p.a = {type, 272, 1}, p.b = {type, 64, 1}, p.c = {ElementType::f32, 64, 1};
    const auto a = random_buffer(p.m * 272, type), b = random_buffer(p.k * p.n, type);
    const auto c = random_buffer(p.m * p.n, ElementType::f32);
    p.constant_b = true;
    auto gemm = Gemm::prepare(p, b.data());
    AlignedBuffer scratch(gemm->scratch_bytes());
    const double t = shortest([&] {
      gemm->run({a.data(), nullptr, c.data(), {}}, pool, scratch.data());
    });
    return 2.0 * p.m * p.n * p.k / t / 1e9;
  }

  void report(const std::string& name, double flops, double seconds, ElementType type, int count) {
    const double rate = flops / seconds / 1e9, best = peak[static_cast<int>(type)];
    total += seconds * count;
    total_at_peak += flops / best / 1e9 * count;
    fmt::print("{:42} {:9.1f} us {:7.1f} GF/s {:5.1f}%  x{}\n", name, seconds * 1e6, rate,
               100 * rate / best, count);
  }

  void section(const char* name) {
    if (total > 0)
      fmt::print("  sum {:.3f} ms, {:.1f}% of peak\n", total * 1e3, 100 * total_at_peak / total);
    total = total_at_peak = 0;
    fmt::print("{}\n", name);
  }

  template <class C> void conv(const char* kind, ConvProblem p, int count, int epilogue) {
    p.output_pixel_stride = p.output_channels, p.input_pixel_stride = p.input_channels;
    p.threads = threads;
    p.tiles = tiles && DirectConvolution::fits_tiles(p);
    p.steps = {{PointwiseFunction::k_add, OperandKind::per_column}};
    if (epilogue >= 2)
      p.steps.push_back({PointwiseFunction::k_add, OperandKind::full, p.output_type});
    if (epilogue >= 1) p.steps.push_back({PointwiseFunction::k_relu});
    const std::string name =
        fmt::format("{} {}x{} {}->{} k{} s{} {}", kind, p.input[1], p.input[2], p.input_channels,
                    p.output_channels, p.kernel[2], p.stride[2],
                    p.compute == ElementType::bf16 ? "bf16" : "f32");
    if (name.find(filter) == std::string::npos) return;
    const int64_t in = p.batch * volume(p.input) * p.input_channels;
    const int64_t out = p.batch * volume(p.output) * p.output_channels;
    const int64_t k = p.input_channels / p.groups * volume(p.kernel);
    const auto x = random_buffer(in, p.input_type),
               w = random_buffer(k * p.output_channels, p.weight_type);
    const auto bias = random_buffer(p.output_channels, ElementType::f32);
    const auto residual = random_buffer(out, p.output_type), y = random_buffer(out, p.output_type);
    // As in a model, where weights come from memory: enough copies to fill every cache.
    std::vector<C> copies;
    size_t bytes = 0, next = 0;
    do {
      auto conv = C::prepare(p, w.data());
      if (!conv.ok()) return;
      copies.push_back(std::move(conv).value());
      bytes += copies.back().packed().size();
    } while (cold && bytes < kColdBytes);
    AlignedBuffer scratch(copies[0].scratch_bytes() + 64);
    const EpilogueOperand operands[] = {
        {bias.data(), 0}, {residual.data(), p.output_channels}, {nullptr, 0}};
    const EpilogueOperand plain[] = {{bias.data(), 0}, {nullptr, 0}};
    const double t = shortest([&] {
      copies[next].run(
          {.input = x.data(), .output = y.data(), .operands = epilogue >= 2 ? operands : plain},
          pool, scratch.data());
      next = (next + 1) % copies.size();
    });
    report(name, 2.0 * p.batch * volume(p.output) * p.output_channels * k, t, p.compute, count);
  }

  void gemm(int64_t batch, int64_t m, int64_t n, int64_t k, bool constant, ElementType type,
            int count, bool gelu = false) {
    const std::string name =
        fmt::format("gemm {}x {}x{}x{} {}{}", batch, m, n, k, constant ? "packed" : "dynamic",
                    type == ElementType::bf16 ? " bf16" : " f32");
    if (name.find(filter) == std::string::npos) return;
    GemmProblem p{
        .m = m, .n = n, .k = k, .batch = {1, 1, 1, batch}, .compute = type, .threads = threads};
    p.a = {type, k, 1, {0, 0, 0, m * k}}, p.b = {type, n, 1, {0, 0, 0, k * n}};
    p.c = {type, n, 1, {0, 0, 0, m * n}};
    if (constant) {
      p.steps = {{PointwiseFunction::k_add, OperandKind::per_column}};
      if (gelu) p.steps.push_back({PointwiseFunction::k_gelu_erf});
    }
    const auto a = random_buffer(batch * m * k, type), b = random_buffer(batch * n * k, type);
    const auto c = random_buffer(batch * m * n, type), bias = random_buffer(n, ElementType::f32);
    p.constant_b = constant;
    p.tiles = tiles && constant && Gemm::fits_tiles(p);
    p.strassen = !plain && !p.tiles;
    // As in a model, where weights come from memory: enough copies to fill every cache.
    std::vector<Gemm> copies;
    size_t bytes = 0, next = 0;
    do {
      copies.push_back(std::move(Gemm::prepare(p, constant ? b.data() : nullptr)).value());
      bytes += copies.back().packed().size();
    } while (cold && constant && bytes < kColdBytes);
    AlignedBuffer scratch(copies[0].scratch_bytes() + 64);
    const EpilogueOperand operands[] = {{bias.data(), 0}, {nullptr, 0}};
    const double t = shortest([&] {
      const Gemm& now = copies[next];
      next = (next + 1) % copies.size();
      const auto ahead = copies[next].packed();
      now.run({a.data(),
               b.data(),
               c.data(),
               {operands, p.steps.size()},
               ahead.first(cold ? std::min(ahead.size(), now.fetch_capacity()) : 0)},
              pool, scratch.data());
    });
    report(name, 2.0 * batch * m * n * k, t, type, count);
  }
};

ConvProblem square(int64_t size, int64_t channels, int64_t filters, int64_t kernel, int64_t stride,
                   int64_t groups, ElementType type) {
  ConvProblem p{.input_channels = channels, .output_channels = filters, .groups = groups};
  p.input = {1, size, size}, p.kernel = {1, kernel, kernel}, p.stride = {1, stride, stride};
  p.pad = {0, kernel / 2, kernel / 2};
  for (int i = 1; i < 3; ++i) p.output[i] = (size + 2 * p.pad[i] - kernel) / stride + 1;
  p.input_type = p.output_type = p.weight_type = p.compute = type;
  return p;
}

struct Layer {
  int64_t size, channels, filters, kernel, stride;
  int count, epilogue;
};

// Size of the input, channels, filters, kernel, stride, how often, epilogue (1 with relu, 2 with
// residual too).
constexpr Layer kResNet50[] = {
    {224, 3, 64, 7, 2, 1, 1},     {56, 64, 64, 1, 1, 1, 1},    {56, 64, 64, 3, 1, 3, 1},
    {56, 64, 256, 1, 1, 3, 2},    {56, 64, 256, 1, 1, 1, 0},   {56, 256, 64, 1, 1, 2, 1},
    {56, 256, 128, 1, 1, 1, 1},   {56, 128, 128, 3, 2, 1, 1},  {28, 128, 512, 1, 1, 4, 2},
    {56, 256, 512, 1, 2, 1, 0},   {28, 512, 128, 1, 1, 3, 1},  {28, 128, 128, 3, 1, 3, 1},
    {28, 512, 256, 1, 1, 1, 1},   {28, 256, 256, 3, 2, 1, 1},  {14, 256, 1024, 1, 1, 6, 2},
    {28, 512, 1024, 1, 2, 1, 0},  {14, 1024, 256, 1, 1, 5, 1}, {14, 256, 256, 3, 1, 5, 1},
    {14, 1024, 512, 1, 1, 1, 1},  {14, 512, 512, 3, 2, 1, 1},  {7, 512, 2048, 1, 1, 3, 2},
    {14, 1024, 2048, 1, 2, 1, 0}, {7, 2048, 512, 1, 1, 2, 1},  {7, 512, 512, 3, 1, 2, 1}};

constexpr Layer kMobileNet[] = {
    {224, 3, 16, 3, 2, 1, 0},    {112, 16, 16, 3, 1, -1, 1},  {112, 16, 16, 1, 1, 1, 2},
    {112, 16, 64, 1, 1, 1, 1},   {112, 64, 64, 3, 2, -1, 1},  {56, 64, 24, 1, 1, 1, 0},
    {56, 24, 72, 1, 1, 2, 1},    {56, 72, 72, 3, 1, -1, 1},   {56, 72, 24, 1, 1, 1, 2},
    {56, 72, 72, 5, 2, -1, 1},   {28, 72, 40, 1, 1, 1, 0},    {28, 40, 120, 1, 1, 2, 1},
    {28, 120, 120, 5, 1, -2, 1}, {28, 120, 40, 1, 1, 2, 2},   {28, 40, 240, 1, 1, 1, 1},
    {28, 240, 240, 3, 2, -1, 1}, {14, 240, 80, 1, 1, 1, 0},   {14, 80, 200, 1, 1, 1, 1},
    {14, 200, 200, 3, 1, -1, 1}, {14, 200, 80, 1, 1, 1, 2},   {14, 80, 480, 1, 1, 1, 1},
    {14, 480, 480, 3, 1, -1, 1}, {14, 480, 112, 1, 1, 1, 0},  {14, 112, 672, 1, 1, 2, 1},
    {14, 672, 672, 3, 1, -1, 1}, {14, 672, 672, 5, 2, -1, 1}, {7, 672, 160, 1, 1, 1, 0},
    {7, 160, 960, 1, 1, 3, 1},   {7, 960, 960, 5, 1, -2, 1},  {7, 960, 160, 1, 1, 2, 2}};

void all(Bench bench) {
  bench.peak[0] = bench.measure_peak(ElementType::f32);
  bench.peak[1] = bench.measure_peak(ElementType::bf16);
  fmt::print("{} threads, {}: f32 {:.0f} GF/s, bf16 {:.0f} GF/s\n", bench.threads,
             isa_name(detected_isa()), bench.peak[0], bench.peak[1]);
  bench.section("stems that read NCHW");
  for (const Layer& l : {kResNet50[0], kMobileNet[0]}) {
    auto p = square(l.size, l.channels, l.filters, l.kernel, l.stride, 1, ElementType::f32);
    p.channels_first_input = true;
    bench.conv<DirectConvolution>("direct", p, l.count, l.epilogue);
    bench.conv<StemConvolution>("stem", p, l.count, l.epilogue);
  }
  for (ElementType type : {ElementType::f32, ElementType::bf16}) {
    bench.section("ResNet-50");
    for (const Layer& l : kResNet50)
      bench.conv<DirectConvolution>(
          "direct", square(l.size, l.channels, l.filters, l.kernel, l.stride, 1, type), l.count,
          l.epilogue);
  }
  bench.section("Winograd");
  for (const Layer& l : kResNet50) {
    if (l.kernel != 3) continue;
    const auto p = square(l.size, l.channels, l.filters, 3, l.stride, 1, ElementType::f32);
    bench.conv<WinogradConvolution<2>>("winograd2", p, l.count, l.epilogue);
    bench.conv<WinogradConvolution<4>>("winograd4", p, l.count, l.epilogue);
    bench.conv<MixedWinograd>("mixed_winograd", p, l.count, l.epilogue);
  }
  bench.section("MobileNet-V3");
  for (const Layer& l : kMobileNet) {
    const int64_t groups = l.count < 0 ? l.channels : 1;
    const auto p =
        square(l.size, l.channels, l.filters, l.kernel, l.stride, groups, ElementType::f32);
    if (l.count < 0)
      bench.conv<DepthwiseConvolution>("depthwise", p, -l.count, l.epilogue);
    else
      bench.conv<DirectConvolution>("direct", p, l.count, l.epilogue);
  }
  for (ElementType type : {ElementType::f32, ElementType::bf16}) {
    bench.section("BERT base, 128 tokens");
    bench.gemm(1, 128, 768, 768, true, type, 48);
    bench.gemm(1, 128, 2304, 768, true, type, 12);
    bench.gemm(1, 128, 3072, 768, true, type, 12, true);
    bench.gemm(1, 128, 768, 3072, true, type, 12);
    bench.gemm(12, 128, 128, 64, false, type, 12);
    bench.gemm(12, 128, 64, 128, false, type, 12);
    bench.section("ViT-B/16");
    bench.gemm(1, 197, 768, 768, true, type, 48);
    bench.gemm(1, 197, 3072, 768, true, type, 12, true);
    bench.gemm(1, 197, 768, 3072, true, type, 12);
    bench.gemm(12, 197, 197, 64, false, type, 12);
    bench.gemm(12, 197, 64, 197, false, type, 12);
  }
  bench.section("one row");
  bench.gemm(1, 1, 1000, 2048, true, ElementType::f32, 1);
  bench.gemm(1, 1, 3072, 768, true, ElementType::f32, 1);
  bench.section("");
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) {
  const auto last_is = [&](const char* word) {
    const bool is = argc > 1 && std::strcmp(argv[argc - 1], word) == 0;
    argc -= is;
    return is;
  };
  const bool plain = last_is("plain"), cold = last_is("cold"), tiles = last_is("tiles");
  tenon::cpu::all({.threads = argc > 1 ? std::atoi(argv[1]) : 2,
                   .tiles = tiles,
                   .cold = cold,
                   .plain = plain,
                   .filter = argc > 2 ? argv[2] : ""});
}
