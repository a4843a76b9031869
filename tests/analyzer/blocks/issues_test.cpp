/// What a reader is told of a phased run's blocks beside its figures.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/analyze.hpp"
#include "analyzer/blocks/rounds.hpp"
#include "tests/analyzer/phased_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// The training process computes for a share of each step: `found` of it before the first block, `later` after that.
RunData computing_run(double found, double later) {
  PhasedSpec spec;
  spec.job.read_s = spec.job.cpu_s = 0.3;  // in two workers, against steps of 100 ms: both stalls
  spec.job.read_cv = spec.job.cpu_cv = spec.job.step_cv = 0.0;
  RunData run = make_phased_run(spec);
  std::vector<Delivery*> in_time;
  for (Delivery& delivery : run.consumers.front().passes.front().deliveries) in_time.push_back(&delivery);
  std::sort(in_time.begin(), in_time.end(),
            [](const Delivery* a, const Delivery* b) { return a->wait.end_ns < b->wait.end_ns; });
  const auto as_found = static_cast<std::size_t>(spec.as_is);
  std::uint64_t cpu_ns = 1'000'000'000;
  std::uint64_t before_ns = in_time.front()->wait.begin_ns;
  for (std::size_t i = 0; i < in_time.size(); ++i) {
    const double share = i < as_found ? found : later;
    cpu_ns += static_cast<std::uint64_t>(share * static_cast<double>(in_time[i]->wait.begin_ns - before_ns));
    before_ns = in_time[i]->wait.end_ns;
    in_time[i]->wait.cpu_ns = cpu_ns;
  }
  return run;
}

}  // namespace

TEST_CASE("a step that computes less in the blocks than it did as found is told") {
  const Profile changed = analyze_run(computing_run(0.9, 0.6));
  REQUIRE(issue_of(changed, "step-changed") != nullptr);
  CHECK(issue_of(changed, "step-changed")->detail.find("33 % less in cold ones, 33 % less in cached ones") !=
        std::string::npos);
  CHECK(issue_of(analyze_run(computing_run(0.9, 0.85)), "step-changed") == nullptr);
  CHECK(issue_of(analyze_run(computing_run(0.2, 0.1)), "step-changed") == nullptr);  // an accelerator's
}

TEST_CASE("rounds of a state that stand out are one line, and by number where they are few") {
  sections::PhaseRounds data;
  const auto told = [&](std::uint32_t slow, std::uint32_t quick) {
    Profile profile;
    data.settings.clear();
    sections::Rounds& rounds = data.settings[{record::Phase::cached, 2}];
    for (std::uint32_t round = 0; round < 15; ++round) {
      rounds[round].samples = 100.0;
      rounds[round].seconds = round < slow ? 2.0 : round < slow + quick ? 0.5 : 1.0;
    }
    sections::add_phase_issues(data, profile);
    const DataIssue* outlier = issue_of(profile, "outlier-round");
    return outlier != nullptr ? outlier->detail : std::string();
  };
  CHECK(told(0, 0).empty());
  CHECK(told(1, 0) == "round 0 of the state cached took 100 % more time than the others");
  CHECK(told(1, 2) == "rounds 0, 1, 2 of the state cached took 100 % more or 50 % less time than the others");
  CHECK(told(0, 6) == "6 of 15 rounds of the state cached took 50 % less time than the others");
}
