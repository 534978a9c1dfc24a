#pragma once

#include <cstdint>

namespace tenon {

/// The most memory that this process has had in RAM at once; 0 where the system does not tell.
int64_t peak_resident_bytes();

}  // namespace tenon
