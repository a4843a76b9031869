# The dependencies that are headers alone, out of one folder: for builds against another C library than this machine's,
# whose own folders of headers must not be searched (packaging/portable makes it).
foreach(wanted fmt/format.h CLI/CLI.hpp nlohmann/json.hpp eigen3/Eigen/Core boost/version.hpp)
  if(NOT EXISTS ${STALLCAST_HEADERS}/${wanted})
    message(FATAL_ERROR "${STALLCAST_HEADERS}/${wanted} is missing")
  endif()
endforeach()

function(stallcast_headers name folder)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name} SYSTEM INTERFACE ${folder})
endfunction()

stallcast_headers(fmt::fmt ${STALLCAST_HEADERS})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
stallcast_headers(CLI11::CLI11 ${STALLCAST_HEADERS})
stallcast_headers(nlohmann_json::nlohmann_json ${STALLCAST_HEADERS})
stallcast_headers(Boost::boost ${STALLCAST_HEADERS})
stallcast_headers(Eigen3::Eigen ${STALLCAST_HEADERS}/eigen3)
