#include "core/units.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>

namespace stallcast {
namespace {

using doctest::Approx;

/// True if `result` is a usage error whose hint shows what to write.
template <class T>
bool is_usage_error(const Result<T>& result) {
  return !result.ok() && result.error().code == ErrorCode::usage && !result.error().what.empty() &&
         !result.error().hint.empty();
}

TEST_CASE("times carry their unit") {
  CHECK(parse_seconds("60s").value().value() == Approx(60.0));
  CHECK(parse_seconds("1.5ms").value().value() == Approx(0.0015));
  CHECK(parse_seconds("250us").value().value() == Approx(250e-6));
  CHECK(parse_seconds("2min").value().value() == Approx(120.0));
  CHECK(parse_seconds("1h").value().value() == Approx(3600.0));
  CHECK(parse_seconds(" 5 s ").value().value() == Approx(5.0));
  CHECK(parse_seconds("0s").value().value() == 0.0);
}

TEST_CASE("MB is 10^6 and MiB is 2^20") {
  CHECK(parse_bytes("1MB").value().value() == 1e6);
  CHECK(parse_bytes("1MiB").value().value() == 1048576.0);
  CHECK(parse_bytes("100GiB").value().value() == 100.0 * 1073741824.0);
  CHECK(parse_bytes("512B").value().value() == 512.0);
  CHECK(parse_bytes("1.5kB").value().value() == 1500.0);
}

TEST_CASE("a bandwidth in bits is an eighth of one in bytes") {
  CHECK(parse_bandwidth("500MB/s").value().value() == 500e6);
  CHECK(parse_bandwidth("25Gbit/s").value().value() == 3.125e9);
  CHECK(parse_bandwidth("1GiB/s").value().value() == 1073741824.0);
  CHECK(parse_bandwidth("8Mbit/s").value().value() == parse_bandwidth("1MB/s").value().value());
}

TEST_CASE("rates, percentages, factors and counts") {
  CHECK(parse_rate("4000/s").value().value() == 4000.0);
  CHECK(parse_rate("20k/s").value().value() == 20000.0);
  CHECK(parse_percent("35%").value() == Approx(0.35));
  CHECK(parse_percent("0%").value() == 0.0);
  CHECK(parse_percent("100%").value() == 1.0);
  CHECK(parse_factor("2").value() == 2.0);
  CHECK(parse_factor("0.5x").value() == 0.5);
  CHECK(parse_count("8").value() == 8);
  CHECK(parse_count("0").value() == 0);
}

TEST_CASE("a bare number where a unit belongs is refused with an example") {
  CHECK(is_usage_error(parse_seconds("60")));
  CHECK(is_usage_error(parse_bytes("100")));
  CHECK(is_usage_error(parse_bandwidth("500")));
  CHECK(is_usage_error(parse_bandwidth("500MB")));
  CHECK(is_usage_error(parse_rate("4000")));
  CHECK(is_usage_error(parse_percent("35")));
  CHECK(parse_bandwidth("500MB").error().hint.find("MB/s") != std::string::npos);
}

TEST_CASE("what is no quantity is refused") {
  for (const char* text : {"", " ", "s", "-1s", "1e999s", "nan s", "inf s", "1s2", "1 fortnight", "1..5s", "0x10s"}) {
    CAPTURE(text);
    CHECK(is_usage_error(parse_seconds(text)));
  }
  for (const char* text : {"", "MB", "-1MB", "1mb", "1Mb", "1MB/s", "infB"}) {
    CAPTURE(text);
    CHECK(is_usage_error(parse_bytes(text)));
  }
  for (const char* text : {"", "/s", "0MB/s", "-5MB/s", "5MB/h", "5Mb/s", "MB/s"}) {
    CAPTURE(text);
    CHECK(is_usage_error(parse_bandwidth(text)));
  }
  for (const char* text : {"-1%", "101%", "nan%", "%"}) {
    CAPTURE(text);
    CHECK(is_usage_error(parse_percent(text)));
  }
  for (const char* text : {"0", "-1", "2y", "", "nan"}) {
    CAPTURE(text);
    CHECK(is_usage_error(parse_factor(text)));
  }
  for (const char* text : {"", "-1", "2.5", "8 ", "99999999999", "0x8"}) {
    CAPTURE(text);
    CHECK(is_usage_error(parse_count(text)));
  }
}

TEST_CASE("the message names what was written") {
  CHECK(parse_seconds("soon").error().what.find("'soon'") != std::string::npos);
}

TEST_CASE("what is too large for a number is refused, not read as infinity") {
  CHECK(is_usage_error(parse_bytes("1e300TB")));
  CHECK(is_usage_error(parse_seconds("1e307h")));
  CHECK(is_usage_error(parse_bandwidth("1e300TB/s")));
  CHECK(is_usage_error(parse_rate("1e307M/s")));
}

TEST_CASE("any number written with a unit reads back as number times unit") {
  std::mt19937_64 random(20240817);
  std::uniform_real_distribution<double> exponent(-6.0, 9.0);
  struct Case {
    const char* unit;
    double factor;
  };
  for (int round = 0; round < 500; ++round) {
    const double number = std::pow(10.0, exponent(random));
    char text[64];
    for (const Case& unit : {Case{"KiB", 1024.0}, Case{"GB", 1e9}, Case{"TiB", 1099511627776.0}}) {
      std::snprintf(text, sizeof(text), "%.17g%s", number, unit.unit);
      CHECK(parse_bytes(text).value().value() == Approx(number * unit.factor).epsilon(1e-14));
    }
    for (const Case& unit : {Case{"us", 1e-6}, Case{"min", 60.0}}) {
      std::snprintf(text, sizeof(text), "%.17g%s", number, unit.unit);
      CHECK(parse_seconds(text).value().value() == Approx(number * unit.factor).epsilon(1e-14));
    }
  }
}

}  // namespace
}  // namespace stallcast
