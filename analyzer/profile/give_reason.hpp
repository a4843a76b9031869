/// Why values of a section are absent, where one reason holds for all of it.
#pragma once

#include <string>

#include "analyzer/profile/fields.hpp"
#include "core/measured.hpp"

namespace stallcast::fields {

/// Walks the fields of a section (profile/fields.hpp): those that are absent, and do not say why, get the reason.
class ReasonGiver {
 public:
  static constexpr bool k_reading = true;

  explicit ReasonGiver(std::string reason) : reason_(std::move(reason)) {}

  template <class T>
  void field(const char*, Measured<T>& value) {
    if (!value && value.reason() == Measured<T>().reason()) value = Measured<T>::absent(reason_);
  }
  template <class T>
  void field(const char*, T&) {}

  template <class T>
  void optional(const char* key, T& value) {
    field(key, value);
  }

  void unit(const char*, const char*) {}

 private:
  std::string reason_;
};

}  // namespace stallcast::fields
