// Shapes that a plan's kernels were chosen for, made ahead of their runs.
#include <algorithm>

#include "base/parallel.h"
#include "base/stopwatch.h"
#include "device/streams.h"
#include "plan/points.h"
#include "runtime/engine.h"

namespace tenon {

/// The usual ones first.
std::vector<SymbolValues> Engine::choice_shapes() const {
  std::vector<SymbolValues> shapes = plan_points(plan_);
  for (const Choice& choice : plan_.choices)
    if (std::ranges::find(shapes, choice.symbols) == shapes.end()) shapes.push_back(choice.symbols);
  return shapes;
}

/// Those of them that kernels of libraries run under.
std::vector<SymbolValues> Engine::shapes_by_libraries(
    const std::vector<SymbolValues>& shapes) const {
  std::map<std::string_view, bool> known;
  const auto is_of_library = [&](const std::string& tactic) {
    const std::string_view name = split_tactic(tactic).name;
    const auto [entry, is_new] = known.try_emplace(name, false);
    if (is_new) entry->second = is_library(backend_.origin_of(name));
    return entry->second;
  };
  Backend backend = backend_;
  std::vector<SymbolValues> found;
  for (const SymbolValues& symbols : shapes) {
    const Serving now = serving(symbols);
    backend.tactics_here = now.tactics;
    if (std::ranges::any_of(now.graph->nodes(), [&](const auto& node) {
          return is_of_library(backend.tactic_of(*node));
        }))
      found.push_back(symbols);
  }
  return found;
}

/// All shapes of the profiles besides, where programs of all can be there at a time.
void Engine::add_few_others(const std::vector<SymbolValues>& met,
                            std::vector<SymbolValues>& shapes) const {
  for (const SymbolValues& symbols : few_plan_shapes(plan_, ProgramCache::kMost))
    if (std::ranges::find(met, symbols) == met.end()) shapes.push_back(symbols);
}

void Engine::meet_choices() {
  const bool has_code = code_ != nullptr && code_->use() == CodeLibrary::Use::kLend;
  if (!has_code || has_plugins_ || data_dependent_ || plan_.stripped || weights_ != nullptr ||
      met_generation_.exchange(generation_) == generation_)
    return;
  // By one thread: the driver loads code no faster for several.
  Stopwatch watch;
  if (Streams* const streams = backend_.device->streams())
    if (auto loaded = streams->load_code(*code_); loaded.ok()) loaded_code_ = std::move(*loaded);
  if (backend_.tell)
    backend_.tell(fmt::format("The plan's code, {} modules, was loaded in {:.2f} ms", code_->size(),
                              watch.lap() * 1e3));
  const std::vector<SymbolValues> shapes = choice_shapes();
  // An application's memory is asked for within its own calls alone.
  const bool may_go_on = !backend_.memory;
  std::vector<SymbolValues> later;
  if (may_go_on) later = shapes_by_libraries(shapes);
  const bool waits = !starts_->are_over();
  // The others differ from the first in few kernels.
  for (const SymbolValues& symbols : shapes)
    if (!waits || std::ranges::find(later, symbols) == later.end())
      static_cast<void>(find_program(symbols, default_threads(), nullptr, Purpose::kChoice).ok());
  if (may_go_on) add_few_others(shapes, later);
  if (!later.empty())
    meeting_.start(
        [this, shapes = std::move(later)](const std::stop_token& stop) { meet(shapes, stop); });
  constexpr size_t kMostHelpers = 8;
  const std::unique_lock helping(helping_);
  if (helpers_ == nullptr)
    helpers_ = std::make_unique<cpu::ThreadPool>(
        static_cast<int>(std::min(helper_threads(), kMostHelpers)));
}

void Engine::meet(const std::vector<SymbolValues>& shapes, const std::stop_token& stop) {
  Streams* const streams = backend_.device->streams();
  if (streams == nullptr || !backend_.device->activate().ok() ||
      !streams->leave_captures_alone().ok())
    return;
  for (const SymbolValues& symbols : shapes) {
    if (stop.stop_requested()) return;
    const auto made = find_program(symbols, default_threads(), nullptr, Purpose::kMeeting);
    if (made.ok()) (*made)->load_library_kernels(backend_, stop);
  }
}

}  // namespace tenon
