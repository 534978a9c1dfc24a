#include "tools/layer_search.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace tenon::tools {
namespace {

using Layers = std::vector<size_t>;

Layers joined(const Layers& a, std::span<const size_t> b) {
  Layers all = a;
  all.insert(all.end(), b.begin(), b.end());
  std::ranges::sort(all);
  return all;
}

/// Divide and conquer: of `tried`, which suffice beside `kept`, the ones that are needed.
/// `is_new`: `kept` has grown since it was last asked about.
Result<Layers> needed(const Layers& kept, bool is_new, std::span<const size_t> tried,
                      const LayersSuffice& suffice) {
  if (is_new) {
    TENON_ASSIGN(const bool enough, suffice(kept));
    if (enough) return Layers{};
  }
  if (tried.size() <= 1) return Layers(tried.begin(), tried.end());
  const auto first = tried.first(tried.size() / 2), second = tried.subspan(tried.size() / 2);
  TENON_ASSIGN(const Layers of_second, needed(joined(kept, first), true, second, suffice));
  TENON_ASSIGN(const Layers of_first,
               needed(joined(kept, of_second), !of_second.empty(), first, suffice));
  return joined(of_first, of_second);
}

}  // namespace

Result<Layers> fewest_layers(size_t count, const LayersSuffice& suffice) {
  Layers all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  return needed({}, false, all, suffice);
}

Result<Layers> leading_layers(size_t count, bool reverse, bool linear,
                              const LayersSuffice& suffice) {
  const auto leading = [&](size_t length) {
    Layers layers(length);
    std::iota(layers.begin(), layers.end(), reverse ? count - length : size_t{0});
    return layers;
  };
  size_t too_few = 0, enough = count;
  while (enough - too_few > 1) {
    const size_t tried = linear ? too_few + 1 : (too_few + enough) / 2;
    TENON_ASSIGN(const bool suffices, suffice(leading(tried)));
    (suffices ? enough : too_few) = tried;
  }
  return leading(enough);
}

}  // namespace tenon::tools
