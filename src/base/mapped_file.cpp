#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/arithmetic.h"
#include "base/printable.h"

namespace tenon {

Result<MappedBytes> map_descriptor(int descriptor, const std::string& name) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0)
    return resource_error("\"{}\": {}", name, std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return user_error("\"{}\" is not a regular file", name);
  const auto size = static_cast<uint64_t>(facts.st_size);
  if (size == 0) return MappedBytes{};
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) return resource_error("mapping \"{}\": {}", name, std::strerror(errno));
  std::shared_ptr<const void> owner(data,
                                    [size](const void* p) { munmap(const_cast<void*>(p), size); });
  return MappedBytes{static_cast<const std::byte*>(data), size, std::move(owner)};
}

Result<MappedBytes> map_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not hang; it is refused right after.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return user_error("cannot open \"{}\": {}", short_name(path), std::strerror(errno));
  auto mapped = map_descriptor(descriptor, short_name(path));
  close(descriptor);
  return mapped;
}

void release_pages(std::span<const std::byte> range) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = round_up(reinterpret_cast<uintptr_t>(range.data()), page);
  const auto end = reinterpret_cast<uintptr_t>(range.data() + range.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tenon
