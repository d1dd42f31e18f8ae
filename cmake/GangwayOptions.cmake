# Compiler flags that hold for every target.
option(GANGWAY_TESTS "Build the unit, contract and property tests" ON)
option(GANGWAY_FUZZ "Build the libFuzzer targets (clang only)" OFF)
option(GANGWAY_BENCH "Build the benchmarks" OFF)
set(GANGWAY_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# Line tables are enough for stack traces and profiles, and keep objects and links small.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                    -Wimplicit-fallthrough -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports these inside the standard library and Boost once it has inlined them.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
                      -Wno-stringop-overread)
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # std::stable_sort of libstdc++ 12 uses a function that C++17 deprecates, and clang reports it where it is called.
  add_compile_options(-Wno-deprecated-declarations)
endif()

if(GANGWAY_SANITIZE)
  # -O1 keeps most of the speed at half of the compile time.
  add_compile_options(-O1 -fsanitize=${GANGWAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GANGWAY_SANITIZE})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)  # lets ccache see through precompiled headers
endif()

find_program(GANGWAY_CCACHE ccache)
if(GANGWAY_CCACHE)
  # Paths below the sources count as relative, so that every clone shares one cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${GANGWAY_CCACHE})
endif()
find_program(GANGWAY_MOLD mold)
if(GANGWAY_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
