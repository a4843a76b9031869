#include "tests/reports/sample_predictions.hpp"

namespace stallcast::testing {

std::vector<Prediction> sample_predictions() {
  Prediction cpus;
  cpus.scenario = {{"cpus", "4"}, {"workers", "4"}};
  cpus.throughput = {SamplesPerSecond(331.0), SamplesPerSecond(318.0), SamplesPerSecond(340.0)};
  cpus.step = Seconds(0.0967);
  cpus.epoch = Seconds(36.3);
  cpus.stall = 0.031;
  cpus.bound = "gpu";
  cpus.next_bound = "prep";
  cpus.headroom = 0.12;
  Prediction cache;
  cache.scenario = {{"cache", "100%"}};
  cache.throughput = {SamplesPerSecond(213.0), SamplesPerSecond(207.0), SamplesPerSecond(219.0)};
  cache.step = Seconds(0.150);
  cache.epoch = Measured<Seconds>::absent("the size of the data set is not known");
  cache.stall = 0.37;
  cache.bound = "prep";
  cache.next_bound = "gpu";
  Prediction bad = cache;
  bad.scenario = {{"workers", "64</script><b>"}, {"cache_policy", "`|@x\n"}};
  bad.extrapolated = true;
  bad.notes = {"only 2 workers were measured | <b>"};
  return {cpus, cache, bad};
}

PredictionGrid sample_grid() {
  PredictionGrid grid;
  grid.axes = {{"workers", {"1", "", "4"}, {"1", "2", "4</script><b>"}, 1},
               {"gpu_speedup", {"", "2"}, {"1x", "2x"}, 0}};
  grid.gaps = {{"cache", "this run read <b>everything</b> from memory"}};
  for (const char* workers : {"1", "", "4</script>"}) {
    Prediction p = sample_predictions().front();
    p.scenario.clear();
    if (*workers != '\0') p.scenario.push_back({"workers", workers});
    p.notes = {"a note that <b> all share"};
    grid.points.push_back(p);
  }
  grid.points.push_back(sample_predictions().back());
  grid.index = {0, 3, 1, 3, 2, 3};
  return grid;
}

std::vector<PredictionCurve> sample_curves() {
  PredictionCurve workers{"workers", {{"predicted", {1, 2, 4}, sample_predictions()}}, 2.0, 4.0, ""};
  PredictionCurve cache{"cache", {{"page cache <b>|`", {0.0, 1.0}, {}}, {"</script>", {0.0, 1.0}, {}}}, {}, {}, ""};
  for (CurveLine& line : cache.lines) line.y = {sample_predictions()[0], sample_predictions()[2]};
  PredictionCurve none{"<b>", {}, {}, {}, "this run read <b>everything</b> from memory"};
  return {workers, cache, none};
}

LoaderAdvice sample_recommendation() {
  return {"num_workers=2, prefetch_factor=2, persistent_workers=True",
          "the same samples/s (0.98 to 1.02 times), and a pass starts 1.8 s sooner",
          false,
          {"more than 2 workers would share the 2 usable cores", "workers that persist need not start again"},
          {{"the whole data set in <b>memory", "about 3.10 times the samples/s (2.80 to 3.40)"}}};
}

}  // namespace stallcast::testing
