#pragma once

#include <cstdint>

#include "plan/concrete_graph.h"

namespace tenon::api {

/// What a layer has to do at least, whatever kernel does it.
struct LayerWork {
  double operations = 0;         ///< Additions and multiplications; a scalar function is one.
  double read = 0, written = 0;  ///< Bytes of operands and results, each once.
  double weights = 0;            ///< Bytes of constants, part of `read`.
};

/// Of a layer whose extents are known. Bodies of loops and branches are not counted.
LayerWork work_of(const Node& node, const ConcreteGraph& concrete);

}  // namespace tenon::api
