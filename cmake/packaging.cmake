# What `cmake --install` puts where, and the packages made of it: `cpack -G DEB` or `cpack -G TGZ` in the build folder.
# The tool finds its parts relative to itself (probes/collect/installation.cpp), so that a tree may be moved.
#
#   bin/stallcast                       the tool
#   lib/libstallcast_capture.so         goes into the job's processes; its C API is include/stallcast/capture.h
#   share/stallcast/python/             the shim that Python finds
#   share/stallcast/schema/             the schema of profile.json
#   share/doc/stallcast/
install(DIRECTORY ${PROJECT_SOURCE_DIR}/probes/capture/python/ DESTINATION ${CMAKE_INSTALL_DATADIR}/stallcast/python
  FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/analyzer/schema/ DESTINATION ${CMAKE_INSTALL_DATADIR}/stallcast/schema
  FILES_MATCHING PATTERN "*.json")
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME stallcast)
set(CPACK_PACKAGE_VENDOR "stallcast developers")
set(CPACK_PACKAGE_CONTACT "stallcast developers <stallcast@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_FILE_NAME "stallcast-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3-torch)
include(CPack)
