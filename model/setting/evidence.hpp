/// What must have been measured before a key of a scenario is answered: one table. Whoever adds a key that needs more
/// than a rate, a step and the cost of making a batch adds a row for each input; resolve() asks nothing else, and
/// tests/model/setting/evidence_test.cpp takes each input away in turn and asks every key.
///
/// Worked example. `storage_bandwidth=1GB/s` needs the bytes that a sample reads. Where those were not seen: exit
/// status 5, "needs the bytes read per sample", why they are absent, and which run would tell.
///
/// What a kind of loader never shows, whatever is measured, is refused apart: job/overlapped.hpp, job/unseen_reads.hpp.
#pragma once

#include <span>
#include <string_view>

#include "core/result.hpp"
#include "model/job/job_model.hpp"
#include "model/scenario/scenario.hpp"
#include "model/setting/setting.hpp"

namespace stallcast {

/// A key, and one of the inputs that it needs.
struct EvidenceRow {
  std::string_view key;
  Input needs;
  /// Whether the scenario asks for what needs it, with what `setting` has so far.
  bool (*is_asked)(const JobModel& job, const Scenario& scenario, const Setting& setting);
  /// Depends on what a cache leaves to storage: checked once that is known.
  bool after_cache = false;
};

[[nodiscard]] std::span<const EvidenceRow> evidence_table();

/// The first of the rows that `scenario` asks for and `job` lacks, as an error (not_enough_data): the key, the input,
/// why it is absent, and what would measure it.
[[nodiscard]] Status check_evidence(const JobModel& job, const Scenario& scenario, const Setting& setting,
                                    bool after_cache);

}  // namespace stallcast
