#pragma once

#include <memory>
#include <string>
#include <vector>

#include "damage.h"
#include "ir/graph.h"
#include "select/compile.h"

namespace tenon {

/// A mistake: of the kernels of an operator, or of a pass.
struct Plant {
  std::string name;
  DataType precision;
  std::string op;  ///< Empty for a mistake of a pass.
  Damage damage = nullptr;
  Mistake mistake = nullptr;
};

/// The verdict of a build that checks itself.
struct Outcome {
  bool planted = false;  ///< There was a place for the mistake.
  bool found = false, named = false;
  double effect = 1;  ///< Of a mistake of a pass: the distance of the outputs that it causes.
  std::string says;
  /// Why it is no success, or nothing.
  const char* problem() const;
};

/// Builds the network with the mistake.
Outcome outcome_of(const Plant& plant, std::unique_ptr<Graph> network);

/// How such builds are made.
CompileRequest planted_request(std::unique_ptr<Graph> network, DataType precision);

}  // namespace tenon
