#include "analyzer/profile/json_reader.hpp"

#include <cmath>
#include <numeric>

namespace stallcast::fields {
namespace {

/// Bins outside this range hold values that no double has (2^(b/8)).
constexpr int k_max_bin = 8 * 1100;

bool plausible(const Distribution& d) {
  if (d.n < 0 || d.zeros < 0 || std::abs(d.first_bin) > k_max_bin || d.counts.size() > 2 * k_max_bin) return false;
  std::int64_t left = d.n - d.zeros;
  for (const std::int64_t count : d.counts) {
    if (count < 0 || count > left) return false;
    left -= count;
  }
  return left == 0 && d.variance >= 0.0 && d.min <= d.max;
}

}  // namespace

void ReadState::fail(const std::string& path, const std::string& what) {
  if (error) return;
  const std::string place = path.empty() ? "the document" : path;
  error = Error{ErrorCode::bad_input, "not a valid profile: " + place + " " + what,
                "the file may be damaged, edited by hand, or no profile at all; analyze the recordings again"};
}

std::string ReadState::reason(const std::string& path) const {
  if (absent == nullptr) return "not measured";
  const auto found = absent->find(path);
  if (found == absent->end() || !found->is_string()) return "not measured";
  return found->get<std::string>();
}

std::string type_words(const nlohmann::json& node) {
  if (node.is_null()) return "null";
  const std::string name = node.type_name();
  return (name == "object" || name == "array" ? "an " : "a ") + name;
}

void JsonReader::decode(const json& node, const std::string& path, bool& value) {
  if (!node.is_boolean()) return state_.fail(path, "must be true or false, but is " + type_words(node));
  value = node.get<bool>();
}

void JsonReader::decode(const json& node, const std::string& path, double& value) {
  if (node.is_null() && state_.absent != nullptr && state_.absent->contains(path)) {
    value = std::nan("");  // was not finite when it was written
    return;
  }
  if (!node.is_number()) return state_.fail(path, "must be a number, but is " + type_words(node));
  value = node.get<double>();
}

void JsonReader::decode(const json& node, const std::string& path, std::string& value) {
  if (!node.is_string()) return state_.fail(path, "must be a string, but is " + type_words(node));
  value = node.get<std::string>();
}

void JsonReader::decode(const json& node, const std::string& path, Severity& value) {
  std::string name;
  decode(node, path, name);
  value = severity_from_name(name);
  if (!state_.error && name != severity_name(value)) state_.fail(path, "must be info, warning or error");
}

void JsonReader::decode(const json& node, const std::string& path, Distribution& value) {
  JsonReader inner(node, path, state_);
  inner.field("n", value.n);
  inner.field("zeros", value.zeros);
  inner.field("mean", value.mean);
  inner.field("variance", value.variance);
  inner.field("min", value.min);
  inner.field("max", value.max);
  inner.field("first_bin", value.first_bin);
  inner.field("counts", value.counts);
  if (!state_.error && !plausible(value)) state_.fail(path, "is not a histogram: its counts do not add up to n");
}

void JsonReader::decode_integer(const json& node, const std::string& path, std::int64_t& value, std::int64_t low,
                                std::int64_t high) {
  if (!node.is_number_integer()) return state_.fail(path, "must be a whole number, but is " + type_words(node));
  const bool too_big = node.is_number_unsigned() && node.get<std::uint64_t>() > static_cast<std::uint64_t>(high);
  if (too_big || node.get<std::int64_t>() < low || node.get<std::int64_t>() > high) {
    return state_.fail(path, "is out of range");
  }
  value = node.get<std::int64_t>();
}

}  // namespace stallcast::fields
