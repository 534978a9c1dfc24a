#pragma once

namespace tenon::cuda {

/// Has a library that dlopen() gave the handle of call `function` where it called another library's
/// function of the name `symbol`. False where it calls none of that name.
bool redirect_calls(void* library, const char* symbol, void* function);

}  // namespace tenon::cuda
