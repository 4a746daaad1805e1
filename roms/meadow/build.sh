#!/bin/sh
# usage: build.sh [out.gba]     Debian packages: gcc-arm-none-eabi binutils-arm-none-eabi python3
# The same sources and compiler give the same bytes.
set -eu
cd "$(dirname "$0")"
export LC_ALL=C SOURCE_DATE_EPOCH=0 PYTHONDONTWRITEBYTECODE=1
out=${1:-../../src/parcade/roms/meadow.gba}
mkdir -p "$(dirname "$out")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
python3 tools/mkdata.py "$tmp"
arm-none-eabi-gcc -mcpu=arm7tdmi -marm -c src/crt0.s -o "$tmp/crt0.o"
objs="$tmp/crt0.o"
for f in main video text world script menu mon battle battle_ui save mem "$tmp/data"; do
    case $f in /*) src=$f.c obj=$f.o ;; *) src=src/$f.c obj=$tmp/$f.o ;; esac
    arm-none-eabi-gcc -mcpu=arm7tdmi -mthumb -O2 -std=c11 -Wall -Wextra -ffreestanding \
        -fno-tree-loop-distribute-patterns -Isrc -I"$tmp" -c "$src" -o "$obj"
    objs="$objs $obj"
done
arm-none-eabi-gcc -mcpu=arm7tdmi -mthumb -nostdlib -Wl,--build-id=none -Wl,-T,src/gba.ld \
    $objs -lgcc -o "$tmp/game.elf"
arm-none-eabi-objcopy -O binary "$tmp/game.elf" "$tmp/game.bin"
python3 tools/gbafix.py "$tmp/game.bin" "$tmp/meadow.gba" MEADOW MDWE 00
cp "$tmp/meadow.gba" "$out.tmp"
mv "$out.tmp" "$out"
sha256sum "$out"
