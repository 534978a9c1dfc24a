#pragma once

namespace tenon::tools {

/// From here on the first Ctrl-C (SIGINT) only sets interrupted(), so that the program can end its
/// work and report; the second one ends the process.
void watch_interrupts();
bool interrupted();
/// The same, as runs ask for it (tenon/runtime.h).
bool is_interrupted(void*) noexcept;

}  // namespace tenon::tools
