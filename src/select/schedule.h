#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "select/shortlist.h"

namespace tenon {

/// In which order problems are decided and their candidates tried, and how long that will take:
/// tells SelectOptions::watch, and ends trials where the build's time is up.
class Schedule {
 public:
  explicit Schedule(const SelectScope& scope) : scope_(scope) {}

  /// Tells the watch how long the choice will take, with other problems that are tried `beside`.
  /// Gives the order in which to decide: the largest first where the time is limited or kernels are
  /// tried one by one, so that the paces of large ones are known early; else the problems' own.
  std::vector<size_t> announce(std::span<const Problem> problems, std::span<const Problem> beside,
                               FunctionRef<const Shortlist&(const Problem&)> list_of);
  /// Which candidates wait for another problem has changed.
  void tell_held(const Problem& problem, const Shortlist& list, size_t problems = 1) const;
  /// An option's kernel is to be made by one of several threads; that begins; it was made in so
  /// many seconds.
  void will_make(const Problem& problem, const Option& option) const;
  void makes(const Problem& problem, const Option& option) const;
  void made(const Problem& problem, const Option& option,
            const TrialForecast::Making& seconds) const;
  /// An option whose time is not known will be tried.
  void tries(const Problem& problem, const Option& option) const;
  /// Its first launches have ended, and launches of so many seconds follow.
  void launched(const Problem& problem, double seconds, int launches) const;
  /// It was tried.
  void did(const Problem& problem, const Option& option,
           const BuildForecast::TrialTimes& times) const;
  /// Options that were announced and are left out.
  void tell_left_out(const Problem& problem, std::span<const Option> options,
                     std::span<const Trial> trials) const;
  /// The tactic that was chosen.
  void tell_decided(const Problem& problem, const std::string& tactic) const;
  /// The best one's seconds, and how many kernels are nearly as good.
  void tell_rivals(const Problem& problem, double seconds, size_t rivals) const;
  bool is_out_of_time() const;

  /// Indices of the untried options to try next, in ascending order: the next stage of a staged
  /// tactic, all options of the others.
  std::vector<size_t> wanted(const Shortlist& list) const;

 private:
  bool is_announced(const Problem& problem) const;
  bool makes_several() const;
  void announce(const Problem& problem, const Shortlist& list) const;
  std::vector<size_t> wanted_of(const Shortlist& list, std::vector<size_t> options,
                                double best) const;
  static std::vector<size_t> wanted_at_end(const Shortlist& list, std::span<const size_t> options,
                                           std::span<const double> tried);

  const SelectScope& scope_;
  std::set<std::string> announced_;  ///< Keys of problems that the watch expects.
  size_t candidates_ = 0;            ///< Of the announced ones.
};

}  // namespace tenon
