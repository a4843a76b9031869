/// Phased runs of data that are read through maps of their files.
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/phased_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// Steps of 100 ms against makings of 0.3 s and reads of 0.3 s in two workers.
PhasedSpec both_stalls() {
  PhasedSpec spec;
  spec.job.read_s = 0.3;
  spec.job.cpu_s = 0.3;
  spec.job.read_cv = spec.job.cpu_cv = spec.job.step_cv = 0.0;
  return spec;
}

}  // namespace

TEST_CASE("of data in maps, cold blocks tell what storage gives of a sample and how large the files are") {
  RunData run = make_phased_run(both_stalls());
  for (record::ProcessRecording& process : run.processes) {
    for (record::BatchRecord& batch : process.batches) batch.io = record::IoTotals{};
    for (record::PhaseRecord& phase : process.phases) {
      const bool cold = phase.phase == static_cast<std::uint32_t>(record::Phase::cold) ||
                        phase.phase == static_cast<std::uint32_t>(record::Phase::supply_cold);
      record::MappedRecord maps{};
      maps.header.aux = phase.header.aux;
      maps.iterator_id = phase.iterator_id;
      maps.batch = phase.batch;
      maps.files = 2;
      maps.file_bytes = 4'000'000'000;
      maps.major_faults = cold ? 64 : 0;
      process.mapped.push_back(maps);
      phase.opens = 0;
      phase.opened_bytes = phase.resident_bytes = 0;
      phase.storage_bytes = cold ? 32 * 200'000 : 0;
    }
  }
  for (Consumer& consumer : run.consumers) {
    for (Pass& pass : consumer.passes) {
      for (Delivery& delivery : pass.deliveries) delivery.made.io = record::IoTotals{};
    }
  }
  const Profile profile = analyze_run(std::move(run));
  REQUIRE(profile.rates.cold.has_value());
  REQUIRE(profile.rates.cached.has_value());
  CHECK(profile.stalls.fetch->mean > 0.1);
  REQUIRE(profile.dataset.stored_bytes_per_sample.has_value());
  CHECK(profile.dataset.stored_bytes_per_sample->value() == doctest::Approx(200'000.0));
  CHECK(profile.dataset.bytes_total->value() == doctest::Approx(4e9));
  CHECK(profile.dataset.bytes_per_sample.reason() ==
        "the data are read through maps of their files (mmap): what storage gives of a sample was counted, not what a "
        "sample takes");
  CHECK(profile.resources.worker_wall_cold->mean > profile.resources.worker_wall_cached->mean);
  CHECK(std::none_of(profile.issues.begin(), profile.issues.end(),
                     [](const DataIssue& issue) { return issue.id == "reads-unseen"; }));
}
