#include "base/guard.h"

#include <exception>
#include <stdexcept>
#include <system_error>

namespace tenon {
namespace {

Error translated() {
  try {
    throw;
  } catch (const OutOfMemory& error) {
    return resource_error("out of memory on the host: {} bytes ({:.2f} GiB) at once", error.bytes(),
                          static_cast<double>(error.bytes()) / (1 << 30));
  } catch (const std::bad_alloc&) {
    return resource_error("out of memory on the host");
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
