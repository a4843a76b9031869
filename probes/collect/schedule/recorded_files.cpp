#include "probes/collect/schedule/recorded_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/clock.hpp"
#include "probes/collect/schedule/constants.hpp"
#include "probes/collect/system/free_memory.hpp"
#include "probes/collect/system/read_ahead.hpp"

namespace stallcast::collect {
namespace {

using nlohmann::json;

std::uint32_t armed_ranks(const record::ControlBlock& control) {
  std::uint32_t count = 0;
  for (const record::PhaseSlot& slot : control.phases) {
    if (slot.armed.load(std::memory_order_acquire) != 0 && slot.at_end.load(std::memory_order_relaxed) == 0) ++count;
  }
  return count;
}

/// The number of a table of this name, a new one for a new name.
std::uint32_t number_of(std::map<std::string, std::uint32_t>& tables, const json& name) {
  const auto next = static_cast<std::uint32_t>(tables.size());
  return tables.try_emplace(name.get<std::string>(), next).first->second;
}

/// Whether a rank is measured of which nobody knows what comes next.
bool has_stream(const record::ControlBlock& control) {
  return std::any_of(std::begin(control.phases), std::end(control.phases), [](const record::PhaseSlot& slot) {
    const auto support = static_cast<record::PhaseSupport>(slot.support.load(std::memory_order_relaxed));
    return slot.armed.load(std::memory_order_acquire) != 0 && slot.at_end.load(std::memory_order_relaxed) == 0 &&
           support == record::PhaseSupport::not_ahead;
  });
}

/// `whole_bytes`: of a file that is held as a whole.
double bytes_of(const std::vector<FileStretch>& parts, double whole_bytes) {
  double bytes = 0.0;
  for (const FileStretch& part : parts) bytes += part.is_whole() ? whole_bytes : static_cast<double>(part.bytes);
  return bytes;
}

}  // namespace

RecordedFiles::RecordedFiles(const std::filesystem::path& run_folder, record::ControlBlock& control)
    : control_(control), follower_(run_folder) {}

void RecordedFiles::poll() {
  const Followed followed = follower_.poll();
  samples_.take(followed);
  lumps_.take(followed);
  for (const AheadText& text : followed.ahead) take_answer(text);
  if (has_stream(control_) && monotonic_ns() >= looked_ns_ + k_look_at_positions_every_ns) look_at_positions();
}

void RecordedFiles::look_at_positions() {
  if (listed_files_ != samples_.data_file_count()) {
    listed_files_ = samples_.data_file_count();
    for (DataFile& file : samples_.data_files()) {
      if (file.size_bytes != UINT64_MAX) stream_files_.insert_or_assign(std::move(file.path), file.size_bytes);
    }
  }
  if (looked_ns_ == 0) first_looked_turns_ = turns_passed();
  looked_ns_ = monotonic_ns();
  positions_.look(follower_.pids(), stream_files_);
}

/// By the rank that has taken the fewest.
std::uint64_t RecordedFiles::turns_passed() const {
  std::uint64_t turns = UINT64_MAX;
  for (const record::PhaseSlot& slot : control_.phases) {
    if (slot.armed.load(std::memory_order_acquire) == 0) continue;
    turns = std::min(turns, slot.turns.load(std::memory_order_relaxed));
  }
  return turns == UINT64_MAX ? 0 : turns;
}

double RecordedFiles::bytes_of_turn() const {
  const std::uint64_t turns = turns_passed();
  if (turns <= first_looked_turns_) return 0.0;
  return static_cast<double>(positions_.passed_bytes()) / static_cast<double>(turns - first_looked_turns_);
}

std::uint64_t RecordedFiles::turns_read_ahead() const {
  const std::vector<StreamReader> readers = positions_.readers();
  struct stat file {};
  if (readers.empty() || !(bytes_of_turn() > 0.0) || stat(readers.front().path.c_str(), &file) != 0) return 0;
  const auto window = read_ahead_bytes(file.st_dev);
  if (!window) return 0;
  const double turns = static_cast<double>(*window * readers.size()) / bytes_of_turn();
  return static_cast<std::uint64_t>(std::ceil(turns));
}

bool RecordedFiles::ask_from_here(std::uint64_t skipped, std::uint64_t turns) {
  release_all();
  look_at_positions();
  const std::vector<StreamReader> readers = positions_.readers();
  const double a_turn = bytes_of_turn();
  if (readers.empty() || !(a_turn > 0.0)) {
    fail(*now_, "its readers do not go through files in order by read()");
    return true;
  }
  const double of_reader = a_turn / static_cast<double>(readers.size());
  const double each = (1.0 + k_off_of_stream) * of_reader * static_cast<double>(turns);
  const auto bytes = static_cast<std::uint64_t>(each);
  const auto before = static_cast<std::uint64_t>((1.0 - k_off_of_stream) * of_reader * static_cast<double>(skipped));
  const auto largest = std::max_element(readers.begin(), readers.end(),
                                        [](const auto& a, const auto& b) { return a.size_bytes < b.size_bytes; });
  if (each > k_most_of_shard * static_cast<double>(largest->size_bytes)) {
    fail(*now_, "a block takes most of a shard, and which comes next nobody knows");
    return true;
  }
  std::vector<FileStretch> parts;
  for (const StreamReader& reader : readers) {
    if (reader.left_bytes() < bytes) return false;
    for (FileStretch& part : next_parts(reader, before, bytes)) parts.push_back(std::move(part));
  }
  hold(*now_, std::move(parts));
  return true;
}

void RecordedFiles::ask(std::uint64_t first, std::uint32_t batches) {
  release_all();
  ask_ranks(*now_, first, batches);
}

void RecordedFiles::ask_next(std::uint64_t first, std::uint32_t batches) {
  let_go(*next_);
  ask_ranks(*next_, first, batches);
}

bool RecordedFiles::is_next_held() const {
  return next_->holding && next_->holder.state().phase == HoldPhase::held;
}

void RecordedFiles::ask_ranks(Held& held, std::uint64_t first, std::uint32_t batches) {
  answered_.clear();
  indices_.clear();
  told_.clear();
  repeated_ = false;
  asking_ = &held;
  serial_ = control_.ahead_serial.load(std::memory_order_relaxed) + 1;
  control_.ahead_first.store(first, std::memory_order_relaxed);
  control_.ahead_batches.store(batches, std::memory_order_relaxed);
  control_.ahead_serial.store(serial_, std::memory_order_release);
}

void RecordedFiles::ask_all() {
  release_all();
  if (samples_.is_full()) return fail(*now_, "the data set has too many files to remember");
  std::vector<FileStretch> parts;
  for (DataFile& file : samples_.data_files()) {
    FileStretch whole;
    whole.path = std::move(file.path);
    whole.size_bytes = file.size_bytes;
    whole.is_mapped = only_maps();
    parts.push_back(std::move(whole));
  }
  if (parts.empty()) return fail(*now_, "no file was seen that its samples are read from");
  hold(*now_, std::move(parts));
}

/// The sample with which a worker, or the script itself, opens what it maps reads its header: numpy.load(). Once in a
/// pass.
bool RecordedFiles::only_maps() const {
  if (control_.maps_read.load(std::memory_order_relaxed) == 0 || has_stream(control_)) return false;
  std::size_t openings = 0;
  for (const record::PhaseSlot& slot : control_.phases) {
    if (slot.armed.load(std::memory_order_relaxed) == 0) continue;
    const std::size_t openers = std::max(1U, slot.workers.load(std::memory_order_relaxed));
    openings += openers * slot.passes.load(std::memory_order_relaxed);
  }
  return samples_.samples() <= openings;
}

bool RecordedFiles::are_shared() const {
  return static_cast<double>(samples_.data_file_count()) < k_own_files * static_cast<double>(samples_.samples());
}

FilesAhead::State RecordedFiles::state() const {
  if (!now_->why_not.empty()) return State::failed;
  if (asking_ == now_) return State::asked;
  const auto lets_go = [](const Held& held) { return !held.holding && held.holder.state().phase != HoldPhase::idle; };
  if (!now_->holding) return lets_go(*now_) || lets_go(*next_) ? State::reading : State::idle;
  switch (now_->holder.state().phase) {
    case HoldPhase::held:
      return State::held;
    case HoldPhase::failed:
      return State::failed;
    default:
      return State::reading;
  }
}

std::string RecordedFiles::why_not() const {
  return !now_->why_not.empty() ? now_->why_not : now_->holder.state().reason;
}

/// Both together within a quarter of the memory that is free without them.
void RecordedFiles::hold(Held& held, std::vector<FileStretch> parts, std::size_t readers) {
  const Held& other = &held == now_ ? *next_ : *now_;
  std::uint64_t limit_bytes = 0;
  if (other.holding) {
    const std::uint64_t there = other.holder.state().bytes;
    const std::uint64_t most = (read_free_memory("/").value_or(0) + there) / 4;
    if (most <= there) return fail(held, "what is held already takes all the memory that may be held");
    limit_bytes = most - there;
  }
  held.holding = true;
  held.holder.hold(std::move(parts), limit_bytes, readers);
}

void RecordedFiles::let_go(Held& held) {
  if (held.holding) held.holder.release();
  if (asking_ == &held) asking_ = nullptr;
  held.holding = false;
  held.why_not.clear();
}

void RecordedFiles::release() {
  let_go(*now_);
  std::swap(now_, next_);
}

void RecordedFiles::release_next() {
  let_go(*next_);
}

void RecordedFiles::release_all() {
  let_go(*now_);
  let_go(*next_);
}

void RecordedFiles::fail(Held& held, std::string why) {
  if (asking_ == &held) asking_ = nullptr;
  held.why_not = std::move(why);
}

/// One part of a rank's answer.
void RecordedFiles::take_answer(const AheadText& text) {
  const json answer = json::parse(text.json, nullptr, /*allow_exceptions=*/false);
  if (asking_ == nullptr || !answer.is_object()) return;
  const auto serial = answer.find("serial");
  if (serial == answer.end() || !serial->is_number_unsigned() || serial->get<std::uint64_t>() != serial_) return;
  if (const auto refused = answer.find("refused"); refused != answer.end() && refused->is_string()) {
    return fail(*asking_, refused->get<std::string>());
  }
  if (const auto lists = answer.find("indices"); lists != answer.end() && lists->is_array()) {
    for (const json& list : *lists) {
      for (const json& index : list) {
        if (!index.is_number_integer()) return fail(*asking_, "the sampler gives no whole numbers");
        indices_.push_back(index.get<std::int64_t>());
        repeated_ = !told_[text.pid].insert(indices_.back()).second || repeated_;
      }
    }
  }
  take_names(answer);
  if (!answer.contains("done")) return;
  answered_.insert(text.pid);
  if (answered_.size() >= armed_ranks(control_)) hold_what_was_told();
}

/// {"given": [[index, ...], ...]}: batches that the script has been given. {"table": "where it stands in the data set",
/// "names": [[index, entry], ...]}, or "numbers", some of which are as large as places in files, or "labels". Names may
/// be made of either.
void RecordedFiles::take_names(const json& answer) {
  if (const auto given = answer.find("given"); given != answer.end() && given->is_array()) {
    for (const json& batch : *given) {
      std::vector<std::int64_t> indices;
      for (const json& index : batch) {
        if (index.is_number_integer()) indices.push_back(index.get<std::int64_t>());
      }
      names_.take_given(indices);
    }
  }
  const auto found = answer.find("table");
  if (found == answer.end() || !found->is_string()) return;
  const std::uint32_t table = number_of(name_tables_, *found);
  for (const char* key : {"names", "numbers", "labels"}) {
    const auto entries = answer.find(key);
    if (entries == answer.end() || !entries->is_array()) continue;
    for (const json& entry : *entries) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number_integer()) continue;
      const auto index = entry[0].get<std::int64_t>();
      if (entry[1].is_string()) names_.take(table, index, entry[1].get<std::string>());
      if (!entry[1].is_number_integer()) continue;
      names_.take(table, index, std::to_string(entry[1].get<std::int64_t>()));
      if (key != std::string_view("numbers")) continue;
      places_.take(number_of(place_tables_, *found), index, entry[1].get<std::int64_t>());
    }
  }
}

/// Where a sample will be found that nobody has read. False, and nothing is added: that is not known. `anywhere`: it
/// may lie in all of the files that samples share.
bool RecordedFiles::find_unread(std::int64_t index, std::vector<FileStretch>& parts, bool& anywhere) const {
  if (!names_.are_needed() && !places_.are_needed()) return false;
  if (places_.are_needed() && !(places_.bytes_of_sample() > 0.0)) return false;
  const auto paths = names_.are_needed() ? names_.paths_of(index) : std::vector<std::string>{};
  if (!paths) return false;
  for (const std::string& path : *paths) parts.push_back({.path = path});
  auto places = places_.are_needed() ? places_.parts_of(index) : std::vector<FileStretch>{};
  anywhere = anywhere || !places;
  if (places) std::move(places->begin(), places->end(), std::back_inserter(parts));
  return true;
}

RecordedFiles::ToldFiles RecordedFiles::files_of_told() const {
  ToldFiles told{.found = samples_.find(indices_)};
  bool anywhere = false;
  for (const std::int64_t index : indices_) {
    if (!samples_.knows(index) && find_unread(index, told.guessed, anywhere)) ++told.guessed_samples;
  }
  told.found.unknown_samples -= static_cast<std::int64_t>(told.guessed_samples);
  if (told.guessed_samples == 0) return told;
  const std::vector<FileStretch> beside = anywhere ? places_.all_parts() : places_.common();
  told.guessed.insert(told.guessed.end(), beside.begin(), beside.end());
  merge_parts(told.guessed);
  return told;
}

/// Storage serves each reader alike: with four for each worker of the job, four fifths of what it gives are theirs.
std::size_t RecordedFiles::readers() const {
  std::size_t workers = 0;
  for (const record::PhaseSlot& slot : control_.phases) {
    if (slot.armed.load(std::memory_order_relaxed) != 0) workers += slot.workers.load(std::memory_order_relaxed);
  }
  return std::clamp(k_readers_of_a_worker * workers, PageHolder::k_fewest_readers, k_most_readers);
}

/// Whether a rank's samples come more than once, as where they are drawn with replacement, or several ranks have the
/// same ones: more than are repeated so that all have as many.
bool RecordedFiles::samples_repeat() const {
  const std::unordered_set<std::int64_t> once(indices_.begin(), indices_.end());
  const auto repeated = static_cast<double>(indices_.size() - once.size());
  return repeated_ || repeated > k_most_shared_samples * static_cast<double>(indices_.size());
}

void RecordedFiles::hold_what_was_told() {
  Held& held = *std::exchange(asking_, nullptr);
  if (&held == next_ && samples_repeat()) {
    return fail(held, "samples come more than once: cold batches before them might find theirs held");
  }
  names_.learn(samples_);
  places_.learn(samples_);
  ToldFiles told = files_of_told();
  const double unknown =
      static_cast<double>(told.found.unknown_samples) / static_cast<double>(std::max<std::size_t>(1, indices_.size()));
  if (unknown > k_most_unknown_samples || told.found.unnamed_parts > 0) {
    return fail(held, "which files the next samples are read from is not known");
  }
  const double expected = places_.bytes_of_sample() * static_cast<double>(told.guessed_samples);
  // Films are large, and as large as those that are known; other files of samples are as large as what is read of them.
  const bool films = samples_.are_films() && samples_.data_file_count() > 0;
  const double of_film =
      films ? static_cast<double>(samples_.data_bytes()) / static_cast<double>(samples_.data_file_count()) : 0.0;
  if (bytes_of(told.guessed, of_film) > std::max(k_most_for_places * expected, k_little_for_places)) {
    return fail(held, "where in their files the next samples lie is not known well enough");
  }
  std::vector<FileStretch> parts = std::move(told.found.parts);
  std::move(told.guessed.begin(), told.guessed.end(), std::back_inserter(parts));
  merge_parts(parts);
  hold(held, std::move(parts), readers());
}

}  // namespace stallcast::collect
