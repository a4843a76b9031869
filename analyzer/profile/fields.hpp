/// The keys of profile.json: one list, walked by the writer and by the reader, so that they cannot drift apart.
///
/// An archive (profile/json_writer.hpp, profile/json_reader.hpp) offers `field(key, value)`; a plain value that a later
/// release adds to version 1 is read with `optional(key, value)`, so that older files still load. `As<A, T>` is T while
/// reading, const T while writing.
#pragma once

#include <type_traits>

#include "analyzer/profile/profile.hpp"

namespace stallcast::fields {

template <class A, class T>
using As = std::conditional_t<A::k_reading, T, const T>;

template <class A>
void describe(A& a, As<A, Outcome>& v) {
  a.field("status", v.status);
  a.field("child_exit_code", v.child_exit_code);
  a.field("words", v.words);
}

template <class A>
void describe(A& a, As<A, Host>& v) {
  a.field("name", v.name);
  a.field("kernel", v.kernel);
  a.field("cpu_model", v.cpu_model);
  a.field("logical_cpus", v.logical_cpus);
  a.field("physical_cpus", v.physical_cpus);
  a.field("usable_cpus", v.usable_cpus);
  a.field("usable_cpus_limited_by", v.usable_cpus_limited_by);
  a.field("memory_bytes", v.memory);
  a.field("memory_limit_bytes", v.memory_limit);
  a.field("shm_free_bytes", v.shm_free);
  a.field("hosts_seen", v.hosts_seen);
}

template <class A>
void describe(A& a, As<A, Job>& v) {
  a.field("framework", v.framework);
  a.field("framework_version", v.framework_version);
  a.field("python_version", v.python_version);
  a.field("loader_kind", v.loader_kind);
  a.optional("composition", v.composition);
  a.field("dataset_type", v.dataset_type);
  a.field("multiprocessing_context", v.multiprocessing_context);
  a.field("batch_size", v.batch_size);
  a.field("num_workers", v.num_workers);
  a.field("prefetch_factor", v.prefetch_factor);
  a.field("pin_memory", v.pin_memory);
  a.field("persistent_workers", v.persistent_workers);
  a.field("in_order", v.in_order);
  a.field("drop_last", v.drop_last);
  a.field("shuffled", v.shuffled);
  a.field("dataset_samples", v.dataset_samples);
  a.field("threads_per_worker", v.threads_per_worker);
  a.field("batches_per_step", v.batches_per_step);
  a.field("gradient_bytes", v.gradient_bytes);
  a.field("prepared_bytes_per_sample", v.prepared);
  a.field("loaders_seen", v.loaders_seen);
  a.field("ranks_seen", v.ranks_seen);
  a.field("ranks_expected", v.ranks_expected);
  a.optional("ranks_together", v.ranks_together);
}

template <class A>
void describe(A& a, As<A, Sighting>& v) {
  a.field("what", v.what);
  a.field("words", v.words);
}

template <class A>
void describe(A& a, As<A, Premise>& v) {
  a.field("phase", v.phase);
  a.field("check", v.check);
  a.field("expected", v.expected);
  a.field("seen", v.seen);
  a.field("holds", v.holds);
}

template <class A>
void describe(A& a, As<A, Point>& v) {
  a.field("setting", v.setting);
  a.field("phase", v.phase);
  a.field("method", v.method);
  a.unit("unit", "samples_per_s");  // of `estimate`, whose key is a contract and carries none
  a.field("estimate", v.estimate);
  a.field("premises", v.premises);
}

template <class A>
void describe(A& a, As<A, Rates>& v) {
  a.field("synthetic_samples_per_s", v.synthetic);
  a.field("cached_samples_per_s", v.cached);
  a.field("cold_samples_per_s", v.cold);
  a.field("as_is_samples_per_s", v.as_is);
  a.field("supply_cached_samples_per_s", v.supply_cached);
  a.field("supply_cold_samples_per_s", v.supply_cold);
}

template <class A>
void describe(A& a, As<A, Stalls>& v) {
  a.field("prep_frac", v.prep);
  a.field("fetch_frac", v.fetch);
  a.field("as_is_prep_frac", v.as_is_prep);
  a.field("as_is_fetch_frac", v.as_is_fetch);
  a.field("as_is_wait_frac", v.as_is_wait);
  a.field("receive_frac", v.receive);
  a.field("as_is_receive_frac", v.as_is_receive);
  a.optional("as_is_sampler_frac", v.as_is_sampler);
  a.field("epoch_pause_s", v.epoch_pause);
  a.field("interference_frac", v.interference);
  a.field("as_is_interference_frac", v.as_is_interference);
  a.field("method", v.method);
}

template <class A>
void describe(A& a, As<A, Dataset>& v) {
  a.field("files", v.files_seen);
  a.field("bytes", v.bytes_seen);
  a.field("bytes_total", v.bytes_total);
  a.field("bytes_per_sample", v.bytes_per_sample);
  a.optional("received_bytes_per_sample", v.received_per_sample);
  a.field("stored_bytes_per_sample", v.stored_bytes_per_sample);
  a.field("file_size_bytes", v.file_size_bytes);
  a.optional("small_files_frac", v.small_files);
  a.field("layout", v.layout);
  a.optional("format", v.format);
  a.field("filesystem", v.filesystem);
  a.optional("folder", v.folder);
  a.field("example_path", v.example_path);
}

template <class A>
void describe(A& a, As<A, StorageRate>& v) {
  a.field("in_flight", v.in_flight);
  a.field("rate_per_s", v.rate);
  a.field("bandwidth_bytes_per_s", v.bandwidth);
}

template <class A>
void describe(A& a, As<A, Storage>& v) {
  a.field("path", v.path);
  a.field("read", v.read);
  a.field("read_bytes", v.read_size);
  a.field("rates", v.rates);
  a.field("ceiling_per_s", v.ceiling_rate);
  a.field("ceiling_bytes_per_s", v.ceiling_bandwidth);
  a.field("saved_frac", v.saved);
  a.field("idle_read_s", v.idle_read);
  a.field("first_byte_s", v.first_byte);
  a.field("stream_bytes_per_s", v.stream_bandwidth);
  a.field("read_ahead_bytes", v.read_ahead);
  a.field("at_once_bytes", v.at_once);
}

template <class A>
void describe(A& a, As<A, CacheEpoch>& v) {
  a.field("epoch", v.epoch);
  a.field("read_bytes", v.read);
  a.field("storage_bytes", v.from_storage);
  a.field("hit_frac", v.hit);
}

template <class A>
void describe(A& a, As<A, PageCache>& v) {
  a.field("epochs", v.epochs);
  a.field("hit_frac", v.hit);
  a.field("room", v.room);
}

template <class A>
void describe(A& a, As<A, Resources>& v) {
  a.field("step_s", v.step);
  a.field("compute_s", v.compute);
  a.field("wait_s", v.wait);
  a.field("worker_wall_s_per_sample", v.worker_wall);
  a.field("worker_cpu_s_per_sample", v.worker_cpu);
  a.field("worker_cpu_cached_s_per_sample", v.worker_cpu_cached);
  a.field("worker_cpu_cold_s_per_sample", v.worker_cpu_cold);
  a.field("worker_wall_cached_s_per_sample", v.worker_wall_cached);
  a.field("worker_wall_cold_s_per_sample", v.worker_wall_cold);
  a.field("worker_run_delay_s_per_sample", v.worker_run_delay);
  a.field("read_s_per_sample", v.read);
  a.field("read_from_memory_s_per_sample", v.read_from_memory);
  a.field("collate_s_per_sample", v.collate);
  a.field("handover_s_per_sample", v.handover);
  a.field("tree_cpu_s_per_sample", v.tree_cpu);
  a.field("consumer_cpu_s_per_sample", v.consumer_cpu);
  a.field("consumer_cpu_cached_s_per_sample", v.consumer_cpu_cached);
  a.field("step_cpu_s_per_sample", v.step_cpu);
  a.field("job_cpus", v.job_cpus);
  a.field("other_processes_cpus", v.other_cpus);
  a.field("bytes_from_storage_frac", v.bytes_from_storage);
  a.field("storage_bandwidth_bytes_per_s", v.storage_bandwidth);
  a.field("worker_memory_bytes", v.worker_memory);
  a.field("anonymous_memory_bytes", v.anonymous_memory);
  a.field("page_cache_available_bytes", v.page_cache_available);
  a.field("distributions", v.distributions);
}

template <class A>
void describe(A& a, As<A, State>& v) {
  a.field("first_epoch", v.first_epoch);
  a.field("last_epoch", v.last_epoch);
  a.field("rate_samples_per_s", v.rate);
  a.field("wait_frac", v.wait);
  a.field("bytes_from_storage_frac", v.from_storage);
  a.field("storage_bandwidth_bytes_per_s", v.storage_bandwidth);
  a.field("making_s_per_sample", v.making);
}

template <class A>
void describe(A& a, As<A, Operator>& v) {
  a.field("name", v.name);
  a.field("where", v.where);
  a.field("kind", v.kind);
  a.field("state", v.state);
  a.field("samples", v.samples);
  a.field("calls_per_sample", v.calls_per_sample);
  a.field("wall_s_per_sample", v.wall);
  a.field("cpu_s_per_sample", v.cpu);
  a.field("busy_frac", v.busy);
  a.field("cpu_frac", v.cpu_share);
  a.field("wall_s", v.wall_s);
}

template <class A>
void describe(A& a, As<A, Overhead>& v) {
  a.field("throughput_frac", v.throughput);
  a.field("cpu_frac", v.cpu);
  a.field("recording_bytes", v.recording);
  a.field("dropped_records", v.dropped_records);
  a.optional("held_s", v.held);
  a.optional("measuring_s", v.measuring);
  a.optional("burst_batches", v.burst_batches);
}

template <class A>
void describe(A& a, As<A, Emulation>& v) {
  a.field("with", v.with);
  a.field("settings", v.settings);
  a.field("hits", v.hits);
  a.field("misses", v.misses);
  a.field("hit_bytes_frac", v.hit_bytes);
  a.field("requests", v.requests);
  a.field("request_bytes", v.request_bytes);
  a.field("waited_s", v.waited);
  a.field("late_s", v.late);
  a.field("stored_hits_s", v.stored_hits);
  a.field("mapped_files", v.mapped_files);
  if (!A::k_reading && v.with != "kernel") return;  // the rest is the kernel's
  a.optional("disks", v.disks);
  a.optional("controls", v.controls);
  a.field("limited_files_frac", v.limited_files);
  a.field("cpu_throttled_s", v.cpu_throttled);
}

template <class A>
void describe(A& a, As<A, GpuDevice>& v) {
  a.field("rank", v.rank);
  a.field("pid", v.pid);
  a.field("device", v.device);
  a.field("name", v.name);
  a.field("memory_bytes", v.memory);
  a.field("multiprocessors", v.multiprocessors);
  a.field("pci", v.pci);
  a.field("link", v.link);
}

template <class A>
void describe(A& a, As<A, Gpu>& v) {
  a.field("source", v.source);
  a.field("library", v.library);
  a.field("devices", v.devices);
  a.field("busy_frac", v.busy);
  a.field("exposed_copy_frac", v.exposed);
  a.field("idle_frac", v.idle);
  a.field("starved_frac", v.starved);
  a.field("busy_s", v.busy_time);
  a.field("copy_in_s", v.copy_in_time);
  a.field("exposed_copy_s", v.exposed_time);
  a.field("copy_in_bytes", v.bytes_in);
  a.field("kernels", v.kernels);
  a.field("pageable_frac", v.pageable);
  a.field("dropped", v.dropped);
}

template <class A>
void describe(A& a, As<A, CpuFunctions>& v) {
  a.field("name", v.name);
  a.field("library", v.library);
  a.field("function", v.function);
  a.field("share_frac", v.share);
}

template <class A>
void describe(A& a, As<A, CpuCounters>& v) {
  a.field("span_s", v.span);
  a.field("task_clock_s", v.task_clock);
  a.field("context_switches", v.context_switches);
  a.field("migrations", v.migrations);
  a.field("minor_faults", v.minor_faults);
  a.field("major_faults", v.major_faults);
  a.field("cycles", v.cycles);
  a.field("instructions", v.instructions);
  a.field("llc_misses", v.llc_misses);
  a.field("hardware_running_frac", v.hardware_running);
}

template <class A>
void describe(A& a, As<A, CpuProcess>& v) {
  a.field("pid", v.pid);
  a.field("name", v.name);
  a.field("role", v.role);
  a.field("samples", v.samples);
}

template <class A>
void describe(A& a, As<A, Cpu>& v) {
  a.field("source", v.source);
  a.field("sampled_hz", v.sampled_hz);
  a.field("kernel_sampled", v.kernel);
  a.field("lost", v.lost);
  a.field("worker_samples", v.worker_samples);
  a.field("main_samples", v.main_samples);
  a.field("workers_functions", v.workers);
  a.field("main_functions", v.main);
  a.field("counters", v.counters);
  a.field("processes", v.processes);
}

template <class A>
void describe(A& a, As<A, Rank>& v) {
  a.field("rank", v.rank);
  a.field("host", v.host);
  a.field("pid", v.pid);
  a.field("batches", v.batches);
  a.field("rate_samples_per_s", v.rate);
  a.field("wait_frac", v.wait);
  a.field("clock_offset_s", v.clock_offset);
  a.field("late_s", v.late);
  a.field("last_frac", v.last);
}

template <class A>
void describe(A& a, As<A, TimelineRow>& v) {
  a.field("begin_s", v.begin_s);
  a.field("end_s", v.end_s);
  a.field("steps", v.steps);
  a.field("wait_s", v.wait_s);
  a.field("longest_wait_s", v.longest_wait_s);
  a.field("phase", v.phase);
  a.optional("longest_step_s", v.longest_step_s);
}

template <class A>
void describe(A& a, As<A, PhaseStretch>& v) {
  a.field("phase", v.phase);
  a.field("round", v.round);
  a.field("begin_s", v.begin_s);
  a.field("end_s", v.end_s);
  a.field("left_out", v.left_out);
}

template <class A>
void describe(A& a, As<A, DataIssue>& v) {
  a.field("id", v.id);
  a.field("severity", v.severity);
  a.field("count", v.count);
  a.field("detail", v.detail);
  a.field("hint", v.hint);
}

template <class A>
void describe(A& a, As<A, Exchange>& v) {
  a.field("backend", v.backend);
  a.field("hook", v.hook);
  a.field("ranks", v.ranks);
  a.field("bytes", v.bytes);
  a.field("buckets", v.buckets);
  a.field("iterations", v.iterations);
  a.field("forward_s", v.forward);
  a.field("backward_s", v.backward);
  a.field("time_s", v.time);
  a.field("exposed_s", v.exposed);
  a.field("waiting_s", v.waiting);
}

/// Everything but schema_version, which is checked first.
template <class A>
void describe(A& a, As<A, Profile>& v) {
  a.field("tool_version", v.tool_version);
  a.field("outcome", v.outcome);
  if (A::k_reading || !v.seen_instead.empty()) a.optional("seen_instead", v.seen_instead);
  a.field("command", v.command);
  a.field("host", v.host);
  a.field("job", v.job);
  a.field("points", v.points);
  a.field("rates", v.rates);
  a.field("stalls", v.stalls);
  if (A::k_reading || !v.states.empty()) a.optional("states", v.states);
  a.field("premises", v.premises);
  a.field("dataset", v.dataset);
  a.field("resources", v.resources);
  if (A::k_reading || !v.operators.empty()) a.optional("operators", v.operators);
  a.field("ranks", v.ranks);
  a.field("timeline", v.timeline);
  a.optional("phases", v.phases);
  a.field("issues", v.issues);
  a.field("overhead", v.overhead);
  // Only where something was emulated: a profile without it is one of the machine's own hardware.
  if (A::k_reading || v.emulation.with != "nothing") a.optional("emulation", v.emulation);
  if (A::k_reading || !v.storage.path.empty()) a.optional("storage", v.storage);
  a.optional("page_cache", v.page_cache);
  if (A::k_reading || !v.cpu.source.empty()) a.optional("cpu", v.cpu);
  if (A::k_reading || !v.gpu.source.empty()) a.optional("gpu", v.gpu);
  if (A::k_reading || !v.exchange.backend.empty()) a.optional("exchange", v.exchange);
  a.field("measured_s", v.measured_s);
}

}  // namespace stallcast::fields
