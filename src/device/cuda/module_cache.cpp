#include "device/cuda/module_cache.h"

#include <algorithm>
#include <mutex>

#include "base/guard.h"

namespace tenon::cuda {

/// Many threads look up entries at a time.
std::optional<ModuleCache::Loaded> ModuleCache::find_ready(const std::string& key) const {
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.ready) return std::nullopt;
  found->second.last_use = ++uses_;
  return found->second.module.get();
}

ModuleCache::Loaded ModuleCache::find(const std::string& key, FunctionRef<Loaded()> load) {
  if (auto ready = find_ready(key)) return std::move(*ready);
  std::promise<Loaded> promise;
  std::shared_future<Loaded> known;
  {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = entries_.try_emplace(key);
    if (is_new)
      entry->second.module = promise.get_future().share();
    else
      known = entry->second.module;
    entry->second.last_use = ++uses_;
  }
  if (known.valid()) return known.get();
  // Without memory for it others must not wait for ever.
  Loaded loaded = guarded("loading device code", load);
  promise.set_value(loaded);
  std::vector<Entries::node_type> superfluous;  // To be unloaded behind the lock.
  const std::lock_guard lock(mutex_);
  if (!loaded.ok()) {
    // A load that failed for want of memory may work later.
    entries_.erase(key);
    return loaded;
  }
  entries_.at(key).ready = true;
  superfluous = take_superfluous();
  return loaded;
}

std::vector<ModuleCache::Entries::node_type> ModuleCache::take_superfluous() {
  std::vector<Entries::iterator> unused;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
    if (entry->second.ready && entry->second.module.get()->use_count() == 1)
      unused.push_back(entry);
  std::vector<Entries::node_type> superfluous;
  if (unused.size() <= most_unused_) return superfluous;
  std::sort(unused.begin(), unused.end(),
            [](const auto& a, const auto& b) { return a->second.last_use < b->second.last_use; });
  unused.resize(unused.size() - most_unused_);
  for (const auto& entry : unused) superfluous.push_back(entries_.extract(entry));
  return superfluous;
}

size_t ModuleCache::size() const {
  const std::shared_lock lock(mutex_);
  return entries_.size();
}

void ModuleCache::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace tenon::cuda
