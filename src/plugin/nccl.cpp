#include "plugin/nccl.h"

#include <dlfcn.h>

namespace tenon::plugin {
namespace {

/// In the program itself or its global libraries, else in a library that is loaded.
void* symbol(const char* name) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  for (const char* library : {"libnccl.so.2", "libnccl.so"})
    if (void* handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD)) {
      void* found = dlsym(handle, name);
      dlclose(handle);
      if (found != nullptr) return found;
    }
  return nullptr;
}

template <class Function> bool take(Function& function, const char* name) {
  function = reinterpret_cast<Function>(symbol(name));
  return function != nullptr;
}

}  // namespace

Result<Nccl> Nccl::find() {
  Nccl nccl{};
  const bool all = take(nccl.all_reduce, "ncclAllReduce") &&
                   take(nccl.all_gather, "ncclAllGather") &&
                   take(nccl.broadcast, "ncclBroadcast") && take(nccl.reduce, "ncclReduce") &&
                   take(nccl.reduce_scatter, "ncclReduceScatter") &&
                   take(nccl.count, "ncclCommCount") && take(nccl.rank, "ncclCommUserRank") &&
                   take(nccl.destroy, "ncclCommDestroy") && take(nccl.error, "ncclGetErrorString");
  if (!all)
    return user_error(
        "the process has no NCCL (libnccl.so.2), of which setCommunicator takes a communicator");
  take(nccl.split, "ncclCommSplit");  // From NCCL 2.18 on.
  return nccl;
}

Status Nccl::check(int status, const char* call) const {
  if (status == 0) return {};
  return user_error("{} failed: {}", call, error(status));
}

}  // namespace tenon::plugin
