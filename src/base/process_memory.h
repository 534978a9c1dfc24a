#pragma once

#include <cstdint>

namespace tenon {

/// The most memory that this process has had in RAM at once; 0 where the system does not tell.
int64_t peak_resident_bytes();
/// The address space that this process has; 0 where the system does not tell.
int64_t address_space_bytes();
/// The most that it may have; INT64_MAX where nothing limits it.
int64_t address_space_limit();

}  // namespace tenon
