#!/usr/bin/env bash
# sanitize.sh <folder of the test programs> [<seconds for each program>]
# Runs small tests of the CUDA backend under each tool of compute-sanitizer. A planted bug shows first that the tool works.
# Exit status: 0 when all tests are clean, 1 when not, 77 without compute-sanitizer or a device.
set -uo pipefail
programs=${1:?folder of the test programs}
limit=${2:-600}
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ ! -x "$sanitizer" ]; then echo "skipped: compute-sanitizer is not installed"; exit 77; fi
if ! "$programs/test_kernels_planted" memcheck | grep -v skipped; then echo "skipped: no CUDA device"; exit 77; fi
export OCELLUS_TEST_BACKEND=cuda
failed=0

# check <tool> <program> <filter> [<options of the tool>]...
check() {
  local tool=$1 program=$2 filter=$3 begin=$SECONDS
  shift 3
  if timeout "$limit" "$sanitizer" --tool "$tool" --error-exitcode 9 "$@" "$programs/$program" --gtest_filter="$filter" >"$log" 2>&1 &&
    ! grep -q "no CUDA device" "$log" && grep -q "ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards" "$log"; then
    printf '%-10s %-26s clean, %d tests, %d s\n' "$tool" "$program" "$(grep -c '^\[       OK' "$log")" $((SECONDS - begin))
  else
    printf '%-10s %-26s FAILED\n' "$tool" "$program"
    tail -n 40 "$log"
    failed=1
  fi
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
for tool in memcheck racecheck initcheck synccheck; do
  if timeout "$limit" "$sanitizer" --tool "$tool" --error-exitcode 9 "$programs/test_kernels_planted" "$tool" >"$log" 2>&1; then
    printf '%-10s does not find its planted bug\n' "$tool"
    failed=1
  elif [ $? -ne 9 ]; then
    printf '%-10s could not run\n' "$tool"
    tail -n 20 "$log"
    failed=1
  else
    printf '%-10s finds its planted bug: %s\n' "$tool" "$(grep -m 1 -oE 'Invalid __global__ write.*|(Error|Warning): Race reported.*|Uninitialized __global__ memory read.*|Barrier error.*' "$log")"
  fi
  # Small tests of all operators, forms and methods. Racecheck takes ten times as long. It checks one block at a time, so that threads of
  # the host give it no new case.
  device='*EveryKind*'
  paths=0
  contracts='*TicketsInAnyOrder*_cuda:*OptionalPlanes*_cuda'
  filter='*TermsAndConvolutions/cuda:*RegionOfInterest*/cuda'
  flow='*ThePyramidMatches*/cuda'
  variational='*TakesEverySize*/cuda:*BadFrames*/cuda'
  window='*RegionOfInterest/cuda:*ValuesThatAreNotFinite/cuda'
  cells='*WarmStart/cuda:*BadFrames*/cuda:*DistantStarts*/cuda'
  restoration='*BadFrames*/cuda:*ManyTiles/cuda'
  digits='*Equal/one:*Equal/least:*Equal/tiny:*Equal/odd_noise:*CappedTiles*'
  networks='*Overlapping*:*Large*'
  if [ "$tool" != racecheck ]; then
    device+=':*AThreadForEvery*'
    paths=1
    contracts+=':*BadPixels*_cuda:*FramesInFlightEnd*_cuda'
    filter+=':*HalfStorage/cuda:*BadFrames*/cuda:*EverySize/cuda'
    window+=':*EverySizeOfWindow/cuda:*ThresholdAndMarks/cuda:*FramesInFlight/cuda'
    flow+=':*ThePyramidTakesEverySize/cuda:*BadFrames*/cuda:*HalfStorage/cuda'
    cells+=':*ChainsPassOutputsOn/cuda'
    restoration+=':*EverySizeBorderAndFormat/cuda'
    digits='*'
    networks+=':*Subtrees*'
  fi
  check "$tool" test_conformance_contracts "$contracts"
  check "$tool" test_conformance_cellular_network "$cells"
  check "$tool" test_conformance_restoration "$restoration"
  OCELLUS_TEST_PATHS=$paths check "$tool" test_kernels_device "$device"
  check "$tool" test_conformance_filter "$filter"
  check "$tool" test_conformance_flow "$flow"
  check "$tool" test_conformance_variational_flow "$variational"
  check "$tool" test_conformance_window_flow "$window"
  check "$tool" test_neocognitron_cuda "$digits"
  # All kernels of such a frame would take minutes.
  if [ "$tool" = racecheck ]; then
    for kernel in find_groups cut_groups find_candidates draw; do
      check "$tool" test_neocognitron_cuda '*FoundCharactersAreEqual*' --kernel-name "kns=$kernel"
    done
  fi
  check "$tool" test_conformance_cortex '*/cuda'
  # It needs the schedules of the papers, which not all builds have.
  if [ -x "$programs/test_bench_device_network" ]; then
    check "$tool" test_bench_device_network "$networks"
  fi
done
exit $failed
