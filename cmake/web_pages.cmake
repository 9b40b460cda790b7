# Pages that run in a browser, built into the library: no other program is needed to build them.
#
#   nadi_web_page(draw timeline STYLES theme.css timeline.css)
#
# bundles web/timeline_page.js with the modules that it imports, and the styles, into one C++ source of the room's
# library that defines timeline_bundle(); declare that in page_bundle.h. What modules may look like is said in
# cmake/bundle_web_page.cmake, which refuses anything else.
function(nadi_web_page room name)
  cmake_parse_arguments(ARG "" "" "STYLES" ${ARGN})
  set(web ${CMAKE_CURRENT_SOURCE_DIR}/web)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_bundle.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/bundle_web_page.cmake)
  file(GLOB modules CONFIGURE_DEPENDS ${web}/*.js)
  list(TRANSFORM ARG_STYLES PREPEND ${web}/ OUTPUT_VARIABLE styles)
  list(JOIN ARG_STYLES "," style_names)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${web} -DNAME=${name} -DSTYLES=${style_names} -DOUTPUT=${source} -P ${script}
    DEPENDS ${script} ${modules} ${styles}
    COMMENT "Bundling the page ${name}" VERBATIM)
  target_sources(nadi_${room} PRIVATE ${source})
  nadi_compile_alone(${source})
endfunction()
