// Loops, conditionals, attention, mixtures of experts, assertions and the layers of plugins.
#include "graph.h"
#include "plugins.h"

namespace tenon::python {
namespace {

constexpr auto kInside = nb::rv_policy::reference_internal;

void bind_loops(nb::module_& m) {
  { TENON_LAYER(ILoopBoundaryLayer, ILayer).def_prop_ro("loop", &Class::getLoop, kInside); }
  {
    TENON_LAYER(IRecurrenceLayer, ILoopBoundaryLayer)
        .def("set_input", &Class::setInput, "index"_a, "tensor"_a);
  }
  {
    TENON_LAYER(ILoopOutputLayer, ILoopBoundaryLayer)
        .def("set_input", &Class::setInput, "index"_a, "tensor"_a)
        .def_prop_rw("axis", &Class::getAxis, &Class::setAxis)
        .def_prop_ro("kind", &Class::getLoopOutput);
  }
  { TENON_LAYER(ITripLimitLayer, ILoopBoundaryLayer).def_prop_ro("kind", &Class::getTripLimit); }
  {
    TENON_LAYER(IIteratorLayer, ILoopBoundaryLayer)
        .def_prop_rw("axis", &Class::getAxis, &Class::setAxis)
        .def_prop_rw("reverse", &Class::getReverse, &Class::setReverse);
  }
  using Class = ILoop;
  Documented<Class>(m, "ILoop", "Layers that are computed again and again.")
      .def("add_recurrence", &Class::addRecurrence, "initial_value"_a, kInside)
      .def("add_trip_limit", &Class::addTripLimit, "tensor"_a, "kind"_a, kInside)
      .def("add_iterator", &Class::addIterator, "tensor"_a, "axis"_a = 0, "reverse"_a = false,
           kInside)
      .def("add_loop_output", &Class::addLoopOutput, "tensor"_a, "kind"_a, "axis"_a = 0, kInside)
      .def_prop_rw("name", &Class::getName, &Class::setName);
}

void bind_conditionals(nb::module_& m) {
  {
    TENON_LAYER(IIfConditionalBoundaryLayer, ILayer)
        .def_prop_ro("conditional", &Class::getConditional, kInside);
  }
  { TENON_LAYER(IConditionLayer, IIfConditionalBoundaryLayer); }
  { TENON_LAYER(IIfConditionalOutputLayer, IIfConditionalBoundaryLayer); }
  { TENON_LAYER(IIfConditionalInputLayer, IIfConditionalBoundaryLayer); }
  {
    TENON_LAYER(IAssertionLayer, ILayer)
        .def_prop_rw("message", &Class::getMessage, &Class::setMessage);
  }
  using Class = IIfConditional;
  Documented<Class>(m, "IIfConditional", "Two branches and a condition.")
      .def("set_condition", &Class::setCondition, "condition"_a, kInside)
      .def("add_output", &Class::addOutput, "true_subgraph_output"_a, "false_subgraph_output"_a,
           kInside)
      .def("add_input", &Class::addInput, "input"_a, kInside)
      .def_prop_rw("name", &Class::getName, &Class::setName);
}

void bind_attention(nb::module_& m) {
  {
    TENON_LAYER(IAttentionBoundaryLayer, ILayer)
        .def_prop_ro("attention", &Class::getAttention, kInside);
  }
  { TENON_LAYER(IAttentionInputLayer, IAttentionBoundaryLayer); }
  { TENON_LAYER(IAttentionOutputLayer, IAttentionBoundaryLayer); }
  using Class = IAttention;
  Documented<Class>(m, "IAttention", "softmax(q k^T + mask) v.")
      .def_prop_rw("mask", &Class::getMask, &Class::setMask, kInside)
      .def_prop_rw("norm_op", &Class::getNormalizationOperation, &Class::setNormalizationOperation)
      .def_prop_rw("decomposable", &Class::getDecomposable, &Class::setDecomposable)
      .def_prop_rw("causal", &Class::getCausal, &Class::setCausal)
      .def_prop_rw("name", &Class::getName, &Class::setName)
      .def_prop_rw("metadata", &Class::getMetadata, &Class::setMetadata)
      .def_prop_rw("normalization_quantize_scale", &Class::getNormalizationQuantizeScale,
                   &Class::setNormalizationQuantizeScale, kInside)
      .def_prop_rw("normalization_quantize_to_type", &Class::getNormalizationQuantizeToType,
                   &Class::setNormalizationQuantizeToType)
      .def_prop_ro("num_inputs", &Class::getNbInputs)
      .def_prop_ro("num_outputs", &Class::getNbOutputs)
      .def_prop_rw("num_ranks", &Class::getNbRanks, &Class::setNbRanks)
      .def("set_input", &Class::setInput, "index"_a, "tensor"_a)
      .def("get_input", &Class::getInput, "index"_a, kInside)
      .def("get_output", &Class::getOutput, "index"_a, kInside);
}

void bind_transformer_layers(nb::module_& m) {
  {
    TENON_LAYER(IRotaryEmbeddingLayer, ILayer)
        .def_prop_rw("interleaved", &Class::getInterleaved, &Class::setInterleaved)
        .def_prop_rw("rotary_embedding_dim", &Class::getRotaryEmbeddingDim,
                     &Class::setRotaryEmbeddingDim)
        .def("set_input", &Class::setInput, "index"_a, "tensor"_a);
  }
  {
    TENON_LAYER(IKVCacheUpdateLayer, ILayer)
        .def_prop_rw("cache_mode", &Class::getCacheMode, &Class::setCacheMode)
        .def("set_input", &Class::setInput, "index"_a, "tensor"_a);
  }
  TENON_LAYER(IMoELayer, ILayer)
      .def("set_gated_weights", &Class::setGatedWeights, "fc_gate_weights"_a, "fc_up_weights"_a,
           "fc_down_weights"_a, "activation_type"_a)
      .def("set_gated_biases", &Class::setGatedBiases, "fc_gate_biases"_a, "fc_up_biases"_a,
           "fc_down_biases"_a)
      .def_prop_rw("activation_type", &Class::getActivationType, &Class::setActivationType)
      .def("set_quantization_static", &Class::setQuantizationStatic, "fc_down_activation_scale"_a,
           "data_type"_a)
      .def("set_quantization_dynamic_dbl_q", &Class::setQuantizationDynamicDblQ,
           "fc_down_activation_dbl_q_scale"_a, "data_type"_a, "block_shape"_a,
           "dyn_q_output_scale_type"_a)
      .def_prop_rw("quantization_to_type", &Class::getQuantizationToType,
                   &Class::setQuantizationToType)
      .def_prop_rw("quantization_block_shape", &Class::getQuantizationBlockShape,
                   &Class::setQuantizationBlockShape)
      .def_prop_rw("dyn_q_output_scale_type", &Class::getDynQOutputScaleType,
                   &Class::setDynQOutputScaleType)
      .def("set_swiglu_params", &Class::setSwigluParams, "limit"_a, "alpha"_a, "beta"_a)
      .def_prop_rw("swiglu_param_limit", &Class::getSwigluParamLimit, &Class::setSwigluParamLimit)
      .def_prop_rw("swiglu_param_alpha", &Class::getSwigluParamAlpha, &Class::setSwigluParamAlpha)
      .def_prop_rw("swiglu_param_beta", &Class::getSwigluParamBeta, &Class::setSwigluParamBeta)
      .def("set_input", &Class::setInput, "index"_a, "tensor"_a);
}

void bind_plugin_layers(nb::module_& m) {
  Documented<IPluginV2Layer, ILayer>(m, "IPluginV2Layer")
      .def_prop_ro("plugin", [](nb::pointer_and_handle<IPluginV2Layer> self) {
        return plugin_to_python(&self.p->getPlugin(), self.h);
      });
  Documented<IPluginV3Layer, ILayer>(m, "IPluginV3Layer")
      .def_prop_ro("plugin", [](nb::pointer_and_handle<IPluginV3Layer> self) {
        return plugin_to_python(&self.p->getPlugin(), self.h);
      });
}

}  // namespace

void bind_control_layers(nb::module_& m) {
  bind_loops(m);
  bind_conditionals(m);
  bind_attention(m);
  bind_transformer_layers(m);
  bind_plugin_layers(m);
}

}  // namespace tenon::python
