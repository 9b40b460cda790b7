# Makes one C++ source of a page's modules and styles:
#   cmake -DFOLDER=src/show/draw/web -DNAME=timeline -DSTYLES=theme.css,timeline.css -DOUTPUT=timeline_bundle.cpp -P this
#
# The modules are those that <NAME>_page.js imports, directly or not, each after those that it imports itself. They
# become one function: lines `import ...` and the word `export` are left out. That works, and is checked, because in
# our modules
#   - an import is a line `import {a, b} from './module.js';`, and imports nothing under another name;
#   - an export is `export function`, `export async function`, `export class` or `export const` at the start of a line;
#   - names at the top of any two modules differ.
# The same files are real modules for tests and editors.

cmake_minimum_required(VERSION 3.25)

set(order "")      # modules, those that are imported first
set(under_way "")  # modules whose imports are being visited: one that comes again closes a circle

function(refuse module text)
  message(FATAL_ERROR "${FOLDER}/${module}: ${text}")
endfunction()

macro(visit module)
  if("${module}" IN_LIST under_way)
    refuse(${module} "imports itself through ${under_way}")
  endif()
  if(NOT "${module}" IN_LIST order)
    list(APPEND under_way ${module})
    file(READ ${FOLDER}/${module} text_of_module)
    string(REGEX MATCHALL "(^|\n)import [^\n]*" lines "${text_of_module}")
    string(REGEX MATCHALL "(^|\n)import {[A-Za-z0-9_, ]+} from '\\./[a-z0-9_]+\\.js'" imports "${text_of_module}")
    list(LENGTH imports known)
    string(REGEX MATCHALL "(^|\n)import " all "${text_of_module}")
    list(LENGTH all count)
    if(NOT known EQUAL count OR lines MATCHES " as ")
      refuse(${module} "an import that is not one line `import {a, b} from './module.js';`: ${lines}")
    endif()
    foreach(import ${imports})
      string(REGEX REPLACE ".*'\\./(.*)'" "\\1" imported "${import}")
      list(APPEND waiting_${module} ${imported})
    endforeach()
    foreach(imported ${waiting_${module}})
      visit(${imported})
    endforeach()
    list(POP_BACK under_way)
    list(APPEND order ${module})
  endif()
endmacro()
visit(${NAME}_page.js)

set(script "'use strict';\n(() => {\n")
set(names "")
foreach(module ${order})
  file(READ ${FOLDER}/${module} text)
  string(REGEX REPLACE "(^|\n)import {[^\n]*';" "\\1" text "${text}")
  string(REGEX REPLACE "(^|\n)export (async function|function|class|const) " "\\1\\2 " text "${text}")
  if("${text}" MATCHES "(^|\n)(export|import)[^\n]*")
    refuse(${module} "neither `export function`, `export class` nor `export const`: ${CMAKE_MATCH_0}")
  endif()
  string(REGEX MATCHALL "(^|\n)(async function|function|class|const|let|var) [A-Za-z0-9_$]+" tops "${text}")
  foreach(top ${tops})
    string(REGEX REPLACE ".* " "" top "${top}")
    if("${top}" IN_LIST names)
      refuse(${module} "the name `${top}` stands at the top of another module, too")
    endif()
    list(APPEND names ${top})
  endforeach()
  string(APPEND script "\n// ${module}\n${text}")
endforeach()
string(APPEND script "})();\n")

set(style "")
string(REPLACE "," ";" STYLES "${STYLES}")
foreach(file ${STYLES})
  file(READ ${FOLDER}/${file} text)
  string(APPEND style "${text}")
endforeach()

# The end of an element would end it; that of a literal, too.
foreach(part script style)
  if("${${part}}" MATCHES "</(script|style)|<!--|\\)nadi_web\"")
    message(FATAL_ERROR "${NAME}: ${part} has ${CMAKE_MATCH_0}, which ends the element that it stands in")
  endif()
  string(SHA256 ${part}_hash "${${part}}")
endforeach()

set(source "// Made by cmake/bundle_web_page.cmake.\n#include \"nadi/draw/page_bundle.h\"\n\nnamespace nadi::inline show {\n\n")
string(APPEND source "const PageBundle& ${NAME}_bundle() {\n  static constexpr PageBundle kBundle{\n")
string(APPEND source "      .script = R\"nadi_web(${script})nadi_web\",\n      .script_sha256 = \"${script_hash}\",\n")
string(APPEND source "      .style = R\"nadi_web(${style})nadi_web\",\n      .style_sha256 = \"${style_hash}\"};\n")
string(APPEND source "  return kBundle;\n}\n\n}  // namespace nadi::inline show\n")
file(WRITE ${OUTPUT} "${source}")
