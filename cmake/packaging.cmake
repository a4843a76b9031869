# What `cmake --install` puts where, and the packages made of it: `cpack -G DEB` or `cpack -G TGZ` in the build folder,
# for systems like the one that builds. Those of a release, for every system, are made of the wheel: packaging/wheel.
# The tool finds its parts relative to itself (probes/collect/launch/installation.cpp), so that a tree may be moved.
#
#   bin/stallcast                       the tool
#   lib/libstallcast_capture.so         goes into the job's processes; its C API is include/stallcast/capture.h
#   share/stallcast/python/             the shim that Python finds
#   share/stallcast/schema/             the schema of profile.json
#   share/stallcast/catalog/            an example of a catalogue of machines, for plan
#   share/doc/stallcast/, share/man/man1/stallcast.1; in a release, share/doc/stallcast/third-party/ has the licences
#                                       of the libraries that are linked in
#   share/bash-completion/, share/zsh/  completion
install(DIRECTORY ${PROJECT_SOURCE_DIR}/probes/capture/python/ DESTINATION ${CMAKE_INSTALL_DATADIR}/stallcast/python
  FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/analyzer/schema/ DESTINATION ${CMAKE_INSTALL_DATADIR}/stallcast/schema
  FILES_MATCHING PATTERN "*.json")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/samples/catalog/ DESTINATION ${CMAKE_INSTALL_DATADIR}/stallcast/catalog
  FILES_MATCHING PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/cli/stallcast.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_SOURCE_DIR}/cli/completion/stallcast.bash RENAME stallcast
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_SOURCE_DIR}/cli/completion/_stallcast DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
set(STALLCAST_LICENSES "" CACHE PATH "Folder of the licences of libraries that are linked in, if any are")
if(STALLCAST_LICENSES)
  install(DIRECTORY ${STALLCAST_LICENSES}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party)
  install(FILES packaging/third-party.md RENAME README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party)
endif()

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
