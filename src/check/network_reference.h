#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "check/pass_bisect.h"
#include "check/reference_pace.h"
#include "check/wide.h"
#include "select/compile.h"

namespace tenon {

/// The types of the values that a plan keeps in memory, by name.
using StoredTypes = std::map<std::string, DataType>;
StoredTypes stored_types(const Graph& plan);

/// The results of a network without rounding, and with no more than a plan's.
class NetworkReference {
 public:
  /// Refers to all of them, which must outlive it. `on_processor`: by the processor's kernels,
  /// where these are worth their making.
  NetworkReference(const Graph& network, const std::vector<Profile>& profiles, bool on_processor)
      : network_(network), profiles_(profiles), on_processor_(on_processor) {}

  /// Of all evaluations.
  void take_inputs(std::span<const Tensor> inputs);
  /// Evaluates the network in f32, whatever 16-bit types it has. `told` may be empty.
  Status evaluate(const ReferenceObserver& told = {});
  const std::vector<Tensor>& outputs() const { return outputs_; }
  /// Whether evaluate() makes kernels; else it takes plain loops.
  bool takes_kernels() const { return takes_kernels(network_); }

  /// The network with its values rounded where a plan stores them in 16 bits (`precision` where the
  /// network itself does not), its products cut to tf32 where it does that, and its sums in another
  /// order. Weights are rounded as well. `draw`: see Rounding.
  Result<std::vector<Tensor>> rounded(const StoredTypes& types, std::optional<DataType> precision,
                                      bool in_tf32, int draw = 0) const;
  /// Of draws of sums in another order, `furthest` keeps each output that moves the furthest.
  void take_larger_draw(int draw, std::vector<Tensor>& furthest) const;
  /// Values inside by name, in f32, which passes may keep where the network has types of 16 bits;
  /// none where it has none.
  Result<std::map<std::string, Tensor>> other_values() const;
  /// The passes' result for the network in its own precision.
  Result<std::vector<Tensor>> after_passes(const PassOptions& options) const;
  /// The network in its own precision as the passes leave it; `begun` has steps_before_precision()
  /// behind it.
  static Result<std::unique_ptr<Graph>> passed(PassOptions options, const Graph& begun);
  /// Results of a graph with the network's inputs in f32, whatever 16-bit types it has.
  Result<std::vector<Tensor>> outputs_of(const Graph& graph) const;
  /// The same as its types have it, for `inputs` of these types.
  Result<std::vector<Tensor>> outputs_as_typed(const Graph& graph,
                                               std::span<const Tensor> inputs) const;

 private:
  bool takes_kernels(const Graph& graph) const;
  Result<std::vector<Tensor>> run(const Graph& graph, const ReferenceObserver& told = {}) const;

  const Graph& network_;
  const std::vector<Profile>& profiles_;
  bool on_processor_;
  std::vector<Tensor> inputs_;    ///< Wide.
  std::vector<Profile> extents_;  ///< A profile of these inputs alone.
  std::vector<Tensor> outputs_;
};

}  // namespace tenon
