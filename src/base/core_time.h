#pragma once

namespace tenon {

/// How long a thread ran on a core, and how long it was ready to run while others had the cores.
class CoreTime {
 public:
  /// Follows the calling thread; may be asked by any.
  CoreTime();

  /// Real seconds that a second of the thread's work took so far, because of other threads: 1 on a
  /// quiet machine, and where the system does not tell.
  double stretch() const;

 private:
  struct Seconds {
    double ran = 0, waited = 0;
  };
  Seconds now() const;

  int thread_;
  Seconds begun_;
};

}  // namespace tenon
