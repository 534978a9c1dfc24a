#pragma once

/// Layers in Python: lifetimes of weights' arrays, and how classes are declared.

#include "common.h"

namespace tenon::python {

/// Networks read weights when they are built: arrays that were given to a network or to one of its
/// layers live as long as the network. keep_array() for a layer does nothing before the network's
/// keep_layer().
void keep_array(nb::handle network, const OwnedWeights& weights);
void keep_layer(nb::handle network, const ILayer* layer);
void keep_array(const ILayer* layer, const OwnedWeights& weights);

/// Weights of a layer as a property: an array, or a Weights object where NumPy lacks the type.
template <auto Get, auto Set, typename Bound>
void weights_property(Bound& bound, const char* name) {
  using Class = typename Bound::Type;
  bound.def_prop_rw(
      name,
      [](nb::pointer_and_handle<Class> self) {
        return weights_to_python((self.p->*Get)(), self.h);
      },
      [](Class& self, WeightsArg weights) {
        (self.*Set)(weights.weights);
        keep_array(&self, weights);
      },
      nb::for_setter(nb::arg("value").none()));
}

}  // namespace tenon::python

/// A layer's class; bodies say `Class` for it.
#define TENON_LAYER(class_name, ...) \
  using Class = class_name;          \
  Documented<Class, __VA_ARGS__>(m, #class_name)
