#include "api/runtime.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "api/application.h"
#include "api/context.h"
#include "api/creators.h"
#include "api/engine.h"
#include "api/memory_source.h"
#include "base/guard.h"
#include "base/mapped_file.h"
#include "base/printable.h"
#include "ops/application.h"
#include "plan/plan_file.h"
#include "plugin/stored_library.h"
#include "tenon/runtime.h"

namespace tenon::api {

namespace {

bool uses(const Graph& graph, const Backend& backend, TacticOrigin origin) {
  return std::ranges::any_of(graph.nodes(), [&](const auto& node) {
    return backend.origin_of(node->tactic) == origin ||
           std::ranges::any_of(node->bodies,
                               [&](const auto& body) { return uses(*body, backend, origin); });
  });
}

/// Where a library is missing that kernels of the plan come from, others compute in their place.
void warn_of_missing_libraries(const Plan& plan, const Backend& backend, Logger& logger) {
  for (const BackendNote& note : backend.notes)
    if (note.origin != TacticOrigin::kOwn && uses(*plan.graph, backend, note.origin))
      logger.warning("Slower kernels run in place of those that the plan was built with: {}",
                     note.text);
}

/// Asks for no byte behind the plan: readers may fail there, and later bytes are not the plan's.
Result<LargeBytes> read_stream(const std::function<int64_t(void*, int64_t)>& read) {
  constexpr size_t kPiece = size_t{16} << 20;  // A damaged size must not take all memory at once.
  LargeBytes bytes;
  size_t size = kPlanPeek;
  while (bytes.size() < size) {
    const size_t held = bytes.size();
    const size_t wanted = std::min(kPiece, size - held);
    bytes.resize(held + wanted);
    const int64_t count = read(bytes.data() + held, static_cast<int64_t>(wanted));
    if (count <= 0 || count > static_cast<int64_t>(wanted))
      return user_error("the stream reader {} behind {} bytes of a plan",
                        count == 0 ? "ended" : fmt::format("failed (it answered {})", count), held);
    bytes.resize(held + static_cast<size_t>(count));
    if (bytes.size() != kPlanPeek || size != kPlanPeek) continue;
    TENON_ASSIGN(size, peek_plan_size(bytes));
  }
  return bytes;
}

}  // namespace

Result<Backend> Runtime::backend_for(DeviceKind device) const {
  if (device == DeviceKind::kCpu) return checked_cpu_backend(max_threads_);
  return cuda_backend(std::max(device_, -1));
}

Status Runtime::load_libraries(Plan& plan) const {
  const auto is_complete = [&] { return find_creators(*plan.graph).ok(); };
  if (plan.libraries == nullptr) {
    if (std::ranges::none_of(plan.graph->nodes(),
                             [](const auto& node) { return calls_application(*node); }))
      return {};
    TENON_ASSIGN(plan.loaded_libraries, plugin::load_libraries({}, {}, is_complete));
    return {};
  }
  std::vector<plugin::StoredLibrary> libraries;
  std::string names;
  plan.libraries->for_each([&](const std::string& name, const CodeLibrary::Code& code) {
    names += (names.empty() ? "" : ", ") + short_name(name.substr(name.find('/') + 1));
    libraries.push_back({name.substr(name.find('/') + 1), code.bytes,
                         fmt::format("{:016x}{:016x}", code.hash_high, code.hash_low)});
  });
  if (!host_code_allowed_)
    return user_error(
        "the plan holds plugin libraries ({}), code for the host, and the runtime runs none: where "
        "the plan's origin is trusted, call setEngineHostCodeAllowed(true)",
        names);
  const auto has = [this](TempfileControlFlag flag) {
    return (tempfile_flags_ >> static_cast<uint32_t>(flag) & 1U) != 0;
  };
  TENON_ASSIGN(
      plan.loaded_libraries,
      plugin::load_libraries(libraries,
                             {.in_memory = has(TempfileControlFlag::kALLOW_IN_MEMORY_FILES),
                              .in_folder = has(TempfileControlFlag::kALLOW_TEMPORARY_FILES),
                              .folder = temporary_directory_},
                             is_complete));
  return {};
}

Result<ICudaEngine*> Runtime::engine_of(std::shared_ptr<const void> owner,
                                        std::span<const std::byte> bytes, bool mapped) {
  // Libraries take longer to get ready than the plan to be read.
  auto starts = std::make_unique<LibraryStarts>();
  std::optional<Result<Backend>> ahead;
  if (const auto needs = peek_plan_needs(bytes); needs && needs->device != DeviceKind::kCpu) {
    ahead = backend_for(needs->device);
    if (ahead->ok()) starts->begin(**ahead, needs->tactics);
  }
  TENON_ASSIGN(Plan plan, read_plan(bytes, std::move(owner), mapped));
  TENON_TRY(load_libraries(plan));
  TENON_TRY(find_creators(*plan.graph));
  TENON_ASSIGN(Backend backend, ahead ? std::move(*ahead) : backend_for(plan.device));
  warn_of_missing_libraries(plan, backend, *reporter_);
  backend.application = std::make_shared<ReportingApplication>(reporter_);
  backend.tell = [reporter = reporter_](const std::string& message) {
    reporter->verbose("{}", message);
  };
  backend.memory = memory_of(allocator_);
  TENON_ASSIGN(auto engine, Engine::create(std::move(plan), std::move(backend), plan_code_allowed_,
                                           std::move(starts)));
  return new EngineHandle(std::move(engine), reporter_);
}

ICudaEngine* Runtime::load(std::shared_ptr<const void> owner, const void* bytes, size_t size,
                           bool mapped) noexcept {
  const std::span<const std::byte> span(static_cast<const std::byte*>(bytes), size);
  const auto engine =
      guarded("loading a plan", [&] { return engine_of(std::move(owner), span, mapped); });
  if (engine.ok()) return *engine;
  reporter_->report(engine.error());
  return nullptr;
}

ICudaEngine* Runtime::load_file(const char* path) noexcept {
  auto file = guarded("loading a plan", [&] { return map_file(path == nullptr ? "" : path); });
  if (file.ok()) return load(file->owner, file->data, file->size, true);
  reporter_->report(file.error());
  return nullptr;
}

ICudaEngine* Runtime::deserializeCudaEngine(const void* blob, std::size_t size) noexcept {
  if (blob == nullptr) {
    reporter_->report(user_error("deserializeCudaEngine was given no plan"));
    return nullptr;
  }
  return load(nullptr, blob, size);
}

ICudaEngine* Runtime::load_stream(const std::function<int64_t(void*, int64_t)>& read) noexcept {
  auto bytes = guarded("reading a plan", [&] { return read_stream(read); });
  if (bytes.ok()) {
    const auto plan = std::make_shared<const LargeBytes>(std::move(bytes).value());
    return load(plan, plan->data(), plan->size());
  }
  reporter_->report(bytes.error());
  return nullptr;
}

ICudaEngine* Runtime::deserializeCudaEngine(IStreamReader& reader) noexcept {
  return load_stream([&](void* to, int64_t size) { return reader.read(to, size); });
}

ICudaEngine* Runtime::deserializeCudaEngineV2(IStreamReaderV2& reader) noexcept {
  return load_stream([&](void* to, int64_t size) { return reader.read(to, size, nullptr); });
}

void Runtime::setDLACore(int32_t core) noexcept {
  reporter_->report(unsupported("setDLACore({}): there is no DLA", core));
}
int32_t Runtime::getDLACore() const noexcept {
  return -1;
}
int32_t Runtime::getNbDLACores() const noexcept {
  return 0;
}
void Runtime::setGpuAllocator(IGpuAllocator* allocator) noexcept {
  allocator_ = allocator;
}
void Runtime::setTemporaryDirectory(const char* path) noexcept {
  reporter_->guarded_call("setTemporaryDirectory", [&] {
    std::error_code unknown;
    if (path == nullptr || std::filesystem::is_directory(path, unknown))
      temporary_directory_ = path == nullptr ? "" : path;
    else
      reporter_->report(user_error("setTemporaryDirectory: there is no folder '{}'", path));
  });
}
const char* Runtime::getTemporaryDirectory() const noexcept {
  return temporary_directory_.c_str();
}
void Runtime::setTempfileControlFlags(TempfileControlFlags flags) noexcept {
  if (network::are_flags(*reporter_, "setTempfileControlFlags", flags,
                         EnumMax<TempfileControlFlag>()))
    tempfile_flags_ = flags;
}
TempfileControlFlags Runtime::getTempfileControlFlags() const noexcept {
  return tempfile_flags_;
}
IPluginRegistry& Runtime::getPluginRegistry() noexcept {
  return *::getPluginRegistry();
}
/// The library stays loaded: engines of its runtime may outlive this one.
IRuntime* Runtime::loadRuntime(const char* path) noexcept {
  const auto made = guarded("loadRuntime", [&]() -> Result<IRuntime*> {
    if (path == nullptr || *path == '\0') return user_error("loadRuntime was given no path");
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return user_error("loadRuntime: {}", dlerror());
    using Create = void* (*)(void* logger, int32_t version) noexcept;
    const auto create = reinterpret_cast<Create>(dlsym(library, "createInferRuntime_INTERNAL"));
    auto* runtime = create == nullptr ? nullptr : create(reporter_->logger(), NV_TENSORRT_VERSION);
    if (runtime == nullptr) return user_error("loadRuntime: '{}' makes no runtime", path);
    return static_cast<IRuntime*>(runtime);
  });
  if (made.ok()) return *made;
  reporter_->report(made.error());
  return nullptr;
}
void Runtime::setEngineHostCodeAllowed(bool allowed) noexcept {
  host_code_allowed_ = allowed;
}
bool Runtime::getEngineHostCodeAllowed() const noexcept {
  return host_code_allowed_;
}
void Runtime::setPluginRegistryParent(IPluginRegistry* parent) noexcept {
  if (parent != nullptr && parent != ::getPluginRegistry())
    reporter_->report(unsupported("setPluginRegistryParent: a process has one plugin registry"));
}

}  // namespace tenon::api

namespace tenon {

__attribute__((visibility("default"))) nvinfer1::ICudaEngine* loadEngine(
    nvinfer1::IRuntime& runtime, const char* path) noexcept {
  auto* own = dynamic_cast<api::Runtime*>(&runtime);
  return own == nullptr ? nullptr : own->load_file(path);
}

__attribute__((visibility("default"))) bool setStopFunction(nvinfer1::IExecutionContext& context,
                                                            StopFunction asked,
                                                            void* argument) noexcept {
  auto* own = dynamic_cast<api::ContextHandle*>(&context);
  if (own == nullptr) return false;
  std::function<bool()> question;
  if (asked != nullptr) question = [=] { return asked(argument); };
  own->set_stop_function(std::move(question));
  return true;
}

__attribute__((visibility("default"))) bool setPlanCodeAllowed(nvinfer1::IRuntime& runtime,
                                                               bool allowed) noexcept {
  auto* own = dynamic_cast<api::Runtime*>(&runtime);
  if (own != nullptr) own->allow_plan_code(allowed);
  return own != nullptr;
}

}  // namespace tenon
