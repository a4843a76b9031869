# stallcast_target(NAME): our warnings, our standard and the chosen sanitizers for one target of ours.
function(stallcast_target name)
  target_compile_features(${name} PRIVATE cxx_std_20)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wconversion -Wshadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${name} PRIVATE -Wno-restrict)  # wrong about std::string in g++ 12 (GCC bug 105651)
  endif()
  if(STALLCAST_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  if(STALLCAST_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${STALLCAST_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${name} PRIVATE -fsanitize=${STALLCAST_SANITIZE})
  endif()
endfunction()

# stallcast_precompiled(TARGET): with STALLCAST_PRECOMPILED_HEADERS, what most sources include is parsed once, for all.
function(stallcast_precompiled name)
  if(NOT STALLCAST_PRECOMPILED_HEADERS)
    return()
  endif()
  if(NOT TARGET stallcast_headers)
    file(WRITE ${PROJECT_BINARY_DIR}/headers.cpp "")
    add_library(stallcast_headers STATIC ${PROJECT_BINARY_DIR}/headers.cpp)
    stallcast_target(stallcast_headers)
    target_link_libraries(stallcast_headers PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
    target_precompile_headers(stallcast_headers PRIVATE
      <algorithm> <array> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory> <numeric> <optional>
      <set> <span> <sstream> <string> <string_view> <thread> <utility> <vector> <fmt/format.h> <nlohmann/json.hpp>)
  endif()
  target_link_libraries(${name} PRIVATE fmt::fmt)  # the definitions that the headers were parsed with
  target_compile_options(${name} PRIVATE -fPIC)  # likewise, where an executable would have -fPIE
  target_precompile_headers(${name} REUSE_FROM stallcast_headers)
endfunction()

# stallcast_room(LAYER ROOM SOURCES FILE ... [USES TARGET ...] [PRIVATE TARGET ...]): the library stallcast_LAYER_ROOM, a
# folder of a layer. USES: rooms of the same layer by their names (only those that stand before it, tests/layers), and
# what its headers name; PRIVATE: what its sources alone do.
function(stallcast_room layer room)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;PRIVATE" ${ARGN})
  set(uses "")
  foreach(use IN LISTS ARG_USES)
    list(APPEND uses $<IF:$<TARGET_EXISTS:stallcast_${layer}_${use}>,stallcast_${layer}_${use},${use}>)
  endforeach()
  add_library(stallcast_${layer}_${room} STATIC ${ARG_SOURCES})
  stallcast_target(stallcast_${layer}_${room})
  target_link_libraries(stallcast_${layer}_${room} PUBLIC ${uses} PRIVATE ${ARG_PRIVATE})
  stallcast_precompiled(stallcast_${layer}_${room})
endfunction()
