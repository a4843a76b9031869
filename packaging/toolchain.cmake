# clang against an old glibc, out of the wheel `ziglang`: what is built runs on every Linux with that glibc or a later
# one. C++'s library is linked in. packaging/portable makes the folder that STALLCAST_PORTABLE names: compiler, headers
# and static libraries; its name is that of the processor.
set(CMAKE_SYSTEM_NAME Linux)
set(portable $ENV{STALLCAST_PORTABLE})
get_filename_component(CMAKE_SYSTEM_PROCESSOR ${portable} NAME)
set(CMAKE_C_COMPILER ${portable}/bin/cc)
set(CMAKE_CXX_COMPILER ${portable}/bin/c++)
set(CMAKE_AR ${portable}/bin/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${portable}/bin/ranlib CACHE FILEPATH "")
# Stripped by the linker: this machine's strip may not know the processor.
set(CMAKE_STRIP true CACHE STRING "")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-s -pie")
set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
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
set(STALLCAST_LICENSES ${portable}/licenses CACHE PATH "")
