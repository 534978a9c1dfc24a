#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "plan/plan.h"
#include "select/known_shapes.h"
#include "select/measure.h"
#include "select/select.h"
#include "select/sequence_runner.h"

namespace tenon {

/// The layers of a plan's graph, in one of its forms, that have kernels under some shapes.
struct LayersUnder {
  static Result<std::unique_ptr<LayersUnder>> make(const Graph& form, const Backend& backend,
                                                   int threads, const SymbolValues& symbols);
  ConcreteGraph graph;
  Layers layers;
  std::vector<int> places;  ///< Of the layers' nodes in the form.
  bool in_sequence = true;  ///< Nothing else stands between them.

 private:
  explicit LayersUnder(ConcreteGraph concrete)
      : graph(std::move(concrete)), layers{graph, {}, {}} {}
};

/// A build's parts that choices of kernels are made with.
struct ChoiceMaking {
  Plan& plan;
  const Backend& backend;
  SelectOptions options;
  TimingCache& cache;
  Measurer& measurer;
  std::vector<KnownShapes>& known;  ///< One a form.
  BuildWatch* watch = nullptr;      ///< Ends it early where the build's time is up; may be null.
};

/// A kernel's time goes up in steps: with one more row of tiles a multiprocessor may have twice the
/// work. Which one is best so changes between the shapes that have choices, and a choice for the
/// next smaller shape may be far from the best. Times, under the plan's shapes in between, each
/// layer's kernel beside the best ones of both neighbours and the tactics' own proposals, and adds
/// a choice where others make the whole sequence faster. `added` is told of each.
Status refine_choices(ChoiceMaking& making, const std::function<void(const Choice&)>& added);

}  // namespace tenon
