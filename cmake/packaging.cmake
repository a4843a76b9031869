# What `cmake --install` puts where, and the packages made of it: `cpack -G DEB` or `cpack -G TGZ` in the build folder.
# The tool finds its parts relative to itself (probes/collect/installation.cpp), so that a tree may be moved.
#
#   bin/stallcast                       the tool
#   lib/libstallcast_capture.so         goes into the job's processes; its C API is include/stallcast/capture.h
#   share/stallcast/python/             the shim that Python finds
#   share/stallcast/schema/             the schema of profile.json
#   share/doc/stallcast/, share/man/man1/stallcast.1
#   share/bash-completion/, share/zsh/  completion
install(DIRECTORY ${PROJECT_SOURCE_DIR}/probes/capture/python/ DESTINATION ${CMAKE_INSTALL_DATADIR}/stallcast/python
  FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/analyzer/schema/ DESTINATION ${CMAKE_INSTALL_DATADIR}/stallcast/schema
  FILES_MATCHING PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/cli/stallcast.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_SOURCE_DIR}/cli/completion/stallcast.bash RENAME stallcast
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_SOURCE_DIR}/cli/completion/_stallcast DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
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
