# gangway_library(<folder> [DEPS <folder>...] [LIBS <target>...])
#
# Makes the library gangway_<folder> of src/<folder>, and <folder>_test of the *_test.cc files beside the sources.
# DEPS are the other folders it may include: the link line is the first guard of the layers, tools/check_layers.py
# the second.
# The folders that stand on json and so on the headers of cmake/pch.h.
set(GANGWAY_WITH_JSON json api store client volumes apiserver controllers jobs scheduler agent embedded testing cli)

function(gangway_precompile target name)
  if(name IN_LIST GANGWAY_WITH_JSON)
    target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
  endif()
endfunction()

function(gangway_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS;TEST_DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ARG_DEPS PREPEND gangway_)
  list(TRANSFORM ARG_TEST_DEPS PREPEND gangway_)

  if(sources)
    add_library(gangway_${name} STATIC ${sources})
    target_include_directories(gangway_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(gangway_${name} PUBLIC ${ARG_DEPS} ${ARG_LIBS})
    gangway_precompile(gangway_${name} ${name})
  else()
    add_library(gangway_${name} INTERFACE)
    target_include_directories(gangway_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(gangway_${name} INTERFACE ${ARG_DEPS} ${ARG_LIBS})
  endif()

  if(GANGWAY_TESTS AND tests)
    find_package(GTest REQUIRED)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE gangway_${name} ${ARG_TEST_DEPS} GTest::gmock GTest::gtest_main rapidcheck)
    # What is tested is optimised, the tests need not be: they are half of a build.
    target_compile_options(${name}_test PRIVATE -O1)
    gangway_precompile(${name}_test ${name})
    if(name IN_LIST GANGWAY_WITH_JSON)
      target_precompile_headers(${name}_test PRIVATE <gtest/gtest.h>)
    endif()
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()
endfunction()
