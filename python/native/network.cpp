// INetworkDefinition.
#include "graph.h"
#include "plugins.h"
#include "tenon/recurrence.h"
#include "tenon/scatter.h"

namespace tenon::python {
namespace {

using Class = INetworkDefinition;
using Bound = Documented<Class>;
using Tensors = std::vector<ITensor*>;
using Self = nb::pointer_and_handle<Class>;

constexpr auto kInside = nb::rv_policy::reference_internal;

int32_t size_of(const Tensors& tensors) {
  return static_cast<int32_t>(tensors.size());
}

template <typename Layer>
Layer* with_weights(Self self, Layer* layer, std::initializer_list<const OwnedWeights*> weights) {
  if (!layer) return nullptr;
  for (const OwnedWeights* one : weights) keep_array(self.h, *one);
  keep_layer(self.h, layer);
  return layer;
}

ILayer* layer_at(Self self, int64_t index) {
  const int64_t count = self.p->getNbLayers();
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw nb::index_error("the network has fewer layers");
  ILayer* layer = self.p->getLayer(static_cast<int32_t>(index));
  keep_layer(self.h, layer);
  return layer;
}

nb::list layers_of(Self self, nb::slice slice) {
  nb::list layers;
  auto [start, stop, step, length] = slice.compute(self.p->getNbLayers());
  for (size_t i = 0; i < length; ++i, start += step)
    layers.append(nb::cast(layer_at(self, static_cast<int64_t>(start)), kInside, self.h));
  return layers;
}

void bind_state(Bound& bound) {
  bound
      // clang-format off
      TENON_RW("name", getName, setName)
      TENON_RO("num_layers", getNbLayers)
      TENON_RO("num_inputs", getNbInputs)
      TENON_RO("num_outputs", getNbOutputs)
      TENON_RO("has_implicit_batch_dimension", hasImplicitBatchDimension)
      TENON_RO("flags", getFlags)
              // clang-format on
              .def_prop_rw("error_recorder", &Class::getErrorRecorder, &Class::setErrorRecorder,
                           nb::for_setter(nb::arg("value").none()),
                           nb::for_setter(nb::keep_alive<1, 2>()))
              .def_prop_ro("builder", &Class::getBuilder, nb::rv_policy::reference)
              .def("get_flag", &Class::getFlag, "flag"_a)
              .def("get_layer", &Class::getLayer, "index"_a, kInside)
              .def("get_input", &Class::getInput, "index"_a, kInside)
              .def("get_output", &Class::getOutput, "index"_a, kInside)
              .def("mark_output", &Class::markOutput, "tensor"_a)
              .def("unmark_output", &Class::unmarkOutput, "tensor"_a)
              .def("mark_output_for_shapes", &Class::markOutputForShapes, "tensor"_a)
              .def("unmark_output_for_shapes", &Class::unmarkOutputForShapes, "tensor"_a)
              .def("remove_tensor", &Class::removeTensor, "tensor"_a)
              .def("mark_debug", &Class::markDebug, "tensor"_a)
              .def("unmark_debug", &Class::unmarkDebug, "tensor"_a)
              .def("is_debug_tensor", &Class::isDebugTensor, "tensor"_a)
              .def("mark_unfused_tensors_as_debug_tensors",
                   &Class::markUnfusedTensorsAsDebugTensors)
              .def("unmark_unfused_tensors_as_debug_tensors",
                   &Class::unmarkUnfusedTensorsAsDebugTensors)
              .def("mark_weights_refittable", &Class::markWeightsRefittable, "name"_a)
              .def("unmark_weights_refittable", &Class::unmarkWeightsRefittable, "name"_a)
              .def("are_weights_marked_refittable", &Class::areWeightsMarkedRefittable, "name"_a)
              .def(
                  "set_weights_name",
                  [](Class& network, WeightsArg weights, const char* name) {
                    return network.setWeightsName(weights.weights, name);
                  },
                  "weights"_a, "name"_a)
              .def("serialize",
                   [](Class&) -> nb::object {
                     throw std::runtime_error(
                         "a network has no serialized form here: build it "
                         "(Builder.build_serialized_network) or keep the model");
                   })
              .def("__len__", &Class::getNbLayers)
              .def("__getitem__", &layer_at, "index"_a, kInside)
              .def("__getitem__", &layers_of, "index"_a);
  with_statement(bound);
}

void bind_weighted(Bound& bound) {
  bound
      .def(
          "add_convolution_nd",
          [](Self self, ITensor& input, int64_t maps, const Dims& shape, WeightsArg kernel,
             WeightsArg bias) {
            return with_weights(
                self, self.p->addConvolutionNd(input, maps, shape, kernel.weights, bias.weights),
                {&kernel, &bias});
          },
          "input"_a, "num_output_maps"_a, "kernel_shape"_a, "kernel"_a.none(),
          "bias"_a = nb::none(), kInside)
      .def(
          "add_deconvolution_nd",
          [](Self self, ITensor& input, int64_t maps, const Dims& shape, WeightsArg kernel,
             WeightsArg bias) {
            return with_weights(
                self, self.p->addDeconvolutionNd(input, maps, shape, kernel.weights, bias.weights),
                {&kernel, &bias});
          },
          "input"_a, "num_output_maps"_a, "kernel_shape"_a, "kernel"_a.none(),
          "bias"_a = nb::none(), kInside)
      .def(
          "add_scale",
          [](Self self, ITensor& input, ScaleMode mode, WeightsArg shift, WeightsArg scale,
             WeightsArg power) {
            return with_weights(
                self, self.p->addScale(input, mode, shift.weights, scale.weights, power.weights),
                {&shift, &scale, &power});
          },
          "input"_a, "mode"_a, "shift"_a = nb::none(), "scale"_a = nb::none(),
          "power"_a = nb::none(), kInside)
      .def(
          "add_scale_nd",
          [](Self self, ITensor& input, ScaleMode mode, WeightsArg shift, WeightsArg scale,
             WeightsArg power, int32_t axis) {
            return with_weights(
                self,
                self.p->addScaleNd(input, mode, shift.weights, scale.weights, power.weights, axis),
                {&shift, &scale, &power});
          },
          "input"_a, "mode"_a, "shift"_a = nb::none(), "scale"_a = nb::none(),
          "power"_a = nb::none(), "channel_axis"_a = 0, kInside)
      .def(
          "add_constant",
          [](Self self, const Dims& shape, WeightsArg weights) {
            return with_weights(self, self.p->addConstant(shape, weights.weights), {&weights});
          },
          "shape"_a, "weights"_a, kInside);
}

void bind_pointwise(Bound& bound) {
  bound.def("add_input", &Class::addInput, "name"_a, "dtype"_a, "shape"_a, kInside)
      .def("add_activation", &Class::addActivation, "input"_a, "type"_a, kInside)
      .def("add_elementwise", &Class::addElementWise, "input1"_a, "input2"_a, "op"_a, kInside)
      .def("add_unary", &Class::addUnary, "input"_a, "op"_a, kInside)
      .def("add_select", &Class::addSelect, "condition"_a, "then_input"_a, "else_input"_a, kInside)
      .def("add_parametric_relu", &Class::addParametricReLU, "input"_a, "slopes"_a, kInside)
      .def("add_identity", &Class::addIdentity, "input"_a, kInside)
      .def("add_cast", &Class::addCast, "input"_a, "to_type"_a, kInside)
      .def("add_quantize", nb::overload_cast<ITensor&, ITensor&>(&Class::addQuantize), "input"_a,
           "scale"_a, kInside)
      .def("add_quantize", nb::overload_cast<ITensor&, ITensor&, DataType>(&Class::addQuantize),
           "input"_a, "scale"_a, "output_type"_a, kInside)
      .def("add_dequantize", nb::overload_cast<ITensor&, ITensor&>(&Class::addDequantize),
           "input"_a, "scale"_a, kInside)
      .def("add_dequantize", nb::overload_cast<ITensor&, ITensor&, DataType>(&Class::addDequantize),
           "input"_a, "scale"_a, "output_type"_a, kInside)
      .def("add_dynamic_quantize", &Class::addDynamicQuantize, "input"_a, "axis"_a, "block_size"_a,
           "output_type"_a, "scale_type"_a, kInside)
      .def("add_dynamic_quantize_v2", &Class::addDynamicQuantizeV2, "input"_a, "block_shape"_a,
           "output_type"_a, "scale_type"_a, kInside);
}

void bind_math(Bound& bound) {
  bound.def("add_pooling_nd", &Class::addPoolingNd, "input"_a, "type"_a, "window_size"_a, kInside)
      .def("add_lrn", &Class::addLRN, "input"_a, "window"_a, "alpha"_a, "beta"_a, "k"_a, kInside)
      .def("add_softmax", &Class::addSoftMax, "input"_a, kInside)
      .def("add_ragged_softmax", &Class::addRaggedSoftMax, "input"_a, "bounds"_a, kInside)
      .def("add_reduce", &Class::addReduce, "input"_a, "op"_a, "axes"_a, "keep_dims"_a, kInside)
      .def("add_topk",
           nb::overload_cast<ITensor&, TopKOperation, int32_t, uint32_t>(&Class::addTopK),
           "input"_a, "op"_a, "k"_a, "axes"_a, kInside)
      .def("add_topk",
           nb::overload_cast<ITensor&, TopKOperation, int32_t, uint32_t, DataType>(&Class::addTopK),
           "input"_a, "op"_a, "k"_a, "axes"_a, "indices_type"_a, kInside)
      .def("add_matrix_multiply", &Class::addMatrixMultiply, "input0"_a, "op0"_a, "input1"_a,
           "op1"_a, kInside)
      .def(
          "add_einsum",
          [](Class& n, const Tensors& inputs, const char* equation) {
            return n.addEinsum(inputs.data(), size_of(inputs), equation);
          },
          "inputs"_a, "equation"_a, kInside)
      .def("add_normalization", &Class::addNormalization, "input"_a, "scale"_a, "bias"_a,
           "axesMask"_a, kInside)
      .def("add_normalization_v2", &Class::addNormalizationV2, "input"_a, "scale"_a, "bias"_a,
           "axesMask"_a, kInside)
      .def("add_cumulative", &Class::addCumulative, "input"_a, "axis"_a, "op"_a, "exclusive"_a,
           "reverse"_a, kInside)
      .def("add_attention", &Class::addAttention, "query"_a, "key"_a, "value"_a, "norm_op"_a,
           "causal"_a, kInside)
      .def("add_rotary_embedding", &Class::addRotaryEmbedding, "input"_a, "cos_cache"_a,
           "sin_cache"_a, "interleaved"_a, "rotary_embedding_dim"_a, kInside)
      .def("add_kv_cache_update", &Class::addKVCacheUpdate, "cache"_a, "update"_a,
           "write_indices"_a, "cache_mode"_a, kInside)
      .def("add_moe", &Class::addMoE, "hidden_states"_a, "selected_experts_for_tokens"_a,
           "scores_for_selected_experts"_a, kInside)
      .def(
          "add_dist_collective",
          [](Class& n, ITensor& input, CollectiveOperation op, ReduceOperation reduce, int64_t root,
             std::vector<int64_t> groups) {
            return n.addDistCollective(input, op, reduce, root, groups.data(),
                                       static_cast<int64_t>(groups.size()));
          },
          "input"_a, "dist_collective_op"_a, "reduce_op"_a, "root"_a, "groups"_a, kInside);
}

void bind_movement(Bound& bound) {
  bound
      .def(
          "add_concatenation",
          [](Class& n, const Tensors& inputs) {
            return n.addConcatenation(inputs.data(), size_of(inputs));
          },
          "inputs"_a, kInside)
      .def("add_padding_nd", &Class::addPaddingNd, "input"_a, "pre_padding"_a, "post_padding"_a,
           kInside)
      .def("add_shuffle", &Class::addShuffle, "input"_a, kInside)
      .def("add_slice", &Class::addSlice, "input"_a, "start"_a, "shape"_a, "stride"_a, kInside)
      .def("add_gather", &Class::addGather, "input"_a, "indices"_a, "axis"_a, kInside)
      .def("add_gather_v2", &Class::addGatherV2, "input"_a, "indices"_a, "mode"_a, kInside)
      .def("add_scatter", &Class::addScatter, "data"_a, "indices"_a, "updates"_a, "mode"_a, kInside)
      .def("add_resize", &Class::addResize, "input"_a, kInside)
      .def("add_shape", &Class::addShape, "input"_a, kInside)
      .def("add_one_hot", &Class::addOneHot, "indices"_a, "values"_a, "depth"_a, "axis"_a, kInside)
      .def("add_non_zero", nb::overload_cast<ITensor&>(&Class::addNonZero), "input"_a, kInside)
      .def("add_non_zero", nb::overload_cast<ITensor&, DataType>(&Class::addNonZero), "input"_a,
           "indices_type"_a, kInside)
      .def("add_reverse_sequence", &Class::addReverseSequence, "input"_a, "sequence_lens"_a,
           kInside)
      .def("add_grid_sample", &Class::addGridSample, "input"_a, "grid"_a, kInside)
      .def("add_nms", nb::overload_cast<ITensor&, ITensor&, ITensor&>(&Class::addNMS), "boxes"_a,
           "scores"_a, "max_output_boxes_per_class"_a, kInside)
      .def("add_nms", nb::overload_cast<ITensor&, ITensor&, ITensor&, DataType>(&Class::addNMS),
           "boxes"_a, "scores"_a, "max_output_boxes_per_class"_a, "indices_type"_a, kInside)
      .def("add_squeeze", &Class::addSqueeze, "input"_a, "axes"_a, kInside)
      .def("add_unsqueeze", &Class::addUnsqueeze, "input"_a, "axes"_a, kInside)
      .def("add_fill", nb::overload_cast<const Dims&, FillOperation>(&Class::addFill), "shape"_a,
           "op"_a, kInside)
      .def("add_fill", nb::overload_cast<const Dims&, FillOperation, DataType>(&Class::addFill),
           "shape"_a, "op"_a, "output_type"_a, kInside)
      .def("add_loop", &Class::addLoop, kInside)
      .def("add_if_conditional", &Class::addIfConditional, kInside)
      .def("add_assertion", &Class::addAssertion, "condition"_a, "message"_a, kInside);
}

/// The library's view of a plugin, alive as long as the network, which clones it and hands out the
/// original.
IPluginV3* plugin_v3_of(nb::handle network, nb::object plugin) {
  if (IPluginV3* native = native_v3(plugin)) {
    nb::keep_alive_obj(network, plugin);
    return native;
  }
  IPluginV3* adapter = adapt_v3(plugin);
  nb::keep_alive_cb(network, adapter,
                    [](void* ended) noexcept { delete static_cast<IPluginV3*>(ended); });
  return adapter;
}

IPluginV2* plugin_v2_of(nb::handle network, nb::object plugin) {
  if (IPluginV2* native = native_v2(plugin)) return native;
  IPluginV2* adapter = adapt_v2(plugin);
  nb::keep_alive_cb(network, adapter,
                    [](void* ended) noexcept { static_cast<IPluginV2*>(ended)->destroy(); });
  return adapter;
}

IPluginV3Layer* add_plugin_v3(Self self, const Tensors& inputs, const Tensors& shapes,
                              nb::object plugin) {
  IPluginV3* made = plugin_v3_of(self.h, plugin);
  return self.p->addPluginV3(inputs.data(), size_of(inputs), shapes.data(), size_of(shapes), *made);
}

void bind_plugin_calls(Bound& bound) {
  using Raise = nb::call_policy<RaiseKept>;
  bound
      .def(
          "add_plugin_v2",
          [](Self self, const Tensors& inputs, nb::object plugin) {
            InCall call;
            return self.p->addPluginV2(inputs.data(), size_of(inputs),
                                       *plugin_v2_of(self.h, plugin));
          },
          "inputs"_a, "plugin"_a, kInside, Raise())
      .def(
          "add_plugin_v3",
          [](Self self, const Tensors& inputs, const Tensors& shapes, nb::object plugin) {
            InCall call;
            return add_plugin_v3(self, inputs, shapes, plugin);
          },
          "inputs"_a, "shape_inputs"_a, "plugin"_a, kInside, Raise())
      // Result of `tensorrt.plugin.op`: (inputs, shape inputs, plugin).
      .def(
          "add_plugin",
          [](Self self, nb::tuple made, nb::object aot) {
            InCall call;
            if (made.size() != 3)
              throw nb::type_error(
                  "add_plugin takes the result of tensorrt.plugin.op.<namespace>.<name>()");
            if (!aot.is_none()) made[2].attr("choose")(aot);  // Kernels compiled ahead of time.
            return add_plugin_v3(self, nb::cast<Tensors>(made[0]), nb::cast<Tensors>(made[1]),
                                 made[2]);
          },
          "tuple"_a, "aot"_a = nb::none(), kInside, Raise());
}

void bind_own_layers(nb::module_ own) {
  nb::enum_<RecurrentCell>(own, "RecurrentCell")
      .value("LSTM", RecurrentCell::kLSTM)
      .value("GRU", RecurrentCell::kGRU)
      .value("TANH", RecurrentCell::kTANH)
      .value("RELU", RecurrentCell::kRELU);
  own.def(
      "add_recurrence",
      [](Class& network, RecurrentCell cell, const Tensors& operands) {
        return tenon::addRecurrence(network, cell, operands.data(), size_of(operands));
      },
      "network"_a, "cell"_a, "operands"_a, nb::rv_policy::reference, nb::keep_alive<0, 1>());
  nb::enum_<ScatterUpdate>(own, "ScatterUpdate")
      .value("REPLACE", ScatterUpdate::kREPLACE)
      .value("ADD", ScatterUpdate::kADD)
      .value("MULTIPLY", ScatterUpdate::kMULTIPLY)
      .value("MIN", ScatterUpdate::kMIN)
      .value("MAX", ScatterUpdate::kMAX);
  own.def("set_scatter_update", &tenon::setScatterUpdate, "layer"_a, "update"_a);
}

}  // namespace

void bind_network(nb::module_& m) {
  Bound bound(m, "INetworkDefinition", "A network under construction: inputs, layers, outputs.");
  bind_state(bound);
  bind_weighted(bound);
  bind_pointwise(bound);
  bind_math(bound);
  bind_movement(bound);
  bind_plugin_calls(bound);
  bind_own_layers(own(m));
}

}  // namespace tenon::python
