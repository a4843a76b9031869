/// The reading archive: walks the fields of a struct (profile/fields.hpp) out of a JSON object, strictly.
#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/statistics/distribution.hpp"
#include "core/data_issue.hpp"
#include "core/measured.hpp"
#include "core/quantity.hpp"
#include "core/result.hpp"

namespace stallcast::fields {

/// What all readers of one document share: the reasons of absent values, and the first thing that was wrong.
struct ReadState {
  const nlohmann::json* absent = nullptr;
  std::optional<Error> error{};

  /// Keeps the first error: "profile.json: <path> <what>".
  void fail(const std::string& path, const std::string& what);

  /// The reason noted for `path`, or "not measured".
  [[nodiscard]] std::string reason(const std::string& path) const;
};

/// "a number", "null", "an object", ... for messages.
[[nodiscard]] std::string type_words(const nlohmann::json& node);

/// Reads fields from `object`, which must outlive it. After an error in `state` the rest is skipped.
class JsonReader {
 public:
  static constexpr bool k_reading = true;

  JsonReader(const nlohmann::json& object, std::string path, ReadState& state)
      : object_(object), path_(std::move(path)), state_(state) {
    if (!object.is_object()) state_.fail(path_, "must be an object, but is " + type_words(object));
  }

  /// A required key.
  template <class T>
  void field(const char* key, T& value) {
    if (state_.error) return;
    const auto found = object_.find(key);
    const std::string path = path_of(key);
    if (found == object_.end()) return state_.fail(path, "is missing");
    decode(*found, path, value);
  }

  /// A measured value whose key is missing (an older file) is absent.
  template <class T>
  void field(const char* key, Measured<T>& value) {
    if (state_.error) return;
    const auto found = object_.find(key);
    const std::string path = path_of(key);
    if (found == object_.end()) {
      value = Measured<T>::absent("not in this profile: it was written by another version of stallcast");
    } else {
      decode(*found, path, value);
    }
  }

  /// A key that older files of this schema version lack: `value` stays as it is.
  template <class T>
  void optional(const char* key, T& value) {
    if (!state_.error && object_.contains(key)) field(key, value);
  }

  /// A constant that states a unit: if it is there, it must be this one.
  void unit(const char* key, const char* name) {
    if (state_.error || !object_.contains(key)) return;
    if (object_[key] != name) state_.fail(path_of(key), std::string("must be \"") + name + "\"");
  }

 private:
  using json = nlohmann::json;

  [[nodiscard]] std::string path_of(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

  void decode(const json& node, const std::string& path, bool& value);
  void decode(const json& node, const std::string& path, double& value);
  void decode(const json& node, const std::string& path, std::string& value);
  void decode(const json& node, const std::string& path, Severity& value);
  void decode(const json& node, const std::string& path, Distribution& value);
  void decode_integer(const json& node, const std::string& path, std::int64_t& value, std::int64_t low,
                      std::int64_t high);

  template <std::signed_integral T>
  void decode(const json& node, const std::string& path, T& value) {
    std::int64_t wide = value;
    decode_integer(node, path, wide, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    value = static_cast<T>(wide);
  }

  template <int T, int B, int N>
  void decode(const json& node, const std::string& path, Quantity<T, B, N>& value) {
    double number = 0.0;
    decode(node, path, number);
    value = Quantity<T, B, N>(number);
  }

  template <class Q>
  void decode(const json& node, const std::string& path, Estimate<Q>& value) {
    JsonReader inner(node, path, state_);
    inner.field("mean", value.mean);
    inner.field("ci95_low", value.ci95_low);
    inner.field("ci95_high", value.ci95_high);
    inner.field("n", value.n);
    if (state_.error) return;
    if (!(value.ci95_low <= value.ci95_high)) state_.fail(path, "has an interval whose low end is above its high end");
    if (value.n < 0) state_.fail(path + ".n", "must not be negative");
  }

  template <class T>
  void decode(const json& node, const std::string& path, Measured<T>& value) {
    if (node.is_null()) {
      value = Measured<T>::absent(state_.reason(path));
      return;
    }
    T inner{};
    decode(node, path, inner);
    value = std::move(inner);
  }

  template <class T>
  void decode(const json& node, const std::string& path, std::vector<T>& values) {
    if (!node.is_array()) return state_.fail(path, "must be an array, but is " + type_words(node));
    values.clear();
    values.reserve(node.size());
    for (const json& element : node) {
      if (state_.error) return;
      const std::string element_path = path + "[" + std::to_string(values.size()) + "]";  // before it grows
      decode(element, element_path, values.emplace_back());
    }
  }

  template <class T>
  void decode(const json& node, const std::string& path, std::map<std::string, T>& values) {
    if (!node.is_object()) return state_.fail(path, "must be an object, but is " + type_words(node));
    values.clear();
    for (const auto& [key, element] : node.items()) {
      if (state_.error) return;
      decode(element, path + "." + key, values[key]);
    }
  }

  template <class T>
  void decode(const json& node, const std::string& path, T& value) {
    JsonReader inner(node, path, state_);
    if (!state_.error) describe(inner, value);
  }

  const json& object_;
  std::string path_;
  ReadState& state_;
};

}  // namespace stallcast::fields
