#include "runtime/library_starts.h"

#include "base/guard.h"

namespace tenon {

void LibraryStarts::begin(const Backend& backend, const std::set<std::string>& tactics) {
  std::set<TacticOrigin> origins;
  for (const std::string& tactic : tactics) origins.insert(backend.origin_of(tactic));
  for (const LibraryStart& library : backend.starts)
    if (is_library(library.origin) && origins.contains(library.origin)) begin(backend, library);
}

void LibraryStarts::begin_all(const Backend& backend) {
  for (const LibraryStart& library : backend.starts) begin(backend, library);
}

void LibraryStarts::begin(const Backend& backend, const LibraryStart& library) {
  const std::lock_guard lock(mutex_);
  if (!begun_.insert(library.origin).second) return;
  const auto start = [this, device = backend.device,
                      start = library.start](const std::stop_token&) {
    static_cast<void>(guarded("a library's start", [&]() -> Status {
                        TENON_TRY(device->activate());
                        return start(*device);
                      }).ok());
    --running_;
  };
  ++running_;
  // Without a thread the first kernel starts it.
  if (!threads_.emplace_back(std::make_unique<Background>())->start(start)) --running_;
}

void LibraryStarts::end() {
  const std::lock_guard lock(mutex_);
  for (const auto& thread : threads_) thread->wait();
  threads_.clear();
}

}  // namespace tenon
