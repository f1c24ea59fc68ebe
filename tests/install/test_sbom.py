"""test_sbom.py <readelf> <ocellus.spdx.json> <file>...: fails when the bill of materials is no SPDX document, or when an installed
program or library needs a library that is not in it.
"""
import json
import re
import subprocess
import sys

# Parts of the C and C++ implementation, and libraries that belong to GStreamer's interface.
SYSTEM = ("ld-linux", "libc.so", "libm.so", "libstdc++", "libgcc_s", "libdl", "libpthread", "librt", "libatomic", "libocellus", "libgomp")
NAMES = {"libhwy": "highway", "libfmt": "fmt", "libpng": "libpng", "libjpeg": "libjpeg", "libz.": "zlib", "libgst": "gstreamer", "libglib": "gstreamer",
         "libgobject": "gstreamer", "libgio": "gstreamer", "libmpi": "mpi", "libopencv": "opencv"}

readelf, sbom, *files = sys.argv[1:]
with open(sbom, encoding="utf-8") as text:
    document = json.load(text)
faults = []
for member in ("spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo", "packages", "relationships"):
    if member not in document:
        faults.append(f"no {member}")
identifiers = [package["SPDXID"] for package in document["packages"]]
if len(set(identifiers)) != len(identifiers) or not all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in identifiers):
    faults.append(f"identifiers: {identifiers}")
for package in document["packages"]:
    missing = {"name", "versionInfo", "downloadLocation", "licenseDeclared", "copyrightText"} - set(package)
    if missing or not re.match(r"\d", package.get("versionInfo", "")):
        faults.append(f"{package['name']}: version {package.get('versionInfo')}, without {missing or 'nothing'}")
related = {relation["relatedSpdxElement"] for relation in document["relationships"]}
if related != set(identifiers):
    faults.append(f"related are {related}")
listed = {package["name"] for package in document["packages"]}
needed = set()
for file in files:
    dynamic = subprocess.run([readelf, "-dW", file], check=True, capture_output=True, text=True).stdout
    needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
for library in sorted(needed):
    if library.startswith(SYSTEM):
        continue
    name = next((name for start, name in NAMES.items() if library.startswith(start)), None)
    if name not in listed:
        faults.append(f"{library} is needed, and not listed")
if not needed:
    faults.append("no file needs a library: readelf prints something else")
sys.exit("\n".join(faults) if faults else 0)
