#include "select/rehearsal.h"

#include <algorithm>

#include "base/parallel.h"

namespace tenon {
namespace {

/// Kernels that were not part of so many timed sequences are let go.
constexpr int kPatience = 6;

/// The kernel reads all constants where they lie, so that layers with other constants can share it.
bool is_shareable(const Problem& problem, const Kernel& kernel) {
  for (size_t i = 0; i < problem.inputs.size(); ++i)
    if (problem.inputs[i].constant != nullptr && !kernel.uses_input(static_cast<int>(i)))
      return false;
  return true;
}

}  // namespace

Status Rehearsal::reserve() {
  if (reserved_) return {};
  for (const Problem& problem : problems_) TENON_TRY(measurer_.reserve(problem));
  reserved_ = true;
  return {};
}

Result<std::shared_ptr<Kernel>> Rehearsal::make(size_t layer, const std::string& tactic,
                                                bool lets) const {
  const TacticText text = split_tactic(tactic);
  const Tactic* found = backend_.find(text.name);
  if (found == nullptr) return unsupported("no tactic '{}'", text.name);
  TENON_TRY(backend_.device->activate());
  TENON_ASSIGN(std::shared_ptr<Kernel> kernel, found->create(problems_[layer], text.config));
  if (lets) TENON_TRY(kernel->let_next_start());
  return kernel;
}

std::shared_ptr<Kernel>* Rehearsal::known(size_t layer, size_t first, const std::string& tactic,
                                          bool lets) {
  for (const size_t owner : {first, layer}) {
    const auto found = kernels_.find({owner, tactic, lets});
    if (found == kernels_.end()) continue;
    if (owner != layer && !is_shareable(problems_[layer], *found->second.kernel)) continue;
    found->second.last_use = uses_;
    return &found->second.kernel;
  }
  return nullptr;
}

Result<std::vector<std::shared_ptr<Kernel>>> Rehearsal::find(std::span<const size_t> layers,
                                                             size_t first,
                                                             const std::string& tactic, bool lets) {
  // The first one made tells whether the others can share it.
  if (known(layers[0], first, tactic, lets) == nullptr) {
    TENON_ASSIGN(auto kernel, make(layers[0], tactic, lets));
    const size_t owner = is_shareable(problems_[layers[0]], *kernel) ? first : layers[0];
    kernels_[{owner, tactic, lets}] = {std::move(kernel), uses_};
  }
  std::vector<size_t> missing;
  for (const size_t layer : layers)
    if (known(layer, first, tactic, lets) == nullptr) missing.push_back(layer);
  std::vector<Result<std::shared_ptr<Kernel>>> made(missing.size(), std::shared_ptr<Kernel>());
  for_each_parallel(missing.size(), helper_threads(),
                    [&](size_t i) { made[i] = make(missing[i], tactic, lets); });
  for (size_t i = 0; i < missing.size(); ++i) {
    TENON_TRY(made[i]);
    kernels_[{missing[i], tactic, lets}] = {std::move(*made[i]), uses_};
  }
  std::vector<std::shared_ptr<Kernel>> kernels;
  for (const size_t layer : layers) kernels.push_back(*known(layer, first, tactic, lets));
  return kernels;
}

Status Rehearsal::set(size_t layer, std::shared_ptr<Kernel> kernel, bool lets) {
  Part& part = parts_[layer];
  TENON_ASSIGN(part.launch, measurer_.bind(problems_[layer], *kernel));
  part.kernel = std::move(kernel);
  part.lets_next_start = lets;
  return {};
}

Status Rehearsal::cast(std::span<const size_t> layers, const std::string& tactic) {
  TENON_TRY(reserve());
  TENON_ASSIGN(const auto kernels, find(layers.first(1), layers[0], tactic, false));
  const bool waits = kernels[0]->waits_for_previous();
  for (const size_t layer : layers) parts_[layer] = {tactic, layers[0], waits, false, {}, {}};
  return {};
}

Status Rehearsal::link() {
  std::map<Key, std::vector<size_t>> changing;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const bool lets = i + 1 < parts_.size() && parts_[i + 1].waits;
    if (part.kernel == nullptr || lets != part.lets_next_start)
      changing[{part.first, part.tactic, lets}].push_back(i);
  }
  for (const auto& [key, layers] : changing) {
    const auto& [first, tactic, lets] = key;
    TENON_ASSIGN(const auto kernels, find(layers, first, tactic, lets));
    for (size_t i = 0; i < layers.size(); ++i) TENON_TRY(set(layers[i], kernels[i], lets));
  }
  return {};
}

void Rehearsal::forget_unused() {
  for (size_t i = 0; i < parts_.size(); ++i)
    known(i, parts_[i].first, parts_[i].tactic, parts_[i].lets_next_start);
  std::erase_if(kernels_, [&](const auto& entry) {
    return entry.second.last_use < uses_ - kPatience && entry.second.kernel.use_count() == 1;
  });
}

Result<double> Rehearsal::time() {
  ++uses_;
  TENON_TRY(link());
  forget_unused();
  return measurer_.time_sequence([&]() -> Status {
    for (const Part& part : parts_) TENON_TRY(part.kernel->run(part.launch.arguments));
    return {};
  });
}

}  // namespace tenon
