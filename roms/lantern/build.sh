#!/bin/sh
# usage: build.sh [OUT]   needs sdcc 4.2 and python3; same sources give the same bytes
set -eu
cd "$(dirname "$0")"
OUT=${1:-../../src/parcade/roms/lantern.gb}
export LC_ALL=C
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
python3 tools/mkart.py art "$W/tiles"
python3 tools/mkrooms.py rooms.txt "$W/rooms.h"
OBJS=
for f in src/crt0.s src/fast.s "$W/tiles_mt.s"; do
    o="$W/$(basename "$f" .s).rel"
    sdasgb -I"$W" -o "$o" "$f"
    OBJS="$OBJS $o"
done
for f in src/*.c "$W/tiles.c" "$W/rooms.c"; do
    o="$W/$(basename "$f" .c).rel"
    sdcc -msm83 --std-c11 --opt-code-speed -Isrc -I"$W" -c "$f" -o "$o"
    OBJS="$OBJS $o"
done
sdcc -msm83 --no-std-crt0 -Wl-m --code-loc 0x0200 --data-loc 0xC300 $OBJS -o "$W/game.ihx"
# clear_ram in crt0.s wipes 256 bytes of variables
awk '$1 == "_DATA" && NF > 4 { if ($4 == "=" && $5 > 256) exit 1 }' "$W/game.map"
python3 tools/gbfix.py "$W/game.ihx" "$OUT.new" LANTERN
mv "$OUT.new" "$OUT"                    # readers never see a half written file
