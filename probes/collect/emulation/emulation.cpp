#include "probes/collect/emulation/emulation.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "probes/collect/emulation/constants.hpp"

namespace stallcast::collect {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr std::uint32_t k_entries = 2 * k_most_units;

double ns_per(double rate_per_s) {
  return 1e9 / rate_per_s;
}

record::EmulationSettings settings_of(const EmulationOptions& options) {
  record::EmulationSettings settings{};
  if (options.bandwidth) settings.ns_per_byte = ns_per(options.bandwidth->value());
  if (options.requests) settings.ns_per_request = ns_per(options.requests->value());
  if (options.latency) settings.latency_ns = static_cast<std::uint64_t>(options.latency->value() * 1e9);
  settings.policy = options.policy;
  settings.cache_share = options.cache_share.value_or(-1.0);
  if (options.cache_size) settings.cache_bytes = static_cast<std::uint64_t>(options.cache_size->value());
  if (options.read_ahead) settings.read_ahead_bytes = static_cast<std::uint64_t>(options.read_ahead->value());
  settings.first_hit_share = options.first_hit_share;
  if (options.policy == record::EmulatedPolicy::none) return settings;
  settings.most_units = k_most_units;
  settings.index_entries = k_entries;
  settings.log_entries = options.policy == record::EmulatedPolicy::lru ? k_entries : 0;
  return settings;
}

void* map_file(const std::filesystem::path& path, std::uint64_t bytes) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  void* memory = MAP_FAILED;
  const int refused = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (refused == 0) memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int reason = refused != 0 ? refused : errno;
  close(file);
  errno = reason;
  return memory == MAP_FAILED ? nullptr : memory;
}

double seconds(const std::atomic<std::uint64_t>& ns) {
  return static_cast<double>(ns.load(k_relaxed)) * 1e-9;
}

std::int64_t count(const std::atomic<std::uint64_t>& value) {
  return static_cast<std::int64_t>(value.load(k_relaxed));
}

void add_late(const record::EmulationCounters& counters, std::vector<DataIssue>& issues) {
  const double late_s = seconds(counters.late_ns);
  const double emulated_s = seconds(counters.waited_ns);
  if (late_s <= k_late_share * emulated_s) return;
  issues.push_back(
      {"emulation-too-fast", Severity::warning, count(counters.late_reads),
       fmt::format("the real storage was slower than the emulated one: reads ended {:.3g} s too late, in sum, "
                   "beside {:.3g} s that the emulated storage takes for them",
                   late_s, emulated_s),
       "bring the data into memory first (read it once), or emulate slower storage"});
}

void add_stored_hits(const record::EmulationCounters& counters, std::vector<DataIssue>& issues) {
  const double stored_s = seconds(counters.stored_hit_ns);
  if (stored_s <= k_late_share * (seconds(counters.waited_ns) + seconds(counters.hit_read_ns))) return;
  issues.push_back(
      {"emulated-cache-not-in-memory", Severity::warning, count(counters.stored_hits),
       fmt::format("what counts as cached was not in memory: such reads waited {:.3g} s for the real storage",
                   stored_s),
       "bring the data into memory first (read it once)"});
}

}  // namespace

Result<Emulation> Emulation::create(const std::filesystem::path& folder, const EmulationOptions& options) {
  const record::EmulationSettings settings = settings_of(options);
  Emulation emulation;
  emulation.bytes_ = record::emulation_bytes(settings);
  void* memory = map_file(folder / record::k_emulation_file, emulation.bytes_);
  if (memory == nullptr) {
    return Error{ErrorCode::environment,
                 fmt::format("cannot make the emulated storage in {} ({} bytes): {}", folder.parent_path().string(),
                             emulation.bytes_, std::strerror(errno)),
                 "set TMPDIR to a folder on a local disk with free space"};
  }
  emulation.block_ = new (memory) record::EmulationBlock{};
  emulation.block_->settings = settings;
  emulation.block_->abi = record::k_emulation_abi;
  std::memcpy(emulation.block_->magic, record::k_emulation_magic, sizeof emulation.block_->magic);
  return emulation;
}

Emulation::Emulation(Emulation&& other) noexcept {
  *this = std::move(other);
}

Emulation& Emulation::operator=(Emulation&& other) noexcept {
  std::swap(block_, other.block_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Emulation::~Emulation() {
  if (block_ != nullptr) munmap(block_, bytes_);
}

std::vector<DataIssue> Emulation::issues() const {
  const record::EmulationCounters& counters = block_->counters;
  std::vector<DataIssue> issues;
  add_late(counters, issues);
  add_stored_hits(counters, issues);
  if (counters.mapped_files.load(k_relaxed) > 0) {
    issues.push_back(
        {"emulation-mapped-files", Severity::warning, count(counters.mapped_files),
         fmt::format("{} bytes of data files were mapped into memory: what is read through maps goes past the "
                     "emulated storage, and was not delayed",
                     counters.mapped_bytes.load(k_relaxed)),
         "read the files instead of mapping them (numpy: mmap_mode=None)"});
  }
  if (counters.untracked_misses.load(k_relaxed) > 0) {
    issues.push_back(
        {"emulated-cache-table-full", Severity::warning, count(counters.untracked_misses),
         fmt::format("the emulated cache knows {} files or ranges of 128 KiB at most; others always missed",
                     block_->settings.most_units),
         "use a smaller data set, or cache_policy=minio"});
  }
  if (counters.requests.load(k_relaxed) == 0 && counters.hit_bytes.load(k_relaxed) == 0) {
    issues.push_back({"emulation-saw-no-read", Severity::warning, 1, "no read of a data file met the emulated storage",
                      "maps, io_uring and statically linked programs go past it"});
  }
  return issues;
}

std::string to_line(const EmulationOptions& options, const record::EmulationBlock* block) {
  Json settings = Json::object();
  for (const auto& [key, value] : options.items) settings[key] = value;
  Json line = {
      {"kind", "emulation"}, {"with", options.by_kernel ? "kernel" : "interposer"}, {"settings", std::move(settings)}};
  if (block != nullptr) {
    const record::EmulationCounters& counters = block->counters;
    line["hits"] = count(counters.hits);
    line["misses"] = count(counters.misses);
    line["hit_bytes"] = count(counters.hit_bytes);
    line["miss_bytes"] = count(counters.miss_bytes);
    line["staged_hits"] = count(counters.staged_hits);
    line["cold_misses"] = count(counters.cold_misses);
    line["requests"] = count(counters.requests);
    line["request_bytes"] = count(counters.request_bytes);
    line["waited_s"] = seconds(counters.waited_ns);
    line["late_reads"] = count(counters.late_reads);
    line["late_s"] = seconds(counters.late_ns);
    line["stored_hits"] = count(counters.stored_hits);
    line["stored_hit_s"] = seconds(counters.stored_hit_ns);
    line["mapped_files"] = count(counters.mapped_files);
    line["distinct_bytes"] = count(block->seen_bytes);
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stallcast::collect
