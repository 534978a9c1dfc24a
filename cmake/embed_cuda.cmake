# Run by cmake -P: writes OUTPUT, a C++ source with the text of the FILES (below ROOT), for kernels/cuda/sources.h.
set(text "#include \"kernels/cuda/sources.h\"\n\nnamespace tenon::cuda {\nnamespace {\n\nconstexpr SourceFile kSources[] = {\n")
foreach(file ${FILES})
  file(READ ${ROOT}/${file} content)
  string(APPEND text "    {\"${file}\",\n     R\"tenon_source(${content})tenon_source\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\nstd::span<const SourceFile> device_sources() {\n  return kSources;\n}\n\n}  // namespace tenon::cuda\n")
file(WRITE ${OUTPUT} "${text}")
