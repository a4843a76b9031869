#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/phased_builder.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

constexpr std::uint32_t k_crop = 16;
constexpr std::uint32_t k_flip = 17;

struct Shares {
  double crop = 0.5;  ///< of a sample's time beside reading
  double flip = 0.2;  ///< likewise, in every second sample
  double seen = 1.0;  ///< of the whole, what the records tell of
};

record::PartRecord part(const record::SampleRecord& sample, std::uint32_t number, double ns) {
  record::PartRecord made{};
  made.header.aux = number;
  made.whole_ns = sample.begin_ns;
  made.wall_ns = static_cast<std::uint64_t>(ns);
  made.cpu_ns = made.wall_ns / 2;
  return made;
}

void divide(record::ProcessRecording& process, const Shares& shares) {
  process.texts.push_back(
      {record::TextKind::part, R"({"parts":[[16,"Crop","transform[0]"],[17,"Flip","transform[1]"],["x"],7]})"});
  bool flips = false;
  for (record::SampleRecord& sample : process.samples) {
    sample.wall_ns = static_cast<std::uint64_t>(static_cast<double>(sample.wall_ns) * shares.seen);
    const double own = static_cast<double>(sample.wall_ns - sample.read_ns - sample.meta_ns);
    double left = own;
    for (const auto& [number, share] : {std::pair{k_crop, shares.crop}, std::pair{k_flip, flips ? shares.flip : 0.0}}) {
      if (share <= 0.0) continue;
      process.parts.push_back(part(sample, number, share * own));
      left -= share * own;
    }
    process.parts.push_back(part(sample, record::k_part_sample, left));
    flips = !flips;
  }
}

JobSpec job() {
  JobSpec spec = prep_bound();
  spec.samples = true;
  return spec;
}

Profile divided(const JobSpec& spec, const Shares& shares) {
  RunData run = make_recordings(spec);
  for (record::ProcessRecording& process : run.processes) divide(process, shares);
  join_run(run);
  return analyze_run(run);
}

/// One after the other, without reads.
void add_samples(const record::BatchRecord& batch, record::ProcessRecording& process) {
  const std::uint64_t each = (batch.end_ns - batch.begin_ns) / batch.samples;
  for (std::uint32_t i = 0; i < batch.samples; ++i) {
    record::SampleRecord sample{};
    sample.header.aux = static_cast<std::uint32_t>(batch.batch);
    sample.index = static_cast<std::int64_t>(batch.batch * batch.samples + i);
    sample.begin_ns = batch.begin_ns + i * each;
    sample.wall_ns = each;
    process.samples.push_back(sample);
  }
}

const Operator& row(const Profile& profile, const std::string& name) {
  const auto found = std::find_if(profile.operators.begin(), profile.operators.end(),
                                  [&](const Operator& each) { return each.name == name; });
  REQUIRE(found != profile.operators.end());
  return *found;
}

bool has_issue(const Profile& profile, const std::string& id) {
  return std::any_of(profile.issues.begin(), profile.issues.end(), [&](const auto& issue) { return issue.id == id; });
}

}  // namespace

TEST_CASE("operators have their own time, and the rows add up to the busy time") {
  const Profile profile = divided(job(), {});
  REQUIRE(profile.operators.size() == 5);
  const Operator& crop = row(profile, "Crop");
  const Operator& flip = row(profile, "Flip");
  const Operator& own = row(profile, "__getitem__");
  const Operator& reads = row(profile, "reading files");
  CHECK(&crop == &profile.operators.front());
  CHECK(crop.where == "transform[0]");
  CHECK(crop.kind == "operator");
  CHECK(crop.state == "as_is");
  CHECK(crop.calls_per_sample == 1.0);
  CHECK(flip.calls_per_sample == doctest::Approx(0.5).epsilon(0.01));
  CHECK(own.kind == "getitem");
  const double preparing = 1.0 - reads.busy->mean;
  CHECK(crop.busy->mean == doctest::Approx(0.5 * preparing).epsilon(0.01));
  CHECK(flip.busy->mean == doctest::Approx(0.1 * preparing).epsilon(0.03));
  CHECK(own.busy->mean == doctest::Approx(0.4 * preparing).epsilon(0.02));
  CHECK(crop.cpu->mean.value() == doctest::Approx(0.5 * crop.wall->mean.value()).epsilon(0.001));
  CHECK(flip.wall_s->n * 2 <= crop.wall_s->n + 2 * 64);
  double sum = 0.0;
  for (const Operator& each : profile.operators) sum += each.busy->mean;
  CHECK(sum == doctest::Approx(1.0).epsilon(1e-9));
  CHECK(profile.operators.back().kind == "rest");
  const Operator& rest = profile.operators.back();
  CHECK(std::abs(rest.busy->mean) < 0.01);
  CHECK(rest.cpu.reason() == "it is what the other rows leave of the wall time");
  CHECK(rest.cpu_share.reason() == rest.cpu.reason());
  CHECK(own.cpu.has_value());
  CHECK_FALSE(has_issue(profile, "operators-do-not-add-up"));
}

TEST_CASE("parts that miss more than 3 % of the busy time are said to") {
  CHECK_FALSE(has_issue(divided(job(), {0.5, 0.2, 0.99}), "operators-do-not-add-up"));
  const Profile profile = divided(job(), {0.5, 0.2, 0.9});
  CHECK(has_issue(profile, "operators-do-not-add-up"));
  CHECK(profile.operators.back().busy->mean == doctest::Approx(0.1).epsilon(0.05));
}

TEST_CASE("waiting for a core is no operator's") {
  // Shares of the busy time: what samples take, what of that they compute, what workers wait for a core in all.
  const auto waiting = [](double seen, double computing, std::optional<double> waited) {
    RunData run = make_recordings(job());
    for (record::ProcessRecording& process : run.processes) {
      divide(process, {0.5, 0.2, seen});
      for (record::PartRecord& each : process.parts) {
        each.cpu_ns = static_cast<std::uint64_t>(computing / seen * static_cast<double>(each.wall_ns));
      }
      for (record::BatchRecord& batch : process.batches) {
        const auto making = static_cast<double>(batch.end_ns - batch.begin_ns);
        batch.run_delay_ns = waited ? static_cast<std::uint64_t>(*waited * making) : UINT64_MAX;
      }
    }
    join_run(run);
    return analyze_run(run);
  };
  const auto has_row = [](const Profile& profile) {
    return std::any_of(profile.operators.begin(), profile.operators.end(),
                       [](const Operator& each) { return each.kind == "core"; });
  };
  SUBCASE("between samples it is a row of its own, in its place, and the rows add up") {
    const Profile profile = waiting(0.8, 0.8, 0.2);
    const Operator& core = row(profile, "waiting for a core");
    CHECK(core.busy->mean == doctest::Approx(0.2).epsilon(0.03));
    CHECK(core.cpu->mean.value() == 0.0);
    CHECK(core.wall_s.reason() == "waiting for a core is known of batches, and of no sample");
    CHECK(&core < &row(profile, "Flip"));
    CHECK(std::abs(profile.operators.back().busy->mean) < 0.01);
    CHECK_FALSE(has_issue(profile, "operators-do-not-add-up"));
  }
  SUBCASE("more than is left of the busy time it is not, and then as uncertain as the rest") {
    const Profile profile = waiting(0.9, 0.9, 0.5);
    const Estimate<Fraction> core = *row(profile, "waiting for a core").busy;
    CHECK(core.mean == doctest::Approx(0.1).epsilon(0.05));
    const Estimate<Fraction> crop = *row(profile, "Crop").busy;
    CHECK(core.ci95_high - core.mean >= 0.49 * (crop.ci95_high - crop.ci95_low));
    CHECK_FALSE(has_row(waiting(1.02, 1.0, 0.5)));
    CHECK_FALSE(has_row(waiting(0.995, 0.995, 0.5)));
  }
  SUBCASE("what samples may have waited themselves is not told as between them") {
    const Profile profile = waiting(0.8, 0.7, 0.2);
    CHECK(row(profile, "waiting for a core").busy->mean == doctest::Approx(0.1).epsilon(0.1));
    CHECK(has_issue(profile, "operators-do-not-add-up"));
    CHECK_FALSE(has_row(waiting(0.8, 0.6, 0.2)));
  }
  SUBCASE("next to none is no row") {
    CHECK_FALSE(has_row(waiting(0.98, 0.98, 0.005)));
  }
  SUBCASE("not recorded, it is part of the rest") {
    const Profile profile = waiting(0.8, 0.8, std::nullopt);
    CHECK_FALSE(has_row(profile));
    CHECK(has_issue(profile, "operators-do-not-add-up"));
  }
}

TEST_CASE("without workers the consumer's own records are divided") {
  JobSpec spec = job();
  spec.loader.workers = 0;
  const Profile profile = divided(spec, {});
  CHECK(row(profile, "Crop").busy->mean ==
        doctest::Approx(0.5 * (1.0 - row(profile, "reading files").busy->mean)).epsilon(0.01));
}

TEST_CASE("no part records, no operators") {
  const Profile profile = analyze_run(make_run(job()));
  CHECK(profile.operators.empty());
  CHECK_FALSE(has_issue(profile, "operators-not-seen"));
}

TEST_CASE("phases: samples made from memory are preferred to few as found, slower ones are left out") {
  PhasedSpec spec;
  spec.job = job();
  RunData run = make_phased_run(spec);
  run.consumers.clear();
  for (record::ProcessRecording& process : run.processes) {
    for (const record::BatchRecord& batch : process.batches) add_samples(batch, process);
    divide(process, {});
  }
  join_run(run);
  const Profile profile = analyze_run(run);
  const Operator& crop = row(profile, "Crop");
  CHECK(crop.state == "cached");
  CHECK(crop.busy->mean == doctest::Approx(0.5).epsilon(0.1));
}
