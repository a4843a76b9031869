#include "probes/capture/bridge/python_api.hpp"

#include <dlfcn.h>

#include <cstring>

namespace stallcast::capture::python {
namespace {

template <class Function>
bool find(Function& function, const char* name) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  std::memcpy(&function, &symbol, sizeof symbol);
  return symbol != nullptr;
}

bool find_functions(Api& api) {
#define STALLCAST_PYTHON_FIND(member, symbol, ...) \
  if (!find(api.member, symbol)) return false;
  STALLCAST_PYTHON_FUNCTIONS(STALLCAST_PYTHON_FIND)
#undef STALLCAST_PYTHON_FIND
  return true;
}

bool find_objects(Api& api) {
  Object** type_error = nullptr;
  if (!find(type_error, "PyExc_TypeError")) return false;
  api.type_error = *type_error;
  return find(api.none, "_Py_NoneStruct") && find(api.long_type, "PyLong_Type") && find(api.bool_type, "PyBool_Type") &&
         find(api.text_type, "PyUnicode_Type") && find(api.list_type, "PyList_Type") &&
         find(api.method_type, "PyMethod_Type");
}

/// The type is the last word of every object header (plain, debug and free-threaded builds): shown on a number.
bool type_offset_holds(const Api& api) {
  Object* number = api.long_new(1 << 20);
  if (number == nullptr) {
    api.err_clear();
    return false;
  }
  const bool holds = type_of(api, number) == api.long_type;
  api.dec_ref(number);
  return holds;
}

}  // namespace

constinit Api g_api;

bool load(Api& api, std::size_t base_size) {
  constexpr std::size_t k_smallest = 2 * sizeof(void*);
  constexpr std::size_t k_largest = 16 * sizeof(void*);
  if (base_size < k_smallest || base_size > k_largest || base_size % sizeof(void*) != 0) return false;
  api.base_size = base_size;
  api.type_offset = base_size - sizeof(void*);
  return find_functions(api) && find_objects(api) && type_offset_holds(api);
}

}  // namespace stallcast::capture::python
