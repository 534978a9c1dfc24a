#pragma once

#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "select/select.h"
#include "select/sequence_runner.h"

namespace tenon {

/// Tactics by node name or by problem_key(), those to be tried first at the front.
using TacticLists = std::map<std::string, std::vector<std::string>>;

/// Shapes that have kernels.
struct KnownShape {
  SymbolValues symbols;
  TacticLists near;  ///< The kernels near the best there, the best first.
  /// Of the layers that were timed, each alone.
  double milliseconds = 0;
};

/// Adds the lists of layers to those of their problems.
void offer(const TacticLists& by_node, const Layers& layers, TacticLists& by_problem);

/// Whether there is more work under `a`.
bool is_larger(const SymbolValues& a, const SymbolValues& b);

/// Where a range ends beside its usual shapes; kNone: these.
RangeEnd range_end(const SymbolValues& end, const SymbolValues& usual);

/// Kernels of one layer that are tried between the ends of a profile: kernels near the best on each
/// side, and the tactics' proposals.
inline constexpr size_t kNearBetween = 2;
inline constexpr Proposals kProposedBetween{.most = 2, .unless_there = true};
/// Proposals for another form's products, beside the kernels of equal ones.
inline constexpr Proposals kProposedForForm{2};
/// Of each layer of a range, how many kernels near the best are tried in its place in sequence:
/// those behind the second won once in 48 sequences (docs/notes/performance.md).
inline constexpr size_t kRangeRivals = 2;

/// The best of one layer's tactics, and those of its rivals that are near it by their times.
std::vector<std::string> near_of(const std::string& best, std::span<const std::string> rivals,
                                 const std::map<std::string, double>& milliseconds);

/// Shapes of a build that have kernels so far.
class KnownShapes {
 public:
  KnownShape& add(const SymbolValues& symbols) {
    return known_.emplace_back(KnownShape{symbols, {}, 0});
  }
  /// The kernels of a layer there.
  void take(KnownShape& shape, const std::string& node, const Tactics& tactics, size_t layer);
  /// Kernels that are timed for a node besides the ones that were taken.
  void note_tried(const std::string& node, std::string tactic) {
    tried_[node].insert(std::move(tactic));
  }
  /// Whether a kernel was timed for the node under any shapes: its code for all extents is there.
  bool was_tried(const std::string& node, const std::string& tactic) const {
    const auto found = tried_.find(node);
    return found != tried_.end() && found->second.contains(tactic);
  }

  /// Of the larger or of the smaller ones; null where there is none.
  const KnownShape* nearest(const SymbolValues& point, bool larger) const;
  /// Of all layers under some shapes: as much more than under the nearest smaller ones, of what the
  /// nearest larger ones take more, as they are nearer to these.
  double milliseconds_at(const SymbolValues& point) const;
  /// The kernels that were near the best under the nearest smaller and the nearest larger shapes,
  /// those of the nearer ones first; of each layer at most `count` a side.
  TacticLists around(const SymbolValues& point, size_t count) const;
  /// The same for one layer.
  std::vector<std::string> around(const SymbolValues& point, const std::string& node,
                                  size_t count) const;

 private:
  /// The nearest smaller and the nearest larger one, the nearer one first.
  std::vector<const KnownShape*> sides_of(const SymbolValues& point) const;

  std::deque<KnownShape> known_;
  std::map<std::string, std::set<std::string>> tried_;  ///< Tactics by node name.
};

}  // namespace tenon
