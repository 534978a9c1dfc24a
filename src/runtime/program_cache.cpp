#include "runtime/program_cache.h"

#include <algorithm>

#include "base/guard.h"

namespace tenon {

ProgramCache::Made ProgramCache::find(const Key& key, FunctionRef<Made()> make) {
  if (auto known = look_up(key)) return known;
  std::promise<Made> promise;
  std::shared_future<Made> others;
  std::list<Making>::iterator place;
  {
    const std::lock_guard lock(mutex_);
    if (auto known = look_up(key)) return known;
    const auto same = std::ranges::find(making_, key, &Making::key);
    if (same != making_.end())
      others = same->made;
    else
      place = making_.insert(making_.end(), {key, promise.get_future().share()});
  }
  if (others.valid()) return others.get();
  // Without memory for it others must not wait for ever.
  Made made = guarded("the steps for new shapes", make);
  const std::lock_guard lock(mutex_);
  making_.erase(place);
  if (made.ok()) made = guarded("the steps for new shapes", [&] { return keep(key, *made); });
  promise.set_value(made);
  return made;
}

std::shared_ptr<const Program> ProgramCache::look_up(const Key& key) {
  const std::shared_ptr<const Entries> entries = entries_.load();
  for (const auto& entry : *entries) {
    if (!(entry->key == key)) continue;
    entry->last_use = ++uses_;
    return entry->program;
  }
  return nullptr;
}

void ProgramCache::touch(const Program& program) {
  const std::shared_ptr<const Entries> entries = entries_.load();
  for (const auto& entry : *entries)
    if (entry->program.get() == &program) entry->last_use = ++uses_;
}

ProgramCache::Made ProgramCache::keep(const Key& key,
                                      const std::shared_ptr<const Program>& program) {
  auto entries = std::make_shared<Entries>(*entries_.load());
  auto entry = std::make_shared<Entry>();
  entry->key = key;
  entry->program = program;
  entry->owned_bytes = program->owned_bytes();
  entry->last_use = ++uses_;
  entries->push_back(std::move(entry));
  shrink(*entries, key.owner);
  entries_ = std::move(entries);
  return program;
}

void ProgramCache::shrink(Entries& entries, const void* owner) {
  size_t count = 0, bytes = 0;
  for (const auto& entry : entries) {
    if (entry->key.owner != owner) continue;
    ++count;
    bytes += entry->owned_bytes;
  }
  for (; count > kMost || (count > kFew && bytes > kMostBytes); --count) {
    auto oldest = entries.end();
    for (auto entry = entries.begin(); entry != entries.end(); ++entry)
      if ((*entry)->key.owner == owner &&
          (oldest == entries.end() || (*entry)->last_use < (*oldest)->last_use))
        oldest = entry;
    bytes -= (*oldest)->owned_bytes;
    entries.erase(oldest);
  }
}

void ProgramCache::forget(const void* owner) noexcept {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<const Entries> known = entries_.load();
  const auto is_owned = [&](const auto& entry) { return entry->key.owner == owner; };
  if (std::ranges::none_of(*known, is_owned)) return;
  try {
    auto entries = std::make_shared<Entries>(*known);
    std::erase_if(*entries, is_owned);
    entries_ = std::move(entries);
  } catch (const std::bad_alloc&) {
    // Destructors call this. The programs of others are made again when they are wanted.
    entries_ = none_;
  }
}

void ProgramCache::clear() {
  const std::lock_guard lock(mutex_);
  entries_ = none_;
}

}  // namespace tenon
