#pragma once

namespace tenon::cuda {

/// From now on process_is_ending() is true from the moment that exit() comes to objects made
/// before. To be called behind the making of each thing that belongs to a library and must not be
/// given back to it then.
void watch_process_end();

/// Whether exit() runs. Libraries may have destroyed their state by then, in an order that depends
/// on when each of their parts was opened: handles are left to the system.
bool process_is_ending();

}  // namespace tenon::cuda
