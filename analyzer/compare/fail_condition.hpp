/// Conditions under which a comparison counts as failed, as `diff --fail-on` takes them.
///
///     KEY>+N%   the number rose by more than N %      fetch_frac>+5%   (the + may be left out)
///     KEY<-N%   the number fell by more than N %      as_is_samples_per_s<-10%
///
/// KEY is one of the estimates of profile.json, with its section or without ("stalls.fetch_frac"). Of a share of the
/// step (a key that ends in _frac) N % are points: from 10 % to 16 % is +6 %. Of anything else they are a share of the
/// number before: from 400 to 360 samples/s is -10 %.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "analyzer/compare/comparison.hpp"
#include "core/result.hpp"

namespace stallcast {

/// Errors (usage): not of this form, a key that does not exist; the hint says what to write.
[[nodiscard]] Result<FailCondition> parse_fail_condition(std::string_view text);

/// Each condition against the comparison. A condition holds where the change is larger than asked and is beyond noise
/// at 95 %, over all conditions together (Bonferroni): asking more questions does not make a false alarm more likely.
[[nodiscard]] std::vector<JudgedCondition> judge(const Comparison& comparison,
                                                 std::span<const FailCondition> conditions);

}  // namespace stallcast
