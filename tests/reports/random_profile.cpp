#include "tests/reports/random_profile.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "analyzer/profile/fields.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::testing {
namespace {

/// An archive (profile_fields.hpp) that fills whatever it is shown.
class Filler {
 public:
  static constexpr bool k_reading = true;

  explicit Filler(unsigned seed) : random_(seed) {}

  template <class T>
  void field(const char*, T& value) {
    fill(value);
  }
  template <class T>
  void optional(const char*, T& value) {
    fill(value);
  }
  void unit(const char*, const char*) {}

 private:
  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_()) % end; }

  void fill(bool& value) { value = below(2) == 1; }
  void fill(double& value) {
    const double sizes[] = {0.0, -0.0, 1e-308, 1.0 / 3.0, 0.38, 1e3, 1.7e308, 5e-324, -2.5};
    value = sizes[below(9)] * (below(3) == 0 ? 1.0 : static_cast<double>(below(1000)) / 999.0);
  }
  template <std::signed_integral T>
  void fill(T& value) {
    const T sizes[] = {0, 1, 2, 32, -1, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
    value = sizes[below(7)];
  }
  void fill(std::string& value) {
    const auto& strings = hostile_strings();
    value = below(4) == 0 ? strings[below(static_cast<std::uint32_t>(strings.size()))]
                          : "text " + std::to_string(below(100));
    // Only valid UTF-8 comes back as it went.
    if (value.find('\xff') != std::string::npos || value.find('\xed') != std::string::npos) value = "plain";
  }
  void fill(Severity& value) { value = static_cast<Severity>(below(3)); }
  template <int T, int B, int N>
  void fill(Quantity<T, B, N>& value) {
    double number = 0.0;
    fill(number);
    value = Quantity<T, B, N>(number);
  }
  template <class Q>
  void fill(Estimate<Q>& value) {
    fill(value.mean);
    fill(value.ci95_low);
    fill(value.ci95_high);
    if (value.ci95_high < value.ci95_low) std::swap(value.ci95_high, value.ci95_low);
    value.n = below(100000);
  }
  void fill(Distribution& value) {
    value = {};
    for (std::uint32_t i = 0, n = below(50); i < n; ++i) value.add(std::exp(static_cast<double>(below(40)) - 20.0));
    for (std::uint32_t i = 0, n = below(3); i < n; ++i) value.add(0.0);
  }
  template <class T>
  void fill(Measured<T>& value) {
    if (below(3) == 0) {
      std::string reason;
      fill(reason);
      value = Measured<T>::absent(reason);
    } else {
      T inner{};
      fill(inner);
      value = std::move(inner);
    }
  }
  template <class T>
  void fill(std::vector<T>& values) {
    values.resize(below(4));
    for (T& value : values) fill(value);
  }
  template <class T>
  void fill(std::map<std::string, T>& values) {
    for (std::uint32_t i = 0, n = below(4); i < n; ++i) {
      std::string key;
      fill(key);
      fill(values[key]);
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void fill(T& value) { fields::describe(*this, value); }

  std::mt19937 random_;
};

}  // namespace

Profile random_profile(unsigned seed) {
  Profile profile;
  Filler filler(seed);
  fields::describe(filler, profile);
  return profile;
}

}  // namespace stallcast::testing
