#include "analyzer/resources/operator_times.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "analyzer/steps/timed_samples.hpp"
#include "probes/record/control.hpp"

namespace stallcast {
namespace {

using nlohmann::json;
using record::Phase;
using record::ProcessRecording;

constexpr double k_ns = 1e-9;
constexpr std::array<const char*, 3> k_states{"as_is", "cached", "cold"};

/// A batch of the training loader as its process made it.
struct MadeBatch {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::size_t state = 0;  ///< index into k_states
  double samples = 0.0;
  double busy_s = 0.0;  ///< per sample
  double busy_cpu_s = 0.0;
  std::optional<double> core_wait_s{};
};

/// Process of a host -> what it made.
using Makers = std::map<std::pair<std::string, std::int64_t>, std::vector<MadeBatch>>;
using PhaseOfBatch = std::map<std::pair<std::uint64_t, std::uint64_t>, Phase>;

std::optional<std::size_t> state_of(Phase phase) {
  switch (phase) {
    case Phase::as_is:
      return 0;
    case Phase::cached:
    case Phase::supply_cached:
      return 1;
    case Phase::cold:
    case Phase::supply_cold:
    case Phase::first_touch:
      return 2;
    default:
      return std::nullopt;  // not made, or made slower on purpose
  }
}

PhaseOfBatch phases_of(const ProcessRecording& process) {
  PhaseOfBatch phases;
  for (const record::PhaseRecord& seen : process.phases) {
    phases[{seen.iterator_id, seen.batch}] = static_cast<Phase>(seen.phase);
  }
  return phases;
}

/// Of a job without files every state is as found.
std::optional<std::size_t> state_of(const record::BatchRecord& made, const PhaseOfBatch& phases,
                                    const Consumer& consumer) {
  const auto phase = phases.find({made.iterator_id, made.batch});
  const auto as_found = std::optional<std::size_t>(0);
  if (phase == phases.end()) return made.begin_ns < consumer.phases_begin_ns ? as_found : std::nullopt;
  const auto state = state_of(phase->second);
  return state && consumer.without_files ? as_found : state;
}

void take_pass(const RunData& run, const Consumer& consumer, const Pass& pass, Makers& makers) {
  std::map<std::int64_t, PhaseOfBatch> phases;
  for (const ProcessRecording& process : run.processes) {
    if (process.info.host == consumer.host && !process.phases.empty()) phases[process.info.pid] = phases_of(process);
  }
  const std::uint64_t first = std::max<std::uint64_t>(1, pass.worker_pids.size());
  for (const Delivery& delivery : pass.deliveries) {
    const record::BatchRecord& made = delivery.made;
    if (!delivery.made_known || made.batch < first || made.samples == 0 || made.end_ns <= made.begin_ns) continue;
    const std::uint32_t worker = made.header.aux;
    if (worker != UINT32_MAX && worker >= pass.worker_pids.size()) continue;
    const std::int64_t pid = worker == UINT32_MAX ? consumer.pid : pass.worker_pids[worker];
    const auto state = state_of(made, phases[pid], consumer);
    if (!state) continue;
    const double samples = made.samples;
    const auto per_sample = [samples](std::uint64_t ns) { return static_cast<double>(ns) * k_ns / samples; };
    MadeBatch batch{made.begin_ns,          made.end_ns, *state, samples, per_sample(made.end_ns - made.begin_ns),
                    per_sample(made.cpu_ns)};
    if (made.run_delay_ns != UINT64_MAX) batch.core_wait_s = per_sample(made.run_delay_ns);
    makers[{consumer.host, pid}].push_back(batch);
  }
}

const MadeBatch* batch_at(const std::vector<MadeBatch>& batches, std::uint64_t time_ns) {
  const auto after = std::upper_bound(batches.begin(), batches.end(), time_ns,
                                      [](std::uint64_t time, const MadeBatch& batch) { return time < batch.begin_ns; });
  if (after == batches.begin() || time_ns >= std::prev(after)->end_ns) return nullptr;
  return &*std::prev(after);
}

/// Names of one process's parts, as indices into those of the whole run.
class Names {
 public:
  Names() {
    index({"__getitem__", "", false});
    index({"collate", "", true});
  }

  std::map<std::uint32_t, OperatorName> of(const ProcessRecording& process) const {
    std::map<std::uint32_t, OperatorName> named{{record::k_part_sample, all_[k_rest_of_sample]},
                                                {record::k_part_collate, all_[k_rest_of_collate]}};
    for (const record::TextEntry& entry : process.texts) {
      if (entry.kind != record::TextKind::part) continue;
      const json text = json::parse(entry.json, nullptr, /*allow_exceptions=*/false);
      const auto parts = text.is_object() ? text.find("parts") : text.end();
      if (!text.is_object() || parts == text.end() || !parts->is_array()) continue;
      for (const json& part : *parts) take(part, named);
    }
    return named;
  }

  std::size_t index(const OperatorName& name) {
    const auto [found, is_new] = places_.try_emplace(name, all_.size());
    if (is_new) all_.push_back(name);
    return found->second;
  }

  std::vector<OperatorName> all() && { return std::move(all_); }

 private:
  static void take(const json& part, std::map<std::uint32_t, OperatorName>& named) {
    const bool whole = part.is_array() && part.size() == 3 && part[0].is_number_unsigned() && part[1].is_string() &&
                       part[2].is_string();
    if (whole) named[part[0].get<std::uint32_t>()] = {part[1].get<std::string>(), part[2].get<std::string>(), false};
  }

  std::vector<OperatorName> all_{};
  std::map<OperatorName, std::size_t> places_{};
};

/// The parts of one whole.
using Parts = std::vector<const record::PartRecord*>;

/// By the begin of their whole.
std::map<std::uint64_t, Parts> parts_of(const ProcessRecording& process) {
  std::map<std::uint64_t, Parts> parts;
  for (const record::PartRecord& part : process.parts) parts[part.whole_ns].push_back(&part);
  return parts;
}

void add_parts(const Parts& parts, const std::map<std::uint32_t, OperatorName>& named, Names& names,
               DividedWhole& whole) {
  for (const record::PartRecord* part : parts) {
    const auto found = named.find(part->header.aux);
    OperatorName name = found != named.end() ? found->second : OperatorName{"part " + std::to_string(part->header.aux)};
    name.in_collate = (part->flags & record::k_part_in_collate) != 0;
    const std::size_t index = names.index(name);
    auto own = std::find_if(whole.operators.begin(), whole.operators.end(),
                            [&](const auto& other) { return other.first == index; });
    if (own == whole.operators.end()) own = whole.operators.insert(own, {index, {}});
    own->second.wall_s += static_cast<double>(part->wall_ns) * k_ns;
    own->second.cpu_s += static_cast<double>(part->cpu_ns) * k_ns;
    own->second.calls += 1.0;
  }
}

/// What was divided in one state.
struct StateTimes {
  std::vector<DividedWhole> samples{};
  std::vector<DividedWhole> collates{};
  std::int64_t undivided = 0;
};

class Joiner {
 public:
  /// First of every process, so that in all of them the same samples are chosen to be spoken of.
  void collect(const ProcessRecording& process, const std::vector<MadeBatch>& batches) {
    const auto parts = parts_of(process);
    for (const record::SampleRecord& sample : process.samples) {
      const auto of_sample = parts.find(sample.begin_ns);
      const MadeBatch* batch = of_sample != parts.end() ? batch_at(batches, sample.begin_ns) : nullptr;
      if (batch == nullptr) continue;
      divided_[batch->state].push_back({sample, &process});
      // Fewer samples may have been divided than were timed.
      divided_[batch->state].back().first.period = std::max(sample.period, of_sample->second.front()->period);
    }
  }

  void choose() {
    for (const auto& of_state : divided_) {
      std::vector<const record::SampleRecord*> all;
      std::map<const record::SampleRecord*, const ProcessRecording*> process_of;
      for (const auto& [sample, process] : of_state) {
        all.push_back(&sample);
        process_of[&sample] = process;
      }
      for (const record::SampleRecord* sample : evenly_timed(all).samples) {
        chosen_.insert({process_of[sample], sample->begin_ns});
      }
    }
  }

  void take(const ProcessRecording& process, const std::vector<MadeBatch>& batches) {
    const auto named = names_.of(process);
    const auto parts = parts_of(process);
    for (const record::SampleRecord& sample : process.samples) {
      if (!chosen_.contains({&process, sample.begin_ns})) continue;
      add_sample(*batch_at(batches, sample.begin_ns), sample, parts.at(sample.begin_ns), named);
    }
    for (const auto& [begin_ns, of_whole] : parts) {
      const MadeBatch* batch = batch_at(batches, begin_ns);
      const bool in_collate = (of_whole.front()->flags & record::k_part_in_collate) != 0;
      if (batch != nullptr && in_collate) add_collate(*batch, of_whole, named);
    }
  }

  OperatorTimes chosen(bool cached_is_proven) && {
    std::size_t state = cached_is_proven && states_[1].samples.size() > states_[0].samples.size() ? 1 : 0;
    const bool made = !states_[state].samples.empty() || !states_[state].collates.empty();
    if (!made) state = 2;
    OperatorTimes times{k_states[state], std::move(names_).all(), std::move(states_[state].samples),
                        std::move(states_[state].collates), states_[state].undivided};
    const auto earlier = [](const DividedWhole& a, const DividedWhole& b) { return a.begin_ns < b.begin_ns; };
    std::sort(times.samples.begin(), times.samples.end(), earlier);
    std::sort(times.collates.begin(), times.collates.end(), earlier);
    return times;
  }

 private:
  void add_sample(const MadeBatch& batch, const record::SampleRecord& sample, const Parts& parts,
                  const std::map<std::uint32_t, OperatorName>& named) {
    DividedWhole whole{sample.begin_ns,
                       1.0,
                       static_cast<double>(sample.read_ns + sample.meta_ns) * k_ns,
                       batch.busy_s,
                       batch.busy_cpu_s,
                       batch.core_wait_s};
    add_parts(parts, named, names_, whole);
    StateTimes& state = states_[batch.state];
    for (const record::PartRecord* part : parts) state.undivided += part->undivided;
    state.samples.push_back(std::move(whole));
  }

  void add_collate(const MadeBatch& batch, const Parts& parts, const std::map<std::uint32_t, OperatorName>& named) {
    DividedWhole whole{parts.front()->whole_ns, batch.samples, 0.0, batch.busy_s * batch.samples,
                       batch.busy_cpu_s * batch.samples};
    for (const record::PartRecord* part : parts) whole.read_s += static_cast<double>(part->read_ns) * k_ns;
    add_parts(parts, named, names_, whole);
    states_[batch.state].collates.push_back(std::move(whole));
  }

  Names names_{};
  std::array<std::vector<std::pair<record::SampleRecord, const ProcessRecording*>>, k_states.size()> divided_{};
  std::set<std::pair<const ProcessRecording*, std::uint64_t>> chosen_{};
  std::array<StateTimes, k_states.size()> states_{};
};

}  // namespace

OperatorTimes operator_times(sections::Nodes nodes, std::span<const sections::RankView> ranks, bool cached_is_proven) {
  std::vector<Makers> makers(nodes.size());
  for (const sections::RankView& rank : ranks) {
    for (const Pass* pass : rank.window.passes) take_pass(*rank.run, *rank.consumer, *pass, makers[rank.node]);
  }
  Joiner joiner;
  std::vector<std::pair<const ProcessRecording*, const std::vector<MadeBatch>*>> divided;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (auto& [maker, batches] : makers[node]) {
      std::sort(batches.begin(), batches.end(),
                [](const MadeBatch& a, const MadeBatch& b) { return a.begin_ns < b.begin_ns; });
    }
    for (const ProcessRecording& process : nodes[node].run->processes) {
      const auto made = makers[node].find({process.info.host, process.info.pid});
      if (made != makers[node].end() && !process.parts.empty()) divided.emplace_back(&process, &made->second);
    }
  }
  for (const auto& [process, batches] : divided) joiner.collect(*process, *batches);
  joiner.choose();
  for (const auto& [process, batches] : divided) joiner.take(*process, *batches);
  return std::move(joiner).chosen(cached_is_proven);
}

}  // namespace stallcast
