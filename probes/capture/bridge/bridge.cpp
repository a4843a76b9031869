/// Marks samples and batches from inside the interpreter without a Python frame and without ctypes on the way.
///
/// A data set proxy costs one slot call per sample where ctypes would cost a microsecond, and it adds no frame to the
/// traceback of an exception in the user's `__getitem__`. The shim (probes/capture/python) asks for the factories
/// once per process through ctypes.PyDLL.
#include <stallcast/capture.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "probes/capture/bridge/callables.hpp"
#include "probes/capture/bridge/calls.hpp"
#include "probes/capture/bridge/generators.hpp"
#include "probes/capture/bridge/operators.hpp"
#include "probes/capture/bridge/proxy.hpp"
#include "probes/capture/bridge/python_api.hpp"

namespace stallcast::capture::python {
namespace {

/// Whether this thread is making a sample: a data set that itself iterates a loader is one sample, without collates.
thread_local bool t_in_sample __attribute__((tls_model("initial-exec"))) = false;

/// Whether the attribute `name` of `object` is the text `expected`.
bool attribute_is(Object* object, const char* name, const char* expected) {
  Object* value = g_api.get_attr_string(object, name);
  if (value == nullptr) {
    g_api.err_clear();
    return false;
  }
  const bool equal = type_of(g_api, value) == g_api.text_type && g_api.text_equals(value, expected) == 0;
  g_api.dec_ref(value);
  return equal;
}

/// The value of a Python integer; -1 if it does not fit.
std::int64_t integer_value(Object* number) {
  const long long value = g_api.long_value(number);
  if (value == -1 && g_api.err_occurred() != nullptr) g_api.err_clear();
  return value;
}

/// The value of a numpy.int64: it lies right behind the header.
std::int64_t raw_value(Object* key) {
  std::int64_t value = 0;
  std::memcpy(&value, reinterpret_cast<char*>(key) + g_api.base_size, sizeof value);
  return value;
}

/// Whether `key` is a numpy.int64 laid out as raw_value() expects, which is shown on its own value.
bool is_raw_integer(Object* key, Object* type) {
  if (!attribute_is(type, "__module__", "numpy") || !attribute_is(type, "__name__", "int64")) return false;
  Object* number = g_api.number_index(key);
  if (number == nullptr) {
    g_api.err_clear();
    return false;
  }
  const bool equal = integer_value(number) == raw_value(key);
  g_api.dec_ref(number);
  return equal;
}

/// The index that a sample is recorded under: of an int or a numpy.int64 its value, of any other key -1. Never calls
/// code of the user's.
std::int64_t sample_index(Object* key) {
  Object* type = type_of(g_api, key);
  if (type == g_api.long_type || type == g_api.bool_type) return integer_value(key);
  // One remembered type each, because a sampler yields one type. Atomic for builds without a GIL.
  static std::atomic<Object*> raw_type{nullptr};
  static std::atomic<Object*> other_type{nullptr};
  if (type == raw_type.load(std::memory_order_relaxed)) return raw_value(key);
  if (type == other_type.load(std::memory_order_relaxed)) return -1;
  const bool is_raw = is_raw_integer(key, type);
  (is_raw ? raw_type : other_type).store(type, std::memory_order_relaxed);
  return is_raw ? raw_value(key) : -1;
}

/// Begins a batch that is made at once, where its keys are a list of so few indices.
void begin_at_once(Object* keys) {
  constexpr Size k_most = 2048;
  std::int64_t indices[k_most];
  const Size count = type_of(g_api, keys) == g_api.list_type ? g_api.size(keys) : 0;
  bool all = count > 0 && count <= k_most;
  for (Size i = 0; all && i < count; ++i) {
    indices[i] = sample_index(g_api.list_item(keys, i));  // borrowed
    all = indices[i] >= 0;
  }
  stallcast_at_once_begin(indices, all ? static_cast<std::uint32_t>(count) : 0);
}

// --- slots of the data set's proxy alone
// ------------------------------------------------------------------------------

Object* forward_iter(Object* self) {
  Object* real = checked_real(self);
  return real == nullptr ? nullptr : g_api.get_iter(real);
}

Size forward_length(Object* self) {
  Object* real = checked_real(self);
  return real == nullptr ? -1 : g_api.size(real);
}

// --- what is measured ------------------------------------------------------------------------------------------------

Object* get_sample(Object* self, Object* key) {
  Object* real = checked_real(self);
  if (real == nullptr) return nullptr;
  if (t_in_sample) return g_api.get_item(real, key);
  const std::int64_t index = sample_index(key);
  t_in_sample = true;
  stallcast_sample_begin(index);
  Object* sample = g_api.get_item(real, key);
  stallcast_sample_end();
  t_in_sample = false;
  return sample;
}

/// What `call` returns for a list of this one key, appended to `samples`; false with an exception set.
bool append_sample(Object* samples, Object* call, Object* key) {
  Object* keys = g_api.list_new(0);
  if (keys == nullptr) return false;
  const std::int64_t index = sample_index(key);
  Object* made = nullptr;
  if (g_api.list_append(keys, key) == 0) {
    t_in_sample = true;
    stallcast_sample_begin(index);
    made = g_api.call_with(call, keys, nullptr);
    stallcast_sample_end();
    t_in_sample = false;
  }
  g_api.dec_ref(keys);
  if (made == nullptr) return false;
  Object* first = g_api.long_new(0);
  Object* sample = first == nullptr ? nullptr : g_api.get_item(made, first);
  if (first != nullptr) g_api.dec_ref(first);
  g_api.dec_ref(made);
  if (sample == nullptr) return false;
  const bool appended = g_api.list_append(samples, sample) == 0;
  g_api.dec_ref(sample);
  return appended;
}

bool append_samples(Object* samples, Object* call, Object* keys) {
  while (Object* key = g_api.iter_next(keys)) {
    const bool appended = append_sample(samples, call, key);
    g_api.dec_ref(key);
    if (!appended) return false;
  }
  return g_api.err_occurred() == nullptr;
}

/// `__getitems__` of a data set that asks another for one sample after another: called for one at a time, which the
/// other notices nothing of.
Object* get_samples(Object* self, Object* keys) {
  Object* real = checked_real(self);
  if (real == nullptr) return nullptr;
  Object* call = g_api.get_attr_string(real, "__getitems__");
  if (call == nullptr) return nullptr;
  Object* each = t_in_sample ? nullptr : g_api.get_iter(keys);
  Object* samples = nullptr;
  if (each == nullptr) {
    if (!t_in_sample) g_api.err_clear();  // what is no sequence fails where it would without us
    samples = g_api.call_with(call, keys, nullptr);
  } else {
    samples = g_api.list_new(0);
    if (samples != nullptr && !append_samples(samples, call, each)) {
      g_api.dec_ref(samples);
      samples = nullptr;
    }
    g_api.dec_ref(each);
  }
  g_api.dec_ref(call);
  return samples;
}

/// `call` is the data set's own `__getitems__`, which makes a batch at once.
Object* get_at_once(Object* call, Object* keys) {
  const bool marks = !t_in_sample;
  if (marks) begin_at_once(keys);
  Object* samples = g_api.call_with(call, keys, nullptr);
  if (marks) stallcast_at_once_end();
  return samples;
}

/// Must outlive the functions made of them.
MethodDef g_get_samples;
MethodDef g_get_at_once;

/// A method that makes a batch at once is marked; what else may stand there is as it is.
Object* get_attr_of_dataset(Object* self, Object* name) {
  Object* found = forward_get_attr(self, name);
  if (found == nullptr || g_api.text_equals(name, "__getitems__") != 0) return found;
  if (type_of(g_api, found) != g_api.method_type) return found;
  Object* marking = g_api.function_new(&g_get_at_once, found, nullptr);
  g_api.dec_ref(found);
  return marking;
}

Object* get_attr_of_subset(Object* self, Object* name) {
  if (g_api.text_equals(name, "__getitems__") != 0) return forward_get_attr(self, name);
  return g_api.function_new(&g_get_samples, self, nullptr);
}

Object* call_collate(Object* self, Object* positional, Object* named) {
  Object* real = checked_real(self);
  if (real == nullptr) return nullptr;
  if (t_in_sample) return g_api.call(real, positional, named);
  stallcast_collate_begin();
  Object* batch = g_api.call(real, positional, named);
  stallcast_collate_end();
  return batch;
}

Object* make_dataset_proxy_type(const char* name, Object* (*get_attr)(Object*, Object*)) {
  const TypeSlot own[] = {{k_mp_subscript, pointer(get_sample)},
                          {k_mp_length, pointer(forward_length)},
                          {k_tp_iter, pointer(forward_iter)}};
  return make_proxy_type(name, own, 0, get_attr);
}

Object* dataset_proxy_type() {
  g_get_at_once = {"__getitems__", pointer(get_at_once), k_method_one_arg, nullptr};
  return make_dataset_proxy_type("stallcast_shim.DatasetProxy", get_attr_of_dataset);
}

Object* subset_proxy_type() {
  g_get_samples = {"__getitems__", pointer(get_samples), k_method_one_arg, nullptr};
  return make_dataset_proxy_type("stallcast_shim.SubsetProxy", get_attr_of_subset);
}

Object* timed_call_type() {
  const TypeSlot own[] = {{k_tp_call, pointer(call_collate)}};
  return make_proxy_type("stallcast_shim.TimedCall", own);
}

/// Must outlive the functions made of them.
MethodDef g_factories[3];

/// Adds a function that wraps its argument into an object of `type` (taken over, may be null).
bool add_factory(Object* names, int number, const char* name, Object* type) {
  if (type == nullptr) return false;
  g_factories[number] = {name, pointer(make_proxy), k_method_one_arg, nullptr};
  const bool added = add_function(names, g_factories[number], type);
  g_api.dec_ref(type);
  return added;
}

}  // namespace
}  // namespace stallcast::capture::python

/// For ctypes.PyDLL with restype py_object: a new dict of callables, {"dataset_proxy", "timed_collate", "wait_begin",
/// ...}, or null: with a Python exception set, or without one if this interpreter has no such API.
/// `base_size` is object.__basicsize__.
extern "C" __attribute__((visibility("default"))) void* stallcast_python_types(std::uint64_t base_size) {
  namespace python = stallcast::capture::python;
  if (!python::load(python::g_api, base_size)) return nullptr;
  python::Object* names = python::g_api.dict_new();
  if (names == nullptr) return nullptr;
  if (python::add_factory(names, 0, "dataset_proxy", python::dataset_proxy_type()) &&
      python::add_factory(names, 1, "timed_collate", python::timed_call_type()) &&
      python::add_factory(names, 2, "subset_proxy", python::subset_proxy_type()) && python::add_calls(names) &&
      python::add_operators(names) && python::add_generators(names) && python::add_callables(names)) {
    return names;
  }
  python::g_api.dec_ref(names);
  return nullptr;
}
