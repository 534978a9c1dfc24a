#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/status.h"
#include "device/code_library.h"
#include "device/device.h"
#include "ir/tensor.h"

namespace tenon {

/// Gives memory of the device, aligned to 256 bytes.
using MemorySource = std::function<Result<DeviceBuffer>(size_t bytes)>;

/// Constants where a device sees them: copies that are made once, or, where host memory is device
/// memory, the constants themselves. Copies lie side by side in few blocks of memory: hundreds of
/// small ones would cost a call of the driver and a page each. Thread-safe but for clear(). The
/// device must outlive it.
class ConstantStore {
 public:
  /// Without a source of memory, the device's own is taken. Blocks are made for the expected bytes
  /// or a part of them; further ones get blocks of their own.
  explicit ConstantStore(Device& device, MemorySource memory = {}, size_t expected_bytes = 0);
  /// The copy is complete on return; `queue` is where it is made.
  Result<const void*> find(const Tensor& tensor, Queue queue = {});
  /// Memory of the caller's own with these contents, complete on return.
  Result<DeviceBuffer> upload(const void* bytes, size_t count, Queue queue = {});
  /// The same for contents that are constant: requests for equal ones get the same memory, which
  /// goes with its last owner. Kernels of several shapes so have their weights once.
  Result<DeviceBuffer> share(const void* bytes, size_t count);
  struct Part {
    DeviceBuffer buffer;
    size_t bytes = 0;
  };
  /// The same for contents that follow from a tensor's and the text of `recipe` alone: they are
  /// made where they are not there.
  Result<Part> share_made(const Tensor& source, const std::string& recipe,
                          FunctionRef<std::vector<std::byte>()> make);
  /// Keeps shared constants from now on, up to so many bytes, also where the last owner goes:
  /// kernels that are tried one after the other need not make it each. 0 lets all of that go.
  void keep_shared(size_t most_bytes);
  /// Memory of the device with whatever contents.
  Result<DeviceBuffer> memory(size_t bytes) { return memory_(bytes); }
  /// Forgets all copies; nothing may be running.
  void clear();

  /// Compiled code that kernels take instead of compiling, or where they leave what they compile;
  /// null: there is none. Set while no kernel is being made.
  void set_code(std::shared_ptr<CodeLibrary> code) { code_ = std::move(code); }
  CodeLibrary* code() const { return code_.get(); }
  std::shared_ptr<CodeLibrary> shared_code() const { return code_; }

 private:
  Result<void*> allocate(size_t bytes);
  using SharedBuffer = std::shared_ptr<const DeviceBuffer>;
  Result<SharedBuffer> shared(const void* bytes, size_t count);

  Device& device_;
  std::shared_ptr<CodeLibrary> code_;
  MemorySource memory_;
  const size_t expected_bytes_;
  std::mutex mutex_;
  /// The tensor stays, so that its address means no other.
  struct Copy {
    Tensor tensor;
    const void* address = nullptr;
  };
  /// Hash (128 bits) and size.
  using Contents = std::tuple<uint64_t, uint64_t, size_t>;
  std::mutex shared_mutex_;
  std::map<Contents, std::weak_ptr<const DeviceBuffer>> shared_;
  struct Made {
    Tensor source;
    std::weak_ptr<const DeviceBuffer> buffer;
    size_t bytes = 0;
  };
  /// By the recipe and the address, type and extents of its tensor.
  std::map<std::string, Made> made_;
  std::vector<SharedBuffer> kept_;
  size_t kept_bytes_ = 0, most_kept_ = 0;
  /// By address and size on the host.
  std::map<std::pair<const std::byte*, int64_t>, Copy> copies_;
  std::vector<DeviceBuffer> blocks_;
  size_t block_bytes_ = 0, block_used_ = 0;  ///< Of the last block.
  size_t given_bytes_ = 0;                   ///< Of all.
};

}  // namespace tenon
