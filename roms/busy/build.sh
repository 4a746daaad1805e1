#!/bin/sh
# usage: build.sh [out.gba]     Debian packages: gcc-arm-none-eabi binutils-arm-none-eabi python3
# The same sources and compiler give the same bytes.
set -eu
cd "$(dirname "$0")"
export LC_ALL=C SOURCE_DATE_EPOCH=0 PYTHONDONTWRITEBYTECODE=1
out=${1:-../../src/parcade/roms/busy.gba}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
arm-none-eabi-gcc -mcpu=arm7tdmi -marm -c src/crt0.s -o "$tmp/crt0.o"
arm-none-eabi-gcc -mcpu=arm7tdmi -mthumb -O2 -std=c11 -Wall -Wextra -ffreestanding \
    -fno-tree-loop-distribute-patterns -c src/main.c -o "$tmp/main.o"
arm-none-eabi-gcc -mcpu=arm7tdmi -marm -O2 -std=c11 -Wall -Wextra -ffreestanding \
    -fno-tree-loop-distribute-patterns -c src/mixer.c -o "$tmp/mixer.o"
arm-none-eabi-gcc -mcpu=arm7tdmi -mthumb -nostdlib -Wl,--build-id=none -Wl,-T,src/busy.ld \
    "$tmp/crt0.o" "$tmp/main.o" "$tmp/mixer.o" -lgcc -o "$tmp/busy.elf"
arm-none-eabi-objcopy -O binary "$tmp/busy.elf" "$tmp/busy.bin"
python3 ../meadow/tools/gbafix.py "$tmp/busy.bin" "$tmp/busy.gba" BUSY BSYE 00
cp "$tmp/busy.gba" "$out.tmp"
mv "$out.tmp" "$out"
sha256sum "$out"
