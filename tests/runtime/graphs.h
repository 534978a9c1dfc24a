#pragma once

#include <fmt/format.h>

#include "graph_text.h"
#include "ops/ops.h"
#include "plan/plan_file.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "select/compile.h"

/// Helpers that build small graphs and engines.
namespace tenon {

/// The graph behind `graph ""`, its inputs named in0, in1 and so on, its outputs likewise from
/// there.
inline std::unique_ptr<Graph> named_graph(const std::string& text) {
  auto graph = inferred("graph \"\" " + text);
  int number = 0;
  for (Value* value : graph->inputs()) value->name = fmt::format("in{}", number++);
  for (Value* value : graph->outputs()) value->name = fmt::format("out{}", number++);
  return graph;
}

/// Multiples of `scale` from -8 to 8, others for another seed.
inline Tensor numbers(Extents extents, int seed, double scale) {
  Tensor tensor(DataType::kFloat32, std::move(extents));
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_double(i, scale * static_cast<double>((i * 31 + seed) % 17 - 8));
  return tensor;
}

/// A convolution with as many outputs as inputs that keeps the extents of images.
inline Value* conv(Graph& graph, Value* x, Tensor weights) {
  const int64_t pad = weights.extents()[2] / 2;
  auto op = std::make_unique<Conv>();
  op->strides = op->dilations = {1, 1};
  op->pads_begin = op->pads_end = {pad, pad};
  Value* w = graph.add_constant(std::move(weights));
  return graph.add_node(std::move(op), {x, w})->output();
}

inline Value* function(Graph& graph, PointwiseFunction function, std::vector<Value*> inputs) {
  return graph.add_node(std::make_unique<Pointwise>(function), std::move(inputs))->output();
}

/// Built for two threads of the CPU without measuring, written and read again.
inline Result<std::shared_ptr<Engine>> engine_of(std::unique_ptr<Graph> graph,
                                                 std::vector<Profile> profiles = {}) {
  CompileRequest request;
  request.graph = std::move(graph);
  request.profiles = std::move(profiles);
  request.backend = cpu_backend(2);
  request.select.threads = 2;
  request.select.level = 0;
  TimingCache cache;
  NullLogger logger;
  TENON_ASSIGN(const Plan plan, compile(std::move(request), cache, logger));
  TENON_ASSIGN(const LargeBytes bytes, write_plan(plan));
  TENON_ASSIGN(Plan loaded, read_plan(bytes, nullptr));
  return Engine::create(std::move(loaded), cpu_backend(2));
}

/// The results of an engine, with memory for whatever extents the outputs have.
inline Result<std::vector<Tensor>> run_engine(const std::shared_ptr<Engine>& engine,
                                              const std::vector<Tensor>& inputs, int threads = 2) {
  TENON_ASSIGN(const std::unique_ptr<Context> context, Context::create(engine, threads));
  const Graph& graph = engine->graph();
  for (size_t i = 0; i < inputs.size(); ++i) {
    TENON_TRY(context->set_input_shape(graph.inputs()[i]->name, inputs[i].extents()));
    TENON_TRY(
        context->set_address(graph.inputs()[i]->name, const_cast<std::byte*>(inputs[i].bytes())));
  }
  std::vector<Tensor> outputs(graph.outputs().size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value& value = *graph.outputs()[i];
    TENON_TRY(context->set_allocator(
        value.name, [&outputs, &value, i](const Extents& extents, size_t, void*) -> void* {
          outputs[i] = Tensor(value.type.type, extents);
          return outputs[i].mutable_bytes();
        }));
  }
  // Twice: kernels and programs of the first run serve the second.
  TENON_TRY(context->enqueue());
  TENON_TRY(context->enqueue());
  return outputs;
}

}  // namespace tenon
