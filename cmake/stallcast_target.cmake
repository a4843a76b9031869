# stallcast_target(NAME): our warnings, our standard and the chosen sanitizers for one target of ours. What is sanitized has
# its assertions, and warnings are not errors there, as sanitizers make g++ warn falsely.
function(stallcast_target name)
  target_compile_features(${name} PRIVATE cxx_std_20)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wconversion -Wshadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${name} PRIVATE -Wno-restrict)  # wrong about std::string in g++ 12 (GCC bug 105651)
  endif()
  if(STALLCAST_SANITIZE)
    if(NOT STALLCAST_FUZZ)
      target_compile_options(${name} PRIVATE -Og)
    endif()
    target_compile_options(${name} PRIVATE
      -UNDEBUG -fsanitize=${STALLCAST_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${name} PRIVATE -fsanitize=${STALLCAST_SANITIZE})
  elseif(STALLCAST_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
endfunction()

# A layer is a folder of the tree, a room a folder of a layer. Each room is a library, so that its rooms are built and linked
# one by one: the preset `dev`. With STALLCAST_WHOLE_LAYERS each layer is compiled as one source instead: its headers, and the
# templates that its sources have in common, once. That halves a build from nothing, takes more than 2 GB of memory, and costs a
# minute after each change; names are unique within a layer for it, also those that no other source sees.

# stallcast_library(NAME LAYER ...): the library NAME of a layer, of what stallcast_room says. The holder is the target that
# compiles its sources: itself, or stallcast_LAYER_layer, which has those of the whole layer; NAME then stands for that.
function(stallcast_library name layer)
  cmake_parse_arguments(ARG "" "" "SOURCES;OBJECTS;USES;PRIVATE;INCLUDES;PRIVATE_INCLUDES;DEFINITIONS" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  list(TRANSFORM ARG_OBJECTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  set(holder ${name})
  if(STALLCAST_WHOLE_LAYERS)
    set(holder stallcast_${layer}_layer)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${holder})
  endif()
  if(NOT TARGET ${holder})
    add_library(${holder} STATIC)
    stallcast_target(${holder})
  endif()
  if(STALLCAST_WHOLE_LAYERS)
    set_target_properties(${holder} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
  set(uses "")
  foreach(use IN LISTS ARG_USES)
    if(NOT TARGET stallcast_${layer}_${use})
      list(APPEND uses ${use})
    elseif(NOT STALLCAST_WHOLE_LAYERS)
      list(APPEND uses stallcast_${layer}_${use})
    endif()
  endforeach()
  set_source_files_properties(${ARG_OBJECTS} TARGET_DIRECTORY ${holder} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${holder} PRIVATE ${ARG_SOURCES} ${ARG_OBJECTS})
  target_link_libraries(${holder} PUBLIC ${uses} PRIVATE ${ARG_PRIVATE})
  target_include_directories(${holder} SYSTEM PUBLIC ${ARG_INCLUDES} PRIVATE ${ARG_PRIVATE_INCLUDES})
  target_compile_definitions(${holder} PRIVATE ${ARG_DEFINITIONS})
endfunction()

# stallcast_room(LAYER ROOM SOURCES FILE ... [OBJECTS FILE ...] [USES TARGET ...] [PRIVATE TARGET ...] [INCLUDES FOLDER ...]
# [PRIVATE_INCLUDES FOLDER ...] [DEFINITIONS NAME=VALUE ...]): the library stallcast_LAYER_ROOM, a folder of a layer. USES:
# rooms of the same layer by their names (only those that stand before it, tests/layers), and what its headers name; PRIVATE:
# what its sources alone do. OBJECTS: sources that are never compiled together with others. INCLUDES, PRIVATE_INCLUDES: folders
# of headers of other projects, that its own headers include, and that its sources do.
function(stallcast_room layer room)
  stallcast_library(stallcast_${layer}_${room} ${layer} ${ARGN})
  set_property(GLOBAL APPEND PROPERTY stallcast_rooms_of_${layer} ${room})
endfunction()

# stallcast_layer(LAYER [SOURCES FILE ...]): the library stallcast_LAYER of all its rooms and the files that stand beside them.
function(stallcast_layer layer)
  get_property(rooms GLOBAL PROPERTY stallcast_rooms_of_${layer})
  if(ARGN)
    stallcast_library(stallcast_${layer} ${layer} ${ARGN} USES ${rooms})
  else()
    add_library(stallcast_${layer} INTERFACE)
    list(TRANSFORM rooms PREPEND stallcast_${layer}_)
    target_link_libraries(stallcast_${layer} INTERFACE ${rooms})
  endif()
endfunction()
