/// The writing archive: walks the fields of a struct (profile/fields.hpp) into a JSON object.
#pragma once

#include <cmath>
#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "analyzer/statistics/distribution.hpp"
#include "core/data_issue.hpp"
#include "core/measured.hpp"
#include "core/quantity.hpp"
#include "core/utf8.hpp"

namespace stallcast::fields {

/// Writes fields into `object`; the reasons of absent values go to `absent` under their paths.
class JsonWriter {
 public:
  static constexpr bool k_reading = false;

  JsonWriter(nlohmann::json& object, std::string path, nlohmann::json& absent)
      : object_(object), path_(std::move(path)), absent_(absent) {}

  template <class T>
  void field(const char* key, const T& value) {
    object_[key] = encode(value, path_.empty() ? std::string(key) : path_ + "." + key);
  }

  template <class T>
  void optional(const char* key, const T& value) {
    field(key, value);
  }

  /// A constant that states the unit of the field after it.
  void unit(const char* key, const char* name) { object_[key] = name; }

 private:
  using json = nlohmann::json;

  json no_value(const std::string& path, const std::string& reason) {
    absent_[path] = reason.empty() ? std::string("not measured") : valid_utf8(reason);
    return nullptr;
  }

  template <std::integral T>
  json encode(T value, const std::string&) {
    return value;
  }
  json encode(double value, const std::string& path) {
    return std::isfinite(value) ? json(value) : no_value(path, "came out as a number that is not finite");
  }
  json encode(const std::string& value, const std::string&) { return valid_utf8(value); }
  json encode(Severity value, const std::string&) { return severity_name(value); }

  template <int T, int B, int N>
  json encode(Quantity<T, B, N> value, const std::string& path) {
    return encode(value.value(), path);
  }

  template <class Q>
  json encode(const Estimate<Q>& value, const std::string& path) {
    json result = json::object();
    JsonWriter inner(result, path, absent_);
    inner.field("mean", value.mean);
    inner.field("ci95_low", value.ci95_low);
    inner.field("ci95_high", value.ci95_high);
    inner.field("n", value.n);
    return result;
  }

  json encode(const Distribution& value, const std::string& path) {
    json result = json::object();
    JsonWriter inner(result, path, absent_);
    inner.field("n", value.n);
    inner.field("zeros", value.zeros);
    inner.field("mean", value.mean);
    inner.field("variance", value.variance);
    inner.field("min", value.min);
    inner.field("max", value.max);
    inner.field("first_bin", value.first_bin);
    result["counts"] = value.counts;
    return result;
  }

  template <class T>
  json encode(const Measured<T>& value, const std::string& path) {
    if (!value) return no_value(path, value.reason());
    json inner_absent = json::object();
    JsonWriter inner(object_, path_, inner_absent);
    json result = inner.encode(*value, path);
    // A part of it that is not finite makes the whole of it absent: half an estimate is none.
    if (!inner_absent.empty()) return no_value(path, inner_absent.begin()->get<std::string>());
    return result;
  }

  template <class T>
  json encode(const std::vector<T>& values, const std::string& path) {
    json result = json::array();
    for (const T& value : values) result.push_back(encode(value, path + "[" + std::to_string(result.size()) + "]"));
    return result;
  }

  template <class T>
  json encode(const std::map<std::string, T>& values, const std::string& path) {
    json result = json::object();
    for (const auto& [key, value] : values) {
      const std::string name = valid_utf8(key);
      result[name] = encode(value, path + "." + name);
    }
    return result;
  }

  template <class T>
  requires std::is_class_v<T> json encode(const T& value, const std::string& path) {
    json result = json::object();
    JsonWriter inner(result, path, absent_);
    describe(inner, value);
    return result;
  }

  json& object_;
  std::string path_;
  json& absent_;
};

}  // namespace stallcast::fields
