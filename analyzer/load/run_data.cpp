#include "analyzer/load/run_data.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "analyzer/load/batch_parts.hpp"
#include "analyzer/load/constants.hpp"
#include "analyzer/load/marks.hpp"
#include "analyzer/load/no_files.hpp"
#include "analyzer/load/queue.hpp"
#include "analyzer/load/received.hpp"
#include "analyzer/load/told_by_passes.hpp"
#include "analyzer/load/trained_on.hpp"

namespace stallcast {
namespace {

using nlohmann::json;
using record::ProcessRecording;
using record::TextKind;

std::uint64_t id_of(const json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && field->is_number_integer() ? field->get<std::uint64_t>() : 0;
}

int tristate(const json& object, const char* key) {
  const auto field = object.find(key);
  if (field == object.end() || !field->is_boolean()) return -1;
  return field->get<bool>() ? 1 : 0;
}

/// A count that a loader can have; anything else was damaged, and would be allocated for by whoever replays it.
std::int64_t plausible(const json& object, const char* key) {
  const std::int64_t value = integer(object, key);
  return value >= 0 && value <= k_most_of_loader_count ? value : -1;
}

LoaderFacts loader_facts(const json& text) {
  LoaderFacts facts;
  facts.loader_id = id_of(text, "loader_id");
  facts.kind = word(text, "kind");
  if (text.contains("part_of")) facts.part_of = id_of(text, "part_of");
  const std::string composition = word(text, "composition");
  if (composition == "overlapped" || composition == "unknown") facts.composition = composition;
  facts.dataset_type = word(text, "dataset_type");
  facts.multiprocessing_context = word(text, "multiprocessing_context");
  facts.batch_size = integer(text, "batch_size");
  facts.num_workers = plausible(text, "num_workers");
  facts.prefetch_factor = plausible(text, "prefetch_factor");
  facts.dataset_samples = integer(text, "dataset_samples");
  facts.pin_memory = tristate(text, "pin_memory");
  facts.pins_memory = tristate(text, "pin_memory_effective");
  facts.persistent_workers = tristate(text, "persistent_workers");
  facts.in_order = tristate(text, "in_order");
  facts.drop_last = tristate(text, "drop_last");
  facts.shuffled = tristate(text, "shuffled");
  return facts;
}

/// Passes by iterator id while a consumer is put together.
using PassMap = std::map<std::uint64_t, Pass>;

void take_iterator(const json& text, PassMap& passes) {
  const std::uint64_t id = id_of(text, "iterator_id");
  Pass& pass = passes[id];
  pass.iterator_id = id;
  pass.loader_id = id_of(text, "loader_id");
  pass.epoch = integer(text, "epoch");
  const std::uint64_t begin_ns = id_of(text, "create_begin_ns");
  pass.made_ns = std::max(id_of(text, "create_end_ns"), begin_ns) - begin_ns;
  const auto pids = text.find("worker_pids");
  if (pids == text.end() || !pids->is_array()) return;
  for (const json& pid : *pids) {
    if (pid.is_number_integer()) pass.worker_pids.push_back(pid.get<std::int64_t>());
  }
}

void take_issue(const json& text, std::vector<DataIssue>& issues) {
  add_issue(issues, {word(text, "id"), severity_from_name(word(text, "severity")), 1, word(text, "detail"),
                     word(text, "hint")});
}

void take_mark(const json& text, Consumer& consumer, PassMap& passes) {
  const std::string what = word(text, "what");
  if (what == "loader in thread") consumer.takes_in_thread = true;
  if (what == "nested loader")
    consumer.nested[id_of(text, "loader_id")] = {integer(text, "num_workers"), integer(text, "batches"),
                                                 word(text, "dataset_type")};
  if (what == "batch function lost") consumer.lost_loaders.insert(id_of(text, "loader_id"));
  if (what == "works in next") consumer.loaders[id_of(text, "loader_id")].works_in_next = true;
  if (what != "sampler" && what != "given up") return;
  Pass& pass = passes[id_of(text, "iterator_id")];
  pass.iterator_id = id_of(text, "iterator_id");
  const auto spent_ns = static_cast<double>(id_of(text, "ns"));
  if (what == "given up") pass.given_up_ns = id_of(text, "ns");
  if (what == "sampler") pass.sampler_s = spent_ns * 1e-9 / std::max(1.0, static_cast<double>(id_of(text, "draws")));
}

void take_texts(const ProcessRecording& process, Consumer& consumer, PassMap& passes, std::vector<DataIssue>& issues) {
  for (const record::TextEntry& entry : process.texts) {
    const json text = json::parse(entry.json, nullptr, /*allow_exceptions=*/false);
    if (!text.is_object()) {
      add_issue(issues, {"unreadable-text", Severity::warning, 1, "a description in a recording is not JSON", ""});
      continue;
    }
    if (entry.kind == TextKind::process) {
      consumer.description = entry.json;
      if (consumer.world_size == 0) consumer.world_size = std::max<std::int64_t>(0, integer(text, "world_size"));
    }
    if (entry.kind == TextKind::issue) take_issue(text, issues);
    if (entry.kind == TextKind::iterator) take_iterator(text, passes);
    if (entry.kind == TextKind::mark) take_mark(text, consumer, passes);
    if (entry.kind == TextKind::loader) {
      LoaderFacts facts = loader_facts(text);
      LoaderFacts& known = consumer.loaders[facts.loader_id];
      facts.works_in_next = known.works_in_next;
      known = std::move(facts);
    }
  }
}

void take_waits(const ProcessRecording& process, PassMap& passes) {
  for (const record::WaitRecord& wait : process.waits) {
    Pass& pass = passes[wait.iterator_id];
    pass.iterator_id = wait.iterator_id;
    pass.is_over = pass.is_over || (wait.header.aux & record::k_wait_end_of_epoch) != 0;
    if ((wait.header.aux & record::k_wait_end_of_epoch) != 0) continue;
    pass.deliveries.push_back({.wait = wait});
  }
}

/// Batches of one process by the iterator they say they belong to.
struct Made {
  const record::BatchRecord* batch = nullptr;
  std::uint64_t received_bytes = 0;
};
using MadeByIterator = std::map<std::uint64_t, std::vector<Made>>;

MadeByIterator made_by_iterator(const ProcessRecording& process) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> received;
  for (const record::ReceivedRecord& of : process.received) received[{of.iterator_id, of.batch}] += of.bytes;
  MadeByIterator made;
  for (const record::BatchRecord& batch : process.batches) {
    const auto found = received.find({batch.iterator_id, batch.batch});
    made[batch.iterator_id].push_back({&batch, found != received.end() ? found->second : 0});
  }
  return made;
}

void attach_batch(Delivery& delivery, const Made& made) {
  delivery.made = *made.batch;
  delivery.made_known = true;
  count_received(delivery, made.received_bytes);
}

void attach(Pass& pass, const std::vector<Made>& made) {
  std::map<std::uint64_t, Made> by_number;
  for (const Made& one : made) by_number[one.batch->batch] = one;
  for (Delivery& delivery : pass.deliveries) {
    const auto found = by_number.find(delivery.wait.batch);
    if (found != by_number.end() && !delivery.made_known) attach_batch(delivery, found->second);
  }
}

/// Recordings by host and pid: two hosts of one job use the same pids.
using ProcessMap = std::map<std::pair<std::string, std::int64_t>, const ProcessRecording*>;

/// Joins what the workers made to what was delivered: a worker's n-th pass is the n-th iterator that names its pid.
/// `passes` is in order of creation.
void attach_workers(PassMap& passes, const std::string& host, const ProcessMap& by_pid) {
  std::map<std::int64_t, std::uint64_t> passes_seen;
  std::map<std::int64_t, MadeByIterator> made_by_pid;
  for (auto& [id, pass] : passes) {
    for (const std::int64_t pid : pass.worker_pids) {
      const std::uint64_t nth = passes_seen[pid]++;
      const auto process = by_pid.find({host, pid});
      if (process == by_pid.end()) continue;
      if (!made_by_pid.contains(pid)) made_by_pid[pid] = made_by_iterator(*process->second);
      attach(pass, made_by_pid[pid][nth]);
    }
  }
}

/// Batches that the consumer made itself (num_workers = 0, or a C API job) carry the iterator's own id.
void attach_own(PassMap& passes, const ProcessRecording& process) {
  MadeByIterator made = made_by_iterator(process);
  for (auto& [id, pass] : passes) attach(pass, made[id]);
}

void order_deliveries(Pass& pass) {
  std::sort(pass.deliveries.begin(), pass.deliveries.end(),
            [](const Delivery& a, const Delivery& b) { return a.wait.batch < b.wait.batch; });
  for (std::size_t i = 1; i < pass.deliveries.size(); ++i) {
    const record::WaitRecord& before = pass.deliveries[i - 1].wait;
    pass.deliveries[i].steps_with_predecessor = pass.deliveries[i].wait.batch == before.batch + 1;
  }
}

/// Choosing a batch is the training process' own work, whichever call it does it in: waits begin after it.
///
/// Worked example. Asked at 100 ms, had at 142; the sampler takes 40 ms a draw: the script waited for 2 ms from 140 on.
void take_sampler_out(Pass& pass) {
  for (Delivery& delivery : pass.deliveries) {
    record::WaitRecord& wait = delivery.wait;
    const auto draw_ns = static_cast<std::uint64_t>(std::max(0.0, pass.sampler_s) * 1e9);
    delivery.sampler_ns = std::min(draw_ns, std::max(wait.end_ns, wait.begin_ns) - wait.begin_ns);
    wait.begin_ns += delivery.sampler_ns;
  }
}

/// When the first block was announced; UINT64_MAX in a passive run.
std::uint64_t phases_begin(const ProcessRecording& process) {
  std::uint64_t begin_ns = UINT64_MAX;
  for (const record::TextEntry& entry : process.texts) {
    if (entry.kind != TextKind::segment) continue;
    const json text = json::parse(entry.json, nullptr, /*allow_exceptions=*/false);
    if (text.is_object()) begin_ns = std::min(begin_ns, id_of(text, "t_ns"));
  }
  return begin_ns;
}

Consumer make_consumer(const ProcessRecording& process, const ProcessMap& by_pid, std::vector<DataIssue>& issues) {
  Consumer consumer;
  consumer.pid = process.info.pid;
  consumer.rank = process.info.rank == UINT32_MAX ? -1 : static_cast<std::int64_t>(process.info.rank);
  consumer.host = process.info.host;
  consumer.world_size = static_cast<std::int64_t>(process.info.world_size);
  consumer.restart = process.info.restart;
  consumer.elastic = process.info.elastic;
  consumer.parent_pid = process.info.parent_pid;
  consumer.born_ns = process.info.start_monotonic_ns;
  consumer.phases_begin_ns = phases_begin(process);
  consumer.steps = process.steps;
  std::sort(consumer.steps.begin(), consumer.steps.end(),
            [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  PassMap passes;
  take_texts(process, consumer, passes, issues);
  take_waits(process, passes);
  for (auto& [id, pass] : passes) {
    order_deliveries(pass);
    take_sampler_out(pass);
  }
  attach_workers(passes, process.info.host, by_pid);
  attach_own(passes, process);
  for (auto& [id, pass] : passes) consumer.passes.push_back(std::move(pass));
  join_parts(consumer);
  std::erase_if(consumer.passes, [&](const Pass& pass) { return consumer.lost_loaders.contains(pass.loader_id); });
  std::stable_sort(consumer.passes.begin(), consumer.passes.end(), [](const Pass& a, const Pass& b) {
    const auto first = [](const Pass& p) { return p.deliveries.empty() ? UINT64_MAX : p.deliveries[0].wait.begin_ns; };
    return first(a) < first(b);
  });
  for (Pass& pass : consumer.passes) tell_filling(consumer, pass);
  tell_of_streams(consumer);
  leave_to_queue(consumer);
  tell_evaluations(consumer);
  return consumer;
}

void note_damage(const ProcessRecording& process, std::vector<DataIssue>& issues) {
  if (process.torn_tails > 0) {
    add_issue(issues, {"torn-tail", Severity::info, process.torn_tails,
                       "a process ended while it wrote a record; what came before it is whole", ""});
  }
  if (process.broken_blocks > 0) {
    add_issue(issues,
              {"broken-recording", Severity::warning, process.broken_blocks,
               "blocks of a recording are damaged and were skipped", "copy the recordings again if they were copied"});
  }
  if (process.info.dropped_records > 0) {
    add_issue(issues, {"records-dropped", Severity::warning, static_cast<std::int64_t>(process.info.dropped_records),
                       "records did not fit into the recording's budget or on the disk",
                       "free space in $TMPDIR, or profile fewer steps"});
  }
  if (process.info.disabled != 0) {
    add_issue(issues, {"recording-disabled", Severity::warning, 1,
                       "a process stopped recording itself (reason " + std::to_string(process.info.disabled) + ")",
                       "see $TMPDIR's free space and permissions"});
  }
}

}  // namespace

void join_run(RunData& run) {
  ProcessMap by_pid;
  for (const ProcessRecording& process : run.processes) by_pid[{process.info.host, process.info.pid}] = &process;
  for (const ProcessRecording& process : run.processes) {
    note_damage(process, run.issues);
    if (process.waits.empty()) {
      Consumer ignored;
      PassMap none;
      take_texts(process, ignored, none, run.issues);
      continue;
    }
    run.consumers.push_back(make_consumer(process, by_pid, run.issues));
  }
  std::sort(run.consumers.begin(), run.consumers.end(), [](const Consumer& a, const Consumer& b) {
    return std::tie(a.rank, a.host, a.pid) < std::tie(b.rank, b.host, b.pid);
  });
  for (Consumer& consumer : run.consumers) consumer.without_files = reads_no_file(run, consumer);
}

double seconds_until_made(const Delivery& delivery) {
  const record::WaitRecord& wait = delivery.wait;
  const bool handed_over = delivery.made_known && delivery.made.put_ns != 0;
  const std::uint64_t end_ns = handed_over ? std::clamp(delivery.made.put_ns, wait.begin_ns, wait.end_ns) : wait.end_ns;
  return static_cast<double>(end_ns - wait.begin_ns) * 1e-9;
}

}  // namespace stallcast
