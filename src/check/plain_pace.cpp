#include "check/plain_pace.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "base/stopwatch.h"
#include "check/compare.h"
#include "check/processor_reference.h"
#include "ops/math.h"
#include "ops/nn.h"
#include "ops/numerics.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// An image and the convolutions that it goes through, one behind the other.
struct Image {
  int64_t channels, size;
  int convolutions;
};
// Layers of usual networks, for kernels and for loops; and little work: each evaluation takes some
// time however small the network is.
constexpr Image kLarge{32, 64, 2}, kMiddling{32, 32, 1}, kSmall{8, 24, 1};
/// A network is measured for where it has so many times the work of these.
constexpr double kTimes = 16;
/// Guesses of steps for a multiplication.
constexpr double kGuessedKernel = 0.01, kGuessedLoop = 0.12;
/// Of an element: to read, write, widen and compare it.
constexpr double kGuessedElement = 5;

constexpr int64_t kTaps = 3;
/// Of an operator that computes little for each.
constexpr int64_t kElements = 1 << 14;

Tensor filled(const Extents& extents) {
  Tensor tensor(DataType::kFloat32, extents);
  std::ranges::fill(tensor.mutable_values<float>(), 0.01f);
  return tensor;
}

Extents extents_of(const Image& image) {
  return {1, image.channels, image.size, image.size};
}

Result<std::unique_ptr<Graph>> network(const Image& image) {
  auto graph = std::make_unique<Graph>();
  Value* value = graph->add_input("x", {DataType::kFloat32, to_shape(extents_of(image))});
  for (int i = 0; i < image.convolutions; ++i) {
    Tensor weights = filled({image.channels, image.channels, kTaps, kTaps});
    Conv conv;
    conv.strides = conv.dilations = conv.pads_begin = conv.pads_end = {1, 1};
    value = graph
                ->add_node(std::make_unique<Conv>(std::move(conv)),
                           {value, graph->add_constant(std::move(weights))}, 1, "conv")
                ->output();
  }
  value->name = "y";
  graph->add_output(value);
  TENON_TRY(infer_graph(*graph));
  return graph;
}

/// An operator that computes little for each element.
Result<std::unique_ptr<Graph>> pointwise_network() {
  auto graph = std::make_unique<Graph>();
  Value* const x = graph->add_input("x", {DataType::kFloat32, {Dim(kElements)}});
  Value* const y =
      graph->add_node(std::make_unique<Pointwise>(PointwiseFunction::k_relu), {x}, 1, "relu")
          ->output();
  y->name = "y";
  graph->add_output(y);
  TENON_TRY(infer_graph(*graph));
  return graph;
}

/// Seconds for an element, as the check of a region takes them; negative where it fails.
double element_seconds() {
  const auto graph = pointwise_network();
  if (!graph.ok()) return -1;
  const std::vector<Tensor> inputs = {filled({kElements})};
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    Stopwatch watch;
    const auto results = evaluate_graph(**graph, inputs);
    if (!results.ok()) return -1;
    (void)compare_results(inputs[0], (*results)[0], nullptr,
                          tolerance(Computation::kKernel, DataType::kFloat32),
                          steadiness_of(**graph));
    least = std::min(least, watch.lap());
  }
  return least / static_cast<double>(kElements);
}

/// Seconds that an evaluation takes; negative where it fails.
template <class Evaluate> double seconds(const Image& image, const Evaluate& evaluate) {
  const auto graph = network(image);
  if (!graph.ok()) return -1;
  const std::vector<Tensor> inputs = {filled(extents_of(image))};
  Stopwatch watch;
  return evaluate(**graph, inputs).ok() ? watch.lap() : -1;
}

double multiplications_of(const Image& image) {
  return static_cast<double>(image.convolutions * image.channels * image.channels * kTaps * kTaps *
                             image.size * image.size);
}

}  // namespace

PlainPace PlainPace::guessed(double step) {
  return {kGuessedKernel * step, kGuessedLoop * step, kGuessedElement * step};
}

std::optional<PlainPace> PlainPace::measured(double multiplications) {
  const double small = multiplications_of(kSmall), most = multiplications_of(kLarge);
  if (multiplications < kTimes * small) return std::nullopt;
  const auto on_processor = [](const Graph& graph, const std::vector<Tensor>& inputs) {
    return evaluate_on_processor(graph, {}, inputs);
  };
  const auto by_loops = [](const Graph& graph, const std::vector<Tensor>& inputs) {
    return evaluate_graph(graph, inputs);
  };
  // The least of three: other work on the machine may stop any.
  const auto least_of = [](const Image& image, const auto& evaluate) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) least = std::min(least, seconds(image, evaluate));
    return least;
  };
  const double least = least_of(kSmall, by_loops), element = element_seconds();
  if (least <= 0 || element <= 0) return std::nullopt;
  PlainPace pace{.loops = least / small, .element = element};
  // Of a multiplication more.
  const auto slope = [&](double of_small, const Image& image, const auto& evaluate) {
    const double more = least_of(image, evaluate) - of_small;
    return of_small > 0 && more > 0 ? more / (multiplications_of(image) - small) : 0;
  };
  if (multiplications >= kTimes * multiplications_of(kMiddling))
    if (const double more = slope(least, kMiddling, by_loops); more > 0) pace.loops = more;
  if (multiplications < kTimes * most) return pace;
  // The first evaluation makes threads.
  (void)seconds(kSmall, on_processor);
  pace.kernels = slope(least_of(kSmall, on_processor), kLarge, on_processor);
  return pace;
}

}  // namespace tenon
