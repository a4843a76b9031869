#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/blocks/blocks.hpp"
#include "tests/analyzer/phased_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

TEST_CASE("blocks in an evaluation tell nothing of the training") {
  for (const int workers : {0, 2}) {
    CAPTURE(workers);
    PhasedSpec spec = phased_both_stalls();
    spec.job.loader.workers = workers;
    RunData run = make_phased_run(spec);
    const auto is_left_out = [](const PhaseBlock& block) {
      return block.rejected == "its batches were evaluated, not trained on";
    };
    const auto trained = phase_blocks(run.consumers.at(0), run.processes);
    REQUIRE(trained.size() > 10);
    CHECK(std::none_of(trained.begin(), trained.end(), is_left_out));
    run.consumers[0].passes.at(0).is_evaluation = true;
    const auto evaluated = phase_blocks(run.consumers.at(0), run.processes);
    CHECK(evaluated.size() == trained.size());
    CHECK(std::all_of(evaluated.begin(), evaluated.end(), is_left_out));
  }
}
