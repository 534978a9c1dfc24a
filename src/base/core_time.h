#pragma once

namespace tenon {

/// How long a thread ran on a core, and how long it was ready to run while others had the cores.
class CoreTime {
 public:
  /// Follows the calling thread; may be asked by any, one at a time.
  CoreTime();

  /// Real seconds that a second of the thread's work took of late, because of other processes: 1 on
  /// a quiet machine, where the process's own threads have all cores, and where the system does not
  /// tell.
  double stretch();

 private:
  struct Seconds {
    double ran = 0, waited = 0, real = 0;
    double process = 0;  ///< Of all threads of the process, on cores.
  };
  Seconds now() const;

  int thread_;
  Seconds last_;
  double ran_ = 0, lost_ = 0;  ///< Of late: on a core, and ready to run while other processes did.
};

}  // namespace tenon
