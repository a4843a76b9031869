#include "probes/collect/pages/name_rule.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "probes/collect/pages/constants.hpp"

namespace stallcast::collect {
namespace {

std::string_view without_ending(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  const std::size_t slash = text.rfind('/');
  const bool has_one = dot != std::string_view::npos && (slash == std::string_view::npos || dot > slash);
  return has_one ? text.substr(0, dot) : text;
}

/// Where the last `count` components of a path begin; absent where it has no more than these.
std::optional<std::size_t> begin_of_tail(std::string_view text, std::uint32_t count) {
  std::size_t at = text.size();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (at == 0) return std::nullopt;
    at = text.rfind('/', at - 1);
    if (at == std::string_view::npos) return std::nullopt;
  }
  return at + 1;
}

std::optional<std::string_view> tail(std::string_view text, std::uint32_t count) {
  const auto begin = begin_of_tail(text, count);
  return begin ? std::optional(text.substr(*begin)) : std::nullopt;
}

std::optional<std::string_view> component(std::string_view text, std::uint32_t before_last) {
  const auto end = begin_of_tail(text, before_last);
  if (!end || *end == 0) return std::nullopt;
  const std::string_view path = text.substr(0, *end - 1);
  return path.substr(path.rfind('/') + 1);
}

std::optional<std::string_view> word(std::string_view text, std::uint32_t number) {
  std::string_view rest = without_ending(text.substr(text.rfind('/') + 1));
  for (;; --number) {
    const std::size_t end = rest.find_first_of("-_. ");
    if (number == 0) return rest.substr(0, end);
    if (end == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(end + 1);
  }
}

std::optional<std::string> digits(std::string_view text, std::uint32_t least) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const std::size_t zeros = text.size() < least ? least - text.size() : 0;
  return std::string(zeros, '0').append(text);
}

std::optional<std::string> part_of(std::string_view text, NameForm form, std::uint32_t number) {
  std::optional<std::string_view> part;
  switch (form) {
    case NameForm::whole:
      part = text;
      break;
    case NameForm::without_ending:
      part = without_ending(text);
      break;
    case NameForm::tail:
      part = tail(text, number);
      break;
    case NameForm::tail_without_ending:
      part = tail(text, number);
      if (part) part = without_ending(*part);
      break;
    case NameForm::component:
      part = component(text, number);
      break;
    case NameForm::word:
      part = word(text, number);
      break;
    case NameForm::digits:
      return digits(text, number);
  }
  return part ? std::optional<std::string>(*part) : std::nullopt;
}

std::optional<std::string> text_of(const NamePiece& piece, const SampleNames& sample) {
  switch (piece.table) {
    case NamePiece::k_text:
      return piece.text;
    case NamePiece::k_index:
      return part_of(std::to_string(sample.index), piece.form, piece.number);
    case NamePiece::k_next:
      return part_of(std::to_string(static_cast<std::uint64_t>(sample.index) + 1), piece.form, piece.number);
    default:
      break;
  }
  if (piece.table >= sample.entries.size() || sample.entries[piece.table] == nullptr) return std::nullopt;
  return part_of(*sample.entries[piece.table], piece.form, piece.number);
}

/// All that a piece that is no constant can be, for samples with so many tables.
std::vector<NamePiece> possible_pieces(std::size_t tables) {
  std::vector<NamePiece> pieces;
  const auto add = [&](std::uint32_t table, NameForm form, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t number = from; number <= to; ++number) pieces.push_back({table, form, number, {}});
  };
  for (std::uint32_t table = 0; table < tables; ++table) {
    add(table, NameForm::whole, 0, 0);
    add(table, NameForm::without_ending, 0, 0);
    add(table, NameForm::tail, 1, k_most_name_components);
    add(table, NameForm::tail_without_ending, 1, k_most_name_components);
    add(table, NameForm::component, 1, k_most_name_components);
    add(table, NameForm::word, 0, k_most_name_words);
    add(table, NameForm::digits, 1, k_most_name_digits);
  }
  for (const std::uint32_t index : {NamePiece::k_index, NamePiece::k_next}) {
    add(index, NameForm::digits, 1, k_most_name_digits);
  }
  return pieces;
}

const NamedSample* first_unlike(const NameRule& rule, std::span<const NamedSample> samples) {
  const auto unlike = std::find_if(samples.begin(), samples.end(), [&](const NamedSample& sample) {
    const auto path = path_by(rule, sample.names);
    return !path || !std::binary_search(sample.paths->begin(), sample.paths->end(), *path);
  });
  return unlike != samples.end() ? &*unlike : nullptr;
}

/// Reads the paths of some samples from left to right. `path` is one of the first of them.
class Reading {
 public:
  Reading(const std::string& path, std::span<const NamedSample> all, std::vector<const NamedSample*> some,
          std::size_t& steps)
      : path_(path), all_(all), some_(std::move(some)), steps_(steps), read_(some_.size()) {
    add_values();
  }

  std::optional<NameRule> rule() {
    if (!go_on()) return std::nullopt;
    return rule_;
  }

  /// A sample that a rule did not hold for which held for those that were read; nullptr: there was none.
  [[nodiscard]] const NamedSample* unlike() const { return unlike_; }

 private:
  /// What a piece is for each of the samples.
  struct Value {
    NamePiece piece{};
    std::vector<std::string> texts{};
  };

  /// Of those that differ between the samples. The longest come first.
  void add_values() {
    for (NamePiece& piece : possible_pieces(some_.front()->names.entries.size())) {
      Value value{std::move(piece), {}};
      for (const NamedSample* sample : some_) {
        auto text = text_of(value.piece, sample->names);
        if (!text || text->empty()) break;
        value.texts.push_back(std::move(*text));
      }
      if (value.texts.size() < some_.size()) continue;
      const auto& first = value.texts.front();
      const bool differ =
          std::any_of(value.texts.begin(), value.texts.end(), [&](const auto& text) { return text != first; });
      if (differ) values_.push_back(std::move(value));
    }
    std::stable_sort(values_.begin(), values_.end(),
                     [](const Value& a, const Value& b) { return a.texts.front().size() > b.texts.front().size(); });
  }

  [[nodiscard]] bool is_begin_of_path(std::size_t sample) const {
    if (sample == 0) return path_.starts_with(read_[0]);
    const auto& paths = *some_[sample]->paths;
    const auto next = std::lower_bound(paths.begin(), paths.end(), read_[sample]);
    return next != paths.end() && next->starts_with(read_[sample]);
  }

  /// Reads on with `text_of_sample(i)`, and from there to the end. False, and nothing has changed: that is no way
  /// there.
  template <class TextOf>
  bool go_on_with(const NamePiece& piece, TextOf text_of_sample) {
    std::vector<std::size_t> before;
    bool fits = true;
    for (std::size_t i = 0; i < read_.size() && fits; ++i) {
      before.push_back(read_[i].size());
      read_[i] += text_of_sample(i);
      fits = is_begin_of_path(i);
    }
    if (fits) {
      rule_.pieces.push_back(piece);
      if (go_on()) return true;
      rule_.pieces.pop_back();
    }
    for (std::size_t i = 0; i < before.size(); ++i) read_[i].resize(before[i]);
    return false;
  }

  bool go_on() {
    if (read_.front() == path_) {
      unlike_ = first_unlike(rule_, all_);
      if (unlike_ == nullptr) return true;
    }
    if (read_.front().size() >= path_.size() || steps_ == 0 || !is_new()) return false;
    --steps_;
    for (const Value& value : values_) {
      const std::string& own = value.texts.front();
      if (path_.compare(read_.front().size(), own.size(), own) != 0) continue;
      if (go_on_with(value.piece, [&](std::size_t sample) -> const std::string& { return value.texts[sample]; })) {
        return true;
      }
    }
    const std::string next(1, path_[read_.front().size()]);
    return go_on_with({NamePiece::k_text, NameForm::whole, 0, next},
                      [&](std::size_t) -> const std::string& { return next; });
  }

  /// Whether this place was not yet come to.
  bool is_new() {
    std::string place;
    for (const std::string& text : read_) place.append(text).push_back('\0');
    return seen_.insert(std::move(place)).second;
  }

  const std::string& path_;
  std::span<const NamedSample> all_;
  std::vector<const NamedSample*> some_;
  const NamedSample* unlike_ = nullptr;
  std::vector<Value> values_{};
  std::size_t& steps_;
  std::vector<std::string> read_;  ///< of each of them, from the beginning of a path
  std::unordered_set<std::string> seen_{};
  NameRule rule_{};
};

/// Characters that are the same in all follow each other as one text.
std::vector<NamePiece> joined(std::vector<NamePiece> pieces) {
  std::vector<NamePiece> rule;
  for (NamePiece& piece : pieces) {
    const bool goes_on = piece.table == NamePiece::k_text && !rule.empty() && rule.back().table == NamePiece::k_text;
    if (goes_on) {
      rule.back().text += piece.text;
    } else {
      rule.push_back(std::move(piece));
    }
  }
  return rule;
}

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Whether `text` has `entry` between others than letters and digits.
bool has_as_word(std::string_view text, std::string_view entry) {
  for (std::size_t at = text.find(entry); at != std::string_view::npos; at = text.find(entry, at + 1)) {
    const std::size_t end = at + entry.size();
    if ((at == 0 || !is_letter_or_digit(text[at - 1])) && (end == text.size() || !is_letter_or_digit(text[end])))
      return true;
  }
  return false;
}

/// Numbers aside: there are too many of them in paths that say something else.
bool stands_in_texts(const std::string& entry, const std::vector<NamePiece>& pieces) {
  if (entry.find_first_not_of("0123456789") == std::string::npos) return false;
  return std::any_of(pieces.begin(), pieces.end(), [&](const NamePiece& piece) {
    return piece.table == NamePiece::k_text && has_as_word(piece.text, entry);
  });
}

/// NameRule::same of a rule with these pieces.
std::vector<std::pair<std::uint32_t, std::string>> same_in_all(const std::vector<NamePiece>& pieces,
                                                               std::span<const NamedSample> samples) {
  std::vector<std::pair<std::uint32_t, std::string>> same;
  for (std::uint32_t table = 0; table < samples.front().names.entries.size(); ++table) {
    const std::string* first = samples.front().names.entries[table];
    const bool in_all = first != nullptr && std::all_of(samples.begin(), samples.end(), [&](const NamedSample& sample) {
                          return sample.names.entries[table] != nullptr && *sample.names.entries[table] == *first;
                        });
    if (in_all && stands_in_texts(*first, pieces)) same.emplace_back(table, *first);
  }
  return same;
}

}  // namespace

std::optional<std::string> path_by(const NameRule& rule, const SampleNames& sample) {
  for (const auto& [table, entry] : rule.same) {
    const std::string* own = table < sample.entries.size() ? sample.entries[table] : nullptr;
    if (own == nullptr || *own != entry) return std::nullopt;
  }
  std::string path;
  for (const NamePiece& piece : rule.pieces) {
    const auto text = text_of(piece, sample);
    if (!text) return std::nullopt;
    path += *text;
  }
  return path;
}

std::optional<NameRule> find_rule(const std::string& path, std::span<const NamedSample> samples, std::size_t& steps) {
  std::vector<const NamedSample*> some;
  const std::size_t count = std::min(samples.size(), k_read_names);
  for (std::size_t i = 0; i < count; ++i) some.push_back(&samples[i * samples.size() / count]);
  // What those have in common that are read, a rare one may not have.
  for (std::size_t readings = 0; !some.empty() && readings < k_most_name_readings; ++readings) {
    Reading reading(path, samples, some, steps);
    if (auto found = reading.rule()) {
      NameRule rule{joined(std::move(found->pieces)), {}};
      rule.same = same_in_all(rule.pieces, samples);
      return rule;
    }
    if (reading.unlike() == nullptr) break;
    some.push_back(reading.unlike());
  }
  return std::nullopt;
}

}  // namespace stallcast::collect
