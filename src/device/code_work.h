#pragma once

#include <cstdint>

namespace tenon {

/// The making of device code so far, by all that use a device.
struct CodeWork {
  int64_t compiled = 0;  ///< Sources that a compiler translated; caches had the others.
  int64_t loaded = 0;    ///< Modules that the driver was given.
  double compile_seconds = 0, load_seconds = 0;  ///< Of threads, of which several may be at it.

  CodeWork operator-(const CodeWork& before) const {
    return {compiled - before.compiled, loaded - before.loaded,
            compile_seconds - before.compile_seconds, load_seconds - before.load_seconds};
  }
};

}  // namespace tenon
