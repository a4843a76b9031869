#include "core/quantity.hpp"

auto sum() {
  return stallcast::Seconds(1.0) + stallcast::Bytes(1.0);
}
