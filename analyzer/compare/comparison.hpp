/// What differs between two profiles: the result of compare() (analyzer/compare/compare.hpp), as reports show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/measured.hpp"

namespace stallcast {

enum class ChangeVerdict {
  changed,         ///< beyond noise, with every number that was compared allowed for
  perhaps,         ///< beyond its own 95 % interval, but among so many numbers one may be so by chance
  within_noise,    ///< the interval of the change holds 0
  not_comparable,  ///< absent on a side, or without an interval
};

/// How a change is told: as a share of the number before, or in the number's own unit (a share of the step has that
/// of its own: points).
enum class ChangeKind { ratio, difference };

/// From before to after: ratio - 1, or after - before.
struct Change {
  ChangeKind kind = ChangeKind::ratio;
  double mean = 0.0;
  double ci95_low = 0.0;
  double ci95_high = 0.0;
};

/// One number of both profiles.
struct ComparedNumber {
  std::string section{};  ///< rates | stalls | resources | overhead
  std::string key{};      ///< as in profile.json: its end tells the unit
  std::optional<Estimate<double>> before{};
  std::optional<Estimate<double>> after{};
  std::optional<Change> change{};
  double p_value = 1.0;  ///< of no change, for this number alone
  ChangeVerdict verdict = ChangeVerdict::not_comparable;
  std::string reason{};  ///< why it cannot be compared; else empty
};

/// Something of the job, the machine or the software that is not the same.
struct SettingChange {
  std::string section{};
  std::string key{};
  std::string before{};
  std::string after{};
};

struct Comparison {
  std::vector<ComparedNumber> numbers{};
  std::vector<SettingChange> settings{};
  std::vector<std::string> new_issues{};   ///< ids of data issues that only the profile after has
  std::vector<std::string> gone_issues{};  ///< only the profile before
  std::vector<std::string> notes{};        ///< what limits the comparison, a sentence each
};

/// "KEY>+N%" or "KEY<-N%" (analyzer/compare/fail_condition.hpp).
struct FailCondition {
  std::string text{};  ///< as written
  std::string key{};   ///< without its section
  bool rises = true;
  double threshold = 0.0;  ///< 0.05 for 5 %
};

enum class ConditionState {
  holds,            ///< the change is larger than asked, and beyond noise
  within_noise,     ///< the change is larger than asked, but noise alone may be
  not_exceeded,     ///< the change is not larger than asked
  not_enough_data,  ///< the number is absent, or without an interval
};

struct JudgedCondition {
  FailCondition condition{};
  ConditionState state = ConditionState::not_enough_data;
  ComparedNumber number{};
};

}  // namespace stallcast
