#include "base/guard.h"

#include <exception>
#include <stdexcept>
#include <system_error>

#include "base/process_memory.h"

namespace tenon {
namespace {

constexpr double kMebi = 1 << 20;

/// Whoever asked did not say how much: how much there is tells whether it was much.
Error out_of_memory() {
  const double used = static_cast<double>(address_space_bytes()) / kMebi;
  const int64_t limit = address_space_limit();
  if (limit == INT64_MAX)
    return resource_error(
        "out of memory on the host: the system gives no more to a process of {:.0f} MiB", used);
  return resource_error(
      "out of memory on the host: the process has {:.0f} MiB of the {:.0f} that it may have "
      "(ulimit -v)",
      used, static_cast<double>(limit) / kMebi);
}

Error translated() {
  try {
    throw;
  } catch (const OutOfMemory& error) {
    return resource_error("out of memory on the host: {} bytes ({:.2f} GiB) at once", error.bytes(),
                          static_cast<double>(error.bytes()) / (1 << 30));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {
    return resource_error("out of memory on the host: more at once than there can be");
  } catch (const std::system_error& error) {
    return resource_error("the system refuses: {}", error.what());
  } catch (const std::exception& error) {
    return internal_error("unexpected: {}", error.what());
  } catch (...) {
    return internal_error("unexpected");
  }
}

}  // namespace

Error error_of_exception(std::string_view where) noexcept {
  try {
    Error error = translated();
    return where.empty() ? error : std::move(error).with_context(where);
  } catch (...) {
    // Not even the message finds room: this one needs none.
    return {ErrorKind::kResource, "out of memory"};
  }
}

}  // namespace tenon
