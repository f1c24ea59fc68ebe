#!/bin/sh
# check_symbols.sh <nm> <objdump> <object>...
# Shows from the symbols of the library's objects that frames cannot allocate, that there are no exceptions and no RTTI, and that
# no wait depends on the wall clock.
# Exit status: 0 when it finds nothing, 1 when it finds and prints something, 2 when it cannot read the objects.
set -u
nm=$1
objdump=$2
shift 2
[ $# -gt 0 ] || { echo "no objects were given"; exit 2; }
command -v "$nm" > /dev/null && command -v "$objdump" > /dev/null || { echo "$nm and $objdump are needed"; exit 2; }

# Forbidden everywhere: exceptions, RTTI of the library's classes, ending the program, printing, reading the wall clock or waiting
# until a time of it. (pthread_cond_timedwait is not: the one condition variable that uses it has the monotonic clock.) With -fno-exceptions inline code
# of the standard library still refers to std::__throw_system_error, which std::mutex calls for a broken mutex.
forbidden='__cxa_throw|__cxa_allocate_exception|__cxa_begin_catch|__cxa_rethrow|__gxx_personality|_Unwind_|typeinfo for ocellus| abort$| exit$| _exit$|std::terminate| puts$| (__)?v?f?printf(_chk)?$| putchar$| fwrite$| stdout$| stderr$|std::cout|std::cerr|system_clock| time$| gettimeofday$| sem_timedwait$| pthread_mutex_timedlock$'

# Only these functions may allocate and free: creation, destruction, and the functions before them that read files or describe an
# operator. Functions that run with a frame (submit, wait, reset, the parts of a job) have other names.
may_allocate='(::create\(|EngineState::start\(|::info_for\(|::footprint\(|::make_[a-z_]*(<[^(]*>)?\(|Buffer::give_back\(|::open\(|::prepare\(|::probe_[a-z_]*\(|::analyze_[a-z_]*\(|::load_[a-z_]*\(|::read_[a-z_]*(<.*>)?\(|::visit_kernels\(|::verify_[a-z_]*\(|::~|::operator=\(|^ocellus_(engine|operator|mailbox|group)_(create|destroy)([.]|$))'
allocates='operator new|operator delete|(^|[^a-z_])(malloc|calloc|realloc|reallocarray|free|aligned_alloc|memalign|posix_memalign|valloc|strdup|mmap|mmap64|munmap|brk|fopen|fopen64|fclose|mlock)([^a-z_0-9]|$)'

found=0
functions=0
for object in "$@"; do
  name=$(basename "$object")
  bad=$("$nm" -C "$object" | grep -E "$forbidden")
  # What nvcc leaves of a device function on the host ends the program; nobody can call it.
  case "$name" in *.cu.o) bad=$(printf '%s\n' "$bad" | grep -v ' U exit$') ;; esac
  # Reading the value of a failed Expected ends the program, as the header says.
  case "$name" in status.cpp.o) bad=$(printf '%s\n' "$bad" | grep -v ' U abort$') ;; esac
  if [ -n "$bad" ]; then
    echo "$name refers to what the core must not use:"
    echo "$bad"
    found=1
  fi
  listing=$("$objdump" -drC --no-show-raw-insn "$object") || { echo "cannot read $object"; exit 2; }
  report=$(printf '%s\n' "$listing" | awk -v allocates="$allocates" -v may="$may_allocate" '
    /^[0-9a-f]+ <.*>:$/ { function_name = $0; sub(/^[0-9a-f]+ </, "", function_name); sub(/>:$/, "", function_name); count++ }
    /R_[A-Z0-9_]+[ \t]/ {
      target = $0
      sub(/.*R_[A-Z0-9_]+[ \t]+/, "", target)
      if (target ~ allocates && function_name !~ may) print "  " function_name " -> " target
    }
    END { print "count " count + 0 }')
  functions=$((functions + $(printf '%s\n' "$report" | sed -n 's/^count //p')))
  bad=$(printf '%s\n' "$report" | grep -v '^count ' | sort -u)
  # The builder of FlatBuffers allocates if it has no memory of its own. Here it has fixed memory (ModelTable), and tests count.
  case "$object" in
    */cortex/plan.cpp.o | */model_file.cpp.o | */network_file.cpp.o | */kernel_bank_file.cpp.o | */template_file.cpp.o | */filter_file.cpp.o)
      bad=$(printf '%s\n' "$bad" | grep -vE 'flatbuffers::.* -> |^ +ocellus::detail::(build_cortex_table|save_cortex|(open|save)_network|encode_[a-z_]*|[(]anonymous namespace[)]::(write_stage|build_table)|KernelBankWriter::open)\(') ;;
  esac
  if [ -n "$bad" ]; then
    echo "$name takes or gives back memory outside of creation and destruction:"
    echo "$bad"
    found=1
  fi
done
echo "$# objects, $functions functions"
[ "$functions" -gt 0 ] || { echo "no functions were seen"; exit 2; }
exit $found
