#include "kernels/constant_store.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"

namespace tenon {
namespace {

constexpr size_t kMostBytes = size_t{128} << 20;
constexpr size_t kAlignment = 256;

}  // namespace

ConstantStore::ConstantStore(Device& device, MemorySource memory, size_t expected_bytes)
    : device_(device), memory_(std::move(memory)), expected_bytes_(expected_bytes) {
  if (!memory_) memory_ = [&device](size_t bytes) { return device.allocate(bytes); };
}

Result<void*> ConstantStore::allocate(size_t bytes) {
  bytes = round_up(std::max<size_t>(bytes, 1), kAlignment);
  if (block_bytes_ - block_used_ < bytes) {
    const size_t left = expected_bytes_ - std::min(expected_bytes_, given_bytes_);
    const size_t fresh = std::max(bytes, std::min(left, kMostBytes));
    TENON_ASSIGN(DeviceBuffer block, memory_(fresh));
    blocks_.push_back(std::move(block));
    block_bytes_ = fresh, block_used_ = 0;
  }
  void* const address = static_cast<std::byte*>(blocks_.back().get()) + block_used_;
  block_used_ += bytes;
  given_bytes_ += bytes;
  return address;
}

Result<const void*> ConstantStore::find(const Tensor& tensor, Queue queue) {
  static constexpr std::byte
      kNothing{};  // Of tensors without elements: an address that is not read.
  if (tensor.byte_count() == 0) return static_cast<const void*>(&kNothing);
  if (!tensor.defined())
    return user_error("the plan leaves out a constant that a kernel reads; build it again");
  if (device_.capabilities().host_addresses) return static_cast<const void*>(tensor.bytes());
  const std::lock_guard lock(mutex_);
  const auto key = std::make_pair(tensor.bytes(), tensor.byte_count());
  if (const auto known = copies_.find(key); known != copies_.end()) return known->second.address;
  const auto bytes = static_cast<size_t>(tensor.byte_count());
  TENON_ASSIGN(void* const copy, allocate(bytes));
  TENON_TRY(device_.upload(copy, tensor.bytes(), bytes, queue));
  TENON_TRY(device_.synchronize(queue));
  copies_[key] = {tensor, copy};
  return static_cast<const void*>(copy);
}

Result<DeviceBuffer> ConstantStore::upload(const void* bytes, size_t count, Queue queue) {
  TENON_ASSIGN(DeviceBuffer memory, memory_(count));
  TENON_TRY(device_.upload(memory.get(), bytes, count, queue));
  TENON_TRY(device_.synchronize(queue));
  return memory;
}

namespace {

DeviceBuffer part_of(std::shared_ptr<const DeviceBuffer> owner) {
  void* const address = owner->get();
  return DeviceBuffer(address, [owner = std::move(owner)](void*) {});
}

}  // namespace

Result<ConstantStore::SharedBuffer> ConstantStore::shared(const void* bytes, size_t count) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, count);
  const Contents contents{hash.high64, hash.low64, count};
  {
    const std::lock_guard lock(shared_mutex_);
    if (const auto found = shared_.find(contents); found != shared_.end())
      if (SharedBuffer known = found->second.lock()) return known;
  }
  // Others need not wait for this upload.
  TENON_ASSIGN(DeviceBuffer made, upload(bytes, count));
  const std::lock_guard lock(shared_mutex_);
  if (SharedBuffer known = shared_[contents].lock()) return known;
  auto known = std::make_shared<const DeviceBuffer>(std::move(made));
  std::erase_if(shared_, [](const auto& entry) { return entry.second.expired(); });
  shared_[contents] = known;
  if (kept_bytes_ + count <= most_kept_) {
    kept_.push_back(known);
    kept_bytes_ += count;
  }
  return SharedBuffer(std::move(known));
}

void ConstantStore::keep_shared(size_t most_bytes) {
  std::vector<SharedBuffer> gone;  // Goes without the lock.
  const std::lock_guard lock(shared_mutex_);
  most_kept_ = most_bytes;
  if (most_bytes > 0) return;
  gone = std::exchange(kept_, {});
  kept_bytes_ = 0;
}

Result<DeviceBuffer> ConstantStore::share(const void* bytes, size_t count) {
  TENON_ASSIGN(SharedBuffer known, shared(bytes, count));
  return part_of(std::move(known));
}

namespace {

/// The bytes of the tensor's address, type and extents, and the recipe: a new shape waits for one
/// of these for each of its kernels.
std::string key_of(const Tensor& source, const std::string& recipe) {
  const void* const address = source.bytes();
  const DataType type = source.type();
  const Extents& extents = source.extents();
  std::string key;
  key.reserve(sizeof address + sizeof type + extents.size() * sizeof extents[0] + recipe.size());
  key.append(reinterpret_cast<const char*>(&address), sizeof address);
  key.append(reinterpret_cast<const char*>(&type), sizeof type);
  key.append(reinterpret_cast<const char*>(extents.data()), extents.size() * sizeof extents[0]);
  return key + recipe;
}

}  // namespace

Result<ConstantStore::Part> ConstantStore::share_made(const Tensor& source,
                                                      const std::string& recipe,
                                                      FunctionRef<std::vector<std::byte>()> make) {
  const std::string key = key_of(source, recipe);
  {
    const std::lock_guard lock(shared_mutex_);
    if (const auto found = made_.find(key); found != made_.end())
      if (SharedBuffer known = found->second.buffer.lock())
        return Part{part_of(std::move(known)), found->second.bytes};
  }
  const std::vector<std::byte> bytes = make();
  TENON_ASSIGN(SharedBuffer known, shared(bytes.data(), bytes.size()));
  const std::lock_guard lock(shared_mutex_);
  std::erase_if(made_, [](const auto& entry) { return entry.second.buffer.expired(); });
  made_[key] = {source, known, bytes.size()};
  return Part{part_of(std::move(known)), bytes.size()};
}

void ConstantStore::clear() {
  const std::scoped_lock lock(mutex_, shared_mutex_);
  made_.clear();
  kept_.clear();
  kept_bytes_ = 0;
  copies_.clear();
  blocks_.clear();
  block_bytes_ = block_used_ = given_bytes_ = 0;
}

}  // namespace tenon
