/// The part of CPython's C API that the bridge uses, found at run time.
///
/// No Python.h and no libpython: the capture library is preloaded into every process of a job, whatever interpreter
/// it is (or is not). Every function is part of the stable ABI of Python 3.8 and later; the sizes that differ between
/// builds (debug, free-threaded) come from the interpreter itself. Where a name is missing (PyPy, a hidden libpython),
/// load() says no and the shim uses its Python fallback.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast::capture::python {

struct Object;      ///< PyObject, opaque: its header differs between builds
using Size = long;  ///< Py_ssize_t

/// PyType_Slot, PyType_Spec and PyMethodDef, fixed by the stable ABI.
struct TypeSlot {
  int slot;
  void* function;
};
struct TypeSpec {
  const char* name;
  int basic_size;
  int item_size;
  unsigned int flags;
  TypeSlot* slots;
};
struct MethodDef {
  const char* name;
  void* function;
  int flags;
  const char* doc;
};

/// Slot numbers of typeslots.h and flags of object.h and methodobject.h that are used here.
enum Slot : int {
  k_mp_length = 4,
  k_mp_subscript = 5,
  k_tp_call = 50,
  k_tp_clear = 51,
  k_tp_dealloc = 52,
  k_tp_descr_get = 54,
  k_tp_getattro = 58,
  k_tp_iter = 62,
  k_tp_new = 65,
  k_tp_repr = 66,
  k_tp_setattro = 69,
  k_tp_traverse = 71,
};
inline constexpr unsigned k_flag_have_gc = 1U << 14;
inline constexpr unsigned k_flag_method_descriptor = 1U << 17;
inline constexpr int k_method_no_args = 0x4;
inline constexpr int k_method_one_arg = 0x8;
inline constexpr int k_method_fast = 0x80;

using Visit = int (*)(Object*, void*);

/// X(member, symbol, type): the functions, by the name they have in libpython.
#define STALLCAST_PYTHON_FUNCTIONS(X)                                               \
  X(inc_ref, "Py_IncRef", void (*)(Object*))                                        \
  X(dec_ref, "Py_DecRef", void (*)(Object*))                                        \
  X(get_item, "PyObject_GetItem", Object* (*)(Object*, Object*))                    \
  X(size, "PyObject_Size", Size (*)(Object*))                                       \
  X(get_iter, "PyObject_GetIter", Object* (*)(Object*))                             \
  X(iter_next, "PyIter_Next", Object* (*)(Object*))                                 \
  X(list_new, "PyList_New", Object* (*)(Size))                                      \
  X(list_append, "PyList_Append", int (*)(Object*, Object*))                        \
  X(list_item, "PyList_GetItem", Object* (*)(Object*, Size))                        \
  X(repr, "PyObject_Repr", Object* (*)(Object*))                                    \
  X(call, "PyObject_Call", Object* (*)(Object*, Object*, Object*))                  \
  X(call_with, "PyObject_CallFunctionObjArgs", Object* (*)(Object*, ...))           \
  X(tuple_item, "PyTuple_GetItem", Object* (*)(Object*, Size))                      \
  X(get_attr, "PyObject_GetAttr", Object* (*)(Object*, Object*))                    \
  X(set_attr, "PyObject_SetAttr", int (*)(Object*, Object*, Object*))               \
  X(get_attr_string, "PyObject_GetAttrString", Object* (*)(Object*, const char*))   \
  X(gc_untrack, "PyObject_GC_UnTrack", void (*)(void*))                             \
  X(gc_delete, "PyObject_GC_Del", void (*)(void*))                                  \
  X(generic_alloc, "PyType_GenericAlloc", Object* (*)(Object*, Size))               \
  X(type_from_spec, "PyType_FromSpec", Object* (*)(TypeSpec*))                      \
  X(function_new, "PyCFunction_NewEx", Object* (*)(MethodDef*, Object*, Object*))   \
  X(dict_new, "PyDict_New", Object* (*)())                                          \
  X(dict_set, "PyDict_SetItemString", int (*)(Object*, const char*, Object*))       \
  X(long_new, "PyLong_FromLongLong", Object* (*)(long long))                        \
  X(long_value, "PyLong_AsLongLong", long long (*)(Object*))                        \
  X(number_index, "PyNumber_Index", Object* (*)(Object*))                           \
  X(text_equals, "PyUnicode_CompareWithASCIIString", int (*)(Object*, const char*)) \
  X(err_occurred, "PyErr_Occurred", Object* (*)())                                  \
  X(err_clear, "PyErr_Clear", void (*)())                                           \
  X(err_set, "PyErr_SetString", void (*)(Object*, const char*))

/// The functions, and the few objects whose addresses matter.
struct Api {
#define STALLCAST_PYTHON_MEMBER(member, symbol, ...) \
  using member##_type = __VA_ARGS__;                 \
  member##_type member = nullptr;
  STALLCAST_PYTHON_FUNCTIONS(STALLCAST_PYTHON_MEMBER)
#undef STALLCAST_PYTHON_MEMBER

  Object* none = nullptr;
  Object* long_type = nullptr;
  Object* bool_type = nullptr;
  Object* text_type = nullptr;
  Object* list_type = nullptr;
  Object* method_type = nullptr;
  Object* type_error = nullptr;
  std::size_t base_size = 0;    ///< object.__basicsize__: where the fields of our objects begin
  std::size_t type_offset = 0;  ///< of ob_type in every object's header
};

/// Fills `api` for the interpreter of this process; false if something is missing or not as expected.
/// Needs the GIL. `base_size` is object.__basicsize__.
bool load(Api& api, std::size_t base_size);

/// Of this process; filled by load().
extern Api g_api;

template <class Function>
void* pointer(Function* function) {
  return reinterpret_cast<void*>(function);
}

/// A word of a type's structure, counted behind its header and size.
inline void* word_of(const Api& api, Object* type, std::size_t word) {
  return reinterpret_cast<char*>(type) + api.base_size + sizeof(Size) + word * sizeof(void*);
}

/// The type of `object`, borrowed.
inline Object* type_of(const Api& api, Object* object) {
  return *reinterpret_cast<Object**>(reinterpret_cast<char*>(object) + api.type_offset);
}

}  // namespace stallcast::capture::python
