#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/concrete_graph.h"
#include "select/known_shapes.h"
#include "select/select.h"
#include "select/sequence_tuning.h"

namespace tenon {

/// Which kernels will be tried under the other shapes of a range: layer by layer, as soon as the
/// layer's kernels under the shapes around them are known. Layers of other forms of the graph
/// follow those of the graph itself. While kernels of one layer are compiled,
/// kernels of others are timed. Choices do not depend on it: the selector finds times in its lists,
/// and tries kernels that have none.
class TrialsAhead {
 public:
  /// A problem, the kernels to try for it, and how many more their tactics propose.
  struct Wanted {
    const Problem* problem;
    std::vector<std::string> tactics;
    Proposals proposals;
    bool is_brief;
  };

  /// `layers` under the usual shapes.
  TrialsAhead(const Layers& layers, const RangeShapes& shapes, const Backend& backend, int threads);
  TrialsAhead(const TrialsAhead&) = delete;

  /// Under the ends, where all kernels are candidates.
  const std::vector<Problem>& at_ends() const { return at_ends_; }
  /// Where one of them lies, by its key; kNone: under the usual shapes as well, or nowhere.
  RangeEnd end_of(const std::string& key) const;
  /// The keys of the problems that its layers are under the usual shapes.
  std::vector<std::string> usual_of(const std::string& key) const;
  /// Problems of equal layers share code for all extents, by their keys: the key of the layer under
  /// the usual shapes, or the key itself where it is of no layer.
  std::string code_of(const std::string& key) const;
  size_t layers() const { return layers_.size(); }
  /// The number of the first layer that is this problem under some shapes, by its key.
  size_t layer_of(const std::string& key) const;
  /// A problem was decided, by its key: problems that can be tried from now on.
  std::vector<Wanted> decided(const std::string& key, std::span<const Candidate> best_first,
                              const Rivals& rivals);

 private:
  enum class Part : uint8_t { kEnd, kBetween, kOther };
  struct Layer {
    size_t form;  ///< 0: the graph itself.
    const Node* node;
    std::string name;  ///< Among those of all forms.
  };
  struct Shape {
    Part part;
    SymbolValues symbols;
    std::vector<std::optional<Problem>> problems;  ///< By layer.
    std::vector<std::string> keys;                 ///< Likewise; empty: none.
  };
  void add_layers(const Graph& form);
  void add(Part part, const SymbolValues& symbols, const Backend& backend, int threads);
  void list_at_ends();
  /// A layer of another form: tried by all kernels, or by those of an equal product of the graph.
  void list_of_form(const Shape& shape, const Problem& problem);
  /// The shapes of a part for one layer, once those of the part ahead are decided.
  void want(Part part, size_t layer, std::vector<Wanted>& wanted);

  std::vector<const Graph*> forms_;
  std::vector<Layer> layers_;
  std::deque<ConcreteGraph> graphs_;
  std::deque<Shape> shapes_;
  std::vector<Problem> at_ends_;
  /// By the key of a problem: those of other forms whose products are of the same extents.
  std::map<std::string, std::vector<const Problem*>> similar_;
  std::map<std::string, std::vector<std::pair<size_t, size_t>>> places_;  ///< Shapes and layers.
  std::map<Part, std::vector<size_t>> left_;   ///< By layer: shapes of the part without kernels.
  std::set<std::string> wanted_;               ///< Keys.
  KnownShapes ends_, all_;                     ///< The latter with the shapes between them.
  std::vector<KnownShape*> in_ends_, in_all_;  ///< By shape; null: it is not there.
};

}  // namespace tenon
