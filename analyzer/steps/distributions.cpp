/// How the times of steps and samples are distributed.
#include "analyzer/steps/distributions.hpp"

#include <algorithm>
#include <utility>

#include "analyzer/steps/rank_view.hpp"
#include "analyzer/steps/timed_samples.hpp"

namespace stallcast::sections {
namespace {

/// A process of a host.
using Maker = std::pair<std::string, std::int64_t>;
/// When batches were made, as (begin, end) in ns.
using Stretches = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

void add_pass(const Consumer& consumer, const Pass& pass, std::map<Maker, Stretches>& makings) {
  for (const Delivery& delivery : pass.deliveries) {
    if (!delivery.made_known || delivery.made.begin_ns >= consumer.phases_begin_ns) continue;
    const std::uint32_t worker = delivery.made.header.aux;
    if (worker != UINT32_MAX && worker >= pass.worker_pids.size()) continue;
    const std::int64_t pid = worker == UINT32_MAX ? consumer.pid : pass.worker_pids[worker];
    makings[{consumer.host, pid}].emplace_back(delivery.made.begin_ns, delivery.made.end_ns);
  }
}

bool is_within(const Stretches& stretches, std::uint64_t time_ns) {
  const auto after = std::upper_bound(stretches.begin(), stretches.end(), std::pair(time_ns, UINT64_MAX));
  return after != stretches.begin() && time_ns < std::prev(after)->second;
}

}  // namespace

std::vector<const record::SampleRecord*> training_samples(Nodes nodes, const std::vector<RankView>& ranks) {
  std::vector<std::map<Maker, Stretches>> makings(nodes.size());
  for (const RankView& rank : ranks) {
    for (const Pass* pass : rank.window.passes) add_pass(*rank.consumer, *pass, makings[rank.node]);
  }
  std::vector<const record::SampleRecord*> samples;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (auto& [maker, stretches] : makings[node]) std::sort(stretches.begin(), stretches.end());
    for (const record::ProcessRecording& process : nodes[node].run->processes) {
      const auto made = makings[node].find({process.info.host, process.info.pid});
      if (made == makings[node].end()) continue;
      for (const record::SampleRecord& sample : process.samples) {
        if (is_within(made->second, sample.begin_ns)) samples.push_back(&sample);
      }
    }
  }
  return evenly_timed(samples).samples;
}

std::map<std::string, Distribution> distributions_of(Nodes nodes, const std::vector<RankView>& ranks) {
  std::map<std::string, Distribution> out;
  for (const RankView& rank : ranks) {
    for (const SteadyStep& step : rank.window.steps) {
      out["step_s"].add(step.step_s());
      out["wait_s"].add(step.wait_s);
      out["compute_s"].add(step.compute_s);
      if (!step.delivery->made_known) continue;
      const record::BatchRecord& made = step.delivery->made;
      const std::uint64_t making = made.end_ns - made.begin_ns;
      out["batch_make_s"].add(static_cast<double>(making) * 1e-9);
      const std::uint64_t reading = std::min(made.io.read_ns + made.io.meta_ns, making);
      out["batch_prep_s"].add(static_cast<double>(making - reading) * 1e-9);
    }
  }
  for (const record::SampleRecord* sample : training_samples(nodes, ranks)) {
    const std::uint64_t reading = std::min(sample->read_ns + sample->meta_ns, sample->wall_ns);
    out["sample_read_s"].add(static_cast<double>(sample->read_ns + sample->meta_ns) * 1e-9);
    out["sample_metadata_s"].add(static_cast<double>(sample->meta_ns) * 1e-9);
    out["sample_opens"].add(static_cast<double>(sample->opens));
    out["sample_reads"].add(static_cast<double>(sample->reads));
    out["sample_prep_s"].add(static_cast<double>(sample->wall_ns - reading) * 1e-9);
    out["sample_bytes"].add(static_cast<double>(sample->read_bytes));
  }
  return out;
}

}  // namespace stallcast::sections
