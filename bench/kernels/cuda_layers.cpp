// Times every tactic and configuration over the convolutions of a model in half precision, and
// says where results differ from those of the first: usage: bench_cuda_layers MODEL BATCH [FULL]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/parallel.h"
#include "device/cuda/cuda_device.h"
#include "kernels/jit/kernel_case.h"
#include "kernels/tactic.h"

namespace tenon::test {
namespace {

constexpr DataType kHalf = DataType::kFloat16;
constexpr Layout kNhwc = Layout::kChannelsLast;

enum class Epilogue { none, relu, add_relu, add, hard_swish, swish, swish_add };

struct Layer {
  const char* model;
  int count;
  int64_t channels, filters, side, kernel, stride, groups;
  Epilogue epilogue;
};

constexpr Layer kLayers[] = {
#define LAYER(model, count, channels, filters, side, kernel, stride, groups, epilogue) \
  {model, count, channels, filters, side, kernel, stride, groups, Epilogue::epilogue},
#include "cuda_layers.def"
#undef LAYER
};

/// Random signs and mantissas, values between `scale` / 2 and `scale`, a power of 2.
Tensor filled(Extents extents, int exponent, uint32_t state) {
  Tensor tensor(kHalf, std::move(extents));
  auto* words = reinterpret_cast<uint16_t*>(tensor.mutable_bytes());
  for (int64_t i = 0; i < tensor.byte_count() / 2; ++i) {
    state = state * 1664525u + 1013904223u;
    words[i] = static_cast<uint16_t>((state >> 16 & 0x83ff) | (14 + exponent) << 10);
  }
  return tensor;
}

void add_layer(Cases& cases, const Layer& l, int64_t batch) {
  Conv op;
  op.groups = l.groups;
  op.strides = {l.stride, l.stride};
  op.pads_begin = op.pads_end = {l.kernel / 2, l.kernel / 2};
  const int64_t side = (l.side - 1) / l.stride + 1;
  // Networks are given images channels-first.
  const Layout layout = l.channels <= 4 ? Layout::kRowMajor : kNhwc;
  const auto text =
      fmt::format("{}x {}->{} {}x{} {}x{}/{}{}", l.count, l.channels, l.filters, l.side, l.side,
                  l.kernel, l.kernel, l.stride, l.groups > 1 ? " depthwise" : "");
  auto& c = add(
      cases, text, op,
      std::vector{input(filled({batch, l.channels, l.side, l.side}, 0, 1), layout),
                  constant(filled({l.filters, l.channels / l.groups, l.kernel, l.kernel}, -3, 2)),
                  constant(filled({l.filters}, 0, 3))});
  c.output_layout(kNhwc);
  using F = PointwiseFunction;
  if (l.epilogue == Epilogue::hard_swish) c.then(F::k_hard_swish);
  if (l.epilogue == Epilogue::swish) c.then(F::k_swish, 1);
  if (l.epilogue == Epilogue::add || l.epilogue == Epilogue::add_relu)
    c.then(F::k_add, input(filled({batch, l.filters, side, side}, 0, 4), kNhwc));
  if (l.epilogue == Epilogue::relu || l.epilogue == Epilogue::add_relu) c.then(F::k_relu);
}

/// One tactic with one configuration.
struct Variant {
  const Tactic* tactic;
  std::string config, note;
  std::unique_ptr<Kernel> kernel;
  size_t number = 0;  ///< Among those of its tactic.
  double us = -1;
  std::string text() const { return fmt::format("{}#{}{{{}}}", tactic->name, number, config); }
};

float from_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                     : exponent == 31
                         ? INFINITY
                         : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  return bits & 0x8000 ? -size : size;
}

class LayerBench {
 public:
  LayerBench(cuda::CudaDevice& device, KernelCase& one, void* stream)
      : device_(device), case_(one), queue_{.stream = stream}, problem_(one.describe(&device)) {}

  void make() {
    for (const Tactic& tactic : cuda_tactics()) {
      if (tactic.name == "cuda.reference" || !tactic.supports(problem_)) continue;
      if (tactic.name == "cuda.conv.direct" && !variants_.empty()) continue;
      size_t number = 0;
      for (const std::string& config : tactic.configs(problem_))
        variants_.push_back({&tactic, config, {}, nullptr, number++});
    }
  }
  size_t count() const { return variants_.size(); }
  void create(size_t i) {
    auto kernel = variants_[i].tactic->create(problem_, variants_[i].config);
    if (kernel.ok())
      variants_[i].kernel = std::move(*kernel);
    else
      variants_[i].note = kernel.error().message.substr(0, 300);
  }

  Status measure(bool full) {
    TENON_TRY(prepare());
    // The reference of the others.
    std::stable_partition(variants_.begin(), variants_.end(), [](const Variant& v) {
      return v.tactic->name.find("cudnn") != std::string_view::npos;
    });
    for (Variant& variant : variants_)
      if (variant.kernel != nullptr) {
        const Status status = measure(variant);
        if (!status.ok()) variant.note = status.error().message;
      }
    print(full);
    variants_.clear();
    return {};
  }
  double best(bool own) const { return own ? best_own_ : best_; }

 private:
  Status prepare() {
    for (const CaseInput& operand : case_.inputs()) {
      inputs_.push_back(nullptr);
      if (!operand.tensor.defined()) continue;
      const size_t bytes = static_cast<size_t>(operand.tensor.byte_count());
      TENON_ASSIGN(buffers_.emplace_back(), device_.allocate(bytes));
      TENON_TRY(device_.upload(buffers_.back().get(), operand.tensor.bytes(), bytes, queue_));
      inputs_.back() = buffers_.back().get();
    }
    bytes_ = static_cast<size_t>(problem_.output().count() * 2);
    TENON_ASSIGN(buffers_.emplace_back(), device_.allocate(bytes_));
    output_ = buffers_.back().get();
    return device_.synchronize(queue_);
  }

  /// Parts of the output: begin, middle, end.
  Result<std::vector<uint16_t>> sample() {
    const size_t part = std::min<size_t>(bytes_, 256 << 10);
    std::vector<uint16_t> result(3 * part / 2);
    const size_t starts[] = {0, (bytes_ - part) / 512 * 256, bytes_ - part};
    for (size_t i = 0; i < 3; ++i)
      TENON_TRY(device_.download(reinterpret_cast<char*>(result.data()) + i * part,
                                 static_cast<char*>(output_) + starts[i], part, queue_));
    TENON_TRY(device_.synchronize(queue_));
    return result;
  }

  Status measure(Variant& variant) {
    TENON_ASSIGN(DeviceBuffer workspace, device_.allocate(variant.kernel->workspace_bytes() + 256));
    void* outputs[] = {output_};
    const LaunchArguments arguments{inputs_, outputs, workspace.get(), queue_};
    const std::vector<std::byte> poison(bytes_, std::byte{0xfb});
    TENON_TRY(device_.upload(output_, poison.data(), bytes_, queue_));
    TENON_TRY(variant.kernel->run(arguments));
    TENON_TRY(device_.synchronize(queue_));
    TENON_ASSIGN(const auto got, sample());
    compare(variant, got);
    TENON_ASSIGN(const double ms,
                 device_.time(queue_, 20, [&] { return variant.kernel->run(arguments); }));
    variant.us = ms * 1e3;
    return {};
  }

  void compare(Variant& variant, const std::vector<uint16_t>& got) {
    if (expected_.empty()) {
      expected_ = got;
      return;
    }
    double worst = 0, squares = 0;
    size_t at = 0, wrong = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double e = from_half(expected_[i]), g = from_half(got[i]), error = std::abs(g - e);
      squares += e * e;
      if (!(error <= 0.01 * (1 + std::abs(e)))) ++wrong;
      if (!(error <= worst)) worst = error, at = i;
    }
    if (wrong > 0)
      variant.note = fmt::format("WRONG: {} of {}, worst {} at {}: {} instead of {} (rms {:.3f})",
                                 wrong, got.size(), worst, at, from_half(got[at]),
                                 from_half(expected_[at]), std::sqrt(squares / got.size()));
  }

  void print(bool full) {
    std::stable_sort(variants_.begin(), variants_.end(), [](const Variant& a, const Variant& b) {
      return (a.us < 0 ? 1e9 : a.us) < (b.us < 0 ? 1e9 : b.us);
    });
    const auto operand_bytes = [](const Operand& o) { return o.present ? o.count() * 2 : 0; };
    int64_t bytes = operand_bytes(problem_.output());
    for (const Operand& operand : problem_.inputs) bytes += operand_bytes(operand);
    const Operand& w = problem_.input(1);
    const double flops = 2.0 * static_cast<double>(problem_.output().count()) *
                         static_cast<double>(w.count() / w.extents[0]);
    std::printf("%-44s floor %.2f us\n", case_.name.c_str(),
                std::max(static_cast<double>(bytes) / 4.2e6, flops / 700e6));
    int shown = 0, own = 0;
    for (const Variant& v : variants_) {
      const bool is_own = v.tactic->name.find("cudnn") == std::string_view::npos;
      if (v.us > 0 && v.note.empty()) {
        best_ = std::min(best_, v.us);
        if (is_own) best_own_ = std::min(best_own_, v.us);
      }
      own += is_own;
      if (!full && v.note.empty() && ++shown > 4 && !(is_own && own == 1)) continue;
      std::printf("  %8.2f us %6.1f TFLOP/s %6.0f GB/s %s %s\n", v.us, flops / v.us / 1e6,
                  static_cast<double>(bytes) / v.us / 1e3, v.text().c_str(), v.note.c_str());
    }
    std::fflush(stdout);
  }

  cuda::CudaDevice& device_;
  KernelCase& case_;
  Queue queue_;
  const Problem& problem_;
  std::vector<Variant> variants_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<const void*> inputs_;
  void* output_ = nullptr;
  size_t bytes_ = 0;
  std::vector<uint16_t> expected_;
  double best_ = 1e9, best_own_ = 1e9;
};

int bench(cuda::CudaDevice& device, const char* model, int64_t batch, bool full) {
  auto stream = device.make_stream();
  if (!stream.ok()) return 1;
  Cases cases;
  std::vector<int> counts;
  for (const Layer& layer : kLayers) {
    if (std::strcmp(layer.model, model) != 0) continue;
    add_layer(cases, layer, batch);
    counts.push_back(layer.count);
  }
  std::vector<std::unique_ptr<LayerBench>> benches;
  for (const auto& one : cases)
    benches.push_back(std::make_unique<LayerBench>(device, *one, stream->get()));
  for_each_parallel(benches.size(), helper_threads(), [&](size_t i) {
    if (device.activate().ok()) benches[i]->make();
  });
  std::vector<std::pair<size_t, size_t>> all;
  for (size_t i = 0; i < benches.size(); ++i)
    for (size_t k = 0; k < benches[i]->count(); ++k) all.emplace_back(i, k);
  for_each_parallel(all.size(), helper_threads(), [&](size_t i) {
    if (device.activate().ok()) benches[all[i].first]->create(all[i].second);
  });
  double sum = 0, own = 0;
  for (size_t i = 0; i < benches.size(); ++i) {
    const Status status = benches[i]->measure(full);
    if (!status.ok()) std::printf("%s\n", status.error().message.c_str());
    sum += counts[i] * benches[i]->best(false);
    own += counts[i] * std::min(benches[i]->best(true), 1e6);
    benches[i].reset();
  }
  std::printf("%s batch %d: best of all %.1f us, of our own alone %.1f us\n", model,
              static_cast<int>(batch), sum, own);
  return 0;
}

}  // namespace
}  // namespace tenon::test

int main(int argc, char** argv) {
  auto device = tenon::cuda::CudaDevice::open();
  if (!device.ok() || argc < 3) {
    std::fprintf(stderr, "usage: bench_cuda_layers MODEL BATCH [full]; %s\n",
                 device.ok() ? "" : device.error().message.c_str());
    return 1;
  }
  return tenon::test::bench(**device, argv[1], std::atoi(argv[2]), argc > 3);
}
