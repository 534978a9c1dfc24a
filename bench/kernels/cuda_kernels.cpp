// Times every CUDA kernel over problems of the shared models and large ones, beside the time of its
// bytes alone. Of the group "weights" so many copies run behind each other that no cache holds
// their weights, as in a network that generates text.
//
// usage: bench_cuda_kernels [FILTER [GROUP [TACTIC [CONFIG;CONFIG...]]]]
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstring>

#include "device/cuda/cuda_device.h"
#include "kernels/jit/kernel_case.h"
#include "kernels/region.h"
#include "kernels/tactic.h"

namespace tenon::test {
namespace {

constexpr DataType kHalf = DataType::kFloat16, kFloat = DataType::kFloat32;
constexpr Layout kNhwc = Layout::kChannelsLast;

/// Contents do not matter, but are no zeros.
Tensor filled(DataType type, Extents extents) {
  Tensor tensor(type, std::move(extents));
  auto* words = reinterpret_cast<uint16_t*>(tensor.mutable_bytes());
  uint32_t state = 1;
  for (int64_t i = 0; i < tensor.byte_count() / 2; ++i) {
    state = state * 1664525u + 1013904223u;
    // As f16: between 0.5 and 2. As the upper half of an f32: between -1 and 1.
    words[i] = static_cast<uint16_t>(0x3800 + (state >> 22));
  }
  return tensor;
}
CaseInput half(Extents extents, Layout layout = Layout::kRowMajor) {
  return input(filled(kHalf, std::move(extents)), layout);
}

void add_rows(Cases& cases) {
  Softmax softmax;
  for (const Extents& extents :
       {Extents{12, 128, 128}, Extents{384, 128, 128}, Extents{2048, 16384}, Extents{32, 1000}})
    add(cases, "softmax", softmax, std::vector{half(extents)});
  softmax.axes = {2};
  for (const int64_t batch : {1, 8})
    add(cases, "softmax columns", softmax, std::vector{half({batch, 4, 16, 8400})});
  Normalization layer;
  for (const Extents& extents :
       {Extents{128, 768}, Extents{4096, 768}, Extents{65536, 768}, Extents{8192, 8192}})
    add(cases, "layer_norm", layer,
        std::vector{half(extents), half({extents[1]}), half({extents[1]})});
  Normalization group;
  group.norm = NormKind::kGroup;
  group.groups = 32;
  for (const Extents& extents : {Extents{1, 320, 64, 64}, Extents{4, 320, 64, 64},
                                 Extents{64, 320, 64, 64}, Extents{1, 1280, 8, 8}})
    add(cases, "group_norm+silu", group,
        std::vector{half(extents, kNhwc), half({extents[1]}), half({extents[1]})})
        .then(PointwiseFunction::k_swish, 1)
        .output_layout(kNhwc);
  Reduce mean;
  mean.function = ReduceFunction::kMean;
  mean.axes = {2, 3};
  for (const Extents& extents :
       {Extents{1, 2048, 7, 7}, Extents{32, 2048, 7, 7}, Extents{32, 672, 14, 14},
        Extents{256, 512, 28, 28}, Extents{1, 120, 28, 28}, Extents{1, 960, 7, 7},
        Extents{32, 120, 28, 28}, Extents{32, 960, 7, 7}})
    add(cases, "global_average", mean, std::vector{half(extents, kNhwc)}).output_layout(kNhwc);
  Reduce sum;
  sum.axes = {1};
  add(cases, "reduce rows", sum, std::vector{half({8192, 8192})});
  sum.axes = {0};
  add(cases, "reduce columns", sum, std::vector{half({8192, 8192})});
  add(cases, "reduce all", sum, std::vector{half({64 << 20})});
}

void add_movement(Cases& cases) {
  for (const DataType type : {kHalf, kFloat}) {
    Transpose op;
    op.permutation = {1, 0};
    add(cases, fmt::format("transpose {}", name_of(type)), op,
        std::vector{input(filled(type, {8192, 8192}))});
    op.permutation = {0, 2, 1, 3};
    add(cases, fmt::format("heads {}", name_of(type)), op,
        std::vector{input(filled(type, {32, 1024, 16, 64}))});
    add(cases, fmt::format("nchw to nhwc {}", name_of(type)), Reformat(),
        std::vector{input(filled(type, {32, 256, 64, 64}))})
        .output_layout(kNhwc);
    add(cases, fmt::format("nhwc to nchw {}", name_of(type)), Reformat(),
        std::vector{input(filled(type, {32, 256, 64, 64}), kNhwc)});
  }
  Concat concat;
  concat.axis = 1;
  add(cases, "concat", concat,
      std::vector{half({32, 128, 64, 64}, kNhwc), half({32, 128, 64, 64}, kNhwc)})
      .output_layout(kNhwc);
  Gather gather;
  add(cases, "embedding", gather,
      std::vector{half({50257, 768}),
                  input(random_integers(DataType::kInt64, {32, 1024}, 1, 0, 50256))});
  ScatterNd sum;
  sum.reduction = ScatterReduction::kAdd;
  for (const auto& [places, updates, width] :
       std::initializer_list<std::array<int64_t, 3>>{{200, 1600, 64}, {20000, 100000, 64}})
    add(cases, "scatter sums", sum,
        std::vector{half({places, width}),
                    input(random_integers(DataType::kInt64, {updates, 1}, 1, 0, places - 1)),
                    half({updates, width})});
}

void add_pooling(Cases& cases) {
  Pool op;
  op.kernel = {3, 3};
  op.strides = {2, 2};
  op.pads_begin = op.pads_end = {1, 1};
  for (const int64_t batch : {1, 32, 128})
    add(cases, "max_pool 3x3/2", op, std::vector{half({batch, 64, 112, 112}, kNhwc)})
        .output_layout(kNhwc);
  op.kernel = {5, 5};
  op.strides = {1, 1};
  op.pads_begin = op.pads_end = {2, 2};
  for (const int64_t batch : {1, 8})
    add(cases, "max_pool 5x5", op, std::vector{half({batch, 256, 20, 20}, kNhwc)})
        .output_layout(kNhwc);
}

void add_products(Cases& cases) {
  struct Depthwise {
    int64_t batch, channels, size, kernel, stride;
  };
  for (const auto& d :
       {Depthwise{1, 64, 112, 3, 2}, Depthwise{1, 120, 28, 5, 1}, Depthwise{1, 960, 7, 5, 1},
        Depthwise{32, 16, 112, 3, 1}, Depthwise{32, 64, 112, 3, 2}, Depthwise{32, 72, 56, 3, 1},
        Depthwise{32, 72, 56, 5, 2}, Depthwise{32, 240, 28, 3, 2}, Depthwise{32, 672, 14, 5, 1},
        Depthwise{32, 960, 7, 5, 1}}) {
    Conv op;
    op.groups = d.channels;
    op.strides = {d.stride, d.stride};
    op.pads_begin = op.pads_end = {d.kernel / 2, d.kernel / 2};
    add(cases, fmt::format("depthwise {0}x{0}/{1}", d.kernel, d.stride), op,
        std::vector{half({d.batch, d.channels, d.size, d.size}, kNhwc),
                    constant(filled(kHalf, {d.channels, 1, d.kernel, d.kernel})),
                    constant(filled(kHalf, {d.channels}))})
        .output_layout(kNhwc)
        .then(PointwiseFunction::k_hard_swish);
  }
  for (const bool transposed : {false, true})
    for (const int64_t m : {1, 4})
      for (const auto& [k, n] :
           {std::pair<int64_t, int64_t>{768, 3072}, {3072, 768}, {4096, 14336}, {14336, 4096}}) {
        MatMul op;
        op.transpose_b = transposed;
        add(cases, fmt::format("matmul {}x{}{}", n, m, transposed ? " nk" : " kn"), op,
            std::vector{half({m, k}),
                        constant(filled(kHalf, transposed ? Extents{n, k} : Extents{k, n}))})
            .then(PointwiseFunction::k_add, half({n}));
      }
}

/// Products of few rows with weights of 4 and 8 bits, of scales for blocks of 128.
void add_weights(Cases& cases) {
  for (const DataType type : {DataType::kInt4, DataType::kInt8})
    for (const int64_t rows : {1, 8})
      for (const auto& [k, n] :
           {std::pair<int64_t, int64_t>{4096, 4096}, {4096, 14336}, {14336, 4096}}) {
        Dequantize dequantize;
        dequantize.axis = 0;
        dequantize.block_size = 128;
        dequantize.to = kHalf;
        const int64_t least = type == DataType::kInt4 ? -8 : -128;
        add(cases, fmt::format("weights {} {}x{}x{}", name_of(type), rows, k, n), dequantize,
            std::vector{constant(random_integers(type, {k, n}, 1, least, -least - 1)),
                        constant(filled(kHalf, {k / 128, n}))})
            .into_second(MatMul(), half({rows, k}));
      }
}

/// Products of transformer layers: their epilogues, and the order of the weights of exported
/// graphs.
void add_layers(Cases& cases) {
  struct Layer {
    const char* model;
    int64_t rows, k, n;
    int end;  ///< 0: bias, 1: bias and erf-GELU, 2: bias and tanh-GELU, 3: bias and residual,
              ///< 4: nothing, 5: a cast to f32.
  };
  std::vector<Layer> layers;
  struct Model {
    const char* name;
    int64_t rows;
    int gelu;
  };
  for (const Model& m :
       {Model{"bert b1", 128, 1}, Model{"bert b32", 4096, 1}, Model{"vit b1", 197, 1},
        Model{"vit b32", 6304, 1}, Model{"gpt2 b1", 256, 2}, Model{"gpt2 b8", 2048, 2}}) {
    layers.push_back({m.name, m.rows, 768, 768, 3});
    layers.push_back({m.name, m.rows, 768, 2304, 0});
    layers.push_back({m.name, m.rows, 768, 3072, m.gelu});
    layers.push_back({m.name, m.rows, 3072, 768, 3});
  }
  layers.push_back({"plain b8", 2048, 768, 3072, 4});
  layers.push_back({"biased b8", 2048, 768, 3072, 0});
  layers.push_back({"vit b8", 1576, 768, 3072, 1});
  layers.push_back({"vit b8", 1576, 3072, 768, 3});
  layers.push_back({"gpt2 head", 256, 768, 50257, 0});
  layers.push_back({"gpt2 b8 head", 2048, 768, 50257, 4});
  layers.push_back({"gpt2 b8 head f32", 2048, 768, 50257, 5});
  layers.push_back({"aligned b8 head", 2048, 768, 50304, 4});
  layers.push_back({"large", 8192, 4096, 4096, 0});
  for (const Layer& l : layers) {
    auto& c = add(cases, fmt::format("gemm {} {}x{}x{}", l.model, l.rows, l.n, l.k), MatMul(),
                  std::vector{half({l.rows, l.k}), constant(filled(kHalf, {l.k, l.n}))});
    if (l.end < 4) c.then(PointwiseFunction::k_add, constant(filled(kHalf, {l.n})));
    if (l.end == 5) c.then_cast(kFloat);
    if (l.end == 1) c.then(PointwiseFunction::k_gelu_erf);
    if (l.end == 2) c.then(PointwiseFunction::k_gelu_tanh);
    if (l.end == 3) c.then(PointwiseFunction::k_add, half({l.rows, l.n}));
  }
}

void add_sequences(Cases& cases) {
  struct Sizes {
    int64_t batch, heads, length, size;
    bool causal;
  };
  for (const auto& s :
       {Sizes{1, 12, 128, 64, false}, Sizes{32, 12, 128, 64, false}, Sizes{1, 12, 197, 64, false},
        Sizes{32, 12, 197, 64, false}, Sizes{1, 12, 256, 64, true}, Sizes{8, 12, 256, 64, true},
        Sizes{1, 8, 4096, 40, false}, Sizes{4, 8, 4096, 40, false}, Sizes{4, 8, 1024, 80, false},
        Sizes{4, 8, 4096, 64, false}, Sizes{2, 16, 4096, 128, false},
        Sizes{2, 16, 4096, 128, true}}) {
    Attention op;
    op.causal = s.causal ? CausalMask::kUpperLeft : CausalMask::kNone;
    const Extents extents = {s.batch, s.heads, s.length, s.size};
    const std::string shape = fmt::format("{}", fmt::join(extents, "x"));
    add(cases, fmt::format("attention {}{}", shape, s.causal ? " causal" : ""), op,
        std::vector{half(extents), half(extents), half(extents)});
    if (s.length < 300)
      add(cases, fmt::format("attention {} masked", shape), op,
          std::vector{half(extents), half(extents), half(extents),
                      half({s.batch, 1, 1, s.length})});
  }
}

void add_recurrences(Cases& cases) {
  struct Layer {
    RnnKind kind;
    int64_t directions, hidden, steps;
  };
  for (const auto& l : {Layer{RnnKind::kLstm, 2, 64, 64}, Layer{RnnKind::kLstm, 2, 128, 64},
                        Layer{RnnKind::kLstm, 2, 256, 64}, Layer{RnnKind::kLstm, 2, 256, 512},
                        Layer{RnnKind::kLstm, 1, 512, 64}, Layer{RnnKind::kLstm, 1, 768, 64},
                        Layer{RnnKind::kLstm, 1, 1024, 64}, Layer{RnnKind::kGru, 2, 256, 64},
                        Layer{RnnKind::kGru, 1, 512, 64}})
    for (const int64_t batch : {1, 8, 32, 64, 256}) {
      Rnn op;
      op.cell = l.kind;
      op.hidden = l.hidden;
      op.linear_before_reset = true;
      op.direction = l.directions == 2 ? RnnDirection::kBidirectional : RnnDirection::kForward;
      const int64_t rows = (l.kind == RnnKind::kLstm ? 4 : 3) * l.hidden, inputs = 2 * l.hidden;
      add(cases,
          fmt::format("{} {}x{}x{} b{}", l.kind == RnnKind::kLstm ? "lstm" : "gru", l.steps,
                      l.directions, l.hidden, batch),
          op,
          std::vector{half({l.steps, batch, inputs}),
                      constant(filled(kHalf, {l.directions, rows, inputs})),
                      constant(filled(kHalf, {l.directions, rows, l.hidden})),
                      constant(filled(kHalf, {l.directions, 2 * rows}))});
    }
}

int64_t bytes_of(const Problem& problem) {
  int64_t bytes = 0;
  for (const auto* operands : {&problem.inputs, &problem.outputs})
    for (const Operand& operand : *operands)
      if (operand.present) bytes += operand.count() * byte_size(operand.type);
  return bytes;
}

/// Without constants, which kernels keep in a form of their own.
int64_t own_bytes_of(const Problem& problem) {
  int64_t bytes = 0;
  for (const auto* operands : {&problem.inputs, &problem.outputs})
    for (const Operand& operand : *operands)
      if (operand.present && operand.constant == nullptr)
        bytes += operand.count() * byte_size(operand.type);
  return bytes;
}

/// Operations of products and attention; 0 for others.
double flops_of(const Problem& problem) {
  const auto region = anchored_region(problem);
  if (!region.ok()) return 0;
  const double results = static_cast<double>(problem.output().count());
  if (region->anchor.as<MatMul>() != nullptr)
    return 2 * results * static_cast<double>(problem.input(0).extents.back());
  if (region->anchor.as<Attention>() != nullptr)
    return 4 * results * static_cast<double>(problem.input(1).extents[2]);
  return 0;
}

std::string shape_of(const Problem& problem) {
  return fmt::format("{}", fmt::join(problem.input(0).extents, "x"));
}

/// Those of `only`, between semicolons, or all that the tactic offers.
std::vector<std::string> configs_of(const Tactic& tactic, const Problem& problem,
                                    std::string_view only) {
  if (only.empty()) return tactic.configs(problem);
  std::vector<std::string> configs;
  for (size_t at = 0; at < only.size();) {
    const size_t end = std::min(only.find(';', at), only.size());
    configs.emplace_back(only.substr(at, end - at));
    at = end + 1;
  }
  return configs;
}

/// Kernels of the same problem that run behind each other, each with constants of its own.
Result<std::vector<std::unique_ptr<Kernel>>> make_kernels(const Tactic& tactic,
                                                          const Problem& problem,
                                                          const std::string& config, bool cold) {
  constexpr size_t kBeyondCaches = 200 << 20;
  std::vector<std::unique_ptr<Kernel>> kernels;
  do {
    TENON_ASSIGN(kernels.emplace_back(), tactic.create(problem, config));
  } while (cold && kernels.size() * kernels[0]->owned_bytes() < kBeyondCaches);
  for (auto& kernel : kernels)
    if (kernel->waits_for_previous() && kernels.size() > 1) TENON_TRY(kernel->let_next_start());
  return kernels;
}

std::vector<CaseInput> only_scale(double scale) {
  Tensor one(kFloat, {});
  one.set_from_double(0, scale);
  return {constant(std::move(one))};
}
std::vector<CaseInput> scaled(CaseInput first, double scale) {
  std::vector<CaseInput> inputs = only_scale(scale);
  inputs.insert(inputs.begin(), std::move(first));
  return inputs;
}
CaseInput byte_weights(Extents extents) {
  return constant(random_integers(DataType::kInt8, std::move(extents), 2, -128, 127));
}

/// A convolution of 8-bit integers with relu, to such ones; relu may be of a sum with others.
KernelCase& add_byte_conv(Cases& cases, const std::string& name, const Extents& image,
                          Extents weights, int64_t stride, bool adds = false) {
  const bool is_first = image[1] <= 4;  // Reals, rounded by the same kernel.
  auto& c = is_first ? add(cases, name, Quantize(), scaled(input(filled(kFloat, image)), 0x1p-6))
                     : add(cases, name, Dequantize(),
                           scaled(input(filled(DataType::kInt8, image), kNhwc), 0x1p-6));
  if (is_first) c.into_op(Dequantize(), only_scale(0x1p-6));
  Conv op;
  op.strides = {stride, stride};
  op.pads_begin = op.pads_end = {weights[2] / 2, weights[3] / 2};
  Dequantize by_column;
  by_column.axis = 0;
  std::vector<CaseInput> inputs = {byte_weights(weights)};
  inputs.push_back(constant(random_reals(kFloat, {weights[0]}, 3, 0.002, 0.02)));
  c.into_op(op, c.aside(by_column, std::move(inputs)),
            {constant(random_reals(kFloat, {weights[0]}, 4))});
  if (adds) {
    const Extents sums = {image[0], weights[0], image[2], image[3]};
    Value* others = c.aside(Dequantize(), scaled(input(filled(DataType::kInt8, sums), kNhwc), 0.1));
    c.into_op(Pointwise(PointwiseFunction::k_add), others, {});
  }
  return c.then(PointwiseFunction::k_relu);
}

void add_bytes(Cases& cases) {
  for (const int64_t batch : {4, 32, 128}) {
    const std::vector<CaseInput> inputs = only_scale(0.1);
    auto& first = add_byte_conv(cases, fmt::format("bytes first of {}", batch),
                                {batch, 3, 224, 224}, {64, 3, 7, 7}, 2);
    first.into_op(Quantize(), inputs);
    Pool pool;
    pool.kernel = {3, 3};
    pool.strides = {2, 2};
    pool.pads_begin = pool.pads_end = {1, 1};
    first.into_op(pool, std::vector<CaseInput>{}).output_layout(kNhwc);
    for (const int64_t channels : {64, 128}) {
      const int64_t side = channels == 64 ? 56 : 28;
      add_byte_conv(cases, fmt::format("bytes {} of {}", channels, batch),
                    {batch, channels, side, side}, {channels, channels, 3, 3}, 1)
          .into_op(Quantize(), inputs)
          .output_layout(kNhwc);
    }
    for (const int64_t channels : {64, 128, 256})
      for (const bool adds : {true, false}) {
        const int64_t side = 56 * 64 / channels;
        add_byte_conv(cases, fmt::format("bytes {} {} of {}", adds ? "sum" : "to", channels, batch),
                      {batch, channels, side, side}, {channels * 4, channels, 1, 1}, 1, adds)
            .into_op(Quantize(), inputs)
            .output_layout(kNhwc);
      }
  }
}

Status measure(cuda::CudaDevice& device, KernelCase& one, void* stream, const char* wanted,
               std::string_view only) {
  const Problem& problem = one.describe(&device);
  const Queue queue{.stream = stream};
  std::vector<DeviceBuffer> buffers;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (const CaseInput& operand : one.inputs()) {
    inputs.push_back(nullptr);
    if (!operand.tensor.defined()) continue;
    const size_t bytes = static_cast<size_t>(operand.tensor.byte_count());
    TENON_ASSIGN(buffers.emplace_back(), device.allocate(bytes));
    TENON_TRY(device.upload(buffers.back().get(), operand.tensor.bytes(), bytes, queue));
    inputs.back() = buffers.back().get();
  }
  for (const Operand& output : problem.outputs) {
    TENON_ASSIGN(buffers.emplace_back(),
                 device.allocate(static_cast<size_t>(output.count() * byte_size(output.type))));
    outputs.push_back(buffers.back().get());
  }
  TENON_TRY(device.synchronize(queue));
  for (const Tactic& tactic : cuda_tactics()) {
    if (tactic.name == "cuda.reference" || tactic.name == "cuda.gemm.tile") continue;
    if (tactic.name.find(wanted) == std::string_view::npos || !tactic.supports(problem)) continue;
    for (const std::string& config : configs_of(tactic, problem, only)) {
      const bool cold = one.name.starts_with("weights");
      const auto kernels = make_kernels(tactic, problem, config, cold);
      if (!kernels.ok()) {
        std::printf("%-22s %s: %s\n", one.name.c_str(), std::string(tactic.name).c_str(),
                    kernels.error().message.c_str());
        continue;
      }
      const Kernel& first = *kernels->front();
      TENON_ASSIGN(DeviceBuffer workspace, device.allocate(first.workspace_bytes() + 256));
      const auto run_all = [&]() -> Status {
        for (const auto& kernel : *kernels)
          TENON_TRY(kernel->run({inputs, outputs, workspace.get(), queue}));
        return {};
      };
      TENON_ASSIGN(const double all_ms, device.time(queue, 20, run_all));
      const double ms = all_ms / static_cast<double>(kernels->size());
      const double bytes = static_cast<double>(cold ? static_cast<int64_t>(first.owned_bytes()) +
                                                          own_bytes_of(problem)
                                                    : bytes_of(problem));
      std::printf("%-22s %-18s %-20s %-72.72s %8.2f us %7.1f GB/s %6.1f TFLOP/s\n",
                  one.name.c_str(), shape_of(problem).c_str(), std::string(tactic.name).c_str(),
                  config.c_str(), ms * 1e3, bytes / ms / 1e6, flops_of(problem) / ms / 1e9);
    }
  }
  return {};
}

}  // namespace
}  // namespace tenon::test

int main(int argc, char** argv) {
  using namespace tenon;
  auto device = cuda::CudaDevice::open();
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    return 1;
  }
  auto stream = (*device)->make_stream();
  const std::pair<const char*, void (*)(test::Cases&)> groups[] = {
      {"rows", test::add_rows},           {"movement", test::add_movement},
      {"pooling", test::add_pooling},     {"products", test::add_products},
      {"weights", test::add_weights},     {"layers", test::add_layers},
      {"sequences", test::add_sequences}, {"recurrences", test::add_recurrences},
      {"bytes", test::add_bytes}};
  test::Cases cases;
  for (const auto& [name, make] : groups)
    if (argc <= 2 || std::strcmp(argv[2], name) == 0) make(cases);
  for (const auto& one : cases) {
    if (argc > 1 && one->name.find(argv[1]) == std::string::npos) continue;
    const Status status = test::measure(**device, *one, stream->get(), argc > 3 ? argv[3] : "",
                                        argc > 4 ? argv[4] : "");
    if (!status.ok()) std::printf("%s: %s\n", one->name.c_str(), status.error().message.c_str());
  }
  return 0;
}
