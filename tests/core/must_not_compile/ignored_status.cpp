#include "core/result.hpp"

stallcast::Status act();

void careless() {
  act();
}
