/// An archive over the keys of profile.json (profile/fields.hpp) that collects what can be compared: a number or a
/// setting that is added to the profile is compared from then on.
#pragma once

#include <concepts>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/profile/fields.hpp"

namespace stallcast::fields {

/// One estimate, as plain doubles.
struct CollectedNumber {
  std::string key{};
  Measured<Estimate<double>> value{};
};

struct CollectedSetting {
  std::string key{};
  std::string value{};
};

class Collector {
 public:
  static constexpr bool k_reading = false;

  template <class T>
  void field(const char* key, const T& value) {
    collect(key, value);
  }
  template <class T>
  void optional(const char* key, const T& value) {
    collect(key, value);
  }
  void unit(const char*, const char*) {}

  std::vector<CollectedNumber> numbers{};
  std::vector<CollectedSetting> settings{};

 private:
  static double plain(double value) { return value; }
  template <int T, int B, int N>
  static double plain(Quantity<T, B, N> value) {
    return value.value();
  }
  static std::string text(double value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.12g", value);
    return digits;
  }
  static std::string words(const std::string& value) { return value; }
  static std::string words(bool value) { return value ? "true" : "false"; }
  template <std::integral T>
  static std::string words(T value) {
    return std::to_string(value);
  }
  static std::string words(double value) { return text(value); }
  template <int T, int B, int N>
  static std::string words(Quantity<T, B, N> value) {
    return text(value.value());
  }

  template <class Q>
  void collect(const char* key, const Measured<Estimate<Q>>& value) {
    if (!value) {
      numbers.push_back({key, Measured<Estimate<double>>::absent(value.reason())});
    } else {
      numbers.push_back(
          {key, Estimate<double>{plain(value->mean), plain(value->ci95_low), plain(value->ci95_high), value->n}});
    }
  }
  template <class T>
  void collect(const char* key, const Measured<T>& value) {
    settings.push_back({key, value ? words(*value) : "not known (" + value.reason() + ")"});
  }
  template <class T>
  requires requires(const T& value) { words(value); }
  void collect(const char* key, const T& value) { settings.push_back({key, words(value)}); }
  void collect(const char*, const Measured<Distribution>&) {}
  void collect(const char*, const std::map<std::string, Distribution>&) {}
};

}  // namespace stallcast::fields
