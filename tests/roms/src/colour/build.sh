#!/bin/sh
# Builds ../../colour.gbc. Debian package: sdcc
set -eu
cd "$(dirname "$0")"
O=$(mktemp -d)
trap 'rm -rf "$O"' EXIT
sdasgb -o "$O/colour.rel" colour.s
sdldgb -n -i "$O/colour.ihx" "$O/colour.rel"
makebin -Z -yC -yn COLOUR "$O/colour.ihx" ../../colour.gbc
