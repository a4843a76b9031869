# clang against an old glibc, out of the wheel `ziglang`: what is built runs on every Linux with that glibc or a later
# one. C++'s library is linked in. packaging/portable sets STALLCAST_PORTABLE to the folder that holds compiler,
# headers and static libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(portable $ENV{STALLCAST_PORTABLE})
set(CMAKE_C_COMPILER ${portable}/bin/cc)
set(CMAKE_CXX_COMPILER ${portable}/bin/c++)
set(CMAKE_AR ${portable}/bin/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${portable}/bin/ranlib CACHE FILEPATH "")
# No path of the machine that builds in what is built: the same sources give the same bytes.
get_filename_component(sources ${CMAKE_CURRENT_LIST_DIR}/.. REALPATH)
set(CMAKE_C_FLAGS_INIT "-ffile-prefix-map=${sources}=.")
set(CMAKE_CXX_FLAGS_INIT "-ffile-prefix-map=${sources}=.")
set(CMAKE_FIND_ROOT_PATH ${portable})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(STALLCAST_HEADERS ${portable}/include CACHE PATH "")
