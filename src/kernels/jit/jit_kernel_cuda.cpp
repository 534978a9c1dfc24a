// Kernels that are plans: compiled, loaded, launched one after the other.
#include <algorithm>
#include <bit>
#include <mutex>

#include "device/cuda/driver.h"
#include "kernels/cuda/contract.h"
#include "kernels/jit/tactic.h"
#include "kernels/movable_constants.h"
#include "kernels/shared_launches.h"

namespace tenon {
namespace {

constexpr int kMaxArguments = 128;
constexpr size_t kMaxWords = 128;  ///< Open ones of a launch that walks.
constexpr int kMaxMaps = 4;
constexpr unsigned kPortableCluster = 8;  ///< Blocks of a cluster that need none.

cuda::DeviceCode code_of(const JitLaunch& launch) {
  return {launch.name, launch.source, launch.options, {}};
}

cuda::DeviceCode open_code_of(const JitLaunch& launch) {
  return {launch.name, launch.open.text, launch.options, {}};
}

/// A launch's code, and the key that libraries have it by.
struct KeyedCode {
  cuda::DeviceCode code;
  std::string key;
  bool is_open = false;  ///< For all extents.
};

/// That code is in the plan: its text is not needed again.
KeyedCode lent_code(const JitLaunch& launch, std::string key, bool is_open) {
  return {{.name = launch.name}, std::move(key), is_open};
}

/// The launch's code for all extents where the plan has that and not the one for these, or where it
/// is wanted.
KeyedCode choose_code(const JitLaunch& launch, const CodeLibrary* library,
                      const cuda::CodeTarget& target) {
  const auto key_of = [&](const SourceText& text) {
    return cuda::source_hash(text, launch.options, target);
  };
  const bool may_be_open = library != nullptr && !library->collects() && !launch.open.text.empty();
  if (may_be_open && library->use() == CodeLibrary::Use::kOpenFirst)
    return {open_code_of(launch), key_of(launch.open.text), true};
  const bool lends = library != nullptr && library->use() == CodeLibrary::Use::kLend;
  std::string exact = key_of(launch.source);
  const bool has_exact = library != nullptr && library->has(exact);
  if (lends && has_exact) return lent_code(launch, std::move(exact), false);
  if (!may_be_open || has_exact) return {code_of(launch), std::move(exact), false};
  std::string open = key_of(launch.open.text);
  if (!library->has(open)) return {code_of(launch), std::move(exact), false};
  if (lends) return lent_code(launch, std::move(open), true);
  return {open_code_of(launch), std::move(open), true};
}

/// A function with its module.
struct LoadedCode {
  std::shared_ptr<const cuda::Module> module;
  cuda::Function function;
};

/// A launch with its loaded code.
struct LoadedLaunch {
  LoadedCode code;
  KeyedCode keyed;
  cuda::LaunchShape shape;
  std::vector<uint32_t> open_constants;  ///< The first argument, unless empty.
  std::optional<size_t> open_walk;       ///< The word of them that says how it walks.
  std::vector<JitArgument> arguments;
  std::vector<JitTensorMap> maps;
  JitArgument zeroed;
  int64_t zeroed_bytes = 0;
  bool starts_early = false;

  bool is_like(const LoadedLaunch& other) const {
    return code.module == other.code.module && keyed.key == other.keyed.key &&
           shape == other.shape && open_constants == other.open_constants &&
           open_walk == other.open_walk && arguments == other.arguments && maps == other.maps &&
           zeroed == other.zeroed && zeroed_bytes == other.zeroed_bytes &&
           starts_early == other.starts_early;
  }
};

const void* address_of(const JitArgument& argument, const LaunchArguments& launch) {
  switch (argument.kind) {
    case JitArgument::Kind::kInput:
      return static_cast<const char*>(launch.inputs[argument.index]) + argument.offset;
    case JitArgument::Kind::kOutput:
      return static_cast<char*>(launch.outputs[argument.index]) + argument.offset;
    case JitArgument::Kind::kWorkspace:
      return static_cast<char*>(launch.workspace) + argument.offset;
    case JitArgument::Kind::kNumber:
      return reinterpret_cast<const void*>(argument.offset);  // An i64 in its place.
    case JitArgument::Kind::kConstant:
    case JitArgument::Kind::kMap:
    case JitArgument::Kind::kNull:
    case JitArgument::Kind::kWalk: break;
  }
  return nullptr;
}

/// WALK of jit/hopper.cuh.
uint32_t walk_word(const Walk& walk, bool fits_cache) {
  return walk.last_reads << 2 | (fits_cache ? 2u : 0u) | (walk.backwards ? 1u : 0u);
}

/// The same in an argument's place.
const void* walk_of(const Walk& walk, bool fits_cache) {
  return std::bit_cast<const void*>(static_cast<uintptr_t>(walk_word(walk, fits_cache)));
}

/// Of a launch, planned or loaded.
constexpr auto takes_walk = [](const auto& launch) {
  return std::ranges::find(launch.arguments, JitArgument::walk()) != launch.arguments.end();
};

bool each_fits(const Problem& problem, size_t bytes) {
  const auto fits = [&](const Operand& operand) {
    return !operand.present ||
           static_cast<size_t>(operand.count() * byte_size(operand.type)) <= bytes;
  };
  return std::ranges::all_of(problem.inputs, fits) && std::ranges::all_of(problem.outputs, fits);
}

CUtensorMapDataType map_type(const JitTensorMap& map) {
  if (byte_size(map.type) == 1) return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  return map.type == DataType::kBFloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                         : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
}

CUtensorMapSwizzle swizzle_of(const JitTensorMap& map) {
  return map.row_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B : CU_TENSOR_MAP_SWIZZLE_128B;
}

Status encode_pixels(const JitTensorMap& map, const cuuint64_t* extents, const cuuint64_t* strides,
                     const void* base, CUtensorMap& to) {
  int lower[2], upper[2];
  cuuint32_t steps[4] = {1, 1, 1, 1};
  for (size_t axis = 0; axis < 2; ++axis) {
    lower[axis] = static_cast<int>(map.pixels->begin[axis]);
    upper[axis] = static_cast<int>(map.pixels->upper(map, axis));
    steps[axis + 1] = static_cast<cuuint32_t>(map.pixels->step[axis]);
  }
  TENON_DRIVER(cuTensorMapEncodeIm2col, &to, map_type(map), 4, const_cast<void*>(base), extents,
               strides + 1, lower, upper, static_cast<cuuint32_t>(map.box[0]),
               static_cast<cuuint32_t>(map.box[1]), steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               swizzle_of(map), CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return {};
}

Status encode(const JitTensorMap& map, const void* base, CUtensorMap& to) {
  cuuint64_t extents[5], strides[5];
  cuuint32_t box[5], steps[5];
  for (size_t i = 0; i < map.extents.size(); ++i) {
    extents[i] = static_cast<cuuint64_t>(map.extents[i]);
    strides[i] = static_cast<cuuint64_t>(map.strides[i] * byte_size(map.type));
    if (map.pixels) continue;
    box[i] = static_cast<cuuint32_t>(map.box[i]);
    steps[i] = 1;
  }
  if (map.pixels) return encode_pixels(map, extents, strides, base, to);
  TENON_DRIVER(cuTensorMapEncodeTiled, &to, map_type(map),
               static_cast<cuuint32_t>(map.extents.size()), const_cast<void*>(base), extents,
               strides + 1, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(map),
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return {};
}

/// The launches of a kernel but for its constants, which kernels of equal layers share.
struct Launches {
  explicit Launches(const JitPlan& plan, const Problem& problem)
      : workspace_bytes(static_cast<size_t>(plan.workspace_bytes)),
        aliases(plan.aliases),
        used(problem.inputs.size(), false) {
    for (const JitLaunch& launch : plan.launches) {
      for (const JitArgument& argument : launch.arguments) use(argument);
      for (const JitTensorMap& map : launch.maps) use(map.base);
    }
    for (const JitConstant& constant : plan.constants) recipes.push_back(constant.recipe);
  }

  Status load(cuda::CudaDevice& on, JitLaunch launch, const Problem& problem) {
    device = &on;
    library = cuda::library_of(problem);
    if (takes_walk(launch)) fits_cache = each_fits(problem, on.shared_cache_bytes());
    LoadedLaunch loaded;
    loaded.keyed = choose_code(launch, library, on.target());
    if (loaded.keyed.is_open) take_open_constants(launch, loaded);
    if (launch.arguments.size() > kMaxArguments)
      return unsupported("a kernel with {} operands", launch.arguments.size());
    loaded.shape = {
        .grid_x = static_cast<unsigned>(launch.grid[0]),
        .grid_y = static_cast<unsigned>(launch.grid[1]),
        .grid_z = static_cast<unsigned>(launch.grid[2]),
        .block_x = static_cast<unsigned>(launch.block[0]),
        .block_y = static_cast<unsigned>(launch.block[1]),
        .block_z = static_cast<unsigned>(launch.block[2]),
        .shared_bytes = static_cast<unsigned>(launch.shared_bytes),
        .cluster_x = static_cast<unsigned>(launch.cluster),
        .cooperative = launch.cooperative,
        .overlaps_previous = launch.overlaps && launch.zeroed_bytes == 0 && on.capability() >= 90};
    if (launch.maps.size() > kMaxMaps) return unsupported("a kernel with many tensor maps");
    loaded.arguments = std::move(launch.arguments);
    loaded.maps = std::move(launch.maps);
    loaded.zeroed = launch.zeroed;
    loaded.zeroed_bytes = launch.zeroed_bytes;
    TENON_ASSIGN(loaded.code, find(loaded, false));
    if (limits_shared_memory(problem)) {
      TENON_ASSIGN(const int fixed,
                   loaded.code.function.attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
      TENON_TRY(check_shared(problem, launch.name, fixed + launch.shared_bytes));
    }
    loaded.starts_early = loaded.shape.overlaps_previous && launch.starts_early;
    if (loaded.starts_early && !all.empty()) {
      TENON_ASSIGN(all.back().code, find(all.back(), true));
    }
    all.push_back(std::move(loaded));
    return {};
  }

  /// The last launch's code where the next kernel may start before its end.
  Result<LoadedCode> last_that_lets_next_start() const {
    const std::lock_guard lock(mutex);
    if (early.module == nullptr) {
      TENON_ASSIGN(early, find(all.back(), true));
    }
    return early;
  }

  bool operator==(const Launches& other) const {
    return workspace_bytes == other.workspace_bytes && aliases == other.aliases &&
           used == other.used && recipes == other.recipes && fits_cache == other.fits_cache &&
           std::ranges::equal(all, other.all, [](const LoadedLaunch& a, const LoadedLaunch& b) {
             return a.is_like(b);
           });
  }

  cuda::CudaDevice* device = nullptr;
  CodeLibrary* library = nullptr;  ///< The engine's.
  size_t workspace_bytes;
  std::vector<std::pair<int, int>> aliases;
  std::vector<bool> used;
  bool fits_cache = false;           ///< Each tensor of a walk, into that of the device.
  std::vector<std::string> recipes;  ///< Of the constants.
  std::vector<LoadedLaunch> all;

 private:
  /// Code for all extents has the walk among its numbers.
  static void take_open_constants(JitLaunch& launch, LoadedLaunch& loaded) {
    loaded.open_constants = std::move(launch.open.words);
    if (takes_walk(launch) && loaded.open_constants.size() <= kMaxWords)
      loaded.open_walk = launch.open.walk;
    if (launch.open.walk) std::erase(launch.arguments, JitArgument::walk());
  }
  Result<LoadedCode> find(const LoadedLaunch& launch, bool lets_next_start) const {
    LoadedCode loaded;
    if (lets_next_start) {
      cuda::DeviceCode code = launch.keyed.code;
      code.lets_next_start = true;
      TENON_ASSIGN(loaded.module, device->module(code, library, launch.keyed.key));
    } else {
      TENON_ASSIGN(loaded.module, device->module(launch.keyed.code, library, launch.keyed.key));
    }
    TENON_ASSIGN(loaded.function, loaded.module->kernel(launch.shape.shared_bytes));
    if (launch.shape.cluster_x > kPortableCluster)
      TENON_TRY(loaded.function.allow_large_clusters(launch.shape));
    return loaded;
  }
  void use(const JitArgument& argument) {
    if (argument.kind == JitArgument::Kind::kInput)
      used[static_cast<size_t>(argument.index)] = true;
  }

  mutable std::mutex mutex;
  mutable LoadedCode early;
};

class JitKernel final : public Kernel, public MovableConstants, public SharedLaunches {
 public:
  explicit JitKernel(std::shared_ptr<const Launches> launches) : launches_(std::move(launches)) {}

  Status keep(const Problem& problem, const JitConstant& constant) {
    if (problem.constants != nullptr && !constant.recipe.empty()) {
      TENON_ASSIGN(ConstantStore::Part part,
                   problem.constants->share_made(constant.source, constant.recipe, constant.make));
      add(std::move(part.buffer), part.bytes);
      return {};
    }
    const std::vector<std::byte> bytes = constant.make();
    TENON_ASSIGN(DeviceBuffer buffer, cuda::upload_constant(problem, bytes.data(), bytes.size()));
    add(std::move(buffer), bytes.size());
    // Shared ones are there once, however many kernels keep them.
    if (problem.constants == nullptr) owned_bytes_ += bytes.size();
    return {};
  }

  /// Whether launches name those alone that are kept.
  Status check_constants() const {
    const auto is_missing = [&](const JitArgument& argument) {
      return argument.kind == JitArgument::Kind::kConstant &&
             static_cast<size_t>(argument.index) >= blocks_.size();
    };
    for (const LoadedLaunch& launch : launches_->all)
      if (std::ranges::any_of(launch.arguments, is_missing) ||
          std::ranges::any_of(launch.maps, is_missing, &JitTensorMap::base))
        return internal_error("a launch reads a constant that its kernel does not keep");
    return {};
  }

  bool launches_like(const Kernel& other) const override {
    const auto* kernel = dynamic_cast<const JitKernel*>(&other);
    return kernel != nullptr && *launches_ == *kernel->launches_;
  }
  std::unique_ptr<Kernel> with_launches_of(const Kernel& other) const override {
    const auto* kernel = dynamic_cast<const JitKernel*>(&other);
    const auto is_nameless = [](const std::string& recipe) { return recipe.empty(); };
    if (kernel == nullptr || kernel->launches_->recipes != launches_->recipes ||
        std::ranges::any_of(launches_->recipes, is_nameless))
      return nullptr;
    auto made = std::make_unique<JitKernel>(kernel->launches_);
    made->constants_ = constants_;
    made->blocks_ = blocks_;
    made->owned_bytes_ = owned_bytes_;
    return made;
  }

  Status run(const LaunchArguments& arguments) const override {
    const void* own[kMaxArguments];
    for (size_t i = 0; i < blocks_.size(); ++i) own[i] = blocks_[i].address;
    return run_with(arguments, {own, blocks_.size()});
  }

  std::vector<Block> blocks() const override { return blocks_; }
  Status run_with(const LaunchArguments& arguments,
                  std::span<const void* const> blocks) const override {
    for (const LoadedLaunch& launch : launches_->all) {
      if (launch.zeroed_bytes > 0)
        TENON_DRIVER(cuMemsetD8Async,
                     reinterpret_cast<CUdeviceptr>(address_of(launch.zeroed, arguments)), 0,
                     static_cast<size_t>(launch.zeroed_bytes),
                     static_cast<CUstream>(arguments.queue.stream));
      CUtensorMap maps[kMaxMaps];
      for (size_t i = 0; i < launch.maps.size(); ++i)
        TENON_TRY(encode(launch.maps[i], resolve(launch.maps[i].base, arguments, blocks), maps[i]));
      const void* values[kMaxArguments + 1];
      const void* addresses[kMaxArguments + 2];
      size_t count = 0;
      uint32_t words[kMaxWords];
      if (launch.open_walk) {
        std::ranges::copy(launch.open_constants, words);
        words[*launch.open_walk] = walk_word(arguments.walk, launches_->fits_cache);
        addresses[count++] = words;
      } else if (!launch.open_constants.empty()) {
        addresses[count++] = launch.open_constants.data();
      }
      for (const JitArgument& argument : launch.arguments) {
        values[count] = argument.kind == JitArgument::Kind::kWalk
                            ? walk_of(arguments.walk, launches_->fits_cache)
                            : resolve(argument, arguments, blocks);
        addresses[count] = argument.kind == JitArgument::Kind::kMap
                               ? static_cast<const void*>(&maps[argument.index])
                               : &values[count];
        ++count;
      }
      addresses[count] = nullptr;
      const bool lets_next_start = last_.module != nullptr && &launch == &launches_->all.back();
      const cuda::Function& function = lets_next_start ? last_.function : launch.code.function;
      TENON_TRY(function.launch_addresses(launch.shape, arguments.queue.stream, addresses));
    }
    return {};
  }

  bool walks() const override {
    return std::ranges::any_of(launches_->all, [](const LoadedLaunch& launch) {
      return launch.open_walk.has_value() || takes_walk(launch);
    });
  }
  bool waits_for_previous() const override {
    return !launches_->all.empty() && launches_->all.front().starts_early;
  }
  Status let_next_start() override {
    if (launches_->all.empty()) return {};
    TENON_ASSIGN(last_, launches_->last_that_lets_next_start());
    return {};
  }
  size_t workspace_bytes() const override { return launches_->workspace_bytes; }
  size_t owned_bytes() const override { return owned_bytes_; }
  bool uses_input(int index) const override { return launches_->used[static_cast<size_t>(index)]; }
  bool may_alias(int input, int output) const override {
    return std::ranges::find(launches_->aliases, std::pair(input, output)) !=
           launches_->aliases.end();
  }

 private:
  void add(DeviceBuffer constant, size_t bytes) {
    blocks_.push_back({constant.get(), bytes});
    constants_.push_back(std::move(constant));
  }
  static const void* resolve(const JitArgument& argument, const LaunchArguments& launch,
                             std::span<const void* const> blocks) {
    if (argument.kind == JitArgument::Kind::kConstant) return blocks[argument.index];
    return address_of(argument, launch);
  }

  std::shared_ptr<const Launches> launches_;
  LoadedCode last_;  ///< Of the last launch, where the next kernel may start before its end.
  std::vector<std::shared_ptr<const void>> constants_;
  std::vector<Block> blocks_;  ///< The constants.
  size_t owned_bytes_ = 0;
};

/// What is made for a device that is only described, or for its code: it compiles, and that is all.
class CompiledKernel final : public Kernel {
 public:
  explicit CompiledKernel(bool walks) : walks_(walks) {}
  Status run(const LaunchArguments&) const override {
    return user_error("the device is described, not present");
  }
  bool walks() const override { return walks_; }

 private:
  bool walks_;
};

cuda::CodeTarget target_of(const Device& device) {
  const int capability = device.properties().compute_capability;
  const DeviceProperties* const own = own_properties(device);
  return own == nullptr ? capability : cuda::family_target(capability, own->compute_capability);
}

/// Leaves the plan's code with the library, without a kernel that could run.
Status collect(const JitPlan& plan, const cuda::CodeTarget& target, CodeLibrary& library) {
  for (const JitLaunch& launch : plan.launches) {
    // A launch without code for all extents depends on none.
    const bool open = library.collects_open() && !launch.open.text.empty();
    if (library.has(cuda::source_hash(code_of(launch), target))) continue;
    TENON_TRY(
        cuda::collect_device_code(open ? open_code_of(launch) : code_of(launch), target, library));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_jit_kernel(const Problem& problem, JitPlan plan) {
  TENON_TRY(check_launches(problem, plan));
  auto* device = dynamic_cast<cuda::CudaDevice*>(problem.device);
  CodeLibrary nobodys(CodeLibrary::Use::kCollect), *const library = cuda::library_of(problem);
  const bool collects = library != nullptr && library->collects();
  if (device == nullptr || collects) {
    CodeLibrary& into = collects ? *library : nobodys;
    TENON_TRY(collect(plan, target_of(*problem.device), into));
    const bool walks = std::ranges::any_of(plan.launches, [&](const JitLaunch& launch) {
      const bool is_open = into.collects_open() && !launch.open.text.empty();
      return takes_walk(launch) && (!is_open || launch.open.walk);
    });
    return std::unique_ptr<Kernel>(std::make_unique<CompiledKernel>(walks));
  }
  auto launches = std::make_shared<Launches>(plan, problem);
  for (JitLaunch& launch : plan.launches)
    TENON_TRY(launches->load(*device, std::move(launch), problem));
  auto kernel = std::make_unique<JitKernel>(std::move(launches));
  for (const JitConstant& constant : plan.constants) TENON_TRY(kernel->keep(problem, constant));
  TENON_TRY(kernel->check_constants());
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace tenon
