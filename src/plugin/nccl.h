#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace tenon::plugin {

/// The functions of NCCL that collectives need, as its C interface has them. Numbers of types and
/// of reductions are NCCL's.
struct Nccl {
  int (*all_reduce)(const void* from, void* to, size_t count, int type, int reduction, void* all,
                    void* stream);
  int (*all_gather)(const void* from, void* to, size_t sent, int type, void* all, void* stream);
  int (*broadcast)(const void* from, void* to, size_t count, int type, int root, void* all,
                   void* stream);
  int (*reduce)(const void* from, void* to, size_t count, int type, int reduction, int root,
                void* all, void* stream);
  int (*reduce_scatter)(const void* from, void* to, size_t received, int type, int reduction,
                        void* all, void* stream);
  int (*count)(const void* all, int* ranks);
  int (*rank)(const void* all, int* rank);
  int (*split)(void* all, int color, int key, void** part, void* config);
  int (*destroy)(void* all);
  const char* (*error)(int status);

  /// Those of the library that the application has loaded, whose communicators it gives.
  static Result<Nccl> find();
  /// An error where a call's answer is one; `call` names it.
  Status check(int status, const char* call) const;
};

}  // namespace tenon::plugin
